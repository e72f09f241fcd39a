/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers to text and back, strict and independent of the locale: no sign, blank or trailing byte is let through
 * that the function does not name.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* The whole text must be a decimal number. Returns 0, -EINVAL (not a number) or -ERANGE. */
int num_parse_u64(struct str text, uint64_t *ret);
int num_parse_i64(struct str text, int64_t *ret); /* one leading - or + allowed */

/* Digits with an optional sign, fraction and exponent; no hex, no inf, no nan. */
int num_parse_f64(struct str text, double *ret);

/*
 * The fast way through columns of numbers: skips blanks and tabs, reads digits, leaves *rest behind them. False where
 * no digit stands there or the number does not fit; *rest is then unspecified.
 */
bool num_next_u64(struct str *rest, uint64_t *ret);

void num_put_u64(struct buf *buf, uint64_t value);
void num_put_i64(struct buf *buf, int64_t value);

/*
 * A finite number with exactly `decimals` (0 to 9) places, rounded half away from zero, never "-0". Returns false and
 * writes nothing for NaN, infinities and what does not fit into 64 bits before the point.
 */
bool num_put_fixed(struct buf *buf, double value, unsigned decimals);

/* Like num_put_fixed, without trailing zeros but with at least one decimal: 0.5, 2.0, 1.2346. */
bool num_put_short(struct buf *buf, double value, unsigned decimals);

#endif
