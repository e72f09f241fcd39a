/* SPDX-License-Identifier: Apache-2.0 */
/* --licenses: what is in the text, what is in it once, and a buffer that is too small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/auto.h"
#include "run/run.h"

enum { TEXT_BYTES_MAX = 64 * 1024, PACKED_BYTES_MAX = 5 * 1024 };

static unsigned count_of(const char *text, const char *words)
{
    unsigned count = 0;
    for (const char *p = text; (p = strstr(p, words)); p++)
        count++;
    return count;
}

static void test_text(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, TEXT_BYTES_MAX);
    struct err err = {0};
    assert_int_equal(licenses_put(&buf, &err), 0);
    const char *text = buf_cstr(&buf);
    assert_int_equal(count_of(text, "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"), 1);
    assert_int_equal(count_of(text, "END OF TERMS AND CONDITIONS"), 1);
    assert_int_equal(count_of(text, "GNU GENERAL PUBLIC LICENSE"), 0);
    assert_int_equal(count_of(text, "The Mbed TLS Contributors"), 1);
    assert_true(count_of(text, "used here under Apache-2.0") == 1);
    assert_true(count_of(text, "Jean-loup Gailly") >= 1);
    assert_int_equal(text[buf.len - 1], '\n');
}

static void test_size(void **state)
{
    (void)state;
    assert_in_range(licenses_packed_bytes, 3000, PACKED_BYTES_MAX);
}

static void test_appends_and_is_bounded(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1000);
    buf_puts(&buf, "kept");
    struct err err = {0};
    assert_int_equal(licenses_put(&buf, &err), -ENOBUFS);
    assert_int_equal(err.code, -ENOBUFS);
    assert_non_null(strstr(err.msg, "licenses"));
    assert_false(buf_ok(&buf));
    assert_memory_equal(buf.data, "kept", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_appends_and_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
