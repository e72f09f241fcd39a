/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On how many CPUs the tree may run (sched_getaffinity(2)), as far as its processes use CPU time: a command can be
 * bound to fewer than we are (taskset, numactl, a scheduler). Read seldom: with the first two samples, every ten
 * seconds, and with the last one. Processes that are bound to a CPU each may use all of them.
 */
#ifndef COLLECT_TREE_AFFINITY_H
#define COLLECT_TREE_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "collect/collect.h"

enum { AFFINITY_COUNTS = 8, AFFINITY_READ_MAX = 64, AFFINITY_FIRST = 2 };

struct affinity {
    const struct collect_env *env;
    int64_t next_ns;
    uint64_t readings; /* so far */
    struct affinity_count {
        uint64_t cpus, cpu_ns; /* CPU time that was used while the tree could run on so many */
    } counts[AFFINITY_COUNTS];
};

struct tree_members;

void affinity_open(struct affinity *affinity, const struct collect_env *env);

/* After a walk. baseline: what was used so far does not count. Returns whether anything was read. */
bool affinity_tick(
    struct affinity *affinity, const struct tree_members *members, int64_t now_ns, const struct tick *tick);

/* The most CPUs of which at least a tenth of the CPU time was used; absent where nothing could be read. */
struct opt_u64 affinity_cpus(const struct affinity *affinity);

/* For struct collect_env: sched_getaffinity of a thread. */
int affinity_of_thread(void *context, pid_t tid, size_t bytes, void *ret_set);

#endif
