/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TOML parser over any bytes: an accepted document is walked whole and must be consistent and within its bounds, a
 * refused one must say where and in printable words.
 */
#include "fuzz.h"

#include "codec/toml.h"

static size_t walk(const struct toml_node *node, unsigned depth)
{
    check(depth <= TOML_DEPTH_MAX && node->line > 0 && node->column > 0);
    if (node->type == TOML_STRING)
        check(node->value.string.p[node->value.string.n] == '\0');
    if (node->type == TOML_DATETIME)
        check(node->value.datetime.text.n >= sizeof("00:00:00") - 1);
    if (node->type != TOML_TABLE && node->type != TOML_ARRAY)
        return 1;
    size_t total = 1;
    size_t count = 0;
    for (const struct toml_node *child = node->value.children.first; child; child = child->next) {
        check(node->type == TOML_TABLE || child->key.n == 0);
        check(child->next || child == node->value.children.last);
        total += walk(child, depth + 1);
        count++;
    }
    check(count == node->value.children.count);
    return total;
}

static void check_message(const char *msg)
{
    check(msg[0] >= '1' && msg[0] <= '9');
    check_printable(msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct toml_doc *doc = NULL;
    struct err err = {0};
    int r = toml_parse((struct str){(const char *)data, size}, &doc, &err);
    if (r < 0) {
        check(!doc && err.code == r);
        check_message(err.msg);
        return 0;
    }
    check(walk(toml_root(doc), 0) <= TOML_NODES_MAX);
    toml_free(doc);
    return 0;
}
