/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/stat (Documentation/filesystems/proc.rst): CPU times in ticks, by CPU number, and the kernel's counters.
 */
#ifndef KERNEL_PROC_STAT_H
#define KERNEL_PROC_STAT_H

#include <stddef.h>

#include "base/opt.h"
#include "base/str.h"

/* guest and guest_nice are already inside user and nice. Columns an old kernel lacks are 0. */
struct cpu_ticks {
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
};

struct cpu_core {
    unsigned number;
    struct cpu_ticks ticks;
};

struct proc_stat {
    struct cpu_ticks total;
    struct {
        struct cpu_core *items; /* online CPUs in the order of the file; gaps where CPUs are offline */
        size_t count, cap;
    } cores;
    struct opt_u64 context_switches, procs_running, procs_blocked;
    struct opt_u64 forks; /* since boot; absent where the kernel does not count them */
};

/* Bound on CPU numbers and on the number of cores. */
enum { PROC_STAT_CPUS_MAX = 8192 };

/*
 * Fills *stat, reusing its cores array (no allocation unless there are more cores than ever before). Returns 0,
 * -EINVAL where a cpu line is broken, -EBADMSG where the "cpu" line is missing or the text is cut (its last byte is no
 * LF), -E2BIG or -ENOMEM; the cores are then empty. Lines it does not know are skipped.
 */
int proc_stat_parse(struct str text, struct proc_stat *stat);
void proc_stat_fini(struct proc_stat *stat);

#endif
