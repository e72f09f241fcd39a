/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which batches are done: a set of numbers kept as ranges, in memory and as text ("0-17,19"). Batches are mostly
 * delivered in order, so that a long run is one range.
 */
#ifndef STREAM_NUMBER_SET_H
#define STREAM_NUMBER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { NUMBER_SET_RANGES_MAX = 1024 };

struct number_range {
    uint32_t first, last;
};

/* All zero: empty. The ranges are sorted, with at least one number missing between them. */
struct number_set {
    size_t count;
    struct number_range ranges[NUMBER_SET_RANGES_MAX];
};

/* Returns 0 (also where it was there already) or -E2BIG where one more range would be needed than there may be. */
int number_set_add(struct number_set *set, uint32_t number);

bool number_set_has(const struct number_set *set, uint32_t number);

/* How many numbers are in it. */
uint64_t number_set_count(const struct number_set *set);

/* Steps through the ranges, smallest first; *at begins with 0. False behind the last one. */
bool number_set_next(const struct number_set *set, size_t *at, struct number_range *ret_range);

/* "" where it is empty. */
void number_set_put(const struct number_set *set, struct buf *buf);

/* Reads what number_set_put writes and nothing else. Returns 0, -EINVAL or -E2BIG (too many ranges). */
int number_set_parse(struct str text, struct number_set *ret_set);

#endif
