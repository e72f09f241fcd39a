/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of runs for charts, in a bounded space: every point covers the same number of samples and keeps lowest,
 * highest and mean of each line; when the points are full, each two become one. A table says which lines there are.
 * What each device did (CPUs, GPUs) is kept apart, one row per device, for heat maps. Runs follow each other in time.
 */
#ifndef SUMMARY_SERIES_H
#define SUMMARY_SERIES_H

#include "model/totals.h"

/* An hour at one second is complete; of a day at one second every point is 16 s. */
enum { SERIES_POINTS_MAX = 5400, SERIES_CORES_MAX = 512, SERIES_GPUS_MAX = 64, SERIES_RUNS_MAX = 64 };

enum series_chart {
    SERIES_CPU, /* cores */
    SERIES_MEMORY, /* MiB */
    SERIES_DISK, /* bytes per second */
    SERIES_NETWORK, /* bytes per second */
    SERIES_GPU, /* GPUs in use */
    SERIES_VRAM, /* MiB */
    SERIES_ENERGY, /* watts */
    SERIES_PRESSURE, /* percent of the time */
    SERIES_CHARTS,
};

struct series_line {
    unsigned char chart; /* enum series_chart */
    bool is_of_tree;
    unsigned char hue; /* of the colours of the page, 0 is for what is only compared with */
    bool is_dashed;
    char name[24]; /* the legend: "job", "host", "job read", … */
};

enum series_line_number {
    SERIES_CPU_TREE,
    SERIES_CPU_WANTED,
    SERIES_CPU_HOST,
    SERIES_RSS,
    SERIES_PSS,
    SERIES_CGROUP,
    SERIES_HOST_USED,
    SERIES_TREE_READ,
    SERIES_TREE_WRITE,
    SERIES_HOST_READ,
    SERIES_HOST_WRITE,
    SERIES_TREE_RECEIVED,
    SERIES_TREE_SENT,
    SERIES_RECEIVED,
    SERIES_SENT,
    SERIES_GPU_TREE,
    SERIES_GPU_HOST,
    SERIES_VRAM_TREE,
    SERIES_VRAM_HOST,
    SERIES_TREE_WATTS,
    SERIES_CPU_WATTS,
    SERIES_PLATFORM_WATTS,
    SERIES_CPU_SOME,
    SERIES_MEMORY_SOME,
    SERIES_MEMORY_FULL,
    SERIES_IO_SOME,
    SERIES_IO_FULL,
    SERIES_LINES,
};

extern const struct series_line series_lines[SERIES_LINES];

/* One line at one point; absent where no sample of the point knows it. */
struct series_value {
    bool has;
    float low, high, mean;
};

/* The highest value of a line in any sample, and when that was: since the start of the first run. */
struct series_peak {
    bool has;
    double value, secs;
};

/* What heat maps show, one row per device. */
enum series_grid {
    SERIES_CPUS, /* percent */
    SERIES_GPUS, /* percent, by any process */
    SERIES_POWER, /* watts of each GPU */
    SERIES_TEMPERATURE, /* degrees of each GPU */
    SERIES_GRIDS,
};

struct series_run {
    const char *name; /* of its job, else of its program; "" where neither is known */
    struct opt_i64 started_ms; /* Unix */
    size_t from, to; /* its points: from, and those before to */
    double start_secs; /* since the start of the first run */
};

struct series;

/* Returns 0 or -ENOMEM. */
int series_new(struct series **ret_series);
void series_free(struct series *series); /* NULL allowed */

/* Allocates nothing once the number of devices is known; without memory for them there is no heat map. */
void series_add(struct series *series, const struct sample *sample, const struct sample_totals *totals);

/* The next sample belongs to another run: its time goes on where the last one ended. */
void series_next_run(struct series *series);

/* Points, and how many samples a full one has. */
size_t series_points(const struct series *series);
size_t series_step(const struct series *series);

/* Seconds since the start of the first run at the end of point i. */
double series_secs(const struct series *series, size_t i);

/* The points from and before to as one. */
struct series_value series_over(const struct series *series, size_t line, size_t from, size_t to);

/* Does any point know this line? */
bool series_has(const struct series *series, size_t line);
struct series_peak series_peak(const struct series *series, size_t line);

/* Runs that are kept apart; 1 where there were so many that they are one history without names. 0: no point. */
size_t series_runs(const struct series *series);
struct series_run series_run_at(const struct series *series, size_t run);

/* A heat map: one column per point, one row per device; -1 where unknown. 0 rows: there is none. */
size_t series_rows(const struct series *series, enum series_grid grid);
double series_cell(const struct series *series, enum series_grid grid, size_t row, size_t from, size_t to);

#endif
