/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the NVIDIA helper: there and back, and everything that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "collect/gpu/nvidia/wire.h"

static struct nvml_wire_message message;

static void begin(enum nvml_wire_kind kind)
{
    memset(&message, 0, sizeof(message));
    message.kind = kind;
    message.card_count = 1;
}

static int check(void)
{
    return nvml_wire_check(&message, nvml_wire_bytes(&message));
}

static void test_facts_there_and_back(void **state)
{
    (void)state;
    struct nvml_facts facts = {.uuid = "GPU-1",
        .name = "NVIDIA H200",
        .pci_bus = "0000:00:06.0",
        .driver_version = "580.159.04",
        .cuda_version = "13.0",
        .index = some_u64(3),
        .core_count = some_u64(16896)};
    begin(NVML_WIRE_FACTS);
    nvml_wire_put_facts(&facts, &message);
    assert_int_equal(check(), 0);
    struct gpu_facts back;
    nvml_wire_get_facts(&message, &back);
    assert_string_equal(back.uuid, "GPU-1");
    assert_string_equal(back.name, "NVIDIA H200");
    assert_string_equal(back.host_id, "3");
    assert_string_equal(back.device_type, "GPU");
    assert_true(back.core_count.has && back.core_count.v == 16896);
    assert_int_equal(back.detail_count, 5);
    assert_string_equal(back.details[0].key, "pci_bus");
    assert_string_equal(back.details[0].value, "0000:00:06.0");
    assert_string_equal(back.details[1].key, "pci_bus_id");
    assert_string_equal(back.details[1].value, "0000:00:06.0");
    assert_string_equal(back.details[3].value, "580.159.04");
}

static void test_facts_of_an_instance(void **state)
{
    (void)state;
    struct nvml_facts facts = {.uuid = "MIG-1", .parent_uuid = "GPU-1"};
    begin(NVML_WIRE_FACTS);
    nvml_wire_put_facts(&facts, &message);
    struct gpu_facts back;
    nvml_wire_get_facts(&message, &back);
    assert_string_equal(back.device_type, "MIG");
    assert_string_equal(back.host_id, "");
    assert_false(back.core_count.has);
    assert_int_equal(back.detail_count, 2);
    assert_string_equal(back.details[1].key, "parent_uuid");
}

static void test_texts_are_made_to_end(void **state)
{
    (void)state;
    begin(NVML_WIRE_FACTS);
    memset(message.facts.uuid, 'x', sizeof(message.facts.uuid));
    assert_int_equal(check(), 0);
    assert_int_equal(strlen(message.facts.uuid), NVML_TEXT_BYTES - 1);
    begin(NVML_WIRE_FAILED);
    memset(message.failed.text, 'x', sizeof(message.failed.text));
    assert_int_equal(check(), 0);
    assert_int_equal(strlen(message.failed.text), sizeof(message.failed.text) - 1);
}

static void test_reading_there_and_back(void **state)
{
    (void)state;
    struct nvml_reading reading = {.utilization_pct = some_f64(97),
        .vram_total_bytes = some_u64(UINT64_C(150754820096)),
        .vram_used_bytes = some_u64(0),
        .power_watts = some_f64(688.25),
        .throttle_mask = some_u64(1U << 2 | 1U << 0 | 1U << 6)};
    begin(NVML_WIRE_READING);
    nvml_wire_put_reading(&reading, &message.reading);
    assert_int_equal(check(), 0);
    struct gpu_reading back;
    nvml_wire_get_reading(&message.reading, &back);
    assert_true(back.utilization_pct.has && back.utilization_pct.v == 97);
    assert_true(back.vram_total_bytes.has && back.vram_total_bytes.v == UINT64_C(150754820096));
    assert_true(back.vram_used_bytes.has && back.vram_used_bytes.v == 0);
    assert_true(back.power_watts.has && back.power_watts.v == 688.25);
    assert_false(back.temperature_celsius.has || back.frequency_mhz.has || back.memory_utilization_pct.has);
    assert_true(back.has_reasons);
    assert_int_equal(back.reason_count, 2); /* idle is no reason to worry */
    assert_string_equal(back.reasons[0], "sw_power_cap");
    assert_string_equal(back.reasons[1], "hw_thermal_slowdown");
}

static void test_unknown_mask(void **state)
{
    (void)state;
    struct nvml_reading reading = {0};
    begin(NVML_WIRE_READING);
    nvml_wire_put_reading(&reading, &message.reading);
    struct gpu_reading back;
    nvml_wire_get_reading(&message.reading, &back);
    assert_false(back.has_reasons);
}

/* What is out of all sense does not even travel. */
static void test_invalid_is_not_sent(void **state)
{
    (void)state;
    struct nvml_reading reading = {.utilization_pct = some_f64(101),
        .power_watts = some_f64((double)NAN),
        .vram_total_bytes = some_u64(UINT64_MAX),
        .frequency_mhz = some_f64(-1)};
    begin(NVML_WIRE_READING);
    nvml_wire_put_reading(&reading, &message.reading);
    assert_int_equal(message.reading.known, 0);
}

static void begin_reading(uint32_t processes)
{
    begin(NVML_WIRE_READING);
    message.reading.process_count = processes;
}

static void test_spoilt_readings(void **state)
{
    (void)state;
    begin_reading(2);
    assert_int_equal(check(), 0);
    assert_int_equal(nvml_wire_check(&message, nvml_wire_bytes(&message) - 1), -EBADMSG);
    assert_int_equal(nvml_wire_check(&message, nvml_wire_bytes(&message) + 1), -EBADMSG);
    message.reading.processes[1].usage = 1.5;
    assert_int_equal(check(), -EBADMSG);
    begin_reading(1);
    message.reading.processes[0].vram_bytes = (double)NAN;
    assert_int_equal(check(), -EBADMSG);
    begin_reading(NVML_PROCESSES_MAX);
    assert_int_equal(check(), 0);
    message.reading.process_count = UINT32_MAX;
    assert_int_equal(nvml_wire_check(&message, sizeof(message)), -EBADMSG);
    begin_reading(0);
    message.reading.known = 1U << NVML_WIRE_POWER_WATTS;
    message.reading.values[NVML_WIRE_POWER_WATTS] = (double)INFINITY;
    assert_int_equal(check(), -EBADMSG);
    message.reading.values[NVML_WIRE_POWER_WATTS] = -1;
    assert_int_equal(check(), -EBADMSG);
    message.reading.known = 0;
    assert_int_equal(check(), 0);
}

static void test_spoilt_heads(void **state)
{
    (void)state;
    begin(NVML_WIRE_DONE);
    assert_int_equal(check(), 0);
    assert_int_equal(nvml_wire_check(&message, 0), -EBADMSG);
    assert_int_equal(nvml_wire_check(&message, 4), -EBADMSG);
    message.kind = 77;
    assert_int_equal(nvml_wire_check(&message, 16), -EBADMSG);
    assert_int_equal(nvml_wire_check(&message, sizeof(message)), -EBADMSG);
    begin(NVML_WIRE_FACTS);
    message.card = 1;
    assert_int_equal(check(), -EBADMSG);
    message.card = 0;
    message.card_count = NVML_CARDS_MAX + 1;
    assert_int_equal(check(), -EBADMSG);
    begin(NVML_WIRE_ENERGY);
    message.energy_joules = 12.5;
    assert_int_equal(check(), 0);
    message.energy_joules = (double)NAN;
    assert_int_equal(check(), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_there_and_back),
        cmocka_unit_test(test_facts_of_an_instance),
        cmocka_unit_test(test_texts_are_made_to_end),
        cmocka_unit_test(test_reading_there_and_back),
        cmocka_unit_test(test_unknown_mask),
        cmocka_unit_test(test_invalid_is_not_sent),
        cmocka_unit_test(test_spoilt_readings),
        cmocka_unit_test(test_spoilt_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
