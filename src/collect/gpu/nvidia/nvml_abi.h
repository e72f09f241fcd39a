/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of libnvidia-ml.so.1 on 64-bit Linux, as far as we call it: the numbers it answers and the
 * layouts it fills. Our own definitions of what NVIDIA documents in the NVML reference manual.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_ABI_H
#define COLLECT_GPU_NVIDIA_NVML_ABI_H

#include <stdint.h>

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

/* The older two calls fill a shorter struct with the short address alone in front: the tail is room for what they add.
 */
struct nvml_pci {
    char short_bus[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
    unsigned char room[60];
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

#endif
