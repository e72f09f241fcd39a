/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a summary: a table says for every one which meter it comes from and, of several runs, what becomes of
 * it: the maximum of needs, the mean of amounts.
 */
#include <stddef.h>

#include "summary/tally_internal.h"

enum aspect {
    SUM, /* of the meter; an amount */
    MEAN, /* over time; an amount */
    MAX, /* a need */
    AT, /* when the maximum was; goes with the need in the row before */
    NEWEST, /* of the newest run that knows it */
    AMOUNT, /* not of a meter: worked out in tally_run.c */
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
#define ALONE(member, of)                                                                                              \
    {                                                                                                                  \
        0, offsetof(struct summary, member), METERS, of, 0, 1                                                          \
    }
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
    VALUE(cpu, throttled_secs, SUM, THROTTLED),
    VALUE(cpu, host_cores_mean, MEAN, HOST_CORES),
    VALUE(cpu, host_cores_p95, NEED, NONE),
    VALUE(cpu, host_cores_peak, MAX, HOST_CORES),
    COUNT(cpu, processes_peak, MAX, PROCESSES),
    COUNT(cpu, threads_peak, MAX, THREADS),
    VALUE(memory, rss_peak_mib, NEED, NONE),
    VALUE(memory, rss_peak_at_secs, AT, RSS),
    VALUE(memory, rss_mean_mib, MEAN, RSS),
    VALUE(memory, pss_peak_mib, MAX, PSS),
    VALUE(memory, pss_peak_at_secs, AT, PSS),
    VALUE(memory, pss_mean_mib, MEAN, PSS),
    VALUE(memory, cgroup_peak_mib, NEED, NONE),
    COUNT(memory, major_faults, SUM, FAULTS),
    VALUE(memory, host_used_mean_mib, MEAN, HOST_USED),
    VALUE(memory, host_used_peak_mib, MAX, HOST_USED),
    VALUE(memory, host_total_mib, NEWEST, HOST_TOTAL),
    VALUE(memory, host_swap_used_peak_mib, MAX, HOST_SWAP),
    ALONE(memory.largest_process_mib, NEED),
    ALONE(memory.need_mib, NEED),
    ALONE(memory.uncertain_mib, NEED),
    COUNT(disk, read_bytes, SUM, READ),
    COUNT(disk, write_bytes, SUM, WRITTEN),
    COUNT(disk, host_read_bytes, SUM, HOST_READ),
    COUNT(disk, host_write_bytes, SUM, HOST_WRITTEN),
    COUNT(network, host_received_bytes, SUM, HOST_RECEIVED),
    COUNT(network, host_sent_bytes, SUM, HOST_SENT),
    COUNT(gpu, count, MAX, GPUS),
    VALUE(gpu, usage_mean, MEAN, GPU_USAGE),
    VALUE(gpu, usage_p95, NEED, NONE),
    VALUE(gpu, usage_peak, MAX, GPU_USAGE),
    COUNT(gpu, utilized_peak, MAX, GPUS_UTILIZED),
    VALUE(gpu, vram_peak_mib, MAX, VRAM),
    VALUE(gpu, host_usage_mean, MEAN, GPU_HOST_USAGE),
    VALUE(gpu, host_usage_peak, MAX, GPU_HOST_USAGE),
    VALUE(gpu, host_vram_peak_mib, MAX, GPU_HOST_VRAM),
    VALUE(gpu, vram_total_mib, MAX, GPU_VRAM_TOTAL),
    VALUE(gpu, energy_joules, AMOUNT, NONE),
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
_Static_assert(sizeof(rows) / sizeof(rows[0]) <= TALLY_ROWS_MAX, "every row has room for its amount");
_Static_assert(sizeof(struct summary) <= UINT16_MAX, "places in the summary fit");

static double value_of(const struct tally_meter *meter, enum aspect aspect)
{
    switch (aspect) {
    case SUM:
        return shown_from_e4(meter->sum);
    case MEAN:
        return meter->weighted / (double)meter->weight / SHOWN_E4;
    case AT:
        return shown_from_e4(meter->max_at_e4);
    case NEWEST:
        return shown_from_e4(meter->newest);
    case MAX:
    case AMOUNT:
    case NEED:
        break;
    }
    return shown_from_e4(meter->max);
}

static void fill_row(const struct tally_run *run, const struct row *row, struct summary *summary)
{
    const struct tally_meter *meter = &run->meters[row->meter];
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

void tally_rows_fill(const struct tally_run *run, struct summary *summary)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].meter < METERS)
            fill_row(run, &rows[i], summary);
    }
}

static void merge_count(const struct row *row, struct tally_amount *amount, uint64_t value, struct opt_u64 *total)
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
static bool merge_value(const struct row *row, struct tally_amount *amount, double value, struct opt_f64 *total)
{
    if (row->aspect == MAX || row->aspect == NEED) {
        if (total->has && value <= total->v)
            return false;
    } else if (row->aspect != NEWEST) {
        amount->runs++;
        amount->sum += value;
        value = amount->sum / (double)amount->runs;
    }
    *total = some_f64(value);
    return true;
}

void tally_rows_merge(struct tally *tally, const struct summary *run)
{
    bool is_higher = false;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        const void *from = (const char *)run + row->at;
        void *to = (char *)&tally->total + row->at;
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
            merge_count(row, &tally->amounts[i], ((const struct opt_u64 *)from)->v, to);
        else
            is_higher = merge_value(row, &tally->amounts[i], ((const struct opt_f64 *)from)->v, to);
        if (!row->is_alone)
            *(bool *)((char *)&tally->total + row->section) = true;
    }
}
