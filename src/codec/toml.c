/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of TOML 1.0 (toml.io/en/v1.0.0) over the layers named in toml_internal.h:
 *     [server]
 *     ports = [8000, 8001] # comment
 *     tls.key = { file = "key.pem" }
 * and the tree under construction: items in blocks owned by the document, a hash over (table, key) for the time of the
 * parse, and the rules on what may be defined or added to where ([a] once, a.b = 1 not into [a.b], ...).
 */
#include "codec/toml.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/toml_internal.h"

/* How a table or array came to be decides what may be added to it later. */
enum toml_origin {
    TOML_BY_VALUE, /* scalars, static arrays, inline tables: complete as written */
    TOML_BY_SUPER, /* a table that only stands in the path of a header: still undefined */
    TOML_BY_HEADER, /* [table], one element of [[array]], the root */
    TOML_BY_DOTTED, /* a table in the path of a dotted key */
    TOML_BY_ELEMENTS, /* the array behind [[array]] headers */
};

struct toml_item {
    struct toml_node node; /* first, so that a node can be turned back into its item */
    enum toml_origin origin;
    unsigned depth;
    uint64_t hash; /* of parent and key, for table members only */
    const struct toml_item *parent;
    struct toml_item *hash_next;
};

struct toml_doc {
    struct toml_item *root;
    struct toml_block *blocks; /* newest first */
    size_t node_count;
    /*
     * All decoded text, a NUL behind each piece. As large as the source plus one: quotes, escapes and separators take
     * more room in the source than the decoded piece and its NUL.
     */
    char *bytes;
};

enum { TOML_BLOCK_ITEMS = 32 };

struct toml_block {
    struct toml_block *next;
    size_t used;
    struct toml_item items[TOML_BLOCK_ITEMS];
};

static struct toml_item *new_item(struct toml_doc *doc)
{
    struct toml_block *block = doc->blocks;
    if (!block || block->used == TOML_BLOCK_ITEMS) {
        block = calloc(1, sizeof(*block));
        if (!block)
            return NULL;
        block->next = doc->blocks;
        doc->blocks = block;
    }
    doc->node_count++;
    return &block->items[block->used++];
}

static void make_table(struct toml_item *item, enum toml_origin origin, struct toml_position at)
{
    item->origin = origin;
    item->node.type = TOML_TABLE;
    item->node.line = at.line;
    item->node.column = at.column;
}

static int tree_init(struct toml_parser *parser, size_t source_bytes)
{
    struct toml_doc *doc = calloc(1, sizeof(*doc));
    if (!doc)
        return -ENOMEM;
    parser->doc = doc;
    /* A member takes at least two bytes of source, most take far more. */
    size_t buckets = 16;
    while (buckets < source_bytes / 8 && buckets < TOML_NODES_MAX)
        buckets *= 2;
    doc->bytes = malloc(source_bytes + 1);
    doc->root = new_item(doc);
    parser->buckets = calloc(buckets, sizeof(*parser->buckets));
    if (!doc->bytes || !doc->root || !parser->buckets)
        return -ENOMEM;
    parser->bucket_mask = buckets - 1;
    parser->out = doc->bytes;
    make_table(doc->root, TOML_BY_HEADER, (struct toml_position){1, 1});
    return 0;
}

void toml_free(struct toml_doc *doc)
{
    if (!doc)
        return;
    while (doc->blocks) {
        struct toml_block *next = doc->blocks->next;
        free(doc->blocks);
        doc->blocks = next;
    }
    free(doc->bytes);
    free(doc);
}

/* Addresses differ from run to run, so a document cannot be made to fall into one bucket on purpose. */
static uint64_t hash_member(const struct toml_parser *parser, const struct toml_item *parent, struct str key)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15;
    uint64_t hash = ((uint64_t)(uintptr_t)parent * odd) ^ (uint64_t)(uintptr_t)parser->buckets;
    for (size_t i = 0; i < key.n; i++) {
        hash = (hash ^ (unsigned char)key.p[i]) * odd;
        hash ^= hash >> 32;
    }
    return hash;
}

static struct toml_item *find(const struct toml_parser *parser, const struct toml_item *parent, struct str key)
{
    uint64_t hash = hash_member(parser, parent, key);
    struct toml_item *item = parser->buckets[hash & parser->bucket_mask];
    while (item && !(item->hash == hash && item->parent == parent && str_eq(item->node.key, key)))
        item = item->hash_next;
    return item;
}

static void append_child(struct toml_item *parent, struct toml_item *item)
{
    struct toml_node *node = &parent->node;
    if (node->value.children.last)
        node->value.children.last->next = &item->node;
    else
        node->value.children.first = &item->node;
    node->value.children.last = &item->node;
    node->value.children.count++;
}

/* A new child at the end of a table (with key) or an array (key NULL). */
static int tree_add(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret)
{
    struct toml_position at = key ? key->at : toml_lex_here(parser);
    if (parent->depth >= TOML_DEPTH_MAX)
        return toml_lex_fail(parser, at, -E2BIG, "nested deeper than %d levels", TOML_DEPTH_MAX);
    if (parser->doc->node_count >= TOML_NODES_MAX)
        return toml_lex_fail(parser, at, -E2BIG, "more than %d values and tables", TOML_NODES_MAX);
    struct toml_item *item = new_item(parser->doc);
    if (!item)
        return toml_lex_fail(parser, at, -ENOMEM, "out of memory");
    item->depth = parent->depth + 1;
    item->parent = parent;
    append_child(parent, item);
    if (key) {
        item->node.key = key->text;
        item->node.key_line = key->at.line;
        item->node.key_column = key->at.column;
        item->hash = hash_member(parser, parent, key->text);
        struct toml_item **bucket = &parser->buckets[item->hash & parser->bucket_mask];
        item->hash_next = *bucket;
        *bucket = item;
    }
    *ret = item;
    return 0;
}

static int add_table(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    enum toml_origin origin, struct toml_item **ret)
{
    int r = tree_add(parser, parent, key, ret);
    if (r == 0)
        make_table(*ret, origin, key->at);
    return r;
}

/* Why `old` cannot be defined again. */
static int fail_taken(struct toml_parser *parser, const struct toml_item *old, const struct toml_key *key)
{
    const char *what = "the table";
    const char *how = "defined";
    unsigned line = old->node.line;
    switch (old->origin) {
    case TOML_BY_VALUE:
        what = "the key";
        how = "set";
        line = old->node.key_line;
        break;
    case TOML_BY_DOTTED:
        how = "defined by a dotted key";
        break;
    case TOML_BY_ELEMENTS:
        what = "the array of tables";
        how = "begun";
        break;
    case TOML_BY_SUPER:
    case TOML_BY_HEADER:
        break;
    }
    char name[TOML_SHOWN_MAX];
    toml_lex_show(key->text, name);
    return toml_lex_fail(parser, key->at, -EINVAL, "%s \"%s\" was already %s on line %u", what, name, how, line);
}

/* Values, inline tables and static arrays are complete as written. */
static int fail_complete(struct toml_parser *parser, const struct toml_item *old, const struct toml_key *key)
{
    char name[TOML_SHOWN_MAX];
    toml_lex_show(key->text, name);
    const char *kind = old->node.type == TOML_TABLE ? "inline table" : toml_type_name(old->node.type);
    return toml_lex_fail(
        parser, key->at, -EINVAL, "the %s \"%s\" from line %u cannot be extended", kind, name, old->node.key_line);
}

/* One step down the path of a header (TOML_BY_SUPER) or of a dotted key (TOML_BY_DOTTED): finds or makes the table. */
static int tree_enter(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    enum toml_origin origin, struct toml_item **ret)
{
    struct toml_item *old = find(parser, parent, key->text);
    if (!old)
        return add_table(parser, parent, key, origin, ret);
    if (old->origin == TOML_BY_VALUE)
        return fail_complete(parser, old, key);
    if (origin == TOML_BY_SUPER && old->origin == TOML_BY_ELEMENTS)
        old = (struct toml_item *)old->node.value.children.last;
    if (origin == TOML_BY_DOTTED && old->origin == TOML_BY_SUPER)
        make_table(old, TOML_BY_DOTTED, key->at);
    if (origin == TOML_BY_DOTTED && old->origin != TOML_BY_DOTTED)
        return fail_taken(parser, old, key);
    *ret = old;
    return 0;
}

/* The last step: what the header or key itself defines. `header` is the position of the first bracket. */
static int tree_define_table(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    struct toml_position header, struct toml_item **ret)
{
    struct toml_item *item = find(parser, parent, key->text);
    if (item && item->origin != TOML_BY_SUPER)
        return fail_taken(parser, item, key);
    if (!item) {
        int r = tree_add(parser, parent, key, &item);
        if (r < 0)
            return r;
    }
    make_table(item, TOML_BY_HEADER, header);
    *ret = item;
    return 0;
}

static int tree_define_element(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    struct toml_position header, struct toml_item **ret)
{
    struct toml_item *array = find(parser, parent, key->text);
    if (array && array->origin != TOML_BY_ELEMENTS)
        return fail_taken(parser, array, key);
    if (!array) {
        int r = tree_add(parser, parent, key, &array);
        if (r < 0)
            return r;
        make_table(array, TOML_BY_ELEMENTS, header);
        array->node.type = TOML_ARRAY;
    }
    struct toml_item *element = NULL;
    int r = tree_add(parser, array, NULL, &element);
    if (!element)
        return r;
    make_table(element, TOML_BY_HEADER, header);
    *ret = element;
    return 0;
}

static int tree_define_value(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret)
{
    const struct toml_item *old = find(parser, parent, key->text);
    return old ? fail_taken(parser, old, key) : tree_add(parser, parent, key, ret);
}

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
        struct toml_item *element = NULL;
        int r = tree_add(parser, array, NULL, &element);
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
    int r = toml_lex_key(parser, &key, &more);
    while (r == 0 && more) {
        r = tree_enter(parser, table, &key, TOML_BY_DOTTED, &table);
        if (r == 0)
            r = toml_lex_key(parser, &key, &more);
    }
    if (r < 0)
        return r;
    if (!toml_lex_take(parser, '='))
        return toml_lex_expected(parser, "'=' after the key");
    struct toml_item *item = NULL;
    r = tree_define_value(parser, table, &key, &item);
    if (!item)
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
    struct toml_position at = toml_lex_here(parser);
    item->node.line = at.line;
    item->node.column = at.column;
    item->origin = TOML_BY_VALUE;
    char c = parser->p < parser->end ? *parser->p : '\n';
    if (c == '"' || c == '\'') {
        item->node.type = TOML_STRING;
        return toml_lex_string(parser, &item->node.value.string);
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
    struct toml_position at = toml_lex_here(parser);
    parser->p++;
    bool element = toml_lex_take(parser, '[');
    struct toml_item *table = parser->doc->root;
    struct toml_key key;
    bool more;
    int r = toml_lex_key(parser, &key, &more);
    while (r == 0 && more) {
        r = tree_enter(parser, table, &key, TOML_BY_SUPER, &table);
        if (r == 0)
            r = toml_lex_key(parser, &key, &more);
    }
    if (r < 0)
        return r;
    if (!toml_lex_take(parser, ']'))
        return toml_lex_expected(parser, "']' after the name of the table");
    if (!element)
        return tree_define_table(parser, table, &key, at, ret_table);
    if (!toml_lex_take(parser, ']'))
        return toml_lex_expected(parser, "']]' after the name of the array of tables");
    return tree_define_element(parser, table, &key, at, ret_table);
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
    int r = tree_init(&parser, text.n);
    if (r < 0)
        (void)toml_lex_fail(&parser, toml_lex_here(&parser), r, "out of memory");
    if (r == 0)
        r = toml_lex_check(&parser);
    if (r == 0)
        r = parse_document(&parser);
    free(parser.buckets);
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
