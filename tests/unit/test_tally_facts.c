/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tally_scenario.h"

#define GIB (UINT64_C(1) << 30)

static void test_end(void **state)
{
    char name[] = "python3", command[400];
    memset(command, 'x', sizeof(command) - 1);
    command[sizeof(command) - 1] = '\0';
    struct sample_process by_cpu[10] = {
        {.pid = some_u64(1), .name = name, .command = command, .rss_mib = some_f64(5), .cpu_secs = some_f64(9)},
        {.pid = some_u64(2)}};
    struct sample sample = second(1, 1, 100);
    add_sample(*state, &sample);
    sample = second(2, 1, 100);
    sample.end = (struct sample_end){.present = true,
        .exit_code = some_i64(0),
        .minor_faults = some_u64(100),
        .voluntary_switches = some_u64(7),
        .involuntary_switches = some_u64(3),
        .processes_seen = some_u64(12),
        .processes_by_cpu = {true, 10, by_cpu}};
    add_sample(*state, &sample);
    name[0] = command[0] = '?';
    accumulate_next_run(*state);
    /* A run with less CPU time, and more of the rest. */
    struct sample_process other = {.name = "other"};
    sample = second(1, 0.5, 100);
    sample.end = (struct sample_end){.present = true,
        .exit_code = some_i64(0),
        .minor_faults = some_u64(200),
        .voluntary_switches = some_u64(8),
        .processes_by_cpu = {true, 1, &other}};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->memory.minor_faults.v, 150); /* means per run */
    assert_int_equal(summary->cpu.voluntary_switches.v, 8);
    assert_int_equal(summary->cpu.involuntary_switches.v, 3);
    assert_int_equal(summary->cpu.processes_seen.v, 12);
    assert_int_equal(summary->cpu.processes.count, SUMMARY_PROCESSES_MAX);
    const struct sample_process *processes = summary->cpu.processes.items;
    assert_string_equal(processes[0].name, "python3");
    assert_int_equal(strlen(processes[0].command), SAMPLE_PROCESS_BYTES - 1);
    assert_int_equal(processes[0].command[0], 'x');
    assert_f64(processes[0].cpu_secs, 9);
    assert_null(processes[1].name);
    assert_null(processes[1].command);
}

/* Recordings of older versions. */
static void test_end_without_facts(void **state)
{
    struct sample sample = second(1, 1, 100);
    sample.end = (struct sample_end){.present = true, .exit_code = some_i64(0)};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_false(summary->memory.minor_faults.has);
    assert_false(summary->cpu.voluntary_switches.has);
    assert_false(summary->cpu.processes_seen.has);
    assert_false(summary->cpu.processes.present);
    assert_false(summary->memory.cgroup_is_own.has);
    assert_null(summary->memory.cgroup_path);
    assert_false(summary->metadata.present);
    assert_false(summary->tags.present);
    assert_false(summary->machine.present);
}

static void test_machine(void **state)
{
    static const struct opt_f64 cpus[4] = {{true, 1}, {true, 1}, {true, 1}, {true, 1}};
    struct str_pair details[] = {{"driver", "nvidia"}, {"driver_version", "570.86"}};
    struct sample_gpu gpu = {.uuid = "GPU-1", .name = "NVIDIA H200", .detail = {true, 2, details}};
    struct str_pair metadata[] = {{"project_name", "p"}, {"executor", "slurm"}}, tags[] = {{"a", "1"}, {"b", NULL}};
    char model[] = "CPU of a kind", path[] = "/user.slice";
    struct sample sample = second(1, 1, 100);
    sample.run = (struct sample_run){.present = true,
        .cpu_model = model,
        .cgroup_path = path,
        .cgroup_is_own = some_bool(false),
        .cpus_allowed = some_u64(2),
        .metadata = {true, 2, metadata},
        .tags = {true, 2, tags}};
    sample.cpu.per_core_pct = (struct sample_list){true, 4, cpus};
    sample.memory = (struct sample_memory){.present = true, .total_mib = some_f64(8192), .swap_total_mib = some_f64(0)};
    sample.gpu = (struct sample_list){true, 1, &gpu};
    add_sample(*state, &sample);
    model[0] = path[0] = '?';
    metadata[0] = tags[0] = details[1] = (struct str_pair){"gone", "gone"};
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_machine *machine = &summary->machine;
    assert_true(machine->present);
    assert_string_equal(machine->cpu_model, "CPU of a kind");
    assert_int_equal(machine->cpus.v, 4);
    assert_f64(machine->memory_mib, 8192);
    assert_f64(machine->swap_mib, 0);
    assert_int_equal(machine->gpus.count, 1);
    assert_string_equal(((const char *const *)machine->gpus.items)[0], "NVIDIA H200");
    assert_string_equal(machine->gpu_driver, "570.86");
    assert_string_equal(summary->memory.cgroup_path, "/user.slice");
    assert_true(summary->memory.cgroup_is_own.has && !summary->memory.cgroup_is_own.v);
    const struct str_pair *kept = summary->metadata.items;
    assert_int_equal(summary->metadata.count, 2);
    assert_string_equal(kept[0].key, "project_name");
    assert_string_equal(kept[1].value, "slurm");
    kept = summary->tags.items;
    assert_int_equal(summary->tags.count, 2);
    assert_string_equal(kept[0].key, "a");
    assert_string_equal(kept[0].value, "1");
    assert_string_equal(kept[1].value, "");
}

static void test_many_tags_are_bounded(void **state)
{
    static char value[6000];
    memset(value, 'v', sizeof(value) - 1);
    struct str_pair tags[100];
    for (size_t i = 0; i < 100; i++)
        tags[i] = (struct str_pair){i % 7 == 6 ? NULL : i == 3 ? value : "key", i % 2 ? value : "short"};
    struct sample sample = second(1, 1, 100);
    sample.run = (struct sample_run){.present = true, .metadata = {true, 100, tags}, .tags = {true, 100, tags}};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->tags.count > 4 && summary->tags.count <= 32);
    const struct str_pair *kept = summary->tags.items;
    for (size_t i = 0; i < summary->tags.count; i++) {
        assert_string_equal(kept[i].key, "key");
        assert_true(strlen(kept[i].value) < 512);
    }
}

/* Devices keep their place by UUID, whatever the order of a sample. */
static void test_devices(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sample_gpu gpus[2] = {
            {.uuid = "GPU-a",
                .name = "NVIDIA H200",
                .host_id = "0",
                .utilization_pct = some_f64(50),
                .process_utilization_pct = some_f64(i * 20),
                .process_vram_bytes = some_u64(i * GIB),
                .vram_total_bytes = some_u64(80 * GIB),
                .power_watts = some_f64(100 + i),
                .temperature_celsius = some_f64(60 - i)},
            {.uuid = "GPU-b", .name = "NVIDIA L4"},
        };
        struct sample_gpu swapped[2] = {gpus[1], gpus[0]};
        struct sample sample = second(i + 1, 1, 100);
        sample.gpu = (struct sample_list){true, 2, i == 2 ? swapped : gpus};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->gpu.devices.count, 2);
    const struct summary_gpu_device *device = summary->gpu.devices.items;
    assert_string_equal(device->name, "NVIDIA H200");
    assert_string_equal(device->host_id, "0");
    assert_string_equal(device->driver, "nvidia"); /* by its UUID */
    assert_f64(device->usage_mean_pct, 30);
    assert_f64(device->usage_peak_pct, 60);
    assert_f64(device->vram_peak_mib, 3072);
    assert_f64(device->vram_total_mib, 81920);
    assert_f64(device->host_usage_mean_pct, 50);
    assert_f64(device->power_mean_watts, 101.5);
    assert_f64(device->power_peak_watts, 103);
    assert_f64(device->temperature_peak_celsius, 60);
    assert_false(device->is_reserved);
    assert_string_equal(device[1].name, "NVIDIA L4");
    assert_null(device[1].host_id);
    assert_false(device[1].usage_mean_pct.has);
    assert_false(device[1].vram_peak_mib.has);
}

static void test_devices_are_bounded(void **state)
{
    struct sample_gpu gpus[40] = {0};
    char uuids[40][32];
    for (size_t i = 0; i < 40; i++) {
        memcpy(uuids[i], "GPU-00", 7);
        uuids[i][4] = (char)('0' + i / 10);
        uuids[i][5] = (char)('0' + i % 10);
        gpus[i].uuid = i % 3 ? uuids[i] : NULL;
        gpus[i].process_vram_bytes = some_u64(UINT64_MAX);
    }
    for (unsigned i = 1; i <= 3; i++) {
        struct sample sample = second(i, 1, 100);
        sample.gpu = (struct sample_list){true, 40, gpus};
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->gpu.devices.count, SUMMARY_GPUS_MAX);
    assert_int_equal(summary->gpu.count.v, 40);
}

static const struct summary *held(struct accumulator *tally, const double *gib, unsigned count, double total_gib)
{
    for (unsigned i = 0; i < count; i++) {
        struct sample_gpu gpu = {.uuid = "GPU-a",
            .vram_total_bytes = some_u64((uint64_t)(total_gib * (double)GIB)),
            .process_vram_bytes = some_u64((uint64_t)(gib[i] * (double)GIB))};
        struct sample sample = second(i + 1, 1, 100);
        sample.gpu = (struct sample_list){true, 1, &gpu};
        sample.cpu.process_gpu_vram_mib = some_f64(gib[i] * 1024);
        sample.cpu.process_gpu_usage = some_f64(0.5);
        sample.cpu.process_gpu_utilized = some_u64(1);
        add_sample(tally, &sample);
    }
    return accumulate_finish(tally);
}

/* A pool of a framework, and what is none. */
static void test_reserved_device_memory(void **state)
{
    (void)state;
    static const struct {
        double gib[8];
        double total_gib;
        bool is_reserved;
    } cases[] = {
        {{0, 0.5, 60, 60, 60, 60, 60, 0}, 80, true}, /* at once */
        {{0, 10, 20, 40, 60, 60, 60, 0}, 80, false}, /* little by little */
        {{0, 60, 60, 60, 60, 60, 62, 0}, 80, true}, /* noise */
        {{0, 60, 60, 60, 60, 60, 64, 0}, 80, false}, /* it grew */
        {{0, 60, 60, 60, 20, 60, 60, 0}, 80, false}, /* and it can shrink */
        {{0, 39, 39, 39, 39, 39, 39, 0}, 80, false}, /* not the most of the device */
        {{0, 0, 0, 0, 60, 60, 60, 60}, 80, false}, /* not seen for long enough */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accumulator *tally;
        assert_int_equal(accumulate_new(&tally), 0);
        const struct summary *summary = held(tally, cases[i].gib, 8, cases[i].total_gib);
        const struct summary_gpu_device *device = summary->gpu.devices.items;
        assert_int_equal(device->is_reserved, cases[i].is_reserved);
        assert_int_equal(!summary->sizing.vram_mib.has, cases[i].is_reserved);
        accumulate_free(tally);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_end),
        TEST(test_end_without_facts),
        TEST(test_machine),
        TEST(test_many_tags_are_bounded),
        TEST(test_devices),
        TEST(test_devices_are_bounded),
        TEST(test_reserved_device_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
