/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/num.h"

#ifndef NLM_F_DUMP_INTR
#define NLM_F_DUMP_INTR 0x10 /* Linux 3.1 */
#endif

/* Where struct tcp_info of newer headers has these (include/uapi/linux/tcp.h). */
enum { INFO_ACKED = 120, INFO_RECEIVED = 128, INFO_BYTES = 136 };

/* States of a socket (include/net/tcp_states.h). */
enum {
    ESTABLISHED = 1,
    SYN_SENT,
    SYN_RECV,
    FIN_WAIT1,
    FIN_WAIT2,
    TIME_WAIT,
    CLOSE,
    CLOSE_WAIT,
    LAST_ACK,
    LISTEN,
    CLOSING
};

#define STATES                                                                                                         \
    (1U << ESTABLISHED | 1U << SYN_SENT | 1U << FIN_WAIT1 | 1U << FIN_WAIT2 | 1U << CLOSE_WAIT | 1U << LAST_ACK |      \
        1U << CLOSING)

enum { COLUMNS_TO_OPENS = 4, COLUMNS_TO_SEGMENTS = 3 };

int tcp_counters_parse(struct str text, struct tcp_counters *ret)
{
    static const char key[] = "Tcp: ";
    uint64_t active, passive, in, out;
    struct str line;
    for (int lines = 0; lines < 2; lines += str_starts(line, STR(key))) {
        if (!str_whole_line(&text, &line))
            return -EBADMSG;
    }
    const char *p = line.p + sizeof(key) - 1; /* an LF stands behind the line */
    /* The fourth number, MaxConn, is -1. */
    for (int i = 0; i < COLUMNS_TO_OPENS; i++) {
        while (*p != ' ' && *p != '\n')
            p++;
        p += *p == ' ';
    }
    if (!num_next_in_line(&p, &active) || !num_next_in_line(&p, &passive) ||
        !num_skip_in_line(&p, COLUMNS_TO_SEGMENTS) || !num_next_in_line(&p, &in) || !num_next_in_line(&p, &out))
        return -EBADMSG;
    *ret = (struct tcp_counters){.opens = active + passive, .segments = in + out};
    return 0;
}

void tcp_request_init(struct tcp_request *request, uint32_t sequence)
{
    /* The older of the two requests: it is for both families at once. */
    *request = (struct tcp_request){
        .header = {.nlmsg_len = sizeof(*request),
            .nlmsg_type = TCPDIAG_GETSOCK,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
            .nlmsg_seq = sequence},
        .body = {.idiag_ext = 1 << (INET_DIAG_INFO - 1), .idiag_states = STATES},
    };
}

void tcp_request_one_init(struct tcp_request_one *request, const struct tcp_name *name, uint32_t sequence)
{
    *request = (struct tcp_request_one){
        .header = {.nlmsg_len = sizeof(*request),
            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
            .nlmsg_flags = NLM_F_REQUEST,
            .nlmsg_seq = sequence},
        .body = {.sdiag_family = name->family,
            .sdiag_protocol = IPPROTO_TCP,
            .idiag_ext = 1 << (INET_DIAG_INFO - 1),
            .idiag_states = STATES,
            .id = name->id},
    };
}

bool tcp_name_is_same(const struct tcp_name *a, const struct tcp_name *b)
{
    return memcmp(a->id.idiag_cookie, b->id.idiag_cookie, sizeof(a->id.idiag_cookie)) == 0;
}

/* The words of an IPv4 address are one, also where a socket for both families has it (::ffff:192.0.2.1). */
static bool is_same_address(uint8_t family_a, const uint32_t a[static 4], uint8_t family_b, const uint32_t b[static 4])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool is_plain_a = family_a == AF_INET, is_plain_b = family_b == AF_INET;
    if (is_plain_a || is_plain_b)
        return a[is_plain_a ? 0 : 3] == b[is_plain_b ? 0 : 3] &&
               (is_plain_a || memcmp(a, mapped, sizeof(mapped)) == 0) &&
               (is_plain_b || memcmp(b, mapped, sizeof(mapped)) == 0);
    return memcmp(a, b, 4 * sizeof(*a)) == 0;
}

bool tcp_name_is_other_end(const struct tcp_name *a, const struct tcp_name *b)
{
    return a->id.idiag_sport == b->id.idiag_dport && a->id.idiag_dport == b->id.idiag_sport &&
           is_same_address(a->family, a->id.idiag_src, b->family, b->id.idiag_dst) &&
           is_same_address(a->family, a->id.idiag_dst, b->family, b->id.idiag_src);
}

/* Messages and attributes begin at multiples of four bytes. */
static size_t aligned(size_t bytes)
{
    return (bytes + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO;
}

/* A SYN and a FIN count as a byte each. */
static uint64_t without(uint64_t bytes, uint64_t more)
{
    return bytes > more ? bytes - more : 0;
}

static void read_info(const char *info, size_t n, uint8_t state, struct tcp_row *row)
{
    if (n < INFO_BYTES)
        return;
    memcpy(&row->sent, info + INFO_ACKED, sizeof(row->sent));
    memcpy(&row->received, info + INFO_RECEIVED, sizeof(row->received));
    row->has_bytes = true;
    row->sent = without(row->sent, state == ESTABLISHED || state == CLOSE_WAIT ? 1 : 2);
    row->received = without(row->received, state != ESTABLISHED);
}

static int read_row(const char *message, size_t n, struct tcp_row *ret_row)
{
    struct inet_diag_msg head;
    if (n < sizeof(head))
        return -EBADMSG;
    memcpy(&head, message, sizeof(head));
    *ret_row = (struct tcp_row){
        .name = {head.idiag_family, head.id},
        .inode = head.idiag_inode,
        .is_connected = head.idiag_state == ESTABLISHED || head.idiag_state == CLOSE_WAIT,
    };
    for (size_t at = sizeof(head); at < n;) {
        struct nlattr attribute;
        if (n - at < sizeof(attribute))
            return -EBADMSG;
        memcpy(&attribute, message + at, sizeof(attribute));
        if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > n - at)
            return -EBADMSG;
        if (attribute.nla_type == INET_DIAG_INFO)
            read_info(
                message + at + sizeof(attribute), attribute.nla_len - sizeof(attribute), head.idiag_state, ret_row);
        at += aligned(attribute.nla_len);
    }
    return TCP_ROW;
}

int tcp_answer_next(const void *bytes, size_t n, uint32_t sequence, size_t *at, struct tcp_row *ret_row)
{
    while (*at < n) {
        const char *message = (const char *)bytes + *at;
        struct nlmsghdr head;
        int error = 0;
        if (n - *at < sizeof(head))
            return -EBADMSG;
        memcpy(&head, message, sizeof(head));
        if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > n - *at)
            return -EBADMSG;
        size_t length = head.nlmsg_len - sizeof(head);
        *at += aligned(head.nlmsg_len);
        message += sizeof(head);
        if (head.nlmsg_seq != sequence)
            continue;
        if (head.nlmsg_type == NLMSG_ERROR || (head.nlmsg_type == NLMSG_DONE && length >= sizeof(error))) {
            if (length < sizeof(error))
                return -EBADMSG;
            memcpy(&error, message, sizeof(error));
        }
        if (error < 0)
            return error > -4096 ? error : -EBADMSG;
        if (head.nlmsg_flags & NLM_F_DUMP_INTR)
            return -EINTR;
        if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR)
            return TCP_DONE;
        if (head.nlmsg_type == TCPDIAG_GETSOCK || head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
            return read_row(message, length, ret_row);
    }
    return TCP_END;
}
