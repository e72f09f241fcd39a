/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "series_scenario.h"

enum { DAY_SECS = 86400 };

static struct sample with_cores(double secs, double cores)
{
    struct sample sample = at_secs(secs);
    sample.cpu.process_cores_used = some_f64(cores);
    return sample;
}

static struct series_value series_at(const struct series *series, size_t line, size_t i)
{
    return series_over(series, line, i, i + 1);
}

static int heat_at(const struct series *series, size_t row, size_t i)
{
    double share = series_cell(series, SERIES_CPUS, row, i, i + 1);
    return share < 0 ? -1 : (int)(share + 0.01);
}

static void assert_value(const struct series *series, size_t line, size_t i, double low, double mean, double high)
{
    struct series_value value = series_at(series, line, i);
    assert_true(value.has);
    assert_float_equal((double)value.low, low, 1e-4);
    assert_float_equal((double)value.mean, mean, 1e-4);
    assert_float_equal((double)value.high, high, 1e-4);
}

static void test_empty(void **state)
{
    (void)state;
    struct series *series = made();
    assert_int_equal(series_points(series), 0);
    assert_int_equal(series_rows(series, SERIES_CPUS), 0);
    assert_int_equal(series_runs(series), 0);
    for (size_t line = 0; line < SERIES_LINES; line++)
        assert_false(series_has(series, line));
    series_next_run(series); /* nothing to break off */
    struct sample sample = with_cores(1, 2);
    add(series, &sample);
    assert_int_equal(series_runs(series), 1);
    series_free(series);
    series_free(NULL);
}

static void test_every_line_has_a_name(void **state)
{
    (void)state;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        assert_in_range(series_lines[line].chart, SERIES_CPU, SERIES_CHARTS - 1);
        assert_true(series_lines[line].name[0] != '\0');
        assert_true(line == 0 || series_lines[line].chart >= series_lines[line - 1].chart);
    }
}

static void test_values_of_a_sample(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample sample = with_cores(2, 1.5);
    sample.actual_interval_ms = some_f64(500);
    sample.cpu.utilization_pct = some_f64(2.5);
    sample.cpu.process_rss_mib = some_f64(100);
    sample.cpu.process_disk_read_bytes = some_u64(1000);
    sample.cpu.process_gpu_usage = some_f64(0.5);
    sample.memory.present = true;
    sample.memory.used_mib = some_f64(900);
    sample.cgroup.present = true;
    sample.cgroup.memory_used_mib = some_f64(120);
    sample.pressure.present = true;
    sample.pressure.io_some_secs = some_f64(0.05);
    add(series, &sample);
    assert_value(series, SERIES_CPU_TREE, 0, 1.5, 1.5, 1.5);
    assert_value(series, SERIES_CPU_HOST, 0, 2.5, 2.5, 2.5);
    assert_value(series, SERIES_RSS, 0, 100, 100, 100);
    assert_value(series, SERIES_TREE_READ, 0, 2000, 2000, 2000);
    assert_value(series, SERIES_GPU_TREE, 0, .5, .5, .5);
    assert_value(series, SERIES_HOST_USED, 0, 900, 900, 900);
    assert_value(series, SERIES_CGROUP, 0, 120, 120, 120);
    assert_value(series, SERIES_IO_SOME, 0, 10, 10, 10);
    assert_false(series_has(series, SERIES_PSS));
    assert_false(series_has(series, SERIES_TREE_WRITE));
    assert_false(series_has(series, SERIES_RECEIVED));
    assert_false(series_has(series, SERIES_CPU_SOME));
    series_free(series);
}

static void test_first_sample_counts_from_the_start(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample sample = at_secs(4);
    sample.actual_interval_ms = (struct opt_f64){0};
    sample.cpu.process_disk_write_bytes = some_u64(1000);
    add(series, &sample);
    assert_value(series, SERIES_TREE_WRITE, 0, 250, 250, 250);
    series_free(series);
}

static void test_absent_sections_and_intervals(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample sample = with_cores(1, 3);
    sample.cpu.present = false;
    sample.pressure.cpu_some_secs = some_f64(1);
    add(series, &sample);
    assert_false(series_has(series, SERIES_CPU_TREE));
    assert_false(series_has(series, SERIES_CPU_SOME));
    struct sample timeless = {.cpu = {.present = true, .process_disk_read_bytes = some_u64(5)}};
    add(series, &timeless);
    assert_false(series_has(series, SERIES_TREE_READ));
    assert_float_equal(series_secs(series, 1), 1.0, 1e-9);
    series_free(series);
}

static void test_broken_numbers_are_no_values(void **state)
{
    (void)state;
    static const double broken[] = {-1, (double)NAN, (double)INFINITY, 1e300};
    struct series *series = made();
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct sample sample = with_cores(1 + (double)i, broken[i]);
        add(series, &sample);
    }
    assert_false(series_has(series, SERIES_CPU_TREE));
    struct sample backwards = with_cores(0.5, 1), never = with_cores((double)NAN, 1);
    add(series, &backwards);
    add(series, &never);
    assert_float_equal(series_secs(series, 4), 4.0, 1e-9);
    assert_float_equal(series_secs(series, 5), 4.0, 1e-9);
    series_free(series);
}

static void test_disks_that_are_stacked_count_once(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample_disk disks[] = {
        {.read_bytes_per_sec = some_f64(100), .stacked = some_bool(false)},
        {.read_bytes_per_sec = some_f64(100), .stacked = some_bool(true)},
        {.read_bytes_per_sec = some_f64(7), .write_bytes_per_sec = some_f64(3)},
    };
    struct sample sample = at_secs(1);
    sample.disk = (struct sample_list){true, 3, disks};
    add(series, &sample);
    assert_value(series, SERIES_HOST_READ, 0, 107, 107, 107);
    assert_value(series, SERIES_HOST_WRITE, 0, 3, 3, 3);
    series_free(series);
}

static void test_interfaces_with_hardware(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample_network interfaces[] = {
        {.rx_bytes_per_sec = some_f64(10), .tx_bytes_per_sec = some_f64(1), .is_virtual = some_bool(true)},
        {.rx_bytes_per_sec = some_f64(20), .tx_bytes_per_sec = some_f64(2), .is_virtual = some_bool(false)},
    };
    struct sample sample = at_secs(1);
    sample.network = (struct sample_list){true, 2, interfaces};
    add(series, &sample);
    assert_value(series, SERIES_RECEIVED, 0, 20, 20, 20);
    sample.network.count = 1; /* none with hardware: what there is */
    sample.elapsed_secs = some_f64(2);
    add(series, &sample);
    assert_value(series, SERIES_RECEIVED, 1, 10, 10, 10);
    assert_value(series, SERIES_SENT, 1, 1, 1, 1);
    series_free(series);
}

static void test_what_is_not_known_to_be_virtual_has_hardware(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample_network interfaces[] = {
        {.rx_bytes_per_sec = some_f64(10), .is_virtual = some_bool(true)},
        {.rx_bytes_per_sec = some_f64(20), .is_virtual = some_bool(false)},
        {.rx_bytes_per_sec = some_f64(40), .is_virtual = {.v = true}},
    };
    struct sample sample = at_secs(1);
    sample.network = (struct sample_list){true, 3, interfaces};
    add(series, &sample);
    assert_value(series, SERIES_RECEIVED, 0, 60, 60, 60);
    interfaces[1].is_virtual.v = true;
    sample.elapsed_secs = some_f64(2);
    add(series, &sample);
    assert_value(series, SERIES_RECEIVED, 1, 40, 40, 40);
    sample.network.present = false;
    sample.elapsed_secs = some_f64(3);
    add(series, &sample);
    assert_false(series_at(series, SERIES_RECEIVED, 2).has);
    series_free(series);
}

/* As a row of CSV has it. */
static void test_bytes_without_a_rate(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample_disk disks[] = {
        {.read_bytes_delta = some_u64(500), .write_bytes_delta = some_u64(1)},
        {.read_bytes_per_sec = some_f64(7), .read_bytes_delta = some_u64(999)}, /* a rate that is reported counts */
        {.read_bytes_delta = some_u64(64), .stacked = some_bool(true)},
    };
    struct sample_network interface = {.rx_bytes_delta = some_u64(50), .tx_bytes_per_sec = some_f64((double)NAN)};
    struct sample sample = at_secs(1);
    sample.actual_interval_ms = some_f64(500);
    sample.disk = (struct sample_list){true, 3, disks};
    sample.network = (struct sample_list){true, 1, &interface};
    add(series, &sample);
    assert_value(series, SERIES_HOST_READ, 0, 1007, 1007, 1007);
    assert_value(series, SERIES_HOST_WRITE, 0, 2, 2, 2);
    assert_value(series, SERIES_RECEIVED, 0, 100, 100, 100);
    assert_false(series_has(series, SERIES_SENT));
    sample.actual_interval_ms = some_f64(0); /* for an unknown time */
    add(series, &sample);
    assert_value(series, SERIES_HOST_READ, 1, 7, 7, 7);
    assert_false(series_at(series, SERIES_HOST_WRITE, 1).has);
    series_free(series);
}

static void test_pressure_is_at_most_100_pct(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample sample = at_secs(1);
    sample.pressure =
        (struct sample_pressure){.present = true, .cpu_some_secs = some_f64(1.03), .io_full_secs = some_f64(0.99)};
    add(series, &sample);
    assert_value(series, SERIES_CPU_SOME, 0, 100, 100, 100);
    assert_value(series, SERIES_IO_FULL, 0, 99, 99, 99);
    series_free(series);
}

static void test_gpus_are_summed(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample_gpu gpus[] = {
        {.utilization_pct = some_f64(50), .vram_used_bytes = some_u64(1048576)},
        {.utilization_pct = some_f64(100)},
    };
    struct sample sample = at_secs(1);
    sample.gpu = (struct sample_list){true, 2, gpus};
    add(series, &sample);
    assert_value(series, SERIES_GPU_HOST, 0, 1.5, 1.5, 1.5);
    assert_value(series, SERIES_VRAM_HOST, 0, 1, 1, 1);
    series_free(series);
}

static void test_a_spike_survives_a_day(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= DAY_SECS; i++) {
        struct sample sample = with_cores(i, i == 50001 ? 64 : i == 70001 ? 0.25 : 2);
        add(series, &sample);
    }
    size_t points = series_points(series), spikes = 0, dips = 0;
    assert_in_range(points, SERIES_POINTS_MAX / 2, SERIES_POINTS_MAX);
    assert_float_equal(series_secs(series, points - 1), DAY_SECS, 1e-6);
    for (size_t i = 0; i < points; i++) {
        struct series_value value = series_at(series, SERIES_CPU_TREE, i);
        double from = i > 0 ? series_secs(series, i - 1) : 0;
        assert_true(value.has && series_secs(series, i) > from);
        bool has_spike = from < 50001 && 50001 <= series_secs(series, i);
        bool has_dip = from < 70001 && 70001 <= series_secs(series, i);
        spikes += has_spike;
        dips += has_dip;
        assert_float_equal((double)value.high, (has_spike ? 64 : 2), 1e-6);
        assert_float_equal((double)value.low, (has_dip ? .25 : 2), 1e-6);
        assert_true(has_spike ? value.mean > 5.8f && value.mean < 5.9f : value.mean > 1.8f && value.mean <= 2.001f);
    }
    assert_int_equal(spikes, 1);
    assert_int_equal(dips, 1);
    series_free(series);
}

static void test_means_are_those_of_the_samples(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= 4 * SERIES_POINTS_MAX; i++) {
        struct sample sample = with_cores(i, i % 4); /* every four: 1 2 3 0 */
        add(series, &sample);
    }
    assert_int_equal(series_points(series), SERIES_POINTS_MAX);
    assert_value(series, SERIES_CPU_TREE, 0, 0, 1.5, 3);
    assert_value(series, SERIES_CPU_TREE, SERIES_POINTS_MAX - 1, 0, 1.5, 3);
    series_free(series);
}

static void test_a_value_that_comes_and_goes(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= 2 * SERIES_POINTS_MAX; i++) {
        struct sample sample = with_cores(i, 4);
        sample.cpu.process_cores_used.has = i % 4 == 1; /* the first of four */
        add(series, &sample);
    }
    assert_value(series, SERIES_CPU_TREE, 0, 4, 4, 4);
    assert_false(series_at(series, SERIES_CPU_TREE, 1).has);
    assert_true(series_at(series, SERIES_CPU_TREE, 2).has);
    series_free(series);
}

static void test_an_hour_is_complete(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= 3600; i++) {
        struct sample sample = with_cores(i, i % 3);
        add(series, &sample);
    }
    assert_int_equal(series_points(series), 3600);
    assert_int_equal(series_step(series), 1);
    assert_value(series, SERIES_CPU_TREE, 1234, 2, 2, 2);
    series_free(series);
}

static void test_peaks_have_their_time(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= DAY_SECS; i++) {
        struct sample sample = with_cores(i, 1);
        sample.cpu.process_rss_mib = some_f64(i == 28801 ? 13000 : 500);
        add(series, &sample);
    }
    struct series_peak peak = series_peak(series, SERIES_RSS);
    assert_true(peak.has && peak.value == 13000);
    assert_float_equal(peak.secs, 28801, 1e-6);
    assert_int_equal(series_step(series), 16);
    struct series_value hour = series_over(series, SERIES_RSS, 28800 / 16, 28800 / 16 + 1);
    assert_true(hour.high == 13000 && hour.low == 500);
    assert_false(series_peak(series, SERIES_PSS).has);
    series_free(series);
}

static void test_wanted_is_used_and_waited(void **state)
{
    (void)state;
    struct series *series = made();
    struct sample sample = with_cores(2, 1.5);
    sample.actual_interval_ms = some_f64(500);
    sample.cpu.process_wait_secs = some_f64(0.25);
    add(series, &sample);
    assert_value(series, SERIES_CPU_WANTED, 0, 2, 2, 2);
    sample.cpu.process_cores_wanted = some_f64(1.75);
    sample.elapsed_secs = some_f64(2.5);
    add(series, &sample);
    assert_value(series, SERIES_CPU_WANTED, 1, 1.75, 1.75, 1.75);
    sample.cpu.process_wait_secs = sample.cpu.process_cores_wanted = (struct opt_f64){0};
    sample.elapsed_secs = some_f64(3);
    add(series, &sample);
    assert_false(series_at(series, SERIES_CPU_WANTED, 2).has);
    series_free(series);
}

/* The job is gone in the last sample: that is the end of its line, not a value of 0. */
static void test_nothing_is_held_behind_the_end(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= 3; i++) {
        struct sample sample = with_cores(i, 1);
        sample.cpu.process_rss_mib = sample.cpu.process_pss_mib = some_f64(i < 3 ? 100 : 0);
        sample.cpu.process_gpu_vram_mib = some_f64(i == 2 ? 50 : 0);
        sample.end.present = i == 3;
        add(series, &sample);
    }
    assert_true(series_at(series, SERIES_RSS, 1).has);
    assert_false(series_at(series, SERIES_RSS, 2).has);
    assert_false(series_at(series, SERIES_PSS, 2).has);
    assert_true(series_at(series, SERIES_VRAM_TREE, 0).has); /* nothing yet */
    assert_false(series_at(series, SERIES_VRAM_TREE, 2).has);
    assert_true(series_at(series, SERIES_CPU_TREE, 2).has);
    series_free(series);
}

static void test_runs_are_kept_apart(void **state)
{
    (void)state;
    static const char *const words[] = {"/usr/bin/make", "all"};
    struct series *series = made();
    for (int run = 0; run < 3; run++) {
        series_next_run(series);
        for (int i = 1; i <= 4001; i++) {
            struct sample sample = with_cores(i, run + 1);
            sample.job_name = run == 0 ? "first\xe2\x80\xae" : NULL;
            sample.timestamp_ms = some_i64(1000000 + i * 1000);
            sample.run = (struct sample_run){.present = i == 1 && run == 1, .command = {true, 2, words}};
            add(series, &sample);
        }
    }
    assert_int_equal(series_runs(series), 3);
    static const char *const names[] = {"first?", "make", ""};
    for (size_t run = 0; run < 3; run++) {
        struct series_run about = series_run_at(series, run);
        assert_string_equal(about.name, names[run]);
        assert_true(about.started_ms.has && about.started_ms.v == 1000000);
        assert_int_equal((size_t)about.start_secs, 4001 * run);
        assert_int_equal((size_t)series_secs(series, about.to - 1), 4001 * (run + 1));
        for (size_t i = about.from; i < about.to; i++)
            assert_value(series, SERIES_CPU_TREE, i, (double)run + 1, (double)run + 1, (double)run + 1);
        assert_int_equal(about.from, run == 0 ? 0 : series_run_at(series, run - 1).to);
    }
    assert_int_equal(series_run_at(series, 2).to, series_points(series));
    series_free(series);
}

static void test_more_runs_than_points(void **state)
{
    (void)state;
    struct series *series = made();
    for (int run = 0; run < 10000; run++) {
        struct sample sample = with_cores(1, run == 1234 ? 9 : 1);
        series_next_run(series);
        add(series, &sample);
    }
    float most = 0;
    assert_in_range(series_points(series), 1, SERIES_POINTS_MAX);
    for (size_t i = 0; i < series_points(series); i++)
        most = series_at(series, SERIES_CPU_TREE, i).high > most ? series_at(series, SERIES_CPU_TREE, i).high : most;
    assert_true(most == 9);
    assert_float_equal(series_secs(series, series_points(series) - 1), 10000, 1e-6);
    assert_int_equal(series_runs(series), 1); /* one history without names */
    assert_int_equal(series_run_at(series, 0).to, series_points(series));
    assert_string_equal(series_run_at(series, 0).name, "");
    series_free(series);
}

static void test_heat(void **state)
{
    (void)state;
    struct series *series = made();
    struct opt_f64 shares[3] = {some_f64(10), {0}, some_f64(250)};
    struct sample sample = at_secs(1);
    sample.cpu.per_core_pct = (struct sample_list){true, 2, shares};
    add(series, &sample);
    assert_int_equal(series_rows(series, SERIES_CPUS), 2);
    assert_int_equal(heat_at(series, 0, 0), 10);
    assert_int_equal(heat_at(series, 1, 0), -1);
    sample.elapsed_secs = some_f64(2);
    sample.cpu.per_core_pct.count = 3; /* a CPU was plugged in */
    add(series, &sample);
    assert_int_equal(series_rows(series, SERIES_CPUS), 3);
    assert_int_equal(heat_at(series, 2, 0), -1);
    assert_int_equal(heat_at(series, 0, 0), 10);
    assert_int_equal(heat_at(series, 2, 1), 100);
    sample.cpu.per_core_pct.present = false;
    add(series, &sample);
    assert_int_equal(heat_at(series, 0, 2), -1);
    series_free(series);
}

static void test_heat_is_the_mean_over_a_day(void **state)
{
    (void)state;
    struct series *series = made();
    struct opt_f64 shares[SERIES_CORES_MAX + 5];
    for (size_t core = 0; core < sizeof(shares) / sizeof(shares[0]); core++)
        shares[core] = some_f64((double)(core % 101));
    for (int i = 1; i <= DAY_SECS / 4; i++) {
        struct sample sample = at_secs(i);
        shares[0] = some_f64(i % 2 ? 30 : 71);
        sample.cpu.per_core_pct = (struct sample_list){true, sizeof(shares) / sizeof(shares[0]), shares};
        add(series, &sample);
    }
    assert_int_equal(series_rows(series, SERIES_CPUS), SERIES_CORES_MAX);
    for (size_t i = 0; i < series_points(series); i++) {
        assert_in_range(heat_at(series, 0, i), 50, 51);
        assert_int_equal(heat_at(series, 99, i), 99);
        assert_int_equal(heat_at(series, 202, i), 0);
    }
    series_free(series);
}

static void test_each_gpu(void **state)
{
    (void)state;
    struct series *series = made();
    for (int i = 1; i <= 2 * SERIES_POINTS_MAX; i++) {
        struct sample_gpu gpus[SERIES_GPUS_MAX + 3] = {
            {.utilization_pct = some_f64(i % 2 ? 40 : 60), .power_watts = some_f64(700.4)},
            {.temperature_celsius = some_f64(85)},
            {.power_watts = some_f64(-1), .temperature_celsius = some_f64((double)NAN)},
        };
        struct sample sample = at_secs(i);
        sample.gpu = (struct sample_list){true, sizeof(gpus) / sizeof(gpus[0]), gpus};
        add(series, &sample);
    }
    assert_int_equal(series_rows(series, SERIES_GPUS), SERIES_GPUS_MAX);
    assert_float_equal(series_cell(series, SERIES_GPUS, 0, 7, 8), 50, 0.01);
    assert_float_equal(series_cell(series, SERIES_POWER, 0, 0, SERIES_POINTS_MAX), 700.4, 0.11);
    assert_float_equal(series_cell(series, SERIES_TEMPERATURE, 1, 7, 8), 85, 0.01);
    assert_true(series_cell(series, SERIES_GPUS, 1, 7, 8) < 0);
    assert_true(series_cell(series, SERIES_POWER, 2, 7, 8) < 0);
    assert_true(series_cell(series, SERIES_TEMPERATURE, 2, 7, 8) < 0);
    series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_every_line_has_a_name),
        cmocka_unit_test(test_values_of_a_sample),
        cmocka_unit_test(test_first_sample_counts_from_the_start),
        cmocka_unit_test(test_absent_sections_and_intervals),
        cmocka_unit_test(test_broken_numbers_are_no_values),
        cmocka_unit_test(test_disks_that_are_stacked_count_once),
        cmocka_unit_test(test_interfaces_with_hardware),
        cmocka_unit_test(test_what_is_not_known_to_be_virtual_has_hardware),
        cmocka_unit_test(test_bytes_without_a_rate),
        cmocka_unit_test(test_pressure_is_at_most_100_pct),
        cmocka_unit_test(test_gpus_are_summed),
        cmocka_unit_test(test_a_spike_survives_a_day),
        cmocka_unit_test(test_means_are_those_of_the_samples),
        cmocka_unit_test(test_a_value_that_comes_and_goes),
        cmocka_unit_test(test_an_hour_is_complete),
        cmocka_unit_test(test_peaks_have_their_time),
        cmocka_unit_test(test_wanted_is_used_and_waited),
        cmocka_unit_test(test_nothing_is_held_behind_the_end),
        cmocka_unit_test(test_runs_are_kept_apart),
        cmocka_unit_test(test_more_runs_than_points),
        cmocka_unit_test(test_heat),
        cmocka_unit_test(test_heat_is_the_mean_over_a_day),
        cmocka_unit_test(test_each_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
