/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/totals.h"

static void test_nothing_known(void **state)
{
    (void)state;
    struct sample_disk disk = {.device = "sda"};
    struct sample sample = {.disk = {true, 1, &disk}, .network = {true, 0, NULL}, .gpu = {false, 3, NULL}};
    struct sample_totals totals = sample_totals_of(&sample, true);
    assert_false(totals.disk_read.bytes.has || totals.disk_read.rate.has || totals.disk_read.unrated_bytes.has);
    assert_false(totals.received.bytes.has || totals.every_sent_bytes.has || totals.space_total_bytes.has);
    assert_false(totals.gpu_usage.has || totals.gpu_utilized.has || totals.vram_used_bytes.has);
}

/* A stacked disk has the bytes of those below it, but filesystems of its own. */
static void test_disks(void **state)
{
    (void)state;
    struct sample_mount mounts[] = {
        {.total_bytes = some_u64(100), .available_bytes = some_u64(40)}, {.total_bytes = some_u64(7)}};
    struct sample_disk disks[] = {
        {.read_bytes_delta = some_u64(10), .read_bytes_per_sec = some_f64(5.25), .mounts = {true, 1, mounts}},
        {.read_bytes_delta = some_u64(3), .write_bytes_delta = some_u64(1), .stacked = some_bool(false)},
        {.read_bytes_delta = some_u64(10), .stacked = some_bool(true), .mounts = {true, 2, mounts}},
    };
    struct sample sample = {.disk = {true, 3, disks}};
    struct sample_totals totals = sample_totals_of(&sample, true);
    assert_int_equal(totals.disk_read.bytes.v, 13);
    assert_int_equal(totals.disk_read.rate.v, 52500);
    assert_int_equal(totals.disk_read.unrated_bytes.v, 3);
    assert_int_equal(totals.disk_write.bytes.v, 1);
    assert_false(totals.disk_write.rate.has);
    assert_int_equal(totals.space_total_bytes.v, 200);
    assert_int_equal(totals.space_free_bytes.v, 80);
}

static void test_interfaces(void **state)
{
    (void)state;
    struct sample_network interfaces[] = {
        {.rx_bytes_delta = some_u64(1), .is_virtual = some_bool(true)},
        {.rx_bytes_delta = some_u64(UINT64_MAX)},
    };
    struct sample sample = {.network = {true, 2, interfaces}};
    struct sample_totals totals = sample_totals_of(&sample, true);
    assert_true(totals.received.bytes.v == UINT64_MAX);
    assert_true(totals.every_received_bytes.v == UINT64_MAX); /* not 0 */
    sample.network.count = 1; /* no hardware: all count */
    totals = sample_totals_of(&sample, true);
    assert_int_equal(totals.received.bytes.v, 1);
}

static void test_gpus(void **state)
{
    (void)state;
    struct sample_gpu gpus[] = {
        {.utilization_pct = some_f64(50), .power_watts = some_f64(100.5), .vram_used_bytes = some_u64(1 << 20)},
        {.utilization_pct = some_f64(0), .vram_total_bytes = some_u64(1 << 30)},
        {.power_watts = some_f64(1)},
    };
    struct sample sample = {.gpu = {true, 3, gpus}};
    struct sample_totals totals = sample_totals_of(&sample, true);
    assert_true(totals.gpu_usage.has && totals.gpu_usage.v == 0.5);
    assert_int_equal(totals.gpu_usage_pct.v, 500000);
    assert_int_equal(totals.gpu_utilized.v, 1);
    assert_int_equal(totals.gpu_power_watts.v, 1015000);
    assert_int_equal(totals.vram_used_bytes.v, 1 << 20);
    assert_int_equal(totals.vram_total_bytes.v, 1 << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_disks),
        cmocka_unit_test(test_interfaces),
        cmocka_unit_test(test_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
