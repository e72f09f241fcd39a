/* SPDX-License-Identifier: Apache-2.0 */
/* From the sample to the meters: a table says which member goes where. */
#include <stddef.h>

#include "model/sample_lists.h"
#include "summary/tally_internal.h"

static void keep_max(struct tally_meter *meter, int64_t value, const struct tally_turn *turn, bool is_short)
{
    bool is_first = meter->seen == 0 || (meter->is_max_short && !is_short);
    if (!is_first && (value <= meter->max || (is_short && !meter->is_max_short)))
        return;
    meter->max = value;
    meter->max_at_e4 = turn->elapsed_e4;
    meter->is_max_short = is_short;
}

void tally_meter_add(struct tally_run *run, unsigned id, int64_t value, const struct tally_turn *turn)
{
    struct tally_meter *meter = &run->meters[id];
    /* Nothing that is measured is below 0: the recording is wrong there. */
    if (value < 0)
        return;
    keep_max(meter, value, turn, turn->is_short && id < METERS_OF_INTERVAL);
    meter->seen++;
    meter->newest = value;
    if (__builtin_add_overflow(meter->sum, value, &meter->sum))
        meter->sum = value < 0 ? INT64_MIN : INT64_MAX;
    if (id < METERS_SKETCHED)
        sketch_add(&run->sketches[id], shown_from_e4(value), turn->weight_ms);
    /* A tree that has ended has no memory, which says nothing of the time before. */
    if (value == 0 && (id == METER_RSS || id == METER_PSS))
        return;
    meter->weighted += (double)value * (double)turn->weight_ms;
    meter->weight += turn->weight_ms;
}

/* Where a quantity stands in the sample. */
struct source {
    uint16_t section, at; /* section: its first member tells whether it is there at all */
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
    VALUE(VRAM, cpu, process_gpu_vram_mib),
    COUNT(GPUS_UTILIZED, cpu, process_gpu_utilized),
    VALUE(HOST_TOTAL, memory, total_mib),
    VALUE(HOST_SWAP, memory, swap_used_mib),
    VALUE(THROTTLED, cgroup, throttled_secs),
    VALUE(CGROUP_USED, cgroup, memory_used_mib),
    VALUE(CGROUP_PEAK, cgroup, memory_peak_mib),
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

_Static_assert(sizeof(struct sample) <= UINT16_MAX, "places in the sample fit");

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

void tally_meters_add(struct tally_run *run, const struct sample *sample, const struct tally_turn *turn)
{
    const char *base = (const char *)sample;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const struct source *source = &sources[i];
        const void *at = base + source->at;
        if (!*(const bool *)(base + source->section))
            continue;
        struct opt_i64 value =
            source->is_count ? count_of(*(const struct opt_u64 *)at) : shown_e4(*(const struct opt_f64 *)at);
        if (value.has && !is_of_no_gpu(source, sample))
            tally_meter_add(run, source->meter, value.v, turn);
    }
    struct opt_i64 used = shown_e4(sample_memory_used_mib(&sample->memory));
    if (sample->memory.present && used.has)
        tally_meter_add(run, METER_HOST_USED, used.v, turn);
}
