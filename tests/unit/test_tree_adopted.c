/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that get another parent inside the tree, because one of its members is a subreaper (an init for
 * containers, a service manager): whatever inherits in the end, each amount counts once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_tree.h"

#define TICK_NS (100 * NS_PER_MS)
#define AMOUNT_NS (200 * NS_PER_MS)

static void tick(struct fake_tree *tree)
{
    fake_tree_collect_after(tree, TICK_NS);
    assert_true(fake_tree_reported_ns(tree) <= fake_tree_used_ns(tree));
    assert_true(tree->reported.read_bytes <= tree->used.read_bytes);
    assert_true(tree->reported.faults <= tree->used.faults);
}

static void use(struct fake_tree *tree, pid_t pid)
{
    fake_tree_use(tree, pid, (struct fake_amounts){.user_ns = AMOUNT_NS, .read_bytes = 4096, .faults = 3});
}

/* From the root to the last, each the child of the one before it; the last has used something and all are known. */
static void begin_chain(struct fake_tree *tree, pid_t subreaper, pid_t last)
{
    fake_tree_begin(tree);
    for (pid_t pid = FAKE_ROOT + 1; pid <= last; pid++)
        fake_tree_fork(tree, pid, pid - 1, 0);
    fake_tree_find(tree, subreaper)->is_subreaper = true;
    use(tree, last);
    tick(tree);
}

static void end_all(struct fake_tree *tree, pid_t last)
{
    for (pid_t pid = last; pid >= FAKE_ROOT; pid--) {
        if (fake_tree_find(tree, pid))
            fake_tree_finish(tree, pid);
    }
    tick(tree);
    tick(tree);
    assert_int_equal(fake_tree_reported_ns(tree), fake_tree_used_ns(tree));
    assert_int_equal(tree->reported.read_bytes, tree->used.read_bytes);
    assert_int_equal(tree->reported.faults, tree->used.faults);
    assert_int_equal(tree->status.live, 0);
    fake_tree_end(tree);
}

/* Found and read again after it has run: the new parent is known when it ends. */
static void test_seen_with_its_new_parent(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_chain(&tree, FAKE_ROOT, 103);
    fake_tree_finish(&tree, 102);
    assert_int_equal(fake_tree_find(&tree, 103)->parent, FAKE_ROOT);
    use(&tree, 103);
    tick(&tree);
    fake_tree_finish(&tree, 103);
    tick(&tree);
    tick(&tree);
    end_all(&tree, 101);
}

/* Parent and child end in the same interval; the grandparent lives on and inherits only one of them. */
static void test_both_end_at_once(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_chain(&tree, FAKE_ROOT, 103);
    fake_tree_finish(&tree, 102);
    fake_tree_finish(&tree, 103);
    tick(&tree);
    tick(&tree);
    tick(&tree);
    end_all(&tree, 101);
}

/* An orphan that sleeps is not read again, so its new parent is not known when it ends. */
static void test_ends_after_sleeping(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_chain(&tree, FAKE_ROOT, 102);
    fake_tree_finish(&tree, 101);
    tick(&tree);
    fake_tree_finish(&tree, 102);
    tick(&tree);
    tick(&tree);
    end_all(&tree, 101);
}

struct late_end {
    struct fake_tree *tree;
    pid_t at, ending;
};

static void end_at_clock(void *context, pid_t pid)
{
    struct late_end *late = context;
    if (pid == late->at && fake_tree_find(late->tree, late->ending))
        fake_tree_finish(late->tree, late->ending);
}

/* The same in the middle of a tick, when the new parent is about to be read. */
static void test_ends_before_its_new_parent_is_read(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin_chain(&tree, 101, 103);
    fake_tree_finish(&tree, 102);
    tick(&tree);
    struct late_end late = {.tree = &tree, .at = 101, .ending = 103};
    tree.on_clock = end_at_clock;
    tree.on_clock_context = &late;
    tick(&tree);
    tree.on_clock = NULL;
    tick(&tree);
    end_all(&tree, 101);
}

/* The members of the command's own group come in any order. */
static void test_group_lists_children_first(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init(&tree);
    tree.tracked.group_dir = "sys/group";
    fake_env_write(&tree.fake, "sys/group/cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\n");
    fake_env_write(&tree.fake, "sys/group/cgroup.procs", "102\n101\n100\n");
    fake_tree_open(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, 101, 0);
    use(&tree, 102);
    tick(&tree);
    fake_tree_finish(&tree, 102);
    fake_env_write(&tree.fake, "sys/group/cgroup.procs", "101\n100\n");
    tick(&tree);
    tick(&tree);
    assert_int_equal(tree.reported.read_bytes, tree.used.read_bytes);
    assert_int_equal(tree.reported.faults, tree.used.faults);
    fake_tree_end(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seen_with_its_new_parent),
        cmocka_unit_test(test_both_end_at_once),
        cmocka_unit_test(test_ends_after_sleeping),
        cmocka_unit_test(test_ends_before_its_new_parent_is_read),
        cmocka_unit_test(test_group_lists_children_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
