/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol Buffers: bytes as in "Encoding" of its documentation, lengths of several bytes, and what is broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "codec/protobuf.h"

enum { MAX = 1024 * 1024 };

static void assert_bytes(const struct buf *buf, struct str expected)
{
    assert_true(buf_ok(buf));
    assert_int_equal(buf->len, expected.n);
    assert_memory_equal(buf->data, expected.p, expected.n);
}

static void test_numbers(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf = {.max = MAX};
    protobuf_put_number(&buf, 1, 150);
    protobuf_put_number(&buf, 16, 0); /* the first whose tag has two bytes */
    protobuf_put_number(&buf, 2, 127);
    protobuf_put_number(&buf, 2, 128);
    protobuf_put_number(&buf, 2, (uint64_t)-2);
    assert_bytes(&buf, STR("\x08\x96\x01"
                           "\x80\x01\x00"
                           "\x10\x7f"
                           "\x10\x80\x01"
                           "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

static void test_fixed(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf = {.max = MAX};
    protobuf_put_fixed64(&buf, 2, UINT64_C(0x8877665544332211));
    protobuf_put_fixed32(&buf, 16, 0x44332211);
    assert_bytes(&buf, STR("\x11\x11\x22\x33\x44\x55\x66\x77\x88"
                           "\x85\x01\x11\x22\x33\x44"));
}

static void test_texts_and_messages(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf = {.max = MAX};
    protobuf_put_bytes(&buf, 2, STR("testing"));
    size_t start = protobuf_open(&buf, 3);
    protobuf_put_number(&buf, 1, 150);
    protobuf_close(&buf, start);
    start = protobuf_open(&buf, 4);
    protobuf_close(&buf, start);
    assert_bytes(&buf, STR("\x12\x07testing"
                           "\x1a\x03\x08\x96\x01"
                           "\x22\x00"));
}

/* A message within a message, of a length of one, two, three bytes. */
static void assert_nested(size_t n)
{
    AUTO_BUF struct buf buf = {.max = MAX}, text = {.max = MAX};
    for (size_t i = 0; i < n; i++)
        buf_putc(&text, (char)('a' + i % 26));
    size_t outer = protobuf_open(&buf, 1), inner = protobuf_open(&buf, 2);
    protobuf_put_bytes(&buf, 3, buf_str(&text));
    protobuf_close(&buf, inner);
    protobuf_close(&buf, outer);
    protobuf_put_number(&buf, 9, 1);
    assert_true(buf_ok(&buf));
    struct str rest = buf_str(&buf), bytes;
    unsigned field;
    uint64_t number;
    assert_true(protobuf_next(&rest, &field, &number, &bytes));
    assert_int_equal(field, 1);
    struct str message = bytes;
    assert_true(protobuf_next(&rest, &field, &number, &bytes));
    assert_int_equal(field, 9);
    assert_int_equal(rest.n, 0);
    for (unsigned expected = 2; expected <= 3; expected++) {
        assert_true(protobuf_next(&message, &field, &number, &bytes));
        assert_int_equal(field, expected);
        assert_int_equal(message.n, 0);
        message = bytes;
    }
    assert_int_equal(bytes.n, n);
    assert_true(n == 0 || memcmp(bytes.p, text.data, n) == 0);
}

static void test_long_messages(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 120, 125, 126, 127, 128, 129, 16376, 16380, 16384, 100000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        assert_nested(lengths[i]);
}

static void test_no_room(void **state)
{
    (void)state;
    for (size_t max = 0; max < 150; max++) {
        AUTO_BUF struct buf buf = {.max = max}, text = {.max = MAX};
        buf_printf(&text, "%0140d", 1);
        size_t start = protobuf_open(&buf, 1);
        protobuf_put_bytes(&buf, 3, buf_str(&text));
        protobuf_close(&buf, start);
        assert_int_equal(buf_ok(&buf), max >= 146);
    }
}

static void test_walk(void **state)
{
    (void)state;
    struct str rest = STR("\x08\x96\x01\x11"
                          "12345678\x1a\x02hi\x25"
                          "1234\x2a\x00");
    static const struct {
        unsigned field;
        uint64_t number;
        char bytes[9];
    } expected[] = {{1, 150, ""}, {2, 0, "12345678"}, {3, 0, "hi"}, {4, 0, "1234"}, {5, 0, ""}};
    unsigned field;
    uint64_t number;
    struct str bytes;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(protobuf_next(&rest, &field, &number, &bytes));
        assert_int_equal(field, expected[i].field);
        assert_int_equal(number, expected[i].number);
        assert_true(str_eq(bytes, str_of(expected[i].bytes)));
    }
    assert_false(protobuf_next(&rest, &field, &number, &bytes));
    assert_int_equal(bytes.n, 0);
}

static void test_broken(void **state)
{
    (void)state;
    static const struct str broken[] = {
        {"", 0},
        {"\x08", 1}, /* no number */
        {"\x08\x80", 2}, /* a number without its end */
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12}, /* and one that is too long */
        {"\x80", 1}, /* no tag */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11}, /* a field beyond 29 bits */
        {"\x80\x80\x80\x80\x10\x00", 6}, /* the first of them */
        {"\x11"
         "1234567",
            8},
        {"\x25"
         "123",
            4},
        {"\x1a", 1},
        {"\x1a\x03hi", 4},
        {"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01hi", 13}, /* a length that is larger than everything */
        {"\x0b\x0c", 2}, /* a group */
        {"\x0e\x00", 2},
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct str rest = broken[i], bytes;
        unsigned field;
        uint64_t number;
        if (protobuf_next(&rest, &field, &number, &bytes))
            fail_msg("text %zu is taken", i);
        assert_int_equal(bytes.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_texts_and_messages),
        cmocka_unit_test(test_long_messages),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
