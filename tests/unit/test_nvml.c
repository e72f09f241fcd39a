/* SPDX-License-Identifier: Apache-2.0 */
/* The NVIDIA library as we use it, against libraries that play a script (tests/fake/fake_nvml.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/gpu/nvidia/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scratch.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static const char *library(const char *variable)
{
    const char *path = getenv(variable);
    assert_non_null(path);
    return path;
}

static int open_with(const char *variable, const char *script, struct nvml **ret_nvml, struct err *err)
{
    assert_int_equal(setenv("FAKE_NVML", script, 1), 0);
    return nvml_open(library(variable), ret_nvml, err);
}

static struct nvml *must_open(const char *script)
{
    struct nvml *nvml = NULL;
    struct err err = {0};
    int r = open_with("FAKE_NVML_LIB", script, &nvml, &err);
    assert_string_equal(err.msg, "");
    assert_int_equal(r, 0);
    assert_non_null(nvml);
    return nvml;
}

static void assert_refused(const char *variable, const char *script, int code, const char *text)
{
    struct nvml *nvml = NULL;
    struct err err = {0};
    assert_int_equal(open_with(variable, script, &nvml, &err), code);
    assert_null(nvml);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.msg, text));
    assert_null(strchr(err.msg, '\n'));
}

static void assert_u64(struct opt_u64 value, uint64_t expected)
{
    assert_true(value.has);
    assert_int_equal(value.v, expected);
}

static void assert_f64(struct opt_f64 value, double expected)
{
    assert_true(value.has);
    assert_true(value.v == expected);
}

static struct nvml_reading reading_of(const struct nvml *nvml, size_t card)
{
    struct nvml_reading reading;
    memset(&reading, 0xff, sizeof(reading));
    nvml_read(nvml, card, &reading);
    return reading;
}

static const struct nvml_process *process_of(const struct nvml_processes *processes, uint32_t pid)
{
    const struct nvml_process *found = NULL;
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->items[i].pid == pid) {
            assert_null(found);
            found = &processes->items[i];
        }
    }
    assert_non_null(found);
    return found;
}

static void test_two_gpus(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpus 2; gpu 1 name NVIDIA H200; gpu 1 uuid GPU-abc; gpu 1 bus 00000000:0A:06.0\n"
                                  "gpu 1 index 7; gpu 1 cores 14592; gpu 1 util 97; gpu 1 memutil 33; gpu 1 temp 0\n"
                                  "gpu 1 power 123456; gpu 1 clock 1980; gpu 1 throttle 0x44; gpu 1 energy 2500");
    assert_int_equal(nvml_card_count(nvml), 2);
    struct nvml_facts facts;
    nvml_get_facts(nvml, 0, &facts);
    assert_string_equal(facts.name, "Fake H200");
    assert_string_equal(facts.uuid, "GPU-00000000-0000-0000-0000-000000000000");
    assert_string_equal(facts.pci_bus, "0000:01:00.0");
    assert_string_equal(facts.driver_version, "580.159.04");
    assert_string_equal(facts.cuda_version, "13.0");
    assert_string_equal(facts.parent_uuid, "");
    assert_u64(facts.index, 0);
    assert_u64(facts.core_count, 16896);
    nvml_get_facts(nvml, 1, &facts);
    assert_string_equal(facts.name, "NVIDIA H200");
    assert_string_equal(facts.uuid, "GPU-abc");
    assert_string_equal(facts.pci_bus, "0000:0a:06.0");
    assert_u64(facts.index, 7);
    assert_u64(facts.core_count, 14592);

    struct nvml_reading reading = reading_of(nvml, 1);
    assert_f64(reading.utilization_pct, 97);
    assert_f64(reading.memory_utilization_pct, 33);
    assert_u64(reading.vram_total_bytes, 80 * GIB);
    assert_u64(reading.vram_used_bytes, 10 * GIB);
    assert_f64(reading.temperature_celsius, 0);
    assert_f64(reading.power_watts, 123.456);
    assert_f64(reading.frequency_mhz, 1980);
    assert_u64(reading.throttle_mask, 0x44);
    assert_f64(nvml_energy(nvml, 1), 2.5);
    assert_f64(reading_of(nvml, 0).utilization_pct, 50);
    nvml_free(nvml);
}

static void test_no_such_card(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpus 1");
    struct nvml_facts facts = {.name = "x"};
    nvml_get_facts(nvml, 1, &facts);
    assert_string_equal(facts.name, "");
    assert_false(reading_of(nvml, 1).utilization_pct.has);
    assert_false(nvml_energy(nvml, SIZE_MAX).has);
    struct nvml_processes processes = {.is_known = true, .count = 3};
    nvml_list_processes(nvml, 1, &processes);
    assert_false(processes.is_known);
    assert_int_equal(processes.count, 0);
    struct nvml_samples samples = {.is_known = true, .count = 3};
    nvml_list_samples(nvml, 1, 0, &samples);
    assert_false(samples.is_known);
    assert_int_equal(samples.count, 0);
    nvml_free(nvml);
    nvml_free(NULL);
}

static void test_more_gpus_than_room(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpus 4000000000");
    assert_int_equal(nvml_card_count(nvml), NVML_CARDS_MAX);
    nvml_free(nvml);
    nvml = must_open("gpus 64; gpu 0 mig 3; gpu 63 mig 2");
    assert_int_equal(nvml_card_count(nvml), NVML_CARDS_MAX);
    nvml_free(nvml);
}

static void test_old_library(void **state)
{
    (void)state;
    struct nvml *nvml = NULL;
    struct err err = {0};
    assert_int_equal(open_with("FAKE_NVML_OLD_LIB",
                         "cuda 11040; gpu 0 bus 0000:3B:00.0; gpu 0 throttle 4; process 0 42 1048576 compute\n"
                         "process 0 43 none graphics; sample 0 42 5",
                         &nvml, &err),
        0);
    assert_int_equal(nvml_card_count(nvml), 1);
    struct nvml_facts facts;
    nvml_get_facts(nvml, 0, &facts);
    assert_string_equal(facts.pci_bus, "0000:3b:00.0");
    assert_string_equal(facts.cuda_version, "11.4");
    assert_false(facts.core_count.has);
    struct nvml_reading reading = reading_of(nvml, 0);
    assert_u64(reading.vram_total_bytes, 80 * GIB);
    assert_u64(reading.vram_used_bytes, 10 * GIB + 512 * MIB);
    assert_u64(reading.throttle_mask, 4);
    assert_false(nvml_energy(nvml, 0).has);
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_true(processes.is_known && !processes.is_cut);
    assert_int_equal(processes.count, 2);
    assert_u64(process_of(&processes, 42)->vram_bytes, MIB);
    assert_false(process_of(&processes, 43)->vram_bytes.has);
    struct nvml_samples samples;
    nvml_list_samples(nvml, 0, 0, &samples);
    assert_true(samples.is_known);
    assert_int_equal(samples.count, 1);
    nvml_free(nvml);
    assert_refused("FAKE_NVML_OLD_LIB", "init_error 15", -EIO, "nvmlInit answered 15");
}

static void test_cannot_load(void **state)
{
    (void)state;
    struct nvml *nvml = NULL;
    struct err err = {0};
    assert_int_equal(nvml_open("libno-such-nvidia-ml.so.1", &nvml, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "libno-such-nvidia-ml.so.1"));
    assert_int_equal(nvml_open("/nonexistent/libnvidia-ml.so.1", &nvml, &err), -ENOENT);

    char dir[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES + 16];
    assert_int_equal(scratch_make(dir), 0);
    (void)snprintf(path, sizeof(path), "%s/lib.so", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 100; i++)
        (void)fprintf(file, "This is a text and no library at all.\n");
    assert_int_equal(fclose(file), 0);
    err_clear(&err);
    assert_int_equal(nvml_open(path, &nvml, &err), -ELIBBAD);
    assert_non_null(strstr(err.msg, path));
    assert_int_equal(nvml_open(dir, &nvml, &err), -ELIBBAD);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(nvml_open(path, &nvml, &err), -ELIBBAD);
    assert_int_equal(nvml_open(path, &nvml, NULL), -ELIBBAD);
    assert_null(nvml);
    assert_int_equal(scratch_remove(dir), 0);
    assert_refused("FAKE_NVML_EMPTY_LIB", "", -ELIBBAD, "has no nvmlDeviceGetCount_v2");
}

static void test_init_errors(void **state)
{
    (void)state;
    assert_refused("FAKE_NVML_LIB", "init_error 9", -ENODEV, "the NVIDIA driver is not loaded");
    assert_refused("FAKE_NVML_LIB", "init_error 4", -EACCES, "permission");
    assert_refused("FAKE_NVML_LIB", "init_error 18", -ELIBACC, "versions differ (reload the driver or reboot)");
    assert_refused("FAKE_NVML_LIB", "init_error 12", -ENOENT, "missing");
    assert_refused("FAKE_NVML_LIB", "init_error 999", -EIO, "nvmlInit answered 999");
    assert_refused("FAKE_NVML_LIB", "init_error 15", -EIO, "nvmlInit answered 15: GPU is lost");
    assert_refused("FAKE_NVML_LIB", "gpus 0", -ENXIO, "the NVIDIA driver knows no device");
    assert_refused("FAKE_NVML_LIB", "fail nvmlDeviceGetCount_v2 9", -ENODEV, "not loaded");
    assert_refused("FAKE_NVML_LIB", "fail nvmlDeviceGetCount* 17", -EIO, "nvmlDeviceGetCount answered 17");
}

static void test_handle_withheld(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpus 3; fail nvmlDeviceGetHandleByIndex_v2 4 0; fail nvmlDeviceGetIndex 3\n"
                                  "fail nvmlDeviceGetHandleByIndex_v2 15 1");
    assert_int_equal(nvml_card_count(nvml), 1);
    struct nvml_facts facts;
    nvml_get_facts(nvml, 0, &facts);
    assert_u64(facts.index, 2);
    assert_string_equal(facts.uuid, "GPU-00000000-0000-0000-0000-000000000002");
    nvml_free(nvml);
    assert_refused("FAKE_NVML_LIB", "gpus 2; fail nvmlDeviceGetHandleByIndex_v2 4", -EACCES, "permission");
    assert_refused("FAKE_NVML_LIB", "gpus 2; fail nvmlDeviceGetHandleByIndex_v2 15", -EIO, "15: GPU is lost");
}

static void test_mig(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpus 2; gpu 1 mig 2; gpu 1 temp 61; gpu 1 clock 1410; gpu 1 throttle 8\n"
                                  "process 1/0 50 1048576 compute; process 1/1 51 2097152 compute\n"
                                  "process 1 52 1 compute; sample 1 50 30");
    assert_int_equal(nvml_card_count(nvml), 3);
    struct nvml_facts facts;
    nvml_get_facts(nvml, 2, &facts);
    assert_string_equal(facts.uuid, "MIG-1-1");
    assert_string_equal(facts.parent_uuid, "GPU-00000000-0000-0000-0000-000000000001");
    assert_string_equal(facts.name, "Fake H200 MIG 1g.18gb");
    assert_string_equal(facts.pci_bus, "0000:02:00.0");
    assert_u64(facts.index, 1);
    assert_false(facts.core_count.has);
    struct nvml_reading reading = reading_of(nvml, 2);
    assert_u64(reading.vram_total_bytes, 40 * GIB);
    assert_u64(reading.vram_used_bytes, 5 * GIB);
    assert_f64(reading.temperature_celsius, 61);
    assert_f64(reading.frequency_mhz, 1410);
    assert_u64(reading.throttle_mask, 8);
    assert_false(reading.utilization_pct.has || reading.memory_utilization_pct.has || reading.power_watts.has);
    assert_false(nvml_energy(nvml, 2).has);
    struct nvml_processes processes;
    nvml_list_processes(nvml, 2, &processes);
    assert_int_equal(processes.count, 1);
    assert_u64(process_of(&processes, 51)->vram_bytes, 2 * MIB);
    struct nvml_samples samples;
    nvml_list_samples(nvml, 2, 0, &samples);
    assert_false(samples.is_known);
    nvml_get_facts(nvml, 0, &facts);
    assert_string_equal(facts.parent_uuid, "");
    assert_f64(reading_of(nvml, 0).utilization_pct, 50);
    nvml_free(nvml);
}

static void test_mig_without_instances(void **state)
{
    (void)state;
    static const char *const scripts[] = {"gpu 0 mig 0", "gpu 0 mig 2; fail nvmlDeviceGetMaxMigDeviceCount 3",
        "gpu 0 mig 2; fail nvmlDeviceGetMigMode 3", "gpu 0 mig 2; fail nvmlDeviceGetMigDeviceHandleByIndex 4"};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct nvml *nvml = must_open(scripts[i]);
        assert_int_equal(nvml_card_count(nvml), 1);
        struct nvml_facts facts;
        nvml_get_facts(nvml, 0, &facts);
        assert_string_equal(facts.uuid, "GPU-00000000-0000-0000-0000-000000000000");
        assert_string_equal(facts.parent_uuid, "");
        assert_f64(reading_of(nvml, 0).power_watts, 100);
        nvml_free(nvml);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *bus, *expected;
    } rows[] = {
        {"00000000:00:06.0", "0000:00:06.0"},
        {"00010000:AB:1F.7", "10000:ab:1f.7"},
        {"0000FFFF:AB:1F.7", "ffff:ab:1f.7"},
        {"0002:00:06.0", "0002:00:06.0"},
        {"no bus: at all", ""},
        {"00000000", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char script[160];
        (void)snprintf(script, sizeof(script),
            "gpu 0 bus %s; gpu 0 name A\x01 B; gpu 0 uuid GPU\x7f-1; driver 1\x1f; cuda 12080", rows[i].bus);
        struct nvml *nvml = must_open(script);
        struct nvml_facts facts;
        nvml_get_facts(nvml, 0, &facts);
        assert_string_equal(facts.pci_bus, rows[i].expected);
        assert_string_equal(facts.name, "A B");
        assert_string_equal(facts.uuid, "GPU -1");
        assert_string_equal(facts.driver_version, "1");
        assert_string_equal(facts.cuda_version, "12.8");
        nvml_free(nvml);
    }
    struct nvml *nvml =
        must_open("fail nvmlDeviceGetPciInfo_v3 3; fail nvmlDeviceGetName 3; fail nvmlDeviceGetUUID 999\n"
                  "fail nvmlSystem* 3; fail nvmlDeviceGetNumGpuCores 3");
    struct nvml_facts facts;
    nvml_get_facts(nvml, 0, &facts);
    assert_string_equal(facts.pci_bus, "0000:01:00.0");
    assert_string_equal(facts.name, "");
    assert_string_equal(facts.uuid, "");
    assert_string_equal(facts.driver_version, "");
    assert_string_equal(facts.cuda_version, "");
    assert_false(facts.core_count.has);
    nvml_free(nvml);
}

static void test_garbage(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("garbage 1; gpu 0 mig 2");
    assert_int_equal(nvml_card_count(nvml), 2);
    nvml_free(nvml);
    nvml = must_open("garbage 1");
    struct nvml_facts facts;
    nvml_get_facts(nvml, 0, &facts);
    assert_int_equal(strlen(facts.name), NVML_TEXT_BYTES - 1);
    assert_int_equal(strlen(facts.uuid), NVML_TEXT_BYTES - 1);
    assert_int_equal(strlen(facts.driver_version), NVML_TEXT_BYTES - 1);
    assert_string_equal(facts.pci_bus, "");
    assert_string_equal(facts.cuda_version, "");
    struct nvml_reading reading = reading_of(nvml, 0);
    assert_false(reading.utilization_pct.has || reading.memory_utilization_pct.has);
    assert_false(reading.vram_total_bytes.has || reading.vram_used_bytes.has);
    assert_false(reading.temperature_celsius.has || reading.power_watts.has || reading.frequency_mhz.has);
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_true(processes.is_known && processes.is_cut);
    assert_int_equal(processes.count, NVML_PROCESSES_MAX / 2);
    assert_false(process_of(&processes, 1)->vram_bytes.has);
    assert_false(process_of(&processes, 255)->vram_bytes.has);
    struct nvml_samples samples;
    nvml_list_samples(nvml, 0, 1000, &samples);
    assert_true(samples.is_known);
    assert_int_equal(samples.count, NVML_PROCESSES_MAX / 4);
    for (size_t i = 0; i < samples.count; i++) {
        assert_int_equal(samples.items[i].pid, 3);
        assert_int_equal(samples.items[i].sm_pct, 7);
    }
    nvml_free(nvml);
}

static void test_limits(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpu 0 util 100; gpu 0 memutil 101; gpu 0 temp 200; gpu 0 power 10000000\n"
                                  "gpu 0 clock 100000; gpu 0 total 5; gpu 0 used 5");
    struct nvml_reading reading = reading_of(nvml, 0);
    assert_f64(reading.utilization_pct, 100);
    assert_false(reading.memory_utilization_pct.has);
    assert_f64(reading.temperature_celsius, 200);
    assert_f64(reading.power_watts, 10000);
    assert_f64(reading.frequency_mhz, 100000);
    assert_u64(reading.vram_used_bytes, 5);
    nvml_free(nvml);
    nvml = must_open("gpu 0 util 101; gpu 0 memutil 0; gpu 0 temp 201; gpu 0 power 10000001\n"
                     "gpu 0 clock 100001; gpu 0 total 0; gpu 0 used 0");
    reading = reading_of(nvml, 0);
    assert_false(reading.utilization_pct.has || reading.temperature_celsius.has || reading.power_watts.has);
    assert_f64(reading.memory_utilization_pct, 0);
    assert_false(reading.frequency_mhz.has || reading.vram_total_bytes.has || reading.vram_used_bytes.has);
    assert_u64(reading.throttle_mask, 0);
    nvml_free(nvml);
}

/* Calls so far whose name is exactly this. */
static size_t calls_of(const char *path, const char *call)
{
    char line[128];
    size_t found = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        found += strcmp(line, call) == 0;
    }
    assert_int_equal(fclose(file), 0);
    return found;
}

static void ask_everything(const struct nvml *nvml, size_t card)
{
    static struct nvml_processes processes;
    static struct nvml_samples samples;
    (void)reading_of(nvml, card);
    nvml_list_processes(nvml, card, &processes);
    nvml_list_samples(nvml, card, 0, &samples);
    (void)nvml_energy(nvml, card);
}

/* How often each was called when everything was asked three times of two cards, of which the first fails with code. */
static void assert_asked(int code, size_t of_first)
{
    static const char *const calls[] = {"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetTemperature",
        "nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo", "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetProcessUtilization",
        "nvmlDeviceGetTotalEnergyConsumption"};
    enum { CALLS = sizeof(calls) / sizeof(calls[0]) };
    char dir[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES + 16], script[2048];
    assert_int_equal(scratch_make(dir), 0);
    (void)snprintf(path, sizeof(path), "%s/calls", dir);
    int n = snprintf(script, sizeof(script), "gpus 2\ncount_file %s\n", path);
    for (size_t i = 0; i < CALLS; i++)
        n += snprintf(script + n, sizeof(script) - (size_t)n, "fail %s %d 0\n", calls[i], code);
    struct nvml *nvml = must_open(script);
    for (int i = 0; i < 3; i++) {
        ask_everything(nvml, 0);
        ask_everything(nvml, 1);
    }
    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(calls_of(path, calls[i]), of_first + 3);
    struct nvml_reading reading = reading_of(nvml, 0);
    assert_false(reading.utilization_pct.has || reading.power_watts.has || reading.throttle_mask.has);
    assert_true(reading.vram_total_bytes.has);
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_false(processes.is_known);
    nvml_list_processes(nvml, 1, &processes);
    assert_true(processes.is_known);
    struct nvml_samples samples;
    nvml_list_samples(nvml, 0, 0, &samples);
    assert_false(samples.is_known);
    nvml_free(nvml);
    assert_int_equal(scratch_remove(dir), 0);
}

static void test_refusals_are_remembered(void **state)
{
    (void)state;
    assert_asked(3, 1);
    assert_asked(13, 1);
    assert_asked(15, 3);
    assert_asked(4, 3);
}

static void test_failure_passes(void **state)
{
    (void)state;
    char dir[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES + 16];
    assert_int_equal(scratch_make(dir), 0);
    (void)snprintf(path, sizeof(path), "%s/script", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "fail nvmlDeviceGetPowerUsage 15\ngpu 0 util 1\n");
    assert_int_equal(fclose(file), 0);
    struct nvml *nvml = must_open(path);
    struct nvml_reading reading = reading_of(nvml, 0);
    assert_false(reading.power_watts.has);
    assert_f64(reading.utilization_pct, 1);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "gpu 0 util 2\ngpu 0 power 5000\n");
    assert_int_equal(fclose(file), 0);
    reading = reading_of(nvml, 0);
    assert_f64(reading.power_watts, 5);
    assert_f64(reading.utilization_pct, 2);
    nvml_free(nvml);
    assert_int_equal(scratch_remove(dir), 0);
}

static void test_memory_versions(void **state)
{
    (void)state;
    static const int codes[] = {25, 2, 3, 13};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char dir[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES + 16], script[256];
        assert_int_equal(scratch_make(dir), 0);
        (void)snprintf(path, sizeof(path), "%s/calls", dir);
        (void)snprintf(script, sizeof(script), "count_file %s; fail nvmlDeviceGetMemoryInfo_v2 %d", path, codes[i]);
        struct nvml *nvml = must_open(script);
        for (int tick = 0; tick < 2; tick++) {
            struct nvml_reading reading = reading_of(nvml, 0);
            assert_u64(reading.vram_total_bytes, 80 * GIB);
            assert_u64(reading.vram_used_bytes, 10 * GIB + 512 * MIB);
        }
        assert_int_equal(calls_of(path, "nvmlDeviceGetMemoryInfo_v2"), 1);
        assert_int_equal(calls_of(path, "nvmlDeviceGetMemoryInfo"), 2);
        nvml_free(nvml);
        assert_int_equal(scratch_remove(dir), 0);
    }
    struct nvml *nvml = must_open("fail nvmlDeviceGetMemoryInfo_v2 15");
    assert_false(reading_of(nvml, 0).vram_total_bytes.has);
    nvml_free(nvml);
    nvml = must_open("fail nvmlDeviceGetMemoryInfo* 3");
    assert_false(reading_of(nvml, 0).vram_total_bytes.has);
    nvml_free(nvml);
}

static void test_processes_once_each(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("process 0 10 100 compute; process 0 10 300 graphics; process 0 11 700 both\n"
                                  "process 0 12 900 compute; process 0 12 200 graphics; process 0 13 none compute\n"
                                  "process 0 13 5 mps; process 0 14 none both; process 0 0 77 compute\n"
                                  "process 0 15 85899345920 compute; process 0 16 85899345921 compute\n"
                                  "process 0 17 0 mps");
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_true(processes.is_known && !processes.is_cut);
    assert_int_equal(processes.count, 8);
    assert_u64(process_of(&processes, 10)->vram_bytes, 300);
    assert_u64(process_of(&processes, 11)->vram_bytes, 700);
    assert_u64(process_of(&processes, 12)->vram_bytes, 900);
    assert_u64(process_of(&processes, 13)->vram_bytes, 5);
    assert_false(process_of(&processes, 14)->vram_bytes.has);
    assert_u64(process_of(&processes, 15)->vram_bytes, 80 * GIB);
    assert_false(process_of(&processes, 16)->vram_bytes.has);
    assert_u64(process_of(&processes, 17)->vram_bytes, 0);
    nvml_free(nvml);
}

static void test_some_lists_fail(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("process 0 10 100 compute; process 0 11 300 graphics\n"
                                  "fail nvmlDeviceGetComputeRunningProcesses_v3 4; fail nvmlDeviceGetMPS* 3\n"
                                  "fail nvmlDeviceGetMemoryInfo* 3");
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_true(processes.is_known);
    assert_int_equal(processes.count, 1);
    assert_u64(process_of(&processes, 11)->vram_bytes, 300);
    nvml_free(nvml);
    nvml = must_open("");
    nvml_list_processes(nvml, 0, &processes);
    assert_true(processes.is_known && !processes.is_cut);
    assert_int_equal(processes.count, 0);
    nvml_free(nvml);
}

static void assert_rows(const char *variable, const char *given)
{
    char script[256];
    (void)snprintf(script, sizeof(script),
        "process 0 10 100 compute; process 0 11 200 compute\n"
        "process 0 12 300 compute; process 0 13 400 graphics; %s",
        given);
    struct nvml *nvml = NULL;
    assert_int_equal(open_with(variable, script, &nvml, NULL), 0);
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_int_equal(processes.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_u64(process_of(&processes, 10 + i)->vram_bytes, 100 * (i + 1));
    nvml_free(nvml);
}

static void test_length_of_rows(void **state)
{
    (void)state;
    assert_rows("FAKE_NVML_LIB", "row_bytes 16");
    assert_rows("FAKE_NVML_LIB", "row_bytes 24");
    assert_rows("FAKE_NVML_LIB", "row_bytes 32");
    assert_rows("FAKE_NVML_LIB", "wipe 1");
    assert_rows("FAKE_NVML_OLD_LIB", "row_bytes 24");
    assert_rows("FAKE_NVML_OLD_LIB", "row_bytes 32");
    assert_rows("FAKE_NVML_OLD_LIB", "wipe 1");
}

static void test_crowds(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        size_t count;
        bool is_cut;
    } rows[] = {
        {"gpu 0 crowd 256", 256, false},
        {"gpu 0 crowd 256; process 0 100255 1 graphics", 256, false},
        {"gpu 0 crowd 256; process 0 7 1 graphics", 256, true},
        {"gpu 0 crowd 257", 256, true},
        {"gpu 0 crowd 256; row_bytes 32", 256, false},
        {"gpu 0 crowd 1024; row_bytes 32", 256, true},
        {"gpu 0 crowd 1025", 0, true},
        {"gpu 0 crowd 1025; process 0 7 1 graphics", 1, true},
        {"gpu 0 crowd 1025; partial 300", 256, true},
        {"gpu 0 crowd 1025; partial 2000", 256, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nvml *nvml = must_open(rows[i].script);
        struct nvml_processes processes;
        nvml_list_processes(nvml, 0, &processes);
        assert_true(processes.is_known);
        assert_int_equal(processes.is_cut, rows[i].is_cut);
        assert_int_equal(processes.count, rows[i].count);
        for (size_t j = 0; j < processes.count; j++)
            assert_int_equal(processes.items[j].pid, rows[i].count == 1 ? 7 : 100000 + j);
        nvml_free(nvml);
    }
}

static void test_pid_from_a_file(void **state)
{
    (void)state;
    char dir[SCRATCH_PATH_BYTES], script[256];
    assert_int_equal(scratch_make(dir), 0);
    (void)snprintf(script, sizeof(script), "process 0 pidfile:%s/pid 100 compute; sample 0 pidfile:%s/pid 9", dir, dir);
    struct nvml *nvml = must_open(script);
    struct nvml_processes processes;
    nvml_list_processes(nvml, 0, &processes);
    assert_int_equal(processes.count, 0);
    char path[SCRATCH_PATH_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/pid", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "4321\n");
    assert_int_equal(fclose(file), 0);
    nvml_list_processes(nvml, 0, &processes);
    assert_int_equal(processes.count, 1);
    assert_int_equal(processes.items[0].pid, 4321);
    struct nvml_samples samples;
    nvml_list_samples(nvml, 0, 0, &samples);
    assert_int_equal(samples.count, 1);
    assert_int_equal(samples.items[0].pid, 4321);
    nvml_free(nvml);
    assert_int_equal(scratch_remove(dir), 0);
}

static void test_samples(void **state)
{
    (void)state;
    uint64_t before_us = (uint64_t)time(NULL) * 1000000;
    struct nvml *nvml = must_open("gpus 2; sample 0 10 98; sample 0 11 100 50; sample 0 12 101; sample 0 0 5\n"
                                  "sample 0 13 0; sample 0 14 3 60000; sample 1 15 1");
    struct nvml_samples samples;
    nvml_list_samples(nvml, 0, before_us - 1000000, &samples);
    assert_true(samples.is_known);
    assert_int_equal(samples.count, 3);
    static const struct nvml_sample expected[] = {{.pid = 10, .sm_pct = 98}, {.pid = 11, .sm_pct = 100}, {.pid = 13}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(samples.items[i].pid, expected[i].pid);
        assert_int_equal(samples.items[i].sm_pct, expected[i].sm_pct);
        assert_true(samples.items[i].time_us >= before_us - 50000);
    }
    assert_true(samples.items[1].time_us < samples.items[0].time_us);
    nvml_list_samples(nvml, 0, UINT64_MAX, &samples);
    assert_true(samples.is_known);
    assert_int_equal(samples.count, 0);
    nvml_free(nvml);
}

static void test_samples_fail(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        size_t count;
        bool is_known;
    } rows[] = {
        {"", 0, true},
        {"sample 0 1 1; fail nvmlDeviceGetProcessUtilization 6", 0, true},
        {"sample 0 1 1; fail nvmlDeviceGetProcessUtilization 4", 0, false},
        {"sample 0 1 1; fail nvmlDeviceGetProcessUtilization 7", 0, false},
        {"gpu 0 sample_crowd 256", 256, true},
        {"gpu 0 sample_crowd 257", 256, true},
        {"gpu 0 sample_crowd 1024", 256, true},
        {"gpu 0 sample_crowd 1025", 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nvml *nvml = must_open(rows[i].script);
        struct nvml_samples samples;
        nvml_list_samples(nvml, 0, 0, &samples);
        assert_int_equal(samples.is_known, rows[i].is_known);
        assert_int_equal(samples.count, rows[i].count);
        nvml_free(nvml);
    }
}

static void test_energy_grows(void **state)
{
    (void)state;
    struct nvml *nvml = must_open("gpu 0 energy 1000; gpu 0 energy_step 250");
    assert_f64(nvml_energy(nvml, 0), 1.0);
    assert_f64(nvml_energy(nvml, 0), 1.25);
    nvml_free(nvml);
}

static void test_reasons(void **state)
{
    (void)state;
    static const char *const expected[] = {NULL, NULL, "sw_power_cap", "hw_slowdown", "sync_boost",
        "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", NULL, NULL};
    for (unsigned bit = 0; bit < sizeof(expected) / sizeof(expected[0]); bit++) {
        if (expected[bit])
            assert_string_equal(nvml_throttle_reason(bit), expected[bit]);
        else
            assert_null(nvml_throttle_reason(bit));
    }
    assert_null(nvml_throttle_reason(63));
    assert_null(nvml_throttle_reason(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_gpus),
        cmocka_unit_test(test_no_such_card),
        cmocka_unit_test(test_more_gpus_than_room),
        cmocka_unit_test(test_old_library),
        cmocka_unit_test(test_cannot_load),
        cmocka_unit_test(test_init_errors),
        cmocka_unit_test(test_handle_withheld),
        cmocka_unit_test(test_mig),
        cmocka_unit_test(test_mig_without_instances),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_refusals_are_remembered),
        cmocka_unit_test(test_failure_passes),
        cmocka_unit_test(test_memory_versions),
        cmocka_unit_test(test_processes_once_each),
        cmocka_unit_test(test_some_lists_fail),
        cmocka_unit_test(test_length_of_rows),
        cmocka_unit_test(test_crowds),
        cmocka_unit_test(test_pid_from_a_file),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_samples_fail),
        cmocka_unit_test(test_energy_grows),
        cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
