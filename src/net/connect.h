/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names to addresses, in a thread that can be abandoned; and a TCP connection to a host by name, with a deadline
 * for the lookup and all attempts together.
 */
#ifndef NET_CONNECT_H
#define NET_CONNECT_H

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/wait.h"

enum { LOOKUP_ADDRESSES_MAX = 16 };

struct lookup_address {
    socklen_t bytes;
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } at; /* the port is 0 */
};

struct lookup_result {
    size_t count;
    struct lookup_address items[LOOKUP_ADDRESSES_MAX]; /* both families in turn */
};

typedef int lookup_function(
    const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **ret_list);

struct lookup_job;

struct lookup {
    lookup_function *resolve; /* getaddrinfo, or a test's; called from another thread */
    struct lookup_job *job; /* the thread's, also after it was abandoned; NULL: none */
    bool is_early; /* it was begun by lookup_begin: its answer counts, whatever it is */
};

void lookup_init(struct lookup *lookup);

/* Does not wait for the thread. */
void lookup_fini(struct lookup *lookup);

/*
 * Begins to look up a name and does not wait. Returns -1 where lookup_find would not wait either (it is known, or known
 * not to be had), else a descriptor that becomes readable then and belongs to the lookup.
 */
int lookup_begin(struct lookup *lookup, const char *host);

/*
 * Numeric addresses and names of this host (localhost and below) are known at once. Another name is asked for; while an
 * abandoned thread is still at it, the same name takes that one's result, and a different name waits for its end.
 * Returns 0 with at least one address, or a negative errno with a message that does not name the host: -ENXIO (no such
 * name), -ETIMEDOUT, -ECANCELED, -ENOMEM. Where no thread can be had the deadline does not hold.
 */
int lookup_find(struct lookup *lookup, const char *host, const struct net_wait *wait, int64_t deadline_ns,
    struct lookup_result *ret_result, struct err *err);

/*
 * Tries the addresses one after the other, each for a fair share of the time that is left. Returns a connected
 * descriptor (non-blocking, close-on-exec, without Nagle's delay), which is the caller's, or a negative errno with a
 * message that does not name the host: those of lookup_find, -ECONNREFUSED, -ENETUNREACH and their like, -EACCES where
 * this host forbids it.
 */
int connect_open(struct lookup *lookup, const char *host, uint16_t port, const struct net_wait *wait,
    int64_t deadline_ns, struct err *err);

#endif
