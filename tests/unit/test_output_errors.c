/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that do not take samples: what is said, how often, what is lost, and what is given back at the end. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "run/output/output.h"
#include "tree.h"

enum { PIPE_BYTES = 4096 };

/* An output on a file or a named pipe of its own, with stderr caught. */
struct stage {
    struct tree tree;
    char path[128];
    struct settings settings;
    struct run_info info;
    struct output output;
    int saved_fd, read_fd;
    char text[4096];
};

static int setup(void **state)
{
    struct stage *stage = malloc(sizeof(*stage));
    assert_non_null(stage);
    *stage = (struct stage){.info = {.version = "t", .interval_ns = NS_PER_SEC}};
    tree_make(&stage->tree);
    (void)snprintf(stage->path, sizeof(stage->path), "%s/out", stage->tree.path);
    stage->settings.output = stage->path;
    stage->settings.interval_ns = NS_PER_SEC;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    stage->read_fd = ends[0];
    stage->saved_fd = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    *state = stage;
    return 0;
}

static int teardown(void **state)
{
    struct stage *stage = *state;
    (void)dup2(stage->saved_fd, STDERR_FILENO);
    (void)close(stage->saved_fd);
    (void)close(stage->read_fd);
    tree_free(&stage->tree);
    free(stage);
    return 0;
}

static void stage_open(struct stage *stage)
{
    struct err err = {0};
    assert_int_equal(output_open(&stage->output, &stage->settings, &stage->info, &err), 0);
}

/* What was said since the last call. */
static const char *stage_said(struct stage *stage)
{
    ssize_t n = read(stage->read_fd, stage->text, sizeof(stage->text) - 1);
    stage->text[n > 0 ? n : 0] = '\0';
    return stage->text;
}

static int write_sample(struct stage *stage)
{
    struct sample sample = {
        .timestamp_secs = some_i64(1700000000),
        .timestamp_ms = some_i64(1700000000000),
        .elapsed_secs = some_f64(1),
        .version = "t",
    };
    return output_sample(&stage->output, &sample, &(struct sample_totals){0});
}

/* A named pipe of one page with a reader that is there. */
static int stage_pipe(struct stage *stage)
{
    assert_int_equal(mkfifo(stage->path, 0600), 0);
    int reader = open(stage->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_true(fcntl(reader, F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES);
    stage_open(stage);
    return reader;
}

static void assert_one_line(const char *text)
{
    assert_memory_equal(text, "resource-tracker: warning: ", 27);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_slow_reader_is_reported_once_and_taken_back(void **state)
{
    struct stage *stage = *state;
    int reader = stage_pipe(stage);
    assert_int_equal(output_watch_fd(&stage->output), stage->output.sink.fd);
    for (int i = 0; i < 50; i++)
        assert_int_equal(write_sample(stage), 0);
    const char *said = stage_said(stage);
    assert_one_line(said);
    assert_non_null(strstr(said, "not being read"));
    assert_non_null(strstr(said, "256 KiB"));
    AUTO_BUF struct buf received;
    buf_init(&received, 1024 * 1024);
    for (int i = 0; i < 50 && stage->output.sink.backlog.len > 0; i++) {
        char part[8192];
        ssize_t n;
        while ((n = read(reader, part, sizeof(part))) > 0)
            buf_append(&received, part, (size_t)n);
        assert_int_equal(write_sample(stage), 0);
    }
    said = stage_said(stage);
    assert_one_line(said);
    assert_non_null(strstr(said, "again (0 lost)"));
    assert_int_equal(write_sample(stage), 0);
    assert_string_equal(stage_said(stage), "");
    output_close(&stage->output);
    assert_string_equal(stage_said(stage), "");
    (void)close(reader);
}

static void test_reader_goes_away(void **state)
{
    struct stage *stage = *state;
    int reader = stage_pipe(stage);
    assert_int_equal(write_sample(stage), 0);
    (void)close(reader);
    assert_int_equal(write_sample(stage), -EPIPE);
    assert_int_equal(write_sample(stage), -EPIPE);
    assert_int_equal(output_watch_fd(&stage->output), -1);
    output_close(&stage->output);
    assert_string_equal(stage_said(stage), "");
}

/* With samples waiting when the reader goes, their memory must be given back as well. */
static void test_reader_goes_away_with_samples_waiting(void **state)
{
    struct stage *stage = *state;
    int reader = stage_pipe(stage);
    for (int i = 0; i < 50; i++)
        assert_int_equal(write_sample(stage), 0);
    (void)close(reader);
    assert_int_equal(write_sample(stage), -EPIPE);
    output_close(&stage->output);
    bool kept = stage->output.sink.backlog.data != NULL;
    /* So that only this test reports it, not the leak checker at the end of all. */
    sink_close(&stage->output.sink);
    assert_false(kept);
}

static void test_reader_that_never_reads_delays_the_end_a_moment_only(void **state)
{
    struct stage *stage = *state;
    int reader = stage_pipe(stage);
    for (int i = 0; i < 50; i++)
        assert_int_equal(write_sample(stage), 0);
    (void)stage_said(stage);
    bool is_cut;
    uint64_t waiting = sink_waiting(&stage->output.sink, &is_cut);
    assert_in_range(waiting, 2, 49);
    int64_t before = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    output_close(&stage->output);
    assert_true(clock_read(&clock_system, CLOCK_KIND_MONOTONIC) - before < 2 * NS_PER_SEC);
    const char *said = stage_said(stage);
    char lost[64];
    (void)snprintf(
        lost, sizeof(lost), ": %u samples are lost%s\n", (unsigned)waiting, is_cut ? ", the first of them is cut" : "");
    assert_one_line(said);
    assert_non_null(strstr(said, lost));
    (void)close(reader);
}

static void test_full_device_is_reported_once(void **state)
{
    struct stage *stage = *state;
    char device[] = "/dev/full";
    stage->settings.output = device;
    stage_open(stage);
    assert_int_equal(output_watch_fd(&stage->output), -1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(write_sample(stage), 0);
    const char *said = stage_said(stage);
    assert_one_line(said);
    assert_non_null(strstr(said, "/dev/full"));
    assert_non_null(strstr(said, strerror(ENOSPC)));
    output_close(&stage->output);
    said = stage_said(stage);
    assert_one_line(said);
    assert_non_null(strstr(said, ": 5 samples are lost\n"));
}

/* Two samples, of which one has begun: both are lost, and nothing else is. */
static void test_samples_that_wait_at_the_end_are_counted(void **state)
{
    struct stage *stage = *state;
    stage_open(stage);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(write_sample(stage), 0);
    struct rlimit low = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    struct stat st;
    assert_int_equal(stat(stage->path, &st), 0);
    low.rlim_cur = (rlim_t)st.st_size + 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    int first = write_sample(stage);
    int second = write_sample(stage);
    output_close(&stage->output);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
    assert_non_null(strstr(stage_said(stage), ": 2 samples are lost, the first of them is cut\n"));
}

/* A limit that is lifted: nothing is lost, the header stands once, and the complaint is taken back. */
static void test_limited_file_recovers(void **state)
{
    struct stage *stage = *state;
    stage->settings.format = FORMAT_CSV;
    stage_open(stage);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit low = {.rlim_cur = 100, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    int first = write_sample(stage);
    int second = write_sample(stage);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
    const char *said = stage_said(stage);
    assert_one_line(said);
    assert_non_null(strstr(said, strerror(EFBIG)));
    assert_int_equal(write_sample(stage), 0);
    said = stage_said(stage);
    assert_one_line(said);
    assert_non_null(strstr(said, "again (0 lost)"));
    output_close(&stage->output);
    assert_string_equal(stage_said(stage), "");
    AUTO_BUF struct buf expected;
    AUTO_BUF struct buf got;
    buf_init(&expected, 65536);
    buf_init(&got, 65536);
    encoder_csv_system.begin(&stage->info, &expected);
    for (int i = 0; i < 3; i++)
        buf_puts(&expected, "1700000000,,,,,,,,,,,,,,,,,,,,\n");
    assert_int_equal(file_read_at(AT_FDCWD, stage->path, &got), 0);
    assert_string_equal(buf_cstr(&got), buf_cstr(&expected));
}

static void test_refused_file_gives_everything_back(void **state)
{
    struct stage *stage = *state;
    tree_write(&stage->tree, "out", "something else\n");
    stage->settings.format = FORMAT_CSV;
    stage->settings.append = true;
    struct err err = {0};
    int free_fd = dup(STDOUT_FILENO);
    (void)close(free_fd);
    assert_int_equal(output_open(&stage->output, &stage->settings, &stage->info, &err), -EEXIST);
    /* Closing after a failed open is what the program does. */
    output_close(&stage->output);
    int again = dup(STDOUT_FILENO);
    assert_int_equal(again, free_fd);
    (void)close(again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    /* As the program does: these are errors of write(2), not our end. */
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigaddset(&blocked, SIGXFSZ);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    const struct CMUnitTest tests[] = {
        TEST(test_slow_reader_is_reported_once_and_taken_back),
        TEST(test_reader_goes_away),
        TEST(test_reader_goes_away_with_samples_waiting),
        TEST(test_reader_that_never_reads_delays_the_end_a_moment_only),
        TEST(test_full_device_is_reported_once),
        TEST(test_samples_that_wait_at_the_end_are_counted),
        TEST(test_limited_file_recovers),
        TEST(test_refused_file_gives_everything_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
