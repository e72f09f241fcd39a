/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text by itself: strings from any bytes (RFC 8259, and RFC 3629 for what UTF-8 is), numbers, objects by table.
 * The keys of a whole sample are in test_json_sample.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "encode/json.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The text is put at the very end of an allocation, so that reading past it is caught by the sanitizer. */
static void put_exact(struct buf *buf, const void *bytes, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, bytes, n);
    buf_clear(buf);
    json_put_string(buf, (struct str){copy, n});
    free(copy);
    assert_true(buf_ok(buf));
}

/* Decodes one code point by the book; 0 where the bytes are not valid. */
static size_t decode(const unsigned char *p, size_t n)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    uint32_t code = length == 1 ? p[0] : p[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    bool good = code >= smallest[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return good ? length : 0;
}

static bool is_utf8(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = decode((const unsigned char *)text + i, n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

static void test_every_byte_value(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[3] = {'a', (char)byte, 'z'};
        char expected[32];
        if (byte == '"' || byte == '\\')
            (void)snprintf(expected, sizeof(expected), "\"a\\%cz\"", (int)byte);
        else if (byte == '\n' || byte == '\r' || byte == '\t')
            (void)snprintf(expected, sizeof(expected), "\"a\\%cz\"", byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
        else if (byte < 0x20 || byte == 0x7f)
            (void)snprintf(expected, sizeof(expected), "\"a\\u%04xz\"", byte);
        else if (byte < 0x80)
            (void)snprintf(expected, sizeof(expected), "\"a%cz\"", (int)byte);
        else
            (void)snprintf(expected, sizeof(expected), "\"a%sz\"", REPLACEMENT);
        put_exact(&buf, text, sizeof(text));
        assert_string_equal(buf_cstr(&buf), expected);
    }
}

static void test_edges_of_a_string(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    put_exact(&buf, "", 0);
    assert_string_equal(buf_cstr(&buf), "\"\"");
    buf_clear(&buf);
    json_put_string(&buf, (struct str){NULL, 0});
    assert_string_equal(buf_cstr(&buf), "\"\"");
    put_exact(&buf, "\"", 1);
    assert_string_equal(buf_cstr(&buf), "\"\\\"\"");
    put_exact(&buf, "\\\"\n\0x", 5);
    assert_string_equal(buf_cstr(&buf), "\"\\\\\\\"\\n\\u0000x\"");
    put_exact(&buf, "\xff\xff", 2);
    assert_string_equal(buf_cstr(&buf), "\"" REPLACEMENT REPLACEMENT "\"");
    put_exact(&buf, "</script>", 9);
    assert_true(strstr(buf_cstr(&buf), "script") != NULL);
}

static void test_valid_utf8_goes_through_unchanged(void **state)
{
    (void)state;
    /* The first and last of every length, both sides of the surrogates, the line separators. */
    static const char *const texts[] = {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xe2\x80\xa8\xe2\x80\xa9",
        "\xef\xbb\xbfx", "g\xc3\xa4rtner \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x90\xa7"};
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char expected[64];
        (void)snprintf(expected, sizeof(expected), "\"%s\"", texts[i]);
        put_exact(&buf, texts[i], strlen(texts[i]));
        assert_string_equal(buf_cstr(&buf), expected);
    }
}

static void test_invalid_utf8_is_replaced(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\x80", "\xbf", "\xfe", "\xff", /* no lead at all */
        "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", /* overlong */
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\xbd\xed\xb0\x80", /* surrogates, alone and as a pair */
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf7\xbf\xbf\xbf", /* above U+10FFFF */
        "\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80", /* the five and six byte forms of old */
        "\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x90", /* cut */
    };
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (int tail = 0; tail < 2; tail++) {
            char text[16];
            (void)snprintf(text, sizeof(text), "a%s%s", texts[i], tail ? "z" : "");
            put_exact(&buf, text, strlen(text));
            const char *got = buf_cstr(&buf);
            assert_memory_equal(got, "\"a", 2);
            size_t replaced = 0;
            const char *p = got + 2;
            for (; strncmp(p, REPLACEMENT, 3) == 0; p += 3)
                replaced++;
            assert_in_range(replaced, 1, strlen(texts[i]));
            assert_string_equal(p, tail ? "z\"" : "\"");
        }
    }
}

static void test_a_broken_sequence_does_not_swallow_its_neighbour(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    put_exact(&buf, "\xe2\"", 2);
    assert_string_equal(buf_cstr(&buf), "\"" REPLACEMENT "\\\"\"");
    put_exact(&buf, "\xf0\x9f\n", 3);
    assert_non_null(strstr(buf_cstr(&buf), REPLACEMENT "\\n\""));
    put_exact(&buf, "\xc3\xc3\xa4", 3);
    assert_string_equal(buf_cstr(&buf), "\"" REPLACEMENT "\xc3\xa4\"");
    put_exact(&buf, "\xf0\x9f\xf0\x9f\x90\xa7", 6);
    assert_non_null(strstr(buf_cstr(&buf), REPLACEMENT "\xf0\x9f\x90\xa7\""));
}

static void check_output_of(struct buf *buf, const unsigned char *bytes, size_t n)
{
    put_exact(buf, bytes, n);
    assert_true(is_utf8(buf->data, buf->len));
    bool plain = is_utf8((const char *)bytes, n);
    for (size_t i = 0; i < n; i++)
        plain = plain && bytes[i] >= 0x20 && bytes[i] != '"' && bytes[i] != '\\' && bytes[i] != 0x7f;
    bool same = buf->len == n + 2 && memcmp(buf->data + 1, bytes, n) == 0;
    assert_int_equal(same, plain);
}

/* Whatever goes in, valid UTF-8 comes out, and valid text comes out as it was. */
static void test_all_pairs_and_many_quadruples(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0x00, 0x22, 0x5c, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xff};
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    for (unsigned pair = 0; pair < 65536; pair++) {
        unsigned char bytes[4] = {(unsigned char)(pair >> 8), (unsigned char)pair};
        check_output_of(&buf, bytes, 2);
        if (bytes[0] < 0xe0 || pair % 3 != 0)
            continue;
        for (size_t i = 0; i < sizeof(edges) * sizeof(edges); i++) {
            bytes[2] = edges[i / sizeof(edges)];
            bytes[3] = edges[i % sizeof(edges)];
            check_output_of(&buf, bytes, 3 + i % 2);
        }
    }
}

struct one {
    struct opt_f64 real;
    struct opt_u64 natural;
    struct opt_i64 integer;
};

/* As the tables of the model are made: the key with its comma, quotes and colon. */
static const struct {
    struct field real, omitted, whole[2];
    struct field_table real_table, omitted_table, whole_table;
    char x[5], u[5], i[5], end[FIELD_KEY_BYTES];
} all = {
#define ROW(at, key, kind, rule, member)                                                                               \
    {                                                                                                                  \
        (uint16_t)(offsetof(__typeof__(all), key) - offsetof(__typeof__(all), at)), 5, kind, rule,                     \
            offsetof(struct one, member)                                                                               \
    }
    ROW(real, x, FIELD_F64, FIELD_NULLABLE, real), ROW(omitted, x, FIELD_F64, FIELD_OMITTED, real),
    {ROW(whole[0], u, FIELD_U64, FIELD_NULLABLE, natural), ROW(whole[1], i, FIELD_I64, FIELD_NULLABLE, integer)},
    {offsetof(__typeof__(all), real_table) - offsetof(__typeof__(all), real), 1, sizeof(struct one)},
    {offsetof(__typeof__(all), omitted_table) - offsetof(__typeof__(all), omitted), 1, sizeof(struct one)},
    {offsetof(__typeof__(all), whole_table) - offsetof(__typeof__(all), whole), 2, sizeof(struct one)},
    ",\"x\":", ",\"u\":", ",\"i\":", ""};

static void test_real_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "0.0"},
        {-0.00004, "0.0"},
        {0.00004, "0.0"},
        {0.00005, "0.0001"},
        {-0.00005, "-0.0001"},
        {1, "1.0"},
        {0.5, "0.5"},
        {0.25, "0.25"},
        {1.23456, "1.2346"},
        {-1.23456, "-1.2346"},
        {0.99999, "1.0"},
        {-0.99999, "-1.0"},
        {99.99996, "100.0"},
        {0.1 + 0.2, "0.3"},
        {1e-300, "0.0"},
        {DBL_MIN, "0.0"},
        {1000.125, "1000.125"},
        {123456789.0625, "123456789.0625"},
        {1e15, "1000000000000000.0"},
        {9007199254740992.0, "9007199254740992.0"},
        {1e18, "1000000000000000000.0"},
        {1e19, "10000000000000000000.0"},
        {-1e19, "-10000000000000000000.0"},
        {1e300, "null"},
        {DBL_MAX, "null"},
        {-DBL_MAX, "null"},
        {(double)NAN, "null"},
        {-(double)NAN, "null"},
        {(double)INFINITY, "null"},
        {-(double)INFINITY, "null"},
    };
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[64];
        struct one one = {.real = some_f64(cases[i].value)};
        (void)snprintf(expected, sizeof(expected), "{\"x\":%s}", cases[i].text);
        buf_clear(&buf);
        json_put_object(&buf, &all.real_table, &one);
        assert_string_equal(buf_cstr(&buf), expected);
    }
}

/* No exponent, no sign of zero, at most 4 decimals, whatever the magnitude. */
static void test_shape_of_real_numbers(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    for (double value = 1e-12; value < 1e25; value *= 1.7) {
        struct one one = {.real = some_f64(-value)};
        buf_clear(&buf);
        json_put_object(&buf, &all.real_table, &one);
        const char *number = buf_cstr(&buf) + strlen("{\"x\":");
        if (strcmp(number, "null}") == 0) {
            assert_true(value > 1.8e19);
            continue;
        }
        bool negative = number[0] == '-';
        size_t whole = strspn(number + negative, "0123456789");
        const char *point = number + negative + whole;
        assert_true(whole > 0 && *point == '.');
        size_t decimals = strspn(point + 1, "0123456789");
        assert_in_range(decimals, 1, 4);
        assert_string_equal(point + 1 + decimals, "}");
        assert_int_equal(negative, strpbrk(number, "123456789") != NULL);
        assert_true(fabs(strtod(number, NULL) + value) <= 0.00005000001 + value * 1e-15);
    }
}

static void test_whole_numbers(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    struct one one = {.natural = some_u64(UINT64_MAX), .integer = some_i64(INT64_MIN)};
    json_put_object(&buf, &all.whole_table, &one);
    assert_string_equal(buf_cstr(&buf), "{\"u\":18446744073709551615,\"i\":-9223372036854775808}");
    one = (struct one){.natural = some_u64(0), .integer = some_i64(-1)};
    buf_clear(&buf);
    json_put_object(&buf, &all.whole_table, &one);
    assert_string_equal(buf_cstr(&buf), "{\"u\":0,\"i\":-1}");
    /* Absent, with a value left behind that must not show. */
    one = (struct one){.natural = {.has = false, .v = 7}, .integer = {.has = false, .v = 7}};
    buf_clear(&buf);
    json_put_object(&buf, &all.whole_table, &one);
    assert_string_equal(buf_cstr(&buf), "{\"u\":null,\"i\":null}");
}

static void test_an_object_with_everything_left_out(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    struct one one = {0};
    json_put_object(&buf, &all.omitted_table, &one);
    assert_string_equal(buf_cstr(&buf), "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_value),
        cmocka_unit_test(test_edges_of_a_string),
        cmocka_unit_test(test_valid_utf8_goes_through_unchanged),
        cmocka_unit_test(test_invalid_utf8_is_replaced),
        cmocka_unit_test(test_a_broken_sequence_does_not_swallow_its_neighbour),
        cmocka_unit_test(test_all_pairs_and_many_quadruples),
        cmocka_unit_test(test_real_numbers),
        cmocka_unit_test(test_shape_of_real_numbers),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_an_object_with_everything_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
