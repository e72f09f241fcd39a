/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tally_scenario.h"

struct scenario {
    unsigned seconds;
    double cores, rss;
    const char *job_name;
    struct sample_list command;
    struct sample_process process; /* the largest at the peak */
    int64_t exit_code;
    struct opt_u64 oom_kills;
    struct opt_f64 limit_mib;
};

/* A run with its peak in the middle. */
static void run(struct accumulator *tally, const struct scenario *scenario)
{
    accumulate_next_run(tally);
    for (unsigned i = 1; i <= scenario->seconds; i++) {
        struct sample sample = {.timestamp_ms = some_i64(1000000 + (int64_t)i * 1000), .elapsed_secs = some_f64(i)};
        bool is_peak = i == scenario->seconds / 2;
        if (i > 1)
            sample.actual_interval_ms = some_f64(1000);
        sample.tracked_pid = some_u64(scenario->seconds);
        sample.job_name = scenario->job_name;
        sample.version = "1";
        sample.cpu.present = true;
        sample.cpu.process_cores_used = some_f64(scenario->cores);
        sample.cpu.process_utime_secs = some_f64(scenario->cores);
        sample.cpu.process_stime_secs = some_f64(0);
        sample.cpu.process_rss_mib = some_f64(is_peak ? scenario->rss : scenario->rss / 2);
        sample.cpu.process_disk_read_bytes = some_u64(100);
        sample.tracker = (struct sample_tracker){.present = true, .missed_samples = some_u64(i == 1)};
        sample.cgroup = (struct sample_cgroup){.present = true, .memory_limit_mib = scenario->limit_mib};
        sample.run.present = i == 1;
        sample.run.command = scenario->command;
        sample.processes = (struct sample_list){is_peak, 1, &scenario->process};
        sample.end.present = i == scenario->seconds;
        sample.end.exit_code = some_i64(scenario->exit_code);
        sample.end.oom_kills = scenario->oom_kills;
        add_sample(tally, &sample);
    }
}

static void test_needs_and_amounts(void **state)
{
    run(*state, &(struct scenario){.seconds = 10, .cores = 1, .rss = 400, .job_name = "a", .process.name = "big"});
    run(*state, &(struct scenario){.seconds = 20, .cores = 3, .rss = 100, .job_name = "b", .process.name = "small"});
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->runs.v, 2);
    assert_int_equal(summary->runs_failed.v, 0);
    assert_int_equal(summary->samples.v, 30);
    assert_int_equal(summary->missed_samples.v, 2);
    assert_string_equal(summary->job_name, "b");
    assert_int_equal(summary->tracked_pid.v, 20);
    assert_int_equal(summary->started_ms.v, 1000000);
    assert_int_equal(summary->finished_ms.v, 1020000);
    assert_f64(summary->wall_secs, 15);
    assert_f64(summary->cpu.total_secs, 35);
    assert_f64(summary->cpu.cores_mean, 35.0 / 15);
    assert_f64(summary->cpu.cores_p95, 3);
    assert_f64(summary->cpu.cores_peak, 3);
    assert_f64(summary->cpu.cores_peak_at_secs, 1);
    assert_f64(summary->memory.rss_peak_mib, 400);
    assert_f64(summary->memory.rss_peak_at_secs, 5);
    assert_int_equal(summary->disk.read_bytes.v, 1500);
    assert_int_equal(summary->memory.processes.count, 1);
    assert_string_equal(((const struct sample_process *)summary->memory.processes.items)->name, "big");
    assert_f64(summary->memory.processes_at_secs, 5);
    assert_int_equal(summary->sizing.vcpus.v, 3);
    assert_int_equal(summary->sizing.memory_mib.v, 480);
    const char *const *notes = summary->notes.items;
    assert_int_equal(summary->notes.count, 2);
    assert_string_equal(notes[0], "several runs: needs are maxima, amounts are means of 2 runs");
    assert_string_equal(notes[1], "the runs are of jobs with different names: that of the last is shown");
}

/* Together they are long enough; each of them is not. */
static void test_short_runs_stay_short(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        run(*state, &(struct scenario){.seconds = 1, .cores = 3, .rss = 400});
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.cores_p95, 3);
    assert_string_equal(summary->verdict.kind, "too-short");
    assert_string_equal(
        summary->verdict.text, "Too short to say what held it back: 3 runs of 1 s on average and 3 samples in all.");
    assert_false(summary->sizing.vcpus.has);
    assert_false(summary->sizing.memory_mib.has);
    assert_string_equal(
        summary->sizing.memory_reason, "every run was too short (3 runs of 1 s on average, 3 samples in all)");
    assert_null(summary->sizing.slurm);
}

/* A burst at the start of a run that failed at once is no P95; what memory it had, it needed. */
static void test_short_run_beside_a_long_one(void **state)
{
    run(*state, &(struct scenario){.seconds = 2, .cores = 3, .rss = 400});
    run(*state, &(struct scenario){.seconds = 10, .cores = 1, .rss = 100});
    run(*state, &(struct scenario){.seconds = 2, .cores = 4, .rss = 200});
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.cores_p95, 1);
    assert_f64(summary->cpu.cores_peak, 4);
    assert_int_equal(summary->sizing.vcpus.v, 1);
    assert_int_equal(summary->sizing.memory_mib.v, 480);
    const char *const *notes = summary->notes.items;
    assert_string_equal(
        notes[0], "several runs: needs are maxima, amounts are means of 3 runs, of which 2 are too short for P95");
}

static void test_mean_of_those_that_know(void **state)
{
    struct sample sample = {.elapsed_secs = some_f64(3), .version = "1"};
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    accumulate_next_run(*state);
    sample.cpu.present = true;
    sample.cpu.process_disk_write_bytes = some_u64(7);
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    sample.cpu.process_disk_write_bytes = some_u64(8);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->runs.v, 3);
    assert_int_equal(summary->disk.write_bytes.v, 8); /* 7.5, rounded */
    assert_f64(summary->wall_secs, 3);
    assert_false(summary->disk.read_bytes.has);
}

static void test_the_last_that_went_wrong(void **state)
{
    run(*state, &(struct scenario){.seconds = 4, .exit_code = 1});
    run(*state, &(struct scenario){.seconds = 4, .exit_code = 2});
    run(*state, &(struct scenario){.seconds = 4});
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->runs.v, 3);
    assert_int_equal(summary->runs_failed.v, 2);
    assert_string_equal(summary->result.verdict, "failed");
    assert_string_equal(summary->result.detail, "exit status 2");
    assert_int_equal(summary->result.exit_code.v, 2);
}

static bool has_note(const struct summary *summary, const char *text)
{
    const char *const *notes = summary->notes.items;
    bool is_found = false;
    for (size_t i = 0; i < summary->notes.count; i++)
        is_found |= strcmp(notes[i], text) == 0;
    return is_found;
}

/* One of several that failed is no reason to doubt the others. */
static void test_all_failed(void **state)
{
    static const char text[] = "all runs failed: sizes are of what they did until then";
    run(*state, &(struct scenario){.seconds = 4, .exit_code = 1});
    run(*state, &(struct scenario){.seconds = 4, .exit_code = 2});
    assert_true(has_note(accumulate_finish(*state), text));
    struct accumulator *other;
    assert_int_equal(accumulate_new(&other), 0);
    run(other, &(struct scenario){.seconds = 4, .exit_code = 1});
    run(other, &(struct scenario){.seconds = 4});
    assert_false(has_note(accumulate_finish(other), text));
    accumulate_free(other);
}

static void test_newest_without_failures(void **state)
{
    run(*state, &(struct scenario){.seconds = 4});
    struct sample sample = {.elapsed_secs = some_f64(1), .version = "1"};
    accumulate_next_run(*state);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_string_equal(summary->result.verdict, "unknown");
    assert_int_equal(summary->runs_failed.v, 0);
    assert_null(summary->job_name);
}

/* The run that was killed needed less than the one that went well, so the need is known. */
static void test_killed_and_well(void **state)
{
    run(*state, &(struct scenario){
                    .seconds = 10, .rss = 250, .exit_code = 137, .oom_kills = some_u64(1), .limit_mib = some_f64(256)});
    run(*state, &(struct scenario){.seconds = 10, .rss = 700, .limit_mib = some_f64(1024)});
    const struct summary *summary = accumulate_finish(*state);
    assert_string_equal(summary->result.verdict, "out of memory");
    assert_false(summary->memory.limit_mib.has); /* they had different ones */
    assert_false(summary->memory.limit_used_pct.has);
    assert_int_equal(summary->sizing.memory_mib.v, 896);
}

static void test_killed_at_the_highest(void **state)
{
    run(*state, &(struct scenario){.seconds = 10, .rss = 250});
    run(*state, &(struct scenario){.seconds = 10, .rss = 255, .exit_code = 137, .oom_kills = some_u64(1)});
    run(*state, &(struct scenario){.seconds = 10, .rss = 250});
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->sizing.memory_mib.has);
    assert_string_equal(
        summary->sizing.memory_reason, "the run that needed most was killed at 255 MiB: it may have wanted more");
}

/* The command of one run must not stand beside the exit status of another. */
static void test_commands(void **state)
{
    static const char *const one[] = {"make", "all"}, *const other[] = {"make", "al", "l"}, *const third[] = {"make"};
    const struct sample_list lists[] = {{true, 2, one}, {true, 3, other}, {true, 1, third}, {0}};
    for (size_t i = 0; i < 4; i++) {
        struct accumulator *tally = NULL;
        assert_int_equal(accumulate_new(&tally), 0);
        run(tally, &(struct scenario){.seconds = 4, .command = lists[0]});
        run(tally, &(struct scenario){.seconds = 4, .command = lists[i]});
        run(tally, &(struct scenario){.seconds = 4, .command = lists[0]});
        const struct summary *summary = accumulate_finish(tally);
        const char *const *notes = summary->notes.items;
        assert_int_equal(summary->command.present, i == 0);
        assert_int_equal(summary->notes.count, i == 0 ? 1 : 2);
        if (i > 0)
            assert_string_equal(notes[1], "the runs are of different commands: none is shown");
        accumulate_free(tally);
    }
    (void)state;
}

static void test_need_of_different_kinds(void **state)
{
    struct sample sample = {.elapsed_secs = some_f64(1), .tracked_pid = some_u64(1)};
    sample.cpu.present = true;
    sample.cpu.process_rss_mib = some_f64(500);
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    sample.cpu.process_rss_mib = some_f64(300);
    sample.cpu.process_pss_mib = some_f64(100);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->memory.pss_peak_mib.has); /* of the other run */
    assert_f64(summary_memory_need(summary), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_needs_and_amounts),
        TEST(test_mean_of_those_that_know),
        TEST(test_the_last_that_went_wrong),
        TEST(test_all_failed),
        TEST(test_newest_without_failures),
        TEST(test_killed_and_well),
        TEST(test_killed_at_the_highest),
        TEST(test_commands),
        TEST(test_short_runs_stay_short),
        TEST(test_short_run_beside_a_long_one),
        TEST(test_need_of_different_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
