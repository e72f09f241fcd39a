/* SPDX-License-Identifier: Apache-2.0 */
/* The root we look at: captured trees with and without proc and sys, paths that are no directory, their messages. */
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
#include "kernel/sysroot.h"
#include "tree.h"

static void assert_is(int fd, const char *path)
{
    struct stat a;
    struct stat b;
    assert_int_equal(fstat(fd, &a), 0);
    assert_int_equal(stat(path, &b), 0);
    assert_true(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void test_whole_tree(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "proc/stat", "cpu 1\n");
    tree_directory(&tree, "sys");
    struct sysroot root;
    struct err err = {0};
    assert_int_equal(sysroot_open(tree.path, &root, &err), 0);
    assert_false(root.is_host);
    assert_string_equal(root.path, tree.path);
    assert_is(root.root_fd, tree.path);
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    assert_int_equal(file_read_at(root.proc_fd, "stat", &buf), 0);
    assert_string_equal(buf_cstr(&buf), "cpu 1\n");
    assert_true(root.sys_fd >= 0);
    assert_true((fcntl(root.proc_fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true((fcntl(root.sys_fd, F_GETFD) & FD_CLOEXEC) != 0);
    int fds[] = {root.root_fd, root.proc_fd, root.sys_fd};
    sysroot_close(&root);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fcntl(fds[i], F_GETFD), -1);
    assert_true(root.root_fd == -1 && root.proc_fd == -1 && root.sys_fd == -1);
    sysroot_close(&root);
    tree_free(&tree);
}

static void test_slashes_at_the_end(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s///", tree.path);
    struct sysroot root;
    assert_int_equal(sysroot_open(path, &root, NULL), 0);
    assert_string_equal(root.path, tree.path);
    assert_false(root.is_host);
    sysroot_close(&root);
    tree_free(&tree);
}

static void test_the_host(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "//", "///"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct sysroot root;
        struct err err = {0};
        assert_int_equal(sysroot_open(paths[i], &root, &err), 0);
        assert_true(root.is_host);
        assert_string_equal(root.path, "");
        assert_is(root.root_fd, "/");
        sysroot_close(&root);
    }
}

static void test_missing_parts_are_no_error(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    struct sysroot root;
    struct err err = {0};
    assert_int_equal(sysroot_open(tree.path, &root, &err), 0);
    assert_int_equal(root.proc_fd, -1);
    assert_int_equal(root.sys_fd, -1);
    assert_int_equal(err.code, 0);
    sysroot_close(&root);
    /* Names that are there but are no directories. */
    tree_write(&tree, "proc", "");
    tree_link(&tree, "sys", "nowhere");
    assert_int_equal(sysroot_open(tree.path, &root, &err), 0);
    assert_int_equal(root.proc_fd, -1);
    assert_int_equal(root.sys_fd, -1);
    sysroot_close(&root);
    tree_free(&tree);
}

static void assert_refused(const char *path, int code)
{
    struct sysroot root;
    memset(&root, 0x5a, sizeof(root));
    struct sysroot before = root;
    struct err err = {0};
    assert_int_equal(sysroot_open(path, &root, &err), code);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.msg, "sysroot"));
    assert_memory_equal(&root, &before, sizeof(root));
}

static void test_roots_that_cannot_be_opened(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/missing", tree.path);
    assert_refused(path, -ENOENT);
    tree_write(&tree, "file", "");
    (void)snprintf(path, sizeof(path), "%s/file", tree.path);
    assert_refused(path, -ENOTDIR);
    tree_link(&tree, "loop", "loop");
    (void)snprintf(path, sizeof(path), "%s/loop", tree.path);
    assert_refused(path, -ELOOP);
    tree_free(&tree);
}

static void test_long_paths(void **state)
{
    (void)state;
    char *path = malloc(PATH_MAX + 2);
    assert_non_null(path);
    memset(path, 'a', PATH_MAX + 1);
    path[PATH_MAX + 1] = '\0';
    assert_refused(path, -ENAMETOOLONG);
    path[PATH_MAX] = '\0';
    assert_refused(path, -ENAMETOOLONG);
    path[PATH_MAX - 1] = '\0';
    assert_refused(path, -ENAMETOOLONG);
    /* Only slashes too many: they are not part of the name. */
    memset(path, '/', PATH_MAX + 1);
    path[PATH_MAX + 1] = '\0';
    struct sysroot root;
    assert_int_equal(sysroot_open(path, &root, NULL), 0);
    assert_true(root.is_host);
    sysroot_close(&root);
    free(path);
}

static void test_a_relative_root(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    tree_directory(&tree, "machine/proc");
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(here >= 0);
    assert_int_equal(chdir(tree.path), 0);
    struct sysroot root;
    int r = sysroot_open("machine/", &root, NULL);
    assert_int_equal(fchdir(here), 0);
    (void)close(here);
    assert_int_equal(r, 0);
    assert_false(root.is_host);
    assert_string_equal(root.path, "machine");
    assert_true(root.proc_fd >= 0);
    sysroot_close(&root);
    tree_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_tree),
        cmocka_unit_test(test_slashes_at_the_end),
        cmocka_unit_test(test_the_host),
        cmocka_unit_test(test_missing_parts_are_no_error),
        cmocka_unit_test(test_roots_that_cannot_be_opened),
        cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_a_relative_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
