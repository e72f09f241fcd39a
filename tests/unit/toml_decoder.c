/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads TOML from standard input and prints it as the tagged JSON of the toml-test convention, or prints the error on
 * standard error and exits with 1:
 *     a = 1    gives    {"a": {"type": "integer", "value": "1"}}
 */
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/num.h"
#include "codec/toml.h"

enum { OUTPUT_BYTES_MAX = 64 * 1024 * 1024 };

static void put_string(struct buf *buf, struct str text)
{
    buf_putc(buf, '"');
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            buf_printf(buf, "\\u%04x", (unsigned)c);
        else
            buf_putc(buf, (char)c);
    }
    buf_putc(buf, '"');
}

static void put_tagged(struct buf *buf, const char *type, struct str value)
{
    buf_printf(buf, "{\"type\": \"%s\", \"value\": ", type);
    put_string(buf, value);
    buf_putc(buf, '}');
}

static void put_float(struct buf *buf, double value)
{
    char text[40];
    if (isnan(value))
        (void)snprintf(text, sizeof(text), "nan");
    else
        (void)snprintf(text, sizeof(text), "%.17g", value);
    put_tagged(buf, "float", str_of(text));
}

static void put_integer(struct buf *buf, int64_t value)
{
    buf_puts(buf, "{\"type\": \"integer\", \"value\": \"");
    num_put_i64(buf, value);
    buf_puts(buf, "\"}");
}

static const char *datetime_type(enum toml_datetime_kind kind)
{
    switch (kind) {
    case TOML_OFFSET_DATETIME:
        return "datetime";
    case TOML_LOCAL_DATETIME:
        return "datetime-local";
    case TOML_LOCAL_DATE:
        return "date-local";
    case TOML_LOCAL_TIME:
        return "time-local";
    }
    return "unknown";
}

static void put_node(struct buf *buf, const struct toml_node *node);

static void put_children(struct buf *buf, const struct toml_node *node)
{
    bool table = node->type == TOML_TABLE;
    buf_putc(buf, table ? '{' : '[');
    for (const struct toml_node *child = node->value.children.first; child; child = child->next) {
        if (child != node->value.children.first)
            buf_puts(buf, ", ");
        if (table) {
            put_string(buf, child->key);
            buf_puts(buf, ": ");
        }
        put_node(buf, child);
    }
    buf_putc(buf, table ? '}' : ']');
}

static void put_node(struct buf *buf, const struct toml_node *node)
{
    switch (node->type) {
    case TOML_STRING:
        put_tagged(buf, "string", node->value.string);
        break;
    case TOML_INTEGER:
        put_integer(buf, node->value.integer);
        break;
    case TOML_FLOAT:
        put_float(buf, node->value.real);
        break;
    case TOML_BOOLEAN:
        put_tagged(buf, "bool", node->value.boolean ? STR("true") : STR("false"));
        break;
    case TOML_DATETIME:
        put_tagged(buf, datetime_type(node->value.datetime.kind), node->value.datetime.text);
        break;
    case TOML_ARRAY:
    case TOML_TABLE:
        put_children(buf, node);
        break;
    }
}

static void read_all(FILE *in, struct buf *buf)
{
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0)
        buf_append(buf, chunk, n);
}

int main(void)
{
    AUTO_BUF struct buf in;
    AUTO_BUF struct buf out;
    buf_init(&in, TOML_BYTES_MAX + 1);
    buf_init(&out, OUTPUT_BYTES_MAX);
    read_all(stdin, &in);
    if (!buf_ok(&in)) {
        (void)fputs("1:1: the document is too large\n", stderr);
        return 1;
    }
    struct toml_doc *doc;
    struct err err;
    if (toml_parse((struct str){in.data, in.len}, &doc, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    put_node(&out, toml_root(doc));
    buf_putc(&out, '\n');
    toml_free(doc);
    return buf_ok(&out) && fwrite(out.data, 1, out.len, stdout) == out.len ? 0 : 2;
}
