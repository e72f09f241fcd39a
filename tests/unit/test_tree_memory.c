/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory of a member counts: address spaces that two have, copies that were forked only now, dead first threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "collect/tree/read.h"
#include "fake_tree.h"

#define TICK_NS NS_PER_SEC
enum { BIG_PAGES = 25600, BIG_MIB = 100, CHILD = 101, THREAD = 777 };

static void set_root_pages(struct fake_tree *tree, uint64_t pages)
{
    struct fake_process *root = fake_tree_find(tree, FAKE_ROOT);
    root->rss_pages = pages;
    root->vsize_bytes = pages * 4096 + 1000000;
    fake_tree_run(tree, FAKE_ROOT, 1000, 0);
}

static void write_file(struct fake_tree *tree, pid_t pid, const char *name, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, name);
    fake_env_write(&tree->fake, path, text);
}

static const char whole_rollup[] = "1000-2000 ---p 00000000 00:00 0 [rollup]\nRss: 102400 kB\nPss: 102400 kB\n"
                                   "Pss_Anon: 102400 kB\nAnonymous: 102400 kB\n";

/* A root of 100 MiB, and a child that has not executed anything yet: the same as its parent but for the number. */
static struct fake_process *begin_with_child(struct fake_tree *tree, int64_t age_ns)
{
    fake_tree_init(tree);
    tree->tracked.pss = TRACKED_PSS_AUTO;
    fake_tree_open(tree);
    tree->tracked.wants_top = true;
    set_root_pages(tree, BIG_PAGES);
    write_file(tree, FAKE_ROOT, "smaps_rollup", whole_rollup);
    fake_tree_collect_after(tree, TICK_NS);
    struct fake_process *child = fake_tree_fork(tree, CHILD, FAKE_ROOT, 0), *root = fake_tree_find(tree, FAKE_ROOT);
    /* What the clock will say at the tick, in ticks. */
    child->start_ticks = (uint64_t)((tree->fake.mono_ns + TICK_NS - age_ns) / FAKE_TICK_NS);
    child->rss_pages = root->rss_pages;
    child->vsize_bytes = root->vsize_bytes;
    child->has_not_execed = true;
    fake_tree_write(tree, child);
    return child;
}

static void tick(struct fake_tree *tree, double rss_mib)
{
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_assert_near(tree->sample.cpu.process_rss_mib, rss_mib);
}

static void execute(struct fake_tree *tree, struct fake_process *child, uint64_t pages)
{
    child->memory_of = 0;
    child->has_not_execed = false;
    child->rss_pages = pages;
    child->vsize_bytes = pages * 4096;
    fake_tree_run(tree, child->pid, 1000, 0);
}

/* Between vfork and exec. The comparison is asked for as long as it says yes. */
static void test_one_address_space_counts_once(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct fake_process *child = begin_with_child(&tree, TICK_NS / 2);
    child->memory_of = FAKE_ROOT;
    set_root_pages(&tree, BIG_PAGES + 1024);
    child->rss_pages = BIG_PAGES + 1024;
    fake_tree_write(&tree, child);
    tick(&tree, BIG_MIB + 4);
    assert_int_equal(tree.sample.processes.count, 1);
    set_root_pages(&tree, BIG_PAGES);
    child->rss_pages = BIG_PAGES;
    fake_tree_run(&tree, CHILD, 1000, 0);
    tree.comparisons = 0;
    for (size_t i = 1; i < 4; i++) {
        tick(&tree, BIG_MIB);
        assert_int_equal(tree.comparisons, i);
        fake_tree_assert_count(tree.sample.cpu.process_child_count, 1);
        assert_false(tree.sample.processes.present);
    }
    fake_tree_assert_near(tree.sample.cpu.process_peak_rss_mib, BIG_MIB + 4);
    assert_int_equal(tree.status.largest_rss_bytes, (BIG_MIB + 4) << 20);
    execute(&tree, child, 512);
    tick(&tree, BIG_MIB + 2);
    assert_int_equal(tree.comparisons, 3);
    fake_tree_end(&tree);
}

/* A fork that goes on as it is has memory of its own: that is asked once. */
static void test_a_copy_counts(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    (void)begin_with_child(&tree, TICK_NS / 2);
    for (int i = 0; i < 3; i++)
        tick(&tree, 2 * BIG_MIB);
    assert_int_equal(tree.comparisons, 1);
    assert_int_equal(tree.status.largest_rss_bytes, BIG_MIB << 20);
    fake_tree_end(&tree);
}

/* One that was forked a moment ago adds what it has more than its parent, and costs nothing. */
static void test_newborn(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct fake_process *child = begin_with_child(&tree, 50 * NS_PER_MS);
    child->rss_pages += 256;
    fake_tree_write(&tree, child);
    tick(&tree, BIG_MIB + 1);
    assert_int_equal(tree.comparisons, 0);
    tick(&tree, 2 * BIG_MIB + 1);
    assert_int_equal(tree.comparisons, 1);
    fake_tree_end(&tree);
}

/* A copy in its first second, with so many minor faults, and pages of files; its PSS cannot be read. */
static double pss_with_copy(uint64_t faults, uint64_t file_pages)
{
    struct fake_tree tree;
    struct fake_process *child = begin_with_child(&tree, TICK_NS / 2);
    char statm[64];
    (void)snprintf(statm, sizeof(statm), "30000 %d %d 1 0 2 0\n", (int)BIG_PAGES, (int)file_pages);
    write_file(&tree, CHILD, "statm", statm);
    child->minor_faults = faults;
    fake_tree_write(&tree, child);
    tick(&tree, 2 * BIG_MIB);
    assert_true(tree.sample.cpu.process_pss_mib.has);
    double mib = tree.sample.cpu.process_pss_mib.v;
    fake_tree_end(&tree);
    return mib;
}

/* What it has written to since the fork is its own; faults on pages of files are none of that. */
static void test_a_copy_that_writes(void **unused)
{
    (void)unused;
    assert_true(pss_with_copy(0, 512) == BIG_MIB);
    assert_true(pss_with_copy(PSS_COPY_PAGES / 2, 512) == BIG_MIB + 2); /* of files or not: too few to ask */
    assert_true(pss_with_copy(BIG_PAGES / 8, 512) == BIG_MIB * 1.125 - 2);
    assert_true(pss_with_copy(BIG_PAGES / 2 + 512, 512) == BIG_MIB * 1.5);
    assert_true(pss_with_copy(BIG_PAGES + 512, 0) == 2 * BIG_MIB);
    assert_true(pss_with_copy(4 * BIG_PAGES, 512) == 2 * BIG_MIB - 2);
    assert_true(pss_with_copy(BIG_PAGES - 512, BIG_PAGES - 512) == BIG_MIB);
}

/* It executes its program between the reading of its stat and the comparison. */
static int exec_and_compare(void *context, pid_t a, pid_t b)
{
    struct fake_tree *tree = context;
    (void)a;
    execute(tree, fake_tree_find(tree, b), 256);
    return 0;
}

static void test_exec_before_the_comparison(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct fake_process *child = begin_with_child(&tree, TICK_NS / 2);
    child->memory_of = FAKE_ROOT;
    tree.fake.env.same_memory = exec_and_compare;
    tick(&tree, BIG_MIB + 1);
    fake_tree_end(&tree);
}

/* Without kcmp: the parent waits, and both have the same sizes. */
static void test_without_kcmp(void **unused)
{
    (void)unused;
    static const int errors[] = {-EPERM, -ENOSYS};
    for (size_t i = 0; i < 2; i++) {
        struct fake_tree tree;
        struct fake_process *child = begin_with_child(&tree, TICK_NS / 2);
        tree.same_memory_error = errors[i];
        fake_tree_find(&tree, FAKE_ROOT)->state = 'D';
        fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
        tick(&tree, BIG_MIB);
        tick(&tree, BIG_MIB);
        assert_int_equal(tree.comparisons, errors[i] == -ENOSYS ? 1 : 2);
        execute(&tree, child, 256);
        tick(&tree, BIG_MIB + 1);
        fake_tree_end(&tree);
    }
}

/* A parent that does not wait has made a copy; one that waits for something else has as well, if the sizes differ. */
static void test_copies_without_kcmp(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct fake_tree tree;
        struct fake_process *child = begin_with_child(&tree, TICK_NS / 2);
        tree.same_memory_error = -EPERM;
        fake_tree_find(&tree, FAKE_ROOT)->state = i == 0 ? 'S' : 'D';
        fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
        child->rss_pages -= i == 0 ? 0 : 256;
        fake_tree_write(&tree, child);
        tick(&tree, 2 * BIG_MIB - (i == 0 ? 0 : 1));
        fake_tree_end(&tree);
    }
}

/* The parent has other threads that go on, so its first one shows nothing. */
static void test_threads_without_kcmp(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    (void)begin_with_child(&tree, TICK_NS / 2);
    tree.same_memory_error = -EPERM;
    fake_tree_find(&tree, FAKE_ROOT)->threads = 5;
    fake_tree_write_children(&tree, FAKE_ROOT);
    fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
    tick(&tree, BIG_MIB);
    fake_tree_end(&tree);
}

/* The parent ends: what has the memory then, has it alone. */
static void test_parent_ends(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct fake_process *child = begin_with_child(&tree, TICK_NS / 2);
    child->memory_of = FAKE_ROOT;
    tick(&tree, BIG_MIB);
    fake_tree_finish(&tree, FAKE_ROOT);
    tick(&tree, BIG_MIB);
    fake_tree_end(&tree);
}

static void write_thread(struct fake_tree *tree, pid_t tid, uint64_t pages, char state)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof(path), "task/%d/children", (int)tid);
    fake_tree_write_file(tree, FAKE_ROOT, path, "");
    (void)snprintf(text, sizeof(text),
        "%d (job) %c %d 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 2 0 7 %llu %llu 1 1 2 3 4 5 0 0 0 0 1 0 0 17\n", (int)tid,
        state, FAKE_TRACKER, (unsigned long long)pages * 8192, (unsigned long long)pages);
    fake_tree_write_file(tree, tid, "stat", text);
}

static void end_first_thread(struct fake_tree *tree)
{
    struct fake_process *root = fake_tree_find(tree, FAKE_ROOT);
    root->state = 'Z';
    root->threads = 2;
    root->rss_pages = root->vsize_bytes = 0;
    fake_tree_run(tree, FAKE_ROOT, 1000, 0);
}

static void test_dead_first_thread(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    end_first_thread(&tree);
    write_thread(&tree, THREAD - 1, 0, 'Z');
    write_thread(&tree, THREAD, BIG_PAGES, 'S');
    tick(&tree, BIG_MIB);
    assert_int_equal(tree.status.live, 1);
    write_thread(&tree, THREAD, BIG_PAGES + 256, 'S');
    tick(&tree, BIG_MIB + 1);
    /* That one ends as well, and another is left. */
    write_thread(&tree, THREAD, 0, 'Z');
    write_thread(&tree, THREAD + 1, BIG_PAGES, 'R');
    tick(&tree, BIG_MIB);
    /* The last ones have given it back: they are about to end. */
    write_thread(&tree, THREAD + 1, 0, 'R');
    tick(&tree, 0);
    fake_tree_end(&tree);
}

/* There, but not to be read: unknown, not 0. */
static void test_dead_first_thread_of_unreadable_others(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    end_first_thread(&tree);
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/task", FAKE_ROOT);
    fake_env_remove(&tree.fake, path);
    fake_env_write(&tree.fake, path, "no directory");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.cpu.process_rss_mib.has);
    assert_false(tree.sample.cpu.process_pss_mib.has);
    fake_tree_assert_count(tree.sample.cpu.process_thread_count, 2);
    fake_tree_end(&tree);
}

/* The largest are listed at a new high of PSS too, where RSS is no higher than before. */
static void test_largest_at_a_high_of_pss(void **unused)
{
    (void)unused;
    static const struct {
        const char *rollup;
        bool is_listed;
    } ticks[] = {
        {"1000-2000 ---p 00000000 00:00 0 [rollup]\nRss: 102400 kB\nPss: 20480 kB\n", true},
        {"1000-2000 ---p 00000000 00:00 0 [rollup]\nRss: 102400 kB\nPss: 20580 kB\n", false},
        {"1000-2000 ---p 00000000 00:00 0 [rollup]\nRss: 102400 kB\nPss: 81920 kB\n", true},
        {"1000-2000 ---p 00000000 00:00 0 [rollup]\nRss: 102400 kB\nPss: 20480 kB\n", false},
    };
    struct fake_tree tree;
    fake_tree_init(&tree);
    tree.tracked.pss = TRACKED_PSS_ALWAYS;
    fake_tree_open(&tree);
    tree.tracked.wants_top = true;
    for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
        set_root_pages(&tree, BIG_PAGES);
        write_file(&tree, FAKE_ROOT, "smaps_rollup", ticks[i].rollup);
        fake_tree_collect_after(&tree, TICK_NS);
        assert_int_equal(tree.sample.processes.present, ticks[i].is_listed);
    }
    fake_tree_end(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_address_space_counts_once),
        cmocka_unit_test(test_a_copy_counts),
        cmocka_unit_test(test_newborn),
        cmocka_unit_test(test_a_copy_that_writes),
        cmocka_unit_test(test_exec_before_the_comparison),
        cmocka_unit_test(test_without_kcmp),
        cmocka_unit_test(test_copies_without_kcmp),
        cmocka_unit_test(test_threads_without_kcmp),
        cmocka_unit_test(test_parent_ends),
        cmocka_unit_test(test_dead_first_thread),
        cmocka_unit_test(test_dead_first_thread_of_unreadable_others),
        cmocka_unit_test(test_largest_at_a_high_of_pss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
