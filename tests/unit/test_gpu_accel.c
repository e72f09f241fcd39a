/* SPDX-License-Identifier: Apache-2.0 */
/* NPUs of /sys/class/accel: Intel's with its counter, AMD's, and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "gpu_fixture.h"

extern const struct gpu_vendor gpu_vendor_accel;

#define NPU "0000:00:0b.0"

static void add_ivpu(struct gpu_fixture *fixture)
{
    gpu_fixture_add_card(fixture, "accel0", "intel_vpu", NPU);
    gpu_fixture_write(fixture, NPU, "device", "0x7d1d\n");
    gpu_fixture_write(fixture, NPU, "power/runtime_status", "active\n");
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "1000000\n");
    gpu_fixture_write(fixture, NPU, "npu_memory_utilization", "335872\n");
    gpu_fixture_set_use(fixture, NPU, 0.25, 0.99, 8192);
}

static struct gpu_reading read_after(struct gpu_fixture *fixture, int64_t ns)
{
    assert_int_equal(gpu_fixture_tick(fixture, ns), 0);
    return gpu_fixture_card(fixture, 0)->reading;
}

static void test_none(void **state)
{
    struct gpu_fixture *fixture = *state;
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
    fake_env_mkdir(&fixture->fake, "sys/class/accel");
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
    /* A device without a driver. */
    fake_env_mkdir(&fixture->fake, "sys/class/accel/accel0");
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
}

static void test_ivpu(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_ivpu(fixture);
    gpu_fixture_write(fixture, NPU, "npu_current_frequency_mhz", "1400\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_vendor_accel.clients(fixture->state), GPU_CLIENTS_TREE);
    struct gpu_reading reading = read_after(fixture, NS_PER_SEC);
    const struct gpu_card *card = gpu_fixture_card(fixture, 0);
    assert_string_equal(card->facts.name, "Intel NPU 0x7d1d");
    assert_string_equal(card->facts.device_type, "NPU");
    assert_string_equal(card->facts.uuid, NPU);
    assert_string_equal(gpu_fixture_detail(card, "driver"), "intel_vpu");
    assert_false(reading.utilization_pct.has);
    assert_u64(reading.vram_used_bytes, 335872);
    assert_false(reading.vram_total_bytes.has);
    assert_f64(reading.frequency_mhz, 1400);
    assert_f64(card->use.usage, 0.25);
    assert_u64(card->use.vram_bytes, 8192);
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "1500000\n");
    int open_count = fake_env_open_count();
    assert_f64(read_after(fixture, 2 * NS_PER_SEC).utilization_pct, 25);
    assert_int_equal(fake_env_open_count(), open_count);
}

static void test_ivpu_counter(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_ivpu(fixture);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    (void)read_after(fixture, NS_PER_SEC);
    /* The clocks of the device and the host differ a little. */
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "2010000\n");
    assert_f64(read_after(fixture, NS_PER_SEC).utilization_pct, 100);
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "100\n");
    assert_f64(read_after(fixture, NS_PER_SEC).utilization_pct, 0);
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "oops\n");
    assert_false(read_after(fixture, NS_PER_SEC).utilization_pct.has);
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "500100\n");
    assert_false(read_after(fixture, NS_PER_SEC).utilization_pct.has);
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "1000100\n");
    assert_f64(read_after(fixture, NS_PER_SEC).utilization_pct, 50);
    assert_false(read_after(fixture, 0).utilization_pct.has);
}

static void test_sleep_and_loss(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_ivpu(fixture);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    (void)read_after(fixture, NS_PER_SEC);
    gpu_fixture_write(fixture, NPU, "power/runtime_status", "suspended\n");
    struct gpu_reading asleep = read_after(fixture, NS_PER_SEC);
    assert_f64(asleep.utilization_pct, 0);
    assert_false(asleep.vram_used_bytes.has);
    gpu_fixture_write(fixture, NPU, "power/runtime_status", "active\n");
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "1900000\n");
    assert_false(read_after(fixture, NS_PER_SEC).utilization_pct.has);
    gpu_fixture_write(fixture, NPU, "npu_busy_time_us", "2000000\n");
    assert_f64(read_after(fixture, NS_PER_SEC).utilization_pct, 10);
    fake_env_remove(&fixture->fake, "sys/class/accel/accel0");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), -ENODEV);
}

static void test_other_drivers(void **state)
{
    struct gpu_fixture *fixture = *state;
    gpu_fixture_add_card(fixture, "accel0", "amdxdna", "0000:c5:00.1");
    gpu_fixture_write(fixture, "0000:c5:00.1", "device", "0x1502\n");
    gpu_fixture_add_card(fixture, "accel1", "amdxdna", "0000:c6:00.1");
    gpu_fixture_write(fixture, "0000:c6:00.1", "vbnv", "RyzenAI-npu4\n");
    gpu_fixture_add_card(fixture, "accel2", "habanalabs", "0000:19:00.0");
    gpu_fixture_write(fixture, "0000:19:00.0", "device", "0x1020\n");
    gpu_fixture_set_use(fixture, "0000:19:00.0", 0.0, 0.5, -1);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_vendor_accel.clients(fixture->state), GPU_CLIENTS_ALL);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, 3);
    assert_string_equal(gpu_fixture_card(fixture, 0)->facts.name, "AMD NPU 0x1502");
    assert_string_equal(gpu_fixture_card(fixture, 1)->facts.name, "RyzenAI-npu4");
    assert_string_equal(gpu_fixture_card(fixture, 2)->facts.name, "habanalabs 0x1020");
    assert_string_equal(gpu_fixture_card(fixture, 2)->facts.device_type, "NPU");
    assert_f64(gpu_fixture_card(fixture, 2)->reading.utilization_pct, 50);
    assert_false(gpu_fixture_card(fixture, 0)->reading.utilization_pct.has);
}

static int setup(void **state)
{
    return gpu_fixture_setup(state, &gpu_vendor_accel);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, gpu_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_none),
        TEST(test_ivpu),
        TEST(test_ivpu_counter),
        TEST(test_sleep_and_loss),
        TEST(test_other_drivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
