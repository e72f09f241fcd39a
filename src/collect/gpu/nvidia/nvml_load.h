/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's functions, found by name at run time: the newest version of each that it has.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_LOAD_H
#define COLLECT_GPU_NVIDIA_NVML_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/gpu/nvidia/nvml_abi.h"

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

/* dlopen and look up. Returns 0, -ENOENT, -EACCES or -ELIBBAD; the library stays loaded. */
int nvml_load(const char *library, struct nvml_calls *ret_calls, struct err *err);

/* Makes the error for a code other than NVML_OK that `call` answered; returns a negative errno. */
int nvml_load_explain(const struct nvml_calls *calls, const char *call, int code, struct err *err);

/* Texts of the library may lack a NUL or hold control bytes: ends the text before the first of these. */
void nvml_load_clean(char *text, size_t size);

#endif
