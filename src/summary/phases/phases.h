/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of a run: those that the job named by marks, else those that its use of resources shows by itself. Everything
 * is kept in a fixed space: sums and maxima of at most PHASES_MAX names, and for the second kind a history whose points
 * get longer with the run. docs/guide/phases.md has the rules.
 */
#ifndef SUMMARY_PHASES_PHASES_H
#define SUMMARY_PHASES_PHASES_H

#include <stdint.h>

#include "summary/summary.h"

enum { PHASES_MAX = 64, PHASES_FOUND_MAX = 12, PHASE_POINTS_MAX = 768, PHASE_SPANS_MAX = 256, PHASE_SHARES_MAX = 24 };

/* What changes are looked for in. */
enum phase_metric { PHASE_CORES, PHASE_MEMORY, PHASE_DISK, PHASE_GPUS, PHASE_METRICS };

struct phase_row {
    double at[PHASE_METRICS]; /* cores, MiB, bytes per second, GPUs */
};

/*
 * Where the rows change: fills ret_ends with the number of the row behind the last of each phase and returns how many
 * phases there are; 1 where nothing changes, 0 out of memory. Rows are of about equal length in time, at most
 * PHASE_POINTS_MAX; what is no number from 0 up counts as 0.
 */
size_t phases_find(const struct phase_row *rows, size_t count, size_t ret_ends[PHASES_FOUND_MAX]);

/* What is known of a stretch of time: sums first, then maxima. A further amount of an interval is one more sum. */
enum phase_value {
    PHASE_SECS,
    PHASE_CPU_SECS,
    PHASE_WANTED_SECS, /* cores wanted over time */
    PHASE_READ_BYTES,
    PHASE_WRITTEN_BYTES,
    PHASE_GPU_SECS, /* GPUs in use over time */
    PHASE_RECEIVED_BYTES,
    PHASE_SENT_BYTES,
    PHASE_JOULES,
    PHASE_SUMS,
    PHASE_CORES_PEAK = PHASE_SUMS,
    PHASE_PSS, /* MiB, as all that follow */
    PHASE_RSS_BESIDE, /* RSS of samples that know PSS too */
    PHASE_RSS_ALONE, /* and of those that do not */
    PHASE_BETWEEN, /* the highest RSS so far, where it was reached between two samples */
    PHASE_WITH_SHMEM, /* of processes, and of the control group what none of them maps */
    PHASE_VRAM,
    PHASE_VALUES,
};

struct phase_values {
    double at[PHASE_VALUES];
    unsigned known; /* a bit for each */
};

/* A phase in the making: all times of one name. */
struct phase_slot {
    char name[SAMPLE_MARK_BYTES];
    uint64_t times, samples;
    unsigned depth; /* begun and not ended, so many times */
    int64_t first_fixed4, opened_fixed4, closed_fixed4; /* elapsed; opened and closed: the newest */
    struct phase_values values;
    size_t share_count;
    struct phase_share {
        float cores, secs;
    } shares[PHASE_SHARES_MAX]; /* cores wanted, ascending, and for how long; the nearest two become one */
};

struct phase_point {
    float end_secs;
    unsigned known;
    float at[PHASE_VALUES];
};

struct phases {
    bool has_begun; /* a run */
    bool has_marks; /* of any run: then no changes are looked for */
    bool has_named_time; /* this run has a "mark" */
    uint64_t runs, unmatched;
    int64_t elapsed_fixed4; /* of the sample before */
    double peak_mib; /* process_peak_rss_mib so far */
    double unplaced_mib; /* the same at the end of a run, where it is not known when that was; 0: it is known */
    size_t slot_count, lane; /* lane: the slot of the newest "mark", PHASES_MAX + 2 where none is open */
    struct phase_slot slots[PHASES_MAX + 2]; /* first the time before any mark, last the names beyond PHASES_MAX */
    struct phase_slot before; /* slots[0] when the run began */
    size_t span_count;
    struct summary_phase_span spans[PHASE_SPANS_MAX];
    unsigned known; /* in any sample */
    size_t point_count, step, open; /* open: samples of the newest point */
    struct phase_point points[PHASE_POINTS_MAX];
    struct summary_phase finished[PHASES_MAX + 2];
};

struct meter_tick;

/* {0} is an empty one. wanted: cores, absent where unknown. Allocates nothing. */
void phases_add(
    struct phases *phases, const struct sample *sample, const struct meter_tick *tick, struct opt_f64 wanted);
void phases_end_run(struct phases *phases);

/* Fills the phases of the summary, of which all else is known already. */
void phases_fill(struct phases *phases, struct summary *summary);

#endif
