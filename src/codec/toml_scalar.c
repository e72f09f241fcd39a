/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML's bare values: booleans, integers in four bases, floats, and date-times, which follow RFC 3339:
 * 1979-05-27T07:32:00.5+01:00, 1979-05-27 07:32:00, 1979-05-27, 07:32:00. A second of 60 is accepted everywhere, since
 * leap seconds cannot be predicted.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/utc.h"
#include "codec/toml_internal.h"

struct cursor {
    struct toml_parser *parser;
    struct str text;
    struct toml_position at;
    size_t i;
};

static bool digits_at(struct str text, size_t i, size_t n)
{
    if (text.n < i + n)
        return false;
    for (size_t end = i + n; i < end; i++) {
        if (!ascii_is_digit(text.p[i]))
            return false;
    }
    return true;
}

static bool looks_like_datetime(struct str text)
{
    bool date = text.n > 4 && digits_at(text, 0, 4) && text.p[4] == '-';
    bool time = text.n > 2 && digits_at(text, 0, 2) && text.p[2] == ':';
    return date || time;
}

static struct toml_position position_of(const struct cursor *cursor)
{
    return (struct toml_position){cursor->at.line, cursor->at.column + (unsigned)cursor->i};
}

static bool at_char(const struct cursor *cursor, const char *any)
{
    return cursor->i < cursor->text.n && strchr(any, cursor->text.p[cursor->i]);
}

static bool take_any(struct cursor *cursor, const char *any)
{
    bool is_there = at_char(cursor, any);
    cursor->i += is_there;
    return is_there;
}

static int fail(const struct cursor *cursor, const char *text)
{
    return toml_lex_fail(cursor->parser, position_of(cursor), -EINVAL, "%s", text);
}

static int expect(struct cursor *cursor, const char *mark, const char *before)
{
    if (take_any(cursor, mark))
        return 0;
    return toml_lex_fail(cursor->parser, position_of(cursor), -EINVAL, "expected '%s' before the %s", mark, before);
}

struct part {
    const char *name;
    unsigned digits, min, max;
};

static int parse_part(struct cursor *cursor, struct part part, unsigned *ret)
{
    struct toml_position at = position_of(cursor);
    if (!digits_at(cursor->text, cursor->i, part.digits))
        return toml_lex_fail(cursor->parser, at, -EINVAL, "the %s needs %u digits", part.name, part.digits);
    unsigned value = 0;
    for (unsigned i = 0; i < part.digits; i++)
        value = value * 10 + (unsigned)(cursor->text.p[cursor->i++] - '0');
    if (value < part.min || value > part.max)
        return toml_lex_fail(
            cursor->parser, at, -EINVAL, "the %s is not between %02u and %02u", part.name, part.min, part.max);
    *ret = value;
    return 0;
}

static int parse_date(struct cursor *cursor)
{
    unsigned year = 0, month = 1, day = 0;
    int r = parse_part(cursor, (struct part){"year", 4, 0, 9999}, &year);
    if (r == 0)
        r = expect(cursor, "-", "month");
    if (r == 0)
        r = parse_part(cursor, (struct part){"month", 2, 1, 12}, &month);
    if (r == 0)
        r = expect(cursor, "-", "day");
    if (r < 0)
        return r;
    return parse_part(cursor, (struct part){"day", 2, 1, utc_days_in_month(year, month)}, &day);
}

static int parse_hour_minute(struct cursor *cursor)
{
    unsigned value;
    int r = parse_part(cursor, (struct part){"hour", 2, 0, 23}, &value);
    if (r == 0)
        r = expect(cursor, ":", "minute");
    if (r < 0)
        return r;
    return parse_part(cursor, (struct part){"minute", 2, 0, 59}, &value);
}

static int parse_time(struct cursor *cursor)
{
    unsigned second;
    int r = parse_hour_minute(cursor);
    if (r == 0)
        r = expect(cursor, ":", "second");
    if (r == 0)
        r = parse_part(cursor, (struct part){"second", 2, 0, 60}, &second);
    if (r < 0 || !take_any(cursor, "."))
        return r;
    if (!digits_at(cursor->text, cursor->i, 1))
        return fail(cursor, "the fraction of a second needs a digit");
    while (digits_at(cursor->text, cursor->i, 1))
        cursor->i++;
    return 0;
}

static int check_datetime(
    struct toml_parser *parser, struct str text, struct toml_position at, enum toml_datetime_kind *ret_kind)
{
    struct cursor cursor = {.parser = parser, .text = text, .at = at};
    enum toml_datetime_kind kind = TOML_LOCAL_TIME;
    int r = 0;
    if (text.n > 4 && text.p[4] == '-') {
        kind = TOML_LOCAL_DATE;
        r = parse_date(&cursor);
        if (r == 0 && take_any(&cursor, "Tt "))
            kind = TOML_LOCAL_DATETIME;
    }
    if (r == 0 && kind != TOML_LOCAL_DATE)
        r = parse_time(&cursor);
    if (r == 0 && kind == TOML_LOCAL_DATETIME) {
        if (take_any(&cursor, "Zz")) {
            kind = TOML_OFFSET_DATETIME;
        } else if (take_any(&cursor, "+-")) {
            kind = TOML_OFFSET_DATETIME;
            r = parse_hour_minute(&cursor);
        }
    }
    if (r < 0)
        return r;
    if (cursor.i < text.n)
        return fail(&cursor, "this character is not allowed in a date or time");
    *ret_kind = kind;
    return 0;
}

/* The longest run of bytes that any such value is made of, with "1979-05-27 07:32:00" as one run. */
static struct str take_word(struct toml_parser *parser)
{
    const char *start = parser->p;
    const char *p = start;
    while (p < parser->end) {
        bool in_word = ascii_is_digit(*p) || ascii_is_alpha(*p) || strchr("_+-.:", *p);
        bool before_time = *p == ' ' && p - start == 10 && p + 1 < parser->end && ascii_is_digit(p[1]) &&
                           looks_like_datetime((struct str){start, 10});
        if (!in_word && !before_time)
            break;
        p++;
    }
    parser->p = p;
    return (struct str){start, (size_t)(p - start)};
}

/* The value of a digit of this base, -1 for other characters. */
static int digit_value(char c, int base)
{
    int value = ascii_hex_value(c);
    return value < base ? value : -1;
}

static bool at_digit(const struct cursor *number, int base)
{
    return number->i < number->text.n && digit_value(number->text.p[number->i], base) >= 0;
}

/* digits, single underscores between them; leaves number->i behind. */
static int skip_digits(struct cursor *number, int base)
{
    if (!at_digit(number, base))
        return fail(number, "expected a digit in this number");
    for (;;) {
        number->i++;
        if (take_any(number, "_")) {
            if (!at_digit(number, base))
                return fail(number, "an underscore in a number must be between digits");
        } else if (!at_digit(number, base)) {
            return 0;
        }
    }
}

/* Decimal digits before a point or exponent: "0" or no zero in front. */
static int skip_whole(struct cursor *number)
{
    size_t first = number->i;
    bool zero = at_char(number, "0");
    int r = skip_digits(number, 10);
    if (r == 0 && zero && number->i > first + 1) {
        number->i = first;
        return fail(number, "a number must not start with a zero");
    }
    return r;
}

static int convert_integer(const struct cursor *number, int base, int64_t *ret)
{
    bool negative = number->text.p[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value = 0;
    for (size_t i = base == 10 ? 0 : 2; i < number->text.n; i++) {
        int digit = digit_value(number->text.p[i], base);
        if (digit < 0)
            continue; /* sign or underscore, checked before */
        if (value > (limit - (uint64_t)digit) / (uint64_t)base)
            return toml_lex_fail(number->parser, number->at, -EINVAL, "this integer does not fit into 64 bits");
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

static int convert_float(const struct cursor *number, double *ret)
{
    /* Written behind the stored text and not kept. Not num_parse_f64: a TOML float may have any number of digits. */
    char *p = number->parser->out;
    for (size_t i = 0; i < number->text.n; i++) {
        if (number->text.p[i] != '_')
            *p++ = number->text.p[i];
    }
    *p = '\0';
    double value = strtod(number->parser->out, NULL);
    if (isinf(value))
        return toml_lex_fail(number->parser, number->at, -EINVAL, "this float is too large; write inf for infinity");
    *ret = value;
    return 0;
}

static int parse_based(struct cursor *number, int base, struct toml_node *node)
{
    number->i = 2;
    int r = skip_digits(number, base);
    if (r < 0)
        return r;
    if (number->i < number->text.n)
        return fail(number, "this character is not allowed in a number of this base");
    node->type = TOML_INTEGER;
    return convert_integer(number, base, &node->value.integer);
}

static int parse_decimal(struct cursor *number, struct toml_node *node)
{
    (void)take_any(number, "+-");
    int r = skip_whole(number);
    bool real = false;
    if (r == 0 && take_any(number, ".")) {
        real = true;
        r = skip_digits(number, 10);
    }
    if (r == 0 && take_any(number, "eE")) {
        real = true;
        (void)take_any(number, "+-");
        r = skip_digits(number, 10);
    }
    if (r < 0)
        return r;
    if (number->i < number->text.n)
        return fail(number, "this character is not allowed in a number");
    node->type = real ? TOML_FLOAT : TOML_INTEGER;
    return real ? convert_float(number, &node->value.real) : convert_integer(number, 10, &node->value.integer);
}

static int parse_number(struct toml_parser *parser, struct str text, struct toml_position at, struct toml_node *node)
{
    struct cursor number = {.parser = parser, .text = text, .at = at};
    if (str_starts(text, STR("0x")))
        return parse_based(&number, 16, node);
    if (str_starts(text, STR("0o")))
        return parse_based(&number, 8, node);
    if (str_starts(text, STR("0b")))
        return parse_based(&number, 2, node);
    return parse_decimal(&number, node);
}

/* true, false, inf and nan; false where the word is none of them. */
static bool take_named(struct str text, struct toml_node *node)
{
    bool is_true = str_eq(text, STR("true"));
    if (is_true || str_eq(text, STR("false"))) {
        node->type = TOML_BOOLEAN;
        node->value.boolean = is_true;
        return true;
    }
    bool negative = text.p[0] == '-';
    if (negative || text.p[0] == '+')
        text = (struct str){text.p + 1, text.n - 1};
    bool is_inf = str_eq(text, STR("inf"));
    if (!is_inf && !str_eq(text, STR("nan")))
        return false;
    double magnitude = is_inf ? (double)INFINITY : (double)NAN;
    node->type = TOML_FLOAT;
    node->value.real = negative ? -magnitude : magnitude;
    return true;
}

static int parse_datetime(struct toml_parser *parser, struct str text, struct toml_position at, struct toml_node *node)
{
    enum toml_datetime_kind kind = TOML_LOCAL_TIME;
    int r = check_datetime(parser, text, at, &kind);
    if (r < 0)
        return r;
    node->type = TOML_DATETIME;
    node->value.datetime.kind = kind;
    node->value.datetime.text = (struct str){parser->out, text.n};
    memcpy(parser->out, text.p, text.n);
    parser->out += text.n;
    *parser->out++ = '\0';
    return 0;
}

int toml_scalar_parse(struct toml_parser *parser, struct toml_node *node)
{
    struct toml_position at = toml_lex_here(parser);
    struct str text = take_word(parser);
    if (text.n == 0)
        return toml_lex_expected(parser, "a value");
    if (take_named(text, node))
        return 0;
    if (looks_like_datetime(text))
        return parse_datetime(parser, text, at, node);
    if (ascii_is_digit(text.p[0]) || text.p[0] == '+' || text.p[0] == '-')
        return parse_number(parser, text, at, node);
    /* The word is not repeated: it may be a secret that lacks its quotes. */
    return toml_lex_fail(parser, at, -EINVAL, "not a value: a string needs quotes, a number starts with a digit");
}
