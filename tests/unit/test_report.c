/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "codec/json_read.h"
#include "series_scenario.h"
#include "summary/report/charts.h"
#include "summary/summary_internal.h"
#include "summary/write.h"
#include "summary_cases.h"

enum { DATA_MAX = 4 * 1024 * 1024 };

/* What the page is given for this series. The text lives in buf as long as the document. */
static struct json_doc data_of(const struct summary *summary, const struct series *series, struct buf *buf)
{
    struct json_doc doc;
    buf_init(buf, DATA_MAX);
    report_put_data(buf, summary, series);
    assert_true(buf_ok(buf));
    assert_null(memchr(buf->data, '<', buf->len));
    assert_int_equal(json_doc_parse((struct str){buf->data, buf->len}, &doc), 0);
    return doc;
}

static void assert_number(const struct json_value *value, int64_t want)
{
    int64_t number = -1;
    assert_true(json_integer(value, &number));
    assert_int_equal(number, want);
}

static void assert_text(const struct json_value *value, const char *want)
{
    char text[400];
    assert_true(json_string_copy(value, text, sizeof(text)));
    assert_string_equal(text, want);
}

/* The item of a list whose key has that value; NULL where there is none. */
static const struct json_value *item_of(const struct json_value *list, const char *key, const char *value)
{
    const struct json_value *item;
    for (size_t i = 0; (item = json_at(list, i, NULL)) != NULL; i++) {
        char text[40];
        assert_true(json_string_copy(json_get(item, key), text, sizeof(text)));
        if (strcmp(text, value) == 0)
            return item;
    }
    return NULL;
}

static const struct json_value *chart_of(const struct json_doc *doc, const char *title)
{
    return item_of(json_get(doc->items, "charts"), "title", title);
}

/* The line of that name in that chart; NULL where there is none. */
static const struct json_value *line_of(const struct json_doc *doc, const char *title, const char *name)
{
    return item_of(json_get(chart_of(doc, title), "lines"), "name", name);
}

static void test_nothing(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = made();
    AUTO_BUF struct buf buf;
    struct json_doc doc = data_of(&summary, series, &buf);
    assert_int_equal(json_get(doc.items, "summary")->type, JSON_OBJECT);
    assert_null(json_at(json_get(doc.items, "ms"), 0, NULL));
    assert_null(json_at(json_get(doc.items, "charts"), 0, NULL));
    assert_null(json_at(json_get(doc.items, "heats"), 0, NULL));
    assert_null(json_at(json_get(doc.items, "runs"), 0, NULL));
    json_doc_fini(&doc);
    series_free(series);
}

static void test_values_and_their_units(void **state)
{
    (void)state;
    struct summary summary = {.memory = {.present = true, .limit_mib = some_f64(3)}};
    struct series *series = made();
    for (int i = 1; i <= 3; i++) {
        struct sample sample = at_secs(i * 1.5);
        sample.cpu.process_cores_used = (struct opt_f64){i != 2, 1.2344};
        sample.cpu.process_rss_mib = some_f64(2.5);
        sample.pressure.present = true;
        sample.pressure.cpu_some_secs = some_f64(0.0125);
        if (i == 3)
            series_next_run(series);
        add(series, &sample);
    }
    AUTO_BUF struct buf buf;
    struct json_doc doc = data_of(&summary, series, &buf);
    const struct json_value *cpu = line_of(&doc, "CPU", "job");
    assert_number(json_at(json_get(cpu, "values"), 0, NULL), 1234);
    assert_int_equal(json_at(json_get(cpu, "values"), 1, NULL)->type, JSON_NULL);
    assert_number(json_at(json_get(cpu, "values"), 2, NULL), 1234);
    assert_null(json_at(json_get(cpu, "values"), 3, NULL));
    assert_int_equal(json_get(cpu, "job")->type, JSON_TRUE);
    assert_null(json_get(cpu, "low"));
    assert_number(json_at(json_get(line_of(&doc, "Memory", "job RSS"), "values"), 0, NULL), 2560);
    assert_number(json_at(json_get(line_of(&doc, "Waiting on the host", "for CPU"), "values"), 0, NULL), 125);
    assert_int_equal(json_get(line_of(&doc, "Waiting on the host", "for CPU"), "job")->type, JSON_FALSE);
    assert_null(line_of(&doc, "CPU", "host"));
    assert_text(json_get(chart_of(&doc, "Memory"), "unit"), "bytes");
    assert_number(json_get(chart_of(&doc, "Memory"), "one"), 1024);
    assert_number(json_get(chart_of(&doc, "Memory"), "limit"), 3 << 20);
    assert_text(json_get(chart_of(&doc, "Memory"), "limit_name"), "limit");
    assert_null(json_get(chart_of(&doc, "CPU"), "limit"));
    assert_null(chart_of(&doc, "Disk"));
    assert_number(json_at(json_get(doc.items, "ms"), 1, NULL), 1500);
    assert_number(json_at(json_get(doc.items, "ms"), 2, NULL), 4500); /* the second run begins where the first ended */
    const struct json_value *runs = json_get(doc.items, "runs");
    assert_number(json_get(json_at(runs, 0, NULL), "points"), 2);
    assert_number(json_get(json_at(runs, 1, NULL), "points"), 1);
    assert_text(json_get(json_at(runs, 1, NULL), "name"), "run 2");
    assert_null(json_at(runs, 2, NULL));
    const struct json_value *peak = json_get(chart_of(&doc, "Memory"), "peak");
    assert_number(json_get(peak, "line"), 0);
    assert_text(json_get(peak, "text"), "2.5 MiB at 1.5 s");
    assert_null(json_get(chart_of(&doc, "CPU"), "peak"));
    assert_text(json_get(doc.items, "resolution"), "");
    json_doc_fini(&doc);
    series_free(series);
}

static void test_ranges_of_coarse_points(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = made();
    for (int i = 1; i <= 2 * SERIES_POINTS_MAX; i++) {
        struct sample sample = at_secs(i);
        sample.cpu.process_cores_used = some_f64(i % 2 ? 1 : 3);
        sample.cpu.utilization_pct = some_f64(4);
        sample.cpu.process_rss_mib = some_f64(i == 6001 ? 4096 : 16 + i % 2);
        add(series, &sample);
    }
    AUTO_BUF struct buf buf;
    struct json_doc doc = data_of(&summary, series, &buf);
    const struct json_value *tree = line_of(&doc, "CPU", "job"), *host = line_of(&doc, "CPU", "host");
    assert_number(json_at(json_get(tree, "values"), 7, NULL), 2000);
    assert_number(json_at(json_get(tree, "low"), 7, NULL), 1000);
    assert_number(json_at(json_get(tree, "high"), 7, NULL), 3000);
    assert_null(json_get(host, "low")); /* a flat line needs no range */
    assert_number(json_at(json_get(host, "values"), SERIES_POINTS_MAX - 1, NULL), 4000);
    /* Of memory the highest alone, and its peak. */
    const struct json_value *rss = line_of(&doc, "Memory", "job RSS");
    assert_null(json_get(rss, "low"));
    assert_number(json_get(chart_of(&doc, "Memory"), "one"), 102400); /* five digits are enough for coarse points */
    assert_number(json_at(json_get(rss, "values"), 7, NULL), (17 << 20) / 102400);
    assert_number(json_at(json_get(rss, "values"), 3000, NULL), (4096LL << 20) / 102400);
    assert_text(json_get(json_get(chart_of(&doc, "Memory"), "peak"), "text"), "4 GiB at 1 h 40 min");
    assert_text(json_get(doc.items, "resolution"), "Each point is 2 s (2 samples): memory shows the highest value in "
                                                   "it, other lines the mean, with a band to the highest.");
    json_doc_fini(&doc);
    series_free(series);
}

static void test_hostile_names(void **state)
{
    (void)state;
    static const char *const command[] = {
        "<<", "a<", "<!--", "</script><script>alert(1)</script>", "\\u003c\"<\x01\xff", "a\xe2\x80\xaetxt"};
    struct summary summary = {.job_name = "</script><img src=x onerror=alert(1)>", .command = {true, 6, command}};
    struct series *series = made();
    AUTO_BUF struct buf buf;
    struct json_doc doc = data_of(&summary, series, &buf);
    const struct json_value *about = json_get(doc.items, "summary"), *words = json_get(about, "command");
    assert_text(json_get(about, "job_name"), "</script><img src=x onerror=alert(1)>");
    assert_text(json_at(words, 0, NULL), "<<");
    assert_text(json_at(words, 1, NULL), "a<");
    assert_text(json_at(words, 3, NULL), "</script><script>alert(1)</script>");
    assert_text(json_at(words, 4, NULL), "\\u003c\"<\x01\xef\xbf\xbd");
    assert_text(json_at(words, 5, NULL), "a?txt"); /* RIGHT-TO-LEFT OVERRIDE */
    json_doc_fini(&doc);
    series_free(series);
}

static void test_heat_letters(void **state)
{
    (void)state;
    static const double shares[] = {0, 1, 2, 50, 51, 52, 98, 100};
    struct summary summary = {0};
    struct series *series = made();
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        struct opt_f64 cores[2] = {some_f64(shares[i]), {i > 0, 100}};
        struct sample sample = at_secs(1 + (double)i);
        sample.cpu.per_core_pct = (struct sample_list){true, 2, cores};
        add(series, &sample);
    }
    AUTO_BUF struct buf buf;
    struct json_doc doc = data_of(&summary, series, &buf);
    const struct json_value *heat = json_at(json_get(doc.items, "heats"), 0, NULL);
    assert_text(json_get(heat, "title"), "CPUs of the host");
    assert_number(json_get(heat, "points"), 1);
    assert_number(json_get(heat, "most"), 100);
    assert_text(json_at(json_get(heat, "rows"), 0, NULL), "AABZZaxy");
    assert_text(json_at(json_get(heat, "rows"), 1, NULL), "-yyyyyyy");
    json_doc_fini(&doc);
    series_free(series);
}

/* The longest texts there can be: every line with a range, and more cores than the heat map shows. */
static struct series *full(size_t cores)
{
    struct series *series = made();
    struct opt_f64 shares[SERIES_CORES_MAX];
    unsigned random = 7;
    for (int i = 1; i <= 16 * SERIES_POINTS_MAX; i++) {
        random = random * 1103515245 + 12345;
        double part = 1 + (double)(random >> 8 & 0xffff) / 65536;
        struct sample_disk disk = {
            .read_bytes_per_sec = some_f64(part * 4e9), .write_bytes_per_sec = some_f64(part * 4e9)};
        struct sample_network network = {
            .rx_bytes_per_sec = some_f64(part * 4e9), .tx_bytes_per_sec = some_f64(part * 4e9)};
        struct sample_gpu gpus[8];
        for (size_t k = 0; k < 8; k++)
            gpus[k] = (struct sample_gpu){.utilization_pct = some_f64(part * 50),
                .vram_used_bytes = some_u64(1ULL << 37),
                .power_watts = some_f64(part * 350),
                .temperature_celsius = some_f64(part * 40)};
        struct sample sample = at_secs(i);
        for (size_t core = 0; core < cores; core++)
            shares[core] = some_f64(part * 40);
        sample.cpu.per_core_pct = (struct sample_list){true, cores, shares};
        sample.cpu.process_cores_used = sample.cpu.utilization_pct = some_f64(part * 30);
        sample.cpu.process_wait_secs = some_f64(part);
        sample.cpu.process_rss_mib = sample.cpu.process_pss_mib = some_f64(part * 500000);
        sample.cpu.process_disk_read_bytes = sample.cpu.process_disk_write_bytes = some_u64((uint64_t)(part * 4e9));
        sample.cpu.process_gpu_usage = some_f64(part * 8);
        sample.cpu.process_gpu_vram_mib = some_f64(part * 80000);
        sample.memory = (struct sample_memory){.present = true, .used_mib = some_f64(part * 500000)};
        sample.cgroup = (struct sample_cgroup){.present = true, .memory_used_mib = some_f64(part * 500000)};
        sample.disk = (struct sample_list){true, 1, &disk};
        sample.network = (struct sample_list){true, 1, &network};
        sample.gpu = (struct sample_list){true, 8, gpus};
        struct opt_f64 stall = some_f64(part / 2);
        sample.pressure = (struct sample_pressure){true, stall, stall, stall, stall, stall};
        add(series, &sample);
    }
    return series;
}

static void test_a_day_fits(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = full(64);
    AUTO_BUF struct buf buf;
    buf_init(&buf, REPORT_BYTES_MAX);
    assert_int_equal(report_put_page(&buf, &summary, series), 0);
    assert_int_equal(series_points(series), SERIES_POINTS_MAX);
    assert_in_range(buf.len, 500000, 1500000);
    buf_clear(&buf);
    assert_int_equal(report_put_svg(&buf, &summary, series), 0);
    assert_in_range(buf.len, 50000, 300000);
    series_free(series);
}

static void test_many_cores_are_thinned(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = full(SERIES_CORES_MAX);
    AUTO_BUF struct buf buf;
    buf_init(&buf, DATA_MAX);
    report_put_data(&buf, &summary, series);
    assert_true(buf_ok(&buf));
    assert_in_range(buf.len, 500000, 1500000);
    static const char start[] = ",\"rows\":[\"";
    const char *heat = memmem(buf.data, buf.len, start, sizeof(start) - 1);
    assert_non_null(heat);
    const char *row = heat + sizeof(start) - 1, *end = memchr(row, '"', 4000);
    assert_non_null(end);
    assert_in_range(end - row, 200, 400);
    series_free(series);
}

static void test_page_around_the_data(void **state)
{
    (void)state;
    struct summary summary = {.job_name = "<b>"};
    struct series *series = made();
    AUTO_BUF struct buf page, data, body;
    buf_init(&page, REPORT_BYTES_MAX);
    buf_init(&data, DATA_MAX);
    buf_init(&body, DATA_MAX);
    buf_puts(&page, "before ");
    assert_int_equal(report_put_page(&page, &summary, series), 0);
    report_put_data(&data, &summary, series);
    body_put(&body, &summary, series);
    const char *text = buf_cstr(&page);
    assert_true(strncmp(text, "before <!doctype html>", 22) == 0);
    assert_non_null(strstr(text, "<title>&lt;b&gt; · resources</title>"));
    const char *at = strstr(text, buf_cstr(&body));
    assert_non_null(at);
    assert_true(strncmp(at - 18, "<main id=\"page\">\n", 18) == 0 || at[-1] == '\n');
    at = strstr(text, "<script type=\"application/json\" id=\"data\">{\"summary\":");
    assert_non_null(at);
    at = strchr(at, '>') + 1;
    assert_true(memcmp(at, data.data, data.len) == 0);
    assert_true(strncmp(at + data.len, "</script>", 9) == 0);
    assert_string_equal(text + page.len - 8, "</html>\n");
    assert_null(strstr(text, "@DATA@"));
    assert_null(strstr(text, "@BODY@"));
    assert_null(strstr(text, "http://"));
    assert_null(strstr(text, "https://"));
    assert_true(report_page_gz_bytes <= 12 * 1024 + 768); /* another zlib packs a little differently */
    series_free(series);
}

/* What is well-formed stays so, whatever the texts are: no tag and no attribute comes from them. */
static void test_hostile_body_and_picture(void **state)
{
    (void)state;
    static const char *const text =
        "</p><script>alert(1)</script>\"'&\xe2\x80\xae\x1b[31m\xff\xef\xbf\xbf</svg><img src=x onerror=alert(1)>";
    static const struct str_pair tags[] = {{"<k>", "<v>"}};
    static const struct summary_gpu_device devices[] = {{.name = "<gpu>", .host_id = "<id>"}};
    struct summary summary;
    struct sample sample = at_secs(1);
    struct series *series = made();
    summary_case_fill_texts(&summary, &text);
    summary.tags = summary.metadata = (struct sample_list){true, 1, tags};
    summary.gpu.devices = (struct sample_list){true, 1, devices};
    summary.verdict = (struct summary_verdict){true, text, text, {true, 1, &text}};
    summary.machine = (struct summary_machine){.present = true, .cpu_model = text, .gpu_driver = text};
    summary.cpu.processes = summary.memory.processes;
    for (int run = 0; run < 2; run++) {
        series_next_run(series);
        for (int i = 1; i <= 3; i++) {
            sample = at_secs(i);
            sample.job_name = text;
            sample.cpu.process_cores_used = some_f64(i);
            sample.cpu.process_rss_mib = some_f64(i);
            add(series, &sample);
        }
    }
    AUTO_BUF struct buf body, picture;
    buf_init(&body, DATA_MAX);
    buf_init(&picture, DATA_MAX);
    body_put(&body, &summary, series);
    assert_int_equal(report_put_svg(&picture, &summary, series), 0);
    const char *const pages[] = {buf_cstr(&body), buf_cstr(&picture)};
    for (size_t i = 0; i < 2; i++) {
        assert_null(strstr(pages[i], "<script"));
        assert_null(strstr(pages[i], "<img"));
        assert_null(strstr(pages[i], "\xe2\x80\xae"));
        assert_null(strstr(pages[i], "\xef\xbf\xbf"));
        assert_null(strchr(pages[i], '\x1b'));
        assert_null(strchr(pages[i], '\xff'));
        assert_non_null(strstr(pages[i], "&lt;script&gt;"));
    }
    assert_null(strstr(pages[0], "<k>"));
    assert_non_null(strstr(pages[0], "&lt;k&gt;=&lt;v&gt;"));
    series_free(series);
}

static void test_body_has_every_part(void **state)
{
    (void)state;
    static const char *const parts[] = {"<h1>train</h1>", "✓ finished", "CPU-bound: used 1 of 2 cores",
        "python train.py --epochs 3", "<dt>Host</dt><dd>node7</dd>", "Xeon", "<dt>Tags</dt><dd>team=ml</dd>",
        "114 <small>Wh</small>", "#SBATCH --cpus-per-task=2", "<dt>Ended</dt><dd>2026-01-01 00:00:00 UTC</dd>",
        "--gpus=1", "@resources(cpu=2", "<th scope=\"col\">Command</th>", "Largest processes at the memory peak",
        "Processes with the most CPU time", "python3 worker.py", "<th scope=\"row\">CPU time</th>",
        "Waiting on the host", "Each GPU", "66\xc2\xa0%", "A chart needs two samples", "3 processes were started"};
    static const struct str_pair tags[] = {{"team", "ml"}};
    static const struct sample_process processes[] = {
        {.pid = {true, 9}, .name = "python3", .command = "python3 worker.py", .cpu_secs = {true, 12.5}}};
    static const struct summary_gpu_device devices[] = {{.name = "H200", .usage_mean_pct = {true, 66}}};
    struct summary summary;
    struct series *series = made();
    struct sample sample = at_secs(1);
    summary_case_fill_full(&summary);
    summary.finished_ms = some_i64(1767225600000);
    summary.verdict = (struct summary_verdict){.present = true, .text = "CPU-bound: used 1 of 2 cores"};
    summary.machine = (struct summary_machine){.present = true, .cpu_model = "Xeon", .cpus = some_u64(2)};
    summary.tags = (struct sample_list){true, 1, tags};
    summary.cpu.processes = (struct sample_list){true, 1, processes};
    summary.gpu.devices = (struct sample_list){true, 1, devices};
    add(series, &sample);
    AUTO_BUF struct buf body;
    buf_init(&body, DATA_MAX);
    body_put(&body, &summary, series);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(buf_cstr(&body), parts[i]))
            fail_msg("%s is not in %s", parts[i], buf_cstr(&body));
    }
    assert_null(strstr(buf_cstr(&body), "<svg"));
    series_free(series);
}

/* The badge of a run by how it ended. */
static void test_badge(void **state)
{
    (void)state;
    static const struct {
        const char *verdict, *badge;
    } cases[] = {
        {SUMMARY_FINISHED, "badge good\">✓ finished"},
        {SUMMARY_STOPPED, "badge dim\">? stopped"},
        {SUMMARY_UNKNOWN, "badge dim\">? unknown"},
        {SUMMARY_MAYBE_OUT_OF_MEMORY, "badge warn\">? maybe"},
        {SUMMARY_FAILED, "badge bad\">✕ failed"},
        {SUMMARY_SIGNALED, "badge bad\">✕ signaled"},
    };
    struct series *series = made();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary;
        summary_case_fill_full(&summary);
        summary.result.verdict = cases[i].verdict;
        AUTO_BUF struct buf body;
        buf_init(&body, DATA_MAX);
        body_put(&body, &summary, series);
        if (!strstr(buf_cstr(&body), cases[i].badge))
            fail_msg("no %s", cases[i].badge);
    }
    series_free(series);
}

/* A cgroup that sets the limit is the job's in tile and chart, as in the rows. */
static void test_own_cgroup(void **state)
{
    (void)state;
    static const struct {
        struct opt_bool is_own;
        const char *source, *line;
    } cases[] = {
        {{true, true}, "machine", "cgroup of the job"},
        {{true, false}, "cgroup", "cgroup of the job"},
        {{false, false}, "cgroup", "cgroup of the job"},
        {{true, false}, "machine", "shared cgroup"},
        {{false, false}, "machine", NULL},
    };
    struct series *series = made();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary;
        struct chart_view view;
        summary_case_fill_full(&summary);
        summary.memory.cgroup_is_own = cases[i].is_own;
        summary.memory.limit_source = cases[i].source;
        chart_view_init(&view, &summary, series, 1);
        const char *line = cases[i].line ? cases[i].line : series_lines[SERIES_CGROUP].name;
        assert_string_equal(chart_line_name(&view, SERIES_CGROUP), line);
        AUTO_BUF struct buf body;
        buf_init(&body, DATA_MAX);
        body_put(&body, &summary, series);
        assert_int_equal(strstr(buf_cstr(&body), "cgroup with page cache") != NULL, i < 3);
    }
    series_free(series);
}

/* By the rules of the rows: nothing of the host stands for the job, no share of next to no time, no zeros. */
static void test_tiles_of_a_short_run(void **state)
{
    (void)state;
    struct series *series = made();
    struct summary summary;
    summary_case_fill_full(&summary);
    summary.wall_secs = some_f64(0.01);
    summary.tracker.cpu_pct = some_f64(26);
    summary.memory.need_mib = summary.memory.pss_peak_mib = summary.memory.rss_peak_mib =
        summary.memory.largest_process_mib = (struct opt_f64){0};
    summary.pressure.cpu_some_secs = summary.pressure.memory_some_secs = summary.pressure.io_some_secs = some_f64(0);
    AUTO_BUF struct buf body;
    buf_init(&body, DATA_MAX);
    body_put(&body, &summary, series);
    const char *text = buf_cstr(&body);
    assert_non_null(strstr(text, "Peak memory of the job</b> <span class=\"big\">unknown<"));
    assert_null(strstr(text, "Peak memory of the host"));
    assert_null(strstr(text, "<b class=\"label\">Waiting"));
    assert_non_null(strstr(text, "<div class=\"dim\">of CPU time, memory "));
    series_free(series);
}

static void test_no_room(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = made();
    static const size_t rooms[] = {0, 100, 20000};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, rooms[i]);
        assert_int_equal(report_put_page(&buf, &summary, series), -ENOBUFS);
        assert_false(buf_ok(&buf));
    }
    /* Where only the escaping no longer fits. */
    summary.job_name = "<<<<<<<<<<<<<<<<<<<<<<<<";
    AUTO_BUF struct buf whole;
    buf_init(&whole, DATA_MAX);
    report_put_data(&whole, &summary, series);
    for (size_t room = 0; room < whole.len; room++) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, room);
        report_put_data(&buf, &summary, series);
        assert_false(buf_ok(&buf));
    }
    series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_values_and_their_units),
        cmocka_unit_test(test_ranges_of_coarse_points),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_heat_letters),
        cmocka_unit_test(test_a_day_fits),
        cmocka_unit_test(test_many_cores_are_thinned),
        cmocka_unit_test(test_page_around_the_data),
        cmocka_unit_test(test_hostile_body_and_picture),
        cmocka_unit_test(test_body_has_every_part),
        cmocka_unit_test(test_badge),
        cmocka_unit_test(test_own_cgroup),
        cmocka_unit_test(test_tiles_of_a_short_run),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
