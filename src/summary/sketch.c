/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles in a fixed space. The bucket of a value is its exponent and the first bits of its fraction, straight from
 * IEEE 754: each doubling is cut into SKETCH_PARTS equal parts, and the middle of a part is at most 1/128 away from
 * anything in it.
 */
#include "summary/summary_internal.h"

#include <string.h>

enum { FRACTION_BITS = 52, PART_BITS = 6, DROPPED_BITS = FRACTION_BITS - PART_BITS, LEAST_EXPONENT = 1023 - 10 };

static const uint64_t first_bucket = (uint64_t)LEAST_EXPONENT << PART_BITS;

_Static_assert(1 << PART_BITS == SKETCH_PARTS, "a part has its own bits");

static size_t bucket_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t bucket = (bits >> DROPPED_BITS) - first_bucket;
    return bucket < SKETCH_BUCKETS ? (size_t)bucket : SKETCH_BUCKETS - 1;
}

static double middle_of(size_t bucket)
{
    uint64_t bits = (bucket + first_bucket) << DROPPED_BITS | (uint64_t)1 << (DROPPED_BITS - 1);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

void sketch_add(struct sketch *sketch, double value, uint64_t weight)
{
    if (!(value >= 0) || weight == 0)
        return;
    if (value < SKETCH_LEAST)
        sketch->zeros += weight;
    else
        sketch->buckets[bucket_of(value)] += weight;
    if (value > sketch->max)
        sketch->max = value;
    sketch->total += weight;
}

/* The weight that must lie at or below the quantile: share of the total, rounded up, at least 1. */
static uint64_t wanted_weight(const struct sketch *sketch, double share)
{
    double exact = (share > 0 ? share : 0) * (double)sketch->total;
    if (share >= 1)
        return sketch->total;
    uint64_t wanted = (uint64_t)exact;
    wanted += (double)wanted < exact;
    return wanted > 0 ? wanted : 1;
}

struct opt_f64 sketch_quantile(const struct sketch *sketch, double share)
{
    if (sketch->total == 0)
        return (struct opt_f64){0};
    uint64_t wanted = wanted_weight(sketch, share);
    uint64_t seen = sketch->zeros;
    if (seen >= wanted)
        return some_f64(0);
    size_t bucket = 0;
    for (; bucket < SKETCH_BUCKETS - 1; bucket++) {
        seen += sketch->buckets[bucket];
        if (seen >= wanted)
            break;
    }
    double value = middle_of(bucket);
    return some_f64(value < sketch->max ? value : sketch->max);
}

struct opt_f64 sketch_share_from(const struct sketch *sketch, double least)
{
    if (sketch->total == 0)
        return (struct opt_f64){0};
    uint64_t weight = least > 0 ? 0 : sketch->zeros;
    for (size_t bucket = SKETCH_BUCKETS; bucket > 0 && !(middle_of(bucket - 1) < least); bucket--)
        weight += sketch->buckets[bucket - 1];
    return some_f64((double)weight / (double)sketch->total);
}
