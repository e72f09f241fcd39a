/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of energy: their text, their domains, their growth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"
#include "kernel/energy.h"

static void test_microjoules(void **state)
{
    (void)state;
    struct energy_reading reading;
    assert_int_equal(energy_counter_parse(STR("13579246810\n"), &reading), 0);
    assert_int_equal(reading.uj, 13579246810);
    assert_false(reading.stamp_us.has);
    assert_int_equal(energy_counter_parse(STR("0\n"), &reading), 0);
    assert_int_equal(reading.uj, 0);
    assert_int_equal(energy_counter_parse(STR("18446744073709551615\n"), &reading), 0);
    assert_true(reading.uj == UINT64_MAX);
}

static void test_joules_with_a_time(void **state)
{
    (void)state;
    struct energy_reading reading;
    assert_int_equal(energy_counter_parse(STR("18324152 J 1389222813252424 us\n"), &reading), 0);
    assert_int_equal(reading.uj, 18324152000000);
    assert_true(reading.stamp_us.has);
    assert_int_equal(reading.stamp_us.v, 1389222813252424);
    assert_int_equal(energy_counter_parse(STR("7 J\n"), &reading), 0);
    assert_int_equal(reading.uj, 7000000);
    assert_false(reading.stamp_us.has);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "12", "-1\n", "12x\n", "18446744073709551616\n", "12 W\n", "12 J",
        "12 J 5\n", "12 J 5 ms\n", "12 J 5 us 6\n", "12 J us\n", "J\n", "12\n13\n", "18446744073709551615 J\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct energy_reading reading = {.uj = 42};
        assert_int_equal(energy_counter_parse(str_of(texts[i]), &reading), -EINVAL);
        assert_int_equal(reading.uj, 42);
    }
}

static void test_zones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum energy_domain domain; /* ENERGY_DOMAINS: none */
    } zones[] = {{"package-0", ENERGY_PACKAGE}, {"package-1-die-0", ENERGY_PACKAGE}, {"dram", ENERGY_DRAM},
        {"psys", ENERGY_PLATFORM}, {"core", ENERGY_DOMAINS}, {"uncore", ENERGY_DOMAINS}, {"", ENERGY_DOMAINS},
        {"drams", ENERGY_DOMAINS}};
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        enum energy_domain domain = ENERGY_DOMAINS;
        assert_int_equal(energy_rapl_domain(str_of(zones[i].name), &domain), zones[i].domain != ENERGY_DOMAINS);
        assert_int_equal(domain, zones[i].domain);
    }
}

static void assert_growth(struct opt_u64 growth, uint64_t uj)
{
    assert_true(growth.has);
    assert_true(growth.v == uj);
}

static void test_growth(void **state)
{
    (void)state;
    const uint64_t range = 262143328850;
    assert_growth(energy_growth(1000, 51000, range, NS_PER_SEC), 50000);
    /* At its end it begins again. */
    assert_growth(energy_growth(range - 20000000, 30000000, range, NS_PER_SEC), 50000000);
    assert_growth(energy_growth(range, 0, range, NS_PER_SEC), 0);
    /* A driver that was loaded again: 131 kJ in a second are not believed. */
    assert_growth(energy_growth(range / 2, 5, range, NS_PER_SEC), 0);
    assert_growth(energy_growth(range + 1, 5, range, NS_PER_SEC), 0);
    /* A counter without an end goes back only with its driver. */
    assert_growth(energy_growth(1000, 5, 0, NS_PER_SEC), 0);
    assert_growth(energy_growth(1000, 3600000001000, 0, 3600 * NS_PER_SEC), 3600000000000);
    /* How often it has begun again in an hour is not known. */
    assert_false(energy_growth(1000, 2000, range, 3600 * NS_PER_SEC).has);
    assert_growth(energy_growth(1000, 2000, range, 120 * NS_PER_SEC), 1000);
    assert_growth(energy_growth(1000, 2000, range, -NS_PER_SEC), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_microjoules),
        cmocka_unit_test(test_joules_with_a_time),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
