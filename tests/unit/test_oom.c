/* SPDX-License-Identifier: Apache-2.0 */
/* Kills by the OOM killer, of the host and of the cgroup, between the start and the end of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_env.h"

static void collect_last(struct fake_run *run)
{
    struct tick tick = {.is_final = true, .mono_ns = 1002 * NS_PER_SEC};
    run->sample = (struct sample){0};
    assert_int_equal(run->collector->collect(run->state, &tick, &run->sample, &run->err), 0);
}

static void test_host(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    fake_env_write(&fake, "proc/vmstat", "nr_free_pages 1\noom_kill 3\nnr_unstable 0\n");
    assert_int_equal(fake_env_open(&fake, &collector_oom, &run), 0);
    assert_int_equal(fake_env_baseline(&fake, &run), 0);
    fake_env_write(&fake, "proc/vmstat", "nr_free_pages 1\noom_kill 5\nnr_unstable 0\n");
    /* Only at the end. */
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_false(run.sample.end.host_oom_kills.has);
    collect_last(&run);
    assert_true(run.sample.end.host_oom_kills.has);
    assert_int_equal(run.sample.end.host_oom_kills.v, 2);
    fake_env_close(&run);
    fake_env_fini(&fake);
}

/* Before Linux 4.13 nothing counts, and what was not known at the start is not known. */
static void test_host_unknown(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    assert_int_equal(fake_env_open(&fake, &collector_oom, &run), 0);
    assert_int_equal(fake_env_baseline(&fake, &run), 0);
    fake_env_write(&fake, "proc/vmstat", "nr_free_pages 1\noom_kill 5\n");
    collect_last(&run);
    assert_false(run.sample.end.host_oom_kills.has);
    fake_env_close(&run);
    fake_env_fini(&fake);
}

static void test_cgroup(void **unused)
{
    (void)unused;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    fake_env_write(&fake, "proc/self/cgroup", "0::/job\n");
    fake_env_write(&fake, "proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    fake_env_write(&fake, "sys/fs/cgroup/job/memory.current", "1048576\n");
    fake_env_write(&fake, "sys/fs/cgroup/job/memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 7\n");
    assert_int_equal(fake_env_open(&fake, &collector_cgroup, &run), 0);
    assert_int_equal(fake_env_baseline(&fake, &run), 0);
    fake_env_write(&fake, "sys/fs/cgroup/job/memory.events", "low 0\nhigh 0\nmax 9\noom 5\noom_kill 8\n");
    collect_last(&run);
    assert_true(run.sample.end.oom_kills.has);
    assert_int_equal(run.sample.end.oom_kills.v, 1);
    assert_int_equal(run.sample.cgroup.oom_kills.v, 8);
    fake_env_close(&run);
    fake_env_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_host_unknown),
        cmocka_unit_test(test_cgroup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
