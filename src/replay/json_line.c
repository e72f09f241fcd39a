/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A direct walk over the line, without a tree in between: keys are looked up in the field tables, the expected one
 * first, and values go straight to their member of the struct.
 * {"timestamp_secs":1767225601,"elapsed_secs":1.0,"cpu":{"utilization_pct":1.37},"disk":[{"device":"vda"}]}
 */
#include "replay/replay_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "model/field.h"

enum {
    KEY_QUOTE_AT = 1, /* in field.key, behind the comma */
    KEY_FRAME_BYTES = 4, /* in field.key, around the name */
    ALIGN = 8,
};

int json_line_init(struct json_line *json, size_t space_bytes)
{
    *json = (struct json_line){.space = malloc(space_bytes), .space_bytes = space_bytes};
    return json->space ? 0 : -ENOMEM;
}

void json_line_fini(struct json_line *json)
{
    free(json->space);
    *json = (struct json_line){0};
}

void *json_line_items(const struct json_line *json, const struct sample_list *list)
{
    return json->space + ((const char *)list->items - json->space);
}

/* One item more for the list under way, empty. */
static void *open_item(struct json_line *json, size_t bytes)
{
    if ((size_t)(json->open_end - json->open) < bytes) {
        json->is_full = true;
        return NULL;
    }
    void *item = memset(json->open, 0, bytes);
    json->open += bytes;
    return item;
}

/* Moves the items of a finished list from `first` on to where they stay; NULL where there is no space left. */
static const void *close_list(struct json_line *json, char *first)
{
    size_t bytes = (size_t)(json->open - first);
    size_t misfit = (size_t)(json->done - json->space) % ALIGN;
    size_t pad = misfit > 0 ? ALIGN - misfit : 0;
    json->open = first;
    if ((size_t)(json->done_end - json->done) < bytes + pad) {
        json->is_full = true;
        return NULL;
    }
    char *items = json->done + pad;
    memcpy(items, first, bytes);
    json->done = items + bytes;
    return items;
}

static const char *skip_mistyped(struct json_line *json, const char *p)
{
    json->mistyped++;
    return json_scan_value(p, json->end);
}

static const char *read_text(struct json_line *json, const char *p, const char **ret_text)
{
    char *text = json->done;
    char *behind = text;
    p = json_scan_text(p, json->end, &behind, json->done_end);
    json->is_full |= !behind;
    if (!p)
        return NULL;
    json->done = behind;
    *ret_text = text;
    return p;
}

/* Only a temperature can be below 0. */
static bool is_possible(const struct field *field, double value)
{
    return value <= JSON_NUMBER_MAX &&
           (value >= 0 || (value >= -JSON_NUMBER_MAX && str_eq(field_name(field), STR("temperature_celsius"))));
}

static bool is_real(enum field_kind kind)
{
    return kind == FIELD_F64 || kind == FIELD_F64_LIST || kind == FIELD_WHOLE || kind == FIELD_MIB;
}

/* Bytes say more than the same in MiB, whichever of the two comes first. */
static void put_real(const struct field *field, struct opt_f64 value, struct opt_f64 *to)
{
    if (field->kind != FIELD_MIB || !to->has)
        *to = value;
}

static const char *read_number(struct json_line *json, const char *p, const struct field *field, void *at)
{
    struct json_number number;
    const char *behind = json_scan_number(p, json->end, &number);
    if (!behind)
        return NULL;
    struct opt_f64 real = {.has = true};
    struct opt_u64 whole = {.has = true};
    struct opt_i64 integer = {.has = true};
    if (is_real((enum field_kind)field->kind) && json_number_f64(&number, &real.v) && is_possible(field, real.v))
        put_real(field, real, at);
    else if (field->kind == FIELD_MIB_BYTES && json_number_u64(&number, &whole.v))
        *(struct opt_f64 *)at = opt_scaled(whole, BYTES_PER_MIB);
    else if (field->kind == FIELD_U64 && json_number_u64(&number, &whole.v))
        *(struct opt_u64 *)at = whole;
    else if (field->kind == FIELD_I64 && json_number_i64(&number, &integer.v))
        *(struct opt_i64 *)at = integer;
    else
        json->mistyped++;
    return behind;
}

static const char *read_bool(struct json_line *json, const char *p, void *at)
{
    bool value = *p == 't';
    p = json_scan_word(p, json->end, value ? STR("true") : STR("false"));
    if (p)
        *(struct opt_bool *)at = some_bool(value);
    return p;
}

static const char *read_object(struct json_line *json, const char *p, const struct field_table *table, void *base);

static const char *read_pair(struct json_line *json, const char *p, struct str_pair *pair)
{
    p = *p == '"' ? read_text(json, p + 1, &pair->key) : NULL;
    p = p ? json_scan_blanks(p, json->end) : NULL;
    if (!p || p == json->end || *p != ':')
        return NULL;
    p = json_scan_blanks(p + 1, json->end);
    if (p < json->end && *p == '"')
        return read_text(json, p + 1, &pair->value);
    return p < json->end && *p == 'n' ? json_scan_value(p, json->end) : skip_mistyped(json, p);
}

/* One item of a list. What is not of its kind leaves the item empty. */
static const char *read_item(struct json_line *json, const char *p, const struct field *field, void *item)
{
    if (field->kind == FIELD_STRING_MAP)
        return read_pair(json, p, item);
    if (field->kind == FIELD_OBJECT_LIST && *p == '{')
        return read_object(json, p + 1, field_table_of(field), item);
    if (field->kind == FIELD_STRING_LIST && *p == '"')
        return read_text(json, p + 1, item);
    if (field->kind == FIELD_F64_LIST && *p == 'n')
        return json_scan_value(p, json->end);
    if (field->kind == FIELD_F64_LIST && *p != '"' && *p != '{' && *p != '[' && *p != 't' && *p != 'f')
        return read_number(json, p, field, item);
    return skip_mistyped(json, p);
}

static size_t item_bytes_of(const struct field *field)
{
    if (field->kind == FIELD_OBJECT_LIST)
        return field_table_of(field)->item_bytes;
    if (field->kind == FIELD_F64_LIST)
        return sizeof(struct opt_f64);
    return field->kind == FIELD_STRING_MAP ? sizeof(struct str_pair) : sizeof(const char *);
}

/* A device without the name it must have, or something that is no text, cannot stand in a list. */
static bool is_usable(const struct field *field, const void *item, char first)
{
    if (field->kind == FIELD_STRING_LIST)
        return *(const char *const *)item;
    if (field->kind != FIELD_OBJECT_LIST)
        return true;
    const struct field *name = field_rows(field_table_of(field));
    return first == '{' && (name->rule != FIELD_ALWAYS || *(const char *const *)((const char *)item + name->offset));
}

/* p stands behind the opening bracket. */
static const char *read_list(struct json_line *json, const char *p, const struct field *field, struct sample_list *list)
{
    char close = field->kind == FIELD_STRING_MAP ? '}' : ']';
    size_t item_bytes = item_bytes_of(field);
    char *first = json->open;
    p = json_scan_blanks(p, json->end);
    bool is_over = p < json->end && *p == close;
    while (!is_over) {
        char *item = p < json->end ? open_item(json, item_bytes) : NULL;
        if (!item)
            return NULL;
        char begins = *p;
        p = read_item(json, p, field, item);
        p = p ? json_scan_blanks(p, json->end) : NULL;
        if (!p || p == json->end || (*p != ',' && *p != close))
            return NULL;
        if (!is_usable(field, item, begins))
            json->open = item;
        is_over = *p == close;
        if (!is_over)
            p = json_scan_blanks(p + 1, json->end);
    }
    size_t count = (size_t)(json->open - first) / item_bytes;
    const void *items = close_list(json, first);
    if (!items)
        return NULL;
    *list = (struct sample_list){.present = true, .count = count, .items = items};
    return p + 1;
}

static const char *read_value(struct json_line *json, const char *p, const struct field *field, void *at)
{
    enum field_kind kind = (enum field_kind)field->kind;
    switch (p < json->end ? *p : '\0') {
    case '\0':
        return NULL;
    case 'n':
        return json_scan_value(p, json->end);
    case '"':
        return kind == FIELD_STRING ? read_text(json, p + 1, at) : skip_mistyped(json, p);
    case 't':
    case 'f':
        return kind == FIELD_BOOL ? read_bool(json, p, at) : skip_mistyped(json, p);
    case '[':
        if (kind == FIELD_OBJECT_LIST || kind == FIELD_F64_LIST || kind == FIELD_STRING_LIST)
            return read_list(json, p + 1, field, at);
        return skip_mistyped(json, p);
    case '{':
        if (kind == FIELD_STRING_MAP)
            return read_list(json, p + 1, field, at);
        if (kind != FIELD_OBJECT)
            return skip_mistyped(json, p);
        *(bool *)at = true;
        return read_object(json, p + 1, field_table_of(field), at);
    default:
        return read_number(json, p, field, at);
    }
}

/* The row of a key, NULL where there is none: the one expected next, or one further on, or an earlier one. */
static const struct field *find_row(const struct field_table *table, size_t next, struct str key)
{
    for (size_t i = 0; i < table->count; i++, next++) {
        const struct field *row = &field_rows(table)[next < table->count ? next : next - table->count];
        if (row->key_bytes == key.n + KEY_FRAME_BYTES && memcmp(field_key(row) + 2, key.p, key.n) == 0)
            return row;
    }
    return NULL;
}

/* A key and its colon. *row: the one expected, and afterwards the one found; NULL for a key that is not known. */
static const char *read_key(
    struct json_line *json, const char *p, const struct field_table *table, const struct field **row)
{
    const struct field *next = *row;
    size_t bytes = next->key_bytes - (size_t)KEY_QUOTE_AT;
    if ((size_t)(json->end - p) > bytes && memcmp(p, field_key(next) + KEY_QUOTE_AT, bytes) == 0)
        return json_scan_blanks(p + bytes, json->end);
    struct str key;
    p = p < json->end && *p == '"' ? json_scan_string(p + 1, json->end, &key) : NULL;
    p = p ? json_scan_blanks(p, json->end) : NULL;
    if (!p || p == json->end || *p != ':')
        return NULL;
    *row = find_row(table, (size_t)(next - field_rows(table)), key);
    if (!*row)
        name_list_add(&json->unknown, key);
    return json_scan_blanks(p + 1, json->end);
}

/* p stands behind the opening brace. */
static const char *read_object(struct json_line *json, const char *p, const struct field_table *table, void *base)
{
    const struct field *expected = field_rows(table);
    p = json_scan_blanks(p, json->end);
    if (p < json->end && *p == '}')
        return p + 1;
    for (;;) {
        const struct field *row = expected;
        p = read_key(json, p, table, &row);
        if (!p)
            return NULL;
        p = row ? read_value(json, p, row, (char *)base + row->offset) : json_scan_value(p, json->end);
        p = p ? json_scan_blanks(p, json->end) : NULL;
        if (!p || p == json->end || (*p != ',' && *p != '}'))
            return NULL;
        if (*p == '}')
            return p + 1;
        p = json_scan_blanks(p + 1, json->end);
        if (row)
            expected = row + 1 < field_rows(table) + table->count ? row + 1 : field_rows(table);
    }
}

static int parse(struct json_line *json, struct str line, struct sample *sample)
{
    json->end = line.p + line.n;
    const char *p = json_scan_blanks(line.p, json->end);
    if (p == json->end || *p != '{')
        return -EBADMSG;
    p = read_object(json, p + 1, field_sample, sample);
    if (!p)
        return json->is_full ? -E2BIG : -EBADMSG;
    if (json_scan_blanks(p, json->end) != json->end)
        return -EBADMSG;
    return sample->timestamp_secs.has || sample->timestamp_ms.has ? 0 : -ENODATA;
}

int json_line_parse(struct json_line *json, struct str line, struct sample *sample)
{
    /* A third for the open lists: what they hold ends up in the other two. */
    size_t open_bytes = json->space_bytes / 3 / ALIGN * ALIGN;
    uint64_t mistyped = json->mistyped;
    unsigned names = json->unknown.count;
    bool has_more = json->unknown.has_more;
    json->open = json->space;
    json->done = json->open_end = json->space + open_bytes;
    json->done_end = json->space + json->space_bytes;
    json->is_full = false;
    *sample = (struct sample){0};
    int code = parse(json, line, sample);
    if (code < 0) {
        json->mistyped = mistyped;
        json->unknown.count = names;
        json->unknown.has_more = has_more;
    }
    return code;
}
