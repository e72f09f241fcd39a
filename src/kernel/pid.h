/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one process: /proc/PID/stat, statm, io, schedstat and smaps_rollup. */
#ifndef KERNEL_PID_H
#define KERNEL_PID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

/* A name of the kernel's is at most 15 bytes long. */
enum { PID_NAME_BYTES = 16 };

/* /proc/PID/stat (proc_pid_stat(5)). */
struct pid_stat {
    uint64_t pid, parent;
    char name[PID_NAME_BYTES]; /* of its first thread: any bytes but NUL */
    char state; /* R S D T t Z X … */
    uint64_t minor_faults, major_faults;
    uint64_t children_minor_faults, children_major_faults; /* of children it has waited for, and theirs */
    uint64_t user_ticks, system_ticks; /* of all its threads */
    uint64_t children_user_ticks, children_system_ticks; /* of children it has waited for, and theirs */
    uint64_t threads;
    uint64_t start_ticks; /* since boot: with the PID it names a process for good */
    uint64_t vsize_bytes; /* 0: it has no address space, or its first thread none any more */
    uint64_t rss_pages;
    uint64_t stack_start; /* another one after every exec; 0 or 1 where we may not know */
    bool has_not_execed; /* since it was forked: its address space is that of its parent, or a copy of it */
    bool ignores_sigchld; /* its children leave no trace of their CPU time */
};

/* Returns 0 or -EINVAL for a line that is cut or broken; *ret is written only on success. */
int pid_stat_parse(struct str text, struct pid_stat *ret);

/* Has its first thread ended? Then the line says nothing of its memory. */
static inline bool pid_stat_is_leader_dead(const struct pid_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
}

/* Has it ended? A process whose first thread has ended while others run is alive. */
static inline bool pid_stat_is_dead(const struct pid_stat *stat)
{
    return pid_stat_is_leader_dead(stat) && stat->threads <= 1;
}

/* /proc/PID/statm (proc_pid_statm(5)). */
struct pid_statm {
    uint64_t resident_pages;
    uint64_t file_pages; /* of them, of files and of shared memory */
};

/* Returns 0 or -EINVAL for a line that is cut or broken; *ret is written only on success. */
int pid_statm_parse(struct str text, struct pid_statm *ret);

/* /proc/PID/io (proc_pid_io(5)). Children that were waited for are included. */
struct pid_io {
    uint64_t read_bytes, write_bytes; /* that reached the storage layer */
};

/* Returns 0 or -EINVAL where one of the two is missing, cut or no number. */
int pid_io_parse(struct str text, struct pid_io *ret);

/* /proc/PID/schedstat of its first thread, /proc/PID/task/TID/schedstat of any
 * (Documentation/scheduler/sched-stats.rst). */
struct pid_schedstat {
    uint64_t run_ns; /* on a CPU */
    uint64_t wait_ns; /* ready to run and without a CPU, up to when it last got one */
    uint64_t runs; /* how often it got one; all zeros where the kernel does not count */
};

/* Returns 0 or -EINVAL for a line that is cut or broken; *ret is written only on success. */
int pid_schedstat_parse(struct str text, struct pid_schedstat *ret);

/* /proc/PID/smaps_rollup (Linux 4.14): sums over all mappings. */
struct smaps_rollup {
    uint64_t rss_kib, pss_kib;
    struct opt_u64 anonymous_kib, pss_anon_kib; /* of memory without a file; pss_anon since Linux 5.4 */
    struct opt_u64 pss_shmem_kib; /* of shared memory and tmpfs; the same */
    struct opt_u64 private_clean_kib, private_dirty_kib; /* that no other process has */
    struct opt_u64 ksm_kib; /* of memory without a file, merged with equal pages of any process; since Linux 6.7 */
};

/* The highest resident memory so far (VmHWM) as /proc/PID/status has it; absent without memory. */
struct opt_u64 pid_status_peak_kib(struct str text);

/* Returns 0 or -EINVAL where one of the first two is missing, cut or no number. */
int smaps_rollup_parse(struct str text, struct smaps_rollup *ret);

#endif
