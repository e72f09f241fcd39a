/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers among the names of a directory, and the small lists of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/collect.h"
#include "collect/helper.h"
#include "fake_env.h"
#include "kernel/sysroot.h"

static void test_names(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    static const char *const names[] = {"proc/300", "proc/7", "proc/42", "proc/self", "proc/4x", "proc/-5", "proc/+6",
        "proc/2147483647", "proc/2147483648", "proc/99999999999999999999", "proc/sys", "proc/1 "};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        fake_env_mkdir(&fake, names[i]);
    struct pid_list list = {0};
    assert_int_equal(pid_list_read(fake.root.proc_fd, 100, &list), 0);
    static const pid_t expected[] = {7, 42, 300, 2147483647};
    assert_int_equal(list.count, 4);
    assert_memory_equal(list.items, expected, sizeof(expected));
    assert_true(pid_list_has(&list, 42));
    assert_false(pid_list_has(&list, 43));
    assert_false(pid_list_has(&list, 0));
    /* From the first entry again, and without what has gone. */
    fake_env_remove(&fake, "proc/42");
    assert_int_equal(pid_list_read(fake.root.proc_fd, 100, &list), 0);
    assert_int_equal(list.count, 3);
    assert_false(pid_list_has(&list, 42));
    pid_list_fini(&list);
    assert_int_equal(list.count, 0);
    assert_false(pid_list_has(&list, 7));
    fake_env_fini(&fake);
}

static void test_many(void **unused)
{
    (void)unused;
    enum { MANY = 3000 };
    struct fake_env fake;
    fake_env_init(&fake);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "proc/%d", 100000 - i * 7);
        fake_env_mkdir(&fake, name);
    }
    struct pid_list list = {0};
    assert_int_equal(pid_list_read(fake.root.proc_fd, MANY, &list), 0);
    assert_int_equal(list.count, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(list.items[i], 100000 - (MANY - 1 - (int)i) * 7);
    pid_list_fini(&list);
    assert_int_equal(pid_list_read(fake.root.proc_fd, MANY - 1, &list), -E2BIG);
    assert_int_equal(list.count, 0);
    pid_list_fini(&list);
    fake_env_fini(&fake);
}

static void test_failure(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_write(&fake, "proc/5", "a file has numbers as well");
    struct pid_list list = {0};
    assert_int_equal(pid_list_read(fake.root.proc_fd, 10, &list), 0);
    assert_int_equal(list.count, 1);
    int fd = openat(fake.root.proc_fd, "5", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pid_list_read(fd, 10, &list), -ENOTDIR);
    assert_int_equal(list.count, 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(pid_list_read(-1, 10, &list), -EBADF);
    pid_list_fini(&list);
    fake_env_fini(&fake);
}

static void test_reaped(void **unused)
{
    (void)unused;
    struct tracked tracked = {0};
    for (int i = 0; i < TRACKED_REAPED_MAX + 10; i++)
        tracked_note_reaped(&tracked, (pid_t)(i + 1));
    assert_int_equal(tracked.reaped_pids.count, TRACKED_REAPED_MAX);
    assert_int_equal(tracked.reaped_pids.items[TRACKED_REAPED_MAX - 1], TRACKED_REAPED_MAX);
    tracked_fini(&tracked);
    assert_int_equal(tracked.reaped_pids.count, 0);
    tracked_note_reaped(&tracked, 5);
    assert_int_equal(tracked.reaped_pids.count, 1);
    tracked_fini(&tracked);
}

static void test_helpers(void **unused)
{
    (void)unused;
    struct helpers helpers = {0};
    assert_false(helpers_has(&helpers, 5));
    for (int i = 1; i <= HELPERS_MAX + 1; i++)
        helpers_add(&helpers, (pid_t)i);
    assert_true(helpers_has(&helpers, 1));
    assert_true(helpers_has(&helpers, HELPERS_MAX));
    assert_false(helpers_has(&helpers, HELPERS_MAX + 1));
    helpers_remove(&helpers, 3);
    assert_false(helpers_has(&helpers, 3));
    helpers_remove(&helpers, 77);
    helpers_add(&helpers, 78);
    assert_true(helpers_has(&helpers, 78));
    assert_true(helpers_has(&helpers, 2));
    helpers_add(NULL, 5);
    helpers_remove(NULL, 5);
    assert_false(helpers_has(NULL, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_reaped),
        cmocka_unit_test(test_helpers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
