/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program, makes its monotonic clock and its timers run CLOCK_FACTOR times as fast, so that 100,000
 * samples take minutes. Everything else is real: each sample reads what it always reads. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC 1000000000LL

int clock_gettime(clockid_t id, struct timespec *ret_time);
int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *ret_old);

static long long factor(void)
{
    const char *text = getenv("CLOCK_FACTOR");
    long long value = text ? strtoll(text, NULL, 10) : 1;
    return value > 0 ? value : 1;
}

static long long to_ns(struct timespec time)
{
    return time.tv_sec * NS_PER_SEC + time.tv_nsec;
}

static struct timespec from_ns(long long ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC), .tv_nsec = (long)(ns % NS_PER_SEC)};
}

/* All clocks of real time count from boot, so that the sped up one needs no memory of its own. */
int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    if (syscall(SYS_clock_gettime, id, ret_time) < 0)
        return -1;
    if (id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME)
        *ret_time = from_ns(to_ns(*ret_time) * factor());
    return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *ret_old)
{
    struct itimerspec real = {
        .it_interval = from_ns(to_ns(value->it_interval) / factor()),
        .it_value = from_ns(to_ns(value->it_value) / factor()),
    };
    return (int)syscall(SYS_timerfd_settime, fd, flags, &real, ret_old);
}
