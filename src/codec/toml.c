/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of TOML 1.0 (toml.io/en/v1.0.0) over the layers named in toml_internal.h:
 *     [server]
 *     ports = [8000, 8001] # comment
 *     tls.key = { file = "key.pem" }
 */
#include "codec/toml.h"

#include <errno.h>

#include "codec/toml_internal.h"

static int parse_value(struct toml_parser *parser, struct toml_item *item);

static int parse_array(struct toml_parser *parser, struct toml_item *array)
{
    array->node.type = TOML_ARRAY;
    parser->p++;
    for (;;) {
        toml_lex_skip_lines(parser);
        if (toml_lex_take(parser, ']'))
            return 0;
        if (parser->p == parser->end)
            return toml_lex_expected(parser, "a value or ']'");
        struct toml_item *element;
        int r = toml_tree_add(parser, array, NULL, &element);
        if (r == 0)
            r = parse_value(parser, element);
        if (r < 0)
            return r;
        toml_lex_skip_lines(parser);
        if (toml_lex_take(parser, ']'))
            return 0;
        if (!toml_lex_take(parser, ','))
            return toml_lex_expected(parser, "',' or ']' in this array");
    }
}

/* key = value, or a.b.c = value, into the table. */
static int parse_pair(struct toml_parser *parser, struct toml_item *table)
{
    struct toml_key key;
    bool more;
    int r = toml_string_parse_key(parser, &key, &more);
    while (r == 0 && more) {
        r = toml_tree_enter_dotted(parser, table, &key, &table);
        if (r == 0)
            r = toml_string_parse_key(parser, &key, &more);
    }
    if (r < 0)
        return r;
    if (!toml_lex_take(parser, '='))
        return toml_lex_expected(parser, "'=' after the key");
    struct toml_item *item;
    r = toml_tree_define_value(parser, table, &key, &item);
    if (r < 0)
        return r;
    toml_lex_skip_blanks(parser);
    if (parser->p == parser->end || toml_lex_at_newline(parser) || *parser->p == '#')
        return toml_lex_fail(parser, toml_lex_here(parser), -EINVAL, "expected a value after '='");
    return parse_value(parser, item);
}

static int parse_inline_table(struct toml_parser *parser, struct toml_item *table)
{
    table->node.type = TOML_TABLE;
    parser->p++;
    toml_lex_skip_blanks(parser);
    if (toml_lex_take(parser, '}'))
        return 0;
    for (;;) {
        int r = parse_pair(parser, table);
        if (r < 0)
            return r;
        toml_lex_skip_blanks(parser);
        if (toml_lex_take(parser, '}'))
            return 0;
        if (!toml_lex_take(parser, ','))
            return toml_lex_expected(parser, "',' or '}' in this inline table");
    }
}

static int parse_value(struct toml_parser *parser, struct toml_item *item)
{
    struct toml_place at = toml_lex_here(parser);
    item->node.line = at.line;
    item->node.column = at.column;
    item->origin = TOML_BY_VALUE;
    char c = parser->p < parser->end ? *parser->p : '\n';
    if (c == '"' || c == '\'') {
        item->node.type = TOML_STRING;
        return toml_string_parse(parser, &item->node.value.string);
    }
    if (c == '[')
        return parse_array(parser, item);
    if (c == '{')
        return parse_inline_table(parser, item);
    return toml_scalar_parse(parser, &item->node);
}

/* [a.b] or [[a.b]]; *ret_table is where the following pairs go. */
static int parse_header(struct toml_parser *parser, struct toml_item **ret_table)
{
    struct toml_place at = toml_lex_here(parser);
    parser->p++;
    bool element = toml_lex_take(parser, '[');
    struct toml_item *table = parser->doc->root;
    struct toml_key key;
    bool more;
    int r = toml_string_parse_key(parser, &key, &more);
    while (r == 0 && more) {
        r = toml_tree_enter_header(parser, table, &key, &table);
        if (r == 0)
            r = toml_string_parse_key(parser, &key, &more);
    }
    if (r < 0)
        return r;
    if (!toml_lex_take(parser, ']'))
        return toml_lex_expected(parser, "']' after the name of the table");
    if (!element)
        return toml_tree_define_table(parser, table, &key, at, ret_table);
    if (!toml_lex_take(parser, ']'))
        return toml_lex_expected(parser, "']]' after the name of the array of tables");
    return toml_tree_define_element(parser, table, &key, at, ret_table);
}

static int parse_document(struct toml_parser *parser)
{
    struct toml_item *table = parser->doc->root;
    for (;;) {
        toml_lex_skip_lines(parser);
        if (parser->p == parser->end)
            return 0;
        bool header = *parser->p == '[';
        int r = header ? parse_header(parser, &table) : parse_pair(parser, table);
        if (r < 0)
            return r;
        toml_lex_skip_blanks(parser);
        toml_lex_skip_comment(parser);
        if (parser->p < parser->end && !toml_lex_at_newline(parser))
            return toml_lex_expected(
                parser, header ? "the end of the line after the header" : "the end of the line after the value");
    }
}

int toml_parse(struct str text, struct toml_doc **ret_doc, struct err *err)
{
    if (text.n > TOML_BYTES_MAX)
        return err_set(err, -E2BIG, "1:1: the document is larger than %d bytes", TOML_BYTES_MAX);
    if (str_starts(text, STR("\xef\xbb\xbf"))) /* a byte order mark, only here */
        text = (struct str){text.p + 3, text.n - 3};
    if (text.n == 0)
        text.p = "";
    struct toml_parser parser = {.p = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1, .err = err};
    int r = toml_tree_init(&parser, text.n);
    if (r < 0)
        (void)toml_lex_fail(&parser, toml_lex_here(&parser), r, "out of memory");
    if (r == 0)
        r = toml_lex_check(&parser);
    if (r == 0)
        r = parse_document(&parser);
    toml_tree_fini(&parser);
    if (r < 0)
        toml_free(parser.doc);
    else
        *ret_doc = parser.doc;
    return r;
}

const struct toml_node *toml_root(const struct toml_doc *doc)
{
    return &doc->root->node;
}

const struct toml_node *toml_child(const struct toml_node *table, struct str key)
{
    if (table->type != TOML_TABLE)
        return NULL;
    const struct toml_node *child = table->value.children.first;
    while (child && !str_eq(child->key, key))
        child = child->next;
    return child;
}

const char *toml_type_name(enum toml_type type)
{
    switch (type) {
    case TOML_STRING:
        return "string";
    case TOML_INTEGER:
        return "integer";
    case TOML_FLOAT:
        return "float";
    case TOML_BOOLEAN:
        return "boolean";
    case TOML_DATETIME:
        return "date-time";
    case TOML_ARRAY:
        return "array";
    case TOML_TABLE:
        return "table";
    }
    return "unknown";
}
