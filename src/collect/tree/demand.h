/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what was waited for a CPU to what was wanted. A thread that also sleeps would have slept as long without
 * waiting, and used the CPU for the same share of the time that is left: of its wait, that share counts. And what
 * processes wanted that could not be read, from those of their kind that could. Pure: knows no files.
 */
#ifndef COLLECT_TREE_DEMAND_H
#define COLLECT_TREE_DEMAND_H

#include <stdint.h>

#include "base/opt.h"

/* Time waited; and the part of it that would have been CPU time. In ns, or as a share of time. */
struct demand_wait {
    double waited, wanted;
};

/* Adds so many times of it, or with a negative factor removes it. */
static inline void demand_wait_add(struct demand_wait *sum, struct demand_wait wait, double factor)
{
    sum->waited += factor * wait.waited;
    sum->wanted += factor * wait.wanted;
}

/* What a thread did in the last second, or in its last two readings where they are further apart. */
struct demand_history {
    float run_ns, wait_ns, length_ns, waits;
};

/* What it did since its last reading. */
struct demand_reading {
    uint64_t run_ns, wait_ns;
    uint64_t waits; /* how often it waited; 0: not known */
    int64_t length_ns;
};

/*
 * Adds a reading. Returns the share of the time without waiting that it ran, 0 to 1. The kernel adds a wait when it is
 * over and run time at a tick, so that some of what looks like sleep is none: slack_ns, and half a wait.
 */
double demand_share(struct demand_history *history, const struct demand_reading *reading, int64_t slack_ns);

/*
 * How many threads run or are ready to: for processes that live for less than an interval, those that are met by a
 * sample stand for those that are not, each with the share of its life in which it was ready.
 */
struct demand_ready {
    double now; /* met since the last sample */
    struct opt_f64 mean; /* over the last seconds */
};

/* A sample is made. Returns the mean, in cores. */
double demand_ready_pop(struct demand_ready *ready, int64_t elapsed_ns);

#endif
