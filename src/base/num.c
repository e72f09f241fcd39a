/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <errno.h>
#include <stdlib.h>

bool num_next_u64(struct str *rest, uint64_t *ret)
{
    enum { DIGITS_THAT_FIT = 19 };
    const char *p = rest->p;
    const char *end = p + rest->n;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const char *first = p;
    uint64_t value = 0;
    for (; p < end && ascii_is_digit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (p - first >= DIGITS_THAT_FIT && value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (p == first)
        return false;
    *rest = (struct str){p, (size_t)(end - p)};
    *ret = value;
    return true;
}

int num_parse_u64(struct str text, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned digit = (unsigned char)text.p[i] - (unsigned)'0';
        if (digit > 9)
            return -EINVAL;
        value = value * 10 + digit;
    }
    if (text.n == 0)
        return -EINVAL;
    /* 19 digits always fit; whether more do is decided slowly. */
    if (text.n > 19 && !num_next_u64(&text, &value))
        return -ERANGE;
    *ret = value;
    return 0;
}

int num_parse_hex(struct str text, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.n; i++) {
        int digit = ascii_hex_value(text.p[i]);
        if (digit < 0)
            return -EINVAL;
        value = value << 4 | (uint64_t)digit;
    }
    if (text.n == 0 || text.n > 2 * sizeof(value))
        return text.n == 0 ? -EINVAL : -ERANGE;
    *ret = value;
    return 0;
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
    while (i < text.n && ascii_is_digit(text.p[i]))
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

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

/* The digits of value, the last one before `end`; returns the first. */
static char *write_before(char *end, uint64_t value)
{
    while (value >= 100) {
        memcpy(end -= 2, &digit_pairs[value % 100 * 2], 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(end -= 2, &digit_pairs[value * 2], 2);
    else
        *--end = (char)('0' + value);
    return end;
}

static const uint64_t powers_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
    10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000,
    100000000000000000, 1000000000000000000, 10000000000000000000U};

char *num_write_u64(char *p, uint64_t value)
{
    if (value < 10) {
        *p = (char)('0' + value);
        return p + 1;
    }
    /* 1233/4096 is a little more than log10(2): at most one too few. */
    unsigned digits = (unsigned)(64 - __builtin_clzll(value)) * 1233 >> 12;
    digits += value >= powers_of_ten[digits];
    (void)write_before(p + digits, value);
    return p + digits;
}

char *num_write_i64(char *p, int64_t value)
{
    if (value < 0)
        *p++ = '-';
    return num_write_u64(p, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

enum { DECIMALS_MAX = 9 };

/* What stands before and behind the point, rounded; false for NaN, infinities and 2^64 and above. */
static bool split(double magnitude, unsigned decimals, uint64_t *ret_whole, uint64_t *ret_fraction)
{
    static const double whole_limit = 18446744073709549568.0; /* largest double below 2^64 */
    if (!(magnitude <= whole_limit) || decimals > DECIMALS_MAX)
        return false;
    uint64_t whole = (uint64_t)magnitude;
    uint64_t fraction = (uint64_t)((magnitude - (double)whole) * (double)powers_of_ten[decimals] + 0.5);
    bool carry = fraction >= powers_of_ten[decimals];
    *ret_whole = whole + carry;
    *ret_fraction = carry ? 0 : fraction;
    return true;
}

char *num_write_fixed(char *p, double value, unsigned decimals)
{
    uint64_t whole;
    uint64_t fraction;
    if (!split(value < 0 ? -value : value, decimals, &whole, &fraction))
        return NULL;
    if (value < 0 && (whole > 0 || fraction > 0))
        *p++ = '-';
    p = num_write_u64(p, whole);
    if (decimals == 0)
        return p;
    memset(p, '0', decimals + 1);
    (void)write_before(p + 1 + decimals, fraction);
    *p = '.';
    return p + 1 + decimals;
}

char *num_write_short(char *p, double value)
{
    enum { SHORT_DECIMALS = 4 };
    uint64_t whole;
    uint64_t fraction;
    if (value == 0) {
        memcpy(p, "0.0", 3);
        return p + 3;
    }
    if (!split(value < 0 ? -value : value, SHORT_DECIMALS, &whole, &fraction))
        return NULL;
    if (value < 0 && (whole > 0 || fraction > 0))
        *p++ = '-';
    p = num_write_u64(p, whole);
    *p++ = '.';
    if (fraction == 0) {
        *p = '0';
        return p + 1;
    }
    memcpy(p, &digit_pairs[fraction / 100 * 2], 2);
    memcpy(p + 2, &digit_pairs[fraction % 100 * 2], 2);
    p += SHORT_DECIMALS;
    while (p[-1] == '0')
        p--;
    return p;
}

static bool put_text(struct buf *buf, const char *text, const char *end)
{
    if (!end)
        return false;
    buf_append(buf, text, (size_t)(end - text));
    return true;
}

void num_put_u64(struct buf *buf, uint64_t value)
{
    char text[NUM_TEXT_BYTES];
    (void)put_text(buf, text, num_write_u64(text, value));
}

void num_put_i64(struct buf *buf, int64_t value)
{
    char text[NUM_TEXT_BYTES];
    (void)put_text(buf, text, num_write_i64(text, value));
}

bool num_put_fixed(struct buf *buf, double value, unsigned decimals)
{
    char text[NUM_TEXT_BYTES];
    return put_text(buf, text, num_write_fixed(text, value, decimals));
}

bool num_put_short(struct buf *buf, double value)
{
    char text[NUM_TEXT_BYTES];
    return put_text(buf, text, num_write_short(text, value));
}

double num_to_f64(uint64_t value)
{
    return (double)value;
}
