/* SPDX-License-Identifier: Apache-2.0 */
/* How the tree finds its members, and what it leaves alone. What was found is seen in the counts and the CPU time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/tree/read.h"
#include "fake_tree.h"

#define TICK_NS (100 * NS_PER_MS)

/* How many children a tick finds. */
static void tick_after(struct fake_tree *tree, int64_t ns, uint64_t children)
{
    fake_tree_collect_after(tree, ns);
    fake_tree_assert_count(tree->sample.cpu.process_child_count, children);
}

static void tick(struct fake_tree *tree, uint64_t children)
{
    tick_after(tree, TICK_NS, children);
}

/* A child of the root, which has run to make it; nothing else shows the birth. */
static void add_child(struct fake_tree *tree, pid_t pid)
{
    fake_tree_add(tree, pid, FAKE_ROOT);
    fake_tree_run(tree, FAKE_ROOT, 1000, 0);
}

/* The first tick is over, and then there is 101. */
static void begin_with_a_birth(struct fake_tree *tree)
{
    fake_tree_begin(tree);
    tick(tree, 0);
    fake_tree_close_gate(tree);
    add_child(tree, 101);
}

/* 101 was a member and has been waited for. */
static void begin_with_a_free_number(struct fake_tree *tree, size_t descriptors)
{
    fake_tree_begin(tree);
    tree->fake.env.descriptors = descriptors;
    fake_tree_fork(tree, 101, FAKE_ROOT, 0);
    fake_tree_run(tree, 101, 50 * NS_PER_MS, 0);
    tick(tree, 1);
    fake_tree_finish(tree, 101);
}

static void give_root_threads(struct fake_tree *tree, size_t threads)
{
    fake_tree_find(tree, FAKE_ROOT)->threads = threads;
    fake_tree_write_children(tree, FAKE_ROOT);
}

static void test_whole_tree_at_once(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, 101, 0);
    fake_tree_fork(&tree, 103, 102, 0);
    fake_tree_run(&tree, 103, 5000, 6000);
    fake_tree_add_non_member(&tree, 104);
    fake_tree_run(&tree, 104, 1000000, 0);
    tick(&tree, 3);
    assert_int_equal(tree.status.live, 4);
    assert_int_equal(fake_tree_reported_ns(&tree), 14000); /* three forks of 1 us */
    fake_tree_end(&tree);
}

/* No process was born: no list is read. In a PID namespace others are born whose numbers are not seen. */
static void test_gate(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_with_a_birth(&tree);
    tick(&tree, 0);
    tree.forks.v++;
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tick(&tree, 0);
    tree.forks.v++;
    tree.last_pid.v = 101;
    tick(&tree, 1);
    fake_tree_end(&tree);
}

static void test_gate_with_many_births(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_with_a_birth(&tree);
    tree.forks.v += 256; /* the numbers may have come round */
    tick(&tree, 1);
    fake_tree_end(&tree);
}

static void test_gate_without_counts(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_with_a_birth(&tree);
    tree.forks.has = false;
    tick(&tree, 1);
    add_child(&tree, 102);
    tree.forks = some_u64(2000);
    tree.last_pid.has = false;
    tick(&tree, 2);
    fake_tree_end(&tree);
}

/* A process is born after forks was read and before last_pid was. */
static void test_gate_between_two_readings(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_with_a_birth(&tree);
    tree.last_pid.v = 101;
    fake_tree_collect_after(&tree, TICK_NS);
    tree.forks.v++;
    tick(&tree, 1);
    fake_tree_end(&tree);
}

/* A number is given before its process is there to be seen, and is counted even later. */
static void test_gate_with_a_slow_birth(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    tree.last_pid.v = 101;
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    add_child(&tree, 101);
    tree.forks.v++;
    tick(&tree, 1);
    fake_tree_end(&tree);
}

/* One that has not run has no new children either, but now and then it is asked all the same. */
static void test_idle_parents(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_add(&tree, 101, FAKE_ROOT);
    tree.forks.v++;
    tree.last_pid.v = 101;
    tick(&tree, 0);
    tree.forks.v++;
    tree.last_pid.v = 999;
    tick_after(&tree, COLLECT_SLOW_NS, 1);
    fake_tree_end(&tree);
}

static void test_children_of_second_threads(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    give_root_threads(&tree, 3);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 2);
    fake_tree_fork(&tree, 102, FAKE_ROOT, 0);
    tick(&tree, 2);
    assert_int_equal(tree.sample.cpu.process_thread_count.v, 5);
    /* The third thread ends, a fourth begins. */
    fake_tree_find(&tree, 101)->by_thread = 1;
    fake_env_remove(&tree.fake, "proc/100/task/200100");
    give_root_threads(&tree, 2);
    fake_tree_fork(&tree, 103, FAKE_ROOT, 1);
    tick(&tree, 3);
    fake_tree_end(&tree);
}

static void test_threads_without_descriptors(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    int before = fake_tree_begin_with(&tree, 0);
    give_root_threads(&tree, 40);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 39);
    tick(&tree, 1);
    fake_tree_fork(&tree, 102, FAKE_ROOT, 20);
    tick(&tree, 2);
    assert_int_equal(fake_env_open_count(), before + TREE_RESERVED);
    fake_tree_end(&tree);
}

/* The counter of births stands still for good, as in gVisor, or there is none. */
static void test_gate_with_a_counter_that_stands_still(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct fake_tree tree;
        fake_tree_begin(&tree);
        tree.forks.has = i == 0;
        tree.last_pid.v = 0;
        fake_tree_baseline(&tree);
        tick(&tree, 0);
        add_child(&tree, 101);
        tick(&tree, 1);
        add_child(&tree, 102);
        tick(&tree, 2);
        fake_tree_end(&tree);
    }
}

/* One that has moved once and stands still then: at the latest after ten seconds. */
static void test_gate_is_not_closed_for_ever(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_with_a_birth(&tree);
    tick(&tree, 0);
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tick_after(&tree, COLLECT_SLOW_NS - 3 * TICK_NS, 0);
    tick(&tree, 1);
    fake_tree_end(&tree);
}

/* A parent that forks may show an unchanged clock in that very tick, and that it has run only in the next. */
static void test_gate_with_a_clock_that_is_late(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tick(&tree, 0);
    fake_tree_close_gate(&tree);
    fake_tree_add(&tree, 101, FAKE_ROOT);
    tree.forks.v++;
    tree.last_pid.v = 101;
    tick(&tree, 0);
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tick(&tree, 1);
    fake_tree_end(&tree);
}

/* A thousand threads are asked every ten seconds, but the first one always, and new numbers are tried: children of any
 * thread are there in the next tick. */
static void test_children_of_a_thousand_threads(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_find(&tree, FAKE_ROOT)->threads = 1000;
    fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
    give_root_threads(&tree, 1000);
    tick(&tree, 0);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    tree.last_pid.has = false;
    tick(&tree, 1);
    fake_tree_close_gate(&tree);
    tree.last_pid = some_u64(101);
    for (int i = 0; i < 2; i++)
        fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_fork(&tree, 110, FAKE_ROOT, 700);
    fake_tree_fork(&tree, 112, 110, 0);
    fake_tree_add_non_member(&tree, 111);
    tick(&tree, 3);
    /* Numbers that have come round, and more than are worth trying, wait for the lists. */
    fake_tree_fork(&tree, 99, FAKE_ROOT, 701);
    tick(&tree, 3);
    fake_tree_fork(&tree, 5000, FAKE_ROOT, 702);
    tick(&tree, 3);
    tick_after(&tree, 10 * NS_PER_SEC, 5);
    fake_tree_end(&tree);
}

/* 100 threads are asked once a second; one that is due meanwhile is asked all the same. */
static void test_many_threads(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tree.last_pid.has = false;
    give_root_threads(&tree, 100);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 99);
    tick(&tree, 1);
    fake_tree_fork(&tree, 102, FAKE_ROOT, 50);
    tick_after(&tree, 500 * NS_PER_MS, 1);
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tick_after(&tree, 400 * NS_PER_MS, 1);
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tick_after(&tree, 100 * NS_PER_MS, 2);
    fake_tree_end(&tree);
}

/* The same where it does not run any more. */
static void test_many_threads_then_idle(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tree.last_pid.has = false;
    give_root_threads(&tree, 100);
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 50);
    tick_after(&tree, 500 * NS_PER_MS, 0);
    tick_after(&tree, 600 * NS_PER_MS, 1);
    fake_tree_end(&tree);
}

static void test_orphans(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, 101, 0);
    fake_tree_finish(&tree, 101);
    assert_int_equal(fake_tree_find(&tree, 102)->parent, FAKE_TRACKER);
    fake_tree_run(&tree, 102, 3000, 0);
    tick(&tree, 1);
    assert_int_equal(tree.status.live, 2);
    fake_tree_end(&tree);
}

static void test_helpers_are_no_members(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    helpers_add(&tree.helpers, 101);
    fake_tree_fork(&tree, 101, FAKE_TRACKER, 0)->is_non_member = true;
    fake_tree_run(&tree, 101, 7000, 0);
    tick(&tree, 0);
    assert_int_equal(tree.reported.user_ns, 0);
    /* Nor is the tracker itself, if a list says so. */
    fake_tree_write_file(&tree, FAKE_TRACKER, "task/10/children", "10 100 101 ");
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tree.forks.v++;
    tree.last_pid.v = 7;
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(tree.status.live, 1);
    fake_tree_end(&tree);
}

/* Lists that name a process that is gone, that is not ours, or nothing that makes sense. */
static void test_odd_lists(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_add_non_member(&tree, 104);
    fake_tree_add(&tree, 101, FAKE_ROOT);
    fake_tree_write_file(&tree, FAKE_ROOT, "task/100/children", "777 104 0 100 101 99999999999 5");
    tick(&tree, 1);
    fake_tree_write_file(&tree, FAKE_ROOT, "task/100/children", "x 101");
    tree.forks.v += 300;
    fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
    tick(&tree, 1);
    fake_tree_end(&tree);
}

static void test_odd_names(void **unused)
{
    (void)unused;
    static const char *const names[] = {") (", "a\nb", ") Z 1 1 1 (", "", "(((", "))) R 100 (x"};
    struct fake_tree tree;
    fake_tree_begin(&tree);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fake_process *process = fake_tree_fork(&tree, (pid_t)(101 + i), FAKE_ROOT, 0);
        process->name = names[i];
        fake_tree_run(&tree, process->pid, 1000, 0);
    }
    tick(&tree, sizeof(names) / sizeof(names[0]));
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

/* The number of one that was waited for goes to a new process in the same interval. */
static void test_number_used_again_at_once(void **unused)
{
    (void)unused;
    static const size_t descriptors[] = {64, 0};
    for (size_t i = 0; i < 2; i++) {
        struct fake_tree tree;
        begin_with_a_free_number(&tree, descriptors[i]);
        fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
        fake_tree_run(&tree, 101, 10 * NS_PER_MS, 0);
        fake_tree_collect_after(&tree, TICK_NS);
        fake_tree_run(&tree, FAKE_ROOT, 1000, 0);
        tick(&tree, 1);
        assert_in_range(
            fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree) - 2 * FAKE_TICK_NS, fake_tree_used_ns(&tree));
        fake_tree_end(&tree);
    }
}

static void test_number_used_by_a_non_member(void **unused)
{
    (void)unused;
    static const size_t descriptors[] = {64, 0};
    for (size_t i = 0; i < 2; i++) {
        struct fake_tree tree;
        begin_with_a_free_number(&tree, descriptors[i]);
        fake_tree_add_non_member(&tree, 101);
        fake_tree_run(&tree, 101, 7 * NS_PER_SEC, 0);
        tick(&tree, 0);
        assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree));
        assert_true(fake_tree_reported_ns(&tree) >= 50 * NS_PER_MS);
        fake_tree_end(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_tree_at_once),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_gate_with_many_births),
        cmocka_unit_test(test_gate_without_counts),
        cmocka_unit_test(test_gate_between_two_readings),
        cmocka_unit_test(test_gate_with_a_slow_birth),
        cmocka_unit_test(test_gate_with_a_counter_that_stands_still),
        cmocka_unit_test(test_gate_is_not_closed_for_ever),
        cmocka_unit_test(test_gate_with_a_clock_that_is_late),
        cmocka_unit_test(test_idle_parents),
        cmocka_unit_test(test_children_of_second_threads),
        cmocka_unit_test(test_threads_without_descriptors),
        cmocka_unit_test(test_children_of_a_thousand_threads),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_many_threads_then_idle),
        cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_helpers_are_no_members),
        cmocka_unit_test(test_odd_lists),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_number_used_again_at_once),
        cmocka_unit_test(test_number_used_by_a_non_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
