/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a run for charts, in a bounded space: every point covers the same number of samples and keeps lowest,
 * highest and mean of each line; when the points are full, each two become one. A table says which lines there are.
 * Cores are kept apart, as shares from 0 to 100, for the heat map.
 */
#ifndef SUMMARY_SERIES_H
#define SUMMARY_SERIES_H

#include "model/totals.h"

enum { SERIES_POINTS_MAX = 1440, SERIES_CORES_MAX = 512 };

enum series_chart {
    SERIES_CPU, /* cores */
    SERIES_MEMORY, /* MiB */
    SERIES_DISK, /* bytes per second */
    SERIES_NETWORK, /* bytes per second */
    SERIES_GPU, /* GPUs in use */
    SERIES_VRAM, /* MiB */
    SERIES_PRESSURE, /* percent of the time */
    SERIES_CHARTS,
};

struct series_line {
    unsigned char chart; /* enum series_chart */
    bool is_of_tree;
    char name[14]; /* the legend: "tree", "host", "tree read", … */
};

enum series_line_number {
    SERIES_CPU_TREE,
    SERIES_CPU_HOST,
    SERIES_RSS,
    SERIES_PSS,
    SERIES_CGROUP,
    SERIES_HOST_USED,
    SERIES_TREE_READ,
    SERIES_TREE_WRITE,
    SERIES_HOST_READ,
    SERIES_HOST_WRITE,
    SERIES_RECEIVED,
    SERIES_SENT,
    SERIES_GPU_TREE,
    SERIES_GPU_HOST,
    SERIES_VRAM_TREE,
    SERIES_VRAM_HOST,
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

struct series;

/* Returns 0 or -ENOMEM. */
int series_new(struct series **ret_series);
void series_free(struct series *series); /* NULL allowed */

/* Allocates nothing once the number of cores is known; without memory for them there is no heat map. */
void series_add(struct series *series, const struct sample *sample, const struct sample_totals *totals);

/* The next sample belongs to another run: its time goes on where the last one ended, and the lines are broken. */
void series_next_run(struct series *series);

size_t series_points(const struct series *series);

/* Seconds since the start at the end of point i, and whether a run begins with it (the line is broken before it). */
double series_secs(const struct series *series, size_t i);
bool series_is_break(const struct series *series, size_t i);
struct series_value series_at(const struct series *series, size_t line, size_t i);

/* Does any point know this line? */
bool series_has(const struct series *series, size_t line);

/* The heat map: one column per point, one row per CPU number; 0 to 100, or -1 where unknown. 0 cores: there is none. */
size_t series_heat_cores(const struct series *series);
int series_heat_at(const struct series *series, size_t core, size_t i);

#endif
