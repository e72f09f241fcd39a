/* SPDX-License-Identifier: Apache-2.0 */
/* pp_dpm_sclk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/amdgpu.h"

static void test_starred(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t mhz;
    } cases[] = {
        {"0: 500Mhz \n1: 2482Mhz *\n", 2482},
        {"0: 500Mhz *\n1: 2482Mhz \n", 500},
        {"0: 200Mhz\n1: 1100Mhz *\n2: 2000Mhz", 1100},
        {"S: 19Mhz *\n0: 500Mhz\n", 19},
        {"0: 0MHz *", 0},
        {"  10:\t1500mhz*  \n", 1500},
        {"0: 1Mhz *\n1: 2Mhz *\n", 1},
        {"odd line\n1: 800Mhz *\n", 800},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t mhz = 42;
        assert_int_equal(dpm_table_parse_current(str_of(cases[i].text), &mhz), 0);
        assert_int_equal(mhz, cases[i].mhz);
    }
}

static void test_no_star(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "0: 500Mhz \n1: 2482Mhz \n", "0: 500Mhz * x\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t mhz = 42;
        assert_int_equal(dpm_table_parse_current(str_of(texts[i]), &mhz), -ENODATA);
        assert_int_equal(mhz, 42);
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "*\n",
        "1: *\n",
        "1 2482Mhz *\n",
        ": 2482Mhz *\n",
        "1: 2482 *\n",
        "1: 2482Mhz x *\n",
        "1: 2482Mhzz *\n",
        "1: 2482GHz *\n",
        "1: -5Mhz *\n",
        "1: Mhz *\n",
        "1: 18446744073709551616Mhz *\n",
        "1: 2482Mhz **\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t mhz = 42;
        assert_int_equal(dpm_table_parse_current(str_of(texts[i]), &mhz), -EINVAL);
        assert_int_equal(mhz, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starred),
        cmocka_unit_test(test_no_star),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
