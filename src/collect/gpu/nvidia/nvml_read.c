/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readings of an NVIDIA device for one sample. Each is believed only within the limits below; beyond them, or where
 * the driver does not answer, it is absent. Reasons for lower clocks: nvmlClocksEventReasons of the NVML manual.
 */
#include "collect/gpu/nvidia/nvml_card.h"

enum {
    TEMPERATURE_MAX_CELSIUS = 200,
    POWER_MAX_MILLIWATTS = 10 * 1000 * 1000,
    CLOCK_MAX_MHZ = 100 * 1000,
};

static const char *const nvml_reasons[] = {
    [2] = "sw_power_cap",
    [3] = "hw_slowdown",
    [4] = "sync_boost",
    [5] = "sw_thermal_slowdown",
    [6] = "hw_thermal_slowdown",
    [7] = "hw_power_brake_slowdown",
};

static struct opt_f64 nvml_believe(uint32_t value, uint32_t max, double scale)
{
    return value <= max ? some_f64((double)value / scale) : (struct opt_f64){0};
}

static void nvml_read_utilization(const struct nvml_calls *calls, struct nvml_card *card, struct nvml_reading *reading)
{
    struct nvml_utilization now = {0};
    if (!calls->get_utilization || !nvml_card_may_ask(card, NVML_ASK_UTILIZATION) ||
        !nvml_card_took(card, NVML_ASK_UTILIZATION, calls->get_utilization(card->device, &now)))
        return;
    reading->utilization_pct = nvml_believe(now.gpu_pct, 100, 1.0);
    reading->memory_utilization_pct = nvml_believe(now.memory_pct, 100, 1.0);
}

/* The library knows the call but not in the version that we speak, which it says in several ways. */
static bool is_other_version(int code)
{
    return code == NVML_ARGUMENT_VERSION_MISMATCH || code == NVML_INVALID_ARGUMENT || code == NVML_NOT_SUPPORTED ||
           code == NVML_FUNCTION_NOT_FOUND;
}

static bool nvml_ask_memory(const struct nvml_calls *calls, struct nvml_card *card, uint64_t *total, uint64_t *used)
{
    if (calls->get_memory_v2 && nvml_card_may_ask(card, NVML_ASK_MEMORY_V2)) {
        struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2_VERSION};
        int code = calls->get_memory_v2(card->device, &memory);
        *total = memory.total;
        *used = memory.used;
        if (!is_other_version(code))
            return code == NVML_OK;
        nvml_card_refuse(card, NVML_ASK_MEMORY_V2);
    }
    struct nvml_memory_v1 memory = {0};
    if (!calls->get_memory_v1 || !nvml_card_may_ask(card, NVML_ASK_MEMORY_V1) ||
        !nvml_card_took(card, NVML_ASK_MEMORY_V1, calls->get_memory_v1(card->device, &memory)))
        return false;
    *total = memory.total;
    *used = memory.used;
    return true;
}

void nvml_card_read_memory(
    const struct nvml *nvml, struct nvml_card *card, struct opt_u64 *ret_total, struct opt_u64 *ret_used)
{
    uint64_t total = 0, used = 0;
    bool is_sound = nvml_ask_memory(&nvml->calls, card, &total, &used) && total > 0 && used <= total;
    *ret_total = is_sound ? some_u64(total) : (struct opt_u64){0};
    *ret_used = is_sound ? some_u64(used) : (struct opt_u64){0};
    if (is_sound)
        card->vram_total_bytes = *ret_total;
}

static struct opt_f64 nvml_read_temperature(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned celsius = 0;
    if (!calls->get_temperature || !nvml_card_may_ask(card, NVML_ASK_TEMPERATURE) ||
        !nvml_card_took(card, NVML_ASK_TEMPERATURE, calls->get_temperature(card->board, NVML_SENSOR_GPU, &celsius)))
        return (struct opt_f64){0};
    return nvml_believe(celsius, TEMPERATURE_MAX_CELSIUS, 1.0);
}

static struct opt_f64 nvml_read_power(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned milliwatts = 0;
    if (!calls->get_power || !nvml_card_may_ask(card, NVML_ASK_POWER) ||
        !nvml_card_took(card, NVML_ASK_POWER, calls->get_power(card->device, &milliwatts)))
        return (struct opt_f64){0};
    return nvml_believe(milliwatts, POWER_MAX_MILLIWATTS, 1000.0);
}

static struct opt_f64 nvml_read_clock(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned mhz = 0;
    if (!calls->get_clock || !nvml_card_may_ask(card, NVML_ASK_CLOCK) ||
        !nvml_card_took(card, NVML_ASK_CLOCK, calls->get_clock(card->board, NVML_CLOCK_GRAPHICS, &mhz)))
        return (struct opt_f64){0};
    return nvml_believe(mhz, CLOCK_MAX_MHZ, 1.0);
}

static struct opt_u64 nvml_read_reasons(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned long long mask = 0;
    if (!calls->get_reasons || !nvml_card_may_ask(card, NVML_ASK_REASONS) ||
        !nvml_card_took(card, NVML_ASK_REASONS, calls->get_reasons(card->board, &mask)))
        return (struct opt_u64){0};
    return some_u64(mask);
}

void nvml_read(const struct nvml *nvml, size_t card, struct nvml_reading *ret_reading)
{
    struct nvml_reading reading = {0};
    struct nvml_card *asked = nvml_card_at(nvml, card);
    if (asked) {
        asked->is_lost = false;
        nvml_read_utilization(&nvml->calls, asked, &reading);
        nvml_card_read_memory(nvml, asked, &reading.vram_total_bytes, &reading.vram_used_bytes);
        reading.temperature_celsius = nvml_read_temperature(&nvml->calls, asked);
        reading.power_watts = nvml_read_power(&nvml->calls, asked);
        reading.frequency_mhz = nvml_read_clock(&nvml->calls, asked);
        reading.throttle_mask = nvml_read_reasons(&nvml->calls, asked);
        reading.is_lost = asked->is_lost;
    }
    *ret_reading = reading;
}

struct opt_f64 nvml_energy(const struct nvml *nvml, size_t card)
{
    struct nvml_card *asked = nvml_card_at(nvml, card);
    unsigned long long millijoules = 0;
    if (!asked || !nvml->calls.get_energy || !nvml_card_may_ask(asked, NVML_ASK_ENERGY) ||
        !nvml_card_took(asked, NVML_ASK_ENERGY, nvml->calls.get_energy(asked->device, &millijoules)))
        return (struct opt_f64){0};
    return some_f64((double)millijoules / 1000.0);
}

const char *nvml_throttle_reason(unsigned bit)
{
    return bit < sizeof(nvml_reasons) / sizeof(nvml_reasons[0]) ? nvml_reasons[bit] : NULL;
}
