/* SPDX-License-Identifier: Apache-2.0 */
/* Intel cards under i915 and xe: where each keeps its files, power from energy, reasons to run slower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "gpu_fixture.h"

extern const struct gpu_vendor gpu_vendor_intel;

#define IGPU "0000:00:02.0"
#define DGPU "0000:03:00.0"
#define GT "drm/card0/gt/gt0/"
#define FREQ "tile0/gt0/freq0/"

static void add_integrated(struct gpu_fixture *fixture)
{
    gpu_fixture_add_card(fixture, "card0", "i915", IGPU);
    gpu_fixture_write(fixture, IGPU, "device", "0x46a6\n");
    gpu_fixture_write(fixture, IGPU, "power/runtime_status", "active\n");
    gpu_fixture_write(fixture, IGPU, "drm/card0/gt_act_freq_mhz", "1300\n");
    gpu_fixture_set_use(fixture, IGPU, 0.25, 0.5, 4096);
}

static void add_discrete(struct gpu_fixture *fixture)
{
    gpu_fixture_add_card(fixture, "card1", "xe", DGPU);
    gpu_fixture_write(fixture, DGPU, "device", "0xe20b\n");
    gpu_fixture_write(fixture, DGPU, "power/runtime_status", "active\n");
    gpu_fixture_write(fixture, DGPU, FREQ "act_freq", "2400\n");
    gpu_fixture_write(fixture, DGPU, "tile0/physical_vram_size_bytes", "12884901888\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/name", "xe\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/energy1_input", "1000000\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/temp2_input", "48000\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/temp2_label", "pkg\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/temp3_input", "56000\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/temp3_label", "vram\n");
    gpu_fixture_set_use(fixture, DGPU, 0.0, 0.875, 1048576);
}

static struct gpu_reading read_after(struct gpu_fixture *fixture, size_t index, int64_t ns)
{
    assert_int_equal(gpu_fixture_tick(fixture, ns), 0);
    return gpu_fixture_card(fixture, index)->reading;
}

static void test_no_card(void **state)
{
    struct gpu_fixture *fixture = *state;
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
    gpu_fixture_add_card(fixture, "card0", "amdgpu", DGPU);
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
}

static void test_both_drivers(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_integrated(fixture);
    add_discrete(fixture);
    gpu_fixture_write(fixture, DGPU, "label", "Slot 2\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_vendor_intel.clients(fixture->state), GPU_CLIENTS_ALL);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, 2);
    const struct gpu_card *igpu = gpu_fixture_card(fixture, 0);
    assert_string_equal(igpu->facts.name, "Intel GPU 0x46a6");
    assert_string_equal(igpu->facts.uuid, IGPU);
    assert_string_equal(gpu_fixture_detail(igpu, "driver"), "i915");
    assert_f64(igpu->reading.utilization_pct, 50);
    assert_f64(igpu->reading.frequency_mhz, 1300);
    assert_false(igpu->reading.vram_total_bytes.has);
    assert_false(igpu->reading.vram_used_bytes.has);
    assert_false(igpu->reading.temperature_celsius.has);
    assert_false(igpu->reading.has_reasons);
    assert_f64(igpu->use.usage, 0.25);
    const struct gpu_card *dgpu = gpu_fixture_card(fixture, 1);
    assert_string_equal(dgpu->facts.name, "Slot 2");
    assert_string_equal(dgpu->facts.host_id, DGPU);
    assert_f64(dgpu->reading.utilization_pct, 87.5);
    assert_f64(dgpu->reading.frequency_mhz, 2400);
    assert_f64(dgpu->reading.temperature_celsius, 48);
    assert_u64(dgpu->reading.vram_total_bytes, 12884901888);
    assert_u64(dgpu->reading.vram_used_bytes, 1048576);
    assert_f64(dgpu->use.usage, 0);
}

static void test_power_from_energy(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_false(read_after(fixture, 0, NS_PER_SEC).power_watts.has);
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/energy1_input", "91000000\n");
    assert_f64(read_after(fixture, 0, 2 * NS_PER_SEC).power_watts, 45);
    /* A counter that went backwards gives 0 once. */
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/energy1_input", "1000000\n");
    assert_f64(read_after(fixture, 0, NS_PER_SEC).power_watts, 0);
    /* What was used while it slept belongs to no single interval, but to the run. */
    gpu_fixture_write(fixture, DGPU, "power/runtime_status", "suspended\n");
    struct gpu_reading asleep = read_after(fixture, 0, NS_PER_SEC);
    assert_f64(asleep.utilization_pct, 0);
    assert_false(asleep.power_watts.has);
    assert_false(asleep.frequency_mhz.has);
    gpu_fixture_write(fixture, DGPU, "power/runtime_status", "active\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/energy1_input", "3000000\n");
    assert_false(read_after(fixture, 0, NS_PER_SEC).power_watts.has);
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/energy1_input", "4000000\n");
    assert_int_equal(gpu_fixture_final_tick(fixture, NS_PER_SEC / 4), 0);
    assert_f64(gpu_fixture_card(fixture, 0)->reading.power_watts, 4);
    assert_f64(gpu_fixture_card(fixture, 0)->energy_joules, 93);
}

static void test_power_given(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/power1_input", "77000000\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_f64(read_after(fixture, 0, NS_PER_SEC).power_watts, 77);
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon4/energy1_input", "3000000\n");
    assert_int_equal(gpu_fixture_final_tick(fixture, NS_PER_SEC), 0);
    assert_f64(gpu_fixture_card(fixture, 0)->reading.power_watts, 77);
    assert_f64(gpu_fixture_card(fixture, 0)->energy_joules, 2);
}

/* Energy of the package where the card has none; sensors of the driver and not of one of its parts. */
static void test_other_channels(void **state)
{
    struct gpu_fixture *fixture = *state;
    gpu_fixture_add_card(fixture, "card0", "i915", DGPU);
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon3/name", "i915_gt0\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon3/energy1_input", "7\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon5/name", "i915\n");
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon5/energy2_input", "2000000\n");
    gpu_fixture_write(fixture, DGPU, GT "rps_act_freq_mhz", "950\n");
    gpu_fixture_write(fixture, DGPU, "drm/card0/lmem_total_bytes", "1000\n");
    gpu_fixture_write(fixture, DGPU, "drm/card0/lmem_avail_bytes", "400\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_reading reading = read_after(fixture, 0, NS_PER_SEC);
    assert_f64(reading.frequency_mhz, 950);
    assert_u64(reading.vram_total_bytes, 1000);
    assert_u64(reading.vram_used_bytes, 600);
    gpu_fixture_write(fixture, DGPU, "hwmon/hwmon5/energy2_input", "14000000\n");
    gpu_fixture_write(fixture, DGPU, "drm/card0/lmem_avail_bytes", "1001\n");
    reading = read_after(fixture, 0, NS_PER_SEC);
    assert_f64(reading.power_watts, 12);
    assert_u64(reading.vram_total_bytes, 1000);
    assert_false(reading.vram_used_bytes.has);
}

static void test_tiles(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, DGPU, "tile1/physical_vram_size_bytes", "112\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_u64(read_after(fixture, 0, NS_PER_SEC).vram_total_bytes, 12884902000);
}

static void test_reasons_i915(void **state)
{
    struct gpu_fixture *fixture = *state;
    static const char *const names[] = {"pl1", "pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"};
    add_integrated(fixture);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), GT "throttle_reason_%s", names[i]);
        gpu_fixture_write(fixture, IGPU, path, "0\n");
    }
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_reading reading = read_after(fixture, 0, NS_PER_SEC);
    assert_true(reading.has_reasons);
    assert_int_equal(reading.reason_count, 0);
    gpu_fixture_write(fixture, IGPU, GT "throttle_reason_pl1", "1\n");
    gpu_fixture_write(fixture, IGPU, GT "throttle_reason_thermal", "1\n");
    gpu_fixture_write(fixture, IGPU, GT "throttle_reason_vr_tdc", "1\n");
    gpu_fixture_write(fixture, IGPU, GT "throttle_reason_pl2", "yes\n");
    reading = read_after(fixture, 0, NS_PER_SEC);
    assert_true(reading.has_reasons);
    assert_int_equal(reading.reason_count, 3);
    assert_string_equal(reading.reasons[0], "pl1");
    assert_string_equal(reading.reasons[1], "thermal");
    assert_string_equal(reading.reasons[2], "vr_tdc");
}

static void test_reasons_xe(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, DGPU, FREQ "throttle/status", "0\n");
    gpu_fixture_write(fixture, DGPU, FREQ "throttle/reason_pl4", "1\n");
    gpu_fixture_write(fixture, DGPU, FREQ "throttle/reason_thermal", "0\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_reading reading = read_after(fixture, 0, NS_PER_SEC);
    assert_true(reading.has_reasons);
    assert_int_equal(reading.reason_count, 0);
    gpu_fixture_write(fixture, DGPU, FREQ "throttle/status", "1\n");
    reading = read_after(fixture, 0, NS_PER_SEC);
    assert_int_equal(reading.reason_count, 1);
    assert_string_equal(reading.reasons[0], "pl4");
}

static void test_invalid_and_loss(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_integrated(fixture);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    gpu_fixture_write(fixture, IGPU, "drm/card0/gt_act_freq_mhz", "65535\n");
    gpu_fixture_set_use(fixture, IGPU, 3.5, 1.5, -1);
    struct gpu_reading reading = read_after(fixture, 0, NS_PER_SEC);
    assert_false(reading.frequency_mhz.has);
    assert_f64(reading.utilization_pct, 100);
    int open_count = fake_env_open_count();
    (void)read_after(fixture, 0, NS_PER_SEC);
    assert_int_equal(fake_env_open_count(), open_count);
    fake_env_remove(&fixture->fake, "sys/class/drm/card0");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), -ENODEV);
}

static int setup(void **state)
{
    return gpu_fixture_setup(state, &gpu_vendor_intel);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, gpu_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_card),
        TEST(test_both_drivers),
        TEST(test_power_from_energy),
        TEST(test_power_given),
        TEST(test_other_channels),
        TEST(test_tiles),
        TEST(test_reasons_i915),
        TEST(test_reasons_xe),
        TEST(test_invalid_and_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
