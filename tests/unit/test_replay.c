/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings line by line: runs, intervals, what is filled in, what is skipped, and the notes about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "replay_scenario.h"

static void test_plain(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(
        replay_text(scenario, "{\"timestamp_secs\":100,\"elapsed_secs\":0.5,\"job_name\":\"j\",\"tracked_pid\":"
                              "7,\"run\":{\"interval_secs\":0.25},\"resource-tracker-version\":\"0.2.0\"}\n"
                              "\n"
                              "{\"timestamp_ms\":100750,\"elapsed_secs\":0.75,\"actual_interval_ms\":250.5,"
                              "\"tracked_pid\":7}\n"),
        0);
    assert_int_equal(scenario->runs, 1);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->report.runs, 1);
    assert_int_equal(scenario->report.samples, 2);
    assert_int_equal(scenario->report.skipped, 0);
    assert_int_equal(scenario->report.note_count, 0);
    assert_int_equal(scenario->intervals_ns[0], NS_PER_SEC / 4);
    assert_string_equal(scenario->jobs[0], "j");
    assert_string_equal(scenario->versions[0], "0.2.0");
    assert_int_equal(scenario->pids[0].v, 7);
    assert_int_equal(scenario->seen[0].timestamp_ms, 100000);
    assert_false(scenario->seen[0].actual_interval_ms.has);
    assert_true(scenario->seen[1].actual_interval_ms.v == 250.5);
}

static void check_interval(struct scenario *scenario, const char *text, int64_t want_ms)
{
    assert_int_equal(replay_text(scenario, text), 0);
    assert_int_equal(scenario->intervals_ns[0], want_ms * NS_PER_MS);
}

#define LATE(late, missed) "\"tracker\":{\"late_ms\":" late ",\"missed_samples\":" missed "}"

static void test_inferred_interval(void **state)
{
    struct scenario *scenario = *state;
    check_interval(scenario,
        "{\"timestamp_ms\":1000,\"elapsed_secs\":2.0035," LATE(
            "3.5", "0") "}\n"
                        "{\"timestamp_ms\":2500,\"elapsed_secs\":3.5}\n",
        2000);
    /* The first was not the first that was due. */
    check_interval(scenario,
        "{\"timestamp_ms\":1000,\"elapsed_secs\":2," LATE(
            "10", "3") "}\n"
                       "{\"timestamp_ms\":1500,\"elapsed_secs\":2.5,\"actual_interval_ms\":492," LATE("2", "0") "}\n",
        500);
    /* No word of the tracker: the distance. */
    check_interval(
        scenario, "{\"timestamp_ms\":1000,\"elapsed_secs\":7}\n{\"timestamp_ms\":9,\"elapsed_secs\":8.0004}\n", 1000);
    check_interval(scenario, "{\"timestamp_ms\":1000}\n{\"timestamp_ms\":1100}\n", 100);
    /* A single sample says nothing: it may be the last one, taken early. */
    check_interval(scenario, "{\"timestamp_ms\":1000,\"elapsed_secs\":2," LATE("0", "0") "}\n", 0);
    assert_int_equal(scenario->samples, 1);
    check_interval(scenario, "{\"timestamp_ms\":1,\"run\":{\"interval_secs\":1e30}}\n", 0);
    check_interval(scenario, "{\"timestamp_ms\":1,\"run\":{\"interval_secs\":-1}}\n", 0);
    check_interval(
        scenario, "{\"timestamp_ms\":1,\"elapsed_secs\":9e14," LATE("0", "0") "}\n{\"timestamp_ms\":2}\n", 0);
}

#define MIXED(runs)                                                                                                    \
    "samples of several runs are mixed, as trackers leave them that write to one file at once: read as " runs          \
    " runs; give each its own file (-o 'run-{pid}.jsonl')"

static void put_sample(struct buf *text, int pid, bool is_first)
{
    buf_printf(text, "{\"timestamp_ms\":%d,\"elapsed_secs\":%d,\"tracked_pid\":%d%s}\n", is_first ? 1000 : 2000,
        is_first ? 1 : 2, pid, is_first ? ",\"run\":{\"interval_secs\":1}" : "");
}

/* What --append leaves is no cause for a warning; what several trackers leave that append at once is one. */
static void test_appended_runs(void **state)
{
    struct scenario *scenario = *state;
    AUTO_BUF struct buf text, mixed;
    buf_init(&text, 4096);
    buf_init(&mixed, 4096);
    for (int i = 0; i < 6; i++) {
        put_sample(&text, 5 + i / 2, i % 2 == 0);
        put_sample(&mixed, 5 + i % 3, i < 3);
    }
    assert_int_equal(replay_text(scenario, buf_cstr(&text)), 0);
    assert_int_equal(scenario->report.runs, 3);
    assert_int_equal(scenario->report.note_count, 0);
    assert_int_equal(replay_text(scenario, buf_cstr(&mixed)), 0);
    assert_int_equal(scenario->report.note_count, 1);
    assert_true(has_note(scenario, MIXED("6")));
}

static void test_runs(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(
        replay_text(scenario,
            "{\"timestamp_ms\":1000,\"elapsed_secs\":1,\"tracked_pid\":5,\"resource-tracker-version\":\"0.1.0\"}\n"
            "{\"timestamp_ms\":2000,\"elapsed_secs\":2,\"tracked_pid\":5,\"resource-tracker-version\":\"0.1.0\"}\n"
            "{\"timestamp_ms\":3000,\"elapsed_secs\":1,\"tracked_pid\":5,\"resource-tracker-version\":\"0.2.0\"}\n"
            "{\"timestamp_ms\":4000,\"elapsed_secs\":4,\"tracked_pid\":6,\"resource-tracker-version\":\"0.2.0\"}\n"
            "{\"timestamp_ms\":5000,\"elapsed_secs\":5,\"tracked_pid\":6,\"run\":{\"interval_secs\":5}}\n"
            "{\"timestamp_ms\":6000,\"elapsed_secs\":6}\n"),
        0);
    assert_int_equal(scenario->runs, 5);
    assert_int_equal(scenario->report.runs, 5);
    assert_int_equal(scenario->samples, 6);
    assert_int_equal(scenario->intervals_ns[0], NS_PER_SEC);
    assert_int_equal(scenario->intervals_ns[1], 0);
    assert_int_equal(scenario->intervals_ns[3], 5 * NS_PER_SEC);
    assert_string_equal(scenario->versions[2], "0.2.0");
    assert_string_equal(scenario->versions[4], "-");
    assert_false(scenario->pids[4].has);
    assert_false(has_note(scenario, MIXED("5")));
    assert_true(has_note(scenario, "made by versions: 0.1.0 and 0.2.0"));
    for (int64_t i = 0; i < 6; i++)
        assert_int_equal(scenario->seen[i].timestamp_ms, 1000 * (i + 1));
    assert_true(scenario->seen[1].actual_interval_ms.v == 1000);
    assert_false(scenario->seen[2].actual_interval_ms.has);
}

#define DISK(name, total, rate)                                                                                        \
    "{\"device\":\"" name "\",\"read_bytes_per_sec\":" rate ",\"read_bytes_total\":" total "}"
#define NET(total) "\"network\":[{\"interface\":\"e\",\"rx_bytes_total\":" total "}]"

/* Recordings from before the amounts had keys. */
static void test_amounts_from_totals(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(
        replay_text(scenario,
            "{\"timestamp_ms\":1,\"elapsed_secs\":2,\"disk\":[" DISK("a", "500", "50.26") "]," NET(
                "7") "}\n"
                     "{\"timestamp_ms\":2,\"elapsed_secs\":3,\"disk\":[" DISK("b", "9", "9") "," DISK("a", "650",
                         "1") "]," NET("8") "}\n"
                                            "{\"timestamp_ms\":3,\"elapsed_secs\":4,\"disk\":[" DISK(
                                                "a", "640", "1") "," DISK("b", "19",
                                                "1") "]}\n"
                                                     "{\"timestamp_ms\":4,\"elapsed_secs\":5,\"disk\":[" DISK(
                                                         "b", "20", "1") "]," NET("90") "}\n"
                                                                                        "{\"timestamp_ms\":4,\"elapsed_"
                                                                                        "secs\":1,\"disk\":[" DISK(
                                                                                            "b", "25", "null") "]}\n"),
        0);
    assert_int_equal(scenario->runs, 2);
    assert_int_equal(scenario->seen[0].disk_read.v, 101); /* by the rate, over 2 s */
    assert_false(scenario->seen[0].disk_write.has || scenario->seen[0].rx.has);
    assert_false(scenario->seen[1].disk_read.has); /* it was not there before */
    assert_int_equal(scenario->seen[1].rx.v, 1);
    assert_true(scenario->seen[2].disk_read.has);
    assert_int_equal(scenario->seen[2].disk_read.v, 0); /* the counter went backwards */
    assert_int_equal(scenario->seen[3].disk_read.v, 1);
    assert_int_equal(scenario->seen[3].rx.v, 82);
    assert_false(scenario->seen[4].disk_read.has);
}

/* A recording that has the keys says null where it means unknown. */
static void test_amounts_that_are_reported(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "{\"timestamp_ms\":1,\"elapsed_secs\":1,\"disk\":[{\"device\":\"a\",\"read_"
                                           "bytes\":null,\"read_bytes_total\":5,"
                                           "\"read_bytes_per_sec\":3}]}\n"
                                           "{\"timestamp_ms\":2,\"elapsed_secs\":2,\"disk\":[{\"device\":\"a\",\"read_"
                                           "bytes\":null,\"read_bytes_total\":9}]}\n"
                                           "{\"timestamp_ms\":3,\"elapsed_secs\":3,\"disk\":[{\"device\":\"a\",\"read_"
                                           "bytes\":2,\"read_bytes_total\":9}]}\n"),
        0);
    assert_false(scenario->seen[0].disk_read.has || scenario->seen[1].disk_read.has);
    assert_int_equal(scenario->seen[2].disk_read.v, 2);
}

static void test_many_devices(void **state)
{
    struct scenario *scenario = *state;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    for (int tick = 1; tick <= 3; tick++) {
        buf_printf(&text, "{\"timestamp_ms\":%d,\"disk\":[", tick);
        for (int i = 0; i < 400; i++)
            buf_printf(&text, "%s{\"device\":\"d%d\",\"read_bytes_total\":%d}", i > 0 ? "," : "", i, i * tick);
        buf_puts(&text, "]}\n");
    }
    assert_int_equal(replay_bytes(scenario, text.data, text.len), 0);
    assert_int_equal(scenario->seen[2].disks, 400);
    assert_int_equal(scenario->samples, 3);
    buf_fini(&text);
}

static void test_skipped(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "resource-tracker: warning: something\n"
                                           "{\"timestamp_ms\":1000,\"x\":1,\"elapsed_secs\":1}\n"
                                           "{\"level\":\"info\",\"unheard\":1}\n"
                                           "output of the job, timestamp and cpu_usage\n"
                                           "{\"timestamp_ms\":2000,\"elapsed_secs\":2,\"job_name\":5}\n"
                                           "{\"timestamp_ms\":-5}\n{\"timestamp_ms\":999999999999999999}\n"
                                           "{\"timestamp_ms\":3000,\"elapsed_se"),
        0);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->intervals_ns[0], NS_PER_SEC);
    assert_int_equal(scenario->report.skipped, 6);
    assert_true(has_note(scenario, "5 lines are no samples, the first is line 1"));
    assert_true(has_note(scenario, "the last line is cut and left out"));
    assert_true(has_note(scenario, "keys this version does not know are left out: x"));
    assert_true(
        has_note(scenario, "values of another type or size than expected are read as unknown, the first in line 5"));
    assert_int_equal(scenario->report.note_count, 4);

    assert_int_equal(replay_text(scenario, "{\"timestamp_ms\":1}\n{\"timestamp_ms\":2}\n?\n{\"timestamp_ms\":3}"), 0);
    assert_int_equal(scenario->samples, 3);
    assert_int_equal(scenario->report.note_count, 1);
    assert_true(has_note(scenario, "line 3 is no sample"));
}

static void check_refused(struct scenario *scenario, const char *text)
{
    char want[PATH_BYTES + 128];
    (void)snprintf(
        want, sizeof(want), "%s holds no samples (neither JSON lines nor CSV of resource-tracker)", scenario->path);
    assert_int_equal(replay_text(scenario, text), -EBADMSG);
    assert_int_equal(scenario->err.code, -EBADMSG);
    assert_string_equal(scenario->err.msg, want);
    assert_int_equal(scenario->report.samples, 0);
    assert_int_equal(scenario->runs, 0);
}

static void test_nothing_usable(void **state)
{
    struct scenario *scenario = *state;
    check_refused(scenario, "");
    check_refused(scenario, "\n\n\n");
    check_refused(scenario, "hello\nthere\n");
    check_refused(scenario, "{\"timestamp_ms\":");
    check_refused(scenario, "timestamp,cpu_usage\n");
    check_refused(scenario, "\x1f\x8b");
    check_refused(scenario, "\x1f");
    check_refused(scenario, "\x1f\x8b and no gzip at all");
}

static void test_target_refuses(void **state)
{
    struct scenario *scenario = *state;
    scenario->stop_at = 2;
    assert_int_equal(
        replay_text(scenario, "{\"timestamp_ms\":1}\n{\"timestamp_ms\":2}\n{\"timestamp_ms\":3}\n"), -EBADMSG);
    assert_int_equal(scenario->samples, 1);
    assert_int_equal(scenario->err.code, -EBADMSG);
    assert_non_null(strstr(scenario->err.msg, scenario->path));
}

static void test_csv(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "\xef\xbb\xbftimestamp,cpu_usage,process_pid,process_memory_mib\r\n"
                                           "10.5,1,7,100\r\n10.75,1,7,\r\n11.0,1,7,5\r\n"
                                           "20,1,8,\n19,1,8,\n"
                                           "timestamp,cpu_usage,extra\n30,1,9\n31,1,"),
        0);
    assert_int_equal(scenario->samples, 7);
    assert_int_equal(scenario->runs, 4);
    assert_int_equal(scenario->intervals_ns[0], NS_PER_SEC / 4);
    assert_true(scenario->seen[0].elapsed_secs.v == 0.25 && scenario->seen[2].elapsed_secs.v == 0.75);
    assert_false(scenario->seen[0].actual_interval_ms.has);
    assert_true(scenario->seen[1].actual_interval_ms.v == 250);
    assert_int_equal(scenario->pids[1].v, 8);
    assert_int_equal(scenario->intervals_ns[3], NS_PER_SEC);
    assert_false(scenario->pids[3].has);
    assert_true(has_note(scenario, "columns this version does not know are left out: extra"));
    assert_true(has_note(scenario, "CSV does not distinguish PSS from RSS: memory of the tree is read as PSS"));
    assert_int_equal(scenario->report.skipped, 0);
}

/* Appended without a header or another PID: only the hole between them separates runs. */
static void test_gaps(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "timestamp,cpu_usage\n100,1\n101,1\n161,1\n222,2\n222.5,2\n36000,3\n"), 0);
    assert_int_equal(scenario->samples, 6);
    assert_int_equal(scenario->runs, 3);
    assert_int_equal(scenario->intervals_ns[0], NS_PER_SEC);
    assert_int_equal(scenario->intervals_ns[1], NS_PER_SEC / 2);
    assert_int_equal(scenario->intervals_ns[2], 0);
    assert_true(scenario->seen[2].elapsed_secs.v == 62 && scenario->seen[2].actual_interval_ms.v == 60000);
    assert_true(scenario->seen[3].elapsed_secs.v == 0.5 && !scenario->seen[3].actual_interval_ms.has);
    assert_true(scenario->seen[4].actual_interval_ms.v == 500);
    assert_false(scenario->seen[5].elapsed_secs.has || scenario->seen[5].actual_interval_ms.has);
    assert_int_equal(scenario->report.note_count, 0);
    /* Ten intervals of 20 s are no hole yet. */
    assert_int_equal(replay_text(scenario, "timestamp,cpu_usage\n0,1\n20,1\n220,1\n421,1\n441,1\n"), 0);
    assert_int_equal(scenario->runs, 2);
    assert_int_equal(scenario->intervals_ns[1], 20 * NS_PER_SEC);
    /* JSON lines without a monotonic clock. One that has its interval is of the same run. */
    assert_int_equal(replay_text(scenario, "{\"timestamp_ms\":1000}\n{\"timestamp_ms\":2000}\n"
                                           "{\"timestamp_ms\":90000,\"actual_interval_ms\":88000}\n"
                                           "{\"timestamp_ms\":190000}\n{\"timestamp_ms\":191000}\n"),
        0);
    assert_int_equal(scenario->runs, 2);
    assert_true(scenario->seen[2].actual_interval_ms.v == 88000);
    assert_int_equal(scenario->seen[3].timestamp_ms, 190000);
    assert_false(scenario->seen[3].actual_interval_ms.has);
    assert_int_equal(
        replay_text(scenario, "{\"timestamp_ms\":1000,\"elapsed_secs\":1}\n{\"timestamp_ms\":2000,\"elapsed_secs\":2}\n"
                              "{\"timestamp_ms\":3,\"elapsed_secs\":90}\n{\"timestamp_ms\":4,\"elapsed_secs\":91}\n"),
        0);
    assert_int_equal(scenario->runs, 1);
}

/* The first two rows are far apart: what comes next decides. */
static void test_long_intervals(void **state)
{
    static const int64_t secs[] = {0, 36000, 36100, 36102, 36104};
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "timestamp,cpu_usage\n100,1\n220,1\n340,1\n345,1\n1700,2\n"), 0);
    assert_int_equal(scenario->runs, 2);
    assert_int_equal(scenario->intervals_ns[0], 120 * NS_PER_SEC);
    assert_true(scenario->seen[3].elapsed_secs.v == 365 && scenario->seen[1].actual_interval_ms.v == 120000);
    assert_false(scenario->seen[4].elapsed_secs.has);
    /* Alone, alone again, and a run of 2 s. */
    assert_int_equal(replay_text(scenario,
                         "timestamp,cpu_usage\n0,1\n36000,1\n36100,1\n36102,1\n36104,1\ntimestamp,cpu_usage\n9,1\n"),
        0);
    assert_int_equal(scenario->runs, 4);
    assert_int_equal(scenario->samples, 6);
    assert_int_equal(scenario->intervals_ns[0], 0);
    assert_int_equal(scenario->intervals_ns[1], 0);
    assert_int_equal(scenario->intervals_ns[2], 2 * NS_PER_SEC);
    assert_false(scenario->seen[0].elapsed_secs.has || scenario->seen[1].elapsed_secs.has);
    assert_true(scenario->seen[2].elapsed_secs.v == 2 && scenario->seen[4].elapsed_secs.v == 6);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(scenario->seen[i].timestamp_ms, secs[i] * 1000);
    /* Nothing decides: the end, another PID, a target that refuses. */
    assert_int_equal(replay_text(scenario, "timestamp,cpu_usage,process_pid\n0,1,7\n100,1,7\n101,1,8\n102,1,8\n"), 0);
    assert_int_equal(scenario->runs, 3);
    assert_int_equal(scenario->intervals_ns[2], NS_PER_SEC);
    assert_int_equal(scenario->pids[1].v, 7);
    assert_int_equal(replay_text(scenario, "timestamp,cpu_usage\n0,1\n100,1\n"), 0);
    assert_int_equal(scenario->runs, 2);
    assert_int_equal(scenario->samples, 2);
    scenario->stop_at = 2;
    assert_int_equal(replay_text(scenario, "timestamp,cpu_usage\n0,1\n100,1\n200,1\n"), -EBADMSG);
    assert_int_equal(scenario->samples, 1);
}

/* A clock that is set back while the same process is tracked does not begin a run. */
static void test_clock_set_back(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(
        replay_text(scenario, "{\"timestamp_ms\":10000,\"tracked_pid\":7," NET(
                                  "5") "}\n"
                                       "{\"timestamp_ms\":11000,\"tracked_pid\":7," NET(
                                           "6") "}\n"
                                                "{\"timestamp_ms\":8500,\"tracked_pid\":7," NET(
                                                    "8") "}\n"
                                                         "{\"timestamp_ms\":9700,\"tracked_pid\":7," NET("9") "}\n"),
        0);
    assert_int_equal(scenario->runs, 1);
    assert_int_equal(scenario->samples, 4);
    assert_int_equal(scenario->report.note_count, 0);
    assert_true(scenario->seen[2].elapsed_secs.v == 3 && scenario->seen[2].actual_interval_ms.v == 1000);
    assert_true(scenario->seen[3].elapsed_secs.v == 4.2);
    assert_true(scenario->seen[3].actual_interval_ms.v == 1200);
    assert_int_equal(scenario->seen[2].rx.v, 2);
    /* Already in the second: no interval is known. */
    assert_int_equal(replay_text(scenario, "{\"timestamp_ms\":10000,\"tracked_pid\":7}\n"
                                           "{\"timestamp_ms\":9000,\"tracked_pid\":7}\n"
                                           "{\"timestamp_ms\":9500,\"tracked_pid\":7}\n"),
        0);
    assert_int_equal(scenario->runs, 1);
    assert_false(scenario->seen[0].elapsed_secs.has);
    assert_true(scenario->seen[1].actual_interval_ms.v == 0 && scenario->seen[2].actual_interval_ms.v == 500);
    /* Ten minutes, or nothing tracked. */
    assert_int_equal(replay_text(scenario, "{\"timestamp_ms\":700000,\"tracked_pid\":7}\n"
                                           "{\"timestamp_ms\":701000,\"tracked_pid\":7}\n"
                                           "{\"timestamp_ms\":101000,\"tracked_pid\":7}\n"),
        0);
    assert_int_equal(scenario->runs, 2);
    assert_int_equal(
        replay_text(scenario, "{\"timestamp_ms\":2000}\n{\"timestamp_ms\":3000}\n{\"timestamp_ms\":2999}\n"), 0);
    assert_int_equal(scenario->runs, 2);
}

static void test_impossible_values(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "{\"timestamp_ms\":1000,\"elapsed_secs\":1}\n"
                                           "{\"timestamp_ms\":2250,\"elapsed_secs\":-0.2}\n"
                                           "{\"timestamp_ms\":4000,\"elapsed_secs\":2.5}\n"
                                           "{\"timestamp_ms\":5000,\"elapsed_secs\":1e300}\n"
                                           "{\"timestamp_ms\":6000,\"elapsed_secs\":3.25}\n"),
        0);
    assert_int_equal(scenario->runs, 1);
    assert_true(scenario->seen[1].elapsed_secs.v == 2.25 && scenario->seen[1].actual_interval_ms.v == 1250);
    assert_true(scenario->seen[2].elapsed_secs.v == 2.5 && scenario->seen[2].actual_interval_ms.v == 250);
    assert_true(scenario->seen[3].elapsed_secs.v == 3.5 && scenario->seen[3].actual_interval_ms.v == 1000);
    assert_true(
        scenario->seen[4].elapsed_secs.v == 3.25 && scenario->seen[4].actual_interval_ms.v == 1250); /* as in the run */
    assert_int_equal(scenario->report.note_count, 1);
    assert_true(
        has_note(scenario, "values of another type or size than expected are read as unknown, the first in line 2"));
}

static void test_csv_cut(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(replay_text(scenario, "1,2,3\ntimestamp,cpu_usage,processes\n1,2,3\nresource-tracker: warning: x\n"
                                           "2,2,3\n3,2"),
        0);
    assert_int_equal(scenario->samples, 2);
    assert_int_equal(scenario->runs, 1);
    assert_true(has_note(scenario, "2 lines are no samples, the first is line 1"));
    assert_true(has_note(scenario, "line 1 is a CSV row without a header above it"));
    assert_true(has_note(scenario, "the last line is cut and left out"));
}

/* Rows are read by the header above them, whatever stands before it. */
static void test_csv_mixed(void **state)
{
    struct scenario *scenario = *state;
    assert_int_equal(
        replay_text(scenario, "# two files\ntimestamp,cpu_usage,disk_read_bytes\n1,2,7\n2,2,8\n"
                              "{\"timestamp_ms\":3000,\"elapsed_secs\":1,\"tracked_pid\":5}\n"
                              "disk_read_bytes,timestamp,cpu_usage,process_pid\n9,4,1,6\n10,5,1,6\n6,1,2\n"),
        0);
    assert_int_equal(scenario->samples, 5);
    assert_int_equal(scenario->runs, 3);
    assert_int_equal(scenario->seen[1].disk_read.v, 8);
    assert_int_equal(scenario->seen[3].disk_read.v, 9);
    assert_int_equal(scenario->seen[4].timestamp_ms, 5000);
    assert_true(scenario->pids[2].has && scenario->pids[2].v == 6);
    assert_int_equal(scenario->report.note_count, 2);
    assert_true(has_note(scenario, "2 lines are no samples, the first is line 1"));
    assert_true(has_note(scenario, "line 9 is a CSV row of 3 columns below a header of 4"));
}

/* The header of another tool: its rows are as long as ours, and not read as ours. */
static void test_csv_of_another_tool(void **state)
{
    struct scenario *scenario = *state;
    static const char *const headers[] = {"time,load,reads", "timestamp,load", "timestamp,cpu_usage,cpu_usage"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text),
            "timestamp,cpu_usage,disk_read_bytes\n1,2,7\n2,2,8\nDone, goodbye\n3,2,9\n%s\n4,5,6\n5,5,6\n", headers[i]);
        assert_int_equal(replay_text(scenario, text), 0);
        assert_int_equal(scenario->samples, 3);
        assert_int_equal(scenario->seen[2].disk_read.v, 9);
        assert_int_equal(scenario->report.note_count, 2);
        assert_true(has_note(scenario, "4 lines are no samples, the first is line 4"));
        assert_true(has_note(scenario, "line 6 is a CSV header of other columns: the rows below it are left out"));
    }
    assert_int_equal(replay_text(scenario, "1795004203.1,1,3\n1795004204.1,1,3\n"), -EBADMSG);
    assert_non_null(strstr(scenario->err.msg, " holds no samples: line 1 is a CSV row without a header above it"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_inferred_interval),
        TEST(test_appended_runs),
        TEST(test_runs),
        TEST(test_amounts_from_totals),
        TEST(test_amounts_that_are_reported),
        TEST(test_many_devices),
        TEST(test_skipped),
        TEST(test_nothing_usable),
        TEST(test_target_refuses),
        TEST(test_csv),
        TEST(test_gaps),
        TEST(test_long_intervals),
        TEST(test_clock_set_back),
        TEST(test_impossible_values),
        TEST(test_csv_cut),
        TEST(test_csv_mixed),
        TEST(test_csv_of_another_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
