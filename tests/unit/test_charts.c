/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/auto.h"
#include "series_scenario.h"
#include "summary/report/charts.h"
#include "summary/write.h"

enum { PICTURE_MAX = 1024 * 1024 };

static void put_picture(struct buf *svg, const struct summary *summary, const struct series *series)
{
    buf_init(svg, PICTURE_MAX);
    assert_int_equal(report_put_svg(svg, summary, series), 0);
}

/* The peak of charts is that of the tile, also where no sample has it. */
static void test_peak_that_no_sample_has(void **state)
{
    (void)state;
    static const struct {
        struct opt_f64 need;
        const char *text;
        enum series_line_number line;
        enum peak_kind kind;
        double drawn_mib;
    } cases[] = {
        {{true, 100}, "100 MiB at 2 s", SERIES_PSS, PEAK_IN_SAMPLE, 100},
        {{true, 150}, "150 MiB at 2 s", SERIES_RSS, PEAK_IN_SAMPLE, 150},
        {{true, 104}, "104 MiB, highest sample at 2 s", SERIES_PSS, PEAK_NEAR_SAMPLE, 100},
        {{true, 145}, "145 MiB in the largest process", SERIES_PSS, PEAK_OF_PROCESS, 145},
        {{true, 313}, "313 MiB between samples", SERIES_RSS, PEAK_BETWEEN, 313},
        {{true, 90}, "100 MiB at 2 s", SERIES_PSS, PEAK_IN_SAMPLE, 100}, /* a recording that contradicts itself */
        {{0}, "150 MiB at 2 s", SERIES_RSS, PEAK_IN_SAMPLE, 150},
    };
    struct series *series = made();
    for (int i = 1; i <= 3; i++) {
        struct sample sample = at_secs(i);
        sample.cpu.process_rss_mib = some_f64(i == 2 ? 150 : 15);
        sample.cpu.process_pss_mib = some_f64(i == 2 ? 100 : 10);
        add(series, &sample);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary = {.memory = {.present = true, .need_mib = cases[i].need}};
        summary.memory.rss_sampled_mib = some_f64(150);
        struct chart_view view;
        AUTO_BUF struct buf svg, label;
        chart_view_init(&view, &summary, series, 1);
        struct chart_peak peak = chart_peak(&view, SERIES_MEMORY);
        assert_true(peak.has);
        assert_int_equal(peak.line, cases[i].line);
        assert_int_equal(peak.kind, cases[i].kind);
        assert_true(peak.drawn == cases[i].drawn_mib * (1 << 20));
        assert_true(peak.secs == 2);
        buf_init(&label, 200);
        buf_puts(&label, ">peak ");
        chart_put_peak(&label, SERIES_MEMORY, &peak);
        assert_string_equal(buf_cstr(&label) + strlen(">peak "), cases[i].text);
        buf_puts(&label, "</text>");
        put_picture(&svg, &summary, series);
        assert_non_null(strstr(buf_cstr(&svg), buf_cstr(&label)));
        assert_int_equal(strstr(buf_cstr(&svg), "<circle") == NULL, summary_peak_is_apart(cases[i].kind));
        /* The axis goes up to it. */
        assert_int_equal(strstr(buf_cstr(&svg), ">400</text>") != NULL, cases[i].need.v > 300);
    }
    series_free(series);
}

/* Without a job the peak is that of the host, as in the tile, whatever the tracker's own cgroup holds. */
static void test_peak_of_the_host(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = made();
    for (int i = 1; i <= 2; i++) {
        struct sample sample = at_secs(i);
        sample.cgroup = (struct sample_cgroup){.present = true, .memory_used_mib = some_f64(600)};
        sample.memory.present = true;
        sample.memory.total_mib = some_f64(2000);
        sample.memory.available_mib = some_f64(200);
        sample.memory.used_mib = sample.memory.unavailable_mib = some_f64(1800);
        add(series, &sample);
    }
    struct chart_view view;
    chart_view_init(&view, &summary, series, 1);
    struct chart_peak peak = chart_peak(&view, SERIES_MEMORY);
    assert_int_equal(peak.line, SERIES_HOST_USED);
    assert_true(peak.value == 1800.0 * (1 << 20));
    series_free(series);
}

/* Of runs that are drawn over each other one line is shown: not one that is 0 throughout. */
static void test_overlay_shows_what_there_is(void **state)
{
    (void)state;
    struct summary summary = {0};
    struct series *series = made();
    for (int i = 1; i <= 6; i++) {
        struct sample sample = at_secs(i % 3 + 1);
        sample.cpu.process_disk_read_bytes = some_u64(0);
        sample.cpu.process_disk_write_bytes = some_u64(3000000);
        if (i == 4)
            series_next_run(series);
        add(series, &sample);
    }
    AUTO_BUF struct buf svg;
    put_picture(&svg, &summary, series);
    assert_non_null(strstr(buf_cstr(&svg), ">Disk, MB/s"));
    series_free(series);
}

/* A tree on a machine without GPUs uses a known 0 of them. */
static void test_no_gpu_no_chart(void **state)
{
    (void)state;
    struct summary summary = {0};
    for (size_t gpus = 0; gpus < 2; gpus++) {
        struct series *series = made();
        struct sample_gpu gpu = {.utilization_pct = some_f64(0)};
        for (int i = 1; i <= 2; i++) {
            struct sample sample = at_secs(i);
            sample.cpu.process_cores_used = some_f64(1);
            sample.cpu.process_gpu_usage = sample.cpu.process_gpu_vram_mib = some_f64(0);
            sample.gpu = (struct sample_list){true, gpus, &gpu};
            add(series, &sample);
        }
        AUTO_BUF struct buf svg;
        assert_true(series_has(series, SERIES_CPU_TREE));
        assert_int_equal(series_has(series, SERIES_GPU_TREE), gpus > 0);
        assert_int_equal(series_has(series, SERIES_VRAM_TREE), gpus > 0);
        put_picture(&svg, &summary, series);
        assert_int_equal(strstr(buf_cstr(&svg), ">GPU, GPUs") != NULL, gpus > 0);
        series_free(series);
    }
}

/* What nothing went through has no chart. */
static void test_no_flow_no_chart(void **state)
{
    (void)state;
    struct summary summary = {0};
    for (uint64_t bytes = 0; bytes < 2; bytes++) {
        struct series *series = made();
        struct sample_network network = {.rx_bytes_per_sec = some_f64(0), .tx_bytes_per_sec = some_f64((double)bytes)};
        for (int i = 1; i <= 2; i++) {
            struct sample sample = at_secs(i);
            sample.cpu.process_cores_used = some_f64(0);
            sample.cpu.process_disk_read_bytes = some_u64(bytes);
            sample.network = (struct sample_list){true, 1, &network};
            add(series, &sample);
        }
        struct chart_view view;
        AUTO_BUF struct buf svg;
        chart_view_init(&view, &summary, series, 1);
        assert_true(chart_is_shown(&view, SERIES_CPU));
        assert_int_equal(chart_is_shown(&view, SERIES_DISK), bytes > 0);
        assert_int_equal(chart_is_shown(&view, SERIES_NETWORK), bytes > 0);
        put_picture(&svg, &summary, series);
        assert_int_equal(strstr(buf_cstr(&svg), ">Disk, ") != NULL, bytes > 0);
        series_free(series);
    }
}

/* Tiles are narrow: a number stays with its unit there, but not in what is copied. */
static void test_units_stay_with_numbers(void **state)
{
    (void)state;
    struct markup m;
    AUTO_BUF struct buf out;
    buf_init(&out, 200);
    markup_init(&m, &out);
    buf_puts(&m.text, "python3 a 5 %");
    markup_tag(&m, ";");
    m.binds_units = true;
    buf_puts(&m.text, "RSS 5 MiB, 3 -x");
    markup_tag(&m, "");
    markup_fini(&m);
    assert_string_equal(buf_cstr(&out), "python3 a 5\xc2\xa0%;RSS 5\xc2\xa0MiB, 3 -x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak_that_no_sample_has),
        cmocka_unit_test(test_peak_of_the_host),
        cmocka_unit_test(test_overlay_shows_what_there_is),
        cmocka_unit_test(test_no_gpu_no_chart),
        cmocka_unit_test(test_no_flow_no_chart),
        cmocka_unit_test(test_units_stay_with_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
