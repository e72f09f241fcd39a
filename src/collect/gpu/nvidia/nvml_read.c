/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readings of an NVIDIA device for one sample, and the processes that use it. Each reading is believed only within
 * the limits below; beyond them, or where the driver does not answer, it is absent. Reasons for lower clocks:
 * nvmlClocksEventReasons of the NVML manual. The lists of processes have had rows of 16, 24 and 32 bytes in different
 * drivers (32 in the first releases of the 535 series), so the buffer has space for the longest, and what the library
 * left untouched shows how long its rows are.
 */
#include "base/num.h"
#include "collect/gpu/nvidia/nvml_internal.h"

#include <string.h>

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
    return value <= max ? some_f64(num_to_f64(value) / scale) : (struct opt_f64){0};
}

static void nvml_read_utilization(const struct nvml_calls *calls, struct nvml_card *card, struct nvml_reading *reading)
{
    struct nvml_utilization now = {0};
    if (!calls->get_utilization || !nvml_card_may_ask(card, NVML_ASK_UTILIZATION) ||
        !nvml_card_accepted(card, NVML_ASK_UTILIZATION, calls->get_utilization(card->device, &now)))
        return;
    reading->utilization_pct = nvml_believe(now.gpu_pct, 100, 1.0);
    reading->memory_utilization_pct = nvml_believe(now.memory_pct, 100, 1.0);
}

/* The library knows the call but not in the version that we use, which it reports in several ways. */
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
        !nvml_card_accepted(card, NVML_ASK_MEMORY_V1, calls->get_memory_v1(card->device, &memory)))
        return false;
    *total = memory.total;
    *used = memory.used;
    return true;
}

/* Total and used, each absent where the driver does not say. */
static void read_memory(
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
        !nvml_card_accepted(card, NVML_ASK_TEMPERATURE, calls->get_temperature(card->board, NVML_SENSOR_GPU, &celsius)))
        return (struct opt_f64){0};
    return nvml_believe(celsius, TEMPERATURE_MAX_CELSIUS, 1.0);
}

static struct opt_f64 nvml_read_power(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned milliwatts = 0;
    if (!calls->get_power || !nvml_card_may_ask(card, NVML_ASK_POWER) ||
        !nvml_card_accepted(card, NVML_ASK_POWER, calls->get_power(card->device, &milliwatts)))
        return (struct opt_f64){0};
    return nvml_believe(milliwatts, POWER_MAX_MILLIWATTS, 1000.0);
}

static struct opt_f64 nvml_read_clock(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned mhz = 0;
    if (!calls->get_clock || !nvml_card_may_ask(card, NVML_ASK_CLOCK) ||
        !nvml_card_accepted(card, NVML_ASK_CLOCK, calls->get_clock(card->board, NVML_CLOCK_GRAPHICS, &mhz)))
        return (struct opt_f64){0};
    return nvml_believe(mhz, CLOCK_MAX_MHZ, 1.0);
}

static struct opt_u64 nvml_read_reasons(const struct nvml_calls *calls, struct nvml_card *card)
{
    unsigned long long mask = 0;
    if (!calls->get_reasons || !nvml_card_may_ask(card, NVML_ASK_REASONS) ||
        !nvml_card_accepted(card, NVML_ASK_REASONS, calls->get_reasons(card->board, &mask)))
        return (struct opt_u64){0};
    return some_u64(mask);
}

void nvml_read(const struct nvml *nvml, size_t card, struct nvml_reading *ret_reading)
{
    struct nvml_card *asked = nvml_card_at(nvml, card);
    *ret_reading = (struct nvml_reading){0};
    if (!asked)
        return;
    asked->is_lost = false;
    nvml_read_utilization(&nvml->calls, asked, ret_reading);
    read_memory(nvml, asked, &ret_reading->vram_total_bytes, &ret_reading->vram_used_bytes);
    ret_reading->temperature_celsius = nvml_read_temperature(&nvml->calls, asked);
    ret_reading->power_watts = nvml_read_power(&nvml->calls, asked);
    ret_reading->frequency_mhz = nvml_read_clock(&nvml->calls, asked);
    ret_reading->throttle_mask = nvml_read_reasons(&nvml->calls, asked);
    ret_reading->is_lost = asked->is_lost;
}

struct opt_f64 nvml_energy(const struct nvml *nvml, size_t card)
{
    struct nvml_card *asked = nvml_card_at(nvml, card);
    unsigned long long millijoules = 0;
    if (!asked || !nvml->calls.get_energy || !nvml_card_may_ask(asked, NVML_ASK_ENERGY) ||
        !nvml_card_accepted(asked, NVML_ASK_ENERGY, nvml->calls.get_energy(asked->device, &millijoules)))
        return (struct opt_f64){0};
    return some_f64(num_to_f64(millijoules) / 1000.0);
}

const char *nvml_throttle_reason(unsigned bit)
{
    return bit < sizeof(nvml_reasons) / sizeof(nvml_reasons[0]) ? nvml_reasons[bit] : NULL;
}

/* No process has this PID, no amount is this large. */
enum { UNTOUCHED = 0xa5 };
#define UNTOUCHED_PID UINT32_C(0xa5a5a5a5)

/* Beyond this an amount is invalid even where the size of the device is not known. */
#define VRAM_MAX_BYTES (UINT64_C(1) << 50)

/* The end of what was written, searched up to the end of row n and 8 bytes more. */
static size_t nvml_written_bytes(const union nvml_rows *rows, size_t n)
{
    size_t end = n * sizeof(rows->v3[0]) + sizeof(uint64_t);
    while (end > 0 && rows->bytes[end - 1] == UNTOUCHED)
        end--;
    return end;
}

/* The length of each of n rows; expected where the library has wiped more than it filled. */
static size_t nvml_row_bytes(const union nvml_rows *rows, size_t n, size_t expected)
{
    size_t written = nvml_written_bytes(rows, n);
    if (written > n * sizeof(rows->v3[0]))
        return expected;
    if (written > n * sizeof(rows->v2[0]))
        return sizeof(rows->v3[0]);
    return written > n * sizeof(rows->v1[0]) ? sizeof(rows->v2[0]) : sizeof(rows->v1[0]);
}

static struct nvml_process nvml_row_at(const union nvml_rows *rows, size_t row_bytes, size_t i)
{
    struct nvml_process_v1 row; /* how the longer ones begin as well */
    memcpy(&row, rows->bytes + i * row_bytes, sizeof(row));
    return (struct nvml_process){.pid = row.pid, .vram_bytes = some_u64(row.used_bytes)};
}

/* A PID that is listed again holds the larger of its amounts: the lists describe the same memory. */
static void nvml_add_process(struct nvml_processes *processes, const struct nvml_process *process)
{
    for (size_t i = 0; i < processes->count; i++) {
        struct nvml_process *known = &processes->items[i];
        if (known->pid != process->pid)
            continue;
        if (process->vram_bytes.has && (!known->vram_bytes.has || known->vram_bytes.v < process->vram_bytes.v))
            known->vram_bytes = process->vram_bytes;
        return;
    }
    if (processes->count == NVML_PROCESSES_MAX)
        processes->is_cut = true;
    else
        processes->items[processes->count++] = *process;
}

static void nvml_add_rows(
    const struct nvml *nvml, size_t n, size_t row_bytes, uint64_t vram_max, struct nvml_processes *processes)
{
    for (size_t i = 0; i < n; i++) {
        struct nvml_process process = nvml_row_at(&nvml->work->rows, row_bytes, i);
        if (process.pid == 0 || process.pid == UNTOUCHED_PID)
            continue;
        if (process.vram_bytes.v > vram_max) /* all ones, the driver's value for unknown, as well */
            process.vram_bytes = (struct opt_u64){0};
        nvml_add_process(processes, &process);
    }
}

/* One list. A library that wants more space than we have has written a part. */
static void nvml_add_list(const struct nvml *nvml, struct nvml_card *card, enum nvml_list list, uint64_t vram_max,
    struct nvml_processes *processes)
{
    const struct nvml_calls *calls = &nvml->calls;
    bool is_wide = calls->list_wide[list];
    int (*call)(struct nvml_device *, unsigned *, void *) = is_wide ? calls->list_wide[list] : calls->list_narrow[list];
    unsigned question = NVML_ASK_LISTS + (unsigned)list;
    if (!call || !nvml_card_may_ask(card, question))
        return;
    union nvml_rows *rows = &nvml->work->rows;
    unsigned capacity = NVML_PROCESSES_MAX, count = capacity;
    memset(rows, UNTOUCHED, (capacity + 1) * sizeof(rows->v3[0]));
    int code = call(card->device, &count, rows);
    if (code == NVML_INSUFFICIENT_SIZE) {
        capacity = count = NVML_ROWS_MAX;
        memset(rows, UNTOUCHED, sizeof(*rows));
        code = call(card->device, &count, rows);
    }
    bool is_cut = code == NVML_INSUFFICIENT_SIZE || count > capacity;
    if (code != NVML_INSUFFICIENT_SIZE && !nvml_card_accepted(card, question, code))
        return;
    processes->is_known = true;
    processes->is_cut |= is_cut;
    size_t n = is_cut ? capacity : count;
    size_t row_bytes = is_wide ? sizeof(rows->v2[0]) : sizeof(rows->v1[0]);
    if (!is_cut)
        row_bytes = nvml_row_bytes(rows, n, row_bytes);
    nvml_add_rows(nvml, n, row_bytes, vram_max, processes);
}

void nvml_list_processes(const struct nvml *nvml, size_t card, struct nvml_processes *ret_processes)
{
    ret_processes->is_known = ret_processes->is_cut = false;
    ret_processes->count = 0;
    struct nvml_card *asked = nvml_card_at(nvml, card);
    if (!asked)
        return;
    struct opt_u64 total = asked->vram_total_bytes, used;
    if (!total.has)
        read_memory(nvml, asked, &total, &used);
    for (unsigned list = 0; list < NVML_LIST_COUNT; list++)
        nvml_add_list(nvml, asked, (enum nvml_list)list, total.has ? total.v : VRAM_MAX_BYTES, ret_processes);
}

static void nvml_add_samples(
    const struct nvml_process_sample *rows, size_t n, uint64_t since_us, struct nvml_samples *samples)
{
    for (size_t i = 0; i < n && samples->count < NVML_PROCESSES_MAX; i++) {
        const struct nvml_process_sample *row = &rows[i];
        if (row->pid == 0 || row->sm_pct > 100 || row->time_us <= since_us)
            continue;
        samples->items[samples->count++] =
            (struct nvml_sample){.pid = row->pid, .time_us = row->time_us, .sm_pct = row->sm_pct};
    }
}

void nvml_list_samples(const struct nvml *nvml, size_t card, uint64_t since_us, struct nvml_samples *ret_samples)
{
    ret_samples->is_known = false;
    ret_samples->count = 0;
    struct nvml_card *asked = nvml_card_at(nvml, card);
    if (!asked || !nvml->calls.list_samples || !nvml_card_may_ask(asked, NVML_ASK_SAMPLES))
        return;
    struct nvml_process_sample *rows = nvml->work->rows.samples;
    unsigned capacity = NVML_PROCESSES_MAX, count = capacity;
    memset(rows, 0, capacity * sizeof(rows[0]));
    int code = nvml->calls.list_samples(asked->device, rows, &count, since_us);
    if (code == NVML_INSUFFICIENT_SIZE) {
        capacity = count = NVML_ROWS_MAX;
        memset(rows, 0, capacity * sizeof(rows[0]));
        code = nvml->calls.list_samples(asked->device, rows, &count, since_us);
    }
    ret_samples->is_known = nvml_card_accepted(asked, NVML_ASK_SAMPLES, code) || code == NVML_NOT_FOUND;
    if (code == NVML_OK)
        nvml_add_samples(rows, count < capacity ? count : capacity, since_us, ret_samples);
}
