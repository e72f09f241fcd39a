/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tally_scenario.h"

/* A run with a first sample, and a last one with this end. */
static const struct summary_result *ended(struct accumulator *tally, struct sample_end end, double limit_mib)
{
    struct sample first = {.elapsed_secs = some_f64(1), .tracked_pid = some_u64(7), .version = "1.0.0"};
    first.run.present = true;
    add_sample(tally, &first);
    struct sample last = {.elapsed_secs = some_f64(2), .actual_interval_ms = some_f64(1000), .end = end};
    last.tracked_pid = some_u64(7);
    last.cgroup.present = limit_mib > 0;
    last.cgroup.memory_limit_mib = (struct opt_f64){limit_mib > 0, limit_mib};
    add_sample(tally, &last);
    return &accumulate_finish(tally)->result;
}

#define END(...) ((struct sample_end){.present = true, __VA_ARGS__})

static void assert_result(const struct summary_result *result, const char *verdict, const char *detail)
{
    assert_true(result->present);
    assert_string_equal(result->verdict, verdict);
    assert_string_equal(result->detail, detail);
}

static void test_finished(void **state)
{
    const struct summary_result *result = ended(*state, END(.exit_code = some_i64(0)), 0);
    assert_result(result, "finished", "exit status 0");
    assert_true(result->exit_code.has);
    assert_false(result->signal.has);
    assert_false(result->oom_kills.has);
}

static void test_finished_with_kills(void **state)
{
    assert_result(ended(*state, END(.exit_code = some_i64(0), .oom_kills = some_u64(2)), 512), "finished",
        "exit status 0; 2 processes of its cgroup were killed by the OOM killer");
}

static void test_failed(void **state)
{
    assert_result(ended(*state, END(.exit_code = some_i64(3), .oom_kills = some_u64(0)), 0), "failed", "exit status 3");
}

static void test_failed_with_a_kill(void **state)
{
    assert_result(ended(*state, END(.exit_code = some_i64(1), .oom_kills = some_u64(1)), 0), "failed",
        "exit status 1; 1 process of its cgroup was killed by the OOM killer");
}

static void test_out_of_memory(void **state)
{
    const struct summary_result *result =
        ended(*state, END(.exit_code = some_i64(137), .signal = some_i64(9), .oom_kills = some_u64(1)), 512);
    assert_result(result, "out of memory",
        "killed by the OOM killer: the cgroup limit of 512 MiB was reached (1 process killed)");
    assert_int_equal(result->signal.v, 9);
    assert_int_equal(result->oom_kills.v, 1);
}

static void test_out_of_memory_in_a_shell(void **state)
{
    assert_result(ended(*state, END(.exit_code = some_i64(137), .oom_kills = some_u64(3)), 0), "out of memory",
        "killed by the OOM killer: so its cgroup counted (3 processes killed)");
}

static void test_maybe_out_of_memory(void **state)
{
    assert_result(ended(*state,
                      END(.exit_code = some_i64(137), .signal = some_i64(9), .oom_kills = some_u64(0),
                          .host_oom_kills = some_u64(1)),
                      0),
        "maybe out of memory", "killed by signal 9 (SIGKILL); meanwhile the OOM killer of the host killed 1 process");
}

static void test_killed(void **state)
{
    assert_result(
        ended(*state, END(.exit_code = some_i64(137), .signal = some_i64(9), .host_oom_kills = some_u64(0)), 512),
        "signaled", "killed by signal 9 (SIGKILL); no sign that memory ran out");
}

static void test_killed_in_a_shell(void **state)
{
    assert_result(ended(*state, END(.exit_code = some_i64(137)), 0), "failed",
        "exit status 137, as after signal 9 (SIGKILL); no sign that memory ran out");
}

static void test_terminated(void **state)
{
    assert_result(
        ended(*state, END(.exit_code = some_i64(143), .signal = some_i64(15), .host_oom_kills = some_u64(4)), 0),
        "signaled", "ended by signal 15 (SIGTERM)");
}

static void test_signals_without_a_name(void **state)
{
    assert_result(
        ended(*state, END(.exit_code = some_i64(162), .signal = some_i64(34)), 0), "signaled", "ended by signal 34");
}

static void test_odd_signals(void **state)
{
    assert_result(
        ended(*state, END(.signal = some_i64(INT64_MIN)), 0), "signaled", "ended by signal -9223372036854775808");
}

static void test_no_end(void **state)
{
    const struct summary_result *result = ended(*state, (struct sample_end){.exit_code = some_i64(0)}, 0);
    assert_result(result, "unknown", "the recording has no end: the tracker was killed, or the file was cut");
    assert_false(result->exit_code.has);
}

static void test_recording_without_ends(void **state)
{
    struct sample sample = {.elapsed_secs = some_f64(1)};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_result(&summary->result, "unknown", "the recording does not say how the run ended");
    assert_int_equal(summary->runs_failed.v, 0);
}

static void test_end_must_be_in_the_last_sample(void **state)
{
    struct sample sample = {.elapsed_secs = some_f64(1), .end = END(.exit_code = some_i64(0))};
    add_sample(*state, &sample);
    sample.end.present = false;
    add_sample(*state, &sample);
    assert_string_equal(accumulate_finish(*state)->result.verdict, "unknown");
}

static void test_attached(void **state)
{
    assert_result(ended(*state, END(.left_running = some_u64(0)), 0), "finished",
        "the tracked process ended or tracking was stopped");
}

static void test_attached_process_ended(void **state)
{
    assert_result(ended(*state, END(.left_running = some_u64(0), .target_is_running = some_bool(false)), 0), "finished",
        "the tracked process ended");
}

/* It is no leftover of the job: it is the job. */
static void test_attached_process_still_runs(void **state)
{
    struct sample_end end = END(.left_running = some_u64(3), .target_is_running = some_bool(true));
    const struct summary_result *result = ended(*state, end, 0);
    assert_result(result, "stopped", "tracking was stopped; the process still runs");
    const struct summary *summary =
        (const struct summary *)(const void *)((const char *)result - offsetof(struct summary, result));
    assert_int_equal(summary->runs_failed.v, 0);
    for (size_t i = 0; i < summary->notes.count; i++)
        assert_null(strstr(((const char *const *)summary->notes.items)[i], "still ran"));
}

static void test_host_mode(void **state)
{
    struct sample sample = {.elapsed_secs = some_f64(1), .end = {.present = true}};
    add_sample(*state, &sample);
    assert_result(&accumulate_finish(*state)->result, "finished", "tracking was stopped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_finished),
        TEST(test_finished_with_kills),
        TEST(test_failed),
        TEST(test_failed_with_a_kill),
        TEST(test_out_of_memory),
        TEST(test_out_of_memory_in_a_shell),
        TEST(test_maybe_out_of_memory),
        TEST(test_killed),
        TEST(test_killed_in_a_shell),
        TEST(test_terminated),
        TEST(test_signals_without_a_name),
        TEST(test_odd_signals),
        TEST(test_no_end),
        TEST(test_recording_without_ends),
        TEST(test_end_must_be_in_the_last_sample),
        TEST(test_attached),
        TEST(test_attached_process_ended),
        TEST(test_attached_process_still_runs),
        TEST(test_host_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
