/* SPDX-License-Identifier: Apache-2.0 */
/* The pause between attempts: doubling, the ceiling, the jitter, and numbers at the edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdbool.h>

#include "base/clock.h"
#include "stream/target.h"

static void assert_between(int64_t value, int64_t low, int64_t high)
{
    if (value < low || value > high)
        fail_msg("%lld is not between %lld and %lld", (long long)value, (long long)low, (long long)high);
}

static void test_doubles_up_to_the_ceiling(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct backoff backoff;
        backoff_init(&backoff, NS_PER_SEC, 30 * NS_PER_SEC, seed);
        static const int64_t full_secs[] = {1, 2, 4, 8, 16, 30, 30, 30};
        for (size_t i = 0; i < sizeof(full_secs) / sizeof(full_secs[0]); i++) {
            int64_t full_ns = full_secs[i] * NS_PER_SEC;
            assert_between(backoff_next(&backoff), full_ns / 2, full_ns);
            assert_int_equal(backoff.failures, i + 1);
        }
    }
}

static void test_reset_begins_anew(void **state)
{
    (void)state;
    struct backoff backoff;
    backoff_init(&backoff, 1000, 1000000, 42);
    for (int i = 0; i < 6; i++)
        (void)backoff_next(&backoff);
    assert_between(backoff_next(&backoff), 32000, 64000);
    backoff_reset(&backoff);
    assert_int_equal(backoff.failures, 0);
    assert_between(backoff_next(&backoff), 500, 1000);
}

/* The waits of many machines fill the whole upper half. */
static void test_spreads(void **state)
{
    (void)state;
    enum { SEEDS = 10000, SLOTS = 10 };
    unsigned slots[SLOTS] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct backoff backoff;
        backoff_init(&backoff, 2000, 2000, seed);
        int64_t wait_ns = backoff_next(&backoff);
        assert_between(wait_ns, 1000, 2000);
        slots[wait_ns == 2000 ? SLOTS - 1 : (wait_ns - 1000) / 100]++;
    }
    for (unsigned i = 0; i < SLOTS; i++)
        assert_in_range(slots[i], SEEDS / SLOTS * 8 / 10, SEEDS / SLOTS * 12 / 10);
}

static void test_one_machine_varies_too(void **state)
{
    (void)state;
    struct backoff backoff;
    backoff_init(&backoff, NS_PER_SEC, NS_PER_SEC, 0);
    int64_t first = backoff_next(&backoff);
    int same = 0;
    for (int i = 0; i < 100; i++)
        same += backoff_next(&backoff) == first;
    assert_true(same < 3);
}

static void test_same_seed_same_waits(void **state)
{
    (void)state;
    struct backoff one;
    struct backoff other;
    backoff_init(&one, 1000, 1000000, 7);
    backoff_init(&other, 1000, 1000000, 7);
    for (int i = 0; i < 20; i++)
        assert_int_equal(backoff_next(&one), backoff_next(&other));
}

static void test_ten_thousand_failures(void **state)
{
    (void)state;
    struct backoff backoff;
    backoff_init(&backoff, 1, INT64_MAX, 1);
    for (int i = 0; i < 10000; i++) {
        int64_t full_ns = i < 63 ? INT64_C(1) << i : INT64_MAX;
        assert_between(backoff_next(&backoff), full_ns / 2, full_ns);
    }
    assert_int_equal(backoff.failures, 10000);
    backoff.failures = UINT_MAX;
    assert_between(backoff_next(&backoff), INT64_MAX / 2, INT64_MAX);
    assert_int_equal(backoff.failures, UINT_MAX);
}

static void test_odd_bounds(void **state)
{
    (void)state;
    struct backoff backoff;
    /* A base above the ceiling. */
    backoff_init(&backoff, 5000, 1000, 3);
    assert_between(backoff_next(&backoff), 500, 1000);
    assert_between(backoff_next(&backoff), 500, 1000);
    backoff_init(&backoff, INT64_MAX, INT64_MAX, 3);
    assert_between(backoff_next(&backoff), INT64_MAX / 2, INT64_MAX);
    assert_between(backoff_next(&backoff), INT64_MAX / 2, INT64_MAX);
    /* Nothing and less than nothing do not stop it from growing. */
    backoff_init(&backoff, 0, 1000, 3);
    for (int i = 0; i < 10; i++)
        (void)backoff_next(&backoff);
    assert_between(backoff_next(&backoff), 500, 1000);
    backoff_init(&backoff, -5, -7, 3);
    for (int i = 0; i < 70; i++)
        assert_int_equal(backoff_next(&backoff), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_up_to_the_ceiling),
        cmocka_unit_test(test_reset_begins_anew),
        cmocka_unit_test(test_spreads),
        cmocka_unit_test(test_one_machine_varies_too),
        cmocka_unit_test(test_same_seed_same_waits),
        cmocka_unit_test(test_ten_thousand_failures),
        cmocka_unit_test(test_odd_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
