/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML values, places and the order of the tree. The breadth of the grammar is covered by the corpus run of
 * tests/e2e/test_toml_corpus.py; what is refused, and in which words, by test_toml_errors.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

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

static struct toml_doc *parse(const char *text)
{
    return parse_str(str_of(text));
}

static const struct toml_node *child(const struct toml_node *table, const char *key)
{
    const struct toml_node *node = toml_child(table, str_of(key));
    assert_non_null(node);
    return node;
}

static void assert_str(struct str got, struct str want)
{
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.p, want.p, want.n);
}

static void assert_place(const struct toml_node *node, unsigned line, unsigned column)
{
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
}

static void empty_documents(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", " \t", "# only this", "\xef\xbb\xbf", "\xef\xbb\xbf# x\r\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct toml_doc *doc = parse(texts[i]);
        assert_int_equal(toml_root(doc)->type, TOML_TABLE);
        assert_int_equal(toml_root(doc)->value.children.count, 0);
        assert_null(toml_root(doc)->value.children.first);
        assert_place(toml_root(doc), 1, 1);
        toml_free(doc);
    }
    struct toml_doc *doc = parse_str((struct str){NULL, 0});
    assert_null(toml_child(toml_root(doc), STR("a")));
    toml_free(doc);
    toml_free(NULL);
}

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0", 0}, {"+0", 0}, {"-0", 0}, {"+99", 99}, {"1_2_3", 123}, {"0xDEAD_beef", 0xdeadbeef},
        {"0o0755", 0755}, {"0b1_0", 2}, {"0x00", 0}, {"0x7fffffffffffffff", INT64_MAX},
        {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "a=%s", cases[i].text);
        struct toml_doc *doc = parse(text);
        const struct toml_node *node = child(toml_root(doc), "a");
        assert_int_equal(node->type, TOML_INTEGER);
        assert_true(node->value.integer == cases[i].value);
        toml_free(doc);
    }
}

static void floats(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("a = 1_0.2_5e+0_1\nb = 5E-2\nc = -0.0\nd = +inf\ne = -inf\nf = -nan\ng = 1e-400\n");
    const struct toml_node *root = toml_root(doc);
    assert_int_equal(child(root, "a")->type, TOML_FLOAT);
    assert_true(child(root, "a")->value.real == 102.5);
    assert_true(child(root, "b")->value.real == 0.05);
    assert_true(child(root, "c")->value.real == 0 && signbit(child(root, "c")->value.real));
    assert_true(child(root, "d")->value.real == (double)INFINITY);
    assert_true(child(root, "e")->value.real == -(double)INFINITY);
    assert_int_equal(child(root, "f")->type, TOML_FLOAT);
    assert_true(isnan(child(root, "f")->value.real));
    assert_true(child(root, "g")->value.real == 0);
    toml_free(doc);
}

static void float_of_many_digits(void **state)
{
    (void)state;
    char text[1024] = "a = 0.";
    memset(text + 6, '3', 1000);
    struct toml_doc *doc = parse(text);
    assert_true(child(toml_root(doc), "a")->value.real == 1.0 / 3.0);
    toml_free(doc);
}

static void booleans(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("true = true\nfalse=false#x");
    assert_int_equal(child(toml_root(doc), "true")->type, TOML_BOOLEAN);
    assert_true(child(toml_root(doc), "true")->value.boolean);
    assert_false(child(toml_root(doc), "false")->value.boolean);
    toml_free(doc);
}

static void datetimes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum toml_datetime_kind kind;
    } cases[] = {{"1979-05-27T07:32:00Z", TOML_OFFSET_DATETIME},
        {"1979-05-27 07:32:00.999-07:30", TOML_OFFSET_DATETIME}, {"2000-02-29t23:59:60z", TOML_OFFSET_DATETIME},
        {"2024-02-29 00:00:00", TOML_LOCAL_DATETIME}, {"1979-05-27T00:32:00.123456789012", TOML_LOCAL_DATETIME},
        {"0000-12-31", TOML_LOCAL_DATE}, {"00:00:00.0", TOML_LOCAL_TIME}, {"23:59:60", TOML_LOCAL_TIME}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "a = [%s ]", cases[i].text);
        struct toml_doc *doc = parse(text);
        const struct toml_node *node = child(toml_root(doc), "a")->value.children.first;
        assert_int_equal(node->type, TOML_DATETIME);
        assert_int_equal(node->value.datetime.kind, cases[i].kind);
        assert_str(node->value.datetime.text, str_of(cases[i].text));
        toml_free(doc);
    }
}

static void date_with_blank_behind(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("a = 1979-05-27 # 07:32:00\nb = [1979-05-27 , 2]");
    assert_int_equal(child(toml_root(doc), "a")->value.datetime.kind, TOML_LOCAL_DATE);
    assert_str(child(toml_root(doc), "a")->value.datetime.text, STR("1979-05-27"));
    assert_int_equal(child(toml_root(doc), "b")->value.children.count, 2);
    toml_free(doc);
}

static void strings(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("a = \"\\b\\t\\n\\f\\r\\\"\\\\ \\u0000 \\u00E9 \\uFFFF \\U0010ffff\"\n"
                                 "b = 'C:\\n \"x\"'\n"
                                 "c = ''\n"
                                 "d = \"\t\"\n");
    const struct toml_node *root = toml_root(doc);
    struct str a = child(root, "a")->value.string;
    assert_str(a, STR("\b\t\n\f\r\"\\ \0 \xc3\xa9 \xef\xbf\xbf \xf4\x8f\xbf\xbf"));
    assert_int_equal(a.p[a.n], '\0');
    assert_str(child(root, "b")->value.string, STR("C:\\n \"x\""));
    assert_str(child(root, "c")->value.string, STR(""));
    assert_int_equal(child(root, "c")->value.string.p[0], '\0');
    assert_str(child(root, "d")->value.string, STR("\t"));
    toml_free(doc);
}

static void multi_line_strings(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("a = \"\"\"\r\none\r\n  two\\\r\n \t\r\n  three\"\"\"\n"
                                 "b = \"\"\"\"\"quoted\"\"\"\"\"\n"
                                 "c = '''\n\nraw \\u0041 ''''\n"
                                 "d = \"\"\"\"\"\"\n"
                                 "e = 1\n");
    const struct toml_node *root = toml_root(doc);
    assert_str(child(root, "a")->value.string, STR("one\n  twothree"));
    assert_str(child(root, "b")->value.string, STR("\"\"quoted\"\""));
    assert_str(child(root, "c")->value.string, STR("\nraw \\u0041 '"));
    assert_str(child(root, "d")->value.string, STR(""));
    assert_place(child(root, "b"), 6, 5);
    assert_place(child(root, "e"), 11, 5);
    toml_free(doc);
}

static void places(void **state)
{
    (void)state;
    struct toml_doc *doc =
        parse("\xef\xbb\xbfx = 1\r\n  \"\xc3\xa9\" . b = [ 1,\n   {c = 2} ]\n [ t . u ]\nv = 'a'\n\t[[w]]\n");
    const struct toml_node *root = toml_root(doc);
    assert_place(child(root, "x"), 1, 5);
    const struct toml_node *accent = child(root, "\xc3\xa9");
    assert_place(accent, 2, 3);
    const struct toml_node *b = child(accent, "b");
    assert_place(b, 2, 14);
    assert_int_equal(b->key_line, 2);
    assert_int_equal(b->key_column, 10);
    assert_place(b->value.children.first, 2, 16);
    assert_int_equal(b->value.children.first->key_line, 0);
    assert_int_equal(b->value.children.first->key.n, 0);
    assert_place(b->value.children.last, 3, 4);
    assert_int_equal(child(b->value.children.last, "c")->key_column, 5);
    const struct toml_node *t = child(root, "t");
    assert_place(t, 4, 4);
    const struct toml_node *u = child(t, "u");
    assert_place(u, 4, 2);
    assert_int_equal(u->key_column, 8);
    assert_place(child(u, "v"), 5, 5);
    const struct toml_node *w = child(root, "w");
    assert_int_equal(w->type, TOML_ARRAY);
    assert_place(w, 6, 2);
    assert_place(w->value.children.first, 6, 2);
    assert_int_equal(w->key_column, 4);
    toml_free(doc);
}

static void children_keep_their_order(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("[z]\n[a.b]\n[a]\ny = 1\n[[l]]\nn = 1\n[[l]]\nn = 2\n[l.s]\n");
    const struct toml_node *node = toml_root(doc)->value.children.first;
    assert_str(node->key, STR("z"));
    node = node->next;
    assert_str(node->key, STR("a"));
    assert_place(node, 3, 1);
    assert_str(node->value.children.first->key, STR("b"));
    assert_str(node->value.children.last->key, STR("y"));
    node = node->next;
    assert_str(node->key, STR("l"));
    assert_null(node->next);
    assert_int_equal(node->value.children.count, 2);
    assert_null(toml_child(node, STR("n")));
    assert_int_equal(node->value.children.first->value.children.count, 1);
    assert_int_equal(child(node->value.children.last, "n")->value.integer, 2);
    assert_int_equal(child(node->value.children.last, "s")->type, TOML_TABLE);
    assert_null(toml_child(child(node->value.children.last, "n"), STR("n")));
    toml_free(doc);
}

static void odd_keys(void **state)
{
    (void)state;
    struct toml_doc *doc = parse("'' = 1\n\"a.b\" = 2\n\"nul\\u0000\" = 3\n1.2 = 4\n-_ = 5\n");
    const struct toml_node *root = toml_root(doc);
    assert_int_equal(root->value.children.count, 5);
    assert_int_equal(child(root, "")->value.integer, 1);
    assert_int_equal(child(root, "a.b")->value.integer, 2);
    assert_null(toml_child(root, STR("nul")));
    assert_int_equal(toml_child(root, STR("nul\0"))->value.integer, 3);
    assert_int_equal(child(child(root, "1"), "2")->value.integer, 4);
    assert_int_equal(child(root, "-_")->value.integer, 5);
    toml_free(doc);
}

static void allowed_extensions(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[a.b]\n[a]\n",
        "[a.b.c]\n[a.b]\n[a]\n",
        "a.b = 1\na.c.d = 2\na.c.e = 3\n[a.f]\n[a.c.g]\n",
        "[a.b.c]\n[a]\nb.d = 1\n",
        "[[a]]\nb.c = 1\n[[a]]\nb.c = 1\n[a.b.d]\n",
        "[[a.b]]\n[a]\nx = 1\n[[a.b]]\n[a.b.c]\n",
        "a = {b.c = 1, b.d = 2, e = {}}\n",
        "[a]\na = 1\n[b]\na = 1\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        toml_free(parse(texts[i]));
}

static void type_names(void **state)
{
    (void)state;
    static const char *const names[] = {"string", "integer", "float", "boolean", "date-time", "array", "table"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(toml_type_name((enum toml_type)i), names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_documents),
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(float_of_many_digits),
        cmocka_unit_test(booleans),
        cmocka_unit_test(datetimes),
        cmocka_unit_test(date_with_blank_behind),
        cmocka_unit_test(strings),
        cmocka_unit_test(multi_line_strings),
        cmocka_unit_test(places),
        cmocka_unit_test(children_keep_their_order),
        cmocka_unit_test(odd_keys),
        cmocka_unit_test(allowed_extensions),
        cmocka_unit_test(type_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
