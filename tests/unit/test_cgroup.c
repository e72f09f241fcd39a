/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup collector over made-up machines: v2, v1 and hybrids, hosts and containers, limits at every level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "fake_env.h"

#define MIB "1048576"

static void put(struct fake_env *fake, const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    assert_in_range(snprintf(path, sizeof(path), "%s/%s", dir, name), 1, sizeof(path) - 1);
    fake_env_write(fake, path, text);
}

static void put_self(struct fake_env *fake, const char *cgroup, const char *mountinfo)
{
    put(fake, "proc/self", "cgroup", cgroup);
    put(fake, "proc/self", "mountinfo", mountinfo);
}

static void start(struct fake_env *fake, struct fake_run *run)
{
    assert_int_equal(fake_env_open(fake, &collector_cgroup, run), 0);
    assert_int_equal(fake_env_baseline(fake, run), 0);
    assert_false(run->sample.cgroup.present);
}

static void finish(struct fake_env *fake, struct fake_run *run)
{
    fake_env_close(run);
    fake_env_fini(fake);
}

static void step(struct fake_env *fake, struct fake_run *run, int64_t ns)
{
    fake_env_advance(fake, ns);
    assert_int_equal(fake_env_collect(fake, run), 0);
    assert_int_equal(run->err.code, 0);
    assert_true(run->sample.cgroup.present);
}

#define ASSERT_VALUE(opt, wanted)                                                                                      \
    do {                                                                                                               \
        assert_true((opt).has);                                                                                        \
        assert_true((opt).v == (wanted));                                                                              \
    } while (0)

static const char mount_v2[] = "23 20 0:22 / /sys rw - sysfs sysfs rw\n"
                               "31 23 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";

static void put_v2_group(struct fake_env *fake, const char *dir)
{
    put(fake, dir, "cpu.stat",
        "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\nnr_periods 10\nnr_throttled 3\n"
        "throttled_usec 250000\n");
    put(fake, dir, "memory.current", "104857600\n");
    put(fake, dir, "memory.peak", "209715200\n");
    put(fake, dir, "memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n");
}

static void test_v2_container(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    int before = fake_env_open_count();
    put_self(&fake, "0::/\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup");
    put(&fake, "sys/fs/cgroup", "cpu.max", "150000 100000\n");
    put(&fake, "sys/fs/cgroup", "memory.max", "536870912\n");
    struct fake_run run;
    start(&fake, &run);
    assert_int_equal(fake_env_open_count(), before + 7);
    put(&fake, "sys/fs/cgroup", "cpu.stat", "usage_usec 5750000\nthrottled_usec 300000\n");
    put(&fake, "sys/fs/cgroup", "memory.events", "oom 3\noom_kill 2\n");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_limit_cores, 1.5);
    ASSERT_VALUE(c->memory_limit_mib, 512);
    ASSERT_VALUE(c->cpu_usage_secs, 0.75);
    ASSERT_VALUE(c->throttled_secs, 0.05);
    ASSERT_VALUE(c->memory_used_mib, 100);
    ASSERT_VALUE(c->memory_peak_mib, 200);
    ASSERT_VALUE(run.sample.run.cgroup_peak_mib, 200);
    ASSERT_VALUE(c->oom_kills, 2);

    /* A counter that goes backwards gives 0 once. */
    put(&fake, "sys/fs/cgroup", "cpu.stat", "usage_usec 1000000\nthrottled_usec 0\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0);
    ASSERT_VALUE(c->throttled_secs, 0);
    put(&fake, "sys/fs/cgroup", "cpu.stat", "usage_usec 1500000\nthrottled_usec 0\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.5);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_v2_nested_limits(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/user.slice/user-1000.slice/job.scope\n", mount_v2);
    put(&fake, "sys/fs/cgroup", "cpu.stat", "usage_usec 1\n");
    put(&fake, "sys/fs/cgroup/user.slice", "cpu.max", "50000 100000\n");
    put(&fake, "sys/fs/cgroup/user.slice", "memory.max", "max\n");
    put(&fake, "sys/fs/cgroup/user.slice/user-1000.slice", "cpu.max", "max 100000\n");
    put(&fake, "sys/fs/cgroup/user.slice/user-1000.slice", "memory.max", "1073741824\n");
    put_v2_group(&fake, "sys/fs/cgroup/user.slice/user-1000.slice/job.scope");
    put(&fake, "sys/fs/cgroup/user.slice/user-1000.slice/job.scope", "cpu.max", "200000 100000\n");
    put(&fake, "sys/fs/cgroup/user.slice/user-1000.slice/job.scope", "memory.max", "2147483648\n");
    struct fake_run run;
    start(&fake, &run);
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    ASSERT_VALUE(c->memory_limit_mib, 1024);
    ASSERT_VALUE(c->cpu_usage_secs, 0);

    /* Limits are looked at again after a while, through the descriptors of the start. */
    put(&fake, "sys/fs/cgroup/user.slice", "cpu.max", "max 100000\n");
    put(&fake, "sys/fs/cgroup/user.slice/user-1000.slice", "memory.max", "max\n");
    put(&fake, "sys/fs/cgroup/user.slice/user-1000.slice/job.scope", "memory.max", "max\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    ASSERT_VALUE(c->memory_limit_mib, 1024);
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(c->cpu_limit_cores, 2);
    assert_false(c->memory_limit_mib.has);

    /* A new file in the place of a kept one goes unseen. */
    fake_env_remove(&fake, "sys/fs/cgroup/user.slice/cpu.max");
    put(&fake, "sys/fs/cgroup/user.slice", "cpu.max", "10000 100000\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(c->cpu_limit_cores, 2);
    finish(&fake, &run);
}

static void test_v2_deep(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    char group[256] = "", dir[512];
    for (int level = 1; level <= 20; level++) {
        size_t n = strlen(group);
        (void)snprintf(group + n, sizeof(group) - n, "/l%d", level);
        (void)snprintf(dir, sizeof(dir), "sys/fs/cgroup%s", group);
        /* Level 2 is one of those too far up to be kept. */
        put(&fake, dir, "memory.max", level == 2 ? "4194304\n" : "8388608\n");
    }
    put(&fake, dir, "memory.current", "2097151\n");
    char line[300];
    (void)snprintf(line, sizeof(line), "0::%s\n", group);
    put_self(&fake, line, mount_v2);
    int before = fake_env_open_count();
    struct fake_run run;
    start(&fake, &run);
    assert_int_equal(fake_env_open_count(), before + 2 + 16);
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.memory_limit_mib, 4);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 1); /* whole MiB, rounded down */
    put(&fake, "sys/fs/cgroup/l1/l2", "memory.max", "max\n");
    put(&fake, "sys/fs/cgroup/l1/l2/l3/l4/l5", "memory.max", "3145727\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(run.sample.cgroup.memory_limit_mib, 2);
    put(&fake, "sys/fs/cgroup/l1/l2/l3/l4/l5", "memory.max", "max\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(run.sample.cgroup.memory_limit_mib, 4);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_v2_root(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/\n", mount_v2);
    put(&fake, "sys/fs/cgroup", "cpu.stat", "usage_usec 1000000\nuser_usec 5\nsystem_usec 5\n");
    struct fake_run run;
    start(&fake, &run);
    /* What does not exist at the start is not looked for again. */
    put(&fake, "sys/fs/cgroup", "memory.current", "1\n");
    put(&fake, "sys/fs/cgroup", "memory.max", "1\n");
    put(&fake, "sys/fs/cgroup", "cpu.stat", "usage_usec 3000000\nuser_usec 5\nsystem_usec 5\n");
    step(&fake, &run, 2 * COLLECT_SLOW_NS);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 2);
    ASSERT_VALUE(run.sample.cpu.cgroup_usage_secs, 2);
    ASSERT_VALUE(run.sample.cpu.cgroup_cores, 0.1); /* over 20 s */
    assert_false(c->throttled_secs.has || c->cpu_limit_cores.has || c->memory_limit_mib.has);
    assert_false(c->memory_used_mib.has || c->memory_peak_mib.has || c->oom_kills.has);
    finish(&fake, &run);
}

static const char mount_v1[] = "25 30 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
                               "26 25 0:23 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
                               "27 25 0:24 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                               "29 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                               "33 25 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

static void put_v1_cpu(struct fake_env *fake, const char *dir)
{
    put(fake, dir, "cpuacct.usage", "3000000000\n");
    put(fake, dir, "cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 1000000000\n");
    put(fake, dir, "cpu.cfs_quota_us", "25000\n");
    put(fake, dir, "cpu.cfs_period_us", "100000\n");
}

static void put_v1_memory(struct fake_env *fake, const char *dir, const char *limit)
{
    put(fake, dir, "memory.usage_in_bytes", "52428800\n");
    put(fake, dir, "memory.max_usage_in_bytes", "78643200\n");
    put(fake, dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    put(fake, dir, "memory.limit_in_bytes", limit);
}

static void test_v1_comounted(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "9:name=systemd:/batch/j1\n5:cpuset:/\n4:cpu,cpuacct:/batch/j1\n3:memory:/batch/j1\n", mount_v1);
    put(&fake, "sys/fs/cgroup/cpu,cpuacct/batch", "cpu.cfs_quota_us", "-1\n");
    put(&fake, "sys/fs/cgroup/cpu,cpuacct/batch", "cpu.cfs_period_us", "100000\n");
    put_v1_cpu(&fake, "sys/fs/cgroup/cpu,cpuacct/batch/j1");
    put_v1_memory(&fake, "sys/fs/cgroup/memory", "9223372036854771712\n");
    put_v1_memory(&fake, "sys/fs/cgroup/memory/batch", "134217728\n");
    /* "No limit" on a machine with pages of 64 KiB. */
    put_v1_memory(&fake, "sys/fs/cgroup/memory/batch/j1", "9223372036854710272\n");
    int before = fake_env_open_count();
    struct fake_run run;
    start(&fake, &run);
    assert_int_equal(fake_env_open_count(), before + 6 + 4 + 3);
    put(&fake, "sys/fs/cgroup/cpu,cpuacct/batch/j1", "cpuacct.usage", "4500000000\n");
    put(&fake, "sys/fs/cgroup/cpu,cpuacct/batch/j1", "cpu.stat", "throttled_time 1125000000\n");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 1.5);
    ASSERT_VALUE(c->throttled_secs, 0.125);
    ASSERT_VALUE(c->cpu_limit_cores, 0.25);
    ASSERT_VALUE(c->memory_limit_mib, 128);
    ASSERT_VALUE(c->memory_used_mib, 50);
    ASSERT_VALUE(c->memory_peak_mib, 75);
    ASSERT_VALUE(c->oom_kills, 4);
    put(&fake, "sys/fs/cgroup/cpu,cpuacct/batch/j1", "cpu.cfs_quota_us", "-1\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    assert_false(c->cpu_limit_cores.has);
    finish(&fake, &run);
}

static void test_v1_docker_without_namespace(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "4:cpuacct,cpu:/docker/abc\n3:memory:/docker/abc/inner\n2:cpuset:/docker/abc\n",
        "29 25 0:26 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
        "33 25 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    put_v1_cpu(&fake, "sys/fs/cgroup/cpu,cpuacct");
    put_v1_memory(&fake, "sys/fs/cgroup/memory", "67108864\n");
    put_v1_memory(&fake, "sys/fs/cgroup/memory/inner", "33554432\n");
    struct fake_run run;
    start(&fake, &run);
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.cpu_limit_cores, 0.25);
    ASSERT_VALUE(run.sample.cgroup.memory_limit_mib, 32);
    finish(&fake, &run);
}

static void test_hybrid(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake,
        "9:name=systemd:/\n8:pids:/\n4:memory:/process_api/1cc515e3\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n",
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
    put(&fake, "sys/fs/cgroup/unified", "cpu.stat", "usage_usec 61025734\nuser_usec 1\nsystem_usec 1\n");
    put(&fake, "sys/fs/cgroup/cpuacct", "cpuacct.usage", "65980618702\n");
    put(&fake, "sys/fs/cgroup/cpu", "cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    put(&fake, "sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "-1\n");
    put(&fake, "sys/fs/cgroup/cpu", "cpu.cfs_period_us", "100000\n");
    put_v1_memory(&fake, "sys/fs/cgroup/memory", "9223372036854771712\n");
    put_v1_memory(&fake, "sys/fs/cgroup/memory/process_api/1cc515e3", "20401094656\n");
    struct fake_run run;
    start(&fake, &run);
    put(&fake, "sys/fs/cgroup/unified", "cpu.stat", "usage_usec 99025734\nuser_usec 1\nsystem_usec 1\n");
    put(&fake, "sys/fs/cgroup/cpuacct", "cpuacct.usage", "65990618702\n");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 0.01);
    ASSERT_VALUE(c->throttled_secs, 0);
    assert_false(c->cpu_limit_cores.has);
    ASSERT_VALUE(c->memory_limit_mib, 19456);
    ASSERT_VALUE(c->memory_used_mib, 50);
    put_v1_memory(&fake, "sys/fs/cgroup/memory/process_api/1cc515e3", "9223372036854771712\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    assert_false(c->memory_limit_mib.has);
    finish(&fake, &run);
}

static void test_hybrid_cpu_in_v2(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "4:memory:/a\n0::/b\n",
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put_v1_memory(&fake, "sys/fs/cgroup/memory/a", "33554432\n");
    put_v2_group(&fake, "sys/fs/cgroup/unified/b");
    put(&fake, "sys/fs/cgroup/unified/b", "cpu.max", "300000 100000\n");
    put(&fake, "sys/fs/cgroup/unified/b", "memory.max", "1\n");
    struct fake_run run;
    start(&fake, &run);
    put(&fake, "sys/fs/cgroup/unified/b", "cpu.stat", "usage_usec 6000000\nthrottled_usec 750000\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.cpu_limit_cores, 3);
    ASSERT_VALUE(run.sample.cgroup.cpu_usage_secs, 1);
    ASSERT_VALUE(run.sample.cgroup.throttled_secs, 0.5);
    ASSERT_VALUE(run.sample.cgroup.memory_limit_mib, 32);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 50);
    finish(&fake, &run);
}

static void test_no_data(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    int before = fake_env_open_count();
    struct fake_run run;
    assert_int_equal(fake_env_open(&fake, &collector_cgroup, &run), -ENODATA);
    put_self(&fake, "0::/outside\n", "31 23 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    put_v2_group(&fake, "sys/fs/cgroup");
    assert_int_equal(fake_env_open(&fake, &collector_cgroup, &run), -ENODATA);

    /* A group with nothing in it. */
    fake_env_mkdir(&fake, "sys/fs/cgroup/empty");
    put_self(&fake, "0::/empty\n", "31 23 0:27 /empty /sys/fs/cgroup/empty rw - cgroup2 cgroup rw\n");
    assert_int_equal(fake_env_open(&fake, &collector_cgroup, &run), -ENODATA);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void break_group(struct fake_env *fake, const char *dir, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        fake_env_break(fake, path);
    }
}

static void test_files_go_away(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/j\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup/j");
    put(&fake, "sys/fs/cgroup/j", "memory.max", "8388608\n");
    struct fake_run run;
    start(&fake, &run);

    /* The descriptor goes bad but the file is there: nothing is noticed. */
    fake_env_break(&fake, "sys/fs/cgroup/j/memory.current");
    put(&fake, "sys/fs/cgroup/j", "memory.current", MIB "\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 1);

    /* cpu.stat goes away for one sample: both of its values are unknown, then the gap is made up for. */
    fake_env_break(&fake, "sys/fs/cgroup/j/cpu.stat");
    fake_env_remove(&fake, "sys/fs/cgroup/j/cpu.stat");
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_int_equal(run.err.code, -ENOENT);
    assert_non_null(strstr(run.err.msg, "/sys/fs/cgroup/j/cpu.stat"));
    assert_true(run.sample.cgroup.present);
    assert_false(run.sample.cgroup.cpu_usage_secs.has);
    assert_false(run.sample.cgroup.throttled_secs.has);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 1);
    put(&fake, "sys/fs/cgroup/j", "cpu.stat", "usage_usec 9000000\nthrottled_usec 250000\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.cpu_usage_secs, 4);
    ASSERT_VALUE(run.sample.cgroup.throttled_secs, 0);

    /* One file fails for long, as when the others follow it. */
    fake_env_break(&fake, "sys/fs/cgroup/j/memory.peak");
    fake_env_remove(&fake, "sys/fs/cgroup/j/memory.peak");
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_int_equal(run.err.code, -ENOENT);

    /* The whole group goes away, and what is known of it with it; one of the same name is looked at after a while. */
    int open_now = fake_env_open_count();
    const char *const left[] = {"cpu.stat", "memory.current", "memory.events", "memory.max"};
    break_group(&fake, "sys/fs/cgroup/j", left, 4);
    fake_env_remove(&fake, "sys/fs/cgroup/j");
    assert_int_equal(fake_env_collect(&fake, &run), -ENODATA);
    assert_false(run.sample.cgroup.present);
    assert_int_equal(fake_env_open_count(), open_now - 4);
    put_v2_group(&fake, "sys/fs/cgroup/j");
    fake_env_advance(&fake, COLLECT_SLOW_NS - 1);
    assert_int_equal(fake_env_collect(&fake, &run), -ENODATA);
    step(&fake, &run, 1);
    assert_false(run.sample.cgroup.cpu_usage_secs.has);
    assert_false(run.sample.cgroup.memory_limit_mib.has);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 100);
    finish(&fake, &run);
}

/* Moved to another group while the first one stays: seen when self/cgroup is next read, through its descriptor. */
static void test_moved(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    int before = fake_env_open_count();
    put_self(&fake, "0::/a\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup/a");
    put(&fake, "sys/fs/cgroup/a", "memory.max", "8388608\n");
    put(&fake, "sys/fs/cgroup/a", "cpu.max", "50000 100000\n");
    put(&fake, "sys/fs/cgroup/b", "cpu.stat", "usage_usec 77000000\nthrottled_usec 5\n");
    put(&fake, "sys/fs/cgroup/b", "memory.current", MIB "\n");
    put(&fake, "sys/fs/cgroup/b", "memory.max", "16777216\n");
    struct fake_run run;
    start(&fake, &run);
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 0);
    put(&fake, "proc/self", "cgroup", "0::/b\n");
    step(&fake, &run, COLLECT_SLOW_NS - NS_PER_SEC - 1);
    ASSERT_VALUE(c->memory_limit_mib, 8);
    step(&fake, &run, 1);
    assert_false(c->cpu_usage_secs.has || c->throttled_secs.has);
    ASSERT_VALUE(c->memory_used_mib, 1);
    ASSERT_VALUE(c->memory_limit_mib, 16);
    assert_false(c->memory_peak_mib.has || c->oom_kills.has || c->cpu_limit_cores.has);
    assert_int_equal(fake_env_open_count(), before + 1 + 3);
    put(&fake, "sys/fs/cgroup/b", "cpu.stat", "usage_usec 77500000\nthrottled_usec 5\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.5);

    /* The same text again: the files stay open, and a new self/cgroup goes unseen. */
    fake_env_remove(&fake, "proc/self/cgroup");
    put(&fake, "proc/self", "cgroup", "0::/a\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(c->cpu_usage_secs, 0);
    ASSERT_VALUE(c->memory_limit_mib, 16);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

/* Moved, and the group left behind is removed: seen at once. */
static void test_moved_and_removed(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/a\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup/a");
    put_v2_group(&fake, "sys/fs/cgroup/b");
    put(&fake, "sys/fs/cgroup/a", "memory.max", "8388608\n");
    struct fake_run run;
    start(&fake, &run);
    put(&fake, "proc/self", "cgroup", "0::/b\n");
    const char *const names[] = {"cpu.stat", "memory.current", "memory.peak", "memory.events", "memory.max"};
    break_group(&fake, "sys/fs/cgroup/a", names, 5);
    fake_env_remove(&fake, "sys/fs/cgroup/a");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    assert_false(c->cpu_usage_secs.has || c->memory_limit_mib.has);
    ASSERT_VALUE(c->memory_used_mib, 100);
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0);

    /* Out of sight, and back again. */
    put(&fake, "proc/self", "cgroup", "0::/../c\n");
    fake_env_advance(&fake, COLLECT_SLOW_NS);
    assert_int_equal(fake_env_collect(&fake, &run), -ENODATA);
    put(&fake, "proc/self", "cgroup", "0::/b\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(c->memory_used_mib, 100);

    /* What cannot be read now is tried at the next sample. */
    put(&fake, "proc/self", "cgroup", "0::/d\n");
    fake_env_remove(&fake, "proc/self/mountinfo");
    fake_env_mkdir(&fake, "proc/self/mountinfo");
    fake_env_advance(&fake, COLLECT_SLOW_NS);
    assert_int_equal(fake_env_collect(&fake, &run), -EISDIR);
    assert_non_null(strstr(run.err.msg, "/proc/self/mountinfo"));
    fake_env_remove(&fake, "proc/self/mountinfo");
    put(&fake, "proc/self", "mountinfo", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup/d");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->memory_peak_mib, 200);
    finish(&fake, &run);
}

/* No descriptor is left when it starts: reported, and made up for as soon as there are some. */
static void test_no_descriptors(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup");
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct fake_run run;
    int opened = fake_env_open(&fake, &collector_cgroup, &run);
    int collected = fake_env_collect(&fake, &run);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(opened, 0);
    assert_int_equal(collected, -EMFILE);
    assert_non_null(strstr(run.err.msg, "/proc/self/cgroup: Too many open files"));
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 100);
    finish(&fake, &run);
}

static void test_broken_texts(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/\n", mount_v2);
    const char *dir = "sys/fs/cgroup";
    put(&fake, dir, "cpu.stat", "");
    put(&fake, dir, "memory.current", "lots\n");
    put(&fake, dir, "memory.peak", "");
    put(&fake, dir, "memory.events", "oom_kills 3\noom_kill x\n");
    put(&fake, dir, "memory.max", "-5\n");
    put(&fake, dir, "cpu.max", "0 0\n");
    struct fake_run run;
    start(&fake, &run);
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    assert_false(c->cpu_usage_secs.has || c->throttled_secs.has || c->memory_used_mib.has || c->memory_peak_mib.has);
    assert_false(c->oom_kills.has || c->memory_limit_mib.has || c->cpu_limit_cores.has);

    static char long_text[8192];
    memset(long_text, '1', sizeof(long_text) - 1);
    put(&fake, dir, "memory.peak", long_text);
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_int_equal(run.err.code, -EFBIG);
    assert_false(run.sample.cgroup.memory_peak_mib.has);
    finish(&fake, &run);
}

static void test_file_cannot_be_opened(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup");
    fake_env_remove(&fake, "sys/fs/cgroup/memory.peak");
    fake_env_link(&fake, "sys/fs/cgroup/memory.peak", "memory.peak");
    struct fake_run run;
    assert_int_equal(fake_env_open(&fake, &collector_cgroup, &run), 0);
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_int_equal(run.err.code, -ELOOP);
    assert_non_null(strstr(run.err.msg, "memory.peak"));
    assert_false(run.sample.cgroup.memory_peak_mib.has);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 100);
    assert_false(run.sample.cgroup.cpu_usage_secs.has);
    finish(&fake, &run);
}

static void test_long_path(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    const char *group = "kubepods.slice/kubepods-pod0b5fbd4e_6f3c_4c53_9d36_4c26b6a0c7a1.slice/"
                        "cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";
    char line[512], dir[512];
    (void)snprintf(line, sizeof(line), "0::/%s\n", group);
    (void)snprintf(dir, sizeof(dir), "sys/fs/cgroup/%s", group);
    put_self(&fake, line, mount_v2);
    put_v2_group(&fake, dir);
    put(&fake, "sys/fs/cgroup/kubepods.slice", "memory.max", MIB "\n");
    struct fake_run run;
    start(&fake, &run);
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(run.sample.cgroup.memory_used_mib, 100);
    ASSERT_VALUE(run.sample.cgroup.memory_limit_mib, 1);
    finish(&fake, &run);
}

#define COMMAND_DIR "sys/fs/cgroup/slice/resource-tracker-5"

static void start_command(struct fake_env *fake, struct tracked *tracked, struct fake_run *run, const char *dir)
{
    *tracked = (struct tracked){.group_dir = dir};
    fake->env.tracked = tracked;
    start(fake, run);
}

/* The controllers are turned on for the command's group: everything is its own. */
static void test_command_group(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    int before = fake_env_open_count();
    put_self(&fake, "0::/slice\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup/slice");
    put(&fake, "sys/fs/cgroup/slice", "cpu.max", "50000 100000\n");
    put(&fake, "sys/fs/cgroup/slice", "memory.max", "1073741824\n");
    put(&fake, COMMAND_DIR, "cpu.stat", "usage_usec 250000\nuser_usec 250000\nthrottled_usec 125000\n");
    put(&fake, COMMAND_DIR, "memory.current", MIB "\n");
    put(&fake, COMMAND_DIR, "memory.peak", "2097152\n");
    put(&fake, COMMAND_DIR, "memory.events", "oom 0\noom_kill 0\n");
    put(&fake, COMMAND_DIR, "cpu.max", "max 100000\n");
    put(&fake, COMMAND_DIR, "memory.max", "536870912\n");
    struct tracked tracked;
    struct fake_run run;
    start_command(&fake, &tracked, &run, COMMAND_DIR);
    /* self/cgroup, four files of the group, limits of the group and of the one above. */
    assert_int_equal(fake_env_open_count(), before + 1 + 4 + 4);
    put(&fake, COMMAND_DIR, "cpu.stat", "usage_usec 750000\nuser_usec 750000\nthrottled_usec 250000\n");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    /* With what was used before the baseline. */
    ASSERT_VALUE(c->cpu_usage_secs, 0.75);
    ASSERT_VALUE(c->throttled_secs, 0.25);
    ASSERT_VALUE(c->memory_used_mib, 1);
    ASSERT_VALUE(c->memory_peak_mib, 2);
    ASSERT_VALUE(run.sample.run.cgroup_peak_mib, 0);
    ASSERT_VALUE(c->oom_kills, 0);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    ASSERT_VALUE(c->memory_limit_mib, 512);
    put(&fake, COMMAND_DIR, "cpu.stat", "usage_usec 1000000\nuser_usec 750000\nthrottled_usec 250000\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.25);
    ASSERT_VALUE(c->throttled_secs, 0);

    /* We are moved, the command is not: nothing is counted twice. */
    fake_env_mkdir(&fake, "sys/fs/cgroup/other");
    put(&fake, "proc/self", "cgroup", "0::/other\n");
    put(&fake, COMMAND_DIR, "cpu.stat", "usage_usec 1500000\nuser_usec 750000\nthrottled_usec 250000\n");
    step(&fake, &run, COLLECT_SLOW_NS);
    ASSERT_VALUE(c->cpu_usage_secs, 0.5);
    ASSERT_VALUE(c->memory_limit_mib, 512);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

/* They are not, as is usual: what only a controller counts comes from the nearest group that has it. */
static void test_command_group_without_controllers(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    int before = fake_env_open_count();
    put_self(&fake, "0::/slice/tracker\n", mount_v2);
    put_v2_group(&fake, "sys/fs/cgroup/slice");
    put(&fake, "sys/fs/cgroup/slice", "cpu.max", "200000 100000\n");
    put(&fake, "sys/fs/cgroup/slice/tracker", "cpu.stat", "usage_usec 3000000\nuser_usec 1\nthrottled_usec 500000\n");
    put(&fake, "sys/fs/cgroup/slice/tracker", "memory.current", "3145728\n");
    put(&fake, "sys/fs/cgroup/slice/tracker", "memory.max", "8388608\n");
    const char *dir = "sys/fs/cgroup/slice/tracker/resource-tracker-5";
    put(&fake, dir, "cpu.stat", "usage_usec 100000\nuser_usec 100000\nsystem_usec 0\n");
    struct tracked tracked;
    struct fake_run run;
    start_command(&fake, &tracked, &run, dir);
    /* self/cgroup; cpu.stat twice; three of memory; two limits. */
    assert_int_equal(fake_env_open_count(), before + 1 + 2 + 3 + 2);
    put(&fake, dir, "cpu.stat", "usage_usec 600000\nuser_usec 100000\nsystem_usec 0\n");
    put(&fake, "sys/fs/cgroup/slice/tracker", "cpu.stat", "usage_usec 9000000\nuser_usec 1\nthrottled_usec 750000\n");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 0.6);
    /* This counter did not begin with the command. */
    ASSERT_VALUE(c->throttled_secs, 0.25);
    ASSERT_VALUE(c->memory_used_mib, 3);
    ASSERT_VALUE(c->memory_peak_mib, 200);
    ASSERT_VALUE(c->oom_kills, 1);
    ASSERT_VALUE(c->cpu_limit_cores, 2);
    ASSERT_VALUE(c->memory_limit_mib, 8);
    put(&fake, dir, "cpu.stat", "usage_usec 700000\nuser_usec 100000\nsystem_usec 0\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.1);
    ASSERT_VALUE(c->throttled_secs, 0);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

/* Controllers of v1 know nothing of the command's group, even where all of them are. */
static void test_command_group_hybrid(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    static const char mounts[] = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                 "36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const char *dir = "sys/fs/cgroup/unified/resource-tracker-5";
    put_v1_memory(&fake, "sys/fs/cgroup/memory/a", "33554432\n");
    put_v1_cpu(&fake, "sys/fs/cgroup/cpu");
    put(&fake, "sys/fs/cgroup/unified", "cpu.stat", "usage_usec 1\nuser_usec 1\n");
    put(&fake, dir, "cpu.stat", "usage_usec 125000\nuser_usec 1\n");
    put(&fake, dir, "memory.current", "1\n");
    put_self(&fake, "4:memory:/a\n3:cpu,cpuacct:/\n0::/\n", mounts);
    struct tracked tracked;
    struct fake_run run;
    start_command(&fake, &tracked, &run, dir);
    put(&fake, "sys/fs/cgroup/cpu", "cpuacct.usage", "3500000000\n");
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 0.5);
    ASSERT_VALUE(c->memory_used_mib, 50);
    fake_env_close(&run);

    /* CPU in v2, memory not. */
    put_self(&fake, "4:memory:/a\n0::/\n", mounts);
    start_command(&fake, &tracked, &run, dir);
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.125);
    assert_false(c->throttled_secs.has || c->cpu_limit_cores.has);
    ASSERT_VALUE(c->memory_used_mib, 50);
    ASSERT_VALUE(c->memory_limit_mib, 32);
    fake_env_close(&run);

    /* A job without a group of its own is as if there were none. */
    put(&fake, "sys/fs/cgroup/unified", "cpu.stat", "usage_usec 5000000\nuser_usec 1\n");
    start_command(&fake, &tracked, &run, NULL);
    put(&fake, "sys/fs/cgroup/unified", "cpu.stat", "usage_usec 5250000\nuser_usec 1\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.25);
    finish(&fake, &run);
}

/* A gap, and the end of the group before ours. */
static void test_command_group_goes_away(void **unused)
{
    (void)unused;
    struct fake_env fake;
    fake_env_init(&fake);
    put_self(&fake, "0::/slice\n", mount_v2);
    put(&fake, "sys/fs/cgroup/slice", "cpu.stat", "usage_usec 50000000\nuser_usec 1\n");
    put(&fake, COMMAND_DIR, "cpu.stat", "usage_usec 500000\nuser_usec 1\n");
    struct tracked tracked;
    struct fake_run run;
    start_command(&fake, &tracked, &run, COMMAND_DIR);
    step(&fake, &run, NS_PER_SEC);
    const struct sample_cgroup *c = &run.sample.cgroup;
    ASSERT_VALUE(c->cpu_usage_secs, 0.5);
    fake_env_break(&fake, COMMAND_DIR "/cpu.stat");
    put(&fake, COMMAND_DIR, "cpu.stat", "usage_usec 625000\nuser_usec 1\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.125);

    fake_env_break(&fake, COMMAND_DIR "/cpu.stat");
    fake_env_remove(&fake, COMMAND_DIR);
    step(&fake, &run, NS_PER_SEC);
    assert_false(c->cpu_usage_secs.has);
    put(&fake, "sys/fs/cgroup/slice", "cpu.stat", "usage_usec 50250000\nuser_usec 1\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_usage_secs, 0.25);
    finish(&fake, &run);
}

enum { COMMAND = 100 };

/* A machine with a group that we are in, and one of half a core that the command enters by itself. */
static void start_outside(
    struct fake_env *fake, struct tracked *tracked, struct tree_status *tree, struct fake_run *run)
{
    fake_env_init(fake);
    *tracked = (struct tracked){.root = COMMAND, .tracker = 90, .start_ns = fake->mono_ns};
    fake->root.names_us = true;
    fake->env.tracked = tracked;
    fake->env.tree = tree;
    put_self(fake, "0::/ours\n", mount_v2);
    put(fake, "proc/100", "cgroup", "0::/ours\n");
    put_v2_group(fake, "sys/fs/cgroup/ours");
    put(fake, "sys/fs/cgroup/ours", "memory.events", "oom_kill 5\n");
    put_v2_group(fake, "sys/fs/cgroup/limited");
    put(fake, "sys/fs/cgroup/limited", "cpu.max", "50000 100000\n");
    put(fake, "sys/fs/cgroup/limited", "memory.max", "268435456\n");
    start(fake, run);
}

static void test_command_enters_a_group(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    struct tree_status tree = {0};
    struct fake_run run;
    start_outside(&fake, &tracked, &tree, &run);
    const struct sample_cgroup *c = &run.sample.cgroup;
    put(&fake, "sys/fs/cgroup/ours", "memory.events", "oom_kill 6\n");
    step(&fake, &run, NS_PER_SEC);
    assert_false(c->cpu_limit_cores.has);
    ASSERT_VALUE(run.sample.end.oom_kills, 1);
    put(&fake, "proc/100", "cgroup", "0::/limited\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    ASSERT_VALUE(c->memory_limit_mib, 256);
    assert_false(c->throttled_secs.has); /* its counters begin with the first reading */
    ASSERT_VALUE(run.sample.end.oom_kills, 1);
    put(&fake, "sys/fs/cgroup/limited", "cpu.stat", "usage_usec 5500000\nthrottled_usec 750000\n");
    put(&fake, "sys/fs/cgroup/limited", "memory.events", "oom_kill 3\n");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->throttled_secs, 0.5);
    ASSERT_VALUE(run.sample.end.oom_kills, 3); /* one in our group, two in this one */

    /* The group goes with the command: what was known of it holds, and there is no warning. */
    tree.is_root_gone = true;
    fake_env_remove(&fake, "proc/100");
    fake_env_break(&fake, "sys/fs/cgroup/limited/cpu.stat");
    fake_env_break(&fake, "sys/fs/cgroup/limited/memory.current");
    fake_env_break(&fake, "sys/fs/cgroup/limited/memory.peak");
    fake_env_break(&fake, "sys/fs/cgroup/limited/memory.events");
    fake_env_remove(&fake, "sys/fs/cgroup/limited");
    step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    assert_false(c->throttled_secs.has);
    finish(&fake, &run);
}

/* Looked for often at the start, and then every ten seconds. */
static void test_command_enters_a_group_late(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct tracked tracked;
    struct tree_status tree = {0};
    struct fake_run run;
    start_outside(&fake, &tracked, &tree, &run);
    const struct sample_cgroup *c = &run.sample.cgroup;
    for (int second = 1; second <= 60; second++)
        step(&fake, &run, NS_PER_SEC);
    put(&fake, "proc/100", "cgroup", "0::/limited\n");
    int later = 0;
    while (!c->cpu_limit_cores.has && later++ < 20)
        step(&fake, &run, NS_PER_SEC);
    assert_in_range(later, 1, 10);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    /* A process that ends is nowhere. */
    put(&fake, "proc/100", "cgroup", "0::/limited (deleted)\n");
    for (int second = 0; second < 11; second++)
        step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    put(&fake, "proc/100", "cgroup", "4:memory:/\n3:cpu:/\n0::/\n");
    for (int second = 0; second < 11; second++)
        step(&fake, &run, NS_PER_SEC);
    ASSERT_VALUE(c->cpu_limit_cores, 0.5);
    finish(&fake, &run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2_container),
        cmocka_unit_test(test_v2_nested_limits),
        cmocka_unit_test(test_v2_deep),
        cmocka_unit_test(test_v2_root),
        cmocka_unit_test(test_v1_comounted),
        cmocka_unit_test(test_v1_docker_without_namespace),
        cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_hybrid_cpu_in_v2),
        cmocka_unit_test(test_no_data),
        cmocka_unit_test(test_files_go_away),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_moved_and_removed),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_broken_texts),
        cmocka_unit_test(test_file_cannot_be_opened),
        cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_command_group),
        cmocka_unit_test(test_command_group_without_controllers),
        cmocka_unit_test(test_command_group_hybrid),
        cmocka_unit_test(test_command_group_goes_away),
        cmocka_unit_test(test_command_enters_a_group),
        cmocka_unit_test(test_command_enters_a_group_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
