/* SPDX-License-Identifier: Apache-2.0 */
#include "net/backoff.h"

#include <limits.h>

void backoff_init(struct backoff *backoff, int64_t base_ns, int64_t max_ns, uint64_t seed)
{
    *backoff = (struct backoff){
        .base_ns = base_ns > 0 ? base_ns : 1,
        .max_ns = max_ns > 0 ? max_ns : 1,
        .random = seed,
    };
}

/* The SplitMix64 generator: a counter in odd steps, its bits well mixed; so any seed will do. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

int64_t backoff_next(struct backoff *backoff)
{
    enum { SHIFT_MAX = 62 };
    int64_t full_ns = backoff->max_ns;
    if (backoff->failures <= SHIFT_MAX && backoff->base_ns <= backoff->max_ns >> backoff->failures)
        full_ns = backoff->base_ns << backoff->failures;
    if (backoff->failures < UINT_MAX)
        backoff->failures++;
    uint64_t choices = (uint64_t)full_ns / 2 + 1;
    return full_ns - (int64_t)(next_random(&backoff->random) % choices);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}
