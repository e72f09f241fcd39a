/* SPDX-License-Identifier: Apache-2.0 */
/* Time waited for a CPU: what is read of it, on which budget, and what is known where not all could be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collect/tree/wait.h"
#include "fake_tree.h"
#include "run/session_internal.h"

#define MS NS_PER_MS
#define TICK_NS NS_PER_SEC

enum { CHILD = 101, THREADS_MAX = 600 };

/* A tree that counts waiting, and a process of it with many threads. */
struct scenario {
    struct fake_tree tree;
    struct thread {
        uint64_t run_ns, wait_ns;
    } threads[THREADS_MAX];
    struct blocking blocking; /* counts the readings */
    struct blocking_thread thread;
    int64_t cost_ns; /* of a reading, on our own clock */
    int64_t cpu_ns; /* that clock */
    int asked; /* for it: before and after readings on a budget */
    unsigned before; /* readings */
};

static int64_t read_ns(void *context, enum clock_kind kind)
{
    struct scenario *scenario = context;
    if (kind == CLOCK_KIND_REALTIME)
        return scenario->tree.fake.real_ns;
    if (kind != CLOCK_KIND_OWN_CPU)
        return scenario->tree.fake.mono_ns;
    unsigned readings = atomic_load(&scenario->thread.sequence);
    if (++scenario->asked % 2 == 0)
        scenario->cpu_ns += scenario->cost_ns * (int64_t)(readings - scenario->before);
    scenario->before = readings;
    return scenario->cpu_ns;
}

static void prepare(struct scenario *scenario, bool is_attached)
{
    memset(scenario, 0, sizeof(*scenario));
    struct fake_tree *tree = &scenario->tree;
    if (is_attached)
        fake_tree_init_attached(tree);
    else
        fake_tree_init(tree);
    tree->fake.clock = (struct clock){.read_ns = read_ns, .context = scenario};
    scenario->blocking.thread = &scenario->thread;
    tree->fake.env.blocking = &scenario->blocking;
    tree->counts_waiting = true;
    fake_tree_write(tree, fake_tree_find(tree, FAKE_ROOT));
}

static void begin(struct scenario *scenario)
{
    prepare(scenario, false);
    fake_tree_open(&scenario->tree);
}

static void end(struct scenario *scenario)
{
    fake_tree_end(&scenario->tree);
}

/* It runs and waits for a CPU. */
static void work(struct fake_tree *tree, pid_t pid, uint64_t run_ns, uint64_t wait_ns)
{
    fake_tree_run(tree, pid, run_ns, 0);
    fake_tree_starve(tree, pid, wait_ns);
}

static void assert_wait(const struct fake_tree *tree, double secs)
{
    fake_tree_assert_near(tree->sample.cpu.process_wait_secs, secs);
}

static void assert_unknown(const struct fake_tree *tree)
{
    assert_false(tree->sample.cpu.process_wait_secs.has);
}

/* The root gets threads; they have neither run nor waited. */
static void add_threads(struct scenario *scenario, size_t from, size_t to)
{
    struct fake_tree *tree = &scenario->tree;
    fake_tree_find(tree, FAKE_ROOT)->threads = to;
    fake_tree_write(tree, fake_tree_find(tree, FAKE_ROOT));
    for (size_t i = from > 1 ? from : 1; i < to; i++)
        fake_tree_write_thread(tree, FAKE_ROOT, i, scenario->threads[i].run_ns, scenario->threads[i].wait_ns);
}

/* Another thread of the root than its first runs and waits. */
static void work_thread(struct scenario *scenario, size_t thread, uint64_t run_ns, uint64_t wait_ns)
{
    struct fake_tree *tree = &scenario->tree;
    scenario->threads[thread].run_ns += run_ns;
    scenario->threads[thread].wait_ns += wait_ns;
    fake_tree_find(tree, FAKE_ROOT)->others_run_ns += run_ns;
    fake_tree_run(tree, FAKE_ROOT, run_ns, 0);
    fake_tree_write_thread(
        tree, FAKE_ROOT, thread, scenario->threads[thread].run_ns, scenario->threads[thread].wait_ns);
}

static void test_one_thread(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 300 * MS, 700 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.7);
    work(tree, FAKE_ROOT, 900 * MS, 100 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.1);
    fake_tree_collect_after(tree, TICK_NS); /* it sleeps */
    assert_wait(tree, 0);
    assert_int_equal(scenario.asked, 0); /* without a budget */
    end(&scenario);
}

/* What threads want that sleep between bursts, also where they are not read in every tick. */
static void test_wanted_of_threads(void **unused)
{
    (void)unused;
    for (int is_costly = 0; is_costly < 2; is_costly++) {
        struct scenario scenario;
        struct fake_tree *tree = &scenario.tree;
        begin(&scenario);
        scenario.cost_ns = is_costly ? 60000 : 2000;
        add_threads(&scenario, 1, 41);
        double sum = 0;
        for (int tick = 0; tick < 60; tick++) {
            for (size_t i = 1; i < 41; i++)
                work_thread(&scenario, i, 18 * MS, 55 * MS);
            fake_tree_collect_after(tree, 100 * MS);
            if (tick >= 20)
                sum += tree->sample.cpu.process_cores_wanted.v / 40;
        }
        if (sum < 15 || sum > 18.5) /* 40 of 0.4; the slack of a tick weighs more in a second than in two */
            fail_msg("%.3f cores wanted by 40 threads of 0.4", sum);
        end(&scenario);
    }
}

/* A counter that went backwards gives 0 once. */
static void test_backwards(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 300 * MS, 700 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_find(tree, FAKE_ROOT)->wait_ns = 100 * MS;
    work(tree, FAKE_ROOT, 300 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0);
    work(tree, FAKE_ROOT, 300 * MS, 200 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.2);
    end(&scenario);
}

/* What is read can be more than the interval has; it is spread over those that follow. */
static void test_no_more_than_the_interval(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 5 * MS, 0);
    fake_tree_collect_after(tree, 10 * MS);
    work(tree, FAKE_ROOT, 5 * MS, 25 * MS);
    fake_tree_collect_after(tree, 10 * MS);
    assert_wait(tree, 0.005);
    fake_tree_collect_after(tree, 10 * MS);
    assert_wait(tree, 0.01);
    fake_tree_collect_after(tree, 10 * MS);
    assert_wait(tree, 0.01);
    fake_tree_collect_after(tree, 10 * MS);
    assert_wait(tree, 0);
    end(&scenario);
}

/* One busy thread beside processes and threads that sleep wants no more than one core, whenever its waits show. */
static void test_one_thread_among_sleepers(void **unused)
{
    (void)unused;
    for (int is_thread = 0; is_thread < 2; is_thread++) {
        struct scenario scenario;
        struct fake_tree *tree = &scenario.tree;
        begin(&scenario);
        add_threads(&scenario, 1, 4);
        fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
        double sum = 0;
        for (int tick = 1; tick <= 12; tick++) {
            if (tick % 3 == 0 && is_thread)
                work_thread(&scenario, 2, 30 * MS, 2970 * MS);
            else if (tick % 3 == 0)
                work(tree, CHILD, 30 * MS, 2970 * MS);
            fake_tree_collect_after(tree, TICK_NS);
            assert_true(tree->sample.cpu.process_cores_wanted.v <= 1.0001);
            sum += tree->sample.cpu.process_wait_secs.v;
        }
        /* What is left of the last wait is in no sample. */
        fake_tree_assert_near(some_f64(sum), 9.88);
        end(&scenario);
    }
}

/* Threads that all wait for longer than a tick, and show it in turns. */
static void test_long_waits(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    add_threads(&scenario, 1, 31);
    double sum = 0;
    for (int tick = 0; tick < 40; tick++) {
        for (size_t i = 1; i < 31; i++) {
            if ((size_t)tick % 3 == i % 3)
                work_thread(&scenario, i, 30 * MS, 2970 * MS);
        }
        fake_tree_collect_after(tree, TICK_NS);
        if (tick >= 10)
            sum += tree->sample.cpu.process_cores_wanted.v / 30;
    }
    if (sum < 29 || sum > 30.1)
        fail_msg("%.3f cores wanted by 30 threads", sum);
    end(&scenario);
}

/* Its CPU clock is read a moment later than ours. */
static void test_more_than_the_interval(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    for (int tick = 0; tick < 3; tick++) {
        work(tree, FAKE_ROOT, 52 * MS, 0);
        fake_tree_collect_after(tree, 50 * MS);
        const struct opt_f64 wait = tree->sample.cpu.process_wait_secs;
        assert_true(wait.has && wait.v >= 0 && wait.v <= 0);
    }
    end(&scenario);
}

static void test_whole_quanta(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    prepare(&scenario, false);
    tree->tracked.quantum_ns = 100000;
    fake_tree_open(tree);
    work(tree, FAKE_ROOT, 300 * MS, 1270000);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.0012);
    work(tree, FAKE_ROOT, 300 * MS, 40000);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.0001);
    end(&scenario);
}

/* Born in the interval: its numbers are since its birth, and that counts. */
static void test_born_between(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    work(tree, CHILD, 100 * MS, 400 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.4);
    end(&scenario);
}

/* A process that ended since the last sample, or lived in between, counts by its share of CPU time. */
static void test_scaled(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    work(tree, FAKE_ROOT, 100 * MS, 0);
    work(tree, CHILD, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    work(tree, FAKE_ROOT, 500 * MS, 200 * MS);
    work(tree, CHILD, 300 * MS, 600 * MS);
    fake_tree_finish(tree, CHILD);
    fake_tree_collect_after(tree, TICK_NS);
    const struct opt_f64 wait = tree->sample.cpu.process_wait_secs;
    assert_true(wait.has && wait.v > 0.319 && wait.v < 0.321);
    end(&scenario);
}

/* Less than half of the CPU time is that of threads that were read: not known, and nothing of it counts later. */
static void test_unknown_below_half(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    work(tree, FAKE_ROOT, 300 * MS, 200 * MS);
    work(tree, CHILD, 400 * MS, 600 * MS);
    fake_tree_finish(tree, CHILD);
    fake_tree_collect_after(tree, TICK_NS);
    assert_unknown(tree);
    work(tree, FAKE_ROOT, 300 * MS, 200 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.2);
    end(&scenario);
}

/* So little CPU time says nothing: what was read counts. */
static void test_negligible_cpu_time(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    work(tree, CHILD, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    work(tree, FAKE_ROOT, 1 * MS, 30 * MS);
    work(tree, CHILD, 3 * MS, 900 * MS);
    fake_tree_finish(tree, CHILD);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.03);
    end(&scenario);
}

/* Ready to run when its state was read, and no CPU since: it waits although no file shows that yet. */
static void test_starved(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    fake_tree_find(tree, FAKE_ROOT)->state = 'R';
    work(tree, FAKE_ROOT, 100 * MS, 100 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.1);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 1);
    fake_tree_collect_after(tree, TICK_NS / 2);
    assert_wait(tree, 0.5);
    /* It runs at last: the file has all of it, and 0.3 s more. */
    work(tree, FAKE_ROOT, 100 * MS, 1800 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.3);
    /* The same for a moment is nothing: the clock of one that runs may stand still until its next tick. */
    fake_tree_collect_after(tree, 50 * MS);
    assert_wait(tree, 0);
    end(&scenario);
}

static void test_missing_file(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_run(&tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_unknown(&tree);
    /* One that is there later is not opened any more. */
    tree.counts_waiting = true;
    fake_tree_run(&tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_unknown(&tree);
    assert_int_equal(tree.err.code, 0);
    fake_tree_end(&tree);
}

/* The file is there and the kernel does not count (no delay accounting). */
static void test_zeros(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_begin(&tree);
    fake_tree_write_file(&tree, FAKE_ROOT, "schedstat", "0 0 0\n");
    fake_tree_run(&tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_unknown(&tree);
    fake_tree_collect_after(&tree, TICK_NS);
    assert_unknown(&tree);
    fake_tree_end(&tree);
}

/* Once read, a file that is broken or gone makes the value unknown only where it matters. */
static void test_broken_file(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_run(tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_write_file(tree, FAKE_ROOT, "schedstat", "12 34");
    fake_tree_collect_after(tree, TICK_NS);
    assert_unknown(tree);
    work(tree, FAKE_ROOT, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    assert_unknown(tree); /* not at once again */
    work(tree, FAKE_ROOT, 100 * MS, 600 * MS);
    fake_tree_collect_after(tree, COLLECT_SLOW_NS);
    assert_wait(tree, 0.6);
    end(&scenario);
}

static void test_hidden(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    fake_tree_hide(tree, CHILD);
    fake_tree_run(tree, CHILD, 400 * MS, 0);
    work(tree, FAKE_ROOT, 400 * MS, 100 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    const struct opt_f64 wait = tree->sample.cpu.process_wait_secs;
    assert_true(wait.has && wait.v > 0.199 && wait.v < 0.201);
    fake_tree_run(tree, CHILD, 900 * MS, 0);
    work(tree, FAKE_ROOT, 400 * MS, 100 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_unknown(tree);
    end(&scenario);
}

/* Another process has the number now: its numbers are its own, and all of them count. */
static void test_reused_pid(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    work(tree, CHILD, 100 * MS, 800 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.8);
    fake_tree_finish(tree, CHILD);
    fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
    work(tree, CHILD, 200 * MS, 500 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_run(tree, FAKE_ROOT, MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.5);
    work(tree, CHILD, 200 * MS, 300 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.3);
    end(&scenario);
}

/* --pid: what was waited for before does not count. */
static void test_attached(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    prepare(&scenario, true);
    add_threads(&scenario, 1, 3);
    work(tree, FAKE_ROOT, 5000 * MS, 9000 * MS);
    work_thread(&scenario, 1, 5000 * MS, 8000 * MS);
    fake_tree_open(tree);
    fake_tree_baseline(tree);
    work(tree, FAKE_ROOT, 100 * MS, 200 * MS);
    work_thread(&scenario, 1, 100 * MS, 300 * MS);
    work_thread(&scenario, 2, 100 * MS, 400 * MS);
    add_threads(&scenario, 3, 4);
    work_thread(&scenario, 3, 50 * MS, 50 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.95);
    end(&scenario);
}

/* Threads come and go. */
static void test_threads(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    add_threads(&scenario, 1, 4);
    work(tree, FAKE_ROOT, 100 * MS, 10 * MS);
    for (size_t i = 1; i < 4; i++)
        work_thread(&scenario, i, 100 * MS, 100 * MS * i);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.61);
    work_thread(&scenario, 3, 100 * MS, 20 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.02);
    /* One ends and another begins: the same number of threads. */
    fake_tree_end_thread(tree, FAKE_ROOT, 2);
    work_thread(&scenario, 4, 100 * MS, 40 * MS);
    work_thread(&scenario, 1, 100 * MS, 30 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.07);
    /* One ends, and half of the CPU time of the interval was its own. */
    fake_tree_end_thread(tree, FAKE_ROOT, 4);
    fake_tree_find(tree, FAKE_ROOT)->threads = 3;
    fake_tree_find(tree, FAKE_ROOT)->others_run_ns += 200 * MS;
    fake_tree_run(tree, FAKE_ROOT, 200 * MS, 0);
    work_thread(&scenario, 1, 200 * MS, 30 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0.06);
    /* The process ends. */
    fake_tree_exit(tree, FAKE_ROOT);
    fake_tree_reap(tree, FAKE_ROOT);
    fake_tree_collect_after(tree, TICK_NS);
    assert_wait(tree, 0);
    end(&scenario);
}

/* Threads that lived between two samples of a process that has one at both. */
static void test_threads_between(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    work(tree, FAKE_ROOT, 100 * MS, 10 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    fake_tree_find(tree, FAKE_ROOT)->others_run_ns += 800 * MS;
    work(tree, FAKE_ROOT, 900 * MS, 10 * MS);
    fake_tree_collect_after(tree, TICK_NS);
    assert_unknown(tree);
    end(&scenario);
}

/* Of 500 threads those that run are read in every tick, and files are kept of these only. */
static void test_many_threads(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    prepare(&scenario, false);
    tree->lists_children = false;
    fake_tree_open(tree);
    scenario.cost_ns = 3000;
    add_threads(&scenario, 1, 500);
    work_thread(&scenario, 1, 100 * MS, 0);
    fake_tree_collect_after(tree, TICK_NS);
    int idle = fake_env_open_count();
    assert_wait(tree, 0);
    for (int tick = 0; tick < 3; tick++) {
        for (size_t i = 100; i < 110; i++)
            work_thread(&scenario, i, 100 * MS, 500 * MS);
        fake_tree_collect_after(tree, TICK_NS);
        assert_wait(tree, 5);
    }
    assert_true(fake_env_open_count() <= idle + 12);
    end(&scenario);
}

/*
 * Where the budget does not last, threads are read in turn, and in between their last rate counts: what was waited is
 * reported in full.
 */
static void test_budget(void **unused)
{
    (void)unused;
    struct scenario scenario;
    struct fake_tree *tree = &scenario.tree;
    begin(&scenario);
    scenario.cost_ns = 40000;
    add_threads(&scenario, 1, 100);
    double sum = 0;
    int short_of = 0;
    for (int tick = 0; tick < 200; tick++) {
        for (size_t i = 1; i < 100; i++)
            work_thread(&scenario, i, 1 * MS, 8 * MS);
        fake_tree_collect_after(tree, 100 * MS);
        const struct opt_f64 wait = tree->sample.cpu.process_wait_secs;
        assert_true(wait.has);
        sum += wait.v;
        short_of += wait.v < 0.5;
    }
    /* All of them would take 4 ms in every tick, and 0.5 may be used; with what is there from the start. */
    assert_true(scenario.cpu_ns < 122 * MS);
    assert_true(scenario.cpu_ns > 90 * MS);
    double expected = 200 * 99 * 0.008;
    if (sum < expected * 0.98 || sum > expected * 1.02)
        fail_msg("%.3f instead of %.3f", sum, expected);
    assert_true(short_of <= 2);
    end(&scenario);
}

/* Without descriptors to keep, and with few of them. */
static void test_few_descriptors(void **unused)
{
    (void)unused;
    static const size_t kept[] = {0, 2, 9};
    for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
        struct scenario scenario;
        struct fake_tree *tree = &scenario.tree;
        prepare(&scenario, false);
        tree->fake.env.descriptors = kept[k];
        int before = fake_env_open_count();
        fake_tree_open(tree);
        fake_tree_fork(tree, CHILD, FAKE_ROOT, 0);
        add_threads(&scenario, 1, 10);
        for (int tick = 0; tick < 3; tick++) {
            work(tree, CHILD, 100 * MS, 100 * MS);
            for (size_t i = 1; i < 10; i++)
                work_thread(&scenario, i, 10 * MS, 20 * MS);
            fake_tree_collect_after(tree, TICK_NS);
            assert_wait(tree, 0.28);
            assert_true(fake_env_open_count() <= before + (int)kept[k] + 4);
        }
        fake_tree_close(tree);
        assert_int_equal(fake_env_open_count(), before);
        fake_tree_fini(tree);
    }
}

/* The root was waited for before the final sample; what it waited to its end was read before that. */
static void test_end_of_root(void **unused)
{
    (void)unused;
    for (int has_sample = 0; has_sample < 2; has_sample++) {
        struct scenario scenario;
        struct fake_tree *tree = &scenario.tree;
        begin(&scenario);
        work(tree, FAKE_ROOT, 100 * MS, 300 * MS);
        if (has_sample)
            fake_tree_collect_after(tree, TICK_NS);
        work(tree, FAKE_ROOT, 300 * MS, 200 * MS);
        fake_tree_exit(tree, FAKE_ROOT);
        reap_note_root_end(&tree->tracked, &tree->fake.root);
        assert_true(tree->tracked.root_end.has);
        fake_tree_reap(tree, FAKE_ROOT);
        fake_tree_collect_after(tree, TICK_NS);
        assert_wait(tree, has_sample ? 0.2 : 0.5);
        fake_tree_collect_after(tree, TICK_NS);
        assert_wait(tree, 0);
        end(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_wanted_of_threads),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_no_more_than_the_interval),
        cmocka_unit_test(test_one_thread_among_sleepers),
        cmocka_unit_test(test_long_waits),
        cmocka_unit_test(test_more_than_the_interval),
        cmocka_unit_test(test_whole_quanta),
        cmocka_unit_test(test_born_between),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_unknown_below_half),
        cmocka_unit_test(test_negligible_cpu_time),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_broken_file),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_reused_pid),
        cmocka_unit_test(test_attached),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_between),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_end_of_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
