/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait before the next attempt: doubling from a base up to a ceiling, with full jitter above half of it, so
 * that a thousand machines do not come back at once.
 */
#ifndef NET_BACKOFF_H
#define NET_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t base_ns, max_ns;
    unsigned failures;
    uint64_t random; /* state of the generator; any seed */
};

/* The seed is the caller's: time and PID in the program, a constant in tests. */
void backoff_init(struct backoff *backoff, int64_t base_ns, int64_t max_ns, uint64_t seed);

/* One more failure: the time to wait, between half of and all of min(max, base * 2^failures before this one). */
int64_t backoff_next(struct backoff *backoff);
void backoff_reset(struct backoff *backoff);

#endif
