/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock as a seam: the program reads the system's, tests step their own.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

enum clock_kind {
    CLOCK_KIND_MONOTONIC, /* stands still in suspend, never jumps */
    CLOCK_KIND_REALTIME, /* Unix time */
    CLOCK_KIND_OWN_CPU, /* CPU time of this process */
    CLOCK_KIND_BOOT, /* since boot, suspend included: the start time of a process is on it */
};

struct clock {
    int64_t (*read_ns)(void *context, enum clock_kind kind);
    void *context;
};

extern const struct clock clock_system;

static inline int64_t clock_read(const struct clock *clock, enum clock_kind kind)
{
    return clock->read_ns(clock->context, kind);
}

/* The system's monotonic clock. */
int64_t clock_now(void);

/* The same, for timeouts of poll. */
static inline int64_t clock_now_ms(void)
{
    return clock_now() / NS_PER_MS;
}

/* CPU time of all threads of a process so far, for which no rights are needed. 0, or a negative errno where there is no
 * such process. */
int clock_process_cpu(pid_t pid, uint64_t *ret_ns);

#endif
