/* SPDX-License-Identifier: Apache-2.0 */
/* The one wait: places of the grid, signals, changes, and a reader that goes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "run/loop.h"
#include "skip.h"
#include "tree.h"

enum { FOR_EVER_SECS = 3600, DESCRIPTORS_MAX = 256 };

static int64_t now_ns(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
}

static sigset_t user_signals(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGUSR1);
    (void)sigaddset(&signals, SIGUSR2);
    return signals;
}

static void open_with(struct loop *loop, const struct grid *grid)
{
    sigset_t signals = user_signals();
    struct err err = {0};
    assert_int_equal(loop_open(loop, &signals, &err), 0);
    assert_int_equal(loop_start(loop, grid, &err), 0);
}

/* A loop whose timer does not disturb. */
static void open_quiet(struct loop *loop)
{
    struct grid grid = {.start_ns = now_ns(), .interval_ns = FOR_EVER_SECS * NS_PER_SEC};
    open_with(loop, &grid);
}

static struct loop_event wait_for(struct loop *loop)
{
    struct loop_event event;
    struct err err = {0};
    assert_int_equal(loop_wait(loop, &event, &err), 0);
    return event;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_timer_follows_the_grid(void **state)
{
    (void)state;
    struct grid grid = {.start_ns = now_ns(), .interval_ns = 5 * NS_PER_MS};
    struct loop loop;
    open_with(&loop, &grid);
    uint64_t places = 0;
    while (places < 6) {
        struct loop_event event = wait_for(&loop);
        int64_t now = now_ns();
        assert_int_equal(event.kind, LOOP_TIMER);
        assert_true(event.expirations >= 1);
        places += event.expirations;
        /* Never before its place, and never with a place left out of the count. */
        assert_true(now >= grid.start_ns + (int64_t)places * grid.interval_ns);
    }
    loop_close(&loop);
}

static void test_missed_places_are_counted(void **state)
{
    (void)state;
    struct grid grid = {.start_ns = now_ns() - 1005 * NS_PER_MS, .interval_ns = 100 * NS_PER_MS};
    struct loop loop;
    open_with(&loop, &grid);
    struct loop_event event = wait_for(&loop);
    int64_t passed = (now_ns() - grid.start_ns) / grid.interval_ns;
    assert_int_equal(event.kind, LOOP_TIMER);
    assert_true(event.expirations >= 10 && event.expirations <= (uint64_t)passed);
    struct grid_tick tick = grid_advance(&grid, event.expirations, now_ns());
    assert_true(tick.missed >= 9);
    /* The next one is on the grid again, not an interval after the late one. */
    event = wait_for(&loop);
    assert_int_equal(event.kind, LOOP_TIMER);
    assert_true(now_ns() - grid.start_ns >= (int64_t)(grid.index + event.expirations) * grid.interval_ns);
    loop_close(&loop);
}

SKIPPABLE_TEST(test_whole_seconds_and_fractions);
static void test_whole_seconds_and_fractions(void **state)
{
    (void)state;
    /* A start and an interval whose sums carry into the seconds: 10 places of 1.9 s, the last one 1 ms ago. */
    struct grid grid = {.start_ns = now_ns() - 10 * 1900 * NS_PER_MS - NS_PER_MS, .interval_ns = 1900 * NS_PER_MS};
    if (grid.start_ns <= 0)
        SKIP_TEST(test_whole_seconds_and_fractions, "the machine has just been started");
    struct loop loop;
    open_with(&loop, &grid);
    struct loop_event event = wait_for(&loop);
    assert_int_equal(event.kind, LOOP_TIMER);
    assert_int_equal(event.expirations, 10);
    loop_close(&loop);
}

static void test_signals(void **state)
{
    (void)state;
    struct loop loop;
    open_quiet(&loop);
    assert_int_equal(raise(SIGUSR2), 0);
    struct loop_event event = wait_for(&loop);
    assert_int_equal(event.kind, LOOP_SIGNAL);
    assert_int_equal(event.signal, SIGUSR2);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(raise(SIGUSR2), 0);
    int seen = 0;
    for (int i = 0; i < 2; i++) {
        event = wait_for(&loop);
        assert_int_equal(event.kind, LOOP_SIGNAL);
        seen |= event.signal == SIGUSR1 ? 1 : event.signal == SIGUSR2 ? 2 : 4;
    }
    assert_int_equal(seen, 3);
    loop_close(&loop);
}

static void test_a_signal_that_came_before_the_loop(void **state)
{
    (void)state;
    assert_int_equal(raise(SIGUSR1), 0);
    struct loop loop;
    open_quiet(&loop);
    struct loop_event event = wait_for(&loop);
    assert_int_equal(event.kind, LOOP_SIGNAL);
    assert_int_equal(event.signal, SIGUSR1);
    loop_close(&loop);
}

/* "Blocks the signals", says the header: without that the first one ends the process instead of the wait. */
static void test_opening_blocks_the_signals(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sigset_t signals = user_signals();
        (void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
        struct loop loop;
        struct loop_event event;
        if (loop_open(&loop, &signals, NULL) < 0)
            _exit(1);
        (void)raise(SIGUSR1);
        _exit(loop_wait(&loop, &event, NULL) == 0 && event.kind == LOOP_SIGNAL && event.signal == SIGUSR1 ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_busy_timer_does_not_hide_a_signal(void **state)
{
    (void)state;
    struct grid grid = {.start_ns = now_ns(), .interval_ns = 1000};
    struct loop loop;
    open_with(&loop, &grid);
    assert_int_equal(raise(SIGUSR1), 0);
    bool seen = false;
    for (int i = 0; i < 1000 && !seen; i++)
        seen = wait_for(&loop).kind == LOOP_SIGNAL;
    assert_true(seen);
    loop_close(&loop);
}

/* Room is reported only while it is wanted. */
static void test_room_for_more(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    struct loop loop;
    open_quiet(&loop);
    loop_watch_output(&loop, ends[1]);
    loop_want_room(&loop, true);
    assert_int_equal(wait_for(&loop).kind, LOOP_ROOM);
    loop_want_room(&loop, false);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(wait_for(&loop).kind, LOOP_SIGNAL);
    loop_want_room(&loop, true);
    (void)close(ends[0]);
    assert_int_equal(wait_for(&loop).kind, LOOP_GONE);
    loop_close(&loop);
    (void)close(ends[1]);
}

static void check_gone(int reader, int writer)
{
    struct loop loop;
    open_quiet(&loop);
    loop_watch_output(&loop, writer);
    assert_int_equal(loop.output_fd, writer);
    /* A reader that is there and slow is no event. */
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(wait_for(&loop).kind, LOOP_SIGNAL);
    (void)close(reader);
    assert_int_equal(wait_for(&loop).kind, LOOP_GONE);
    assert_int_equal(loop.output_fd, -1);
    /* Reported once: what comes next is the signal. */
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(wait_for(&loop).kind, LOOP_SIGNAL);
    loop_close(&loop);
    assert_true(fcntl(writer, F_GETFD) >= 0);
    (void)close(writer);
}

static void test_reader_of_a_pipe_goes_away(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check_gone(ends[0], ends[1]);
}

static void test_reader_of_a_socket_goes_away(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    check_gone(ends[0], ends[1]);
}

static void test_watched_descriptor_is_closed_meanwhile(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct loop loop;
    open_quiet(&loop);
    loop_watch_output(&loop, ends[1]);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(wait_for(&loop).kind, LOOP_SIGNAL);
    loop_close(&loop);
}

static void test_changes_name_their_watcher(void **state)
{
    (void)state;
    int a[2];
    int b[2];
    assert_int_equal(pipe2(a, O_CLOEXEC), 0);
    assert_int_equal(pipe2(b, O_CLOEXEC), 0);
    int first;
    int second;
    struct loop loop;
    open_quiet(&loop);
    loop_watch_change(&loop, a[1], &first);
    loop_watch_change(&loop, b[1], &second);
    /* Data and room to write are no change. */
    assert_int_equal(write(a[1], "x", 1), 1);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(wait_for(&loop).kind, LOOP_SIGNAL);
    (void)close(b[0]);
    struct loop_event event = wait_for(&loop);
    assert_int_equal(event.kind, LOOP_CHANGE);
    assert_ptr_equal(event.watcher, &second);
    (void)close(b[1]);
    (void)close(a[0]);
    event = wait_for(&loop);
    assert_int_equal(event.kind, LOOP_CHANGE);
    assert_ptr_equal(event.watcher, &first);
    (void)close(a[1]);
    loop_close(&loop);
}

static void test_descriptors_that_cannot_be_watched(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "file", "x");
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/file", tree.path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct loop loop;
    open_quiet(&loop);
    loop_watch_output(&loop, fd);
    assert_int_equal(loop.output_fd, -1);
    loop_watch_output(&loop, -1);
    loop_watch_change(&loop, fd, &fd);
    loop_watch_change(&loop, -1, &fd);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(wait_for(&loop).kind, LOOP_SIGNAL);
    loop_close(&loop);
    (void)close(fd);
    tree_free(&tree);
}

static void test_descriptors_are_ours_alone(void **state)
{
    (void)state;
    int before = count_descriptors();
    struct loop loop;
    open_quiet(&loop);
    int fds[] = {loop.epoll_fd, loop.timer_fd, loop.signal_fd};
    for (size_t i = 0; i < 3; i++)
        assert_true((fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0);
    loop_close(&loop);
    assert_int_equal(count_descriptors(), before);
    loop_close(&loop);
    assert_int_equal(count_descriptors(), before);
}

static void test_no_descriptors_left(void **state)
{
    (void)state;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    int lowest = dup(STDERR_FILENO);
    assert_true(lowest >= 0);
    (void)close(lowest);
    int before = count_descriptors();
    for (unsigned room = 0; room < 3; room++) {
        struct rlimit low = {.rlim_cur = (rlim_t)lowest + room, .rlim_max = old.rlim_max};
        sigset_t signals = user_signals();
        struct loop loop;
        struct err err = {0};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        int r = loop_open(&loop, &signals, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(r, -EMFILE);
        assert_int_equal(err.code, -EMFILE);
        assert_true(err.msg[0] != '\0');
        assert_int_equal(count_descriptors(), before);
    }
}

int main(void)
{
    sigset_t signals = user_signals();
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timer_follows_the_grid),
        cmocka_unit_test(test_room_for_more),
        cmocka_unit_test(test_missed_places_are_counted),
        skippable_unit_test(test_whole_seconds_and_fractions),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_a_signal_that_came_before_the_loop),
        cmocka_unit_test(test_opening_blocks_the_signals),
        cmocka_unit_test(test_a_busy_timer_does_not_hide_a_signal),
        cmocka_unit_test(test_reader_of_a_pipe_goes_away),
        cmocka_unit_test(test_reader_of_a_socket_goes_away),
        cmocka_unit_test(test_watched_descriptor_is_closed_meanwhile),
        cmocka_unit_test(test_changes_name_their_watcher),
        cmocka_unit_test(test_descriptors_that_cannot_be_watched),
        cmocka_unit_test(test_descriptors_are_ours_alone),
        cmocka_unit_test(test_no_descriptors_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
