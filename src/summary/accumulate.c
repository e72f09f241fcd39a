/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From samples to meters: a table says which member of the sample goes into which meter. What a later sample or the end
 * of the run decides about is kept beside them.
 */
#include "summary/accumulate.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "summary/summary_internal.h"

static void keep_max(struct meter *meter, int64_t value, const struct meter_tick *tick, bool is_short)
{
    bool is_first = meter->seen == 0 || (meter->is_max_short && !is_short);
    if (!is_first && (value <= meter->max || (is_short && !meter->is_max_short)))
        return;
    meter->max = value;
    meter->max_at_fixed4 = tick->elapsed_fixed4;
    meter->is_max_short = is_short;
}

static void meter_add(struct accumulated_run *run, unsigned id, int64_t value, const struct meter_tick *tick)
{
    struct meter *meter = &run->meters[id];
    /* Nothing that is measured is below 0: the recording is wrong there. */
    if (value < 0)
        return;
    keep_max(meter, value, tick, tick->is_short && id < METERS_OF_INTERVAL);
    meter->seen++;
    meter->newest = value;
    if (__builtin_add_overflow(meter->sum, value, &meter->sum))
        meter->sum = value < 0 ? INT64_MIN : INT64_MAX;
    if (id < METERS_SKETCHED)
        sketch_add(&run->sketches[id], fixed4_value(value), tick->weight_ms);
    /* A tree that has ended has no memory, which says nothing of the time before. */
    if (value == 0 && (id == METER_RSS || id == METER_PSS))
        return;
    meter->weighted += (double)value * (double)tick->weight_ms;
    meter->weight += tick->weight_ms;
}

/* Where a quantity stands in the sample. */
struct source {
    uint16_t section, at; /* section: its first member says whether it is present */
    uint8_t meter;
    bool is_count;
};

#define VALUE(meter, section, member)                                                                                  \
    {                                                                                                                  \
        offsetof(struct sample, section), offsetof(struct sample, section.member), METER_##meter, false                \
    }
#define COUNT(meter, section, member)                                                                                  \
    {                                                                                                                  \
        offsetof(struct sample, section), offsetof(struct sample, section.member), METER_##meter, true                 \
    }

static const struct source sources[] = {
    VALUE(CORES, cpu, process_cores_used),
    VALUE(HOST_CORES, cpu, utilization_pct),
    VALUE(GPU_USAGE, cpu, process_gpu_usage),
    VALUE(WAIT, cpu, process_wait_secs),
    VALUE(BUSIEST, cpu, process_busiest_cores),
    VALUE(HOST_IOWAIT, cpu, iowait_secs),
    VALUE(RSS, cpu, process_rss_mib),
    VALUE(PSS, cpu, process_pss_mib),
    VALUE(PEAK_RSS, cpu, process_peak_rss_mib),
    VALUE(USER, cpu, process_utime_secs),
    VALUE(SYSTEM, cpu, process_stime_secs),
    COUNT(PROCESSES, cpu, process_child_count),
    COUNT(THREADS, cpu, process_thread_count),
    COUNT(FAULTS, cpu, process_major_faults),
    COUNT(READ, cpu, process_disk_read_bytes),
    COUNT(WRITTEN, cpu, process_disk_write_bytes),
    COUNT(RECEIVED, cpu, process_net_recv_bytes),
    COUNT(SENT, cpu, process_net_sent_bytes),
    VALUE(VRAM, cpu, process_gpu_vram_mib),
    COUNT(GPUS_UTILIZED, cpu, process_gpu_utilized),
    VALUE(HOST_TOTAL, memory, total_mib),
    VALUE(HOST_SWAP, memory, swap_used_mib),
    VALUE(HOST_SWAP_TOTAL, memory, swap_total_mib),
    VALUE(PACKAGE_ENERGY, energy, package_joules),
    VALUE(DRAM_ENERGY, energy, dram_joules),
    VALUE(PLATFORM_ENERGY, energy, platform_joules),
    VALUE(IDLE_ENERGY, energy, idle_joules),
    VALUE(TREE_ENERGY, energy, process_joules),
    VALUE(THROTTLED, cgroup, throttled_secs),
    VALUE(CGROUP_USED, cgroup, memory_used_mib),
    VALUE(CGROUP_PEAK, cgroup, memory_peak_mib),
    VALUE(SHMEM, cgroup, shmem_unmapped_mib),
    VALUE(CPU_PRESSURE, pressure, cpu_some_secs),
    VALUE(MEMORY_PRESSURE, pressure, memory_some_secs),
    VALUE(MEMORY_FULL_PRESSURE, pressure, memory_full_secs),
    VALUE(IO_PRESSURE, pressure, io_some_secs),
    VALUE(IO_FULL_PRESSURE, pressure, io_full_secs),
    VALUE(TRACKER_CPU, tracker, cpu_secs),
    VALUE(TRACKER_RSS, tracker, rss_mib),
    VALUE(TRACKER_LATE, tracker, late_ms),
    COUNT(MISSED, tracker, missed_samples),
};

_Static_assert(sizeof(struct sample) <= UINT16_MAX, "offsets in the sample fit");

static struct opt_i64 count_of(struct opt_u64 count)
{
    if (!count.has)
        return (struct opt_i64){0};
    return some_i64(count.v <= INT64_MAX ? (int64_t)count.v : INT64_MAX);
}

/* What a tree uses of the GPUs of a machine that has none is a known 0, and of no interest in a summary. */
static bool is_of_no_gpu(const struct source *source, const struct sample *sample)
{
    bool is_gpu =
        source->meter == METER_GPU_USAGE || source->meter == METER_VRAM || source->meter == METER_GPUS_UTILIZED;
    return is_gpu && sample->gpu.present && sample->gpu.count == 0;
}

static void add_sections(struct accumulated_run *run, const struct sample *sample, const struct meter_tick *tick)
{
    const char *base = (const char *)sample;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const struct source *source = &sources[i];
        const void *at = base + source->at;
        if (!*(const bool *)(base + source->section))
            continue;
        struct opt_i64 value =
            source->is_count ? count_of(*(const struct opt_u64 *)at) : fixed4_of(*(const struct opt_f64 *)at);
        if (value.has && !is_of_no_gpu(source, sample))
            meter_add(run, source->meter, value.v, tick);
    }
    const char *source = sample->cpu.present ? sample->cpu.process_net_source : NULL;
    run->net_samples += source != NULL;
    run->net_exact_samples += source && strcmp(source, "namespace") == 0;
    struct opt_i64 gpus = fixed4_of(sample->cpu.process_gpu_usage);
    if (sample->cpu.present && gpus.has && sample->cpu.process_gpu_vram_mib.v > 0)
        meter_add(run, METER_GPU_ACTIVE, gpus.v, tick);
    struct opt_i64 used = fixed4_of(sample_memory_used_mib(&sample->memory));
    if (sample->memory.present && used.has)
        meter_add(run, METER_HOST_USED, used.v, tick);
}

/*
 * The kernel adds a wait when it is over, so one interval lacks what the next has too much of. Where waiting matters,
 * what was wanted is the mean of a second at least, and of two samples; and what is a little above the number of
 * threads there were is not believed.
 */
static double wanted_over(const struct wanted_window *window, double newest, bool is_waiting)
{
    static const int64_t least_fixed4 = FIXED4;
    static const double surplus = 1.25;
    double demand = 0, length = 0;
    uint64_t threads = 0;
    for (size_t i = 0; i < window->count; i++) {
        const struct wanted_point *point = &window->points[(window->newest + WANTED_POINTS - i) % WANTED_POINTS];
        if (i >= 2 && length >= (double)least_fixed4)
            break;
        demand += point->demand;
        length += (double)point->length_fixed4;
        threads = point->threads > threads ? point->threads : threads;
    }
    double wanted = is_waiting && length > 0 ? demand / length : newest;
    double most = (double)threads * FIXED4;
    return threads > 0 && wanted > most && wanted <= most * surplus ? most : wanted;
}

/*
 * Cores beyond those used, fixed4. Recordings of older versions have only what was waited, which counts in full there:
 * right for threads that never sleep.
 */
static double lacked_cores(const struct sample_cpu *cpu, double used, const struct meter_tick *tick)
{
    struct opt_i64 wanted = fixed4_of(cpu->process_cores_wanted), wait = fixed4_of(cpu->process_wait_secs);
    if (wanted.has)
        return (double)wanted.v > used ? (double)wanted.v - used : 0;
    return (double)wait.v / (double)tick->length_fixed4 * FIXED4;
}

/* More cannot be wanted than was waited: then it is an estimate. */
static bool is_from_wait(double lacked, int64_t wait, const struct meter_tick *tick)
{
    /* Both numbers of cores are rounded, and the length is not that of the tree's interval to the microsecond. */
    static const double surplus = 1.05, least = FIXED4 * 0.001;
    return (lacked - 1) * (double)tick->length_fixed4 / FIXED4 <= (double)wait * surplus + least;
}

/* Cores that were used, and those that were waited for: a thread that is ready all the time wants one. */
static void add_wanted(struct accumulated_run *run, const struct sample_cpu *cpu, const struct meter_tick *tick)
{
    static const double most = 9e17, waiting_share = 0.05;
    struct opt_i64 used = fixed4_of(cpu->process_cores_used), wait = fixed4_of(cpu->process_wait_secs);
    struct wanted_window *window = &run->wanted;
    bool is_known = fixed4_of(cpu->process_cores_wanted).has || (wait.has && wait.v >= 0);
    if (!cpu->present || !used.has || !is_known || used.v < 0 || tick->length_fixed4 <= 0) {
        window->count = 0;
        return;
    }
    double waited = lacked_cores(cpu, (double)used.v, tick);
    double wanted = (double)used.v + waited;
    meter_add(run, METER_LACKED, (int64_t)((waited < most ? waited : most) + 0.5), tick);
    struct opt_i64 host = fixed4_of(cpu->utilization_pct);
    double idle = (double)cpu->per_core_pct.count * FIXED4 - (double)host.v;
    if (host.has && idle >= 0)
        meter_add(run, METER_LACKED_IDLE, (int64_t)(waited < idle ? waited : idle), tick);
    if (wait.has && is_from_wait(waited, wait.v, tick))
        meter_add(run, METER_WAIT_READ, wait.v, tick);
    window->newest = (window->newest + 1) % WANTED_POINTS;
    window->count += window->count < WANTED_POINTS;
    window->points[window->newest] = (struct wanted_point){
        .demand = wanted * (double)tick->length_fixed4,
        .length_fixed4 = tick->length_fixed4,
        .threads = cpu->process_thread_count.has ? cpu->process_thread_count.v : 0,
    };
    wanted = wanted_over(window, wanted, waited > wanted * waiting_share);
    meter_add(run, METER_WANTED, (int64_t)((wanted < most ? wanted : most) + 0.5), tick);
}

static void add_known(struct accumulated_run *run, unsigned meter, struct opt_i64 value, const struct meter_tick *tick)
{
    if (value.has)
        meter_add(run, meter, value.v, tick);
}

static struct opt_i64 mib_of(struct opt_u64 bytes)
{
    return (struct opt_i64){bytes.has, mib_fixed4(bytes.v)};
}

/* Watts over milliseconds as joules, all in ten-thousandths. */
static struct opt_i64 energy_fixed4(struct opt_i64 power, uint64_t weight_ms)
{
    int64_t energy;
    if (power.has && __builtin_mul_overflow(power.v, (int64_t)weight_ms, &energy))
        energy = INT64_MAX;
    return power.has ? some_i64(energy / 1000) : power;
}

static void add_devices(struct accumulated_run *run, const struct sample *sample, const struct sample_totals *totals,
    const struct meter_tick *tick)
{
    add_known(run, METER_HOST_READ, count_of(totals->disk_read.bytes), tick);
    add_known(run, METER_HOST_WRITTEN, count_of(totals->disk_write.bytes), tick);
    add_known(run, METER_HOST_RECEIVED, count_of(totals->received.bytes), tick);
    add_known(run, METER_HOST_SENT, count_of(totals->sent.bytes), tick);
    if (!sample->gpu.present || sample->gpu.count == 0)
        return;
    struct opt_i64 pct = totals->gpu_usage_pct;
    meter_add(run, METER_GPUS, (int64_t)sample->gpu.count, tick);
    add_known(run, METER_GPU_HOST_USAGE, (struct opt_i64){pct.has, pct.v / 100 + (pct.v % 100 >= 50)}, tick);
    add_known(run, METER_GPU_HOST_VRAM, mib_of(totals->vram_used_bytes), tick);
    add_known(run, METER_GPU_VRAM_TOTAL, mib_of(totals->vram_total_bytes), tick);
    add_known(run, METER_GPU_ENERGY, energy_fixed4(totals->gpu_power_watts, tick->weight_ms), tick);
}

int accumulate_new(struct accumulator **ret_accumulator)
{
    struct accumulator *acc = calloc(1, sizeof(*acc));
    if (!acc)
        return -ENOMEM;
    buf_init(&acc->history.json, HISTORY_BYTES_MAX);
    *ret_accumulator = acc;
    return 0;
}

void accumulate_free(struct accumulator *acc)
{
    if (acc)
        buf_fini(&acc->history.json);
    free(acc);
}

void accumulate_set_carbon(struct accumulator *acc, double g_per_kwh)
{
    acc->carbon_g_per_kwh = some_f64(g_per_kwh);
}

void accumulate_set_parts(struct accumulator *acc, const struct summary_parts *parts)
{
    acc->total.parts = *parts;
}

/* Absent too where a recording has a time that no clock shows. */
static struct opt_i64 time_of(const struct sample *sample)
{
    static const int64_t year_10000_ms = INT64_C(253402300800000);
    struct opt_i64 time = sample->timestamp_ms;
    if (!time.has && sample->timestamp_secs.has) {
        time = sample->timestamp_secs;
        time.has = !__builtin_mul_overflow(time.v, 1000, &time.v);
    }
    return time.has && time.v >= 0 && time.v < year_10000_ms ? time : (struct opt_i64){0};
}

static void keep_largest(struct accumulated_run *run, const struct sample *sample, int64_t elapsed_fixed4)
{
    const struct sample_list *processes = &sample->processes;
    const struct sample_process *items = processes->items;
    if (!processes->present || processes->count == 0)
        return;
    struct opt_i64 rss = fixed4_of(items[0].rss_mib);
    if (rss.has && !(run->largest_process_fixed4.has && run->largest_process_fixed4.v >= rss.v))
        run->largest_process_fixed4 = rss;
    /* There is a list where RSS is higher than before; of what processes share, it is PSS that counts. */
    const struct sample_cpu *cpu = &sample->cpu;
    struct opt_i64 need = fixed4_of(cpu->process_pss_mib.has ? cpu->process_pss_mib : cpu->process_rss_mib);
    if (!cpu->present || need.v < rss.v)
        need.v = rss.v;
    /* By the rule of keep_need: RSS without PSS counts only where it is clearly more than RSS beside PSS. */
    struct listed_need now = {need.v, cpu->present ? fixed4_of(cpu->process_rss_mib).v : 0,
                           cpu->present && cpu->process_pss_mib.has},
                       *before = &run->processes_need;
    int64_t least = before->need_fixed4, more = now.need_fixed4;
    if (now.has_pss != before->has_pss) {
        least = now.has_pss ? before->rss_fixed4 : a_tenth_more(before->rss_fixed4);
        more = now.has_pss ? a_tenth_more(now.rss_fixed4) : now.rss_fixed4;
    }
    if (run->processes.count > 0 && more < least)
        return;
    *before = now;
    keep_processes(&run->processes, processes, elapsed_fixed4);
}

static void keep_times(struct accumulated_run *run, const struct sample *sample, int64_t elapsed_fixed4)
{
    struct opt_i64 now = time_of(sample);
    int64_t started;
    if (!now.has)
        return;
    /* A start before 1970 is not one. */
    if (run->samples == 1 && !__builtin_sub_overflow(now.v, elapsed_fixed4 / (FIXED4 / 1000), &started) && started >= 0)
        run->started_ms = some_i64(started);
    run->finished_ms = now;
}

/* Its time in the run, and the length of its interval. */
static struct meter_tick tick_of(struct accumulated_run *run, const struct sample *sample)
{
    struct opt_i64 elapsed = fixed4_of(sample->elapsed_secs);
    if (elapsed.v < 0)
        elapsed = (struct opt_i64){0};
    struct meter_tick tick = {.elapsed_fixed4 = elapsed.v};
    int64_t length_fixed4 = fixed4_interval(sample, run->elapsed_fixed4);
    int64_t ms = length_fixed4 / (FIXED4 / 1000);
    tick.length_fixed4 = length_fixed4;
    tick.weight_ms = ms > 0 ? (uint64_t)ms : 1;
    if (elapsed.has)
        run->elapsed_fixed4 = elapsed;
    if (length_fixed4 > run->longest_fixed4)
        run->longest_fixed4 = length_fixed4;
    int64_t usual_fixed4 = run->interval_fixed4.has ? run->interval_fixed4.v : run->longest_fixed4;
    tick.is_short = length_fixed4 < usual_fixed4 / 10;
    return tick;
}

static void keep_start(struct accumulated_run *run, const struct sample_run *start)
{
    if (!start->present)
        return;
    run->has_start = true;
    run->interval_fixed4 = fixed4_of(start->interval_secs);
    run->cpus_allowed = start->cpus_allowed;
    run->first_cgroup_peak_fixed4 = fixed4_of(start->cgroup_peak_mib);
    run->cgroup_is_own = start->cgroup_is_own;
}

static void keep_limits(struct accumulated_run *run, const struct sample *sample)
{
    const struct sample_list *cores = &sample->cpu.per_core_pct;
    if (sample->cgroup.present) {
        run->cpu_limit_cores = fixed4_rounded(sample->cgroup.cpu_limit_cores);
        run->memory_limit_mib = fixed4_rounded(sample->cgroup.memory_limit_mib);
        struct opt_i64 peak = fixed4_of(sample->cgroup.memory_peak_mib);
        struct meter *meter = &run->meters[METER_CGROUP_PEAK];
        /* The peak of a group never falls: the command has entered another. */
        if (peak.has && peak.v < meter->newest) {
            *meter = run->meters[METER_CGROUP_USED] = (struct meter){0};
            run->first_cgroup_peak_fixed4.has = false;
        }
        if (!run->first_cgroup_peak_fixed4.has)
            run->first_cgroup_peak_fixed4 = peak;
    }
    if (!sample->cpu.present || !cores->present)
        return;
    uint64_t online = 0;
    for (size_t i = 0; i < cores->count; i++)
        online += ((const struct opt_f64 *)cores->items)[i].has;
    /* A CPU whose share is not known in a short interval is there all the same. */
    if (online > run->cpus_online.v)
        run->cpus_online = some_u64(online);
}

static void keep_memory(struct accumulated_run *run, const struct sample *sample, const struct meter_tick *tick)
{
    const struct sample_cpu *cpu = &sample->cpu;
    struct opt_i64 rss = fixed4_of(cpu->process_rss_mib);
    if (cpu->present && rss.has) {
        meter_add(run, cpu->process_pss_mib.has ? METER_RSS_BESIDE_PSS : METER_RSS_ALONE, rss.v, tick);
        growth_add(&run->growth, rss.v, run->interval_fixed4.has && tick->length_fixed4 < run->interval_fixed4.v / 2);
    } else if (!cpu->present || !cpu->process_pss_mib.has) {
        run->memory_unknown += sample->tracked_pid.has;
    }
    struct opt_i64 shmem = fixed4_of(sample->cgroup.shmem_unmapped_mib), pss = fixed4_of(cpu->process_pss_mib);
    if (sample->cgroup.present && shmem.has)
        meter_add(run, METER_WITH_SHMEM, shmem.v + (cpu->present ? (pss.has ? pss : rss).v : 0), tick);
    if (sample->memory.present && !run->first_swap_fixed4.has)
        run->first_swap_fixed4 = fixed4_of(sample->memory.swap_used_mib);
}

/* Its list belongs to the sample: the processes are copied. */
static void keep_end(struct accumulated_run *run, const struct sample_end *end, const struct meter_tick *tick)
{
    run->end = *end;
    run->end.processes_by_cpu = (struct sample_list){0};
    run->end.history.present = false;
    if (end->present)
        keep_processes(&run->by_cpu, &end->processes_by_cpu, tick->elapsed_fixed4);
}

static void keep_energy_source(struct accumulator *acc, const struct sample_energy *energy)
{
    char copy[sizeof(acc->energy_source)];
    if (!energy->present || !energy->source)
        return;
    keep_text(energy->source, copy, sizeof(copy));
    bool is_other = acc->energy_source[0] && strcmp(acc->energy_source, copy) != 0;
    keep_text(is_other ? "several" : copy, acc->energy_source, sizeof(acc->energy_source));
}

/* Is this run of the same job as the one before it, whose name is still there? */
static bool is_same_job(const struct kept_identity *before, const char *name)
{
    char copy[sizeof(before->job_name)] = "";
    if (name)
        keep_text(name, copy, sizeof(copy));
    return before->has_job_name == (name != NULL) && (!name || strcmp(before->job_name, copy) == 0);
}

/* FNV-1a: are two commands the same? */
static uint64_t hash_command(const struct kept_identity *identity)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; identity->has_command && i < identity->argument_count; i++) {
        const char *at = identity->arguments[i];
        do
            hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
        while (*at++);
    }
    return hash;
}

void accumulate_add(struct accumulator *acc, const struct sample *sample, const struct sample_totals *totals)
{
    struct accumulated_run *run = &acc->run;
    bool is_first = run->samples++ == 0;
    bool is_next = is_first && acc->total.runs.v > 0;
    uint64_t before = is_next ? hash_command(&acc->identity) : 0;
    if (is_next)
        acc->has_other_names |= !is_same_job(&acc->identity, sample->job_name);
    if (is_first || sample->run.present)
        keep_identity(&acc->identity, sample, is_first);
    acc->has_other_commands |= is_next && hash_command(&acc->identity) != before;
    keep_start(run, &sample->run);
    struct meter_tick tick = tick_of(run, sample);
    keep_times(run, sample, tick.elapsed_fixed4);
    if (sample->tracked_pid.has)
        run->tracked_pid = sample->tracked_pid;
    keep_limits(run, sample);
    add_sections(run, sample, &tick);
    uint64_t known = run->meters[METER_WANTED].seen;
    add_wanted(run, &sample->cpu, &tick);
    const struct meter *wanted = &run->meters[METER_WANTED];
    phases_add(&acc->phases, sample, &tick, (struct opt_f64){wanted->seen > known, fixed4_value(wanted->newest)});
    add_devices(run, sample, totals, &tick);
    keep_largest(run, sample, tick.elapsed_fixed4);
    keep_gpu_names(&acc->gpu_names, &sample->gpu);
    devices_add(&acc->gpus, &sample->gpu, &tick);
    keep_memory(run, sample, &tick);
    keep_energy_source(acc, &sample->energy);
    keep_end(run, &sample->end, &tick);
    if (sample->end.present && sample->end.history.present)
        history_add(&acc->history, &sample->end.history);
}

void accumulate_now(const struct accumulator *acc, struct summary *ret_summary)
{
    *ret_summary = (struct summary){.samples = some_u64(acc->run.samples)};
    derive_run(&acc->run, ret_summary);
    merge_fill_shares(ret_summary);
    ret_summary->job_name = acc->identity.has_job_name ? acc->identity.job_name : NULL;
    ret_summary->finished_ms = acc->run.finished_ms;
}

void accumulate_next_run(struct accumulator *acc)
{
    if (acc->run.samples == 0)
        return;
    merge_run(acc);
    phases_end_run(&acc->phases);
    memset(&acc->run, 0, sizeof(acc->run));
}
