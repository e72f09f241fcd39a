/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on their way out. Which stream is chosen depends on descriptors 1 and 2, so every case runs in a child with
 * descriptors of its own; what it found comes back in shared memory, and what it said on stderr in a file.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "run/output/output.h"
#include "tree.h"

static const struct sample_totals no_totals;

enum { PATH_BYTES = 128 };

/* What a child reports. */
struct report {
    int result, samples[4];
    size_t count;
    char name[64];
    const struct encoder *encoder;
    char message[240];
    bool watched;
};

struct stage {
    struct tree tree;
    struct report *report;
    struct settings settings;
    struct run_info info;
    char path[PATH_BYTES]; /* of "out" */
};

static int setup(void **state)
{
    struct stage *stage = malloc(sizeof(*stage));
    assert_non_null(stage);
    *stage = (struct stage){.info = {.version = "t", .interval_ns = NS_PER_SEC}};
    tree_make(&stage->tree);
    (void)snprintf(stage->path, sizeof(stage->path), "%s/out", stage->tree.path);
    stage->report = mmap(NULL, sizeof(*stage->report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stage->report != MAP_FAILED);
    stage->settings.interval_ns = NS_PER_SEC;
    *state = stage;
    return 0;
}

static int teardown(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(munmap(stage->report, sizeof(*stage->report)), 0);
    tree_free(&stage->tree);
    free(stage);
    return 0;
}

static void assert_content(const struct stage *stage, const char *name, const char *expected)
{
    char path[PATH_BYTES + 16];
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024 * 1024);
    (void)snprintf(path, sizeof(path), "%s/%s", stage->tree.path, name);
    assert_int_equal(file_read_at(AT_FDCWD, path, &buf), 0);
    assert_string_equal(buf_cstr(&buf), expected);
}

static int file_in(const struct stage *stage, const char *name)
{
    char path[PATH_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/%s", stage->tree.path, name);
    return open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static struct sample small_sample(void)
{
    return (struct sample){
        .timestamp_secs = some_i64(1700000000),
        .timestamp_ms = some_i64(1700000000000),
        .elapsed_secs = some_f64(1),
        .version = "t",
    };
}

/* Opens, writes `samples` of them, closes. Descriptors below 0 stand for closed ones. */
static void run_child(struct stage *stage, int stdout_fd, int stderr_fd, unsigned samples)
{
    *stage->report = (struct report){0};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)(stdout_fd >= 0 ? dup2(stdout_fd, STDOUT_FILENO) : close(STDOUT_FILENO));
        (void)(stderr_fd >= 0 ? dup2(stderr_fd, STDERR_FILENO) : close(STDERR_FILENO));
        struct report *report = stage->report;
        struct output output;
        struct err err = {0};
        report->result = output_open(&output, &stage->settings, &stage->info, &err);
        memcpy(report->message, err.msg, sizeof(report->message));
        memcpy(report->name, output.name, sizeof(report->name));
        report->encoder = output.encoder;
        report->watched = output_watch_fd(&output) >= 0;
        struct sample sample = small_sample();
        for (unsigned i = 0; report->result == 0 && i < samples && i < 4; i++)
            report->samples[i] = output_sample(&output, &sample, &no_totals);
        output_close(&output);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The other end of what stderr is, so that it stays a pipe with a reader. */
static void assert_stream(struct stage *stage, int stdout_fd, const char *name)
{
    int pipe_ends[2];
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    AUTO_FD int reader = pipe_ends[0];
    AUTO_FD int err_fd = pipe_ends[1];
    assert_true(reader >= 0);
    run_child(stage, stdout_fd, err_fd, 0);
    assert_int_equal(stage->report->result, 0);
    assert_string_equal(stage->report->name, name);
}

/* stdout as a file, pipe, socket, device, or nothing at all. */
static void check_streams(struct stage *stage, const char *captured, const char *otherwise)
{
    AUTO_FD int file = file_in(stage, "stdout");
    AUTO_FD int device = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int pipe_ends[2];
    int socket_ends[2];
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends), 0);
    assert_stream(stage, file, captured);
    assert_stream(stage, pipe_ends[1], captured);
    assert_true(strcmp(captured, "stdout") != 0 || stage->report->watched);
    assert_stream(stage, socket_ends[1], captured);
    assert_stream(stage, device, otherwise);
    for (int i = 0; i < 2; i++) {
        (void)close(pipe_ends[i]);
        (void)close(socket_ends[i]);
    }
}

static void test_stream_of_the_host_mode(void **state)
{
    struct stage *stage = *state;
    check_streams(stage, "stdout", "stderr");
    assert_stream(stage, -1, "stderr");
}

/* 2> run.jsonl: the file is what is wanted, unless stdout is one too. */
static void test_stderr_in_a_file(void **state)
{
    struct stage *stage = *state;
    AUTO_FD int kept = file_in(stage, "kept");
    AUTO_FD int file = file_in(stage, "stdout");
    AUTO_FD int device = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    AUTO_FD int reader = ends[0];
    AUTO_FD int pipe_fd = ends[1];
    assert_true(reader >= 0);
    char from[] = "x.jsonl";
    const struct {
        int out;
        char *from;
        bool has_pid;
        const char *name;
    } cases[] = {{pipe_fd, NULL, false, "stderr"}, {pipe_fd, NULL, true, "stderr"}, {device, NULL, false, "stderr"},
        {file, NULL, false, "stdout"}, {file, NULL, true, "stdout"}, {pipe_fd, from, false, "stdout"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        stage->settings.from = cases[i].from;
        stage->info.tracked_pid = (struct opt_u64){cases[i].has_pid, 1};
        run_child(stage, cases[i].out, kept, 0);
        assert_int_equal(stage->report->result, 0);
        assert_string_equal(stage->report->name, cases[i].name);
    }
}

static void test_stream_of_the_wrapper_mode(void **state)
{
    struct stage *stage = *state;
    char command[] = "true";
    char *const argv[] = {command, NULL};
    stage->settings.command = argv;
    check_streams(stage, "stderr", "stderr");
    /* Only when asked for. */
    char dash[] = "-";
    stage->settings.output = dash;
    check_streams(stage, "stdout", "stdout");
}

static void test_stream_of_a_tracked_pid(void **state)
{
    struct stage *stage = *state;
    stage->settings.pid = some_i64(1);
    stage->info.tracked_pid = some_u64(1);
    check_streams(stage, "stdout", "stderr");
}

static void test_streams_that_are_closed(void **state)
{
    struct stage *stage = *state;
    AUTO_FD int file = file_in(stage, "file");
    run_child(stage, -1, -1, 0);
    assert_int_equal(stage->report->result, -EBADF);
    assert_non_null(strstr(stage->report->message, "stderr"));
    char dash[] = "-";
    stage->settings.output = dash;
    run_child(stage, -1, file, 0);
    assert_int_equal(stage->report->result, -EBADF);
    assert_non_null(strstr(stage->report->message, "stdout"));
}

static void test_quiet_writes_nothing(void **state)
{
    struct stage *stage = *state;
    AUTO_FD int out = file_in(stage, "stdout");
    AUTO_FD int err_fd = file_in(stage, "stderr");
    stage->settings.quiet = true;
    stage->settings.output = stage->path;
    run_child(stage, out, err_fd, 2);
    assert_int_equal(stage->report->result, 0);
    assert_int_equal(stage->report->samples[0], 0);
    assert_content(stage, "stdout", "");
    assert_content(stage, "stderr", "");
    assert_int_equal(access(stage->path, F_OK), -1);
}

static void assert_encoder(struct stage *stage, int format, int columns, const struct encoder *expected)
{
    stage->settings.format = format;
    stage->settings.csv_columns = columns;
    assert_stream(stage, -1, "stderr");
    assert_ptr_equal(stage->report->encoder, expected);
}

static void test_formats(void **state)
{
    struct stage *stage = *state;
    char command[] = "true";
    char *const argv[] = {command, NULL};
    assert_encoder(stage, FORMAT_JSON, CSV_COLUMNS_FULL, &encoder_jsonl);
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_AUTO, &encoder_csv_system);
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_FULL, &encoder_csv_full);
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_PYTHON, &encoder_csv_python_system);
    stage->info.tracked_pid = some_u64(5);
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_AUTO, &encoder_csv_full);
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_SYSTEM, &encoder_csv_system);
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_PYTHON, &encoder_csv_python);
    stage->info.tracked_pid = (struct opt_u64){0};
    stage->settings.command = argv;
    assert_encoder(stage, FORMAT_CSV, CSV_COLUMNS_AUTO, &encoder_csv_full);
}

/* Whatever is registered is complete: output and session rely on it. */
static void test_registry(void **state)
{
    (void)state;
    for (int format = 0; format < FORMAT_COUNT; format++) {
        for (int i = 0; i < 8; i++) {
            const struct encoder *encoder =
                encoder_find((enum encode_format)format, (enum encode_columns)(i / 2), i % 2);
            assert_non_null(encoder);
            assert_true(encoder->name && encoder->name[0]);
            assert_true(encoder->cpu_resolution_ns > 0);
            assert_non_null(encoder->sample);
            assert_non_null(encoder->may_append(STR("?")));
        }
    }
}

static void test_csv_header_once_and_first(void **state)
{
    struct stage *stage = *state;
    AUTO_FD int out = file_in(stage, "stdout");
    AUTO_FD int err_fd = file_in(stage, "stderr");
    stage->settings.format = FORMAT_CSV;
    run_child(stage, out, err_fd, 3);
    AUTO_BUF struct buf expected;
    buf_init(&expected, 65536);
    struct sample sample = small_sample();
    encoder_csv_system.begin(&stage->info, &expected);
    for (int i = 0; i < 3; i++)
        encoder_csv_system.sample(&stage->info, &sample, &no_totals, &expected);
    assert_content(stage, "stdout", buf_cstr(&expected));
    assert_content(stage, "stderr", "");
}

/* Runs over a file that holds `before`, and returns what open said. */
static int append_to(struct stage *stage, int format, const char *before)
{
    AUTO_FD int err_fd = file_in(stage, "stderr");
    stage->settings.format = format;
    stage->settings.output = stage->path;
    stage->settings.append = true;
    if (before)
        tree_write(&stage->tree, "out", before);
    run_child(stage, -1, err_fd, 1);
    return stage->report->result;
}

static void test_append_csv(void **state)
{
    struct stage *stage = *state;
    AUTO_BUF struct buf header;
    AUTO_BUF struct buf row;
    AUTO_BUF struct buf expected;
    buf_init(&header, 65536);
    buf_init(&row, 65536);
    buf_init(&expected, 65536);
    struct sample sample = small_sample();
    encoder_csv_system.begin(&stage->info, &header);
    encoder_csv_system.sample(&stage->info, &sample, &no_totals, &row);
    buf_printf(&expected, "%s%s", buf_cstr(&header), buf_cstr(&row));

    assert_int_equal(append_to(stage, FORMAT_CSV, NULL), 0);
    assert_content(stage, "out", buf_cstr(&expected));
    /* The same header is not written again. */
    assert_int_equal(append_to(stage, FORMAT_CSV, NULL), 0);
    buf_puts(&expected, buf_cstr(&row));
    assert_content(stage, "out", buf_cstr(&expected));
    /* A row that was cut is ended first. */
    buf_clear(&expected);
    buf_printf(&expected, "%s1700", buf_cstr(&header));
    assert_int_equal(append_to(stage, FORMAT_CSV, buf_cstr(&expected)), 0);
    buf_printf(&expected, "\n%s", buf_cstr(&row));
    assert_content(stage, "out", buf_cstr(&expected));
    /* An empty file is a new one. */
    buf_clear(&expected);
    buf_printf(&expected, "%s%s", buf_cstr(&header), buf_cstr(&row));
    assert_int_equal(append_to(stage, FORMAT_CSV, ""), 0);
    assert_content(stage, "out", buf_cstr(&expected));
}

/* Two trackers append to one new file: both find it empty, and the second to write finds the header of the first. */
static void test_append_to_one_new_file(void **state)
{
    struct stage *stage = *state;
    stage->settings.output = stage->path;
    stage->settings.append = true;
    stage->settings.format = FORMAT_CSV;
    struct output outputs[3];
    struct err err = {0};
    for (size_t i = 0; i < 3; i++) {
        stage->settings.csv_columns = i < 2 ? CSV_COLUMNS_SYSTEM : CSV_COLUMNS_FULL;
        assert_int_equal(output_open(&outputs[i], &stage->settings, &stage->info, &err), 0);
    }
    struct sample sample = small_sample();
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(output_sample(&outputs[i % 3], &sample, &no_totals), 0);
    /* Other columns do not fit into the file any more. */
    assert_false(output_is_wanted(&outputs[2]));
    for (size_t i = 0; i < 3; i++)
        assert_true(output_close(&outputs[i]));
    AUTO_BUF struct buf expected;
    buf_init(&expected, 65536);
    encoder_csv_system.begin(&stage->info, &expected);
    for (size_t i = 0; i < 4; i++)
        encoder_csv_system.sample(&stage->info, &sample, &no_totals, &expected);
    assert_content(stage, "out", buf_cstr(&expected));
}

static void assert_append_refused(struct stage *stage, int format, const char *before)
{
    assert_int_equal(append_to(stage, format, before), -EEXIST);
    assert_non_null(strstr(stage->report->message, "append"));
    assert_content(stage, "out", before);
}

static void test_append_to_something_else_is_refused(void **state)
{
    struct stage *stage = *state;
    AUTO_BUF struct buf header;
    buf_init(&header, 65536);
    encoder_csv_full.begin(&stage->info, &header);
    assert_append_refused(stage, FORMAT_CSV, buf_cstr(&header));
    assert_append_refused(stage, FORMAT_CSV, "{\"timestamp_secs\":1}\n");
    assert_append_refused(stage, FORMAT_CSV, "timestamp,processes");
    assert_append_refused(stage, FORMAT_CSV, "\n");
    assert_append_refused(stage, FORMAT_JSON, buf_cstr(&header));
    assert_append_refused(stage, FORMAT_JSON, "some text\n");
}

static void test_append_json(void **state)
{
    struct stage *stage = *state;
    AUTO_BUF struct buf expected;
    buf_init(&expected, 65536);
    struct sample sample = small_sample();
    buf_puts(&expected, "{\"a\":1}\n{\"b\"\n");
    encoder_jsonl.sample(&stage->info, &sample, NULL, &expected);
    assert_int_equal(append_to(stage, FORMAT_JSON, "{\"a\":1}\n{\"b\""), 0);
    assert_content(stage, "out", buf_cstr(&expected));
}

static void test_file_names_and_files_that_cannot_be_opened(void **state)
{
    struct stage *stage = *state;
    AUTO_FD int err_fd = file_in(stage, "stderr");
    char name[PATH_BYTES + 32];
    char job[] = "a/b";
    (void)snprintf(name, sizeof(name), "%s/{job}.jsonl", stage->tree.path);
    stage->settings.output = name;
    stage->settings.job_name = job;
    run_child(stage, -1, err_fd, 1);
    assert_int_equal(stage->report->result, 0);
    struct stat st;
    char made[PATH_BYTES + 32];
    (void)snprintf(made, sizeof(made), "%s/a_b.jsonl", stage->tree.path);
    assert_int_equal(stat(made, &st), 0);
    assert_true(st.st_size > 0);
    (void)snprintf(name, sizeof(name), "%s/missing/x", stage->tree.path);
    run_child(stage, -1, err_fd, 1);
    assert_int_equal(stage->report->result, -ENOENT);
    assert_non_null(strstr(stage->report->message, name));
    assert_content(stage, "stderr", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_stream_of_the_host_mode),
        TEST(test_stderr_in_a_file),
        TEST(test_stream_of_the_wrapper_mode),
        TEST(test_stream_of_a_tracked_pid),
        TEST(test_streams_that_are_closed),
        TEST(test_quiet_writes_nothing),
        TEST(test_formats),
        cmocka_unit_test(test_registry),
        TEST(test_csv_header_once_and_first),
        TEST(test_append_csv),
        TEST(test_append_to_one_new_file),
        TEST(test_append_to_something_else_is_refused),
        TEST(test_append_json),
        TEST(test_file_names_and_files_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
