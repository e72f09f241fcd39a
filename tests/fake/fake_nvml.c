/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 that plays what FAKE_NVML says: a path (read again at nvmlInit and at every
 * nvmlDeviceGetUtilizationRates), or the script itself. One line, or piece between semicolons, for each key:
 *
 *   gpus N, driver TEXT, cuda 13000, init_error CODE
 *   gpu I KEY VALUE       name uuid bus index util memutil used total reserved (bytes) temp power (mW) clock (MHz)
 *                         throttle (mask) cores energy energy_step (mJ, added at every call), mig N (in MIG mode with
 *                         N instances), crowd N, sample_crowd N (that many processes or samples more)
 *   process GPU[/INSTANCE] PID VRAM KIND    PID: number or pidfile:/path; VRAM: bytes or none; KIND: compute, graphics,
 *                         both or mps
 *   sample GPU PID SM [AGE_MS]              a sample of now, or so long ago
 *   garbage 1             nonsense in every answer
 *   partial N             of a list that does not fit, N rows are written all the same
 *   row_bytes 16|24|32    the length of a row of the process lists; wipe 1: unused rows are zeroed
 *   count_file PATH       the names of all calls are appended there, a line each
 *   fail CALL CODE [GPU], hang CALL, hang_after CALL N, abort CALL [N], exit CALL STATUS, segv CALL, slow CALL MS
 *                         CALL is a full name, or the start of one and '*'; N calls go well before
 *
 * Variants at compile time: FAKE_NVML_OLD has only the oldest name of each function and lacks what came late,
 * FAKE_NVML_EMPTY has only nvmlInit_v2.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_nvml_script.h"

#define FAKE(name, ...)                                                                                                \
    int name(__VA_ARGS__);                                                                                             \
    int name(__VA_ARGS__)

#ifdef FAKE_NVML_EMPTY

FAKE(nvmlInit_v2, void)
{
    return 0;
}

#else

#ifdef FAKE_NVML_OLD
#define NEWEST(name, version) name
#define REASONS nvmlDeviceGetCurrentClocksThrottleReasons
enum { ROW_BYTES = 16 };
#else
#define NEWEST(name, version) name##version
#define REASONS nvmlDeviceGetCurrentClocksEventReasons
enum { ROW_BYTES = 24 };
#endif

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, ARGUMENT_VERSION_MISMATCH = 25 };
enum { INSTANCES_MAX = 16, CALLS_MAX = 64, CROWD_FIRST_PID = 100000 };

/* What a handle points to. */
struct fake_device {
    uint64_t gpu, instance;
};

struct fake_state {
    struct fake_script script;
    struct fake_device whole[FAKE_GPUS_MAX], instances[FAKE_GPUS_MAX][INSTANCES_MAX];
    uint64_t energy_calls;
    struct {
        const char *name;
        uint64_t count;
    } calls[CALLS_MAX];
};

static struct fake_state *fake_state(void)
{
    static struct fake_state state;
    return &state;
}

static const struct fake_gpu *fake_gpu(const struct fake_device *device)
{
    return &fake_state()->script.gpu[device->gpu];
}

#define IS_GARBAGE (fake_state()->script.garbage != 0)

/* How often it was called before. */
static uint64_t fake_count_call(const char *call)
{
    struct fake_state *state = fake_state();
    if (state->script.count_file[0]) {
        int fd = open(state->script.count_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            (void)dprintf(fd, "%s\n", call);
            close(fd);
        }
    }
    size_t i = 0;
    while (i < CALLS_MAX - 1 && state->calls[i].name && strcmp(state->calls[i].name, call) != 0)
        i++;
    state->calls[i].name = call;
    return state->calls[i].count++;
}

static void fake_suffer(const struct fake_fault *fault, uint64_t before)
{
    const char *kind = fault->kind;
    if (strcmp(kind, "hang") == 0 || (strcmp(kind, "hang_after") == 0 && before >= fault->value)) {
        for (;;)
            pause();
    }
    if (strcmp(kind, "abort") == 0 && before >= fault->value)
        abort();
    if (strcmp(kind, "exit") == 0)
        exit((int)fault->value);
    volatile uintptr_t nowhere = 16;
    if (strcmp(kind, "segv") == 0)
        *(volatile int *)nowhere = 1;
    if (strcmp(kind, "slow") == 0)
        (void)poll(NULL, 0, (int)fault->value);
}

/* Every call begins here: returns the code that it shall fail with, or OK. */
static int fake_enter(const char *call, uint64_t gpu)
{
    uint64_t before = fake_count_call(call);
    const struct fake_script *script = &fake_state()->script;
    int code = OK;
    for (size_t i = 0; i < script->fault_count; i++) {
        const struct fake_fault *fault = &script->faults[i];
        if (!fake_fault_is_for(fault, call, gpu))
            continue;
        if (strcmp(fault->kind, "fail") == 0)
            code = (int)fault->value;
        else
            fake_suffer(fault, before);
    }
    return code;
}

/* The same for sensors, which only a whole GPU has. */
static int fake_enter_board(const char *call, const struct fake_device *device)
{
    int code = fake_enter(call, device->gpu);
    return code == OK && device->instance != FAKE_NONE ? NOT_SUPPORTED : code;
}

static int fake_give_text(const char *text, char *out, unsigned bytes)
{
    if (IS_GARBAGE)
        memset(out, 'A', bytes);
    else
        (void)snprintf(out, bytes, "%s", text);
    return OK;
}

static int fake_give_u32(uint64_t value, unsigned *out)
{
    *out = IS_GARBAGE ? 4000000000U : (unsigned)value;
    return OK;
}

FAKE(NEWEST(nvmlInit, _v2), void)
{
    struct fake_state *state = fake_state();
    *state = (struct fake_state){0};
    fake_script_load(&state->script);
    for (unsigned i = 0; i < FAKE_GPUS_MAX; i++) {
        state->whole[i] = (struct fake_device){.gpu = i, .instance = FAKE_NONE};
        for (unsigned j = 0; j < INSTANCES_MAX; j++)
            state->instances[i][j] = (struct fake_device){.gpu = i, .instance = j};
    }
    int code = fake_enter(__func__, FAKE_NONE);
    return code ? code : (int)state->script.init_error;
}

FAKE(NEWEST(nvmlDeviceGetCount, _v2), unsigned *count)
{
    int code = fake_enter(__func__, FAKE_NONE);
    if (code == OK)
        *count = (unsigned)fake_state()->script.gpus;
    return code;
}

FAKE(NEWEST(nvmlDeviceGetHandleByIndex, _v2), unsigned index, struct fake_device **device)
{
    int code = fake_enter(__func__, index);
    if (code == OK && index >= FAKE_GPUS_MAX)
        return NOT_FOUND;
    if (code == OK)
        *device = &fake_state()->whole[index];
    return code;
}

FAKE(nvmlSystemGetDriverVersion, char *text, unsigned bytes)
{
    int code = fake_enter(__func__, FAKE_NONE);
    return code ? code : fake_give_text(fake_state()->script.driver, text, bytes);
}

FAKE(NEWEST(nvmlSystemGetCudaDriverVersion, _v2), int *version)
{
    int code = fake_enter(__func__, FAKE_NONE);
    if (code == OK)
        *version = IS_GARBAGE ? -1 : (int)fake_state()->script.cuda;
    return code;
}

FAKE(nvmlDeviceGetIndex, struct fake_device *device, unsigned *index)
{
    int code = fake_enter(__func__, device->gpu);
    return code ? code : fake_give_u32(fake_gpu(device)->index, index);
}

FAKE(nvmlDeviceGetUUID, struct fake_device *device, char *text, unsigned bytes)
{
    int code = fake_enter(__func__, device->gpu);
    char mig[FAKE_TEXT_BYTES];
    (void)snprintf(mig, sizeof(mig), "MIG-%u-%u", (unsigned)device->gpu, (unsigned)device->instance);
    return code ? code : fake_give_text(device->instance == FAKE_NONE ? fake_gpu(device)->uuid : mig, text, bytes);
}

FAKE(nvmlDeviceGetName, struct fake_device *device, char *text, unsigned bytes)
{
    int code = fake_enter(__func__, device->gpu);
    char name[FAKE_TEXT_BYTES + 16];
    (void)snprintf(
        name, sizeof(name), "%s%s", fake_gpu(device)->name, device->instance == FAKE_NONE ? "" : " MIG 1g.18gb");
    return code ? code : fake_give_text(name, text, bytes);
}

/* The short form in front, the long one behind five numbers. */
static int fake_give_pci(const struct fake_device *device, char *out, bool is_long)
{
    const char *bus = fake_gpu(device)->bus;
    (void)fake_give_text(strlen(bus) < 16 ? bus : bus + 4, out, 16);
    return is_long ? fake_give_text(bus, out + 36, 32) : OK;
}

FAKE(NEWEST(nvmlDeviceGetPciInfo, _v2), struct fake_device *device, char *out)
{
    int code = fake_enter(__func__, device->gpu);
    return code ? code : fake_give_pci(device, out, false);
}

FAKE(REASONS, struct fake_device *device, unsigned long long *mask)
{
    int code = fake_enter_board(__func__, device);
    if (code == OK)
        *mask = fake_gpu(device)->throttle;
    return code;
}

#ifndef FAKE_NVML_OLD

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
    (void)fake_enter(__func__, FAKE_NONE);
    return code == 15 ? "GPU is lost\nreally" : NULL;
}

FAKE(nvmlDeviceGetPciInfo_v3, struct fake_device *device, char *out)
{
    int code = fake_enter(__func__, device->gpu);
    return code ? code : fake_give_pci(device, out, true);
}

FAKE(nvmlDeviceGetNumGpuCores, struct fake_device *device, unsigned *count)
{
    int code = fake_enter(__func__, device->gpu);
    return code ? code : fake_give_u32(fake_gpu(device)->cores, count);
}

FAKE(nvmlDeviceGetMigMode, struct fake_device *device, unsigned *current, unsigned *pending)
{
    int code = fake_enter(__func__, device->gpu);
    if (code == OK)
        *current = *pending = fake_gpu(device)->mig != FAKE_NONE;
    return code;
}

/* The first and the last slot are empty. */
FAKE(nvmlDeviceGetMaxMigDeviceCount, struct fake_device *device, unsigned *count)
{
    int code = fake_enter(__func__, device->gpu);
    if (code == OK)
        *count = IS_GARBAGE ? 4000000000U : (unsigned)fake_gpu(device)->mig + 2;
    return code;
}

FAKE(nvmlDeviceGetMigDeviceHandleByIndex, struct fake_device *device, unsigned slot, struct fake_device **instance)
{
    int code = fake_enter(__func__, device->gpu);
    if (code == OK && (slot == 0 || slot > fake_gpu(device)->mig || slot > INSTANCES_MAX))
        return NOT_FOUND;
    if (code == OK)
        *instance = &fake_state()->instances[device->gpu][slot - 1];
    return code;
}

FAKE(nvmlDeviceGetMemoryInfo_v2, struct fake_device *device, void *out)
{
    int code = fake_enter(__func__, device->gpu);
    struct {
        uint32_t version;
        uint64_t total, reserved, free, used;
    } memory;
    memcpy(&memory, out, sizeof(memory));
    if (code != OK || memory.version != (sizeof(memory) | 2U << 24))
        return code ? code : ARGUMENT_VERSION_MISMATCH;
    const struct fake_gpu *gpu = fake_gpu(device);
    uint64_t parts = device->instance == FAKE_NONE ? 1 : gpu->mig;
    memory.total = gpu->total / parts;
    memory.reserved = gpu->reserved / parts;
    memory.used = IS_GARBAGE ? memory.total + 1 : gpu->used / parts;
    memcpy(out, &memory, sizeof(memory));
    return OK;
}

FAKE(nvmlDeviceGetTotalEnergyConsumption, struct fake_device *device, unsigned long long *millijoules)
{
    int code = fake_enter(__func__, device->gpu);
    if (code == OK)
        *millijoules = fake_gpu(device)->energy + fake_gpu(device)->energy_step * fake_state()->energy_calls++;
    return code;
}

#endif

FAKE(nvmlDeviceGetMemoryInfo, struct fake_device *device, uint64_t out[3])
{
    int code = fake_enter(__func__, device->gpu);
    if (code != OK)
        return code;
    const struct fake_gpu *gpu = fake_gpu(device);
    out[0] = gpu->total;
    out[2] = IS_GARBAGE ? gpu->total + 1 : gpu->used + gpu->reserved;
    out[1] = out[0] - out[2];
    return OK;
}

FAKE(nvmlDeviceGetUtilizationRates, struct fake_device *device, unsigned out[2])
{
    fake_script_load(&fake_state()->script);
    int code = fake_enter(__func__, device->gpu);
    if (code != OK)
        return code;
    (void)fake_give_u32(fake_gpu(device)->util, &out[0]);
    return fake_give_u32(fake_gpu(device)->memutil, &out[1]);
}

FAKE(nvmlDeviceGetTemperature, struct fake_device *device, int sensor, unsigned *celsius)
{
    int code = fake_enter_board(__func__, device);
    return code ? code : fake_give_u32(sensor == 0 ? fake_gpu(device)->temp : 0, celsius);
}

FAKE(nvmlDeviceGetPowerUsage, struct fake_device *device, unsigned *milliwatts)
{
    int code = fake_enter(__func__, device->gpu);
    return code ? code : fake_give_u32(fake_gpu(device)->power, milliwatts);
}

FAKE(nvmlDeviceGetClockInfo, struct fake_device *device, int type, unsigned *mhz)
{
    int code = fake_enter_board(__func__, device);
    return code ? code : fake_give_u32(type == 0 ? fake_gpu(device)->clock : 0, mhz);
}

/* Rows for one caller: how many there are, and as many of them as fit. */
struct fake_fill {
    unsigned char *out;
    size_t row_bytes, capacity, count;
};

static void fake_put_process(struct fake_fill *fill, uint32_t pid, uint64_t vram)
{
    unsigned char row[32] = {0};
    memcpy(row, &pid, sizeof(pid));
    memcpy(row + 8, &vram, sizeof(vram));
    memset(row + 16, 0xff, 8);
    if (fill->count < fill->capacity)
        memcpy(fill->out + fill->count * fill->row_bytes, row, fill->row_bytes);
    fill->count++;
}

static void fake_fill_processes(const struct fake_device *device, const char *kind, struct fake_fill *fill)
{
    const struct fake_script *script = &fake_state()->script;
    for (size_t i = 0; i < script->process_count; i++) {
        const struct fake_row *row = &script->processes[i];
        bool is_both = strcmp(row->kind, "both") == 0 && strcmp(kind, "mps") != 0;
        uint32_t pid = fake_row_pid(row);
        bool is_waiting = pid == 0 && row->pid[0] == 'p';
        if (row->gpu == device->gpu && row->instance == device->instance && !is_waiting &&
            (is_both || strcmp(row->kind, kind) == 0))
            fake_put_process(fill, pid, row->vram);
    }
    uint64_t crowd = strcmp(kind, "compute") == 0 ? fake_gpu(device)->crowd : 0;
    for (uint64_t i = 0; i < crowd; i++)
        fake_put_process(fill, CROWD_FIRST_PID + (uint32_t)i, 1 << 20);
}

static int fake_list(const char *call, struct fake_device *device, const char *kind, unsigned *count, void *out)
{
    int code = fake_enter(call, device->gpu);
    if (code != OK)
        return code;
    const struct fake_script *script = &fake_state()->script;
    struct fake_fill fill = {
        .out = out, .row_bytes = script->row_bytes ? script->row_bytes : ROW_BYTES, .capacity = *count};
    if (IS_GARBAGE) {
        for (uint32_t i = 0; i < fill.capacity; i++)
            fake_put_process(&fill, i % 2 ? i : 0, UINT64_MAX - i - 1);
        *count += 1000;
        return OK;
    }
    struct fake_fill counting = {.row_bytes = fill.row_bytes};
    fake_fill_processes(device, kind, &counting);
    bool is_short = counting.count > fill.capacity;
    if (is_short && script->partial < fill.capacity)
        fill.capacity = script->partial;
    if (!is_short && script->wipe)
        memset(fill.out, 0, fill.capacity * fill.row_bytes);
    fake_fill_processes(device, kind, &fill);
    *count = (unsigned)counting.count;
    return is_short ? INSUFFICIENT_SIZE : OK;
}

FAKE(NEWEST(nvmlDeviceGetComputeRunningProcesses, _v3), struct fake_device *device, unsigned *count, void *out)
{
    return fake_list(__func__, device, "compute", count, out);
}

FAKE(NEWEST(nvmlDeviceGetGraphicsRunningProcesses, _v3), struct fake_device *device, unsigned *count, void *out)
{
    return fake_list(__func__, device, "graphics", count, out);
}

#ifndef FAKE_NVML_OLD
FAKE(nvmlDeviceGetMPSComputeRunningProcesses_v3, struct fake_device *device, unsigned *count, void *out)
{
    return fake_list(__func__, device, "mps", count, out);
}
#endif

static void fake_put_sample(struct fake_fill *fill, uint32_t pid, uint64_t time_us, uint64_t sm)
{
    struct {
        uint32_t pid;
        uint64_t time_us;
        uint32_t sm, memory, encoder, decoder;
    } sample = {.pid = pid, .time_us = time_us, .sm = (uint32_t)sm};
    if (fill->count < fill->capacity)
        memcpy(fill->out + fill->count * sizeof(sample), &sample, sizeof(sample));
    fill->count++;
}

static void fake_fill_samples(const struct fake_device *device, uint64_t now_us, uint64_t since, struct fake_fill *fill)
{
    const struct fake_script *script = &fake_state()->script;
    for (size_t i = 0; i < script->sample_count; i++) {
        const struct fake_row *row = &script->samples[i];
        uint64_t time_us = now_us - row->age_ms * 1000;
        uint32_t pid = fake_row_pid(row);
        if (row->gpu == device->gpu && time_us > since && (pid != 0 || row->pid[0] != 'p'))
            fake_put_sample(fill, pid, time_us, row->sm);
    }
    for (uint64_t i = 0; i < fake_gpu(device)->sample_crowd; i++)
        fake_put_sample(fill, CROWD_FIRST_PID + (uint32_t)i, now_us, 1);
}

FAKE(nvmlDeviceGetProcessUtilization, struct fake_device *device, void *out, unsigned *count, unsigned long long since)
{
    int code = fake_enter(__func__, device->gpu);
    if (code != OK)
        return code;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    struct fake_fill fill = {.out = out, .capacity = *count};
    if (IS_GARBAGE) {
        for (uint32_t i = 0; i < fill.capacity; i++)
            fake_put_sample(&fill, i % 4, i % 4 == 2 ? since : now_us, i % 4 == 1 ? 65535 : 7);
        *count += 1000;
        return OK;
    }
    fake_fill_samples(device, now_us, since, &fill);
    *count = (unsigned)fill.count;
    if (fill.count == 0)
        return NOT_FOUND;
    return fill.count > fill.capacity ? INSUFFICIENT_SIZE : OK;
}

#endif
