/* SPDX-License-Identifier: Apache-2.0 */
/* The links of /proc/PID/fd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake_env.h"
#include "kernel/sysroot.h"

struct seen {
    size_t count, enough;
    long fd_sum;
    char target_of_5[64];
};

static bool note(void *context, int fd, const char *target)
{
    struct seen *seen = context;
    assert_true(strlen(target) < sizeof(seen->target_of_5));
    seen->count++;
    seen->fd_sum += fd;
    if (fd == 5)
        (void)snprintf(seen->target_of_5, sizeof(seen->target_of_5), "%s", target);
    return seen->count != seen->enough;
}

static void test_links(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_link(&fake, "proc/100/fd/0", "/dev/null");
    fake_env_link(&fake, "proc/100/fd/5", "/dev/dri/renderD128");
    fake_env_link(&fake, "proc/100/fd/2147483647", "socket:[1234]");
    fake_env_link(&fake, "proc/100/fd/2147483648", "/dev/dri/card0");
    fake_env_link(&fake, "proc/100/fd/5x", "/dev/dri/card1");
    fake_env_link(&fake, "proc/100/fd/-1", "/dev/dri/card2");
    struct seen seen = {0};
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), 0);
    assert_int_equal(seen.count, 3);
    assert_true(seen.fd_sum == 2147483652L);
    assert_string_equal(seen.target_of_5, "/dev/dri/renderD128");
    int before = fake_env_open_count();
    seen = (struct seen){.enough = 2};
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_long_target_is_cut(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake);
    char target[201] = "/dev/dri/";
    memset(target + 9, 'x', sizeof(target) - 10);
    fake_env_link(&fake, "proc/100/fd/5", target);
    struct seen seen = {0};
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), 0);
    assert_int_equal(strlen(seen.target_of_5), 63);
    assert_memory_equal(seen.target_of_5, target, 63);
    fake_env_fini(&fake);
}

/* More than are read at once. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    struct fake_env fake;
    fake_env_init(&fake);
    long sum = 0;
    for (int i = 0; i < MANY; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "proc/100/fd/%d", i * 3);
        fake_env_link(&fake, path, "/dev/null");
        sum += i * 3;
    }
    struct seen seen = {0};
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), 0);
    assert_int_equal(seen.count, MANY);
    assert_true(seen.fd_sum == sum);
    fake_env_fini(&fake);
}

/* A process may have a million of them. */
static void test_too_many(void **state)
{
    (void)state;
    enum { MOST = 8192 };
    struct fake_env fake;
    fake_env_init(&fake);
    for (int i = 0; i <= MOST; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "proc/100/fd/%d", i);
        fake_env_link(&fake, path, "/dev/null");
        if (i + 1 < MOST)
            continue;
        struct seen seen = {0};
        assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), 0);
        assert_int_equal(seen.count, MOST);
    }
    fake_env_fini(&fake);
}

static void test_no_process(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake);
    struct seen seen = {0};
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), -ENOENT);
    fake_env_mkdir(&fake, "proc/100");
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 100, note, &seen), -ENOENT);
    fake_env_write(&fake, "proc/101/fd", "no directory\n");
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 101, note, &seen), -ENOTDIR);
    fake_env_write(&fake, "proc/102/fd/3", "no link\n");
    assert_int_equal(pid_each_fd(fake.root.proc_fd, 102, note, &seen), -EINVAL);
    assert_int_equal(pid_each_fd(-1, 100, note, &seen), -ENOENT);
    assert_int_equal(seen.count, 0);
    fake_env_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_long_target_is_cut),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
