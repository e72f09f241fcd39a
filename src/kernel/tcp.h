/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP of a network namespace: its counters in /proc/net/snmp, and its sockets as NETLINK_SOCK_DIAG lists them
 * (sock_diag(7)): binary messages, each a struct inet_diag_msg with attributes, of which INET_DIAG_INFO is a tcp_info.
 */
#ifndef KERNEL_TCP_H
#define KERNEL_TCP_H

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

/* Since the namespace exists, IPv4 and IPv6 together. */
struct tcp_counters {
    uint64_t opens; /* connections, active and passive */
    uint64_t segments; /* received and sent */
};

/* net/snmp: "Tcp: RtoAlgorithm ... InSegs OutSegs ..." and a line of numbers below. Returns 0, or -EBADMSG. */
int tcp_counters_parse(struct str text, struct tcp_counters *ret);

/* All sockets that are or were connected, both families, with their tcp_info: one request. */
struct tcp_request {
    struct nlmsghdr header;
    struct inet_diag_req body;
};

void tcp_request_init(struct tcp_request *request, uint32_t sequence);

/* Which socket: its family, ports, addresses, and a cookie that no other socket ever has. */
struct tcp_name {
    uint8_t family;
    struct inet_diag_sockid id;
};

bool tcp_name_is_same(const struct tcp_name *a, const struct tcp_name *b);

/* Are they the two ends of one connection? One of them may be a socket for both families. */
bool tcp_name_is_other_end(const struct tcp_name *a, const struct tcp_name *b);

/* One socket alone, which costs far less than the list. The answer is a row, or -ENOENT as an error. */
struct tcp_request_one {
    struct nlmsghdr header;
    struct inet_diag_req_v2 body;
};

void tcp_request_one_init(struct tcp_request_one *request, const struct tcp_name *name, uint32_t sequence);

/* A socket in an answer. */
struct tcp_row {
    struct tcp_name name;
    uint32_t inode; /* 0: no process has it open, or none has accepted it yet */
    bool is_connected; /* not closed on our side */
    bool has_bytes; /* the kernel counts them (Linux 4.2) */
    uint64_t received, sent; /* bytes of data; sent: those that were acknowledged */
};

enum tcp_step { TCP_END, TCP_ROW, TCP_DONE };

/*
 * Steps through n bytes of one datagram; *at begins with 0. TCP_ROW: a socket; TCP_END: the next datagram goes on;
 * TCP_DONE: the answer is complete. Messages of another sequence are skipped. Returns -EBADMSG for what is no such
 * message, -EINTR where the list changed so that a socket may be missing, or the negative errno that the kernel says.
 */
int tcp_answer_next(const void *bytes, size_t n, uint32_t sequence, size_t *at, struct tcp_row *ret_row);

#endif
