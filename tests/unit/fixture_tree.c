/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

enum { DESCRIPTORS_MAX = 1024, FILE_BYTES_MAX = 4 * 1024 * 1024 };

static void join(const char *directory, const char *name, char out[static PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", directory, name);
    assert_true(n > 0 && n < PATH_MAX);
}

static bool is_real_entry(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Notes for git and for the harness. */
static bool is_note(const char *name)
{
    return strcmp(name, ".keep") == 0 || strcmp(name, "REMOVED") == 0;
}

/* Reading a directory fails with EISDIR, so one is put in place of every descriptor on the file. */
static void break_descriptors(const struct stat *gone)
{
    AUTO_FD int directory = file_open_at(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
    assert_true(directory >= 0);
    for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_MAX; fd++) {
        struct stat info;
        if (fstat(fd, &info) == 0 && info.st_dev == gone->st_dev && info.st_ino == gone->st_ino)
            assert_int_equal(dup3(directory, fd, O_CLOEXEC), fd);
    }
}

static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char child[PATH_MAX];
        if (!is_real_entry(entry->d_name))
            continue;
        join(path, entry->d_name, child);
        fixture_tree_remove(child);
    }
    assert_int_equal(closedir(directory), 0);
    assert_int_equal(rmdir(path), 0);
}

void fixture_tree_remove(const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        fail_msg("%s: cannot be removed: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
        remove_directory(path);
        return;
    }
    if (S_ISREG(info.st_mode))
        break_descriptors(&info);
    assert_int_equal(unlink(path), 0);
}

/* What stands in the way of something of another kind goes first. */
static void make_way(const char *path, bool for_directory)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode) != for_directory)
        fixture_tree_remove(path);
}

static void copy_file(const char *from, const char *to)
{
    AUTO_BUF struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    assert_int_equal(file_read_at(AT_FDCWD, from, &text), 0);
    make_way(to, false);
    AUTO_FD int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.len > 0 ? text.data : "", text.len), (ssize_t)text.len);
}

static void copy_link(const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);
    assert_true(n > 0);
    target[n] = '\0';
    struct stat info;
    if (lstat(to, &info) == 0)
        fixture_tree_remove(to);
    assert_int_equal(symlink(target, to), 0);
}

static void copy_entry(const char *from, const char *to)
{
    struct stat info;
    assert_int_equal(lstat(from, &info), 0);
    if (S_ISLNK(info.st_mode)) {
        copy_link(from, to);
    } else if (S_ISREG(info.st_mode)) {
        copy_file(from, to);
    } else {
        assert_true(S_ISDIR(info.st_mode));
        make_way(to, true);
        if (mkdir(to, 0755) != 0)
            assert_int_equal(errno, EEXIST);
        fixture_tree_apply(from, to);
    }
}

void fixture_tree_apply(const char *from, const char *to)
{
    DIR *directory = opendir(from);
    if (!directory)
        fail_msg("%s: cannot be opened: %s", from, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char child_from[PATH_MAX], child_to[PATH_MAX];
        if (!is_real_entry(entry->d_name) || is_note(entry->d_name))
            continue;
        join(from, entry->d_name, child_from);
        join(to, entry->d_name, child_to);
        copy_entry(child_from, child_to);
    }
    assert_int_equal(closedir(directory), 0);
}
