/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks that open a file by name: new, replaced, appended to, cut, full, limited in size, or not a file at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "sink/sink.h"
#include "tree.h"

enum { PATH_BYTES = 256 };

struct place {
    struct tree tree;
    char path[PATH_BYTES]; /* of "out" in the tree */
    struct sink_head head;
    struct err err;
    struct sink sink;
};

static int setup(void **state)
{
    struct place *place = malloc(sizeof(*place));
    assert_non_null(place);
    *place = (struct place){.head = {.bytes = "untouched", .count = 9}};
    tree_make(&place->tree);
    (void)snprintf(place->path, sizeof(place->path), "%s/out", place->tree.path);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    tree_free(&place->tree);
    free(place);
    return 0;
}

static int place_open(struct place *place, bool append)
{
    return sink_open_file(&place->sink, place->path, append ? SINK_APPEND : 0, &place->head, &place->err);
}

static void assert_content(const struct place *place, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024 * 1024);
    assert_int_equal(file_read_at(AT_FDCWD, place->path, &buf), 0);
    assert_string_equal(buf_cstr(&buf), expected);
}

static void test_new_file(void **state)
{
    struct place *place = *state;
    struct stat st;
    mode_t old = umask(027);
    assert_int_equal(place_open(place, false), 0);
    (void)umask(old);
    assert_int_equal(sink_write(&place->sink, STR("a\n")), 0);
    assert_content(place, "a\n");
    assert_int_equal(sink_write(&place->sink, STR("b\n")), 0);
    assert_content(place, "a\nb\n");
    assert_int_equal(stat(place->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_true((fcntl(place->sink.fd, F_GETFD) & FD_CLOEXEC) != 0);
    int fd = place->sink.fd;
    sink_close(&place->sink);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_without_append_the_file_is_replaced(void **state)
{
    struct place *place = *state;
    tree_write(&place->tree, "out", "old content that is longer\nand cut");
    assert_int_equal(place_open(place, false), 0);
    assert_content(place, "");
    assert_int_equal(sink_write(&place->sink, STR("new\n")), 0);
    assert_content(place, "new\n");
    sink_close(&place->sink);
}

static void test_append_to_a_new_file(void **state)
{
    struct place *place = *state;
    assert_int_equal(place_open(place, true), 0);
    assert_int_equal(place->head.count, 0);
    assert_int_equal(sink_write(&place->sink, STR("a\n")), 0);
    assert_content(place, "a\n");
    sink_close(&place->sink);
}

static void test_append_behind_whole_lines(void **state)
{
    struct place *place = *state;
    tree_write(&place->tree, "out", "head,er\n1,2\n");
    assert_int_equal(place_open(place, true), 0);
    assert_int_equal(place->head.count, 12);
    assert_memory_equal(place->head.bytes, "head,er\n1,2\n", 12);
    assert_content(place, "head,er\n1,2\n");
    assert_int_equal(sink_write(&place->sink, STR("3,4\n")), 0);
    assert_int_equal(sink_write(&place->sink, STR("5,6\n")), 0);
    assert_content(place, "head,er\n1,2\n3,4\n5,6\n");
    sink_close(&place->sink);
}

static void test_append_behind_a_torn_line(void **state)
{
    struct place *place = *state;
    tree_write(&place->tree, "out", "{\"a\":1}\n{\"a\":");
    assert_int_equal(place_open(place, true), 0);
    /* Nothing is written before there is something to say. */
    assert_content(place, "{\"a\":1}\n{\"a\":");
    assert_int_equal(sink_write(&place->sink, STR("{\"a\":2}\n")), 0);
    assert_int_equal(sink_write(&place->sink, STR("{\"a\":3}\n")), 0);
    assert_content(place, "{\"a\":1}\n{\"a\":\n{\"a\":2}\n{\"a\":3}\n");
    sink_close(&place->sink);
}

static void test_append_that_writes_nothing_changes_nothing(void **state)
{
    struct place *place = *state;
    tree_write(&place->tree, "out", "torn");
    assert_int_equal(place_open(place, true), 0);
    assert_int_equal(sink_flush(&place->sink, 0), 0);
    sink_close(&place->sink);
    assert_content(place, "torn");
}

static void test_head_is_cut_to_its_room(void **state)
{
    struct place *place = *state;
    char text[sizeof(place->head.bytes) + 100];
    memset(text, 'x', sizeof(text));
    text[0] = 'a';
    text[sizeof(text) - 1] = '\0';
    tree_write(&place->tree, "out", text);
    assert_int_equal(place_open(place, true), 0);
    assert_int_equal(place->head.count, sizeof(place->head.bytes));
    assert_memory_equal(place->head.bytes, text, sizeof(place->head.bytes));
    sink_close(&place->sink);
}

/* Another writer appends to the same file: our records go behind its own. */
static void test_append_goes_behind_other_writers(void **state)
{
    struct place *place = *state;
    assert_int_equal(place_open(place, true), 0);
    assert_int_equal(sink_write(&place->sink, STR("a\n")), 0);
    int other = open(place->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(write(other, "other\n", 6), 6);
    assert_int_equal(sink_write(&place->sink, STR("b\n")), 0);
    assert_content(place, "a\nother\nb\n");
    (void)close(other);
    sink_close(&place->sink);
}

static void assert_refused(struct place *place, bool append, int code)
{
    struct sink before = {.fd = -77};
    place->sink = before;
    assert_int_equal(place_open(place, append), code);
    assert_int_equal(place->err.code, code);
    assert_non_null(strstr(place->err.msg, place->path));
    assert_int_equal(place->sink.fd, -77);
}

static void test_files_that_cannot_be_opened(void **state)
{
    struct place *place = *state;
    (void)snprintf(place->path, sizeof(place->path), "%s/missing/out", place->tree.path);
    assert_refused(place, false, -ENOENT);
    assert_refused(place, true, -ENOENT);
    (void)snprintf(place->path, sizeof(place->path), "%s", place->tree.path);
    assert_refused(place, false, -EISDIR);
    assert_refused(place, true, -EISDIR);
    tree_write(&place->tree, "file", "");
    (void)snprintf(place->path, sizeof(place->path), "%s/file/out", place->tree.path);
    assert_refused(place, false, -ENOTDIR);
}

static void test_fifo_without_a_reader(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_refused(place, false, -ENXIO);
    assert_non_null(strstr(place->err.msg, "named pipe"));
}

/* --append must not turn us into the reader of our own pipe: then a missing reader would never be noticed. */
static void test_fifo_without_a_reader_on_append(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_refused(place, true, -ENXIO);
}

static void check_fifo_whose_reader_leaves(struct place *place, bool append)
{
    assert_int_equal(mkfifo(place->path, 0600), 0);
    int reader = open(place->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(place_open(place, append), 0);
    assert_int_equal(sink_write(&place->sink, STR("a\n")), 0);
    char got[8] = "";
    assert_int_equal(read(reader, got, sizeof(got)), 2);
    assert_string_equal(got, "a\n");
    (void)close(reader);
    assert_int_equal(sink_write(&place->sink, STR("b\n")), -EPIPE);
    sink_close(&place->sink);
}

static void test_fifo_whose_reader_leaves(void **state)
{
    check_fifo_whose_reader_leaves(*state, false);
}

static void test_fifo_whose_reader_leaves_on_append(void **state)
{
    check_fifo_whose_reader_leaves(*state, true);
}

/* A socket in the filesystem gives ENXIO as well; the message must not call it a named pipe. */
static void test_a_socket_is_not_called_a_pipe(void **state)
{
    struct place *place = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(place->path) < sizeof(address.sun_path));
    memcpy(address.sun_path, place->path, strlen(place->path));
    AUTO_FD int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_refused(place, false, -ENXIO);
    assert_null(strstr(place->err.msg, "named pipe"));
}

static void test_full_device(void **state)
{
    (void)state;
    struct sink sink;
    struct err err = {0};
    struct sink_head head;
    char record[1000];
    memset(record, 'r', sizeof(record) - 1);
    record[sizeof(record) - 1] = '\n';
    assert_int_equal(sink_open_file(&sink, "/dev/full", 0, &head, &err), 0);
    for (unsigned i = 1; i <= 300; i++) {
        assert_int_equal(sink_write(&sink, (struct str){record, sizeof(record)}), -ENOSPC);
        assert_int_equal(sink.backlog.len, (i < 262 ? i : 262) * sizeof(record));
        assert_int_equal(sink.dropped, i < 262 ? 0 : i - 262);
        assert_true(sink.backlog.len <= SINK_BACKLOG_BYTES);
    }
    /* 144 bytes are left: one that fits is kept, whole. */
    assert_int_equal(sink_write(&sink, (struct str){record + 900, 100}), -ENOSPC);
    assert_int_equal(sink.dropped, 38);
    assert_int_equal(sink.backlog.len, 262100);
    for (size_t i = 0; i < 262; i++)
        assert_memory_equal(sink.backlog.data + i * sizeof(record), record, sizeof(record));
    assert_memory_equal(sink.backlog.data + 262000, record + 900, 100);
    /* Waiting does not help here, so the flush does not. */
    assert_int_equal(sink_flush(&sink, 60000), -ENOSPC);
    assert_int_equal(sink.backlog.len, 262100);
    sink_close(&sink);
}

static void test_a_huge_record_on_a_full_device(void **state)
{
    (void)state;
    struct sink sink;
    struct err err = {0};
    struct sink_head head;
    AUTO_BUF struct buf record;
    buf_init(&record, 1024 * 1024);
    while (record.len < 300000)
        buf_puts(&record, "0123456789");
    assert_int_equal(sink_open_file(&sink, "/dev/full", 0, &head, &err), 0);
    assert_int_equal(sink_write(&sink, (struct str){record.data, record.len}), -ENOSPC);
    /* The first record always waits, whatever its size; the next one does not fit. */
    assert_int_equal(sink.dropped, 0);
    assert_int_equal(sink.backlog.len, record.len);
    assert_int_equal(sink_write(&sink, STR("next\n")), -ENOSPC);
    assert_int_equal(sink.dropped, 1);
    assert_int_equal(sink.backlog.len, record.len);
    sink_close(&sink);
}

/* A size limit cuts a record in the file; once it is lifted the rest follows and nothing is lost. */
static void test_file_size_limit(void **state)
{
    struct place *place = *state;
    assert_int_equal(place_open(place, false), 0);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit low = {.rlim_cur = 6, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    int first = sink_write(&place->sink, STR("aaa\n"));
    int second = sink_write(&place->sink, STR("bbb\n"));
    int third = sink_write(&place->sink, STR("ccc\n"));
    int flushed = sink_flush(&place->sink, 60000);
    size_t waiting = place->sink.backlog.len;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(first, 0);
    assert_int_equal(second, -EFBIG);
    assert_int_equal(third, -EFBIG);
    assert_int_equal(flushed, -EFBIG);
    assert_int_equal(waiting, 6);
    assert_content(place, "aaa\nbb");
    assert_int_equal(sink_write(&place->sink, STR("ddd\n")), 0);
    assert_content(place, "aaa\nbbb\nccc\nddd\n");
    assert_int_equal(place->sink.dropped, 0);
    sink_close(&place->sink);
}

/* The LF that ends a torn line waits like everything else. */
static void test_torn_line_on_a_limited_file(void **state)
{
    struct place *place = *state;
    tree_write(&place->tree, "out", "torn");
    assert_int_equal(place_open(place, true), 0);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit low = {.rlim_cur = 4, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    int first = sink_write(&place->sink, STR("a\n"));
    int second = sink_write(&place->sink, STR("b\n"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(first, -EFBIG);
    assert_int_equal(second, -EFBIG);
    assert_int_equal(sink_flush(&place->sink, 0), 0);
    assert_content(place, "torn\na\nb\n");
    sink_close(&place->sink);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A second one is refused, and has not changed the file. */
static void test_one_writer_at_a_time(void **state)
{
    struct place *place = *state;
    assert_int_equal(sink_open_file(&place->sink, place->path, SINK_ALONE, &place->head, &place->err), 0);
    assert_int_equal(sink_write(&place->sink, STR("a\n")), 0);
    for (unsigned how = SINK_ALONE; how <= (SINK_ALONE | SINK_APPEND); how++) {
        struct sink second;
        assert_int_equal(sink_open_file(&second, place->path, how, &place->head, &place->err), -EBUSY);
        assert_non_null(strstr(place->err.msg, "another process is writing to it"));
        err_clear(&place->err);
        assert_content(place, "a\n");
    }
    sink_close(&place->sink);
    assert_int_equal(sink_open_file(&place->sink, place->path, SINK_ALONE, &place->head, &place->err), 0);
    assert_content(place, "");
    sink_close(&place->sink);
}

int main(void)
{
    /* As the program does: these are errors of write(2), not our end. */
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigaddset(&blocked, SIGXFSZ);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    const struct CMUnitTest tests[] = {
        TEST(test_new_file),
        TEST(test_without_append_the_file_is_replaced),
        TEST(test_append_to_a_new_file),
        TEST(test_append_behind_whole_lines),
        TEST(test_append_behind_a_torn_line),
        TEST(test_append_that_writes_nothing_changes_nothing),
        TEST(test_head_is_cut_to_its_room),
        TEST(test_append_goes_behind_other_writers),
        TEST(test_files_that_cannot_be_opened),
        TEST(test_fifo_without_a_reader),
        TEST(test_fifo_without_a_reader_on_append),
        TEST(test_fifo_whose_reader_leaves),
        TEST(test_fifo_whose_reader_leaves_on_append),
        TEST(test_a_socket_is_not_called_a_pipe),
        TEST(test_one_writer_at_a_time),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_a_huge_record_on_a_full_device),
        TEST(test_file_size_limit),
        TEST(test_torn_line_on_a_limited_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
