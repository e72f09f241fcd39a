/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "summary/write.h"

#define FULL "\xe2\x96\x88"
#define LOW "\xe2\x96\x81"

static void add(struct spark *spark, double elapsed, double cores, double rss_mib)
{
    struct sample sample = {.elapsed_secs = some_f64(elapsed), .tracked_pid = some_u64(1)};
    if (spark->elapsed_fixed4.has)
        sample.actual_interval_ms = some_f64(elapsed * 1000 - (double)spark->elapsed_fixed4.v / 10);
    sample.cpu.present = true;
    sample.cpu.process_cores_used = some_f64(cores);
    sample.cpu.process_rss_mib = some_f64(rss_mib);
    spark_add(spark, &sample);
}

static const struct summary no_summary;

/* What the chart shows of line i, as text from its first block to the end of the line; "" where there is none. */
static void read_line(const struct spark *spark, const char *label, struct buf *ret_line)
{
    AUTO_BUF struct buf chart;
    buf_init(&chart, 4096);
    buf_init(ret_line, 4096);
    spark_put(&chart, spark, &no_summary);
    const char *at = strstr(buf_cstr(&chart), label);
    if (at)
        buf_append(ret_line, at + strlen(label), strcspn(at + strlen(label), "\n"));
}

static void test_two_halves(void **state)
{
    (void)state;
    struct spark spark = {0};
    for (unsigned i = 1; i <= 4; i++)
        add(&spark, i, i <= 2 ? 0 : 2, i == 3 ? 1024 : 64);
    AUTO_BUF struct buf cores, memory, all;
    read_line(&spark, "cores   ", &cores);
    read_line(&spark, "memory  ", &memory);
    char expected[512] = "";
    for (unsigned i = 0; i < 60; i++)
        strcat(expected, i < 30 ? LOW : FULL);
    assert_string_equal(buf_cstr(&cores), strcat(expected, "  " FULL " = 2 cores"));
    expected[0] = '\0';
    for (unsigned i = 0; i < 60; i++)
        strcat(expected, i >= 30 && i < 45 ? FULL : LOW);
    assert_string_equal(buf_cstr(&memory), strcat(expected, "  " FULL " = 1 GiB (RSS)"));
    buf_init(&all, 4096);
    spark_put(&all, &spark, &no_summary);
    assert_non_null(strstr(buf_cstr(&all), "\n        0 s                                                      4 s\n"));
}

/* A day at a second's interval: a spike of memory is still there, the mean of cores is what it was. */
static void test_long_run(void **state)
{
    (void)state;
    struct spark spark = {0};
    for (unsigned i = 1; i <= 86400; i++)
        add(&spark, i + 0.0003 * (i % 7), i % 2, i == 30000 ? 9000 : 100);
    AUTO_BUF struct buf cores, memory;
    read_line(&spark, "cores   ", &cores);
    read_line(&spark, "memory  ", &memory);
    assert_in_range(spark.count, 31, 60);
    assert_non_null(strstr(buf_cstr(&cores), "= 0.5 cores"));
    assert_non_null(strstr(buf_cstr(&memory), "= 8.79 GiB (RSS)"));
    unsigned full = 0;
    for (const char *at = buf_cstr(&memory); (at = strstr(at, FULL)); at += 3)
        full++;
    assert_int_equal(full, 2); /* the spike, and the legend */
}

/* The last sample has no memory any more, and may end a moment after the grid. */
static void test_last_sample(void **state)
{
    (void)state;
    struct spark spark = {0};
    for (unsigned i = 1; i <= 10; i++)
        add(&spark, i, 1, 100);
    add(&spark, 10.02, 0.5, 0);
    AUTO_BUF struct buf memory;
    read_line(&spark, "memory  ", &memory);
    assert_int_equal(spark.count, 11);
    struct spark half = spark;
    add(&half, 10.5, 0.5, 0);
    AUTO_BUF struct buf until_end;
    read_line(&half, "memory  ", &until_end);
    assert_string_equal(buf_cstr(&until_end) + 55 * 3, "  " FULL " = 100 MiB (RSS)");
    assert_null(strstr(buf_cstr(&memory), LOW));
    assert_memory_equal(memory.data, FULL, 3);
    assert_string_equal(buf_cstr(&memory) + 60 * 3, "  " FULL " = 100 MiB (RSS)");
}

/* A sample that came late covers all of the time before it. */
static void test_late_sample(void **state)
{
    (void)state;
    struct spark spark = {0};
    add(&spark, 1, 2, 10);
    add(&spark, 4, 1, 10);
    assert_int_equal(spark.count, 4);
    for (size_t i = 1; i < 4; i++) {
        assert_true(spark.buckets[i].has_rss);
        assert_true(spark.buckets[i].core_secs > 0.999 && spark.buckets[i].core_secs < 1.001);
    }
}

static void test_host_and_pss(void **state)
{
    (void)state;
    struct spark host = {0}, job = {0};
    for (unsigned i = 1; i <= 3; i++) {
        struct sample sample = {.elapsed_secs = some_f64(i)};
        sample.cpu.present = sample.memory.present = true;
        sample.cpu.utilization_pct = some_f64(3);
        sample.memory.used_mib = some_f64(2048);
        spark_add(&host, &sample);
        sample.tracked_pid = some_u64(7);
        sample.cpu.process_rss_mib = some_f64(500);
        sample.cpu.process_pss_mib = some_f64(300);
        spark_add(&job, &sample);
    }
    AUTO_BUF struct buf cores, memory, pss;
    read_line(&host, "cores   ", &cores);
    read_line(&host, "memory  ", &memory);
    read_line(&job, "memory  ", &pss);
    assert_non_null(strstr(buf_cstr(&cores), "= 3 cores"));
    assert_non_null(strstr(buf_cstr(&memory), "= 2 GiB"));
    assert_null(strstr(buf_cstr(&memory), "RSS"));
    assert_non_null(strstr(buf_cstr(&pss), "= 300 MiB (PSS)"));
}

/* Behind the highest sample the peak of the run, where that is more. */
static void test_peak_that_no_sample_has(void **state)
{
    (void)state;
    static const struct {
        struct opt_f64 need;
        const char *legend;
    } cases[] = {
        {{0}, " = 64 MiB (RSS)\n"},
        {{true, 64}, " = 64 MiB (RSS)\n"},
        {{true, 50}, " = 64 MiB (RSS)\n"}, /* of PSS, which is not shown where it is not always known */
        {{true, 66}, " = 64 MiB (RSS), peak 66 MiB\n"},
        {{true, 313}, " = 64 MiB (RSS), peak 313 MiB between samples\n"},
    };
    struct spark spark = {0};
    for (unsigned i = 1; i <= 4; i++)
        add(&spark, i, 1, 64);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary = {.memory = {.present = true, .need_mib = cases[i].need}};
        AUTO_BUF struct buf buf;
        buf_init(&buf, 4096);
        spark_put(&buf, &spark, &summary);
        assert_non_null(strstr(buf_cstr(&buf), cases[i].legend));
    }
}

static void test_nothing_to_show(void **state)
{
    (void)state;
    struct spark spark = {0};
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    spark_put(&buf, &spark, &no_summary);
    add(&spark, 1, 1, 1);
    spark_put(&buf, &spark, &no_summary); /* one sample */
    spark_next_run(&spark);
    for (unsigned i = 1; i < 9; i++)
        add(&spark, i, 1, 1);
    spark_put(&buf, &spark, &no_summary); /* two runs */
    assert_int_equal(buf.len, 0);
}

/* Whatever a recording holds: bounded, and valid UTF-8. */
static void test_odd_values(void **state)
{
    (void)state;
    static const double odd[] = {0, -1, 1e-5, 3e5, 8.9e14, 1e300, -1e300, (double)__builtin_nan(""), 12.5, 1e9};
    enum { ODD = sizeof(odd) / sizeof(odd[0]) };
    uint32_t random = 3;
    for (unsigned round = 0; round < 2000; round++) {
        struct spark spark = {0};
        for (unsigned i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            struct sample sample = {.elapsed_secs = {random >> 31, odd[(random >> 8) % ODD]},
                .actual_interval_ms = {(random >> 30) % 2, odd[(random >> 12) % ODD]}};
            sample.cpu.present = true;
            sample.tracked_pid = some_u64(1);
            sample.cpu.process_cores_used = (struct opt_f64){true, odd[(random >> 16) % ODD]};
            sample.cpu.process_rss_mib = (struct opt_f64){true, odd[(random >> 20) % ODD]};
            spark_add(&spark, &sample);
            assert_true(spark.count <= SPARK_BUCKETS);
        }
        AUTO_BUF struct buf buf;
        buf_init(&buf, 4096);
        spark_put(&buf, &spark, &no_summary);
        assert_true(buf_ok(&buf));
        struct str rest = {buf.data, buf.len};
        while (rest.n > 0) {
            size_t length = utf8_length(rest);
            assert_true(length > 0);
            str_skip(&rest, length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_halves),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_last_sample),
        cmocka_unit_test(test_late_sample),
        cmocka_unit_test(test_host_and_pss),
        cmocka_unit_test(test_peak_that_no_sample_has),
        cmocka_unit_test(test_nothing_to_show),
        cmocka_unit_test(test_odd_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
