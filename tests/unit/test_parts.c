/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run put together: what is added up, at which instants, what counts once, and what stays unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "replay/parts.h"
#include "scratch.h"

enum { FILES_MAX = 4, MERGED_MAX = 64, PATH_BYTES = 512, LINE_BYTES = 1024, START_MS = 1700000000 };

/* Of one merged sample. */
struct merged {
    double elapsed;
    struct opt_f64 cpu, cores, wait, rss, pss, peak, host_memory;
    struct opt_u64 read, host_read, children;
    size_t cpus;
    bool has_run, has_end;
    struct sample_end end;
};

struct scenario {
    char directory[SCRATCH_PATH_BYTES];
    char paths[FILES_MAX][PATH_BYTES];
    const char *names[FILES_MAX];
    FILE *file;
    size_t files, samples, runs;
    struct merged merged[MERGED_MAX];
    int64_t interval_ns, ticks;
    char host[32], metadata[128];
    struct summary_parts parts;
    struct replay_report report;
    struct err err;
};

static int set_up(void **state)
{
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    *state = scenario;
    return scenario && scratch_make(scenario->directory) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    struct scenario *scenario = *state;
    int r = scratch_remove(scenario->directory);
    parts_free(&scenario->parts);
    free(scenario);
    return r;
}

/* Begins a recording, which its samples follow. */
static void begin_file(struct scenario *scenario)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%zu.jsonl", scenario->directory, scenario->files);
    memcpy(scenario->paths[scenario->files], path, sizeof(path));
    scenario->names[scenario->files] = scenario->paths[scenario->files];
    scenario->files++;
    if (scenario->file)
        assert_int_equal(fclose(scenario->file), 0);
    scenario->file = fopen(path, "w");
    assert_non_null(scenario->file);
}

/* rest: members of the sample, each with a comma before it. */
static void put(struct scenario *scenario, double start, double elapsed, const char *cpu, const char *rest)
{
    (void)fprintf(scenario->file, "{\"timestamp_ms\":%.0f,\"elapsed_secs\":%.4f,\"tracked_pid\":7,\"cpu\":{%s}%s}\n",
        START_MS + (start + elapsed) * 1000, elapsed, cpu, rest);
}

static void put_first(struct scenario *scenario, double start, double elapsed, const char *cpu, const char *rank,
    const char *node, const char *rest)
{
    char run[LINE_BYTES];
    (void)snprintf(run, sizeof(run),
        "%s,\"run\":{\"interval_secs\":%g,\"hostname\":\"h\",\"metadata\":{\"rank\":\"%s\",\"node\":\"%s\","
        "\"world_size\":\"4\",\"stage_name\":\"s\"}}",
        rest, elapsed, rank, node);
    put(scenario, start, elapsed, cpu, run);
}

static void take_begin(void *context, const struct run_info *info)
{
    struct scenario *scenario = context;
    scenario->runs++;
    scenario->interval_ns = info->interval_ns;
}

static int take_sample(void *context, const struct sample *sample)
{
    struct scenario *scenario = context;
    assert_true(scenario->samples < MERGED_MAX);
    if (sample->run.present) {
        (void)snprintf(scenario->host, sizeof(scenario->host), "%s", sample->run.hostname ? sample->run.hostname : "-");
        const struct str_pair *pairs = sample->run.metadata.items;
        for (size_t i = 0; i < sample->run.metadata.count; i++) {
            struct str key = str_of(pairs[i].key);
            memcpy(scenario->metadata + strlen(scenario->metadata), key.p, key.n);
            scenario->metadata[strlen(scenario->metadata)] = ' ';
        }
    }
    const struct sample_disk *disk = sample->disk.items;
    const struct sample_cpu *cpu = &sample->cpu;
    scenario->merged[scenario->samples++] = (struct merged){
        .elapsed = sample->elapsed_secs.v,
        .cpu = cpu->process_utime_secs,
        .cores = cpu->process_cores_used,
        .wait = cpu->process_wait_secs,
        .rss = cpu->process_rss_mib,
        .pss = cpu->process_pss_mib,
        .peak = cpu->process_peak_rss_mib,
        .host_memory = sample->memory.used_mib,
        .read = cpu->process_disk_read_bytes,
        .host_read = disk->read_bytes_delta,
        .children = cpu->process_child_count,
        .cpus = cpu->per_core_pct.count,
        .has_run = sample->run.present,
        .has_end = sample->end.present,
        .end = sample->end,
    };
    return 0;
}

static int merge(struct scenario *scenario)
{
    const struct replay_target target = {.context = scenario, .begin = take_begin, .sample = take_sample};
    if (scenario->file)
        assert_int_equal(fclose(scenario->file), 0);
    scenario->file = NULL;
    return parts_replay(scenario->names, scenario->files, &target, &scenario->report, &scenario->parts, &scenario->err);
}

static bool has_note(const struct scenario *scenario, const char *text)
{
    for (unsigned i = 0; i < scenario->report.note_count; i++) {
        if (strstr(scenario->report.notes[i], text))
            return true;
    }
    return false;
}

static void assert_f64(struct opt_f64 value, double expected)
{
    assert_true(value.has);
    assert_float_equal(value.v, expected, 1e-9);
}

#define HOST ",\"memory\":{\"used_mib\":1000},\"disk\":[{\"device\":\"vda\",\"read_bytes\":64}]"
#define CPUS "\"per_core_pct\":[1,2],\"process_stime_secs\":0,\"process_child_count\":1,"

/* Two nodes with two ranks each, all at the same instants. */
static void put_grid(struct scenario *scenario, const char *last_end)
{
    static const struct {
        const char *rank, *node;
    } ranks[] = {{"3", "b"}, {"1", "a"}, {"0", "a"}, {"2", "b"}};
    for (size_t i = 0; i < 4; i++) {
        begin_file(scenario);
        put_first(scenario, 0, 1,
            CPUS "\"process_utime_secs\":0.25,\"process_rss_mib\":10,\"process_peak_rss_mib\":10,\"process_cores_"
                 "used\":0.25",
            ranks[i].rank, ranks[i].node, HOST);
        put(scenario, 0, 2, CPUS "\"process_utime_secs\":0.5001,\"process_rss_mib\":30,\"process_peak_rss_mib\":200",
            HOST);
        put(scenario, 0, 3, CPUS "\"process_utime_secs\":0.75,\"process_rss_mib\":20,\"process_peak_rss_mib\":30",
            i == 1 ? last_end : HOST ",\"end\":{\"exit_code\":0,\"minor_faults\":5}");
    }
}

static void test_grid(void **state)
{
    struct scenario *scenario = *state;
    put_grid(scenario, HOST ",\"end\":{\"exit_code\":3,\"minor_faults\":6}");
    assert_int_equal(merge(scenario), 0);
    assert_int_equal(scenario->runs, 1);
    assert_int_equal(scenario->interval_ns, 1000000000);
    assert_int_equal(scenario->samples, 3);
    static const double cpu[] = {1, 2.0004, 3}, rss[] = {40, 120, 80}, peak[] = {40, 200, 200};
    for (size_t i = 0; i < 3; i++) {
        const struct merged *merged = &scenario->merged[i];
        assert_float_equal(merged->elapsed, (double)i + 1, 1e-9);
        assert_f64(merged->cpu, cpu[i]);
        assert_f64(merged->rss, rss[i]);
        assert_f64(merged->peak, peak[i]);
        assert_f64(merged->host_memory, 2000);
        assert_int_equal(merged->host_read.v, 128);
        assert_int_equal(merged->cpus, 4);
        assert_int_equal(merged->children.v, 7); /* the first process of each is one, but for that of the run */
        assert_int_equal(merged->has_run, i == 0);
        assert_int_equal(merged->has_end, i == 2);
        assert_false(merged->pss.has || merged->wait.has || merged->read.has);
    }
    assert_f64(scenario->merged[0].cores, 1);
    assert_false(scenario->merged[1].cores.has);
    assert_string_equal(scenario->host, "-");
    assert_string_equal(scenario->metadata, "world_size stage_name merged ");
    const struct sample_end *end = &scenario->merged[2].end;
    assert_int_equal(end->exit_code.v, 3);
    assert_int_equal(end->minor_faults.v, 21);
    const struct summary_parts *parts = &scenario->parts;
    assert_int_equal(parts->count.v, 4);
    assert_int_equal(parts->nodes.v, 2);
    assert_int_equal(parts->failed.v, 1);
    assert_true(parts->missing.has && parts->missing.v == 0);
    assert_f64(parts->cpu_imbalance, 1);
    const struct summary_rank *ranks = parts->ranks.items;
    assert_int_equal(parts->ranks.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ranks[i].rank.v, i);
        assert_string_equal(ranks[i].node, i < 2 ? "a" : "b");
        assert_f64(ranks[i].cpu_secs, 1.5001);
        assert_int_equal(ranks[i].exit_code.v, i == 1 ? 3 : 0);
    }
    assert_int_equal(scenario->report.note_count, 0);
}

static void test_missing_end(void **state)
{
    struct scenario *scenario = *state;
    put_grid(scenario, HOST);
    assert_int_equal(merge(scenario), 0);
    assert_false(scenario->merged[2].has_end);
    assert_int_equal(scenario->parts.failed.v, 0);
}

/* The second rank begins half an interval later, and samples twice as often. */
static void test_instants(void **state)
{
    struct scenario *scenario = *state;
    begin_file(scenario);
    put_first(scenario, 0, 2, "\"process_utime_secs\":1,\"process_rss_mib\":10,\"process_pss_mib\":9", "0", "a", "");
    put(scenario, 0, 4, "\"process_utime_secs\":1,\"process_rss_mib\":30,\"process_pss_mib\":8", "");
    begin_file(scenario);
    put_first(scenario, 1, 1, "\"process_utime_secs\":0.3,\"process_rss_mib\":5", "1", "a", "");
    put(scenario, 1, 2, "\"process_utime_secs\":0.5,\"process_rss_mib\":50,\"process_disk_read_bytes\":7", "");
    put(scenario, 1, 3.5, "\"process_utime_secs\":0.7,\"process_rss_mib\":6,\"process_disk_read_bytes\":3", "");
    assert_int_equal(merge(scenario), 0);
    assert_int_equal(scenario->interval_ns, 2000000000);
    assert_int_equal(scenario->samples, 3);
    const struct merged *merged = scenario->merged;
    assert_f64(merged[0].cpu, 1.3);
    assert_f64(merged[0].rss, 15);
    assert_false(merged[0].pss.has);
    /* Of 0.7 s in 1.5 s, two thirds are before 4 s. */
    assert_f64(merged[1].cpu, 1.9666);
    assert_f64(merged[1].rss, 80);
    assert_int_equal(merged[1].read.v, 9);
    assert_f64(merged[2].cpu, 0.2334);
    assert_f64(merged[2].rss, 6);
    assert_int_equal(merged[2].read.v, 1);
    assert_float_equal(merged[2].elapsed, 4.5, 1e-9);
    assert_float_equal(scenario->parts.slowest.wall_secs.v, 4, 1e-9);
    assert_int_equal(scenario->parts.missing.v, 2);
    assert_string_equal(scenario->host, "h");
}

static int sum_sample(void *context, const struct sample *sample)
{
    struct scenario *scenario = context;
    scenario->ticks += (int64_t)(sample->cpu.process_utime_secs.v * 10000 + 0.5);
    if (scenario->samples++ == 0)
        scenario->merged[0].rss = sample->cpu.process_rss_mib;
    return 0;
}

/* More time than there are slots: each two become one, and nothing is lost. */
static void test_long_run(void **state)
{
    struct scenario *scenario = *state;
    for (int rank = 0; rank < 2; rank++) {
        begin_file(scenario);
        put_first(scenario, rank, 1, "\"process_utime_secs\":0.0001,\"process_rss_mib\":1", rank ? "1" : "0", "a", "");
        put(scenario, rank, 2, "\"process_utime_secs\":0.0002,\"process_rss_mib\":100", "");
        put(scenario, rank, 40000, "\"process_utime_secs\":30000.0003,\"process_rss_mib\":2", "");
        put(scenario, rank, 800000, "\"process_utime_secs\":1.0005,\"process_rss_mib\":3", "");
    }
    const struct replay_target target = {.context = scenario, .begin = take_begin, .sample = sum_sample};
    assert_int_equal(fclose(scenario->file), 0);
    scenario->file = NULL;
    assert_int_equal(parts_replay(scenario->names, 2, &target, &scenario->report, &scenario->parts, &scenario->err), 0);
    assert_int_equal(scenario->interval_ns, 64000000000);
    assert_true(scenario->samples <= 16384);
    /* To the last ten-thousandth of a second. */
    assert_int_equal(scenario->ticks, 2 * (1 + 2 + 300000003 + 10005));
    assert_f64(scenario->merged[0].rss, 200);
}

static void test_nonsense(void **state)
{
    struct scenario *scenario = *state;
    begin_file(scenario);
    put_first(scenario, 0, 1, "\"process_utime_secs\":1", "0", "a", "");
    put(scenario, 0, 2, "\"process_utime_secs\":1", "");
    begin_file(scenario);
    put_first(scenario, 100, 1, "\"process_utime_secs\":1", "0", "a", ",\"job_name\":\"other\"");
    put_first(scenario, 200, 1, "\"process_utime_secs\":9", "0", "a", "");
    assert_int_equal(merge(scenario), 0);
    assert_true(has_note(scenario, "or themselves put together: 1"));
    assert_true(has_note(scenario, "parts that have the rank of another: 1"));
    assert_true(has_note(scenario, "not all parts ran at the same time"));
    assert_true(has_note(scenario, "1.jsonl: holds several runs, of which the first is used"));
    double cpu = 0;
    for (size_t i = 0; i < scenario->samples; i++)
        cpu += scenario->merged[i].cpu.v;
    assert_float_equal(cpu, 3, 1e-9);
}

static void test_csv(void **state)
{
    struct scenario *scenario = *state;
    for (int i = 0; i < 2; i++) {
        begin_file(scenario);
        (void)fputs("timestamp,processes,utime,stime,cpu_usage,memory_used\n1700000001,3,1,0,1,500000\n"
                    "1700000002,3,1,0,1,500000\n",
            scenario->file);
    }
    assert_int_equal(merge(scenario), 0);
    assert_false(scenario->parts.nodes.has || scenario->parts.node_vcpus.has || scenario->parts.node_memory_mib.has);
    const struct summary_rank *ranks = scenario->parts.ranks.items;
    assert_false(ranks[0].rank.has || ranks[0].node);
    assert_string_equal(ranks[1].file, scenario->paths[1]);
    assert_false(scenario->parts.missing.has);
}

static void test_no_file(void **state)
{
    struct scenario *scenario = *state;
    begin_file(scenario);
    put_first(scenario, 0, 1, "", "0", "a", "");
    scenario->names[scenario->files++] = "/nonexistent/part.jsonl";
    assert_int_equal(merge(scenario), -ENOENT);
    assert_non_null(strstr(scenario->err.msg, "/nonexistent/part.jsonl"));
    assert_int_equal(scenario->samples, 0);
}

/* A node that begins late is weighed by its own intervals; of a need that is not known, none is recommended. */
static void test_late_node(void **state)
{
    struct scenario *scenario = *state;
    for (int rank = 0; rank < 4; rank++) {
        int late = rank > 1 ? 1000 : 0;
        begin_file(scenario);
        put_first(scenario, late, 1, "\"process_cores_used\":1,\"process_utime_secs\":1,\"process_rss_mib\":100",
            rank == 0   ? "0"
            : rank == 1 ? "1"
            : rank == 2 ? "2"
                        : "3",
            rank > 1 ? "b" : "a", "");
        for (int i = 2; i <= 30; i++)
            put(scenario, late, i,
                rank > 1 ? "\"process_cores_used\":4,\"process_utime_secs\":4,\"process_rss_mib\":100"
                         : "\"process_cores_used\":1,\"process_utime_secs\":1,\"process_rss_mib\":100",
                i < 30 ? "" : ",\"end\":{\"exit_code\":0}");
    }
    assert_int_equal(merge(scenario), 0);
    assert_int_equal(scenario->parts.nodes.v, 2);
    assert_int_equal(scenario->parts.task_vcpus.v, 4);
    assert_int_equal(scenario->parts.node_vcpus.v, 8);
    assert_true(scenario->parts.node_memory_mib.v >= 200);
}

static void test_withheld(void **state)
{
    struct scenario *scenario = *state;
    for (int rank = 0; rank < 2; rank++) {
        begin_file(scenario);
        put_first(scenario, 0, 1, "\"process_cores_used\":1,\"process_utime_secs\":1,\"process_rss_mib\":100",
            rank ? "1" : "0", rank ? "b" : "a", "");
        for (int i = 2; i <= 30; i++)
            put(scenario, 0, i, "\"process_cores_used\":1,\"process_utime_secs\":1,\"process_rss_mib\":100",
                i < 30 ? ""
                : rank ? ",\"end\":{\"exit_code\":137,\"signal\":9,\"oom_kills\":1,\"host_oom_kills\":1}"
                       : ",\"end\":{\"exit_code\":0,\"oom_kills\":2}");
    }
    assert_int_equal(merge(scenario), 0);
    assert_int_equal(scenario->parts.failed.v, 1);
    assert_false(scenario->parts.task_memory_mib.has || scenario->parts.node_memory_mib.has);
}

/* It counts as not there. */
static void test_empty_part(void **state)
{
    struct scenario *scenario = *state;
    begin_file(scenario);
    begin_file(scenario);
    put_first(scenario, 0, 1, "\"process_utime_secs\":1", "1", "a", "");
    put(scenario, 0, 2, "\"process_utime_secs\":1", "");
    assert_int_equal(merge(scenario), 0);
    assert_int_equal(scenario->parts.count.v, 1);
    assert_true(has_note(scenario, "0.jsonl holds no samples"));
}

/* The same rank on two nodes is twice the same one. */
static void test_rank_twice(void **state)
{
    struct scenario *scenario = *state;
    for (int i = 0; i < 2; i++) {
        begin_file(scenario);
        put_first(scenario, 0, 1, "\"process_utime_secs\":1", "1", i ? "b" : "a", "");
        put(scenario, 0, 2, "\"process_utime_secs\":1", "");
    }
    assert_int_equal(merge(scenario), 0);
    assert_true(has_note(scenario, "parts that have the rank of another: 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_late_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_withheld, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rank_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_instants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_csv, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
