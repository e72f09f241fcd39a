/* SPDX-License-Identifier: Apache-2.0 */
/* docs/metrics.md and docs/schema/: every key of a sample and of a summary, from the field tables. */
#include "docs.h"

#include <stdio.h>

#include "base/auto.h"
#include "encode/json.h"
#include "summary/summary.h"

struct docs_name docs_name(const struct field *field)
{
    struct docs_name name;
    (void)str_copy(field_name(field), name.text, sizeof(name.text));
    return name;
}

const char *docs_meaning(const struct field *field)
{
    return field->text + strlen(field->text) + 1;
}

static const char *type_word(const struct field *field)
{
    switch ((enum field_kind)field->kind) {
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
    case FIELD_WHOLE:
    case FIELD_MIB:
    case FIELD_MIB_BYTES:
        return "integer";
    case FIELD_F64:
        return "number";
    case FIELD_BOOL:
        return "boolean";
    case FIELD_STRING:
        break;
    }
    return "string";
}

/* A heading and a table for these rows, then the same for the objects below them, whose names begin with prefix. */
static void put_metrics(struct buf *buf, const char *title, const char *prefix, const struct field_table *table)
{
    buf_printf(buf, "\n## %s\n\n| key | type | unit | meaning |\n|---|---|---|---|\n", title);
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &field_rows(table)[i];
        buf_printf(buf, "| `%s` | %s | %s | ", docs_name(field).text, type_word(field), field->text);
        docs_put_replaced(buf, docs_meaning(field), '|', "\\|");
        buf_puts(buf, " |\n");
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &field_rows(table)[i];
        if (!field_has_table(field))
            continue;
        char name[128], below[130];
        const char *list = field->kind == FIELD_OBJECT_LIST ? "[]" : "";
        (void)snprintf(name, sizeof(name), "%s%s%s", prefix, docs_name(field).text, list);
        (void)snprintf(below, sizeof(below), "%s.", name);
        put_metrics(buf, name, below, field_table_of(field));
    }
}

void docs_metrics(struct buf *buf)
{
    buf_puts(buf,
        "# Metrics\n\nEvery key of a JSON sample, in output order, and below them every key of the summary that "
        "`--summary-json` writes. Made from the field tables by `make docs`; do not edit.\n\nA value that is not known "
        "is `null`, never 0. \"This interval\" is the time since the previous sample; rates divide by the time that "
        "really passed. Integers are what typed readers expect: MiB are rounded down, with the bytes beside them where "
        "that is too coarse; milliseconds, degrees and MHz are rounded to the nearest. Keys never change their "
        "meaning; new ones may be added. The schemas for machines are "
        "[sample.schema.json](schema/sample.schema.json) and [summary.schema.json](schema/summary.schema.json).\n");
    put_metrics(buf, "Sample", "", field_sample);
    put_metrics(buf, "Summary", "summary.", field_summary);
}

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
    case FIELD_WHOLE:
    case FIELD_MIB:
    case FIELD_MIB_BYTES:
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
    switch ((enum field_kind)field->kind) {
    case FIELD_OBJECT:
        put_type(buf, "object", nullable);
        put_table(buf, field_table_of(field), depth);
        return;
    case FIELD_OBJECT_LIST:
        put_type(buf, "array", nullable);
        buf_puts(buf, ", \"items\": {\"type\": \"object\"");
        put_table(buf, field_table_of(field), depth);
        buf_putc(buf, '}');
        return;
    case FIELD_F64_LIST:
    case FIELD_STRING_LIST:
        put_type(buf, "array", nullable);
        buf_puts(buf, ", \"items\": {");
        put_type(buf, scalar_type((enum field_kind)field->kind), true);
        buf_putc(buf, '}');
        return;
    case FIELD_STRING_MAP:
        put_type(buf, "object", nullable);
        buf_puts(buf, ", \"additionalProperties\": {\"type\": [\"string\", \"null\"]}");
        return;
    case FIELD_U64:
    case FIELD_MIB:
    case FIELD_MIB_BYTES:
        put_type(buf, "integer", nullable);
        buf_puts(buf, ", \"minimum\": 0");
        return;
    case FIELD_I64:
    case FIELD_F64:
    case FIELD_WHOLE:
    case FIELD_BOOL:
    case FIELD_STRING:
        put_type(buf, scalar_type((enum field_kind)field->kind), nullable);
        return;
    }
}

static void put_description(struct buf *buf, const struct field *field)
{
    buf_puts(buf, "\"description\": ");
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    buf_puts(&text, docs_meaning(field));
    if (field->text[0] != '\0')
        buf_printf(&text, " Unit: %s.", field->text);
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
        if (field_rows(table)[i].rule == FIELD_OMITTED)
            continue;
        buf_printf(buf, "%s\"%s\"", separator, docs_name(&field_rows(table)[i]).text);
        separator = ", ";
    }
    buf_puts(buf, "],\n");
    put_indent(buf, depth);
    buf_puts(buf, "\"properties\": {");
    for (size_t i = 0; i < table->count; i++) {
        buf_puts(buf, i ? ",\n" : "\n");
        put_indent(buf, depth + 1);
        buf_printf(buf, "\"%s\": {", docs_name(&field_rows(table)[i]).text);
        put_description(buf, &field_rows(table)[i]);
        put_shape(buf, &field_rows(table)[i], depth + 2);
        buf_putc(buf, '}');
    }
    buf_putc(buf, '\n');
    put_indent(buf, depth);
    buf_putc(buf, '}');
}

static void put_schema(struct buf *buf, const char *title, const char *what, const struct field_table *table)
{
    buf_printf(buf,
        "{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
        "  \"title\": \"resource-tracker %s\",\n"
        "  \"description\": \"%s A value that is not known is null. "
        "New keys may be added; keys never change their meaning.\",\n  \"type\": \"object\"",
        title, what);
    put_table(buf, table, 1);
    buf_puts(buf, "\n}\n");
}

void docs_schema_sample(struct buf *buf)
{
    put_schema(buf, "sample", "One line of JSON output.", field_sample);
}

void docs_schema_summary(struct buf *buf)
{
    put_schema(buf, "summary", "What --summary-json writes: one object on one line.", field_summary);
}
