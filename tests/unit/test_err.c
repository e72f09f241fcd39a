/* SPDX-License-Identifier: Apache-2.0 */
/* The error object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void test_set(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, -EINVAL, "config: %s is %d", "interval", 0), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.msg, "config: interval is 0");
}

static void test_sys(void **state)
{
    (void)state;
    struct err err = {0};
    char want[240] = "cannot open /x: ";
    strncat(want, strerror(ENOENT), sizeof(want) - strlen(want) - 1);
    assert_int_equal(err_sys(&err, -ENOENT, "cannot open %s", "/x"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_string_equal(err.msg, want);
}

static void test_wrap(void **state)
{
    (void)state;
    struct err err = {0};
    (void)err_set(&err, -EIO, "inner");
    assert_int_equal(err_wrap(&err, "middle %d", 1), -EIO);
    assert_int_equal(err_wrap(&err, "outer"), -EIO);
    assert_string_equal(err.msg, "outer: middle 1: inner");
    assert_int_equal(err.code, -EIO);
}

static void test_without_err(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, -EPERM, "x"), -EPERM);
    assert_int_equal(err_sys(NULL, -EPERM, "x"), -EPERM);
    assert_int_equal(err_wrap(NULL, "x"), 0);
    err_clear(NULL);
}

static void test_clear(void **state)
{
    (void)state;
    struct err err = {0};
    (void)err_set(&err, -EPERM, "x");
    err_clear(&err);
    assert_int_equal(err.code, 0);
    assert_string_equal(err.msg, "");
}

static void test_long_messages_are_cut(void **state)
{
    (void)state;
    struct err err = {0};
    char text[600];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(err_set(&err, -EINVAL, "%s", text), -EINVAL);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_int_equal(err_sys(&err, -EINVAL, "%s", text), -EINVAL);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_int_equal(err_wrap(&err, "front"), -EINVAL);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_memory_equal(err.msg, "front: aaa", 10);
    assert_int_equal(err_wrap(&err, "%s", text), -EINVAL);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_sys),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_without_err),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
