/* SPDX-License-Identifier: Apache-2.0 */
/* Times: both written forms, ISO 8601 and HTTP dates read, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/utc.h"

/* 2026-11-15 09:30:00 UTC */
static const int64_t when = 1794735000;
static const int64_t year_0 = -62167219200;
static const int64_t year_9999_end = 253402300799;

static void assert_formats(int64_t unix_secs, const char *iso, const char *basic)
{
    char text[UTC_ISO_BYTES];
    utc_format_iso(unix_secs, text);
    assert_string_equal(text, iso);
    utc_format_basic(unix_secs, text);
    assert_string_equal(text, basic);
}

static void assert_iso(const char *text, int64_t expected)
{
    int64_t secs = -7;
    assert_int_equal(utc_parse_iso(str_of(text), &secs), 0);
    assert_int_equal(secs, expected);
}

static void assert_no_iso(struct str text)
{
    int64_t secs = -7;
    if (utc_parse_iso(text, &secs) != -EINVAL)
        fail_msg("read as a time: '%.*s'", (int)text.n, text.p);
    assert_int_equal(secs, -7);
}

static void test_formats(void **state)
{
    (void)state;
    assert_formats(when, "2026-11-15T09:30:00Z", "20261115T093000Z");
    assert_formats(0, "1970-01-01T00:00:00Z", "19700101T000000Z");
    assert_formats(-1, "1969-12-31T23:59:59Z", "19691231T235959Z");
    assert_formats(951782400, "2000-02-29T00:00:00Z", "20000229T000000Z");
    assert_formats(951868799, "2000-02-29T23:59:59Z", "20000229T235959Z");
    assert_formats(951868800, "2000-03-01T00:00:00Z", "20000301T000000Z");
    assert_formats(4107542400, "2100-03-01T00:00:00Z", "21000301T000000Z");
    assert_formats(1798761599, "2026-12-31T23:59:59Z", "20261231T235959Z");
    assert_formats(INT64_C(2147483648), "2038-01-19T03:14:08Z", "20380119T031408Z");
}

static void test_years_stay_in_four_digits(void **state)
{
    (void)state;
    assert_formats(year_0, "0000-01-01T00:00:00Z", "00000101T000000Z");
    assert_formats(year_0 - 1, "0000-01-01T00:00:00Z", "00000101T000000Z");
    assert_formats(INT64_MIN, "0000-01-01T00:00:00Z", "00000101T000000Z");
    assert_formats(year_9999_end, "9999-12-31T23:59:59Z", "99991231T235959Z");
    assert_formats(year_9999_end + 1, "9999-12-31T23:59:59Z", "99991231T235959Z");
    assert_formats(INT64_MAX, "9999-12-31T23:59:59Z", "99991231T235959Z");
}

static void test_all_years_as_libc_has_them(void **state)
{
    (void)state;
    for (int64_t secs = year_0; secs < year_9999_end; secs += INT64_C(5) * 86400 + 7) {
        time_t libc_secs = (time_t)secs;
        struct tm tm;
        char expected[UTC_ISO_BYTES];
        char text[UTC_ISO_BYTES];
        assert_non_null(gmtime_r(&libc_secs, &tm));
        /* Old years come without leading zeros from strftime. */
        if (tm.tm_year + 1900 >= 1000) {
            assert_int_equal(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &tm), 20);
            utc_format_iso(secs, text);
            assert_string_equal(text, expected);
        }
        int64_t again;
        utc_format_iso(secs, text);
        assert_int_equal(utc_parse_iso(str_of(text), &again), 0);
        assert_int_equal(again, secs);
    }
}

static void test_iso(void **state)
{
    (void)state;
    assert_iso("2026-11-15T09:30:00Z", when);
    assert_iso("2026-11-15t09:30:00z", when);
    assert_iso("2026-11-15 09:30:00Z", when);
    assert_iso("2026-11-15T09:30:00", when);
    assert_iso("20261115T093000Z", when);
    assert_iso("20261115 093000", when);
    assert_iso("20261115t093000.123z", when);
    assert_iso("1970-01-01T00:00:00Z", 0);
    assert_iso("0000-01-01T00:00:00Z", year_0);
    assert_iso("9999-12-31T23:59:59Z", year_9999_end);
    assert_iso("1582-10-10T00:00:00Z", -12219724800);
}

static void test_iso_fractions_are_cut(void **state)
{
    (void)state;
    assert_iso("2026-11-15T09:30:00.0Z", when);
    assert_iso("2026-11-15T09:30:00.99999Z", when);
    assert_iso("2026-11-15T09:30:00.999999Z", when);
    assert_iso("2026-11-15T09:30:00.9999999Z", when);
    assert_iso("2026-11-15T09:30:00.99999999", when);
    assert_iso("2026-11-15 09:30:00.123456789+01:00", when - 3600);
    assert_iso("2026-11-15T09:30:00.000000000000000000000000000001Z", when);
    /* Towards the past, also before 1970. */
    assert_iso("1969-12-31T23:59:59.9Z", -1);
    assert_no_iso(STR("2026-11-15T09:30:00.Z"));
    assert_no_iso(STR("2026-11-15T09:30:00."));
    assert_no_iso(STR("2026-11-15T09:30:00,5Z"));
    assert_no_iso(STR("2026-11-15T09:30:00.5.5Z"));
    assert_no_iso(STR("2026-11-15T09:30.5Z"));
}

static void test_iso_offsets(void **state)
{
    (void)state;
    assert_iso("2026-11-15T09:30:00+00:00", when);
    assert_iso("2026-11-15T09:30:00-00:00", when);
    assert_iso("2026-11-15T10:30:00+01:00", when);
    assert_iso("2026-11-15T15:00:00+05:30", when);
    assert_iso("2026-11-15T15:00:00+0530", when);
    assert_iso("20261115T150000+0530", when);
    assert_iso("2026-11-15T23:30:00+14:00", when);
    assert_iso("2026-11-14T21:30:00-12:00", when);
    assert_iso("2026-11-15T01:30:00-08", when);
    assert_iso("2026-11-15T09:30:00+23:59", when - 86340);
    assert_iso("0000-01-01T00:00:00+01:00", year_0 - 3600);
    assert_iso("9999-12-31T23:59:59-01:00", year_9999_end + 3600);
    static const char *const broken[] = {"+", "-", "+1", "+1:00", "+01:", "+01:0", "+01:000", "+01:60", "+24:00",
        "+010", "+01000", "+-1:00", "+01-00", "Z+01:00", "ZZ", " Z", " +01:00", "UTC", "+01:00:00", "+a1:00",
        "+01:00Z"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char text[64] = "2026-11-15T09:30:00";
        (void)str_copy(str_of(broken[i]), text + 19, sizeof(text) - 19);
        assert_no_iso(str_of(text));
    }
}

static void test_iso_leap_days_and_seconds(void **state)
{
    (void)state;
    assert_iso("2024-02-29T00:00:00Z", 1709164800);
    assert_iso("2000-02-29T00:00:00Z", 951782400);
    assert_iso("0000-02-29T00:00:00Z", year_0 + 59 * INT64_C(86400));
    assert_no_iso(STR("2026-02-29T00:00:00Z"));
    assert_no_iso(STR("1900-02-29T00:00:00Z"));
    assert_no_iso(STR("2100-02-29T00:00:00Z"));
    assert_no_iso(STR("2024-02-30T00:00:00Z"));
    assert_iso("2016-12-31T23:59:60Z", 1483228800);
    assert_iso("2017-01-01T00:59:60.5+01:00", 1483228800);
    assert_no_iso(STR("2016-12-31T23:59:61Z"));
}

static void test_iso_broken(void **state)
{
    (void)state;
    static const char *const broken[] = {"", "2026", "2026-11-15", "20261115", "2026-11-15T", "2026-11-15T09",
        "09:30:00", "2026-11-15T09:30", "2026-11-15T09:30Z", "2026-11-15T09:30:0Z", "2026-11-15T9:30:00Z",
        "26-11-15T09:30:00Z", "2026-11-15T24:00:00Z", "2026-11-15T09:60:00Z", "2026-00-15T09:30:00Z",
        "2026-13-15T09:30:00Z", "2026-11-00T09:30:00Z", "2026-11-31T09:30:00Z", "2026-1-15T09:30:00Z",
        "2026-11-15T093000Z", "20261115T09:30:00Z", "2026-1115T09:30:00Z", "202611-15T09:30:00Z",
        "2026/11/15T09:30:00Z", "2026-11-15_09:30:00Z", "2026-11-15T 9:30:00Z", " 2026-11-15T09:30:00Z",
        "2026-11-15T09:30:00Z ", "2026-11-15T09:30:00Z\n", "+2026-11-15T09:30:00Z", "-2026-11-15T09:30:00Z",
        "12026-11-15T09:30:00Z", "2026-11-15T+9:30:00Z", "2026-11-15T-1:30:00Z", "2026-11-15T0x:30:00Z",
        "2026-W46-7T09:30:00Z", "2026-319T09:30:00Z", "1794735000", "never",
        "\xd9\xa2\xd9\xa0\xd9\xa2\xd9\xa6-11-15T09:30:00Z"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_no_iso(str_of(broken[i]));
    assert_no_iso(STR("2026-11-15T09:30:00\0Z"));
    assert_no_iso(STR("2026-11-15T09:30:00Z\0"));
    assert_no_iso((struct str){0});
}

/* Blocks of exactly the text's size: the sanitizer sees a read behind the end. */
static void test_iso_cut_anywhere(void **state)
{
    (void)state;
    static const char text[] = "2026-11-15T09:30:00.5+01:00";
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        char *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, text, n);
        int64_t secs;
        /* Whole without the offset, without the fraction, and with hours alone. */
        bool whole = n == 19 || n == 21 || n == 24;
        assert_int_equal(utc_parse_iso((struct str){copy, n}, &secs), whole ? 0 : -EINVAL);
        free(copy);
    }
}

static void assert_no_http(const char *text)
{
    int64_t secs = -7;
    if (utc_parse_http(str_of(text), when, &secs) != -EINVAL)
        fail_msg("read as a date: '%s'", text);
    assert_int_equal(secs, -7);
}

static void test_http(void **state)
{
    (void)state;
    int64_t secs;
    assert_int_equal(utc_parse_http(STR("Sun, 15 Nov 2026 09:30:00 GMT"), when, &secs), 0);
    assert_int_equal(secs, when);
    assert_int_equal(utc_parse_http(STR("Sun, 06 Nov 1994 08:49:37 GMT"), when, &secs), 0);
    assert_int_equal(secs, 784111777);
    assert_int_equal(utc_parse_http(STR("Thu, 01 Jan 1970 00:00:00 GMT"), when, &secs), 0);
    assert_int_equal(secs, 0);
    assert_int_equal(utc_parse_http(STR("Thu, 29 Feb 2024 23:59:60 GMT"), when, &secs), 0);
    assert_int_equal(secs, 1709251200);
    assert_int_equal(utc_parse_http(STR("Fri, 31 Dec 9999 23:59:59 GMT"), when, &secs), 0);
    assert_int_equal(secs, year_9999_end);
    /* The wrong day of the week does not make a date unreadable. */
    assert_int_equal(utc_parse_http(STR("Mon, 15 Nov 2026 09:30:00 GMT"), when, &secs), 0);
    assert_int_equal(secs, when);
}

/* The forms that are obsolete and must still be read. */
static void test_http_obsolete(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t secs;
    } rows[] = {
        {"Sunday, 15-Nov-26 09:30:00 GMT", when},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov 15 09:30:00 2026", when},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Thu Jan  1 00:00:00 1970", 0},
        {"Thursday, 01-Jan-70 00:00:00 GMT", 3155760000}, /* 2070 is less than 50 years ahead */
        {"Saturday, 01-Jan-77 00:00:00 GMT", 220924800}, /* 2077 is more */
        {"Monday, 29-Feb-24 23:59:60 GMT", 1709251200},
        {"Tuesday, 15-Nov-26 09:30:00 GMT", when},
        {"Wednesday, 15-Nov-26 09:30:00 GMT", when},
        {"Friday, 15-Nov-26 09:30:00 GMT", when},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t secs = -7;
        if (utc_parse_http(str_of(rows[i].text), when, &secs) != 0)
            fail_msg("not read: '%s'", rows[i].text);
        assert_int_equal(secs, rows[i].secs);
    }
    /* Near the ends of the calendar there may be no century to choose. */
    int64_t secs;
    (void)utc_parse_http(STR("Sunday, 15-Nov-26 09:30:00 GMT"), INT64_MAX, &secs);
    (void)utc_parse_http(STR("Sunday, 15-Nov-26 09:30:00 GMT"), INT64_MIN, &secs);
}

static void test_http_broken(void **state)
{
    (void)state;
    static const char *const broken[] = {"", "120", "Sun", "Sunday, 06-Nov-94 08:49:37", "Sun Nov  6 08:49:37 94",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Monsday, 06-Nov-94 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT", "Sunday, 31-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov 31 08:49:37 1994",
        "Sun  Nov 15 09:30:00 2026", "Sun Nov  0 08:49:37 1994", "Sunday Nov 15 09:30:00 2026",
        "Sun, 15 Nov 2026 09:30:00", "Sun, 15 Nov 2026 09:30:00 UTC", "Sun, 15 Nov 2026 09:30:00 gmt",
        "Sun, 15 Nov 2026 09:30:00 GMT ", " Sun, 15 Nov 2026 09:30:00 GMT", "Sun,15 Nov 2026 09:30:00 GMT",
        "Sun, 5 Nov 2026 09:30:00 GMT", "Sun, 00 Nov 2026 09:30:00 GMT", "Sun, 31 Nov 2026 09:30:00 GMT",
        "Sun, 29 Feb 2026 09:30:00 GMT", "Sun, 15 nov 2026 09:30:00 GMT", "Sun, 15 Nox 2026 09:30:00 GMT",
        "Xyz, 15 Nov 2026 09:30:00 GMT", "unT, 15 Nov 2026 09:30:00 GMT", "Sun, 15 anF 2026 09:30:00 GMT",
        "Sun, 15 Nov 26 09:30:00 GMT", "Sun, 15 Nov 2026 24:00:00 GMT", "Sun, 15 Nov 2026 09:60:00 GMT",
        "Sun, 15 Nov 2026 09:30:61 GMT", "Sun, 15 Nov 2026 09:30:00 +0000", "Sun, 15  Nov 2026 09:30:00 GMT",
        "Sun, 15 Nov 2026 093000 GMT", "2026-11-15T09:30:00Z"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_no_http(broken[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_years_stay_in_four_digits),
        cmocka_unit_test(test_all_years_as_libc_has_them),
        cmocka_unit_test(test_iso),
        cmocka_unit_test(test_iso_fractions_are_cut),
        cmocka_unit_test(test_iso_offsets),
        cmocka_unit_test(test_iso_leap_days_and_seconds),
        cmocka_unit_test(test_iso_broken),
        cmocka_unit_test(test_iso_cut_anywhere),
        cmocka_unit_test(test_http),
        cmocka_unit_test(test_http_obsolete),
        cmocka_unit_test(test_http_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
