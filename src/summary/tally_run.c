/* SPDX-License-Identifier: Apache-2.0 */
/* A finished run as a summary: what its meters tell, and what follows from several of them. */
#include "summary/tally_internal.h"

/* A P95 rests on all intervals and may be off a little: it is never told above the peak. */
static struct opt_f64 p95_of(const struct tally_run *run, unsigned meter)
{
    struct opt_f64 p95 = sketch_quantile(&run->sketches[meter], 0.95);
    double peak = shown_from_e4(run->meters[meter].max);
    return p95.has && p95.v > peak ? some_f64(peak) : p95;
}

static void finish_cpu(const struct tally_run *run, struct summary *summary)
{
    struct summary_cpu *cpu = &summary->cpu;
    if (run->elapsed_e4.has)
        summary->wall_secs = some_f64(shown_from_e4(run->elapsed_e4.v));
    if (cpu->user_secs.has && cpu->system_secs.has) {
        int64_t total;
        if (__builtin_add_overflow(run->meters[METER_USER].sum, run->meters[METER_SYSTEM].sum, &total))
            total = INT64_MAX;
        cpu->total_secs = some_f64(shown_from_e4(total));
    }
    if (cpu->total_secs.has && run->elapsed_e4.v > 0)
        cpu->cores_mean = some_f64(cpu->total_secs.v / summary->wall_secs.v);
    cpu->cores_p95 = p95_of(run, METER_CORES);
    cpu->host_cores_p95 = p95_of(run, METER_HOST_CORES);
    if (run->end.present)
        cpu->is_lower_bound = run->end.cpu_is_lower_bound;
}

static void raise_to(struct opt_f64 *value, struct opt_f64 least)
{
    if (least.has && !(value->has && value->v >= least.v))
        *value = least;
}

/* Resident memory of the largest process: as the end of the run has it, or of a run without one as its samples do. */
static struct opt_f64 largest_process(const struct tally_run *run)
{
    struct opt_i64 largest = run->largest_process_e4;
    struct opt_i64 end = run->end.present ? shown_e4(run->end.largest_process_mib) : (struct opt_i64){0};
    if (end.has && !(largest.has && largest.v >= end.v))
        largest = end;
    return largest.has && largest.v > 0 ? some_f64(shown_from_e4(largest.v)) : (struct opt_f64){0};
}

/*
 * PSS is measured on a budget. Where RSS was clearly higher while PSS was not known, the highest PSS is not the peak of
 * the tree, and RSS has to do.
 */
static void keep_need(const struct tally_run *run, struct summary_memory *memory)
{
    const struct tally_meter *pss = &run->meters[METER_PSS], *beside = &run->meters[METER_RSS_BESIDE_PSS];
    int64_t alone = run->meters[METER_RSS_ALONE].max;
    bool is_missed = alone > tally_tenth_more(beside->max) && alone > pss->max;
    if (is_missed || (pss->max == 0 && memory->rss_peak_mib.v > 0))
        memory->pss_peak_mib = memory->pss_peak_at_secs = (struct opt_f64){0};
    memory->need_mib = memory->pss_peak_mib;
    if (!memory->need_mib.has)
        memory->need_mib = memory->rss_peak_mib;
    raise_to(&memory->need_mib, memory->largest_process_mib);
    /* A reading of PSS can be too low, while memory is being shared or given back: one process needs all it holds. */
    struct opt_f64 largest = largest_process(run);
    if (largest.has && memory->need_mib.has && largest.v > memory->need_mib.v)
        memory->need_mib = memory->largest_process_mib = largest;
}

static void finish_memory(const struct tally_run *run, struct summary *summary)
{
    struct summary_memory *memory = &summary->memory;
    const struct tally_meter *sampled = &run->meters[METER_RSS], *told = &run->meters[METER_PEAK_RSS];
    if (told->seen > 0 && (sampled->seen == 0 || told->max > sampled->max))
        memory->largest_process_mib = some_f64(shown_from_e4(told->max));
    if (memory->largest_process_mib.has)
        memory->rss_peak_mib = memory->largest_process_mib;
    else if (sampled->seen > 0)
        memory->rss_peak_mib = some_f64(shown_from_e4(sampled->max));
    keep_need(run, memory);
    const struct tally_meter *cgroup = &run->meters[METER_CGROUP_PEAK];
    /* It is that of the cgroup's whole life: where it did not grow during the run, others have made it. Kernels before
     * 5.19 keep none. Recordings of older versions do not tell what it was before the first sample. */
    if (cgroup->seen == 0 || cgroup->max <= run->first_cgroup_peak_e4.v)
        cgroup = &run->meters[METER_CGROUP_USED];
    if (cgroup->seen > 0)
        memory->cgroup_peak_mib = some_f64(shown_from_e4(cgroup->max));
}

static void finish_gpu(const struct tally_run *run, struct summary_gpu *gpu)
{
    gpu->usage_p95 = p95_of(run, METER_GPU_USAGE);
    struct opt_i64 joules = run->end.present ? shown_e4(run->end.gpu_energy_joules) : (struct opt_i64){0};
    const struct tally_meter *power = &run->meters[METER_GPU_ENERGY];
    if (joules.has || power->seen > 0) {
        gpu->energy_joules = some_f64(shown_from_e4(joules.has ? joules.v : power->sum));
        gpu->energy_source = joules.has ? "counter" : "power";
    }
}

static void lower(struct opt_f64 *limit, const char **source, struct opt_f64 other, const char *name)
{
    if (!other.has || !(other.v > 0) || (limit->has && limit->v <= other.v))
        return;
    *limit = other;
    *source = name;
}

static void finish_limits(const struct tally_run *run, struct summary *summary)
{
    static const char cgroup[] = "cgroup", machine[] = "machine";
    struct summary_cpu *cpu = &summary->cpu;
    struct summary_memory *memory = &summary->memory;
    lower(&cpu->limit_cores, &cpu->limit_source, run->cpu_limit_cores, cgroup);
    bool is_online_low = run->cpus_allowed.has && run->cpus_allowed.v > run->cpus_online.v;
    struct opt_u64 online = is_online_low ? run->cpus_allowed : run->cpus_online;
    lower(&cpu->limit_cores, &cpu->limit_source, opt_scaled(online, 1), machine);
    lower(&cpu->limit_cores, &cpu->limit_source, opt_scaled(run->cpus_allowed, 1), "affinity");
    lower(&memory->limit_mib, &memory->limit_source, run->memory_limit_mib, cgroup);
    lower(&memory->limit_mib, &memory->limit_source, memory->host_total_mib, machine);
}

void tally_run_tell(const struct tally_run *run, struct summary *summary)
{
    tally_rows_fill(run, summary);
    summary->tracked_pid = run->tracked_pid;
    if (run->interval_e4.has)
        summary->interval_secs = some_f64(shown_from_e4(run->interval_e4.v));
    finish_cpu(run, summary);
    finish_memory(run, summary);
    finish_gpu(run, &summary->gpu);
    finish_limits(run, summary);
    if (sizing_peak_is_uncertain(summary))
        summary->memory.uncertain_mib = summary->memory.need_mib;
}
