/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings as files: gzip, pieces and lines of any size, FIFOs, stdin, and every golden file through replay and
 * encoder to the same bytes. GOLDEN_DIR names another directory of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "codec/gzip.h"
#include "replay_scenario.h"

static void test_no_file(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_path(scenario, scenario->path), -ENOENT);
    assert_non_null(strstr(scenario->err.msg, scenario->path));
    assert_non_null(strstr(scenario->err.msg, "No such file"));
    assert_int_equal(replay_path(scenario, scenario->directory), -EISDIR);
    assert_non_null(strstr(scenario->err.msg, scenario->directory));
    assert_non_null(strstr(scenario->err.msg, "directory"));
}

static void pack(struct buf *out, const char *text)
{
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    assert_int_equal(gzip_add(gzip, str_of(text), out), 0);
    assert_int_equal(gzip_finish(gzip, out), 0);
    gzip_free(gzip);
}

static void test_gzip(void **state)
{
    struct scenario *scenario = *state;
    struct buf file;
    buf_init(&file, TEXT_MAX);
    pack(&file, "{\"timestamp_ms\":1000}\n{\"timestamp");
    pack(&file, "_ms\":2000}\n");
    size_t whole = file.len;
    assert_int_equal(replay_bytes(scenario, file.data, file.len), 0);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->report.note_count, 0);
    /* The trailer is missing: everything came all the same. */
    assert_int_equal(replay_bytes(scenario, file.data, file.len - 4), 0);
    assert_int_equal(scenario->samples, 2);
    assert_true(has_note(scenario, "the compressed file is cut"));
    buf_append(&file, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    assert_int_equal(replay_bytes(scenario, file.data, file.len), 0);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->report.note_count, 0);
    buf_append(&file, "junk junk junk", 14);
    assert_int_equal(replay_bytes(scenario, file.data, file.len), 0);
    assert_int_equal(scenario->samples, 2);
    assert_true(has_note(scenario, "the compressed file is broken: what comes before is used"));
    file.data[whole - 5] ^= 1; /* the checksum */
    assert_int_equal(replay_bytes(scenario, file.data, whole), 0);
    assert_true(has_note(scenario, "the compressed file is broken: what comes before is used"));
    scenario->stop_at = 1;
    assert_int_equal(replay_bytes(scenario, file.data, whole), -EBADMSG);
    assert_non_null(strstr(scenario->err.msg, "cannot replay"));
    buf_fini(&file);
}

static void test_long_lines(void **state)
{
    struct scenario *scenario = *state;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_puts(&text, "{\"timestamp_ms\":1,\"job_name\":\"");
    while (text.len < REPLAY_LINE_BYTES_MAX - 2)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}\n{\"timestamp_ms\":2,\"job_name\":\"");
    while (text.len < 2 * (size_t)REPLAY_LINE_BYTES_MAX + 2)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}\n{\"timestamp_ms\":3}\n");
    assert_int_equal(replay_bytes(scenario, text.data, text.len), 0);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->seen[0].timestamp_ms, 1);
    assert_int_equal(scenario->seen[1].timestamp_ms, 3);
    assert_int_equal(scenario->report.skipped, 1);
    assert_true(has_note(scenario, "lines too long to be samples are left out: 1"));
    /* The last line may be too long as well. */
    buf_clear(&text);
    buf_puts(&text, "{\"timestamp_ms\":1}\n");
    while (text.len < REPLAY_LINE_BYTES_MAX + 100)
        buf_putc(&text, 'x');
    assert_int_equal(replay_bytes(scenario, text.data, text.len), 0);
    assert_int_equal(scenario->samples, 1);
    assert_int_equal(scenario->report.skipped, 1);
    buf_fini(&text);
}

struct writer {
    const char *path;
    struct str bytes;
};

/* A byte at a time: lines, and the mark of gzip, come in any pieces. */
static void *write_slowly(void *context)
{
    const struct writer *writer = context;
    AUTO_FD int fd = open(writer->path, O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < writer->bytes.n; i++) {
        if (write(fd, writer->bytes.p + i, 1) != 1)
            break;
    }
    return NULL;
}

static void replay_fifo(struct scenario *scenario, struct str bytes)
{
    pthread_t thread;
    struct writer writer = {scenario->path, bytes};
    assert_int_equal(pthread_create(&thread, NULL, write_slowly, &writer), 0);
    assert_int_equal(replay_path(scenario, scenario->path), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->report.note_count, 0);
}

static void test_fifo(void **state)
{
    struct scenario *scenario = *state;
    static const char text[] = "{\"timestamp_ms\":1000}\n{\"timestamp_ms\":2000}\n";
    assert_int_equal(mkfifo(scenario->path, 0600), 0);
    replay_fifo(scenario, STR(text));
    struct buf file;
    buf_init(&file, TEXT_MAX);
    pack(&file, text);
    replay_fifo(scenario, (struct str){file.data, file.len});
    buf_fini(&file);
}

static void test_stdin(void **state)
{
    struct scenario *scenario = *state;
    AUTO_FD int kept = dup(STDIN_FILENO);
    (void)replay_text(scenario, "{\"timestamp_ms\":1000}\nnothing\n");
    AUTO_FD int file = open(scenario->path, O_RDONLY | O_CLOEXEC);
    assert_true(dup2(file, STDIN_FILENO) == STDIN_FILENO);
    assert_int_equal(replay_path(scenario, "-"), 0);
    assert_int_equal(scenario->samples, 1);
    assert_int_equal(replay_path(scenario, "-"), -EBADMSG); /* at its end by now */
    assert_non_null(strstr(scenario->err.msg, "standard input"));
    if (kept >= 0)
        (void)dup2(kept, STDIN_FILENO);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name);
    size_t m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static void read_whole(const char *path, struct buf *buf)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    char piece[4096];
    for (ssize_t n; (n = read(fd, piece, sizeof(piece))) > 0;)
        buf_append(buf, piece, (size_t)n);
}

static void check_golden(struct scenario *scenario, const char *path)
{
    struct buf want;
    buf_init(&want, TEXT_MAX);
    read_whole(path, &want);
    buf_clear(&scenario->out);
    int r = replay_path(scenario, path);
    if (r < 0)
        fail_msg("%s", scenario->err.msg);
    if (scenario->out.len != want.len || memcmp(scenario->out.data, want.data, want.len) != 0)
        fail_msg("%s comes back as\n%s", path, buf_cstr(&scenario->out));
    buf_fini(&want);
}

/* Every recorded machine: what was written comes back to the byte. */
static void test_golden(void **state)
{
    static const struct {
        const char *ending;
        const struct encoder *encoder;
    } formats[] = {{".jsonl", &encoder_jsonl}, {".system.csv", &encoder_csv_system}, {".full.csv", &encoder_csv_full}};
    struct scenario *scenario = *state;
    const char *directory = getenv("GOLDEN_DIR") ? getenv("GOLDEN_DIR") : SOURCE_ROOT "/tests/golden";
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    size_t counts[3] = {0};
    for (const struct dirent *entry; (entry = readdir(dir));) {
        for (size_t i = 0; i < 3; i++) {
            char path[PATH_BYTES];
            if (!ends_with(entry->d_name, formats[i].ending))
                continue;
            (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            scenario->encoder = formats[i].encoder;
            check_golden(scenario, path);
            counts[i]++;
        }
    }
    (void)closedir(dir);
    assert_true(counts[0] >= 20 && counts[1] >= 20 && counts[2] >= 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_file),
        TEST(test_gzip),
        TEST(test_long_lines),
        TEST(test_fifo),
        TEST(test_stdin),
        TEST(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
