/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that works for a collector: it is registered in struct helpers, so that it is not taken for one of
 * the tree, and it is never waited for. One that is stuck in the kernel can only be left alone.
 */
#ifndef COLLECT_HELPER_H
#define COLLECT_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"

enum { HELPER_CHANNEL_FD = 3, HELPERS_MAX = 24, HELPER_ABANDONED_MAX = 3 };

/* The account of all helpers: children of ours that do not belong to the tree. */
struct helpers {
    struct helpers_process {
        pid_t pid; /* 0: free slot */
        bool has_ended; /* it was waited for */
        int status; /* as wait reports it, then */
    } processes[HELPERS_MAX];
    pid_t groups[HELPERS_MAX]; /* their process groups; what a helper starts is not of the tree either */
    uint64_t cpu_ns, rss_bytes; /* what long-lived helpers used so far, and hold now */
    uint64_t probe_cpu_ns; /* what the short-lived helpers that ask devices used so far */
};

/* helpers may be NULL in all of these: then nothing happens, and no process is a helper. */
void helpers_add(struct helpers *helpers, pid_t pid);
void helpers_remove(struct helpers *helpers, pid_t pid);
bool helpers_has(const struct helpers *helpers, pid_t pid);

/* Was this process, dead or alive but not waited for, started by a helper? An empty group is dropped from the list. */
bool helpers_started(struct helpers *helpers, pid_t pid);

/* What waits for all children notes the status of a helper here, and the helper's owner asks for it. */
void helpers_note_end(struct helpers *helpers, pid_t pid, int status);
bool helpers_has_ended(const struct helpers *helpers, pid_t pid, int *ret_status);

struct helper {
    pid_t pid; /* 0: none */
    int pid_fd; /* -1 on kernels that have none */
    bool has_group; /* it leads a process group */
};

#define HELPER_NONE                                                                                                    \
    {                                                                                                                  \
        .pid_fd = -1                                                                                                   \
    }

struct helper_request {
    const char *path;
    char *const *argv;
    char *const *environment;
    int stdout_fd; /* -1: /dev/null, as stdin and stderr are */
    int channel_fd; /* becomes HELPER_CHANNEL_FD; -1: none */
    bool is_apart; /* in a process group of its own, which ends with it, and with all signals blocked */
    bool has_stderr; /* its stdout and stderr are our stderr */
};

/* Returns 0 or a negative errno: there is no process then. helpers may be NULL. */
int helper_start(struct helper *helper, struct helpers *helpers, const struct helper_request *request);

/* True when it is gone, with its exit status (-n: by signal n), absent where that is not known. Never waits. The helper
 * is then none again. */
bool helper_reap(struct helper *helper, struct helpers *helpers, struct opt_i64 *ret_status);

/* SIGKILL; does no harm twice. */
void helper_kill(const struct helper *helper);

/* Closes what we have of it, gone or not. */
void helper_release(struct helper *helper);

/* helper_start in a group of its own, with a socket for messages; *ret_channel_fd is our end of it. */
int helper_start_with_channel(
    struct helper *helper, struct helpers *helpers, struct helper_request request, int *ret_channel_fd);

/*
 * Helpers that hang, in an array of HELPER_ABANDONED_MAX. helper_abandon kills one and moves it there, where there is
 * a slot; helper_reap_abandoned drops those that are gone. Both return how many are left.
 */
size_t helper_abandon(struct helper *helper, struct helper *abandoned);
size_t helper_reap_abandoned(struct helper *abandoned, struct helpers *helpers);

/* Ends one and releases those that hang; never waits. */
void helper_end(struct helper *helper, struct helper *abandoned, struct helpers *helpers);

/* For the helper itself, where it is this program with a channel: was it started with this flag? */
bool helper_is_meant(const char *word, const char *flag);

/*
 * For the helper itself, where it is this program with a channel: under a name of its own, without core dumps and
 * without a descriptor of others, and killed with the tracker. Does not return where the tracker is gone already.
 */
void helper_restrict_self(const char *name);

#endif
