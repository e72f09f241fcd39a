/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the CPU collector: the arithmetic of its section, and the count of processes. */
#ifndef COLLECT_CPU_H
#define COLLECT_CPU_H

#include "collect/collect.h"
#include "kernel/proc.h"
#include "model/sample.h"

/* The arithmetic of the cpu section, apart from reading. */
struct cpu_share {
    uint64_t busy, steal, total;
};

/* Growth between two readings of the same CPU: total = all eight times, busy = total - idle - iowait, steal in it. */
struct cpu_share cpu_share_between(const struct cpu_ticks *prev, const struct cpu_ticks *cur);

/* The times and counts of this interval from two readings (of the previous one only the totals and the number of CPUs
 * are used). */
void cpu_derive(
    const struct proc_stat *prev, const struct proc_stat *cur, int64_t ticks_per_sec, struct sample_cpu *ret_cpu);

struct cpu_shares {
    struct opt_f64 cores_used, steal_pct;
};

/*
 * The shares, over the CPUs that are in both readings: returns the cores in use and the stolen share of all of them,
 * and puts the busy share of each CPU by number into items[0..count), and what was stolen of it into steal_items (NULL:
 * not wanted), absent for CPUs that are offline now or were so at the earlier reading. Unknown where no tick has
 * passed.
 */
struct cpu_shares cpu_derive_shares(const struct proc_stat *base, const struct proc_stat *cur, struct opt_f64 *items,
    struct opt_f64 *steal_items, size_t count);

/*
 * How many processes the host has, by the cheapest way that is right: the link count of /proc where it can be trusted,
 * else a listing of the directory at most once a second, and less often where that takes long.
 */
struct process_count {
    const struct collect_env *env;
    int list_fd; /* kept for listing; -1: not yet opened */
    bool by_links;
    uint64_t other_links; /* st_nlink of /proc less the processes */
    int64_t calibrated_ns; /* when that was last found out */
    int64_t listed_ns; /* when the directory was last listed for a count */
    int64_t list_cost_ns; /* what that took */
    struct opt_u64 listed;
    struct opt_u64 listed_links, listed_forks; /* of the whole host then */
};

void process_count_init(struct process_count *count, const struct collect_env *env);
void process_count_fini(struct process_count *count);

/*
 * Absent where /proc cannot be read. grid_ns is when this sample was due: lateness must not make
 * one listing serve two samples. forks: processes made since boot, absent where unknown.
 */
struct opt_u64 process_count_read(struct process_count *count, int64_t grid_ns, struct opt_u64 forks);

#endif
