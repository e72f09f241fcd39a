/* SPDX-License-Identifier: Apache-2.0 */
/* CSV headers and rows as samples: both column sets, other orders, quotes, odd cells, and the way back to the same row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "encode/encode.h"
#include "replay/replay_internal.h"

static const struct run_info second = {.interval_ns = NS_PER_SEC};

static const char full_row[] =
    "1767225601,88,1.910,0.090,1.9802,23527,161,11,405,256,163,8192,12599296,270.553174,185.065828,85.487346,10,20,"
    "0.5000,512.0000,1,4242,3,0.8004,0.1000,0.9000,300,4096,8192,0.4000,256.0000,1,0.020\n";

/* The 32 columns that `full` had before, and the Python package has. */
static const char python_row[] =
    "1767225601,88,1.910,0.090,1.9802,23527,161,11,405,256,163,8192,12599296,270.553174,185.065828,85.487346,10,20,"
    "0.5000,512.0000,1,4242,3,0.8000,0.1000,0.9000,300,4096,8192,0.4000,256.0000,1\n";

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct csv_line));
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void set_header_of(struct csv_line *csv, const struct encoder *encoder)
{
    struct buf header;
    buf_init(&header, 4096);
    encoder->begin(&second, &header);
    assert_int_equal(csv_line_set_header(csv, (struct str){header.data, header.len}), 0);
    buf_fini(&header);
}

static struct sample parse(struct csv_line *csv, const char *row)
{
    struct sample sample;
    assert_int_equal(csv_line_parse(csv, str_of(row), &sample), 0);
    return sample;
}

static void check_round_trip(struct csv_line *csv, const struct encoder *encoder, const char *row)
{
    struct sample sample = parse(csv, row);
    struct buf again;
    buf_init(&again, 4096);
    const struct sample_totals totals = sample_totals_of(&sample, true);
    encoder->sample(&second, &sample, &totals, &again);
    assert_string_equal(buf_cstr(&again), row);
    buf_fini(&again);
}

static void test_full_row(void **state)
{
    struct csv_line *csv = *state;
    set_header_of(csv, &encoder_csv_full);
    assert_int_equal(csv->count, 33);
    struct sample sample = parse(csv, full_row);
    assert_int_equal(sample.timestamp_secs.v, 1767225601);
    assert_int_equal(sample.timestamp_ms.v, 1767225601000);
    assert_false(sample.elapsed_secs.has);
    assert_int_equal(sample.tracked_pid.v, 4242);
    assert_int_equal(sample.cpu.process_count.v, 88);
    assert_true(sample.cpu.utime_secs.v == 1.91 && sample.cpu.stime_secs.v == 0.09);
    assert_true(sample.cpu.utilization_pct.v == 1.9802);
    assert_true(sample.memory.present && sample.memory.free_mib.v == 23527 && sample.memory.inactive_mib.v == 163);
    assert_true(sample.memory.unavailable_mib.v == 161 && !sample.memory.used_mib.has);
    assert_false(sample.memory.total_mib.has);
    assert_true(sample.cpu.steal_secs.v == 0.02 && sample.cpu.process_utime_secs.v == 0.8004);
    const struct sample_disk *disk = sample.disk.items;
    assert_int_equal(sample.disk.count, 1);
    assert_string_equal(disk->device, "all");
    assert_int_equal(disk->read_bytes_delta.v, 8192);
    assert_int_equal(disk->write_bytes_delta.v, 12599296);
    const struct sample_mount *mount = disk->mounts.items;
    assert_int_equal(mount->total_bytes.v, 270553174000);
    assert_int_equal(mount->used_bytes.v, 185065828000);
    assert_int_equal(mount->available_bytes.v, 85487346000);
    const struct sample_network *network = sample.network.items;
    assert_string_equal(network->interface, "all");
    assert_false(network->is_virtual.has);
    assert_int_equal(network->rx_bytes_delta.v, 10);
    assert_int_equal(network->tx_bytes_delta.v, 20);
    const struct sample_gpu *gpu = sample.gpu.items;
    assert_int_equal(sample.gpu.count, 1);
    assert_true(gpu->utilization_pct.v == 50 && gpu->vram_used_bytes.v == 512 * 1048576);
    assert_int_equal(sample.cpu.process_child_count.v, 3);
    assert_true(sample.cpu.process_cores_used.v == 0.9 && sample.cpu.process_pss_mib.v == 300);
    assert_false(sample.cpu.process_rss_mib.has);
    assert_true(csv->has_process_memory);
    assert_int_equal(sample.cpu.process_disk_write_bytes.v, 8192);
    assert_true(sample.cpu.process_gpu_usage.v == 0.4 && sample.cpu.process_gpu_vram_mib.v == 256);
    assert_int_equal(sample.cpu.process_gpu_utilized.v, 1);
    assert_null(sample.job_name);
}

static void test_round_trips(void **state)
{
    static const char *const system_rows[] = {
        "1767225601,88,1.910,0.090,1.9802,23527,161,11,405,256,163,8192,0,20.957446,13.636370,7.321076,0,0,,,\n",
        "1,,,,,,,,,,,,,,,,,,,,\n",
        "1,,,,,2467,,40,,,,,,,,,,7,0.0000,0.0000,0\n",
        /* used is total - free only before rounding */
        "1,,,,,,,,,,,5,,1.000000,0.500000,0.500001,,,,,\n",
        "1,,,,,,,,,,,,6,1.000000,0.499999,0.500000,,,,,\n",
        "1,,,,,,,,,,,,6,15512.638487,10697.288487,4815.350000,,,,,\n",
        "1,,,,,,,,,,,,,1.000000,1.000000,0.000000,,,,,\n",
        /* GPUs: usage, memory, how many in use */
        "1,,,,,,,,,,,,,,,,,,1.1979,4096.0000,2\n",
        "1,,,,,,,,,,,,,,,,,,2.9999,0.1177,7\n",
        "1,,,,,,,,,,,,,,,,,,0.0000,12.3457,3\n",
        "1,,,,,,,,,,,,,,,,,,0.0000,,0\n",
        "1,,,,,,,,,,,,,,,,,,0.5500,,1\n",
        "1,,,,,,,,,,,,,,,,,,,26.1016,\n",
        "1,,,,,,,,,,,,,,,,,,0.0000,100.0000,0\n",
        "1,,,,,,,,,,,,,,,,,,63.9900,655360.0001,64\n",
    };
    static const char *const full_rows[] = {
        full_row,
        "1767225601,,,,,,,,,,,,,,,,,,0.0000,0.0000,0,,,,,,,,,,,,\n",
        "1767225601,,,,,,,,,,,,,,,,,,0.0000,0.0000,0,1,0,0.0000,0.0000,0.0000,0,0,,,0.0000,0,0.000\n",
    };
    set_header_of(*state, &encoder_csv_system);
    for (size_t i = 0; i < sizeof(system_rows) / sizeof(system_rows[0]); i++)
        check_round_trip(*state, &encoder_csv_system, system_rows[i]);
    set_header_of(*state, &encoder_csv_full);
    for (size_t i = 0; i < sizeof(full_rows) / sizeof(full_rows[0]); i++)
        check_round_trip(*state, &encoder_csv_full, full_rows[i]);
    set_header_of(*state, &encoder_csv_python_system);
    for (size_t i = 0; i < sizeof(system_rows) / sizeof(system_rows[0]); i++)
        check_round_trip(*state, &encoder_csv_python_system, system_rows[i]);
    set_header_of(*state, &encoder_csv_python);
    check_round_trip(*state, &encoder_csv_python, python_row);
    assert_int_equal(((struct csv_line *)*state)->mistyped, 0);
}

static void test_unknown_is_absent(void **state)
{
    set_header_of(*state, &encoder_csv_system);
    struct sample sample = parse(*state, "1.25,,,,,,,,,,,,,,,,,,,,");
    assert_int_equal(sample.timestamp_ms.v, 1250);
    assert_int_equal(sample.timestamp_secs.v, 1);
    assert_false(sample.memory.present || sample.disk.present || sample.network.present || sample.gpu.present);
    assert_false(sample.cpu.utilization_pct.has || sample.tracked_pid.has);
    sample = parse(*state, "1,,,,,,,,,,,,,,,,,,0.0000,0.0000,0");
    assert_true(sample.gpu.present && sample.gpu.count == 0);
    assert_false(((struct csv_line *)*state)->has_process_memory);
}

static void test_columns_by_name(void **state)
{
    struct csv_line *csv = *state;
    assert_int_equal(
        csv_line_set_header(csv, STR(",\"system_cpu_usage\",colour,timestamp,memory_used_mib,\"a,\"\"b\"\r\n")), 0);
    struct sample sample = parse(csv, "0,\"1.5\",\"red, \"\"dark\"\"\",1700000000.5,200.0,\r\n");
    assert_true(sample.cpu.utilization_pct.v == 1.5);
    assert_int_equal(sample.timestamp_ms.v, 1700000000500);
    assert_true(sample.memory.unavailable_mib.v == 200 && !sample.memory.free_mib.has);
    assert_int_equal(csv->unknown.count, 2);
    assert_string_equal(csv->unknown.names[0], "colour");
    assert_string_equal(csv->unknown.names[1], "a,\"\"b");
    assert_int_equal(csv->mistyped, 0);
}

/* A file of the Python package about processes only is about the tree, not about the host. */
static void test_processes_only(void **state)
{
    struct csv_line *csv = *state;
    static const char header[] =
        "\"timestamp\",\"pid\",\"children\",\"utime\",\"stime\",\"cpu_usage\",\"memory_mib\",\"disk_read_bytes\","
        "\"disk_write_bytes\",\"gpu_usage\",\"gpu_vram_mib\",\"gpu_utilized\"";
    assert_true(csv_line_is_header(str_of(header)));
    assert_int_equal(csv_line_set_header(csv, str_of(header)), 0);
    assert_int_equal(csv->unknown.count, 0);
    struct sample sample = parse(csv, "1794725567.123,4242,\"\",0.5,0.25,0.75,12.3477,4096,0,0.5,100.0,1");
    assert_int_equal(sample.timestamp_ms.v, 1794725567123);
    assert_int_equal(sample.tracked_pid.v, 4242);
    assert_false(sample.cpu.process_child_count.has);
    assert_true(sample.cpu.process_utime_secs.v == 0.5 && sample.cpu.process_stime_secs.v == 0.25);
    assert_true(sample.cpu.process_cores_used.v == 0.75 && sample.cpu.process_pss_mib.v == 12.3477);
    assert_int_equal(sample.cpu.process_disk_read_bytes.v, 4096);
    assert_true(sample.cpu.process_gpu_usage.v == 0.5 && sample.cpu.process_gpu_vram_mib.v == 100);
    assert_false(sample.cpu.utilization_pct.has || sample.cpu.utime_secs.has || sample.memory.present);
    assert_false(sample.disk.present || sample.network.present || sample.gpu.present);
    assert_int_equal(csv->mistyped, 0);
}

static void test_no_headers(void **state)
{
    static const char *const lines[] = {"", "timestamp", "cpu_usage", "timestamp;cpu_usage", "1767225601,1,2,3",
        "timestamp,cpu_usage,timestamp", "timestamp,cpu_usage,system_cpu_usage", "\"timestamp,cpu_usage",
        "\"timestamp\"x,cpu_usage", "Timestamp,cpu_usage", "resource-tracker: warning: timestamp, cpu_usage"};
    struct csv_line *csv = *state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_false(csv_line_is_header(str_of(lines[i])));
        assert_int_equal(csv_line_set_header(csv, str_of(lines[i])), -EBADMSG);
    }
    assert_int_equal(csv->count, 0);
    char many[4 * CSV_LINE_COLUMNS_MAX + 64] = "timestamp,cpu_usage";
    size_t n = strlen(many);
    for (size_t i = 2; i < CSV_LINE_COLUMNS_MAX; i++, n += 2)
        memcpy(many + n, ",x", 3);
    assert_true(csv_line_is_header(str_of(many)));
    memcpy(many + n, ",x", 3);
    assert_false(csv_line_is_header(str_of(many)));
}

static void test_no_rows(void **state)
{
    static const char *const rows[] = {"", "1", "1,2", "1,2,3,4", ",2,3", "x,2,3", "-1,2,3", "1e300,2,3", "\"1,2,3",
        "resource-tracker: warning: 1,2,3", "nan,1,1", "1 2,3,4"};
    assert_int_equal(csv_line_set_header(*state, STR("timestamp,cpu_usage,processes")), 0);
    struct sample sample;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(csv_line_parse(*state, str_of(rows[i]), &sample), -EBADMSG);
    sample = parse(*state, "1,2,3");
    assert_int_equal(sample.cpu.process_count.v, 3);
}

static void test_odd_cells(void **state)
{
    struct csv_line *csv = *state;
    assert_int_equal(csv_line_set_header(csv, STR("timestamp,cpu_usage,processes,gpu_usage,gpu_utilized,gpu_vram")), 0);
    struct sample sample = parse(csv, "1, 2.5 ,88.0,,,");
    assert_true(sample.cpu.utilization_pct.v == 2.5);
    assert_int_equal(sample.cpu.process_count.v, 88);
    assert_int_equal(csv->mistyped, 0);
    sample = parse(csv, "1,NaN,-3,None,x,");
    assert_false(sample.cpu.utilization_pct.has || sample.cpu.process_count.has || sample.gpu.present);
    assert_int_equal(csv->mistyped, 4);
    /* More GPUs than any machine has do not break the bound. */
    sample = parse(csv, "1,0,1,10,1000000,5");
    assert_int_equal(sample.gpu.count, CSV_LINE_GPUS_MAX);
    assert_int_equal(csv->mistyped, 4);
}

/* Below 0, or more than sums can hold. */
static void test_impossible_cells(void **state)
{
    struct csv_line *csv = *state;
    assert_int_equal(csv_line_set_header(csv, STR("timestamp,cpu_usage,processes,gpu_usage,gpu_utilized,gpu_vram,"
                                                  "disk_space_total_gb,memory_used_mib,disk_read_bytes")),
        0);
    struct sample sample = parse(csv, "1,-0.5,1,-10,2,-5,-1,-2,3");
    assert_false(sample.cpu.utilization_pct.has || sample.gpu.present || sample.memory.present);
    assert_false(((const struct sample_disk *)sample.disk.items)->mounts.present);
    assert_int_equal(csv->mistyped, 5);
    sample = parse(csv, "1,1e300,1,1,1,9e13,1e10,900000000000001,18446744073709551615");
    const struct sample_disk *disk = sample.disk.items;
    assert_false(sample.cpu.utilization_pct.has || sample.memory.present || disk->mounts.present);
    assert_false(((const struct sample_gpu *)sample.gpu.items)->vram_used_bytes.has);
    assert_true(disk->read_bytes_delta.v == UINT64_MAX);
    assert_int_equal(csv->mistyped, 9);
    sample = parse(csv, "1,-0.0,1,4e9,64,4000000000,4e9,900000000000000,0");
    assert_true(sample.cpu.utilization_pct.has && sample.memory.unavailable_mib.v == 9e14);
    const struct sample_mount *mount = ((const struct sample_disk *)sample.disk.items)->mounts.items;
    assert_true(mount->total_bytes.v == 4000000000000000000);
    assert_int_equal(sample.gpu.count, 64);
    assert_int_equal(csv->mistyped, 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_full_row),
        TEST(test_round_trips),
        TEST(test_unknown_is_absent),
        TEST(test_columns_by_name),
        TEST(test_processes_only),
        TEST(test_no_headers),
        TEST(test_no_rows),
        TEST(test_odd_cells),
        TEST(test_impossible_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
