/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of JSON (RFC 8259) within a line: blanks, numbers, strings, and values of which nothing is wanted. Every
 * function takes a place in the text and its end and returns the place behind what it took, NULL where the text is
 * broken there.
 */
#ifndef REPLAY_JSON_SCAN_H
#define REPLAY_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* A number as it stands there. */
struct json_number {
    uint64_t digits; /* before and behind the point, as one number; meaningless above 19 of them */
    size_t count, decimals; /* of the digits: all, and those behind the point */
    bool is_negative, has_exponent;
    struct str text;
};

static inline const char *json_scan_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

const char *json_scan_number(const char *p, const char *end, struct json_number *ret_number);

/* False where it does not fit, or (whole numbers) has a fraction that is not 0. */
bool json_number_f64(const struct json_number *number, double *ret_value);
bool json_number_u64(const struct json_number *number, uint64_t *ret_value);
bool json_number_i64(const struct json_number *number, int64_t *ret_value);

/* The most that is believed of a number with a fraction: sums have ten-thousandths of it in 64 bits. */
#define JSON_NUMBER_MAX 9e14

/* true, false, null: p must stand before that word. */
const char *json_scan_word(const char *p, const char *end, struct str word);

/* p stands behind the opening quote; *ret_text is what lies between the quotes, escapes as they are. */
const char *json_scan_string(const char *p, const char *end, struct str *ret_text);

/*
 * Decodes a string into `out` with a NUL behind it and advances *out beyond; what is not well-formed, and NUL, becomes
 * U+FFFD. Returns NULL also where it does not fit before out_end: *out is then NULL.
 */
const char *json_scan_text(const char *p, const char *end, char **out, const char *out_end);

/* Any value, nested no more than 32 deep. */
const char *json_scan_value(const char *p, const char *end);

#endif
