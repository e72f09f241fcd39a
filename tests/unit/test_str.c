/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

static void assert_str(struct str got, const char *want)
{
    assert_true(str_eq(got, str_of(want)));
}

static void test_equality_and_prefix(void **state)
{
    (void)state;
    assert_true(str_eq(STR(""), (struct str){0}));
    assert_true(str_eq(STR("ab"), STR("ab")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_false(str_eq(STR("ab"), STR("aB")));
    assert_true(str_starts(STR("cpu0"), STR("cpu")));
    assert_true(str_starts(STR("cpu"), STR("cpu")));
    assert_true(str_starts((struct str){0}, STR("")));
    assert_false(str_starts(STR("cp"), STR("cpu")));
    assert_false(str_starts(STR("xcpu"), STR("cpu")));
    assert_true(str_starts_nocase(STR("Bearer x"), STR("bearer")));
    assert_true(str_starts_nocase((struct str){0}, STR("")));
    assert_false(str_starts_nocase(STR("BEAR"), STR("bearer")));
}

static void test_lines(void **state)
{
    (void)state;
    struct str rest = STR("one\n\ntwo\r\nlast");
    struct str line;
    assert_true(str_line(&rest, &line));
    assert_str(line, "one");
    assert_true(str_line(&rest, &line));
    assert_str(line, "");
    assert_true(str_line(&rest, &line));
    assert_str(line, "two\r");
    assert_true(str_line(&rest, &line));
    assert_str(line, "last");
    assert_false(str_line(&rest, &line));
    rest = STR("\n");
    assert_true(str_line(&rest, &line));
    assert_int_equal(line.n, 0);
    assert_false(str_line(&rest, &line));
    rest = (struct str){0};
    assert_false(str_line(&rest, &line));
}

static void test_words(void **state)
{
    (void)state;
    struct str rest = STR("  a\tbc \n ");
    struct str word;
    assert_true(str_word(&rest, &word));
    assert_str(word, "a");
    assert_true(str_word(&rest, &word));
    assert_str(word, "bc");
    assert_true(str_word(&rest, &word));
    assert_str(word, "\n");
    assert_false(str_word(&rest, &word));
    rest = STR(" \t ");
    assert_false(str_word(&rest, &word));
}

static void test_trim(void **state)
{
    (void)state;
    assert_str(str_trim(STR(" \t\r\n a b \f\v\n")), "a b");
    assert_str(str_trim(STR("ab")), "ab");
    assert_int_equal(str_trim(STR(" \n ")).n, 0);
    assert_int_equal(str_trim((struct str){0}).n, 0);
}

static void test_copy(void **state)
{
    (void)state;
    char out[4] = "xxx";
    assert_true(str_copy(STR("abc"), out, sizeof(out)));
    assert_string_equal(out, "abc");
    assert_false(str_copy(STR("abcd"), out, sizeof(out)));
    assert_string_equal(out, "abc");
    assert_true(str_copy((struct str){0}, out, sizeof(out)));
    assert_string_equal(out, "");
    assert_false(str_copy(STR("a"), out, 1));
    assert_string_equal(out, "");
}

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(str_distance(STR("interval"), STR("interval")), 0);
    assert_int_equal(str_distance(STR("intervall"), STR("interval")), 1);
    assert_int_equal(str_distance(STR("kitten"), STR("sitting")), 3);
    assert_int_equal(str_distance(STR(""), STR("abc")), 3);
    assert_int_equal(str_distance(STR("abc"), STR("")), 3);
    assert_int_equal(str_distance(STR("ab"), STR("ba")), 2);
    struct str long63 = STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    struct str long64 = STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(str_distance(long63, long63), 0);
    assert_int_equal(str_distance(long63, STR("b")), 63);
    assert_true(str_distance(long64, STR("b")) == SIZE_MAX);
    assert_true(str_distance(STR("b"), long64) == SIZE_MAX);
}

static void test_path_below(void **state)
{
    (void)state;
    assert_true(str_path_below("/a/b", "/a"));
    assert_true(str_path_below("/a", "/a"));
    assert_true(str_path_below("/a", "/"));
    assert_true(str_path_below("/", "/"));
    assert_false(str_path_below("/ab", "/a"));
    assert_false(str_path_below("/", "/a"));
    assert_false(str_path_below("/a", "/a/b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equality_and_prefix),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_path_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
