/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading libnvidia-ml.so.1. A function whose layout changed with its version has a slot for each layout; the others
 * have one slot and a row of names, newest first.
 */
#include "collect/gpu/nvidia/nvml_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

enum { NAMES_MAX = 2, WORDS_BYTES = 160 };

struct nvml_symbol {
    size_t slot;
    const char *names[NAMES_MAX]; /* NULL behind the last one */
    bool is_required;
};

#define SLOT(member) .slot = offsetof(struct nvml_calls, member)

static const struct nvml_symbol nvml_symbols[] = {
    {SLOT(init), .names = {"nvmlInit_v2", "nvmlInit"}, .is_required = true},
    {SLOT(get_count), .names = {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, .is_required = true},
    {SLOT(get_handle), .names = {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}, .is_required = true},
    {SLOT(get_error_text), .names = {"nvmlErrorString"}},
    {SLOT(get_driver_version), .names = {"nvmlSystemGetDriverVersion"}},
    {SLOT(get_cuda_version), .names = {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}},
    {SLOT(get_index), .names = {"nvmlDeviceGetIndex"}},
    {SLOT(get_uuid), .names = {"nvmlDeviceGetUUID"}},
    {SLOT(get_name), .names = {"nvmlDeviceGetName"}},
    {SLOT(get_pci_v3), .names = {"nvmlDeviceGetPciInfo_v3"}},
    {SLOT(get_pci_v2), .names = {"nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}},
    {SLOT(get_core_count), .names = {"nvmlDeviceGetNumGpuCores"}},
    {SLOT(get_mig_mode), .names = {"nvmlDeviceGetMigMode"}},
    {SLOT(get_mig_slots), .names = {"nvmlDeviceGetMaxMigDeviceCount"}},
    {SLOT(get_mig_handle), .names = {"nvmlDeviceGetMigDeviceHandleByIndex"}},
    {SLOT(get_utilization), .names = {"nvmlDeviceGetUtilizationRates"}},
    {SLOT(get_memory_v2), .names = {"nvmlDeviceGetMemoryInfo_v2"}},
    {SLOT(get_memory_v1), .names = {"nvmlDeviceGetMemoryInfo"}},
    {SLOT(get_temperature), .names = {"nvmlDeviceGetTemperature"}},
    {SLOT(get_power), .names = {"nvmlDeviceGetPowerUsage"}},
    {SLOT(get_clock), .names = {"nvmlDeviceGetClockInfo"}},
    {SLOT(get_reasons),
        .names = {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
    {SLOT(get_energy), .names = {"nvmlDeviceGetTotalEnergyConsumption"}},
    {SLOT(list_wide[NVML_LIST_COMPUTE]),
        .names = {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
    {SLOT(list_wide[NVML_LIST_GRAPHICS]),
        .names = {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}},
    {SLOT(list_wide[NVML_LIST_MPS]),
        .names = {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"}},
    {SLOT(list_narrow[NVML_LIST_COMPUTE]), .names = {"nvmlDeviceGetComputeRunningProcesses"}},
    {SLOT(list_narrow[NVML_LIST_GRAPHICS]), .names = {"nvmlDeviceGetGraphicsRunningProcesses"}},
    {SLOT(list_narrow[NVML_LIST_MPS]), .names = {"nvmlDeviceGetMPSComputeRunningProcesses"}},
    {SLOT(list_samples), .names = {"nvmlDeviceGetProcessUtilization"}},
};

#undef SLOT

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym gives functions as well");

void nvml_load_clean(char *text, size_t size)
{
    size_t n = 0;
    while (n < size - 1 && (unsigned char)text[n] >= 0x20 && text[n] != 0x7f)
        n++;
    text[n] = '\0';
}

/* dlerror's text starts with the file that it is about, which may be another one that the library needs. */
static int nvml_load_refused(const char *library, struct err *err)
{
    char words[WORDS_BYTES] = "";
    const char *text = dlerror();
    (void)str_copy(str_of(text ? text : "dlopen failed"), words, sizeof(words));
    nvml_load_clean(words, sizeof(words));
    size_t n = strlen(library);
    bool is_unopened = strncmp(words, library, n) == 0 && strncmp(words + n, ": cannot open", 13) == 0;
    if (!is_unopened)
        return err_set(err, -ELIBBAD, "%s", words);
    return err_set(err, strstr(words, "Permission denied") ? -EACCES : -ENOENT, "%s", words);
}

static bool nvml_load_symbol(void *handle, const struct nvml_symbol *symbol, struct nvml_calls *calls)
{
    for (size_t i = 0; i < NAMES_MAX && symbol->names[i]; i++) {
        void *found = dlsym(handle, symbol->names[i]);
        if (found) {
            memcpy((char *)calls + symbol->slot, &found, sizeof(found));
            return true;
        }
    }
    return false;
}

int nvml_load(const char *library, struct nvml_calls *ret_calls, struct err *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return nvml_load_refused(library, err);
    struct nvml_calls calls = {0};
    for (size_t i = 0; i < sizeof(nvml_symbols) / sizeof(nvml_symbols[0]); i++) {
        const struct nvml_symbol *symbol = &nvml_symbols[i];
        if (!nvml_load_symbol(handle, symbol, &calls) && symbol->is_required)
            return err_set(err, -ELIBBAD, "%s has no %s", library, symbol->names[0]);
    }
    *ret_calls = calls;
    return 0;
}

int nvml_load_explain(const struct nvml_calls *calls, const char *call, int code, struct err *err)
{
    switch (code) {
    case NVML_DRIVER_NOT_LOADED:
        return err_set(err, -ENODEV, "the NVIDIA driver is not loaded");
    case NVML_NO_PERMISSION:
        return err_set(err, -EACCES, "no permission to talk to the NVIDIA driver");
    case NVML_VERSION_MISMATCH:
        return err_set(err, -ELIBACC, "NVIDIA driver and library versions differ (reload the driver or reboot)");
    case NVML_LIBRARY_NOT_FOUND:
        return err_set(err, -ENOENT, "a library that the NVIDIA driver needs is missing");
    default:
        break;
    }
    char words[WORDS_BYTES] = "";
    const char *text = calls->get_error_text ? calls->get_error_text(code) : NULL;
    if (text)
        (void)str_copy((struct str){text, strnlen(text, sizeof(words) - 1)}, words, sizeof(words));
    nvml_load_clean(words, sizeof(words));
    return err_set(err, -EIO, "%s answered %d%s%s", call, code, words[0] ? ": " : "", words);
}
