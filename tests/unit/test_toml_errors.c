/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the TOML parser refuses: the exact place and words of every kind of complaint, and the bounds on size, depth and
 * number of nodes from both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/auto.h"
#include "codec/toml.h"

static struct toml_doc *parse_str(struct str text)
{
    struct toml_doc *doc = NULL;
    struct err err = {0};
    int r = toml_parse(text, &doc, &err);
    if (r < 0)
        fail_msg("refused: %s", err.msg);
    assert_non_null(doc);
    return doc;
}

static void assert_refused(struct str text, int code, const char *message)
{
    struct toml_doc *const untouched = (struct toml_doc *)&code;
    struct toml_doc *doc = untouched;
    struct err err = {0};
    assert_int_equal(toml_parse(text, &doc, &err), code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.msg, message);
    assert_ptr_equal(doc, untouched);
}

struct refusal {
    const char *text, *message;
};

static void assert_all_refused(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_refused(str_of(cases[i].text), -EINVAL, cases[i].message);
}

#define ASSERT_ALL_REFUSED(cases) assert_all_refused(cases, sizeof(cases) / sizeof((cases)[0]))

static void bad_integers(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"a = 9223372036854775808", "1:5: this integer does not fit into 64 bits"},
        {"a = -9223372036854775809", "1:5: this integer does not fit into 64 bits"},
        {"a = 0x8000000000000000", "1:5: this integer does not fit into 64 bits"},
        {"a = 99999999999999999999999999", "1:5: this integer does not fit into 64 bits"},
        {"a = 01", "1:5: a number must not start with a zero"},
        {"a = -00", "1:6: a number must not start with a zero"},
        {"a = 0_1", "1:5: a number must not start with a zero"},
        {"a = 1__2", "1:7: an underscore in a number must be between digits"},
        {"a = 1_", "1:7: an underscore in a number must be between digits"},
        {"a = 0x", "1:7: expected a digit in this number"},
        {"a = 0x_1", "1:7: expected a digit in this number"},
        {"a = 0b12", "1:8: this character is not allowed in a number of this base"},
        {"a = 0o8", "1:7: expected a digit in this number"},
        {"a = -0x1", "1:7: this character is not allowed in a number"},
        {"a = 0X1", "1:6: this character is not allowed in a number"},
        {"a = +", "1:6: expected a digit in this number"},
        {"a = 12k", "1:7: this character is not allowed in a number"},
        {"a = 1 2", "1:7: expected the end of the line after the value, found '2'"},
    };
    ASSERT_ALL_REFUSED(cases);
}

static void bad_floats(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"a = 1e400", "1:5: this float is too large; write inf for infinity"},
        {"a = -1e400", "1:5: this float is too large; write inf for infinity"},
        {"a = 1.", "1:7: expected a digit in this number"},
        {"a = 1.e2", "1:7: expected a digit in this number"},
        {"a = .5", "1:5: not a value: a string needs quotes, a number starts with a digit"},
        {"a = 1._5", "1:7: expected a digit in this number"},
        {"a = 1_.5", "1:7: an underscore in a number must be between digits"},
        {"a = 1e", "1:7: expected a digit in this number"},
        {"a = 1e1.5", "1:8: this character is not allowed in a number"},
        {"a = 03.14", "1:5: a number must not start with a zero"},
        {"a = Inf", "1:5: not a value: a string needs quotes, a number starts with a digit"},
        {"a = -infinity", "1:6: expected a digit in this number"},
    };
    ASSERT_ALL_REFUSED(cases);
}

static void bad_datetimes(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"a = 2023-02-29", "1:13: the day is not between 01 and 28"},
        {"a = 1900-02-29", "1:13: the day is not between 01 and 28"},
        {"a = 2023-04-31", "1:13: the day is not between 01 and 30"},
        {"a = 2023-13-01", "1:10: the month is not between 01 and 12"},
        {"a = 2023-00-01", "1:10: the month is not between 01 and 12"},
        {"a = 2023-1-01", "1:10: the month needs 2 digits"},
        {"a = 2023-01", "1:12: expected '-' before the day"},
        {"a = 2023-01-01T", "1:16: the hour needs 2 digits"},
        {"a = 2023-01-01T24:00:00", "1:16: the hour is not between 00 and 23"},
        {"a = 2023-01-01 10:60:00", "1:19: the minute is not between 00 and 59"},
        {"a = 10:00:61", "1:11: the second is not between 00 and 60"},
        {"a = 10:00", "1:10: expected ':' before the second"},
        {"a = 10:00:00.", "1:14: the fraction of a second needs a digit"},
        {"a = 10:00:00Z", "1:13: this character is not allowed in a date or time"},
        {"a = 2023-01-01Z", "1:15: this character is not allowed in a date or time"},
        {"a = 2023-01-01T10:00:00+24:00", "1:25: the hour is not between 00 and 23"},
        {"a = 2023-01-01T10:00:00+0100", "1:27: expected ':' before the minute"},
        {"a = 10000-01-01", "1:10: this character is not allowed in a number"},
    };
    ASSERT_ALL_REFUSED(cases);
}

static void bad_strings(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"a = \"abc", "1:5: the string that starts here is not closed on the same line"},
        {"a = 'abc\n'", "1:5: the string that starts here is not closed on the same line"},
        {"a = \"abc\\", "1:9: unknown escape; write \\\\ for a backslash, or use a literal string in single quotes"},
        {"a = \"\"\"\nabc\"\"", "1:5: the multi-line string that starts here is not closed"},
        {"a = '''", "1:5: the multi-line string that starts here is not closed"},
        {"a = \"\\x41\"", "1:6: unknown escape; write \\\\ for a backslash, or use a literal string in single quotes"},
        {"a = \"\\\nb\"", "1:6: unknown escape; write \\\\ for a backslash, or use a literal string in single quotes"},
        {"a = \"\"\"\n \\ b\"\"\"",
            "2:2: unknown escape; write \\\\ for a backslash, or use a literal string in single quotes"},
        {"a = \"\\u00g0\"", "1:6: this escape needs 4 hexadecimal digits"},
        {"a = \"\\U0000004", "1:6: this escape needs 8 hexadecimal digits"},
        {"a = \"\\ud800\"", "1:6: U+D800 is not a Unicode character"},
        {"a = \"\\U00110000\"", "1:6: U+110000 is not a Unicode character"},
        {"a = '''x''''''", "1:14: expected the end of the line after the value, found a single quote"},
    };
    ASSERT_ALL_REFUSED(cases);
}

static void refused_bytes(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"a = 1\n# \x01", "2:3: the control character 0x01 is not allowed"},
        {"a = \"\x7f\"", "1:6: the control character 0x7f is not allowed"},
        {"a = '''\n\x0b'''", "2:1: the control character 0x0b is not allowed"},
        {"a = 1\rb = 2", "1:6: a carriage return without a line feed is not allowed"},
        {"# x\r", "1:4: a carriage return without a line feed is not allowed"},
        {"a = '''\r\r\n'''", "1:8: a carriage return without a line feed is not allowed"},
        {"# \xc0\x80", "1:3: the byte 0xc0 is not valid UTF-8 here"},
        {"# \x80", "1:3: the byte 0x80 is not valid UTF-8 here"},
        {"# \xe2\x82", "1:3: the byte 0xe2 is not valid UTF-8 here"},
        {"# \xe0\x9f\xbf", "1:3: the byte 0xe0 is not valid UTF-8 here"},
        {"# \xed\xa0\x80", "1:3: the byte 0xed is not valid UTF-8 here"},
        {"# \xf0\x8f\xbf\xbf", "1:3: the byte 0xf0 is not valid UTF-8 here"},
        {"# \xf4\x90\x80\x80", "1:3: the byte 0xf4 is not valid UTF-8 here"},
        {"# \xf5\x80\x80\x80", "1:3: the byte 0xf5 is not valid UTF-8 here"},
        {"a = '\xc3(", "1:6: the byte 0xc3 is not valid UTF-8 here"},
        {"\xef\xbb\xbf\xef\xbb\xbf", "1:1: expected a key, found the character U+FEFF"},
        {"a = 1\n\xe3\x80\x80", "2:1: expected a key, found the character U+3000"},
    };
    ASSERT_ALL_REFUSED(cases);
    assert_refused(STR("a = '\0'"), -EINVAL, "1:6: the control character 0x00 is not allowed");
    struct toml_doc *doc =
        parse_str(STR("# \xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbf \xf0\x90\x80\x80 \xe0\xa0\x80 \xc2\x80"));
    toml_free(doc);
}

static void bad_syntax(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"\n\nserver.address =", "3:17: expected a value after '='"},
        {"a = # nothing", "1:5: expected a value after '='"},
        {"a = \nb = 1", "1:5: expected a value after '='"},
        {"a", "1:2: expected '=' after the key, found the end of the file"},
        {"a b = 1", "1:3: expected '=' after the key, found 'b'"},
        {"a. = 1", "1:4: expected a key, found '='"},
        {"= 1", "1:1: expected a key, found '='"},
        {"a = 1 b = 2", "1:7: expected the end of the line after the value, found 'b'"},
        {"a == 1", "1:4: expected a value, found '='"},
        {"a = hello", "1:5: not a value: a string needs quotes, a number starts with a digit"},
        {"a = True", "1:5: not a value: a string needs quotes, a number starts with a digit"},
        {"\"\"\"a\"\"\" = 1", "1:1: a multi-line string cannot be a key"},
        {"a = [1, 2", "1:10: expected ',' or ']' in this array, found the end of the file"},
        {"a = [1,\n", "2:1: expected a value or ']', found the end of the file"},
        {"a = [1\n 2]", "2:2: expected ',' or ']' in this array, found '2'"},
        {"a = [,]", "1:6: expected a value, found ','"},
        {"a = [1,,2]", "1:8: expected a value, found ','"},
        {"a = {b = 1,}", "1:12: expected a key, found '}'"},
        {"a = {b = 1\n}", "1:11: expected ',' or '}' in this inline table, found the end of the line"},
        {"a = {b = }", "1:10: expected a value, found '}'"},
        {"a = {,}", "1:6: expected a key, found ','"},
        {"a = {", "1:6: expected a key, found the end of the file"},
        {"[]", "1:2: expected a key, found ']'"},
        {"[a", "1:3: expected ']' after the name of the table, found the end of the file"},
        {"[a] b", "1:5: expected the end of the line after the header, found 'b'"},
        {"[[a]", "1:5: expected ']]' after the name of the array of tables, found the end of the file"},
        {"[[a] ]", "1:5: expected ']]' after the name of the array of tables, found ' '"},
        {"[[a]\t]", "1:5: expected ']]' after the name of the array of tables, found a tab"},
        {"[ [a]]", "1:3: expected a key, found '['"},
        {"a = 1]", "1:6: expected the end of the line after the value, found ']'"},
    };
    ASSERT_ALL_REFUSED(cases);
}

static void redefinitions(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"b = 0\na = 1\n\n\na = 2", "5:1: the key \"a\" was already set on line 2"},
        {"a = 1\n'a' = 2", "2:1: the key \"a\" was already set on line 1"},
        {"a = 1\na.b = 2", "2:1: the integer \"a\" from line 1 cannot be extended"},
        {"a.b = 1\na = 2", "2:1: the table \"a\" was already defined by a dotted key on line 1"},
        {"a = {b = 1}\na.c = 2", "2:1: the inline table \"a\" from line 1 cannot be extended"},
        {"a = {b = 1, b = 2}", "1:13: the key \"b\" was already set on line 1"},
        {"a = {b.c = 1, b = 2}", "1:15: the table \"b\" was already defined by a dotted key on line 1"},
        {"a = {b = {}, b.c = 2}", "1:14: the inline table \"b\" from line 1 cannot be extended"},
        {"a = {b.c = 1}\n[a.b]", "2:2: the inline table \"a\" from line 1 cannot be extended"},
        {"[a]\n[a]", "2:2: the table \"a\" was already defined on line 1"},
        {"a = 1\n[a]", "2:2: the key \"a\" was already set on line 1"},
        {"a = 1\n[a.b]", "2:2: the integer \"a\" from line 1 cannot be extended"},
        {"a.b = 1\n[a]", "2:2: the table \"a\" was already defined by a dotted key on line 1"},
        {"[a.b]\n[a]\nb = 1", "3:1: the table \"b\" was already defined on line 1"},
        {"[a.b]\n[a]\nb.c = 1", "3:1: the table \"b\" was already defined on line 1"},
        {"[a.b.c]\n[a]\nb.c.d = 1", "3:3: the table \"c\" was already defined on line 1"},
        {"[a.b.c]\n[a]\nb.d = 1\n[a.b]", "4:4: the table \"b\" was already defined by a dotted key on line 3"},
        {"[[a]]\n[a]", "2:2: the array of tables \"a\" was already begun on line 1"},
        {"[[a]]\n[[a]]\na = 1\n[c]\n[a]", "5:2: the array of tables \"a\" was already begun on line 1"},
        {"[a]\n[[a]]", "2:3: the table \"a\" was already defined on line 1"},
        {"[a.b]\n[[a]]", "2:3: the table \"a\" was already defined on line 1"},
        {"[[a.b]]\n[a]\nb.y = 1", "3:1: the array of tables \"b\" was already begun on line 1"},
        {"a = []\n[[a]]", "2:3: the key \"a\" was already set on line 1"},
        {"a = [{}]\n[a.b]", "2:2: the array \"a\" from line 1 cannot be extended"},
    };
    ASSERT_ALL_REFUSED(cases);
}

static void messages_are_printable(void **state)
{
    (void)state;
    assert_refused(
        STR("\"\\u001b[1m\\u0000\\u009b\\u007f\xc3\xa9\" = 1\n\"\\u001b[1m\\u0000\\u009b\\u007f\xc3\xa9\" = 1"),
        -EINVAL, "2:1: the key \"?[1m???\xc3\xa9\" was already set on line 1");
    /* 59 bytes and a character of two bytes: the cut must not split it. */
    assert_refused(STR("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9zzzz' = 1\n"
                       "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9zzzz' = 1"),
        -EINVAL,
        "2:1: the key \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" was already set on line 1");
}

static void error_may_be_ignored(void **state)
{
    (void)state;
    struct toml_doc *doc = NULL;
    assert_int_equal(toml_parse(STR("a ="), &doc, NULL), -EINVAL);
    assert_null(doc);
}

/* prefix, unit n times, suffix. */
static struct str repeat(struct buf *buf, const char *prefix, const char *unit, size_t n, const char *suffix)
{
    buf_init(buf, (size_t)4 * TOML_BYTES_MAX);
    buf_puts(buf, prefix);
    for (size_t i = 0; i < n; i++)
        buf_puts(buf, unit);
    buf_puts(buf, suffix);
    assert_true(buf_ok(buf));
    return (struct str){buf->data, buf->len};
}

static void size_is_bounded(void **state)
{
    (void)state;
    AUTO_BUF struct buf fits;
    AUTO_BUF struct buf over;
    toml_free(parse_str(repeat(&fits, "#", "x", TOML_BYTES_MAX - 1, "")));
    assert_refused(
        repeat(&over, "#", "x", TOML_BYTES_MAX, ""), -E2BIG, "1:1: the document is larger than 1048576 bytes");
}

static void depth_is_bounded(void **state)
{
    (void)state;
    AUTO_BUF struct buf arrays;
    AUTO_BUF struct buf dotted;
    AUTO_BUF struct buf header;
    AUTO_BUF struct buf tables;
    AUTO_BUF struct buf fits;
    assert_refused(repeat(&arrays, "a=", "[", TOML_DEPTH_MAX + 1, ""), -E2BIG, "1:131: nested deeper than 128 levels");
    assert_refused(repeat(&dotted, "", "a.", TOML_DEPTH_MAX, "a=1"), -E2BIG, "1:257: nested deeper than 128 levels");
    assert_refused(repeat(&header, "[", "a.", TOML_DEPTH_MAX, "a]"), -E2BIG, "1:258: nested deeper than 128 levels");
    assert_refused(repeat(&tables, "", "a={", TOML_DEPTH_MAX, "a=1"), -E2BIG, "1:385: nested deeper than 128 levels");
    toml_free(parse_str(repeat(&fits, "", "a.", TOML_DEPTH_MAX - 1, "a=1")));
}

static void nodes_are_bounded(void **state)
{
    (void)state;
    AUTO_BUF struct buf fits;
    AUTO_BUF struct buf over;
    /* The root and the array count too. */
    struct toml_doc *doc = parse_str(repeat(&fits, "a=[", "1,", TOML_NODES_MAX - 2, "]"));
    assert_int_equal(toml_child(toml_root(doc), STR("a"))->value.children.count, TOML_NODES_MAX - 2);
    toml_free(doc);
    assert_refused(
        repeat(&over, "a=[\n", "1,", TOML_NODES_MAX - 1, "]"), -E2BIG, "2:131069: more than 65536 values and tables");
}

static void many_keys_in_one_table(void **state)
{
    (void)state;
    AUTO_BUF struct buf text;
    buf_init(&text, TOML_BYTES_MAX);
    for (unsigned i = 0; i < 60000; i++)
        buf_printf(&text, "k%u=%u\n", i, i);
    struct toml_doc *doc = parse_str((struct str){text.data, text.len});
    assert_int_equal(toml_root(doc)->value.children.count, 60000);
    assert_int_equal(toml_child(toml_root(doc), STR("k59999"))->value.integer, 59999);
    toml_free(doc);
    buf_puts(&text, "k31337=0\n");
    assert_refused(
        (struct str){text.data, text.len}, -EINVAL, "60001:1: the key \"k31337\" was already set on line 31338");
}

static void decoded_text_fits(void **state)
{
    (void)state;
    /* Text as dense as it gets, each in its own allocation, so that a store too small by a byte is overrun. */
    AUTO_BUF struct buf keys;
    AUTO_BUF struct buf empty;
    toml_free(parse_str(repeat(&keys, "", "a.", 100, "a=1")));
    toml_free(parse_str(repeat(&empty, "a=[''", ",''", 5000, "]")));
    toml_free(parse_str(STR("a=1.5")));
    toml_free(parse_str(STR("a=1979-05-27")));
    assert_refused(STR("a"), -EINVAL, "1:2: expected '=' after the key, found the end of the file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_integers),
        cmocka_unit_test(bad_floats),
        cmocka_unit_test(bad_datetimes),
        cmocka_unit_test(bad_strings),
        cmocka_unit_test(refused_bytes),
        cmocka_unit_test(bad_syntax),
        cmocka_unit_test(redefinitions),
        cmocka_unit_test(messages_are_printable),
        cmocka_unit_test(error_may_be_ignored),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(nodes_are_bounded),
        cmocka_unit_test(many_keys_in_one_table),
        cmocka_unit_test(decoded_text_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
