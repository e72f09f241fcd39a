/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVIDIA management library as far as we need it, loaded at run time. Only the helper process calls this: the
 * library may hang, abort, exit or write anywhere. Every call is made in the newest version that the library has, and
 * what it returns is checked before it is believed.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_H
#define COLLECT_GPU_NVIDIA_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"

enum { NVML_CARDS_MAX = 64, NVML_TEXT_BYTES = 96, NVML_PROCESSES_MAX = 256 };

/* A whole GPU, or one MIG instance of it. */
struct nvml_facts {
    char uuid[NVML_TEXT_BYTES], name[NVML_TEXT_BYTES];
    char pci_bus[NVML_TEXT_BYTES]; /* 0000:00:06.0, as the kernel writes it */
    char driver_version[NVML_TEXT_BYTES], cuda_version[NVML_TEXT_BYTES]; /* "580.159.04", "13.0" */
    char parent_uuid[NVML_TEXT_BYTES]; /* of a MIG instance; "" otherwise */
    struct opt_u64 index; /* as nvidia-smi counts GPUs */
    struct opt_u64 core_count;
};

struct nvml_reading {
    struct opt_f64 utilization_pct, memory_utilization_pct;
    struct opt_u64 vram_total_bytes, vram_used_bytes; /* used as nvidia-smi shows it: without the driver's reserve */
    struct opt_f64 temperature_celsius, power_watts, frequency_mhz;
    struct opt_u64 throttle_mask; /* nvmlClocksThrottleReason bits */
    bool is_lost; /* it answers that it is not there any more (fell off the bus, was reset, driver unloaded) */
};

/* Compute and graphics processes of a device, each once. */
struct nvml_process {
    uint32_t pid;
    struct opt_u64 vram_bytes; /* absent where the driver does not say */
};

struct nvml_processes {
    bool is_known; /* the list could be had */
    bool is_cut; /* there were more */
    size_t count;
    struct nvml_process items[NVML_PROCESSES_MAX];
};

/* Utilization samples per process, newer than what was seen before. */
struct nvml_sample {
    uint32_t pid;
    uint64_t time_us; /* Unix time, as the driver reports it */
    uint32_t sm_pct; /* 0 to 100 */
};

struct nvml_samples {
    bool is_known; /* false: this device cannot report them (MIG, old driver, no permission) */
    size_t count; /* 0: none ran */
    struct nvml_sample items[NVML_PROCESSES_MAX];
};

struct nvml;

/*
 * dlopen, initialise, find the devices. library: a name for dlopen. Returns 0 or a negative errno with a message for
 * users: -ENOENT no such library, -ELIBBAD a library without what we need, -ENODEV no driver, -ENXIO no device,
 * -EACCES no permission, -ELIBACC library and driver do not fit together, -EIO anything else.
 */
int nvml_open(const char *library, struct nvml **ret_nvml, struct err *err);

/* Frees memory only: the library is neither shut down nor unloaded, because both can hang. */
void nvml_free(struct nvml *nvml);

size_t nvml_card_count(const struct nvml *nvml);
void nvml_get_facts(const struct nvml *nvml, size_t card, struct nvml_facts *ret_facts);
void nvml_read(const struct nvml *nvml, size_t card, struct nvml_reading *ret_reading);
void nvml_list_processes(const struct nvml *nvml, size_t card, struct nvml_processes *ret_processes);
void nvml_list_samples(const struct nvml *nvml, size_t card, uint64_t since_us, struct nvml_samples *ret_samples);

/* The energy counter in joules: takes milliseconds, so never for a sample. A MIG instance has none. */
struct opt_f64 nvml_energy(const struct nvml *nvml, size_t card);

/* The name of bit `bit` of throttle_mask ("sw_power_cap"), or NULL for one that is harmless. */
const char *nvml_throttle_reason(unsigned bit);

#endif
