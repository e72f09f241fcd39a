/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding members on a kernel that does not list children: all of proc is read, non-members once. A non-member
 * whose stat says something else later is how a second look would be noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/tree/read.h"
#include "fake_tree.h"

#define TICK_NS (100 * NS_PER_MS)

static void open_without_lists(struct fake_tree *tree)
{
    tree->lists_children = false;
    fake_env_remove(&tree->fake, "proc/1/task");
    fake_env_remove(&tree->fake, "proc/10/task");
    fake_env_remove(&tree->fake, "proc/100/task");
    fake_tree_open(tree);
}

static void begin(struct fake_tree *tree)
{
    fake_tree_init(tree);
    open_without_lists(tree);
}

/* A tick after so many births elsewhere, and how many children it finds. */
static void tick(struct fake_tree *tree, uint64_t births, uint64_t children)
{
    tree->forks.v += births;
    tree->last_pid.v += births;
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_assert_count(tree->sample.cpu.process_child_count, children);
}

/* In the first tick already, whatever the numbers: children may have smaller ones than their parents. */
static void test_finds_all(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_fork(&tree, 150, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 140, 150, 0);
    fake_tree_fork(&tree, 130, 140, 0);
    fake_tree_fork(&tree, 120, 130, 0);
    fake_tree_fork(&tree, 160, 120, 0);
    fake_tree_add_non_member(&tree, 151);
    fake_tree_fork(&tree, 152, 151, 0);
    tick(&tree, 0, 5);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

static void test_orphans(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, 101, 0);
    fake_tree_finish(&tree, 101);
    tick(&tree, 0, 1);
    fake_tree_end(&tree);
}

static void test_non_members_are_read_once(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    for (pid_t pid = 200; pid < 220; pid++)
        fake_tree_add_non_member(&tree, pid);
    tick(&tree, 0, 0);
    struct fake_process *non_member = fake_tree_find(&tree, 210);
    non_member->parent = FAKE_TRACKER;
    fake_tree_write(&tree, non_member);
    for (int i = 0; i < 5; i++) {
        fake_tree_fork(&tree, (pid_t)(101 + i), FAKE_ROOT, 0);
        tick(&tree, 10, (uint64_t)i + 1);
    }
    /* Numbers may have come round. */
    tick(&tree, 5000, 6);
    fake_tree_end(&tree);
}

/* A number that is free for a tick is a new process when it is there again. */
static void test_non_members_are_released(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_add_non_member(&tree, 200);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_vanish(&tree, 200);
    tick(&tree, 1, 0);
    fake_tree_fork(&tree, 200, FAKE_ROOT, 0);
    tick(&tree, 0, 1);
    fake_tree_end(&tree);
}

static void test_gate(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_close_gate(&tree);
    fake_tree_add(&tree, 101, FAKE_ROOT);
    tick(&tree, 0, 0);
    tick(&tree, 1, 1);
    fake_tree_end(&tree);
}

/* Listed, but gone before it is read. Its child has the tracker as parent by the next tick. */
static void test_gone_while_scanning(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_env_mkdir(&tree.fake, "proc/101");
    struct fake_process *child = fake_tree_fork(&tree, 102, FAKE_ROOT, 0);
    child->parent = 101;
    fake_tree_write(&tree, child);
    tick(&tree, 0, 0);
    fake_env_remove(&tree.fake, "proc/101");
    child->parent = FAKE_TRACKER;
    fake_tree_write(&tree, child);
    tick(&tree, 1, 1);
    fake_tree_end(&tree);
}

static void test_helpers(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    helpers_add(&tree.helpers, 101);
    fake_tree_fork(&tree, 101, FAKE_TRACKER, 0)->is_non_member = true;
    fake_tree_collect_after(&tree, TICK_NS);
    tick(&tree, 1, 0);
    assert_int_equal(tree.status.live, 1);
    fake_tree_end(&tree);
}

static void test_attached(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init_attached(&tree);
    open_without_lists(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 103, FAKE_TRACKER, 0);
    fake_tree_baseline(&tree);
    fake_tree_fork(&tree, 102, 101, 0);
    tick(&tree, 0, 2);
    fake_tree_end(&tree);
}

static void test_no_descriptor_is_left(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init(&tree);
    int before = fake_env_open_count();
    fake_tree_fini(&tree);
    begin(&tree);
    tree.fake.env.descriptors = 0;
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    for (int i = 0; i < 3; i++)
        tick(&tree, 1, 1);
    assert_int_equal(fake_env_open_count(), before + TREE_RESERVED + 1); /* the listing */
    fake_tree_close(&tree);
    assert_int_equal(fake_env_open_count(), before);
    fake_tree_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_all),
        cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_non_members_are_read_once),
        cmocka_unit_test(test_non_members_are_released),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_gone_while_scanning),
        cmocka_unit_test(test_helpers),
        cmocka_unit_test(test_attached),
        cmocka_unit_test(test_no_descriptor_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
