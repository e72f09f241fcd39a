/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside nvml.h: the binary interface of libnvidia-ml.so.1 on 64-bit Linux as far as we call it (our own definitions of
 * what NVIDIA documents in the NVML reference manual), its functions as they were found by name, and the cards.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_INTERNAL_H
#define COLLECT_GPU_NVIDIA_NVML_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/gpu/nvidia/nvml.h"

enum nvml_code {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_VERSION_MISMATCH = 18, /* of library and driver */
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999,
};

enum { NVML_SENSOR_GPU = 0, NVML_CLOCK_GRAPHICS = 0, NVML_MIG_ON = 1 };

/* The driver's own: only its address is ours. */
struct nvml_device;

struct nvml_utilization {
    uint32_t gpu_pct, memory_pct;
};

struct nvml_memory_v1 {
    uint64_t total, free, used;
};

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};

#define NVML_MEMORY_V2_VERSION ((uint32_t)(sizeof(struct nvml_memory_v2) | 2U << 24))

/* The older two calls fill a shorter struct with the short address alone in front: the tail is space for what they add.
 */
struct nvml_pci {
    char short_bus[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
    unsigned char padding[60];
};

struct nvml_process_v1 {
    uint32_t pid;
    uint64_t used_bytes;
};

struct nvml_process_v2 {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance, compute_instance;
};

struct nvml_process_v3 {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance, compute_instance;
    uint64_t protected_bytes;
};

struct nvml_process_sample {
    uint32_t pid;
    uint64_t time_us;
    uint32_t sm_pct, memory_pct, encoder_pct, decoder_pct;
};

_Static_assert(sizeof(void *) == 8, "the layouts are those of LP64");
_Static_assert(sizeof(struct nvml_utilization) == 8, "layout");
_Static_assert(sizeof(struct nvml_memory_v1) == 24, "layout");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "layout");
_Static_assert(sizeof(struct nvml_pci) == 68 + 60, "layout");
_Static_assert(sizeof(struct nvml_process_v1) == 16, "layout");
_Static_assert(sizeof(struct nvml_process_v2) == 24, "layout");
_Static_assert(sizeof(struct nvml_process_v3) == 32, "layout");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "layout");

enum nvml_list { NVML_LIST_COMPUTE, NVML_LIST_GRAPHICS, NVML_LIST_MPS, NVML_LIST_COUNT };

/* All but the first three may be NULL. They return an nvml_code. */
struct nvml_calls {
    int (*init)(void);
    int (*get_count)(unsigned *count);
    int (*get_handle)(unsigned index, struct nvml_device **device);

    const char *(*get_error_text)(int code);
    int (*get_driver_version)(char *text, unsigned bytes);
    int (*get_cuda_version)(int *version);

    int (*get_index)(struct nvml_device *device, unsigned *index);
    int (*get_uuid)(struct nvml_device *device, char *text, unsigned bytes);
    int (*get_name)(struct nvml_device *device, char *text, unsigned bytes);
    int (*get_pci_v3)(struct nvml_device *device, struct nvml_pci *pci); /* fills bus_id */
    int (*get_pci_v2)(struct nvml_device *device, struct nvml_pci *pci); /* fills short_bus */
    int (*get_core_count)(struct nvml_device *device, unsigned *count);
    int (*get_mig_mode)(struct nvml_device *device, unsigned *current, unsigned *pending);
    int (*get_mig_slots)(struct nvml_device *device, unsigned *count);
    int (*get_mig_handle)(struct nvml_device *device, unsigned slot, struct nvml_device **instance);

    int (*get_utilization)(struct nvml_device *device, struct nvml_utilization *utilization);
    int (*get_memory_v2)(struct nvml_device *device, struct nvml_memory_v2 *memory);
    int (*get_memory_v1)(struct nvml_device *device, struct nvml_memory_v1 *memory);
    int (*get_temperature)(struct nvml_device *device, int sensor, unsigned *celsius);
    int (*get_power)(struct nvml_device *device, unsigned *milliwatts);
    int (*get_clock)(struct nvml_device *device, int clock, unsigned *mhz);
    int (*get_reasons)(struct nvml_device *device, unsigned long long *mask);
    int (*get_energy)(struct nvml_device *device, unsigned long long *millijoules);

    int (*list_wide[NVML_LIST_COUNT])(struct nvml_device *device, unsigned *count, void *rows);
    int (*list_narrow[NVML_LIST_COUNT])(struct nvml_device *device, unsigned *count, void *rows);
    int (*list_samples)(struct nvml_device *device, void *rows, unsigned *count, unsigned long long since_us);
};

enum nvml_question {
    NVML_ASK_UTILIZATION,
    NVML_ASK_MEMORY_V2,
    NVML_ASK_MEMORY_V1,
    NVML_ASK_TEMPERATURE,
    NVML_ASK_POWER,
    NVML_ASK_CLOCK,
    NVML_ASK_REASONS,
    NVML_ASK_ENERGY,
    NVML_ASK_SAMPLES,
    NVML_ASK_LISTS, /* and one bit more for each further list */
    NVML_ASK_COUNT = NVML_ASK_LISTS + NVML_LIST_COUNT,
};

_Static_assert(NVML_ASK_COUNT <= 32, "a bit each");

struct nvml_card {
    struct nvml_device *device;
    struct nvml_device *board; /* whose sensors are read: the parent of a MIG instance, else device */
    uint32_t refused; /* bits of nvml_question that are not asked any more */
    bool is_lost; /* in this reading it said that it is not there any more */
    struct opt_u64 vram_total_bytes; /* as last read */
    struct nvml_facts facts;
};

/* More than is sent: a list that is too long for the reader still has its first part. */
enum { NVML_ROWS_MAX = 4 * NVML_PROCESSES_MAX };

/* Where the library writes its lists. One row more than it may fill shows where it stopped. */
union nvml_rows {
    struct nvml_process_v1 v1[NVML_ROWS_MAX + 1];
    struct nvml_process_v2 v2[NVML_ROWS_MAX + 1];
    struct nvml_process_v3 v3[NVML_ROWS_MAX + 1];
    struct nvml_process_sample samples[NVML_ROWS_MAX + 1];
    unsigned char bytes[(NVML_ROWS_MAX + 1) * sizeof(struct nvml_process_v3)];
};

/* What changes while reading. */
struct nvml_work {
    struct nvml_card cards[NVML_CARDS_MAX];
    union nvml_rows rows;
};

struct nvml {
    struct nvml_calls calls;
    size_t card_count;
    struct nvml_work *work;
};

/* NULL where there is no such card. */
static inline struct nvml_card *nvml_card_at(const struct nvml *nvml, size_t card)
{
    return card < nvml->card_count ? &nvml->work->cards[card] : NULL;
}

static inline void nvml_card_refuse(struct nvml_card *card, unsigned question)
{
    card->refused |= UINT32_C(1) << question;
}

static inline bool nvml_card_may_ask(const struct nvml_card *card, unsigned question)
{
    return (card->refused & UINT32_C(1) << question) == 0;
}

/* Was the answer a good one? An answer that will not change is remembered, so that it is not asked for again. */
static inline bool nvml_card_accepted(struct nvml_card *card, unsigned question, int code)
{
    if (code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND)
        nvml_card_refuse(card, question);
    if (code == NVML_UNINITIALIZED || code == NVML_DRIVER_NOT_LOADED || code == NVML_GPU_IS_LOST ||
        code == NVML_RESET_REQUIRED)
        card->is_lost = true;
    return code == NVML_OK;
}

#endif
