/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.ids of libdrm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/amdgpu.h"

static const char list[] = "# List of AMDGPU IDs\n"
                           "#\n"
                           "# Syntax:\n"
                           "# device_id,\trevision_id,\tproduct_name\n"
                           "# 744C,\tC8,\tcommented out\n"
                           "\n"
                           "1.0.0\n"
                           "1309,\t00,\tAMD Radeon R7 Graphics\n"
                           "744C,\tC8,\tAMD Radeon RX 7900 XTX\n"
                           "744C,\tCC,\tAMD Radeon RX 7900 XT\n"
                           "744c, cf , Lower, with a comma  \r\n"
                           "74A1,\t00,\n"
                           "74A1,\t00,\tAMD Instinct MI300X OAM\n"
                           "744C,\tC8,\tsecond of its kind\n"
                           "15D8,\tE1,\tno line end";

static void assert_name(uint64_t device, uint64_t revision, const char *expected)
{
    struct str name = {0};
    assert_int_equal(amdgpu_ids_find(str_of(list), device, revision, &name), 0);
    assert_true(str_eq(name, str_of(expected)));
}

static void test_found(void **state)
{
    (void)state;
    assert_name(0x1309, 0, "AMD Radeon R7 Graphics");
    assert_name(0x744c, 0xc8, "AMD Radeon RX 7900 XTX");
    assert_name(0x744c, 0xcc, "AMD Radeon RX 7900 XT");
    assert_name(0x744c, 0xcf, "Lower, with a comma");
    assert_name(0x74a1, 0, "AMD Instinct MI300X OAM");
    assert_name(0x15d8, 0xe1, "no line end");
}

static void test_not_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t device, revision;
    } cases[] = {
        {list, 0x744c, 0xc9},
        {list, 0x744d, 0xc8},
        {list, 1, 0},
        {"", 0, 0},
        {"1.0.0\n", 1, 0},
        {",,name\n", 0, 0},
        {"744C,\tC8\n", 0x744c, 0xc8},
        {"744C,\n", 0x744c, 0},
        {"0x744C,\tC8,\tname\n", 0x744c, 0xc8},
        {"-1,\tC8,\tname\n", 1, 0xc8},
        {"10000744C,\tC8,\tname\n", 0x744c, 0xc8},
        {"74 4C,\tC8,\tname\n", 0x744c, 0xc8},
        {"#744C,\tC8,\tname\n", 0x744c, 0xc8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str name = {"kept", 4};
        assert_int_equal(amdgpu_ids_find(str_of(cases[i].text), cases[i].device, cases[i].revision, &name), -ENOENT);
        assert_true(str_eq(name, STR("kept")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
