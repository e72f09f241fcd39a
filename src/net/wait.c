/* SPDX-License-Identifier: Apache-2.0 */
#include "net/wait.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"

/* No single wait is longer, so that every time fits into a timespec of 32 bits. */
static const int64_t step_max_ns = 3600 * NS_PER_SEC;

static int poll_until(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)context;
    struct pollfd watched = {.fd = fd, .events = events};
    for (;;) {
        int64_t now_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
        if (now_ns >= deadline_ns)
            return -ETIMEDOUT;
        int64_t left_ns = deadline_ns - now_ns;
        if (left_ns > step_max_ns)
            left_ns = step_max_ns;
        struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_SEC), .tv_nsec = (long)(left_ns % NS_PER_SEC)};
        int n = ppoll(&watched, 1, &left, NULL);
        if (n > 0)
            return watched.revents & POLLNVAL ? -EBADF : 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

const struct net_wait net_wait_plain = {.until = poll_until};
