/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as fields of the sample and of the job, tick by tick; see test_tree_find.c for how members are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/tree/read.h"
#include "fake_tree.h"
#include "skip.h"

#define TICK_NS NS_PER_SEC
#define NS_PER_US INT64_C(1000)
enum { NOBODY = 65534 };

/* 101 to 110. */
static void fork_ten(struct fake_tree *tree)
{
    for (pid_t pid = 101; pid < 111; pid++)
        fake_tree_fork(tree, pid, FAKE_ROOT, 0);
}

static void test_nothing_is_tracked(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init(&tree);
    char state[1];
    tree.tracked.root = 0;
    assert_int_equal(collector_tree.open(state, &tree.fake.env, &tree.err), -ENODATA);
    tree.fake.env.tracked = NULL;
    assert_int_equal(collector_tree.open(state, &tree.fake.env, &tree.err), -ENODATA);
    fake_tree_fini(&tree);
}

static void test_fields(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_find(&tree, 101)->threads = 3;
    fake_tree_write_children(&tree, 101);
    fake_tree_find(&tree, 101)->rss_pages = 512;
    fake_tree_run(&tree, 101, 300 * NS_PER_MS, 199 * NS_PER_MS + 999 * NS_PER_US);
    fake_tree_io(&tree, 101, 4096, 8192);
    fake_tree_io(&tree, FAKE_ROOT, 512, 0);
    fake_tree_fault(&tree, 101, 7);
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_cpu *cpu = &tree.sample.cpu;
    fake_tree_assert_near(cpu->process_cores_used, 0.5);
    fake_tree_assert_near(cpu->process_utime_secs, 0.3);
    fake_tree_assert_near(cpu->process_stime_secs, 0.2);
    fake_tree_assert_count(cpu->process_child_count, 1);
    fake_tree_assert_count(cpu->process_thread_count, 4);
    fake_tree_assert_near(cpu->process_rss_mib, 3);
    fake_tree_assert_near(cpu->process_peak_rss_mib, 3);
    fake_tree_assert_count(cpu->process_disk_read_bytes, 4608);
    fake_tree_assert_count(cpu->process_disk_write_bytes, 8192);
    fake_tree_assert_count(cpu->process_major_faults, 7);
    assert_false(cpu->process_pss_mib.has);
    assert_int_equal(tree.err.code, 0);
    assert_int_equal(tree.status.live, 2);
    assert_int_equal(tree.status.live_pid, FAKE_ROOT);
    assert_false(tree.status.is_lower_bound);
    /* Nothing happens: nothing is reported twice. */
    fake_tree_collect_after(&tree, TICK_NS / 2);
    fake_tree_assert_near(cpu->process_cores_used, 0);
    fake_tree_assert_near(cpu->process_utime_secs, 0);
    fake_tree_assert_count(cpu->process_disk_read_bytes, 0);
    fake_tree_assert_count(cpu->process_major_faults, 0);
    fake_tree_assert_near(cpu->process_rss_mib, 3);
    fake_tree_end(&tree);
}

/* The first interval begins with the command, not with the first sample; a baseline is none. */
static void test_counts_from_the_start(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 250 * NS_PER_MS, 0);
    fake_tree_baseline(&tree);
    fake_tree_collect_after(&tree, TICK_NS / 2);
    fake_tree_assert_near(tree.sample.cpu.process_utime_secs, 0.25);
    fake_tree_assert_near(tree.sample.cpu.process_cores_used, 0.5);
    fake_tree_end(&tree);
}

static void test_idle_memory_is_read_again(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 1);
    fake_tree_find(&tree, FAKE_ROOT)->rss_pages = 128;
    fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
    fake_tree_collect_after(&tree, TICK_NS / 2);
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 1);
    fake_tree_collect_after(&tree, TICK_NS / 2);
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 0.5);
    fake_tree_assert_near(tree.sample.cpu.process_peak_rss_mib, 1);
    fake_tree_end(&tree);
}

static void test_peak_between_samples(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    tree.tracked.reaped.max_rss_bytes = 5 * 1048576;
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_assert_near(tree.sample.cpu.process_peak_rss_mib, 5);
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 1);
    fake_tree_end(&tree);
}

/* Through the life of a child: seen, ended, waited for; each amount once. */
static void test_waited_for(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_run(&tree, 101, 123 * NS_PER_MS, 45 * NS_PER_MS);
    fake_tree_io(&tree, 101, 5120, 512);
    fake_tree_fault(&tree, 101, 3);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_exit(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 0);
    assert_int_equal(tree.status.live, 1);
    fake_tree_wait(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_assert_count(tree.sample.cpu.process_disk_read_bytes, 0);
    fake_tree_assert_count(tree.sample.cpu.process_major_faults, 0);
    assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree));
    fake_tree_exit(&tree, FAKE_ROOT);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_reap(&tree, FAKE_ROOT);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    assert_int_equal(tree.reported.read_bytes, 5120);
    assert_int_equal(tree.reported.write_bytes, 512);
    assert_int_equal(tree.reported.faults, 3);
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 0);
    fake_tree_assert_count(tree.sample.cpu.process_thread_count, 0);
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 0);
    assert_int_equal(tree.status.live, 0);
    assert_int_equal(tree.status.live_pid, 0);
    fake_tree_end(&tree);
}

/* A command that is over before the first sample is known from wait4 alone. */
static void test_never_seen(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 3 * NS_PER_MS, 2 * NS_PER_MS);
    fake_tree_io(&tree, FAKE_ROOT, 512, 1024);
    fake_tree_fault(&tree, FAKE_ROOT, 2);
    fake_tree_finish(&tree, FAKE_ROOT);
    fake_tree_collect_after(&tree, 10 * NS_PER_MS);
    fake_tree_assert_near(tree.sample.cpu.process_utime_secs, 0.003);
    fake_tree_assert_near(tree.sample.cpu.process_stime_secs, 0.002001);
    fake_tree_assert_count(tree.sample.cpu.process_disk_read_bytes, 512);
    fake_tree_assert_count(tree.sample.cpu.process_disk_write_bytes, 1024);
    fake_tree_assert_count(tree.sample.cpu.process_major_faults, 2);
    fake_tree_end(&tree);
}

/* The kernel takes a process apart: no threads, zeros, for a moment. What was known of it stays pending. */
static void test_taken_apart(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    struct fake_process *child = fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_run(&tree, 101, 100 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    uint64_t before = fake_tree_reported_ns(&tree);
    struct fake_process real = *child;
    *child = (struct fake_process){
        .pid = 101, .parent = FAKE_ROOT, .state = 'X', .name = "job", .start_ticks = real.start_ticks};
    fake_tree_write(&tree, child);
    *child = real;
    child->system_ns += 1000;
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), before);
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 0);
    /* The parent was waiting for it. */
    child->state = 'Z';
    fake_tree_wait(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(fake_tree_reported_ns(&tree) >= before);
    assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree) + 1000);
    fake_tree_end(&tree);
}

/* Its children leave no trace but what was seen of them. */
static void test_ignored_sigchld(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_find(&tree, FAKE_ROOT)->ignores_sigchld = true;
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_run(&tree, 101, 100 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(tree.status.is_lower_bound);
    fake_tree_exit(&tree, 101);
    assert_null(fake_tree_find(&tree, 101));
    for (int i = 0; i < 4; i++) {
        fake_tree_collect_after(&tree, TICK_NS);
        fake_tree_run(&tree, FAKE_ROOT, 20 * NS_PER_MS, 0);
    }
    /* What was lost stays counted: 100 ms are in the sum. */
    assert_in_range(fake_tree_reported_ns(&tree), 160 * NS_PER_MS, fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

static void test_daemons_after_the_root(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, FAKE_ROOT);
    fake_tree_run(&tree, 101, 40 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 1);
    assert_int_equal(tree.status.live, 1);
    assert_int_equal(tree.status.live_pid, 101);
    fake_tree_finish(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    assert_int_equal(tree.status.live, 0);
    fake_tree_end(&tree);
}

static void test_without_descriptors(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    int before = fake_tree_begin_with(&tree, 0);
    fork_ten(&tree);
    for (int i = 0; i < 3; i++) {
        fake_tree_run(&tree, 105, 1000, 0);
        fake_tree_collect_after(&tree, TICK_NS);
        assert_int_equal(fake_env_open_count(), before + TREE_RESERVED);
    }
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 10);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

static void test_descriptors_are_given_back(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    int before = fake_tree_begin_with(&tree, 10);
    fork_ten(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_env_open_count(), before + 10);
    for (pid_t pid = 101; pid < 111; pid++)
        fake_tree_finish(&tree, pid);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(fake_env_open_count() <= before + 4);
    fake_tree_close(&tree);
    assert_int_equal(fake_env_open_count(), before);
    fake_tree_fini(&tree);
}

/* What was used before does not count. When the root is gone everything is 0, and stays so. */
static void test_attached(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init_attached(&tree);
    fake_tree_open(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 7 * NS_PER_SEC, 3 * NS_PER_SEC);
    fake_tree_io(&tree, FAKE_ROOT, 1 << 20, 1 << 20);
    fake_tree_fault(&tree, FAKE_ROOT, 50);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_run(&tree, 101, 2 * NS_PER_SEC, 0);
    fake_tree_baseline(&tree);
    assert_false(tree.sample.cpu.process_utime_secs.has);
    assert_int_equal(tree.status.live, 2);
    fake_tree_run(&tree, 101, 100 * NS_PER_MS, 0);
    fake_tree_fork(&tree, 102, 101, 0);
    fake_tree_run(&tree, 102, 50 * NS_PER_MS, 0);
    fake_tree_io(&tree, 102, 512, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_assert_near(tree.sample.cpu.process_utime_secs, 0.15);
    fake_tree_assert_near(tree.sample.cpu.process_cores_used, 0.150001);
    fake_tree_assert_count(tree.sample.cpu.process_disk_read_bytes, 512);
    fake_tree_assert_count(tree.sample.cpu.process_major_faults, 0);
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 2);
    for (pid_t pid = 102; pid >= FAKE_ROOT; pid--) {
        fake_tree_exit(&tree, pid);
        if (pid != FAKE_ROOT)
            fake_tree_wait(&tree, pid);
    }
    fake_tree_collect_after(&tree, TICK_NS);
    for (int i = 0; i < 2; i++) {
        /* Its number may go to another process. */
        if (i == 1)
            fake_tree_run(&tree, fake_tree_add_non_member(&tree, FAKE_ROOT)->pid, 50 * NS_PER_MS, 0);
        tree.forks.v += 300;
        fake_tree_collect_after(&tree, TICK_NS);
        fake_tree_assert_near(tree.sample.cpu.process_utime_secs, 0);
        fake_tree_assert_near(tree.sample.cpu.process_stime_secs, 0);
        fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 0);
        fake_tree_assert_count(tree.sample.cpu.process_child_count, 0);
        fake_tree_assert_count(tree.sample.cpu.process_thread_count, 0);
        fake_tree_assert_count(tree.sample.cpu.process_disk_read_bytes, 0);
        assert_int_equal(tree.status.live, 0);
        assert_int_equal(tree.status.live_pid, 0);
    }
    fake_tree_end(&tree);
}

/* The kernel brings the clock of a process that runs up to date at its ticks: one that has just waited for a child may
 * look as if it slept, for longer than a short tick. */
static void test_clock_stands_still(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_run(&tree, 101, 100 * NS_PER_MS, 0);
    fake_tree_io(&tree, 101, 4096, 8192);
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    fake_tree_collect_after(&tree, 10 * NS_PER_MS);
    fake_tree_finish(&tree, 101);
    const uint64_t waiting_ns = 1000; /* what the fake takes for it */
    struct fake_process *root = fake_tree_find(&tree, FAKE_ROOT);
    root->system_ns -= waiting_ns;
    tree.used.system_ns -= waiting_ns;
    fake_tree_write(&tree, root);
    for (int i = 0; i < 3; i++) {
        fake_tree_collect_after(&tree, 10 * NS_PER_MS);
        assert_int_equal(tree.reported.read_bytes, 4096);
    }
    fake_tree_run(&tree, FAKE_ROOT, 2000, 0);
    for (int i = 0; i < 2; i++)
        fake_tree_collect_after(&tree, 10 * NS_PER_MS);
    /* The parent knows of its children's time in whole ticks. */
    assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree));
    assert_true(fake_tree_reported_ns(&tree) + FAKE_TICK_NS > fake_tree_used_ns(&tree));
    assert_int_equal(tree.reported.read_bytes, 4096);
    fake_tree_end(&tree);
}

/* All of a subtree's time comes in one moment: what the machine cannot have given counts later, times are exact. */
static void test_cores_stay_within_the_machine(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tree.cpus = 2;
    fake_tree_collect_after(&tree, 20 * NS_PER_MS);
    fake_tree_run(&tree, FAKE_ROOT, 100 * NS_PER_MS, 0);
    static const double expected[] = {2, 2, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        fake_tree_collect_after(&tree, 20 * NS_PER_MS);
        fake_tree_assert_near(tree.sample.cpu.process_cores_used, expected[i]);
        fake_tree_assert_near(tree.sample.cpu.process_utime_secs, i == 0 ? 0.1 : 0);
    }
    /* A short final interval is taken with the one before it, and both are within the machine. */
    fake_tree_run(&tree, FAKE_ROOT, 30 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, 20 * NS_PER_MS);
    fake_tree_assert_near(tree.sample.cpu.process_cores_used, 1.5);
    fake_tree_run(&tree, FAKE_ROOT, 6 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, 4 * NS_PER_MS);
    fake_tree_assert_near(tree.sample.cpu.process_cores_used, 1.5);
    fake_tree_run(&tree, FAKE_ROOT, 500 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, 1 * NS_PER_MS);
    fake_tree_assert_near(tree.sample.cpu.process_cores_used, 2);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

/* Without a subreaper an orphan goes to init, and what it uses from then on is lost at its end. */
static void test_adopted_by_others(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, 101, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.status.is_lower_bound);
    fake_tree_finish(&tree, 101);
    fake_tree_find(&tree, 102)->parent = FAKE_INIT;
    fake_tree_run(&tree, 102, 1000, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(tree.status.is_lower_bound);
    fake_tree_end(&tree);
}

/* A PID namespace takes its processes with it, which are not waited for then. */
static void test_inner_pid_namespace(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init(&tree);
    fake_env_write(&tree.fake, "proc/10/ns/pid", "");
    fake_env_link(&tree.fake, "proc/100/ns/pid", "../../10/ns/pid");
    fake_tree_open(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_env_link(&tree.fake, "proc/101/ns/pid", "../../10/ns/pid");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.status.is_lower_bound);
    fake_tree_fork(&tree, 102, 101, 0);
    fake_env_write(&tree.fake, "proc/102/ns/pid", "");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(tree.status.is_lower_bound);
    fake_tree_end(&tree);
}

/* The link to its namespace is closed to us: its status has its numbers. */
SKIPPABLE_TEST(test_closed_pid_namespace);
static void test_closed_pid_namespace(void **unused)
{
    (void)unused;
    static const char *const numbers[] = {"NSpid:\t101\n", "NSpid:\t101\t1\n"};
    for (size_t i = 0; i < 2; i++) {
        struct fake_tree tree;
        fake_tree_init(&tree);
        fake_env_write(&tree.fake, "proc/10/ns/pid", "");
        fake_env_link(&tree.fake, "proc/100/ns/pid", "../../10/ns/pid");
        fake_tree_open(&tree);
        fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
        fake_env_write(&tree.fake, "proc/101/ns/pid", "");
        fake_tree_write_file(&tree, 101, "status", "Name:\tjob\n");
        fake_tree_write_file(&tree, 101, "status", numbers[i]);
        assert_int_equal(fchmodat(tree.fake.root.root_fd, "proc/101/ns", 0, 0), 0);
        bool is_root = geteuid() == 0;
        if (is_root && seteuid(NOBODY) != 0)
            SKIP_TEST(test_closed_pid_namespace, "the tests may not take on another user");
        fake_tree_collect_after(&tree, TICK_NS);
        if (is_root)
            assert_int_equal(seteuid(0), 0);
        assert_int_equal(fchmodat(tree.fake.root.root_fd, "proc/101/ns", 0755, 0), 0);
        assert_int_equal(tree.status.is_lower_bound, i == 1);
        fake_tree_end(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_tracked),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_counts_from_the_start),
        cmocka_unit_test(test_idle_memory_is_read_again),
        cmocka_unit_test(test_peak_between_samples),
        cmocka_unit_test(test_waited_for),
        cmocka_unit_test(test_clock_stands_still),
        cmocka_unit_test(test_cores_stay_within_the_machine),
        cmocka_unit_test(test_adopted_by_others),
        cmocka_unit_test(test_inner_pid_namespace),
        skippable_unit_test(test_closed_pid_namespace),
        cmocka_unit_test(test_never_seen),
        cmocka_unit_test(test_taken_apart),
        cmocka_unit_test(test_ignored_sigchld),
        cmocka_unit_test(test_daemons_after_the_root),
        cmocka_unit_test(test_without_descriptors),
        cmocka_unit_test(test_descriptors_are_given_back),
        cmocka_unit_test(test_attached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
