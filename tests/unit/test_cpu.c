/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu section over made-up machines: shares, gaps, hot-plug, short intervals, counters that jump, files missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_env.h"

struct machine {
    struct fake_env fake;
    void *state;
    struct sample sample;
    struct err err;
};

static void machine_open(struct machine *machine)
{
    fake_env_init(&machine->fake);
    fake_env_write(&machine->fake, "proc/loadavg", "0.50 1.25 2.00 3/400 12345\n");
    machine->state = calloc(1, collector_cpu.state_bytes);
    assert_non_null(machine->state);
    assert_int_equal(collector_cpu.open(machine->state, &machine->fake.env, &machine->err), 0);
}

static void machine_close(struct machine *machine)
{
    collector_cpu.close(machine->state);
    free(machine->state);
    fake_env_fini(&machine->fake);
}

static int setup(void **state)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    assert_non_null(machine);
    machine_open(machine);
    *state = machine;
    return 0;
}

static int teardown(void **state)
{
    machine_close(*state);
    free(*state);
    return 0;
}

#define machine_unit_test(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static int machine_step(struct machine *machine, bool baseline, int64_t step_ns)
{
    fake_env_advance(&machine->fake, step_ns);
    struct tick tick = {.baseline = baseline, .mono_ns = machine->fake.mono_ns};
    machine->sample = (struct sample){0};
    err_clear(&machine->err);
    return collector_cpu.collect(machine->state, &tick, &machine->sample, &machine->err);
}

static void machine_baseline(struct machine *machine, const char *stat)
{
    fake_env_write(&machine->fake, "proc/stat", stat);
    assert_int_equal(machine_step(machine, true, 0), 0);
    assert_false(machine->sample.cpu.present);
}

static const struct sample_cpu *machine_sample(struct machine *machine, const char *stat, int64_t step_ns)
{
    fake_env_write(&machine->fake, "proc/stat", stat);
    assert_int_equal(machine_step(machine, false, step_ns), 0);
    assert_true(machine->sample.cpu.present);
    return &machine->sample.cpu;
}

static void assert_value(struct opt_f64 value, double expected)
{
    assert_true(value.has);
    assert_true(fabs(value.v - expected) < 1e-9);
}

/* One text for the whole list: "50 - 100". */
static void assert_cores(const struct sample_cpu *cpu, const char *expected)
{
    char text[256] = "";
    const struct opt_f64 *items = cpu->per_core_pct.items;
    for (size_t i = 0; cpu->per_core_pct.present && i < cpu->per_core_pct.count; i++) {
        size_t used = strlen(text);
        if (items[i].has)
            (void)snprintf(text + used, sizeof(text) - used, "%s%g", used ? " " : "", items[i].v);
        else
            (void)snprintf(text + used, sizeof(text) - used, "%s-", used ? " " : "");
    }
    assert_string_equal(text, expected);
}

static void test_usual(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu  100 10 50 1000 20 5 5 10 90 9\n"
                              "cpu0 50 5 25 500 10 2 3 5 0 0\ncpu1 50 5 25 500 10 3 2 5 0 0\n"
                              "intr 12 0 0\nctxt 5000\nprocesses 9\nprocs_running 1\nprocs_blocked 0\n");
    const struct sample_cpu *cpu = machine_sample(machine,
        "cpu  180 30 80 1050 30 9 8 13 999 999\n"
        "cpu0 130 25 25 500 10 2 3 5 0 0\ncpu1 50 5 55 550 20 7 5 8 0 0\n"
        "intr 99 0 0\nctxt 5321\nprocesses 19\nprocs_running 3\nprocs_blocked 2\n",
        NS_PER_SEC);
    assert_value(cpu->utilization_pct, 2.0 * 140 / 200);
    assert_cores(cpu, "100 40");
    assert_value(cpu->utime_secs, 1.0);
    assert_value(cpu->stime_secs, 0.3);
    assert_value(cpu->iowait_secs, 0.1);
    assert_value(cpu->irq_secs, 0.07);
    assert_value(cpu->steal_secs, 0.03);
    assert_value(cpu->steal_pct, 1.5);
    assert_true(cpu->per_core_steal_pct.present && cpu->per_core_steal_pct.count == 0);
    assert_true(cpu->context_switches.has && cpu->context_switches.v == 321);
    assert_true(cpu->procs_running.has && cpu->procs_running.v == 3);
    assert_true(cpu->procs_blocked.has && cpu->procs_blocked.v == 2);
    assert_value(cpu->load1, 0.5);
    assert_value(cpu->load5, 1.25);
    assert_value(cpu->load15, 2.0);
    assert_false(cpu->process_cores_used.has || cpu->process_child_count.has || cpu->process_rss_mib.has);
    assert_int_equal(machine->err.code, 0);
}

static void test_steal_per_core(void **state)
{
    struct machine *machine = *state;
    machine->fake.env.wants_steal_per_core = true;
    machine_baseline(machine, "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\n");
    const struct sample_cpu *cpu = machine_sample(
        machine, "cpu 60 0 0 110 0 0 0 30\ncpu0 60 0 0 15 0 0 0 25\ncpu2 0 0 0 95 0 0 0 5\n", NS_PER_SEC);
    assert_value(cpu->steal_secs, 0.3);
    assert_value(cpu->steal_pct, 15);
    assert_true(cpu->per_core_steal_pct.present);
    assert_int_equal(cpu->per_core_steal_pct.count, 3);
    const struct opt_f64 *cores = cpu->per_core_steal_pct.items;
    assert_value(cores[0], 25);
    assert_false(cores[1].has);
    assert_value(cores[2], 5);
    /* A kernel that does not count it, and one whose counter goes back. */
    cpu = machine_sample(machine, "cpu 160 0 0 210\ncpu0 110 0 0 65\ncpu2 50 0 0 145\n", NS_PER_SEC);
    assert_value(cpu->steal_pct, 0);
}

static void test_ticks_per_second_of_the_machine(void **state)
{
    struct machine *machine = *state;
    machine->fake.env.ticks_per_sec = 1000;
    machine_baseline(machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\n");
    const struct sample_cpu *cpu = machine_sample(machine, "cpu 250 0 500 250\ncpu0 250 0 500 250\n", NS_PER_SEC);
    assert_value(cpu->utime_secs, 0.25);
    assert_value(cpu->stime_secs, 0.5);
    assert_value(cpu->iowait_secs, 0);
    assert_value(cpu->utilization_pct, 0.75);
    assert_false(cpu->context_switches.has || cpu->procs_running.has || cpu->procs_blocked.has);
}

static void test_gaps_between_cpu_numbers(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\ncpu2 0 0 0 0\ncpu5 0 0 0 0\n");
    const struct sample_cpu *cpu =
        machine_sample(machine, "cpu 150 0 0 150\ncpu0 100 0 0 0\ncpu2 0 0 0 100\ncpu5 50 0 0 50\n", NS_PER_SEC);
    assert_cores(cpu, "100 - 0 - - 50");
    assert_value(cpu->utilization_pct, 1.5);
}

static void test_a_cpu_comes_and_goes(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\ncpu3 0 0 0 0\n");
    /* cpu1 comes with old counters of its own: unknown in its first interval, and cpu3 is not mistaken for it. */
    const struct sample_cpu *cpu =
        machine_sample(machine, "cpu 100 0 0 100\ncpu0 0 0 0 100\ncpu1 7000 0 0 9000\ncpu3 100 0 0 0\n", NS_PER_SEC);
    assert_cores(cpu, "0 - - 100");
    cpu =
        machine_sample(machine, "cpu 250 0 0 250\ncpu0 50 0 0 150\ncpu1 7025 0 0 9075\ncpu3 100 0 0 100\n", NS_PER_SEC);
    assert_cores(cpu, "50 25 - 0");
    assert_value(cpu->utilization_pct, 1.5);
    /* cpu3 goes, then cpu0; what is left keeps its number. */
    cpu = machine_sample(machine, "cpu 350 0 0 350\ncpu0 150 0 0 150\ncpu1 7025 0 0 9175\n", NS_PER_SEC);
    assert_cores(cpu, "100 0 - -");
    cpu = machine_sample(machine, "cpu 450 0 0 450\ncpu1 7100 0 0 9200\n", NS_PER_SEC);
    assert_cores(cpu, "- 75 - -");
    assert_value(cpu->utilization_pct, 0.75);
    assert_false(cpu->iowait_secs.has);
    /* cpu0 is back with counters that began again. */
    cpu = machine_sample(machine, "cpu 500 0 0 500\ncpu0 1 0 0 1\ncpu1 7200 0 0 9200\n", NS_PER_SEC);
    assert_cores(cpu, "- 100 - -");
    cpu = machine_sample(machine, "cpu 600 0 0 600\ncpu0 31 0 0 71\ncpu1 7200 0 0 9300\n", NS_PER_SEC);
    assert_cores(cpu, "30 0 - -");
    assert_true(cpu->iowait_secs.has);
}

/* Below 100 ms the shares are derived ten times a second and repeated; times and counts are those of each interval. */
static void test_short_intervals(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\n");
    const struct sample_cpu *cpu = machine_sample(machine, "cpu 1 0 0 0\ncpu0 1 0 0 0\n", 10 * NS_PER_MS);
    assert_value(cpu->utilization_pct, 1);
    assert_value(cpu->utime_secs, 0.01);
    for (int i = 2; i < 10; i++) {
        char stat[64];
        (void)snprintf(stat, sizeof(stat), "cpu 1 0 0 %d\ncpu0 1 0 0 %d\n", i - 1, i - 1);
        cpu = machine_sample(machine, stat, 10 * NS_PER_MS);
        assert_value(cpu->utilization_pct, 1);
        assert_cores(cpu, "100");
        assert_value(cpu->utime_secs, 0);
    }
    /* At 100 ms: the share of all of them, not of the last 10 ms. */
    cpu = machine_sample(machine, "cpu 2 0 0 8\ncpu0 2 0 0 8\n", 10 * NS_PER_MS);
    assert_value(cpu->utilization_pct, 0.2);
    assert_cores(cpu, "20");
    assert_value(cpu->utime_secs, 0.01);
    cpu = machine_sample(machine, "cpu 12 0 0 8\ncpu0 12 0 0 8\n", 99 * NS_PER_MS);
    assert_value(cpu->utilization_pct, 0.2);
    assert_value(cpu->utime_secs, 0.1);
    cpu = machine_sample(machine, "cpu 12 0 0 8\ncpu0 12 0 0 8\n", NS_PER_MS);
    assert_value(cpu->utilization_pct, 1);
    assert_value(cpu->utime_secs, 0);
}

static void test_no_tick_has_passed(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 5 0 0 5\ncpu0 5 0 0 5\n");
    const struct sample_cpu *cpu = machine_sample(machine, "cpu 5 0 0 5\ncpu0 5 0 0 5\n", 10 * NS_PER_MS);
    assert_false(cpu->utilization_pct.has);
    assert_cores(cpu, "-");
    assert_value(cpu->utime_secs, 0);
    /* As soon as there is something to divide by, it is known. */
    cpu = machine_sample(machine, "cpu 5 0 0 6\ncpu0 5 0 0 6\n", 10 * NS_PER_MS);
    assert_value(cpu->utilization_pct, 0);
    assert_cores(cpu, "0");
}

static void test_counters_that_go_backwards(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 1000 100 500 9000 50 5 5 5\ncpu0 1000 100 500 9000 50 5 5 5\nctxt 100\n");
    const struct sample_cpu *cpu =
        machine_sample(machine, "cpu 900 100 550 9050 40 0 5 5\ncpu0 900 100 550 9050 40 0 5 5\nctxt 50\n", NS_PER_SEC);
    assert_value(cpu->utime_secs, 0);
    assert_value(cpu->stime_secs, 0.5);
    assert_value(cpu->iowait_secs, 0);
    assert_value(cpu->irq_secs, 0);
    assert_value(cpu->utilization_pct, 0.5);
    assert_cores(cpu, "50");
    assert_true(cpu->context_switches.has && cpu->context_switches.v == 0);
    /* Once: from here on it counts again. */
    cpu =
        machine_sample(machine, "cpu 950 100 550 9100 40 0 5 5\ncpu0 950 100 550 9100 40 0 5 5\nctxt 60\n", NS_PER_SEC);
    assert_value(cpu->utime_secs, 0.5);
    assert_value(cpu->utilization_pct, 0.5);
    assert_int_equal(cpu->context_switches.v, 10);
}

static void test_huge_counters(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 0 0 0 18446744073709551515\ncpu0 0 0 0 18446744073709551515\n");
    const struct sample_cpu *cpu =
        machine_sample(machine, "cpu 100 0 0 18446744073709551615\ncpu0 100 0 0 18446744073709551615\n", NS_PER_SEC);
    assert_value(cpu->utilization_pct, 0.5);
    assert_cores(cpu, "50");
}

/* It is not known how many CPUs there are, so the cores in use are not known either, and certainly not 0. */
static void test_no_lines_of_single_cpus(void **state)
{
    (void)state;
    struct machine machine;
    machine_open(&machine);
    machine_baseline(&machine, "cpu 0 0 0 0\n");
    const struct sample_cpu *cpu = machine_sample(&machine, "cpu 100 0 0 0\n", NS_PER_SEC);
    struct opt_f64 used = cpu->utilization_pct;
    assert_value(cpu->utime_secs, 1);
    assert_false(cpu->per_core_pct.present);
    machine_close(&machine);
    assert_false(used.has);
}

static void test_load_averages_missing(void **state)
{
    struct machine *machine = *state;
    static const char *const broken[] = {"", "x y z\n", "0.50 1.25\n", "0.50 1.25 2.0"};
    fake_env_remove(&machine->fake, "proc/loadavg");
    machine_baseline(machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\n");
    const struct sample_cpu *cpu = machine_sample(machine, "cpu 1 0 0 1\ncpu0 1 0 0 1\n", NS_PER_SEC);
    assert_false(cpu->load1.has || cpu->load5.has || cpu->load15.has);
    assert_value(cpu->utilization_pct, 0.5);
    assert_int_equal(machine->err.code, -ENOENT);
    assert_non_null(strstr(machine->err.msg, "loadavg"));
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        fake_env_write(&machine->fake, "proc/loadavg", broken[i]);
        cpu = machine_sample(machine, "cpu 1 0 0 1\ncpu0 1 0 0 1\n", NS_PER_SEC);
        assert_false(cpu->load1.has || cpu->load5.has || cpu->load15.has);
        assert_true(machine->err.code < 0);
    }
    fake_env_write(&machine->fake, "proc/loadavg", "9.00 8.00 7.00 1/2 3\n");
    cpu = machine_sample(machine, "cpu 1 0 0 1\ncpu0 1 0 0 1\n", NS_PER_SEC);
    assert_value(cpu->load1, 9);
    assert_value(cpu->load15, 7);
    assert_int_equal(machine->err.code, 0);
}

static void test_stat_missing_and_back(void **state)
{
    struct machine *machine = *state;
    assert_int_equal(machine_step(machine, true, 0), -ENOENT);
    assert_int_equal(machine_step(machine, false, NS_PER_SEC), -ENOENT);
    assert_false(machine->sample.cpu.present);
    assert_non_null(strstr(machine->err.msg, "/proc/stat"));
    /* The first reading is only a beginning. */
    const struct sample_cpu *cpu = machine_sample(machine, "cpu 900 0 0 900\ncpu0 900 0 0 900\n", NS_PER_SEC);
    assert_false(cpu->utilization_pct.has || cpu->utime_secs.has || cpu->per_core_pct.present);
    assert_value(cpu->load1, 0.5);
    cpu = machine_sample(machine, "cpu 950 0 0 950\ncpu0 950 0 0 950\n", NS_PER_SEC);
    assert_value(cpu->utilization_pct, 0.5);
    assert_value(cpu->utime_secs, 0.5);
    assert_cores(cpu, "50");
}

/* A reading that fails is a gap, not a loss: the next good one has the ticks since the last good one. */
static void test_broken_stat_is_made_up_for(void **state)
{
    struct machine *machine = *state;
    machine_baseline(machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\nctxt 5\n");
    (void)machine_sample(machine, "cpu 50 0 0 50\ncpu0 50 0 0 50\nctxt 10\n", NS_PER_SEC);
    fake_env_write(&machine->fake, "proc/stat", "cpu 90 0 0 60\ncpu8192 1 0 0 1\n");
    assert_int_equal(machine_step(machine, false, NS_PER_SEC), -E2BIG);
    assert_false(machine->sample.cpu.present);
    const struct sample_cpu *cpu = machine_sample(machine, "cpu 140 0 0 60\ncpu0 140 0 0 60\nctxt 70\n", NS_PER_SEC);
    assert_value(cpu->utime_secs, 0.9);
    assert_value(cpu->utilization_pct, 0.9);
    assert_cores(cpu, "90");
    assert_int_equal(cpu->context_switches.v, 60);
    cpu = machine_sample(machine, "cpu 141 0 0 159\ncpu0 141 0 0 159\nctxt 70\n", NS_PER_SEC);
    assert_value(cpu->utime_secs, 0.01);
    assert_value(cpu->utilization_pct, 0.01);
}

/* -ENODATA means "this host has none" and is silent; a /proc/stat without a cpu line is an error to be reported. */
static void test_stat_without_a_cpu_line_is_reported(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "ctxt 5\n", "cpu 1 2 3 4"};
    struct machine machine;
    machine_open(&machine);
    int results[3];
    for (size_t i = 0; i < 3; i++) {
        fake_env_write(&machine.fake, "proc/stat", texts[i]);
        results[i] = machine_step(&machine, false, NS_PER_SEC);
        assert_false(machine.sample.cpu.present);
        assert_int_equal(machine.err.code, results[i]);
    }
    machine_close(&machine);
    for (size_t i = 0; i < 3; i++) {
        assert_true(results[i] < 0);
        assert_int_not_equal(results[i], -ENODATA);
    }
}

static void test_descriptors_are_given_back(void **state)
{
    (void)state;
    int before = fake_env_open_count();
    struct machine machine;
    machine_open(&machine);
    machine_baseline(&machine, "cpu 0 0 0 0\ncpu0 0 0 0 0\n");
    (void)machine_sample(&machine, "cpu 1 0 0 1\ncpu0 1 0 0 1\n", NS_PER_SEC);
    int steady = fake_env_open_count();
    fake_env_break(&machine.fake, "proc/stat");
    (void)machine_sample(&machine, "cpu 2 0 0 2\ncpu0 2 0 0 2\n", NS_PER_SEC);
    assert_int_equal(fake_env_open_count(), steady);
    machine_close(&machine);
    assert_int_equal(fake_env_open_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine_unit_test(test_usual),
        machine_unit_test(test_steal_per_core),
        machine_unit_test(test_ticks_per_second_of_the_machine),
        machine_unit_test(test_gaps_between_cpu_numbers),
        machine_unit_test(test_a_cpu_comes_and_goes),
        machine_unit_test(test_short_intervals),
        machine_unit_test(test_no_tick_has_passed),
        machine_unit_test(test_counters_that_go_backwards),
        machine_unit_test(test_huge_counters),
        cmocka_unit_test(test_no_lines_of_single_cpus),
        machine_unit_test(test_load_averages_missing),
        machine_unit_test(test_stat_missing_and_back),
        machine_unit_test(test_broken_stat_is_made_up_for),
        cmocka_unit_test(test_stat_without_a_cpu_line_is_reported),
        cmocka_unit_test(test_descriptors_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
