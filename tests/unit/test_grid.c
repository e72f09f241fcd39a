/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling grid: lateness and missed places, between the places and far behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "run/loop.h"

static struct grid grid_of_ms(int64_t interval_ms)
{
    return (struct grid){.start_ns = 1000 * NS_PER_SEC, .interval_ns = interval_ms * NS_PER_MS};
}

static void assert_tick(struct grid_tick tick, int64_t late_ns, uint64_t missed)
{
    assert_int_equal(tick.late_ns, late_ns);
    assert_int_equal(tick.missed, missed);
}

static void test_on_time(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    for (int64_t k = 1; k <= 1000; k++)
        assert_tick(grid_advance(&grid, 1, grid.start_ns + k * 100 * NS_PER_MS), 0, 0);
    assert_int_equal(grid.index, 1000);
}

static void test_lateness_does_not_add_up(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    for (int64_t k = 1; k <= 1000; k++)
        assert_tick(grid_advance(&grid, 1, grid.start_ns + k * 100 * NS_PER_MS + 7), 7, 0);
}

static void test_missed_places(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    assert_tick(grid_advance(&grid, 1, grid.start_ns + 100 * NS_PER_MS), 0, 0);
    /* 200, 300 and 400 were reached; late is counted from the newest of them. */
    assert_tick(grid_advance(&grid, 3, grid.start_ns + 450 * NS_PER_MS), 50 * NS_PER_MS, 2);
    assert_int_equal(grid.index, 4);
    assert_tick(grid_advance(&grid, 1, grid.start_ns + 501 * NS_PER_MS), NS_PER_MS, 0);
}

static void test_later_than_a_whole_interval(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(10);
    /* The timer was read before a long pause: one expiration, and the clock is three places further. */
    assert_tick(grid_advance(&grid, 1, grid.start_ns + 40 * NS_PER_MS), 30 * NS_PER_MS, 0);
    assert_tick(grid_advance(&grid, 3, grid.start_ns + 40 * NS_PER_MS), 0, 2);
}

static void test_never_early(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    assert_tick(grid_advance(&grid, 1, grid.start_ns + 99 * NS_PER_MS), 0, 0);
    assert_tick(grid_advance(&grid, 1, 0), 0, 0);
}

static void test_long_runs_do_not_overflow(void **state)
{
    (void)state;
    struct grid grid = {.start_ns = INT64_C(1) << 40, .interval_ns = 86400 * NS_PER_SEC};
    uint64_t century = 36525;
    int64_t now_ns = grid.start_ns + (int64_t)century * grid.interval_ns + 3;
    assert_tick(grid_advance(&grid, century, now_ns), 3, century - 1);
    grid = (struct grid){.start_ns = 5, .interval_ns = 10 * NS_PER_MS};
    uint64_t places = UINT64_C(100000000000);
    assert_tick(grid_advance(&grid, places, 5 + (int64_t)places * 10 * NS_PER_MS), 0, places - 1);
}

static void test_between_places(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    /* Before the first place, nothing is missed. */
    assert_tick(grid_between(&grid, grid.start_ns), 0, 0);
    assert_tick(grid_between(&grid, grid.start_ns + 99 * NS_PER_MS), 0, 0);
    assert_int_equal(grid.index, 0);
    assert_tick(grid_advance(&grid, 1, grid.start_ns + 100 * NS_PER_MS), 0, 0);
    assert_tick(grid_between(&grid, grid.start_ns + 150 * NS_PER_MS), 0, 0);
    /* 200, 300 and 400 went by unseen, and are reported once. */
    assert_tick(grid_between(&grid, grid.start_ns + 499 * NS_PER_MS), 0, 3);
    assert_tick(grid_between(&grid, grid.start_ns + 499 * NS_PER_MS), 0, 0);
    assert_int_equal(grid.index, 4);
    /* The sample of 600; 500 went by unseen. */
    assert_tick(grid_between(&grid, grid.start_ns + 600 * NS_PER_MS + 1), 0, 1);
    assert_int_equal(grid.index, 6);
}

static void test_between_with_a_clock_before_the_start(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    assert_tick(grid_between(&grid, grid.start_ns - 1), 0, 0);
    assert_tick(grid_between(&grid, grid.start_ns - 100 * NS_PER_SEC), 0, 0);
    assert_int_equal(grid.index, 0);
}

static void test_between_after_an_early_timer(void **state)
{
    (void)state;
    struct grid grid = grid_of_ms(100);
    (void)grid_advance(&grid, 2, grid.start_ns + 199 * NS_PER_MS);
    assert_tick(grid_between(&grid, grid.start_ns + 199 * NS_PER_MS), 0, 0);
    assert_int_equal(grid.index, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_time),
        cmocka_unit_test(test_lateness_does_not_add_up),
        cmocka_unit_test(test_missed_places),
        cmocka_unit_test(test_later_than_a_whole_interval),
        cmocka_unit_test(test_never_early),
        cmocka_unit_test(test_long_runs_do_not_overflow),
        cmocka_unit_test(test_between_places),
        cmocka_unit_test(test_between_with_a_clock_before_the_start),
        cmocka_unit_test(test_between_after_an_early_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
