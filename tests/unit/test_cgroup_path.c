/* SPDX-License-Identifier: Apache-2.0 */
/* Finding our own control group: which mount shows it, where, and when nothing is better than something wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "collect/cgroup/cgroup.h"
#include "fake_env.h"

struct found {
    struct cgroup_location locations[CGROUP_CONTROLLERS];
    struct err err;
};

static int find(struct fake_env *fake, const char *cgroup, const char *mountinfo, struct found *ret_found)
{
    fake_env_write(fake, "proc/self/mountinfo", mountinfo);
    memset(ret_found, 0xa5, sizeof(*ret_found));
    err_clear(&ret_found->err);
    return cgroup_path_find(&fake->root, str_of(cgroup), STR(""), ret_found->locations, &ret_found->err);
}

static void assert_location(const struct cgroup_location *location, unsigned version, const char *dir, const char *top)
{
    assert_int_equal(location->version, version);
    assert_string_equal(location->dir, dir);
    assert_int_equal(location->len, strlen(dir));
    assert_int_equal(location->top_len, strlen(top));
}

static void test_translate(void **unused)
{
    (void)unused;
    static struct cgroup_location location;
    assert_true(cgroup_path_translate(STR("/a/b"), "/", "/sys/fs/cgroup", &location));
    assert_string_equal(location.dir, "sys/fs/cgroup/a/b");
    assert_int_equal(location.len, 17);
    assert_int_equal(location.top_len, 13);
    assert_true(cgroup_path_translate(STR("/a/b"), "/a/b", "/sys/fs/cgroup/", &location));
    assert_string_equal(location.dir, "sys/fs/cgroup");
    assert_true(cgroup_path_translate(STR("/"), "/", "/sys/fs/cgroup", &location));
    assert_string_equal(location.dir, "sys/fs/cgroup");
    assert_true(cgroup_path_translate(STR("/a/b/c..d"), "/a", "/", &location));
    assert_string_equal(location.dir, "b/c..d");
    assert_int_equal(location.top_len, 0);

    assert_false(cgroup_path_translate(STR("/ab"), "/a", "/c", &location));
    assert_false(cgroup_path_translate(STR("/"), "/a", "/c", &location));
    assert_false(cgroup_path_translate(STR("/a/.."), "/", "/c", &location));
    assert_false(cgroup_path_translate(STR("/a"), "/../..", "/c", &location));
    assert_false(cgroup_path_translate(STR("/../a"), "/..", "/c", &location));
    assert_false(cgroup_path_translate(STR("/a"), "/", "/c/../..", &location));
    static char long_path[PATH_MAX + 1];
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[0] = '/';
    assert_false(cgroup_path_translate(str_of(long_path), "/", "/c", &location));
}

static void test_up(void **unused)
{
    (void)unused;
    static struct cgroup_location location;
    assert_true(cgroup_path_translate(STR("/a/b"), "/", "/sys/fs/cgroup", &location));
    size_t len = location.len;
    assert_true(cgroup_path_up(&location, &len));
    assert_int_equal(len, 15);
    assert_true(cgroup_path_up(&location, &len));
    assert_int_equal(len, 13);
    assert_false(cgroup_path_up(&location, &len));

    assert_true(cgroup_path_translate(STR("/a/b//c"), "/a", "/", &location));
    len = location.len;
    size_t steps = 0;
    while (cgroup_path_up(&location, &len))
        steps++;
    assert_int_equal(len, 0);
    assert_int_equal(steps, 3);
}

static void test_versions(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "sys/fs/cgroup/memory/a");
    fake_env_mkdir(&fake, "sys/fs/cgroup/cpu/x");
    fake_env_mkdir(&fake, "sys/fs/cgroup/unified/b");
    static const char mounts[] = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                 "36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    static struct found found;
    assert_int_equal(find(&fake, "4:memory:/a\n3:cpuacct,cpu:/x\n0::/b\n", mounts, &found), 0);
    assert_location(&found.locations[CGROUP_MEMORY], 1, "sys/fs/cgroup/memory/a", "sys/fs/cgroup/memory");
    assert_location(&found.locations[CGROUP_CPU], 1, "sys/fs/cgroup/cpu/x", "sys/fs/cgroup/cpu");
    assert_location(&found.locations[CGROUP_CPUACCT], 1, "sys/fs/cgroup/cpu/x", "sys/fs/cgroup/cpu");

    assert_int_equal(find(&fake, "4:memory:/a\n0::/b\n", mounts, &found), 0);
    assert_location(&found.locations[CGROUP_MEMORY], 1, "sys/fs/cgroup/memory/a", "sys/fs/cgroup/memory");
    assert_location(&found.locations[CGROUP_CPU], 2, "sys/fs/cgroup/unified/b", "sys/fs/cgroup/unified");
    assert_location(&found.locations[CGROUP_CPUACCT], 2, "sys/fs/cgroup/unified/b", "sys/fs/cgroup/unified");

    /* A controller bound to v1 is not looked for in v2, where our group may be another one. */
    assert_int_equal(find(&fake, "5:cpuacct:/gone\n4:memory:/a\n0::/b\n", mounts, &found), 0);
    assert_location(&found.locations[CGROUP_CPUACCT], 0, "", "");
    assert_location(&found.locations[CGROUP_CPU], 2, "sys/fs/cgroup/unified/b", "sys/fs/cgroup/unified");
    fake_env_fini(&fake);
}

/* Of several mounts the one that shows most, if it leads to our group. */
static void test_several_mounts(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "mnt/hidden");
    fake_env_mkdir(&fake, "mnt/other");
    fake_env_mkdir(&fake, "mnt/with blank/c1");
    fake_env_mkdir(&fake, "sys/fs/cgroup");
    static struct found found;
    assert_int_equal(find(&fake, "0::/pod/c1\n",
                         "31 23 0:27 /pod/other /mnt/other rw - cgroup2 cgroup rw\n"
                         "32 23 0:27 / /mnt/hidden rw - cgroup2 cgroup rw\n"
                         "33 23 0:27 /pod/c1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
                         "34 23 0:27 /pod /mnt/with\\040blank rw - cgroup2 cgroup rw\n"
                         "35 23 0:27 /pod/c1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
                         &found),
        0);
    assert_location(&found.locations[CGROUP_MEMORY], 2, "mnt/with blank/c1", "mnt/with blank");
    fake_env_fini(&fake);
}

static void test_no_place(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "sys/fs/cgroup/ab");
    static const struct {
        const char *cgroup, *mountinfo;
    } cases[] = {
        {"0::/\n", "23 20 0:22 / /sys rw - sysfs sysfs rw\n"},
        {"0::/\n", "31 23 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/docker/xyz\n", "31 23 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/\n", "31 23 0:27 /.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/../ab\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/ab\n", "31 23 0:27 /a /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/gone (deleted)\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/\n", "31 23 0:27 / /sys/../sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n"},
        {"1:memory:/\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup cgroup rw,cpuset\n"},
        {"1:memory:/\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"1:name=memory:/\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup cgroup rw,name=memory\n"},
        {"broken\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"},
        {"0::/\n", "broken\n"},
        {"", ""},
    };
    static struct found found;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(find(&fake, cases[i].cgroup, cases[i].mountinfo, &found), -ENODATA);
        assert_int_equal(found.err.code, -ENODATA);
    }
    fake_env_fini(&fake);
}

static void test_files_missing(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    static struct found found;
    assert_int_equal(cgroup_path_find(&fake.root, STR("0::/\n"), STR(""), found.locations, &found.err), -ENODATA);
    assert_non_null(strstr(found.err.msg, "/proc/self/mountinfo"));
    fake_env_mkdir(&fake, "proc/self/mountinfo");
    assert_int_equal(cgroup_path_find(&fake.root, STR("0::/\n"), STR(""), found.locations, &found.err), -EISDIR);
    assert_non_null(strstr(found.err.msg, "/proc/self/mountinfo"));
    fake_env_fini(&fake);
}

static void test_v2_alone(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    fake_env_mkdir(&fake, "sys/fs/cgroup/memory/a");
    fake_env_mkdir(&fake, "sys/fs/cgroup/unified/b/c");
    fake_env_mkdir(&fake, "mnt/c");
    /* Every controller may be bound to v1: the group in v2 is there all the same. */
    fake_env_write(&fake, "proc/self/mountinfo",
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory,cpu,cpuacct\n"
        "40 31 0:38 /b /mnt rw - cgroup2 cgroup2 rw\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    static struct cgroup_location location;
    struct err err = {0};
    const struct str groups = STR("4:memory,cpu,cpuacct:/a\n0::/b/c\n");
    assert_int_equal(cgroup_path_find_v2(&fake.root, groups, &location, &err), 0);
    assert_int_equal(err.code, 0);
    assert_location(&location, 2, "sys/fs/cgroup/unified/b/c", "sys/fs/cgroup/unified");

    memset(&location, 0xa5, sizeof(location));
    static struct cgroup_location untouched;
    memset(&untouched, 0xa5, sizeof(untouched));
    assert_int_equal(cgroup_path_find_v2(&fake.root, STR("4:memory:/a\n"), &location, &err), -ENODATA);
    assert_string_equal(err.msg, "cgroup: there is no v2 hierarchy");
    assert_int_equal(cgroup_path_find_v2(&fake.root, STR("0::/../x\n"), &location, &err), -ENODATA);
    assert_string_equal(err.msg, "cgroup: no mount shows the v2 control group of this process");
    assert_int_equal(cgroup_path_find_v2(&fake.root, STR("4:memory:/a\n0::/gone\n"), &location, &err), -ENODATA);
    fake_env_remove(&fake, "proc/self/mountinfo");
    assert_int_equal(cgroup_path_find_v2(&fake.root, groups, &location, &err), -ENODATA);
    assert_non_null(strstr(err.msg, "/proc/self/mountinfo"));
    assert_memory_equal(&location, &untouched, sizeof(location));
    fake_env_fini(&fake);
}

static void test_enter(void **unused)
{
    (void)unused;
    static struct cgroup_location location;
    assert_true(cgroup_path_translate(STR("/a"), "/", "/sys/fs/cgroup", &location));
    location.version = 2;
    assert_true(cgroup_path_enter(&location, "sys/fs/cgroup/a/resource-tracker-5"));
    assert_location(&location, 2, "sys/fs/cgroup/a/resource-tracker-5", "sys/fs/cgroup");
    size_t len = location.len;
    assert_true(cgroup_path_up(&location, &len));
    assert_int_equal(len, strlen("sys/fs/cgroup/a"));
    /* We may have been moved elsewhere meanwhile. */
    assert_true(cgroup_path_enter(&location, "sys/fs/cgroup/x/y"));
    assert_location(&location, 2, "sys/fs/cgroup/x/y", "sys/fs/cgroup");
    assert_true(cgroup_path_enter(&location, "sys/fs/cgroup"));
    assert_location(&location, 2, "sys/fs/cgroup", "sys/fs/cgroup");

    /* Not below the mount: there is no way up. */
    assert_true(cgroup_path_enter(&location, "sys/fs/cgroup2/a"));
    assert_location(&location, 2, "sys/fs/cgroup2/a", "sys/fs/cgroup2/a");
    len = location.len;
    assert_false(cgroup_path_up(&location, &len));

    assert_true(cgroup_path_translate(STR("/a"), "/", "/", &location));
    assert_true(cgroup_path_enter(&location, "a/b"));
    assert_location(&location, 2, "a/b", "");
    static char long_dir[PATH_MAX + 1];
    memset(long_dir, 'x', PATH_MAX);
    assert_false(cgroup_path_enter(&location, long_dir));
    assert_location(&location, 2, "a/b", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translate),
        cmocka_unit_test(test_up),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_several_mounts),
        cmocka_unit_test(test_no_place),
        cmocka_unit_test(test_files_missing),
        cmocka_unit_test(test_v2_alone),
        cmocka_unit_test(test_enter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
