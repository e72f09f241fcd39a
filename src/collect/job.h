/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracked tree as the supervisor and the collectors share it. The supervisor says which process is the root and
 * what the children it has waited for have used; the tree collector says what it found.
 */
#ifndef COLLECT_JOB_H
#define COLLECT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"

enum { JOB_HELPERS_MAX = 12, JOB_REAPED_MAX = 65536 };

enum job_pss { JOB_PSS_AUTO, JOB_PSS_ALWAYS, JOB_PSS_NEVER };

/* What wait4 reported of the children that were waited for, and of theirs. */
struct job_usage {
    uint64_t user_us, system_us;
    uint64_t read_bytes, write_bytes;
    uint64_t major_faults;
    uint64_t max_rss_bytes; /* of the largest single process */
    uint64_t voluntary_switches, involuntary_switches;
};

/* A live process of the tree; the pair names one process for ever. */
struct job_member {
    pid_t pid;
    uint64_t start_ticks; /* since boot */
};

struct job {
    /* by the supervisor */
    pid_t root; /* 0: nothing is tracked */
    pid_t tracker; /* ourselves, the parent of the root and of orphans */
    bool attached; /* --pid: what was used before does not count, and nobody is ours to wait for */
    int64_t start_ns; /* monotonic */
    enum job_pss pss;
    int64_t quantum_ns; /* CPU times are told in multiples of it, so that rounding on the way out adds up to nothing */
    int root_signal; /* that ended the root; 0: none did */
    pid_t ended; /* the newest process of which we were told that it has ended; 0: none */
    const char *group_dir; /* --cgroup: the v2 group of the command, relative to the sysroot; NULL: none */
    struct job_usage reaped;
    struct {
        pid_t *items; /* those waited for since the last sample */
        size_t count, cap;
    } reaped_pids;
    /* by collectors that run helpers: children of ours that do not belong to the tree */
    struct job_helper {
        pid_t pid; /* 0: free place */
        bool has_ended; /* somebody has waited for it */
        int status; /* as wait tells it, then */
    } helpers[JOB_HELPERS_MAX];
    pid_t
        helper_groups[JOB_HELPERS_MAX]; /* process groups of helpers; what a helper starts is not of the tree either */
    uint64_t helpers_cpu_ns, helpers_rss_bytes; /* what long-lived helpers used so far, and hold now */
    uint64_t probe_cpu_ns; /* what the short-lived helpers that ask devices used so far */
    bool wants_members; /* somebody needs to know the processes of the tree */
    bool wants_top; /* and somebody the names of the largest */
    struct opt_f64 gpu_joules; /* energy of all GPUs over the run; known after the final sample */
    /* by the tree collector, after each sample */
    size_t live; /* processes of the tree that have not ended, the root included */
    pid_t live_pid; /* one of them; 0: none */
    bool is_root_gone;
    struct {
        struct job_member *items; /* filled where wants_members */
        size_t count, cap;
    } members;
    uint64_t largest_rss_bytes; /* of one process, over all samples */
    /* CPU time may be lost: a member ignores SIGCHLD, is in a PID namespace that ends with what lives in it, or was
     * adopted by a process that is not ours */
    bool is_lower_bound;
};

void job_fini(struct job *job);

/* One of the children waited for; where there are more than fit, the rest is only in the sums. */
void job_note_reaped(struct job *job, pid_t pid);

/* job may be NULL: then nothing happens, and nobody is a helper. */
void job_add_helper(struct job *job, pid_t pid);
void job_add_helper_group(struct job *job, pid_t group);

/* Was this process, dead or alive but not waited for, started by a helper? A group of which nobody is left is
 * forgotten.
 */
bool job_is_of_helper(struct job *job, pid_t pid);
void job_remove_helper(struct job *job, pid_t pid);
bool job_is_helper(const struct job *job, pid_t pid);

/* Whoever waits for all children notes the status of a helper, and its owner asks for it. */
void job_end_helper(struct job *job, pid_t pid, int status);
bool job_helper_has_ended(const struct job *job, pid_t pid, int *ret_status);

#endif
