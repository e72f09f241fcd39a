/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "summary/summary_internal.h"

/* A run of a minute that used and wanted 1.5 cores, with 1536 MiB, on a machine of 4 CPUs and 8 GiB. */
static struct summary usual(void)
{
    struct summary summary = {.tracked_pid = some_u64(7), .wall_secs = some_f64(60), .interval_secs = some_f64(1)};
    summary.runs = some_u64(1);
    summary.samples = some_u64(60);
    summary.result = (struct summary_result){
        .present = true, .verdict = SUMMARY_FINISHED, .detail = "exit status 0", .exit_code = some_i64(0)};
    summary.machine = (struct summary_machine){.present = true, .cpus = some_u64(4), .memory_mib = some_f64(8192)};
    summary.cpu.cores_p95 = summary.cpu.wanted_p95 = some_f64(1.5);
    summary.cpu.limit_cores = some_f64(4);
    summary.cpu.saturated_pct = some_f64(0);
    summary.memory.rss_peak_mib = some_f64(1600);
    summary.memory.rss_peak_at_secs = some_f64(58);
    summary.memory.pss_peak_mib = some_f64(1536);
    summary.memory.pss_peak_at_secs = some_f64(58);
    summary.memory.limit_mib = some_f64(2048);
    return summary;
}

/* Never less than what is asked for, and never more than an eighth above it, from 128 MiB on. */
static void test_ladder(void **state)
{
    (void)state;
    static const struct {
        double mib;
        uint64_t size;
    } steps[] = {{0, 32}, {-5, 32}, {32, 32}, {32.1, 48}, {128, 128}, {128.1, 144}, {256, 256}, {256.5, 288},
        {300, 320}, {480, 480}, {512.0001, 576}, {1024, 1024}, {1032, 1152}, {1843.2, 1920}, {2048, 2048},
        {2048.01, 2304}, {3073, 3328}, {1048576, 1048576}, {1048577, 1179648}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        assert_int_equal(sizing_ladder_mib(steps[i].mib), steps[i].size);
    for (double mib = 128; mib < 1e9; mib *= 1.0137) {
        double size = (double)sizing_ladder_mib(mib);
        assert_true(size >= mib && size <= (mib + 1) * 1.125);
    }
    assert_true(sizing_ladder_mib(1e300) > 0);
}

/* What is swapped out is not in the peak; at the limit of a cgroup what does not fit is read back again and again. */
static void test_swap(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.memory.host_swap_growth_mib = some_f64(15.9);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason, "peak of 1.5 GiB (PSS) + 20 %, next size");
    summary.memory.host_swap_growth_mib = some_f64(423);
    summary.memory.limit_used_pct = some_f64(99);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    assert_string_equal(summary.sizing.memory_reason,
        "peak of 1.5 GiB (PSS) + 20 %, next size; at least: swap in use on the host grew by 423 MiB");
    summary.memory.host_swap_growth_mib = some_f64(0);
    summary.memory.limit_source = "cgroup";
    summary.memory.major_faults = some_u64((uint64_t)(summary.wall_secs.v * 49));
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    summary.memory.major_faults = some_u64((uint64_t)(summary.wall_secs.v * 51));
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(
        summary.sizing.memory_reason, "it was at its limit of 2 GiB and read memory back from disk: ask for more");
    summary.memory.limit_used_pct = some_f64(80);
    sizing_fill(&summary, &texts);
    assert_true(summary.sizing.memory_mib.has);
}

static void test_usual(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    sizing_fill(&summary, &texts);
    const struct summary_sizing *sizing = &summary.sizing;
    assert_true(sizing->present);
    assert_int_equal(sizing->vcpus.v, 2);
    assert_int_equal(sizing->cpu_millicores.v, 1500);
    assert_string_equal(sizing->vcpus_reason, "P95 of 1.5 cores wanted");
    assert_int_equal(sizing->memory_mib.v, 1920);
    assert_string_equal(sizing->memory_reason, "peak of 1.5 GiB (PSS) + 20 %, next size");
    assert_false(sizing->gpus.has);
    assert_null(sizing->gpus_reason);
    assert_false(sizing->vram_mib.has);
    assert_null(sizing->vram_reason);
    assert_string_equal(sizing->slurm, "#SBATCH --cpus-per-task=2 --mem=1920M");
    assert_string_equal(
        sizing->kubernetes, "resources: {requests: {cpu: 1500m, memory: 1920Mi}, limits: {memory: 1920Mi}}");
    assert_string_equal(sizing->docker, "--cpus=2 --memory=1920m");
    assert_string_equal(sizing->metaflow, "@resources(cpu=2, memory=2014)"); /* MB */
}

static void test_vcpus(void **state)
{
    (void)state;
    static const struct {
        double wanted;
        uint64_t vcpus, millicores;
    } cases[] = {{0, 1, 10}, {0.0004, 1, 10}, {0.3, 1, 300}, {0.302, 1, 310}, {0.8, 1, 800}, {1, 1, 1000},
        {1.004, 1, 1000}, {1.025, 1, 1000}, {1.04, 2, 1040}, {1.82, 2, 1820}, {1.999, 2, 2000}, {2.02, 2, 2000},
        {2.14, 3, 2140}, {4.002, 4, 4000}, {8.09, 8, 8000}, {8.11, 9, 8110}, {64, 64, 64000}, {64.2, 65, 64200}};
    struct sizing_texts texts;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary = usual();
        summary.cpu.cores_p95 = summary.cpu.wanted_p95 = some_f64(cases[i].wanted);
        sizing_fill(&summary, &texts);
        assert_int_equal(summary.sizing.vcpus.v, cases[i].vcpus);
        assert_int_equal(summary.sizing.cpu_millicores.v, cases[i].millicores);
    }
}

static const char *vcpus_reason(struct summary *summary, struct sizing_texts *texts)
{
    sizing_fill(summary, texts);
    return summary->sizing.vcpus_reason;
}

static void test_demand(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.wanted_p95 = some_f64(2);
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 2 cores wanted, 1.5 used");
    assert_int_equal(summary.sizing.vcpus.v, 2);
    summary.cpu.wanted_p95.has = false;
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 1.5 cores used; its waiting for a CPU is not known");
    assert_int_equal(summary.sizing.vcpus.v, 2);
    summary.cpu.wanted_p95 = some_f64(9.96);
    assert_string_equal(
        vcpus_reason(&summary, &texts), "P95 of 9.96 cores wanted, 1.5 used, more than the 4 CPUs of this machine");
    assert_int_equal(summary.sizing.vcpus.v, 10);
}

/* Waits come late, so what a thread on a busy host wants is not exactly one core. */
static void test_noise_of_waiting(void **state)
{
    (void)state;
    static const struct {
        double used, wanted;
        uint64_t vcpus;
    } cases[] = {{1.04, 1.04, 2}, {0.4, 1.04, 1}, {0.4, 1.049, 1}, {0.4, 1.06, 2}, {1, 2.09, 2}, {1, 4.11, 5}};
    struct sizing_texts texts;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary = usual();
        summary.cpu.cores_p95 = some_f64(cases[i].used);
        summary.cpu.wanted_p95 = some_f64(cases[i].wanted);
        sizing_fill(&summary, &texts);
        assert_int_equal(summary.sizing.vcpus.v, cases[i].vcpus);
    }
}

/* It used all it was given: at the limit for more than a tenth of the time, or throttled. */
static void test_used_all(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.machine.cpus = some_u64(2);
    summary.cpu.limit_cores = some_f64(2);
    summary.cpu.cores_p95 = some_f64(1.98);
    summary.cpu.wanted_p95 = some_f64(3.98);
    summary.cpu.saturated_pct = some_f64(10.1);
    assert_string_equal(
        vcpus_reason(&summary, &texts), "used all 2 cores; wanted about 4, more than the 2 CPUs of this machine");
    assert_int_equal(summary.sizing.vcpus.v, 4);
    summary.cpu.wanted_p95 = some_f64(2);
    assert_string_equal(vcpus_reason(&summary, &texts), "used all 2 cores and wanted no more");
    assert_int_equal(summary.sizing.vcpus.v, 2);
    summary.cpu.wanted_p95.has = false;
    assert_string_equal(
        vcpus_reason(&summary, &texts), "used all 2 cores and may want more: its waiting for a CPU is not known");
    assert_int_equal(summary.sizing.vcpus.v, 2);
    summary.cpu.saturated_pct = some_f64(9.9);
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 1.98 cores used; its waiting for a CPU is not known");
}

static void test_throttled(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.wall_secs = some_f64(5);
    summary.cpu.limit_cores = some_f64(0.3);
    summary.cpu.limit_source = "cgroup";
    summary.cpu.cores_p95 = some_f64(0.3);
    summary.cpu.wanted_p95 = some_f64(2);
    summary.cpu.throttled_secs = some_f64(1.88);
    summary.cpu.wait_secs = some_f64(8.5);
    summary.cpu.saturated_pct = some_f64(90);
    assert_string_equal(vcpus_reason(&summary, &texts), "used all of 0.3 cores; wanted about 2");
    assert_int_equal(summary.sizing.vcpus.v, 2);
    summary.cpu.saturated_pct = some_f64(0);
    /* Others of the cgroup were held back. */
    summary.cpu.wait_secs = some_f64(0.1);
    summary.cpu.wanted_p95 = some_f64(0.3);
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 0.3 cores wanted");
    assert_int_equal(summary.sizing.vcpus.v, 1);
    summary.cpu.wait_secs.has = false;
    summary.cpu.cores_mean = summary.cpu.wanted_mean = some_f64(0.3);
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 0.3 cores wanted");
}

/* In bursts: most of the time it used less than the limit. */
static void test_throttled_in_bursts(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.limit_source = "cgroup";
    summary.cpu.cores_p95 = some_f64(1);
    summary.cpu.wanted_p95 = some_f64(1.32);
    summary.cpu.throttled_secs = summary.cpu.wait_secs = some_f64(5);
    assert_string_equal(vcpus_reason(&summary, &texts),
        "held back by the limit of 4 cores in bursts: no less than that (P95 of 1.32 cores wanted)");
    assert_int_equal(summary.sizing.vcpus.v, 4);
    assert_int_equal(summary.sizing.cpu_millicores.v, 4000);
    summary.cpu.limit_source = "affinity"; /* then the limit that held it back is another */
    assert_string_equal(vcpus_reason(&summary, &texts), "held back by the CPU limit; wanted about 1.3");
    assert_int_equal(summary.sizing.vcpus.v, 2);
    summary.cpu.wanted_p95.has = false;
    assert_string_equal(vcpus_reason(&summary, &texts),
        "held back by the CPU limit and may want more: its waiting for a CPU is not known");
}

/* Never less than a limit that was not enough: 0.49 cores is all that was seen of a quota of 0.5. */
static void test_no_less_than_the_limit(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.limit_source = "cgroup";
    summary.cpu.limit_cores = some_f64(0.5);
    summary.cpu.cores_p95 = some_f64(0.49);
    summary.cpu.wanted_p95 = summary.cpu.wait_secs = (struct opt_f64){0};
    summary.cpu.throttled_secs = some_f64(30);
    summary.cpu.saturated_pct = some_f64(9);
    assert_string_equal(vcpus_reason(&summary, &texts),
        "held back by the limit of 0.5 cores and may want more: its waiting for a CPU is not known");
    assert_int_equal(summary.sizing.cpu_millicores.v, 500);
    summary.cpu.throttled_secs = some_f64(0);
    summary.cpu.saturated_pct = some_f64(60);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.cpu_millicores.v, 500);
    /* Near: the limit was enough. */
    summary.cpu.saturated_pct = some_f64(9);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.cpu_millicores.v, 490);
}

static void test_estimate(void **state)
{
    (void)state;
    static const struct {
        double used, wanted;
        uint64_t vcpus, millicores;
    } cases[] = {{0.8, 4.2, 4, 4000}, {0.8, 4.3, 5, 4300}, {0.8, 0.9, 1, 900}, {2.1, 2.2, 3, 2200}};
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.wanted_is_estimate = some_bool(true);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        summary.cpu.cores_p95 = some_f64(cases[i].used);
        summary.cpu.wanted_p95 = some_f64(cases[i].wanted);
        sizing_fill(&summary, &texts);
        assert_int_equal(summary.sizing.vcpus.v, cases[i].vcpus);
        assert_int_equal(summary.sizing.cpu_millicores.v, cases[i].millicores);
    }
    summary.cpu.cores_p95 = some_f64(0.82);
    summary.cpu.wanted_p95 = some_f64(3.92);
    assert_string_equal(vcpus_reason(&summary, &texts),
        "P95 of about 3.9 cores wanted, 0.82 used (estimated: its processes were too short to be read)");
}

/* Its waiting is not known, and other work had what it may have waited for. */
static void test_lower_bound(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.wanted_p95 = (struct opt_f64){0};
    summary.cpu.cores_p95 = summary.cpu.cores_mean = some_f64(0.8);
    summary.cpu.host_cores_mean = some_f64(3.9);
    assert_string_equal(
        vcpus_reason(&summary, &texts), "at least: P95 of 0.8 cores used; its waiting for a CPU is not known");
    summary.cpu.host_cores_mean = some_f64(3.7);
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 0.8 cores used; its waiting for a CPU is not known");
}

static void test_small_memory(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.memory.pss_peak_mib = (struct opt_f64){0};
    summary.memory.rss_peak_mib = some_f64(400.04);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 512);
    assert_string_equal(summary.sizing.memory_reason, "peak of 400 MiB (RSS) + 20 %, next size");
    assert_string_equal(summary.sizing.slurm, "#SBATCH --cpus-per-task=2 --mem=512M");
    assert_string_equal(summary.sizing.docker, "--cpus=2 --memory=512m");
    summary.memory.pss_peak_mib = some_f64(300);
    summary.memory.largest_process_mib = some_f64(860);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1152);
    assert_string_equal(summary.sizing.memory_reason, "peak of 860 MiB (largest process) + 20 %, next size");
    assert_string_equal(summary.sizing.docker, "--cpus=2 --memory=1152m");
    assert_string_equal(summary.sizing.metaflow, "@resources(cpu=2, memory=1208)");
    summary.memory.largest_process_mib = some_f64(1.5);
    summary.memory.pss_peak_mib = some_f64(1);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 32);
}

static void test_more_memory_than_there_is(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.memory.pss_peak_mib = some_f64(7000);
    summary.memory.growth_mib = some_f64(3000);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 9216);
    assert_string_equal(summary.sizing.memory_reason,
        "peak of 6.84 GiB (PSS) + 20 %, next size, more than the 8 GiB of this machine; it grew to the end");
}

static void test_too_short(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.samples = some_u64(1);
    summary.wall_secs = some_f64(0.4);
    sizing_fill(&summary, &texts);
    const struct summary_sizing *sizing = &summary.sizing;
    assert_false(sizing->vcpus.has);
    assert_false(sizing->cpu_millicores.has);
    assert_false(sizing->memory_mib.has);
    assert_string_equal(sizing->vcpus_reason, "the run was too short (0.4 s, 1 sample)");
    assert_string_equal(sizing->memory_reason, "the run was too short (0.4 s, 1 sample)");
    assert_null(sizing->slurm);
    assert_null(sizing->kubernetes);
    assert_null(sizing->docker);
    assert_null(sizing->metaflow);
    summary.wall_secs = some_f64(50);
    summary.samples = some_u64(2);
    sizing_fill(&summary, &texts);
    assert_string_equal(sizing->memory_reason, "there are too few samples (50 s, 2 samples)");
    summary.samples = some_u64(3);
    summary.wall_secs = some_f64(2);
    sizing_fill(&summary, &texts);
    assert_true(sizing->vcpus.has);
}

/* There is nothing to size, and nothing to withhold. */
static void test_host_alone(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = {.samples = some_u64(100), .wall_secs = some_f64(100)};
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.present);
    assert_null(summary.sizing.vcpus_reason);
    assert_null(summary.sizing.slurm);
}

/* A note says once that the run failed; the sizes and their reasons are as usual. */
static void test_failed(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.result.verdict = SUMMARY_FAILED;
    summary.result.exit_code = some_i64(3);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.vcpus.v, 2);
    assert_string_equal(summary.sizing.vcpus_reason, "P95 of 1.5 cores wanted");
    assert_string_equal(summary.sizing.memory_reason, "peak of 1.5 GiB (PSS) + 20 %, next size");
    summary.result.verdict = SUMMARY_SIGNALED;
    summary.result.signal = some_i64(11);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    assert_string_equal(summary.sizing.vcpus_reason, "P95 of 1.5 cores wanted");
    summary.runs = summary.runs_failed = some_u64(3);
    assert_string_equal(vcpus_reason(&summary, &texts), "P95 of 1.5 cores wanted");
}

/* One GPU with 80 GiB of it, seven with 10: each must have what the first needs. */
static void test_uneven_gpus(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    struct summary_gpu_device devices[8];
    for (size_t i = 0; i < 8; i++)
        devices[i] = (struct summary_gpu_device){
            .driver = "nvidia", .vram_total_mib = some_f64(143771), .vram_peak_mib = some_f64(i == 2 ? 81920 : 10240)};
    summary.gpu = (struct summary_gpu){.present = true, .count = some_u64(8), .usage_p95 = some_f64(7.2)};
    summary.gpu.utilized_peak = some_u64(8);
    summary.gpu.vram_peak_mib = some_f64(81920 + 7 * 10240);
    summary.gpu.devices = (struct sample_list){true, 8, devices};
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.gpus.v, 8);
    assert_int_equal(summary.sizing.vram_mib.v, 96 * 1024);
    assert_string_equal(summary.sizing.vram_reason, "peak of 80 GiB on one GPU + 20 %, next GiB");
    assert_string_equal(summary.sizing.docker, "--cpus=2 --memory=1920m --gpus=8");
    devices[2].vram_total_mib = some_f64(81920);
    sizing_fill(&summary, &texts);
    assert_string_equal(
        summary.sizing.vram_reason, "peak of 80 GiB on one GPU + 20 %, next GiB, more than the 80 GiB of this GPU");
    devices[2].is_reserved = true;
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.vram_mib.has);
    assert_string_equal(summary.sizing.vram_reason, "80 GiB reserved by the framework, real need unknown");
    assert_int_equal(summary.sizing.gpus.v, 8);
}

/* A recording without the share of each GPU. */
static void test_gpus_without_shares(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    struct summary_gpu_device devices[2] = {{.driver = "amdgpu"}, {.driver = "amdgpu"}};
    summary.gpu = (struct summary_gpu){.present = true, .count = some_u64(8), .usage_p95 = some_f64(1.2)};
    summary.gpu.utilized_peak = some_u64(2);
    summary.gpu.vram_peak_mib = some_f64(20000);
    summary.gpu.devices = (struct sample_list){true, 2, devices};
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.gpus.v, 2);
    assert_string_equal(summary.sizing.gpus_reason, "2 of 8 used");
    assert_int_equal(summary.sizing.vram_mib.v, 12288);
    assert_string_equal(
        summary.sizing.vram_reason, "peak of 19.5 GiB on 2 GPUs, the share of each not known, + 20 %, next GiB");
    assert_string_equal(summary.sizing.slurm, "#SBATCH --cpus-per-task=2 --mem=1920M --gpus=2");
    assert_string_equal(summary.sizing.kubernetes,
        "resources: {requests: {cpu: 1500m, memory: 1920Mi}, limits: {memory: 1920Mi, amd.com/gpu: 2}}");
    assert_string_equal(summary.sizing.docker, "--cpus=2 --memory=1920m --device=/dev/kfd --device=/dev/dri");
    assert_string_equal(summary.sizing.metaflow, "@resources(cpu=2, memory=2014, gpu=2)");
}

static void test_gpus_by_other_signs(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.gpu = (struct summary_gpu){.present = true, .usage_p95 = some_f64(1.2), .usage_peak = some_f64(2)};
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.gpus.v, 2);
    assert_false(summary.sizing.vram_mib.has);
    assert_string_equal(summary.sizing.vram_reason, "the GPU memory of the job is not known");
    summary.gpu = (struct summary_gpu){.present = true, .utilized_peak = some_u64(0), .vram_peak_mib = some_f64(512)};
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.gpus.v, 1);
    assert_int_equal(summary.sizing.vram_mib.v, 1024);
    summary.gpu.vram_peak_mib = some_f64(0);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.gpus.has);
    assert_string_equal(summary.sizing.gpus_reason, "the GPUs were not used");
    assert_string_equal(summary.sizing.vram_reason, "the GPUs were not used");
    summary.gpu = (struct summary_gpu){.present = true, .count = some_u64(1)};
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.gpus_reason, "what the job used of the GPUs is not known");
}

static void killed(struct summary *summary, const char *verdict)
{
    summary->result = (struct summary_result){.present = true, .verdict = verdict, .detail = ""};
    summary->result.exit_code = some_i64(137);
    summary->result.signal = some_i64(9);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    killed(&summary, SUMMARY_OUT_OF_MEMORY);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(summary.sizing.memory_reason,
        "it was killed by the OOM killer at 1.5 GiB: ask for more than the limit of 2 GiB");
    assert_string_equal(summary.sizing.vcpus_reason, "P95 of 1.5 cores wanted");
    assert_string_equal(summary.sizing.slurm, "#SBATCH --cpus-per-task=2");
    assert_string_equal(summary.sizing.kubernetes, "resources: {requests: {cpu: 1500m}}");
    assert_string_equal(summary.sizing.metaflow, "@resources(cpu=2)");
    /* However short it was. */
    summary.wall_secs = some_f64(0.5);
    summary.samples = some_u64(1);
    summary.memory.pss_peak_mib = some_f64(98);
    summary.memory.limit_mib = some_f64(100);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason,
        "it was killed by the OOM killer at 98 MiB: ask for more than the limit of 100 MiB");
    assert_string_equal(summary.sizing.vcpus_reason, "the run was too short (0.5 s, 1 sample)");
    summary = usual();
    killed(&summary, SUMMARY_MAYBE_OUT_OF_MEMORY);
    summary.memory.limit_mib = (struct opt_f64){0};
    sizing_fill(&summary, &texts);
    assert_string_equal(
        summary.sizing.memory_reason, "it was killed, perhaps by the OOM killer, at 1.5 GiB: ask for more");
    /* A limit that it was far from is not the one that it ran into. */
    summary.memory.limit_mib = some_f64(24000);
    sizing_fill(&summary, &texts);
    assert_string_equal(
        summary.sizing.memory_reason, "it was killed, perhaps by the OOM killer, at 1.5 GiB: ask for more");
    summary.memory.limit_mib = some_f64(2048);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason,
        "it was killed, perhaps by the OOM killer, at 1.5 GiB: ask for more than the limit of 2 GiB");
    /* It went on, but something of it was killed. */
    summary = usual();
    summary.result.oom_kills = some_u64(1);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason,
        "a process was killed by the OOM killer at 1.5 GiB: ask for more than the limit of 2 GiB");
}

static void test_killed(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    killed(&summary, SUMMARY_SIGNALED);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(summary.sizing.memory_reason, "it was killed while its memory was still growing, at 1.5 GiB");
    summary.memory.late_growth_mib = some_f64(76);
    sizing_fill(&summary, &texts);
    assert_true(summary.sizing.memory_mib.has);
    summary.memory.late_growth_mib = some_f64(77);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    /* Constant, also where the highest sample was the last. */
    summary.memory.late_growth_mib = some_f64(0);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    assert_string_equal(summary.sizing.memory_reason, "peak of 1.5 GiB (PSS) + 20 %, next size");
    summary.memory.late_growth_mib = (struct opt_f64){0};
    summary.memory.pss_peak_at_secs = some_f64(40);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    /* The last sample before the kill, of few. */
    summary.wall_secs = some_f64(4.9);
    summary.memory.pss_peak_at_secs = some_f64(4);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    summary.result.signal = some_i64(15);
    summary.result.exit_code = some_i64(143);
    sizing_fill(&summary, &texts);
    assert_true(summary.sizing.memory_mib.has);
}

static void test_unknown(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.cores_p95 = summary.cpu.wanted_p95 = (struct opt_f64){0};
    summary.memory.unknown_samples = some_u64(12);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.vcpus_reason, "the cores the job used are not known");
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    assert_string_equal(summary.sizing.kubernetes, "resources: {requests: {memory: 1920Mi}, limits: {memory: 1920Mi}}");
    assert_string_equal(summary.sizing.docker, "--memory=1920m");
    summary.memory.pss_peak_mib = some_f64(1700);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.kubernetes, "resources: {requests: {memory: 2Gi}, limits: {memory: 2Gi}}");
    assert_string_equal(summary.sizing.slurm, "#SBATCH --mem=2G");
    assert_string_equal(summary.sizing.docker, "--memory=2g");
    summary.memory.unknown_samples = some_u64(13);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(summary.sizing.memory_reason, "the memory of the job was not known in too many samples");
    summary.memory = (struct summary_memory){0};
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason, "the memory of the job was never known");
    assert_null(summary.sizing.slurm);
}

static void test_lines_by_vendor(void **state)
{
    (void)state;
    static const struct {
        const char *driver, *kubernetes, *docker;
    } cases[] = {
        {"nvidia", "resources: {limits: {nvidia.com/gpu: 2}}", "--gpus=2"},
        {"amdgpu", "resources: {limits: {amd.com/gpu: 2}}", "--device=/dev/kfd --device=/dev/dri"},
        {"i915", "resources: {limits: {gpu.intel.com/i915: 2}}", "--device=/dev/dri"},
        {"xe", "resources: {limits: {gpu.intel.com/xe: 2}}", "--device=/dev/dri"},
        {"nouveau", NULL, NULL},
        {NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sizing_texts texts;
        struct summary summary = {.sizing.gpus = some_u64(2)};
        sizing_put_lines(&summary, cases[i].driver, &texts);
        const struct summary_sizing sizing = summary.sizing;
        assert_string_equal(sizing.slurm, "#SBATCH --gpus=2");
        assert_string_equal(sizing.metaflow, "@resources(gpu=2)");
        if (!cases[i].kubernetes) {
            assert_null(sizing.kubernetes);
            assert_null(sizing.docker);
            continue;
        }
        assert_string_equal(sizing.kubernetes, cases[i].kubernetes);
        assert_string_equal(sizing.docker, cases[i].docker);
    }
}

/* Of parts, each task and each node has its own need. */
static void test_lines_of_parts(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = {
        .sizing = {.vcpus = some_u64(64), .memory_mib = some_u64(65536)},
        .parts = {.present = true,
            .count = some_u64(16),
            .nodes = some_u64(2),
            .task_vcpus = some_u64(4),
            .node_memory_mib = some_u64(40960)},
    };
    sizing_put_lines(&summary, NULL, &texts);
    assert_string_equal(summary.sizing.slurm, "#SBATCH --nodes=2 --ntasks=16 --cpus-per-task=4 --mem=40G");
    assert_null(summary.sizing.kubernetes);
    assert_null(summary.sizing.docker);
    assert_null(summary.sizing.metaflow);
    summary.parts.nodes = some_u64(1);
    sizing_put_lines(&summary, NULL, &texts);
    assert_string_equal(summary.sizing.docker, "--cpus=64 --memory=64g");
}

static void test_largest_numbers_stay_in_their_room(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = {.sizing = {.vcpus = some_u64(UINT64_MAX),
                                  .cpu_millicores = some_u64(UINT64_MAX),
                                  .memory_mib = some_u64(UINT64_MAX),
                                  .gpus = some_u64(UINT64_MAX)}};
    sizing_put_lines(&summary, "nvidia", &texts);
    assert_string_equal(summary.sizing.kubernetes,
        "resources: {requests: {cpu: 18446744073709551615m, memory: 18446744073709551615Mi}, "
        "limits: {memory: 18446744073709551615Mi, nvidia.com/gpu: 18446744073709551615}}");
}

static void test_several_runs(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    killed(&summary, SUMMARY_OUT_OF_MEMORY);
    summary.runs = some_u64(2);
    summary.memory.need_mib = some_f64(1536);
    summary.memory.uncertain_mib = some_f64(500);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 1920);
    summary.memory.uncertain_mib = some_f64(1536);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(
        summary.sizing.memory_reason, "the run that needed most was killed at 1.5 GiB: it may have wanted more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_usual),
        cmocka_unit_test(test_vcpus),
        cmocka_unit_test(test_demand),
        cmocka_unit_test(test_noise_of_waiting),
        cmocka_unit_test(test_used_all),
        cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_throttled_in_bursts),
        cmocka_unit_test(test_no_less_than_the_limit),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_lower_bound),
        cmocka_unit_test(test_small_memory),
        cmocka_unit_test(test_more_memory_than_there_is),
        cmocka_unit_test(test_too_short),
        cmocka_unit_test(test_host_alone),
        cmocka_unit_test(test_failed),
        cmocka_unit_test(test_uneven_gpus),
        cmocka_unit_test(test_gpus_without_shares),
        cmocka_unit_test(test_gpus_by_other_signs),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_lines_by_vendor),
        cmocka_unit_test(test_lines_of_parts),
        cmocka_unit_test(test_largest_numbers_stay_in_their_room),
        cmocka_unit_test(test_several_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
