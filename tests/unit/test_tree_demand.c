/* SPDX-License-Identifier: Apache-2.0 */
/* What a tree wanted of the CPUs, and how much its busiest process used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/tree/demand.h"
#include "fake_tree.h"

#define MS NS_PER_MS
#define TICK_NS NS_PER_SEC

enum { CHILD = 101 };

static void begin(struct fake_tree *tree)
{
    fake_tree_init(tree);
    tree->counts_waiting = true;
    fake_tree_write(tree, fake_tree_find(tree, FAKE_ROOT));
    fake_tree_open(tree);
}

/* It runs and waits for a CPU. */
static void work(struct fake_tree *tree, pid_t pid, uint64_t run_ns, uint64_t wait_ns)
{
    fake_tree_run(tree, pid, run_ns, 0);
    fake_tree_starve(tree, pid, wait_ns);
}

static void assert_about(struct opt_f64 value, double wanted, double off)
{
    if (!value.has || value.v < wanted - off || value.v > wanted + off)
        fail_msg("%d %.4f instead of %.4f", value.has, value.v, wanted);
}

static void assert_wanted(const struct fake_tree *tree, double cores, double off)
{
    assert_about(tree->sample.cpu.process_cores_wanted, cores, off);
}

/* A thread that sleeps between bursts wants the share of the time that it would have used without waiting. */
static void test_wanted(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t run_ms, wait_ms;
        double cores;
    } cases[] = {
        {1000, 0, 1},
        {400, 0, 0.4},
        /* without waiting: what it used */
        {300, 700, 1},
        {60, 940, 1},
        {10, 989, 1}, /* always ready */
        {180, 550, 0.4}, /* 40 ms busy, 122 ms waited, 60 ms asleep, and again */
        {100, 800, 0.5},
        {50, 500, 0.1},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct fake_tree tree;
        begin(&tree);
        for (int tick = 0; tick < 5; tick++) {
            work(&tree, FAKE_ROOT, cases[c].run_ms * MS, cases[c].wait_ms * MS);
            fake_tree_collect_after(&tree, TICK_NS);
            assert_wanted(&tree, cases[c].cores, 0.05);
            assert_about(tree.sample.cpu.process_busiest_cores, (double)cases[c].run_ms / 1000, 1e-9);
        }
        fake_tree_end(&tree);
    }
}

/* Processes that live between two samples: those that are met stand for the others. */
static void test_wanted_by_short_processes(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    pid_t pid = CHILD;
    for (int tick = 0; tick < 8; tick++) {
        for (int i = 0; i < 8; i++, pid++) {
            fake_tree_fork(&tree, pid, FAKE_ROOT, 0)->start_ticks =
                (uint64_t)((tree.fake.mono_ns + TICK_NS - 100 * MS) / FAKE_TICK_NS);
            bool is_met = i >= 4;
            fake_tree_find(&tree, pid)->state = is_met ? 'R' : 'S';
            work(&tree, pid, is_met ? 20 * MS : 200 * MS, is_met ? 80 * MS : 600 * MS);
            if (!is_met)
                fake_tree_finish(&tree, pid);
        }
        fake_tree_collect_after(&tree, TICK_NS);
        assert_false(tree.sample.cpu.process_wait_secs.has);
        assert_wanted(&tree, 4, 0.1);
        assert_false(tree.sample.cpu.process_busiest_cores.has); /* one of those that are gone may have used more */
        for (pid_t one = pid - 4; one < pid; one++)
            fake_tree_finish(&tree, one);
    }
    fake_tree_end(&tree);
}

/* Cores of one process: as long as it was there. */
static void test_busiest(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_fork(&tree, CHILD, FAKE_ROOT, 0);
    work(&tree, FAKE_ROOT, 90 * MS, 0);
    work(&tree, CHILD, 80 * MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_about(tree.sample.cpu.process_busiest_cores, 0.09, 0.001);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_about(tree.sample.cpu.process_busiest_cores, 0, 0);
    fake_tree_fork(&tree, CHILD + 1, FAKE_ROOT, 0)->start_ticks =
        (uint64_t)((tree.fake.mono_ns + TICK_NS - 200 * MS) / FAKE_TICK_NS);
    work(&tree, CHILD + 1, 190 * MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_about(tree.sample.cpu.process_busiest_cores, 0.95, 0.06);
    fake_tree_end(&tree);
}

/* A wait that shows late is no sleep, however little the thread gets of a CPU. */
static void test_late_waits(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t run_ms, wait_ms[2];
    } cases[] = {{20, {80, 280}}, {10, {50, 330}}, {100, {0, 200}}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct demand_history history = {0};
        double waited = 0, wanted = 0;
        for (int i = 0; i < 100; i++) {
            struct demand_reading reading = {.run_ns = cases[c].run_ms * MS,
                .wait_ns = cases[c].wait_ms[i % 2] * MS,
                .waits = 2,
                .length_ns = 200 * MS};
            waited += (double)reading.wait_ns;
            wanted += (double)reading.wait_ns * demand_share(&history, &reading, 5 * MS);
        }
        assert_true(wanted > waited * 0.9 && wanted <= waited);
    }
}

/* Phases of half a minute are told apart within two seconds. */
static void test_phases(void **unused)
{
    (void)unused;
    struct demand_history history = {0};
    static const struct demand_reading bursts = {.run_ns = 100 * MS,
                                           .wait_ns = 400 * MS,
                                           .waits = 20,
                                           .length_ns = TICK_NS},
                                       busy = {
                                           .run_ns = 200 * MS, .wait_ns = 800 * MS, .waits = 40, .length_ns = TICK_NS};
    for (int phase = 0; phase < 3; phase++) {
        double share = 0;
        for (int i = 0; i < 30; i++)
            share = demand_share(&history, &bursts, 10 * MS);
        assert_true(share > 0.15 && share < 0.2);
        for (int i = 0; i < 3; i++)
            share = demand_share(&history, &busy, 10 * MS);
        assert_true(share > 0.7);
        for (int i = 0; i < 27; i++)
            share = demand_share(&history, &busy, 10 * MS);
        assert_true(share > 0.99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_wanted_by_short_processes),
        cmocka_unit_test(test_busiest),
        cmocka_unit_test(test_late_waits),
        cmocka_unit_test(test_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
