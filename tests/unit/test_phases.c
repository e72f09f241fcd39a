/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases that are found by themselves. With PHASES_OUT=FILE the labelled runs are written there too, as JSON, with what
 * was found in each: bench/phases_denet.py compares others with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "phase_series.h"
#include "summary/summary_internal.h"
#include "tally_scenario.h"

static struct sample sample_of(const struct series_point *point, unsigned i)
{
    static const struct sample_gpu gpu = {.name = "H200"};
    struct sample sample = second(i, point->cores, point->mib);
    sample.elapsed_secs = some_f64(point->secs);
    sample.actual_interval_ms.v = point->interval_secs * 1000;
    sample.cpu.process_utime_secs = some_f64(point->cores * point->interval_secs);
    sample.cpu.process_stime_secs = some_f64(0);
    sample.cpu.process_disk_read_bytes = some_u64((uint64_t)point->bytes);
    sample.cpu.process_disk_write_bytes = some_u64(0);
    sample.gpu = (struct sample_list){true, 1, &gpu};
    sample.cpu.process_gpu_usage = some_f64(point->gpus);
    return sample;
}

static void add_point(struct accumulator *tally, const struct series_point *point, unsigned i)
{
    struct sample sample = sample_of(point, i);
    add_sample(tally, &sample);
}

/* The end of a run: a short interval, in which nothing is left of the tree. */
static void add_end(struct accumulator *tally, double secs)
{
    struct sample sample = second(2, 0, 0);
    sample.elapsed_secs = some_f64(secs + 0.02);
    sample.actual_interval_ms = some_f64(20);
    sample.end.present = true;
    sample.end.exit_code = some_i64(0);
    add_sample(tally, &sample);
}

static void put_point(FILE *out, const struct series_point *point, unsigned i)
{
    if (out)
        (void)fprintf(out, "%s[%g,%.4f,%.2f,%.0f,%.4f]", i > 1 ? "," : "", point->secs, point->cores, point->mib,
            point->bytes / point->interval_secs, point->gpus);
}

struct score {
    unsigned right, found, wanted;
};

static void put_changes(FILE *out, const char *key, const double *changes, size_t count)
{
    if (!out)
        return;
    (void)fprintf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "%s%.4f", i > 0 ? "," : "", changes[i]);
    (void)fprintf(out, "]");
}

/* Each change that is to be found may be met once, within one interval or 2 % of the run. */
static unsigned matches(const double *wanted, size_t wanted_count, const double *found, size_t found_count, double end)
{
    unsigned right = 0;
    double most = end * 0.02 > 1 ? end * 0.02 : 1;
    bool is_met[PHASES_FOUND_MAX] = {false};
    for (size_t i = 0; i < wanted_count; i++) {
        for (size_t k = 0; k < found_count; k++) {
            double off = found[k] > wanted[i] ? found[k] - wanted[i] : wanted[i] - found[k];
            if (is_met[k] || off > most)
                continue;
            is_met[k] = true;
            right++;
            break;
        }
    }
    return right;
}

static void score_series(const struct labelled_series *series, unsigned variant, FILE *out, struct score *score)
{
    void *tally;
    double wanted[SERIES_PARTS_MAX], found[PHASES_FOUND_MAX], end = 0;
    size_t wanted_count = 0, found_count = 0;
    struct series_state state = {.series = series, .variant = variant};
    struct series_point point;
    assert_int_equal(tally_scenario_setup(&tally), 0);
    if (out)
        (void)fprintf(out, "{\"name\":\"%s\",\"variant\":%u,\"points\":[", series->name, variant);
    for (unsigned i = 1; series_next(&state, &point); i++) {
        add_point(tally, &point, i);
        put_point(out, &point, i);
        end = point.secs;
    }
    add_end(tally, end);
    unsigned at = series_part_secs(series, 0, variant);
    for (size_t i = 1; series_part_secs(series, i, variant) > 0; i++) {
        wanted[wanted_count++] = at;
        at += series_part_secs(series, i, variant);
    }
    const struct summary *summary = accumulate_finish(tally);
    const struct summary_phase *phase = summary->phases.items;
    for (size_t i = 1; summary->phases.present && i < summary->phases.count; i++)
        found[found_count++] = phase[i].start_secs.v;
    unsigned right = matches(wanted, wanted_count, found, found_count, end);
    if (right != wanted_count || right != found_count)
        print_message("# %s (%u): %u of %zu, %zu found\n", series->name, variant, right, wanted_count, found_count);
    score->right += right;
    score->wanted += (unsigned)wanted_count;
    score->found += (unsigned)found_count;
    if (out)
        (void)fprintf(out, "]");
    put_changes(out, "changes", wanted, wanted_count);
    put_changes(out, "found", found, found_count);
    if (out)
        (void)fprintf(out, "}\n");
    (void)tally_scenario_teardown(&tally);
}

static double f1_of(const struct score *score)
{
    return 2.0 * score->right / (score->found + score->wanted);
}

/* The method was made with the first variant before it; the others were not looked at until it was finished. */
static void test_labelled_runs(void **state)
{
    (void)state;
    const char *path = getenv("PHASES_OUT");
    FILE *out = path ? fopen(path, "we") : NULL;
    struct score scores[2] = {0};
    for (unsigned variant = 0; variant < SERIES_VARIANTS; variant++) {
        for (size_t i = 0; i < labelled_series_count; i++)
            score_series(&labelled_series[i], variant, out, &scores[variant > 0]);
    }
    if (out)
        (void)fclose(out);
    assert_true(labelled_series_count >= 30);
    for (size_t i = 0; i < 2; i++) {
        print_message("# F1 %.3f: %u of %u changes, %u found\n", f1_of(&scores[i]), scores[i].right, scores[i].wanted,
            scores[i].found);
        assert_true(f1_of(&scores[i]) >= 0.9);
    }
}

enum { ROWS = 200 };

static size_t find_in(struct phase_row *rows, size_t count, size_t *ends)
{
    size_t found = phases_find(rows, count, ends);
    assert_true(found >= 1 && found <= PHASES_FOUND_MAX);
    assert_int_equal(ends[found - 1], count);
    return found;
}

static void test_exact_steps(void **state)
{
    (void)state;
    static const double steps[] = {1, 4, 0.1, 2};
    static const size_t begins[] = {0, 37, 90, 141};
    struct phase_row rows[ROWS] = {0};
    for (size_t metric = 0; metric < PHASE_METRICS; metric++) {
        static const double scale[] = {1, 1000, 50e6, 0.2};
        size_t ends[PHASES_FOUND_MAX], step = 0;
        memset(rows, 0, sizeof(rows));
        for (size_t i = 0; i < ROWS; i++) {
            step += step < 3 && i == begins[step + 1];
            rows[i].at[metric] = steps[step] * scale[metric];
        }
        assert_int_equal(find_in(rows, ROWS, ends), 4);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(ends[i], begins[i + 1]);
    }
}

/* All equal, nothing at all, one row, few rows, rows that are no numbers. */
static void test_no_phases(void **state)
{
    (void)state;
    struct phase_row rows[ROWS] = {0};
    size_t ends[PHASES_FOUND_MAX];
    assert_int_equal(find_in(rows, ROWS, ends), 1);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct phase_row){{3, 1000, 1e6, 0.5}};
    assert_int_equal(find_in(rows, ROWS, ends), 1);
    assert_int_equal(find_in(rows, 1, ends), 1);
    rows[1].at[PHASE_CORES] = 9;
    assert_int_equal(find_in(rows, 3, ends), 1);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct phase_row){{-1, __builtin_nan(""), __builtin_inf(), -__builtin_inf()}};
    assert_int_equal(find_in(rows, ROWS, ends), 1);
}

/* Spikes that are shorter than a fortieth of the run, wherever they are. */
static void test_spikes(void **state)
{
    (void)state;
    struct phase_row rows[ROWS];
    for (size_t at = 0; at + 3 < ROWS; at++) {
        size_t ends[PHASES_FOUND_MAX];
        for (size_t i = 0; i < ROWS; i++)
            rows[i] = (struct phase_row){{i >= at && i < at + 3 ? 16 : 1, 500, 0, 0}};
        assert_int_equal(find_in(rows, ROWS, ends), 1);
    }
}

/* Where everything changes all the time, not more phases than a reader can take in. */
static void test_bounded(void **state)
{
    (void)state;
    struct phase_row rows[PHASE_POINTS_MAX] = {0};
    size_t ends[PHASES_FOUND_MAX];
    for (size_t i = 0; i < PHASE_POINTS_MAX; i++)
        rows[i].at[PHASE_CORES] = (double)(i / 24 % 2 * 4 + i / 48 % 3);
    (void)find_in(rows, PHASE_POINTS_MAX, ends);
}

static double cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A day at one second: what phases add to the rest of the summary. */
static void test_day(void **state)
{
    (void)state;
    enum { DAY = 86400 };
    struct phases *phases = calloc(1, sizeof(*phases));
    struct summary summary = {.runs = some_u64(1), .wall_secs = some_f64(DAY)};
    assert_non_null(phases);
    summary.cpu.total_secs = some_f64(1);
    double start_ms = cpu_ms();
    for (unsigned i = 1; i <= DAY; i++) {
        struct sample sample = second(i, i <= DAY / 2 ? 1 : 4, 500 + i % 7);
        struct meter_tick tick = {.elapsed_fixed4 = i * (int64_t)FIXED4, .length_fixed4 = FIXED4, .weight_ms = 1000};
        phases_add(phases, &sample, &tick, (struct opt_f64){0});
    }
    phases_end_run(phases);
    phases_fill(phases, &summary);
    double took_ms = cpu_ms() - start_ms;
    print_message("# %.1f ms\n", took_ms);
    assert_string_equal(summary.phases_source, SUMMARY_PHASES_CHANGES);
    assert_int_equal(summary.phases.count, 2);
    const struct summary_phase *phase = summary.phases.items;
    assert_true(phase[1].start_secs.v >= DAY / 2.0 - 128 && phase[1].start_secs.v <= DAY / 2.0 + 128);
    assert_int_equal(phase[1].vcpus.v, 4);
    free(phases);
}

/* What was not measured in one of them is unknown there, not 0. */
static void test_unknown(void **state)
{
    for (unsigned i = 1; i <= 60; i++) {
        struct series_point point = {
            .secs = i, .interval_secs = 1, .cores = i > 30 ? 4 : 0.5, .mib = i > 30 ? 900 : 100};
        struct sample sample = sample_of(&point, i);
        if (i <= 30)
            sample.cpu.process_disk_read_bytes = (struct opt_u64){0};
        else
            sample.cpu.process_utime_secs = sample.cpu.process_stime_secs = sample.cpu.process_gpu_usage =
                (struct opt_f64){0};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_phase *phase = summary->phases.items;
    assert_int_equal(summary->phases.count, 2);
    assert_false(phase[0].read_bytes.has);
    assert_true(phase[0].write_bytes.has && phase[0].cpu_secs.has && phase[0].gpu_usage_mean.has);
    assert_true(phase[1].read_bytes.has);
    assert_false(phase[1].cpu_secs.has || phase[1].cores_mean.has || phase[1].gpu_usage_mean.has);
    assert_true(strncmp(phase[1].name, "not measured", 12) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labelled_runs),
        cmocka_unit_test(test_exact_steps),
        cmocka_unit_test(test_no_phases),
        cmocka_unit_test(test_spikes),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_day),
        TEST(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
