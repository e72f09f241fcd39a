/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a finished run into the total of all runs. */
#include "summary/tally_internal.h"

struct limit {
    struct opt_f64 *value;
    const char **source;
};

/* The need of one run says nothing about the limit of another: runs with different limits have none. */
static void merge_limit(struct limit total, struct opt_f64 value, const char *source, bool is_first)
{
    bool is_same = total.value->has == value.has && (!value.has || total.value->v == value.v);
    if (!is_first && !is_same)
        value = (struct opt_f64){0};
    *total.value = value;
    *total.source = value.has ? source : NULL;
}

static void merge_limits(struct summary *total, const struct summary *run)
{
    bool is_first = total->runs.v == 0;
    struct limit cpu = {&total->cpu.limit_cores, &total->cpu.limit_source};
    struct limit memory = {&total->memory.limit_mib, &total->memory.limit_source};
    merge_limit(cpu, run->cpu.limit_cores, run->cpu.limit_source, is_first);
    merge_limit(memory, run->memory.limit_mib, run->memory.limit_source, is_first);
    total->cpu.present |= cpu.value->has;
    total->memory.present |= memory.value->has;
    if (run->cpu.is_lower_bound.has)
        total->cpu.is_lower_bound = some_bool(run->cpu.is_lower_bound.v || total->cpu.is_lower_bound.v);
    if (run->gpu.energy_source)
        total->gpu.energy_source = run->gpu.energy_source;
}

/* A section of zeros says nothing where there is no GPU. */
static void settle_gpu(struct summary_gpu *gpu)
{
    gpu->present = gpu->count.v > 0 || gpu->utilized_peak.v > 0 || gpu->usage_peak.v > 0 || gpu->vram_peak_mib.v > 0;
}

static void merge_processes(struct tally *tally)
{
    const struct tally_run *run = &tally->run;
    struct tally_processes *kept = &tally->processes;
    struct summary_memory *memory = &tally->total.memory;
    if (run->processes.count == 0 || (kept->count > 0 && run->meters[METER_RSS].max <= tally->processes_peak_e4))
        return;
    struct sample_list list = {true, run->processes.count, run->processes.items};
    tally_processes_take(kept, &list, run->processes.at_e4);
    tally->processes_peak_e4 = run->meters[METER_RSS].max;
    memory->processes = (struct sample_list){true, kept->count, kept->items};
    memory->processes_at_secs = some_f64(shown_from_e4(kept->at_e4));
}

static void merge_result(struct tally *tally, const struct summary_result *result)
{
    struct summary *total = &tally->total;
    bool is_bad = tally_result_is_bad(result);
    total->runs_failed = some_u64(total->runs_failed.v + is_bad);
    if (total->result.present && !is_bad && tally_result_is_bad(&total->result))
        return;
    total->result = *result;
    tally_text_copy(result->detail, tally->detail, sizeof(tally->detail));
    total->result.detail = tally->detail;
}

static void merge_counts(struct tally *tally)
{
    const struct tally_run *run = &tally->run;
    struct summary *total = &tally->total;
    const struct tally_meter *missed = &run->meters[METER_MISSED];
    total->runs = some_u64(total->runs.v + 1);
    total->samples = some_u64(total->samples.v + run->samples);
    if (missed->seen > 0)
        total->missed_samples = some_u64(total->missed_samples.v + (uint64_t)missed->sum);
    total->memory.unknown_samples = some_u64(total->memory.unknown_samples.v + run->memory_unknown);
    if (run->started_ms.has && !(total->started_ms.has && total->started_ms.v <= run->started_ms.v))
        total->started_ms = run->started_ms;
    if (run->finished_ms.has && !(total->finished_ms.has && total->finished_ms.v >= run->finished_ms.v))
        total->finished_ms = run->finished_ms;
    const struct tally_meter *sampled = &run->meters[METER_RSS];
    tally->has_missed_peak |= sampled->seen > 1 && run->meters[METER_PROCESSES].max > 0 &&
                              run->meters[METER_PEAK_RSS].max > tally_tenth_more(sampled->max);
    tally->without_end += run->has_start && !run->end.present;
    if (run->end.present && run->end.left_running.has)
        tally->left_running += run->end.left_running.v;
}

void tally_merge_run(struct tally *tally)
{
    char detail[TALLY_DETAIL_BYTES];
    struct summary run = {0};
    tally_result_tell(&tally->run, detail, &run.result);
    tally_run_tell(&tally->run, &run);
    tally_rows_merge(tally, &run);
    /* The PSS of one run is not that of another, whose RSS had to do. */
    struct summary_memory *memory = &tally->total.memory;
    if (tally->total.runs.v > 0 && memory->need_mib.v > memory->pss_peak_mib.v)
        memory->pss_peak_mib = memory->pss_peak_at_secs = (struct opt_f64){0};
    merge_limits(&tally->total, &run);
    merge_processes(tally);
    merge_result(tally, &run.result);
    merge_counts(tally);
    settle_gpu(&tally->total.gpu);
    tally->total.tracked_pid = run.tracked_pid;
    tally->total.interval_secs = run.interval_secs;
}
