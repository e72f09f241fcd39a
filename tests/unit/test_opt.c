/* SPDX-License-Identifier: Apache-2.0 */
/* Values that may be absent, and the subtraction of counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/opt.h"

static void test_some(void **state)
{
    (void)state;
    assert_true(some_u64(7).has && some_u64(7).v == 7);
    assert_true(some_i64(-7).has && some_i64(-7).v == -7);
    assert_true(some_f64(0.5).has && some_f64(0.5).v == 0.5);
    assert_true(some_bool(false).has && !some_bool(false).v);
    assert_true(some_u64(0).has);
}

static void test_delta(void **state)
{
    (void)state;
    assert_int_equal(counter_delta(10, 15), 5);
    assert_int_equal(counter_delta(10, 10), 0);
    assert_int_equal(counter_delta(15, 10), 0);
    assert_true(counter_delta(0, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(counter_delta(UINT64_MAX, 0), 0);
}

static void test_delta_of_wrapping(void **state)
{
    (void)state;
    assert_int_equal(counter_delta_wrapping(10, 15, 100), 5);
    assert_int_equal(counter_delta_wrapping(95, 3, 100), 8);
    assert_int_equal(counter_delta_wrapping(100, 0, 100), 0);
    assert_int_equal(counter_delta_wrapping(101, 3, 100), 0);
    assert_int_equal(counter_delta_wrapping(95, 3, 0), 0);
    assert_true(counter_delta_wrapping(1, 0, UINT64_MAX) == UINT64_MAX - 1);
}

static void test_delta_of_optional(void **state)
{
    (void)state;
    struct opt_u64 absent = {0};
    struct opt_u64 delta = counter_delta_opt(some_u64(3), some_u64(10));
    assert_true(delta.has);
    assert_int_equal(delta.v, 7);
    delta = counter_delta_opt(some_u64(10), some_u64(3));
    assert_true(delta.has);
    assert_int_equal(delta.v, 0);
    assert_false(counter_delta_opt(absent, some_u64(3)).has);
    assert_false(counter_delta_opt(some_u64(3), absent).has);
    assert_false(counter_delta_opt(absent, absent).has);
}

static void test_scaled(void **state)
{
    (void)state;
    assert_true(opt_scaled(some_u64(1536), 1024.0).has);
    assert_true(opt_scaled(some_u64(1536), 1024.0).v == 1.5);
    assert_false(opt_scaled((struct opt_u64){0}, 1024.0).has);
}

static void test_rate(void **state)
{
    (void)state;
    struct opt_f64 rate = rate_per_sec(some_u64(300), 2000000000);
    assert_true(rate.has);
    assert_true(rate.v == 150.0);
    rate = rate_per_sec(some_u64(0), 1);
    assert_true(rate.has && rate.v == 0.0);
    assert_false(rate_per_sec(some_u64(300), 0).has);
    assert_false(rate_per_sec(some_u64(300), -5).has);
    assert_false(rate_per_sec((struct opt_u64){0}, 1000000000).has);
}

static void test_lower(void **state)
{
    (void)state;
    const struct opt_f64 none = {0};
    assert_true(opt_lower(some_f64(2), some_f64(3)).v == 2.0);
    assert_true(opt_lower(some_f64(3), some_f64(2)).v == 2.0);
    assert_true(opt_lower(none, some_f64(3)).v == 3.0);
    assert_true(opt_lower(some_f64(3), none).v == 3.0);
    assert_false(opt_lower(none, none).has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some),
        cmocka_unit_test(test_delta),
        cmocka_unit_test(test_delta_of_wrapping),
        cmocka_unit_test(test_delta_of_optional),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_lower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
