/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to ask for next time: amounts with their reasons, by the rules of docs/guide/sizing.md. CPU is compressible, so
 * P95 of what was wanted is enough; memory is not, so it is the peak and a reserve.
 */
#include <string.h>

#include "base/num.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

enum { MIB_PER_GIB = 1024, SAMPLES_MIN = 3 };
enum { MEMORY_STEP_MIN_MIB = 16, MEMORY_MIN_MIB = 32, MEMORY_STEPS = 8, MILLICORES_STEP = 10 };

#define WALL_MIN_SECS 2.0
#define CORES_MOST 1e9
#define RESERVE 1.2
/* Cores above a whole number that are taken for noise: a share of that number, twice as large where waiting is part of
 * it (the kernel adds a wait when it is over), but not more than a tenth of a core. */
#define CORES_NOISE_SHARE 0.025
#define CORES_NOISE_WAITED_SHARE 0.05
#define CORES_NOISE_MAX 0.1
#define CUT_LIMIT_PCT 90.0 /* of the limit of a cgroup in use */
#define CUT_FAULTS_PER_SEC 50.0 /* major ones: beyond what the start of a program takes */
#define CORES_NOISE_ESTIMATE 0.25 /* cores, where what was wanted is an estimate */
#define USED_ALL_PCT 10.0 /* of the time, at the limit */
#define WANTED_MORE 1.05 /* times what there was */
#define WAITED_CORES 0.05
#define THROTTLED_SHARE 0.05 /* of the time */
#define THROTTLED_LEAST_SECS 0.1
#define HOST_FULL_SHARE 0.95 /* of the CPUs of the machine */
#define HOST_FULL_OTHERS 0.5 /* cores */
#define STILL_GROWING_SHARE 0.05 /* of the need, in the last quarter */
#define STILL_GROWING_MIB 8.0

static uint64_t round_up(double value)
{
    static const double limit = 1e15;
    if (!(value > 0))
        return 0;
    uint64_t whole = (uint64_t)(value < limit ? value : limit);
    return whole + ((double)whole < value && value < limit);
}

uint64_t sizing_ladder_mib(double mib)
{
    uint64_t whole = round_up(mib), step = MEMORY_STEP_MIN_MIB;
    if (whole < MEMORY_MIN_MIB)
        return MEMORY_MIN_MIB;
    while (step * 2 * MEMORY_STEPS <= whole)
        step *= 2;
    return (whole + step - 1) / step * step;
}

static bool is_verdict(const struct summary_result *result, const char *verdict)
{
    return result->verdict && strcmp(result->verdict, verdict) == 0;
}

bool summary_ran_out_of_memory(const struct summary *summary)
{
    const struct summary_result *result = &summary->result;
    return is_verdict(result, SUMMARY_OUT_OF_MEMORY) || is_verdict(result, SUMMARY_MAYBE_OUT_OF_MEMORY) ||
           (result->oom_kills.has && result->oom_kills.v > 0);
}

bool summary_reached_limit(const struct summary *summary)
{
    struct opt_f64 need = summary_memory_need(summary), limit = summary->memory.limit_mib;
    return limit.has && (summary->result.oom_kills.v > 0 || (need.has && need.v >= limit.v / 2));
}

/* Was memory higher in the last quarter of the run than before? Unknown counts as yes. */
static bool was_growing(const struct summary_memory *memory, double need)
{
    double least = need * STILL_GROWING_SHARE;
    return !memory->late_growth_mib.has ||
           memory->late_growth_mib.v >= (least > STILL_GROWING_MIB ? least : STILL_GROWING_MIB);
}

bool sizing_peak_is_uncertain(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    struct opt_f64 at = memory->pss_peak_at_secs.has ? memory->pss_peak_at_secs : memory->rss_peak_at_secs;
    if (summary_ran_out_of_memory(summary))
        return true;
    if (!outcome_was_killed(summary->result.exit_code, summary->result.signal) || !at.has || !summary->wall_secs.has)
        return false;
    /* The last tenth, or the last two intervals: nothing was seen after the kill. */
    double late = summary->wall_secs.v / 10;
    if (summary->interval_secs.has && late < summary->interval_secs.v * 2)
        late = summary->interval_secs.v * 2;
    /* Where no sample was as high as one process, the peak may have come after the last. */
    bool is_unseen = memory->largest_process_mib.has && !(memory->largest_process_mib.v < memory->rss_peak_mib.v);
    return (is_unseen || at.v >= summary->wall_secs.v - late) && was_growing(memory, summary_memory_need(summary).v);
}

bool summary_is_too_short(const struct summary *summary)
{
    if (summary->runs.v > 1)
        return summary->runs_too_short == summary->runs.v;
    return summary->samples.v < SAMPLES_MIN || summary->wall_secs.v < WALL_MIN_SECS;
}

void summary_put_length(struct buf *text, const struct summary *summary, const char *between)
{
    bool is_one = summary->runs.v <= 1;
    if (!is_one)
        units_put(text, "%u runs of ", summary->runs.v);
    units_put(text, "%t%s%s%c%s", summary->wall_secs.v, is_one ? "" : " on average", between,
        (double)summary->samples.v, "sample", is_one ? "" : " in all");
}

bool summary_is_of_cgroup(const char *limit_source)
{
    return limit_source && strcmp(limit_source, "cgroup") == 0;
}

bool summary_is_throttled(const struct summary *summary)
{
    const struct summary_cpu *cpu = &summary->cpu;
    double least = summary->wall_secs.v * THROTTLED_SHARE;
    if (least < THROTTLED_LEAST_SECS)
        least = THROTTLED_LEAST_SECS;
    /* Others of the cgroup may have been held back instead: the tree itself must have waited. */
    struct opt_f64 waited = cpu->wait_secs;
    if (!waited.has && cpu->wanted_mean.has)
        waited = some_f64((cpu->wanted_mean.v - cpu->cores_mean.v) * summary->wall_secs.v);
    return cpu->throttled_secs.has && cpu->throttled_secs.v >= least && !(waited.has && waited.v < least);
}

bool summary_is_host_full(const struct summary *summary)
{
    const struct summary_cpu *cpu = &summary->cpu;
    struct opt_u64 cpus = summary->machine.cpus;
    return cpus.has && cpu->host_cores_mean.has && cpu->host_cores_mean.v >= (double)cpus.v * HOST_FULL_SHARE &&
           cpu->host_cores_mean.v - cpu->cores_mean.v >= HOST_FULL_OTHERS;
}

/* Why nothing at all can be recommended; false where something can. */
static bool put_obstacle(const struct summary *summary, struct buf *text)
{
    if (!summary_is_too_short(summary))
        return false;
    buf_puts(text, summary->runs.v > 1                    ? "every run was too short ("
                   : summary->wall_secs.v < WALL_MIN_SECS ? "the run was too short ("
                                                          : "there are too few samples (");
    summary_put_length(text, summary, ", ");
    buf_putc(text, ')');
    return true;
}

/* Did it wait for a CPU so much that it shows? */
static bool has_waited(const struct summary_cpu *cpu)
{
    return cpu->wanted_p95.has && cpu->cores_p95.has && cpu->wanted_p95.v > cpu->cores_p95.v * WANTED_MORE &&
           cpu->wanted_p95.v - cpu->cores_p95.v >= WAITED_CORES;
}

static bool is_estimate(const struct summary_cpu *cpu)
{
    return cpu->wanted_is_estimate.has && cpu->wanted_is_estimate.v;
}

/* Cores without what is noise above a whole number. */
static double without_noise(const struct summary_cpu *cpu, double cores)
{
    double whole = cores >= 1 && cores < CORES_MOST ? (double)(uint64_t)cores : 0;
    double noise = whole * (has_waited(cpu) ? CORES_NOISE_WAITED_SHARE : CORES_NOISE_SHARE);
    noise = noise < CORES_NOISE_MAX ? noise : CORES_NOISE_MAX;
    /* What was used is no estimate. */
    if (is_estimate(cpu) && whole >= cpu->cores_p95.v)
        noise = CORES_NOISE_ESTIMATE;
    return whole > 0 && cores - whole <= noise ? whole : cores;
}

static void put_used_all(const struct summary_cpu *cpu, struct buf *text)
{
    units_put(text, "%s%n", cpu->limit_cores.v > 1 ? "used all " : "used all of ", cpu->limit_cores.v);
    if (!cpu->wanted_p95.has) {
        buf_puts(text, " and may want more: its waiting for a CPU is not known");
    } else if (cpu->wanted_p95.v > cpu->limit_cores.v * WANTED_MORE) {
        units_put(text, "; wanted about %f", wanted_about(cpu->wanted_p95.v));
    } else {
        buf_puts(text, " and wanted no more");
    }
}

/* Throttled in bursts, while most of the time used less than the limit. */
static void put_held_back(const struct summary_cpu *cpu, struct buf *text)
{
    buf_puts(text, "held back by the ");
    if (summary_is_of_cgroup(cpu->limit_source)) {
        units_put(text, "limit of %n", cpu->limit_cores.v);
    } else {
        buf_puts(text, "CPU limit");
    }
    bool is_cgroup = summary_is_of_cgroup(cpu->limit_source);
    if (cpu->wanted_p95.has && is_cgroup && cpu->wanted_p95.v <= cpu->limit_cores.v) {
        units_put(text, " in bursts: no less than that (P95 of %n wanted)", cpu->wanted_p95.v);
    } else if (cpu->wanted_p95.has) {
        units_put(text, "; wanted about %f", wanted_about(cpu->wanted_p95.v));
    } else {
        buf_puts(text, " and may want more: its waiting for a CPU is not known");
    }
}

static void put_demand(const struct summary_cpu *cpu, struct buf *text)
{
    buf_puts(text, "P95 of ");
    if (!cpu->wanted_p95.has) {
        units_put(text, "%n used; its waiting for a CPU is not known", cpu->cores_p95.v);
        return;
    }
    units_put(text, "%s%n wanted", is_estimate(cpu) ? "about " : "",
        is_estimate(cpu) ? wanted_about(cpu->wanted_p95.v) : cpu->wanted_p95.v);
    if (has_waited(cpu))
        units_put(text, ", %f used", cpu->cores_p95.v);
    if (is_estimate(cpu))
        buf_puts(text, " (estimated: its processes were too short to be read)");
}

static void size_cpu(const struct summary *summary, struct buf *text, struct summary_sizing *sizing)
{
    const struct summary_cpu *cpu = &summary->cpu;
    struct opt_f64 demand = cpu->wanted_p95.has ? cpu->wanted_p95 : cpu->cores_p95;
    if (put_obstacle(summary, text))
        return;
    if (!demand.has) {
        buf_puts(text, "the cores the job used are not known");
        return;
    }
    double cores = without_noise(cpu, demand.v < CORES_MOST ? demand.v : CORES_MOST);
    bool is_saturated = cpu->limit_cores.has && cpu->saturated_pct.has && cpu->saturated_pct.v > USED_ALL_PCT;
    bool is_held_back = cpu->limit_cores.has && summary_is_throttled(summary);
    /* What it had was not enough, whatever P95 says: never less than that. */
    bool is_short = is_saturated || (is_held_back && summary_is_of_cgroup(cpu->limit_source));
    if (is_short && cores < cpu->limit_cores.v && cpu->limit_cores.v < CORES_MOST)
        cores = cpu->limit_cores.v;
    uint64_t vcpus = round_up(cores);
    uint64_t tens = round_up(cores * 1000 / MILLICORES_STEP - 0.001);
    sizing->vcpus = some_u64(vcpus > 0 ? vcpus : 1);
    sizing->cpu_millicores = some_u64((tens > 0 ? tens : 1) * MILLICORES_STEP);
    /* A lower bound: other work may have had what it waited for. */
    if (!cpu->wanted_p95.has && summary_is_host_full(summary))
        buf_puts(text, "at least: ");
    if (is_saturated)
        put_used_all(cpu, text);
    else if (is_held_back)
        put_held_back(cpu, text);
    else
        put_demand(cpu, text);
    if (summary->machine.cpus.has && sizing->vcpus.v > summary->machine.cpus.v)
        units_put(text, ", more than the %c of this machine", (double)summary->machine.cpus.v, "CPU");
}

static void put_ran_out(const struct summary *summary, struct buf *text)
{
    const struct summary_memory *memory = &summary->memory;
    const struct summary_result *result = &summary->result;
    struct opt_f64 need = summary_memory_need(summary);
    units_put(text, "%s%s",
        outcome_was_killed(result->exit_code, result->signal) ? "it was"
        : result->oom_kills.v == 1                            ? "a process was"
                                                              : "processes were",
        is_verdict(result, SUMMARY_MAYBE_OUT_OF_MEMORY) ? " killed, perhaps by the OOM killer,"
                                                        : " killed by the OOM killer");
    if (need.has && need.v > 0)
        units_put(text, " at %m", need.v);
    buf_puts(text, ": ask for more");
    if (summary_reached_limit(summary))
        units_put(text, " than the limit of %m", memory->limit_mib.v);
}

static bool has_swapped(const struct summary_memory *memory)
{
    return memory->host_swap_growth_mib.has && memory->host_swap_growth_mib.v >= SUMMARY_SWAP_GROWTH_MIB;
}

/* At the limit of a cgroup, what does not fit is dropped or swapped out, and read again: the peak is that of the limit.
 */
static bool is_cut_by_limit(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    return memory->limit_used_pct.v >= CUT_LIMIT_PCT && summary_is_of_cgroup(memory->limit_source) &&
           (double)memory->major_faults.v >= summary->wall_secs.v * CUT_FAULTS_PER_SEC;
}

/* Why the peak is not what the job needs; false where it is. What is certain comes whatever the length of the run. */
static bool put_memory_doubt(const struct summary *summary, double need, struct buf *text)
{
    const struct summary_memory *memory = &summary->memory;
    if (summary->runs.v > 1) {
        if (!memory->uncertain_mib.has || memory->uncertain_mib.v < need)
            return false;
        units_put(text, "the run that needed most was killed at %m: it may have wanted more", need);
        return true;
    }
    if (summary_ran_out_of_memory(summary)) {
        put_ran_out(summary, text);
        return true;
    }
    if (is_cut_by_limit(summary)) {
        units_put(text, "it was at its limit of %m and read memory back from disk: ask for more", memory->limit_mib.v);
        return true;
    }
    if (summary_is_too_short(summary) || !sizing_peak_is_uncertain(summary))
        return false;
    units_put(text, "it was killed while its memory was still growing, at %m", need);
    return true;
}

static bool is_covered(double need, struct opt_f64 value)
{
    return value.has && !(value.v < need);
}

bool summary_need_has_shmem(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    double need = summary_memory_need(summary).v;
    return memory->cgroup_shmem_mib.has && !is_covered(need, memory->rss_peak_mib) &&
           !is_covered(need, memory->pss_peak_mib) && !is_covered(need, memory->largest_process_mib);
}

const char *summary_need_kind(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    double need = summary_memory_need(summary).v;
    if (is_covered(need, memory->pss_peak_mib))
        return "PSS";
    if (is_covered(need, memory->largest_process_mib))
        return "largest process";
    return summary_need_has_shmem(summary) ? "with tmpfs and shared memory" : "RSS";
}

static void size_memory(const struct summary *summary, struct buf *text, struct opt_u64 *ret_mib)
{
    const struct summary_memory *memory = &summary->memory;
    struct opt_f64 need = summary_memory_need(summary), machine = summary->machine.memory_mib;
    if (put_memory_doubt(summary, need.v, text) || put_obstacle(summary, text))
        return;
    if (!need.has || memory->unknown_samples.v > summary->samples.v / 5) {
        units_put(text, "the memory of the job was %s", need.has ? "not known in too many samples" : "never known");
        return;
    }
    *ret_mib = some_u64(sizing_ladder_mib(need.v * RESERVE));
    units_put(text, "peak of %m", need.v);
    const char *kind = summary_need_kind(summary);
    units_put(text, " (%s", kind);
    /* An upper bound, where processes share memory. */
    bool is_shared = summary->cpu.processes_peak.has && summary->cpu.processes_peak.v > 1;
    units_put(text, "%s) + 20 %%, next size",
        is_shared && kind[0] == 'R' ? ", which counts shared memory in every process" : "");
    if (machine.has && (double)ret_mib->v > machine.v)
        units_put(text, ", more than the %m of this machine", machine.v);
    if (memory->growth_mib.has)
        buf_puts(text, "; it grew to the end");
    if (has_swapped(memory))
        units_put(text, "; at least: swap in use on the host grew by %m", memory->host_swap_growth_mib.v);
}

static void size_gpus(const struct summary *summary, struct buf *text, struct opt_u64 *ret_gpus)
{
    const struct summary_gpu *gpu = &summary->gpu;
    if (put_obstacle(summary, text))
        return;
    if (!gpu->utilized_peak.has && !gpu->usage_p95.has && !gpu->vram_peak_mib.has) {
        buf_puts(text, "what the job used of the GPUs is not known");
        return;
    }
    uint64_t used = gpu->utilized_peak.has ? gpu->utilized_peak.v : 0;
    bool by_memory = used == 0 && gpu->vram_peak_mib.has && gpu->vram_peak_mib.v > 0;
    if (used == 0 && gpu->usage_p95.has)
        used = round_up(gpu->usage_p95.v - 0.01);
    if (used == 0 && by_memory)
        used = 1;
    if (used == 0) {
        buf_puts(text, "the GPUs were not used");
        return;
    }
    *ret_gpus = some_u64(used);
    num_put_u64(text, used);
    if (gpu->count.has)
        units_put(text, " of %u", gpu->count.v);
    buf_puts(text, " used");
}

/* The device of which the tree held most, or used most where its memory is not known; NULL where nothing is. */
static const struct summary_gpu_device *largest_share(const struct summary_gpu *gpu)
{
    const struct summary_gpu_device *device = gpu->devices.items, *most = NULL;
    for (size_t i = 0; gpu->devices.present && i < gpu->devices.count; i++, device++) {
        bool is_used = device->vram_peak_mib.v > 0 || device->usage_peak_pct.v > 0;
        bool is_more =
            !most || device->vram_peak_mib.v > most->vram_peak_mib.v ||
            (!(device->vram_peak_mib.v < most->vram_peak_mib.v) && device->usage_peak_pct.v > most->usage_peak_pct.v);
        if (is_used && is_more)
            most = device;
    }
    return most;
}

static uint64_t vram_size(double mib)
{
    return round_up(mib * RESERVE / MIB_PER_GIB) * MIB_PER_GIB;
}

static void size_share(const struct summary_gpu_device *device, struct buf *text, struct opt_u64 *ret_mib)
{
    if (device->is_reserved) {
        units_put(text, "%m reserved by the framework, real need unknown", device->vram_peak_mib.v);
        return;
    }
    *ret_mib = some_u64(vram_size(device->vram_peak_mib.v));
    units_put(text, "peak of %m on one GPU + 20 %%, next GiB", device->vram_peak_mib.v);
    if (device->vram_total_mib.has && (double)ret_mib->v > device->vram_total_mib.v)
        units_put(text, ", more than the %m of this GPU", device->vram_total_mib.v);
}

static void size_vram(const struct summary *summary, struct buf *text, struct opt_u64 *ret_mib)
{
    struct opt_u64 gpus = summary->sizing.gpus;
    struct opt_f64 peak = summary->gpu.vram_peak_mib;
    const struct summary_gpu_device *largest = largest_share(&summary->gpu);
    if (!gpus.has) {
        buf_puts(text, summary->sizing.gpus_reason);
        return;
    }
    if (largest && largest->vram_peak_mib.v > 0) {
        size_share(largest, text, ret_mib);
        return;
    }
    if (!peak.has || !(peak.v > 0)) {
        buf_puts(text, "the GPU memory of the job is not known");
        return;
    }
    *ret_mib = some_u64(vram_size(peak.v / (double)gpus.v));
    units_put(text, "peak of %m", peak.v);
    if (gpus.v > 1)
        units_put(text, " on %u GPUs, the share of each not known,", gpus.v);
    buf_puts(text, " + 20 %, next GiB");
}

/* Of the GPUs that were used; where that is not known, of the first. */
static const char *driver_of(const struct summary_gpu *gpu)
{
    const struct summary_gpu_device *largest = largest_share(gpu);
    if (!largest && gpu->devices.present && gpu->devices.count > 0)
        largest = gpu->devices.items;
    return largest ? largest->driver : NULL;
}

void sizing_fill(struct summary *summary, struct sizing_texts *texts)
{
    struct summary_sizing *sizing = &summary->sizing;
    *sizing = (struct summary_sizing){.present = summary_has_job(summary)};
    if (!sizing->present)
        return;
    struct buf text = buf_over(texts->vcpus, SIZING_TEXT_BYTES);
    size_cpu(summary, &text, sizing);
    sizing->vcpus_reason = buf_over_end(&text);
    text = buf_over(texts->memory, SIZING_TEXT_BYTES);
    size_memory(summary, &text, &sizing->memory_mib);
    sizing->memory_reason = buf_over_end(&text);
    if (summary->gpu.present) {
        text = buf_over(texts->gpus, SIZING_TEXT_BYTES);
        size_gpus(summary, &text, &sizing->gpus);
        sizing->gpus_reason = buf_over_end(&text);
        text = buf_over(texts->vram, SIZING_TEXT_BYTES);
        size_vram(summary, &text, &sizing->vram_mib);
        sizing->vram_reason = buf_over_end(&text);
    }
    sizing_put_lines(summary, driver_of(&summary->gpu), texts);
}
