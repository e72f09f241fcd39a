/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/loadavg. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/loadavg.h"

static void test_ordinary(void **state)
{
    (void)state;
    struct loadavg load;
    assert_int_equal(loadavg_parse(STR("0.20 0.18 0.12 1/80 11206\n"), &load), 0);
    assert_true(load.load1 == 0.20);
    assert_true(load.load5 == 0.18);
    assert_true(load.load15 == 0.12);
}

static void test_big_and_odd_widths(void **state)
{
    (void)state;
    struct loadavg load;
    assert_int_equal(loadavg_parse(STR("1024.05 12.5 0.000001 9999/99999 4194304\n"), &load), 0);
    assert_true(load.load1 == 1024.05);
    assert_true(load.load5 == 12.5);
    assert_true(load.load15 == 0.000001);
}

static void test_three_numbers_only(void **state)
{
    (void)state;
    struct loadavg load;
    assert_int_equal(loadavg_parse(STR("1.00 2.00 3.00\n"), &load), 0);
    assert_true(load.load15 == 3.0);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "0.20",
        "0.20 0.18",
        "0.20 0.18 0.1",
        "0.20 0.18 \n",
        "-0.20 0.18 0.12 1/80 1\n",
        "0,20 0,18 0,12 1/80 1\n",
        "0.20 nan 0.12 1/80 1\n",
        "0. 0.18 0.12 1/80 1\n",
        ".20 0.18 0.12 1/80 1\n",
        "1 2 3 1/80 1\n",
        "0.20x 0.18 0.12 1/80 1\n",
        "0.20 0.18 0.12x 1/80 1\n",
        "0.2e1 0.18 0.12 1/80 1\n",
        "0.2000000 0.18 0.12 1/80 1\n",
        "99999999999.00 0.18 0.12 1/80 1\n",
        "18446744073709551616.0 0.1 0.1 1/2 3\n",
        "0.20\n0.18\n0.12\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct loadavg load = {.load1 = 42};
        assert_int_equal(loadavg_parse(str_of(texts[i]), &load), -EINVAL);
        assert_true(load.load1 == 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_big_and_odd_widths),
        cmocka_unit_test(test_three_numbers_only),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
