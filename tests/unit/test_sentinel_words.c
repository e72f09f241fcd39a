/* SPDX-License-Identifier: Apache-2.0 */
/* The server's words: where they are found, and that nothing harmful or secret comes with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "stream/targets/sentinel_internal.h"

#define TOKEN "sk-Secret/42+x"
#define ELLIPSIS "\xe2\x80\xa6"

static void assert_words(const char *body, const char *expected)
{
    char words[SENTINEL_MESSAGE_BYTES];
    size_t n = strlen(body);
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, body, n);
    sentinel_read_message((struct str){copy, n}, STR(TOKEN), words);
    free(copy);
    assert_string_equal(words, expected);
}

static void test_json_members(void **state)
{
    (void)state;
    assert_words("{\"detail\":\"invalid token\"}", "invalid token");
    assert_words(" {\"message\":\"Forbidden\"}\n", "Forbidden");
    assert_words("{\"error\":\"quota\",\"code\":7}", "quota");
    assert_words("{\"title\":\"Bad input\",\"status\":400}", "Bad input");
    assert_words("{\"title\":\"t\",\"error\":\"e\",\"message\":\"m\",\"detail\":\"d\"}", "d");
    assert_words("{\"title\":\"t\",\"error\":\"e\",\"message\":\"\",\"detail\":null}", "e");
    assert_words("{\"error\":{\"code\":3,\"message\":\"inner\"}}", "inner");
    assert_words("{\"detail\":{\"msg\":\"inner\"},\"message\":\"m\"}", "inner");
    assert_words("{\"detail\":{\"x\":1},\"message\":\"m\"}", "m");
    assert_words("{\"code\":1,\"reason\":\"because\"}", "because");
    assert_words("\"just text\"", "just text");
    assert_words("{\"code\":1}", "");
    assert_words("[1,2]", "");
    assert_words("42", "");
}

static void test_json_list(void **state)
{
    (void)state;
    assert_words("{\"detail\":[{\"loc\":[\"body\",\"host_vcpus\"],\"msg\":\"must be positive\",\"type\":\"x\"},"
                 "{\"loc\":[\"body\",\"tags\",0],\"msg\":\"no string\"}]}",
        "body.host_vcpus: must be positive; body.tags.0: no string");
    assert_words(
        "{\"detail\":[{\"loc\":[],\"msg\":\"a\"},{\"msg\":\"b\"},\"c\",{\"msg\":7},{\"loc\":[1]},null,[]]}", "a; b; c");
    assert_words("{\"detail\":[{\"loc\":[\"a\",null,\"b\"],\"msg\":\"m\"}]}", "a.b: m");
    assert_words("{\"detail\":[{\"loc\":\"a\",\"msg\":\"m\"}]}", "m");
    assert_words("{\"detail\":[],\"message\":\"m\"}", "m");
    assert_words("{\"detail\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}", "1; 2; 3; 4; 5; 6; 7; 8");
}

static void test_text(void **state)
{
    (void)state;
    assert_words("", "");
    assert_words(" \n ", "");
    assert_words("Service\r\n\tdown   for now\n", "Service down for now");
    assert_words("{\"detail\":\"cut", "{\"detail\":\"cut");
    assert_words("\x1f\x8b\x08 binary", "");
    assert_words("not \xff utf-8", "");
    assert_words("caf\xc3\xa9", "caf\xc3\xa9");
}

static void test_html(void **state)
{
    (void)state;
    assert_words("<html><head><TITLE lang=en>\n 502 Bad Gateway </TITLE></head><body><h1>x</h1>", "502 Bad Gateway");
    assert_words("<!DOCTYPE html><body>no title</body>", "");
    assert_words("<title", "");
    assert_words("<title>", "");
    assert_words("<title>open", "");
    assert_words("<?xml version=\"1.0\"?><Error><Code>X</Code></Error>", "");
    assert_words("<", "");
}

static void test_control_characters(void **state)
{
    (void)state;
    assert_words("{\"detail\":\"a\\u001b[31mred\\u0007\\r\\nb\\u007fc\"}", "a [31mred b c");
    assert_words("{\"detail\":\"a\\u009b31m\\u0085b\"}", "a 31m b"); /* C1 */
    assert_words("{\"detail\":\"a\\u202eb\\u2066c\\u2028d\\u200be\"}", "a b c d e"); /* direction, separators */
    assert_words("{\"detail\":\"  \\u0001 \"}", "");
    assert_words("{\"detail\":\"nul \\u0000\",\"message\":\"m\"}", "m");
}

static void test_secrets(void **state)
{
    (void)state;
    assert_words("{\"detail\":\"token " TOKEN " is unknown\"}", "token *** is unknown");
    assert_words("{\"detail\":\"sk-Secret\\/42+x" TOKEN "\"}", "******");
    assert_words("got 'Authorization: Bearer " TOKEN "'", "got 'Authorization: Bearer ***");
    assert_words("got bearer AbCd1234, sorry", "got bearer *** sorry");
    assert_words("BEARER\t: xyz9 y", "BEARER : *** y");
    assert_words("missing bearer token", "missing bearer token");
    assert_words("Bearer authentication, please", "Bearer authentication, please");
    assert_words("bearer abcdefghijklmnopqrst end", "bearer *** end"); /* too long for a word */
    assert_words("bearer", "bearer");
    assert_words("bearers9 x", "bearers9 x");
    assert_words("<title>" TOKEN "</title>", "***");
}

static void test_secrets_in_other_codings(void **state)
{
    (void)state;
    char words[SENTINEL_MESSAGE_BYTES];
    sentinel_read_message(STR("no a%2Fb%2Bc and YS9iK2M= here"), STR("a/b+c"), words);
    assert_string_equal(words, "no ********* and *******= here");
    sentinel_read_message(STR("no a%2fb%2bc, a/b%2Bc, QmVhcmVyIGEvYitj here"), STR("a/b+c"), words);
    assert_string_equal(words, "no *********, *******, **************** here");
}

static void test_without_token(void **state)
{
    (void)state;
    char words[SENTINEL_MESSAGE_BYTES];
    sentinel_read_message(STR("plain"), STR(""), words);
    assert_string_equal(words, "plain");
    sentinel_read_message((struct str){NULL, 0}, (struct str){NULL, 0}, words);
    assert_string_equal(words, "");
    sentinel_read_message(STR("a-a"), STR("a"), words);
    assert_string_equal(words, "***-***");
}

/* n bytes of text and what becomes of it. */
static void assert_cut(const char *unit, size_t count, size_t expected_bytes, bool is_cut)
{
    AUTO_BUF struct buf body;
    char words[SENTINEL_MESSAGE_BYTES];
    buf_init(&body, 64 * 1024);
    for (size_t i = 0; i < count; i++)
        buf_puts(&body, unit);
    sentinel_read_message((struct str){body.data, body.len}, STR(TOKEN), words);
    assert_int_equal(strlen(words), expected_bytes);
    if (is_cut)
        assert_string_equal(words + expected_bytes - 3, ELLIPSIS);
    else
        assert_memory_equal(words, body.data, expected_bytes);
    for (struct str rest = str_of(words); rest.n > 0;) {
        size_t length = utf8_length(rest);
        assert_true(length > 0);
        rest = (struct str){rest.p + length, rest.n - length};
    }
}

static void test_cut(void **state)
{
    (void)state;
    assert_cut("a", 299, 299, false);
    assert_cut("a", 300, 300, false);
    assert_cut("a", 301, 300, true);
    assert_cut("a", 5000, 300, true);
    assert_cut("\xc3\xa4", 150, 300, false);
    assert_cut("\xc3\xa4", 151, 299, true); /* 148 characters and the ellipsis */
    assert_cut("\xf0\x9f\x99\x82", 75, 300, false);
    assert_cut("\xf0\x9f\x99\x82", 76, 299, true);
    assert_cut(TOKEN "-", 100, 300, true);
}

static void test_large(void **state)
{
    (void)state;
    char words[SENTINEL_MESSAGE_BYTES];
    enum { LARGE = 300 * 1024 };
    AUTO_FREE char *body = malloc(LARGE);
    assert_non_null(body);
    memset(body, 'x', LARGE);
    sentinel_read_message((struct str){body, LARGE}, STR(TOKEN), words);
    assert_string_equal(words, "");
    sentinel_read_message((struct str){body, 256 * 1024}, STR("x"), words);
    assert_int_equal(strlen(words), 300);
    assert_null(strchr(words, 'x'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_members),
        cmocka_unit_test(test_json_list),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_secrets_in_other_codings),
        cmocka_unit_test(test_without_token),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
