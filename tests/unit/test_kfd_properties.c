/* SPDX-License-Identifier: Apache-2.0 */
/* properties of KFD topology nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/amdgpu.h"

static void test_gpu(void **state)
{
    (void)state;
    struct kfd_properties properties;
    assert_int_equal(
        kfd_properties_parse(STR("cpu_cores_count 0\nsimd_count 192\nmem_banks_count 1\nsimd_arrays_count 12\n"
                                 "simd_per_cu 2\nvendor_id 4098\ndevice_id 29772\nlocation_id 768\n"
                                 "domain 1\nunique_id 18446744073709551615\nnum_xcc 1\n"),
            &properties),
        0);
    assert_int_equal(properties.location_id, 768);
    assert_int_equal(properties.domain, 1);
    assert_true(properties.simd_count.has);
    assert_int_equal(properties.simd_count.v, 192);
    assert_true(properties.simd_per_cu.has);
    assert_int_equal(properties.simd_per_cu.v, 2);
}

static void test_little(void **state)
{
    (void)state;
    struct kfd_properties properties;
    assert_int_equal(kfd_properties_parse(STR("location_id 0\n"), &properties), 0);
    assert_int_equal(properties.location_id, 0);
    assert_int_equal(properties.domain, 0);
    assert_false(properties.simd_count.has);
    assert_false(properties.simd_per_cu.has);
    /* The first of two, and nothing from a line that is cut. */
    assert_int_equal(kfd_properties_parse(STR("location_id 7\nlocation_id 8\nsimd_count 12"), &properties), 0);
    assert_int_equal(properties.location_id, 7);
    assert_false(properties.simd_count.has);
    assert_int_equal(kfd_properties_parse(STR("\n \nodd\nx y z\n\tlocation_id\t 9 \r\n"), &properties), 0);
    assert_int_equal(properties.location_id, 9);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "simd_count 192\n",
        "location_id 768",
        "location_id\n",
        "location_id x\n",
        "location_id -1\n",
        "location_id 7 6\n",
        "location_id 18446744073709551616\n",
        "location_id 768\nsimd_count 0x10\n",
        "location_id 768\ndomain\n",
        "location_identity 768\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct kfd_properties properties = {.location_id = 42};
        assert_int_equal(kfd_properties_parse(str_of(texts[i]), &properties), -EINVAL);
        assert_int_equal(properties.location_id, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_little),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
