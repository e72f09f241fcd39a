/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading libnvidia-ml.so.1 and finding its devices. A function whose layout changed with its version has a slot for
 * each layout; the others have one slot and a row for each name, newest first. A GPU in MIG mode is represented by its
 * instances, as jobs see only these; one without instances stays itself.
 */
#include "collect/gpu/nvidia/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "collect/gpu/nvidia/nvml_internal.h"

enum { MESSAGE_BYTES = 160 };

/* The first row of a slot whose name is found counts. */
struct nvml_symbol {
    uint8_t slot; /* in struct nvml_calls, which has nothing but addresses */
    bool is_required; /* of the first row of a slot: one of its names must be there */
    char name[45];
};

#define SLOT(member) (offsetof(struct nvml_calls, member) / sizeof(void *))

static const struct nvml_symbol nvml_symbols[] = {
    {SLOT(init), true, "nvmlInit_v2"},
    {SLOT(init), false, "nvmlInit"},
    {SLOT(get_count), true, "nvmlDeviceGetCount_v2"},
    {SLOT(get_count), false, "nvmlDeviceGetCount"},
    {SLOT(get_handle), true, "nvmlDeviceGetHandleByIndex_v2"},
    {SLOT(get_handle), false, "nvmlDeviceGetHandleByIndex"},
    {SLOT(get_error_text), false, "nvmlErrorString"},
    {SLOT(get_driver_version), false, "nvmlSystemGetDriverVersion"},
    {SLOT(get_cuda_version), false, "nvmlSystemGetCudaDriverVersion_v2"},
    {SLOT(get_cuda_version), false, "nvmlSystemGetCudaDriverVersion"},
    {SLOT(get_index), false, "nvmlDeviceGetIndex"},
    {SLOT(get_uuid), false, "nvmlDeviceGetUUID"},
    {SLOT(get_name), false, "nvmlDeviceGetName"},
    {SLOT(get_pci_v3), false, "nvmlDeviceGetPciInfo_v3"},
    {SLOT(get_pci_v2), false, "nvmlDeviceGetPciInfo_v2"},
    {SLOT(get_pci_v2), false, "nvmlDeviceGetPciInfo"},
    {SLOT(get_core_count), false, "nvmlDeviceGetNumGpuCores"},
    {SLOT(get_mig_mode), false, "nvmlDeviceGetMigMode"},
    {SLOT(get_mig_slots), false, "nvmlDeviceGetMaxMigDeviceCount"},
    {SLOT(get_mig_handle), false, "nvmlDeviceGetMigDeviceHandleByIndex"},
    {SLOT(get_utilization), false, "nvmlDeviceGetUtilizationRates"},
    {SLOT(get_memory_v2), false, "nvmlDeviceGetMemoryInfo_v2"},
    {SLOT(get_memory_v1), false, "nvmlDeviceGetMemoryInfo"},
    {SLOT(get_temperature), false, "nvmlDeviceGetTemperature"},
    {SLOT(get_power), false, "nvmlDeviceGetPowerUsage"},
    {SLOT(get_clock), false, "nvmlDeviceGetClockInfo"},
    {SLOT(get_reasons), false, "nvmlDeviceGetCurrentClocksEventReasons"},
    {SLOT(get_reasons), false, "nvmlDeviceGetCurrentClocksThrottleReasons"},
    {SLOT(get_energy), false, "nvmlDeviceGetTotalEnergyConsumption"},
    {SLOT(list_wide[NVML_LIST_COMPUTE]), false, "nvmlDeviceGetComputeRunningProcesses_v3"},
    {SLOT(list_wide[NVML_LIST_COMPUTE]), false, "nvmlDeviceGetComputeRunningProcesses_v2"},
    {SLOT(list_wide[NVML_LIST_GRAPHICS]), false, "nvmlDeviceGetGraphicsRunningProcesses_v3"},
    {SLOT(list_wide[NVML_LIST_GRAPHICS]), false, "nvmlDeviceGetGraphicsRunningProcesses_v2"},
    {SLOT(list_wide[NVML_LIST_MPS]), false, "nvmlDeviceGetMPSComputeRunningProcesses_v3"},
    {SLOT(list_wide[NVML_LIST_MPS]), false, "nvmlDeviceGetMPSComputeRunningProcesses_v2"},
    {SLOT(list_narrow[NVML_LIST_COMPUTE]), false, "nvmlDeviceGetComputeRunningProcesses"},
    {SLOT(list_narrow[NVML_LIST_GRAPHICS]), false, "nvmlDeviceGetGraphicsRunningProcesses"},
    {SLOT(list_narrow[NVML_LIST_MPS]), false, "nvmlDeviceGetMPSComputeRunningProcesses"},
    {SLOT(list_samples), false, "nvmlDeviceGetProcessUtilization"},
};

#undef SLOT

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym returns functions as well");

/* Texts of the library may lack a NUL or hold control bytes: ends the text before the first of these. */
static void nvml_load_clean(char *text, size_t size)
{
    (void)text_clean((struct str){text, strnlen(text, size - 1)}, TEXT_NAME, "", text, size);
}

/* dlerror's text starts with the file that it is about, which may be another one that the library needs. */
static int nvml_load_refused(const char *library, struct err *err)
{
    char message[MESSAGE_BYTES] = "";
    const char *text = dlerror();
    (void)str_copy(str_of(text ? text : "dlopen failed"), message, sizeof(message));
    nvml_load_clean(message, sizeof(message));
    size_t n = strlen(library);
    bool is_unopened = strncmp(message, library, n) == 0 && strncmp(message + n, ": cannot open", 13) == 0;
    if (!is_unopened)
        return err_set(err, -ELIBBAD, "%s", message);
    return err_set(err, strstr(message, "Permission denied") ? -EACCES : -ENOENT, "%s", message);
}

/* dlopen and look up. Returns 0, -ENOENT, -EACCES or -ELIBBAD; the library stays loaded. */
static int nvml_load(const char *library, struct nvml_calls *ret_calls, struct err *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return nvml_load_refused(library, err);
    void *found[sizeof(struct nvml_calls) / sizeof(void *)] = {0};
    for (size_t i = 0; i < sizeof(nvml_symbols) / sizeof(nvml_symbols[0]); i++) {
        void **slot = &found[nvml_symbols[i].slot];
        *slot = *slot ? *slot : dlsym(handle, nvml_symbols[i].name);
    }
    for (size_t i = 0; i < sizeof(nvml_symbols) / sizeof(nvml_symbols[0]); i++) {
        if (nvml_symbols[i].is_required && !found[nvml_symbols[i].slot])
            return err_set(err, -ELIBBAD, "%s has no %s", library, nvml_symbols[i].name);
    }
    memcpy(ret_calls, found, sizeof(*ret_calls));
    return 0;
}

/* Makes the error for a code other than NVML_OK that `call` answered; returns a negative errno. */
static int nvml_load_explain(const struct nvml_calls *calls, const char *call, int code, struct err *err)
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
    char message[MESSAGE_BYTES] = "";
    const char *text = calls->get_error_text ? calls->get_error_text(code) : NULL;
    if (text)
        (void)str_copy((struct str){text, strnlen(text, sizeof(message) - 1)}, message, sizeof(message));
    nvml_load_clean(message, sizeof(message));
    return err_set(err, -EIO, "%s answered %d%s%s", call, code, message[0] ? ": " : "", message);
}

_Static_assert(sizeof(((struct nvml_pci *)0)->bus_id) <= NVML_TEXT_BYTES, "every address fits");

/* "00000000:0A:00.0" to "0000:0a:00.0": the kernel writes at least four digits of the domain, and lower case. */
static void nvml_put_bus(const char *text, char out[static NVML_TEXT_BYTES])
{
    out[0] = '\0';
    size_t domain = strcspn(text, ":");
    size_t skip = 0;
    while (domain - skip > 4 && text[skip] == '0')
        skip++;
    size_t n = strlen(text + skip);
    if (text[domain] != ':')
        return;
    for (size_t i = 0; i < n; i++) {
        char c = text[skip + i];
        if (ascii_hex_value(c) < 0 && c != ':' && c != '.') {
            out[0] = '\0';
            return;
        }
        out[i] = ascii_to_lower(c);
    }
    out[n] = '\0';
}

static void nvml_ask_bus(const struct nvml_calls *calls, struct nvml_device *device, char out[static NVML_TEXT_BYTES])
{
    struct nvml_pci pci = {0};
    if (calls->get_pci_v3 && calls->get_pci_v3(device, &pci) == NVML_OK) {
        nvml_load_clean(pci.bus_id, sizeof(pci.bus_id));
        nvml_put_bus(pci.bus_id, out);
        return;
    }
    pci = (struct nvml_pci){0};
    if (calls->get_pci_v2 && calls->get_pci_v2(device, &pci) == NVML_OK) {
        nvml_load_clean(pci.short_bus, sizeof(pci.short_bus));
        nvml_put_bus(pci.short_bus, out);
    }
}

static void nvml_ask_text(
    int (*call)(struct nvml_device *, char *, unsigned), struct nvml_device *device, char out[static NVML_TEXT_BYTES])
{
    memset(out, 0, NVML_TEXT_BYTES);
    if (!call || call(device, out, NVML_TEXT_BYTES) != NVML_OK)
        out[0] = '\0';
    nvml_load_clean(out, NVML_TEXT_BYTES);
}

/* 13000 is 13.0, 12080 is 12.8. */
static void nvml_put_cuda(int version, char out[static NVML_TEXT_BYTES])
{
    enum { VERSION_MAX = 1000000 };
    if (version <= 0 || version > VERSION_MAX)
        return;
    char *p = num_write_u64(out, (uint64_t)version / 1000);
    *p++ = '.';
    p = num_write_u64(p, (uint64_t)version % 1000 / 10);
    *p = '\0';
}

/* What all devices have in common. */
static struct nvml_facts nvml_ask_system(const struct nvml_calls *calls)
{
    struct nvml_facts facts = {0};
    char *text = facts.driver_version;
    if (!calls->get_driver_version || calls->get_driver_version(text, sizeof(facts.driver_version)) != NVML_OK)
        text[0] = '\0';
    nvml_load_clean(text, sizeof(facts.driver_version));
    int version = 0;
    if (calls->get_cuda_version && calls->get_cuda_version(&version) == NVML_OK)
        nvml_put_cuda(version, facts.cuda_version);
    return facts;
}

static struct nvml_card nvml_ask_whole(
    const struct nvml_calls *calls, struct nvml_device *device, unsigned nth, const struct nvml_facts *system)
{
    struct nvml_card card = {.device = device, .board = device, .facts = *system};
    nvml_ask_text(calls->get_uuid, device, card.facts.uuid);
    nvml_ask_text(calls->get_name, device, card.facts.name);
    nvml_ask_bus(calls, device, card.facts.pci_bus);
    unsigned index = 0, cores = 0;
    bool is_indexed = calls->get_index && calls->get_index(device, &index) == NVML_OK;
    card.facts.index = some_u64(is_indexed ? index : nth);
    if (calls->get_core_count && calls->get_core_count(device, &cores) == NVML_OK && cores > 0)
        card.facts.core_count = some_u64(cores);
    return card;
}

/* The sensors are the board's; what the whole board draws and does is no instance's. */
static struct nvml_card nvml_ask_instance(
    const struct nvml_calls *calls, struct nvml_device *device, const struct nvml_card *whole)
{
    struct nvml_card card = *whole;
    card.device = device;
    memcpy(card.facts.parent_uuid, whole->facts.uuid, sizeof(card.facts.parent_uuid));
    nvml_ask_text(calls->get_uuid, device, card.facts.uuid);
    nvml_ask_text(calls->get_name, device, card.facts.name);
    if (!card.facts.name[0])
        memcpy(card.facts.name, whole->facts.name, sizeof(card.facts.name));
    card.facts.core_count = (struct opt_u64){0};
    nvml_card_refuse(&card, NVML_ASK_UTILIZATION);
    nvml_card_refuse(&card, NVML_ASK_POWER);
    nvml_card_refuse(&card, NVML_ASK_ENERGY);
    nvml_card_refuse(&card, NVML_ASK_SAMPLES);
    return card;
}

static void nvml_add_card(struct nvml *nvml, const struct nvml_card *card)
{
    if (nvml->card_count < NVML_CARDS_MAX)
        nvml->work->cards[nvml->card_count++] = *card;
}

/* How many slots for instances the device has; 0 where it is not in MIG mode. */
static unsigned nvml_ask_slots(const struct nvml_calls *calls, struct nvml_device *device)
{
    unsigned current = 0, pending = 0, slots = 0;
    if (!calls->get_mig_mode || !calls->get_mig_slots || !calls->get_mig_handle)
        return 0;
    if (calls->get_mig_mode(device, &current, &pending) != NVML_OK || current != NVML_MIG_ON)
        return 0;
    if (calls->get_mig_slots(device, &slots) != NVML_OK)
        return 0;
    return slots < NVML_CARDS_MAX ? slots : NVML_CARDS_MAX;
}

static void nvml_add_device(struct nvml *nvml, const struct nvml_card *whole)
{
    const struct nvml_calls *calls = &nvml->calls;
    unsigned slots = nvml_ask_slots(calls, whole->device);
    bool has_instance = false;
    for (unsigned i = 0; i < slots; i++) {
        struct nvml_device *device = NULL;
        if (calls->get_mig_handle(whole->device, i, &device) != NVML_OK || !device)
            continue;
        struct nvml_card card = nvml_ask_instance(calls, device, whole);
        nvml_add_card(nvml, &card);
        has_instance = true;
    }
    if (!has_instance)
        nvml_add_card(nvml, whole);
}

/* Returns the first code with which the driver held a device back. */
static int nvml_add_devices(struct nvml *nvml, unsigned count)
{
    const struct nvml_facts system = nvml_ask_system(&nvml->calls);
    int first = NVML_OK;
    for (unsigned i = 0; i < count && i < NVML_CARDS_MAX; i++) {
        struct nvml_device *device = NULL;
        int code = nvml->calls.get_handle(i, &device);
        if (code == NVML_OK && !device)
            code = NVML_UNKNOWN;
        if (first == NVML_OK)
            first = code;
        if (code != NVML_OK)
            continue;
        struct nvml_card whole = nvml_ask_whole(&nvml->calls, device, i, &system);
        nvml_add_device(nvml, &whole);
    }
    return first;
}

static struct nvml *nvml_new(const struct nvml_calls *calls)
{
    struct nvml *nvml = calloc(1, sizeof(*nvml));
    if (!nvml)
        return NULL;
    nvml->calls = *calls;
    nvml->work = calloc(1, sizeof(*nvml->work));
    if (nvml->work)
        return nvml;
    free(nvml);
    return NULL;
}

int nvml_open(const char *library, struct nvml **ret_nvml, struct err *err)
{
    struct nvml_calls calls = {0};
    int r = nvml_load(library, &calls, err);
    if (r < 0 || !calls.init)
        return r;
    int code = calls.init();
    if (code != NVML_OK)
        return nvml_load_explain(&calls, "nvmlInit", code, err);
    unsigned count = 0;
    code = calls.get_count(&count);
    if (code != NVML_OK)
        return nvml_load_explain(&calls, "nvmlDeviceGetCount", code, err);
    if (count == 0)
        return err_set(err, -ENXIO, "the NVIDIA driver knows no device");
    struct nvml *nvml = nvml_new(&calls);
    if (!nvml)
        return err_set(err, -EIO, "out of memory for the NVIDIA devices");
    code = nvml_add_devices(nvml, count);
    if (nvml->card_count == 0) {
        nvml_free(nvml);
        return nvml_load_explain(&calls, "nvmlDeviceGetHandleByIndex", code, err);
    }
    *ret_nvml = nvml;
    return 0;
}

void nvml_free(struct nvml *nvml)
{
    if (!nvml)
        return;
    free(nvml->work);
    free(nvml);
}

size_t nvml_card_count(const struct nvml *nvml)
{
    return nvml->card_count;
}

void nvml_get_facts(const struct nvml *nvml, size_t card, struct nvml_facts *ret_facts)
{
    const struct nvml_card *found = nvml_card_at(nvml, card);
    *ret_facts = found ? found->facts : (struct nvml_facts){0};
}
