/* SPDX-License-Identifier: Apache-2.0 */
/* JSON answers: what is a document and what is not, the ceilings, twins among keys, and getting at the values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "codec/json_read.h"

/* A document over a block of exactly the text's size: the sanitizer sees a read behind the end. */
struct doc {
    struct json_doc json;
    char *text;
};

static int doc_parse(struct doc *doc, struct str text)
{
    doc->text = malloc(text.n ? text.n : 1);
    assert_non_null(doc->text);
    if (text.n > 0)
        memcpy(doc->text, text.p, text.n);
    return json_doc_parse((struct str){doc->text, text.n}, &doc->json);
}

static void doc_fini(struct doc *doc)
{
    json_doc_fini(&doc->json);
    free(doc->text);
}

static const struct json_value *doc_open(struct doc *doc, const char *text)
{
    if (doc_parse(doc, str_of(text)) != 0)
        fail_msg("not taken: %s", text);
    return &doc->json.items[0];
}

static void assert_result(struct str text, int expected)
{
    struct doc doc;
    int r = doc_parse(&doc, text);
    if (r != expected)
        fail_msg("%d instead of %d: %.*s", r, expected, (int)(text.n < 60 ? text.n : 60), text.p);
    if (r < 0)
        assert_true(!doc.json.items && doc.json.count == 0);
    doc_fini(&doc);
}

static void assert_all(const char *const *texts, size_t count, int expected)
{
    for (size_t i = 0; i < count; i++)
        assert_result(str_of(texts[i]), expected);
}

#define ASSERT_ALL(texts, expected) assert_all((texts), sizeof(texts) / sizeof((texts)[0]), (expected))

static void test_valid(void **state)
{
    (void)state;
    static const char *const texts[] = {"null", "true", "false", "0", "\"\"", "[]", "{}", " \t\r\n{ \n} ", "[[]]",
        "[{}]", "[ 1 , 2 ]", "{\"a\":1,\"b\":2}", "{ \"a\" : [ ] }", "{\"\":0}", "[null,true,false]",
        "[1,[2,[3,{\"a\":[]}]]]", "{\"a\":{\"a\":{\"a\":1}}}", "[{\"a\":1},{\"a\":1}]", "\"\\u0000\"",
        "{\"\\u0000\":1}", "\"\x7f\"", "\"\xc2\x80\"", "\"\xed\x9f\xbf\"", "\"\xee\x80\x80\"", "\"\xef\xbf\xbf\"",
        "\"\xf4\x8f\xbf\xbf\"", "\"\\ud800\\udc00\"", "\"\\uDBFF\\uDFFF\"", "\"\\u12aB\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"a\\\\\""};
    ASSERT_ALL(texts, 0);
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const good[] = {"0", "-0", "1", "-1", "10", "1.5", "0.0", "-0.5", "1e5", "1E5", "1e+5", "1e-5",
        "0e0", "1.25E+10", "123456789012345678901234567890", "1e999999", "-1.0e-999", "0.00000000000000000000001"};
    ASSERT_ALL(good, 0);
    static const char *const broken[] = {"01", "-01", "00", "-", "+1", "1.", ".5", "-.5", "1.e5", "1e", "1e+", "1e-",
        "1e+-5", "1e-+5", "1E", "0x10", "1_000", "1,000", "NaN", "Infinity", "-Infinity", "nan", "inf", "--1", "1..2",
        "1.2.3", "1e5.5", "1 2", "- 1", "1e 5", "1f", "0b1", "1-", "[-]", "[1.]", "[01]", "[1e]", "\xef\xbc\x91"};
    ASSERT_ALL(broken, -EBADMSG);
}

static void test_broken_structure(void **state)
{
    (void)state;
    static const char *const broken[] = {"", " ", "\n", "[", "]", "{", "}", "[}", "{]", "[1", "[1,", "[1,]", "[,1]",
        "[,]", "[1,,2]", "[1 2]", "[1}", "{\"a\":1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}",
        "{\"a\"::1}", "{\"a\":1 \"b\":2}", "{\"a\",1}", "{:1}", "{1:1}", "{a:1}", "{'a':1}", "{null:1}", "{[]:1}",
        "{\"a\":1", "{\"a\"", "{\"a\":", "{\"a\":1,", "[]]", "{}}", "[][]", "{}{}", "null null", "1,2", "\"a\":1",
        "[1]x", "//x\n1", "1/*x*/", "[1]#", "nul", "nulll", "Null", "NULL", "tru", "truE", "falsey", "undefined", "[a]",
        "*", "\\u0031", "\xef\xbb\xbf{}", "\xff\xfe", "\xc2\xa0[]", "\f[]", "\v1", "[\f]", "(1)", ":", ",", "[:]",
        "[\"a\":1]"};
    ASSERT_ALL(broken, -EBADMSG);
    assert_result((struct str){0}, -EBADMSG);
    assert_result((struct str){"{}\0", 3}, -EBADMSG);
    assert_result((struct str){"\0{}", 3}, -EBADMSG);
    assert_result((struct str){"[1\0]", 4}, -EBADMSG);
}

static void test_broken_strings(void **state)
{
    (void)state;
    static const char *const broken[] = {"\"", "\"a", "\"\\", "\"\\\"", "\"\\x41\"", "\"\\a\"", "\"\\v\"", "\"\\0\"",
        "\"\\'\"", "\"\\U0041\"", "\"\\u\"", "\"\\u0\"", "\"\\u00\"", "\"\\u004\"", "\"\\u004g\"", "\"\\u-041\"",
        "\"\\u 041\"", "'a'", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\ud800\\n\"", "\"\\ud800\\ud800\"",
        "\"\\ud800\\u0041\"", "\"\\udc00\\ud800\"", "\"\\ud800\\udbff\"", "\"\\ud800\\ue000\"", "\"\\ud83d\\u\"",
        "\"\\ud83d\\ude0\"", "\"\\ud83d", "{\"\\ud800\":1}", "\"a\nb\"", "\"a\tb\"", "\"\x1f\"", "\"\x80\"", "\"\xbf\"",
        "\"\xc0\x80\"", "\"\xc1\xbf\"", "\"\xc3\"", "\"\xc3(\"", "\"\xe0\x80\x80\"", "\"\xe0\x9f\xbf\"",
        "\"\xed\xa0\x80\"", "\"\xed\xbf\xbf\"", "\"\xe2\x82\"", "\"\xf0\x80\x80\x80\"", "\"\xf0\x8f\xbf\xbf\"",
        "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xf0\x9f\x98\"", "\"\xfe\"", "\"\xff\"", "\"\xe4\"",
        "\"a\\\n\""};
    ASSERT_ALL(broken, -EBADMSG);
    assert_result((struct str){"\"a\0b\"", 5}, -EBADMSG);
    assert_result((struct str){"\"\\\0\"", 4}, -EBADMSG);
    assert_result((struct str){"\"\\u00\0041\"", 9}, -EBADMSG);
}

/* n times before, something, n times behind. */
static void assert_nested(size_t n, struct str before, struct str middle, struct str behind, int expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, JSON_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        buf_append(&buf, before.p, before.n);
    buf_append(&buf, middle.p, middle.n);
    for (size_t i = 0; i < n; i++)
        buf_append(&buf, behind.p, behind.n);
    assert_true(buf_ok(&buf));
    assert_result((struct str){buf.data, buf.len}, expected);
}

static void test_depth(void **state)
{
    (void)state;
    assert_nested(JSON_DEPTH_MAX, STR("["), STR(""), STR("]"), 0);
    assert_nested(JSON_DEPTH_MAX, STR("["), STR("1"), STR("]"), 0);
    assert_nested(JSON_DEPTH_MAX + 1, STR("["), STR(""), STR("]"), -E2BIG);
    assert_nested(JSON_DEPTH_MAX, STR("{\"a\":"), STR("1"), STR("}"), 0);
    assert_nested(JSON_DEPTH_MAX + 1, STR("{\"a\":"), STR("1"), STR("}"), -E2BIG);
    assert_nested(JSON_DEPTH_MAX / 2, STR("[{\"\":"), STR("0"), STR("}]"), 0);
    assert_nested(JSON_DEPTH_MAX / 2, STR("[{\"\":"), STR("[]"), STR("}]"), -E2BIG);
    assert_nested(100000, STR("["), STR(""), STR(""), -E2BIG);
    assert_nested(100000, STR("[{\"\":"), STR(""), STR(""), -E2BIG);
    /* Containers side by side are not deep. */
    assert_nested(1000, STR("[[[]]],"), STR("1"), STR(""), -EBADMSG);
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024 * 1024);
    buf_putc(&buf, '[');
    for (size_t i = 0; i < 1000; i++)
        buf_puts(&buf, "[[[]]],");
    buf_puts(&buf, "1]");
    assert_result((struct str){buf.data, buf.len}, 0);
}

static void test_number_of_values(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024 * 1024);
    buf_puts(&buf, "[1");
    for (size_t i = 2; i < JSON_VALUES_MAX; i++)
        buf_puts(&buf, ",1");
    size_t before = buf.len;
    buf_putc(&buf, ']');
    assert_result((struct str){buf.data, buf.len}, 0);
    buf.len = before;
    buf_puts(&buf, ",1]");
    assert_result((struct str){buf.data, buf.len}, -E2BIG);
}

static void test_number_of_bytes(void **state)
{
    (void)state;
    char *text = malloc((size_t)JSON_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, ' ', (size_t)JSON_BYTES_MAX + 1);
    text[0] = '1';
    assert_result((struct str){text, JSON_BYTES_MAX}, 0);
    assert_result((struct str){text, (size_t)JSON_BYTES_MAX + 1}, -E2BIG);
    free(text);
}

static void test_twins(void **state)
{
    (void)state;
    static const char *const twins[] = {"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":2,\"a\":3}", "{\"\":1,\"\":2}",
        "{\"a\":1,\"\\u0061\":2}", "{\"/\":1,\"\\/\":2}", "{\"\\n\":1,\"\\u000a\":2}", "{\"\\u000A\":1,\"\\u000a\":2}",
        "{\"\xc3\xa9\":1,\"\\u00e9\":2}", "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
        "{\"\\u0000\":1,\"\\u0000\":2}", "[{\"x\":{\"k\":[],\"k\":{}}}]", "{\"a\":{\"b\":1},\"a\":{\"b\":1}}",
        "{\"abc\":1,\"a\\u0062c\":2}"};
    ASSERT_ALL(twins, -EBADMSG);
    static const char *const others[] = {"{\"a\":1,\"A\":2}", "{\"a\":1,\"a \":2}", "{\"a\":1,\"\":2}",
        "{\"a\":1,\"aa\":2,\"aaa\":3}", "{\"a\":{\"a\":1}}", "{\"a\":\"b\",\"b\":\"a\"}", "{\"\\\\u0061\":1,\"a\":2}",
        "{\"\\u0000\":1,\"\\u0000\\u0000\":2}", "{\"e\xcc\x81\":1,\"\xc3\xa9\":2}",
        "{\"a\":[\"a\",\"a\"],\"b\":{\"a\":0,\"b\":0}}", "{\"\\\\n\":1,\"\\n\":2}",
        "{\"\xc3\xa9\":1,\"\xe2\x82\xac\":2,\"\xf0\x9f\x98\x80\":3,\"z\":4}"};
    ASSERT_ALL(others, 0);
    /* Two keys of the same hash. */
    assert_result(STR("{\"8yn0iYCKYHlIj4-BwPqk\":1,\"GReLUrM4wMqfg9yzV3KQ\":2}"), 0);
}

/* {"key0":0,"key1":1,...,last:0}; the keys begin alike and hold escapes, which is the slowest to compare. */
static void fill_wide(struct buf *buf, size_t count, const char *last)
{
    buf_putc(buf, '{');
    for (size_t i = 0; i < count; i++)
        buf_printf(buf, "\"\\u006bey with a long common beginning \\ud83d\\ude00 %zu\":%zu,", i * 7919 % count, i);
    buf_puts(buf, last);
    buf_puts(buf, ":0}");
}

static void test_many_keys(void **state)
{
    (void)state;
    enum { COUNT = JSON_VALUES_MAX / 2 - 1 };
    AUTO_BUF struct buf buf;
    buf_init(&buf, JSON_BYTES_MAX);
    fill_wide(&buf, COUNT - 1, "\"last\"");
    struct doc doc;
    const struct json_value *root = doc_open(&doc, buf_cstr(&buf));
    assert_int_equal(root->inside, COUNT * 2);
    int64_t number = -1;
    assert_true(json_integer(json_get(root, "key with a long common beginning \xf0\x9f\x98\x80 0"), &number));
    assert_int_equal(number, 0);
    assert_non_null(json_get(root, "last"));
    doc_fini(&doc);
    buf_clear(&buf);
    fill_wide(&buf, COUNT - 1, "\"key with a long common beginning \xf0\x9f\x98\x80 16000\"");
    assert_result((struct str){buf.data, buf.len}, -EBADMSG);
    buf_clear(&buf);
    fill_wide(&buf, 33, "\"key with a long common beginning \\uD83D\\uDE00 32\"");
    assert_result((struct str){buf.data, buf.len}, -EBADMSG);
}

static void test_flat_order(void **state)
{
    (void)state;
    struct doc doc;
    const struct json_value *root = doc_open(&doc, " {\"a\" : [1, {\"b\":null}] , \"c\":true} ");
    static const struct {
        enum json_type type;
        const char *text;
        uint32_t inside;
    } expected[] = {
        {JSON_OBJECT, "{\"a\" : [1, {\"b\":null}] , \"c\":true}", 8},
        {JSON_STRING, "a", 0},
        {JSON_ARRAY, "[1, {\"b\":null}]", 4},
        {JSON_NUMBER, "1", 0},
        {JSON_OBJECT, "{\"b\":null}", 2},
        {JSON_STRING, "b", 0},
        {JSON_NULL, "null", 0},
        {JSON_STRING, "c", 0},
        {JSON_TRUE, "true", 0},
    };
    assert_int_equal(doc.json.count, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < doc.json.count; i++) {
        assert_int_equal(root[i].type, expected[i].type);
        assert_true(str_eq(root[i].text, str_of(expected[i].text)));
        assert_int_equal(root[i].inside, expected[i].inside);
    }
    doc_fini(&doc);
}

static void test_get(void **state)
{
    (void)state;
    struct doc doc;
    const struct json_value *root = doc_open(&doc, "{\"run_id\":\"a\\u0031\",\"in\":{\"k\":false,\"run_id\":7},"
                                                   "\"\\u00e9\\n\":1,\"\":2,\"a\\\\u0062\":3,\"z\\u0000\":4}");
    char text[8];
    int64_t number;
    assert_true(json_string_copy(json_get(root, "run_id"), text, sizeof(text)));
    assert_string_equal(text, "a1");
    assert_int_equal(json_get(json_get(root, "in"), "k")->type, JSON_FALSE);
    assert_true(json_integer(json_get(json_get(root, "in"), "run_id"), &number) && number == 7);
    assert_true(json_integer(json_get(root, "\xc3\xa9\n"), &number) && number == 1);
    assert_true(json_integer(json_get(root, ""), &number) && number == 2);
    assert_true(json_integer(json_get(root, "a\\u0062"), &number) && number == 3);
    static const char *const none[] = {"run_i", "run_idx", "RUN_ID", "k", "ab", "z", "a1", "\\u00e9\\n", "\xc3"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_null(json_get(root, none[i]));
    assert_null(json_get(NULL, "a"));
    assert_null(json_get(json_get(root, "run_id"), "a"));
    assert_null(json_get(json_get(json_get(root, "none"), "of"), "these"));
    doc_fini(&doc);
}

static void test_at(void **state)
{
    (void)state;
    struct doc doc;
    const struct json_value *root = doc_open(&doc, "{\"a\":[10,[11,12],{\"x\":13},14],\"\\u0062\":{},\"c\":[]}");
    struct str key;
    const struct json_value *array = json_at(root, 0, &key);
    assert_true(str_eq(key, STR("a")));
    assert_int_equal(array->type, JSON_ARRAY);
    assert_int_equal(json_at(root, 1, &key)->type, JSON_OBJECT);
    assert_true(str_eq(key, STR("\\u0062")));
    assert_int_equal(json_at(root, 2, NULL)->type, JSON_ARRAY);
    assert_null(json_at(root, 3, &key));
    assert_null(json_at(root, SIZE_MAX, NULL));
    assert_true(str_eq(json_at(array, 0, &key)->text, STR("10")));
    assert_true(!key.p && key.n == 0);
    assert_true(str_eq(json_at(array, 1, NULL)->text, STR("[11,12]")));
    assert_true(str_eq(json_at(json_at(array, 1, NULL), 1, NULL)->text, STR("12")));
    assert_true(str_eq(json_at(json_at(array, 2, NULL), 0, NULL)->text, STR("13")));
    assert_true(str_eq(json_at(array, 3, NULL)->text, STR("14")));
    assert_null(json_at(array, 4, NULL));
    assert_null(json_at(json_at(root, 1, NULL), 0, NULL));
    assert_null(json_at(json_at(root, 2, NULL), 0, NULL));
    assert_null(json_at(json_at(array, 0, NULL), 0, NULL));
    assert_null(json_at(NULL, 0, NULL));
    doc_fini(&doc);
}

static void assert_string(const char *json, const char *expected)
{
    struct doc doc;
    const struct json_value *value = doc_open(&doc, json);
    AUTO_BUF struct buf buf;
    buf_init(&buf, 256);
    buf_puts(&buf, ">");
    assert_true(json_string(value, &buf));
    assert_string_equal(buf_cstr(&buf) + 1, expected);
    char text[64];
    assert_true(json_string_copy(value, text, sizeof(text)));
    assert_string_equal(text, expected);
    doc_fini(&doc);
}

static void test_strings(void **state)
{
    (void)state;
    assert_string("\"\"", "");
    assert_string("\"plain\"", "plain");
    assert_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    assert_string("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string("\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\udbff\\udfff\"",
        "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
    assert_string("\"\\u0001\\\\u0041\"", "\x01\\u0041");
}

static void test_strings_that_are_none(void **state)
{
    (void)state;
    struct doc doc;
    const struct json_value *root = doc_open(&doc, "[1,null,[],\"a\\u0000b\",\"\\u0000\",{\"k\":1}]");
    AUTO_BUF struct buf buf;
    buf_init(&buf, 64);
    buf_puts(&buf, "kept");
    for (size_t i = 0; i < 6; i++) {
        char text[8] = "before";
        assert_false(json_string(json_at(root, i, NULL), &buf));
        assert_string_equal(buf_cstr(&buf), "kept");
        assert_false(json_string_copy(json_at(root, i, NULL), text, sizeof(text)));
        assert_string_equal(text, "");
    }
    assert_false(json_string(NULL, &buf));
    assert_true(buf_ok(&buf));
    doc_fini(&doc);
}

static void test_strings_that_do_not_fit(void **state)
{
    (void)state;
    struct doc doc;
    const struct json_value *value = doc_open(&doc, "\"abc\\u00e9\"");
    char text[6] = "before";
    assert_true(json_string_copy(value, text, 6));
    assert_string_equal(text, "abc\xc3\xa9");
    for (size_t size = 1; size < 6; size++) {
        assert_false(json_string_copy(value, text, size));
        assert_string_equal(text, "");
    }
    text[0] = 'x';
    assert_false(json_string_copy(value, text, 0));
    assert_int_equal(text[0], 'x');
    AUTO_BUF struct buf buf;
    buf_init(&buf, 6);
    buf_puts(&buf, "12");
    assert_false(json_string(value, &buf));
    assert_int_equal(buf.len, 2);
    assert_false(buf_ok(&buf));
    buf_clear(&buf);
    buf_putc(&buf, '1');
    assert_true(json_string(value, &buf));
    assert_int_equal(buf.len, 6);
    doc_fini(&doc);
}

static void assert_integer(const char *json, bool is_one, int64_t expected)
{
    struct doc doc;
    int64_t number = 77;
    assert_int_equal(json_integer(doc_open(&doc, json), &number), is_one);
    assert_int_equal(number, is_one ? expected : 77);
    doc_fini(&doc);
}

static void test_integers(void **state)
{
    (void)state;
    assert_integer("0", true, 0);
    assert_integer("-0", true, 0);
    assert_integer("42", true, 42);
    assert_integer("-7", true, -7);
    assert_integer("9223372036854775807", true, INT64_MAX);
    assert_integer("-9223372036854775808", true, INT64_MIN);
    static const char *const none[] = {"9223372036854775808", "-9223372036854775809", "100000000000000000000000", "1.0",
        "1e2", "1E2", "0.5", "\"1\"", "null", "true", "[1]", "{}"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_integer(none[i], false, 0);
    int64_t number;
    assert_false(json_integer(NULL, &number));
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    static const char text[] =
        "{\"run_id\":\"\\ud83d\\ude00\xc3\xa9\",\"n\":[-1.5e+3,true,false,null],\"o\":{\"x\":{}}}";
    for (size_t n = 0; n < sizeof(text) - 1; n++)
        assert_result((struct str){text, n}, -EBADMSG);
    assert_result(STR(text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_broken_structure),
        cmocka_unit_test(test_broken_strings),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_number_of_values),
        cmocka_unit_test(test_number_of_bytes),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_flat_order),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_at),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_strings_that_are_none),
        cmocka_unit_test(test_strings_that_do_not_fit),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
