/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/json.h"

#include "base/num.h"

enum { JSON_DECIMALS = 4 };

/* Length of the valid UTF-8 sequence at p (n > 0 bytes left), or 0. Shortest forms only, no surrogates, up to U+10FFFF.
 */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    unsigned char lead = p[0];
    if (lead < 0x80)
        return 1;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || n < length)
        return 0;
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    }
    return length;
}

static void put_escaped_byte(struct buf *buf, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    switch (byte) {
    case '"':
    case '\\':
        text[1] = (char)byte;
        buf_append(buf, text, 2);
        return;
    case '\n':
        buf_append(buf, "\\n", 2);
        return;
    case '\r':
        buf_append(buf, "\\r", 2);
        return;
    case '\t':
        buf_append(buf, "\\t", 2);
        return;
    default:
        buf_append(buf, text, sizeof(text));
    }
}

void json_put_string(struct buf *buf, struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t plain = 0; /* start of the bytes that can go out as they are */
    size_t i = 0;
    buf_putc(buf, '"');
    while (i < text.n) {
        unsigned char byte = p[i];
        bool special = byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f;
        size_t length = special ? 1 : utf8_length(p + i, text.n - i);
        if (!special && length > 0) {
            i += length;
            continue;
        }
        buf_append(buf, p + plain, i - plain);
        if (special)
            put_escaped_byte(buf, byte);
        else
            buf_append(buf, "\xef\xbf\xbd", 3);
        plain = ++i;
    }
    buf_append(buf, p + plain, i - plain);
    buf_putc(buf, '"');
}

static void put_null(struct buf *buf)
{
    buf_append(buf, "null", 4);
}

static void put_f64(struct buf *buf, struct opt_f64 value)
{
    if (!value.has || !num_put_short(buf, value.v, JSON_DECIMALS))
        put_null(buf);
}

static void put_text(struct buf *buf, const char *text)
{
    if (text)
        json_put_string(buf, str_of(text));
    else
        put_null(buf);
}

static void put_list_item(struct buf *buf, const struct field *field, const void *items, size_t i)
{
    if (field->kind == FIELD_OBJECT_LIST)
        json_put_object(buf, field->table, (const char *)items + i * field->table->item_bytes);
    else if (field->kind == FIELD_F64_LIST)
        put_f64(buf, ((const struct opt_f64 *)items)[i]);
    else if (field->kind == FIELD_STRING_LIST)
        put_text(buf, ((const char *const *)items)[i]);
    else {
        const struct str_pair *pair = (const struct str_pair *)items + i;
        json_put_string(buf, str_of(pair->key));
        buf_putc(buf, ':');
        put_text(buf, pair->value);
    }
}

static void put_list(struct buf *buf, const struct field *field, const struct sample_list *list)
{
    bool map = field->kind == FIELD_STRING_MAP;
    if (!list->present) {
        put_null(buf);
        return;
    }
    buf_putc(buf, map ? '{' : '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            buf_putc(buf, ',');
        put_list_item(buf, field, list->items, i);
    }
    buf_putc(buf, map ? '}' : ']');
}

static void put_value(struct buf *buf, const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_U64: {
        const struct opt_u64 *value = at;
        if (value->has)
            num_put_u64(buf, value->v);
        else
            put_null(buf);
        return;
    }
    case FIELD_I64: {
        const struct opt_i64 *value = at;
        if (value->has)
            num_put_i64(buf, value->v);
        else
            put_null(buf);
        return;
    }
    case FIELD_F64:
        put_f64(buf, *(const struct opt_f64 *)at);
        return;
    case FIELD_BOOL: {
        const struct opt_bool *value = at;
        buf_puts(buf, !value->has ? "null" : value->v ? "true" : "false");
        return;
    }
    case FIELD_STRING:
        put_text(buf, *(const char *const *)at);
        return;
    case FIELD_OBJECT:
        if (*(const bool *)at)
            json_put_object(buf, field->table, at);
        else
            put_null(buf);
        return;
    case FIELD_F64_LIST:
    case FIELD_STRING_LIST:
    case FIELD_STRING_MAP:
    case FIELD_OBJECT_LIST:
        put_list(buf, field, at);
        return;
    }
}

/* Is this row left out of the object altogether? Only numbers are ever declared so. */
static bool is_omitted(const struct field *field, const void *at)
{
    return field->rule == FIELD_OMITTED && field->kind == FIELD_F64 && !((const struct opt_f64 *)at)->has;
}

void json_put_object(struct buf *buf, const struct field_table *table, const void *base)
{
    char separator = '{';
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->rows[i];
        const void *at = (const char *)base + field->offset;
        if (is_omitted(field, at))
            continue;
        buf_putc(buf, separator);
        separator = ',';
        buf_putc(buf, '"');
        buf_puts(buf, field->name);
        buf_append(buf, "\":", 2);
        put_value(buf, field, at);
    }
    if (separator == '{')
        buf_putc(buf, '{');
    buf_putc(buf, '}');
}
