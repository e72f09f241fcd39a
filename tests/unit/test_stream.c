/* SPDX-License-Identifier: Apache-2.0 */
/* The end of streaming with a worker that is held up: it is left alone, whether or not it comes back later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "stream/stream.h"
#include "stream/stream_internal.h"

enum { PATIENCE_MS = 10 * 1000 };

/* Holds the worker up until its bell rings. */
static void wait_for_bell(void *context, struct host_facts *ret_host)
{
    (void)ret_host;
    struct pollfd bell = {.fd = *(int *)context, .events = POLLIN};
    (void)poll(&bell, 1, PATIENCE_MS);
}

static struct stream *begin(int *bell_fd)
{
    static char *environment[] = {NULL};
    static const struct settings settings = {
        .environment = environment,
        .interval_ns = NS_PER_SEC,
        .http_heartbeat_ns = 60 * NS_PER_SEC,
        .upload_interval_ns = 60 * NS_PER_SEC,
    };
    const struct stream_options options = {
        .settings = &settings,
        .clock = &clock_system,
        .version = "0.0.0",
        .csv_header = "a\n",
        .discover_host = wait_for_bell,
        .discover_context = bell_fd,
    };
    *bell_fd = eventfd(0, EFD_CLOEXEC);
    assert_true(*bell_fd >= 0);
    struct stream *stream = NULL;
    assert_int_equal(stream_new_with(&stream, &options, NULL), 0);
    stream_begin(stream);
    return stream;
}

static void finish(struct stream *stream)
{
    stream_end(stream, 0, false, clock_read(&clock_system, CLOCK_KIND_MONOTONIC), 0, -1);
}

static void test_done_in_time(void **state)
{
    (void)state;
    static int bell_fd;
    struct stream *stream = begin(&bell_fd);
    assert_int_equal(eventfd_write(bell_fd, 1), 0);
    finish(stream);
    assert_true(stream_free(stream));
    (void)close(bell_fd);
}

/* That a worker which comes back after all was released is for ThreadSanitizer to see, when this program ends. */
static void test_comes_back_too_late(void **state)
{
    (void)state;
    static int bell_fd;
    static struct stream *stream; /* the worker's, from here on */
    stream = begin(&bell_fd);
    finish(stream);
    assert_false(stream_free(stream));
    assert_int_equal(eventfd_write(bell_fd, 1), 0);
    struct pollfd reported = {.fd = stream_watch_fd(stream), .events = POLLIN};
    assert_int_equal(poll(&reported, 1, PATIENCE_MS), 1);
    (void)nanosleep(&(struct timespec){.tv_nsec = 100 * NS_PER_MS}, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_done_in_time),
        cmocka_unit_test(test_comes_back_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
