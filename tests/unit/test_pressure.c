/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure stall information of the machine and of groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/proc.h"

static void test_both_lines(void **state)
{
    (void)state;
    struct pressure pressure;
    assert_int_equal(pressure_parse(STR("some avg10=1.63 avg60=0.29 avg300=0.29 total=12817602\n"
                                        "full avg10=1.26 avg60=0.22 avg300=0.27 total=12471123\n"),
                         &pressure),
        0);
    assert_true(pressure.some_total_us.has);
    assert_int_equal(pressure.some_total_us.v, 12817602);
    assert_true(pressure.full_total_us.has);
    assert_int_equal(pressure.full_total_us.v, 12471123);
}

static void test_cpu_before_5_13(void **state)
{
    (void)state;
    struct pressure pressure;
    assert_int_equal(pressure_parse(STR("some avg10=2.83 avg60=1.04 avg300=0.30 total=6776423\n"), &pressure), 0);
    assert_int_equal(pressure.some_total_us.v, 6776423);
    assert_false(pressure.full_total_us.has);
}

static void test_other_columns(void **state)
{
    (void)state;
    struct pressure pressure;
    assert_int_equal(
        pressure_parse(STR("irq total=1\nsome new=7 total=0 subtotal=9\nfull avg10=0.00\n"), &pressure), 0);
    assert_true(pressure.some_total_us.has);
    assert_int_equal(pressure.some_total_us.v, 0);
    assert_false(pressure.full_total_us.has);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=-1\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=12x\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551616\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 subtotal=12\n",
        "something total=12\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=12",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pressure pressure = {.full_total_us = {.has = true, .v = 42}};
        assert_int_equal(pressure_parse(str_of(texts[i]), &pressure), -EINVAL);
        assert_int_equal(pressure.full_total_us.v, 42);
    }
}

static void test_cut_second_line(void **state)
{
    (void)state;
    struct pressure pressure;
    assert_int_equal(pressure_parse(STR("some total=5\nfull total=1"), &pressure), 0);
    assert_false(pressure.full_total_us.has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_lines),
        cmocka_unit_test(test_cpu_before_5_13),
        cmocka_unit_test(test_other_columns),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_cut_second_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
