/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling grid: start + k x interval on the monotonic clock. No drift; places that passed are counted, never made
 * up.
 */
#ifndef RUN_GRID_H
#define RUN_GRID_H

#include <stdint.h>

struct grid {
    int64_t start_ns, interval_ns;
    uint64_t index; /* the newest place reached; 0 is the start */
};

/* What the timer says when it fires. */
struct grid_turn {
    int64_t late_ns;
    uint64_t missed;
};

/* `expirations` (at least 1) places were reached since the last call. */
static inline struct grid_turn grid_advance(struct grid *grid, uint64_t expirations, int64_t now_ns)
{
    grid->index += expirations;
    int64_t late_ns = now_ns - (grid->start_ns + (int64_t)grid->index * grid->interval_ns);
    return (struct grid_turn){.late_ns = late_ns > 0 ? late_ns : 0, .missed = expirations - 1};
}

/* A sample between two places (the final one): it is not late, and places that passed unseen are missed. */
static inline struct grid_turn grid_between(struct grid *grid, int64_t now_ns)
{
    int64_t passed = (now_ns - grid->start_ns) / grid->interval_ns;
    uint64_t reached = passed > 0 ? (uint64_t)passed : 0;
    uint64_t missed = reached > grid->index ? reached - grid->index : 0;
    grid->index += missed;
    return (struct grid_turn){.missed = missed};
}

#endif
