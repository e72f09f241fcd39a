/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of PSS reads and which processes they go to, under clocks of our own making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

#include "pss_scenario.h"

static void assert_near(double got, double wanted)
{
    assert_true(got > wanted - 1e-6 && got < wanted + 1e-6);
}

static void test_never_touches_nothing(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_NEVER);
    size_t a = pss_scenario_add(scenario, 1000, 100, 100 * NS_PER_SEC);
    assert_false(pss_scenario_tick(scenario).has);
    assert_false(pss_scenario_tick_after(scenario, 100 * NS_PER_SEC).has);
    assert_int_equal(scenario->asked, 0);
    assert_false(
        scenario->memories[a].is_known || scenario->memories[a].has_failed || scenario->memories[a].read_ns != 0);
    scenario->count = 0;
    assert_false(pss_scenario_tick(scenario).has);
    pss_scenario_close(scenario);
}

static void test_always_reads_all(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_ALWAYS);
    for (int i = 0; i < 100; i++)
        (void)pss_scenario_add(scenario, 1024, 1024, 0);
    size_t large = pss_scenario_add(scenario, 12 * PAGES_PER_GIB, 6 * 1048576, 0);
    size_t tiny = pss_scenario_add(scenario, 0, 200, 0); /* too little for the kernel's rough count */
    for (int i = 0; i < 3; i++) {
        pss_scenario_assert_bytes(
            pss_scenario_tick_after(scenario, NS_PER_MS), 100 * BYTES_PER_MIB + 6 * 1024 * BYTES_PER_MIB + 200 * 1024);
        for (size_t k = 0; k < scenario->count; k++)
            assert_true(pss_scenario_was_read(scenario, k));
    }
    pss_scenario_set_pss(scenario, large, 1048576);
    pss_scenario_set_pss(scenario, tiny, 100);
    pss_scenario_assert_bytes(
        pss_scenario_tick_after(scenario, NS_PER_MS), 100 * BYTES_PER_MIB + 1024 * BYTES_PER_MIB + 100 * 1024);
    pss_scenario_close(scenario);
}

static void test_bank_fills_with_time(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    (void)pss_scenario_add(scenario, 0, 0, NS_PER_SEC);
    (void)pss_scenario_add(scenario, 0, 0, 3 * NS_PER_SEC);
    (void)pss_scenario_add(scenario, 0, 0, 2 * NS_PER_SEC);
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), 0);
    assert_int_equal(scenario->pss.bank_ns, 15 * NS_PER_MS);
    (void)pss_scenario_tick(scenario);
    assert_int_equal(scenario->pss.bank_ns, 15 * NS_PER_MS);
    (void)pss_scenario_tick_after(scenario, 2 * NS_PER_SEC);
    assert_int_equal(scenario->pss.bank_ns, 25 * NS_PER_MS);
    (void)pss_scenario_tick_after(scenario, -NS_PER_SEC);
    assert_int_equal(scenario->pss.bank_ns, 25 * NS_PER_MS);
    (void)pss_scenario_tick_after(scenario, 3600 * NS_PER_SEC);
    assert_int_equal(scenario->pss.bank_ns, PSS_BANK_NS);
    pss_open(&scenario->pss, &scenario->fake.env, TRACKED_PSS_AUTO);
    (void)pss_scenario_tick(scenario);
    assert_int_equal(scenario->pss.bank_ns, PSS_BANK_NS);
    assert_int_equal(scenario->asked, 0);
    pss_scenario_close(scenario);
}

static void test_read_waits_for_its_price(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 8 * NS_PER_MS;
    /* 20 us + 500000 x 20 ns = 10.02 ms, which is earned in 2.004 s. */
    size_t a = pss_scenario_add(scenario, 500000, 1000000, 2003 * NS_PER_MS);
    assert_false(pss_scenario_tick(scenario).has);
    assert_int_equal(pss_scenario_reads(scenario), 0);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 2 * NS_PER_MS), 1000000 * 1024.0);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    assert_int_equal(scenario->pss.bank_ns, 10025 * NS_PER_US - 8 * NS_PER_MS);
    assert_true(pss_scenario_was_read(scenario, a));
    pss_scenario_close(scenario);
}

static void test_cost_is_learned(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 500000, 1000, 10 * NS_PER_SEC);
    scenario->cost_ns = 20 * NS_PER_US + 16 * 500000;
    (void)pss_scenario_tick(scenario);
    assert_near(scenario->memories[a].ns_per_page, 16);
    assert_near(scenario->pss.ns_per_page, 16);
    scenario->cost_ns = 20 * NS_PER_US + 26 * 500000;
    (void)pss_scenario_tick_after(scenario, PSS_STALE_NS);
    assert_near(scenario->memories[a].ns_per_page, 0.7 * 16 + 0.3 * 26);
    assert_near(scenario->pss.ns_per_page, 21);
    /* Cheaper than the fixed part is still measured. */
    size_t b = pss_scenario_add(scenario, 10, 10, NS_PER_SEC);
    scenario->cost_ns = 5 * NS_PER_US;
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
    assert_true(pss_scenario_was_read(scenario, b));
    assert_true(scenario->memories[b].ns_per_page > 0 && scenario->memories[b].ns_per_page < 1);
    /* Of a small one the price of its mappings is not taken for that of its few pages. */
    size_t c = pss_scenario_add(scenario, 10, 10, NS_PER_SEC);
    scenario->cost_ns = 20 * NS_PER_US + 30 * 1024;
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
    assert_near(scenario->memories[c].ns_per_page, 30);
    pss_scenario_close(scenario);
}

static void test_mean_serves_the_unmeasured(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 100000, 1000, 2 * NS_PER_SEC);
    scenario->cost_ns = 20 * NS_PER_US + 8 * 100000;
    (void)pss_scenario_tick(scenario);
    assert_true(pss_scenario_was_read(scenario, a));
    assert_int_equal(scenario->pss.bank_ns, 9180 * NS_PER_US);
    /* 16.02 ms at first, 6.42 ms at 8 ns a page. */
    size_t b = pss_scenario_add(scenario, 800000, 1000, NS_PER_SEC);
    (void)pss_scenario_tick(scenario);
    assert_true(pss_scenario_was_read(scenario, b));
    pss_scenario_close(scenario);
}

static void test_overdrawn_budget_recovers(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 500000, 1000, 2100 * NS_PER_MS);
    scenario->cost_ns = 30500 * NS_PER_US;
    (void)pss_scenario_tick(scenario);
    assert_true(pss_scenario_was_read(scenario, a));
    assert_int_equal(scenario->pss.bank_ns, -20 * NS_PER_MS);
    size_t b = pss_scenario_add(scenario, 100, 100, NS_PER_SEC);
    scenario->cost_ns = 50 * NS_PER_US;
    for (int i = 0; i < 4; i++) {
        (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
        assert_int_equal(pss_scenario_reads(scenario), 1);
    }
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
    assert_true(pss_scenario_was_read(scenario, b));
    pss_scenario_close(scenario);
}

static void test_long_reads_are_forbidden(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 2499001, 1000, 100 * NS_PER_SEC); /* 50.00002 ms */
    for (int i = 0; i < 100; i++)
        assert_false(pss_scenario_tick_after(scenario, NS_PER_SEC).has);
    assert_int_equal(pss_scenario_reads(scenario), 0);
    scenario->rss_pages[a]--;
    assert_true(pss_scenario_tick_after(scenario, NS_PER_SEC).has);
    assert_true(pss_scenario_was_read(scenario, a));
    pss_scenario_close(scenario);
}

static void test_twelve_gib(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 12 * PAGES_PER_GIB, 12 * 1048576, NS_PER_SEC);
    for (int i = 0; i < 3600; i++)
        assert_false(pss_scenario_tick_after(scenario, NS_PER_SEC).has);
    assert_int_equal(pss_scenario_reads(scenario), 0);
    pss_open(&scenario->pss, &scenario->fake.env, TRACKED_PSS_ALWAYS);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, NS_PER_SEC), 12 * 1024 * BYTES_PER_MIB);
    assert_true(pss_scenario_was_read(scenario, a));
    pss_scenario_close(scenario);
}

/* One read that took long for another reason does not forbid the next ones for good, nor those of others. */
static void test_wrong_cost_is_dropped(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 100000, 1000, 100 * NS_PER_SEC);
    scenario->cost_ns = 60 * NS_PER_MS;
    (void)pss_scenario_tick(scenario);
    assert_near(scenario->memories[a].ns_per_page, 599.8);
    assert_near(scenario->pss.ns_per_page, 100);
    scenario->cost_ns = 1620 * NS_PER_US;
    (void)pss_scenario_tick_after(scenario, PSS_RESET_NS - 1);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    (void)pss_scenario_tick_after(scenario, 1);
    assert_int_equal(pss_scenario_reads(scenario), 2);
    assert_near(scenario->memories[a].ns_per_page, 0.7 * 20 + 0.3 * 16);
    pss_scenario_close(scenario);
}

static void test_young_and_empty_wait(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    size_t a = pss_scenario_add(scenario, 100, 100, PSS_MIN_AGE_NS - 1);
    size_t b = pss_scenario_add(scenario, 0, 100, 100 * NS_PER_SEC);
    (void)pss_scenario_tick(scenario);
    assert_int_equal(pss_scenario_reads(scenario), 0);
    (void)pss_scenario_tick_after(scenario, 1);
    assert_true(pss_scenario_was_read(scenario, a));
    assert_int_equal(pss_scenario_reads(scenario), 1);
    scenario->rss_pages[b] = 1;
    (void)pss_scenario_tick(scenario);
    assert_true(pss_scenario_was_read(scenario, b));
    pss_scenario_close(scenario);
}

static void test_read_again_when_changed(void **state)
{
    struct pss_scenario *scenario = *state;
    static const struct {
        uint64_t rss_pages;
        int reads;
    } steps[] = {{100000, 1}, {102256, 1}, {97744, 1}, {102257, 2}, {100000, 2}, {99955, 3}, {99955, 3}};
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 2 * NS_PER_MS;
    (void)pss_scenario_add(scenario, 100000, 1000, 100 * NS_PER_SEC);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        scenario->rss_pages[0] = steps[i].rss_pages;
        (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
        assert_int_equal(pss_scenario_reads(scenario), steps[i].reads);
    }
    pss_scenario_close(scenario);
}

static void test_read_again_when_stale(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    size_t a = pss_scenario_add(scenario, 1000, 1000, NS_PER_SEC);
    (void)pss_scenario_tick(scenario);
    (void)pss_scenario_tick_after(scenario, PSS_STALE_NS - 1);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    (void)pss_scenario_tick_after(scenario, 1);
    assert_int_equal(pss_scenario_reads(scenario), 2);
    /* A second process: too early to look at the first again, but it is remembered. */
    (void)pss_scenario_tick_after(scenario, 3 * NS_PER_SEC);
    size_t b = pss_scenario_add(scenario, 500, 250, 0);
    (void)pss_scenario_tick(scenario);
    (void)pss_scenario_tick_after(scenario, 2 * NS_PER_SEC - 1);
    assert_int_equal(pss_scenario_reads(scenario), 3);
    assert_true(pss_scenario_was_read(scenario, b));
    (void)pss_scenario_tick_after(scenario, 1);
    assert_int_equal(pss_scenario_reads(scenario), 4);
    assert_true(pss_scenario_was_read(scenario, a));
    /* It goes; both changes were seen, so nothing is due until the end of the usual time. */
    (void)pss_scenario_tick_after(scenario, 6 * NS_PER_SEC);
    scenario->count = 1;
    (void)pss_scenario_tick(scenario);
    assert_int_equal(pss_scenario_reads(scenario), 5);
    (void)pss_scenario_tick_after(scenario, 10 * NS_PER_SEC);
    assert_int_equal(pss_scenario_reads(scenario), 5);
    pss_scenario_close(scenario);
}

/* A price that empties the bank: one is read in a tick. What was learned of it must not forbid the next. */
static void tick_for_one(struct pss_scenario *scenario)
{
    scenario->cost_ns = PSS_BANK_NS;
    for (size_t i = 0; i < scenario->count; i++)
        scenario->memories[i].ns_per_page = 1;
    (void)pss_scenario_tick_after(scenario, 12 * NS_PER_SEC);
}

static void test_order(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t small = pss_scenario_add(scenario, 20000, 1000, 100 * NS_PER_SEC);
    size_t large = pss_scenario_add(scenario, 900000, 1000, 100 * NS_PER_SEC);
    size_t middle = pss_scenario_add(scenario, 300000, 1000, 100 * NS_PER_SEC);
    /* So large that what changes among the others is little. */
    size_t ballast = pss_scenario_add(scenario, 40000000, 1000, 100 * NS_PER_SEC);
    scenario->memories[ballast].is_refused = true;
    tick_for_one(scenario);
    assert_true(pss_scenario_was_read(scenario, large) && pss_scenario_known(scenario) == 1);
    tick_for_one(scenario);
    assert_true(pss_scenario_was_read(scenario, middle) && pss_scenario_known(scenario) == 2);
    /* The unknown one comes before a known one that changed more. */
    scenario->rss_pages[large] = 500000;
    tick_for_one(scenario);
    assert_true(pss_scenario_was_read(scenario, small));
    /* All known: seconds x (change + slack), here 36 x 64,256 against 24 x 76,256 and 12 x 90,656. */
    scenario->rss_pages[large] = 854000;
    scenario->rss_pages[middle] = 230000;
    scenario->rss_pages[small] = 110000;
    tick_for_one(scenario);
    assert_true(pss_scenario_was_read(scenario, large));
    /* 24 x 190,656 against 36 x 76,256. */
    scenario->rss_pages[small] = 210000;
    tick_for_one(scenario);
    assert_true(pss_scenario_was_read(scenario, small));
    tick_for_one(scenario);
    assert_true(pss_scenario_was_read(scenario, middle));
    pss_scenario_close(scenario);
}

/* A large process forks: its pages are shared from now on, and what was read before says nothing of that. */
static void test_reading_is_dropped_when_much_changes(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    size_t large = pss_scenario_add(scenario, 100000, 400000, NS_PER_SEC);
    assert_true(pss_scenario_tick(scenario).has);
    (void)pss_scenario_add(scenario, 10000, 40000, 0);
    assert_true(pss_scenario_tick_after(scenario, 1).has);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    (void)pss_scenario_add(scenario, 100000, 200000, 0);
    pss_scenario_set_pss(scenario, large, 200000);
    (void)pss_scenario_tick_after(scenario, 1);
    assert_true(pss_scenario_was_read(scenario, large));
    pss_scenario_close(scenario);
}

/* Many short reads wait for the next tick before they make a sample late; one long read must be. */
static void test_one_tick_takes_little(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = NS_PER_MS;
    for (int i = 0; i < 40; i++)
        (void)pss_scenario_add(scenario, 50000, 1000, 20 * NS_PER_SEC);
    (void)pss_scenario_tick(scenario);
    assert_in_range(pss_scenario_reads(scenario), 2, PSS_TICK_NS / NS_PER_MS);
    pss_scenario_close(scenario);
}

/* What the largest needs is not spent on others meanwhile. */
static void test_largest_is_saved_for(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 40 * NS_PER_US;
    size_t large = pss_scenario_add(scenario, 2000000, 1000, 2 * NS_PER_SEC); /* 40.02 ms */
    for (int i = 0; i < 10; i++)
        (void)pss_scenario_add(scenario, 1000, 1000, 2 * NS_PER_SEC);
    for (int i = 3; i <= 8; i++) {
        (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
        assert_int_equal(pss_scenario_reads(scenario), 0);
    }
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
    assert_true(pss_scenario_was_read(scenario, large));
    assert_int_equal(pss_scenario_reads(scenario), 11);
    pss_scenario_close(scenario);
}

static void test_an_hour_of_four_gib(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    (void)pss_scenario_add(scenario, 4 * PAGES_PER_GIB, 4 * 1048576, 0);
    (void)pss_scenario_tick(scenario);
    int last_at = 0;
    int shortest = INT_MAX;
    int longest = 0;
    for (int second = 1; second <= 3600; second++) {
        /* Five sizes, more than 2 % apart; the spacing is never five seconds. */
        scenario->rss_pages[0] = 4 * PAGES_PER_GIB - (uint64_t)(second % 5) * 22000;
        scenario->cost_ns = 16 * (int64_t)scenario->rss_pages[0];
        (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
        assert_true(scenario->cpu_ns <= second * (NS_PER_SEC / 200));
        if (!pss_scenario_was_read(scenario, 0))
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
    assert_true(scenario->cpu_ns <= 18 * NS_PER_SEC);
    assert_true(scenario->cpu_ns >= 178 * NS_PER_SEC / 10);
    assert_true(pss_scenario_reads(scenario) >= 18 * 1000 / 17 && pss_scenario_reads(scenario) <= 18 * 1000 / 15);
    pss_scenario_close(scenario);
}

static void test_two_thousand_small(void **state)
{
    struct pss_scenario *scenario = *state;
    int open_before = fake_env_open_count();
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    for (int i = 0; i < 2000; i++)
        (void)pss_scenario_add(scenario, 256, 512, NS_PER_SEC);
    /* 64 in a tick: 1.92 ms of the 2.5 ms that each tick brings. */
    for (int tick = 1; tick <= 31; tick++) {
        struct opt_f64 sum =
            tick == 1 ? pss_scenario_tick(scenario) : pss_scenario_tick_after(scenario, 500 * NS_PER_MS);
        assert_int_equal(pss_scenario_known(scenario), 64 * tick);
        assert_int_equal(sum.has, tick >= 16);
        if (sum.has)
            pss_scenario_assert_bytes(sum, 2000 * 512 * 1024.0);
    }
    assert_int_equal(pss_scenario_reads(scenario), 31 * 64);
    (void)pss_scenario_tick_after(scenario, 500 * NS_PER_MS);
    assert_int_equal(pss_scenario_known(scenario), 2000);
    /* The first 64 were read 15.5 s ago: none is due. */
    int asked = scenario->asked;
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), 2000 * 512 * 1024.0);
    assert_int_equal(scenario->asked, asked);
    /* At 1.2 ms a read the budget is the limit: four in a second. */
    scenario->cost_ns = 1200 * NS_PER_US;
    scenario->pss.bank_ns = 0;
    int64_t spent = scenario->cpu_ns;
    for (int i = 0; i < 60; i++)
        (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
    assert_true(scenario->cpu_ns - spent <= 60 * 5 * NS_PER_MS + 1200 * NS_PER_US);
    assert_true(scenario->cpu_ns - spent >= 44 * 5 * NS_PER_MS);
    pss_scenario_close(scenario);
    assert_int_equal(fake_env_open_count(), open_before);
}

/* A process that hangs holds a lock which this file needs, too, whichever of its files hung first. */
static void test_stuck_files(void **state)
{
    struct pss_scenario *scenario = *state;
    static const char *const files[] = {"smaps_rollup", "stat", "cmdline"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        static struct blocking_thread stall;
        stall = (struct blocking_thread){.state = BLOCKING_ABANDONED, .pid = PSS_SCENARIO_FIRST_PID, .file = files[i]};
        struct blocking blocking = {.stalls = {&stall}, .stall_count = 1};
        pss_scenario_open(scenario, TRACKED_PSS_ALWAYS);
        scenario->fake.env.blocking = &blocking;
        size_t stuck = pss_scenario_add(scenario, 1000, 100, 100 * NS_PER_SEC);
        size_t other = pss_scenario_add(scenario, 1000, 100, 100 * NS_PER_SEC);
        (void)pss_scenario_tick(scenario);
        assert_false(scenario->memories[stuck].is_known);
        assert_true(scenario->memories[other].is_known);
        atomic_store(&stall.state, BLOCKING_RETURNED);
        (void)pss_scenario_tick_after(scenario, PSS_RETRY_NS);
        assert_true(scenario->memories[stuck].is_known);
        pss_scenario_close(scenario);
    }
}

int main(void)
{
    static struct pss_scenario scenario;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_never_touches_nothing, &scenario),
        cmocka_unit_test_prestate(test_always_reads_all, &scenario),
        cmocka_unit_test_prestate(test_bank_fills_with_time, &scenario),
        cmocka_unit_test_prestate(test_read_waits_for_its_price, &scenario),
        cmocka_unit_test_prestate(test_cost_is_learned, &scenario),
        cmocka_unit_test_prestate(test_mean_serves_the_unmeasured, &scenario),
        cmocka_unit_test_prestate(test_overdrawn_budget_recovers, &scenario),
        cmocka_unit_test_prestate(test_long_reads_are_forbidden, &scenario),
        cmocka_unit_test_prestate(test_twelve_gib, &scenario),
        cmocka_unit_test_prestate(test_wrong_cost_is_dropped, &scenario),
        cmocka_unit_test_prestate(test_young_and_empty_wait, &scenario),
        cmocka_unit_test_prestate(test_read_again_when_changed, &scenario),
        cmocka_unit_test_prestate(test_read_again_when_stale, &scenario),
        cmocka_unit_test_prestate(test_order, &scenario),
        cmocka_unit_test_prestate(test_reading_is_dropped_when_much_changes, &scenario),
        cmocka_unit_test_prestate(test_one_tick_takes_little, &scenario),
        cmocka_unit_test_prestate(test_largest_is_saved_for, &scenario),
        cmocka_unit_test_prestate(test_an_hour_of_four_gib, &scenario),
        cmocka_unit_test_prestate(test_two_thousand_small, &scenario),
        cmocka_unit_test_prestate(test_stuck_files, &scenario),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
