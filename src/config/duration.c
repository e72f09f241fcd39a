/* SPDX-License-Identifier: Apache-2.0 */
#include "config/duration.h"

#include <errno.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/num.h"

static size_t count_digits(struct str text)
{
    size_t n = 0;
    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    return n;
}

static struct str skip(struct str text, size_t n)
{
    return (struct str){text.p + n, text.n - n};
}

static bool unit_ns(struct str unit, int64_t *ret_ns)
{
    static const struct {
        struct str name;
        int64_t ns;
    } units[] = {
        {{"", 0}, NS_PER_SEC},
        {{"s", 1}, NS_PER_SEC},
        {{"ms", 2}, NS_PER_MS},
        {{"m", 1}, 60 * NS_PER_SEC},
        {{"h", 1}, 3600 * NS_PER_SEC},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (str_eq(unit, units[i].name)) {
            *ret_ns = units[i].ns;
            return true;
        }
    }
    return false;
}

/*
 * 0.DIGITS of a unit in nanoseconds, rounded half up. Going from the last digit to the first, cutting after every
 * division by ten gives the same as cutting once at the end; half nanoseconds are counted to round.
 */
static int64_t fraction_ns(struct str digits, int64_t unit)
{
    int64_t halves = 0;
    for (size_t i = digits.n; i-- > 0;)
        halves = (halves + (digits.p[i] - '0') * unit * 2) / 10;
    return (halves + 1) / 2;
}

int duration_parse(struct str text, int64_t *ret_ns)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    text = skip(text, negative ? 1 : 0);
    struct str whole = {text.p, count_digits(text)};
    text = skip(text, whole.n);
    struct str fraction = {0};
    if (text.n > 0 && text.p[0] == '.') {
        text = skip(text, 1);
        fraction = (struct str){text.p, count_digits(text)};
        text = skip(text, fraction.n);
        if (fraction.n == 0)
            return -EINVAL;
    }
    int64_t unit;
    if (whole.n + fraction.n == 0 || !unit_ns(text, &unit))
        return -EINVAL;
    if (negative)
        return -EDOM;
    int64_t count = 0;
    if (whole.n > 0 && num_parse_i64(whole, &count) < 0)
        return -ERANGE;
    int64_t rest = fraction_ns(fraction, unit);
    if (count > (INT64_MAX - rest) / unit)
        return -ERANGE;
    *ret_ns = count * unit + rest;
    return 0;
}

void duration_put(struct buf *buf, int64_t ns)
{
    num_put_i64(buf, ns / NS_PER_SEC);
    int64_t fraction = ns % NS_PER_SEC;
    if (fraction == 0)
        return;
    char digits[10] = ".";
    size_t n = sizeof(digits);
    for (size_t i = n - 1; i > 0; i--) {
        digits[i] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    while (digits[n - 1] == '0')
        n--;
    buf_append(buf, digits, n);
}
