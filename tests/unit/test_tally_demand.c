/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tally_scenario.h"

enum { GROWS, IS_FLAT, GREW_FIRST, SPIKED, FALLS, STEPS_LATE };

static void assert_near(struct opt_f64 value, double wanted)
{
    assert_true(value.has);
    if (!(value.v - wanted < 1e-9 && wanted - value.v < 1e-9))
        fail_msg("%.17g instead of %.17g", value.v, wanted);
}

/* Seconds of a job on a machine of two CPUs that used and waited for so much. */
static void add_seconds(struct accumulator *tally, unsigned seconds, double used, struct opt_f64 waited)
{
    static const struct opt_f64 cpus[2] = {{true, 100}, {true, 100}};
    for (unsigned i = 1; i <= seconds; i++) {
        struct sample sample = second(i, used, 100);
        sample.cpu.process_wait_secs = waited;
        sample.cpu.process_busiest_cores = some_f64(used);
        sample.cpu.per_core_pct = (struct sample_list){true, 2, cpus};
        sample.cpu.utilization_pct = some_f64(2); /* cores of the host */
        sample.end.present = i == seconds;
        sample.end.exit_code = some_i64(0);
        add_sample(tally, &sample);
    }
}

static void test_wanted(void **state)
{
    add_seconds(*state, 10, 1.99, some_f64(2.01));
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_cpu *cpu = &summary->cpu;
    assert_near(cpu->wait_secs, 20.1);
    assert_near(cpu->wanted_mean, 4);
    assert_f64(cpu->wanted_p95, 4);
    assert_f64(cpu->wanted_peak, 4);
    assert_f64(cpu->saturated_pct, 100);
    assert_int_equal(summary->sizing.vcpus.v, 4);
    assert_string_equal(
        summary->sizing.vcpus_reason, "used all 2 cores; wanted about 4, more than the 2 CPUs of this machine");
    assert_string_equal(summary->verdict.kind, "cpu-bound");
    assert_string_equal(summary->verdict.text, "CPU-bound on 2 of 2 cores; it wanted about 4 cores.");
}

/* Waiting is per interval: half a second of it in half a second is a core. */
static void test_wanted_by_interval(void **state)
{
    for (unsigned i = 1; i <= 10; i++) {
        struct sample sample = second(i, 0.5, 100);
        sample.elapsed_secs = some_f64(i * 0.5);
        sample.actual_interval_ms = (struct opt_f64){i > 1, 500};
        sample.cpu.process_utime_secs = sample.cpu.process_stime_secs = some_f64(0.125);
        sample.cpu.process_wait_secs = some_f64(0.5);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_near(summary->cpu.wanted_mean, 1.5);
    assert_f64(summary->cpu.wanted_peak, 1.5);
    assert_f64(summary->cpu.wait_secs, 5);
}

/* The kernel adds a wait when it is over: what one interval lacks, the next has too much of. */
static void test_waits_that_come_late(void **state)
{
    (void)state;
    static const struct {
        double interval, used, waits[2];
        uint64_t threads;
        double most;
        uint64_t vcpus;
    } cases[] = {
        {0.2, 0.4, {0.04, 0.2}, 1, 1, 1}, /* one thread, 0.6 and 1.4 cores in turn */
        {0.2, 0.4, {0.1, 0.14}, 40, 1.025, 1}, /* the same among others that sleep */
        {1, 0.4, {0.5, 0.7}, 40, 1.025, 1}, {1, 0.1, {0.86, 0.95}, 1, 1, 1}, {1, 1, {2.9, 3.1}, 4, 4, 4},
        {1, 1, {7, 7}, 4, 8, 8}, /* far more than the threads of the sample: it missed some */
        {1, 0.5, {0, 0.02}, 40, 0.525, 1}, /* no waiting to speak of */
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        for (unsigned i = 1; i <= 40; i++) {
            struct sample sample = second(i, cases[c].used, 100);
            sample.elapsed_secs = some_f64(i * cases[c].interval);
            sample.actual_interval_ms = (struct opt_f64){i > 1, cases[c].interval * 1000};
            sample.cpu.process_wait_secs = some_f64(cases[c].waits[i % 2]);
            sample.cpu.process_thread_count = some_u64(cases[c].threads);
            add_sample(tally, &sample);
        }
        const struct summary *summary = accumulate_finish(tally);
        if (!(summary->cpu.wanted_p95.v <= cases[c].most * 1.008 && summary->cpu.wanted_p95.v >= cases[c].most * 0.95))
            fail_msg("case %zu: %.4f", c, summary->cpu.wanted_p95.v);
        assert_int_equal(summary->sizing.vcpus.v, cases[c].vcpus);
        accumulate_free(tally);
    }
}

/* Bursts of a job that does not wait keep their height. */
static void test_bursts_without_waiting(void **state)
{
    for (unsigned i = 1; i <= 40; i++) {
        struct sample sample = second(i, i % 10 ? 0.1 : 3, 100);
        sample.cpu.process_wait_secs = some_f64(0.001);
        sample.cpu.process_thread_count = some_u64(8);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->cpu.wanted_p95.v >= 2.99);
    assert_int_equal(summary->sizing.vcpus.v, 3);
}

static void test_same_job_on_an_idle_and_on_a_busy_host(void **state)
{
    struct accumulator *busy;
    assert_int_equal(accumulate_new(&busy), 0);
    add_seconds(*state, 10, 1, some_f64(0));
    add_seconds(busy, 10, 0.4, some_f64(0.6));
    const struct summary *idle_host = accumulate_finish(*state), *busy_host = accumulate_finish(busy);
    assert_int_equal(idle_host->sizing.vcpus.v, 1);
    assert_int_equal(busy_host->sizing.vcpus.v, 1);
    assert_int_equal(idle_host->sizing.cpu_millicores.v, 1000);
    assert_int_equal(busy_host->sizing.cpu_millicores.v, 1000);
    assert_string_equal(idle_host->verdict.kind, "single-threaded");
    assert_string_equal(busy_host->verdict.kind, "starved");
    accumulate_free(busy);
}

/* Known for less than half of the time: not known. What is added up over the run must be known for four fifths of it.
 */
static void test_waiting_that_is_mostly_unknown(void **state)
{
    (void)state;
    for (unsigned known = 4; known <= 10; known += known == 6 ? 2 : 1) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        for (unsigned i = 1; i <= 10; i++) {
            struct sample sample = second(i, 1, 100);
            sample.cpu.process_wait_secs = (struct opt_f64){i <= known, 1};
            add_sample(tally, &sample);
        }
        const struct summary_cpu *cpu = &accumulate_finish(tally)->cpu;
        assert_int_equal(cpu->wait_secs.has, known >= 8);
        if (known >= 8)
            assert_f64(cpu->wait_secs, 10);
        assert_int_equal(cpu->wanted_mean.has, known >= 5);
        assert_int_equal(cpu->wanted_p95.has, known >= 5);
        assert_int_equal(cpu->wanted_peak.has, known >= 5);
        if (known >= 5)
            assert_f64(cpu->wanted_p95, 2);
        accumulate_free(tally);
    }
}

/* Where more was wanted than waited, it is an estimate, and what was waited is a part. */
static void test_wanted_beyond_what_was_waited(void **state)
{
    for (unsigned i = 1; i <= 10; i++) {
        struct sample sample = second(i, 0.6, 100);
        sample.cpu.process_wait_secs = some_f64(0.01);
        sample.cpu.process_cores_wanted = some_f64(0.9);
        add_sample(*state, &sample);
    }
    const struct summary_cpu *cpu = &accumulate_finish(*state)->cpu;
    assert_false(cpu->wait_secs.has);
    assert_true(cpu->wanted_is_estimate.v);
    assert_f64(cpu->wanted_p95, 0.9);
}

/* Recordings of older versions do not have it. */
static void test_waiting_that_was_never_recorded(void **state)
{
    add_seconds(*state, 10, 1.5, (struct opt_f64){0});
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->cpu.wait_secs.has);
    assert_false(summary->cpu.wanted_p95.has);
    assert_int_equal(summary->sizing.vcpus.v, 2);
    assert_string_equal(
        summary->sizing.vcpus_reason, "at least: P95 of 1.5 cores used; its waiting for a CPU is not known");
    assert_string_equal(summary->verdict.kind, "starved"); /* no CPU of the host was idle */
    assert_false(summary->cpu.wanted_is_estimate.has);
}

/* What was wanted is less than used and waited together where threads also sleep. */
static void test_recorded_demand(void **state)
{
    (void)state;
    for (int has_wait = 0; has_wait < 2; has_wait++) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        for (unsigned i = 1; i <= 10; i++) {
            struct sample sample = second(i, 0.36, 100);
            sample.cpu.process_wait_secs = (struct opt_f64){has_wait, 1.1};
            sample.cpu.process_cores_wanted = some_f64(0.8);
            sample.cpu.process_busiest_cores = (struct opt_f64){i > 6, 0.36};
            add_sample(tally, &sample);
        }
        const struct summary *summary = accumulate_finish(tally);
        assert_near(summary->cpu.wanted_mean, 0.8);
        assert_f64(summary->cpu.wanted_p95, 0.8);
        assert_f64(summary->cpu.wanted_peak, 0.8);
        assert_int_equal(summary->sizing.vcpus.v, 1);
        assert_int_equal(summary->cpu.wait_secs.has, has_wait);
        assert_true(summary->cpu.wanted_is_estimate.has);
        assert_int_equal(summary->cpu.wanted_is_estimate.v, !has_wait);
        assert_false(summary->cpu.busiest_mean.has); /* known for less than half of the time */
        accumulate_free(tally);
    }
}

/* A recording that is wrong: less was wanted than used. */
static void test_wanted_below_used(void **state)
{
    for (unsigned i = 1; i <= 4; i++) {
        struct sample sample = second(i, 1, 100);
        sample.cpu.process_cores_wanted = some_f64(i == 1 ? -1 : i == 2 ? __builtin_nan("") : 0.5);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.wanted_p95, 1);
    assert_f64(summary->cpu.wanted_mean, 1);
}

/* The job's own affinity counts, not ours; but not where it used more than that. */
static void test_affinity_of_the_job(void **state)
{
    (void)state;
    static const struct {
        double used;
        struct opt_u64 ours, jobs;
        double limit;
        const char *source;
    } cases[] = {
        {1, {true, 2}, {true, 1}, 1, "affinity"}, {1, {true, 2}, {0}, 2, "machine"},
        {1.8, {true, 2}, {true, 1}, 2, "machine"},
        {1, {true, 1}, {true, 2}, 2, "machine"}, /* --pid of a process that may run on more */
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        static const struct opt_f64 cpus[2] = {{true, 100}, {true, 100}};
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        for (unsigned i = 1; i <= 5; i++) {
            struct sample sample = second(i, cases[c].used, 100);
            sample.cpu.per_core_pct = (struct sample_list){true, 2, cpus};
            sample.run = (struct sample_run){.present = i == 1, .cpus_allowed = cases[c].ours};
            sample.end = (struct sample_end){.present = i == 5, .cpus_allowed = cases[c].jobs};
            add_sample(tally, &sample);
        }
        const struct summary_cpu *cpu = &accumulate_finish(tally)->cpu;
        assert_f64(cpu->limit_cores, cases[c].limit);
        assert_string_equal(cpu->limit_source, cases[c].source);
        accumulate_free(tally);
    }
}

static void test_saturated(void **state)
{
    static const double used[] = {2, 1.98, 1.96, 1.85, 1, 0, 0, 0, 2, 1.5};
    static const struct opt_f64 cpus[2] = {{true, 100}, {true, 100}};
    for (unsigned i = 1; i <= 10; i++) {
        struct sample sample = second(i, used[i - 1], 100);
        sample.cpu.per_core_pct = (struct sample_list){true, 2, cpus};
        add_sample(*state, &sample);
    }
    assert_f64(accumulate_finish(*state)->cpu.saturated_pct, 40);
}

static void test_waiting_of_a_made_up_recording(void **state)
{
    for (unsigned i = 1; i <= 4; i++) {
        struct sample sample = second(i, 1, 100);
        sample.cpu.process_wait_secs = some_f64(i == 1 ? -1 : i == 2 ? __builtin_nan("") : 8.9e14);
        sample.actual_interval_ms = some_f64(i == 4 ? 0 : 1000);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->cpu.cores_p95.has);
    assert_true(summary->sizing.present);
}

/* Memory over 20 samples. */
static double shape(unsigned kind, unsigned i)
{
    switch (kind) {
    case GROWS:
        return 50.0 * i;
    case IS_FLAT:
        return 500 + (i % 2);
    case GREW_FIRST:
        return i < 10 ? 50.0 * i : 500;
    case SPIKED:
        return i == 19 ? 1000 : 200;
    case FALLS:
        return i < 15 ? 60.0 * i : 100;
    default:
        return i < 18 ? 300 : 600;
    }
}

static const struct summary *with_shape(struct accumulator *tally, unsigned kind, unsigned seconds, bool is_killed)
{
    for (unsigned i = 1; i <= seconds + 1; i++) {
        /* The last sample is of a tree that is gone. */
        struct sample sample = second(i, 0.01, i <= seconds ? shape(kind, (i * 20 + seconds - 1) / seconds) : 0);
        sample.run.present = i == 1;
        sample.run.interval_secs = some_f64(1);
        sample.end.present = i == seconds + 1;
        sample.end.exit_code = some_i64(is_killed ? 137 : 0);
        sample.end.signal = (struct opt_i64){is_killed, 9};
        add_sample(tally, &sample);
    }
    return accumulate_finish(tally);
}

static void test_growth(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        bool is_growing;
    } cases[] = {
        {GROWS, true}, {IS_FLAT, false}, {GREW_FIRST, false}, {SPIKED, false}, {FALLS, false}, {STEPS_LATE, false}};
    static const unsigned lengths[] = {8, 20, 33, 1000};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) * 4; i++) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        const struct summary *summary = with_shape(tally, cases[i / 4].kind, lengths[i % 4], false);
        assert_int_equal(summary->memory.growth_mib.has, cases[i / 4].is_growing);
        assert_string_equal(summary->verdict.kind, cases[i / 4].is_growing ? "memory-growing" : "idle");
        if (cases[i / 4].is_growing)
            assert_non_null(strstr(summary->sizing.memory_reason, "; it grew to the end"));
        accumulate_free(tally);
    }
}

/* The last sample met the process while it released its memory. */
static void test_growth_with_an_end(void **state)
{
    for (unsigned i = 1; i <= 12; i++) {
        struct sample sample = second(i, 0.01, i < 12 ? 50.0 * i : 30);
        add_sample(*state, &sample);
    }
    assert_true(accumulate_finish(*state)->memory.growth_mib.has);
}

/* Nor does it count that the last interval was too short to grow as much as the others. */
static void test_growth_with_a_short_end(void **state)
{
    for (unsigned i = 1; i <= 7; i++) {
        struct sample sample = second(i, 0.01, i < 7 ? 90.0 * i : 567);
        if (i == 1)
            sample.run = (struct sample_run){.present = true, .interval_secs = some_f64(1)};
        if (i == 7)
            sample.elapsed_secs = some_f64(6.3), sample.actual_interval_ms = some_f64(300);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->memory.growth_mib.has);
    assert_true(summary->memory.late_growth_mib.v > 100);
}

/* Growth of a few MiB is of no interest. */
static void test_small_growth(void **state)
{
    for (unsigned i = 1; i <= 20; i++) {
        struct sample sample = second(i, 0.01, 6.0 * i);
        add_sample(*state, &sample);
    }
    assert_false(accumulate_finish(*state)->memory.growth_mib.has);
}

/* SIGKILL leaves the need unknown only where memory was still growing. */
static void test_killed_by_shape(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        bool is_withheld;
    } cases[] = {
        {GROWS, true}, {IS_FLAT, false}, {GREW_FIRST, false}, {SPIKED, true}, {FALLS, false}, {STEPS_LATE, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        const struct summary *summary = with_shape(tally, cases[i].kind, 20, true);
        assert_int_equal(!summary->sizing.memory_mib.has, cases[i].is_withheld);
        assert_int_equal(strstr(summary->sizing.memory_reason, "still growing") != NULL, cases[i].is_withheld);
        accumulate_free(tally);
    }
}

/* A process that grew after the last sample: wait4 has its peak. */
static void test_killed_after_the_last_sample(void **state)
{
    for (unsigned i = 1; i <= 5; i++) {
        struct sample sample = second(i, 0.1, i < 5 ? 100 : 0);
        sample.cpu.process_peak_rss_mib = some_f64(i < 5 ? 100 : 900);
        sample.run.present = i == 1;
        sample.run.interval_secs = some_f64(1);
        sample.end.present = i == 5;
        sample.end.signal = some_i64(9);
        add_sample(*state, &sample);
    }
    assert_false(accumulate_finish(*state)->sizing.memory_mib.has);
}

static void test_swap_growth(void **state)
{
    static const double swap[] = {100, 90, 460, 300};
    for (unsigned i = 1; i <= 4; i++) {
        struct sample sample = second(i, 0.2, 100);
        sample.memory = (struct sample_memory){.present = true, .swap_used_mib = some_f64(swap[i - 1])};
        sample.pressure = (struct sample_pressure){.present = true, .memory_some_secs = some_f64(0.3)};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->memory.host_swap_growth_mib, 360);
    assert_string_equal(summary->verdict.kind, "swapping");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_wanted),
        TEST(test_wanted_by_interval),
        TEST(test_waits_that_come_late),
        TEST(test_bursts_without_waiting),
        TEST(test_same_job_on_an_idle_and_on_a_busy_host),
        TEST(test_waiting_that_is_mostly_unknown),
        TEST(test_wanted_beyond_what_was_waited),
        TEST(test_waiting_that_was_never_recorded),
        TEST(test_recorded_demand),
        TEST(test_wanted_below_used),
        TEST(test_affinity_of_the_job),
        TEST(test_saturated),
        TEST(test_waiting_of_a_made_up_recording),
        TEST(test_growth),
        TEST(test_growth_with_an_end),
        TEST(test_growth_with_a_short_end),
        TEST(test_small_growth),
        TEST(test_killed_by_shape),
        TEST(test_killed_after_the_last_sample),
        TEST(test_swap_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
