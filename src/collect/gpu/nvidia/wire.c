/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvidia/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define BYTES_UP_TO(member)                                                                                            \
    (offsetof(struct nvml_wire_message, member) + sizeof(((struct nvml_wire_message *)0)->member))

static const double most[NVML_WIRE_VALUES] = {
    [NVML_WIRE_UTILIZATION_PCT] = 100,
    [NVML_WIRE_MEMORY_UTILIZATION_PCT] = 100,
    [NVML_WIRE_VRAM_TOTAL_BYTES] = 9e15,
    [NVML_WIRE_VRAM_USED_BYTES] = 9e15,
    [NVML_WIRE_TEMPERATURE_CELSIUS] = 1000,
    [NVML_WIRE_POWER_WATTS] = 1e6,
    [NVML_WIRE_FREQUENCY_MHZ] = 1e6,
    [NVML_WIRE_THROTTLE_MASK] = 9e15,
};

static size_t reading_bytes(uint32_t processes)
{
    return offsetof(struct nvml_wire_message, reading.processes) + processes * sizeof(struct nvml_wire_process);
}

size_t nvml_wire_bytes(const struct nvml_wire_message *message)
{
    switch ((enum nvml_wire_kind)message->kind) {
    case NVML_WIRE_FAILED:
        return BYTES_UP_TO(failed);
    case NVML_WIRE_FACTS:
        return BYTES_UP_TO(facts);
    case NVML_WIRE_READING:
        return reading_bytes(message->reading.process_count);
    case NVML_WIRE_DONE:
        return BYTES_UP_TO(done);
    case NVML_WIRE_ENERGY:
        return BYTES_UP_TO(energy_joules);
    }
    return 0;
}

/* False for NaN as well. */
static bool is_within(double value, double least, double top)
{
    return value >= least && value <= top;
}

static bool is_good_done(const struct nvml_wire_message *message)
{
    return message->done.read_ns >= 0 && message->done.cpu_ns <= INT64_MAX / 2 && message->done.rss_bytes <= INT64_MAX;
}

static bool is_good_reading(const struct nvml_wire_reading *reading)
{
    for (size_t i = 0; i < NVML_WIRE_VALUES; i++) {
        if ((reading->known >> i & 1) && !is_within(reading->values[i], 0, most[i]))
            return false;
    }
    for (size_t i = 0; i < reading->process_count; i++) {
        const struct nvml_wire_process *process = &reading->processes[i];
        if (!is_within(process->vram_bytes, 0, 9e15) || !is_within(process->usage, 0, 1))
            return false;
    }
    return true;
}

static void end_facts(struct nvml_wire_message *message)
{
    char *const texts[] = {message->facts.uuid, message->facts.name, message->facts.pci_bus,
        message->facts.driver_version, message->facts.cuda_version, message->facts.parent_uuid};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        texts[i][NVML_TEXT_BYTES - 1] = '\0';
}

int nvml_wire_check(struct nvml_wire_message *message, size_t n)
{
    if (n < offsetof(struct nvml_wire_message, failed) || message->card_count > NVML_CARDS_MAX)
        return -EBADMSG;
    bool names_card = message->kind != NVML_WIRE_FAILED && message->kind != NVML_WIRE_DONE;
    if (names_card && message->card >= message->card_count)
        return -EBADMSG;
    bool is_reading = message->kind == NVML_WIRE_READING;
    if (is_reading && (n < reading_bytes(0) || message->reading.process_count > NVML_PROCESSES_MAX))
        return -EBADMSG;
    if (n != nvml_wire_bytes(message) || (is_reading && !is_good_reading(&message->reading)))
        return -EBADMSG;
    if (message->kind == NVML_WIRE_ENERGY && !is_within(message->energy_joules, 0, 9e15))
        return -EBADMSG;
    if (message->kind == NVML_WIRE_DONE && !is_good_done(message))
        return -EBADMSG;
    if (message->kind == NVML_WIRE_FACTS)
        end_facts(message);
    if (message->kind == NVML_WIRE_FAILED)
        message->failed.text[sizeof(message->failed.text) - 1] = '\0';
    return 0;
}

static int64_t number_or_none(struct opt_u64 value)
{
    return value.has && value.v <= INT64_MAX ? (int64_t)value.v : -1;
}

void nvml_wire_put_facts(const struct nvml_facts *facts, struct nvml_wire_message *message)
{
    message->kind = NVML_WIRE_FACTS;
    memcpy(message->facts.uuid, facts->uuid, NVML_TEXT_BYTES);
    memcpy(message->facts.name, facts->name, NVML_TEXT_BYTES);
    memcpy(message->facts.pci_bus, facts->pci_bus, NVML_TEXT_BYTES);
    memcpy(message->facts.driver_version, facts->driver_version, NVML_TEXT_BYTES);
    memcpy(message->facts.cuda_version, facts->cuda_version, NVML_TEXT_BYTES);
    memcpy(message->facts.parent_uuid, facts->parent_uuid, NVML_TEXT_BYTES);
    message->facts.index = number_or_none(facts->index);
    message->facts.core_count = number_or_none(facts->core_count);
}

void nvml_wire_get_facts(const struct nvml_wire_message *message, struct gpu_facts *ret_facts)
{
    *ret_facts = (struct gpu_facts){.device_type = message->facts.parent_uuid[0] ? "MIG" : "GPU"};
    (void)str_copy(str_of(message->facts.uuid), ret_facts->uuid, sizeof(ret_facts->uuid));
    (void)str_copy(str_of(message->facts.name), ret_facts->name, sizeof(ret_facts->name));
    if (message->facts.index >= 0)
        (void)snprintf(ret_facts->host_id, sizeof(ret_facts->host_id), "%lld", (long long)message->facts.index);
    if (message->facts.core_count > 0)
        ret_facts->core_count = some_u64((uint64_t)message->facts.core_count);
    gpu_add_detail(ret_facts, "pci_bus", message->facts.pci_bus);
    gpu_add_detail(ret_facts, "pci_bus_id", message->facts.pci_bus);
    gpu_add_detail(ret_facts, "driver", "nvidia");
    gpu_add_detail(ret_facts, "driver_version", message->facts.driver_version);
    gpu_add_detail(ret_facts, "cuda_version", message->facts.cuda_version);
    gpu_add_detail(ret_facts, "parent_uuid", message->facts.parent_uuid);
}

static void put_f64(struct nvml_wire_reading *wire, enum nvml_wire_value slot, struct opt_f64 value)
{
    if (!value.has || !is_within(value.v, 0, most[slot]))
        return;
    wire->values[slot] = value.v;
    wire->known |= 1U << slot;
}

static void put_u64(struct nvml_wire_reading *wire, enum nvml_wire_value slot, struct opt_u64 value)
{
    put_f64(wire, slot, opt_scaled(value, 1));
}

void nvml_wire_put_reading(const struct nvml_reading *reading, struct nvml_wire_reading *wire)
{
    wire->known = 0;
    wire->is_lost = reading->is_lost;
    memset(wire->values, 0, sizeof(wire->values));
    put_f64(wire, NVML_WIRE_UTILIZATION_PCT, reading->utilization_pct);
    put_f64(wire, NVML_WIRE_MEMORY_UTILIZATION_PCT, reading->memory_utilization_pct);
    put_u64(wire, NVML_WIRE_VRAM_TOTAL_BYTES, reading->vram_total_bytes);
    put_u64(wire, NVML_WIRE_VRAM_USED_BYTES, reading->vram_used_bytes);
    put_f64(wire, NVML_WIRE_TEMPERATURE_CELSIUS, reading->temperature_celsius);
    put_f64(wire, NVML_WIRE_POWER_WATTS, reading->power_watts);
    put_f64(wire, NVML_WIRE_FREQUENCY_MHZ, reading->frequency_mhz);
    put_u64(wire, NVML_WIRE_THROTTLE_MASK, reading->throttle_mask);
}

static struct opt_f64 get_f64(const struct nvml_wire_reading *wire, enum nvml_wire_value slot)
{
    return (wire->known >> slot & 1) ? some_f64(wire->values[slot]) : (struct opt_f64){0};
}

static struct opt_u64 get_u64(const struct nvml_wire_reading *wire, enum nvml_wire_value slot)
{
    return (wire->known >> slot & 1) ? some_u64((uint64_t)wire->values[slot]) : (struct opt_u64){0};
}

void nvml_wire_get_reading(const struct nvml_wire_reading *wire, struct gpu_reading *ret_reading)
{
    *ret_reading = (struct gpu_reading){
        .utilization_pct = get_f64(wire, NVML_WIRE_UTILIZATION_PCT),
        .memory_utilization_pct = get_f64(wire, NVML_WIRE_MEMORY_UTILIZATION_PCT),
        .vram_total_bytes = get_u64(wire, NVML_WIRE_VRAM_TOTAL_BYTES),
        .vram_used_bytes = get_u64(wire, NVML_WIRE_VRAM_USED_BYTES),
        .temperature_celsius = get_f64(wire, NVML_WIRE_TEMPERATURE_CELSIUS),
        .power_watts = get_f64(wire, NVML_WIRE_POWER_WATTS),
        .frequency_mhz = get_f64(wire, NVML_WIRE_FREQUENCY_MHZ),
    };
    struct opt_u64 mask = get_u64(wire, NVML_WIRE_THROTTLE_MASK);
    ret_reading->has_reasons = mask.has;
    for (unsigned bit = 0; mask.has && bit < 53 && ret_reading->reason_count < GPU_REASONS_MAX; bit++) {
        const char *reason = (mask.v >> bit & 1) ? nvml_throttle_reason(bit) : NULL;
        if (reason)
            ret_reading->reasons[ret_reading->reason_count++] = reason;
    }
}
