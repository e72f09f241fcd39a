/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the whole host: /proc/stat, loadavg, meminfo, cpuinfo and pressure/. */
#ifndef KERNEL_PROC_H
#define KERNEL_PROC_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

/* /proc/stat (Documentation/filesystems/proc.rst): CPU times in ticks, by CPU number, and the kernel's counters. */

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

/* /proc/loadavg. */
struct loadavg {
    double load1, load5, load15;
    struct opt_u64 last_pid; /* the newest PID given out, to a process or a thread, in the reader's PID namespace */
};

/* Returns 0, or -EINVAL where a load is missing, cut or no number. */
int loadavg_parse(struct str text, struct loadavg *ret);

/* /proc/meminfo: amounts in KiB as the kernel prints them ("kB"). */
struct meminfo {
    struct opt_u64 total_kib, free_kib, available_kib, buffers_kib, cached_kib, s_reclaimable_kib, active_kib,
        inactive_kib, swap_total_kib, swap_free_kib, shmem_kib, dirty_kib;
};

/* Returns 0, or -EBADMSG where MemTotal is missing. Keys an old kernel lacks stay absent. */
int meminfo_parse(struct str text, struct meminfo *ret);

/* /proc/pressure/{cpu,memory,io} and a cgroup's *.pressure (Documentation/accounting/psi.rst). */
struct pressure {
    struct opt_u64 some_total_us, full_total_us; /* cpu has no "full" line before Linux 5.13 */
};

/* Returns 0 or -EINVAL where there is no "some" line with a total. */
int pressure_parse(struct str text, struct pressure *ret);

/* /proc/cpuinfo: what the processor is called, and whether it says that it is a virtual one. Every architecture has
 * keys of its own. */

/* Kinds of cores that one machine can have; more are passed over. */
enum { CPUINFO_KINDS_MAX = 8 };

/* An Arm core by the fields of its main ID register (MIDR_EL1). */
struct cpuinfo_core {
    uint32_t implementer, part;
};

struct cpuinfo {
    struct str model_name; /* of the first processor, points into the text; n = 0: not there */
    struct cpuinfo_core kinds[CPUINFO_KINDS_MAX]; /* different ones, in the order of the text */
    size_t kind_count;
    struct opt_bool is_virtual; /* x86 only: "hypervisor" among the flags; absent without a line of flags */
};

/* Never fails: what is missing, malformed or cut stays unknown. The start of the file is enough on most machines. */
void cpuinfo_parse(struct str text, struct cpuinfo *ret_info);

/* "0x00000000413fd0c1" of regs/identification/midr_el1 in the same terms. 0 or -EINVAL. */
int cpuinfo_parse_midr(struct str text, struct cpuinfo_core *ret_core);

#endif
