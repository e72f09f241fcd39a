/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "encode/json.h"
#include "tally_scenario.h"

static void test_texts_are_copied(void **state)
{
    char name[] = "train", host[] = "node1", first[] = "python3", second_argument[] = "x.py";
    const char *command[] = {first, second_argument};
    struct sample sample = second(1, 1, 1);
    sample.job_name = name;
    sample.run = (struct sample_run){.present = true, .hostname = host, .kernel = "6.1"};
    sample.run.command = (struct sample_list){true, 2, command};
    add_sample(*state, &sample);
    name[0] = host[0] = first[0] = '?';
    const struct summary *summary = accumulate_finish(*state);
    assert_string_equal(summary->job_name, "train");
    assert_string_equal(summary->hostname, "node1");
    assert_string_equal(summary->kernel, "6.1");
    assert_string_equal(summary->version, "1.2.3");
    assert_int_equal(summary->tracked_pid.v, 42);
    assert_int_equal(summary->command.count, 2);
    assert_string_equal(((const char *const *)summary->command.items)[0], "python3");
}

static void test_long_texts_are_cut(void **state)
{
    char name[600];
    for (size_t i = 0; i + 1 < sizeof(name); i += 2)
        memcpy(name + i, "\xc3\xa4", 2);
    name[sizeof(name) - 2] = '\0';
    const char *command[70];
    for (size_t i = 0; i < 70; i++)
        command[i] = i == 3 ? NULL : "a";
    struct sample sample = second(1, 1, 1);
    sample.job_name = name;
    sample.run.present = true;
    sample.run.command = (struct sample_list){true, 70, command};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(strlen(summary->job_name), 254); /* not half a letter */
    assert_int_equal(summary->command.count, 66);
    assert_string_equal(((const char *const *)summary->command.items)[3], "");
    assert_string_equal(((const char *const *)summary->command.items)[64], "a");
    assert_string_equal(((const char *const *)summary->command.items)[65], "...");
}

/* As long as a sample has it. */
static void test_whole_command_line(void **state)
{
    static char command[SAMPLE_PROCESS_BYTES];
    memset(command, 'x', sizeof(command) - 2);
    command[sizeof(command) - 2] = 'y';
    struct sample_process process = {.pid = some_u64(9), .name = "x", .command = command, .rss_mib = some_f64(5)};
    struct sample sample = second(1, 1, 1);
    sample.processes = (struct sample_list){true, 1, &process};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    const struct sample_process *kept = summary->memory.processes.items;
    assert_int_equal(summary->memory.processes.count, 1);
    assert_string_equal(kept->command, command);
}

static void test_long_argument_is_left_out(void **state)
{
    static char script[13000];
    memset(script, 'x', sizeof(script) - 1);
    const char *command[] = {"sh", "-c", script, "more"};
    struct sample sample = second(1, 1, 1);
    sample.run.present = true;
    sample.run.command = (struct sample_list){true, 4, command};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->command.count, 3);
    assert_string_equal(((const char *const *)summary->command.items)[1], "-c");
    assert_string_equal(((const char *const *)summary->command.items)[2], "...");
}

static void test_notes(void **state)
{
    struct sample sample = second(1, 1, 1);
    sample.run.present = true;
    add_sample(*state, &sample);
    sample.cpu.process_rss_mib.has = false;
    sample.run.present = false;
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    const char *const *notes = summary->notes.items;
    assert_int_equal(summary->notes.count, 1);
    assert_string_equal(notes[0], "memory of the tree was not known in 1 of 2 samples");
}

/* A tree that was seen only when it had ended: its peak comes from wait4, and its PSS was not measured. */
static void test_pss_of_an_ended_tree(void **state)
{
    struct sample sample = second(1, 1, 0);
    sample.cpu.process_pss_mib = some_f64(0);
    sample.cpu.process_peak_rss_mib = some_f64(30);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->memory.rss_peak_mib.has && summary->memory.rss_peak_mib.v == 30);
    assert_false(summary->memory.pss_peak_mib.has);
    assert_false(summary->memory.pss_peak_at_secs.has);
}

/* PSS is measured on a budget: a process that came and went meanwhile counts with its RSS. */
static void test_pss_unknown_at_the_peak(void **state)
{
    static const double rss[] = {5, 210, 5}, pss[] = {0.7, -1, 0.7};
    for (unsigned i = 0; i < 3; i++) {
        struct sample sample = second(i + 1, 1, rss[i]);
        sample.cpu.process_pss_mib = pss[i] >= 0 ? some_f64(pss[i]) : (struct opt_f64){0};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->memory.pss_peak_mib.has);
    assert_true(summary->memory.rss_peak_mib.v == 210);
    assert_true(summary_memory_need(summary).v == 210);
    assert_int_equal(summary->sizing.memory_mib.v, 256);
    assert_non_null(strstr(summary->sizing.memory_reason, "(RSS)"));
}

/* Soon after a fork it is not known yet; the same memory with its PSS shows what it is. */
static void test_pss_known_beside_the_peak(void **state)
{
    static const double rss[] = {300, 1160, 1150, 1100}, pss[] = {300, -1, 560, 550};
    for (unsigned i = 0; i < 4; i++) {
        struct sample sample = second(i + 1, 1, rss[i]);
        sample.cpu.process_pss_mib = pss[i] >= 0 ? some_f64(pss[i]) : (struct opt_f64){0};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->memory.pss_peak_mib, 560);
    assert_f64(summary->memory.rss_peak_mib, 1160);
    assert_f64(summary_memory_need(summary), 560);
    assert_int_equal(summary->sizing.memory_mib.v, 704);
}

/* CSV has PSS only. */
static void test_memory_is_known_by_pss(void **state)
{
    struct sample sample = second(1, 1, 1);
    sample.cpu.process_rss_mib.has = false;
    sample.cpu.process_pss_mib = some_f64(5);
    add_sample(*state, &sample);
    assert_int_equal(accumulate_finish(*state)->notes.count, 0);
}

static struct sample in_group(unsigned at_secs, double used_mib, double peak_mib)
{
    struct sample sample = second(at_secs, 1, 50);
    sample.cgroup = (struct sample_cgroup){.present = true,
        .memory_used_mib = some_f64(used_mib),
        .memory_peak_mib = some_f64(peak_mib),
        .memory_limit_mib = some_f64(150)};
    return sample;
}

/* What a group had that the command has left is not the peak of the one that it entered. */
static void test_peak_of_an_entered_group(void **state)
{
    struct sample sample = in_group(1, 400, 900);
    add_sample(*state, &sample);
    sample = in_group(2, 80, 100);
    add_sample(*state, &sample);
    sample = in_group(3, 90, 130);
    add_sample(*state, &sample);
    assert_f64(accumulate_finish(*state)->memory.cgroup_peak_mib, 130);
}

/* A group that was at its limit in an earlier run has the same peak again. */
static void test_peak_of_a_group_at_its_limit(void **state)
{
    struct sample sample = in_group(1, 80, 150);
    add_sample(*state, &sample);
    sample = in_group(2, 121, 150);
    sample.end = (struct sample_end){.present = true, .exit_code = some_i64(137), .oom_kills = some_u64(1)};
    add_sample(*state, &sample);
    assert_f64(accumulate_finish(*state)->memory.cgroup_peak_mib, 150);
}

/* RSS counts what processes share in each of them: a list with less PSS is not that of the need. */
static void test_processes_at_the_highest_pss(void **state)
{
    static struct sample_process one = {.pid = {true, 7}, .name = "one", .rss_mib = {true, 280}};
    static struct sample_process sharing[2] = {{.pid = {true, 8}, .name = "a", .rss_mib = {true, 150}},
        {.pid = {true, 9}, .name = "b", .rss_mib = {true, 150}}};
    struct sample sample = second(1, 1, 280);
    sample.cpu.process_pss_mib = some_f64(280);
    sample.processes = (struct sample_list){true, 1, &one};
    add_sample(*state, &sample);
    sample = second(2, 1, 300);
    sample.cpu.process_pss_mib = some_f64(151);
    sample.processes = (struct sample_list){true, 2, sharing};
    add_sample(*state, &sample);
    const struct summary_memory *memory = &accumulate_finish(*state)->memory;
    assert_int_equal(memory->processes.count, 1);
    assert_int_equal(((const struct sample_process *)memory->processes.items)->pid.v, 7);
    assert_f64(memory->processes_at_secs, 1);
}

/* PSS is known only after RSS was at its highest: the list of then is that of the need, unless RSS was clearly more. */
static void test_processes_of_a_late_pss(void **state)
{
    static struct sample_process early[2] = {{.pid = {true, 8}, .name = "a", .rss_mib = {true, 150}},
        {.pid = {true, 9}, .name = "b", .rss_mib = {true, 150}}};
    static struct sample_process late = {.pid = {true, 7}, .name = "one", .rss_mib = {true, 200}};
    for (int is_much_more = 0; is_much_more < 2; is_much_more++) {
        struct sample sample = second(1, 1, is_much_more ? 900 : 300);
        sample.processes = (struct sample_list){true, 2, early};
        add_sample(*state, &sample);
        sample = second(2, 1, 290);
        sample.cpu.process_pss_mib = some_f64(210);
        sample.processes = (struct sample_list){true, 1, &late};
        add_sample(*state, &sample);
        accumulate_next_run(*state);
        const struct summary_memory *memory = &accumulate_finish(*state)->memory;
        const struct sample_process *listed = memory->processes.items;
        assert_int_equal(listed[0].pid.v, is_much_more ? 8 : 7);
    }
}

static void test_notes_of_the_end(void **state)
{
    struct sample sample = second(1, 1, 1);
    sample.end = (struct sample_end){.present = true, .exit_code = some_i64(0), .left_running = some_u64(1)};
    sample.end.oom_kills = some_u64(1);
    sample.end.host_oom_kills = some_u64(3);
    sample.end.cpu_is_lower_bound = some_bool(true);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    const char *const *notes = summary->notes.items;
    assert_true(summary->cpu.is_lower_bound.v);
    assert_int_equal(summary->notes.count, 3);
    assert_string_equal(
        notes[2], "2 processes were killed by the OOM killer on this machine meanwhile, perhaps of the job");
    assert_string_equal(notes[0], "CPU time is a lower bound: some processes were never waited for");
    assert_string_equal(notes[1], "1 process of the job still ran when it ended");
}

static void test_nothing_at_all(void **state)
{
    accumulate_next_run(*state);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->runs.v, 0);
    assert_int_equal(summary->samples.v, 0);
    assert_false(summary->cpu.present);
    assert_false(summary->result.present);
    assert_string_equal(((const char *const *)summary->notes.items)[0], "there is no sample");
    assert_false(summary->sizing.vcpus.has);
}

static void test_json(void **state)
{
    struct sample sample = second(1, 1, 100);
    sample.end = (struct sample_end){.present = true, .exit_code = some_i64(0)};
    add_sample(*state, &sample);
    struct buf json;
    buf_init(&json, 64 * 1024);
    json_put_object(&json, field_summary, accumulate_finish(*state));
    const char *text = buf_cstr(&json);
    assert_ptr_equal(strstr(text, "{\"schema_version\":1,\"job_name\":\"job\",\"hostname\":null,"), text);
    assert_non_null(strstr(text, "\"result\":{\"verdict\":\"finished\",\"detail\":\"exit status 0\",\"exit_code\":0,"));
    assert_non_null(strstr(text, "\"cores_peak\":1.0,\"cores_peak_at_secs\":1.0,"));
    assert_non_null(strstr(text, "\"gpu\":null,\"energy\":null,\"pressure\":null,"));
    assert_non_null(strstr(text, ",\"notes\":[],\"resource-tracker-version\":\"1.2.3\"}"));
    assert_non_null(strstr(text, "\"need_mib\":100.0,"));
    assert_null(strstr(text, "uncertain_mib"));
    buf_fini(&json);
}

static void test_absent_sections_say_nothing(void **state)
{
    struct sample sample = second(1, 1, 1);
    sample.cpu.present = false;
    sample.tracker.cpu_secs = some_f64(1);
    sample.pressure.cpu_some_secs = some_f64(1);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->cpu.present);
    assert_false(summary->memory.present);
    assert_false(summary->tracker.present);
    assert_false(summary->pressure.present);
    assert_int_equal(summary->notes.count, 1);
    assert_string_equal(((const char *const *)summary->notes.items)[0], "the recording has no process values");
}

static void test_unusable_numbers(void **state)
{
    struct sample sample = second(1, __builtin_nan(""), 1e300);
    sample.cpu.process_utime_secs = some_f64(8.9e14);
    sample.cpu.process_stime_secs = some_f64(-__builtin_inf());
    sample.cpu.process_disk_read_bytes = some_u64(UINT64_MAX);
    for (unsigned i = 0; i < 3; i++)
        add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->cpu.cores_p95.has);
    assert_false(summary->cpu.cores_peak.has);
    assert_false(summary->cpu.system_secs.has);
    assert_false(summary->memory.rss_peak_mib.has);
    assert_true(summary->cpu.user_secs.v > 9e14); /* stays at the end of its range */
    assert_int_equal(summary->disk.read_bytes.v, INT64_MAX);
}

/* Numbers at the end of their range, of a recording that is made up. */
static void test_huge_numbers(void **state)
{
    const double most = 9e14; /* in ten-thousandths close to what 63 bits hold */
    for (unsigned i = 1; i < 5; i++) {
        struct sample sample = second(i, most, most);
        sample.cpu.process_peak_rss_mib = sample.cpu.process_pss_mib = some_f64(most);
        if (i % 2)
            sample.cpu.process_pss_mib.has = false;
        sample.cpu.process_child_count = some_u64(UINT64_MAX);
        add_sample(*state, &sample);
    }
    accumulate_next_run(*state);
    struct sample sample = second(1, 1, most);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->memory.need_mib, most);
}

/* A start before there were clocks is none; nor is a time that no clock shows. */
static void test_impossible_times(void **state)
{
    struct sample sample = second(1, 1, 1);
    sample.elapsed_secs = some_f64(9e14);
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    sample = second(1, 1, 1);
    sample.timestamp_ms = some_i64(INT64_MAX);
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    sample = second(1, 1, 1);
    sample.timestamp_ms.has = false;
    sample.timestamp_secs = some_i64(INT64_MAX / 2);
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    sample = second(1, 1, 1);
    sample.timestamp_ms = some_i64(INT64_MIN);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->started_ms.has);
    assert_int_equal(summary->finished_ms.v, 1700000001000);
}

static void test_no_gpu(void **state)
{
    struct sample sample = second(1, 1, 1);
    sample.gpu.present = true;
    sample.cpu.process_gpu_usage = some_f64(0);
    sample.cpu.process_gpu_utilized = some_u64(0);
    add_sample(*state, &sample);
    assert_false(accumulate_finish(*state)->gpu.present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_texts_are_copied),
        TEST(test_long_texts_are_cut),
        TEST(test_whole_command_line),
        TEST(test_long_argument_is_left_out),
        TEST(test_notes),
        TEST(test_pss_of_an_ended_tree),
        TEST(test_memory_is_known_by_pss),
        TEST(test_pss_unknown_at_the_peak),
        TEST(test_pss_known_beside_the_peak),
        TEST(test_peak_of_an_entered_group),
        TEST(test_peak_of_a_group_at_its_limit),
        TEST(test_processes_at_the_highest_pss),
        TEST(test_processes_of_a_late_pss),
        TEST(test_notes_of_the_end),
        TEST(test_nothing_at_all),
        TEST(test_json),
        TEST(test_absent_sections_say_nothing),
        TEST(test_unusable_numbers),
        TEST(test_huge_numbers),
        TEST(test_impossible_times),
        TEST(test_no_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
