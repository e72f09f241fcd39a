/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points of lowest, highest and mean. A point that was begun gets samples until it holds `step` of them; when all
 * points are used, neighbours become one and `step` doubles. Points of two runs are kept apart as long as enough points
 * are free.
 */
#include "summary/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct series_line series_lines[SERIES_LINES] = {
    [SERIES_CPU_TREE] = {SERIES_CPU, true, "tree"},
    [SERIES_CPU_HOST] = {SERIES_CPU, false, "host"},
    [SERIES_RSS] = {SERIES_MEMORY, true, "tree RSS"},
    [SERIES_PSS] = {SERIES_MEMORY, true, "tree PSS"},
    [SERIES_CGROUP] = {SERIES_MEMORY, false, "cgroup"},
    [SERIES_HOST_USED] = {SERIES_MEMORY, false, "host used"},
    [SERIES_TREE_READ] = {SERIES_DISK, true, "tree read"},
    [SERIES_TREE_WRITE] = {SERIES_DISK, true, "tree write"},
    [SERIES_HOST_READ] = {SERIES_DISK, false, "host read"},
    [SERIES_HOST_WRITE] = {SERIES_DISK, false, "host write"},
    [SERIES_RECEIVED] = {SERIES_NETWORK, false, "host received"},
    [SERIES_SENT] = {SERIES_NETWORK, false, "host sent"},
    [SERIES_GPU_TREE] = {SERIES_GPU, true, "tree"},
    [SERIES_GPU_HOST] = {SERIES_GPU, false, "host"},
    [SERIES_VRAM_TREE] = {SERIES_VRAM, true, "tree"},
    [SERIES_VRAM_HOST] = {SERIES_VRAM, false, "host"},
    [SERIES_CPU_SOME] = {SERIES_PRESSURE, false, "CPU some"},
    [SERIES_MEMORY_SOME] = {SERIES_PRESSURE, false, "memory some"},
    [SERIES_MEMORY_FULL] = {SERIES_PRESSURE, false, "memory full"},
    [SERIES_IO_SOME] = {SERIES_PRESSURE, false, "I/O some"},
    [SERIES_IO_FULL] = {SERIES_PRESSURE, false, "I/O full"},
};

/* Larger than any machine, and a thousand times that still fits into 64 bits. */
#define VALUE_MAX 1e15

/* Shares of a core in hundredths of a percent, so that merging does not wear them down. */
enum { HEAT_SCALE = 100, HEAT_UNKNOWN = UINT16_MAX };

struct cell {
    float low, high, mean;
    uint32_t count; /* samples that know it; 0: unknown */
};

struct point {
    double secs;
    uint32_t samples;
    bool is_break;
    struct cell cells[SERIES_LINES];
};

struct series {
    size_t count; /* points in use */
    uint32_t step; /* samples of a full point */
    bool is_run_over; /* the next sample begins a run */
    double run_secs; /* where the run began */
    struct opt_i64 elapsed_fixed4; /* of the sample before, in the run */
    size_t cores;
    uint16_t *heat; /* [point][cores] */
    struct { /* of the last point, while it grows */
        uint64_t sum, count;
    } open[SERIES_CORES_MAX];
    struct point points[SERIES_POINTS_MAX];
};

int series_new(struct series **ret_series)
{
    struct series *series = calloc(1, sizeof(*series));
    if (!series)
        return -ENOMEM;
    series->step = 1;
    *ret_series = series;
    return 0;
}

void series_free(struct series *series)
{
    if (!series)
        return;
    free(series->heat);
    free(series);
}

/* What a sample says about every line. */
struct values {
    struct opt_f64 at[SERIES_LINES];
};

static struct opt_f64 per_sec(struct opt_f64 amount, double secs)
{
    amount = fixed4_rounded(amount);
    return amount.has && secs > 0 ? some_f64(amount.v / secs) : (struct opt_f64){0};
}

/* The rate that devices report; of those that report only their bytes, as rows of CSV do, what these come to. */
static struct opt_f64 rate_of(const struct sample_flow *flow, double secs)
{
    struct opt_f64 other = fixed4_rounded(per_sec(opt_scaled(flow->unrated_bytes, 1), secs));
    return (struct opt_f64){flow->rate.has || other.has, fixed4_value(flow->rate.v) + other.v};
}

static void set_devices(const struct sample_totals *totals, double secs, struct values *values)
{
    values->at[SERIES_HOST_READ] = rate_of(&totals->disk_read, secs);
    values->at[SERIES_HOST_WRITE] = rate_of(&totals->disk_write, secs);
    values->at[SERIES_RECEIVED] = rate_of(&totals->received, secs);
    values->at[SERIES_SENT] = rate_of(&totals->sent, secs);
    values->at[SERIES_GPU_HOST] =
        (struct opt_f64){totals->gpu_usage_pct.has, fixed4_value(totals->gpu_usage_pct.v) / 100};
    values->at[SERIES_VRAM_HOST] = opt_scaled(totals->vram_used_bytes, BYTES_PER_MIB);
}

static void set_tree(const struct sample_cpu *cpu, double secs, struct values *values)
{
    values->at[SERIES_CPU_TREE] = fixed4_rounded(cpu->process_cores_used);
    values->at[SERIES_CPU_HOST] = fixed4_rounded(cpu->utilization_pct);
    values->at[SERIES_RSS] = fixed4_rounded(cpu->process_rss_mib);
    values->at[SERIES_PSS] = fixed4_rounded(cpu->process_pss_mib);
    values->at[SERIES_TREE_READ] = per_sec(opt_scaled(cpu->process_disk_read_bytes, 1), secs);
    values->at[SERIES_TREE_WRITE] = per_sec(opt_scaled(cpu->process_disk_write_bytes, 1), secs);
    values->at[SERIES_GPU_TREE] = fixed4_rounded(cpu->process_gpu_usage);
    values->at[SERIES_VRAM_TREE] = fixed4_rounded(cpu->process_gpu_vram_mib);
}

/* The kernel's clock and ours are not read in the same moment: what is above 100 % is that. */
static struct opt_f64 share_pct(struct opt_f64 stalled_secs, double secs)
{
    struct opt_f64 share = per_sec(stalled_secs, secs / 100);
    return share.has && share.v > 100 ? some_f64(100) : share;
}

static void set_pressure(const struct sample_pressure *pressure, double secs, struct values *values)
{
    values->at[SERIES_CPU_SOME] = share_pct(pressure->cpu_some_secs, secs);
    values->at[SERIES_MEMORY_SOME] = share_pct(pressure->memory_some_secs, secs);
    values->at[SERIES_MEMORY_FULL] = share_pct(pressure->memory_full_secs, secs);
    values->at[SERIES_IO_SOME] = share_pct(pressure->io_some_secs, secs);
    values->at[SERIES_IO_FULL] = share_pct(pressure->io_full_secs, secs);
}

static void set_values(
    const struct sample *sample, const struct sample_totals *totals, double secs, struct values *values)
{
    if (sample->cpu.present)
        set_tree(&sample->cpu, secs, values);
    if (sample->memory.present)
        values->at[SERIES_HOST_USED] = fixed4_rounded(sample_memory_used_mib(&sample->memory));
    if (sample->cgroup.present)
        values->at[SERIES_CGROUP] = fixed4_rounded(sample->cgroup.memory_used_mib);
    if (sample->pressure.present)
        set_pressure(&sample->pressure, secs, values);
    set_devices(totals, secs, values);
}

static void cell_add(struct cell *cell, struct opt_f64 value)
{
    if (!value.has || !(value.v >= 0 && value.v <= VALUE_MAX))
        return;
    float v = (float)value.v;
    cell->low = cell->count == 0 || v < cell->low ? v : cell->low;
    cell->high = cell->count == 0 || v > cell->high ? v : cell->high;
    cell->count++;
    cell->mean += (v - cell->mean) / (float)cell->count;
}

static void cell_merge(struct cell *into, const struct cell *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0) {
        *into = *from;
        return;
    }
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
    into->count += from->count;
    into->mean += (from->mean - into->mean) * ((float)from->count / (float)into->count);
}

/* Both columns of the heat map into column `to`; `i` and `j` carry so many samples each. */
static void heat_merge(struct series *series, size_t to, size_t i, size_t j)
{
    uint64_t ni = series->points[i].samples, nj = i == j ? 0 : series->points[j].samples;
    uint16_t *out = series->heat + to * series->cores;
    const uint16_t *a = series->heat + i * series->cores, *b = series->heat + j * series->cores;
    for (size_t core = 0; core < series->cores; core++) {
        uint64_t wa = a[core] == HEAT_UNKNOWN ? 0 : ni, wb = b[core] == HEAT_UNKNOWN ? 0 : nj;
        uint64_t both = wa + wb;
        uint64_t mean = both > 0 ? (a[core] * wa + b[core] * wb + both / 2) / both : HEAT_UNKNOWN;
        out[core] = (uint16_t)mean;
    }
}

/* Each two points become one, those of different runs only where asked. */
static void merge_pairs(struct series *series, bool over_breaks)
{
    size_t kept = 0;
    for (size_t i = 0; i < series->count; kept++) {
        bool pair = i + 1 < series->count && (over_breaks || !series->points[i + 1].is_break);
        size_t j = pair ? i + 1 : i;
        struct point *to = &series->points[kept];
        const struct point *second = &series->points[j];
        if (series->cores > 0)
            heat_merge(series, kept, i, j);
        if (kept != i)
            *to = series->points[i];
        if (pair) {
            for (size_t line = 0; line < SERIES_LINES; line++)
                cell_merge(&to->cells[line], &second->cells[line]);
            to->samples += second->samples;
            to->secs = second->secs;
        }
        i = j + 1;
    }
    series->count = kept;
}

static void thin_out(struct series *series)
{
    merge_pairs(series, false);
    if (series->count > SERIES_POINTS_MAX * 3 / 4)
        merge_pairs(series, true);
    series->step *= 2;
}

/* The point that the next sample belongs to. */
static struct point *open_point(struct series *series)
{
    bool is_break = series->is_run_over;
    if (series->count > 0 && !is_break && series->points[series->count - 1].samples < series->step)
        return &series->points[series->count - 1];
    if (series->count == SERIES_POINTS_MAX)
        thin_out(series);
    struct point *point = &series->points[series->count++];
    *point = (struct point){.is_break = is_break};
    memset(series->open, 0, sizeof(series->open));
    for (size_t core = 0; core < series->cores; core++)
        series->heat[(series->count - 1) * series->cores + core] = HEAT_UNKNOWN;
    series->is_run_over = false;
    return point;
}

/* Columns of so many cores; false where out of memory. */
static bool grow_cores(struct series *series, size_t cores)
{
    if (cores <= series->cores)
        return true;
    uint16_t *heat = malloc(SERIES_POINTS_MAX * cores * sizeof(*heat));
    if (!heat)
        return false;
    memset(heat, 0xff, SERIES_POINTS_MAX * cores * sizeof(*heat));
    for (size_t i = 0; i < series->count && series->cores > 0; i++)
        memcpy(heat + i * cores, series->heat + i * series->cores, series->cores * sizeof(*heat));
    free(series->heat);
    series->heat = heat;
    series->cores = cores;
    return true;
}

static void add_cores(struct series *series, const struct sample_list *list)
{
    const struct opt_f64 *shares = list->items;
    size_t cores = list->present ? list->count : 0;
    if (cores > SERIES_CORES_MAX)
        cores = SERIES_CORES_MAX;
    if (cores == 0 || !grow_cores(series, cores))
        return;
    uint16_t *column = series->heat + (series->count - 1) * series->cores;
    for (size_t core = 0; core < cores; core++) {
        struct opt_f64 shown = fixed4_rounded(shares[core]);
        if (!shown.has || !(shown.v >= 0))
            continue;
        double share = shown.v < 100 ? shown.v : 100;
        series->open[core].sum += (uint32_t)(share * HEAT_SCALE);
        series->open[core].count++;
        column[core] = (uint16_t)(series->open[core].sum / series->open[core].count);
    }
}

void series_add(struct series *series, const struct sample *sample, const struct sample_totals *totals)
{
    struct values values = {0};
    double secs = fixed4_value(fixed4_interval(sample, series->elapsed_fixed4));
    series->elapsed_fixed4 = fixed4_of(sample->elapsed_secs);
    set_values(sample, totals, secs, &values);
    double before = series->count > 0 ? series->points[series->count - 1].secs : 0;
    struct point *point = open_point(series);
    if (point->is_break && point->samples == 0)
        series->run_secs = before;
    double now = sample->elapsed_secs.has ? series->run_secs + fixed4_rounded(sample->elapsed_secs).v : before + secs;
    point->secs = now >= before && now <= VALUE_MAX ? now : before;
    point->samples++;
    for (size_t line = 0; line < SERIES_LINES; line++)
        cell_add(&point->cells[line], values.at[line]);
    if (sample->cpu.present)
        add_cores(series, &sample->cpu.per_core_pct);
}

void series_next_run(struct series *series)
{
    series->is_run_over = series->count > 0;
    series->elapsed_fixed4 = (struct opt_i64){0};
}

size_t series_points(const struct series *series)
{
    return series->count;
}

double series_secs(const struct series *series, size_t i)
{
    return series->points[i].secs;
}

bool series_is_break(const struct series *series, size_t i)
{
    return series->points[i].is_break;
}

struct series_value series_at(const struct series *series, size_t line, size_t i)
{
    const struct cell *cell = &series->points[i].cells[line];
    return (struct series_value){cell->count > 0, cell->low, cell->high, cell->mean};
}

bool series_has(const struct series *series, size_t line)
{
    bool has = false;
    for (size_t i = 0; i < series->count && !has; i++)
        has = series->points[i].cells[line].count > 0;
    return has;
}

size_t series_heat_cores(const struct series *series)
{
    return series->cores;
}

int series_heat_at(const struct series *series, size_t core, size_t i)
{
    unsigned share = series->heat[i * series->cores + core];
    return share == HEAT_UNKNOWN ? -1 : (int)((share + HEAT_SCALE / 2) / HEAT_SCALE);
}
