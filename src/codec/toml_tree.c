/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree under construction: items in blocks owned by the document, a hash over (table, key) for the time of the
 * parse, and TOML's rules on what may be defined or added to where ([a] once, a.b = 1 not into [a.b], …).
 */
#include <errno.h>
#include <stdlib.h>

#include "codec/toml_internal.h"

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

static void make_table(struct toml_item *item, enum toml_origin origin, struct toml_place at)
{
    item->origin = origin;
    item->node.type = TOML_TABLE;
    item->node.line = at.line;
    item->node.column = at.column;
}

int toml_tree_init(struct toml_parser *parser, size_t source_bytes)
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
    make_table(doc->root, TOML_BY_HEADER, (struct toml_place){1, 1});
    return 0;
}

void toml_tree_fini(struct toml_parser *parser)
{
    free(parser->buckets);
    parser->buckets = NULL;
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

int toml_tree_add(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret)
{
    struct toml_place at = key ? key->at : toml_lex_here(parser);
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
    int r = toml_tree_add(parser, parent, key, ret);
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

int toml_tree_enter_header(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret)
{
    struct toml_item *old = find(parser, parent, key->text);
    if (!old)
        return add_table(parser, parent, key, TOML_BY_SUPER, ret);
    if (old->origin == TOML_BY_VALUE)
        return fail_complete(parser, old, key);
    if (old->origin == TOML_BY_ELEMENTS)
        old = (struct toml_item *)old->node.value.children.last;
    *ret = old;
    return 0;
}

int toml_tree_enter_dotted(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret)
{
    struct toml_item *old = find(parser, parent, key->text);
    if (!old)
        return add_table(parser, parent, key, TOML_BY_DOTTED, ret);
    if (old->origin == TOML_BY_VALUE)
        return fail_complete(parser, old, key);
    if (old->origin == TOML_BY_SUPER)
        make_table(old, TOML_BY_DOTTED, key->at);
    if (old->origin != TOML_BY_DOTTED)
        return fail_taken(parser, old, key);
    *ret = old;
    return 0;
}

int toml_tree_define_table(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    struct toml_place header, struct toml_item **ret)
{
    struct toml_item *item = find(parser, parent, key->text);
    if (item && item->origin != TOML_BY_SUPER)
        return fail_taken(parser, item, key);
    if (!item) {
        int r = toml_tree_add(parser, parent, key, &item);
        if (r < 0)
            return r;
    }
    make_table(item, TOML_BY_HEADER, header);
    *ret = item;
    return 0;
}

int toml_tree_define_element(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    struct toml_place header, struct toml_item **ret)
{
    struct toml_item *array = find(parser, parent, key->text);
    if (array && array->origin != TOML_BY_ELEMENTS)
        return fail_taken(parser, array, key);
    if (!array) {
        int r = toml_tree_add(parser, parent, key, &array);
        if (r < 0)
            return r;
        make_table(array, TOML_BY_ELEMENTS, header);
        array->node.type = TOML_ARRAY;
    }
    struct toml_item *element;
    int r = toml_tree_add(parser, array, NULL, &element);
    if (r < 0)
        return r;
    make_table(element, TOML_BY_HEADER, header);
    *ret = element;
    return 0;
}

int toml_tree_define_value(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret)
{
    const struct toml_item *old = find(parser, parent, key->text);
    return old ? fail_taken(parser, old, key) : toml_tree_add(parser, parent, key, ret);
}
