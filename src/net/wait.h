/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where networking blocks. The owner of the thread may do other work while a socket is not ready, and may
 * cancel everything.
 */
#ifndef NET_WAIT_H
#define NET_WAIT_H

#include <stdint.h>

struct net_wait {
    /*
     * Returns 0 when fd is ready for one of events (POLLIN, POLLOUT) or broken, -ETIMEDOUT at the deadline (monotonic),
     * -ECANCELED when the work was cancelled, or another negative errno. An fd of -1 waits for the deadline.
     * A deadline that has passed comes before an fd that is ready: a peer that sends drop by drop gains nothing.
     */
    int (*until)(void *context, int fd, short events, int64_t deadline_ns);
    void *context;
};

/* poll(2) and nothing else. */
extern const struct net_wait net_wait_plain;

static inline int net_wait_until(const struct net_wait *wait, int fd, short events, int64_t deadline_ns)
{
    return wait->until(wait->context, fd, events, deadline_ns);
}

#endif
