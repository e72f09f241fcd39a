/* SPDX-License-Identifier: Apache-2.0 */
/* The group of the tree by name, and whether the job is alone in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fake_env.h"

enum { TRACKER = 90, ROOT = 100, CHILD = 101 };

struct scenario {
    struct fake_env fake;
    struct tracked tracked;
    struct tree_status tree;
    struct helpers helpers;
    struct clock late; /* of the first sample, where it is set */
    struct opt_u64 newest; /* PID, with the first sample */
    struct job_member members[2];
    struct fake_run run;
};

static const char mount_v2[] = "31 23 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
static const char mount_v1[] = "35 31 0:32 /docker/a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

static int set_up(void **state)
{
    static struct scenario scenario;
    memset(&scenario, 0, sizeof(scenario));
    fake_env_init(&scenario.fake);
    scenario.members[0] = (struct job_member){.pid = ROOT, .start_ticks = 1000};
    scenario.members[1] = (struct job_member){.pid = CHILD, .start_ticks = 1001};
    scenario.tracked = (struct tracked){.root = ROOT, .tracker = TRACKER};
    scenario.tree.live = 2;
    scenario.tree.members.items = scenario.members;
    scenario.tree.members.count = 2;
    scenario.fake.root.names_us = true;
    scenario.fake.env.tracked = &scenario.tracked;
    scenario.fake.env.tree = &scenario.tree;
    scenario.fake.env.helpers = &scenario.helpers;
    *state = &scenario;
    return 0;
}

static int tear_down(void **state)
{
    struct scenario *scenario = *state;
    fake_env_close(&scenario->run);
    fake_env_fini(&scenario->fake);
    return 0;
}

/* A group of v2 with these processes, and the first sample. */
static const struct sample_run *collect_v2(struct scenario *scenario, const char *group, const char *procs)
{
    char path[128], text[128];
    struct fake_env *fake = &scenario->fake;
    (void)snprintf(text, sizeof(text), "0::%s\n", group);
    fake_env_write(fake, "proc/self/cgroup", text);
    fake_env_write(fake, "proc/self/mountinfo", mount_v2);
    (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.current", group);
    fake_env_write(fake, path, "1048576\n");
    (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.procs", group);
    if (procs)
        fake_env_write(fake, path, procs);
    assert_int_equal(fake_env_open(fake, &collector_cgroup, &scenario->run), 0);
    assert_int_equal(fake_env_baseline(fake, &scenario->run), 0);
    assert_null(scenario->run.sample.run.cgroup_path);
    fake_env_advance(fake, NS_PER_SEC);
    struct tick_births births = {.last_pid = scenario->newest};
    const struct tick tick = {.mono_ns = fake->mono_ns, .births = &births};
    if (scenario->late.read_ns)
        fake->env.clock = &scenario->late;
    struct fake_run *run = &scenario->run;
    assert_int_equal(run->collector->collect(run->state, &tick, &run->sample, &run->err), 0);
    return &run->sample.run;
}

static void check_v2(struct scenario *scenario, const char *procs, struct opt_bool wanted)
{
    const struct sample_run *run = collect_v2(scenario, "/job.scope", procs);
    assert_string_equal(run->cgroup_path, "/job.scope");
    assert_int_equal(run->cgroup_is_own.has, wanted.has);
    if (wanted.has)
        assert_int_equal(run->cgroup_is_own.v, wanted.v);
}

static const struct opt_bool unknown;

static void test_alone(void **state)
{
    check_v2(*state, "90\n100\n101\n", some_bool(true));
}

static void test_top_of_a_container(void **state)
{
    struct scenario *scenario = *state;
    scenario->tracked.tracker = 1;
    const struct sample_run *run = collect_v2(scenario, "/", "1\n100\n101\n");
    assert_string_equal(run->cgroup_path, "/");
    assert_true(run->cgroup_is_own.has && run->cgroup_is_own.v);
}

/* The shell that we were started from, and others of its kind. */
static void test_shared(void **state)
{
    check_v2(*state, "90\n50\n100\n101\n", some_bool(false));
}

/* A helper of ours, older or younger than the job. */
static void test_helpers(void **state)
{
    struct scenario *scenario = *state;
    helpers_add(&scenario->helpers, 95);
    helpers_add(&scenario->helpers, 104);
    check_v2(scenario, "90\n95\n100\n101\n104\n", some_bool(true));
}

/* One that the tree does not know yet, or of another job: its files are not read, as they may hang. */
static void test_born_since(void **state)
{
    struct scenario *scenario = *state;
    fake_env_write(&scenario->fake, "proc/102/stat", "102 (x) S 50 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0\n");
    check_v2(scenario, "90\n100\n101\n102\n", unknown);
}

/* Where numbers were given out anew since the start, a small one says nothing. */
static void test_numbers_begin_again(void **state)
{
    struct scenario *scenario = *state;
    scenario->newest = some_u64(60);
    check_v2(scenario, "90\n50\n100\n101\n", unknown);
    fake_env_close(&scenario->run);
    scenario->newest = some_u64(ROOT);
    check_v2(scenario, "90\n50\n100\n101\n", some_bool(false));
}

/* As if the first read had hung, and the tree gone on without this collector. */
static int64_t read_clock_late(void *context, enum clock_kind kind)
{
    struct scenario *scenario = context;
    (void)kind;
    scenario->tree.members.items = NULL;
    scenario->tree.members.count = 0;
    scenario->helpers = (struct helpers){0};
    return scenario->fake.mono_ns;
}

static void test_lists_change_meanwhile(void **state)
{
    struct scenario *scenario = *state;
    helpers_add(&scenario->helpers, 104);
    scenario->late = (struct clock){.read_ns = read_clock_late, .context = scenario};
    check_v2(scenario, "90\n100\n101\n104\n", some_bool(true));
}

static void test_outside_of_the_pid_namespace(void **state)
{
    check_v2(*state, "90\n100\n101\n0\n", some_bool(false));
}

static void test_unreadable(void **state)
{
    check_v2(*state, NULL, unknown);
}

static void test_malformed(void **state)
{
    check_v2(*state, "90\nx\n", unknown);
}

static void test_members_are_not_listed(void **state)
{
    struct scenario *scenario = *state;
    scenario->tree.members.count = 0;
    check_v2(scenario, "90\n100\n101\n", unknown);
}

static void test_host_alone(void **state)
{
    struct scenario *scenario = *state;
    scenario->tracked.root = 0;
    check_v2(scenario, "90\n", unknown);
}

static void test_other_machine(void **state)
{
    struct scenario *scenario = *state;
    scenario->fake.root.names_us = false;
    check_v2(scenario, "90\n100\n101\n", unknown);
}

/* A group below it holds processes that its list has not. */
static void test_groups_below(void **state)
{
    struct scenario *scenario = *state;
    fake_env_write(
        &scenario->fake, "sys/fs/cgroup/job.scope/cgroup.stat", "nr_descendants 1\nnr_dying_descendants 0\n");
    check_v2(scenario, "90\n100\n101\n", unknown);
}

/* More than is read: known only where one of another job is among the first. */
static void test_many(void **state)
{
    struct scenario *scenario = *state;
    static char procs[8000];
    size_t n = 0;
    while (n + 8 < sizeof(procs))
        n += (size_t)snprintf(procs + n, sizeof(procs) - n, "100\n");
    check_v2(scenario, procs, unknown);
    fake_env_close(&scenario->run);
    memcpy(procs, "50\n", 3);
    check_v2(scenario, procs, some_bool(false));
}

/* Made for the command: nothing is read. */
static void test_made_for_the_command(void **state)
{
    struct scenario *scenario = *state;
    scenario->tracked.group_dir = "sys/fs/cgroup/job.scope/rt-1";
    fake_env_write(&scenario->fake, "sys/fs/cgroup/job.scope/rt-1/memory.current", "1048576\n");
    const struct sample_run *run = collect_v2(scenario, "/job.scope", "50\n");
    assert_string_equal(run->cgroup_path, "/job.scope/rt-1");
    assert_true(run->cgroup_is_own.has && run->cgroup_is_own.v);
}

/* The same without memory of its own: then the numbers are those of the group above. */
static void test_without_the_controller(void **state)
{
    struct scenario *scenario = *state;
    scenario->tracked.group_dir = "sys/fs/cgroup/job.scope/rt-1";
    fake_env_mkdir(&scenario->fake, "sys/fs/cgroup/job.scope/rt-1");
    fake_env_write(&scenario->fake, "sys/fs/cgroup/job.scope/cgroup.stat", "nr_descendants 1\n");
    const struct sample_run *run = collect_v2(scenario, "/job.scope", "90\n50\n");
    assert_string_equal(run->cgroup_path, "/job.scope");
    assert_true(run->cgroup_is_own.has && !run->cgroup_is_own.v);
}

/* v1 hides what is outside of our PID namespace: only the first process of a container can know. */
static void check_v1(struct scenario *scenario, const char *groups, struct opt_bool wanted)
{
    struct fake_env *fake = &scenario->fake;
    fake_env_write(fake, "proc/self/cgroup", groups);
    fake_env_write(fake, "proc/self/mountinfo", mount_v1);
    fake_env_write(fake, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
    fake_env_write(fake, "sys/fs/cgroup/memory/cgroup.procs", "1\n100\n101\n");
    assert_int_equal(fake_env_open(fake, &collector_cgroup, &scenario->run), 0);
    assert_int_equal(fake_env_baseline(fake, &scenario->run), 0);
    fake_env_advance(fake, NS_PER_SEC);
    assert_int_equal(fake_env_collect(fake, &scenario->run), 0);
    const struct sample_run *run = &scenario->run.sample.run;
    assert_string_equal(run->cgroup_path, "/");
    assert_int_equal(run->cgroup_is_own.has, wanted.has);
    assert_int_equal(run->cgroup_is_own.v, wanted.v);
}

static void test_v1(void **state)
{
    struct scenario *scenario = *state;
    scenario->tracked.tracker = 1;
    check_v1(scenario, "4:memory:/docker/a\n", some_bool(true));
}

static void test_v1_not_the_first_process(void **state)
{
    struct scenario *scenario = *state;
    scenario->members[0].pid = 1;
    scenario->tracked.attached = false;
    check_v1(scenario, "4:memory:/docker/a\n", unknown);
}

static void test_v1_first_namespace(void **state)
{
    struct scenario *scenario = *state;
    scenario->members[0].pid = 1;
    fake_env_link(&scenario->fake, "proc/self/ns/pid", "pid:[4026531836]");
    check_v1(scenario, "4:memory:/docker/a\n", some_bool(true));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_alone),
        TEST(test_top_of_a_container),
        TEST(test_shared),
        TEST(test_helpers),
        TEST(test_born_since),
        TEST(test_numbers_begin_again),
        TEST(test_lists_change_meanwhile),
        TEST(test_outside_of_the_pid_namespace),
        TEST(test_unreadable),
        TEST(test_malformed),
        TEST(test_members_are_not_listed),
        TEST(test_host_alone),
        TEST(test_other_machine),
        TEST(test_groups_below),
        TEST(test_many),
        TEST(test_made_for_the_command),
        TEST(test_without_the_controller),
        TEST(test_v1),
        TEST(test_v1_not_the_first_process),
        TEST(test_v1_first_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
