/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the meters of a run to its summary: what each says alone (a table says which number comes from which meter), and
 * what follows from several of them. The table also says how numbers of runs are merged: the maximum of needs, the mean
 * of amounts.
 */
#include <stddef.h>

#include "summary/accumulate.h"
#include "summary/summary_internal.h"

enum aspect {
    SUM, /* of the meter; an amount */
    TOTAL, /* the same, or derived from several; of runs it is the sum */
    MEAN, /* over time; an amount */
    MAX, /* a need */
    AT, /* when the maximum was; goes with the need in the row before */
    NEWEST, /* of the newest run that knows it */
    AMOUNT, /* not of a meter: derived from several */
    NEED, /* the same */
};

struct row {
    uint16_t section, at; /* section: its first member becomes true where the number is known */
    uint8_t meter;
    uint8_t aspect : 4, is_count : 1, is_alone : 1; /* alone: it does not make its section present */
};

#define ROW(kind, section, member, of, meter)                                                                          \
    {                                                                                                                  \
        offsetof(struct summary, section), offsetof(struct summary, section.member), METER_##meter, of, kind, 0        \
    }
#define VALUE(section, member, of, meter) ROW(0, section, member, of, meter)
#define COUNT(section, member, of, meter) ROW(1, section, member, of, meter)
#define METER_ALONE(member, of, meter)                                                                                 \
    {                                                                                                                  \
        0, offsetof(struct summary, member), METER_##meter, of, 0, 1                                                   \
    }
#define ALONE(member, of) METER_ALONE(member, of, NONE)
#define METER_NONE METERS

static const struct row rows[] = {
    ALONE(wall_secs, AMOUNT),
    VALUE(cpu, user_secs, SUM, USER),
    VALUE(cpu, system_secs, SUM, SYSTEM),
    VALUE(cpu, total_secs, AMOUNT, NONE),
    VALUE(cpu, cores_mean, AMOUNT, NONE),
    VALUE(cpu, cores_p95, NEED, NONE),
    VALUE(cpu, cores_peak, MAX, CORES),
    VALUE(cpu, cores_peak_at_secs, AT, CORES),
    VALUE(cpu, wait_secs, SUM, WAIT),
    VALUE(cpu, wanted_mean, AMOUNT, NONE),
    VALUE(cpu, wanted_p95, NEED, NONE),
    VALUE(cpu, wanted_peak, MAX, WANTED),
    METER_ALONE(cpu.lacked_idle_mean, MEAN, LACKED_IDLE),
    VALUE(cpu, busiest_mean, MEAN, BUSIEST),
    VALUE(cpu, saturated_pct, AMOUNT, NONE),
    VALUE(cpu, throttled_secs, SUM, THROTTLED),
    VALUE(cpu, host_cores_mean, MEAN, HOST_CORES),
    VALUE(cpu, host_cores_p95, NEED, NONE),
    VALUE(cpu, host_cores_peak, MAX, HOST_CORES),
    COUNT(cpu, processes_peak, MAX, PROCESSES),
    COUNT(cpu, threads_peak, MAX, THREADS),
    COUNT(cpu, voluntary_switches, AMOUNT, NONE),
    COUNT(cpu, involuntary_switches, AMOUNT, NONE),
    COUNT(cpu, processes_seen, AMOUNT, NONE),
    COUNT(cpu, processes_unseen, AMOUNT, NONE),
    VALUE(memory, rss_peak_mib, NEED, NONE),
    VALUE(memory, rss_peak_at_secs, AT, RSS),
    VALUE(memory, rss_mean_mib, MEAN, RSS),
    VALUE(memory, pss_peak_mib, MAX, PSS),
    VALUE(memory, pss_peak_at_secs, AT, PSS),
    VALUE(memory, pss_mean_mib, MEAN, PSS),
    VALUE(memory, cgroup_peak_mib, NEED, NONE),
    VALUE(memory, cgroup_shmem_mib, MAX, SHMEM),
    COUNT(memory, major_faults, SUM, FAULTS),
    COUNT(memory, minor_faults, AMOUNT, NONE),
    VALUE(memory, host_used_mean_mib, MEAN, HOST_USED),
    VALUE(memory, host_used_peak_mib, MAX, HOST_USED),
    VALUE(memory, host_total_mib, NEWEST, HOST_TOTAL),
    VALUE(memory, host_swap_used_peak_mib, MAX, HOST_SWAP),
    ALONE(memory.largest_process_mib, NEED),
    ALONE(memory.need_mib, NEED),
    ALONE(memory.rss_sampled_mib, NEED),
    ALONE(memory.uncertain_mib, NEED),
    ALONE(memory.growth_mib, NEED),
    ALONE(memory.late_growth_mib, NEED),
    ALONE(memory.host_swap_growth_mib, NEED),
    COUNT(disk, read_bytes, SUM, READ),
    COUNT(disk, write_bytes, SUM, WRITTEN),
    COUNT(disk, host_read_bytes, SUM, HOST_READ),
    COUNT(disk, host_write_bytes, SUM, HOST_WRITTEN),
    METER_ALONE(disk.host_iowait_secs, SUM, HOST_IOWAIT),
    COUNT(network, received_bytes, SUM, RECEIVED),
    COUNT(network, sent_bytes, SUM, SENT),
    COUNT(network, host_received_bytes, SUM, HOST_RECEIVED),
    COUNT(network, host_sent_bytes, SUM, HOST_SENT),
    COUNT(gpu, count, MAX, GPUS),
    VALUE(gpu, usage_mean, MEAN, GPU_USAGE),
    VALUE(gpu, active_usage_mean, MEAN, GPU_ACTIVE),
    VALUE(gpu, usage_p95, NEED, NONE),
    VALUE(gpu, usage_peak, MAX, GPU_USAGE),
    COUNT(gpu, utilized_peak, MAX, GPUS_UTILIZED),
    VALUE(gpu, vram_peak_mib, MAX, VRAM),
    VALUE(gpu, host_usage_mean, MEAN, GPU_HOST_USAGE),
    VALUE(gpu, host_usage_peak, MAX, GPU_HOST_USAGE),
    VALUE(gpu, host_vram_peak_mib, MAX, GPU_HOST_VRAM),
    VALUE(gpu, vram_total_mib, MAX, GPU_VRAM_TOTAL),
    VALUE(gpu, energy_joules, AMOUNT, NONE),
    VALUE(energy, package_joules, TOTAL, PACKAGE_ENERGY),
    VALUE(energy, dram_joules, TOTAL, DRAM_ENERGY),
    VALUE(energy, platform_joules, TOTAL, PLATFORM_ENERGY),
    VALUE(energy, idle_joules, TOTAL, IDLE_ENERGY),
    VALUE(energy, process_joules, TOTAL, TREE_ENERGY),
    VALUE(energy, gpu_joules, TOTAL, NONE),
    ALONE(energy.cpu_measured_secs, TOTAL),
    ALONE(energy.platform_measured_secs, TOTAL),
    VALUE(pressure, cpu_some_secs, SUM, CPU_PRESSURE),
    VALUE(pressure, memory_some_secs, SUM, MEMORY_PRESSURE),
    VALUE(pressure, memory_full_secs, SUM, MEMORY_FULL_PRESSURE),
    VALUE(pressure, io_some_secs, SUM, IO_PRESSURE),
    VALUE(pressure, io_full_secs, SUM, IO_FULL_PRESSURE),
    VALUE(tracker, cpu_secs, SUM, TRACKER_CPU),
    VALUE(tracker, rss_peak_mib, MAX, TRACKER_RSS),
    VALUE(tracker, late_max_ms, MAX, TRACKER_LATE),
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert(sizeof(rows) / sizeof(rows[0]) <= DERIVED_ROWS_MAX, "every row has an amount");
_Static_assert(sizeof(struct summary) <= UINT16_MAX, "offsets in the summary fit");

struct opt_f64 summary_memory_need(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    if (memory->need_mib.has)
        return memory->need_mib;
    struct opt_f64 need = memory->pss_peak_mib.has ? memory->pss_peak_mib : memory->rss_peak_mib;
    if (memory->largest_process_mib.has && !(need.has && need.v >= memory->largest_process_mib.v))
        return memory->largest_process_mib;
    return need;
}

bool summary_has_tree(const struct summary *summary)
{
    return summary->cpu.total_secs.has || summary->cpu.cores_p95.has || summary_memory_need(summary).has;
}

bool summary_has_job(const struct summary *summary)
{
    bool has_command = summary->command.present && summary->command.count > 0;
    return summary->tracked_pid.has || has_command || summary_has_tree(summary);
}

static double value_of(const struct meter *meter, enum aspect aspect)
{
    switch (aspect) {
    case SUM:
    case TOTAL:
        return fixed4_value(meter->sum);
    case MEAN:
        return meter->weighted / (double)meter->weight / FIXED4;
    case AT:
        return fixed4_value(meter->max_at_fixed4);
    case NEWEST:
        return fixed4_value(meter->newest);
    case MAX:
    case AMOUNT:
    case NEED:
        break;
    }
    return fixed4_value(meter->max);
}

static void fill_row(const struct accumulated_run *run, const struct row *row, struct summary *summary)
{
    const struct meter *meter = &run->meters[row->meter];
    void *at = (char *)summary + row->at;
    if (meter->seen == 0 || (row->aspect == MEAN && meter->weight == 0))
        return;
    if (row->is_count) {
        int64_t count = row->aspect == SUM ? meter->sum : meter->max;
        *(struct opt_u64 *)at = some_u64((uint64_t)count + (row->meter == METER_PROCESSES)); /* its root */
    } else {
        *(struct opt_f64 *)at = some_f64(value_of(meter, row->aspect));
    }
}

static void fill_rows(const struct accumulated_run *run, struct summary *summary)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].meter < METERS)
            fill_row(run, &rows[i], summary);
    }
}

static void merge_count(const struct row *row, struct run_amount *amount, uint64_t value, struct opt_u64 *total)
{
    if (row->aspect == MAX) {
        if (!total->has || value > total->v)
            *total = some_u64(value);
        return;
    }
    amount->runs++;
    if (__builtin_add_overflow(amount->count, value, &amount->count))
        amount->count = UINT64_MAX;
    *total = some_u64(amount->count / amount->runs + (amount->count % amount->runs * 2 >= amount->runs));
}

/* Returns whether the total is now that of this run. */
static bool merge_value(const struct row *row, struct run_amount *amount, double value, struct opt_f64 *total)
{
    if (row->aspect == MAX || row->aspect == NEED) {
        if (total->has && value <= total->v)
            return false;
    } else if (row->aspect == TOTAL) {
        value += total->has ? total->v : 0;
    } else if (row->aspect != NEWEST) {
        amount->runs++;
        amount->sum += value;
        value = amount->sum / (double)amount->runs;
    }
    *total = some_f64(value);
    return true;
}

void derive_merge_rows(struct accumulator *acc, const struct summary *run)
{
    bool is_higher = false;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        const void *from = (const char *)run + row->at;
        void *to = (char *)&acc->total + row->at;
        bool is_known = *(const bool *)from; /* an opt begins with it */
        if (row->aspect == AT) {
            if (is_higher)
                *(struct opt_f64 *)to = *(const struct opt_f64 *)from;
            continue;
        }
        is_higher = false;
        if (!is_known)
            continue;
        if (row->is_count)
            merge_count(row, &acc->amounts[i], ((const struct opt_u64 *)from)->v, to);
        else
            is_higher = merge_value(row, &acc->amounts[i], ((const struct opt_f64 *)from)->v, to);
        if (!row->is_alone)
            *(bool *)((char *)&acc->total + row->section) = true;
    }
}

/* A P95 rests on all intervals and may be off a little: it is never reported above the peak. */
static struct opt_f64 p95_of(const struct accumulated_run *run, unsigned meter)
{
    struct opt_f64 p95 = sketch_quantile(&run->sketches[meter], 0.95);
    double peak = fixed4_value(run->meters[meter].max);
    return p95.has && p95.v > peak ? some_f64(peak) : p95;
}

static void raise_to(struct opt_f64 *value, struct opt_f64 least)
{
    if (least.has && !(value->has && value->v >= least.v))
        *value = least;
}

/*
 * Intervals that are too short make no peak, but their work is in the mean: where it lifts the mean above every other
 * interval, the peak was at least that.
 */
static void lift_peak(struct opt_f64 *peak, struct opt_f64 mean)
{
    if (peak->has)
        raise_to(peak, mean);
}

/* Was it known for at least that share of the time for which the cores in use were? */
__attribute__((noinline)) static bool is_known_for(const struct accumulated_run *run, unsigned meter, double share)
{
    return run->meters[meter].seen > 0 &&
           (double)run->meters[meter].weight >= (double)run->meters[METER_CORES].weight * share;
}

/* Where it was not known for a part of the time, often the last interval, the rest stands for it. */
static double whole_wait(const struct accumulated_run *run)
{
    const struct meter *known = &run->meters[METER_WAIT_READ];
    return fixed4_value(known->sum) * (double)run->meters[METER_CORES].weight / (double)known->weight;
}

static void finish_wanted(const struct accumulated_run *run, struct summary_cpu *cpu)
{
    static const double half = 0.5, nearly = 0.8;
    bool is_wait_known = is_known_for(run, METER_WAIT_READ, nearly);
    if (!is_known_for(run, METER_BUSIEST, half))
        cpu->busiest_mean = (struct opt_f64){0};
    cpu->wait_secs = is_wait_known ? some_f64(whole_wait(run)) : (struct opt_f64){0};
    if (!is_known_for(run, METER_WANTED, half)) {
        cpu->wanted_peak = (struct opt_f64){0};
        return;
    }
    cpu->wanted_is_estimate = some_bool(!is_wait_known);
    if (cpu->cores_mean.has)
        cpu->wanted_mean = some_f64(cpu->cores_mean.v + value_of(&run->meters[METER_LACKED], MEAN));
    cpu->wanted_p95 = p95_of(run, METER_WANTED);
    raise_to(&cpu->wanted_p95, cpu->cores_p95);
    raise_to(&cpu->wanted_peak, cpu->cores_peak);
    lift_peak(&cpu->wanted_peak, cpu->wanted_mean);
}

static void finish_cpu(const struct accumulated_run *run, struct summary *summary)
{
    struct summary_cpu *cpu = &summary->cpu;
    if (run->elapsed_fixed4.has)
        summary->wall_secs = some_f64(fixed4_value(run->elapsed_fixed4.v));
    if (cpu->user_secs.has && cpu->system_secs.has) {
        int64_t total;
        if (__builtin_add_overflow(run->meters[METER_USER].sum, run->meters[METER_SYSTEM].sum, &total))
            total = INT64_MAX;
        cpu->total_secs = some_f64(fixed4_value(total));
    }
    if (cpu->total_secs.has && run->elapsed_fixed4.v > 0)
        cpu->cores_mean = some_f64(cpu->total_secs.v / summary->wall_secs.v);
    cpu->cores_p95 = p95_of(run, METER_CORES);
    cpu->host_cores_p95 = p95_of(run, METER_HOST_CORES);
    lift_peak(&cpu->cores_peak, cpu->cores_mean);
    lift_peak(&cpu->host_cores_peak, cpu->host_cores_mean);
    finish_wanted(run, cpu);
}

static void finish_end(const struct sample_end *end, struct summary *summary)
{
    struct summary_cpu *cpu = &summary->cpu;
    if (!end->present)
        return;
    cpu->is_lower_bound = end->cpu_is_lower_bound;
    cpu->voluntary_switches = end->voluntary_switches;
    cpu->involuntary_switches = end->involuntary_switches;
    cpu->processes_seen = end->processes_seen;
    cpu->processes_unseen = end->processes_unseen;
    summary->memory.minor_faults = end->minor_faults;
}

/* Resident memory of the largest process: as the end of the run has it, or of a run without one as its samples do. */
static struct opt_f64 largest_process(const struct accumulated_run *run)
{
    struct opt_i64 largest = run->largest_process_fixed4;
    struct opt_i64 end = run->end.present ? fixed4_of(run->end.largest_process_mib) : (struct opt_i64){0};
    if (end.has && !(largest.has && largest.v >= end.v))
        largest = end;
    return largest.has && largest.v > 0 ? some_f64(fixed4_value(largest.v)) : (struct opt_f64){0};
}

/*
 * PSS is measured on a budget. Where RSS was clearly higher while PSS was not known, the highest PSS is not the peak of
 * the tree, and RSS has to do.
 */
static void keep_need(const struct accumulated_run *run, struct summary_memory *memory)
{
    const struct meter *pss = &run->meters[METER_PSS], *beside = &run->meters[METER_RSS_BESIDE_PSS];
    int64_t alone = run->meters[METER_RSS_ALONE].max;
    bool is_missed = alone > a_tenth_more(beside->max) && alone > pss->max;
    if (is_missed || (pss->max == 0 && memory->rss_peak_mib.v > 0))
        memory->pss_peak_mib = memory->pss_peak_at_secs = (struct opt_f64){0};
    memory->need_mib = memory->pss_peak_mib;
    if (!memory->need_mib.has)
        memory->need_mib = memory->rss_peak_mib;
    raise_to(&memory->need_mib, memory->largest_process_mib);
    /* A reading of PSS can be too low, while memory is being shared or released: one process needs all it holds. */
    struct opt_f64 largest = largest_process(run);
    if (largest.has && memory->need_mib.has && largest.v > memory->need_mib.v)
        memory->need_mib = memory->largest_process_mib = largest;
    const struct meter *with_shmem = &run->meters[METER_WITH_SHMEM];
    raise_to(&memory->need_mib, (struct opt_f64){with_shmem->seen > 0, fixed4_value(with_shmem->max)});
}

static void finish_memory(const struct accumulated_run *run, struct summary *summary)
{
    struct summary_memory *memory = &summary->memory;
    const struct meter *sampled = &run->meters[METER_RSS], *reported = &run->meters[METER_PEAK_RSS];
    if (reported->seen > 0 && (sampled->seen == 0 || reported->max > sampled->max))
        memory->largest_process_mib = some_f64(fixed4_value(reported->max));
    if (memory->largest_process_mib.has)
        memory->rss_peak_mib = memory->largest_process_mib;
    else if (sampled->seen > 0)
        memory->rss_peak_mib = some_f64(fixed4_value(sampled->max));
    memory->rss_sampled_mib = (struct opt_f64){sampled->seen > 0, fixed4_value(sampled->max)};
    keep_need(run, memory);
    /* No job has none: it ended before it was seen. */
    if (memory->need_mib.has && memory->need_mib.v <= 0)
        memory->need_mib = memory->pss_peak_mib = memory->pss_peak_at_secs = memory->rss_peak_mib =
            memory->rss_peak_at_secs = memory->rss_mean_mib = (struct opt_f64){0};
    growth_fill(&run->growth, memory);
    /* A process was higher between two samples, or after the last: which of the two is not known. */
    if (memory->late_growth_mib.has && sampled->seen > 0 && reported->max > sampled->max)
        raise_to(&memory->late_growth_mib, some_f64(fixed4_value(reported->max - sampled->max)));
    const struct meter *swap = &run->meters[METER_HOST_SWAP];
    if (run->first_swap_fixed4.has && swap->seen > 0)
        memory->host_swap_growth_mib = some_f64(fixed4_value(swap->max - run->first_swap_fixed4.v));
    memory->cgroup_is_own = run->cgroup_is_own;
    const struct meter *cgroup = &run->meters[METER_CGROUP_PEAK];
    /* It is that of the cgroup's whole life: where it did not grow during the run, others have made it. Kernels before
     * 5.19 keep none. Recordings of older versions do not have what it was before the first sample. */
    if (cgroup->seen == 0 || cgroup->max <= run->first_cgroup_peak_fixed4.v)
        cgroup = &run->meters[METER_CGROUP_USED];
    if (cgroup->seen > 0)
        memory->cgroup_peak_mib = some_f64(fixed4_value(cgroup->max));
    /* Where it ran into its limit in this run, that is its peak, whatever it was in an earlier one. */
    double life_peak = fixed4_value(run->meters[METER_CGROUP_PEAK].max);
    if (run->end.present && run->end.oom_kills.v > 0 && run->memory_limit_mib.has &&
        life_peak >= run->memory_limit_mib.v)
        raise_to(&memory->cgroup_peak_mib, run->memory_limit_mib);
}

static void finish_gpu(const struct accumulated_run *run, struct summary_gpu *gpu)
{
    gpu->usage_p95 = p95_of(run, METER_GPU_USAGE);
    lift_peak(&gpu->usage_peak, gpu->usage_mean);
    lift_peak(&gpu->host_usage_peak, gpu->host_usage_mean);
    struct opt_i64 joules = run->end.present ? fixed4_of(run->end.gpu_energy_joules) : (struct opt_i64){0};
    const struct meter *power = &run->meters[METER_GPU_ENERGY];
    if (joules.has || power->seen > 0) {
        gpu->energy_joules = some_f64(fixed4_value(joules.has ? joules.v : power->sum));
        gpu->energy_source = joules.has ? "counter" : "power";
    }
}

static struct opt_f64 known_secs(const struct meter *meter)
{
    return (struct opt_f64){meter->seen > 0, (double)meter->weight / 1000};
}

/* Energy of GPUs that the tree did not use is not its own. */
static void finish_energy(const struct accumulated_run *run, struct summary *summary)
{
    struct summary_energy *energy = &summary->energy;
    if (summary_has_used_gpu(&summary->gpu))
        energy->gpu_joules = summary->gpu.energy_joules;
    if (!run->elapsed_fixed4.has)
        return;
    energy->cpu_measured_secs = known_secs(&run->meters[METER_PACKAGE_ENERGY]);
    energy->platform_measured_secs = known_secs(&run->meters[METER_PLATFORM_ENERGY]);
}

static void lower(struct opt_f64 *limit, const char **source, struct opt_f64 other, const char *name)
{
    if (!other.has || !(other.v > 0) || (limit->has && limit->v <= other.v))
        return;
    *limit = other;
    *source = name;
}

#define SATURATED_SHARE 0.95
#define AFFINITY_USED_MAX 1.1 /* times the CPUs it may run on */

static void finish_limits(const struct accumulated_run *run, struct summary *summary)
{
    static const char cgroup[] = "cgroup", machine[] = "machine";
    struct summary_cpu *cpu = &summary->cpu;
    struct summary_memory *memory = &summary->memory;
    lower(&cpu->limit_cores, &cpu->limit_source, run->cpu_limit_cores, cgroup);
    bool is_online_low = run->cpus_allowed.has && run->cpus_allowed.v > run->cpus_online.v;
    struct opt_u64 online = is_online_low ? run->cpus_allowed : run->cpus_online;
    lower(&cpu->limit_cores, &cpu->limit_source, opt_scaled(online, 1), machine);
    /* What the job may run on itself, where that is known. More than it may is not used: then it was not read right. */
    struct opt_u64 allowed = run->end.present ? run->end.cpus_allowed : (struct opt_u64){0};
    if (!allowed.has || (cpu->cores_p95.has && cpu->cores_p95.v > (double)allowed.v * AFFINITY_USED_MAX))
        allowed = run->cpus_allowed;
    lower(&cpu->limit_cores, &cpu->limit_source, opt_scaled(allowed, 1), "affinity");
    if (cpu->limit_cores.has && run->meters[METER_CORES].seen > 0) {
        struct opt_f64 share = sketch_share_from(&run->sketches[METER_CORES], cpu->limit_cores.v * SATURATED_SHARE);
        cpu->saturated_pct = (struct opt_f64){share.has, share.v * 100};
    }
    summary->machine.cpus = online;
    lower(&memory->limit_mib, &memory->limit_source, run->memory_limit_mib, cgroup);
    lower(&memory->limit_mib, &memory->limit_source, memory->host_total_mib, machine);
}

/* Exact only where every sample is. */
static void finish_network(const struct accumulated_run *run, struct summary_network *network)
{
    if (run->net_samples == 0)
        return;
    network->is_lower_bound = some_bool(run->net_exact_samples < run->samples);
    network->source = network->is_lower_bound.v ? "tcp" : "namespace";
}

void derive_run(const struct accumulated_run *run, struct summary *summary)
{
    fill_rows(run, summary);
    summary->tracked_pid = run->tracked_pid;
    if (run->interval_fixed4.has)
        summary->interval_secs = some_f64(fixed4_value(run->interval_fixed4.v));
    finish_cpu(run, summary);
    finish_end(&run->end, summary);
    finish_memory(run, summary);
    finish_gpu(run, &summary->gpu);
    finish_energy(run, summary);
    finish_network(run, &summary->network);
    finish_limits(run, summary);
    if (sizing_peak_is_uncertain(summary))
        summary->memory.uncertain_mib = summary->memory.need_mib;
}
