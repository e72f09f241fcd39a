/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for descriptors: ready, broken, closed, too late, and in spite of signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "net/wait.h"

static int64_t now_ns(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
}

static int64_t in_ms(int64_t ms)
{
    return now_ns() + ms * NS_PER_MS;
}

static int wait_plain(int fd, short events, int64_t deadline_ns)
{
    return net_wait_until(&net_wait_plain, fd, events, deadline_ns);
}

static void test_ready(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wait_plain(ends[1], POLLOUT, in_ms(10000)), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(wait_plain(ends[0], POLLIN, in_ms(10000)), 0);
    assert_int_equal(wait_plain(ends[0], POLLIN, INT64_MAX), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

static void test_deadline(void **state)
{
    (void)state;
    AUTO_FD int read_end = -1;
    AUTO_FD int write_end = -1;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    read_end = ends[0];
    write_end = ends[1];
    int64_t deadline_ns = in_ms(30);
    assert_int_equal(wait_plain(read_end, POLLIN, deadline_ns), -ETIMEDOUT);
    assert_true(now_ns() >= deadline_ns);
    /* One that has passed comes first, even for a descriptor that is ready. */
    assert_int_equal(wait_plain(write_end, POLLOUT, now_ns()), -ETIMEDOUT);
    assert_int_equal(wait_plain(write_end, POLLOUT, 0), -ETIMEDOUT);
    assert_int_equal(wait_plain(write_end, POLLOUT, -1), -ETIMEDOUT);
    assert_int_equal(wait_plain(write_end, POLLOUT, INT64_MIN), -ETIMEDOUT);
}

static void test_no_descriptor_waits(void **state)
{
    (void)state;
    int64_t deadline_ns = in_ms(20);
    assert_int_equal(wait_plain(-1, POLLIN, deadline_ns), -ETIMEDOUT);
    assert_true(now_ns() >= deadline_ns);
}

static void test_broken_is_ready(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(wait_plain(ends[0], POLLIN, in_ms(10000)), 0);
    assert_int_equal(close(ends[0]), 0);
    /* A pipe without a reader reports an error, which was not asked for. */
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(wait_plain(ends[1], POLLIN, in_ms(10000)), 0);
    assert_int_equal(close(ends[1]), 0);
}

static void test_closed_descriptor(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(wait_plain(ends[0], POLLIN, in_ms(10000)), -EBADF);
}

static void test_woken_by_the_descriptor(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)poll(NULL, 0, 20);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    int64_t deadline_ns = in_ms(30000);
    assert_int_equal(wait_plain(ends[0], POLLIN, deadline_ns), 0);
    assert_true(now_ns() < deadline_ns);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

static void test_signals_do_not_end_it(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = do_nothing};
    struct sigaction before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    const struct itimerval often = {.it_interval.tv_usec = 3000, .it_value.tv_usec = 3000};
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    int64_t deadline_ns = in_ms(40);
    assert_int_equal(wait_plain(-1, 0, deadline_ns), -ETIMEDOUT);
    assert_true(now_ns() >= deadline_ns);
    const struct itimerval off = {0};
    assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

struct seen {
    int fd;
    short events;
    int64_t deadline_ns;
};

static int cancel(void *context, int fd, short events, int64_t deadline_ns)
{
    *(struct seen *)context = (struct seen){fd, events, deadline_ns};
    return -ECANCELED;
}

static void test_wait_of_the_caller(void **state)
{
    (void)state;
    struct seen seen = {0};
    const struct net_wait wait = {.until = cancel, .context = &seen};
    assert_int_equal(net_wait_until(&wait, 5, POLLOUT, 77), -ECANCELED);
    assert_int_equal(seen.fd, 5);
    assert_int_equal(seen.events, POLLOUT);
    assert_int_equal(seen.deadline_ns, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_no_descriptor_waits),
        cmocka_unit_test(test_broken_is_ready),
        cmocka_unit_test(test_closed_descriptor),
        cmocka_unit_test(test_woken_by_the_descriptor),
        cmocka_unit_test(test_signals_do_not_end_it),
        cmocka_unit_test(test_wait_of_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
