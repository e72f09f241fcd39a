/* SPDX-License-Identifier: Apache-2.0 */
/* AMD cards: facts, readings, sleep, and cards that go away. What KFD reports is in test_gpu_amd_kfd.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "gpu_fixture.h"

extern const struct gpu_vendor gpu_vendor_amd;

#define PDEV "0000:03:00.0"

static void add_discrete(struct gpu_fixture *fixture)
{
    gpu_fixture_add_card(fixture, "card0", "amdgpu", PDEV);
    gpu_fixture_write(fixture, PDEV, "product_name", "\n");
    gpu_fixture_write(fixture, PDEV, "unique_id", "00a1b2c3d4e5f607\n");
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "active\n");
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "37\n");
    gpu_fixture_write(fixture, PDEV, "mem_busy_percent", "12\n");
    gpu_fixture_write(fixture, PDEV, "mem_info_vram_total", "25753026560\n");
    gpu_fixture_write(fixture, PDEV, "mem_info_vram_used", "1073741824\n");
    gpu_fixture_write(fixture, PDEV, "pp_dpm_sclk", "0: 500Mhz \n1: 2482Mhz *\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/name", "amdgpu\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/temp1_input", "46000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/temp1_label", "edge\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/power1_average", "101000000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/freq1_input", "2371000000\n");
}

static struct gpu_reading read_once(struct gpu_fixture *fixture)
{
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    return gpu_fixture_card(fixture, 0)->reading;
}

static void test_no_card(void **state)
{
    struct gpu_fixture *fixture = *state;
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
    gpu_fixture_add_card(fixture, "card0", "i915", "0000:00:02.0");
    gpu_fixture_write(fixture, "0000:00:02.0", "power/runtime_status", "active\n");
    assert_int_equal(gpu_fixture_open(fixture), -ENODATA);
}

static void test_facts(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    fake_env_write(&fixture->fake, "usr/share/libdrm/amdgpu.ids",
        "# AMDGPU ID\n1.0.0\n744C,\tC9,\tanother\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n");
    fake_env_write(&fixture->fake, "opt/rocm/.info/version", "\"6.2.0-66\"\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, 1);
    const struct gpu_card *card = gpu_fixture_card(fixture, 0);
    assert_string_equal(card->facts.uuid, PDEV);
    assert_string_equal(card->facts.host_id, PDEV);
    assert_string_equal(card->facts.name, "AMD Radeon RX 7900 XTX");
    assert_string_equal(card->facts.device_type, "GPU");
    assert_false(card->facts.core_count.has);
    assert_int_equal(card->facts.detail_count, 5);
    assert_string_equal(gpu_fixture_detail(card, "pci_bus"), PDEV);
    assert_string_equal(gpu_fixture_detail(card, "driver"), "amdgpu");
    assert_string_equal(gpu_fixture_detail(card, "unique_id"), "00a1b2c3d4e5f607");
    assert_string_equal(gpu_fixture_detail(card, "rocm_version"), "6.2.0");
}

static void test_names(void **state)
{
    struct gpu_fixture *fixture = *state;
    gpu_fixture_add_card(fixture, "card0", "amdgpu", "0000:03:00.0");
    gpu_fixture_add_card(fixture, "card10", "amdgpu", "10000:c1:00.0");
    gpu_fixture_add_card(fixture, "card2", "amdgpu", "0000:83:00.0");
    gpu_fixture_write(fixture, "0000:83:00.0", "product_name", "AMD Instinct MI210\n");
    gpu_fixture_write(fixture, "10000:c1:00.0", "device", "nonsense\n");
    fake_env_mkdir(&fixture->fake, "sys/class/drm/card0-HDMI-A-1");
    fake_env_mkdir(&fixture->fake, "sys/class/drm/renderD128");
    fake_env_write(&fixture->fake, "sys/class/drm/version", "drm 1.1.0 20060810\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, 3);
    assert_string_equal(gpu_fixture_card(fixture, 0)->facts.name, "AMD GPU 0x744c");
    assert_string_equal(gpu_fixture_card(fixture, 1)->facts.name, "AMD Instinct MI210");
    assert_string_equal(gpu_fixture_card(fixture, 2)->facts.name, "AMD GPU");
    assert_string_equal(gpu_fixture_card(fixture, 2)->facts.uuid, "10000:c1:00.0");
    assert_string_equal(gpu_fixture_detail(gpu_fixture_card(fixture, 2), "pci_bus"), "10000:c1:00.0");
    assert_null(gpu_fixture_detail(gpu_fixture_card(fixture, 0), "unique_id"));
    assert_null(gpu_fixture_detail(gpu_fixture_card(fixture, 0), "rocm_version"));
}

static void test_readings(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_set_use(fixture, PDEV, 0.25, 0.9, 4096);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_vendor_amd.clients(fixture->state), GPU_CLIENTS_TREE);
    struct gpu_reading reading = read_once(fixture);
    assert_f64(reading.utilization_pct, 37);
    assert_f64(reading.memory_utilization_pct, 12);
    assert_u64(reading.vram_total_bytes, 25753026560);
    assert_u64(reading.vram_used_bytes, 1073741824);
    assert_f64(reading.temperature_celsius, 46);
    assert_f64(reading.power_watts, 101);
    assert_f64(reading.frequency_mhz, 2371);
    assert_false(reading.has_reasons);
    assert_f64(gpu_fixture_card(fixture, 0)->use.usage, 0.25);
    assert_u64(gpu_fixture_card(fixture, 0)->use.vram_bytes, 4096);
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "0\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/temp1_input", "-5500\n");
    int open_count = fake_env_open_count();
    reading = read_once(fixture);
    assert_int_equal(fake_env_open_count(), open_count);
    assert_f64(reading.utilization_pct, 0);
    assert_f64(reading.temperature_celsius, -5.5);
}

static void test_invalid_is_absent(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "65535\n");
    gpu_fixture_write(fixture, PDEV, "mem_busy_percent", "101\n");
    gpu_fixture_write(fixture, PDEV, "mem_info_vram_total", "12x\n");
    gpu_fixture_write(fixture, PDEV, "mem_info_vram_used", "-1\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/temp1_input", "65535000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/power1_average", "65535000000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/freq1_input", "65535000000\n");
    gpu_fixture_write(fixture, PDEV, "pp_dpm_sclk", "0: 65535Mhz *\n");
    struct gpu_reading reading = read_once(fixture);
    assert_false(reading.utilization_pct.has);
    assert_false(reading.memory_utilization_pct.has);
    assert_false(reading.vram_total_bytes.has);
    assert_false(reading.vram_used_bytes.has);
    assert_false(reading.temperature_celsius.has);
    assert_false(reading.power_watts.has);
    assert_false(reading.frequency_mhz.has);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/temp1_input", "-61000\n");
    gpu_fixture_write(fixture, PDEV, "mem_info_vram_total", "100\n");
    gpu_fixture_write(fixture, PDEV, "mem_info_vram_used", "101\n");
    reading = read_once(fixture);
    assert_false(reading.temperature_celsius.has);
    assert_u64(reading.vram_total_bytes, 100);
    assert_false(reading.vram_used_bytes.has);
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "100\n");
    assert_f64(read_once(fixture).utilization_pct, 100);
}

/* An APU: another power file, clock levels instead of a clock, no temp1. */
static void test_fallbacks(void **state)
{
    struct gpu_fixture *fixture = *state;
    gpu_fixture_add_card(fixture, "card1", "amdgpu", PDEV);
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "5\n");
    gpu_fixture_write(fixture, PDEV, "pp_dpm_sclk", "0: 200Mhz \n1: 1100Mhz *\n2: 2000Mhz \n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon10/name", "other\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon10/temp1_input", "1000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon11/name", "amdgpu\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon11/temp2_input", "61000\n");
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon11/power1_input", "15500000\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_reading reading = read_once(fixture);
    assert_f64(reading.frequency_mhz, 1100);
    assert_f64(reading.power_watts, 15.5);
    assert_f64(reading.temperature_celsius, 61);
    assert_false(reading.vram_total_bytes.has);
    assert_false(reading.memory_utilization_pct.has);
}

static void test_busy_from_clients(void **state)
{
    struct gpu_fixture *fixture = *state;
    gpu_fixture_add_card(fixture, "card0", "amdgpu", PDEV);
    gpu_fixture_set_use(fixture, PDEV, 0.5, 0.75, -1);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_vendor_amd.clients(fixture->state), GPU_CLIENTS_ALL);
    assert_f64(read_once(fixture).utilization_pct, 75);
    gpu_fixture_set_use(fixture, PDEV, -1, -1, -1);
    assert_false(read_once(fixture).utilization_pct.has);
    assert_false(gpu_fixture_card(fixture, 0)->use.usage.has);
}

static void test_sleep(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "suspended\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    struct gpu_reading reading = read_once(fixture);
    assert_f64(reading.utilization_pct, 0);
    assert_false(reading.temperature_celsius.has);
    assert_false(reading.vram_total_bytes.has);
    assert_false(reading.power_watts.has);
    assert_false(reading.frequency_mhz.has);
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "active\n");
    assert_f64(read_once(fixture).temperature_celsius, 46);
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "suspending\n");
    assert_false(read_once(fixture).temperature_celsius.has);
    gpu_fixture_write(fixture, PDEV, "power/runtime_status", "unsupported\n");
    assert_f64(read_once(fixture).utilization_pct, 37);
}

static void test_energy(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "5000000\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_false(gpu_fixture_card(fixture, 0)->energy_joules.has);
    /* Not asked for in between: a counter that jumps there leaves no trace. */
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "1\n");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_false(gpu_fixture_card(fixture, 0)->energy_joules.has);
    assert_f64(gpu_fixture_card(fixture, 0)->reading.power_watts, 101);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "7250000\n");
    assert_int_equal(gpu_fixture_final_tick(fixture, NS_PER_SEC), 0);
    assert_f64(gpu_fixture_card(fixture, 0)->energy_joules, 2.25);
}

/* While the command starts, nothing is asked for but where the energy begins. */
static void test_baseline(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "5000000\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_baseline(fixture), 0);
    const struct gpu_reading *reading = &gpu_fixture_card(fixture, 0)->reading;
    assert_false(reading->utilization_pct.has);
    assert_false(reading->memory_utilization_pct.has);
    assert_false(reading->vram_total_bytes.has);
    assert_false(reading->vram_used_bytes.has);
    assert_false(reading->temperature_celsius.has);
    assert_false(reading->power_watts.has);
    assert_false(reading->frequency_mhz.has);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "6000000\n");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_f64(gpu_fixture_card(fixture, 0)->reading.utilization_pct, 37);
    assert_f64(gpu_fixture_card(fixture, 0)->reading.temperature_celsius, 46);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "7250000\n");
    assert_int_equal(gpu_fixture_final_tick(fixture, NS_PER_SEC), 0);
    assert_f64(gpu_fixture_card(fixture, 0)->energy_joules, 2.25);
}

static void test_energy_unknown_at_the_end(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "5000000\n");
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    gpu_fixture_write(fixture, PDEV, "hwmon/hwmon2/energy1_input", "broken\n");
    assert_int_equal(gpu_fixture_final_tick(fixture, NS_PER_SEC), 0);
    assert_false(gpu_fixture_card(fixture, 0)->energy_joules.has);
}

static void test_gone(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    gpu_fixture_add_card(fixture, "card1", "amdgpu", "0000:83:00.0");
    gpu_fixture_write(fixture, "0000:83:00.0", "gpu_busy_percent", "9\n");
    gpu_fixture_set_use(fixture, PDEV, 0.25, 0.9, 4096);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    fake_env_remove(&fixture->fake, "sys/class/drm/card0");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), 0);
    assert_int_equal(fixture->list.count, 2);
    assert_false(gpu_fixture_card(fixture, 0)->reading.utilization_pct.has);
    assert_false(gpu_fixture_card(fixture, 0)->reading.vram_total_bytes.has);
    assert_f64(gpu_fixture_card(fixture, 0)->use.usage, 0);
    assert_f64(gpu_fixture_card(fixture, 1)->reading.utilization_pct, 9);
    fake_env_remove(&fixture->fake, "sys/class/drm/card1");
    assert_int_equal(gpu_fixture_tick(fixture, NS_PER_SEC), -ENODEV);
}

/* Descriptors that fail are opened again; what cannot be is absent until it can. */
static void test_stale_descriptor(void **state)
{
    struct gpu_fixture *fixture = *state;
    add_discrete(fixture);
    assert_int_equal(gpu_fixture_open(fixture), 0);
    assert_f64(read_once(fixture).utilization_pct, 37);
    fake_env_break(&fixture->fake, "sys/devices/pci0000:00/" PDEV "/gpu_busy_percent");
    assert_f64(read_once(fixture).utilization_pct, 37);
    fake_env_break(&fixture->fake, "sys/devices/pci0000:00/" PDEV "/gpu_busy_percent");
    gpu_fixture_remove(fixture, PDEV, "gpu_busy_percent");
    assert_false(read_once(fixture).utilization_pct.has);
    gpu_fixture_write(fixture, PDEV, "gpu_busy_percent", "38\n");
    assert_f64(read_once(fixture).utilization_pct, 38);
}

static int setup(void **state)
{
    return gpu_fixture_setup(state, &gpu_vendor_amd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, gpu_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_card),
        TEST(test_facts),
        TEST(test_names),
        TEST(test_readings),
        TEST(test_invalid_is_absent),
        TEST(test_fallbacks),
        TEST(test_busy_from_clients),
        TEST(test_sleep),
        TEST(test_energy),
        TEST(test_baseline),
        TEST(test_energy_unknown_at_the_end),
        TEST(test_gone),
        TEST(test_stale_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
