/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of time, by a table of what is added up and how: amounts and use over time are shared out over the slots that
 * they were in, of what has a value at a moment the largest in the slot counts.
 */
#include "replay/slots_internal.h"

#include <string.h>

#include "base/vec.h"

enum how {
    AMOUNT, /* of the interval; known where any part knows it */
    RATE, /* over the interval; it and the next are known only where all parts know them */
    GAUGE, /* at the end of the interval */
    HIGHEST, /* the same, of which the parts have one together: the highest of theirs */
    KIND = 3,
    MIB = 4, /* its unit; else a struct opt_f64 in ten-thousandths */
    COUNT = 8, /* a struct opt_u64, or an opt_i64 that is not negative */
    HOST = 16, /* not of the tree */
    WORST = 32, /* of several nodes the highest: a share of the time has no sum */
    END = 64, /* of the whole run */
    OF_NODE = 128, /* of several nodes the sum */
    NODES = 256, /* nodes are merged, not parts of one */
};

#define COUNT_MAX ((uint64_t)1 << 62)

enum cell_flag { KNOWN = 1, MISSING = 2 };

struct row {
    uint16_t at;
    uint8_t how;
};

/* How all that may be absent is stored, and the head of a list as well. */
struct stored {
    bool has;
    union {
        uint64_t count;
        double real;
    };
};

_Static_assert(offsetof(struct stored, count) == offsetof(struct opt_u64, v) &&
                   offsetof(struct stored, real) == offsetof(struct opt_f64, v) &&
                   offsetof(struct stored, count) == offsetof(struct opt_i64, v) &&
                   offsetof(struct stored, count) == offsetof(struct sample_list, count) &&
                   sizeof(size_t) == sizeof(uint64_t),
    "all are stored alike");

#define ROW(member, how)                                                                                               \
    {                                                                                                                  \
        offsetof(struct slot_values, member), how                                                                      \
    }
#define CPU(member, how) ROW(sample.cpu.member, how)
#define MEMORY(member) ROW(sample.memory.member, GAUGE | MIB | HOST)
#define END_OF(member) ROW(sample.end.member, AMOUNT | COUNT | END)

static const struct row rows[] = {
    CPU(process_cores_used, RATE),
    CPU(process_cores_wanted, RATE),
    CPU(process_busiest_cores, HIGHEST),
    CPU(process_child_count, GAUGE | COUNT),
    CPU(process_thread_count, GAUGE | COUNT),
    CPU(process_utime_secs, AMOUNT),
    CPU(process_stime_secs, AMOUNT),
    CPU(process_wait_secs, AMOUNT),
    CPU(process_rss_mib, GAUGE | MIB),
    CPU(process_pss_mib, GAUGE | MIB),
    CPU(process_peak_rss_mib, HIGHEST | MIB),
    CPU(process_disk_read_bytes, AMOUNT | COUNT),
    CPU(process_disk_write_bytes, AMOUNT | COUNT),
    CPU(process_net_recv_bytes, AMOUNT | COUNT),
    CPU(process_net_sent_bytes, AMOUNT | COUNT),
    CPU(process_major_faults, AMOUNT | COUNT),
    CPU(process_gpu_usage, RATE),
    CPU(process_gpu_vram_mib, GAUGE | MIB),
    CPU(process_gpu_utilized, GAUGE | COUNT),
    ROW(sample.energy.process_joules, AMOUNT),
    ROW(sample.tracker.cpu_secs, AMOUNT),
    ROW(sample.tracker.rss_mib, GAUGE | MIB),
    ROW(sample.tracker.late_ms, HIGHEST),
    ROW(sample.tracker.missed_samples, AMOUNT | COUNT),
    CPU(utilization_pct, RATE | HOST),
    CPU(utime_secs, AMOUNT | HOST),
    CPU(stime_secs, AMOUNT | HOST),
    CPU(iowait_secs, AMOUNT | HOST),
    CPU(steal_secs, AMOUNT | HOST),
    CPU(process_count, GAUGE | COUNT | HOST),
    MEMORY(total_mib),
    MEMORY(free_mib),
    MEMORY(available_mib),
    MEMORY(unavailable_mib),
    MEMORY(used_mib),
    MEMORY(buffers_mib),
    MEMORY(cached_mib),
    MEMORY(swap_total_mib),
    MEMORY(swap_used_mib),
    ROW(sample.pressure.cpu_some_secs, AMOUNT | HOST | WORST),
    ROW(sample.pressure.memory_some_secs, AMOUNT | HOST | WORST),
    ROW(sample.pressure.memory_full_secs, AMOUNT | HOST | WORST),
    ROW(sample.pressure.io_some_secs, AMOUNT | HOST | WORST),
    ROW(sample.pressure.io_full_secs, AMOUNT | HOST | WORST),
    ROW(sample.cgroup.cpu_limit_cores, GAUGE | HOST),
    ROW(sample.cgroup.cpu_usage_secs, AMOUNT | HOST),
    ROW(sample.cgroup.throttled_secs, AMOUNT | HOST),
    ROW(sample.cgroup.memory_limit_mib, GAUGE | MIB | HOST),
    ROW(sample.cgroup.memory_used_mib, GAUGE | MIB | HOST),
    ROW(sample.cgroup.memory_peak_mib, GAUGE | MIB | HOST),
    ROW(sample.cgroup.shmem_unmapped_mib, GAUGE | MIB | HOST),
    ROW(sample.energy.package_joules, AMOUNT | HOST),
    ROW(sample.energy.dram_joules, AMOUNT | HOST),
    ROW(sample.energy.platform_joules, AMOUNT | HOST),
    ROW(sample.energy.idle_joules, AMOUNT | HOST),
    CPU(per_core_pct, GAUGE | COUNT | HOST),
    ROW(sample.gpu, GAUGE | COUNT | HOST),
    ROW(totals.gpu_usage, RATE | HOST),
    ROW(totals.gpu_power_watts, GAUGE | COUNT | HOST),
    ROW(totals.vram_used_bytes, GAUGE | COUNT | HOST),
    ROW(totals.vram_total_bytes, GAUGE | COUNT | HOST),
    ROW(totals.disk_read.bytes, AMOUNT | COUNT | HOST),
    ROW(totals.disk_write.bytes, AMOUNT | COUNT | HOST),
    ROW(totals.received.bytes, AMOUNT | COUNT | HOST),
    ROW(totals.sent.bytes, AMOUNT | COUNT | HOST),
    END_OF(cpus_allowed),
    END_OF(left_running),
    END_OF(minor_faults),
    END_OF(major_faults),
    END_OF(voluntary_switches),
    END_OF(involuntary_switches),
    END_OF(processes_seen),
    END_OF(processes_unseen),
    ROW(sample.end.oom_kills, HIGHEST | COUNT | END | OF_NODE),
    ROW(sample.end.host_oom_kills, HIGHEST | COUNT | END | OF_NODE),
    ROW(sample.end.largest_process_mib, HIGHEST | MIB | END),
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert((int)ROWS <= (int)SLOT_ROWS_MAX, "a slot has space for every row");

/* As a whole number; a rate as what it comes to in that time. */
static struct opt_i64 load(const struct row *row, const struct slot_values *values, int64_t length)
{
    static const double most = 9e18;
    struct stored stored;
    memcpy(&stored, (const char *)values + row->at, sizeof(stored));
    if (row->how & COUNT)
        return (struct opt_i64){stored.has, (int64_t)(stored.count < COUNT_MAX ? stored.count : COUNT_MAX)};
    struct opt_i64 whole = fixed4_of((struct opt_f64){stored.has, stored.real});
    bool is_rate = (row->how & KIND) == RATE;
    double value = is_rate ? fixed4_value(whole.v) * (double)length : stored.real * BYTES_PER_MIB;
    if (is_rate || row->how & MIB)
        whole.v = (int64_t)((value < most ? value : most) + 0.5);
    whole.has &= whole.v >= 0;
    return whole;
}

static void add(int64_t *to, int64_t value)
{
    if (__builtin_add_overflow(*to, value, to))
        *to = INT64_MAX;
}

static void merge_slot(struct slot *into, const struct slot *from, unsigned highest_from, unsigned left_out)
{
    for (size_t row = 0; from->is_covered && row < ROWS; row++) {
        unsigned how = rows[row].how;
        int64_t value = from->cells[row], *cell = &into->cells[row];
        if (how & left_out)
            continue;
        if (((how & KIND) < highest_from && !(how & WORST && highest_from == HIGHEST)) ||
            (how & OF_NODE && left_out == NODES))
            add(cell, value);
        else if (value > *cell)
            *cell = value;
        into->flags[row] |= from->flags[row] ? from->flags[row] : MISSING;
    }
    into->is_covered |= from->is_covered;
}

/* Each two become one. */
static void coarsen(struct slots *slots)
{
    for (size_t i = 0; i < slots->count; i++) {
        struct slot slot = slots->items[i];
        memset(&slots->items[i], 0, sizeof(slot));
        merge_slot(&slots->items[i / 2], &slot, GAUGE, 0);
    }
    slots->count = (slots->count + 1) / 2;
    slots->width *= 2;
}

static int reserve(struct slots *slots, size_t count)
{
    int r = VEC_GROW(slots, count, SLOTS_MAX);
    if (r == 0 && count > slots->count)
        slots->count = count;
    return r;
}

int slots_add(struct slots *slots, const struct slot_values *values, int64_t from, int64_t to)
{
    int64_t end = to > 0 ? to - 1 : 0; /* what took no time belongs to what was before it */
    while (end / slots->width >= SLOTS_MAX)
        coarsen(slots);
    size_t last = (size_t)(end / slots->width), first = to > from ? (size_t)(from / slots->width) : last;
    int r = reserve(slots, last + 1);
    for (size_t i = first; r == 0 && i <= last; i++) {
        struct slot *slot = &slots->items[i];
        double behind = (double)(slots->width * (int64_t)(i + 1) - from) / (double)(to - from);
        double before = (double)(slots->width * (int64_t)i - from) / (double)(to - from);
        slot->is_covered = true;
        for (size_t row = 0; row < ROWS; row++) {
            struct opt_i64 value = load(&rows[row], values, to - from);
            int64_t *cell = &slot->cells[row];
            if (!value.has)
                continue;
            /* What is before a slot is rounded in the same way for it and for the one before it: nothing is lost. */
            if ((rows[row].how & KIND) < GAUGE)
                add(cell, (i == last ? value.v : (int64_t)((double)value.v * behind)) -
                              (i == first ? 0 : (int64_t)((double)value.v * before)));
            else if (!slot->flags[row] || (i == last && value.v > *cell))
                *cell = value.v;
            slot->flags[row] |= KNOWN;
        }
    }
    return r;
}

int slots_merge(struct slots *into, struct slots *from, enum slots_relation relation)
{
    while (into->width < from->width)
        coarsen(into);
    while (from->width < into->width)
        coarsen(from);
    int r = reserve(into, from->count);
    for (size_t i = 0; r == 0 && i < from->count; i++) {
        struct slot *to = &into->items[i];
        unsigned left_out = relation == SLOTS_OF_NODE ? NODES : to->is_covered ? HOST : 0;
        merge_slot(to, &from->items[i], HIGHEST, left_out);
    }
    memset(from->items, 0, from->count * sizeof(from->items[0]));
    from->count = 0;
    return r;
}

void slots_get(const struct slots *slots, size_t i, int64_t length, struct slot_values *values)
{
    const struct slot *slot = &slots->items[i];
    for (size_t row = 0; row < ROWS; row++) {
        unsigned how = rows[row].how, kind = how & KIND, flags = slot->flags[row];
        char *at = (char *)values + rows[row].at;
        bool is_known = (flags & (kind % HIGHEST ? KNOWN | MISSING : KNOWN)) == KNOWN;
        struct stored stored = {.has = is_known && (kind != RATE || length > 0)};
        double scale = how & MIB ? BYTES_PER_MIB : kind == RATE ? (double)length : FIXED4;
        int64_t value = slot->cells[row];
        if (how & COUNT)
            stored.count = (uint64_t)value;
        else
            stored.real = (double)value / scale;
        struct opt_u64 before;
        memcpy(&before, at, sizeof(before));
        if (how & END && before.has && kind == AMOUNT)
            stored.count += before.v;
        if (!(how & END) || (stored.has && !(kind == HIGHEST && before.has && before.v > stored.count)))
            memcpy(at, &stored, sizeof(stored));
    }
}
