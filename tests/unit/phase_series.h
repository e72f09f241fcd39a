/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with known changes, made by a formula: steps, ramps, spikes, bursts, epochs, noise that is white or not, short
 * and long. They are what the detection of phases is measured with.
 */
#ifndef TESTS_UNIT_PHASE_SERIES_H
#define TESTS_UNIT_PHASE_SERIES_H

#include "model/sample.h"

enum { SERIES_PARTS_MAX = 10 };

struct series_part {
    unsigned secs;
    double cores, mib, last_mib, mb_per_sec, gpus;
};

struct labelled_series {
    const char *name;
    double noise; /* share of a value */
    enum series_kind { WHITE, SLOW, SPIKES, BURSTS, EPOCHS, SAWTOOTH, HEAVY_TAIL, GAP, CPU_RAMP } kind;
    struct series_part parts[SERIES_PARTS_MAX]; /* each change between two of them is one that is to be found */
};

extern const struct labelled_series labelled_series[];
extern const size_t labelled_series_count;

struct series_point {
    double secs, interval_secs, cores, mib, bytes, gpus;
};

struct series_state {
    const struct labelled_series *series;
    unsigned variant, part, at, secs, before_secs;
    double slow;
    uint64_t random;
};

/* How long a part is; 0: there is none. Variants from 1 on have other noise and other lengths. */
enum { SERIES_VARIANTS = 5 };
unsigned series_part_secs(const struct labelled_series *series, size_t part, unsigned variant);

/* The next second of it; false behind the last. {.series = …, .variant = …} is the start. */
bool series_next(struct series_state *state, struct series_point *ret_point);

#endif
