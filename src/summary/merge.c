/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs into one summary: what is not merged by the table of derive.c (limits, processes, how they ended), and what
 * follows from all of them together.
 */
#include "summary/accumulate.h"
#include "summary/summary_internal.h"

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
    if (run->cpu.wanted_is_estimate.has)
        total->cpu.wanted_is_estimate = some_bool(run->cpu.wanted_is_estimate.v || total->cpu.wanted_is_estimate.v);
    if (run->network.source && !total->network.is_lower_bound.v) {
        total->network.is_lower_bound = run->network.is_lower_bound;
        total->network.source = run->network.source;
    }
    if (run->gpu.energy_source)
        total->gpu.energy_source = run->gpu.energy_source;
}

/* A section of zeros says nothing where there is no GPU. */
static void settle_gpu(struct summary_gpu *gpu)
{
    gpu->present = gpu->count.v > 0 || gpu->utilized_peak.v > 0 || gpu->usage_peak.v > 0 || gpu->vram_peak_mib.v > 0;
}

static void merge_processes(struct accumulator *acc)
{
    const struct accumulated_run *run = &acc->run;
    struct kept_processes *kept = &acc->processes;
    struct summary_memory *memory = &acc->total.memory;
    int64_t peak = run->processes_need.need_fixed4;
    if (run->processes.count == 0 || (kept->count > 0 && peak <= acc->processes_peak_fixed4))
        return;
    struct sample_list list = {true, run->processes.count, run->processes.items};
    keep_processes(kept, &list, run->processes.at_fixed4);
    acc->processes_peak_fixed4 = peak;
    memory->processes = (struct sample_list){true, kept->count, kept->items};
    memory->processes_at_secs = some_f64(fixed4_value(kept->at_fixed4));
}

static void merge_cpu_processes(struct accumulator *acc, const struct summary *run)
{
    const struct kept_processes *newest = &acc->run.by_cpu;
    struct kept_processes *kept = &acc->by_cpu;
    if (newest->count == 0 || (kept->count > 0 && run->cpu.total_secs.v <= acc->by_cpu_secs))
        return;
    struct sample_list list = {true, newest->count, newest->items};
    keep_processes(kept, &list, newest->at_fixed4);
    acc->by_cpu_secs = run->cpu.total_secs.v;
    acc->total.cpu.processes = (struct sample_list){true, kept->count, kept->items};
    acc->total.cpu.present = true;
}

/* The machine of the newest run. */
static void merge_machine(struct accumulator *acc, const struct summary *run)
{
    struct summary_machine *machine = &acc->total.machine;
    const struct meter *swap = &acc->run.meters[METER_HOST_SWAP_TOTAL];
    machine->cpus = run->machine.cpus;
    machine->memory_mib = run->memory.host_total_mib;
    machine->swap_mib = (struct opt_f64){swap->seen > 0, fixed4_value(swap->newest)};
    acc->total.memory.cgroup_is_own = run->memory.cgroup_is_own;
}

static void merge_result(struct accumulator *acc, const struct summary_result *result)
{
    struct summary *total = &acc->total;
    bool is_bad = outcome_is_bad(result);
    total->runs_failed = some_u64(total->runs_failed.v + is_bad);
    if (total->result.present && !is_bad && outcome_is_bad(&total->result))
        return;
    total->result = *result;
    keep_text(result->detail, acc->detail, sizeof(acc->detail));
    total->result.detail = acc->detail;
}

static void merge_counts(struct accumulator *acc)
{
    const struct accumulated_run *run = &acc->run;
    struct summary *total = &acc->total;
    const struct meter *missed = &run->meters[METER_MISSED];
    total->runs = some_u64(total->runs.v + 1);
    total->samples = some_u64(total->samples.v + run->samples);
    if (missed->seen > 0)
        total->missed_samples = some_u64(total->missed_samples.v + (uint64_t)missed->sum);
    total->memory.unknown_samples = some_u64(total->memory.unknown_samples.v + run->memory_unknown);
    if (run->started_ms.has && !(total->started_ms.has && total->started_ms.v <= run->started_ms.v))
        total->started_ms = run->started_ms;
    if (run->finished_ms.has && !(total->finished_ms.has && total->finished_ms.v >= run->finished_ms.v))
        total->finished_ms = run->finished_ms;
    const struct meter *sampled = &run->meters[METER_RSS];
    acc->has_missed_peak |= sampled->seen > 1 && run->meters[METER_PROCESSES].max > 0 &&
                            run->meters[METER_PEAK_RSS].max > a_tenth_more(sampled->max);
    acc->without_end += run->has_start && !run->end.present;
    /* What is left of a process that was only no longer tracked is no leftover. */
    if (run->end.present && run->end.left_running.has && !run->end.target_is_running.v)
        acc->left_running += run->end.left_running.v;
    if (run->end.marks_dropped.has)
        acc->total.marks_dropped = some_u64(acc->total.marks_dropped.v + run->end.marks_dropped.v);
    /* Of a command that was killed itself the result says so. */
    const struct sample_end *end = &run->end;
    if (end->present && !outcome_was_killed(end->exit_code, end->signal) && end->host_oom_kills.v > end->oom_kills.v)
        acc->other_oom_kills += end->host_oom_kills.v - end->oom_kills.v;
}

/* P95 of a run that is too short is noise: it counts only as long as there is no other. */
static void merge_length(struct accumulator *acc, struct summary *run)
{
    struct summary *total = &acc->total;
    const struct opt_f64 none = {0};
    run->samples = some_u64(acc->run.samples);
    bool is_short = summary_is_too_short(run), has_long = total->runs.v > total->runs_too_short;
    if (is_short && has_long)
        run->cpu.cores_p95 = run->cpu.wanted_p95 = none;
    else if (!is_short && !has_long)
        total->cpu.cores_p95 = total->cpu.wanted_p95 = none;
    total->runs_too_short += is_short;
}

void merge_run(struct accumulator *acc)
{
    char detail[KEPT_DETAIL_BYTES];
    struct summary run = {0};
    outcome_of_run(&acc->run, detail, &run.result);
    derive_run(&acc->run, &run);
    merge_length(acc, &run);
    derive_merge_rows(acc, &run);
    /* The PSS of one run is not that of another, whose RSS had to do. */
    struct summary_memory *memory = &acc->total.memory;
    if (acc->total.runs.v > 0 && !memory->cgroup_shmem_mib.has && memory->need_mib.v > memory->pss_peak_mib.v)
        memory->pss_peak_mib = memory->pss_peak_at_secs = (struct opt_f64){0};
    merge_limits(&acc->total, &run);
    merge_processes(acc);
    merge_cpu_processes(acc, &run);
    merge_machine(acc, &run);
    devices_end_run(&acc->gpus);
    merge_result(acc, &run.result);
    merge_counts(acc);
    settle_gpu(&acc->total.gpu);
    acc->total.tracked_pid = run.tracked_pid;
    acc->total.interval_secs = run.interval_secs;
}

static void fill_identity(const struct kept_identity *identity, struct summary *summary)
{
    summary->job_name = identity->has_job_name ? identity->job_name : NULL;
    summary->version = identity->has_version ? identity->version : NULL;
    summary->hostname = identity->has_hostname ? identity->hostname : NULL;
    summary->kernel = identity->has_kernel ? identity->kernel : NULL;
    summary->command = (struct sample_list){identity->has_command, identity->argument_count, identity->arguments};
    const struct kept_pairs *metadata = &identity->metadata, *tags = &identity->tags;
    summary->metadata = (struct sample_list){metadata->is_known, metadata->count, metadata->items};
    summary->tags = (struct sample_list){tags->is_known, tags->count, tags->items};
    summary->machine.cpu_model = identity->has_cpu_model ? identity->cpu_model : NULL;
    summary->memory.cgroup_path = identity->has_cgroup_path ? identity->cgroup_path : NULL;
}

static void finish_machine(struct accumulator *acc)
{
    struct summary *total = &acc->total;
    struct summary_machine *machine = &total->machine;
    devices_fill(&acc->gpus, total);
    total->gpu.names = (struct sample_list){total->gpu.present, acc->gpu_names.count, acc->gpu_names.items};
    machine->gpus = (struct sample_list){acc->gpu_names.count > 0, acc->gpu_names.count, acc->gpu_names.items};
    machine->present = machine->cpu_model || machine->cpus.has || machine->memory_mib.has || machine->swap_mib.has ||
                       machine->gpus.present;
}

static struct opt_f64 share_pct(struct opt_f64 part, struct opt_f64 whole)
{
    if (!part.has || !whole.has || !(whole.v > 0))
        return (struct opt_f64){0};
    return some_f64(part.v * 100 / whole.v);
}

static void finish_energy(struct accumulator *acc)
{
    static const double joules_per_wh = 3600;
    struct summary_energy *energy = &acc->total.energy;
    struct opt_f64 tree = energy->process_joules, gpu = energy->gpu_joules, carbon = acc->carbon_g_per_kwh;
    energy->source = acc->energy_source[0] ? acc->energy_source : NULL;
    energy->cpu_joules = energy->package_joules;
    if (energy->package_joules.has)
        energy->cpu_joules.v += energy->dram_joules.v;
    bool has_cpu = energy->cpu_joules.has;
    struct opt_f64 whole = has_cpu ? energy->cpu_joules : energy->platform_joules;
    struct opt_f64 secs = has_cpu ? energy->cpu_measured_secs : energy->platform_measured_secs;
    if (whole.has && secs.v > 0)
        energy->mean_watts = some_f64(whole.v / secs.v);
    if (!energy->present || !(tree.has || gpu.has))
        return;
    energy->job_joules = some_f64(tree.v + gpu.v);
    energy->job_wh = some_f64(energy->job_joules.v / joules_per_wh);
    energy->carbon_g_per_kwh = carbon;
    if (carbon.has)
        energy->carbon_grams = some_f64(energy->job_wh.v * carbon.v / 1000);
}

void merge_fill_shares(struct summary *summary)
{
    if (summary->cpu.total_secs.has && summary->wall_secs.v > 0)
        summary->cpu.cores_mean = some_f64(summary->cpu.total_secs.v / summary->wall_secs.v);
    summary->cpu.limit_used_pct = share_pct(summary->cpu.cores_p95, summary->cpu.limit_cores);
    summary->memory.limit_used_pct = share_pct(summary_memory_need(summary), summary->memory.limit_mib);
    summary->tracker.cpu_pct = share_pct(summary->tracker.cpu_secs, summary->wall_secs);
}

const struct summary *accumulate_finish(struct accumulator *acc)
{
    struct summary *total = &acc->total;
    accumulate_next_run(acc);
    fill_identity(&acc->identity, total);
    /* The command of one run beside the result of another would be a statement about neither. */
    if (acc->has_other_commands)
        total->command = (struct sample_list){0};
    total->schema_version = some_u64(SUMMARY_SCHEMA_VERSION);
    if (!total->runs.has)
        total->runs = total->runs_failed = total->samples = some_u64(0);
    merge_fill_shares(total);
    finish_machine(acc);
    finish_energy(acc);
    outcome_put_notes(acc);
    sizing_fill(total, &acc->sizing);
    verdict_fill(total, &acc->verdict);
    phases_fill(&acc->phases, total);
    history_fill(&acc->history, total);
    return total;
}
