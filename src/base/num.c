/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <errno.h>
#include <stdlib.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool num_next_u64(struct str *rest, uint64_t *ret)
{
    const char *p = rest->p;
    const char *end = p + rest->n;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || !is_digit(*p))
        return false;
    uint64_t value = 0;
    for (; p < end && is_digit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *rest = (struct str){p, (size_t)(end - p)};
    *ret = value;
    return true;
}

int num_parse_u64(struct str text, uint64_t *ret)
{
    if (text.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < text.n; i++) {
        if (!is_digit(text.p[i]))
            return -EINVAL;
    }
    return num_next_u64(&text, ret) ? 0 : -ERANGE;
}

int num_parse_i64(struct str text, int64_t *ret)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    if (negative || (text.n > 0 && text.p[0] == '+')) {
        text.p++;
        text.n--;
    }
    uint64_t value;
    int r = num_parse_u64(text, &value);
    if (r < 0)
        return r;
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (value > limit)
        return -ERANGE;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

static size_t skip_digits(struct str text, size_t i)
{
    while (i < text.n && is_digit(text.p[i]))
        i++;
    return i;
}

/* [+-] digits [. digits] [e [+-] digits], digits on at least one side of the point. */
static bool is_decimal(struct str text)
{
    size_t i = 0;
    if (i < text.n && (text.p[i] == '-' || text.p[i] == '+'))
        i++;
    size_t whole = i;
    i = skip_digits(text, i);
    size_t digits = i - whole;
    if (i < text.n && text.p[i] == '.') {
        size_t fraction = ++i;
        i = skip_digits(text, i);
        digits += i - fraction;
    }
    if (digits == 0)
        return false;
    if (i < text.n && (text.p[i] == 'e' || text.p[i] == 'E')) {
        i++;
        if (i < text.n && (text.p[i] == '-' || text.p[i] == '+'))
            i++;
        size_t exponent = i;
        i = skip_digits(text, i);
        if (i == exponent)
            return false;
    }
    return i == text.n;
}

int num_parse_f64(struct str text, double *ret)
{
    char copy[128];
    if (!is_decimal(text))
        return -EINVAL;
    if (!str_copy(text, copy, sizeof(copy)))
        return -ERANGE;
    /* strtod follows the locale, and this program never sets one, so the point is a point. */
    double value = strtod(copy, NULL);
    if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308)
        return -ERANGE;
    *ret = value;
    return 0;
}

/* Digits of value right-aligned before *end, at least min_digits of them; returns the first. */
static char *digits_before(char *end, uint64_t value, unsigned min_digits)
{
    char *p = end;
    do {
        *--p = (char)('0' + value % 10);
        value /= 10;
        min_digits -= min_digits > 0;
    } while (value > 0 || min_digits > 0);
    return p;
}

void num_put_u64(struct buf *buf, uint64_t value)
{
    char text[20];
    char *end = text + sizeof(text);
    char *p = digits_before(end, value, 1);
    buf_append(buf, p, (size_t)(end - p));
}

void num_put_i64(struct buf *buf, int64_t value)
{
    if (value < 0)
        buf_putc(buf, '-');
    num_put_u64(buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static bool put_decimal(struct buf *buf, double value, unsigned decimals, unsigned keep)
{
    static const double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    static const double whole_limit = 18446744073709549568.0; /* largest double below 2^64 */
    double magnitude = value < 0 ? -value : value;
    if (!(magnitude <= whole_limit) || decimals >= sizeof(scales) / sizeof(scales[0]))
        return false;
    uint64_t whole = (uint64_t)magnitude;
    uint64_t scale = (uint64_t)scales[decimals];
    uint64_t fraction = (uint64_t)((magnitude - (double)whole) * scales[decimals] + 0.5);
    if (fraction >= scale) {
        whole++;
        fraction = 0;
    }
    char text[40];
    char *end = text + sizeof(text);
    char *p = end;
    if (decimals > 0) {
        p = digits_before(end, fraction, decimals);
        for (unsigned kept = decimals; kept > keep && end[-1] == '0'; kept--)
            end--;
        *--p = '.';
    }
    p = digits_before(p, whole, 1);
    if (value < 0 && (whole > 0 || fraction > 0))
        *--p = '-';
    buf_append(buf, p, (size_t)(end - p));
    return true;
}

bool num_put_fixed(struct buf *buf, double value, unsigned decimals)
{
    return put_decimal(buf, value, decimals, decimals);
}

bool num_put_short(struct buf *buf, double value, unsigned decimals)
{
    return put_decimal(buf, value, decimals, 1);
}
