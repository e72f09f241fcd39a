/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the tree that cannot be seen: they are unknown, never 0, and right again once they can be reported in full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "fake_tree.h"

#define TICK_NS NS_PER_SEC

/* hidepid: no directory, but the clock can be read. */
static void test_hidden(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_hide(&tree, 101);
    fake_tree_run(&tree, 101, 333 * NS_PER_MS, 0);
    fake_tree_fault(&tree, FAKE_ROOT, 5);
    fake_tree_io(&tree, FAKE_ROOT, 512, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_cpu *cpu = &tree.sample.cpu;
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_assert_count(cpu->process_child_count, 1);
    assert_false(cpu->process_thread_count.has);
    assert_false(cpu->process_rss_mib.has);
    assert_false(cpu->process_major_faults.has);
    assert_false(cpu->process_disk_read_bytes.has);
    fake_tree_fault(&tree, 101, 2);
    fake_tree_io(&tree, 101, 1024, 0);
    fake_tree_finish(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree));
    assert_true(fake_tree_reported_ns(&tree) + 2 * FAKE_TICK_NS > fake_tree_used_ns(&tree));
    assert_int_equal(tree.reported.read_bytes, 1536);
    /* What could not be reported while one was hidden is reported now. */
    assert_int_equal(tree.reported.faults, 7);
    fake_tree_finish(&tree, FAKE_ROOT);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

/* A hidden process whose number goes to another one, also hidden, which has used less. */
static void test_hidden_number_is_used_again(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_hide(&tree, 101);
    fake_tree_run(&tree, 101, 300 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, 101);
    fake_tree_add_non_member(&tree, 101);
    fake_tree_hide(&tree, 101);
    fake_tree_run(&tree, 101, 10 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_assert_count(tree.sample.cpu.process_child_count, 0);
    assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree));
    fake_tree_end(&tree);
}

struct replacement {
    struct fake_tree *tree;
    int calls;
};

/* The clock is asked, then the stat is not there, then the clock is asked again. */
static void replace_at_clock(void *context, pid_t pid)
{
    struct replacement *replacement = context;
    if (pid == 101 && ++replacement->calls == 3)
        fake_tree_run(replacement->tree, fake_tree_add_non_member(replacement->tree, 101)->pid, NS_PER_SEC, 0);
}

/* One is gone and its number is used again while it is being read: it is not hidden, it is gone. */
static void test_number_is_used_again_meanwhile(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    (void)fake_tree_begin_with(&tree, 0);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_use(&tree, 101, (struct fake_amounts){.user_ns = 100 * NS_PER_MS, .read_bytes = 512, .faults = 3});
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, 101);
    struct replacement replacement = {.tree = &tree};
    tree.on_clock = replace_at_clock;
    tree.on_clock_context = &replacement;
    for (int i = 0; i < 3; i++)
        fake_tree_collect_after(&tree, TICK_NS);
    assert_true(replacement.calls >= 3);
    assert_true(fake_tree_reported_ns(&tree) <= fake_tree_used_ns(&tree));
    assert_int_equal(tree.reported.read_bytes, 512);
    assert_int_equal(tree.reported.faults, 3);
    assert_int_equal(tree.status.live, 1);
    fake_tree_end(&tree);
}

static void make_foreign(struct fake_tree *tree, pid_t pid, const char *io)
{
    fake_tree_find(tree, pid)->is_foreign = true;
    fake_env_remove(&tree->fake, io);
    fake_env_mkdir(&tree->fake, io);
}

/* Its io cannot be read: unknown, with a reason, and right at the end. */
static void test_foreign_io(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    make_foreign(&tree, 101, "proc/101/io");
    fake_tree_io(&tree, 101, 2048, 512);
    fake_tree_io(&tree, FAKE_ROOT, 512, 1024);
    for (int i = 0; i < 2; i++) {
        fake_tree_collect_after(&tree, TICK_NS);
        assert_false(tree.sample.cpu.process_disk_read_bytes.has);
        assert_false(tree.sample.cpu.process_disk_write_bytes.has);
        assert_true(tree.sample.cpu.process_rss_mib.has);
        assert_true(tree.sample.cpu.process_major_faults.has);
        assert_int_equal(tree.err.code, -EISDIR);
        assert_non_null(strstr(tree.err.msg, "/proc/101/io"));
    }
    fake_tree_finish(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(tree.err.code, 0);
    assert_int_equal(tree.reported.read_bytes, 2560);
    assert_int_equal(tree.reported.write_bytes, 1536);
    make_foreign(&tree, FAKE_ROOT, "proc/100/io");
    fake_tree_io(&tree, FAKE_ROOT, 4096, 0);
    fake_tree_finish(&tree, FAKE_ROOT);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(tree.reported.read_bytes, tree.used.read_bytes);
    assert_int_equal(tree.reported.write_bytes, tree.used.write_bytes);
    fake_tree_end(&tree);
}

/* A kernel that does not account for I/O: no number and no complaint. */
static void test_no_io_at_all(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_find(&tree, FAKE_ROOT)->has_no_io = true;
    fake_env_remove(&tree.fake, "proc/100/io");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.cpu.process_disk_read_bytes.has);
    assert_int_equal(tree.err.code, 0);
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 1);
    fake_tree_end(&tree);
}

/* One is gone between the reading of its stat and of its io: the kernel accounts for I/O all the same. */
static void test_gone_before_its_io(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0)->has_no_io = true;
    fake_env_remove(&tree.fake, "proc/101/io");
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, 101);
    fake_tree_io(&tree, FAKE_ROOT, 512, 512);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_assert_count(tree.sample.cpu.process_disk_read_bytes, 512);
    fake_tree_end(&tree);
}

static void test_broken_files(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 20 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_run(&tree, FAKE_ROOT, 20 * NS_PER_MS, 0);
    fake_tree_write_file(&tree, FAKE_ROOT, "stat", "100 (job");
    fake_tree_write_file(&tree, FAKE_ROOT, "io", "read_bytes: 5");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(tree.status.live, 1);
    assert_false(tree.sample.cpu.process_rss_mib.has);
    assert_false(tree.sample.cpu.process_disk_read_bytes.has);
    assert_int_equal(tree.err.code, -EINVAL);
    fake_tree_run(&tree, FAKE_ROOT, 20 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    fake_tree_assert_near(tree.sample.cpu.process_rss_mib, 1);
    fake_tree_end(&tree);
}

/* A proc that calls processes by other numbers: the clock of the root, and at the end wait4. */
static void test_another_namespace(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init(&tree);
    tree.fake.root.names_us = false;
    fake_tree_open(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 200 * NS_PER_MS, 100 * NS_PER_MS);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_run(&tree, 101, 500 * NS_PER_MS, 0);
    fake_tree_io(&tree, 101, 512, 1024);
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_cpu *cpu = &tree.sample.cpu;
    fake_tree_assert_near(cpu->process_cores_used, 0.300001);
    assert_false(cpu->process_utime_secs.has);
    assert_false(cpu->process_rss_mib.has);
    assert_false(cpu->process_child_count.has);
    assert_false(cpu->process_disk_read_bytes.has);
    assert_int_equal(tree.err.code, -ENOTSUP);
    assert_int_equal(tree.status.live, 1);
    assert_int_equal(tree.status.live_pid, FAKE_ROOT);
    fake_tree_finish(&tree, 101);
    fake_tree_finish(&tree, FAKE_ROOT);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(fake_tree_reported_ns(&tree), fake_tree_used_ns(&tree));
    assert_int_equal(tree.reported.user_ns, 700 * NS_PER_MS);
    fake_tree_assert_count(cpu->process_disk_read_bytes, 512);
    fake_tree_assert_count(cpu->process_disk_write_bytes, 1024);
    assert_int_equal(tree.status.live, 0);
    assert_int_equal(tree.status.live_pid, 0);
    fake_tree_end(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_hidden_number_is_used_again),
        cmocka_unit_test(test_number_is_used_again_meanwhile),
        cmocka_unit_test(test_foreign_io),
        cmocka_unit_test(test_no_io_at_all),
        cmocka_unit_test(test_gone_before_its_io),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_another_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
