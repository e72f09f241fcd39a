/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks on descriptors: pipes that are full, slow, abandoned or shared, sockets, a device that is always full. Files
 * are in test_sink_file.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sink/sink.h"

enum { PIPE_BYTES = 4096, RECEIVED_BYTES_MAX = 4 * 1024 * 1024, RECORD_BYTES_MAX = 512 * 1024 };

static void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES);
    assert_true(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
}

static void open_sink(struct sink *sink, int fd)
{
    assert_int_equal(sink_open_fd(sink, fd), 0);
}

/* Takes what is there now. */
static void receive(int fd, struct buf *received)
{
    char part[65536];
    ssize_t n;
    while ((n = read(fd, part, sizeof(part))) > 0)
        buf_append(received, part, (size_t)n);
    assert_true(buf_ok(received));
}

/* A record of n bytes with its LF, different for every number. */
static struct str make_record(struct buf *buf, unsigned number, size_t n)
{
    buf_clear(buf);
    buf_printf(buf, "%u:", number);
    while (buf->len < n - 1)
        buf_putc(buf, (char)('a' + (number + buf->len) % 26));
    buf_putc(buf, '\n');
    assert_true(buf_ok(buf));
    return (struct str){buf->data, buf->len};
}

static void assert_same(const struct buf *got, const struct buf *expected)
{
    assert_int_equal(got->len, expected->len);
    assert_memory_equal(got->data, expected->data, expected->len);
}

static void test_a_record_is_out_at_once(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    assert_int_equal(sink_write(&sink, STR("one\n")), 0);
    char got[16] = "";
    assert_int_equal(read(ends[0], got, sizeof(got)), 4);
    assert_string_equal(got, "one\n");
    assert_int_equal(sink_write(&sink, STR("")), 0);
    assert_int_equal(sink_flush(&sink, 1000), 0);
    assert_int_equal(read(ends[0], got, sizeof(got)), -1);
    sink_close(&sink);
    assert_int_equal(sink.fd, -1);
    /* The descriptor was given to us, not handed over. */
    assert_int_equal(write(ends[1], "x", 1), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_shared_pipe_keeps_its_flags(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    int before = fcntl(ends[1], F_GETFL);
    struct sink sink;
    open_sink(&sink, ends[1]);
    assert_true(sink.owned);
    assert_int_not_equal(sink.fd, ends[1]);
    assert_true((fcntl(sink.fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(sink.fd, F_GETFD) & FD_CLOEXEC) != 0);
    int own = sink.fd;
    assert_int_equal(fcntl(ends[1], F_GETFL), before);
    assert_int_equal(before & O_NONBLOCK, 0);
    sink_close(&sink);
    assert_int_equal(fcntl(own, F_GETFD), -1);
    assert_int_equal(fcntl(ends[1], F_GETFL), before);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Records of every size against a slow reader: nothing lost, nothing out of order. */
static void test_full_pipe_completes_later(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    AUTO_BUF struct buf sent;
    AUTO_BUF struct buf received;
    buf_init(&record, RECORD_BYTES_MAX);
    buf_init(&sent, RECEIVED_BYTES_MAX);
    buf_init(&received, RECEIVED_BYTES_MAX);
    bool waited = false;
    for (unsigned i = 0; i < 100; i++) {
        struct str text = make_record(&record, i, 16 + i * 97 % 5000);
        buf_append(&sent, text.p, text.n);
        int r = sink_write(&sink, text);
        assert_true(r == 0 || r == -EAGAIN);
        assert_int_equal(r == -EAGAIN, sink.backlog.len > 0);
        waited = waited || r == -EAGAIN;
        char part[5000];
        ssize_t n = read(ends[0], part, 1 + i * 71 % sizeof(part));
        if (n > 0)
            buf_append(&received, part, (size_t)n);
    }
    assert_true(waited);
    assert_int_equal(sink.dropped, 0);
    for (int i = 0; i < 10000 && sink.backlog.len > 0; i++) {
        receive(ends[0], &received);
        int r = sink_flush(&sink, 0);
        assert_true(r == 0 || r == -EAGAIN);
    }
    receive(ends[0], &received);
    assert_same(&received, &sent);
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_a_record_larger_than_the_pipe(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    AUTO_BUF struct buf received;
    buf_init(&record, RECORD_BYTES_MAX);
    buf_init(&received, RECEIVED_BYTES_MAX);
    struct str text = make_record(&record, 1, 200000);
    assert_int_equal(sink_write(&sink, text), -EAGAIN);
    assert_int_equal(sink.backlog.len, 200000 - PIPE_BYTES);
    assert_int_equal(sink_flush(&sink, 0), -EAGAIN);
    for (int i = 0; i < 200 && sink.backlog.len > 0; i++) {
        receive(ends[0], &received);
        (void)sink_flush(&sink, 0);
    }
    receive(ends[0], &received);
    assert_same(&received, &record);
    assert_int_equal(sink.dropped, 0);
    assert_int_equal(sink_flush(&sink, 0), 0);
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A record that was begun is finished, however large; what comes meanwhile is dropped whole. */
static void test_a_record_larger_than_everything(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    AUTO_BUF struct buf received;
    buf_init(&record, RECORD_BYTES_MAX);
    buf_init(&received, RECEIVED_BYTES_MAX);
    struct str large = make_record(&record, 1, 400000);
    assert_int_equal(sink_write(&sink, large), -EAGAIN);
    assert_int_equal(sink.dropped, 0);
    assert_int_equal(sink_write(&sink, STR("lost\n")), -EAGAIN);
    assert_int_equal(sink.dropped, 1);
    while (sink.backlog.len > 0) {
        receive(ends[0], &received);
        (void)sink_flush(&sink, 0);
    }
    assert_int_equal(sink_write(&sink, STR("next\n")), 0);
    receive(ends[0], &received);
    assert_int_equal(received.len, large.n + 5);
    assert_memory_equal(received.data, large.p, large.n);
    assert_memory_equal(received.data + large.n, "next\n", 5);
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A reader that never reads: whole records are kept up to the limit, whole records are dropped beyond it. */
static void test_beyond_the_backlog_whole_records_are_dropped(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    AUTO_BUF struct buf received;
    buf_init(&record, RECORD_BYTES_MAX);
    buf_init(&received, RECEIVED_BYTES_MAX);
    for (unsigned i = 0; i < 400; i++)
        (void)sink_write(&sink, make_record(&record, i, 1000));
    /* How the kernel fills its page is its own affair; together they hold whole records only. */
    int in_pipe;
    assert_int_equal(ioctl(ends[0], FIONREAD, &in_pipe), 0);
    size_t kept = 400 - (size_t)sink.dropped;
    assert_in_range(kept, 262, 266);
    assert_int_equal((size_t)in_pipe + sink.backlog.len, kept * 1000);
    for (int i = 0; i < 200 && sink.backlog.len > 0; i++) {
        receive(ends[0], &received);
        (void)sink_flush(&sink, 0);
    }
    receive(ends[0], &received);
    assert_int_equal(received.len, kept * 1000);
    for (unsigned i = 0; i < kept; i++) {
        struct str expected = make_record(&record, i, 1000);
        assert_memory_equal(received.data + i * 1000, expected.p, 1000);
    }
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* The reader has caught up, so there is space: the record must not be dropped only because the backlog was full. */
static void test_no_record_is_dropped_when_the_reader_is_back(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    AUTO_BUF struct buf received;
    buf_init(&record, RECORD_BYTES_MAX);
    buf_init(&received, RECEIVED_BYTES_MAX);
    unsigned number = 0;
    while (SINK_BACKLOG_BYTES - sink.backlog.len >= 1000)
        (void)sink_write(&sink, make_record(&record, number++, 1000));
    assert_int_equal(sink.dropped, 0);
    receive(ends[0], &received);
    (void)sink_write(&sink, make_record(&record, number, 1000));
    uint64_t dropped = sink.dropped;
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(dropped, 0);
}

static void test_reader_goes_away(void **state)
{
    (void)state;
    for (int with_backlog = 0; with_backlog < 2; with_backlog++) {
        int ends[2];
        make_pipe(ends);
        struct sink sink;
        open_sink(&sink, ends[1]);
        AUTO_BUF struct buf record;
        buf_init(&record, RECORD_BYTES_MAX);
        for (unsigned i = 0; with_backlog && i < 20; i++)
            (void)sink_write(&sink, make_record(&record, i, 1000));
        (void)close(ends[0]);
        assert_int_equal(sink_write(&sink, STR("x\n")), -EPIPE);
        assert_int_equal(sink.fd, -1);
        assert_int_equal(sink_write(&sink, STR("x\n")), -EPIPE);
        (void)sink_flush(&sink, 0);
        sink_close(&sink);
        assert_null(sink.backlog.data);
        assert_true(fcntl(ends[1], F_GETFD) >= 0);
        (void)close(ends[1]);
    }
}

static void test_reader_is_gone_before_we_begin(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    (void)close(ends[0]);
    struct sink sink;
    open_sink(&sink, ends[1]);
    assert_int_equal(sink_write(&sink, STR("x\n")), -EPIPE);
    sink_close(&sink);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    (void)close(ends[1]);
}

static void test_reader_goes_away_during_the_flush(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    buf_init(&record, RECORD_BYTES_MAX);
    assert_int_equal(sink_write(&sink, make_record(&record, 1, 100000)), -EAGAIN);
    (void)close(ends[0]);
    assert_int_equal(sink_flush(&sink, 1000), -EPIPE);
    assert_int_equal(sink.fd, -1);
    sink_close(&sink);
    (void)close(ends[1]);
}

static int64_t now_ms(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) / NS_PER_MS;
}

static void test_flush_keeps_its_deadline(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    buf_init(&record, RECORD_BYTES_MAX);
    assert_int_equal(sink_write(&sink, make_record(&record, 1, 100000)), -EAGAIN);
    int64_t before = now_ms();
    assert_int_equal(sink_flush(&sink, 30), -EAGAIN);
    int64_t took = now_ms() - before;
    assert_true(took >= 29 && took < 1000);
    assert_int_equal(sink.backlog.len, 100000 - PIPE_BYTES);
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_flush_waits_for_a_reader(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct sink sink;
    open_sink(&sink, ends[1]);
    AUTO_BUF struct buf record;
    buf_init(&record, RECORD_BYTES_MAX);
    assert_int_equal(sink_write(&sink, make_record(&record, 1, 150000)), -EAGAIN);
    pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        (void)fcntl(ends[0], F_SETFL, 0);
        char part[1000];
        size_t got = 0;
        ssize_t n;
        while (got < 150000 && (n = read(ends[0], part, sizeof(part))) > 0) {
            if (memcmp(part, record.data + got, (size_t)n) != 0)
                _exit(1);
            got += (size_t)n;
        }
        _exit(got == 150000 ? 0 : 2);
    }
    assert_int_equal(sink_flush(&sink, 5000), 0);
    assert_int_equal(sink.backlog.len, 0);
    int status;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    sink_close(&sink);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_socket(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    int before = fcntl(ends[1], F_GETFL);
    struct sink sink;
    open_sink(&sink, ends[1]);
    assert_true(sink.is_socket);
    assert_false(sink.owned);
    AUTO_BUF struct buf record;
    AUTO_BUF struct buf sent;
    AUTO_BUF struct buf received;
    buf_init(&record, RECORD_BYTES_MAX);
    buf_init(&sent, RECEIVED_BYTES_MAX);
    buf_init(&received, RECEIVED_BYTES_MAX);
    int r = 0;
    for (unsigned i = 0; i < 1000 && r == 0; i++) {
        struct str text = make_record(&record, i, 5000);
        buf_append(&sent, text.p, text.n);
        r = sink_write(&sink, text);
    }
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(fcntl(ends[1], F_GETFL), before);
    for (int i = 0; i < 1000 && sink.backlog.len > 0; i++) {
        receive(ends[0], &received);
        (void)sink_flush(&sink, 0);
    }
    receive(ends[0], &received);
    assert_same(&received, &sent);
    (void)close(ends[0]);
    assert_int_equal(sink_write(&sink, STR("x\n")), -EPIPE);
    sink_close(&sink);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    (void)close(ends[1]);
}

/* A peer that closes with bytes unread resets the connection: the same as a reader that went away. */
static void test_socket_that_is_reset(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct sink sink;
    open_sink(&sink, ends[1]);
    assert_int_equal(sink_write(&sink, STR("unread\n")), 0);
    assert_int_equal(write(ends[1], "y", 1), 1);
    (void)close(ends[0]);
    assert_int_equal(sink_write(&sink, STR("x\n")), -EPIPE);
    assert_int_equal(sink_write(&sink, STR("x\n")), -EPIPE);
    sink_close(&sink);
    (void)close(ends[1]);
}

static void test_no_descriptor(void **state)
{
    (void)state;
    struct sink sink;
    int closed = dup(STDERR_FILENO);
    assert_true(closed >= 0);
    (void)close(closed);
    assert_int_equal(sink_open_fd(&sink, closed), -EBADF);
    assert_int_equal(sink_open_fd(&sink, -1), -EBADF);
}

int main(void)
{
    /* As the program does: a broken pipe is an error of write(2). */
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_is_out_at_once),
        cmocka_unit_test(test_shared_pipe_keeps_its_flags),
        cmocka_unit_test(test_full_pipe_completes_later),
        cmocka_unit_test(test_a_record_larger_than_the_pipe),
        cmocka_unit_test(test_a_record_larger_than_everything),
        cmocka_unit_test(test_beyond_the_backlog_whole_records_are_dropped),
        cmocka_unit_test(test_no_record_is_dropped_when_the_reader_is_back),
        cmocka_unit_test(test_reader_goes_away),
        cmocka_unit_test(test_reader_is_gone_before_we_begin),
        cmocka_unit_test(test_reader_goes_away_during_the_flush),
        cmocka_unit_test(test_flush_keeps_its_deadline),
        cmocka_unit_test(test_flush_waits_for_a_reader),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_socket_that_is_reset),
        cmocka_unit_test(test_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
