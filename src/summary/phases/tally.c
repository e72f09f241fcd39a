/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From samples and their marks to phases. What a sample says of its interval is shared out in proportion to time among
 * the phases that were open in it; what it says of its moment (memory, cores in use) goes to those it lies in. Without
 * marks the same numbers become a history of bounded length, in which phases.c looks for changes at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "summary/phases/phases.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

enum { FIRST = 0, OTHERS = PHASES_MAX + 1, NO_LANE = PHASES_MAX + 2, POINTS_MIN = 12 };

/* A sample is taken at each mark, and a moment after it: that much earlier, a mark counts as at the sample. */
#define AT_SAMPLE_FIXED4 (FIXED4 / 20)
#define WALL_MIN_SECS 10.0
#define START_MIN_SECS 1.0 /* the time before the first mark, and as a share of the run: less is no phase */
#define START_MIN_SHARE 0.01
#define UNPLACED_RATIO 1.1 /* a peak that is known only at the end counts where it is so much above the others */
#define UNPLACED_MIB 8.0
#define NEAR_PEAK 0.9 /* of the memory of a run whose need is not known */

static void merge_values(struct phase_values *into, const struct phase_values *from, double share, bool has_sample)
{
    for (size_t i = 0; i < PHASE_SUMS; i++)
        into->at[i] += from->at[i] * share;
    for (size_t i = PHASE_SUMS; has_sample && i < PHASE_VALUES; i++)
        into->at[i] = from->at[i] > into->at[i] ? from->at[i] : into->at[i];
    unsigned sums = (1U << PHASE_SUMS) - 1;
    into->known |= from->known & (has_sample ? ~0U : sums);
}

/* How much the two lose by becoming one. */
static float share_loss(const struct phase_share *a, const struct phase_share *b)
{
    float off = b->cores - a->cores;
    return a->secs * b->secs / (a->secs + b->secs) * off * off;
}

static void merge_shares(struct phase_slot *slot)
{
    size_t nearest = 0;
    for (size_t i = 1; i + 1 < slot->share_count; i++) {
        if (share_loss(&slot->shares[i], &slot->shares[i + 1]) <
            share_loss(&slot->shares[nearest], &slot->shares[nearest + 1]))
            nearest = i;
    }
    struct phase_share *a = &slot->shares[nearest], *b = a + 1;
    float secs = a->secs + b->secs;
    *b = (struct phase_share){(a->cores * a->secs + b->cores * b->secs) / secs, secs};
    memmove(a, b, (--slot->share_count - nearest) * sizeof(*a));
}

static void add_share(struct phase_slot *slot, double cores, double secs)
{
    size_t at = slot->share_count;
    float value = (float)cores;
    if (!(secs > 0) || !(cores >= 0))
        return;
    while (at > 0 && slot->shares[at - 1].cores >= value)
        at--;
    if (at < slot->share_count && slot->shares[at].cores <= value) {
        slot->shares[at].secs += (float)secs;
        return;
    }
    if (slot->share_count == PHASE_SHARES_MAX) {
        merge_shares(slot);
        at -= at > 0 && (at == PHASE_SHARES_MAX || slot->shares[at - 1].cores > value);
    }
    memmove(&slot->shares[at + 1], &slot->shares[at], (slot->share_count++ - at) * sizeof(slot->shares[0]));
    slot->shares[at] = (struct phase_share){value, (float)secs};
}

static struct opt_f64 p95_of(const struct phase_slot *slot)
{
    double total = 0, sum = 0;
    size_t i = 0;
    for (size_t k = 0; k < slot->share_count; k++)
        total += (double)slot->shares[k].secs;
    for (; i < slot->share_count; i++) {
        sum += (double)slot->shares[i].secs;
        if (sum >= total * 0.95)
            break;
    }
    i -= i > 0 && i == slot->share_count;
    return (struct opt_f64){slot->share_count > 0, (double)slot->shares[i].cores};
}

/* Where a value stands in the sample, or in a finished phase. */
struct place {
    uint16_t at;
    uint8_t value; /* enum phase_value */
    uint8_t kind;
};

enum {
    AMOUNT, /* struct opt_f64 */
    COUNT, /* struct opt_u64 */
    OVER_TIME, /* struct opt_f64, by the length of the interval */
    HELD, /* struct opt_f64; a tree that is gone holds nothing, which is no value but its end */
};

#define OF_SAMPLE(member, value, kind)                                                                                 \
    {                                                                                                                  \
        offsetof(struct sample, member), PHASE_##value, kind                                                           \
    }
#define OF_PHASE(member, value, kind)                                                                                  \
    {                                                                                                                  \
        offsetof(struct summary_phase, member), PHASE_##value, kind                                                    \
    }

/* PHASE_CPU_SECS is the sum of two. Those of GPUs are the last. */
static const struct place sources[] = {
    OF_SAMPLE(cpu.process_utime_secs, CPU_SECS, AMOUNT),
    OF_SAMPLE(cpu.process_stime_secs, CPU_SECS, AMOUNT),
    OF_SAMPLE(cpu.process_cores_used, WANTED_SECS, OVER_TIME),
    OF_SAMPLE(cpu.process_cores_used, CORES_PEAK, AMOUNT),
    OF_SAMPLE(cpu.process_disk_read_bytes, READ_BYTES, COUNT),
    OF_SAMPLE(cpu.process_disk_write_bytes, WRITTEN_BYTES, COUNT),
    OF_SAMPLE(cpu.process_pss_mib, PSS, HELD),
    OF_SAMPLE(cpu.process_rss_mib, RSS_ALONE, HELD),
    OF_SAMPLE(cpu.process_net_recv_bytes, RECEIVED_BYTES, COUNT),
    OF_SAMPLE(cpu.process_net_sent_bytes, SENT_BYTES, COUNT),
    OF_SAMPLE(energy.process_joules, JOULES, AMOUNT),
    OF_SAMPLE(cpu.process_gpu_usage, GPU_SECS, OVER_TIME),
    OF_SAMPLE(cpu.process_gpu_vram_mib, VRAM, HELD),
};
_Static_assert(sizeof(struct sample) <= UINT16_MAX, "offsets in the sample fit");

enum { SOURCES = sizeof(sources) / sizeof(sources[0]), SOURCES_OF_GPUS = 2 };

static const struct place finished[] = {
    OF_PHASE(wall_secs, SECS, AMOUNT),
    OF_PHASE(cpu_secs, CPU_SECS, AMOUNT),
    OF_PHASE(cores_mean, CPU_SECS, OVER_TIME),
    OF_PHASE(cores_peak, CORES_PEAK, AMOUNT),
    OF_PHASE(read_bytes, READ_BYTES, COUNT),
    OF_PHASE(write_bytes, WRITTEN_BYTES, COUNT),
    OF_PHASE(received_bytes, RECEIVED_BYTES, COUNT),
    OF_PHASE(sent_bytes, SENT_BYTES, COUNT),
    OF_PHASE(process_joules, JOULES, AMOUNT),
    OF_PHASE(gpu_usage_mean, GPU_SECS, OVER_TIME),
    OF_PHASE(vram_peak_mib, VRAM, AMOUNT),
};

static bool is_known(const struct phase_values *values, enum phase_value which)
{
    return values->known >> which & 1;
}

static void set_value(struct phase_values *values, enum phase_value which, double value)
{
    values->at[which] = value;
    values->known |= 1U << which;
}

static void add_place(struct phase_values *values, const struct place *place, const void *from, double secs)
{
    const void *at = (const char *)from + place->at;
    struct opt_f64 value =
        fixed4_rounded(place->kind == COUNT ? opt_scaled(*(const struct opt_u64 *)at, 1) : *(const struct opt_f64 *)at);
    if (!value.has || value.v < 0 || (place->kind == HELD && !(value.v > 0)))
        return;
    set_value(values, place->value, values->at[place->value] + value.v * (place->kind == OVER_TIME ? secs : 1));
}

static void fill_values(struct phases *phases, const struct sample *sample, const struct meter_tick *tick,
    struct opt_f64 wanted, struct phase_values *values)
{
    const struct sample_cpu *cpu = &sample->cpu;
    double secs = values->at[PHASE_SECS];
    /* Of a machine without GPUs the tree uses a known 0. */
    bool has_gpus = !sample->gpu.present || sample->gpu.count > 0;
    for (size_t i = 0; cpu->present && i < (has_gpus ? SOURCES : SOURCES - SOURCES_OF_GPUS); i++)
        add_place(values, &sources[i], sample, secs);
    if (wanted.has)
        set_value(values, PHASE_WANTED_SECS, wanted.v * secs);
    if (tick->is_short)
        values->at[PHASE_CORES_PEAK] = 0;
    double rss = values->at[PHASE_RSS_ALONE];
    if (is_known(values, PHASE_PSS)) {
        values->at[PHASE_RSS_BESIDE] = rss;
        values->at[PHASE_RSS_ALONE] = 0;
    }
    struct opt_f64 shmem = fixed4_rounded(sample->cgroup.shmem_unmapped_mib);
    if (sample->cgroup.present && shmem.v > 0)
        values->at[PHASE_WITH_SHMEM] = shmem.v + (is_known(values, PHASE_PSS) ? values->at[PHASE_PSS] : rss);
    struct opt_f64 peak = fixed4_rounded(cpu->process_peak_rss_mib);
    if (!cpu->present || !peak.has || peak.v <= phases->peak_mib)
        return;
    /* With the last sample comes what all descendants had, whenever they ended. */
    bool is_unplaced = sample->end.present && peak.v > rss;
    if (is_unplaced && peak.v > phases->peak_mib * UNPLACED_RATIO + UNPLACED_MIB)
        phases->unplaced_mib = peak.v > phases->unplaced_mib ? peak.v : phases->unplaced_mib;
    phases->peak_mib = peak.v;
    values->at[PHASE_BETWEEN] = peak.v > rss && !is_unplaced ? peak.v : 0;
}

static void open_slot(struct phase_slot *slot, int64_t at_fixed4)
{
    if (slot->depth++ == 0)
        slot->opened_fixed4 = at_fixed4;
    if (slot->times++ == 0)
        slot->first_fixed4 = at_fixed4;
}

static void close_slot(struct phases *phases, size_t number, int64_t at_fixed4)
{
    struct phase_slot *slot = &phases->slots[number];
    if (--slot->depth > 0)
        return;
    slot->closed_fixed4 = at_fixed4;
    if (phases->span_count < PHASE_SPANS_MAX)
        phases->spans[phases->span_count++] =
            (struct summary_phase_span){number, fixed4_value(slot->opened_fixed4), fixed4_value(at_fixed4)};
}

static void begin_run(struct phases *phases)
{
    phases->has_begun = true;
    phases->has_named_time = false;
    phases->elapsed_fixed4 = 0;
    phases->peak_mib = 0;
    phases->span_count = 0;
    if (phases->slot_count == 0) {
        phases->slot_count = 1;
        keep_text("start", phases->slots[FIRST].name, SAMPLE_MARK_BYTES);
    }
    for (size_t i = 0; i < phases->slot_count; i++)
        phases->slots[i].closed_fixed4 = -1;
    phases->before = phases->slots[FIRST];
    phases->lane = FIRST;
    open_slot(&phases->slots[FIRST], 0);
}

/* The slot of that name; where there is none, a new one, or that of the others. */
static size_t find_slot(struct phases *phases, const char *given, bool may_add)
{
    char name[SAMPLE_MARK_BYTES];
    keep_text(given && *given ? given : "?", name, sizeof(name));
    for (size_t i = FIRST + 1; i < phases->slot_count && i < OTHERS; i++) {
        if (strcmp(phases->slots[i].name, name) == 0)
            return i;
    }
    if (phases->slot_count < OTHERS && !may_add)
        return NO_LANE;
    size_t found = phases->slot_count < OTHERS ? phases->slot_count : OTHERS;
    if (found == phases->slot_count) {
        struct phase_slot *slot = &phases->slots[phases->slot_count++];
        keep_text(found == OTHERS ? "others" : name, slot->name, sizeof(slot->name));
        slot->closed_fixed4 = -1;
    }
    return found;
}

static void apply_mark(struct phases *phases, const struct sample_mark *mark, int64_t at_fixed4)
{
    const char *kind = mark->kind ? mark->kind : "";
    bool is_end = strcmp(kind, "end") == 0, is_begin = strcmp(kind, "begin") == 0;
    phases->has_marks = true;
    size_t slot = find_slot(phases, mark->name, !is_end);
    if (is_end) {
        if (slot == NO_LANE || phases->slots[slot].depth == 0) {
            phases->unmatched++;
            return;
        }
        close_slot(phases, slot, at_fixed4);
        if (phases->lane == slot && phases->slots[slot].depth == 0)
            phases->lane = NO_LANE;
        return;
    }
    if (!is_begin) {
        if (phases->lane != NO_LANE)
            close_slot(phases, phases->lane, at_fixed4);
        phases->lane = slot;
        phases->has_named_time = true;
    }
    open_slot(&phases->slots[slot], at_fixed4);
}

/* A part of the interval, for all phases that are open in it. */
static void share_out(struct phases *phases, const struct phase_values *values, double share)
{
    bool has_wanted = is_known(values, PHASE_WANTED_SECS);
    double secs = values->at[PHASE_SECS];
    for (size_t i = 0; i < phases->slot_count && share > 0; i++) {
        struct phase_slot *slot = &phases->slots[i];
        if (slot->depth == 0)
            continue;
        merge_values(&slot->values, values, share, false);
        if (has_wanted && secs > 0)
            add_share(slot, values->at[PHASE_WANTED_SECS] / secs, secs * share);
    }
}

/* Does the sample lie in it? One at a mark belongs to what ended there, not to what began. */
static bool has_sample(const struct phases *phases, const struct phase_slot *slot, int64_t now_fixed4)
{
    bool has_ended =
        slot->closed_fixed4 > phases->elapsed_fixed4 && slot->closed_fixed4 + AT_SAMPLE_FIXED4 >= now_fixed4;
    return has_ended || (slot->depth > 0 && slot->opened_fixed4 + AT_SAMPLE_FIXED4 < now_fixed4);
}

static void merge_point(struct phase_point *point, const struct phase_values *values)
{
    for (size_t i = 0; i < PHASE_SUMS; i++)
        point->at[i] += (float)values->at[i];
    for (size_t i = PHASE_SUMS; i < PHASE_VALUES; i++)
        point->at[i] = (float)values->at[i] > point->at[i] ? (float)values->at[i] : point->at[i];
    point->known |= values->known;
}

static struct phase_values point_values(const struct phase_point *point)
{
    struct phase_values values = {.known = point->known};
    for (size_t i = 0; i < PHASE_VALUES; i++)
        values.at[i] = (double)point->at[i];
    return values;
}

static void halve_points(struct phases *phases)
{
    for (size_t i = 0; i < PHASE_POINTS_MAX / 2; i++) {
        struct phase_values second = point_values(&phases->points[2 * i + 1]);
        phases->points[i] = phases->points[2 * i];
        merge_point(&phases->points[i], &second);
        phases->points[i].end_secs = phases->points[2 * i + 1].end_secs;
    }
    phases->point_count = PHASE_POINTS_MAX / 2;
    phases->step *= 2;
}

static void add_point(struct phases *phases, const struct phase_values *values, double now_secs)
{
    if (phases->step == 0)
        phases->step = 1;
    /* An interval that is much shorter than the mean of the others is no point of its own: the last often is. */
    bool is_short = values->at[PHASE_SECS] * (double)(phases->point_count * phases->step) * 10 < now_secs;
    if (phases->point_count == 0 || (phases->open >= phases->step && !is_short)) {
        if (phases->point_count == PHASE_POINTS_MAX)
            halve_points(phases);
        phases->points[phases->point_count++] = (struct phase_point){0};
        phases->open = 0;
    }
    struct phase_point *point = &phases->points[phases->point_count - 1];
    merge_point(point, values);
    point->end_secs = (float)now_secs;
    phases->open += !is_short;
}

void phases_add(
    struct phases *phases, const struct sample *sample, const struct meter_tick *tick, struct opt_f64 wanted)
{
    if (!phases->has_begun)
        begin_run(phases);
    const struct sample_mark *marks = sample->marks.items;
    int64_t from = phases->elapsed_fixed4, now = from + tick->length_fixed4;
    if (sample->elapsed_secs.has)
        now = tick->elapsed_fixed4 > from ? tick->elapsed_fixed4 : from;
    struct phase_values values = {{fixed4_value(now - from)}, 1U << PHASE_SECS};
    fill_values(phases, sample, tick, wanted, &values);
    phases->known |= values.known;
    double length = (double)(now > from ? now - from : 1), left = 1;
    for (size_t i = 0; sample->marks.present && i < sample->marks.count; i++) {
        struct opt_i64 at = fixed4_of(marks[i].elapsed_secs);
        at.v = !at.has || at.v > now ? now : at.v < from ? from : at.v;
        double share = (double)(at.v - from) / length;
        share_out(phases, &values, share);
        left -= share;
        from = at.v;
        apply_mark(phases, &marks[i], at.v);
    }
    share_out(phases, &values, left);
    for (size_t i = 0; i < phases->slot_count; i++) {
        struct phase_slot *slot = &phases->slots[i];
        if (!has_sample(phases, slot, now))
            continue;
        merge_values(&slot->values, &values, 0, true);
        slot->samples++;
    }
    if (!phases->has_marks)
        add_point(phases, &values, fixed4_value(now));
    phases->elapsed_fixed4 = now;
}

void phases_end_run(struct phases *phases)
{
    for (size_t i = 0; i < phases->slot_count; i++) {
        if (phases->slots[i].depth == 0)
            continue;
        phases->slots[i].depth = 1;
        close_slot(phases, i, phases->elapsed_fixed4);
    }
    if (!phases->has_named_time)
        phases->slots[FIRST] = phases->before;
    phases->has_begun = false;
    phases->runs++;
}

/* PSS is measured on a budget: the rule of keep_need in derive.c. */
static struct opt_f64 memory_of(const struct phase_values *values)
{
    const double *at = values->at;
    bool is_missed = at[PHASE_RSS_ALONE] > at[PHASE_RSS_BESIDE] * 1.1 && at[PHASE_RSS_ALONE] > at[PHASE_PSS];
    double rss = at[PHASE_RSS_ALONE] > at[PHASE_RSS_BESIDE] ? at[PHASE_RSS_ALONE] : at[PHASE_RSS_BESIDE];
    double need = at[PHASE_PSS] > 0 && !is_missed ? at[PHASE_PSS] : rss;
    need = at[PHASE_BETWEEN] > rss && at[PHASE_BETWEEN] > need ? at[PHASE_BETWEEN] : need;
    need = at[PHASE_WITH_SHMEM] > need ? at[PHASE_WITH_SHMEM] : need;
    return (struct opt_f64){need > 0, need};
}

/* By the rules of the whole run, as if the phase had been one. */
static void size_phase(const struct summary *summary, uint64_t samples, struct summary_phase *phase)
{
    struct sizing_texts texts;
    struct summary alone = {.tracked_pid = some_u64(1), .runs = some_u64(1), .samples = some_u64(samples)};
    alone.wall_secs = phase->wall_secs;
    alone.cpu.cores_p95 = alone.cpu.wanted_p95 = phase->wanted_p95;
    alone.cpu.wanted_is_estimate = summary->cpu.wanted_is_estimate;
    alone.memory.need_mib = phase->memory_peak_mib;
    sizing_fill(&alone, &texts);
    phase->vcpus = alone.sizing.vcpus;
    struct opt_f64 need = summary_memory_need(summary);
    bool is_doubtful = !summary->sizing.memory_mib.has && phase->memory_peak_mib.v >= need.v * NEAR_PEAK;
    if (!is_doubtful)
        phase->memory_mib = alone.sizing.memory_mib;
}

static void finish_slot(
    const struct phases *phases, const struct summary *summary, struct phase_slot *slot, struct summary_phase *phase)
{
    const struct phase_values *values = &slot->values;
    double secs = values->at[PHASE_SECS];
    bool is_one = summary->runs.v == 1;
    /* In no time nothing is used, of what can be measured. */
    if (!(secs > 0))
        slot->values.known |= phases->known & ((1U << PHASE_SUMS) - 1);
    *phase = (struct summary_phase){.name = slot->name,
        .times = some_u64(slot->times),
        .start_secs = {is_one, fixed4_value(slot->first_fixed4)},
        .end_secs = {is_one, fixed4_value(slot->closed_fixed4)},
        .wanted_p95 = p95_of(slot),
        .memory_peak_mib = memory_of(values)};
    if (phase->memory_peak_mib.v < phases->unplaced_mib)
        phase->memory_peak_mib.has = false;
    for (size_t i = 0; i < sizeof(finished) / sizeof(finished[0]); i++) {
        const struct place *place = &finished[i];
        void *at = (char *)phase + place->at;
        double value = values->at[place->value];
        if (!is_known(values, place->value) || (place->kind == OVER_TIME && !(secs > 0)))
            continue;
        if (place->kind == COUNT)
            *(struct opt_u64 *)at = some_u64((uint64_t)(value + 0.5));
        else
            *(struct opt_f64 *)at = some_f64(place->kind == OVER_TIME ? value / secs : value);
    }
    if (phase->cores_peak.has && phase->cores_peak.v < phase->cores_mean.v)
        phase->cores_peak = phase->cores_mean;
    size_phase(summary, slot->samples, phase);
}

static double rss_of(const struct phase_point *point)
{
    return (double)(point->at[PHASE_RSS_ALONE] > point->at[PHASE_RSS_BESIDE] ? point->at[PHASE_RSS_ALONE]
                                                                             : point->at[PHASE_RSS_BESIDE]);
}

/* The history as rates. Memory that is not known is that of the point before, at the start that of the first. */
static void fill_rows(const struct phases *phases, struct phase_row *rows)
{
    double memory = 0;
    for (size_t i = 0; i < phases->point_count && !(memory > 0); i++)
        memory = rss_of(&phases->points[i]);
    for (size_t i = 0; i < phases->point_count; i++) {
        const float *at = phases->points[i].at;
        double secs = (double)at[PHASE_SECS], rss = rss_of(&phases->points[i]);
        memory = rss > 0 ? rss : memory;
        rows[i] = (struct phase_row){{0, memory, 0, 0}};
        if (!(secs > 0))
            continue;
        rows[i].at[PHASE_CORES] = (double)at[PHASE_CPU_SECS] / secs;
        rows[i].at[PHASE_DISK] = ((double)at[PHASE_READ_BYTES] + (double)at[PHASE_WRITTEN_BYTES]) / secs;
        rows[i].at[PHASE_GPUS] = (double)at[PHASE_GPU_SECS] / secs;
    }
}

/* "CPU, 7.9 cores", "disk, 0.4 cores", "GPU, 1 core", "idle", with ", memory grows". */
static void name_phase(struct phase_slot *slot, double grown_mib)
{
    static const double gpus_least = 0.1, disk_least = 20e6, cores_least = 0.1, disk_cores = 0.9;
    const double *at = slot->values.at;
    double secs = at[PHASE_SECS] > 0 ? at[PHASE_SECS] : 1, cores = at[PHASE_CPU_SECS] / secs;
    bool has_disk = (at[PHASE_READ_BYTES] + at[PHASE_WRITTEN_BYTES]) / secs >= disk_least;
    struct buf name = buf_over(slot->name, sizeof(slot->name));
    if (at[PHASE_GPU_SECS] / secs >= gpus_least)
        buf_puts(&name, "GPU");
    else if (has_disk)
        buf_puts(&name, cores < disk_cores ? "disk" : "CPU and disk");
    else
        buf_puts(&name, !is_known(&slot->values, PHASE_CPU_SECS) ? "not measured"
                        : cores < cores_least                    ? "idle"
                                                                 : "CPU");
    if (cores >= cores_least)
        units_put(&name, ", %n", wanted_about(cores));
    struct opt_f64 memory = memory_of(&slot->values);
    if (grown_mib >= 64 && grown_mib >= memory.v / 3)
        buf_puts(&name, ", memory grows");
    (void)buf_over_end(&name);
}

/* Slots are free then: without marks only the first is in use. */
static size_t find_changes(struct phases *phases)
{
    size_t ends[PHASES_FOUND_MAX], from = 0;
    AUTO_FREE struct phase_row *rows = calloc(phases->point_count, sizeof(*rows));
    if (!rows)
        return 0;
    fill_rows(phases, rows);
    size_t count = phases_find(rows, phases->point_count, ends);
    if (count < 2)
        return 0;
    for (size_t i = 0; i < count; from = ends[i++]) {
        struct phase_slot *slot = &phases->slots[i];
        *slot = (struct phase_slot){.times = 1};
        double begin_secs = from > 0 ? (double)phases->points[from - 1].end_secs : 0;
        for (size_t k = from; k < ends[i]; k++) {
            struct phase_values values = point_values(&phases->points[k]);
            double secs = values.at[PHASE_SECS];
            merge_values(&slot->values, &values, 1, true);
            if (secs > 0 && is_known(&values, PHASE_WANTED_SECS))
                add_share(slot, values.at[PHASE_WANTED_SECS] / secs, secs);
        }
        double end_secs = (double)phases->points[ends[i] - 1].end_secs;
        slot->samples = (ends[i] - from) * phases->step;
        slot->first_fixed4 = fixed4_of(some_f64(begin_secs)).v;
        slot->closed_fixed4 = fixed4_of(some_f64(end_secs)).v;
        phases->spans[i] = (struct summary_phase_span){i, begin_secs, end_secs};
        name_phase(slot, rows[ends[i] - 1].at[PHASE_MEMORY] - rows[from].at[PHASE_MEMORY]);
    }
    phases->span_count = count;
    return count;
}

/* Is the time before the first mark worth a phase? */
static bool has_start(const struct phase_slot *slot, double wall_secs)
{
    double secs = slot->values.at[PHASE_SECS];
    return secs >= START_MIN_SECS || secs > wall_secs * START_MIN_SHARE;
}

/* The job may name a phase as the time before the first one is named. */
static void name_start(struct phases *phases)
{
    char *name = phases->slots[FIRST].name;
    for (size_t i = FIRST + 1; i < phases->slot_count; i++) {
        if (strcmp(phases->slots[i].name, name) == 0)
            keep_text("before the first mark", name, SAMPLE_MARK_BYTES);
    }
}

void phases_fill(struct phases *phases, struct summary *summary)
{
    size_t count = phases->slot_count, first = FIRST;
    bool is_one = phases->runs == 1;
    if (!phases->has_marks) {
        double wall = summary->wall_secs.v;
        bool is_long = is_one && phases->point_count >= POINTS_MIN && wall >= WALL_MIN_SECS;
        count = is_long && summary_has_tree(summary) ? find_changes(phases) : 0;
        summary->phases_source = count > 0 ? SUMMARY_PHASES_CHANGES : NULL;
    } else {
        summary->phases_source = SUMMARY_PHASES_MARKS;
        name_start(phases);
        first += phases->slots[FIRST].times == 0 || !has_start(&phases->slots[FIRST], summary->wall_secs.v);
    }
    for (size_t i = first; i < count; i++)
        finish_slot(phases, summary, &phases->slots[i], &phases->finished[i - first]);
    size_t kept = 0;
    for (size_t i = 0; count > first && i < phases->span_count; i++) {
        struct summary_phase_span span = phases->spans[i];
        if (span.phase < first)
            continue;
        span.phase -= first;
        phases->spans[kept++] = span;
    }
    summary->phases = (struct sample_list){count > first, count > first ? count - first : 0, phases->finished};
    summary->phase_spans = (struct sample_list){is_one && kept > 0, kept, phases->spans};
}
