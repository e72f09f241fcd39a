/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the ledger one by one, with CPU time for all flows unless a test says otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/tree/members.h"

/* The same amounts in all flows. */
static void update(struct ledger_account *account, uint64_t value, uint64_t intake, uint64_t settled)
{
    struct ledger_reading reading;
    for (int i = 0; i < FLOWS; i++) {
        reading.value[i] = value;
        reading.intake[i] = intake;
        reading.settled[i] = settled;
        reading.known[i] = true;
    }
    ledger_update(account, &reading);
}

static void update_unknown(struct ledger_account *account)
{
    struct ledger_reading reading = {.value = {9, 9, 9, 9, 9}, .intake = {9, 9, 9, 9, 9}, .settled = {9, 9, 9, 9, 9}};
    ledger_update(account, &reading);
}

static uint64_t take(struct ledger *ledger)
{
    uint64_t growth[FLOWS];
    ledger_pop_growth(ledger, growth);
    for (int i = 1; i < FLOWS; i++)
        assert_int_equal(growth[i], growth[0]);
    return growth[FLOW_CPU];
}

/* A tick of one account that stays. */
static uint64_t tick(struct ledger *ledger, struct ledger_account *account, uint64_t value, uint64_t intake)
{
    ledger_begin(account);
    update(account, value, intake, value);
    ledger_settle(ledger, account);
    return take(ledger);
}

static void test_values_add_up(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account a = {0}, b = {0};
    ledger_begin(&a);
    ledger_begin(&b);
    update(&a, 100, 30, 90);
    update(&b, 50, 0, 40);
    ledger_settle(&ledger, &a);
    ledger_settle(&ledger, &b);
    assert_int_equal(take(&ledger), 150);
    assert_int_equal(ledger.mark[FLOW_READ], 150);
    assert_int_equal(ledger.sum[FLOW_READ], 0);
    assert_int_equal(tick(&ledger, &a, 160, 30), 10); /* b is missing: 160 after 150 */
}

static void test_flows_are_apart(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account account = {0};
    struct ledger_reading reading = {.value = {5, 4, 3, 2, 1}, .known = {true, true, false, true, true}};
    uint64_t growth[FLOWS];
    ledger_begin(&account);
    ledger_update(&account, &reading);
    ledger_settle(&ledger, &account);
    ledger_pop_growth(&ledger, growth);
    const uint64_t expected[FLOWS] = {5, 4, 0, 2, 1};
    assert_memory_equal(growth, expected, sizeof(growth));
}

/* A child of which 70 are known ends with 75, and is waited for before its parent is read. */
static void test_covered_in_the_same_tick(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, child = {0};
    ledger_begin(&child);
    update(&child, 73, 0, 70);
    assert_int_equal(tick(&ledger, &parent, 100, 0), 100);
    ledger_begin(&parent);
    ledger_begin(&child);
    update(&parent, 175, 75, 170);
    ledger_close(&ledger, &child, &parent);
    assert_int_equal(parent.pending_new[FLOW_CPU], 70);
    ledger_settle(&ledger, &parent);
    assert_int_equal(parent.pending_new[FLOW_CPU], 0);
    assert_int_equal(parent.growth[FLOW_CPU], 5);
    assert_int_equal(take(&ledger), 75);
    assert_int_equal(ledger.lost[FLOW_CPU], 0);
}

/* The parent was read before it waited: the amount is pending for a tick, and reported meanwhile. */
static void test_covered_in_the_next_tick(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, child = {0};
    update(&child, 73, 0, 70);
    ledger_begin(&parent);
    update(&parent, 100, 0, 100);
    ledger_close(&ledger, &child, &parent);
    ledger_settle(&ledger, &parent);
    assert_int_equal(take(&ledger), 170);
    assert_int_equal(tick(&ledger, &parent, 180, 75), 10);
    assert_int_equal(parent.pending[FLOW_CPU], 0);
    assert_int_equal(ledger.lost[FLOW_CPU], 0);
    assert_int_equal(tick(&ledger, &parent, 185, 75), 5);
}

static void test_uncovered_is_lost_after_a_full_tick(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, child = {0};
    update(&child, 70, 0, 70);
    ledger_begin(&parent);
    update(&parent, 100, 0, 100);
    ledger_close(&ledger, &child, &parent);
    ledger_settle(&ledger, &parent);
    assert_int_equal(ledger.lost[FLOW_CPU], 0);
    assert_int_equal(take(&ledger), 170);
    assert_int_equal(tick(&ledger, &parent, 130, 30), 0); /* 30 were covered: 130 + 40 */
    assert_int_equal(ledger.lost[FLOW_CPU], 40);
    assert_int_equal(parent.pending[FLOW_CPU], 0);
    /* What comes too late counts again: it cannot be distinguished from another child's. */
    assert_int_equal(tick(&ledger, &parent, 140, 40), 10);
}

static void test_older_amounts_are_settled_first(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, first = {0}, second = {0};
    update(&first, 70, 0, 70);
    update(&second, 20, 0, 20);
    ledger_begin(&parent);
    update(&parent, 100, 0, 100);
    ledger_close(&ledger, &first, &parent);
    ledger_settle(&ledger, &parent);
    assert_int_equal(take(&ledger), 170);
    ledger_begin(&parent);
    update(&parent, 180, 80, 180);
    ledger_close(&ledger, &second, &parent);
    ledger_settle(&ledger, &parent);
    assert_int_equal(parent.pending[FLOW_CPU], 0);
    assert_int_equal(parent.pending_new[FLOW_CPU], 10); /* 80 paid 70 and 10 of 20 */
    assert_int_equal(take(&ledger), 20);
    assert_int_equal(ledger.lost[FLOW_CPU], 0);
    ledger_begin(&parent);
    assert_int_equal(parent.pending[FLOW_CPU], 10);
    assert_int_equal(parent.pending_new[FLOW_CPU], 0);
}

/* Growth of a tick covers only in that tick. */
static void test_growth_is_not_saved(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, child = {0};
    update(&child, 70, 0, 70);
    assert_int_equal(tick(&ledger, &parent, 100, 80), 100);
    ledger_begin(&parent);
    assert_int_equal(parent.growth[FLOW_CPU], 0);
    update(&parent, 100, 80, 100);
    ledger_close(&ledger, &child, &parent);
    ledger_settle(&ledger, &parent);
    assert_int_equal(parent.pending_new[FLOW_CPU], 70);
}

/* Readings of the same tick add their growth; an intake that shrinks has none. */
static void test_several_readings(void **unused)
{
    (void)unused;
    struct ledger_account account = {0};
    ledger_begin(&account);
    update(&account, 100, 30, 90);
    update(&account, 120, 45, 110);
    assert_int_equal(account.growth[FLOW_CPU], 45);
    assert_int_equal(account.value[FLOW_CPU], 120);
    assert_int_equal(account.settled[FLOW_CPU], 110);
    update(&account, 110, 40, 100);
    assert_int_equal(account.growth[FLOW_CPU], 45);
    assert_int_equal(account.intake[FLOW_CPU], 40);
}

static void test_unknown_keeps_what_is_pending(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, child = {0};
    update(&child, 70, 0, 70);
    ledger_begin(&parent);
    update(&parent, 100, 10, 100);
    ledger_close(&ledger, &child, &parent);
    ledger_settle(&ledger, &parent);
    /* The first reading of the parent counted as growth of 10. */
    assert_int_equal(parent.pending_new[FLOW_CPU], 60);
    assert_int_equal(take(&ledger), 160);
    for (int i = 0; i < 3; i++) {
        ledger_begin(&parent);
        update_unknown(&parent);
        assert_int_equal(parent.value[FLOW_CPU], 100);
        ledger_settle(&ledger, &parent);
        assert_int_equal(take(&ledger), 0);
        assert_int_equal(parent.pending[FLOW_CPU], 60);
        assert_int_equal(ledger.lost[FLOW_CPU], 0);
    }
    assert_int_equal(tick(&ledger, &parent, 180, 80), 20);
    assert_int_equal(parent.pending[FLOW_CPU], 0);
    assert_int_equal(ledger.lost[FLOW_CPU], 0);
}

static void test_without_an_heir(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account account = {0};
    update(&account, 73, 20, 70);
    account.pending[FLOW_CPU] = account.pending[FLOW_USER] = 5;
    account.pending_new[FLOW_CPU] = 2;
    ledger_close(&ledger, &account, NULL);
    assert_int_equal(ledger.lost[FLOW_CPU], 77);
    assert_int_equal(ledger.lost[FLOW_USER], 75);
    assert_int_equal(ledger.lost[FLOW_FAULTS], 70);
}

/* What was pending for one that vanishes is pending for the next above, for a full tick again. */
static void test_pending_amounts_move_up(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account top = {0}, middle = {0}, low = {0};
    update(&low, 70, 0, 70);
    ledger_begin(&top);
    ledger_begin(&middle);
    update(&top, 100, 0, 100);
    update(&middle, 50, 0, 50);
    ledger_close(&ledger, &low, &middle);
    ledger_settle(&ledger, &top);
    ledger_settle(&ledger, &middle);
    assert_int_equal(take(&ledger), 220);
    ledger_begin(&top);
    ledger_begin(&middle);
    update(&top, 100, 0, 100);
    ledger_close(&ledger, &middle, &top);
    ledger_settle(&ledger, &top);
    assert_int_equal(top.pending_new[FLOW_CPU], 120);
    assert_int_equal(take(&ledger), 0);
    assert_int_equal(tick(&ledger, &top, 220, 120), 0);
    assert_int_equal(ledger.lost[FLOW_CPU], 0);
}

static void test_high_water(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account account = {0};
    assert_int_equal(tick(&ledger, &account, 100, 0), 100);
    assert_int_equal(tick(&ledger, &account, 60, 0), 0);
    assert_int_equal(ledger.mark[FLOW_CPU], 100);
    assert_int_equal(tick(&ledger, &account, 99, 0), 0);
    assert_int_equal(tick(&ledger, &account, 130, 0), 30);
    assert_int_equal(take(&ledger), 0); /* an empty tick does not undo anything */
    assert_int_equal(tick(&ledger, &account, 131, 0), 1);
}

/* A parent that is not read in a tick has covered nothing, but may have inherited: none is lost yet. */
static void test_not_read_meanwhile(void **unused)
{
    (void)unused;
    struct ledger ledger = {0};
    struct ledger_account parent = {0}, child = {0};
    ledger_begin(&child);
    update(&child, 70, 0, 70);
    ledger_begin(&parent);
    update(&parent, 100, 0, 100);
    ledger_close(&ledger, &child, &parent);
    ledger_settle(&ledger, &parent);
    assert_int_equal(take(&ledger), 170);
    for (int i = 0; i < 3; i++) {
        ledger_begin(&parent);
        ledger_settle(&ledger, &parent);
        assert_int_equal(take(&ledger), 0);
        assert_int_equal(ledger.lost[FLOW_CPU], 0);
    }
    assert_int_equal(tick(&ledger, &parent, 171, 70), 1);
    assert_int_equal(parent.pending[FLOW_CPU], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_read_meanwhile),
        cmocka_unit_test(test_values_add_up),
        cmocka_unit_test(test_flows_are_apart),
        cmocka_unit_test(test_covered_in_the_same_tick),
        cmocka_unit_test(test_covered_in_the_next_tick),
        cmocka_unit_test(test_uncovered_is_lost_after_a_full_tick),
        cmocka_unit_test(test_older_amounts_are_settled_first),
        cmocka_unit_test(test_growth_is_not_saved),
        cmocka_unit_test(test_several_readings),
        cmocka_unit_test(test_unknown_keeps_what_is_pending),
        cmocka_unit_test(test_without_an_heir),
        cmocka_unit_test(test_pending_amounts_move_up),
        cmocka_unit_test(test_high_water),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
