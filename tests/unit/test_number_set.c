/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of batch numbers: joining ranges, their text both ways, and that odd text is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "stream/number_set.h"

static void assert_text(const struct number_set *set, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 64 * 1024);
    number_set_put(set, &buf);
    assert_string_equal(buf_cstr(&buf), expected);
}

static void test_add_joins(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        const char *text;
    } steps[] = {
        {5, "5"},
        {5, "5"},
        {7, "5,7"},
        {6, "5-7"},
        {0, "0,5-7"},
        {9, "0,5-7,9"},
        {4, "0,4-7,9"},
        {8, "0,4-9"},
        {1, "0-1,4-9"},
        {3, "0-1,3-9"},
        {2, "0-9"},
        {UINT32_MAX, "0-9,4294967295"},
        {UINT32_MAX - 1, "0-9,4294967294-4294967295"},
    };
    struct number_set set = {0};
    assert_text(&set, "");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_int_equal(number_set_add(&set, steps[i].number), 0);
        assert_text(&set, steps[i].text);
    }
    assert_int_equal(number_set_count(&set), 12);
}

static void test_has(void **state)
{
    (void)state;
    struct number_set set;
    assert_int_equal(number_set_parse(STR("0-17,19,4294967295"), &set), 0);
    assert_int_equal(number_set_count(&set), 20);
    static const uint32_t in[] = {0, 1, 17, 19, UINT32_MAX};
    static const uint32_t out[] = {18, 20, 1000, UINT32_MAX - 1};
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
        assert_true(number_set_has(&set, in[i]));
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
        assert_false(number_set_has(&set, out[i]));
    static const struct number_set empty;
    assert_false(number_set_has(&empty, 0));
    assert_int_equal(number_set_count(&empty), 0);
}

static void test_next(void **state)
{
    (void)state;
    struct number_set set;
    struct number_range range = {77, 77};
    size_t at = 0;
    assert_int_equal(number_set_parse(STR("3,10-12"), &set), 0);
    assert_true(number_set_next(&set, &at, &range));
    assert_int_equal(range.first, 3);
    assert_int_equal(range.last, 3);
    assert_true(number_set_next(&set, &at, &range));
    assert_int_equal(range.first, 10);
    assert_int_equal(range.last, 12);
    assert_false(number_set_next(&set, &at, &range));
    assert_int_equal(range.first, 10);
}

static void test_all_numbers(void **state)
{
    (void)state;
    struct number_set set;
    assert_int_equal(number_set_parse(STR("0-4294967295"), &set), 0);
    assert_true(number_set_count(&set) == UINT64_C(4294967296));
    assert_int_equal(number_set_add(&set, 0), 0);
    assert_int_equal(number_set_add(&set, UINT32_MAX), 0);
    assert_text(&set, "0-4294967295");
}

static void test_too_many_ranges(void **state)
{
    (void)state;
    struct number_set set = {0};
    for (uint32_t i = 0; i < NUMBER_SET_RANGES_MAX; i++)
        assert_int_equal(number_set_add(&set, i * 2), 0);
    assert_int_equal(number_set_add(&set, 5000), -E2BIG);
    assert_false(number_set_has(&set, 5000));
    assert_int_equal(number_set_count(&set), NUMBER_SET_RANGES_MAX);
    /* What joins still fits, and makes room. */
    assert_int_equal(number_set_add(&set, 1), 0);
    assert_int_equal(number_set_add(&set, 5000), 0);
    assert_int_equal(number_set_add(&set, 5002), -E2BIG);

    AUTO_BUF struct buf buf;
    buf_init(&buf, 64 * 1024);
    number_set_put(&set, &buf);
    struct number_set again;
    assert_int_equal(number_set_parse((struct str){buf.data, buf.len}, &again), 0);
    assert_int_equal(again.count, NUMBER_SET_RANGES_MAX);
    buf_puts(&buf, ",6000");
    assert_int_equal(number_set_parse((struct str){buf.data, buf.len}, &again), -E2BIG);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {",", "1,", ",1", "1,,3", "1-", "-1", "-", "1-1", "2-1", "01", "0-01", "00",
        "1 ", " 1", "1, 3", "+1", "1-2-3", "3,1", "1,1", "1,2", "1-3,4", "1-3,3-5", "4294967296", "0-4294967296",
        "99999999999999999999999", "x", "1x", "0x1", "1;3", "1\n", "1.0"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct number_set set = {.count = 1, .ranges = {{7, 8}}};
        if (number_set_parse(str_of(broken[i]), &set) != -EINVAL)
            fail_msg("'%s' was not refused", broken[i]);
        assert_text(&set, "7-8");
    }
    struct number_set set;
    assert_int_equal(number_set_parse((struct str){"1\0", 2}, &set), -EINVAL);
    assert_int_equal(number_set_parse((struct str){NULL, 0}, &set), 0);
    assert_int_equal(set.count, 0);
}

/* Against a plain table, in an order that is different each step but the same each time. */
static void test_random(void **state)
{
    (void)state;
    enum { NUMBERS = 600 };
    bool expected[NUMBERS] = {0};
    struct number_set set = {0};
    uint32_t seed = 12345;
    for (int i = 0; i < 900; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t number = (seed >> 8) % NUMBERS;
        expected[number] = true;
        assert_int_equal(number_set_add(&set, number), 0);
    }
    uint64_t count = 0;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(number_set_has(&set, i), expected[i]);
        count += expected[i];
    }
    assert_int_equal(number_set_count(&set), count);
    for (size_t i = 1; i < set.count; i++)
        assert_true(set.ranges[i].first > set.ranges[i - 1].last + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_joins),
        cmocka_unit_test(test_has),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_all_numbers),
        cmocka_unit_test(test_too_many_ranges),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
