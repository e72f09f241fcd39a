/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/blocking.h"

#include <string.h>

struct blocking_thread *blocking_enter(struct blocking *blocking, pid_t pid, const char *file)
{
    if (!blocking || !blocking->thread)
        return NULL;
    struct blocking_thread *thread = blocking->thread;
    thread->pid = pid;
    thread->file = file;
    unsigned sequence = atomic_load_explicit(&thread->sequence, memory_order_relaxed);
    atomic_store_explicit(&thread->sequence, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(&thread->state, BLOCKING_INSIDE, memory_order_release);
    return thread;
}

bool blocking_leave(struct blocking_thread *thread)
{
    int inside = BLOCKING_INSIDE;
    return !thread || atomic_compare_exchange_strong(&thread->state, &inside, BLOCKING_OUTSIDE);
}

void blocking_return(struct blocking_thread *thread)
{
    longjmp(thread->home, 1);
}

static bool has_returned(const struct blocking_thread *thread)
{
    return atomic_load_explicit(&thread->state, memory_order_acquire) == BLOCKING_RETURNED;
}

bool blocking_has_stalls(struct blocking *blocking)
{
    size_t kept = 0;
    for (size_t i = 0; i < blocking->stall_count; i++) {
        if (!has_returned(blocking->stalls[i]))
            blocking->stalls[kept++] = blocking->stalls[i];
    }
    blocking->stall_count = kept;
    return kept > 0;
}

bool blocking_is_stuck(struct blocking *blocking, pid_t pid, const char *file)
{
    if (!blocking || (blocking->stall_count == 0 && !blocking->is_ending))
        return false;
    if (blocking->is_ending || (blocking_has_stalls(blocking) && blocking->stall_count == BLOCKING_STALLS_MAX))
        return true;
    for (size_t i = 0; i < blocking->stall_count; i++) {
        if (blocking->stalls[i]->pid == pid && (!file || strcmp(blocking->stalls[i]->file, file) == 0))
            return true;
    }
    return false;
}

bool blocking_abandon(struct blocking_thread *thread, unsigned sequence)
{
    int inside = BLOCKING_INSIDE;
    if (atomic_load_explicit(&thread->sequence, memory_order_relaxed) != sequence)
        return false;
    /* It may have left that bracket and entered another one since: then that one is young, but may be left all the
     * same. */
    return atomic_compare_exchange_strong(&thread->state, &inside, BLOCKING_ABANDONED);
}

void blocking_replace(struct blocking *blocking, struct blocking_thread *next)
{
    struct blocking_thread *stall = blocking->thread;
    blocking->thread = next;
    if (stall->pid != 0 && blocking->stall_count < BLOCKING_STALLS_MAX)
        blocking->stalls[blocking->stall_count++] = stall;
}
