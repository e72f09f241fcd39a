/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the tracked tree, by writer. struct tracked is written by run/ alone and const for collectors;
 * struct tree_status by the tree collector alone; struct gpu_status by the GPU collector alone. All of them belong to
 * the sampling thread from its start on.
 */
#ifndef COLLECT_TRACKED_H
#define COLLECT_TRACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"

enum { TRACKED_REAPED_MAX = 65536 };

enum tracked_pss { TRACKED_PSS_AUTO, TRACKED_PSS_ALWAYS, TRACKED_PSS_NEVER };

/* What wait4 reported of the children that were waited for, and of theirs. */
struct tracked_usage {
    uint64_t user_us, system_us;
    uint64_t read_bytes, write_bytes;
    uint64_t minor_faults, major_faults;
    uint64_t max_rss_bytes; /* of the largest single process */
    uint64_t voluntary_switches, involuntary_switches;
};

struct tracked {
    pid_t root; /* 0: nothing is tracked */
    pid_t tracker; /* ourselves, the parent of the root and of orphans */
    bool attached; /* --pid: what was used before does not count, and no process is ours to wait for */
    int64_t start_ns; /* monotonic */
    enum tracked_pss pss;
    int64_t quantum_ns; /* CPU times are reported in multiples of it, so that rounding on output adds up to nothing */
    const char *group_dir; /* --cgroup: the v2 group of the command, relative to the sysroot; NULL: none */
    bool wants_members; /* the GPU collector may need the processes of the tree */
    bool wants_top; /* the largest processes are wanted, and those with the most CPU time */
    const char *root_program; /* as it was given; NULL: attached, or nothing is tracked */
    const char *root_command; /* the command line as it may be shown; NULL: not at all */
    struct opt_u64 root_cpu_ns; /* of its own, just before it was waited for */
    bool has_root_usage; /* the root was waited for: its part is in `reaped` */
    int root_signal; /* that ended the root; 0: none did */
    struct {
        bool has;
        uint64_t run_ns, wait_ns;
    } root_end; /* schedstat of the root's first thread when it had ended and was not waited for yet */
    pid_t ended; /* the newest process that is known to have ended; 0: none */
    struct tracked_usage reaped;
    struct {
        pid_t *items; /* those waited for since the last sample */
        size_t count, cap;
        uint64_t earlier; /* how many were listed before them */
    } reaped_pids;
};

/* One of the children waited for; where there are more than fit, the others are only in the sums. */
void tracked_note_reaped(struct tracked *tracked, pid_t pid);

/* After a sample: the list begins again. */
void tracked_clear_reaped(struct tracked *tracked);
void tracked_fini(struct tracked *tracked);

/* A live process of the tree; the pair names one process for ever. */
struct job_member {
    pid_t pid;
    uint64_t start_ticks; /* since boot */
};

/* As of the newest sample. */
struct tree_status {
    size_t live; /* processes of the tree that have not ended, the root included */
    pid_t live_pid; /* one of them; 0: none */
    bool is_root_gone;
    struct {
        struct job_member *items; /* filled where they are wanted */
        size_t count, cap;
    } members;
    uint64_t largest_rss_bytes; /* of one process, over all samples */
    struct opt_u64 cpus_allowed; /* that the processes which use CPU time may run on; absent: unknown */
    /* CPU time may be lost: a member ignores SIGCHLD, is in a PID namespace that ends with what lives in it, or was
     * adopted by a process that is not ours */
    bool is_lower_bound;
};

void tree_status_fini(struct tree_status *status);

struct gpu_status {
    bool has_no_device; /* at the last scan: then no list of members is needed */
    struct opt_f64 joules; /* energy of all GPUs over the run; known after the final sample */
};

#endif
