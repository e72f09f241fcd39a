/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of time as people write them: 0.25, 250ms, 2s, 1.5m, 1h. Exact: no floating point is involved.
 */
#ifndef CONFIG_DURATION_H
#define CONFIG_DURATION_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * The whole text must be a decimal number (a digit must follow a point) with an optional unit ms, s, m or h; s without
 * one. Rounded to the nanosecond. Returns 0, -EINVAL (not a duration), -EDOM (negative) or -ERANGE (over 292 years).
 */
int duration_parse(struct str text, int64_t *ret_ns);

/* Seconds with as many decimals as needed: 1, 0.25, 86400. ns must not be negative. */
void duration_put(struct buf *buf, int64_t ns);

#endif
