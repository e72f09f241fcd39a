/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the cpu section, apart from reading. */
#ifndef COLLECT_CPU_H
#define COLLECT_CPU_H

#include "kernel/proc_stat.h"
#include "model/sample.h"

struct cpu_share {
    uint64_t busy, steal, total;
};

/* Growth between two readings of the same CPU: total = all eight times, busy = total - idle - iowait, steal in it. */
struct cpu_share cpu_share_between(const struct cpu_ticks *prev, const struct cpu_ticks *cur);

/* The times and counts of this interval from two readings (of the previous one only the totals and the number of CPUs
 * are looked at). */
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

#endif
