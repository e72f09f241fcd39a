/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to text and back: limits, strictness, rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/num.h"

static void assert_u64(const char *text, int want_r, uint64_t want)
{
    uint64_t value = 4242;
    assert_int_equal(num_parse_u64(str_of(text), &value), want_r);
    assert_true(value == (want_r == 0 ? want : 4242));
}

static void assert_i64(const char *text, int want_r, int64_t want)
{
    int64_t value = 4242;
    assert_int_equal(num_parse_i64(str_of(text), &value), want_r);
    assert_true(value == (want_r == 0 ? want : 4242));
}

static void assert_f64(const char *text, int want_r, double want)
{
    double value = 4242;
    assert_int_equal(num_parse_f64(str_of(text), &value), want_r);
    if (want_r < 0)
        want = 4242;
    assert_memory_equal(&value, &want, sizeof(want));
}

static void test_u64(void **state)
{
    (void)state;
    assert_u64("0", 0, 0);
    assert_u64("007", 0, 7);
    assert_u64("18446744073709551615", 0, UINT64_MAX);
    assert_u64("000000000000000000000000001", 0, 1);
    assert_u64("18446744073709551616", -ERANGE, 0);
    assert_u64("99999999999999999999999999", -ERANGE, 0);
    static const char *const bad[] = {"", " 1", "1 ", "-1", "+1", "1.0", "0x1", "1e3", "a", "1\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_u64(bad[i], -EINVAL, 0);
}

static void test_hex(void **state)
{
    (void)state;
    uint64_t value = 4242;
    assert_int_equal(num_parse_hex(STR("fFfFfFfFfFfFfFf0"), &value), 0);
    assert_true(value == 0xfffffffffffffff0);
    assert_int_equal(num_parse_hex(STR("0a"), &value), 0);
    assert_true(value == 10);
    assert_int_equal(num_parse_hex(STR("00000000000000001"), &value), -ERANGE);
    static const char *const bad[] = {"", "0x1", "g", "-1", " 1", "1 ", "@"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(num_parse_hex(str_of(bad[i]), &value), -EINVAL);
    assert_true(value == 10);
}

static void test_i64(void **state)
{
    (void)state;
    assert_i64("0", 0, 0);
    assert_i64("-0", 0, 0);
    assert_i64("+5", 0, 5);
    assert_i64("-5", 0, -5);
    assert_i64("9223372036854775807", 0, INT64_MAX);
    assert_i64("-9223372036854775808", 0, INT64_MIN);
    assert_i64("9223372036854775808", -ERANGE, 0);
    assert_i64("-9223372036854775809", -ERANGE, 0);
    assert_i64("-99999999999999999999", -ERANGE, 0);
    static const char *const bad[] = {"", "-", "+", "--1", "+-1", "- 1", "1-", " 1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_i64(bad[i], -EINVAL, 0);
}

static void test_f64(void **state)
{
    (void)state;
    assert_f64("0", 0, 0.0);
    assert_f64("1.5", 0, 1.5);
    assert_f64("-2.25", 0, -2.25);
    assert_f64("+3", 0, 3.0);
    assert_f64(".5", 0, 0.5);
    assert_f64("5.", 0, 5.0);
    assert_f64("1e3", 0, 1000.0);
    assert_f64("1.25E-2", 0, 0.0125);
    assert_f64("1.7976931348623157e308", 0, 1.7976931348623157e308);
    assert_f64("1e309", -ERANGE, 0);
    assert_f64("-1e309", -ERANGE, 0);
    static const char *const bad[] = {
        "", ".", "-", "+.", "e3", "1e", "1e+", "0x1p3", "inf", "nan", "1,5", "1.2.3", " 1", "1 ", "1.5f", "--1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_f64(bad[i], -EINVAL, 0);
}

static void test_f64_of_many_digits(void **state)
{
    (void)state;
    char text[201];
    memset(text, '1', 200);
    text[200] = '\0';
    assert_f64(text, -ERANGE, 0);
}

static void test_next_walks_columns(void **state)
{
    (void)state;
    struct str rest = STR("  12\t 0 18446744073709551615x");
    uint64_t value;
    assert_true(num_next_u64(&rest, &value));
    assert_int_equal(value, 12);
    assert_true(num_next_u64(&rest, &value));
    assert_int_equal(value, 0);
    assert_true(num_next_u64(&rest, &value));
    assert_true(value == UINT64_MAX);
    assert_int_equal(rest.n, 1);
    assert_int_equal(rest.p[0], 'x');
    assert_false(num_next_u64(&rest, &value));
}

static void test_next_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "   ", "x", "-1", "\n1", "18446744073709551616", "184467440737095516150"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct str rest = str_of(bad[i]);
        uint64_t value;
        assert_false(num_next_u64(&rest, &value));
    }
}

static void assert_text(struct buf *buf, const char *want)
{
    assert_true(buf_ok(buf));
    assert_string_equal(buf_cstr(buf), want);
    buf_clear(buf);
}

static void test_put_integers(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 256);
    num_put_u64(&buf, 0);
    assert_text(&buf, "0");
    num_put_u64(&buf, UINT64_MAX);
    assert_text(&buf, "18446744073709551615");
    num_put_i64(&buf, INT64_MIN);
    assert_text(&buf, "-9223372036854775808");
    num_put_i64(&buf, INT64_MAX);
    assert_text(&buf, "9223372036854775807");
    num_put_i64(&buf, -1);
    assert_text(&buf, "-1");
    buf_fini(&buf);
}

static void test_put_fixed(void **state)
{
    (void)state;
    static const struct {
        double value;
        unsigned decimals;
        const char *want;
    } rows[] = {
        {0.0, 0, "0"},
        {0.0, 3, "0.000"},
        {1.5, 0, "2"},
        {2.5, 0, "3"},
        {-2.5, 0, "-3"},
        {0.125, 2, "0.13"},
        {-0.125, 2, "-0.13"},
        {0.999, 2, "1.00"},
        {9.9999, 3, "10.000"},
        {1.05, 4, "1.0500"},
        {-0.004, 2, "0.00"},
        {-0.0, 1, "0.0"},
        {123456.789, 1, "123456.8"},
        {0.000000001, 9, "0.000000001"},
        {18446744073709549568.0, 0, "18446744073709549568"},
    };
    struct buf buf;
    buf_init(&buf, 256);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(num_put_fixed(&buf, rows[i].value, rows[i].decimals));
        assert_text(&buf, rows[i].want);
    }
    buf_fini(&buf);
}

static void test_put_fixed_refuses(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 256);
    assert_false(num_put_fixed(&buf, (double)NAN, 2));
    assert_false(num_put_fixed(&buf, (double)INFINITY, 2));
    assert_false(num_put_fixed(&buf, -(double)INFINITY, 2));
    assert_false(num_put_fixed(&buf, 18446744073709551616.0, 2));
    assert_false(num_put_fixed(&buf, 1.0, 10));
    assert_false(num_put_short(&buf, (double)NAN));
    assert_int_equal(buf.len, 0);
    assert_true(buf_ok(&buf));
    buf_fini(&buf);
}

static void test_put_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *want;
    } rows[] = {
        {0.5, "0.5"},
        {2.0, "2.0"},
        {1.23456, "1.2346"},
        {0.0, "0.0"},
        {-1.10, "-1.1"},
        {100.0, "100.0"},
        {-0.00001, "0.0"},
        {0.1004, "0.1004"},
        {0.99996, "1.0"},
        {99.99999, "100.0"},
        {-3.25, "-3.25"},
        {0.0001, "0.0001"},
        {123456789012.5, "123456789012.5"},
        {18446744073709549568.0, "18446744073709549568.0"},
    };
    struct buf buf;
    buf_init(&buf, 256);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(num_put_short(&buf, rows[i].value));
        assert_text(&buf, rows[i].want);
    }
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_i64),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_f64_of_many_digits),
        cmocka_unit_test(test_next_walks_columns),
        cmocka_unit_test(test_next_refuses),
        cmocka_unit_test(test_put_integers),
        cmocka_unit_test(test_put_fixed),
        cmocka_unit_test(test_put_fixed_refuses),
        cmocka_unit_test(test_put_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
