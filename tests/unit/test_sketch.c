/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "summary/summary_internal.h"

struct weighted {
    double value;
    uint64_t weight;
};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double next_share(uint64_t *state)
{
    return (double)(next(state) >> 11) / 9007199254740992.0;
}

enum shape { EVEN, TWO_HUMPS, LONG_TAIL, MANY_ZEROS, CONSTANT, POWERS, SHAPES };

static double next_value(enum shape shape, uint64_t *state)
{
    double share = next_share(state);
    switch (shape) {
    case EVEN:
        return share * 64;
    case TWO_HUMPS:
        return next(state) % 10 == 0 ? 30 + share * 4 : 0.5 + share;
    case LONG_TAIL:
        return 1 / (0.0002 + share);
    case MANY_ZEROS:
        return next(state) % 3 == 0 ? share * 2 : 0;
    case CONSTANT:
        return 3.75;
    case POWERS:
        return (double)(UINT64_C(1) << (next(state) % 13));
    case SHAPES:
        break;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct weighted *left = a, *right = b;
    return (left->value > right->value) - (left->value < right->value);
}

/* The least value with at least `share` of the weight at or below it. */
static double exact_quantile(const struct weighted *sorted, size_t count, double share)
{
    uint64_t total = 0, seen = 0;
    for (size_t i = 0; i < count; i++)
        total += sorted[i].weight;
    for (size_t i = 0; i < count; i++) {
        seen += sorted[i].weight;
        if ((double)seen >= share * (double)total)
            return sorted[i].value;
    }
    return sorted[count - 1].value;
}

static void check(const struct sketch *sketch, const struct weighted *sorted, size_t count)
{
    static const double shares[] = {0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1};
    double before = 0;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        double exact = exact_quantile(sorted, count, shares[i]);
        struct opt_f64 reported = sketch_quantile(sketch, shares[i]);
        assert_true(reported.has);
        double off = reported.v > exact ? reported.v - exact : exact - reported.v;
        if (exact < SKETCH_LEAST)
            assert_true(reported.v <= 0);
        else
            assert_true(off <= exact * SKETCH_ERROR * 1.0000001);
        assert_true(reported.v >= before);
        assert_true(reported.v <= sorted[count - 1].value);
        before = reported.v;
    }
}

static void test_against_exact_quantiles(void **state)
{
    (void)state;
    static struct sketch sketch;
    static struct weighted values[3000];
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned round = 0; round < 200; round++) {
        memset(&sketch, 0, sizeof(sketch));
        size_t count = 1 + (size_t)(next(&seed) % (round % 4 == 0 ? 20 : 3000));
        for (size_t i = 0; i < count; i++) {
            uint64_t weight = round % 2 == 0 ? 1000 : 1 + next(&seed) % 5000;
            values[i] = (struct weighted){next_value((enum shape)(round % SHAPES), &seed), weight};
            sketch_add(&sketch, values[i].value, values[i].weight);
        }
        qsort(values, count, sizeof(values[0]), compare);
        check(&sketch, values, count);
    }
}

static void test_empty(void **state)
{
    (void)state;
    static struct sketch sketch;
    assert_false(sketch_quantile(&sketch, 0.95).has);
    sketch_add(&sketch, 1, 0);
    sketch_add(&sketch, -1, 5);
    sketch_add(&sketch, __builtin_nan(""), 5);
    assert_false(sketch_quantile(&sketch, 0.95).has);
}

static void test_one_value_is_exact(void **state)
{
    (void)state;
    static struct sketch sketch;
    sketch_add(&sketch, 1.0, 7);
    assert_true(sketch_quantile(&sketch, 0.95).v == 1.0);
    assert_true(sketch_quantile(&sketch, 0).v == 1.0);
    assert_true(sketch_quantile(&sketch, 1).v == 1.0);
}

static void test_ends_of_the_range(void **state)
{
    (void)state;
    static struct sketch sketch;
    sketch_add(&sketch, SKETCH_LEAST / 2, 1);
    assert_true(sketch_quantile(&sketch, 0.5).v == 0);
    sketch_add(&sketch, SKETCH_LEAST, 1);
    assert_true(sketch_quantile(&sketch, 1).v == SKETCH_LEAST);
    /* Above 2^14 the last bucket stands for everything. */
    sketch_add(&sketch, 1e9, 98);
    double top = sketch_quantile(&sketch, 0.9).v;
    assert_true(top > 16200 && top < 16384);
    sketch_add(&sketch, __builtin_inf(), 1);
    assert_true(sketch_quantile(&sketch, 1).v < 16384);
}

static void test_weights_count(void **state)
{
    (void)state;
    static struct sketch sketch;
    sketch_add(&sketch, 1, 950);
    sketch_add(&sketch, 8, 50);
    assert_true(sketch_quantile(&sketch, 0.95).v < 1.01);
    sketch_add(&sketch, 8, 1);
    assert_true(sketch_quantile(&sketch, 0.95).v == 8);
}

static void test_share_from_a_value_on(void **state)
{
    (void)state;
    static struct sketch sketch;
    assert_false(sketch_share_from(&sketch, 1).has);
    sketch_add(&sketch, 0, 10);
    sketch_add(&sketch, 0.3, 20);
    sketch_add(&sketch, 2, 30);
    sketch_add(&sketch, 1e9, 40);
    static const double cases[][2] = {{-1, 1}, {0, 1}, {0.01, 0.9}, {0.285, 0.9}, {0.31, 0.7}, {1.9, 0.7}, {2.1, 0.4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_true(sketch_share_from(&sketch, cases[i][0]).v == cases[i][1]);
    assert_true(sketch_share_from(&sketch, 1e10).v == 0);
    assert_true(sketch_share_from(&sketch, __builtin_nan("")).v <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_exact_quantiles),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_one_value_is_exact),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_weights_count),
        cmocka_unit_test(test_share_from_a_value_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
