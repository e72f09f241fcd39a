/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings as files: gzip, pieces and lines of any size, FIFOs, stdin, and every golden file through replay and
 * encoder to the same bytes. GOLDEN_DIR names another folder of them.
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
#include "replay_world.h"

static void test_no_file(void **state)
{
    struct world *world = *state;
    assert_int_equal(replay_path(world, world->path), -ENOENT);
    assert_non_null(strstr(world->err.msg, world->path));
    assert_non_null(strstr(world->err.msg, "No such file"));
    assert_int_equal(replay_path(world, world->folder), -EISDIR);
    assert_non_null(strstr(world->err.msg, world->folder));
    assert_non_null(strstr(world->err.msg, "directory"));
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
    struct world *world = *state;
    struct buf file;
    buf_init(&file, TEXT_MAX);
    pack(&file, "{\"timestamp_ms\":1000}\n{\"timestamp");
    pack(&file, "_ms\":2000}\n");
    size_t whole = file.len;
    assert_int_equal(replay_bytes(world, file.data, file.len), 0);
    assert_int_equal(world->samples, 2);
    assert_int_equal(world->report.note_count, 0);
    /* The trailer is missing: everything came all the same. */
    assert_int_equal(replay_bytes(world, file.data, file.len - 4), 0);
    assert_int_equal(world->samples, 2);
    assert_true(has_note(world, "the compressed file is cut"));
    buf_append(&file, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    assert_int_equal(replay_bytes(world, file.data, file.len), 0);
    assert_int_equal(world->samples, 2);
    assert_int_equal(world->report.note_count, 0);
    buf_append(&file, "junk junk junk", 14);
    assert_int_equal(replay_bytes(world, file.data, file.len), 0);
    assert_int_equal(world->samples, 2);
    assert_true(has_note(world, "the compressed file is broken: what comes before is used"));
    file.data[whole - 5] ^= 1; /* the checksum */
    assert_int_equal(replay_bytes(world, file.data, whole), 0);
    assert_true(has_note(world, "the compressed file is broken: what comes before is used"));
    world->stop_at = 1;
    assert_int_equal(replay_bytes(world, file.data, whole), -EBADMSG);
    assert_non_null(strstr(world->err.msg, "cannot replay"));
    buf_fini(&file);
}

static void test_long_lines(void **state)
{
    struct world *world = *state;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_puts(&text, "{\"timestamp_ms\":1,\"job_name\":\"");
    while (text.len < REPLAY_LINE_BYTES_MAX - 2)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}\n{\"timestamp_ms\":2,\"job_name\":\"");
    while (text.len < 2 * (size_t)REPLAY_LINE_BYTES_MAX + 2)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}\n{\"timestamp_ms\":3}\n");
    assert_int_equal(replay_bytes(world, text.data, text.len), 0);
    assert_int_equal(world->samples, 2);
    assert_int_equal(world->seen[0].timestamp_ms, 1);
    assert_int_equal(world->seen[1].timestamp_ms, 3);
    assert_int_equal(world->report.skipped, 1);
    assert_true(has_note(world, "lines too long to be samples are left out: 1"));
    /* The last line may be too long as well. */
    buf_clear(&text);
    buf_puts(&text, "{\"timestamp_ms\":1}\n");
    while (text.len < REPLAY_LINE_BYTES_MAX + 100)
        buf_putc(&text, 'x');
    assert_int_equal(replay_bytes(world, text.data, text.len), 0);
    assert_int_equal(world->samples, 1);
    assert_int_equal(world->report.skipped, 1);
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

static void replay_fifo(struct world *world, struct str bytes)
{
    pthread_t thread;
    struct writer writer = {world->path, bytes};
    assert_int_equal(pthread_create(&thread, NULL, write_slowly, &writer), 0);
    assert_int_equal(replay_path(world, world->path), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(world->samples, 2);
    assert_int_equal(world->report.note_count, 0);
}

static void test_fifo(void **state)
{
    struct world *world = *state;
    static const char text[] = "{\"timestamp_ms\":1000}\n{\"timestamp_ms\":2000}\n";
    assert_int_equal(mkfifo(world->path, 0600), 0);
    replay_fifo(world, STR(text));
    struct buf file;
    buf_init(&file, TEXT_MAX);
    pack(&file, text);
    replay_fifo(world, (struct str){file.data, file.len});
    buf_fini(&file);
}

static void test_stdin(void **state)
{
    struct world *world = *state;
    AUTO_FD int kept = dup(STDIN_FILENO);
    (void)replay_text(world, "{\"timestamp_ms\":1000}\nnothing\n");
    AUTO_FD int file = open(world->path, O_RDONLY | O_CLOEXEC);
    assert_true(dup2(file, STDIN_FILENO) == STDIN_FILENO);
    assert_int_equal(replay_path(world, "-"), 0);
    assert_int_equal(world->samples, 1);
    assert_int_equal(replay_path(world, "-"), -EBADMSG); /* at its end by now */
    assert_non_null(strstr(world->err.msg, "standard input"));
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

static void check_golden(struct world *world, const char *path)
{
    struct buf want;
    buf_init(&want, TEXT_MAX);
    read_whole(path, &want);
    buf_clear(&world->out);
    int r = replay_path(world, path);
    if (r < 0)
        fail_msg("%s", world->err.msg);
    if (world->out.len != want.len || memcmp(world->out.data, want.data, want.len) != 0)
        fail_msg("%s comes back as\n%s", path, buf_cstr(&world->out));
    buf_fini(&want);
}

/* Every recorded machine: what was written comes back to the byte. */
static void test_golden(void **state)
{
    static const struct {
        const char *ending;
        const struct encoder *encoder;
    } formats[] = {{".jsonl", &encoder_jsonl}, {".system.csv", &encoder_csv_system}, {".full.csv", &encoder_csv_full}};
    struct world *world = *state;
    const char *folder = getenv("GOLDEN_DIR") ? getenv("GOLDEN_DIR") : SOURCE_ROOT "/tests/golden";
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t counts[3] = {0};
    for (const struct dirent *entry; (entry = readdir(dir));) {
        for (size_t i = 0; i < 3; i++) {
            char path[PATH_BYTES];
            if (!ends_with(entry->d_name, formats[i].ending))
                continue;
            (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            world->encoder = formats[i].encoder;
            check_golden(world, path);
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
