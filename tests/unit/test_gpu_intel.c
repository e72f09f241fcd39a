/* SPDX-License-Identifier: Apache-2.0 */
/* Intel cards under i915 and xe: where each keeps its files, power from energy, reasons to run slower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "gpu_world.h"

extern const struct gpu_vendor gpu_vendor_intel;

#define IGPU "0000:00:02.0"
#define DGPU "0000:03:00.0"
#define GT "drm/card0/gt/gt0/"
#define FREQ "tile0/gt0/freq0/"

static void add_integrated(struct gpu_world *world)
{
    gpu_world_add_card(world, "card0", "i915", IGPU);
    gpu_world_write(world, IGPU, "device", "0x46a6\n");
    gpu_world_write(world, IGPU, "power/runtime_status", "active\n");
    gpu_world_write(world, IGPU, "drm/card0/gt_act_freq_mhz", "1300\n");
    gpu_world_set_use(world, IGPU, 0.25, 0.5, 4096);
}

static void add_discrete(struct gpu_world *world)
{
    gpu_world_add_card(world, "card1", "xe", DGPU);
    gpu_world_write(world, DGPU, "device", "0xe20b\n");
    gpu_world_write(world, DGPU, "power/runtime_status", "active\n");
    gpu_world_write(world, DGPU, FREQ "act_freq", "2400\n");
    gpu_world_write(world, DGPU, "tile0/physical_vram_size_bytes", "12884901888\n");
    gpu_world_write(world, DGPU, "hwmon/hwmon4/name", "xe\n");
    gpu_world_write(world, DGPU, "hwmon/hwmon4/energy1_input", "1000000\n");
    gpu_world_write(world, DGPU, "hwmon/hwmon4/temp2_input", "48000\n");
    gpu_world_write(world, DGPU, "hwmon/hwmon4/temp2_label", "pkg\n");
    gpu_world_write(world, DGPU, "hwmon/hwmon4/temp3_input", "56000\n");
    gpu_world_write(world, DGPU, "hwmon/hwmon4/temp3_label", "vram\n");
    gpu_world_set_use(world, DGPU, 0.0, 0.875, 1048576);
}

static struct gpu_reading read_after(struct gpu_world *world, size_t index, int64_t ns)
{
    assert_int_equal(gpu_world_turn(world, ns), 0);
    return gpu_world_card(world, index)->reading;
}

static void test_no_card(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    assert_int_equal(gpu_world_open(&world), -ENODATA);
    gpu_world_add_card(&world, "card0", "amdgpu", DGPU);
    assert_int_equal(gpu_world_open(&world), -ENODATA);
    gpu_world_fini(&world);
}

static void test_both_drivers(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_integrated(&world);
    add_discrete(&world);
    gpu_world_write(&world, DGPU, "label", "Slot 2\n");
    assert_int_equal(gpu_world_open(&world), 0);
    assert_int_equal(gpu_vendor_intel.clients(world.state), GPU_CLIENTS_ALL);
    assert_int_equal(gpu_world_turn(&world, NS_PER_SEC), 0);
    assert_int_equal(world.list.count, 2);
    const struct gpu_card *igpu = gpu_world_card(&world, 0);
    assert_string_equal(igpu->facts.name, "Intel GPU 0x46a6");
    assert_string_equal(igpu->facts.uuid, IGPU);
    assert_string_equal(gpu_world_detail(igpu, "driver"), "i915");
    assert_f64(igpu->reading.utilization_pct, 50);
    assert_f64(igpu->reading.frequency_mhz, 1300);
    assert_false(igpu->reading.vram_total_bytes.has);
    assert_false(igpu->reading.vram_used_bytes.has);
    assert_false(igpu->reading.temperature_celsius.has);
    assert_false(igpu->reading.has_reasons);
    assert_f64(igpu->use.usage, 0.25);
    const struct gpu_card *dgpu = gpu_world_card(&world, 1);
    assert_string_equal(dgpu->facts.name, "Slot 2");
    assert_string_equal(dgpu->facts.host_id, DGPU);
    assert_f64(dgpu->reading.utilization_pct, 87.5);
    assert_f64(dgpu->reading.frequency_mhz, 2400);
    assert_f64(dgpu->reading.temperature_celsius, 48);
    assert_u64(dgpu->reading.vram_total_bytes, 12884901888);
    assert_u64(dgpu->reading.vram_used_bytes, 1048576);
    assert_f64(dgpu->use.usage, 0);
    gpu_world_fini(&world);
}

static void test_power_from_energy(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_discrete(&world);
    assert_int_equal(gpu_world_open(&world), 0);
    assert_false(read_after(&world, 0, NS_PER_SEC).power_watts.has);
    gpu_world_write(&world, DGPU, "hwmon/hwmon4/energy1_input", "91000000\n");
    assert_f64(read_after(&world, 0, 2 * NS_PER_SEC).power_watts, 45);
    /* A counter that went backwards gives 0 once. */
    gpu_world_write(&world, DGPU, "hwmon/hwmon4/energy1_input", "1000000\n");
    assert_f64(read_after(&world, 0, NS_PER_SEC).power_watts, 0);
    /* What was used while it slept belongs to no single interval, but to the run. */
    gpu_world_write(&world, DGPU, "power/runtime_status", "suspended\n");
    struct gpu_reading asleep = read_after(&world, 0, NS_PER_SEC);
    assert_f64(asleep.utilization_pct, 0);
    assert_false(asleep.power_watts.has);
    assert_false(asleep.frequency_mhz.has);
    gpu_world_write(&world, DGPU, "power/runtime_status", "active\n");
    gpu_world_write(&world, DGPU, "hwmon/hwmon4/energy1_input", "3000000\n");
    assert_false(read_after(&world, 0, NS_PER_SEC).power_watts.has);
    gpu_world_write(&world, DGPU, "hwmon/hwmon4/energy1_input", "4000000\n");
    assert_int_equal(gpu_world_final_turn(&world, NS_PER_SEC / 4), 0);
    assert_f64(gpu_world_card(&world, 0)->reading.power_watts, 4);
    assert_f64(gpu_world_card(&world, 0)->energy_joules, 93);
    gpu_world_fini(&world);
}

static void test_power_given(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_discrete(&world);
    gpu_world_write(&world, DGPU, "hwmon/hwmon4/power1_input", "77000000\n");
    assert_int_equal(gpu_world_open(&world), 0);
    assert_f64(read_after(&world, 0, NS_PER_SEC).power_watts, 77);
    gpu_world_write(&world, DGPU, "hwmon/hwmon4/energy1_input", "3000000\n");
    assert_int_equal(gpu_world_final_turn(&world, NS_PER_SEC), 0);
    assert_f64(gpu_world_card(&world, 0)->reading.power_watts, 77);
    assert_f64(gpu_world_card(&world, 0)->energy_joules, 2);
    gpu_world_fini(&world);
}

/* Energy of the package where the card has none; sensors of the driver and not of one of its parts. */
static void test_other_channels(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    gpu_world_add_card(&world, "card0", "i915", DGPU);
    gpu_world_write(&world, DGPU, "hwmon/hwmon3/name", "i915_gt0\n");
    gpu_world_write(&world, DGPU, "hwmon/hwmon3/energy1_input", "7\n");
    gpu_world_write(&world, DGPU, "hwmon/hwmon5/name", "i915\n");
    gpu_world_write(&world, DGPU, "hwmon/hwmon5/energy2_input", "2000000\n");
    gpu_world_write(&world, DGPU, GT "rps_act_freq_mhz", "950\n");
    gpu_world_write(&world, DGPU, "drm/card0/lmem_total_bytes", "1000\n");
    gpu_world_write(&world, DGPU, "drm/card0/lmem_avail_bytes", "400\n");
    assert_int_equal(gpu_world_open(&world), 0);
    struct gpu_reading reading = read_after(&world, 0, NS_PER_SEC);
    assert_f64(reading.frequency_mhz, 950);
    assert_u64(reading.vram_total_bytes, 1000);
    assert_u64(reading.vram_used_bytes, 600);
    gpu_world_write(&world, DGPU, "hwmon/hwmon5/energy2_input", "14000000\n");
    gpu_world_write(&world, DGPU, "drm/card0/lmem_avail_bytes", "1001\n");
    reading = read_after(&world, 0, NS_PER_SEC);
    assert_f64(reading.power_watts, 12);
    assert_u64(reading.vram_total_bytes, 1000);
    assert_false(reading.vram_used_bytes.has);
    gpu_world_fini(&world);
}

static void test_tiles(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_discrete(&world);
    gpu_world_write(&world, DGPU, "tile1/physical_vram_size_bytes", "112\n");
    assert_int_equal(gpu_world_open(&world), 0);
    assert_u64(read_after(&world, 0, NS_PER_SEC).vram_total_bytes, 12884902000);
    gpu_world_fini(&world);
}

static void test_reasons_i915(void **state)
{
    (void)state;
    static const char *const names[] = {"pl1", "pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"};
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_integrated(&world);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), GT "throttle_reason_%s", names[i]);
        gpu_world_write(&world, IGPU, path, "0\n");
    }
    assert_int_equal(gpu_world_open(&world), 0);
    struct gpu_reading reading = read_after(&world, 0, NS_PER_SEC);
    assert_true(reading.has_reasons);
    assert_int_equal(reading.reason_count, 0);
    gpu_world_write(&world, IGPU, GT "throttle_reason_pl1", "1\n");
    gpu_world_write(&world, IGPU, GT "throttle_reason_thermal", "1\n");
    gpu_world_write(&world, IGPU, GT "throttle_reason_vr_tdc", "1\n");
    gpu_world_write(&world, IGPU, GT "throttle_reason_pl2", "yes\n");
    reading = read_after(&world, 0, NS_PER_SEC);
    assert_true(reading.has_reasons);
    assert_int_equal(reading.reason_count, 3);
    assert_string_equal(reading.reasons[0], "pl1");
    assert_string_equal(reading.reasons[1], "thermal");
    assert_string_equal(reading.reasons[2], "vr_tdc");
    gpu_world_fini(&world);
}

static void test_reasons_xe(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_discrete(&world);
    gpu_world_write(&world, DGPU, FREQ "throttle/status", "0\n");
    gpu_world_write(&world, DGPU, FREQ "throttle/reason_pl4", "1\n");
    gpu_world_write(&world, DGPU, FREQ "throttle/reason_thermal", "0\n");
    assert_int_equal(gpu_world_open(&world), 0);
    struct gpu_reading reading = read_after(&world, 0, NS_PER_SEC);
    assert_true(reading.has_reasons);
    assert_int_equal(reading.reason_count, 0);
    gpu_world_write(&world, DGPU, FREQ "throttle/status", "1\n");
    reading = read_after(&world, 0, NS_PER_SEC);
    assert_int_equal(reading.reason_count, 1);
    assert_string_equal(reading.reasons[0], "pl4");
    gpu_world_fini(&world);
}

static void test_nonsense_and_loss(void **state)
{
    (void)state;
    struct gpu_world world;
    gpu_world_init(&world, &gpu_vendor_intel);
    add_integrated(&world);
    assert_int_equal(gpu_world_open(&world), 0);
    gpu_world_write(&world, IGPU, "drm/card0/gt_act_freq_mhz", "65535\n");
    gpu_world_set_use(&world, IGPU, 3.5, 1.5, -1);
    struct gpu_reading reading = read_after(&world, 0, NS_PER_SEC);
    assert_false(reading.frequency_mhz.has);
    assert_f64(reading.utilization_pct, 100);
    int open_count = fake_env_open_count();
    (void)read_after(&world, 0, NS_PER_SEC);
    assert_int_equal(fake_env_open_count(), open_count);
    fake_env_remove(&world.fake, "sys/class/drm/card0");
    assert_int_equal(gpu_world_turn(&world, NS_PER_SEC), -ENODEV);
    gpu_world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_card),
        cmocka_unit_test(test_both_drivers),
        cmocka_unit_test(test_power_from_energy),
        cmocka_unit_test(test_power_given),
        cmocka_unit_test(test_other_channels),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_reasons_i915),
        cmocka_unit_test(test_reasons_xe),
        cmocka_unit_test(test_nonsense_and_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
