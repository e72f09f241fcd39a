/* SPDX-License-Identifier: Apache-2.0 */
/* The one policy for foreign text: every class of character, malformed sequences, cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"

enum { OUT_BYTES = 64 };

static void assert_clean(struct str text, enum text_style style, const char *want)
{
    char out[OUT_BYTES];
    assert_int_equal(text_clean(text, style, "", out, sizeof(out)), strlen(want));
    assert_string_equal(out, want);
    /* In place. */
    char own[OUT_BYTES] = {0};
    if (text.n > 0)
        memcpy(own, text.p, text.n);
    (void)text_clean((struct str){own, text.n}, style, "", own, sizeof(own));
    assert_string_equal(own, want);
}

static void assert_put(struct str text, enum text_style style, size_t max, const char *want)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024);
    text_put(&buf, text, style, max);
    assert_string_equal(buf_cstr(&buf), want);
}

static struct str encoded(uint32_t point, char bytes[static UTF8_BYTES_MAX])
{
    return (struct str){bytes, utf8_encode(point, bytes)};
}

static void test_code_points_go_there_and_back(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        char bytes[UTF8_BYTES_MAX];
        struct str character = encoded(point, bytes);
        bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
        size_t length = utf8_length(character);
        if (length != (is_surrogate ? 0 : character.n) || (!is_surrogate && utf8_decode(character) != point))
            fail_msg("U+%04X", (unsigned)point);
    }
}

static void test_classes_of_characters(void **state)
{
    (void)state;
    static const uint32_t controls[] = {0, 1, '\t', '\n', '\r', 0x1b, 0x1f, 0x7f, 0x80, 0x85, 0x9b, 0x9f};
    static const uint32_t unsafe[] = {0xad, 0x61c, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a,
        0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0x206f, 0xfeff, 0xfff9, 0xfffb, 0xe0001,
        0xe007f, 0xe0fff};
    static const uint32_t safe[] = {' ', '~', 0xa0, 0xac, 0xae, 0xe4, 0x61b, 0x61d, 0x200a, 0x2010, 0x2027, 0x202f,
        0x205f, 0x2070, 0x20ac, 0x3000, 0x65e5, 0xfefe, 0xfff8, 0xfffd, 0x1f600, 0xdffff, 0xe1000, 0x10ffff};
    char bytes[UTF8_BYTES_MAX];
    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
        assert_true(text_is_control(encoded(controls[i], bytes)));
        assert_true(text_is_unsafe(encoded(controls[i], bytes)));
        assert_false(text_is_plain(encoded(controls[i], bytes)));
    }
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
        assert_false(text_is_control(encoded(unsafe[i], bytes)));
        assert_true(text_is_unsafe(encoded(unsafe[i], bytes)));
        assert_true(text_is_plain(encoded(unsafe[i], bytes)));
        assert_clean(encoded(unsafe[i], bytes), TEXT_MARK, "?");
        assert_clean(encoded(unsafe[i], bytes), TEXT_NAME, "");
    }
    for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
        assert_false(text_is_unsafe(encoded(safe[i], bytes)));
}

static void test_styles(void **state)
{
    (void)state;
    struct str text =
        STR(" a\0b\x1b[m\t\xc2\x9b \xe2\x80\xae\xe2\x80\xa8 \xff\xc3\xa4\xe2\x80\x83x\xed\xa0\x80\xc2\xa0");
    assert_clean(text, TEXT_MARK, " a?b?[m?? ?? ?\xc3\xa4\xe2\x80\x83x???\xc2\xa0");
    assert_clean(text, TEXT_ASCII, " a?b?[m?? ?? ???x????");
    assert_clean(text, TEXT_WORDS, "a b [m ?\xc3\xa4 x???");
    assert_clean(text, TEXT_NAME, "a b [m \xc3\xa4 x");
    assert_put(text, TEXT_ESCAPE, 100, " a\\x00b\\x1b[m\\x09? ?? \\xff\xc3\xa4\xe2\x80\x83x\\xed\\xa0\\x80\xc2\xa0");
    assert_put(text, TEXT_MARK, 100, " a?b?[m?? ?? ?\xc3\xa4\xe2\x80\x83x???\xc2\xa0");
    assert_clean((struct str){0}, TEXT_MARK, "");
    assert_clean(STR(" \n\r\t"), TEXT_WORDS, "");
    assert_put((struct str){0}, TEXT_ESCAPE, 8, "");
}

static void test_malformed_sequences(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xfe\xff"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(utf8_length(str_of(bad[i])), 0);
        assert_false(text_is_plain(str_of(bad[i])));
        assert_clean(str_of(bad[i]), TEXT_NAME, "");
        char marks[] = "????";
        marks[strlen(bad[i])] = '\0';
        assert_clean(str_of(bad[i]), TEXT_MARK, marks);
    }
}

static void test_cuts_lie_between_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text, *dots, *want;
    } rows[] = {
        {"1234567", "...", "1234567"},
        {"12345678", "...", "1234..."},
        {"1234\xe2\x82\xac", "...", "1234\xe2\x82\xac"},
        {"12345\xe2\x82\xac", "", "12345"},
        {"123\xc3\xa4xyz", "...", "123..."},
        {"12\xc3\xa4xyzz", "...", "12\xc3\xa4..."},
        {"12\xc3\xa4xyzz", "\xe2\x80\xa6", "12\xc3\xa4\xe2\x80\xa6"},
        {"123456 8", "", "123456"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[8];
        size_t n = text_clean(str_of(rows[i].text), TEXT_WORDS, rows[i].dots, out, sizeof(out));
        assert_string_equal(out, rows[i].want);
        assert_int_equal(n, strlen(rows[i].want));
    }
    assert_put(STR("1234567"), TEXT_ESCAPE, 7, "1234567");
    assert_put(STR("12345678"), TEXT_ESCAPE, 7, "1234...");
    assert_put(STR("1\n345678"), TEXT_ESCAPE, 7, "1...");
    assert_put(STR("123\xc3\xa4xyz"), TEXT_ESCAPE, 7, "123...");
    assert_int_equal(utf8_whole(STR("ab\xe2\x82")), 2);
    assert_int_equal(utf8_whole(STR("ab\xe2\x82\xac")), 5);
    assert_int_equal(utf8_whole(STR("ab\xf0\x9f\x98")), 2);
    assert_int_equal(utf8_whole(STR("ab\x82")), 3);
    assert_int_equal(utf8_whole(STR("\xc3")), 0);
    assert_int_equal(utf8_whole((struct str){0}), 0);
}

static void test_file_names_and_lines(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"train-7_a.b", "train-7_a.b"}, {"../x y", "_._x_y"}, {"-rf", "_rf"},
        {"\xc3\xa4\n", "___"}, {"", ""}, {"123456789", "1234567"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[8 + 4];
        text_file_name(rows[i][0], out, i == 5 ? 8 : sizeof(out));
        assert_string_equal(out, rows[i][1]);
    }
    assert_int_equal(text_fit(STR("one two"), 7), 7);
    assert_int_equal(text_fit(STR("one two"), 6), 3);
    assert_int_equal(text_fit(STR("one two"), 3), 3);
    assert_int_equal(text_fit(STR("one two"), 2), 2);
    assert_int_equal(text_fit(STR(""), 2), 0);
}

/* Whatever the bytes are, what comes out is well-formed and holds nothing that a terminal acts on. */
static void test_any_bytes_become_safe(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0x00, 0x1b, 0x20, 0x61, 0x7f, 0x80, 0x81, 0x8f, 0x9b, 0x9c, 0xa0, 0xa8, 0xad,
        0xae, 0xbb, 0xbf, 0xc2, 0xd8, 0xe2, 0xed, 0xef, 0xf0, 0xf3, 0xf4, 0xff};
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char bytes[12];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)edges[(seed >> 16) % sizeof(edges)];
        }
        for (enum text_style style = TEXT_MARK; style <= TEXT_NAME; style++) {
            AUTO_BUF struct buf buf;
            buf_init(&buf, 256);
            text_put(&buf, (struct str){bytes, sizeof(bytes)}, style, 200);
            for (struct str rest = {buf.data, buf.len}; rest.n > 0;) {
                size_t n = utf8_length(rest);
                assert_true(n > 0 && !text_is_unsafe((struct str){rest.p, n}));
                str_skip(&rest, n);
            }
        }
    }
}

static void test_visible(void **state)
{
    (void)state;
    assert_true(text_is_visible(STR("aB9/+=~!")));
    assert_false(text_is_visible(STR("")));
    assert_false(text_is_visible(STR("a b")));
    assert_false(text_is_visible(STR("a\n")));
    assert_false(text_is_visible(STR("\x7f")));
    assert_false(text_is_visible(STR("\xc3\xa9")));
}

static void test_words_of_a_shell(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        const char *want;
    } cases[] = {
        {{"", 0}, "''"},
        {{"a b", 3}, "'a b'"},
        {{"it's", 4}, "'it'\\''s'"},
        {{"''", 2}, "''\\'''\\'''"},
        {{"$HOME `x` \"\\", 12}, "'$HOME `x` \"\\'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO_BUF struct buf buf = {.max = 64};
        text_put_quoted(&buf, cases[i].text);
        assert_string_equal(buf_cstr(&buf), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_points_go_there_and_back),
        cmocka_unit_test(test_classes_of_characters),
        cmocka_unit_test(test_styles),
        cmocka_unit_test(test_malformed_sequences),
        cmocka_unit_test(test_cuts_lie_between_characters),
        cmocka_unit_test(test_file_names_and_lines),
        cmocka_unit_test(test_any_bytes_become_safe),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_words_of_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
