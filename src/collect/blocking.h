/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads that may never return. The files of a process that hangs in the kernel (a dead network file system) block their
 * reader, and so can files of a device. The sampling thread brackets such reads; where it does not come out again, the
 * supervisor lets another thread go on in its stead, and what is stuck is left out until the read returns.
 */
#ifndef COLLECT_BLOCKING_H
#define COLLECT_BLOCKING_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { BLOCKING_STALLS_MAX = 16, BLOCKING_TEXT_BYTES = 4096 };

enum blocking_state {
    BLOCKING_OUTSIDE,
    BLOCKING_INSIDE, /* in a bracket: only here another thread may take over */
    BLOCKING_ABANDONED, /* another thread has taken over */
    BLOCKING_RETURNED, /* and since then this one came out of its bracket: it ends, and touches nothing any more */
};

/* A sampling thread. */
struct blocking_thread {
    jmp_buf home; /* where it ends from wherever it was stuck */
    _Atomic int state;
    _Atomic unsigned sequence; /* of brackets entered */
    pid_t pid; /* whose file is read in the bracket; 0: a collector as a whole */
    const char *file; /* its name, or that of the collector; static */
    char text[BLOCKING_TEXT_BYTES]; /* where to read into: a late return may not write into memory that others use */
};

struct blocking {
    struct blocking_thread *thread; /* the one that samples */
    struct blocking_thread *stalls[BLOCKING_STALLS_MAX]; /* abandoned while they read a file of a process */
    size_t stall_count;
    bool is_ending; /* there is no time for more: no file of any process is read any more */
};

/* Enters a bracket; returns what blocking_leave takes. blocking may be NULL: then nothing supervises the caller, and
 * there is no bracket (NULL). file: a static string. */
struct blocking_thread *blocking_enter(struct blocking *blocking, pid_t pid, const char *file);

/* False: another thread has taken over; then blocking_return is all that the caller may still do. thread may be NULL.
 */
bool blocking_leave(struct blocking_thread *thread);

/* Ends an abandoned thread by a jump to `home`: what the caller holds alone it must release before. */
_Noreturn void blocking_return(struct blocking_thread *thread);

/* For the sampling thread: is a read of this file (NULL: of any) of this process under way in an abandoned thread?
 * Where too many are, every file counts as such. */
bool blocking_is_stuck(struct blocking *blocking, pid_t pid, const char *file);

/* Is any of them? */
bool blocking_has_stalls(struct blocking *blocking);

/*
 * For the supervisor. blocking_abandon: takes the sampling over from a thread that was in the same bracket all the time
 * since `sequence`; false where it has come out. blocking_replace: the thread that goes on.
 */
bool blocking_abandon(struct blocking_thread *thread, unsigned sequence);
void blocking_replace(struct blocking *blocking, struct blocking_thread *next);

#endif
