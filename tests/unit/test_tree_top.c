/* SPDX-License-Identifier: Apache-2.0 */
/* The largest processes, named when the tree's memory is at a new high. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "fake_tree.h"

#define TURN_NS NS_PER_SEC

static void set_pages(struct fake_tree *tree, pid_t pid, uint64_t pages, const char *name)
{
    struct fake_process *process = fake_tree_find(tree, pid);
    process->rss_pages = pages;
    fake_tree_write(tree, process);
    fake_tree_write_file(tree, pid, "comm", name);
    /* One that runs is read again at every tick. */
    fake_tree_run(tree, pid, 20 * NS_PER_MS, 0);
}

static const struct sample_process *listed(const struct fake_tree *tree, size_t count)
{
    assert_true(tree->sample.processes.present);
    assert_int_equal(tree->sample.processes.count, count);
    return tree->sample.processes.items;
}

static void test_new_highs_only(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tree.tracked.wants_top = true;
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    set_pages(&tree, FAKE_ROOT, 256, "sh\n");
    set_pages(&tree, 101, 1024, ") (odd\n");
    fake_tree_collect_after(&tree, TURN_NS);
    const struct sample_process *processes = listed(&tree, 2);
    assert_int_equal(processes[0].pid.v, 101);
    assert_string_equal(processes[0].name, ") (odd");
    fake_tree_assert_near(processes[0].rss_mib, 4);
    fake_tree_assert_near(processes[0].cpu_secs, 0.02);
    assert_int_equal(processes[1].pid.v, FAKE_ROOT);
    assert_string_equal(processes[1].name, "sh");
    /* The same, a little more, and less: nothing new. */
    fake_tree_collect_after(&tree, TURN_NS);
    assert_false(tree.sample.processes.present);
    set_pages(&tree, 101, 1030, "x\n");
    fake_tree_collect_after(&tree, TURN_NS);
    assert_false(tree.sample.processes.present);
    set_pages(&tree, 101, 100, "x\n");
    fake_tree_collect_after(&tree, TURN_NS);
    assert_false(tree.sample.processes.present);
    set_pages(&tree, FAKE_ROOT, 2048, "sh\n");
    fake_tree_collect_after(&tree, TURN_NS);
    processes = listed(&tree, 2);
    assert_int_equal(processes[0].pid.v, FAKE_ROOT);
    fake_tree_end(&tree);
}

/* Eight of twenty, in order; one whose name cannot be read is listed without. */
static void test_the_largest(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tree.tracked.wants_top = true;
    for (pid_t i = 0; i < 20; i++) {
        pid_t pid = 101 + i;
        fake_tree_fork(&tree, pid, FAKE_ROOT, 0);
        /* 7 and 20 have no common factor: sizes come in any order. */
        fake_tree_find(&tree, pid)->rss_pages = 1000 + (uint64_t)(i * 7 % 20) * 10;
        fake_tree_write(&tree, fake_tree_find(&tree, pid));
    }
    fake_tree_collect_after(&tree, TURN_NS);
    const struct sample_process *processes = listed(&tree, 8);
    for (size_t i = 0; i < 8; i++) {
        fake_tree_assert_near(processes[i].rss_mib, (double)(1190 - 10 * i) * 4096 / 1048576);
        assert_null(processes[i].name);
    }
    fake_tree_end(&tree);
}

static void test_not_asked_for(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TURN_NS);
    assert_false(tree.sample.processes.present);
    fake_tree_end(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_highs_only),
        cmocka_unit_test(test_the_largest),
        cmocka_unit_test(test_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
