/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/loadavg. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "kernel/proc.h"

static void test_ordinary(void **state)
{
    (void)state;
    struct loadavg load;
    assert_int_equal(loadavg_parse(STR("0.20 0.18 0.12 1/80 11206\n"), &load), 0);
    assert_true(load.load1 == 0.20);
    assert_true(load.load5 == 0.18);
    assert_true(load.load15 == 0.12);
    assert_true(load.last_pid.has);
    assert_int_equal(load.last_pid.v, 11206);
}

static void test_big_and_odd_widths(void **state)
{
    (void)state;
    struct loadavg load;
    assert_int_equal(loadavg_parse(STR("1024.05 12.5 0.000001 9999/99999 4194304\n"), &load), 0);
    assert_true(load.load1 == 1024.05);
    assert_true(load.load5 == 12.5);
    assert_true(load.load15 == 0.000001);
    assert_int_equal(load.last_pid.v, 4194304);
}

static void test_three_numbers_only(void **state)
{
    (void)state;
    struct loadavg load;
    assert_int_equal(loadavg_parse(STR("1.00 2.00 3.00\n"), &load), 0);
    assert_true(load.load15 == 3.0);
    assert_false(load.last_pid.has);
}

static void test_last_pid(void **state)
{
    (void)state;
    static const char *const whole[] = {"1/80 0\n", "1/80 18446744073709551615\n", "0/0 7 new\n", "1/80  7\nmore\n"};
    static const uint64_t pids[] = {0, UINT64_MAX, 7, 7};
    static const char *const broken[] = {
        "",
        "\n",
        "1/80\n",
        "1/80 \n",
        "1/80 112",
        "1/80\n11206\n",
        "1/80 -1\n",
        "1/80 11206x\n",
        "1/80 1/2\n",
        "1/80 18446744073709551616\n",
        "80 11206\n",
        "/\n",
    };
    char text[64];
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        struct loadavg load;
        int n = snprintf(text, sizeof(text), "0.20 0.18 0.12 %s", whole[i]);
        assert_int_equal(loadavg_parse((struct str){text, (size_t)n}, &load), 0);
        assert_true(load.last_pid.has);
        assert_true(load.last_pid.v == pids[i]);
    }
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct loadavg load = {.last_pid = some_u64(42)};
        int n = snprintf(text, sizeof(text), "0.20 0.18 0.12 %s", broken[i]);
        assert_int_equal(loadavg_parse((struct str){text, (size_t)n}, &load), 0);
        assert_true(load.load15 == 0.12);
        assert_false(load.last_pid.has);
    }
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
        cmocka_unit_test(test_last_pid),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
