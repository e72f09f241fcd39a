/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of PSS reads and whom they go to, under clocks of our own making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

#include "pss_world.h"

static void assert_near(double got, double wanted)
{
    assert_true(got > wanted - 1e-6 && got < wanted + 1e-6);
}

static void test_never_touches_nothing(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_NEVER);
    size_t a = pss_world_add(world, 1000, 100, 100 * NS_PER_SEC);
    assert_false(pss_world_tick(world).has);
    assert_false(pss_world_tick_after(world, 100 * NS_PER_SEC).has);
    assert_int_equal(world->asked, 0);
    assert_false(world->memories[a].is_known || world->memories[a].has_failed || world->memories[a].read_ns != 0);
    world->count = 0;
    assert_false(pss_world_tick(world).has);
    pss_world_close(world);
}

static void test_always_reads_everybody(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_ALWAYS);
    for (int i = 0; i < 100; i++)
        (void)pss_world_add(world, 1024, 1024, 0);
    size_t large = pss_world_add(world, 12 * PAGES_PER_GIB, 6 * 1048576, 0);
    size_t tiny = pss_world_add(world, 0, 200, 0); /* too little for the kernel's rough count */
    for (int i = 0; i < 3; i++) {
        pss_world_assert_bytes(
            pss_world_tick_after(world, NS_PER_MS), 100 * BYTES_PER_MIB + 6 * 1024 * BYTES_PER_MIB + 200 * 1024);
        for (size_t k = 0; k < world->count; k++)
            assert_true(pss_world_was_read(world, k));
    }
    pss_world_set_pss(world, large, 1048576);
    pss_world_set_pss(world, tiny, 100);
    pss_world_assert_bytes(
        pss_world_tick_after(world, NS_PER_MS), 100 * BYTES_PER_MIB + 1024 * BYTES_PER_MIB + 100 * 1024);
    pss_world_close(world);
}

static void test_bank_fills_with_time(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    (void)pss_world_add(world, 0, 0, NS_PER_SEC);
    (void)pss_world_add(world, 0, 0, 3 * NS_PER_SEC);
    (void)pss_world_add(world, 0, 0, 2 * NS_PER_SEC);
    pss_world_assert_bytes(pss_world_tick(world), 0);
    assert_int_equal(world->pss.bank_ns, 15 * NS_PER_MS);
    (void)pss_world_tick(world);
    assert_int_equal(world->pss.bank_ns, 15 * NS_PER_MS);
    (void)pss_world_tick_after(world, 2 * NS_PER_SEC);
    assert_int_equal(world->pss.bank_ns, 25 * NS_PER_MS);
    (void)pss_world_tick_after(world, -NS_PER_SEC);
    assert_int_equal(world->pss.bank_ns, 25 * NS_PER_MS);
    (void)pss_world_tick_after(world, 3600 * NS_PER_SEC);
    assert_int_equal(world->pss.bank_ns, PSS_BANK_NS);
    pss_open(&world->pss, &world->fake.env, TRACKED_PSS_AUTO);
    (void)pss_world_tick(world);
    assert_int_equal(world->pss.bank_ns, PSS_BANK_NS);
    assert_int_equal(world->asked, 0);
    pss_world_close(world);
}

static void test_read_waits_for_its_price(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 8 * NS_PER_MS;
    /* 20 us + 500000 x 20 ns = 10.02 ms, which is earned in 2.004 s. */
    size_t a = pss_world_add(world, 500000, 1000000, 2003 * NS_PER_MS);
    assert_false(pss_world_tick(world).has);
    assert_int_equal(pss_world_reads(world), 0);
    pss_world_assert_bytes(pss_world_tick_after(world, 2 * NS_PER_MS), 1000000 * 1024.0);
    assert_int_equal(pss_world_reads(world), 1);
    assert_int_equal(world->pss.bank_ns, 10025 * NS_PER_US - 8 * NS_PER_MS);
    assert_true(pss_world_was_read(world, a));
    pss_world_close(world);
}

static void test_cost_is_learned(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t a = pss_world_add(world, 500000, 1000, 10 * NS_PER_SEC);
    world->cost_ns = 20 * NS_PER_US + 16 * 500000;
    (void)pss_world_tick(world);
    assert_near(world->memories[a].ns_per_page, 16);
    assert_near(world->pss.ns_per_page, 16);
    world->cost_ns = 20 * NS_PER_US + 26 * 500000;
    (void)pss_world_tick_after(world, PSS_STALE_NS);
    assert_near(world->memories[a].ns_per_page, 0.7 * 16 + 0.3 * 26);
    assert_near(world->pss.ns_per_page, 21);
    /* Cheaper than the fixed part is still measured. */
    size_t b = pss_world_add(world, 10, 10, NS_PER_SEC);
    world->cost_ns = 5 * NS_PER_US;
    (void)pss_world_tick_after(world, NS_PER_SEC);
    assert_true(pss_world_was_read(world, b));
    assert_true(world->memories[b].ns_per_page > 0 && world->memories[b].ns_per_page < 1);
    /* Of a small one the price of its mappings is not taken for that of its few pages. */
    size_t c = pss_world_add(world, 10, 10, NS_PER_SEC);
    world->cost_ns = 20 * NS_PER_US + 30 * 1024;
    (void)pss_world_tick_after(world, NS_PER_SEC);
    assert_near(world->memories[c].ns_per_page, 30);
    pss_world_close(world);
}

static void test_mean_serves_the_unmeasured(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t a = pss_world_add(world, 100000, 1000, 2 * NS_PER_SEC);
    world->cost_ns = 20 * NS_PER_US + 8 * 100000;
    (void)pss_world_tick(world);
    assert_true(pss_world_was_read(world, a));
    assert_int_equal(world->pss.bank_ns, 9180 * NS_PER_US);
    /* 16.02 ms at first, 6.42 ms at 8 ns a page. */
    size_t b = pss_world_add(world, 800000, 1000, NS_PER_SEC);
    (void)pss_world_tick(world);
    assert_true(pss_world_was_read(world, b));
    pss_world_close(world);
}

static void test_debt_is_earned_back(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t a = pss_world_add(world, 500000, 1000, 2100 * NS_PER_MS);
    world->cost_ns = 30500 * NS_PER_US;
    (void)pss_world_tick(world);
    assert_true(pss_world_was_read(world, a));
    assert_int_equal(world->pss.bank_ns, -20 * NS_PER_MS);
    size_t b = pss_world_add(world, 100, 100, NS_PER_SEC);
    world->cost_ns = 50 * NS_PER_US;
    for (int i = 0; i < 4; i++) {
        (void)pss_world_tick_after(world, NS_PER_SEC);
        assert_int_equal(pss_world_reads(world), 1);
    }
    (void)pss_world_tick_after(world, NS_PER_SEC);
    assert_true(pss_world_was_read(world, b));
    pss_world_close(world);
}

static void test_long_reads_are_forbidden(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t a = pss_world_add(world, 2499001, 1000, 100 * NS_PER_SEC); /* 50.00002 ms */
    for (int i = 0; i < 100; i++)
        assert_false(pss_world_tick_after(world, NS_PER_SEC).has);
    assert_int_equal(pss_world_reads(world), 0);
    world->rss_pages[a]--;
    assert_true(pss_world_tick_after(world, NS_PER_SEC).has);
    assert_true(pss_world_was_read(world, a));
    pss_world_close(world);
}

static void test_twelve_gib(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t a = pss_world_add(world, 12 * PAGES_PER_GIB, 12 * 1048576, NS_PER_SEC);
    for (int i = 0; i < 3600; i++)
        assert_false(pss_world_tick_after(world, NS_PER_SEC).has);
    assert_int_equal(pss_world_reads(world), 0);
    pss_open(&world->pss, &world->fake.env, TRACKED_PSS_ALWAYS);
    pss_world_assert_bytes(pss_world_tick_after(world, NS_PER_SEC), 12 * 1024 * BYTES_PER_MIB);
    assert_true(pss_world_was_read(world, a));
    pss_world_close(world);
}

/* One read that took long for another reason does not forbid the next ones for good, nor those of others. */
static void test_wrong_cost_is_forgotten(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t a = pss_world_add(world, 100000, 1000, 100 * NS_PER_SEC);
    world->cost_ns = 60 * NS_PER_MS;
    (void)pss_world_tick(world);
    assert_near(world->memories[a].ns_per_page, 599.8);
    assert_near(world->pss.ns_per_page, 100);
    world->cost_ns = 1620 * NS_PER_US;
    (void)pss_world_tick_after(world, PSS_RESET_NS - 1);
    assert_int_equal(pss_world_reads(world), 1);
    (void)pss_world_tick_after(world, 1);
    assert_int_equal(pss_world_reads(world), 2);
    assert_near(world->memories[a].ns_per_page, 0.7 * 20 + 0.3 * 16);
    pss_world_close(world);
}

static void test_young_and_empty_wait(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 30 * NS_PER_US;
    size_t a = pss_world_add(world, 100, 100, PSS_MIN_AGE_NS - 1);
    size_t b = pss_world_add(world, 0, 100, 100 * NS_PER_SEC);
    (void)pss_world_tick(world);
    assert_int_equal(pss_world_reads(world), 0);
    (void)pss_world_tick_after(world, 1);
    assert_true(pss_world_was_read(world, a));
    assert_int_equal(pss_world_reads(world), 1);
    world->rss_pages[b] = 1;
    (void)pss_world_tick(world);
    assert_true(pss_world_was_read(world, b));
    pss_world_close(world);
}

static void test_read_again_when_changed(void **state)
{
    struct pss_world *world = *state;
    static const struct {
        uint64_t rss_pages;
        int reads;
    } steps[] = {{100000, 1}, {102256, 1}, {97744, 1}, {102257, 2}, {100000, 2}, {99955, 3}, {99955, 3}};
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 2 * NS_PER_MS;
    (void)pss_world_add(world, 100000, 1000, 100 * NS_PER_SEC);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        world->rss_pages[0] = steps[i].rss_pages;
        (void)pss_world_tick_after(world, NS_PER_SEC);
        assert_int_equal(pss_world_reads(world), steps[i].reads);
    }
    pss_world_close(world);
}

static void test_read_again_when_stale(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 30 * NS_PER_US;
    size_t a = pss_world_add(world, 1000, 1000, NS_PER_SEC);
    (void)pss_world_tick(world);
    (void)pss_world_tick_after(world, PSS_STALE_NS - 1);
    assert_int_equal(pss_world_reads(world), 1);
    (void)pss_world_tick_after(world, 1);
    assert_int_equal(pss_world_reads(world), 2);
    /* A second process: too early to look at the first again, but it is remembered. */
    (void)pss_world_tick_after(world, 3 * NS_PER_SEC);
    size_t b = pss_world_add(world, 500, 250, 0);
    (void)pss_world_tick(world);
    (void)pss_world_tick_after(world, 2 * NS_PER_SEC - 1);
    assert_int_equal(pss_world_reads(world), 3);
    assert_true(pss_world_was_read(world, b));
    (void)pss_world_tick_after(world, 1);
    assert_int_equal(pss_world_reads(world), 4);
    assert_true(pss_world_was_read(world, a));
    /* It goes; both changes were seen, so nothing is due until the end of the usual time. */
    (void)pss_world_tick_after(world, 6 * NS_PER_SEC);
    world->count = 1;
    (void)pss_world_tick(world);
    assert_int_equal(pss_world_reads(world), 5);
    (void)pss_world_tick_after(world, 10 * NS_PER_SEC);
    assert_int_equal(pss_world_reads(world), 5);
    pss_world_close(world);
}

/* A price that empties the bank: one is read in a tick. What was learned of it must not forbid the next. */
static void turn_for_one(struct pss_world *world)
{
    world->cost_ns = PSS_BANK_NS;
    for (size_t i = 0; i < world->count; i++)
        world->memories[i].ns_per_page = 1;
    (void)pss_world_tick_after(world, 12 * NS_PER_SEC);
}

static void test_order(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    size_t small = pss_world_add(world, 20000, 1000, 100 * NS_PER_SEC);
    size_t large = pss_world_add(world, 900000, 1000, 100 * NS_PER_SEC);
    size_t middle = pss_world_add(world, 300000, 1000, 100 * NS_PER_SEC);
    /* So large that what changes among the others is little. */
    size_t ballast = pss_world_add(world, 40000000, 1000, 100 * NS_PER_SEC);
    world->memories[ballast].is_refused = true;
    turn_for_one(world);
    assert_true(pss_world_was_read(world, large) && pss_world_known(world) == 1);
    turn_for_one(world);
    assert_true(pss_world_was_read(world, middle) && pss_world_known(world) == 2);
    /* The unknown one comes before a known one that changed more. */
    world->rss_pages[large] = 500000;
    turn_for_one(world);
    assert_true(pss_world_was_read(world, small));
    /* All known: seconds x (change + slack), here 36 x 64,256 against 24 x 76,256 and 12 x 90,656. */
    world->rss_pages[large] = 854000;
    world->rss_pages[middle] = 230000;
    world->rss_pages[small] = 110000;
    turn_for_one(world);
    assert_true(pss_world_was_read(world, large));
    /* 24 x 190,656 against 36 x 76,256. */
    world->rss_pages[small] = 210000;
    turn_for_one(world);
    assert_true(pss_world_was_read(world, small));
    turn_for_one(world);
    assert_true(pss_world_was_read(world, middle));
    pss_world_close(world);
}

/* A large process forks: its pages are shared from now on, and what was read before says nothing of that. */
static void test_reading_is_forgotten_when_much_changes(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 30 * NS_PER_US;
    size_t large = pss_world_add(world, 100000, 400000, NS_PER_SEC);
    assert_true(pss_world_tick(world).has);
    (void)pss_world_add(world, 10000, 40000, 0);
    assert_true(pss_world_tick_after(world, 1).has);
    assert_int_equal(pss_world_reads(world), 1);
    (void)pss_world_add(world, 100000, 200000, 0);
    pss_world_set_pss(world, large, 200000);
    (void)pss_world_tick_after(world, 1);
    assert_true(pss_world_was_read(world, large));
    pss_world_close(world);
}

/* Many short reads wait for the next tick before they make a sample late; one long read must be. */
static void test_one_turn_takes_little(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = NS_PER_MS;
    for (int i = 0; i < 40; i++)
        (void)pss_world_add(world, 50000, 1000, 20 * NS_PER_SEC);
    (void)pss_world_tick(world);
    assert_in_range(pss_world_reads(world), 2, PSS_TICK_NS / NS_PER_MS);
    pss_world_close(world);
}

/* What the largest needs is not spent on others meanwhile. */
static void test_largest_is_saved_for(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 40 * NS_PER_US;
    size_t large = pss_world_add(world, 2000000, 1000, 2 * NS_PER_SEC); /* 40.02 ms */
    for (int i = 0; i < 10; i++)
        (void)pss_world_add(world, 1000, 1000, 2 * NS_PER_SEC);
    for (int i = 3; i <= 8; i++) {
        (void)pss_world_tick_after(world, NS_PER_SEC);
        assert_int_equal(pss_world_reads(world), 0);
    }
    (void)pss_world_tick_after(world, NS_PER_SEC);
    assert_true(pss_world_was_read(world, large));
    assert_int_equal(pss_world_reads(world), 11);
    pss_world_close(world);
}

static void test_an_hour_of_four_gib(void **state)
{
    struct pss_world *world = *state;
    pss_world_open(world, TRACKED_PSS_AUTO);
    (void)pss_world_add(world, 4 * PAGES_PER_GIB, 4 * 1048576, 0);
    (void)pss_world_tick(world);
    int last_at = 0;
    int shortest = INT_MAX;
    int longest = 0;
    for (int second = 1; second <= 3600; second++) {
        /* Five sizes, more than 2 % apart; the spacing is never five seconds. */
        world->rss_pages[0] = 4 * PAGES_PER_GIB - (uint64_t)(second % 5) * 22000;
        world->cost_ns = 16 * (int64_t)world->rss_pages[0];
        (void)pss_world_tick_after(world, NS_PER_SEC);
        assert_true(world->cpu_ns <= second * (NS_PER_SEC / 200));
        if (!pss_world_was_read(world, 0))
            continue;
        if (last_at == 0) {
            assert_int_equal(second, 4); /* 960,576 pages at 20 ns: 19.2 of 20 ms */
        } else {
            shortest = second - last_at < shortest ? second - last_at : shortest;
            longest = second - last_at > longest ? second - last_at : longest;
        }
        last_at = second;
    }
    assert_int_equal(shortest, 3);
    assert_int_equal(longest, 4);
    assert_true(world->cpu_ns <= 18 * NS_PER_SEC);
    assert_true(world->cpu_ns >= 178 * NS_PER_SEC / 10);
    assert_true(pss_world_reads(world) >= 18 * 1000 / 17 && pss_world_reads(world) <= 18 * 1000 / 15);
    pss_world_close(world);
}

static void test_two_thousand_small(void **state)
{
    struct pss_world *world = *state;
    int open_before = fake_env_open_count();
    pss_world_open(world, TRACKED_PSS_AUTO);
    world->cost_ns = 30 * NS_PER_US;
    for (int i = 0; i < 2000; i++)
        (void)pss_world_add(world, 256, 512, NS_PER_SEC);
    /* 64 in a tick: 1.92 ms of the 2.5 ms that each tick brings. */
    for (int tick = 1; tick <= 31; tick++) {
        struct opt_f64 sum = tick == 1 ? pss_world_tick(world) : pss_world_tick_after(world, 500 * NS_PER_MS);
        assert_int_equal(pss_world_known(world), 64 * tick);
        assert_int_equal(sum.has, tick >= 16);
        if (sum.has)
            pss_world_assert_bytes(sum, 2000 * 512 * 1024.0);
    }
    assert_int_equal(pss_world_reads(world), 31 * 64);
    (void)pss_world_tick_after(world, 500 * NS_PER_MS);
    assert_int_equal(pss_world_known(world), 2000);
    /* The first 64 were read 15.5 s ago: none is due. */
    int asked = world->asked;
    pss_world_assert_bytes(pss_world_tick(world), 2000 * 512 * 1024.0);
    assert_int_equal(world->asked, asked);
    /* At 1.2 ms a read the budget is the limit: four in a second. */
    world->cost_ns = 1200 * NS_PER_US;
    world->pss.bank_ns = 0;
    int64_t spent = world->cpu_ns;
    for (int i = 0; i < 60; i++)
        (void)pss_world_tick_after(world, NS_PER_SEC);
    assert_true(world->cpu_ns - spent <= 60 * 5 * NS_PER_MS + 1200 * NS_PER_US);
    assert_true(world->cpu_ns - spent >= 44 * 5 * NS_PER_MS);
    pss_world_close(world);
    assert_int_equal(fake_env_open_count(), open_before);
}

int main(void)
{
    static struct pss_world world;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_never_touches_nothing, &world),
        cmocka_unit_test_prestate(test_always_reads_everybody, &world),
        cmocka_unit_test_prestate(test_bank_fills_with_time, &world),
        cmocka_unit_test_prestate(test_read_waits_for_its_price, &world),
        cmocka_unit_test_prestate(test_cost_is_learned, &world),
        cmocka_unit_test_prestate(test_mean_serves_the_unmeasured, &world),
        cmocka_unit_test_prestate(test_debt_is_earned_back, &world),
        cmocka_unit_test_prestate(test_long_reads_are_forbidden, &world),
        cmocka_unit_test_prestate(test_twelve_gib, &world),
        cmocka_unit_test_prestate(test_wrong_cost_is_forgotten, &world),
        cmocka_unit_test_prestate(test_young_and_empty_wait, &world),
        cmocka_unit_test_prestate(test_read_again_when_changed, &world),
        cmocka_unit_test_prestate(test_read_again_when_stale, &world),
        cmocka_unit_test_prestate(test_order, &world),
        cmocka_unit_test_prestate(test_reading_is_forgotten_when_much_changes, &world),
        cmocka_unit_test_prestate(test_one_turn_takes_little, &world),
        cmocka_unit_test_prestate(test_largest_is_saved_for, &world),
        cmocka_unit_test_prestate(test_an_hour_of_four_gib, &world),
        cmocka_unit_test_prestate(test_two_thousand_small, &world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
