/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "summary/units.h"

struct amount {
    double value;
    const char *text;
};

static void check(char unit, const struct amount *amounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, 1000);
        units_put_as(&buf, unit, amounts[i].value);
        assert_true(buf_ok(&buf));
        assert_string_equal(buf_cstr(&buf), amounts[i].text);
    }
}

#define CHECK(unit, amounts) check((unit), (amounts), sizeof(amounts) / sizeof((amounts)[0]))

static void test_figures(void **state)
{
    (void)state;
    static const struct amount amounts[] = {{0, "0"}, {0.0001, "<0.001"}, {0.0005, "0.001"}, {0.042, "0.042"},
        {0.0995, "0.1"}, {0.1, "0.1"}, {0.42, "0.42"}, {1, "1"}, {1.5, "1.5"}, {1.0234, "1.02"}, {9.994, "9.99"},
        {9.996, "10"}, {12.34, "12.3"}, {99.96, "100"}, {100, "100"}, {999.4, "999"}, {999.6, "1,000"}, {4711, "4,711"},
        {1e6, "1,000,000"}, {-1.5, "-1.5"}, {-0.0001, "0"}, {1e300, "?"}, {(double)__builtin_nan(""), "?"},
        {__builtin_inf(), "?"}};
    CHECK('f', amounts);
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct amount amounts[] = {{0, "0 B"}, {1, "1 B"}, {999, "999 B"}, {1000, "1 kB"}, {999499, "999 kB"},
        {999500, "1 MB"}, {1200000000, "1.2 GB"}, {340e6, "340 MB"}, {12345e9, "12.3 TB"}, {5e21, "5,000,000 PB"}};
    CHECK('b', amounts);
}

static void test_mib(void **state)
{
    (void)state;
    static const struct amount amounts[] = {{0, "0 KiB"}, {0.00390625, "4 KiB"}, {0.9, "922 KiB"}, {1, "1 MiB"},
        {2.43, "2.43 MiB"}, {136, "136 MiB"}, {1010, "1,010 MiB"}, {1023.6, "1 GiB"}, {1536, "1.5 GiB"},
        {2048, "2 GiB"}, {143771, "140 GiB"}, {3145728, "3 TiB"}};
    CHECK('m', amounts);
}

static void test_secs(void **state)
{
    (void)state;
    static const struct amount amounts[] = {{0, "0 s"}, {0.0001, "<0.001 s"}, {0.003, "0.003 s"}, {0.25, "0.25 s"},
        {1, "1 s"}, {12.34, "12.3 s"}, {59.94, "59.9 s"}, {59.96, "1 min"}, {60, "1 min"}, {60.6, "1 min 1 s"},
        {185, "3 min 5 s"}, {3599.4, "59 min 59 s"}, {3599.6, "1 h"}, {3659, "1 h"}, {3733, "1 h 2 min"},
        {86399, "23 h 59 min"}, {86400, "1 d"}, {99252, "1 d 3 h"}, {183600, "2 d 3 h"}, {1e9, "11,574 d 1 h"},
        {-5, "-5 s"}, {1e30, "? s"}, {(double)__builtin_nan(""), "? s"}};
    CHECK('t', amounts);
}

static void test_shares_watts_and_degrees(void **state)
{
    (void)state;
    static const struct amount shares[] = {{0, "0 %"}, {0.01, "0.01 %"}, {98.46, "98.5 %"}, {1200, "1,200 %"}};
    static const struct amount watts[] = {{114, "114 W"}, {9.5, "9.5 W"}};
    static const struct amount degrees[] = {{71, "71 °C"}, {-3, "-3 °C"}};
    CHECK('p', shares);
    CHECK('w', watts);
    CHECK('d', degrees);
}

static void test_joules(void **state)
{
    (void)state;
    static const struct amount amounts[] = {{0, "0 J"}, {812, "812 J"}, {3100, "3.1 kJ"}, {3599, "3.6 kJ"},
        {3600, "1 Wh"}, {412000, "114 Wh"}, {4.32e6, "1.2 kWh"}, {7.2e9, "2 MWh"}};
    CHECK('j', amounts);
}

static void test_grams(void **state)
{
    (void)state;
    static const struct amount amounts[] = {
        {0, "0 mg"}, {0.0001, "0.1 mg"}, {0.25, "250 mg"}, {13.2, "13.2 g"}, {1500, "1.5 kg"}, {2e6, "2 t"}};
    CHECK('g', amounts);
}

static void test_nouns(void **state)
{
    (void)state;
    static const struct amount cores[] = {{1, "1 core"}, {2.5, "2.5 cores"}}, gpus[] = {{1, "1 GPU"}, {0, "0 GPUs"}};
    CHECK('n', cores);
    CHECK('G', gpus);
}

static void test_format(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf = {.max = 1000};
    units_put(&buf, "%m of %c, %p%%; %u %s: %x", 1024.0, 2.0, "disk", 12.5, UINT64_C(1234), "a\nb", "c\nd");
    units_put(&buf, "%f", 0.5);
    units_put(&buf, " end");
    assert_string_equal(buf_cstr(&buf), "1 GiB of 2 disks, 12.5 %%; 1234 a\nb: c\\x0ad0.5 end");
}

static void test_whole(void **state)
{
    (void)state;
    static const struct {
        uint64_t number;
        const char *text;
    } numbers[] = {
        {0, "0"}, {999, "999"}, {1000, "1,000"}, {12345678, "12,345,678"}, {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, 1000);
        units_put_whole(&buf, numbers[i].number);
        assert_string_equal(buf_cstr(&buf), numbers[i].text);
    }
}

static void test_counts(void **state)
{
    (void)state;
    static const struct amount amounts[] = {
        {0, "0 cores"}, {1, "1 core"}, {1.001, "1 core"}, {1.5, "1.5 cores"}, {11, "11 cores"}};
    CHECK('n', amounts);
}

static void check_data(const char *text, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1000);
    units_put_foreign(&buf, text);
    assert_string_equal(buf_cstr(&buf), expected);
}

static void test_data(void **state)
{
    (void)state;
    check_data(NULL, "");
    check_data("", "");
    check_data("plain ~ text", "plain ~ text");
    check_data("a\nb\tc\x1b[31m\x7f", "a\\x0ab\\x09c\\x1b[31m\\x7f");
    check_data("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80");
    check_data("\xff\xc3 \xed\xa0\x80", "\\xff\\xc3 \\xed\\xa0\\x80");
    /* CSI as one character, right-to-left override, zero width space, line separator, byte order mark, a tag */
    check_data("\xc2\x9b \xe2\x80\xae \xe2\x80\x8b \xe2\x80\xa8 \xef\xbb\xbf \xf3\xa0\x81\x81", "? ? ? ? ? ?");
    check_data("\xc2\xa0\xe2\x80\x90", "\xc2\xa0\xe2\x80\x90");
}

static void test_long_data(void **state)
{
    (void)state;
    char text[UNITS_FOREIGN_BYTES + 2];
    memset(text, 'x', sizeof(text));
    text[UNITS_FOREIGN_BYTES + 1] = '\0';
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1000);
    units_put_foreign(&buf, text);
    assert_int_equal(buf.len, UNITS_FOREIGN_BYTES + 3);
    assert_memory_equal(buf.data + UNITS_FOREIGN_BYTES - 1, "x...", 4);
    buf_clear(&buf);
    text[UNITS_FOREIGN_BYTES] = '\0';
    units_put_foreign(&buf, text);
    assert_int_equal(buf.len, UNITS_FOREIGN_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_mib),
        cmocka_unit_test(test_secs),
        cmocka_unit_test(test_shares_watts_and_degrees),
        cmocka_unit_test(test_joules),
        cmocka_unit_test(test_grams),
        cmocka_unit_test(test_nouns),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_long_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
