/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML's values without quotes or brackets: true, 1_000, 0xff, -3.5e+2, inf, 1979-05-27T07:32:00Z.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "codec/toml_internal.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The longest run of bytes that any such value is made of, with "1979-05-27 07:32:00" as one run. */
static struct str take_word(struct toml_parser *parser)
{
    const char *start = parser->p;
    const char *p = start;
    while (p < parser->end) {
        bool in_word = is_digit(*p) || is_letter(*p) || strchr("_+-.:", *p);
        bool before_time = *p == ' ' && p - start == 10 && p + 1 < parser->end && is_digit(p[1]) &&
                           toml_datetime_looks_like((struct str){start, 10});
        if (!in_word && !before_time)
            break;
        p++;
    }
    parser->p = p;
    return (struct str){start, (size_t)(p - start)};
}

struct number {
    struct str text;
    struct toml_place at;
    size_t i;
};

static int fail_at(struct toml_parser *parser, const struct number *number, const char *words)
{
    struct toml_place at = {number->at.line, number->at.column + (unsigned)number->i};
    return toml_lex_fail(parser, at, -EINVAL, "%s", words);
}

static bool at_char(const struct number *number, const char *any)
{
    return number->i < number->text.n && strchr(any, number->text.p[number->i]);
}

/* The value of a digit of this base, -1 for other characters. */
static int digit_value(char c, int base)
{
    int value = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    return value < base ? value : -1;
}

static bool at_digit(const struct number *number, int base)
{
    return number->i < number->text.n && digit_value(number->text.p[number->i], base) >= 0;
}

/* digits, single underscores between them; leaves number->i behind. */
static int skip_digits(struct toml_parser *parser, struct number *number, int base)
{
    if (!at_digit(number, base))
        return fail_at(parser, number, "expected a digit in this number");
    for (;;) {
        number->i++;
        if (at_char(number, "_")) {
            number->i++;
            if (!at_digit(number, base))
                return fail_at(parser, number, "an underscore in a number must stand between digits");
        } else if (!at_digit(number, base)) {
            return 0;
        }
    }
}

/* Decimal digits before a point or exponent: "0" or no zero in front. */
static int skip_whole(struct toml_parser *parser, struct number *number)
{
    size_t first = number->i;
    bool zero = at_char(number, "0");
    int r = skip_digits(parser, number, 10);
    if (r == 0 && zero && number->i > first + 1) {
        number->i = first;
        return fail_at(parser, number, "a number must not start with a zero");
    }
    return r;
}

static int convert_integer(struct toml_parser *parser, const struct number *number, int base, int64_t *ret)
{
    bool negative = number->text.p[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value = 0;
    for (size_t i = base == 10 ? 0 : 2; i < number->text.n; i++) {
        int digit = digit_value(number->text.p[i], base);
        if (digit < 0)
            continue; /* sign or underscore, checked before */
        if (value > (limit - (uint64_t)digit) / (uint64_t)base)
            return toml_lex_fail(parser, number->at, -EINVAL, "this integer does not fit into 64 bits");
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

static int convert_float(struct toml_parser *parser, const struct number *number, double *ret)
{
    /* Written behind the stored text and not kept. Not num_parse_f64: a TOML float may have any number of digits. */
    char *p = parser->out;
    for (size_t i = 0; i < number->text.n; i++) {
        if (number->text.p[i] != '_')
            *p++ = number->text.p[i];
    }
    *p = '\0';
    double value = strtod(parser->out, NULL);
    if (isinf(value))
        return toml_lex_fail(parser, number->at, -EINVAL, "this float is too large; write inf for infinity");
    *ret = value;
    return 0;
}

static int parse_based(struct toml_parser *parser, struct number *number, int base, struct toml_node *node)
{
    number->i = 2;
    int r = skip_digits(parser, number, base);
    if (r < 0)
        return r;
    if (number->i < number->text.n)
        return fail_at(parser, number, "this character cannot stand in a number of this base");
    node->type = TOML_INTEGER;
    return convert_integer(parser, number, base, &node->value.integer);
}

static int parse_decimal(struct toml_parser *parser, struct number *number, struct toml_node *node)
{
    number->i = at_char(number, "+-") ? 1 : 0;
    int r = skip_whole(parser, number);
    bool real = false;
    if (r == 0 && at_char(number, ".")) {
        real = true;
        number->i++;
        r = skip_digits(parser, number, 10);
    }
    if (r == 0 && at_char(number, "eE")) {
        real = true;
        number->i++;
        if (at_char(number, "+-"))
            number->i++;
        r = skip_digits(parser, number, 10);
    }
    if (r < 0)
        return r;
    if (number->i < number->text.n)
        return fail_at(parser, number, "this character cannot stand in a number");
    node->type = real ? TOML_FLOAT : TOML_INTEGER;
    return real ? convert_float(parser, number, &node->value.real)
                : convert_integer(parser, number, 10, &node->value.integer);
}

static int parse_number(struct toml_parser *parser, struct str text, struct toml_place at, struct toml_node *node)
{
    struct number number = {.text = text, .at = at};
    if (str_starts(text, STR("0x")))
        return parse_based(parser, &number, 16, node);
    if (str_starts(text, STR("0o")))
        return parse_based(parser, &number, 8, node);
    if (str_starts(text, STR("0b")))
        return parse_based(parser, &number, 2, node);
    return parse_decimal(parser, &number, node);
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

static int parse_datetime(struct toml_parser *parser, struct str text, struct toml_place at, struct toml_node *node)
{
    enum toml_datetime_kind kind;
    int r = toml_datetime_check(parser, text, at, &kind);
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
    struct toml_place at = toml_lex_here(parser);
    struct str text = take_word(parser);
    if (text.n == 0)
        return toml_lex_expected(parser, "a value");
    if (take_named(text, node))
        return 0;
    if (toml_datetime_looks_like(text))
        return parse_datetime(parser, text, at, node);
    if (is_digit(text.p[0]) || text.p[0] == '+' || text.p[0] == '-')
        return parse_number(parser, text, at, node);
    /* The word is not repeated: it may be a secret that lacks its quotes. */
    return toml_lex_fail(parser, at, -EINVAL, "not a value: a string needs quotes, a number starts with a digit");
}
