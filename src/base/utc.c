/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calendar is the Gregorian one over all years (RFC 3339). Read are "2026-11-15T09:30:00.5+05:30",
 * "20261115T093000Z" and the three dates of HTTP. A second of 60 is the first of the next minute, anywhere,
 * since leap seconds cannot be foretold. Of an HTTP date the name of the day is not held against the date.
 */
#include "base/utc.h"

#include <errno.h>
#include <stdbool.h>

enum { SECS_PER_DAY = 86400, EPOCH_DAY = 719528, YEAR_MAX = 9999 }; /* days are counted from 1 January of year 0 */

struct civil {
    unsigned year, month, day, hour, minute, second;
};

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

unsigned utc_days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1U : 0U);
}

/* The year 0 is a leap year, so that the leap years before a year are its fourths and so on, rounded up. */
static unsigned days_before_year(unsigned year)
{
    return year * 365 + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

static int64_t secs_of(const struct civil *at)
{
    int64_t days = (int64_t)days_before_year(at->year) + at->day - 1 - EPOCH_DAY;
    for (unsigned month = 1; month < at->month; month++)
        days += utc_days_in_month(at->year, month);
    return days * SECS_PER_DAY + at->hour * 3600 + at->minute * 60 + at->second;
}

static struct civil civil_of(int64_t unix_secs)
{
    const int64_t first = -(int64_t)EPOCH_DAY * SECS_PER_DAY;
    const int64_t last = ((int64_t)days_before_year(YEAR_MAX + 1) - EPOCH_DAY) * SECS_PER_DAY - 1;
    int64_t secs = (unix_secs < first ? first : unix_secs > last ? last : unix_secs) - first;
    unsigned day = (unsigned)(secs / SECS_PER_DAY);
    unsigned second = (unsigned)(secs % SECS_PER_DAY);
    struct civil at = {.year = day / 366, .month = 1, .second = second % 60};
    at.minute = second / 60 % 60;
    at.hour = second / 3600;
    while (days_before_year(at.year + 1) <= day)
        at.year++;
    day -= days_before_year(at.year);
    for (; day >= utc_days_in_month(at.year, at.month); at.month++)
        day -= utc_days_in_month(at.year, at.month);
    at.day = day + 1;
    return at;
}

/* Behind the mark, where there is one. */
static char *put_digits(char *p, char mark, unsigned value, unsigned digits)
{
    if (mark)
        *p++ = mark;
    for (unsigned i = digits; i > 0; i--, value /= 10)
        p[i - 1] = (char)('0' + value % 10);
    return p + digits;
}

/* dash, colon: between the parts of the date and of the time; 0: nothing. */
static void format(int64_t unix_secs, char dash, char colon, char *out)
{
    struct civil at = civil_of(unix_secs);
    char *p = put_digits(out, '\0', at.year, 4);
    p = put_digits(p, dash, at.month, 2);
    p = put_digits(p, dash, at.day, 2);
    p = put_digits(p, 'T', at.hour, 2);
    p = put_digits(p, colon, at.minute, 2);
    p = put_digits(p, colon, at.second, 2);
    *p++ = 'Z';
    *p = '\0';
}

void utc_format_iso(int64_t unix_secs, char ret_text[static UTC_ISO_BYTES])
{
    format(unix_secs, '-', ':', ret_text);
}

void utc_format_basic(int64_t unix_secs, char ret_text[static UTC_BASIC_BYTES])
{
    format(unix_secs, '\0', '\0', ret_text);
}

static bool take_digits(struct str *rest, unsigned digits, unsigned max, unsigned *ret)
{
    if (rest->n < digits)
        return false;
    unsigned value = 0;
    for (unsigned i = 0; i < digits; i++) {
        unsigned digit = (unsigned)(unsigned char)rest->p[i] - '0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    str_skip(rest, digits);
    *ret = value;
    return value <= max;
}

/* Two digits, behind the mark where there is one. */
static bool take_pair(struct str *rest, const char *mark, unsigned max, unsigned *ret)
{
    return (!*mark || str_take(rest, *mark)) && take_digits(rest, 2, max, ret);
}

static bool take_time(struct str *rest, const char *mark, struct civil *at)
{
    return take_digits(rest, 2, 23, &at->hour) && take_pair(rest, mark, 59, &at->minute) &&
           take_pair(rest, mark, 60, &at->second);
}

static bool is_date(const struct civil *at)
{
    return at->month >= 1 && at->day >= 1 && at->day <= utc_days_in_month(at->year, at->month);
}

/* No fraction at all is fine, a point without digits is not. */
static bool take_fraction(struct str *rest)
{
    unsigned digit;
    if (!str_take(rest, '.'))
        return true;
    if (!take_digits(rest, 1, 9, &digit))
        return false;
    while (take_digits(rest, 1, 9, &digit))
        ;
    return true;
}

/* "Z", "+01:00", "+0100", "+01" or nothing. */
static bool take_offset(struct str *rest, int64_t *ret_secs)
{
    *ret_secs = 0;
    if (rest->n == 0 || str_take(rest, 'Z') || str_take(rest, 'z'))
        return true;
    bool west = str_take(rest, '-');
    unsigned hours;
    unsigned minutes = 0;
    if ((!west && !str_take(rest, '+')) || !take_digits(rest, 2, 23, &hours))
        return false;
    if (rest->n > 0 && !take_pair(rest, rest->p[0] == ':' ? ":" : "", 59, &minutes))
        return false;
    int64_t secs = (int64_t)hours * 3600 + (int64_t)minutes * 60;
    *ret_secs = west ? -secs : secs;
    return true;
}

int utc_parse_iso(struct str text, int64_t *ret_unix_secs)
{
    enum { YEAR_DIGITS = 4 };
    struct civil at;
    int64_t offset_secs;
    bool extended = text.n > YEAR_DIGITS && text.p[YEAR_DIGITS] == '-';
    if (!take_digits(&text, YEAR_DIGITS, YEAR_MAX, &at.year) || !take_pair(&text, extended ? "-" : "", 12, &at.month) ||
        !take_pair(&text, extended ? "-" : "", 31, &at.day) || !is_date(&at))
        return -EINVAL;
    if (!str_take(&text, 'T') && !str_take(&text, 't') && !str_take(&text, ' '))
        return -EINVAL;
    if (!take_time(&text, extended ? ":" : "", &at) || !take_fraction(&text) || !take_offset(&text, &offset_secs) ||
        text.n > 0)
        return -EINVAL;
    *ret_unix_secs = secs_of(&at) - offset_secs;
    return 0;
}

static bool take_text(struct str *rest, struct str text)
{
    if (!str_starts(*rest, text))
        return false;
    str_skip(rest, text.n);
    return true;
}

/* One of several names of three letters; the number is its position from 1 on. */
static bool take_name(struct str *rest, struct str names, unsigned *ret_number)
{
    enum { NAME_BYTES = 3 };
    for (size_t i = 0; i + NAME_BYTES <= names.n; i += NAME_BYTES) {
        if (take_text(rest, (struct str){names.p + i, NAME_BYTES})) {
            *ret_number = (unsigned)(i / NAME_BYTES) + 1;
            return true;
        }
    }
    return false;
}

static bool take_month(struct str *rest, unsigned *ret_month)
{
    return take_name(rest, STR("JanFebMarAprMayJunJulAugSepOctNovDec"), ret_month);
}

/* " 09:30:00 GMT" and nothing behind it. */
static bool take_gmt(struct str *rest, struct civil *at)
{
    return str_take(rest, ' ') && take_time(rest, ":", at) && str_eq(*rest, STR(" GMT"));
}

/* "15 Nov 2026 09:30:00 GMT" */
static bool take_fixdate(struct str *rest, struct civil *at)
{
    return take_digits(rest, 2, 31, &at->day) && str_take(rest, ' ') && take_month(rest, &at->month) &&
           str_take(rest, ' ') && take_digits(rest, 4, YEAR_MAX, &at->year) && take_gmt(rest, at);
}

/* "15-Nov-26 09:30:00 GMT", with the century that RFC 9110 (5.6.7) wants. */
static bool take_rfc850(struct str *rest, int64_t now_unix_secs, struct civil *at)
{
    enum { CENTURY = 100, AHEAD_YEARS_MAX = 50 };
    unsigned year;
    if (!take_digits(rest, 2, 31, &at->day) || !str_take(rest, '-') || !take_month(rest, &at->month) ||
        !str_take(rest, '-') || !take_digits(rest, 2, CENTURY - 1, &year) || !take_gmt(rest, at))
        return false;
    struct civil limit = civil_of(now_unix_secs);
    limit.year += AHEAD_YEARS_MAX;
    int64_t limit_secs = secs_of(&limit);
    at->year = limit.year - limit.year % CENTURY + year;
    while (at->year >= CENTURY && (at->year > YEAR_MAX || secs_of(at) > limit_secs))
        at->year -= CENTURY;
    return true;
}

/* " Nov  6 08:49:37 1994" */
static bool take_asctime(struct str *rest, struct civil *at)
{
    if (!str_take(rest, ' ') || !take_month(rest, &at->month) || !str_take(rest, ' '))
        return false;
    bool is_day = str_take(rest, ' ') ? take_digits(rest, 1, 9, &at->day) : take_digits(rest, 2, 31, &at->day);
    return is_day && str_take(rest, ' ') && take_time(rest, ":", at) && str_take(rest, ' ') &&
           take_digits(rest, 4, YEAR_MAX, &at->year) && rest->n == 0;
}

/* "day, " in full behind the first three letters of its name. */
static bool take_full_day(struct str *rest, unsigned weekday)
{
    static const char rests[][8] = {"day, ", "sday, ", "nesday, ", "rsday, ", "day, ", "urday, ", "day, "};
    return take_text(rest, (struct str){rests[weekday - 1], strnlen(rests[weekday - 1], sizeof(rests[0]))});
}

int utc_parse_http(struct str text, int64_t now_unix_secs, int64_t *ret_unix_secs)
{
    struct civil at = {0};
    unsigned weekday;
    if (!take_name(&text, STR("MonTueWedThuFriSatSun"), &weekday))
        return -EINVAL;
    bool is_read = take_text(&text, STR(", "))     ? take_fixdate(&text, &at)
                   : take_full_day(&text, weekday) ? take_rfc850(&text, now_unix_secs, &at)
                                                   : take_asctime(&text, &at);
    if (!is_read || !is_date(&at))
        return -EINVAL;
    *ret_unix_secs = secs_of(&at);
    return 0;
}
