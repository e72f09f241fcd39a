/* SPDX-License-Identifier: Apache-2.0 */
/* A forward scanner of one JSON line of a recording: values in place, no allocation. */
#include "base/num.h"
#include "base/str.h"
#include "codec/json_read.h"
#include "replay/replay_internal.h"

enum { SCAN_DEPTH_MAX = 32, EXACT_DIGITS = 15, U64_DIGITS = 19 };

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool is_digit(char c)
{
    return (unsigned)c - '0' <= 9;
}

const char *json_scan_number(const char *p, const char *end, struct json_number *ret_number)
{
    const char *start = p;
    p += p < end && *p == '-';
    bool is_negative = p > start;
    const char *first = p;
    uint64_t digits = 0;
    for (; p < end && is_digit(*p); p++)
        digits = digits * 10 + (uint64_t)(*p - '0');
    size_t count = (size_t)(p - first);
    const char *point = p;
    if (p < end && *p == '.') {
        for (p++; p < end && is_digit(*p); p++)
            digits = digits * 10 + (uint64_t)(*p - '0');
    }
    size_t decimals = p > point ? (size_t)(p - point) - 1 : 0;
    if (count == 0 || (p > point && decimals == 0))
        return NULL;
    bool has_exponent = p < end && (*p == 'e' || *p == 'E');
    if (has_exponent) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        const char *exponent = p;
        while (p < end && is_digit(*p))
            p++;
        if (p == exponent)
            return NULL;
    }
    *ret_number = (struct json_number){
        digits, count + decimals, decimals, is_negative, has_exponent, {start, (size_t)(p - start)}};
    return p;
}

bool json_number_f64(const struct json_number *number, double *ret_value)
{
    /* Two whole numbers below 2^53: one division rounds once, as strtod does. */
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    enum { POWERS = sizeof(powers) / sizeof(powers[0]) };
    if (number->count > EXACT_DIGITS || number->decimals >= POWERS || number->has_exponent)
        return num_parse_f64(number->text, ret_value) == 0;
    double value = (double)number->digits;
    if (number->decimals > 0)
        value /= powers[number->decimals];
    *ret_value = number->is_negative ? -value : value;
    return true;
}

/* The number without its sign. */
static bool whole_magnitude(const struct json_number *number, uint64_t *ret_value)
{
    static const double limit = 18446744073709549568.0; /* largest double below 2^64 */
    if (number->decimals == 0 && !number->has_exponent && number->count <= U64_DIGITS) {
        *ret_value = number->digits;
        return true;
    }
    struct str text = number->text;
    if (number->is_negative)
        str_skip(&text, 1);
    if (num_parse_u64(text, ret_value) == 0)
        return true;
    double value;
    if (num_parse_f64(text, &value) < 0 || value > limit || (double)(uint64_t)value < value)
        return false;
    *ret_value = (uint64_t)value;
    return true;
}

bool json_number_u64(const struct json_number *number, uint64_t *ret_value)
{
    uint64_t magnitude;
    if (!whole_magnitude(number, &magnitude) || (number->is_negative && magnitude > 0))
        return false;
    *ret_value = magnitude;
    return true;
}

bool json_number_i64(const struct json_number *number, int64_t *ret_value)
{
    uint64_t magnitude;
    if (!whole_magnitude(number, &magnitude) || magnitude > INT64_MAX)
        return false;
    *ret_value = number->is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

const char *json_scan_word(const char *p, const char *end, struct str word)
{
    return str_starts((struct str){p, (size_t)(end - p)}, word) ? p + word.n : NULL;
}

const char *json_scan_string(const char *p, const char *end, struct str *ret_text)
{
    for (const char *start = p; p < end; p++) {
        if (*p == '"') {
            *ret_text = (struct str){start, (size_t)(p - start)};
            return p + 1;
        }
        if (*p == '\\' && ++p == end)
            break;
    }
    return NULL;
}

/* The bytes of what json_text_next refused: one byte, or a surrogate without its partner. 0: no JSON at all. */
static size_t refused_length(const char *p, const char *end)
{
    enum { UNIT_BYTES = 6 };
    if (*p != '\\')
        return 1;
    if (end - p < UNIT_BYTES || p[1] != 'u')
        return 0;
    for (int i = 2; i < UNIT_BYTES; i++) {
        if (ascii_hex_value(p[i]) < 0)
            return 0;
    }
    return UNIT_BYTES;
}

const char *json_scan_text(const char *p, const char *end, char **out, const char *out_end)
{
    enum { CHARACTER_BYTES = 4 };
    char *to = *out;
    while (p < end && *p != '"') {
        if (out_end - to <= CHARACTER_BYTES) {
            *out = NULL;
            return NULL;
        }
        if (*p >= ' ' && *p <= '~' && *p != '\\') {
            *to++ = *p++;
            continue;
        }
        struct str rest = {p, (size_t)(end - p)};
        size_t n = json_text_next(&rest, to);
        size_t used = n > 0 ? rest.n : (size_t)(end - p) - refused_length(p, end);
        if (used == (size_t)(end - p))
            return NULL;
        if (n == 0 || *to == '\0') {
            n = sizeof(replacement) - 1;
            memcpy(to, replacement, n);
        }
        to += n;
        p = end - used;
    }
    if (p == end)
        return NULL;
    if (to == out_end) {
        *out = NULL;
        return NULL;
    }
    *to++ = '\0';
    *out = to;
    return p + 1;
}

static const char *scan_nested(const char *p, const char *end, unsigned depth);

/* What lies between the brackets; p stands behind the opening one. */
static const char *scan_container(const char *p, const char *end, char close, unsigned depth)
{
    p = json_scan_blanks(p, end);
    if (p < end && *p == close)
        return p + 1;
    for (;;) {
        struct str key;
        if (close == '}') {
            p = p < end && *p == '"' ? json_scan_string(p + 1, end, &key) : NULL;
            p = p ? json_scan_blanks(p, end) : NULL;
            if (!p || p == end || *p != ':')
                return NULL;
            p = json_scan_blanks(p + 1, end);
        }
        p = scan_nested(p, end, depth);
        p = p ? json_scan_blanks(p, end) : NULL;
        if (!p || p == end)
            return NULL;
        if (*p == close)
            return p + 1;
        if (*p != ',')
            return NULL;
        p = json_scan_blanks(p + 1, end);
    }
}

static const char *scan_nested(const char *p, const char *end, unsigned depth)
{
    struct json_number number;
    struct str text;
    if (p == end)
        return NULL;
    switch (*p) {
    case '{':
        return depth < SCAN_DEPTH_MAX ? scan_container(p + 1, end, '}', depth + 1) : NULL;
    case '[':
        return depth < SCAN_DEPTH_MAX ? scan_container(p + 1, end, ']', depth + 1) : NULL;
    case '"':
        return json_scan_string(p + 1, end, &text);
    case 't':
        return json_scan_word(p, end, STR("true"));
    case 'f':
        return json_scan_word(p, end, STR("false"));
    case 'n':
        return json_scan_word(p, end, STR("null"));
    default:
        return json_scan_number(p, end, &number);
    }
}

const char *json_scan_value(const char *p, const char *end)
{
    return scan_nested(p, end, 0);
}
