/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvidia/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define BYTES_UP_TO(member)                                                                                            \
    (offsetof(struct nvml_wire_message, member) + sizeof(((struct nvml_wire_message *)0)->member))

#define VALUE(most_, member, is_whole_)                                                                                \
    {                                                                                                                  \
        .most = most_, .from = offsetof(struct nvml_reading, member), .to = offsetof(struct gpu_reading, member),      \
        .is_whole = is_whole_                                                                                          \
    }

/* The values of a message: where each comes from, and where it goes. */
static const struct {
    double most;
    uint16_t from, to; /* members of struct nvml_reading, and of struct gpu_reading */
    bool is_whole; /* opt_u64; else opt_f64 */
} values[NVML_WIRE_VALUES] = {
    [NVML_WIRE_UTILIZATION_PCT] = VALUE(100, utilization_pct, false),
    [NVML_WIRE_MEMORY_UTILIZATION_PCT] = VALUE(100, memory_utilization_pct, false),
    [NVML_WIRE_VRAM_TOTAL_BYTES] = VALUE(9e15, vram_total_bytes, true),
    [NVML_WIRE_VRAM_USED_BYTES] = VALUE(9e15, vram_used_bytes, true),
    [NVML_WIRE_TEMPERATURE_CELSIUS] = VALUE(1000, temperature_celsius, false),
    [NVML_WIRE_POWER_WATTS] = VALUE(1e6, power_watts, false),
    [NVML_WIRE_FREQUENCY_MHZ] = VALUE(1e6, frequency_mhz, false),
    [NVML_WIRE_THROTTLE_MASK] = {.most = 9e15, .from = offsetof(struct nvml_reading, throttle_mask), .is_whole = true},
};

_Static_assert(NVML_WIRE_THROTTLE_MASK == NVML_WIRE_VALUES - 1, "the last one, which is no value of a sample");

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
        if ((reading->known >> i & 1) && !is_within(reading->values[i], 0, values[i].most))
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

void nvml_wire_put_reading(const struct nvml_reading *reading, struct nvml_wire_reading *wire)
{
    wire->known = 0;
    wire->is_lost = reading->is_lost;
    for (size_t i = 0; i < NVML_WIRE_VALUES; i++) {
        const void *from = (const char *)reading + values[i].from;
        struct opt_f64 value =
            values[i].is_whole ? opt_scaled(*(const struct opt_u64 *)from, 1) : *(const struct opt_f64 *)from;
        bool is_known = value.has && is_within(value.v, 0, values[i].most);
        wire->values[i] = is_known ? value.v : 0;
        wire->known |= (unsigned)is_known << i;
    }
}

void nvml_wire_get_reading(const struct nvml_wire_reading *wire, struct gpu_reading *ret_reading)
{
    *ret_reading = (struct gpu_reading){0};
    for (size_t i = 0; i < NVML_WIRE_THROTTLE_MASK; i++) {
        void *to = (char *)ret_reading + values[i].to;
        if (!(wire->known >> i & 1))
            continue;
        if (values[i].is_whole)
            *(struct opt_u64 *)to = some_u64((uint64_t)(int64_t)wire->values[i]);
        else
            *(struct opt_f64 *)to = some_f64(wire->values[i]);
    }
    uint64_t mask = (uint64_t)(int64_t)wire->values[NVML_WIRE_THROTTLE_MASK];
    ret_reading->has_reasons = wire->known >> NVML_WIRE_THROTTLE_MASK & 1;
    for (unsigned bit = 0; ret_reading->has_reasons && bit < 53 && ret_reading->reason_count < GPU_REASONS_MAX; bit++) {
        const char *reason = (mask >> bit & 1) ? nvml_throttle_reason(bit) : NULL;
        if (reason)
            ret_reading->reasons[ret_reading->reason_count++] = reason;
    }
}
