/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What held the run back, in one sentence: the first rule of the table that applies. The same table, with its
 * thresholds, is in docs/guide/sizing.md. A rule that rests on a number that is not known does not apply.
 */
#include <stddef.h>
#include <string.h>

#include "base/num.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

/* Thresholds; shares are of the wall time unless they say otherwise. */
#define SWAP_PRESSURE_SHARE 0.05
#define SWAP_FAULTS_PER_SEC 10.0 /* where pressure is not known */
#define GPU_BUSY_SHARE 0.75 /* of the GPUs that were used, while they were */
#define GPU_BUSY_RUN_SHARE 0.4 /* of the whole run */
#define GPU_IDLE_SHARE 0.6
#define GPU_STARVED_CORES 0.85
#define MEMORY_LIMIT_PCT 90.0
#define STARVED_SHARE 0.1 /* of the cores wanted */
#define STARVED_CORES 0.1
#define STARVED_OTHERS_SHARE 0.5 /* of the cores it did not get */
#define HELD_BACK_SHARE 0.75 /* of the cores it did not get was idle */
#define HELD_BACK_WANTED 0.25 /* of the cores it wanted was missing */
#define STARVED_HOST_CORES 0.25 /* of the job, where its waiting is not known: one that sleeps misses nothing */
#define DISK_PRESSURE_SHARE 0.25
#define DISK_BYTES_PER_SEC 65536.0
#define DISK_HOST_SHARE 0.1 /* of the bytes of the host */
#define DISK_CORES 0.7
#define BOUND_SATURATED_PCT 50.0
#define BOUND_SHARE 0.85 /* of the cores that count */
#define BOUND_CORES 1.5 /* P95 from which on a steady number of cores is more than one thread */
#define SINGLE_MEAN 0.8
#define SINGLE_P95 1.05
#define SINGLE_PEAK 1.15
#define SINGLE_LIMIT 1.5
#define SINGLE_BUSIEST 0.7 /* cores of the one process that used most */
#define SINGLE_CPU_SHARE 0.8 /* of the CPU time, where that is not known */
#define IDLE_CORES 0.1
#define IDLE_GPUS 0.1
#define AT_LIMIT_SHARE 0.95 /* of the limit, from which on it counts as all of it */

/* What several rules and texts need. */
struct facts {
    const struct summary *summary;
    const struct summary_cpu *cpu;
    const struct summary_memory *memory;
    double wall; /* seconds, more than 0 */
    double gpus_used; /* 0: none, or not known */
    double gpu_share; /* mean use of each of them, 0 to 1, while it held memory of them */
    double gpu_run_share; /* the same over the whole run */
};

/* GPUs of which the tree used or held anything. */
static double count_gpus(const struct summary_gpu *gpu)
{
    const struct summary_gpu_device *device = gpu->devices.items;
    double used = 0;
    if (!gpu->present || !gpu->usage_mean.has)
        return 0;
    for (size_t i = 0; gpu->devices.present && i < gpu->devices.count; i++, device++)
        used += device->usage_peak_pct.v > 0 || device->vram_peak_mib.v > 0;
    if (used < (double)gpu->utilized_peak.v)
        used = (double)gpu->utilized_peak.v;
    if (used < 1 && (gpu->usage_peak.v > 0 || gpu->vram_peak_mib.v > 0))
        used = 1;
    return used;
}

static struct facts facts_of(const struct summary *summary)
{
    struct facts facts = {.summary = summary, .cpu = &summary->cpu, .memory = &summary->memory};
    facts.wall = summary->wall_secs.v > 0 ? summary->wall_secs.v : 1;
    facts.gpus_used = count_gpus(&summary->gpu);
    if (facts.gpus_used > 0) {
        const struct summary_gpu *gpu = &summary->gpu;
        facts.gpu_run_share = gpu->usage_mean.v / facts.gpus_used;
        facts.gpu_share = gpu->active_usage_mean.has ? gpu->active_usage_mean.v / facts.gpus_used : facts.gpu_run_share;
    }
    return facts;
}

static bool is_swapping(const struct facts *facts)
{
    struct opt_f64 pressure = facts->summary->pressure.memory_some_secs;
    bool has_waited = pressure.has ? pressure.v >= facts->wall * SWAP_PRESSURE_SHARE
                                   : (double)facts->memory->major_faults.v >= facts->wall * SWAP_FAULTS_PER_SEC;
    return facts->memory->host_swap_growth_mib.v >= SUMMARY_SWAP_GROWTH_MIB && has_waited;
}

static bool is_at_cpu_limit(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    return (cpu->saturated_pct.has && cpu->saturated_pct.v >= BOUND_SATURATED_PCT) ||
           (cpu->limit_cores.has && cpu->cores_mean.v >= cpu->limit_cores.v * BOUND_SHARE);
}

static double disk_wait_secs(const struct facts *facts)
{
    struct opt_f64 pressure = facts->summary->pressure.io_some_secs;
    return pressure.has ? pressure.v : facts->summary->disk.host_iowait_secs.v;
}

static bool is_waiting_for_disk(const struct facts *facts)
{
    const struct summary_disk *disk = &facts->summary->disk;
    double waited = disk_wait_secs(facts);
    double bytes = (double)disk->read_bytes.v + (double)disk->write_bytes.v;
    double host = (double)disk->host_read_bytes.v + (double)disk->host_write_bytes.v;
    return waited >= facts->wall * DISK_PRESSURE_SHARE && bytes >= facts->wall * DISK_BYTES_PER_SEC &&
           bytes >= host * DISK_HOST_SHARE && facts->cpu->cores_mean.v < DISK_CORES;
}

static double whole_cores(const struct facts *facts)
{
    return (double)(uint64_t)(facts->cpu->cores_p95.v < 1e9 ? facts->cpu->cores_p95.v + 0.5 : 1e9);
}

/* All of what it was given, or a steady number of cores: then each of its threads is busy. */
static bool is_cpu_bound(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    return is_at_cpu_limit(facts) ||
           (cpu->cores_p95.v >= BOUND_CORES && cpu->cores_mean.v >= whole_cores(facts) * BOUND_SHARE);
}

/* GPUs of the host were busy, and whether with the job is not known. */
static bool may_use_gpus(const struct facts *facts)
{
    const struct summary_gpu *gpu = &facts->summary->gpu;
    return gpu->present && !gpu->usage_mean.has && gpu->host_usage_mean.has && gpu->host_usage_mean.v >= IDLE_GPUS;
}

/* Was one process full, or one after the other? Recordings of older versions have only the CPU time of each. */
static bool has_full_process(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    const struct sample_process *first = cpu->processes.items;
    if (cpu->busiest_mean.has)
        return cpu->busiest_mean.v >= SINGLE_BUSIEST;
    if (cpu->processes.present && cpu->processes.count > 0 && cpu->total_secs.has)
        return first->cpu_secs.v >= cpu->total_secs.v * SINGLE_CPU_SHARE;
    return cpu->processes_peak.has && cpu->processes_peak.v == 1;
}

static bool is_single_threaded(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    bool has_more = !cpu->limit_cores.has || cpu->limit_cores.v >= SINGLE_LIMIT;
    bool wants_more = cpu->wanted_p95.has && cpu->wanted_p95.v > SINGLE_PEAK;
    return has_more && !wants_more && has_full_process(facts) && facts->gpus_used <= 0 && !may_use_gpus(facts) &&
           cpu->cores_mean.v >= SINGLE_MEAN && cpu->cores_p95.v <= SINGLE_P95 && cpu->cores_peak.v <= SINGLE_PEAK;
}

/* Cores that it wanted, as far as its limit allows them, and did not get, where that is enough to count; else 0. */
static double missing_cores(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    double within = cpu->wanted_mean.v;
    if (cpu->limit_cores.has && within > cpu->limit_cores.v)
        within = cpu->limit_cores.v;
    double missing = within - cpu->cores_mean.v;
    return missing >= STARVED_CORES && missing >= within * STARVED_SHARE ? missing : 0;
}

/*
 * It waited for CPUs that were idle: a quota or an affinity of some of its processes, which is not seen here. A machine
 * that is busy for a part of the time has both; what is missing in each sample was summed up.
 */
static bool is_held_back(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    double missing = cpu->wanted_mean.v - cpu->cores_mean.v;
    return cpu->wait_secs.has && missing_cores(facts) >= missing * HELD_BACK_SHARE && missing_cores(facts) > 0 &&
           missing >= cpu->wanted_mean.v * HELD_BACK_WANTED && cpu->lacked_idle_mean.v >= missing * HELD_BACK_SHARE &&
           !is_at_cpu_limit(facts) && !(cpu->limit_source && strcmp(cpu->limit_source, "affinity") == 0);
}

/* It waited for CPUs that other work had: its own threads would have used all there is. Where that is not known, a
 * machine without an idle CPU is evidence, unless the job had all of a number of cores. */
static bool is_starved(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    if (is_at_cpu_limit(facts))
        return false;
    if (!cpu->wanted_mean.has)
        return summary_is_host_full(facts->summary) && cpu->cores_mean.v >= STARVED_HOST_CORES &&
               !is_cpu_bound(facts) && !is_single_threaded(facts) && !is_waiting_for_disk(facts);
    double missing = missing_cores(facts), others = cpu->host_cores_mean.v - cpu->cores_mean.v;
    bool is_disk_slower = is_waiting_for_disk(facts) && disk_wait_secs(facts) > missing * facts->wall;
    return missing > 0 && cpu->host_cores_mean.has && others >= missing * STARVED_OTHERS_SHARE && !is_disk_slower;
}

static bool is_idle(const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    bool may_want = cpu->wanted_mean.has ? cpu->wanted_mean.v >= IDLE_CORES : summary_is_host_full(facts->summary);
    return cpu->cores_mean.v < IDLE_CORES && !may_want && facts->gpu_run_share < IDLE_GPUS && !may_use_gpus(facts);
}

/* "0.99 of 2 cores" */
static void put_cores(struct buf *text, const struct facts *facts, double cores)
{
    const struct summary_cpu *cpu = facts->cpu;
    if (!cpu->limit_cores.has) {
        units_put_count(text, cores, "core");
        return;
    }
    units_put(text, "%f of %n", cores, cpu->limit_cores.v);
}

/* "1.88 s of 5 s". Times that are added up over CPUs can be more than the time there was. */
static void put_share_of_wall(struct buf *text, const struct facts *facts, double secs)
{
    units_put_secs(text, secs);
    if (secs > facts->wall) {
        buf_puts(text, ", summed over CPUs");
        return;
    }
    units_put(text, " of %t", facts->wall);
}

static void put_wanted(struct buf *text, const struct facts *facts, double above)
{
    struct opt_f64 wanted = facts->cpu->wanted_p95;
    if (!wanted.has || wanted.v < above)
        return;
    units_put(text, "; it wanted about %n", wanted_about(wanted.v));
}

static void put_out_of_memory(struct buf *text, const struct facts *facts)
{
    struct opt_f64 need = summary_memory_need(facts->summary);
    const struct summary_result *result = &facts->summary->result;
    const char *verdict = result->verdict ? result->verdict : "";
    if (strcmp(verdict, SUMMARY_OUT_OF_MEMORY) == 0) {
        buf_puts(text, "Out of memory: it was killed");
    } else if (strcmp(verdict, SUMMARY_MAYBE_OUT_OF_MEMORY) == 0) {
        buf_puts(text, "Perhaps out of memory: it was killed");
    } else {
        units_put(text, "Out of memory: %u%s", result->oom_kills.v,
            result->oom_kills.v == 1 ? " process of its cgroup was killed" : " processes of its cgroup were killed");
    }
    if (need.has && need.v > 0)
        units_put(text, " at %m", need.v);
    if (summary_reached_limit(facts->summary)) {
        units_put(text, "; it needs more than the limit of %m", facts->memory->limit_mib.v);
    }
}

static void put_swapping(struct buf *text, const struct facts *facts)
{
    units_put(text, "Swapping: swap in use on the host grew by %m", facts->memory->host_swap_growth_mib.v);
    if (facts->summary->pressure.memory_some_secs.has)
        units_put(text, ", and tasks waited for memory for %t of %t", facts->summary->pressure.memory_some_secs.v,
            facts->wall);
}

/* "its GPU", "each of its 2 GPUs" */
static void put_gpus(struct buf *text, const struct facts *facts)
{
    if (facts->gpus_used < 2) {
        buf_puts(text, "its GPU");
        return;
    }
    units_put(text, "its %G", facts->gpus_used);
}

static void put_gpu_bound(struct buf *text, const struct facts *facts)
{
    buf_puts(text, "GPU-bound: it kept ");
    put_gpus(text, facts);
    units_put(text, " busy for %p%s", facts->gpu_share * 100,
        facts->gpu_run_share < facts->gpu_share ? " of the time in use" : " of the time");
}

static void put_throttled(struct buf *text, const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    buf_puts(text, "Throttled: the CPU limit ");
    if (summary_is_of_cgroup(cpu->limit_source) && cpu->limit_cores.has)
        units_put(text, "of %n ", cpu->limit_cores.v);
    buf_puts(text, "held it back for ");
    put_share_of_wall(text, facts, cpu->throttled_secs.v);
    put_wanted(text, facts, 0);
}

static void put_memory_limit(struct buf *text, const struct facts *facts)
{
    units_put(text, "%s%m of %m",
        facts->memory->limit_used_pct.v < 100 ? "Memory close to its limit: " : "Memory at its limit: ",
        summary_memory_need(facts->summary).v, facts->memory->limit_mib.v);
    if (facts->memory->limit_source)
        units_put(text, " (%s)", facts->memory->limit_source);
}

static void put_full_host(struct buf *text, const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    units_put(text, "of the %c, which were all busy, it got %f and other work %f; how long it waited is not known",
        (double)facts->summary->machine.cpus.v, "CPU", cpu->cores_mean.v, cpu->host_cores_mean.v - cpu->cores_mean.v);
}

/* What it got of what it wanted. */
static void put_got(struct buf *text, const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    bool is_estimate = cpu->wanted_is_estimate.has && cpu->wanted_is_estimate.v;
    units_put(text, "it got %f%s%n it wanted", cpu->cores_mean.v, is_estimate ? " of about " : " of the ",
        is_estimate ? wanted_about(cpu->wanted_mean.v) : cpu->wanted_mean.v);
    if (cpu->limit_cores.has && cpu->limit_cores.v < cpu->wanted_mean.v * AT_LIMIT_SHARE)
        units_put(text, " (it may use %f)", cpu->limit_cores.v);
    if (cpu->wait_secs.has) {
        units_put(text, ", and waited %t for a CPU", cpu->wait_secs.v);
    }
    if (is_estimate)
        buf_puts(text, " (estimated: its processes were too short to be read)");
}

static void put_starved(struct buf *text, const struct facts *facts)
{
    buf_puts(text, "Starved by other work: ");
    if (facts->cpu->wanted_mean.has)
        put_got(text, facts);
    else
        put_full_host(text, facts);
}

static void put_held_back(struct buf *text, const struct facts *facts)
{
    buf_puts(text, "Throttled: ");
    put_got(text, facts);
    buf_puts(text, " while others were idle: a quota or affinity of some of its processes");
}

static void put_gpu_starved(struct buf *text, const struct facts *facts)
{
    bool is_one = facts->cpu->cores_p95.v < BOUND_CORES;
    buf_puts(text, "GPU starved: ");
    put_gpus(text, facts);
    units_put(text, "%s%p of the time while ", facts->gpus_used < 2 ? " was idle " : " were idle ",
        (1 - facts->gpu_share) * 100);
    if (is_one) {
        buf_puts(text, "one core was full");
    } else {
        put_cores(text, facts, facts->cpu->cores_mean.v);
        buf_puts(text, " were busy");
    }
    buf_puts(text, ": data loading");
}

static void put_disk(struct buf *text, const struct facts *facts)
{
    const struct summary_disk *disk = &facts->summary->disk;
    units_put(text, "Waits for disk: read %b, wrote %b; tasks waited for I/O for ", (double)disk->read_bytes.v,
        (double)disk->write_bytes.v);
    put_share_of_wall(text, facts, disk_wait_secs(facts));
}

static void put_cpu_bound(struct buf *text, const struct facts *facts)
{
    const struct summary_cpu *cpu = facts->cpu;
    double used = cpu->cores_p95.v;
    /* "2 of 2 cores", not 1.98. */
    if (cpu->limit_cores.has && used >= cpu->limit_cores.v * AT_LIMIT_SHARE)
        used = cpu->limit_cores.v;
    buf_puts(text, "CPU-bound on ");
    put_cores(text, facts, used);
    put_wanted(text, facts, used * 1.1);
}

static void put_single_threaded(struct buf *text, const struct facts *facts)
{
    buf_puts(text, "Single-threaded: one core was full (");
    put_cores(text, facts, facts->cpu->cores_mean.v);
    buf_puts(text, "); more cores do not help");
}

static void put_idle(struct buf *text, const struct facts *facts)
{
    buf_puts(text, "Mostly idle: used ");
    put_cores(text, facts, facts->cpu->cores_mean.v);
    if (facts->gpus_used > 0) {
        units_put(text, " and %p of ", facts->gpu_run_share * 100);
        put_gpus(text, facts);
    }
}

static void put_mixed(struct buf *text, const struct facts *facts)
{
    buf_puts(text, "Mixed: used ");
    put_cores(text, facts, facts->cpu->cores_mean.v);
    units_put(text, " on average, P95 %f", facts->cpu->cores_p95.v);
    if (facts->gpus_used > 0) {
        units_put(text, ", and %p of ", facts->gpu_run_share * 100);
        put_gpus(text, facts);
    }
    const struct summary_cpu *cpu = facts->cpu;
    if (!cpu->wanted_mean.has)
        buf_puts(text, "; what it waited for a CPU is not known");
    else if (cpu->wanted_is_estimate.has && cpu->wanted_is_estimate.v)
        buf_puts(text, "; no single resource is known to have held it back (what it waited for a CPU is estimated)");
    else
        buf_puts(text, "; no single resource held it back");
}

/* In this order. */
enum rule_id {
    RULE_HOST,
    RULE_OUT_OF_MEMORY,
    RULE_TOO_SHORT,
    RULE_UNKNOWN,
    RULE_SWAPPING,
    RULE_GPU_BOUND,
    RULE_THROTTLED,
    RULE_MEMORY_LIMIT,
    RULE_HELD_BACK,
    RULE_STARVED,
    RULE_GPU_STARVED,
    RULE_DISK,
    RULE_GROWING,
    RULE_CPU_BOUND,
    RULE_SINGLE_THREADED,
    RULE_IDLE,
    RULE_MIXED,
    RULES
};

struct rule {
    char kind[16];
    unsigned short evidence[VERDICT_EVIDENCE_MAX]; /* where its numbers are in the summary; 0: no more */
};

#define AT(member) offsetof(struct summary, member)

static const struct rule rules[RULES] = {
    [RULE_HOST] = {"host", {AT(samples)}},
    [RULE_OUT_OF_MEMORY] = {"out-of-memory",
        {AT(result.oom_kills), AT(result.host_oom_kills), AT(memory.limit_mib), AT(memory.need_mib)}},
    [RULE_TOO_SHORT] = {"too-short", {AT(wall_secs), AT(samples)}},
    [RULE_UNKNOWN] = {"unknown", {AT(samples)}},
    [RULE_SWAPPING] = {"swapping",
        {AT(memory.host_swap_used_peak_mib), AT(pressure.memory_some_secs), AT(memory.major_faults)}},
    [RULE_GPU_BOUND] = {"gpu-bound", {AT(gpu.active_usage_mean), AT(gpu.usage_mean), AT(gpu.utilized_peak)}},
    [RULE_THROTTLED] = {"throttled",
        {AT(cpu.throttled_secs), AT(cpu.limit_cores), AT(cpu.wait_secs), AT(cpu.wanted_p95)}},
    [RULE_MEMORY_LIMIT] = {"memory-limit", {AT(memory.need_mib), AT(memory.limit_mib), AT(memory.limit_used_pct)}},
    [RULE_HELD_BACK] = {"throttled",
        {AT(cpu.wait_secs), AT(cpu.wanted_mean), AT(cpu.cores_mean), AT(cpu.host_cores_mean)}},
    [RULE_STARVED] = {"starved", {AT(cpu.wait_secs), AT(cpu.wanted_mean), AT(cpu.cores_mean), AT(cpu.host_cores_mean)}},
    [RULE_GPU_STARVED] = {"gpu-starved",
        {AT(gpu.active_usage_mean), AT(gpu.usage_mean), AT(gpu.utilized_peak), AT(cpu.cores_mean)}},
    [RULE_DISK] = {"disk", {AT(pressure.io_some_secs), AT(disk.read_bytes), AT(disk.write_bytes), AT(cpu.cores_mean)}},
    [RULE_GROWING] = {"memory-growing",
        {AT(memory.rss_peak_mib), AT(memory.rss_peak_at_secs), AT(memory.rss_mean_mib)}},
    [RULE_CPU_BOUND] = {"cpu-bound",
        {AT(cpu.cores_mean), AT(cpu.cores_p95), AT(cpu.limit_cores), AT(cpu.saturated_pct), AT(cpu.wanted_p95)}},
    [RULE_SINGLE_THREADED] = {"single-threaded", {AT(cpu.cores_mean), AT(cpu.cores_p95), AT(cpu.cores_peak),
                                                     AT(cpu.limit_cores), AT(cpu.wanted_p95), AT(cpu.busiest_mean)}},
    [RULE_IDLE] = {"idle", {AT(cpu.cores_mean), AT(cpu.wanted_mean), AT(gpu.usage_mean)}},
    [RULE_MIXED] = {"mixed", {AT(cpu.cores_mean), AT(cpu.cores_p95), AT(cpu.wanted_p95), AT(gpu.usage_mean)}},
};

/* Calls, not addresses in the table: each of those takes more space. */
static bool applies(enum rule_id rule, const struct facts *facts)
{
    switch (rule) {
    case RULE_HOST:
        return facts->summary->samples.v > 0 && !summary_has_job(facts->summary);
    case RULE_OUT_OF_MEMORY:
        return summary_ran_out_of_memory(facts->summary);
    case RULE_TOO_SHORT:
        return facts->summary->samples.v > 0 && summary_is_too_short(facts->summary);
    case RULE_UNKNOWN:
        return !facts->cpu->cores_mean.has || !facts->cpu->cores_p95.has;
    case RULE_SWAPPING:
        return is_swapping(facts);
    case RULE_GPU_BOUND:
        return facts->gpus_used > 0 && facts->gpu_share >= GPU_BUSY_SHARE && facts->gpu_run_share >= GPU_BUSY_RUN_SHARE;
    case RULE_THROTTLED:
        return summary_is_throttled(facts->summary);
    case RULE_MEMORY_LIMIT:
        return facts->memory->limit_used_pct.has && facts->memory->limit_used_pct.v >= MEMORY_LIMIT_PCT;
    case RULE_HELD_BACK:
        return is_held_back(facts);
    case RULE_STARVED:
        return is_starved(facts);
    case RULE_GPU_STARVED:
        return facts->gpus_used > 0 && facts->gpu_share <= GPU_IDLE_SHARE &&
               facts->cpu->cores_mean.v >= GPU_STARVED_CORES;
    case RULE_DISK:
        return is_waiting_for_disk(facts);
    case RULE_GROWING:
        return facts->memory->growth_mib.has;
    case RULE_CPU_BOUND:
        return is_cpu_bound(facts);
    case RULE_SINGLE_THREADED:
        return is_single_threaded(facts);
    case RULE_IDLE:
        return is_idle(facts);
    case RULE_MIXED:
    case RULES:
        break;
    }
    return true;
}

static void put(enum rule_id rule, struct buf *text, const struct facts *facts)
{
    switch (rule) {
    case RULE_HOST:
        buf_puts(text, "No job was tracked, only the host");
        break;
    case RULE_OUT_OF_MEMORY:
        put_out_of_memory(text, facts);
        break;
    case RULE_TOO_SHORT:
        buf_puts(text, "Too short to say what held it back: ");
        summary_put_length(text, facts->summary, " and ");
        break;
    case RULE_UNKNOWN:
        buf_puts(text, facts->summary->samples.v > 0 ? "Not known: the recording has no CPU time of the job"
                                                     : "Not known: there is no sample");
        break;
    case RULE_SWAPPING:
        put_swapping(text, facts);
        break;
    case RULE_GPU_BOUND:
        put_gpu_bound(text, facts);
        break;
    case RULE_THROTTLED:
        put_throttled(text, facts);
        break;
    case RULE_MEMORY_LIMIT:
        put_memory_limit(text, facts);
        break;
    case RULE_HELD_BACK:
        put_held_back(text, facts);
        break;
    case RULE_STARVED:
        put_starved(text, facts);
        break;
    case RULE_GPU_STARVED:
        put_gpu_starved(text, facts);
        break;
    case RULE_DISK:
        put_disk(text, facts);
        break;
    case RULE_GROWING:
        units_put(text, "Memory grew to the end: by %m in the second half, to %m; a longer run needs more",
            facts->memory->growth_mib.v, facts->memory->rss_peak_mib.v);
        break;
    case RULE_CPU_BOUND:
        put_cpu_bound(text, facts);
        break;
    case RULE_SINGLE_THREADED:
        put_single_threaded(text, facts);
        break;
    case RULE_IDLE:
        put_idle(text, facts);
        break;
    case RULE_MIXED:
        put_mixed(text, facts);
        break;
    case RULES:
        break;
    }
}

/* What is not known is no evidence. */
static size_t keep_evidence(const struct rule *rule, const struct summary *summary, struct verdict_texts *texts)
{
    size_t count = 0;
    for (size_t i = 0; i < VERDICT_EVIDENCE_MAX && rule->evidence[i] > 0; i++) {
        struct buf text = buf_over(texts->keys[count], VERDICT_KEY_BYTES);
        /* Every opt begins with whether it is known. */
        if (!*(const bool *)((const char *)summary + rule->evidence[i]))
            continue;
        summary_put_key(&text, rule->evidence[i]);
        texts->evidence[count++] = buf_over_end(&text);
    }
    return count;
}

void verdict_fill(struct summary *summary, struct verdict_texts *texts)
{
    struct facts facts = facts_of(summary);
    unsigned id = 0;
    while (!applies((enum rule_id)id, &facts))
        id++;
    const struct rule *rule = &rules[id];
    struct buf text = buf_over(texts->text, VERDICT_TEXT_BYTES);
    put((enum rule_id)id, &text, &facts);
    buf_putc(&text, '.');
    size_t count = keep_evidence(rule, summary, texts);
    summary->verdict = (struct summary_verdict){
        .present = true, .kind = rule->kind, .text = buf_over_end(&text), .evidence = {true, count, texts->evidence}};
}
