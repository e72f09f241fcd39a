/* SPDX-License-Identifier: Apache-2.0 */
/* docs/metrics.md: every key of a sample and of a summary, from the field tables. */
#include "docs.h"

#include <stdio.h>

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
        const struct field *field = &table->rows[i];
        buf_printf(buf, "| `%s` | %s | %s | ", docs_name(field).text, type_word(field), field->text);
        docs_put_replaced(buf, docs_meaning(field), '|', "\\|");
        buf_puts(buf, " |\n");
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->rows[i];
        if (!field->table)
            continue;
        char name[128], below[130];
        const char *list = field->kind == FIELD_OBJECT_LIST ? "[]" : "";
        (void)snprintf(name, sizeof(name), "%s%s%s", prefix, docs_name(field).text, list);
        (void)snprintf(below, sizeof(below), "%s.", name);
        put_metrics(buf, name, below, field->table);
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
    put_metrics(buf, "Sample", "", &field_sample);
    put_metrics(buf, "Summary", "summary.", &field_summary);
}
