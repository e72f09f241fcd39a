/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "summary/summary_internal.h"

/* A run of a minute that used 1.5 cores and 1536 MiB. */
static struct summary usual(void)
{
    struct summary summary = {.tracked_pid = some_u64(7), .wall_secs = some_f64(60), .interval_secs = some_f64(1)};
    summary.runs = some_u64(1);
    summary.samples = some_u64(60);
    summary.result = (struct summary_result){
        .present = true, .verdict = SUMMARY_FINISHED, .detail = "exit status 0", .exit_code = some_i64(0)};
    summary.cpu.cores_p95 = some_f64(1.5);
    summary.memory.rss_peak_mib = some_f64(1600);
    summary.memory.rss_peak_at_secs = some_f64(58);
    summary.memory.pss_peak_mib = some_f64(1536);
    summary.memory.pss_peak_at_secs = some_f64(58);
    summary.memory.limit_mib = some_f64(2048);
    return summary;
}

static void test_ladder(void **state)
{
    (void)state;
    static const struct {
        double mib;
        uint64_t size;
    } steps[] = {{0, 128}, {-5, 128}, {128, 128}, {128.1, 256}, {256, 256}, {300, 512}, {512.0001, 1024}, {1024, 1024},
        {1024.5, 2048}, {2048, 2048}, {2048.01, 3072}, {3072, 3072}, {3073, 4096}, {1048576, 1048576},
        {1048577, 1049600}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        assert_int_equal(sizing_ladder_mib(steps[i].mib), steps[i].size);
    assert_true(sizing_ladder_mib(1e300) > 0);
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
    assert_string_equal(sizing->vcpus_reason, "P95 of 1.5 cores + 25 %");
    assert_int_equal(sizing->memory_mib.v, 2048);
    assert_string_equal(sizing->memory_reason, "peak of 1536 MiB (PSS) + 20 %, next size");
    assert_false(sizing->gpus.has);
    assert_null(sizing->gpus_reason);
    assert_false(sizing->vram_mib.has);
    assert_null(sizing->vram_reason);
    assert_string_equal(sizing->slurm, "#SBATCH --cpus-per-task=2 --mem=2G");
    assert_string_equal(sizing->kubernetes, "resources: {requests: {cpu: \"2\", memory: 2Gi}, limits: {memory: 2Gi}}");
    assert_string_equal(sizing->docker, "--cpus=2 --memory=2g");
    assert_string_equal(sizing->metaflow, "@resources(cpu=2, memory=2048)");
}

static void test_with_gpus(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.gpu = (struct summary_gpu){.present = true, .count = some_u64(8), .usage_p95 = some_f64(1.2)};
    summary.gpu.utilized_peak = some_u64(2);
    summary.gpu.vram_peak_mib = some_f64(20000);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.gpus.v, 2);
    assert_string_equal(summary.sizing.gpus_reason, "2 of 8 used");
    assert_int_equal(summary.sizing.vram_mib.v, 12288);
    assert_string_equal(summary.sizing.vram_reason, "peak of 20000 MiB on 2 GPUs + 20 %, next GiB");
    assert_string_equal(summary.sizing.slurm, "#SBATCH --cpus-per-task=2 --mem=2G --gpus=2");
    assert_string_equal(summary.sizing.kubernetes,
        "resources: {requests: {cpu: \"2\", memory: 2Gi}, limits: {memory: 2Gi, nvidia.com/gpu: \"2\"}}");
    assert_string_equal(summary.sizing.docker, "--cpus=2 --memory=2g --gpus=2");
    assert_string_equal(summary.sizing.metaflow, "@resources(cpu=2, memory=2048, gpu=2)");
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

static uint64_t vcpus_of(double p95)
{
    struct sizing_texts texts;
    struct summary summary = usual();
    summary.cpu.cores_p95 = some_f64(p95);
    sizing_fill(&summary, &texts);
    return summary.sizing.vcpus.v;
}

static void test_vcpus(void **state)
{
    (void)state;
    assert_int_equal(vcpus_of(0), 1);
    assert_int_equal(vcpus_of(0.8), 1);
    assert_int_equal(vcpus_of(0.805), 1);
    assert_int_equal(vcpus_of(0.82), 2);
    assert_int_equal(vcpus_of(1), 2);
    assert_int_equal(vcpus_of(4.002), 5);
    assert_int_equal(vcpus_of(64), 80);
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
    assert_string_equal(
        summary.sizing.kubernetes, "resources: {requests: {cpu: \"2\", memory: 512Mi}, limits: {memory: 512Mi}}");
    summary.memory.pss_peak_mib = some_f64(300);
    summary.memory.largest_process_mib = some_f64(900);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 2048);
    assert_string_equal(summary.sizing.memory_reason, "peak of 900 MiB (largest process) + 20 %, next size");
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
    assert_false(sizing->memory_mib.has);
    assert_string_equal(sizing->vcpus_reason, "the run was too short (0.4 s, 1 sample)");
    assert_string_equal(sizing->memory_reason, "the run was too short (0.4 s, 1 sample)");
    assert_null(sizing->slurm);
    assert_null(sizing->kubernetes);
    assert_null(sizing->docker);
    assert_null(sizing->metaflow);
    summary.wall_secs = some_f64(120);
    summary.samples = some_u64(2);
    sizing_fill(&summary, &texts);
    assert_string_equal(sizing->memory_reason, "there are too few samples (120 s, 2 samples)");
    summary.samples = some_u64(3);
    summary.wall_secs = some_f64(2);
    sizing_fill(&summary, &texts);
    assert_true(sizing->vcpus.has);
}

static void test_host_alone(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = {.samples = some_u64(100), .wall_secs = some_f64(100)};
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.vcpus.has);
    assert_string_equal(summary.sizing.vcpus_reason, "no job was tracked, only the host");
    assert_string_equal(summary.sizing.memory_reason, "no job was tracked, only the host");
    assert_null(summary.sizing.slurm);
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
        "it was killed by the OOM killer at 1536 MiB: ask for more than the limit of 2048 MiB");
    assert_string_equal(summary.sizing.slurm, "#SBATCH --cpus-per-task=2");
    assert_string_equal(summary.sizing.kubernetes, "resources: {requests: {cpu: \"2\"}}");
    assert_string_equal(summary.sizing.metaflow, "@resources(cpu=2)");
    killed(&summary, SUMMARY_MAYBE_OUT_OF_MEMORY);
    summary.memory.limit_mib = (struct opt_f64){0};
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason, "it was killed by the OOM killer at 1536 MiB: ask for more");
    /* It went on, but something of it was killed. */
    summary = usual();
    summary.result.oom_kills = some_u64(1);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.memory_reason,
        "a process was killed by the OOM killer at 1536 MiB: ask for more than the limit of 2048 MiB");
}

static void test_killed(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary summary = usual();
    killed(&summary, SUMMARY_SIGNALED);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(summary.sizing.memory_reason, "it was killed while its memory was at the highest");
    summary.memory.pss_peak_at_secs = some_f64(40);
    sizing_fill(&summary, &texts);
    assert_int_equal(summary.sizing.memory_mib.v, 2048);
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
    summary.cpu.cores_p95 = (struct opt_f64){0};
    summary.memory.unknown_samples = some_u64(12);
    sizing_fill(&summary, &texts);
    assert_string_equal(summary.sizing.vcpus_reason, "the cores the job used are not known");
    assert_int_equal(summary.sizing.memory_mib.v, 2048);
    assert_string_equal(summary.sizing.kubernetes, "resources: {requests: {memory: 2Gi}, limits: {memory: 2Gi}}");
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

static void test_gpu_alone(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary_sizing sizing = {.gpus = some_u64(1)};
    sizing_put_lines(&sizing, &texts);
    assert_string_equal(sizing.kubernetes, "resources: {limits: {nvidia.com/gpu: \"1\"}}");
    assert_string_equal(sizing.slurm, "#SBATCH --gpus=1");
    assert_string_equal(sizing.metaflow, "@resources(gpu=1)");
}

static void test_largest_numbers_stay_in_their_room(void **state)
{
    (void)state;
    struct sizing_texts texts;
    struct summary_sizing sizing = {
        .vcpus = some_u64(UINT64_MAX), .memory_mib = some_u64(UINT64_MAX), .gpus = some_u64(UINT64_MAX)};
    sizing_put_lines(&sizing, &texts);
    assert_string_equal(sizing.kubernetes,
        "resources: {requests: {cpu: \"18446744073709551615\", memory: 18446744073709551615Mi}, "
        "limits: {memory: 18446744073709551615Mi, nvidia.com/gpu: \"18446744073709551615\"}}");
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
    assert_int_equal(summary.sizing.memory_mib.v, 2048);
    summary.memory.uncertain_mib = some_f64(1536);
    sizing_fill(&summary, &texts);
    assert_false(summary.sizing.memory_mib.has);
    assert_string_equal(
        summary.sizing.memory_reason, "the run that needed most was killed at 1536 MiB: it may have wanted more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_usual),
        cmocka_unit_test(test_with_gpus),
        cmocka_unit_test(test_gpus_by_other_signs),
        cmocka_unit_test(test_vcpus),
        cmocka_unit_test(test_small_memory),
        cmocka_unit_test(test_too_short),
        cmocka_unit_test(test_host_alone),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_gpu_alone),
        cmocka_unit_test(test_largest_numbers_stay_in_their_room),
        cmocka_unit_test(test_several_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
