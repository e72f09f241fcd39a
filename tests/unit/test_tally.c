/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/num.h"
#include "model/totals.h"
#include "tally_scenario.h"

static void assert_near(struct opt_f64 value, double wanted)
{
    assert_true(value.has);
    if (!(value.v - wanted < 1e-9 && wanted - value.v < 1e-9))
        fail_msg("%.17g instead of %.17g", value.v, wanted);
}

static void test_cpu(void **state)
{
    double cores[] = {1, 3, 2, 0};
    for (unsigned i = 0; i < 4; i++) {
        struct sample sample = second(i + 1, cores[i], 100);
        sample.cpu.utilization_pct = some_f64(cores[i] + 0.5);
        sample.cpu.process_child_count = some_u64(i);
        sample.cpu.process_thread_count = some_u64(10 - i);
        sample.cgroup.present = true;
        sample.cgroup.throttled_secs = some_f64(0.1);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->cpu.present);
    assert_f64(summary->wall_secs, 4);
    assert_f64(summary->cpu.user_secs, 3);
    assert_f64(summary->cpu.system_secs, 3);
    assert_f64(summary->cpu.total_secs, 6);
    assert_f64(summary->cpu.cores_mean, 1.5);
    assert_f64(summary->cpu.cores_p95, 3);
    assert_f64(summary->cpu.cores_peak, 3);
    assert_f64(summary->cpu.cores_peak_at_secs, 2);
    assert_f64(summary->cpu.host_cores_mean, 2);
    assert_f64(summary->cpu.host_cores_peak, 3.5);
    assert_f64(summary->cpu.throttled_secs, 0.4);
    assert_int_equal(summary->cpu.processes_peak.v, 4);
    assert_int_equal(summary->cpu.threads_peak.v, 10);
    assert_int_equal(summary->started_ms.v, 1700000000000);
    assert_int_equal(summary->finished_ms.v, 1700000004000);
    assert_int_equal(summary->samples.v, 4);
    assert_int_equal(summary->runs.v, 1);
    assert_false(summary->cpu.is_lower_bound.has);
    assert_false(summary->gpu.present);
    assert_false(summary->disk.present);
    assert_false(summary->pressure.present);
    assert_false(summary->missed_samples.has);
}

static void test_short_interval_makes_no_peak(void **state)
{
    struct sample sample = second(1, 1, 100);
    add_sample(*state, &sample);
    sample = second(2, 1.5, 100);
    add_sample(*state, &sample);
    sample = second(2, 9, 300);
    sample.elapsed_secs = some_f64(2.05);
    sample.actual_interval_ms = some_f64(50);
    sample.cpu.process_utime_secs = sample.cpu.process_stime_secs = some_f64(0.225);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.cores_peak, 1.5);
    assert_f64(summary->cpu.cores_peak_at_secs, 2);
    assert_f64(summary->memory.rss_peak_mib, 300); /* memory is no share of an interval */
    assert_f64(summary->cpu.total_secs, 2.95);
}

static void test_p95_is_not_above_the_peak(void **state)
{
    struct sample sample = second(1, 1, 100);
    add_sample(*state, &sample);
    sample = second(2, 4, 100);
    sample.elapsed_secs = some_f64(1.09);
    sample.actual_interval_ms = some_f64(90); /* more than a twentieth of the run, less than a tenth of an interval */
    sample.cpu.process_utime_secs = sample.cpu.process_stime_secs = some_f64(0.04);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.cores_peak, 1);
    assert_f64(summary->cpu.cores_p95, 1);
}

/* The work of a run may all be in intervals that are too short to make a peak. */
static void test_peak_is_not_below_the_mean(void **state)
{
    struct sample sample = second(1, 0.002, 1);
    add_sample(*state, &sample);
    sample = second(2, 0.2, 1);
    sample.elapsed_secs = some_f64(1.01);
    sample.actual_interval_ms = some_f64(10);
    sample.cpu.process_utime_secs = some_f64(0.002);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_true(summary->cpu.cores_mean.v > 0.002);
    assert_true(summary->cpu.cores_peak.v >= summary->cpu.cores_mean.v);
    assert_true(summary->cpu.cores_p95.v <= summary->cpu.cores_peak.v);
}

static void test_short_interval_alone(void **state)
{
    struct sample sample = second(1, 0.9, 10);
    sample.elapsed_secs = some_f64(0.01);
    sample.cpu.process_utime_secs = sample.cpu.process_stime_secs = some_f64(0.0045);
    sample.run.present = true;
    sample.run.interval_secs = some_f64(1);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.cores_peak, 0.9);
    assert_f64(summary->cpu.cores_p95, 0.9);
    assert_f64(summary->interval_secs, 1);
}

static void test_short_interval_first(void **state)
{
    struct sample sample = second(1, 5, 10);
    sample.elapsed_secs = some_f64(0.01);
    sample.cpu.process_utime_secs = sample.cpu.process_stime_secs = some_f64(0.025);
    sample.run.present = true;
    sample.run.interval_secs = some_f64(1);
    add_sample(*state, &sample);
    sample = second(2, 1, 10);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.cores_peak, 1);
    assert_f64(summary->cpu.cores_peak_at_secs, 2);
}

static void test_p95_is_weighted(void **state)
{
    for (unsigned i = 1; i <= 100; i++) {
        struct sample sample = second(i, i <= 95 ? 1 : 4, 10);
        sample.actual_interval_ms = some_f64(i <= 95 ? 1000 : 5000);
        add_sample(*state, &sample);
    }
    assert_f64(accumulate_finish(*state)->cpu.cores_p95, 4);
}

static void test_memory(void **state)
{
    struct sample_process largest[] = {
        {.pid = some_u64(1), .name = "python3", .rss_mib = some_f64(150), .cpu_secs = some_f64(1)},
        {.pid = some_u64(2), .rss_mib = some_f64(50)}};
    double rss[] = {100, 200, 50, 0};
    for (unsigned i = 0; i < 4; i++) {
        struct sample sample = second(i + 1, 1, rss[i]);
        sample.cpu.process_pss_mib = some_f64(rss[i] * 0.5);
        sample.cpu.process_peak_rss_mib = some_f64(i < 3 ? 200 : 260.25);
        sample.cpu.process_major_faults = some_u64(i);
        sample.memory.present = true;
        sample.memory.total_mib = some_f64(1000);
        sample.memory.used_mib = some_f64(500 + i * 10);
        sample.memory.swap_used_mib = some_f64(i == 1 ? 7 : 0);
        if (i < 2)
            sample.processes = (struct sample_list){true, i + 1, largest};
        add_sample(*state, &sample);
    }
    largest[0].name = "gone";
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_memory *memory = &summary->memory;
    assert_f64(memory->rss_peak_mib, 260.25);
    assert_f64(memory->rss_peak_at_secs, 2);
    assert_near(memory->rss_mean_mib, 350.0 / 3); /* not the end, when there was none */
    assert_f64(memory->pss_peak_mib, 100);
    assert_f64(memory->pss_peak_at_secs, 2);
    assert_near(memory->pss_mean_mib, 175.0 / 3);
    assert_f64(summary_memory_need(summary), 260.25);
    assert_f64(memory->limit_mib, 1000);
    assert_string_equal(memory->limit_source, "machine");
    assert_near(memory->limit_used_pct, 26.025);
    assert_int_equal(memory->major_faults.v, 6);
    assert_f64(memory->host_used_mean_mib, 515);
    assert_f64(memory->host_used_peak_mib, 530);
    assert_f64(memory->host_swap_used_peak_mib, 7);
    assert_f64(memory->host_total_mib, 1000);
    assert_int_equal(memory->processes.count, 2);
    const struct sample_process *processes = memory->processes.items;
    assert_string_equal(processes[0].name, "python3");
    assert_null(processes[1].name);
    assert_f64(processes[0].rss_mib, 150);
    assert_f64(memory->processes_at_secs, 2);
    assert_false(memory->cgroup_peak_mib.has);
}

static void test_need_is_pss_else_rss(void **state)
{
    struct sample sample = second(1, 1, 200);
    sample.cpu.process_peak_rss_mib = some_f64(200);
    sample.cpu.process_pss_mib = some_f64(120);
    add_sample(*state, &sample);
    sample = second(2, 1, 100); /* without PSS */
    sample.cpu.process_peak_rss_mib = some_f64(200);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->memory.rss_peak_mib, 200);
    assert_f64(summary_memory_need(summary), 120);
    assert_false(summary->memory.largest_process_mib.has);
    struct summary by_hand = {.memory.rss_peak_mib = some_f64(80)};
    assert_f64(summary_memory_need(&by_hand), 80);
    by_hand.memory.largest_process_mib = some_f64(90);
    assert_f64(summary_memory_need(&by_hand), 90);
    assert_false(summary_memory_need(&(struct summary){0}).has);
}

/* Whatever PSS says, one process needs what it holds: as the end reports it, or the list of the largest. */
static void test_need_is_at_least_the_largest_process(void **state)
{
    struct sample_process largest[] = {{.rss_mib = some_f64(1000)}, {.rss_mib = some_f64(200)}};
    struct sample sample = second(1, 1, 1200);
    sample.cpu.process_peak_rss_mib = some_f64(1200);
    sample.cpu.process_pss_mib = some_f64(600);
    sample.processes = (struct sample_list){true, 2, largest};
    add_sample(*state, &sample);
    sample = second(2, 1, 900);
    sample.cpu.process_peak_rss_mib = some_f64(1200);
    sample.cpu.process_pss_mib = some_f64(500);
    add_sample(*state, &sample);
    sample = second(3, 1, 900);
    sample.end = (struct sample_end){.present = true, .largest_process_mib = some_f64(1100)};
    add_sample(*state, &sample);
    accumulate_next_run(*state);
    /* Another run, without an end. */
    sample = second(1, 1, 1150);
    sample.cpu.process_pss_mib = some_f64(10);
    largest[0].rss_mib = some_f64(1050);
    sample.processes = (struct sample_list){true, 2, largest};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary_memory_need(summary), 1100);
    assert_f64(summary->memory.need_mib, 1100);
    assert_f64(summary->memory.rss_peak_mib, 1200);
    assert_int_equal(summary->sizing.memory_mib.v, 1408);
    assert_non_null(strstr(summary->sizing.memory_reason, "1.07 GiB (largest process) + 20 %"));
}

/* Shared memory that no process maps counts beside what the processes have at the same time. */
static void test_shared_memory_of_the_cgroup(void **state)
{
    struct sample sample = second(1, 1, 50);
    sample.cpu.process_pss_mib = some_f64(40);
    sample.cgroup = (struct sample_cgroup){.present = true, .shmem_unmapped_mib = some_f64(200)};
    add_sample(*state, &sample);
    sample = second(2, 1, 90);
    sample.cpu.process_pss_mib = some_f64(80);
    sample.cgroup = (struct sample_cgroup){.present = true};
    add_sample(*state, &sample);
    sample = second(3, 1, 70);
    sample.cpu.process_pss_mib = some_f64(60);
    sample.cgroup = (struct sample_cgroup){.present = true, .shmem_unmapped_mib = some_f64(190)};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->memory.pss_peak_mib, 80);
    assert_f64(summary->memory.cgroup_shmem_mib, 200);
    assert_f64(summary->memory.need_mib, 250);
    assert_int_equal(summary->sizing.memory_mib.v, 320);
    assert_non_null(strstr(summary->sizing.memory_reason, "peak of 250 MiB (with tmpfs and shared memory) + 20 %"));
}

static void test_limits(void **state)
{
    struct opt_f64 cores[] = {some_f64(1), {0}, some_f64(2), some_f64(3)};
    struct sample sample = second(1, 1, 100);
    sample.cpu.per_core_pct = (struct sample_list){true, 4, cores};
    sample.run.present = true;
    sample.run.cpus_allowed = some_u64(2);
    sample.memory.present = true;
    sample.memory.total_mib = some_f64(1000);
    sample.cgroup.present = true;
    sample.cgroup.cpu_limit_cores = some_f64(1.5);
    sample.cgroup.memory_limit_mib = some_f64(400);
    sample.cgroup.memory_used_mib = some_f64(300);
    add_sample(*state, &sample);
    /* The limits of the newest sample that has the section are those that count. */
    sample.run.present = false;
    sample.cgroup.cpu_limit_cores = (struct opt_f64){0};
    sample.cgroup.memory_limit_mib = some_f64(200);
    sample.cgroup.memory_used_mib = some_f64(100);
    add_sample(*state, &sample);
    sample.cgroup.present = false;
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.limit_cores, 2);
    assert_string_equal(summary->cpu.limit_source, "affinity");
    assert_f64(summary->cpu.limit_used_pct, 50);
    assert_f64(summary->memory.limit_mib, 200);
    assert_string_equal(summary->memory.limit_source, "cgroup");
    assert_f64(summary->memory.limit_used_pct, 50);
    assert_f64(summary->memory.cgroup_peak_mib, 300);
}

/* A peak that came before the first sample is the run's where the cgroup had a lower one before. */
static void test_cgroup_peak(void **state)
{
    (void)state;
    const struct {
        struct opt_f64 before;
        double peak;
    } cases[] = {{some_f64(10), 400}, {some_f64(0), 400}, {some_f64(400), 30}, {{0}, 30}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample sample = second(1, 1, 100);
        sample.run.present = true;
        sample.run.cgroup_peak_mib = cases[i].before;
        sample.cgroup.present = true;
        sample.cgroup.memory_used_mib = some_f64(30);
        sample.cgroup.memory_peak_mib = some_f64(400);
        struct accumulator *tally = NULL;
        assert_int_equal(accumulate_new(&tally), 0);
        add_sample(tally, &sample);
        assert_f64(accumulate_finish(tally)->memory.cgroup_peak_mib, cases[i].peak);
        accumulate_free(tally);
    }
}

static void test_machine_limit(void **state)
{
    struct opt_f64 cores[] = {some_f64(1), {0}, some_f64(2), some_f64(3)};
    struct sample sample = second(1, 1, 100);
    sample.cpu.per_core_pct = (struct sample_list){true, 4, cores};
    sample.run.present = true;
    sample.run.cpus_allowed = some_u64(3);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.limit_cores, 3);
    assert_string_equal(summary->cpu.limit_source, "machine");
    assert_false(summary->memory.limit_mib.has);
    assert_null(summary->memory.limit_source);
}

static void test_disk_and_network(void **state)
{
    struct sample_disk disks[] = {
        {.device = "dm-0", .stacked = some_bool(true), .read_bytes_delta = some_u64(1000)},
        {.device = "sda", .stacked = some_bool(false), .read_bytes_delta = some_u64(10)},
        {.device = "sdb", .read_bytes_delta = some_u64(5)},
        {.device = "sdc"},
    };
    struct sample_network interfaces[] = {
        {.interface = "docker0", .is_virtual = some_bool(true), .rx_bytes_delta = some_u64(100)},
        {.interface = "eth0", .is_virtual = some_bool(false), .rx_bytes_delta = some_u64(7)},
    };
    struct sample sample = second(1, 1, 1);
    sample.cpu.process_disk_read_bytes = some_u64(3);
    sample.disk = (struct sample_list){true, 4, disks};
    sample.network = (struct sample_list){true, 2, interfaces};
    add_sample(*state, &sample);
    add_sample(*state, &sample);
    sample.network.count = 1; /* the hardware is gone: what is left counts */
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->disk.read_bytes.v, 9);
    assert_false(summary->disk.write_bytes.has);
    assert_int_equal(summary->disk.host_read_bytes.v, 45);
    assert_false(summary->disk.host_write_bytes.has);
    assert_true(summary->disk.present);
    assert_int_equal(summary->network.host_received_bytes.v, 114);
    assert_false(summary->network.host_sent_bytes.has);
}

static void test_gpu(void **state)
{
    struct sample_gpu gpus[] = {
        {.name = "NVIDIA H200",
            .utilization_pct = some_f64(50),
            .power_watts = some_f64(100.5),
            .vram_total_bytes = some_u64(UINT64_C(1024) << 20),
            .vram_used_bytes = some_u64(UINT64_C(3) << 19)},
        {.name = "NVIDIA H200",
            .utilization_pct = some_f64(100),
            .power_watts = some_f64(99.5),
            .vram_total_bytes = some_u64(UINT64_C(1024) << 20)},
        {.name = "other"},
    };
    double usage[] = {0.5, 1.5};
    for (unsigned i = 0; i < 2; i++) {
        struct sample sample = second(i + 1, 1, 1);
        sample.gpu = (struct sample_list){true, i + 2, gpus};
        sample.cpu.process_gpu_usage = some_f64(usage[i]);
        sample.cpu.process_gpu_utilized = some_u64(i + 1);
        sample.cpu.process_gpu_vram_mib = some_f64(100 * i);
        add_sample(*state, &sample);
    }
    gpus[0].name = "gone";
    const struct summary *summary = accumulate_finish(*state);
    const struct summary_gpu *gpu = &summary->gpu;
    assert_true(gpu->present);
    assert_int_equal(gpu->count.v, 3);
    assert_int_equal(gpu->names.count, 2);
    assert_string_equal(((const char *const *)gpu->names.items)[0], "NVIDIA H200");
    assert_string_equal(((const char *const *)gpu->names.items)[1], "other");
    assert_f64(gpu->usage_mean, 1);
    assert_f64(gpu->usage_peak, 1.5);
    assert_f64(gpu->usage_p95, 1.5);
    assert_int_equal(gpu->utilized_peak.v, 2);
    assert_f64(gpu->vram_peak_mib, 100);
    assert_f64(gpu->host_usage_mean, 1.5);
    assert_f64(gpu->host_usage_peak, 1.5);
    assert_f64(gpu->host_vram_peak_mib, 1.5);
    assert_f64(gpu->vram_total_mib, 2048);
    assert_f64(gpu->energy_joules, 400);
    assert_string_equal(gpu->energy_source, "power");
}

static void test_gpu_energy_of_the_counter(void **state)
{
    struct sample_gpu gpu = {.power_watts = some_f64(100)};
    struct sample sample = second(1, 1, 1);
    sample.gpu = (struct sample_list){true, 1, &gpu};
    sample.end.present = true;
    sample.end.gpu_energy_joules = some_f64(123.5);
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->gpu.energy_joules, 123.5);
    assert_string_equal(summary->gpu.energy_source, "counter");
    assert_int_equal(summary->gpu.names.count, 0);
}

static void test_pressure_and_tracker(void **state)
{
    for (unsigned i = 1; i <= 3; i++) {
        struct sample sample = second(i, 1, 1);
        sample.pressure = (struct sample_pressure){.present = true, .cpu_some_secs = some_f64(0.1)};
        sample.pressure.io_full_secs = some_f64(0.00004); /* JSON shows 0 */
        sample.tracker = (struct sample_tracker){.present = true, .cpu_secs = some_f64(0.001)};
        sample.tracker.rss_mib = some_f64(2);
        sample.tracker.late_ms = some_f64(i);
        sample.tracker.missed_samples = some_u64(1);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->pressure.cpu_some_secs, 0.3);
    assert_f64(summary->pressure.io_full_secs, 0);
    assert_false(summary->pressure.memory_some_secs.has);
    assert_f64(summary->tracker.cpu_secs, 0.003);
    assert_near(summary->tracker.cpu_pct, 0.1);
    assert_f64(summary->tracker.rss_peak_mib, 2);
    assert_f64(summary->tracker.late_max_ms, 3);
    assert_int_equal(summary->missed_samples.v, 3);
    assert_int_equal(summary->notes.count, 0);
}

static void test_sample_without_times(void **state)
{
    struct sample sample = {.timestamp_secs = some_i64(5), .version = "1"};
    sample.cpu = (struct sample_cpu){.present = true, .process_cores_used = some_f64(2)};
    add_sample(*state, &sample);
    const struct summary *summary = accumulate_finish(*state);
    assert_int_equal(summary->started_ms.v, 5000);
    assert_false(summary->wall_secs.has);
    assert_false(summary->cpu.cores_mean.has);
    assert_f64(summary->cpu.cores_p95, 2);
}

/* As a recording has it: the number of the text. */
static void replay(struct opt_f64 *value)
{
    char text[NUM_TEXT_BYTES];
    char *end = num_write_short(text, value->v);
    assert_non_null(end);
    assert_int_equal(num_parse_f64((struct str){text, (size_t)(end - text)}, &value->v), 0);
}

static void test_replay_equals_live(void **state)
{
    struct accumulator *again;
    assert_int_equal(accumulate_new(&again), 0);
    uint64_t seed = 88172645463325252U;
    double elapsed = 0;
    for (unsigned i = 1; i <= 20000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        double odd = (double)(seed >> 11) / 9007199254740992.0;
        struct sample sample = second(i, odd * 16, odd * 200000);
        elapsed += 0.9 + odd / 5;
        sample.elapsed_secs = some_f64(elapsed);
        sample.actual_interval_ms = some_f64(900 + odd * 200);
        sample.cpu.process_stime_secs = some_f64(odd / 3);
        sample.cgroup = (struct sample_cgroup){.present = true, .memory_limit_mib = some_f64(1000.0 / 3)};
        struct sample_process process = {.rss_mib = some_f64(odd)};
        sample.processes = (struct sample_list){true, 1, &process};
        add_sample(*state, &sample);
        replay(&sample.cgroup.memory_limit_mib);
        replay(&process.rss_mib);
        replay(&sample.elapsed_secs);
        replay(&sample.actual_interval_ms);
        replay(&sample.cpu.process_cores_used);
        replay(&sample.cpu.process_utime_secs);
        replay(&sample.cpu.process_stime_secs);
        replay(&sample.cpu.process_rss_mib);
        add_sample(again, &sample);
    }
    const struct summary *live = accumulate_finish(*state), *replayed = accumulate_finish(again);
    assert_memory_equal(&live->wall_secs.v, &replayed->wall_secs.v, sizeof(double));
    assert_memory_equal(&live->cpu.total_secs.v, &replayed->cpu.total_secs.v, sizeof(double));
    assert_memory_equal(&live->cpu.cores_p95.v, &replayed->cpu.cores_p95.v, sizeof(double));
    assert_memory_equal(&live->memory.rss_mean_mib.v, &replayed->memory.rss_mean_mib.v, sizeof(double));
    assert_memory_equal(&live->memory.rss_peak_mib.v, &replayed->memory.rss_peak_mib.v, sizeof(double));
    assert_memory_equal(&live->memory.limit_used_pct.v, &replayed->memory.limit_used_pct.v, sizeof(double));
    const struct sample_process *largest = live->memory.processes.items,
                                *again_largest = replayed->memory.processes.items;
    assert_memory_equal(&largest->rss_mib.v, &again_largest->rss_mib.v, sizeof(double));
    assert_true(live->cpu.cores_p95.v > 15 && live->cpu.cores_p95.v < 15.4);
    accumulate_free(again);
}

static void test_a_day_is_exact(void **state)
{
    struct sample sample = second(1, 0.1, 100);
    sample.cpu.process_utime_secs = some_f64(0.1);
    for (unsigned i = 1; i <= 86400; i++) {
        sample.elapsed_secs = some_f64(i);
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->cpu.user_secs, 8640);
    assert_int_equal(summary->samples.v, 86400);
}

/* JSON has whole milliseconds; the time since the start is more exact, where no line between is missing. */
static void test_length_of_an_interval(void **state)
{
    (void)state;
    static const struct {
        struct opt_f64 elapsed_secs, interval_ms;
        struct opt_i64 before_fixed4;
        int64_t length_fixed4;
    } cases[] = {
        {{true, 1.5}, {false, 0}, {false, 0}, 15000}, /* a first sample */
        {{true, 2.5104}, {true, 1010}, {true, 15000}, 10104},
        {{true, 2.5104}, {true, 1010.4}, {true, 15000}, 10104}, /* an older recording */
        {{true, 2.5155}, {true, 1016}, {true, 15000}, 10155},
        {{true, 2.5104}, {true, 500}, {true, 15000}, 5000}, /* a line is missing */
        {{true, 2.5104}, {true, 1010}, {false, 0}, 10100},
        {{false, 0}, {true, 1010}, {true, 15000}, 10100},
        {{true, 1.0}, {true, 1010}, {true, 15000}, 10100}, /* the clock of another run */
        {{false, 0}, {false, 0}, {false, 0}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample sample = {.elapsed_secs = cases[i].elapsed_secs, .actual_interval_ms = cases[i].interval_ms};
        assert_int_equal(fixed4_interval(&sample, cases[i].before_fixed4), cases[i].length_fixed4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cpu),
        TEST(test_length_of_an_interval),
        TEST(test_short_interval_makes_no_peak),
        TEST(test_p95_is_not_above_the_peak),
        TEST(test_peak_is_not_below_the_mean),
        TEST(test_short_interval_alone),
        TEST(test_short_interval_first),
        TEST(test_p95_is_weighted),
        TEST(test_memory),
        TEST(test_need_is_pss_else_rss),
        TEST(test_need_is_at_least_the_largest_process),
        TEST(test_shared_memory_of_the_cgroup),
        TEST(test_limits),
        TEST(test_cgroup_peak),
        TEST(test_machine_limit),
        TEST(test_disk_and_network),
        TEST(test_gpu),
        TEST(test_gpu_energy_of_the_counter),
        TEST(test_pressure_and_tracker),
        TEST(test_sample_without_times),
        TEST(test_replay_equals_live),
        TEST(test_a_day_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
