/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points of lowest, highest and mean. A point that was begun gets samples until it holds `step` of them; when all
 * points are used, neighbours become one and `step` doubles. Points of two runs are kept apart as long as enough points
 * are free.
 */
#include "summary/series.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"

const struct series_line series_lines[SERIES_LINES] = {
    [SERIES_CPU_TREE] = {SERIES_CPU, true, 1, false, "job"},
    [SERIES_CPU_WANTED] = {SERIES_CPU, true, 2, true, "job wanted"},
    [SERIES_CPU_HOST] = {SERIES_CPU, false, 0, false, "host"},
    [SERIES_RSS] = {SERIES_MEMORY, true, 1, false, "job RSS"},
    [SERIES_PSS] = {SERIES_MEMORY, true, 3, false, "job PSS"},
    [SERIES_CGROUP] = {SERIES_MEMORY, false, 4, false, "cgroup"},
    [SERIES_HOST_USED] = {SERIES_MEMORY, false, 0, false, "host"},
    [SERIES_TREE_READ] = {SERIES_DISK, true, 1, false, "job read"},
    [SERIES_TREE_WRITE] = {SERIES_DISK, true, 2, false, "job write"},
    [SERIES_HOST_READ] = {SERIES_DISK, false, 5, true, "host read"},
    [SERIES_HOST_WRITE] = {SERIES_DISK, false, 6, true, "host write"},
    [SERIES_TREE_RECEIVED] = {SERIES_NETWORK, true, 1, false, "job received"},
    [SERIES_TREE_SENT] = {SERIES_NETWORK, true, 2, false, "job sent"},
    [SERIES_RECEIVED] = {SERIES_NETWORK, false, 5, true, "host received"},
    [SERIES_SENT] = {SERIES_NETWORK, false, 6, true, "host sent"},
    [SERIES_GPU_TREE] = {SERIES_GPU, true, 1, false, "job"},
    [SERIES_GPU_HOST] = {SERIES_GPU, false, 0, false, "host"},
    [SERIES_VRAM_TREE] = {SERIES_VRAM, true, 1, false, "job"},
    [SERIES_VRAM_HOST] = {SERIES_VRAM, false, 0, false, "host"},
    [SERIES_TREE_WATTS] = {SERIES_ENERGY, true, 1, false, "job"},
    [SERIES_CPU_WATTS] = {SERIES_ENERGY, false, 0, false, "CPUs and memory"},
    [SERIES_PLATFORM_WATTS] = {SERIES_ENERGY, false, 2, true, "machine"},
    [SERIES_CPU_SOME] = {SERIES_PRESSURE, false, 1, false, "for CPU"},
    [SERIES_MEMORY_SOME] = {SERIES_PRESSURE, false, 2, false, "for memory"},
    [SERIES_MEMORY_FULL] = {SERIES_PRESSURE, false, 4, true, "all tasks for memory"},
    [SERIES_IO_SOME] = {SERIES_PRESSURE, false, 3, false, "for I/O"},
    [SERIES_IO_FULL] = {SERIES_PRESSURE, false, 0, true, "all tasks for I/O"},
};

/* Larger than any machine, and a thousand times that still fits into 64 bits. */
#define VALUE_MAX 1e15

enum { CELL_UNKNOWN = UINT16_MAX, NAME_BYTES = 64 };

/* How many of a cell's unit make up one of the value, so that merging does not wear it down; and the highest value. */
static const struct {
    unsigned short scale, most, rows_max;
} grids[SERIES_GRIDS] = {
    [SERIES_CPUS] = {100, 100, SERIES_CORES_MAX},
    [SERIES_GPUS] = {100, 100, SERIES_GPUS_MAX},
    [SERIES_POWER] = {10, 6000, SERIES_GPUS_MAX},
    [SERIES_TEMPERATURE] = {100, 200, SERIES_GPUS_MAX},
};

struct cell {
    float low, high, mean;
    uint32_t count; /* samples that know it; 0: unknown */
};

struct point {
    double secs;
    uint32_t samples;
    bool is_break; /* a run begins with it */
    struct cell cells[SERIES_LINES];
};

/* Of the last point, while it grows. */
struct open_cell {
    uint64_t sum, count;
};

struct grid {
    size_t rows;
    uint16_t *cells; /* [point][rows], those of points in use */
    struct open_cell *open; /* [rows] */
};

struct run {
    int64_t started_ms;
    bool has_start;
    char name[NAME_BYTES];
};

struct series {
    size_t count; /* points in use */
    uint32_t step; /* samples of a full point */
    bool is_run_over; /* the next sample begins a run */
    bool is_mixed; /* there were too many runs to keep them apart */
    double run_secs; /* where the run began */
    struct opt_i64 elapsed_fixed4; /* of the sample before, in the run */
    size_t run_count;
    struct run runs[SERIES_RUNS_MAX];
    struct series_peak peaks[SERIES_LINES];
    struct grid grids[SERIES_GRIDS];
    struct point points[SERIES_POINTS_MAX];
};

int series_new(struct series **ret_series)
{
    struct series *series = calloc(1, sizeof(*series));
    if (!series)
        return -ENOMEM;
    series->step = 1;
    series->is_run_over = true;
    *ret_series = series;
    return 0;
}

void series_free(struct series *series)
{
    if (!series)
        return;
    for (size_t i = 0; i < SERIES_GRIDS; i++) {
        free(series->grids[i].cells);
        free(series->grids[i].open);
    }
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

/* What a tree holds; when it is gone it holds nothing, which is no value of the job but its end. */
static struct opt_f64 held(struct opt_f64 value, bool is_end)
{
    value = fixed4_rounded(value);
    value.has &= !is_end || value.v > 0;
    return value;
}

/* The kernel's clock and ours are not read in the same moment: what is above 100 % is that. */
static struct opt_f64 share_pct(struct opt_f64 stalled_secs, double secs)
{
    struct opt_f64 share = per_sec(stalled_secs, secs / 100);
    return share.has && share.v > 100 ? some_f64(100) : share;
}

/* A line whose value stands in the sample. */
struct source {
    uint16_t section, at; /* section: its first member says whether it is present */
    uint8_t line, kind;
};

enum { VALUE, HELD, RATE, COUNT_RATE, SHARE };

#define SOURCE(line, kind, section, member)                                                                            \
    {                                                                                                                  \
        offsetof(struct sample, section), offsetof(struct sample, section.member), SERIES_##line, kind                 \
    }

static const struct source sources[] = {
    SOURCE(CPU_TREE, VALUE, cpu, process_cores_used),
    SOURCE(CPU_WANTED, VALUE, cpu, process_cores_wanted),
    SOURCE(CPU_HOST, VALUE, cpu, utilization_pct),
    SOURCE(RSS, HELD, cpu, process_rss_mib),
    SOURCE(PSS, HELD, cpu, process_pss_mib),
    SOURCE(CGROUP, HELD, cgroup, memory_used_mib),
    SOURCE(TREE_READ, COUNT_RATE, cpu, process_disk_read_bytes),
    SOURCE(TREE_WRITE, COUNT_RATE, cpu, process_disk_write_bytes),
    SOURCE(TREE_RECEIVED, COUNT_RATE, cpu, process_net_recv_bytes),
    SOURCE(TREE_SENT, COUNT_RATE, cpu, process_net_sent_bytes),
    SOURCE(GPU_TREE, VALUE, cpu, process_gpu_usage),
    SOURCE(VRAM_TREE, HELD, cpu, process_gpu_vram_mib),
    SOURCE(TREE_WATTS, RATE, energy, process_joules),
    SOURCE(PLATFORM_WATTS, RATE, energy, platform_joules),
    SOURCE(CPU_SOME, SHARE, pressure, cpu_some_secs),
    SOURCE(MEMORY_SOME, SHARE, pressure, memory_some_secs),
    SOURCE(MEMORY_FULL, SHARE, pressure, memory_full_secs),
    SOURCE(IO_SOME, SHARE, pressure, io_some_secs),
    SOURCE(IO_FULL, SHARE, pressure, io_full_secs),
};

static void set_source(const struct source *source, const struct sample *sample, double secs, struct values *values)
{
    const char *base = (const char *)sample;
    const void *at = base + source->at;
    struct opt_f64 amount =
        source->kind == COUNT_RATE ? opt_scaled(*(const struct opt_u64 *)at, 1) : *(const struct opt_f64 *)at;
    if (!*(const bool *)(base + source->section))
        return;
    values->at[source->line] = source->kind == VALUE   ? fixed4_rounded(amount)
                               : source->kind == HELD  ? held(amount, sample->end.present)
                               : source->kind == SHARE ? share_pct(amount, secs)
                                                       : per_sec(amount, secs);
}

/* What takes more than one number of the sample, or counts only sometimes. */
static void set_others(const struct sample *sample, double secs, struct values *values)
{
    const struct sample_cpu *cpu = &sample->cpu;
    const struct sample_energy *energy = &sample->energy;
    struct opt_f64 *at = values->at, waited = per_sec(cpu->process_wait_secs, secs);
    /* Recordings of older versions have only what was waited. */
    if (cpu->present && !cpu->process_cores_wanted.has)
        at[SERIES_CPU_WANTED] =
            (struct opt_f64){at[SERIES_CPU_TREE].has && waited.has, at[SERIES_CPU_TREE].v + waited.v};
    /* Of a machine without GPUs the tree uses a known 0, which is no chart. */
    if (sample->gpu.present && sample->gpu.count == 0)
        at[SERIES_GPU_TREE] = at[SERIES_VRAM_TREE] = (struct opt_f64){0};
    struct opt_f64 cpu_joules = energy->package_joules;
    cpu_joules.v += energy->dram_joules.v;
    if (energy->present)
        at[SERIES_CPU_WATTS] = per_sec(cpu_joules, secs);
    /* A battery is read seldom, and then for all the time since: that is no power of an interval. */
    if (energy->source && strcmp(energy->source, "battery") == 0)
        at[SERIES_PLATFORM_WATTS] = (struct opt_f64){0};
    if (sample->memory.present)
        at[SERIES_HOST_USED] = fixed4_rounded(sample_memory_used_mib(&sample->memory));
}

static void set_values(
    const struct sample *sample, const struct sample_totals *totals, double secs, struct values *values)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        set_source(&sources[i], sample, secs, values);
    set_others(sample, secs, values);
    set_devices(totals, secs, values);
}

static bool is_value(struct opt_f64 value)
{
    return value.has && value.v >= 0 && value.v <= VALUE_MAX;
}

static void cell_add(struct cell *cell, double value)
{
    float v = (float)value;
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

/* Both columns of a heat map into column `to`; `i` and `j` carry so many samples each. */
static void grid_merge(const struct series *series, struct grid *grid, size_t to, size_t i, size_t j)
{
    uint64_t ni = series->points[i].samples, nj = i == j ? 0 : series->points[j].samples;
    uint16_t *out = grid->cells + to * grid->rows;
    const uint16_t *a = grid->cells + i * grid->rows, *b = grid->cells + j * grid->rows;
    for (size_t row = 0; row < grid->rows; row++) {
        uint64_t wa = a[row] == CELL_UNKNOWN ? 0 : ni, wb = b[row] == CELL_UNKNOWN ? 0 : nj;
        uint64_t both = wa + wb;
        uint64_t mean = both > 0 ? (a[row] * wa + b[row] * wb + both / 2) / both : CELL_UNKNOWN;
        out[row] = (uint16_t)mean;
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
        for (size_t n = 0; n < SERIES_GRIDS; n++) {
            if (series->grids[n].rows > 0)
                grid_merge(series, &series->grids[n], kept, i, j);
        }
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
    if (series->count > SERIES_POINTS_MAX * 3 / 4) {
        merge_pairs(series, true);
        series->is_mixed = true;
    }
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
    for (size_t n = 0; n < SERIES_GRIDS; n++) {
        struct grid *grid = &series->grids[n];
        for (size_t row = 0; row < grid->rows; row++) {
            grid->cells[(series->count - 1) * grid->rows + row] = CELL_UNKNOWN;
            grid->open[row] = (struct open_cell){0};
        }
    }
    series->is_run_over = false;
    return point;
}

/* Rows for so many devices; false where out of memory. */
static bool grow_rows(const struct series *series, struct grid *grid, size_t rows)
{
    if (rows <= grid->rows)
        return true;
    uint16_t *cells = malloc(SERIES_POINTS_MAX * rows * sizeof(*cells));
    struct open_cell *open = calloc(rows, sizeof(*open));
    if (!cells || !open) {
        free(cells);
        free(open);
        return false;
    }
    for (size_t i = 0; i < series->count; i++) {
        for (size_t row = 0; row < rows; row++)
            cells[i * rows + row] = row < grid->rows ? grid->cells[i * grid->rows + row] : CELL_UNKNOWN;
    }
    if (grid->rows > 0)
        memcpy(open, grid->open, grid->rows * sizeof(*open));
    free(grid->cells);
    free(grid->open);
    *grid = (struct grid){rows, cells, open};
    return true;
}

/* The value of one device in the last point; the rows are grown by the first device that has one. */
static void grid_add(struct series *series, enum series_grid number, size_t row, size_t rows, struct opt_f64 value)
{
    struct grid *grid = &series->grids[number];
    struct opt_f64 shown = fixed4_rounded(value);
    if (rows > grids[number].rows_max)
        rows = grids[number].rows_max;
    if (row >= rows || !shown.has || !(shown.v >= 0) || !grow_rows(series, grid, rows))
        return;
    double limited = shown.v < grids[number].most ? shown.v : grids[number].most;
    struct open_cell *open = &grid->open[row];
    open->sum += (uint32_t)(limited * grids[number].scale);
    open->count++;
    grid->cells[(series->count - 1) * grid->rows + row] = (uint16_t)(open->sum / open->count);
}

static void add_devices(struct series *series, const struct sample *sample)
{
    const struct opt_f64 *shares = sample->cpu.per_core_pct.items;
    size_t cpus = sample->cpu.present && sample->cpu.per_core_pct.present ? sample->cpu.per_core_pct.count : 0;
    for (size_t i = 0; i < cpus; i++)
        grid_add(series, SERIES_CPUS, i, cpus, shares[i]);
    const struct sample_gpu *gpus = sample->gpu.items;
    size_t count = sample->gpu.present ? sample->gpu.count : 0;
    for (size_t i = 0; i < count; i++) {
        grid_add(series, SERIES_GPUS, i, count, gpus[i].utilization_pct);
        grid_add(series, SERIES_POWER, i, count, gpus[i].power_watts);
        grid_add(series, SERIES_TEMPERATURE, i, count, gpus[i].temperature_celsius);
    }
}

/* What the first sample of a run says of it. */
static void begin_run(struct series *series, const struct sample *sample)
{
    if (series->run_count == SERIES_RUNS_MAX) {
        series->is_mixed = true;
        return;
    }
    struct run *run = &series->runs[series->run_count++];
    const char *name = sample->job_name ? sample->job_name : "";
    if (!*name && sample->run.present && sample->run.command.present && sample->run.command.count > 0) {
        const char *program = *(const char *const *)sample->run.command.items;
        const char *slash = program ? strrchr(program, '/') : NULL;
        name = slash ? slash + 1 : program ? program : "";
    }
    *run = (struct run){0};
    (void)text_clean(str_of(name), TEXT_MARK, "...", run->name, sizeof(run->name));
    double elapsed_ms = sample->elapsed_secs.has ? fixed4_rounded(sample->elapsed_secs).v * 1000 : 0;
    if (sample->timestamp_ms.has && elapsed_ms >= 0 && elapsed_ms <= VALUE_MAX &&
        !__builtin_sub_overflow(sample->timestamp_ms.v, (int64_t)elapsed_ms, &run->started_ms))
        run->has_start = true;
}

static void add_value(struct series *series, struct point *point, size_t line, struct opt_f64 value)
{
    struct series_peak *peak = &series->peaks[line];
    if (!is_value(value))
        return;
    cell_add(&point->cells[line], value.v);
    if (!peak->has || value.v > peak->value)
        *peak = (struct series_peak){true, value.v, point->secs};
}

void series_add(struct series *series, const struct sample *sample, const struct sample_totals *totals)
{
    struct values values = {0};
    double secs = fixed4_value(fixed4_interval(sample, series->elapsed_fixed4));
    series->elapsed_fixed4 = fixed4_of(sample->elapsed_secs);
    set_values(sample, totals, secs, &values);
    double before = series->count > 0 ? series->points[series->count - 1].secs : 0;
    struct point *point = open_point(series);
    if (point->is_break && point->samples == 0) {
        series->run_secs = before;
        begin_run(series, sample);
    }
    double now = sample->elapsed_secs.has ? series->run_secs + fixed4_rounded(sample->elapsed_secs).v : before + secs;
    point->secs = now >= before && now <= VALUE_MAX ? now : before;
    point->samples++;
    for (size_t line = 0; line < SERIES_LINES; line++)
        add_value(series, point, line, values.at[line]);
    add_devices(series, sample);
}

void series_next_run(struct series *series)
{
    series->is_run_over = true;
    series->elapsed_fixed4 = (struct opt_i64){0};
}

size_t series_points(const struct series *series)
{
    return series->count;
}

size_t series_step(const struct series *series)
{
    return series->step;
}

double series_secs(const struct series *series, size_t i)
{
    return series->points[i].secs;
}

struct series_value series_over(const struct series *series, size_t line, size_t from, size_t to)
{
    struct cell all = {0};
    for (size_t i = from; i < to; i++)
        cell_merge(&all, &series->points[i].cells[line]);
    return (struct series_value){all.count > 0, all.low, all.high, all.mean};
}

bool series_has(const struct series *series, size_t line)
{
    return series->peaks[line].has;
}

struct series_peak series_peak(const struct series *series, size_t line)
{
    return series->peaks[line];
}

size_t series_runs(const struct series *series)
{
    return series->is_mixed ? 1 : series->run_count;
}

struct series_run series_run_at(const struct series *series, size_t run)
{
    struct series_run found = {.name = "", .to = series->count};
    if (!series->is_mixed) {
        found.name = series->runs[run].name;
        found.started_ms = (struct opt_i64){series->runs[run].has_start, series->runs[run].started_ms};
        size_t begun = 0;
        for (size_t i = 0; i < series->count; i++) {
            if (!series->points[i].is_break || begun > run + 1)
                continue;
            if (begun == run)
                found.from = i;
            else if (begun == run + 1)
                found.to = i;
            begun++;
        }
    }
    found.start_secs = found.from > 0 ? series->points[found.from - 1].secs : 0;
    return found;
}

size_t series_rows(const struct series *series, enum series_grid grid)
{
    return series->grids[grid].rows;
}

/* Over points of the same number of samples. */
double series_cell(const struct series *series, enum series_grid number, size_t row, size_t from, size_t to)
{
    const struct grid *grid = &series->grids[number];
    uint64_t sum = 0, count = 0;
    for (size_t i = from; i < to; i++) {
        uint16_t cell = grid->cells[i * grid->rows + row];
        sum += cell == CELL_UNKNOWN ? 0 : cell;
        count += cell != CELL_UNKNOWN;
    }
    return count > 0 ? (double)sum / (double)count / grids[number].scale : -1;
}
