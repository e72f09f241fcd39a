/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP connection to a host by name, with a deadline for the lookup and all attempts together. */
#ifndef NET_CONNECT_H
#define NET_CONNECT_H

#include <stdint.h>

#include "base/err.h"
#include "net/lookup.h"
#include "net/wait.h"

/*
 * Tries the addresses one after the other, each for a fair share of the time that is left. Returns a connected
 * descriptor (non-blocking, close-on-exec, without Nagle's delay), which is the caller's, or a negative errno with a
 * message that does not name the host: those of lookup_find, -ECONNREFUSED, -ENETUNREACH and their like, -EACCES where
 * this host forbids it.
 */
int connect_open(struct lookup *lookup, const char *host, uint16_t port, const struct net_wait *wait,
    int64_t deadline_ns, struct err *err);

#endif
