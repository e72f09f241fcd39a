/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer: its maximum holds, a failed write changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/auto.h"
#include "base/buf.h"

static void test_appending(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1024);
    assert_null(buf.data);
    assert_string_equal(buf_cstr(&buf), "");
    buf_puts(&buf, "ab");
    buf_putc(&buf, 'c');
    buf_append(&buf, "de", 2);
    buf_append(&buf, NULL, 0);
    buf_printf(&buf, "-%d-%s", 7, "x");
    assert_true(buf_ok(&buf));
    assert_int_equal(buf.len, 9);
    assert_string_equal(buf_cstr(&buf), "abcde-7-x");
    assert_int_equal(buf.len, 9);
    buf_fini(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.max, 1024);
}

static void test_growth_keeps_content_and_maximum(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1000);
    for (int i = 0; i < 1000; i++)
        buf_putc(&buf, (char)('a' + i % 26));
    assert_true(buf_ok(&buf));
    assert_int_equal(buf.len, 1000);
    assert_int_equal(buf.cap, 1000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(buf.data[i], 'a' + (int)(i % 26));
    buf_putc(&buf, 'x');
    assert_false(buf_ok(&buf));
    assert_int_equal(buf.len, 1000);
    buf_fini(&buf);
}

static void test_failed_write_changes_nothing(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 8);
    buf_puts(&buf, "12345");
    buf_puts(&buf, "6789");
    assert_false(buf_ok(&buf));
    assert_int_equal(buf.len, 5);
    buf_puts(&buf, "6");
    buf_printf(&buf, "%d", 6);
    assert_int_equal(buf.len, 5);
    assert_false(buf_reserve(&buf, 1));
    buf_clear(&buf);
    assert_true(buf_ok(&buf));
    buf_puts(&buf, "abc");
    assert_string_equal(buf_cstr(&buf), "abc");
    buf_fini(&buf);
}

static void test_huge_request(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 64);
    buf_putc(&buf, 'a');
    assert_false(buf_reserve(&buf, SIZE_MAX));
    assert_false(buf_ok(&buf));
    assert_int_equal(buf.len, 1);
    buf_fini(&buf);
}

static void test_maximum_of_zero(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 0);
    buf_puts(&buf, "");
    assert_true(buf_ok(&buf));
    assert_string_equal(buf_cstr(&buf), "");
    buf_clear(&buf);
    buf_putc(&buf, 'a');
    assert_false(buf_ok(&buf));
    buf_fini(&buf);
}

static void test_printf_too_long(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 8);
    buf_printf(&buf, "%s", "1234567");
    assert_true(buf_ok(&buf));
    assert_int_equal(buf.len, 7);
    buf_printf(&buf, "%s", "too long by far");
    assert_false(buf_ok(&buf));
    assert_int_equal(buf.len, 7);
    assert_memory_equal(buf.data, "1234567", 7);
    buf_fini(&buf);
}

/* What does not fit is left out; the bytes behind are never written. */
static void test_over_bytes_of_the_caller(void **state)
{
    (void)state;
    char bytes[7] = "......!";
    struct buf buf = buf_over(bytes, 6);
    buf_puts(&buf, "abc");
    assert_string_equal(buf_over_end(&buf), "abc");
    buf_puts(&buf, "de");
    assert_true(buf_ok(&buf));
    buf_putc(&buf, 'f');
    assert_false(buf_ok(&buf));
    assert_string_equal(buf_over_end(&buf), "abcde");
    assert_int_equal(bytes[6], '!');
}

static void test_consume(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 64);
    buf_puts(&buf, "abcdef");
    buf_consume(&buf, 2);
    assert_string_equal(buf_cstr(&buf), "cdef");
    buf_consume(&buf, 0);
    assert_int_equal(buf.len, 4);
    buf_consume(&buf, 4);
    assert_int_equal(buf.len, 0);
    buf_puts(&buf, "xy");
    buf_consume(&buf, 99);
    assert_int_equal(buf.len, 0);
    buf_fini(&buf);
}

static void test_scope_cleanup(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 64);
    buf_puts(&buf, "freed at the end of the scope");
    AUTO_FREE char *bytes = malloc(16);
    assert_non_null(bytes);
    AUTO_FD int fd = dup(1);
    int raw = fd;
    assert_true(raw >= 0);
    int taken = fd_take(&fd);
    assert_int_equal(taken, raw);
    assert_int_equal(fd, -1);
    fd_close(&taken);
    assert_int_equal(taken, -1);
    assert_int_equal(close(raw), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appending),
        cmocka_unit_test(test_growth_keeps_content_and_maximum),
        cmocka_unit_test(test_failed_write_changes_nothing),
        cmocka_unit_test(test_huge_request),
        cmocka_unit_test(test_maximum_of_zero),
        cmocka_unit_test(test_printf_too_long),
        cmocka_unit_test(test_over_bytes_of_the_caller),
        cmocka_unit_test(test_consume),
        cmocka_unit_test(test_scope_cleanup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
