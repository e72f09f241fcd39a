/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the command's own control group: CPU time and members, through descriptors and buffers that are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cgroup/cgroup.h"
#include "collect/tree/walk.h"
#include "fake_env.h"

#define GROUP "sys/fs/cgroup/unified/user.slice/resource-tracker-9"

static void begin(struct fake_env *fake, struct tracked *tracked)
{
    fake_env_init(fake);
    *tracked = (struct tracked){.group_dir = GROUP};
    fake->env.tracked = tracked;
}

static void test_open(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    begin(&fake, &tracked);
    int before = fake_env_open_count();
    struct tree_group group;
    assert_int_equal(tree_group_open(&group, &fake.env), -ENOENT);
    tracked.group_dir = NULL;
    assert_int_equal(tree_group_open(&group, &fake.env), -ENODATA);
    fake.env.tracked = NULL;
    assert_int_equal(tree_group_open(&group, &fake.env), -ENODATA);
    fake.env.tracked = &tracked;
    tracked.group_dir = "plain";
    fake_env_write(&fake, "plain", "");
    assert_int_equal(tree_group_open(&group, &fake.env), -ENOTDIR);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_cpu(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    begin(&fake, &tracked);
    int before = fake_env_open_count();
    fake_env_write(
        &fake, GROUP "/cpu.stat", "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\nnice_usec 0\n");
    struct tree_group group;
    assert_int_equal(tree_group_open(&group, &fake.env), 0);
    uint64_t total = 1, user = 2;
    assert_int_equal(tree_group_cpu(&group, &total, &user), 0);
    assert_int_equal(total, 5000000);
    assert_int_equal(user, 4000000);
    int open_now = fake_env_open_count();
    fake_env_write(&fake, GROUP "/cpu.stat", "usage_usec 5000007\nuser_usec 4000003\nsystem_usec 1000004\n");
    assert_int_equal(tree_group_cpu(&group, &total, &user), 0);
    assert_int_equal(total, 5000007);
    assert_int_equal(user, 4000003);
    assert_int_equal(fake_env_open_count(), open_now);

    /* What cannot be understood changes nothing. */
    static const char *const broken[] = {"", "usage_usec 7\n", "user_usec 7\n", "usage_usec x\nuser_usec 1\n",
        "usage_usec 1\nuser_usec 7", "usage_usec -1\nuser_usec 0\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        fake_env_write(&fake, GROUP "/cpu.stat", broken[i]);
        assert_int_equal(tree_group_cpu(&group, &total, &user), -EBADMSG);
    }
    fake_env_break(&fake, GROUP "/cpu.stat");
    fake_env_remove(&fake, GROUP "/cpu.stat");
    assert_int_equal(tree_group_cpu(&group, &total, &user), -ENOENT);
    assert_int_equal(total, 5000007);
    assert_int_equal(user, 4000003);
    fake_env_write(&fake, GROUP "/cpu.stat", "usage_usec 6000000\nuser_usec 6000000\n");
    assert_int_equal(tree_group_cpu(&group, &total, &user), 0);
    assert_int_equal(total, 6000000);
    tree_group_close(&group);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_members(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    begin(&fake, &tracked);
    fake_env_write(&fake, GROUP "/cgroup.procs", "");
    struct tree_group group;
    assert_int_equal(tree_group_open(&group, &fake.env), 0);
    const pid_t *pids = NULL;
    size_t count = 9;
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 0);
    fake_env_write(&fake, GROUP "/cgroup.procs", "4711\n0\n12\n4194303\n");
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(pids[0], 4711);
    assert_int_equal(pids[1], 12);
    assert_int_equal(pids[2], 4194303);

    /* The same memory and descriptors again. */
    const pid_t *kept = pids;
    const char *text = group.procs_text.data;
    int open_now = fake_env_open_count();
    fake_env_write(&fake, GROUP "/cgroup.procs", "7\n");
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], 7);
    assert_ptr_equal(pids, kept);
    assert_ptr_equal(group.procs_text.data, text);
    assert_int_equal(fake_env_open_count(), open_now);

    static const char *const broken[] = {"7\nx\n", "7\n\n", "-1\n", "2147483648\n", "1 2\n", "1\r\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        count = 99;
        fake_env_write(&fake, GROUP "/cgroup.procs", broken[i]);
        assert_int_equal(tree_group_members(&group, &pids, &count), -EBADMSG);
        assert_int_equal(count, 99);
    }
    fake_env_break(&fake, GROUP "/cgroup.procs");
    fake_env_write(&fake, GROUP "/cgroup.procs", "8\n9\n");
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(pids[1], 9);
    tree_group_close(&group);
    fake_env_fini(&fake);
}

static void write_many(struct fake_env *fake, size_t count, unsigned first)
{
    char *text = malloc(count * 12 + 1);
    assert_non_null(text);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, 12, "%zu\n", first + i);
    fake_env_write(fake, GROUP "/cgroup.procs", text);
    free(text);
}

static void test_many_members(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    begin(&fake, &tracked);
    struct tree_group group;
    write_many(&fake, TREE_GROUP_MEMBERS_MAX, 4000000);
    assert_int_equal(tree_group_open(&group, &fake.env), 0);
    const pid_t *pids = NULL;
    size_t count = 0;
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, TREE_GROUP_MEMBERS_MAX);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pids[i], 4000000 + i);
    /* Too many for the text, and for the list. */
    write_many(&fake, TREE_GROUP_MEMBERS_MAX + 1, 4000000);
    assert_int_equal(tree_group_members(&group, &pids, &count), -E2BIG);
    write_many(&fake, TREE_GROUP_MEMBERS_MAX + 1, 100);
    assert_int_equal(tree_group_members(&group, &pids, &count), -E2BIG);
    write_many(&fake, 600, 100);
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 600);
    tree_group_close(&group);
    fake_env_fini(&fake);
}

static void begin_attached(struct fake_env *fake, struct tracked *tracked, struct cgroup_location *locations)
{
    begin(fake, tracked);
    tracked->attached = true;
    tracked->group_locations = locations;
}

/* The processes of the groups below one that is tracked are members, however deep and whatever stands beside them. */
static void test_groups_below(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    static struct cgroup_location locations[CGROUP_CONTROLLERS];
    begin_attached(&fake, &tracked, locations);
    int before = fake_env_open_count();
    fake_env_write(&fake, GROUP "/cgroup.procs", "10\n");
    struct tree_group group;
    const pid_t *pids = NULL;
    size_t count = 0;
    assert_int_equal(tree_group_open(&group, &fake.env), 0);
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 1);
    fake_env_write(&fake, GROUP "/a/cgroup.procs", "11\n0\n12\n");
    fake_env_write(&fake, GROUP "/a/b/c/cgroup.procs", "13\n");
    fake_env_write(&fake, GROUP "/broken/cgroup.procs", "x\n");
    fake_env_mkdir(&fake, GROUP "/empty");
    fake_env_link(&fake, GROUP "/link", "/");
    fake_env_write(&fake, GROUP "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/cgroup.procs", "14\n");
    fake_env_write(&fake, GROUP "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/cgroup.procs", "15\n");
    int open_now = fake_env_open_count();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tree_group_members(&group, &pids, &count), 0);
        assert_int_equal(count, 5);
        int sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += pids[k];
        assert_int_equal(sum, 10 + 11 + 12 + 13 + 14);
        assert_int_equal(fake_env_open_count(), open_now);
    }
    tree_group_close(&group);
    assert_int_equal(fake_env_open_count(), before);
    /* --cgroup: they are not. */
    tracked.group_locations = NULL;
    assert_int_equal(tree_group_open(&group, &fake.env), 0);
    assert_int_equal(tree_group_members(&group, &pids, &count), 0);
    assert_int_equal(count, 1);
    tree_group_close(&group);
    fake_env_fini(&fake);
}

static void test_cpu_v1(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    static struct cgroup_location locations[CGROUP_CONTROLLERS];
    locations[CGROUP_CPUACCT].version = 1;
    begin_attached(&fake, &tracked, locations);
    fake_env_write(&fake, GROUP "/cpuacct.usage", "5000000999\n");
    fake_env_write(&fake, GROUP "/cpu.stat", "usage_usec 1\nuser_usec 1\n");
    struct tree_group group;
    assert_int_equal(tree_group_open(&group, &fake.env), 0);
    uint64_t total = 1, user = 2;
    assert_int_equal(tree_group_cpu(&group, &total, &user), 0);
    assert_int_equal(total, 5000000);
    assert_int_equal(user, 2);
    fake_env_write(&fake, GROUP "/cpuacct.usage", "x\n");
    assert_int_equal(tree_group_cpu(&group, &total, &user), -EBADMSG);
    assert_int_equal(total, 5000000);
    tree_group_close(&group);
    fake_env_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_groups_below),
        cmocka_unit_test(test_cpu_v1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
