/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers to text and back, strict and independent of the locale: no sign, blank or trailing byte is accepted
 * that the function does not name.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "base/str.h"

/* The whole text must be a decimal number. Returns 0, -EINVAL (not a number) or -ERANGE. */
int num_parse_u64(struct str text, uint64_t *ret);
int num_parse_i64(struct str text, int64_t *ret); /* one leading - or + allowed */

int num_parse_hex(struct str text, uint64_t *ret); /* up to 16 digits, without "0x" */

/* Digits with an optional sign, fraction and exponent; no hex, no inf, no nan. */
int num_parse_f64(struct str text, double *ret);

/*
 * The fast way through columns of numbers: skips blanks and tabs, reads digits, leaves *rest behind them. False where
 * no digit stands there or the number does not fit; *rest is then unspecified.
 */
bool num_next_u64(struct str *rest, uint64_t *ret);

/*
 * num_next_u64 for text that is known to hold an LF further on: the LF stops every loop, which halves the cost. Skips
 * blanks only. *at moves on success.
 */
static inline bool num_next_in_line(const char **at, uint64_t *ret_number)
{
    const char *p = *at;
    while (*p == ' ')
        p++;
    const char *first = p;
    uint64_t value = 0;
    for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++)
        value = value * 10 + digit;
    *ret_number = value;
    size_t digits = (size_t)(p - first);
    if (digits - 1 > 18) { /* none, or more than the 19 that always fit */
        struct str text = {first, digits};
        if (digits == 0 || !num_next_u64(&text, ret_number))
            return false;
    }
    *at = p;
    return true;
}

/* Steps over n columns of digits in the same kind of text. */
static inline bool num_skip_in_line(const char **at, unsigned n)
{
    const char *p = *at;
    for (; n > 0; n--) {
        while (*p == ' ')
            p++;
        const char *first = p;
        while ((unsigned)*p - '0' <= 9)
            p++;
        if (p == first)
            return false;
    }
    *at = p;
    return true;
}

/* Fills the counter from a line that is the key and a number; an LF stands behind it. Other lines change nothing. */
static inline void num_read_line(struct str line, struct str key, struct opt_u64 *counter)
{
    uint64_t value;
    if (!str_starts(line, key))
        return;
    const char *p = line.p + key.n;
    if (num_next_in_line(&p, &value) && *p == '\n')
        *counter = some_u64(value);
}

/* The nearest number. Not inline: no instruction does it for all 64 bits. */
__attribute__((noinline)) double num_to_f64(uint64_t value);

/* Longest text of the num_write functions. */
enum { NUM_TEXT_BYTES = 32 };

/* Writes at p, where NUM_TEXT_BYTES must be free, and returns the end. */
char *num_write_u64(char *p, uint64_t value);
char *num_write_i64(char *p, int64_t value);

/*
 * A finite number with exactly `decimals` (0 to 9) places, rounded half away from zero, never "-0". Returns NULL for
 * NaN, infinities and what does not fit into 64 bits before the point.
 */
char *num_write_fixed(char *p, double value, unsigned decimals);

/* With at most 4 decimals and at least one, no other trailing zeros: 0.5, 2.0, 1.2346. NULL like num_write_fixed. */
char *num_write_short(char *p, double value);

/* The same into a buffer; false and nothing written where there is no such text. */
void num_put_u64(struct buf *buf, uint64_t value);
void num_put_i64(struct buf *buf, int64_t value);
bool num_put_fixed(struct buf *buf, double value, unsigned decimals);
bool num_put_short(struct buf *buf, double value);

#endif
