/* SPDX-License-Identifier: Apache-2.0 */
/* What PSS reads that fail leave behind, and the sum over the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pss_scenario.h"
#include "skip.h"

SKIPPABLE_TEST(test_refused);
static void test_refused(void **state)
{
    struct pss_scenario *scenario = *state;
    if (!pss_scenario_can_be_nobody())
        SKIP_TEST(test_refused, "only root may become another user");
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    size_t a = pss_scenario_add(scenario, 1000, 1000, NS_PER_SEC);
    size_t b = pss_scenario_add(scenario, 2000, 1000, NS_PER_SEC);
    pss_scenario_chmod(scenario, b, 0);
    pss_scenario_assert_bytes(pss_scenario_tick_unprivileged(scenario, 0), 1000 * 1024 + 2000 * 4096);
    char wanted[240];
    (void)snprintf(wanted, sizeof(wanted),
        "tree: cannot read %s/proc/101/smaps_rollup: Permission denied; its resident memory is counted instead",
        scenario->fake.dir);
    assert_string_equal(scenario->err.msg, wanted);
    assert_int_equal(scenario->err.code, -EACCES);
    assert_true(scenario->memories[b].is_refused && !scenario->memories[b].is_known);
    scenario->rss_pages[b] = 50000;
    pss_scenario_assert_bytes(pss_scenario_tick_unprivileged(scenario, 2 * PSS_STALE_NS), 1000 * 1024 + 50000 * 4096);
    assert_int_equal(scenario->err.code, 0);
    assert_int_equal(pss_scenario_reads(scenario), 3);
    /* One that was known may be refused later; then none is known. */
    pss_scenario_chmod(scenario, a, 0);
    assert_false(pss_scenario_tick_unprivileged(scenario, PSS_STALE_NS).has);
    assert_true(scenario->memories[a].is_refused && !scenario->memories[a].is_known);
    pss_scenario_close(scenario);
}

SKIPPABLE_TEST(test_refused_but_always_asked);
static void test_refused_but_always_asked(void **state)
{
    struct pss_scenario *scenario = *state;
    if (!pss_scenario_can_be_nobody())
        SKIP_TEST(test_refused_but_always_asked, "only root may become another user");
    pss_scenario_open(scenario, TRACKED_PSS_ALWAYS);
    size_t a = pss_scenario_add(scenario, 1000, 1000, 0);
    size_t b = pss_scenario_add(scenario, 1000, 500, 0);
    pss_scenario_chmod(scenario, a, 0);
    pss_scenario_chmod(scenario, b, 0);
    assert_false(pss_scenario_tick_unprivileged(scenario, 1).has);
    assert_non_null(strstr(scenario->err.msg, "/proc/100/smaps_rollup"));
    assert_false(pss_scenario_tick_unprivileged(scenario, 1).has);
    assert_int_equal(scenario->err.code, 0);
    pss_scenario_chmod(scenario, a, 0644);
    pss_scenario_assert_bytes(pss_scenario_tick_unprivileged(scenario, 1), 1000 * 1024 + 1000 * 4096);
    pss_scenario_close(scenario);
}

static void test_what_was_reported_stays(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_ALWAYS);
    size_t a = pss_scenario_add(scenario, 1000, 1000, 0);
    pss_scenario_write(scenario, a, "broken");
    (void)pss_scenario_tick(scenario);
    assert_int_equal(scenario->err.code, -EINVAL);
    struct err reported = {0};
    (void)err_set(&reported, -EIO, "first");
    (void)pss_tick(&scenario->pss, scenario->list, scenario->count, scenario->fake.mono_ns, &reported);
    assert_string_equal(reported.msg, "first");
    assert_int_equal(reported.code, -EIO);
    assert_false(pss_tick(&scenario->pss, scenario->list, scenario->count, scenario->fake.mono_ns, NULL).has);
    pss_scenario_close(scenario);
}

static void test_gone_and_absent(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    size_t a = pss_scenario_add(scenario, 1000, 1000, NS_PER_SEC);
    fake_env_remove(&scenario->fake, "proc/100");
    assert_false(pss_scenario_tick(scenario).has);
    assert_int_equal(scenario->err.code, 0);
    assert_false(scenario->pss.is_absent || scenario->memories[a].is_known);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    /* Tried again, but not at every tick; now the process is there and the file is not. */
    fake_env_write(&scenario->fake, "proc/100/stat", "100 (sh) S 1\n");
    (void)pss_scenario_tick_after(scenario, PSS_RETRY_NS - 1);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    assert_false(pss_scenario_tick_after(scenario, 1).has);
    assert_true(scenario->pss.is_absent);
    assert_int_equal(scenario->err.code, 0);
    pss_scenario_set_pss(scenario, a, 1000);
    assert_false(pss_scenario_tick_after(scenario, PSS_STALE_NS).has);
    assert_int_equal(pss_scenario_reads(scenario), 2);
    scenario->count = 0;
    assert_false(pss_scenario_tick(scenario).has);
    pss_scenario_close(scenario);
}

static void test_kernel_that_has_it_keeps_it(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_ALWAYS);
    (void)pss_scenario_add(scenario, 1000, 1000, 0);
    (void)pss_scenario_add(scenario, 100, 100, 0);
    (void)pss_scenario_tick(scenario);
    fake_env_remove(&scenario->fake, "proc/101/smaps_rollup");
    fake_env_write(&scenario->fake, "proc/101/stat", "101 (sh) S 1\n");
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 1), 1100 * 1024);
    assert_false(scenario->pss.is_absent);
    pss_scenario_close(scenario);
}

static void test_empty_file(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_ALWAYS);
    size_t thread = pss_scenario_add(scenario, 0, 0, 0);
    size_t a = pss_scenario_add(scenario, 1000, 2000, 0);
    size_t b = pss_scenario_add(scenario, 500, 0, 0);
    pss_scenario_write(scenario, thread, "");
    pss_scenario_write(scenario, b, "");
    /* Nothing for the first; the last as the second, half of its RSS. */
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), (2000 + 1000) * 1024);
    assert_int_equal(scenario->err.code, 0);
    assert_false(
        scenario->memories[thread].is_known || scenario->memories[b].is_known || scenario->memories[b].is_refused);
    /* What was known stays so. */
    pss_scenario_write(scenario, a, "");
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 1), (2000 + 1000) * 1024);
    pss_scenario_close(scenario);
}

static void test_broken_file(void **state)
{
    struct pss_scenario *scenario = *state;
    static char endless[20000];
    memset(endless, 'x', sizeof(endless) - 1);
    static const char *const texts[] = {"x", "Rss: 10 kB\n", "Rss: 10 kB\nPss: many kB\n", endless};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pss_scenario_open(scenario, TRACKED_PSS_AUTO);
        scenario->cost_ns = 30 * NS_PER_US;
        pss_scenario_add(scenario, 1000, 1000, NS_PER_SEC);
        pss_scenario_write(scenario, 0, texts[i]);
        assert_false(pss_scenario_tick(scenario).has);
        assert_int_equal(scenario->err.code, -EINVAL);
        assert_non_null(strstr(scenario->err.msg, "/proc/100/smaps_rollup"));
        assert_false(pss_scenario_tick_after(scenario, NS_PER_SEC).has);
        assert_int_equal(scenario->err.code, 0);
        assert_int_equal(pss_scenario_reads(scenario), 1);
        pss_scenario_set_pss(scenario, 0, 1000);
        pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_RETRY_NS), 1000 * 1024);
        assert_int_equal(scenario->memories[0].has_failed, false);
        pss_scenario_close(scenario);
    }
}

enum { GIVEN_MAX = 3 };

/* Memories as earlier ticks left them. */
struct given {
    enum { NOT_THERE, UNKNOWN, KNOWN, REFUSED } kind;
    uint64_t rss_pages, pss_kib, at_rss_pages;
};

struct sum_case {
    struct given given[GIVEN_MAX];
    struct opt_f64 kib;
};

#define SOME(kib)                                                                                                      \
    {                                                                                                                  \
        true, (kib)                                                                                                    \
    }
#define ABSENT                                                                                                         \
    {                                                                                                                  \
        false, 0                                                                                                       \
    }

static void check_sum(struct pss_scenario *scenario, const struct sum_case *given, int64_t page_bytes)
{
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->fake.env.page_bytes = page_bytes;
    for (size_t i = 0; i < GIVEN_MAX && given->given[i].kind != NOT_THERE; i++) {
        const struct given *one = &given->given[i];
        (void)pss_scenario_add(scenario, one->rss_pages, 0, PSS_MIN_AGE_NS - 1);
        scenario->memories[i] = (struct pss_memory){.is_known = one->kind == KNOWN,
            .is_refused = one->kind == REFUSED,
            .pss_kib = one->pss_kib,
            .at_rss_pages = one->at_rss_pages};
    }
    uint64_t all = 0;
    for (size_t i = 0; i < scenario->count; i++)
        all += scenario->rss_pages[i];
    for (size_t i = 0; i < scenario->count; i++)
        scenario->memories[i].others_pages = all - scenario->rss_pages[i];
    struct opt_f64 sum = pss_scenario_tick(scenario);
    assert_int_equal(pss_scenario_reads(scenario), 0);
    if (given->kib.has)
        pss_scenario_assert_bytes(sum, given->kib.v * 1024);
    else
        assert_false(sum.has);
    pss_scenario_close(scenario);
}

static void test_sums(void **state)
{
    static const struct sum_case cases[] = {
        {{{0}}, SOME(0)},
        {{{UNKNOWN, 0, 0, 0}, {REFUSED, 0, 0, 0}}, SOME(0)},
        {{{KNOWN, 1000, 3000, 1000}}, SOME(3000)},
        {{{KNOWN, 500, 3000, 1000}}, SOME(1500)},
        {{{KNOWN, 2000, 3000, 1000}}, SOME(6000)},
        {{{KNOWN, 500, 3000, 0}}, SOME(3000)},
        {{{KNOWN, 0, 200, 0}}, SOME(200)},
        /* More than RSS only as far as it was read so. */
        {{{KNOWN, 1000, 8000, 1000}}, SOME(8000)},
        {{{KNOWN, 3000, 8000, 1000}}, SOME(12000)},
        {{{KNOWN, 10, 80, 10}, {UNKNOWN, 10, 0, 0}}, SOME(80 + 40)},
        {{{KNOWN, 1000, 3000, 1000}, {REFUSED, 500, 0, 0}}, SOME(3000 + 2000)},
        /* 6000 KiB of 3000 pages are half of them, and of each 3,333 KiB are shared: 2/3 of 4000 and 1/3 of 2000. */
        {{{KNOWN, 2000, 4000, 2000}, {KNOWN, 1000, 2000, 1000}, {UNKNOWN, 1500, 0, 0}}, SOME(6000 + 3000)},
        {{{KNOWN, 2000, 4000, 2000}, {KNOWN, 1000, 2000, 1000}, {UNKNOWN, 2400, 0, 0}},
            SOME(6000 + 9600 - 10000.0 / 3)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_sum(*state, &cases[i], 4096);
    static const struct sum_case large_pages = {
        {{KNOWN, 100, 3200, 100}, {REFUSED, 10, 0, 0}, {UNKNOWN, 4, 0, 0}}, SOME(3200 + 640 + 128)};
    check_sum(*state, &large_pages, 65536);
}

static void test_sums_of_too_little(void **state)
{
    static const struct sum_case cases[] = {
        {{{KNOWN, 1000, 2000, 1000}, {UNKNOWN, 1000, 0, 0}}, SOME(2000 + 2000)},
        {{{KNOWN, 1000, 2000, 1000}, {UNKNOWN, 1001, 0, 0}}, ABSENT},
        {{{KNOWN, 100, 200, 100}, {REFUSED, 900, 0, 0}, {UNKNOWN, 1000, 0, 0}}, SOME(200 + 3600 + 3800)},
        {{{KNOWN, 100, 200, 100}, {REFUSED, 900, 0, 0}, {UNKNOWN, 1001, 0, 0}}, ABSENT},
        {{{UNKNOWN, 1, 0, 0}}, ABSENT},
        {{{REFUSED, 1000, 0, 0}, {REFUSED, 500, 0, 0}}, ABSENT},
        {{{REFUSED, 1000, 0, 0}, {UNKNOWN, 500, 0, 0}}, ABSENT},
        {{{REFUSED, 1000, 0, 0}, {KNOWN, 0, 100, 50}}, ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_sum(*state, &cases[i], 4096);
}

/* Memory without a file is `anonymous`, of which `counted` are in PSS. */
static void write_anonymous(struct pss_scenario *scenario, size_t i, unsigned long long pss,
    unsigned long long anonymous, unsigned long long counted)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
        "Rss: %llu kB\nPss: %llu kB\nPss_Anon: %llu kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: %llu kB\n"
        "Anonymous: %llu kB\n",
        anonymous + 1000, pss, counted, counted < anonymous ? 0 : anonymous, anonymous);
    pss_scenario_write(scenario, i, text);
}

/* Four copies of a process that was read: their own pages count, and nothing is read of those that share the rest. */
static void test_copies_that_were_not_read(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    (void)pss_scenario_add(scenario, 10000, 40000, NS_PER_SEC);
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), 40000 * 1024);
    for (int i = 0; i < 4; i++)
        scenario->own_pages[pss_scenario_add(scenario, 10000, 8000, 0)] = some_u64(100);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, NS_PER_SEC / 10), 40000 * 1024 + 400 * 4096);
    assert_int_equal(pss_scenario_reads(scenario), 1);
    pss_scenario_close(scenario);
}

/* Copies that write are read at once as far as the budget goes; those that are left count as these have shown. */
static void test_copies_that_write(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    (void)pss_scenario_add(scenario, 10000, 40000, NS_PER_SEC);
    (void)pss_scenario_tick(scenario);
    for (int i = 0; i < 4; i++)
        scenario->own_pages[pss_scenario_add(scenario, 12000, 10000, 0)] = some_u64(5000);
    /* The first of the tick takes all of the budget. */
    scenario->cost_ns = PSS_BANK_NS;
    struct opt_f64 sum = pss_scenario_tick_after(scenario, NS_PER_SEC / 10);
    assert_int_equal(pss_scenario_reads(scenario), 2);
    /* Half of what they seem to own is theirs. */
    pss_scenario_assert_bytes(sum, (40000 + 4 * 10000) * 1024.0);
    pss_scenario_close(scenario);
}

/* Those that are read in one tick are not read again in the next. */
static void test_copies_that_were_read(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    (void)pss_scenario_add(scenario, 10000, 40000, NS_PER_SEC);
    (void)pss_scenario_tick(scenario);
    for (int i = 0; i < 4; i++)
        scenario->own_pages[pss_scenario_add(scenario, 12000, 10000, 0)] = some_u64(5000);
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC / 10);
    assert_int_equal(pss_scenario_known(scenario), 5);
    int reads = pss_scenario_reads(scenario);
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC / 10);
    assert_int_equal(pss_scenario_reads(scenario), reads);
    assert_int_equal(pss_scenario_known(scenario), 5);
    pss_scenario_close(scenario);
}

/* Two that share all of their memory, and one of them writes to it: both are read again, a second later at the soonest.
 */
static void test_shared_memory_that_is_written_to(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->cost_ns = 30 * NS_PER_US;
    size_t a = pss_scenario_add(scenario, 10000, 20000, NS_PER_SEC),
           b = pss_scenario_add(scenario, 10000, 20000, NS_PER_SEC);
    scenario->minor_faults[a] = scenario->minor_faults[b] = 50000;
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), 40000 * 1024);
    assert_int_equal(pss_scenario_reads(scenario), 2);
    pss_scenario_set_pss(scenario, a, 40000);
    pss_scenario_set_pss(scenario, b, 40000);
    scenario->minor_faults[b] += 400; /* too few */
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_REWRITTEN_NS), 40000 * 1024);
    scenario->minor_faults[b] += 10000;
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 1), 80000 * 1024);
    assert_int_equal(pss_scenario_reads(scenario), 4);
    /* Nothing is shared any more, so faults say nothing. */
    scenario->minor_faults[b] += 10000;
    (void)pss_scenario_tick_after(scenario, PSS_REWRITTEN_NS);
    assert_int_equal(pss_scenario_reads(scenario), 4);
    pss_scenario_close(scenario);
}

/* The reading waited for a fork: every page of the process is shared with a child that is not in the tree. */
static void test_read_during_a_fork(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 100000, 0, 10 * NS_PER_SEC);
    write_anonymous(scenario, a, 200500, 399000, 199500);
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), 400000 * 1024.0);
    /* What is a file's may be shared with others. */
    write_anonymous(scenario, a, 120000, 100000, 100000);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_STALE_NS), 120000 * 1024.0);
    /* A kernel that does not show the parts: the sum cannot be below what has no file. */
    pss_scenario_write(scenario, a, "Rss: 400000 kB\nPss: 200000 kB\nAnonymous: 399000 kB\n");
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_STALE_NS), 399000 * 1024.0);
    /* Merged pages belong to several processes for good. */
    pss_scenario_write(
        scenario, a, "Rss: 400000 kB\nPss: 200000 kB\nPss_Anon: 199000 kB\nAnonymous: 399000 kB\nKSM: 200000 kB\n");
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_STALE_NS), 200000 * 1024.0);
    pss_scenario_close(scenario);
}

/* Workers that were forked and stay: what all of them have counts once, whichever of them were read. */
static void test_shared_within_the_family(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 100000, 0, 10 * NS_PER_SEC);
    write_anonymous(scenario, a, 400000, 399000, 399000);
    pss_scenario_assert_bytes(pss_scenario_tick(scenario), 400000 * 1024.0);
    size_t b = pss_scenario_add(scenario, 100000, 0, 0), c = pss_scenario_add(scenario, 100000, 0, 0);
    scenario->own_pages[b] = scenario->own_pages[c] = some_u64(0);
    write_anonymous(scenario, a, 134000, 399000, 133000);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 10 * NS_PER_SEC), 400000 * 1024.0);
    int reads = pss_scenario_reads(scenario);
    /* One has written to a quarter of it, and is read. */
    scenario->own_pages[b] = some_u64(25000);
    scenario->minor_faults[b] = 25000;
    pss_scenario_write(scenario, b,
        "Rss: 400000 kB\nPss: 200500 kB\nPss_Anon: 199500 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 100000 kB\n"
        "Anonymous: 399000 kB\n");
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 10 * NS_PER_SEC), 500000 * 1024.0);
    assert_true(pss_scenario_was_read(scenario, b) && !pss_scenario_was_read(scenario, c));
    assert_true(pss_scenario_reads(scenario) > reads);
    /* They end, and the memory stays. */
    scenario->count = 1;
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 1), 400000 * 1024.0);
    pss_scenario_close(scenario);
}

/* Another program beside forked workers counts whole, read or not. */
static void test_another_program_beside_a_family(void **state)
{
    struct pss_scenario *scenario = *state;
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    size_t a = pss_scenario_add(scenario, 100000, 0, 10 * NS_PER_SEC);
    write_anonymous(scenario, a, 100250, 399000, 99250);
    for (int i = 0; i < 3; i++)
        scenario->own_pages[pss_scenario_add(scenario, 100000, 0, 0)] = some_u64(0);
    (void)pss_scenario_tick(scenario);
    (void)pss_scenario_add(scenario, 80000, 320000, 0);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, 1), (400000 + 320000) * 1024.0);
    pss_scenario_close(scenario);
}

/* Where we have attached, the parent of the root may have the same pages: read again, and believed in the end. */
static void test_shared_with_others_when_attached(void **state)
{
    struct pss_scenario *scenario = *state;
    struct tracked tracked = {.attached = true};
    pss_scenario_open(scenario, TRACKED_PSS_AUTO);
    scenario->fake.env.tracked = &tracked;
    size_t a = pss_scenario_add(scenario, 100000, 0, 10 * NS_PER_SEC);
    write_anonymous(scenario, a, 200500, 399000, 199500);
    for (int i = 0; i < PSS_DOUBTS_MAX; i++)
        assert_false(pss_scenario_tick_after(scenario, NS_PER_SEC).has);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, NS_PER_SEC), 200500 * 1024.0);
    assert_int_equal(pss_scenario_reads(scenario), PSS_DOUBTS_MAX + 1);
    (void)pss_scenario_tick_after(scenario, NS_PER_SEC);
    assert_int_equal(pss_scenario_reads(scenario), PSS_DOUBTS_MAX + 1);
    /* One that is well known stays so while a reading is doubted. */
    write_anonymous(scenario, a, 400000, 399000, 399000);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_STALE_NS), 400000 * 1024.0);
    write_anonymous(scenario, a, 200500, 399000, 199500);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, PSS_STALE_NS), 400000 * 1024.0);
    write_anonymous(scenario, a, 400000, 399000, 399000);
    pss_scenario_assert_bytes(pss_scenario_tick_after(scenario, NS_PER_SEC), 400000 * 1024.0);
    assert_int_equal(scenario->memories[a].doubts, 0);
    pss_scenario_close(scenario);
}

int main(void)
{
    static struct pss_scenario scenario;
    const struct CMUnitTest tests[] = {
        skippable_unit_test_prestate(test_refused, &scenario),
        skippable_unit_test_prestate(test_refused_but_always_asked, &scenario),
        cmocka_unit_test_prestate(test_what_was_reported_stays, &scenario),
        cmocka_unit_test_prestate(test_gone_and_absent, &scenario),
        cmocka_unit_test_prestate(test_kernel_that_has_it_keeps_it, &scenario),
        cmocka_unit_test_prestate(test_empty_file, &scenario),
        cmocka_unit_test_prestate(test_broken_file, &scenario),
        cmocka_unit_test_prestate(test_copies_that_were_not_read, &scenario),
        cmocka_unit_test_prestate(test_copies_that_write, &scenario),
        cmocka_unit_test_prestate(test_copies_that_were_read, &scenario),
        cmocka_unit_test_prestate(test_shared_memory_that_is_written_to, &scenario),
        cmocka_unit_test_prestate(test_read_during_a_fork, &scenario),
        cmocka_unit_test_prestate(test_shared_within_the_family, &scenario),
        cmocka_unit_test_prestate(test_another_program_beside_a_family, &scenario),
        cmocka_unit_test_prestate(test_shared_with_others_when_attached, &scenario),
        cmocka_unit_test_prestate(test_sums, &scenario),
        cmocka_unit_test_prestate(test_sums_of_too_little, &scenario),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
