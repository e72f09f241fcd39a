/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files whole, once and through a kept descriptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

struct directory {
    char path[64];
    int fd;
};

static int make_directory(void **state)
{
    struct directory *directory = calloc(1, sizeof(*directory));
    assert_non_null(directory);
    (void)snprintf(directory->path, sizeof(directory->path), "/tmp/test_file.XXXXXX");
    assert_non_null(mkdtemp(directory->path));
    directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(directory->fd >= 0);
    *state = directory;
    return 0;
}

static int remove_directory(void **state)
{
    struct directory *directory = *state;
    (void)unlinkat(directory->fd, "a", 0);
    (void)unlinkat(directory->fd, "b", 0);
    (void)close(directory->fd);
    (void)rmdir(directory->path);
    free(directory);
    return 0;
}

static void write_file(const struct directory *directory, const char *name, const void *bytes, size_t n)
{
    AUTO_FD int fd = openat(directory->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
}

static void write_text(const struct directory *directory, const char *name, const char *text)
{
    write_file(directory, name, text, strlen(text));
}

static void test_whole_file(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 20);
    write_text(directory, "a", "hello\n");
    assert_int_equal(file_read_at(directory->fd, "a", &buf), 0);
    assert_string_equal(buf_cstr(&buf), "hello\n");
    write_text(directory, "a", "");
    assert_int_equal(file_read_at(directory->fd, "a", &buf), 0);
    assert_int_equal(buf.len, 0);
}

static void test_growth_over_many_reads(void **state)
{
    const struct directory *directory = *state;
    enum { BYTES = 300000 };
    AUTO_FREE char *bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)('a' + i % 23);
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 20);
    static const size_t sizes[] = {3071, 3072, 4095, 4096, 4097, 8191, 8192, 8193, BYTES};
    static const enum file_shape shapes[] = {FILE_SINGLE, FILE_RECORDS};
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct kept_file file;
            kept_file_init(&file, directory->fd, "a", shapes[s]);
            write_file(directory, "a", bytes, sizes[i]);
            assert_int_equal(kept_file_read(&file, &buf), 0);
            assert_int_equal(buf.len, sizes[i]);
            assert_memory_equal(buf.data, bytes, sizes[i]);
            kept_file_fini(&file);
        }
    }
}

static void test_missing(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 16);
    char line[16];
    assert_int_equal(file_read_at(directory->fd, "a", &buf), -ENOENT);
    assert_int_equal(file_read_at(-1, "a", &buf), -ENOENT);
    assert_int_equal(file_read_line_at(directory->fd, "a", line, sizeof(line)), -ENOENT);
    assert_int_equal(file_read_line_at(-1, "a", line, sizeof(line)), -ENOENT);
    assert_int_equal(file_open_at(-1, "a", O_RDONLY), -ENOENT);
    struct kept_file file;
    kept_file_init(&file, -1, "a", FILE_SINGLE);
    assert_int_equal(kept_file_read(&file, &buf), -ENOENT);
    assert_int_equal(file.fd, -1);
    kept_file_fini(&file);
}

static void test_directory_is_no_file(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 16);
    struct kept_file file;
    kept_file_init(&file, directory->fd, ".", FILE_SINGLE);
    assert_int_equal(kept_file_read(&file, &buf), -EISDIR);
    assert_int_equal(file.fd, -1);
    kept_file_fini(&file);
}

static void test_close_on_exec(void **state)
{
    const struct directory *directory = *state;
    write_text(directory, "a", "x");
    AUTO_FD int fd = file_open_at(directory->fd, "a", O_RDONLY);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void test_kept_file_reads_from_the_start_again(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 16);
    struct kept_file file;
    kept_file_init(&file, directory->fd, "a", FILE_SINGLE);
    assert_int_equal(file.fd, -1);
    assert_int_equal(kept_file_read(&file, &buf), -ENOENT);
    write_text(directory, "a", "first text");
    assert_int_equal(kept_file_read(&file, &buf), 0);
    int kept = file.fd;
    assert_true(kept >= 0);
    write_text(directory, "a", "second");
    assert_int_equal(kept_file_read(&file, &buf), 0);
    assert_int_equal(file.fd, kept);
    assert_string_equal(buf_cstr(&buf), "second");
    kept_file_fini(&file);
    assert_int_equal(file.fd, -1);
}

static void test_kept_file_is_reopened_after_an_error(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 16);
    struct kept_file file;
    kept_file_init(&file, directory->fd, "a", FILE_SINGLE);
    write_text(directory, "a", "one");
    assert_int_equal(kept_file_read(&file, &buf), 0);
    /* A descriptor that can no longer be read, as after the server of a FUSE file went away. */
    AUTO_FD int writer = openat(directory->fd, "b", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(writer >= 0);
    assert_true(dup3(writer, file.fd, O_CLOEXEC) >= 0);
    write_text(directory, "a", "two");
    assert_int_equal(kept_file_read(&file, &buf), 0);
    assert_string_equal(buf_cstr(&buf), "two");
    assert_true(dup3(writer, file.fd, O_CLOEXEC) >= 0);
    assert_int_equal(unlinkat(directory->fd, "a", 0), 0);
    assert_int_equal(kept_file_read(&file, &buf), -ENOENT);
    assert_int_equal(file.fd, -1);
    kept_file_fini(&file);
}

static void test_too_big(void **state)
{
    const struct directory *directory = *state;
    static const char bytes[20000];
    AUTO_BUF struct buf buf;
    buf_init(&buf, 10000);
    struct kept_file file;
    kept_file_init(&file, directory->fd, "a", FILE_SINGLE);
    write_file(directory, "a", bytes, sizeof(bytes));
    assert_int_equal(kept_file_read(&file, &buf), -EFBIG);
    assert_int_equal(file_read_at(directory->fd, "a", &buf), -EFBIG);
    write_file(directory, "a", bytes, 9999);
    assert_int_equal(kept_file_read(&file, &buf), 0);
    assert_int_equal(buf.len, 9999);
    write_file(directory, "a", bytes, 10000);
    assert_int_equal(kept_file_read(&file, &buf), 0);
    assert_int_equal(buf.len, 10000);
    write_file(directory, "a", bytes, 10001);
    assert_int_equal(kept_file_read(&file, &buf), -EFBIG);
    kept_file_fini(&file);
}

static void test_small_buffer(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 16);
    write_text(directory, "a", "0123456789abcdef");
    assert_int_equal(file_read_at(directory->fd, "a", &buf), 0);
    assert_int_equal(buf.len, 16);
    write_text(directory, "a", "0123456789abcdefg");
    assert_int_equal(file_read_at(directory->fd, "a", &buf), -EFBIG);
}

static void test_long_path_is_not_found(void **state)
{
    const struct directory *directory = *state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1 << 16);
    char path[200];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    struct kept_file file;
    kept_file_init(&file, directory->fd, path, FILE_SINGLE);
    assert_int_equal(strlen(file.path), sizeof(file.path) - 1);
    assert_int_equal(kept_file_read(&file, &buf), -ENOENT);
    kept_file_fini(&file);
}

static void test_line(void **state)
{
    const struct directory *directory = *state;
    char line[8];
    write_text(directory, "a", "  sda1 \nsecond\n");
    assert_int_equal(file_read_line_at(directory->fd, "a", line, sizeof(line)), 4);
    assert_string_equal(line, "sda1");
    write_text(directory, "a", "0123456789\n");
    assert_int_equal(file_read_line_at(directory->fd, "a", line, sizeof(line)), 7);
    assert_string_equal(line, "0123456");
    write_text(directory, "a", " \t\n");
    assert_int_equal(file_read_line_at(directory->fd, "a", line, sizeof(line)), 0);
    assert_string_equal(line, "");
    write_text(directory, "a", "");
    assert_int_equal(file_read_line_at(directory->fd, "a", line, sizeof(line)), 0);
    assert_string_equal(line, "");
    write_text(directory, "a", "no end");
    assert_int_equal(file_read_line_at(directory->fd, "a", line, sizeof(line)), 6);
    assert_string_equal(line, "no end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole_file, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_growth_over_many_reads, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_missing, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_directory_is_no_file, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_close_on_exec, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_kept_file_reads_from_the_start_again, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_kept_file_is_reopened_after_an_error, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_too_big, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_small_buffer, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_long_path_is_not_found, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_line, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
