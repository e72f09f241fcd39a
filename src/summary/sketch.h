/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles of values from 0 up in a fixed space: counts in buckets whose width is a fixed share of their value, so
 * that a quantile is off by at most SKETCH_ERROR of itself. Values below SKETCH_LEAST count as 0. Weights are whole
 * numbers (milliseconds, so that a short interval counts little).
 */
#ifndef SUMMARY_SKETCH_H
#define SUMMARY_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

/* 64 buckets to every doubling, from 2^-10 to 2^14. */
enum { SKETCH_PARTS = 64, SKETCH_DOUBLINGS = 24, SKETCH_BUCKETS = SKETCH_PARTS * SKETCH_DOUBLINGS };
#define SKETCH_ERROR (1.0 / 128)
#define SKETCH_LEAST (1.0 / 1024)

struct sketch {
    uint64_t zeros, total;
    double max;
    uint64_t buckets[SKETCH_BUCKETS];
};

/* Negative values and weights of 0 are ignored; values above the range count as its end. */
void sketch_add(struct sketch *sketch, double value, uint64_t weight);

/* The value below or at which `share` (0 to 1) of the weight lies; never above the largest value. Absent while empty.
 */
struct opt_f64 sketch_quantile(const struct sketch *sketch, double share);

/* The share of the weight (0 to 1) of values from `least` on, which is off by SKETCH_ERROR of itself. Absent while
 * empty. */
struct opt_f64 sketch_share_from(const struct sketch *sketch, double least);

#endif
