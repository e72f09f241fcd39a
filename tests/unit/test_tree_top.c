/* SPDX-License-Identifier: Apache-2.0 */
/* The largest processes, listed when the tree's memory is at a new high, and those with the most CPU time at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake_tree.h"

#define TICK_NS NS_PER_SEC

static size_t descriptions; /* command lines that were read since it was last set to 0 */
static bool refuses;

static int describe(void *context, struct str text, bool is_cut, char *out, size_t size)
{
    assert_null(context);
    descriptions++;
    if (refuses)
        return -ENOMEM;
    assert_int_equal(is_cut, text.n == 4096);
    for (size_t i = 0; i < text.n && i + 1 < size; i++)
        out[i] = (char)(text.p[i] == '\0' ? ' ' : text.p[i]);
    out[text.n < size ? text.n : size - 1] = '\0';
    return 0;
}

static void begin(struct fake_tree *tree)
{
    fake_tree_begin(tree);
    tree->tracked.wants_top = true;
    tree->fake.env.describe_command = describe;
    descriptions = 0;
    refuses = false;
}

/* One that runs is read again at every tick. */
static void set_pages(struct fake_tree *tree, pid_t pid, uint64_t pages, const char *name)
{
    struct fake_process *process = fake_tree_find(tree, pid);
    process->rss_pages = pages;
    process->name = name;
    fake_tree_run(tree, pid, 20 * NS_PER_MS, 0);
}

static const struct sample_process *listed(const struct fake_tree *tree, size_t count)
{
    assert_true(tree->sample.processes.present);
    assert_int_equal(tree->sample.processes.count, count);
    return tree->sample.processes.items;
}

/* Those with the most CPU time, from a last tick. */
static const struct sample_process *ranked(struct fake_tree *tree, size_t count)
{
    tree->is_final = true;
    fake_tree_collect_after(tree, TICK_NS);
    tree->is_final = false;
    assert_true(tree->sample.end.processes_by_cpu.present);
    assert_int_equal(tree->sample.end.processes_by_cpu.count, count);
    return tree->sample.end.processes_by_cpu.items;
}

static void test_new_highs_only(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    set_pages(&tree, FAKE_ROOT, 256, "sh");
    set_pages(&tree, 101, 1024, ") (odd");
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_process *processes = listed(&tree, 2);
    assert_int_equal(processes[0].pid.v, 101);
    assert_string_equal(processes[0].name, ") (odd");
    assert_null(processes[0].command);
    fake_tree_assert_near(processes[0].rss_mib, 4);
    fake_tree_assert_near(processes[0].cpu_secs, 0.02);
    assert_int_equal(processes[1].pid.v, FAKE_ROOT);
    assert_string_equal(processes[1].name, "sh");
    /* The same, a little more, and less: nothing new. */
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    set_pages(&tree, 101, 1030, "x");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    set_pages(&tree, 101, 100, "x");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    set_pages(&tree, FAKE_ROOT, 2048, "sh");
    fake_tree_collect_after(&tree, TICK_NS);
    processes = listed(&tree, 2);
    assert_int_equal(processes[0].pid.v, FAKE_ROOT);
    assert_false(tree.sample.end.processes_by_cpu.present);
    fake_tree_end(&tree);
}

/* Eight of twenty, in order. */
static void test_the_largest(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    for (pid_t i = 0; i < 20; i++) {
        pid_t pid = 101 + i;
        fake_tree_fork(&tree, pid, FAKE_ROOT, 0);
        /* 7 and 20 have no common factor: sizes come in any order. */
        fake_tree_find(&tree, pid)->rss_pages = 1000 + (uint64_t)(i * 7 % 20) * 10;
        fake_tree_write(&tree, fake_tree_find(&tree, pid));
        fake_tree_write_file(&tree, pid, "cmdline", "job");
    }
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_process *processes = listed(&tree, 8);
    for (size_t i = 0; i < 8; i++) {
        fake_tree_assert_near(processes[i].rss_mib, (double)(1190 - 10 * i) * 4096 / 1048576);
        assert_string_equal(processes[i].name, "job");
        assert_string_equal(processes[i].command, "job");
    }
    /* No more than so many in a tick; those of the other list wait for the next one. */
    assert_int_equal(descriptions, 8);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_in_range(descriptions, 8, 16);
    descriptions = 0;
    for (int i = 0; i < 5; i++)
        fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(descriptions, 0);
    assert_int_equal(((const struct sample_process *)ranked(&tree, 8))[0].pid.v, FAKE_ROOT);
    fake_tree_assert_count(tree.sample.end.processes_seen, 21);
    fake_tree_end(&tree);
}

static void test_not_wanted(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    tree.tracked.wants_top = false;
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "sh");
    tree.is_final = true;
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    assert_false(tree.sample.end.processes_by_cpu.present);
    assert_false(tree.sample.end.processes_seen.has);
    assert_int_equal(descriptions, 0);
    fake_tree_end(&tree);
}

static void run_and_collect(struct fake_tree *tree, pid_t pid)
{
    fake_tree_run(tree, pid, 20 * NS_PER_MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
}

/* Read once, and again when another program was executed: by its name, or by its stack alone. */
static void test_command_lines(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "sh -c x");
    run_and_collect(&tree, FAKE_ROOT);
    assert_string_equal(listed(&tree, 1)[0].command, "sh -c x");
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "not read");
    run_and_collect(&tree, FAKE_ROOT);
    assert_int_equal(descriptions, 1);
    struct fake_process *root = fake_tree_find(&tree, FAKE_ROOT);
    root->stack_start += 4096;
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "sh other");
    run_and_collect(&tree, FAKE_ROOT);
    assert_int_equal(descriptions, 2);
    root->name = "python3";
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "python3 a.py");
    run_and_collect(&tree, FAKE_ROOT);
    assert_int_equal(descriptions, 3);
    /* At its end there is no memory, and no stack: what is known stays. */
    root->state = 'Z';
    root->vsize_bytes = root->rss_pages = root->stack_start = 0;
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "");
    run_and_collect(&tree, FAKE_ROOT);
    const struct sample_process *processes = ranked(&tree, 1);
    assert_string_equal(processes[0].command, "python3 a.py");
    assert_string_equal(processes[0].name, "python3");
    fake_tree_assert_near(processes[0].rss_mib, 1);
    assert_int_equal(descriptions, 3);
    fake_tree_end(&tree);
}

/* A child that was forked a moment ago is about to execute something; one that was not, has its parent's line. */
static void test_before_the_exec(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    for (pid_t pid = 101; pid <= 102; pid++) {
        fake_tree_fork(&tree, pid, FAKE_ROOT, 0)->has_not_execed = true;
        fake_tree_write_file(&tree, pid, "cmdline", "parent");
        fake_tree_run(&tree, pid, 20 * NS_PER_MS, 0);
    }
    fake_tree_collect_after(&tree, 10 * NS_PER_MS);
    assert_int_equal(descriptions, 0);
    fake_tree_find(&tree, 101)->has_not_execed = false;
    fake_tree_find(&tree, 101)->name = "other";
    fake_tree_write_file(&tree, 101, "cmdline", "other");
    fake_tree_run(&tree, 101, 20 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, 10 * NS_PER_MS);
    assert_int_equal(descriptions, 2);
    const struct sample_process *processes = ranked(&tree, 3);
    assert_string_equal(processes[0].command, "other");
    assert_string_equal(processes[1].command, "parent");
    assert_int_equal(descriptions, 2);
    fake_tree_end(&tree);

    /* The command always executes something, however late. */
    begin(&tree);
    fake_tree_find(&tree, FAKE_ROOT)->has_not_execed = true;
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "the tracker");
    for (int i = 0; i < 3; i++)
        run_and_collect(&tree, FAKE_ROOT);
    assert_int_equal(descriptions, 0);
    assert_null(ranked(&tree, 1)[0].command);
    fake_tree_end(&tree);
}

/* Not there, empty, or not to be shown: null, and tried once. */
static void test_no_command_line(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_fork(&tree, 101, FAKE_ROOT, 0);
    fake_tree_fork(&tree, 102, FAKE_ROOT, 0);
    fake_tree_write_file(&tree, 101, "cmdline", "");
    fake_tree_write_file(&tree, 102, "cmdline", "x");
    refuses = true;
    for (int i = 0; i < 3; i++)
        run_and_collect(&tree, 102);
    const struct sample_process *processes = ranked(&tree, 3);
    for (size_t i = 0; i < 3; i++)
        assert_null(processes[i].command);
    assert_int_equal(descriptions, 1);
    tree.fake.env.describe_command = NULL;
    fake_tree_find(&tree, 102)->name = "other";
    run_and_collect(&tree, 102);
    assert_null(ranked(&tree, 3)[0].command);
    assert_string_equal(ranked(&tree, 3)[0].name, "other");
    fake_tree_end(&tree);
}

/* By CPU time of their own, children waited for not included; ties by PID; those that have ended as last seen. */
static void test_cpu_ranking(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    for (pid_t i = 0; i < 5; i++) {
        fake_tree_fork(&tree, 101 + i, FAKE_ROOT, 0);
        fake_tree_write_file(&tree, 101 + i, "cmdline", "busy");
    }
    fake_tree_run(&tree, 101, 300 * NS_PER_MS, 0);
    fake_tree_run(&tree, 102, 500 * NS_PER_MS, 100 * NS_PER_MS);
    fake_tree_run(&tree, 103, 0, 400 * NS_PER_MS);
    fake_tree_run(&tree, 104, 300 * NS_PER_MS, 0);
    fake_tree_run(&tree, 105, 10 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, 102);
    fake_tree_run(&tree, 105, 800 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_finish(&tree, 103);
    const struct sample_process *processes = ranked(&tree, 6);
    static const pid_t order[] = {105, 102, 103, 101, 104, FAKE_ROOT};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(processes[i].pid.v, order[i]);
    fake_tree_assert_near(processes[0].cpu_secs, 0.81);
    fake_tree_assert_near(processes[1].cpu_secs, 0.6);
    assert_string_equal(processes[1].command, "busy");
    fake_tree_assert_count(tree.sample.end.processes_seen, 6);
    fake_tree_end(&tree);
}

/* --pid: what was used before the run does not count in the ranking; among the largest it is that of a life. */
static void test_attached(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init_attached(&tree);
    tree.tracked.wants_top = true;
    fake_tree_add(&tree, 101, FAKE_ROOT);
    fake_tree_add(&tree, 102, FAKE_ROOT);
    fake_tree_write_children(&tree, FAKE_ROOT);
    fake_tree_run(&tree, FAKE_ROOT, 3600 * NS_PER_SEC, 0);
    fake_tree_run(&tree, 101, 600 * NS_PER_SEC, 0);
    fake_tree_run(&tree, 102, 60 * NS_PER_SEC, 0);
    fake_tree_open(&tree);
    fake_tree_baseline(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 100 * NS_PER_MS, 0);
    fake_tree_run(&tree, 101, 300 * NS_PER_MS, 0);
    fake_tree_fork(&tree, 103, FAKE_ROOT, 0);
    fake_tree_run(&tree, 103, 200 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_process *processes = tree.sample.processes.items;
    bool has_root = false;
    for (size_t i = 0; i < tree.sample.processes.count; i++) {
        if (processes[i].pid.v != FAKE_ROOT)
            continue;
        has_root = true;
        fake_tree_assert_near(processes[i].cpu_secs, 3600.100001);
    }
    assert_true(has_root);
    processes = ranked(&tree, 4);
    /* To make a child takes 1 us. */
    static const pid_t order[] = {101, 103, FAKE_ROOT, 102};
    static const double secs[] = {0.3, 0.2, 0.100001, 0};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(processes[i].pid.v, order[i]);
        fake_tree_assert_near(processes[i].cpu_secs, secs[i]);
    }
    fake_tree_end(&tree);
}

/* Every process of a storm is seen once and costs no file; a PID that is used again is another process. */
static void test_storm(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    uint64_t seen = 1;
    for (pid_t i = 0; i < 8; i++, seen++) {
        fake_tree_fork(&tree, 101 + i, FAKE_ROOT, 0);
        fake_tree_write_file(&tree, 101 + i, "cmdline", "long");
        fake_tree_run(&tree, 101 + i, NS_PER_SEC + (uint64_t)i * NS_PER_MS, 0);
    }
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_collect_after(&tree, TICK_NS);
    descriptions = 0;
    for (int i = 0; i < 20; i++) {
        pid_t first = 200 + 20 * (i % 7);
        for (pid_t pid = first; pid < first + 10; pid++, seen++) {
            fake_tree_fork(&tree, pid, FAKE_ROOT, 0)->rss_pages = 1;
            fake_tree_run(&tree, pid, NS_PER_MS, 0);
        }
        fake_tree_collect_after(&tree, TICK_NS);
        for (pid_t pid = first; pid < first + 10; pid++)
            fake_tree_finish(&tree, pid);
        fake_tree_collect_after(&tree, TICK_NS);
    }
    assert_int_equal(descriptions, 0);
    const struct sample_process *processes = ranked(&tree, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(processes[i].pid.v, 108 - i);
    fake_tree_assert_count(tree.sample.end.processes_seen, seen);
    fake_tree_end(&tree);
}

/* More processes than the list has slots, each above the ones before it. */
static void test_rising(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    for (pid_t i = 0; i < 40; i++) {
        char command[32];
        (void)snprintf(command, sizeof(command), "number %d", (int)i);
        fake_tree_fork(&tree, 101 + i, FAKE_ROOT, 0);
        fake_tree_write_file(&tree, 101 + i, "cmdline", command);
        fake_tree_run(&tree, 101 + i, (uint64_t)(i + 1) * NS_PER_SEC, 0);
        fake_tree_collect_after(&tree, TICK_NS);
        if (i >= 3)
            fake_tree_finish(&tree, 101 + i - 3);
    }
    const struct sample_process *processes = ranked(&tree, 8);
    for (int i = 0; i < 8; i++) {
        char command[32];
        (void)snprintf(command, sizeof(command), "number %d", 39 - i);
        assert_int_equal(processes[i].pid.v, 140 - i);
        assert_string_equal(processes[i].command, command);
    }
    fake_tree_end(&tree);
}

/* What the root used last is known although it was waited for; one that no tick saw is known by how it was started. */
static void test_root_at_its_end(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    tree.tracked.root_program = "/usr/bin/a-program-with-a-long-name";
    tree.tracked.root_command = "a-program -x";
    fake_tree_exit(&tree, FAKE_ROOT);
    fake_tree_reap(&tree, FAKE_ROOT);
    tree.tracked.root_cpu_ns = some_u64(700 * NS_PER_MS);
    const struct sample_process *processes = ranked(&tree, 1);
    assert_int_equal(processes[0].pid.v, FAKE_ROOT);
    assert_string_equal(processes[0].name, "a-program-with-");
    assert_string_equal(processes[0].command, "a-program -x");
    fake_tree_assert_near(processes[0].cpu_secs, 0.7);
    assert_false(processes[0].rss_mib.has);
    fake_tree_assert_count(tree.sample.end.processes_seen, 1);
    fake_tree_end(&tree);

    begin(&tree);
    tree.tracked.root_program = tree.tracked.root_command = "as it was started";
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "as it is now");
    fake_tree_run(&tree, FAKE_ROOT, 100 * NS_PER_MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_exit(&tree, FAKE_ROOT);
    fake_tree_reap(&tree, FAKE_ROOT);
    tree.tracked.root_cpu_ns = some_u64(700 * NS_PER_MS);
    processes = ranked(&tree, 1);
    assert_string_equal(processes[0].command, "as it is now");
    fake_tree_assert_near(processes[0].cpu_secs, 0.7);
    fake_tree_assert_count(tree.sample.end.processes_seen, 1);
    fake_tree_end(&tree);
}

/* One that was seen, was neither busy nor large, and turns out to have used the most. */
static void check_late_root(uint64_t pages, const char *command)
{
    struct fake_tree tree;
    begin(&tree);
    tree.tracked.root_program = tree.tracked.root_command = "started";
    for (pid_t i = 0; i < 9; i++) {
        fake_tree_fork(&tree, 101 + i, FAKE_ROOT, 0);
        fake_tree_write_file(&tree, 101 + i, "cmdline", "busy");
        set_pages(&tree, 101 + i, 100, "busy");
    }
    fake_tree_find(&tree, FAKE_ROOT)->rss_pages = pages;
    fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "seen");
    fake_tree_collect_after(&tree, TICK_NS);
    fake_tree_exit(&tree, FAKE_ROOT);
    fake_tree_reap(&tree, FAKE_ROOT);
    tree.tracked.root_cpu_ns = some_u64(700 * NS_PER_MS);
    const struct sample_process *processes = ranked(&tree, 8);
    assert_int_equal(processes[0].pid.v, FAKE_ROOT);
    assert_non_null(processes[0].name);
    assert_string_equal(processes[0].command, command);
    assert_string_equal(processes[1].command, "busy");
    fake_tree_assert_count(tree.sample.end.processes_seen, 10);
    fake_tree_end(&tree);
}

static void test_root_is_ranked_at_its_end(void **unused)
{
    (void)unused;
    check_late_root(10, "started");
    check_late_root(1000, "seen"); /* among the largest */
}

/* A command line longer than what is read. */
static void test_long_command(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    static char text[6000];
    memset(text, 'x', sizeof(text) - 1);
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", text);
    run_and_collect(&tree, FAKE_ROOT);
    assert_int_equal(strlen(listed(&tree, 1)[0].command), 256);
    fake_tree_end(&tree);

    begin(&tree);
    tree.tracked.root_program = tree.tracked.root_command = text;
    fake_tree_exit(&tree, FAKE_ROOT);
    fake_tree_reap(&tree, FAKE_ROOT);
    tree.tracked.root_cpu_ns = some_u64(1);
    assert_int_equal(strlen(ranked(&tree, 1)[0].command), 256);
    fake_tree_end(&tree);
}

/* It had so many pages and gave them back: each has cost a fault, and VmHWM has the most it ever had. */
static void spike(struct fake_tree *tree, pid_t pid, uint64_t pages, const char *status)
{
    struct fake_process *process = fake_tree_find(tree, pid);
    process->minor_faults += pages;
    fake_tree_write_file(tree, pid, "status", status);
    set_pages(tree, pid, process->rss_pages, "job");
}

/* The one that had most between two ticks is listed before the largest, though eight are larger than it is. */
static void test_peak_between_ticks(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    for (pid_t pid = 101; pid < 111; pid++) {
        fake_tree_fork(&tree, pid, FAKE_ROOT, 0);
        fake_tree_write_file(&tree, pid, "cmdline", pid == 110 ? "spike" : "job");
        set_pages(&tree, pid, pid == 110 ? 10 : 1000, "job");
    }
    fake_tree_collect_after(&tree, TICK_NS);
    assert_int_equal(listed(&tree, 8)[0].pid.v, 101);
    fake_tree_collect_after(&tree, TICK_NS);
    spike(&tree, 110, 25600, "Name:\tjob\nVmHWM:\t  102400 kB\nVmRSS:\t 40 kB\n");
    fake_tree_collect_after(&tree, TICK_NS);
    const struct sample_process *processes = listed(&tree, 8);
    assert_int_equal(processes[0].pid.v, 110);
    assert_string_equal(processes[0].command, "spike");
    fake_tree_assert_near(processes[0].rss_mib, 100);
    assert_int_equal(processes[1].pid.v, 101);
    assert_int_equal(processes[7].pid.v, 107);
    fake_tree_assert_near(tree.sample.cpu.process_peak_rss_mib, 100);
    assert_int_equal(tree.status.largest_rss_bytes, 100 * 1048576);
    /* The same again is nothing new, and one that does so all the time is not read every time. */
    spike(&tree, 110, 25600, "VmHWM:\t  102400 kB\n");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    spike(&tree, 110, 3000, "VmHWM:\t  409600 kB\n");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    /* Nor are faults that cannot have lifted it above all. */
    spike(&tree, 101, 20000, "VmHWM:\t  409600 kB\n");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_false(tree.sample.processes.present);
    fake_tree_end(&tree);
}

/* What wait4 reports of a root without children is its own, and is named at the end. */
static void test_peak_of_the_root(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_write_file(&tree, FAKE_ROOT, "cmdline", "job");
    set_pages(&tree, FAKE_ROOT, 1000, "job");
    fake_tree_collect_after(&tree, TICK_NS);
    (void)listed(&tree, 1);
    fake_tree_exit(&tree, FAKE_ROOT);
    fake_tree_reap(&tree, FAKE_ROOT);
    tree.tracked.root_cpu_ns = some_u64(700 * NS_PER_MS);
    tree.tracked.root_peak_bytes = 50 * 1048576;
    (void)ranked(&tree, 1);
    const struct sample_process *processes = listed(&tree, 1);
    assert_int_equal(processes[0].pid.v, FAKE_ROOT);
    assert_string_equal(processes[0].command, "job");
    fake_tree_assert_near(processes[0].rss_mib, 50);
    fake_tree_end(&tree);
}

/* What a process had before we attached to it is not of the run. */
static void test_peak_before_the_run(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init_attached(&tree);
    tree.tracked.wants_top = true;
    fake_tree_find(&tree, FAKE_ROOT)->minor_faults = 100000;
    spike(&tree, FAKE_ROOT, 25600, "VmHWM:\t  102400 kB\n");
    fake_tree_open(&tree);
    fake_tree_baseline(&tree);
    spike(&tree, FAKE_ROOT, 256000, "VmHWM:\t  102400 kB\n");
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(tree.sample.cpu.process_peak_rss_mib.v < 50);
    fake_tree_end(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_highs_only),
        cmocka_unit_test(test_the_largest),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_command_lines),
        cmocka_unit_test(test_before_the_exec),
        cmocka_unit_test(test_no_command_line),
        cmocka_unit_test(test_cpu_ranking),
        cmocka_unit_test(test_attached),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_rising),
        cmocka_unit_test(test_root_at_its_end),
        cmocka_unit_test(test_root_is_ranked_at_its_end),
        cmocka_unit_test(test_peak_between_ticks),
        cmocka_unit_test(test_peak_of_the_root),
        cmocka_unit_test(test_peak_before_the_run),
        cmocka_unit_test(test_long_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
