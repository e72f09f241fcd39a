/* SPDX-License-Identifier: Apache-2.0 */
/* Every process that was seen: its record at the end, and what is done with those that do not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "collect/tree/walk.h"
#include "fake_tree.h"

#define TICK_NS NS_PER_SEC
#define NONE UINT64_MAX

enum { PID, PARENT, START, LENGTH, PROGRAM, CPU, REAPED, RSS, READ, WRITTEN, STATUS, COMMAND, COLUMNS };

struct row {
    uint64_t at[COLUMNS];
};

static size_t descriptions;

static int describe(void *context, struct str text, bool is_cut, char *out, size_t size)
{
    (void)context;
    (void)is_cut;
    descriptions++;
    return str_copy(text, out, size) ? 0 : -ENOMEM;
}

static void begin(struct fake_tree *tree)
{
    fake_tree_init(tree);
    tree->tracked.wants_top = tree->tracked.wants_history = true;
    tree->tracked.root_program = "/usr/bin/make";
    tree->fake.env.describe_command = describe;
    descriptions = 0;
    fake_tree_open(tree);
}

static void end(struct fake_tree *tree)
{
    fake_tree_close(tree);
    fake_tree_fini(tree);
}

static size_t read_rows(const char *records, struct row *rows, size_t max)
{
    size_t count = 0;
    for (struct str text = str_of(records); text.n > 0; str_skip(&text, 1), count++) {
        assert_in_range(count, 0, max - 1);
        for (size_t i = 0; i < COLUMNS; i++) {
            rows[count].at[i] = NONE;
            if (text.n > 1 && text.p[1] == '-')
                str_skip(&text, 2);
            else
                assert_true(num_next_u64(&text, &rows[count].at[i]));
        }
        assert_int_equal(*text.p, ';');
    }
    return count;
}

/* The records of a last tick. */
static size_t finish(struct fake_tree *tree, struct row *rows, size_t max)
{
    tree->is_final = true;
    fake_tree_collect_after(tree, TICK_NS);
    assert_true(tree->sample.end.history.present);
    return read_rows(tree->sample.end.history.records, rows, max);
}

static const char *text_at(const struct sample_list *list, uint64_t number)
{
    assert_in_range(number, 1, list->count);
    return ((const char *const *)list->items)[number - 1];
}

static void test_lives(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct row rows[8];
    begin(&tree);
    fake_tree_find(&tree, FAKE_ROOT)->name = "make";
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0)->name = "cc1";
    fake_tree_find(&tree, 101)->rss_pages = 500;
    fake_tree_run(&tree, 101, 300 * NS_PER_MS, 0);
    fake_tree_io(&tree, 101, 4096, 8192);
    fake_tree_write_file(&tree, 101, "cmdline", "cc1 x.c");
    fake_tree_collect_after(&tree, TICK_NS);
    /* A child that was never seen, and what the other used after it was. */
    fake_tree_fork(&tree, 102, 101, 0);
    fake_tree_run(&tree, 102, 200 * NS_PER_MS, 0);
    fake_tree_io(&tree, 102, 512, 0);
    fake_tree_finish(&tree, 102);
    fake_tree_run(&tree, 101, 50 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_run(&tree, 101, 70 * NS_PER_MS, 0);
    fake_tree_finish(&tree, 101);
    fake_tree_fork(&tree, 103, FAKE_ROOT, 0)->name = "sleep";
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(finish(&tree, rows, 8), 3);
    const struct sample_history *history = &tree.sample.end.history;
    assert_int_equal(rows[0].at[PID], FAKE_ROOT);
    assert_int_equal(rows[0].at[PARENT], 0);
    assert_int_equal(rows[0].at[LENGTH], NONE);
    assert_string_equal(text_at(&history->programs, rows[0].at[PROGRAM]), "make");
    assert_int_equal(rows[0].at[REAPED], 700); /* what 101 used after it was last seen */
    assert_int_equal(rows[1].at[PID], 101);
    assert_int_equal(rows[1].at[PARENT], 1);
    assert_string_equal(text_at(&history->programs, rows[1].at[PROGRAM]), "cc1");
    assert_string_equal(text_at(&history->commands, rows[1].at[COMMAND]), "cc1 x.c");
    assert_int_equal(rows[1].at[CPU], 3500);
    assert_int_equal(rows[1].at[REAPED], 2000);
    assert_int_equal(rows[1].at[RSS], 2000);
    assert_int_equal(rows[1].at[READ], 4608);
    assert_int_equal(rows[1].at[WRITTEN], 8192);
    assert_int_equal(rows[1].at[START] + rows[1].at[LENGTH], 3000);
    assert_int_equal(rows[2].at[PID], 103);
    assert_int_equal(rows[2].at[LENGTH], NONE);
    fake_tree_assert_count(tree.sample.end.processes_seen, 3);
    end(&tree);
}

/* Another process by the same number has a record of its own; an orphan stays below its first parent. */
static void test_reuse_and_orphans(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct row rows[8];
    begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, 101, 0)->name = "orphan";
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0)->name = "second";
    fake_tree_run(&tree, 101, 30 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(finish(&tree, rows, 8), 4);
    assert_int_equal(rows[1].at[PID], 101);
    assert_int_not_equal(rows[1].at[LENGTH], NONE);
    assert_int_equal(rows[2].at[PID], 102);
    assert_int_equal(rows[2].at[PARENT], 2);
    assert_int_equal(rows[2].at[LENGTH], NONE);
    assert_int_equal(rows[3].at[PID], 101);
    assert_int_equal(rows[3].at[PARENT], 1);
    assert_int_equal(rows[3].at[CPU], 300);
    assert_string_equal(text_at(&tree.sample.end.history.programs, rows[3].at[PROGRAM]), "second");
    end(&tree);
}

/* One that is not waited for has ended when it is seen so. */
static void test_zombie(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct row rows[4];
    begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_run(&tree, 101, 30 * NS_PER_MS, 0);
    fake_tree_exit(&tree, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(finish(&tree, rows, 4), 2);
    assert_int_equal(rows[1].at[START] + rows[1].at[LENGTH], 2000);
    assert_int_equal(rows[1].at[CPU], 300);
    tree.is_final = false;
    fake_tree_wait(&tree, 101);
    assert_int_equal(finish(&tree, rows, 4), 2);
    assert_int_equal(rows[1].at[START] + rows[1].at[LENGTH], 2000);
    assert_int_equal(rows[0].at[REAPED], 0);
    end(&tree);
}

/* Each below the one before it. */
static void test_deep_ancestry(void **unused)
{
    enum { DEPTH = 150 };
    (void)unused;
    struct fake_tree tree;
    struct row rows[DEPTH + 1];
    begin(&tree);
    for (pid_t i = 0; i < DEPTH; i++)
        fake_tree_fork(&tree, 101 + i, i == 0 ? FAKE_ROOT : 100 + i, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(finish(&tree, rows, DEPTH + 1), DEPTH + 1);
    for (size_t i = 0; i <= DEPTH; i++) {
        assert_int_equal(rows[i].at[PID], 100 + i);
        assert_int_equal(rows[i].at[PARENT], i);
    }
    end(&tree);
}

/* A program that is executed has another name and another command line. */
static void test_exec(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct row rows[4];
    begin(&tree);
    struct fake_process *child = fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    child->name = "make";
    child->has_not_execed = true;
    fake_tree_write_file(&tree, 101, "cmdline", "make all");
    fake_tree_run(&tree, 101, 30 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(finish(&tree, rows, 4), 2);
    assert_string_equal(text_at(&tree.sample.end.history.programs, rows[1].at[PROGRAM]), "make");
    tree.is_final = false;
    child->name = "ld";
    child->has_not_execed = false;
    fake_tree_write_file(&tree, 101, "cmdline", "ld -o x");
    fake_tree_run(&tree, 101, 30 * NS_PER_MS, 0);
    assert_int_equal(finish(&tree, rows, 4), 2);
    assert_string_equal(text_at(&tree.sample.end.history.programs, rows[1].at[PROGRAM]), "ld");
    assert_string_equal(text_at(&tree.sample.end.history.commands, rows[1].at[COMMAND]), "ld -o x");
    descriptions = 0;
    for (int i = 0; i < 3; i++)
        fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(descriptions, 0);
    end(&tree);
}

/* A run that was over before its first sample still has its command. */
static void test_never_seen(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    struct row rows[2];
    begin(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 30 * NS_PER_MS, 0);
    tree.tracked.root_cpu_ns = some_u64(20 * NS_PER_MS);
    fake_tree_finish(&tree, FAKE_ROOT);
    assert_int_equal(finish(&tree, rows, 2), 1);
    assert_int_equal(rows[0].at[PID], FAKE_ROOT);
    assert_string_equal(text_at(&tree.sample.end.history.programs, rows[0].at[PROGRAM]), "make");
    assert_int_equal(rows[0].at[CPU], 200);
    assert_int_equal(rows[0].at[REAPED], 100);
    assert_int_equal(rows[0].at[RSS], NONE);
    /* A second time it is the same. */
    assert_int_equal(finish(&tree, rows, 2), 1);
    assert_int_equal(rows[0].at[CPU], 200);
    assert_int_equal(rows[0].at[REAPED], 100);
    end(&tree);
}

/* Those that do not fit are summed by program; names beyond what is kept are unknown. */
static void test_bounds(void **unused)
{
    enum { EXTRA = 10 };
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    struct tree_history history = {0};
    struct tree_reader reader = {.env = &tree.fake.env, .history = &history};
    struct tree_members members;
    static struct row rows[TREE_RECORDS_MAX + TREE_PROGRAMS_MAX + 1];
    tree_members_init(&members);
    tree_history_open(&history, &tree.fake.env);
    for (size_t i = 0; i < TREE_RECORDS_MAX + EXTRA; i++) {
        struct tree_member member = {.pid = (pid_t)(200 + i), .parent = TREE_NONE, .has_stat = true, .stat_ns = 1};
        (void)snprintf(member.stat.name, sizeof(member.stat.name), "p%zu", i % (TREE_PROGRAMS_MAX + 5));
        if (i >= TREE_RECORDS_MAX)
            (void)snprintf(member.stat.name, sizeof(member.stat.name), "p7");
        member.account.settled[FLOW_CPU] = 10 * NS_PER_MS;
        tree_history_end(&reader, &members, &member, NS_PER_SEC);
    }
    struct sample_end last = {0};
    tree.tracked.root_program = NULL;
    tree_history_fill(&reader, NS_PER_SEC, &last);
    const struct sample_history result = last.history;
    assert_true(result.present);
    assert_int_equal(result.programs.count, TREE_PROGRAMS_MAX);
    assert_in_range(strlen(result.records), 100000, 1024 * 1024);
    size_t count = read_rows(result.records, rows, sizeof(rows) / sizeof(rows[0]));
    assert_int_equal(count, TREE_RECORDS_MAX + 1);
    assert_int_equal(rows[TREE_PROGRAMS_MAX + 1].at[PROGRAM], 0);
    assert_int_equal(rows[count - 1].at[PID], 0);
    assert_int_equal(rows[count - 1].at[PARENT], EXTRA);
    assert_int_equal(rows[count - 1].at[CPU], 100 * EXTRA);
    assert_string_equal(text_at(&result.programs, rows[count - 1].at[PROGRAM]), "p7");
    tree_history_close(&history);
    end(&tree);
}

static void test_not_wanted(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    tree.is_final = true;
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.end.history.present);
    fake_tree_end(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives),
        cmocka_unit_test(test_reuse_and_orphans),
        cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_deep_ancestry),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_never_seen),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_not_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
