/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays with a ceiling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Under AddressSanitizer a request that cannot be met shall fail as it does without. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

struct ints {
    int *items;
    size_t count, cap;
};

static void test_growth(void **state)
{
    (void)state;
    struct ints ints = {0};
    assert_int_equal(VEC_GROW(&ints, 0, 100), 0);
    assert_null(ints.items);
    assert_int_equal(VEC_GROW(&ints, 1, 100), 0);
    assert_int_equal(ints.cap, 8);
    for (size_t i = 0; i < 8; i++)
        ints.items[i] = (int)i + 1;
    assert_int_equal(VEC_GROW(&ints, 9, 100), 0);
    assert_int_equal(ints.cap, 16);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(ints.items[i], i + 1);
    for (size_t i = 8; i < 16; i++)
        assert_int_equal(ints.items[i], 0);
    free(ints.items);
}

static void test_no_change_where_there_is_room(void **state)
{
    (void)state;
    struct ints ints = {0};
    assert_int_equal(VEC_GROW(&ints, 5, 100), 0);
    const int *items = ints.items;
    assert_int_equal(VEC_GROW(&ints, 8, 100), 0);
    assert_ptr_equal(ints.items, items);
    assert_int_equal(ints.cap, 8);
    free(ints.items);
}

static void test_ceiling(void **state)
{
    (void)state;
    struct ints ints = {0};
    assert_int_equal(VEC_GROW(&ints, 3, 3), 0);
    assert_int_equal(ints.cap, 3);
    ints.items[2] = 9;
    const int *items = ints.items;
    assert_int_equal(VEC_GROW(&ints, 4, 3), -E2BIG);
    assert_ptr_equal(ints.items, items);
    assert_int_equal(ints.cap, 3);
    assert_int_equal(ints.items[2], 9);
    assert_int_equal(VEC_GROW(&ints, 11, 20), 0);
    assert_int_equal(ints.cap, 12);
    assert_int_equal(VEC_GROW(&ints, 13, 20), 0);
    assert_int_equal(ints.cap, 20);
    free(ints.items);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct ints ints = {0};
    assert_int_equal(VEC_GROW(&ints, 2, 10), 0);
    size_t too_much = SIZE_MAX / 4;
    assert_int_equal(VEC_GROW(&ints, too_much, too_much), -ENOMEM);
    assert_int_equal(ints.cap, 8);
    assert_non_null(ints.items);
    free(ints.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_no_change_where_there_is_room),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
