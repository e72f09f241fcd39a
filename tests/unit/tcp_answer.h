/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of NETLINK_SOCK_DIAG as the kernel makes them, for tests of what reads them. */
#ifndef TESTS_UNIT_TCP_ANSWER_H
#define TESTS_UNIT_TCP_ANSWER_H

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/tcp.h"

enum {
    TCP_INFO_BYTES = 280,
    TCP_ACKED_AT = 120,
    TCP_RECEIVED_AT = 128,
    TCP_ESTABLISHED_STATE = 1,
    TCP_LAST_ACK_STATE = 9
};

struct tcp_fake {
    uint32_t inode;
    uint32_t cookie;
    uint16_t port, peer; /* both on 127.0.0.1; port 0: one of its own */
    uint8_t state; /* 0: established */
    bool is_mapped; /* a socket for both families */
    bool is_old; /* a kernel that does not count bytes */
    uint64_t received, acked;
};

struct tcp_answer {
    size_t n;
    _Alignas(8) char bytes[8192];
};

static inline void tcp_answer_put(struct tcp_answer *answer, const void *bytes, size_t n)
{
    memcpy(answer->bytes + answer->n, bytes, n);
    answer->n += (n + 3) / 4 * 4;
}

static inline void tcp_answer_message(struct tcp_answer *answer, uint16_t type, uint32_t sequence, size_t length)
{
    struct nlmsghdr head = {.nlmsg_len = (uint32_t)(sizeof(head) + length), .nlmsg_type = type, .nlmsg_seq = sequence};
    tcp_answer_put(answer, &head, sizeof(head));
}

static inline void tcp_answer_error(struct tcp_answer *answer, uint16_t type, uint32_t sequence, int error)
{
    tcp_answer_message(answer, type, sequence, sizeof(error));
    tcp_answer_put(answer, &error, sizeof(error));
}

static inline void tcp_answer_row(struct tcp_answer *answer, uint32_t sequence, const struct tcp_fake *fake)
{
    char info[TCP_INFO_BYTES] = {0};
    struct nlattr attribute = {
        .nla_len = (uint16_t)(sizeof(attribute) + (fake->is_old ? 104 : sizeof(info))), .nla_type = INET_DIAG_INFO};
    struct inet_diag_msg row = {.idiag_family = fake->is_mapped ? AF_INET6 : AF_INET,
        .idiag_state = fake->state ? fake->state : TCP_ESTABLISHED_STATE,
        .id = {.idiag_sport = htons(fake->port ? fake->port : (uint16_t)(1000 + fake->cookie)),
            .idiag_dport = htons(fake->peer),
            .idiag_cookie = {fake->cookie, 0}},
        .idiag_inode = fake->inode};
    row.id.idiag_src[fake->is_mapped ? 3 : 0] = row.id.idiag_dst[fake->is_mapped ? 3 : 0] = htonl(INADDR_LOOPBACK);
    if (fake->is_mapped)
        row.id.idiag_src[2] = row.id.idiag_dst[2] = htonl(0xffff);
    memcpy(info + TCP_ACKED_AT, &fake->acked, sizeof(fake->acked));
    memcpy(info + TCP_RECEIVED_AT, &fake->received, sizeof(fake->received));
    tcp_answer_message(answer, TCPDIAG_GETSOCK, sequence, sizeof(row) + attribute.nla_len);
    tcp_answer_put(answer, &row, sizeof(row));
    tcp_answer_put(answer, &attribute, sizeof(attribute));
    tcp_answer_put(answer, info, attribute.nla_len - sizeof(attribute));
}

#endif
