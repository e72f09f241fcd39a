/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

_Static_assert(sizeof(((struct tree *)0)->path) == SCRATCH_PATH_BYTES, "the path of a scratch directory fits");

void tree_make(struct tree *tree)
{
    assert_int_equal(scratch_make(tree->path), 0);
}

static void full_path(const struct tree *tree, const char *path, char out[static PATH_MAX])
{
    assert_true(snprintf(out, PATH_MAX, "%s/%s", tree->path, path) < PATH_MAX);
}

static void make_directory(const char *path)
{
    if (mkdir(path, 0755) < 0)
        assert_int_equal(errno, EEXIST);
}

static void make_parents(const struct tree *tree, char path[static PATH_MAX])
{
    for (char *p = path + strlen(tree->path) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        make_directory(path);
        *p = '/';
    }
}

void tree_write_bytes(const struct tree *tree, const char *path, const void *bytes, size_t n)
{
    char full[PATH_MAX];
    full_path(tree, path, full);
    make_parents(tree, full);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    assert_int_equal(close(fd), 0);
}

void tree_write(const struct tree *tree, const char *path, const char *text)
{
    tree_write_bytes(tree, path, text, strlen(text));
}

void tree_directory(const struct tree *tree, const char *path)
{
    char full[PATH_MAX];
    full_path(tree, path, full);
    make_parents(tree, full);
    make_directory(full);
}

void tree_link(const struct tree *tree, const char *path, const char *target)
{
    char full[PATH_MAX];
    full_path(tree, path, full);
    make_parents(tree, full);
    assert_int_equal(symlink(target, full), 0);
}

void tree_remove(const struct tree *tree, const char *path)
{
    char full[PATH_MAX];
    full_path(tree, path, full);
    assert_int_equal(scratch_remove_tree(full), 0);
}

void tree_free(struct tree *tree)
{
    assert_int_equal(scratch_remove(tree->path), 0);
}
