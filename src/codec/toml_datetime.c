/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML's date-times, which follow RFC 3339: 1979-05-27T07:32:00.5+01:00, 1979-05-27 07:32:00, 1979-05-27, 07:32:00.
 * A second of 60 is let through everywhere, since leap seconds cannot be foretold.
 */
#include <errno.h>

#include "codec/toml_internal.h"

struct cursor {
    struct toml_parser *parser;
    struct str text;
    struct toml_place at;
    size_t i;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool digits_at(struct str text, size_t i, size_t n)
{
    if (text.n < i + n)
        return false;
    for (size_t end = i + n; i < end; i++) {
        if (!is_digit(text.p[i]))
            return false;
    }
    return true;
}

bool toml_datetime_looks_like(struct str text)
{
    bool date = text.n > 4 && digits_at(text, 0, 4) && text.p[4] == '-';
    bool time = text.n > 2 && digits_at(text, 0, 2) && text.p[2] == ':';
    return date || time;
}

static struct toml_place place_of(const struct cursor *cursor)
{
    return (struct toml_place){cursor->at.line, cursor->at.column + (unsigned)cursor->i};
}

static bool take_any(struct cursor *cursor, const char *any)
{
    if (cursor->i == cursor->text.n || !strchr(any, cursor->text.p[cursor->i]))
        return false;
    cursor->i++;
    return true;
}

static int expect(struct cursor *cursor, const char *mark, const char *before)
{
    if (take_any(cursor, mark))
        return 0;
    return toml_lex_fail(cursor->parser, place_of(cursor), -EINVAL, "expected '%s' before the %s", mark, before);
}

struct part {
    const char *name;
    unsigned digits, min, max;
};

static int parse_part(struct cursor *cursor, struct part part, unsigned *ret)
{
    struct toml_place at = place_of(cursor);
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

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap ? 1U : 0U);
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
    return parse_part(cursor, (struct part){"day", 2, 1, days_in_month(year, month)}, &day);
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
        return toml_lex_fail(cursor->parser, place_of(cursor), -EINVAL, "the fraction of a second needs a digit");
    while (digits_at(cursor->text, cursor->i, 1))
        cursor->i++;
    return 0;
}

int toml_datetime_check(
    struct toml_parser *parser, struct str text, struct toml_place at, enum toml_datetime_kind *ret_kind)
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
        return toml_lex_fail(parser, place_of(&cursor), -EINVAL, "this character cannot stand in a date or time");
    *ret_kind = kind;
    return 0;
}
