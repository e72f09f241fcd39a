/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the documents that follow from the tables: generate-docs FOLDER makes FOLDER/schema/sample.schema.json,
 * FOLDER/metrics.md and FOLDER/configuration.md. A build tool; nothing of it is in the shipped program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "config/config.h"
#include "encode/json.h"
#include "model/field.h"

enum { DOCUMENT_BYTES_MAX = 1024 * 1024 };

static void put_indent(struct buf *buf, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        buf_puts(buf, "  ");
}

static const char *scalar_type(enum field_kind kind)
{
    switch (kind) {
    case FIELD_U64:
    case FIELD_I64:
        return "integer";
    case FIELD_F64:
    case FIELD_F64_LIST:
        return "number";
    case FIELD_BOOL:
        return "boolean";
    case FIELD_STRING:
    case FIELD_STRING_LIST:
    case FIELD_STRING_MAP:
        return "string";
    case FIELD_OBJECT:
    case FIELD_OBJECT_LIST:
        break;
    }
    return "object";
}

static void put_table(struct buf *buf, const struct field_table *table, unsigned depth);

static void put_type(struct buf *buf, const char *type, bool nullable)
{
    if (nullable)
        buf_printf(buf, "\"type\": [\"%s\", \"null\"]", type);
    else
        buf_printf(buf, "\"type\": \"%s\"", type);
}

/* The shape of a value behind its description. */
static void put_shape(struct buf *buf, const struct field *field, unsigned depth)
{
    bool nullable = field->rule == FIELD_NULLABLE;
    switch (field->kind) {
    case FIELD_OBJECT:
        put_type(buf, "object", nullable);
        put_table(buf, field->table, depth);
        return;
    case FIELD_OBJECT_LIST:
        put_type(buf, "array", nullable);
        buf_puts(buf, ", \"items\": {\"type\": \"object\"");
        put_table(buf, field->table, depth);
        buf_putc(buf, '}');
        return;
    case FIELD_F64_LIST:
    case FIELD_STRING_LIST:
        put_type(buf, "array", nullable);
        buf_puts(buf, ", \"items\": {");
        put_type(buf, scalar_type(field->kind), true);
        buf_putc(buf, '}');
        return;
    case FIELD_STRING_MAP:
        put_type(buf, "object", nullable);
        buf_puts(buf, ", \"additionalProperties\": {\"type\": [\"string\", \"null\"]}");
        return;
    case FIELD_U64:
        put_type(buf, "integer", nullable);
        buf_puts(buf, ", \"minimum\": 0");
        return;
    case FIELD_I64:
    case FIELD_F64:
    case FIELD_BOOL:
    case FIELD_STRING:
        put_type(buf, scalar_type(field->kind), nullable);
        return;
    }
}

static void put_description(struct buf *buf, const struct field *field)
{
    buf_puts(buf, "\"description\": ");
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    buf_puts(&text, field->help);
    if (field->unit[0] != '\0')
        buf_printf(&text, " Unit: %s.", field->unit);
    json_put_string(buf, (struct str){text.data, text.len});
    buf_puts(buf, ", ");
}

static void put_table(struct buf *buf, const struct field_table *table, unsigned depth)
{
    buf_puts(buf, ",\n");
    put_indent(buf, depth);
    buf_puts(buf, "\"required\": [");
    const char *separator = "";
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].rule == FIELD_OMITTED)
            continue;
        buf_printf(buf, "%s\"%s\"", separator, table->rows[i].name);
        separator = ", ";
    }
    buf_puts(buf, "],\n");
    put_indent(buf, depth);
    buf_puts(buf, "\"properties\": {");
    for (size_t i = 0; i < table->count; i++) {
        buf_puts(buf, i ? ",\n" : "\n");
        put_indent(buf, depth + 1);
        buf_printf(buf, "\"%s\": {", table->rows[i].name);
        put_description(buf, &table->rows[i]);
        put_shape(buf, &table->rows[i], depth + 2);
        buf_putc(buf, '}');
    }
    buf_putc(buf, '\n');
    put_indent(buf, depth);
    buf_putc(buf, '}');
}

static void write_schema(struct buf *buf)
{
    buf_puts(buf, "{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
                  "  \"title\": \"resource-tracker sample\",\n"
                  "  \"description\": \"One line of JSON output. A value that is not known is null. "
                  "New keys may be added; keys never change their meaning.\",\n  \"type\": \"object\"");
    put_table(buf, &field_sample, 1);
    buf_puts(buf, "\n}\n");
}

static const char *type_word(const struct field *field)
{
    switch (field->kind) {
    case FIELD_OBJECT:
        return "object";
    case FIELD_OBJECT_LIST:
        return "list of objects";
    case FIELD_F64_LIST:
        return "list of numbers";
    case FIELD_STRING_LIST:
        return "list of strings";
    case FIELD_STRING_MAP:
        return "map of strings";
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_F64:
    case FIELD_BOOL:
    case FIELD_STRING:
        break;
    }
    return scalar_type(field->kind);
}

static void put_metrics(struct buf *buf, const char *path, const struct field_table *table)
{
    buf_printf(buf, "\n## %s\n\n| key | type | unit | meaning |\n|---|---|---|---|\n", path);
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->rows[i];
        buf_printf(buf, "| `%s` | %s | %s | %s |\n", field->name, type_word(field), field->unit, field->help);
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->rows[i];
        if (!field->table)
            continue;
        char name[128];
        const char *list = field->kind == FIELD_OBJECT_LIST ? "[]" : "";
        const char *dot = table == &field_sample ? "" : ".";
        (void)snprintf(name, sizeof(name), "%s%s%s%s", table == &field_sample ? "" : path, dot, field->name, list);
        put_metrics(buf, name, field->table);
    }
}

static void write_metrics(struct buf *buf)
{
    buf_puts(buf,
        "# Metrics\n\nEvery key of a JSON sample, in output order. Made from the field tables by `make docs`; do "
        "not edit.\n\nA value that is not known is `null`, never 0. \"This interval\" is the time since the "
        "previous sample; rates divide by the time that really passed. Keys never change their meaning; new ones "
        "may be added. The schema for machines is [sample.schema.json](schema/sample.schema.json).\n");
    put_metrics(buf, "Sample", &field_sample);
}

static int save(const char *folder, const char *name, void (*write)(struct buf *buf))
{
    AUTO_BUF struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    write(&text);
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = buf_ok(&text) ? fopen(path, "we") : NULL;
    bool good = file && fwrite(text.data, 1, text.len, file) == text.len;
    if ((file && fclose(file) != 0) || !good) {
        (void)fprintf(stderr, "generate-docs: cannot write %s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: generate-docs FOLDER\n");
        return 2;
    }
    int failed = save(argv[1], "schema/sample.schema.json", write_schema) < 0;
    failed |= save(argv[1], "metrics.md", write_metrics) < 0;
    failed |= save(argv[1], "configuration.md", config_docs) < 0;
    return failed;
}
