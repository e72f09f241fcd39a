/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in a file whose name ends in .gz: new, continued, cut anywhere, full, shared, or not gzip at all. */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "run/output/output.h"
#include "tree.h"

enum { BYTES_MAX = 8 * 1024 * 1024 };

struct stage {
    struct tree tree;
    char path[128];
    struct settings settings;
    struct run_info info;
    struct output output;
    struct err err;
    struct buf text, file;
};

static int stage_make(void **state)
{
    static struct stage stage;
    stage = (struct stage){.info = {.version = "t", .interval_ns = NS_PER_SEC}};
    tree_make(&stage.tree);
    (void)snprintf(stage.path, sizeof(stage.path), "%s/out.gz", stage.tree.path);
    stage.settings.output = stage.path;
    stage.settings.interval_ns = NS_PER_SEC;
    buf_init(&stage.text, BYTES_MAX);
    buf_init(&stage.file, BYTES_MAX);
    *state = &stage;
    return 0;
}

static int stage_free(void **state)
{
    struct stage *stage = *state;
    buf_fini(&stage->text);
    buf_fini(&stage->file);
    tree_free(&stage->tree);
    return 0;
}

static int stage_open(struct stage *stage)
{
    err_clear(&stage->err);
    return output_open(&stage->output, &stage->settings, &stage->info, &stage->err);
}

static void write_sample(struct stage *stage, double secs)
{
    struct sample sample = {
        .timestamp_secs = some_i64(1700000000),
        .timestamp_ms = some_i64(1700000000000),
        .elapsed_secs = some_f64(secs),
        .version = "t",
    };
    assert_int_equal(output_sample(&stage->output, &sample, &(struct sample_totals){0}), 0);
}

static void record(struct stage *stage, unsigned samples)
{
    assert_int_equal(stage_open(stage), 0);
    for (unsigned i = 0; i < samples; i++)
        write_sample(stage, i);
    assert_true(output_close(&stage->output));
}

static int take(void *context, struct str piece)
{
    buf_append(context, piece.p, piece.n);
    return 0;
}

static void read_file(struct stage *stage)
{
    buf_clear(&stage->file);
    assert_int_equal(file_read_at(AT_FDCWD, stage->path, &stage->file), 0);
}

/* The text of the file as gunzip -c shows it. Returns whether the file is whole. */
static bool read_text(struct stage *stage)
{
    read_file(stage);
    struct gunzip *gunzip;
    buf_clear(&stage->text);
    assert_int_equal(gunzip_new(&gunzip), 0);
    int r = gunzip_add(gunzip, (struct str){stage->file.data, stage->file.len}, take, &stage->text);
    bool is_whole = r == 0 && gunzip_is_whole(gunzip);
    gunzip_free(gunzip);
    return is_whole;
}

static unsigned lines_of(struct stage *stage)
{
    unsigned lines = 0;
    for (size_t i = 0; i < stage->text.len; i++)
        lines += stage->text.data[i] == '\n';
    return lines;
}

static void assert_samples(struct stage *stage, unsigned samples)
{
    assert_true(read_text(stage));
    assert_int_equal(lines_of(stage), samples);
    struct str rest = {stage->text.data, stage->text.len};
    for (struct str line; str_line(&rest, &line);)
        assert_true(line.n > 2 && line.p[0] == '{' && line.p[line.n - 1] == '}');
}

static void test_a_run_is_a_file(void **state)
{
    struct stage *stage = *state;
    record(stage, 5);
    assert_samples(stage, 5);
    record(stage, 3);
    assert_samples(stage, 3);
    record(stage, 0);
    assert_samples(stage, 0);
}

static void test_every_sample_can_be_read_at_once(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_open(stage), 0);
    for (unsigned i = 1; i <= 20; i++) {
        write_sample(stage, i);
        assert_false(read_text(stage));
        assert_int_equal(lines_of(stage), i);
        assert_int_equal(stage->text.data[stage->text.len - 1], '\n');
    }
    assert_true(output_close(&stage->output));
    assert_samples(stage, 20);
}

static void test_appended_runs_follow_each_other(void **state)
{
    struct stage *stage = *state;
    stage->settings.append = true;
    for (unsigned i = 1; i <= 3; i++) {
        record(stage, 4);
        assert_samples(stage, 4 * i);
    }
}

static void test_the_header_of_csv_stands_once(void **state)
{
    struct stage *stage = *state;
    stage->settings.append = true;
    stage->settings.format = FORMAT_CSV;
    record(stage, 2);
    record(stage, 2);
    assert_true(read_text(stage));
    assert_int_equal(lines_of(stage), 5);
    assert_memory_equal(stage->text.data, "timestamp,", 10);
    assert_null(strstr(buf_cstr(&stage->text) + 10, "timestamp"));
    stage->settings.format = FORMAT_JSON;
    assert_int_equal(stage_open(stage), -EEXIST);
    assert_non_null(strstr(stage->err.msg, "it does not hold JSON lines"));
    output_close(&stage->output);
    assert_true(read_text(stage));
    assert_int_equal(lines_of(stage), 5);
}

/* Wherever a file of two runs is cut, a third one can follow the samples that are whole; unless none is. */
static void test_a_file_that_was_cut_is_continued(void **state)
{
    struct stage *stage = *state;
    stage->settings.append = true;
    record(stage, 6);
    record(stage, 6);
    AUTO_BUF struct buf whole;
    buf_init(&whole, BYTES_MAX);
    read_file(stage);
    buf_append(&whole, stage->file.data, stage->file.len);
    for (size_t n = whole.len - 1; n > 0; n -= n > 7 ? 7 : 1) {
        int fd = open(stage->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, whole.data, n), n);
        assert_int_equal(close(fd), 0);
        (void)read_text(stage);
        unsigned before = lines_of(stage);
        int r = stage_open(stage);
        if (r < 0) {
            assert_int_equal(r, -EEXIST);
            assert_in_range(before, 0, 1);
            output_close(&stage->output);
            continue;
        }
        write_sample(stage, 1);
        assert_true(output_close(&stage->output));
        assert_true(read_text(stage));
        /* A line whose flush is cut may be lost with it. */
        assert_in_range(lines_of(stage), before, before + 1);
    }
}

static void write_bytes(struct stage *stage, const char *bytes, size_t n)
{
    int fd = open(stage->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(close(fd), 0);
}

static void test_what_is_no_gzip_is_left_alone(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } rows[] = {
        {"{\"a\":1}\n", 8, "it is not a gzip file"},
        {"\x1f", 1, "it is not a gzip file"},
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10, "its end is missing, and no whole sample is before that"},
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff", 14, "it is broken at byte 1"},
    };
    stage->settings.append = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_bytes(stage, rows[i].bytes, rows[i].n);
        assert_true(stage_open(stage) < 0);
        assert_non_null(strstr(stage->err.msg, rows[i].why));
        output_close(&stage->output);
        read_file(stage);
        assert_int_equal(stage->file.len, rows[i].n);
    }
}

/* A file of many samples that was never ended. Returns how many bytes its largest sample takes. */
static size_t record_unended(struct stage *stage, unsigned samples)
{
    size_t largest = 0;
    struct stat st = {0};
    assert_int_equal(stage_open(stage), 0);
    for (unsigned i = 0; i < samples; i++) {
        off_t before = st.st_size;
        write_sample(stage, i * 1.37);
        assert_int_equal(stat(stage->path, &st), 0);
        if ((size_t)(st.st_size - before) > largest)
            largest = (size_t)(st.st_size - before);
    }
    sink_close(&stage->output.sink);
    output_close(&stage->output);
    return largest;
}

/* Never more than one sample is removed, wherever it is damaged; else it is refused and left as it is. */
static void test_a_damaged_file_is_left_alone(void **state)
{
    struct stage *stage = *state;
    size_t largest = record_unended(stage, 60);
    AUTO_BUF struct buf sound, damaged;
    buf_init(&sound, BYTES_MAX);
    buf_init(&damaged, BYTES_MAX);
    read_file(stage);
    size_t n = stage->file.len - 11; /* the last sample is cut */
    buf_append(&sound, stage->file.data, n);
    stage->settings.append = true;
    unsigned refused = 0;
    for (size_t at = 10; at + 4 < n; at += 3) {
        buf_clear(&damaged);
        buf_append(&damaged, sound.data, n);
        for (size_t i = at; i < at + 4; i++)
            damaged.data[i] = (char)(damaged.data[i] ^ (int)(0x5a + i % 64));
        write_bytes(stage, damaged.data, n);
        int r = stage_open(stage);
        output_close(&stage->output);
        read_file(stage);
        if (r < 0) {
            refused++;
            assert_int_equal(r, -EEXIST);
            assert_non_null(strstr(stage->err.msg, "cannot append to "));
            assert_int_equal(stage->file.len, n);
            assert_memory_equal(stage->file.data, damaged.data, n);
        } else {
            assert_in_range(stage->file.len, n - 2 * largest, n + 64);
        }
    }
    assert_true(refused > 0);
}

/* What looks like our end, but is the end of a sample by chance, is no end. */
static void test_a_chance_end_is_no_end(void **state)
{
    struct stage *stage = *state;
    record_unended(stage, 20);
    read_file(stage);
    AUTO_BUF struct buf file;
    buf_init(&file, BYTES_MAX);
    buf_append(&file, stage->file.data, stage->file.len);
    /* Part of a stored block behind the last flush. */
    static const char chance[] = {0, 40, 0, '\xd7', '\xff', 'x', 3, 0, 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'};
    buf_append(&file, chance, sizeof(chance));
    write_bytes(stage, file.data, file.len);
    stage->settings.append = true;
    record(stage, 1);
    assert_samples(stage, 21);
}

/* Runs without a sample are ended as well: nothing of a large file is read. */
static void test_an_empty_run_is_ended(void **state)
{
    struct stage *stage = *state;
    stage->settings.append = true;
    record(stage, 3);
    record(stage, 0);
    record(stage, 0);
    record(stage, 1);
    assert_samples(stage, 4);
}

static void assert_too_large(struct stage *stage)
{
    read_file(stage);
    size_t n = stage->file.len;
    stage->settings.append = true;
    assert_int_equal(stage_open(stage), -EEXIST);
    assert_non_null(strstr(stage->err.msg, "too large to be checked before the command starts"));
    assert_non_null(strstr(stage->err.msg, "write to another file"));
    output_close(&stage->output);
    read_file(stage);
    assert_int_equal(stage->file.len, n);
}

/* The command must not wait for a check of any length. */
static void test_a_large_file_without_an_end_is_refused(void **state)
{
    struct stage *stage = *state;
    record_unended(stage, 200);
    int fd = open(stage->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4 * 1024 * 1024 + 1), 0);
    assert_int_equal(close(fd), 0);
    assert_too_large(stage);
}

static void test_a_file_that_unpacks_to_too_much_is_refused(void **state)
{
    struct stage *stage = *state;
    AUTO_BUF struct buf made;
    buf_init(&made, BYTES_MAX);
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    static char text[1024 * 1024];
    memset(text, 'a', sizeof(text));
    text[0] = '{';
    text[sizeof(text) - 1] = '\n';
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(gzip_add_flushed(gzip, (struct str){text, sizeof(text)}, &made), 0);
    gzip_free(gzip);
    assert_in_range(made.len, 1, 1024 * 1024);
    write_bytes(stage, made.data, made.len);
    assert_too_large(stage);
}

static void test_a_file_by_gzip_is_continued(void **state)
{
    struct stage *stage = *state;
    stage->settings.append = true;
    AUTO_BUF struct buf made;
    buf_init(&made, BYTES_MAX);
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    assert_int_equal(gzip_add(gzip, STR("{\"a\":1}\n"), &made), 0);
    assert_int_equal(gzip_finish(gzip, &made), 0);
    gzip_free(gzip);
    write_bytes(stage, made.data, made.len);
    record(stage, 2);
    assert_samples(stage, 3);
}

static void test_one_writer_at_a_time(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_open(stage), 0);
    write_sample(stage, 0);
    struct output first = stage->output;
    for (int append = 0; append < 2; append++) {
        stage->settings.append = append;
        assert_int_equal(stage_open(stage), -EBUSY);
        assert_non_null(strstr(stage->err.msg, "another process is writing to it"));
        output_close(&stage->output);
    }
    stage->output = first;
    write_sample(stage, 1);
    assert_true(output_close(&stage->output));
    assert_samples(stage, 2);
}

/* The disk is full for a while: what waits is written later, nothing is torn. */
static void test_a_limited_file_recovers(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_open(stage), 0);
    write_sample(stage, 0);
    struct rlimit old;
    struct stat st;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(stat(stage->path, &st), 0);
    struct rlimit low = {.rlim_cur = (rlim_t)st.st_size + 5, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    for (unsigned i = 1; i < 5; i++)
        write_sample(stage, i);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)read_text(stage);
    assert_int_equal(lines_of(stage), 1);
    write_sample(stage, 5);
    assert_true(output_close(&stage->output));
    assert_samples(stage, 6);
}

/* More waits than may: whole samples are lost, and what follows can be read. */
static void test_samples_that_find_no_space_are_lost_whole(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_open(stage), 0);
    write_sample(stage, 0);
    struct rlimit old;
    struct stat st;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(stat(stage->path, &st), 0);
    struct rlimit low = {.rlim_cur = (rlim_t)st.st_size + 5, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    unsigned count = 1;
    while (stage->output.sink.dropped < 10 && count < 1000000)
        write_sample(stage, count++);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(stage->output.sink.dropped, 10);
    assert_in_range(stage->output.sink.backlog.len, SINK_BACKLOG_BYTES / 2, SINK_BACKLOG_BYTES);
    write_sample(stage, count++);
    assert_false(output_close(&stage->output));
    assert_samples(stage, count - 10);
}

int main(void)
{
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGXFSZ);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_is_a_file, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_every_sample_can_be_read_at_once, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_appended_runs_follow_each_other, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_the_header_of_csv_stands_once, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_file_that_was_cut_is_continued, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_what_is_no_gzip_is_left_alone, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_damaged_file_is_left_alone, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_chance_end_is_no_end, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_an_empty_run_is_ended, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_large_file_without_an_end_is_refused, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_file_that_unpacks_to_too_much_is_refused, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_file_by_gzip_is_continued, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_one_writer_at_a_time, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_a_limited_file_recovers, stage_make, stage_free),
        cmocka_unit_test_setup_teardown(test_samples_that_find_no_space_are_lost_whole, stage_make, stage_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
