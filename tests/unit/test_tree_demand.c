/* SPDX-License-Identifier: Apache-2.0 */
/* What a tree wanted of the CPUs, and how much its busiest process used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/tree/wait.h"
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

/* `timeout` beside the command it has started, both starved: it wakes for a moment, and waits long for that. */
static void test_wanted_beside_a_sleeper(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    fake_tree_fork(&tree, CHILD, FAKE_ROOT, 0);
    fake_tree_find(&tree, CHILD)->state = 'R';
    work(&tree, FAKE_ROOT, 3 * MS, 990 * MS);
    for (int tick = 0; tick < 10; tick++) {
        work(&tree, CHILD, 10 * MS, 990 * MS);
        fake_tree_find(&tree, FAKE_ROOT)->state = tick < 6 ? 'S' : 'R';
        if (tick == 6)
            fake_tree_write(&tree, fake_tree_find(&tree, FAKE_ROOT));
        fake_tree_collect_after(&tree, TICK_NS);
        if (tick > 0)
            assert_wanted(&tree, 1, 0.02);
    }
    fake_tree_end(&tree);
}

/* A short last interval is taken together with the one before: what was used, and what was waited. */
static void test_wanted_at_the_end(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    begin(&tree);
    for (int tick = 0; tick < 3; tick++) {
        work(&tree, FAKE_ROOT, 300 * MS, 700 * MS);
        fake_tree_collect_after(&tree, TICK_NS);
    }
    work(&tree, FAKE_ROOT, 1 * MS, 19 * MS);
    fake_tree_collect_after(&tree, 20 * MS);
    assert_wanted(&tree, 1, 0.01);
    fake_tree_end(&tree);
}

/* Processes that live between two samples: those that are met stand for the others. */
static void check_short_processes(struct opt_f64 pressure_secs, double later_wanted)
{
    struct fake_tree tree;
    begin(&tree);
    tree.cpus = 4;
    tree.pressure_secs = pressure_secs;
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
        /* The first interval is not that of the pressure. */
        assert_wanted(&tree, tick == 0 ? 4 : later_wanted, 0.1);
        assert_false(tree.sample.cpu.process_busiest_cores.has); /* one of those that are gone may have used more */
        for (pid_t one = pid - 4; one < pid; one++)
            fake_tree_finish(&tree, one);
    }
    fake_tree_end(&tree);
}

static void test_wanted_by_short_processes(void **unused)
{
    (void)unused;
    check_short_processes((struct opt_f64){0}, 4);
    check_short_processes(some_f64((double)TICK_NS / 1e9), 4); /* all of the time */
    check_short_processes(some_f64(0), 0.88); /* never: what they used */
}

/* Nothing waits for longer than the machine had anything waiting. */
static void test_lacking(void **unused)
{
    (void)unused;
    static const struct {
        double ready, used;
        struct opt_f64 pressed;
        double cores;
    } cases[] = {
        {4, 1, {0}, 3},
        {0.9, 0.3, {0}, 0.6},
        {0.2, 0.3, {0}, 0},
        {4, 1, {true, 1}, 3},
        {0.9, 0.3, {true, 0.02}, 0.02}, /* an idle machine */
        {4, 1, {true, 0.5}, 2},
        {4, 1, {true, 0}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_about(some_f64(demand_lacking(cases[i].ready, cases[i].used, cases[i].pressed)), cases[i].cores, 1e-9);
    /* Four that wait beside 64 that are busy on 64 CPUs are a pressure of 6 %. */
    assert_about(some_f64(demand_pressed(0.06, 64)), 1, 1e-9);
    assert_about(some_f64(demand_pressed(0.01, 2)), 0.02, 1e-9);
    /* It is read before the tree. */
    size_t pressure = SIZE_MAX, tree = 0;
    for (size_t i = 0; i < collector_registry_count; i++) {
        if (collector_registry[i] == &collector_pressure)
            pressure = i;
        if (collector_registry[i] == &collector_tree)
            tree = i;
    }
    assert_true(pressure < tree);
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

/* Phases of half a minute can be seen within two seconds. */
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

static uint64_t on_one(pid_t tid)
{
    return tid == CHILD ? 4 : 0xff;
}

static uint64_t on_one_each(pid_t tid)
{
    return UINT64_C(1) << ((tid + tid / FAKE_TID_STEP) % 8);
}

/* The CPUs of those that use CPU time: the shell that started them does not count, those bound one by one add up. */
static void test_affinity(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t (*affinity)(pid_t tid);
        uint64_t root_ms, child_ms, cpus; /* 0: unknown */
    } cases[] = {{on_one, 5, 900, 1}, {on_one, 30, 900, 1}, {on_one, 300, 900, 8}, {on_one_each, 500, 500, 2},
        {NULL, 500, 500, 0}, {on_one, 0, 0, 0}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct fake_tree tree;
        begin(&tree);
        tree.affinity = cases[c].affinity;
        fake_tree_fork(&tree, CHILD, FAKE_ROOT, 0);
        for (int tick = 0; tick < 40; tick++) {
            work(&tree, FAKE_ROOT, cases[c].root_ms * MS, 0);
            work(&tree, CHILD, cases[c].child_ms * MS, 0);
            fake_tree_collect_after(&tree, TICK_NS);
        }
        assert_int_equal(tree.status.cpus_allowed.has, cases[c].cpus > 0);
        assert_int_equal(tree.status.cpus_allowed.v, cases[c].cpus);
        assert_true(tree.affinities <= 5 * 2); /* at 1, 2, 12, 22 and 32 s */
        fake_tree_end(&tree);
    }
}

/* Bound after it had begun, and for most of its CPU time; and the other way round. */
static void test_affinity_that_changes(void **unused)
{
    (void)unused;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct fake_tree tree;
        begin(&tree);
        for (int tick = 0; tick < 60; tick++) {
            tree.affinity = tick < (is_late ? 20 : 2) ? on_one : on_one_each;
            work(&tree, FAKE_ROOT, 900 * MS, 0);
            fake_tree_collect_after(&tree, TICK_NS);
        }
        assert_int_equal(tree.status.cpus_allowed.v, is_late ? 8 : 1);
        fake_tree_end(&tree);
    }
}

/* Threads that run: all of them, and nothing where they cannot be listed. */
static void test_affinity_of_threads(void **unused)
{
    (void)unused;
    for (int is_listed = 0; is_listed < 2; is_listed++) {
        struct fake_tree tree;
        begin(&tree);
        tree.affinity = on_one_each;
        struct fake_process *root = fake_tree_find(&tree, FAKE_ROOT);
        root->threads = 3;
        for (int tick = 1; tick < 6; tick++) {
            root->others_run_ns += 800 * MS;
            work(&tree, FAKE_ROOT, 1200 * MS, 0);
            for (size_t i = 1; is_listed && i < 3; i++)
                fake_tree_write_thread(&tree, FAKE_ROOT, i, (uint64_t)tick * 400 * MS, 0);
            fake_tree_collect_after(&tree, TICK_NS);
        }
        assert_int_equal(tree.status.cpus_allowed.has, is_listed);
        if (is_listed)
            assert_int_equal(tree.status.cpus_allowed.v, 3);
        fake_tree_end(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_wanted_beside_a_sleeper),
        cmocka_unit_test(test_wanted_at_the_end),
        cmocka_unit_test(test_wanted_by_short_processes),
        cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_busiest),
        cmocka_unit_test(test_late_waits),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_affinity_that_changes),
        cmocka_unit_test(test_affinity_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
