/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions on the numbers of a summary: "memory.peak > 0.9 * memory.limit", "wall >= 10m". Both sides are sums and
 * products of numbers with units and of names: the dotted keys of --summary-json, and short names for some of them.
 * Units are checked when a condition is read. A side that needs a value which is null is unknown.
 */
#ifndef SUMMARY_CONDITION_H
#define SUMMARY_CONDITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "summary/summary.h"

enum { CONDITION_ITEMS_MAX = 16 };

/* What a number counts. Of CONDITION_NUMBER are plain numbers, and counts. */
enum condition_unit {
    CONDITION_NUMBER,
    CONDITION_BYTES,
    CONDITION_SECS,
    CONDITION_CORES,
    CONDITION_PCT,
    CONDITION_JOULES,
    CONDITION_WATTS,
    CONDITION_GPUS,
};

/* Both sides, each as a list in which the operator follows its two operands. */
struct condition {
    struct condition_item {
        char kind; /* '#': a number, '.': a value of the summary, or one of + - * / */
        uint8_t field_kind; /* enum field_kind */
        uint16_t offset; /* of the value */
        double number; /* or what the value is multiplied with */
    } items[CONDITION_ITEMS_MAX];
    uint8_t left_count, count;
    uint8_t unit; /* enum condition_unit, of both sides */
    char comparison[3]; /* "<", "<=", ">", ">=", "==" or "!=" */
};

/* Returns 0, or -EINVAL with a message that names what is wrong, and for an unknown name the nearest one. */
int condition_parse(struct str text, struct condition *ret_condition, struct err *err);

/* One number with its unit, alone. The same returns. */
int condition_parse_number(struct str text, enum condition_unit unit, double *ret_number, struct err *err);

/* Absent where a value is null. ret_left: the left side, where it is known. */
struct opt_bool condition_holds(
    const struct condition *condition, const struct summary *summary, struct opt_f64 *ret_left);

/* The value of a key of the summary in its basic unit (bytes, seconds, ...); absent where it is null. */
struct opt_f64 condition_value(struct str key, const struct summary *summary);

/* A number of this unit as a summary has it: "3.7 GiB". */
void condition_put_value(struct buf *buf, enum condition_unit unit, double value);

#endif
