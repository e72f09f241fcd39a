/* SPDX-License-Identifier: Apache-2.0 */
/* Finding our own control group: which mount shows it, where, and when nothing is better than something wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
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

static const char all_mounts[] = "30 1 0:30 / / rw - ext4 /dev/vda rw\n"
                                 "31 1 0:31 / /sys/fs/cgroup rw - tmpfs cgroup rw\n"
                                 "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                 "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "37 31 0:34 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
                                 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TOP "sys/fs/cgroup"

enum { TRACKER = 40 };

struct attached {
    struct cgroup_location locations[CGROUP_CONTROLLERS];
    pid_t pid;
    struct err err;
};

static int attach(struct fake_env *fake, const char *group, struct attached *ret_attached)
{
    *ret_attached = (struct attached){0};
    return cgroup_path_attach(
        &fake->root, group, TRACKER, ret_attached->locations, &ret_attached->pid, &ret_attached->err);
}

static void test_attach_v2(void **state)
{
    struct fake_env *fake = *state;
    static struct attached found;
    fake_env_write(fake, "proc/self/mountinfo", "31 1 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_env_mkdir(fake, TOP "/system.slice/cron.service/job");
    fake_env_mkdir(fake, TOP "/system.slice/cron.service.d");
    fake_env_mkdir(fake, TOP "/system.slice/org.x.service");
    fake_env_mkdir(fake, TOP "/cron");
    fake_env_write(fake, "proc/40/cgroup", "0::/system.slice/cron.service\n");
    fake_env_write(fake, "proc/50/cgroup", "0::/system.slice/cron.service.d\n");
    fake_env_write(fake, "proc/51/cgroup", "0::/cron\n");
    fake_env_write(fake, "proc/70/cgroup", "0::/system.slice/cron.service\n");
    fake_env_write(fake, "proc/60/cgroup", "0::/system.slice/cron.service/job\n");
    fake_env_write(fake, "proc/80/cgroup", "0::/system.slice/org.x.service\n");
    static const char *const names[] = {"/system.slice/cron.service", "/system.slice/cron.service//", "unit:cron",
        "unit:cron.service", "/sys/fs/cgroup/system.slice/cron.service", "/sys/fs/cgroup/system.slice/cron.service/"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(attach(fake, names[i], &found), CGROUP_CPUACCT);
        assert_int_equal(found.pid, 60);
        for (size_t k = 0; k < CGROUP_CONTROLLERS; k++)
            assert_location(&found.locations[k], 2, TOP "/system.slice/cron.service", TOP);
    }
    assert_int_equal(attach(fake, "unit:org.x.service", &found), CGROUP_CPUACCT);
    assert_int_equal(found.pid, 80);
    assert_int_equal(attach(fake, "/system.slice", &found), CGROUP_CPUACCT);
    assert_int_equal(found.pid, 50);
    static const char *const absent[] = {"/cron.service", "/system.slice/cro", "/system.slice/../cron", "/..",
        "unit:", "unit:cro", "unit:ron", "unit:system.slice/cro", "cron", "deadbeef", "/sys/fs/cgroup/nothing",
        "/sys/fs/cgroups"};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_int_equal(attach(fake, absent[i], &found), -ESRCH);
        assert_non_null(strstr(found.err.msg, "no process"));
        assert_int_equal(found.pid, 0);
    }
    /* Processes that our cgroup namespace does not contain. */
    fake_env_write(fake, "proc/90/cgroup", "0::/../other\n");
    assert_int_equal(attach(fake, "/../other", &found), -ESRCH);
}

/* Each controller in its v1 hierarchy where the group is in it; else in v2. */
static void test_attach_hybrid(void **state)
{
    struct fake_env *fake = *state;
    static struct attached found;
    fake_env_write(fake, "proc/self/mountinfo", all_mounts);
    fake_env_mkdir(fake, TOP "/memory/a");
    fake_env_mkdir(fake, TOP "/cpu,cpuacct/a");
    fake_env_mkdir(fake, TOP "/unified/a/b");
    fake_env_mkdir(fake, TOP "/memory/m");
    fake_env_mkdir(fake, TOP "/systemd/s");
    fake_env_write(fake, "proc/50/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n0::/a/b\n");
    fake_env_write(fake, "proc/51/cgroup", "4:memory:/m\n3:cpu,cpuacct:/\n1:name=systemd:/s\n0::/\n");
    assert_int_equal(attach(fake, "/a", &found), CGROUP_CPUACCT);
    assert_location(&found.locations[CGROUP_MEMORY], 1, TOP "/memory/a", TOP "/memory");
    assert_location(&found.locations[CGROUP_CPU], 1, TOP "/cpu,cpuacct/a", TOP "/cpu,cpuacct");
    assert_location(&found.locations[CGROUP_CPUACCT], 1, TOP "/cpu,cpuacct/a", TOP "/cpu,cpuacct");
    assert_int_equal(attach(fake, "/sys/fs/cgroup/memory/a", &found), CGROUP_CPUACCT);
    assert_int_equal(found.pid, 50);
    assert_int_equal(attach(fake, "/sys/fs/cgroup/unified/a/b", &found), CGROUP_CPUACCT);
    assert_location(&found.locations[CGROUP_CPUACCT], 2, TOP "/unified/a/b", TOP "/unified");
    assert_location(&found.locations[CGROUP_MEMORY], 2, TOP "/unified/a/b", TOP "/unified");
    assert_int_equal(attach(fake, "/m", &found), CGROUP_MEMORY);
    assert_location(&found.locations[CGROUP_CPUACCT], 0, "", "");
    assert_location(&found.locations[CGROUP_MEMORY], 1, TOP "/memory/m", TOP "/memory");
    /* Nothing to read there. */
    assert_int_equal(attach(fake, "/s", &found), -ESRCH);
}

static void test_attach_containers(void **state)
{
    struct fake_env *fake = *state;
    static struct attached found;
    static const char *const names[] = {"/docker/" DIGITS, "/m.slice/docker-" DIGITS ".scope",
        "/m.slice/libpod-" DIGITS ".scope", "/kube.slice/pod1.slice/cri-containerd-" DIGITS ".scope",
        "/kube.slice/crio-" DIGITS ".scope"};
    static const char *const asked[] = {DIGITS, "0123456789abcdef", "0123456789ab"};
    fake_env_write(fake, "proc/self/mountinfo", all_mounts);
    fake_env_mkdir(fake, TOP "/memory/libpod-conmon-" DIGITS ".scope");
    fake_env_write(fake, "proc/50/cgroup", "4:memory:/libpod-conmon-" DIGITS ".scope\n");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char dir[PATH_MAX], line[PATH_MAX + 16];
        (void)snprintf(dir, sizeof(dir), TOP "/memory%s/init.scope", names[i]);
        fake_env_mkdir(fake, dir);
        (void)snprintf(line, sizeof(line), "4:memory:%s/init.scope\n3:cpu:/\n", names[i]);
        fake_env_write(fake, "proc/60/cgroup", line);
        (void)snprintf(dir, sizeof(dir), TOP "/memory%s", names[i]);
        for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++) {
            assert_int_equal(attach(fake, asked[k], &found), CGROUP_MEMORY);
            assert_int_equal(found.pid, 60);
            assert_string_equal(found.locations[CGROUP_MEMORY].dir, dir);
        }
    }
    assert_int_equal(attach(fake, "0123456789a", &found), -ESRCH);
    assert_int_equal(attach(fake, "fedcba987654", &found), -ESRCH);
    fake_env_write(fake, "proc/61/cgroup", "4:memory:/x/" DIGITS "\n");
    assert_int_equal(attach(fake, DIGITS, &found), -ESRCH);
    assert_non_null(strstr(found.err.msg, "several match"));
    assert_non_null(strstr(found.err.msg, "/kube.slice/crio-" DIGITS));
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
        fake_env_unit_test(test_attach_v2),
        fake_env_unit_test(test_attach_hybrid),
        fake_env_unit_test(test_attach_containers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
