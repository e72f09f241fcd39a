/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV column sets: headers byte for byte, the format of every column, and what is summed and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "encode/encode.h"

enum { SYSTEM_COLUMNS = 21, FULL_COLUMNS = 33, FIELD_BYTES = 48 };

static const char system_header[] =
    "timestamp,processes,utime,stime,cpu_usage,memory_free,memory_used,memory_buffers,memory_cached,memory_active,"
    "memory_inactive,disk_read_bytes,disk_write_bytes,disk_space_total_gb,disk_space_used_gb,disk_space_free_gb,"
    "net_recv_bytes,net_sent_bytes,gpu_usage,gpu_vram,gpu_utilized\n";

static const char full_header[] =
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,"
    "system_memory_used_mib,system_memory_buffers_mib,system_memory_cached_mib,system_memory_active_mib,"
    "system_memory_inactive_mib,system_disk_read_bytes,system_disk_write_bytes,system_disk_space_total_gb,"
    "system_disk_space_used_gb,system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,"
    "system_gpu_usage,system_gpu_vram_mib,system_gpu_utilized,process_pid,process_children,process_utime,"
    "process_stime,process_cpu_usage,process_memory_mib,process_disk_read_bytes,process_disk_write_bytes,"
    "process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized,system_steal_time\n";

/* Of the Python package, version 0.5.0. */
static const char python_system_header[] =
    "timestamp,processes,utime,stime,cpu_usage,memory_free_mib,memory_used_mib,memory_buffers_mib,memory_cached_mib,"
    "memory_active_mib,memory_inactive_mib,disk_read_bytes,disk_write_bytes,disk_space_total_gb,disk_space_used_gb,"
    "disk_space_free_gb,net_recv_bytes,net_sent_bytes,gpu_usage,gpu_vram_mib,gpu_utilized\n";

struct row {
    size_t count;
    char fields[FULL_COLUMNS + 4][FIELD_BYTES];
};

static const struct run_info second = {.version = "0", .interval_ns = NS_PER_SEC};

static struct sample empty_sample(void)
{
    return (struct sample){
        .timestamp_secs = some_i64(1700000000),
        .timestamp_ms = some_i64(1700000000987),
        .elapsed_secs = some_f64(1),
        .version = "0",
    };
}

static const char *header_of(const struct encoder *encoder, struct buf *buf)
{
    buf_clear(buf);
    encoder->begin(&second, buf);
    return buf_cstr(buf);
}

static void encode_with(
    const struct encoder *encoder, const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    buf_clear(buf);
    const struct sample_totals totals = sample_totals_of(sample, true);
    encoder->sample(info, sample, &totals, buf);
    assert_true(buf_ok(buf));
    assert_true(buf->len > 0 && buf->data[buf->len - 1] == '\n');
    assert_null(memchr(buf->data, '\n', buf->len - 1));
    for (size_t i = 0; i < buf->len - 1; i++)
        assert_non_null(memchr("0123456789.-,", buf->data[i], 13));
}

/* The row in fields, whichever encoder made it. */
static struct row row_of(const struct encoder *encoder, const struct sample *sample)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    encode_with(encoder, &second, sample, &buf);
    struct row row = {0};
    const char *p = buf.data;
    const char *end = p + buf.len - 1;
    for (;;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        assert_true(row.count < FULL_COLUMNS + 4 && stop - p < FIELD_BYTES);
        memcpy(row.fields[row.count], p, (size_t)(stop - p));
        row.count++;
        if (!comma)
            return row;
        p = comma + 1;
    }
}

/* The field under this name of the `full` header; the other rows must hold the same where they have that column. */
static void assert_column(const struct sample *sample, const char *name, const char *expected)
{
    struct row full = row_of(&encoder_csv_full, sample);
    struct row system = row_of(&encoder_csv_system, sample);
    assert_int_equal(full.count, FULL_COLUMNS);
    assert_int_equal(system.count, SYSTEM_COLUMNS);
    char pattern[64];
    (void)snprintf(pattern, sizeof(pattern), ",%s%c", name, ',');
    const char *at = strstr(full_header, pattern);
    if (!at) {
        (void)snprintf(pattern, sizeof(pattern), ",%s\n", name);
        at = strstr(full_header, pattern);
    }
    assert_non_null(at);
    size_t column = 1;
    for (const char *p = full_header; p < at; p++)
        column += *p == ',';
    assert_string_equal(full.fields[column], expected);
    struct row python = row_of(&encoder_csv_python, sample);
    struct row python_system = row_of(&encoder_csv_python_system, sample);
    assert_int_equal(python.count, FULL_COLUMNS - 1);
    assert_int_equal(python_system.count, SYSTEM_COLUMNS);
    if (column < FULL_COLUMNS - 1)
        assert_string_equal(python.fields[column], expected);
    if (column < SYSTEM_COLUMNS)
        assert_string_equal(python_system.fields[column], expected);
    if (column < SYSTEM_COLUMNS && strcmp(name, "system_memory_used_mib") != 0)
        assert_string_equal(system.fields[column], expected);
}

static void test_headers(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    assert_string_equal(header_of(&encoder_csv_system, &buf), system_header);
    assert_string_equal(header_of(&encoder_csv_full, &buf), full_header);
    assert_string_equal(header_of(&encoder_csv_python_system, &buf), python_system_header);
    /* All of `full` but the last. */
    char python_header[sizeof(full_header)];
    memcpy(python_header, full_header, sizeof(full_header));
    memcpy(strrchr(python_header, ','), "\n", 2);
    assert_string_equal(header_of(&encoder_csv_python, &buf), python_header);
}

static void test_nothing_known(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    struct sample sample = empty_sample();
    encode_with(&encoder_csv_system, &second, &sample, &buf);
    assert_string_equal(buf_cstr(&buf), "1700000000,,,,,,,,,,,,,,,,,,,,\n");
    encode_with(&encoder_csv_full, &second, &sample, &buf);
    assert_string_equal(buf_cstr(&buf), "1700000000,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n");
}

static void test_timestamp(void **state)
{
    (void)state;
    static const struct {
        int64_t interval_ns, ms;
        const char *text;
    } cases[] = {
        {NS_PER_SEC, 1700000000987, "1700000000,"},
        {86400 * NS_PER_SEC, 1700000000987, "1700000000,"},
        {500 * NS_PER_MS, 1700000000987, "1700000000.987,"},
        {1500 * NS_PER_MS, 1700000000000, "1700000000.000,"},
        {10 * NS_PER_MS, 1700000000007, "1700000000.007,"},
        {10 * NS_PER_MS, 1999999999999, "1999999999.999,"},
        {NS_PER_SEC + 1, 4102444800001, "4102444800.001,"},
    };
    AUTO_BUF struct buf buf;
    buf_init(&buf, 65536);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_info info = {.version = "0", .interval_ns = cases[i].interval_ns};
        struct sample sample = empty_sample();
        sample.timestamp_ms = some_i64(cases[i].ms);
        sample.timestamp_secs = some_i64(cases[i].ms / 1000);
        encode_with(&encoder_csv_system, &info, &sample, &buf);
        assert_memory_equal(buf_cstr(&buf), cases[i].text, strlen(cases[i].text));
    }
    /* Every millisecond of a second survives the way through a double. */
    struct run_info info = {.version = "0", .interval_ns = 10 * NS_PER_MS};
    for (int ms = 0; ms < 1000; ms++) {
        char expected[32];
        struct sample sample = empty_sample();
        sample.timestamp_ms = some_i64(1789012345000 + ms);
        (void)snprintf(expected, sizeof(expected), "1789012345.%03d,", ms);
        encode_with(&encoder_csv_full, &info, &sample, &buf);
        assert_memory_equal(buf_cstr(&buf), expected, strlen(expected));
    }
}

static void test_cpu_and_memory_columns(void **state)
{
    (void)state;
    struct sample sample = empty_sample();
    sample.cpu = (struct sample_cpu){
        .present = true,
        .utilization_pct = some_f64(1.23456),
        .utime_secs = some_f64(0.0005),
        .stime_secs = some_f64(12),
        .steal_secs = some_f64(0.0305),
        .process_count = some_u64(321),
    };
    sample.memory = (struct sample_memory){
        .present = true,
        .free_mib = some_f64(0.5),
        .used_mib = some_f64(1.49),
        .buffers_mib = some_f64(0),
        .cached_mib = some_f64(2.5),
        .active_mib = some_f64(1048576.75),
        .inactive_mib = some_f64(6),
    };
    assert_column(&sample, "system_processes", "321");
    assert_column(&sample, "system_utime", "0.001");
    assert_column(&sample, "system_stime", "12.000");
    assert_column(&sample, "system_cpu_usage", "1.2346");
    assert_column(&sample, "system_steal_time", "0.031");
    assert_column(&sample, "system_memory_free_mib", "0");
    assert_column(&sample, "system_memory_used_mib", "1");
    assert_column(&sample, "system_memory_buffers_mib", "0");
    assert_column(&sample, "system_memory_cached_mib", "2");
    assert_column(&sample, "system_memory_active_mib", "1048576");
    assert_column(&sample, "system_memory_inactive_mib", "6");
    sample.cpu.utime_secs = some_f64(-0.0);
    sample.cpu.stime_secs = some_f64(0.9996);
    sample.cpu.utilization_pct = some_f64((double)NAN);
    assert_column(&sample, "system_utime", "0.000");
    assert_column(&sample, "system_stime", "1.000");
    assert_column(&sample, "system_cpu_usage", "");
}

/* What other trackers call used is what is not available; the 21 columns of `system` keep the older meaning. */
static void test_used_memory(void **state)
{
    (void)state;
    struct sample sample = empty_sample();
    sample.memory = (struct sample_memory){.present = true, .used_mib = some_f64(161)};
    /* Kernels before 3.14 do not say what is available. */
    assert_column(&sample, "system_memory_used_mib", "161");
    /* A recording of an older version. */
    sample.memory.total_mib = some_f64(24103.9219);
    sample.memory.available_mib = some_f64(23687.5117);
    assert_column(&sample, "system_memory_used_mib", "416");
    sample.memory.unavailable_mib = some_f64(417);
    assert_column(&sample, "system_memory_used_mib", "417");
    assert_string_equal(row_of(&encoder_csv_system, &sample).fields[6], "161");
}

static void test_process_columns(void **state)
{
    (void)state;
    struct sample sample = empty_sample();
    sample.tracked_pid = some_u64(4242);
    sample.cpu = (struct sample_cpu){
        .present = true,
        .process_child_count = some_u64(0),
        .process_utime_secs = some_f64(1.0004),
        .process_stime_secs = some_f64(0.25),
        .process_cores_used = some_f64(0.99996),
        .process_rss_mib = some_f64(100.5),
        .process_disk_read_bytes = some_u64(UINT64_MAX),
        .process_disk_write_bytes = some_u64(5),
        .process_gpu_usage = some_f64(0.5),
        .process_gpu_vram_mib = some_f64(1024.03125),
        .process_gpu_utilized = some_u64(2),
    };
    assert_column(&sample, "process_pid", "4242");
    assert_column(&sample, "process_children", "0");
    assert_column(&sample, "process_utime", "1.0004");
    assert_column(&sample, "process_stime", "0.2500");
    assert_column(&sample, "process_cpu_usage", "1.0000");
    assert_column(&sample, "process_memory_mib", "100");
    assert_column(&sample, "process_disk_read_bytes", "18446744073709551615");
    assert_column(&sample, "process_disk_write_bytes", "5");
    assert_column(&sample, "process_gpu_usage", "0.5000");
    assert_column(&sample, "process_gpu_vram_mib", "1024.0313");
    assert_column(&sample, "process_gpu_utilized", "2");
    sample.cpu.process_pss_mib = some_f64(60.4);
    assert_column(&sample, "process_memory_mib", "60");
    sample.cpu.process_pss_mib = some_f64(0);
    assert_column(&sample, "process_memory_mib", "0");
}

static void test_disk_io_counts_stacked_devices_once(void **state)
{
    (void)state;
    const struct sample_disk disks[] = {
        {.device = "dm-0",
            .stacked = some_bool(true),
            .read_bytes_delta = some_u64(1000),
            .write_bytes_delta = some_u64(2000)},
        {.device = "sda",
            .stacked = some_bool(false),
            .read_bytes_per_sec = some_f64(9e9),
            .read_bytes_total = some_u64(99999),
            .read_bytes_delta = some_u64(512),
            .write_bytes_delta = some_u64(0)},
        {.device = "sdb", .read_bytes_delta = some_u64(7), .write_bytes_delta = some_u64(1)},
        {.device = "sdc", .stacked = some_bool(false), .write_bytes_delta = some_u64(3)},
    };
    struct sample sample = empty_sample();
    sample.disk = (struct sample_list){.present = true, .count = 4, .items = disks};
    assert_column(&sample, "system_disk_read_bytes", "519");
    assert_column(&sample, "system_disk_write_bytes", "4");
    assert_column(&sample, "system_disk_space_total_gb", "");
    assert_column(&sample, "system_disk_space_used_gb", "");
    assert_column(&sample, "system_disk_space_free_gb", "");
}

static void test_disk_lists_without_numbers(void **state)
{
    (void)state;
    struct sample sample = empty_sample();
    const struct sample_disk disk = {.device = "sda"};
    sample.disk = (struct sample_list){.present = true, .count = 1, .items = &disk};
    assert_column(&sample, "system_disk_read_bytes", "");
    assert_column(&sample, "system_disk_write_bytes", "");
    /* A host that has no disk has done no disk I/O. */
    sample.disk = (struct sample_list){.present = true};
    assert_column(&sample, "system_disk_read_bytes", "0");
    assert_column(&sample, "system_disk_write_bytes", "0");
    /* An absent list is not looked at. */
    sample.disk = (struct sample_list){.present = false, .count = 1, .items = NULL};
    assert_column(&sample, "system_disk_read_bytes", "");
}

static void test_space_is_summed_over_all_devices(void **state)
{
    (void)state;
    const struct sample_mount root[] = {
        {"/", "ext4", some_u64(100000000000), some_u64(30000000000), some_u64(60000000000), some_f64(33)},
        {"/boot", "vfat", some_u64(1000000), some_u64(1), some_u64(400), some_f64(1)},
    };
    const struct sample_mount data[] = {
        {"/data", "xfs", some_u64(2000000000499), some_u64(1), some_u64(1), some_f64(1)},
        {"/hung", "xfs", {0}, {0}, {0}, {0}},
        {"/half", "xfs", some_u64(777), {0}, {0}, {0}},
    };
    const struct sample_disk disks[] = {
        {.device = "dm-0", .stacked = some_bool(true), .mounts = {.present = true, .count = 3, .items = data}},
        {.device = "sda", .stacked = some_bool(false), .mounts = {.present = true, .count = 2, .items = root}},
        {.device = "sdb", .stacked = some_bool(false), .mounts = {.present = false, .count = 9, .items = NULL}},
    };
    struct sample sample = empty_sample();
    sample.disk = (struct sample_list){.present = true, .count = 3, .items = disks};
    assert_column(&sample, "system_disk_space_total_gb", "2100.001000");
    assert_column(&sample, "system_disk_space_free_gb", "60.000000");
    assert_column(&sample, "system_disk_space_used_gb", "2040.001000");
}

static void test_network_sums_what_is_known(void **state)
{
    (void)state;
    const struct sample_network interfaces[] = {
        {.interface = "eth0",
            .rx_bytes_delta = some_u64(10),
            .tx_bytes_delta = some_u64(1),
            .rx_bytes_total = some_u64(5000),
            .rx_bytes_per_sec = some_f64(123)},
        {.interface = "eth1", .rx_bytes_delta = some_u64(32)},
        {.interface = "new0"},
    };
    struct sample sample = empty_sample();
    sample.network = (struct sample_list){.present = true, .count = 3, .items = interfaces};
    assert_column(&sample, "system_net_recv_bytes", "42");
    assert_column(&sample, "system_net_sent_bytes", "1");
    sample.network = (struct sample_list){.present = true, .count = 1, .items = &interfaces[2]};
    assert_column(&sample, "system_net_recv_bytes", "");
    assert_column(&sample, "system_net_sent_bytes", "");
    sample.network = (struct sample_list){.present = true};
    assert_column(&sample, "system_net_recv_bytes", "0");
    assert_column(&sample, "system_net_sent_bytes", "0");
}

static void test_gpus_are_summed(void **state)
{
    (void)state;
    const struct sample_gpu gpus[] = {
        {.utilization_pct = some_f64(50), .vram_used_bytes = some_u64(1048576)},
        {.utilization_pct = some_f64(0), .vram_used_bytes = some_u64(524288)},
        {.utilization_pct = some_f64(33.333)},
        {.vram_used_bytes = some_u64(1)},
    };
    struct sample sample = empty_sample();
    sample.gpu = (struct sample_list){.present = true, .count = 4, .items = gpus};
    assert_column(&sample, "system_gpu_usage", "0.8333");
    assert_column(&sample, "system_gpu_vram_mib", "1.5000");
    assert_column(&sample, "system_gpu_utilized", "2");
    sample.gpu = (struct sample_list){.present = true};
    assert_column(&sample, "system_gpu_usage", "0.0000");
    assert_column(&sample, "system_gpu_vram_mib", "0.0000");
    assert_column(&sample, "system_gpu_utilized", "0");
}

/* A driver that gives no number must not look like an idle device: an empty field is unknown, 0 is a measurement. */
static void test_gpus_that_report_nothing_are_unknown(void **state)
{
    (void)state;
    const struct sample_gpu gpus[] = {{.name = "silent"}, {.name = "silent too"}};
    struct sample sample = empty_sample();
    sample.gpu = (struct sample_list){.present = true, .count = 2, .items = gpus};
    assert_column(&sample, "system_gpu_usage", "");
    assert_column(&sample, "system_gpu_vram_mib", "");
    assert_column(&sample, "system_gpu_utilized", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_timestamp),
        cmocka_unit_test(test_cpu_and_memory_columns),
        cmocka_unit_test(test_used_memory),
        cmocka_unit_test(test_process_columns),
        cmocka_unit_test(test_disk_io_counts_stacked_devices_once),
        cmocka_unit_test(test_disk_lists_without_numbers),
        cmocka_unit_test(test_space_is_summed_over_all_devices),
        cmocka_unit_test(test_network_sums_what_is_known),
        cmocka_unit_test(test_gpus_are_summed),
        cmocka_unit_test(test_gpus_that_report_nothing_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
