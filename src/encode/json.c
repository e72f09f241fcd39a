/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/json.h"

#include "base/num.h"
#include "base/text.h"
#include "base/utc.h"

/* A key and a number or a literal: what is written with one check of the capacity. */
enum { ROW_BYTES = FIELD_KEY_BYTES + NUM_TEXT_BYTES };

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

#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Is one of eight bytes 0? May also be true where a byte is 0x80 or more. */
static uint64_t has_zero(uint64_t bytes)
{
    return (bytes - BYTES(1)) & BYTES(0x80);
}

/* Eight bytes at once: none below 0x20, none from 0x7f on, no quotation mark, no backslash. */
static bool is_plain_word(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    uint64_t odd =
        word | (word + BYTES(1)) | (word - BYTES(0x20)) | has_zero(word ^ BYTES('"')) | has_zero(word ^ BYTES('\\'));
    return (odd & BYTES(0x80)) == 0;
}

static bool is_plain(unsigned char byte)
{
    return (unsigned)byte - 0x20 < 0x5f && byte != '"' && byte != '\\';
}

/* How many bytes from p on go out as they are: plain ASCII, which is nearly everything, and valid UTF-8. */
static size_t plain_length(const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (;;) {
        while (n - i >= 8 && is_plain_word(p + i))
            i += 8;
        /* Less than eight are left: together with those before them. */
        if (n >= 8 && n - i < 8 && is_plain_word(p + n - 8))
            return n;
        while (i < n && is_plain(p[i]))
            i++;
        size_t length = i < n && p[i] >= 0x80 ? utf8_length((struct str){(const char *)p + i, n - i}) : 0;
        if (length == 0)
            return i;
        i += length;
    }
}

static void put_escaped(struct buf *buf, const unsigned char *p, size_t left)
{
    while (left > 0) {
        size_t plain = plain_length(p, left);
        buf_append(buf, p, plain);
        p += plain;
        left -= plain;
        if (left == 0)
            break;
        if (*p >= 0x80)
            buf_append(buf, "\xef\xbf\xbd", 3);
        else
            put_escaped_byte(buf, *p);
        p++;
        left--;
    }
}

void json_put_string(struct buf *buf, struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t plain = plain_length(p, text.n);
    bool fits = buf->cap - buf->len >= text.n + 2 || buf_reserve(buf, text.n + 2);
    if (plain < text.n || buf->failed || !fits) {
        buf_putc(buf, '"');
        put_escaped(buf, p, text.n);
        buf_putc(buf, '"');
        return;
    }
    /* Nearly always: nothing to escape. */
    char *out = buf->data + buf->len;
    out[0] = '"';
    if (text.n > 0)
        memcpy(out + 1, p, text.n);
    out[text.n + 1] = '"';
    buf->len += text.n + 2;
}

static void put_null(struct buf *buf)
{
    buf_append(buf, "null", 4);
}

static void put_f64(struct buf *buf, struct opt_f64 value)
{
    if (!value.has || !num_put_short(buf, value.v))
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
        json_put_object(buf, field_table_of(field), (const char *)items + i * field_table_of(field)->item_bytes);
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

static char *write_literal(char *p, const char *literal, size_t n)
{
    memcpy(p, literal, n);
    return p + n;
}

/* The nearest integer; NULL for what cannot be counted. */
static char *write_nearest(char *p, double value)
{
    static const double limit = 9e15;
    if (!(value <= limit && value >= -limit))
        return NULL;
    return num_write_i64(p, (int64_t)(value < 0 ? value - 0.5 : value + 0.5));
}

/* An amount without what is behind the point; NULL where it does not fit or is below 0. */
static char *write_amount(char *p, double value)
{
    static const double limit = 18446744073709549568.0; /* largest double below 2^64 */
    return value >= 0 && value <= limit ? num_write_u64(p, (uint64_t)value) : NULL;
}

/* Numbers and flags straight into reserved memory; NULL for kinds that need more. */
static char *write_scalar(char *p, const struct field *field, const void *at)
{
    const struct opt_f64 *real = at;
    const struct opt_u64 *count = at;
    char *end = NULL;
    /* Most rows are of these two kinds: a jump through a table costs more than both comparisons. */
    if (field->kind == FIELD_F64) {
        end = real->has ? num_write_short(p, real->v) : NULL;
        return end ? end : write_literal(p, "null", 4);
    }
    if (field->kind == FIELD_U64) {
        end = count->has ? num_write_u64(p, count->v) : NULL;
        return end ? end : write_literal(p, "null", 4);
    }
    switch ((enum field_kind)field->kind) {
    case FIELD_U64:
    case FIELD_F64:
        break;
    case FIELD_I64: {
        const struct opt_i64 *value = at;
        end = value->has ? num_write_i64(p, value->v) : NULL;
        break;
    }
    case FIELD_WHOLE:
        end = real->has ? write_nearest(p, real->v) : NULL;
        break;
    case FIELD_MIB:
        end = real->has ? write_amount(p, real->v) : NULL;
        break;
    case FIELD_MIB_BYTES:
        end = real->has ? write_amount(p, real->v * BYTES_PER_MIB + 0.5) : NULL;
        break;
    case FIELD_BOOL: {
        const struct opt_bool *value = at;
        if (value->has)
            end = value->v ? write_literal(p, "true", 4) : write_literal(p, "false", 5);
        break;
    }
    case FIELD_STRING:
    case FIELD_OBJECT:
    case FIELD_F64_LIST:
    case FIELD_STRING_LIST:
    case FIELD_STRING_MAP:
    case FIELD_OBJECT_LIST:
        return NULL;
    }
    return end ? end : write_literal(p, "null", 4);
}

static void put_large(struct buf *buf, const struct field *field, const void *at)
{
    if (field->kind == FIELD_STRING)
        put_text(buf, *(const char *const *)at);
    else if (field->kind != FIELD_OBJECT)
        put_list(buf, field, at);
    else if (*(const bool *)at)
        json_put_object(buf, field_table_of(field), at);
    else
        put_null(buf);
}

/* Is this row left out of the object altogether? Numbers, lists and objects, which may be so, all begin with a bool. */
static bool is_omitted(const struct field *field, const void *at)
{
    return field->rule == FIELD_OMITTED && !*(const bool *)at;
}

/* The end of a buffer as two pointers, so that a row costs no more than it must. */
struct cursor {
    char *p;
    char *limit; /* up to here a row fits */
};

static bool cursor_open(struct cursor *cursor, struct buf *buf)
{
    if (buf->failed || (buf->cap - buf->len < ROW_BYTES && !buf_reserve(buf, ROW_BYTES)))
        return false;
    *cursor = (struct cursor){buf->data + buf->len, buf->data + buf->cap - ROW_BYTES};
    return true;
}

void json_put_object(struct buf *buf, const struct field_table *table, const void *base)
{
    const struct field *end = field_rows(table) + table->count;
    size_t start = buf->len;
    struct cursor cursor;
    if (!cursor_open(&cursor, buf))
        return;
    for (const struct field *field = field_rows(table); field < end; field++) {
        const void *at = (const char *)base + field->offset;
        if (is_omitted(field, at))
            continue;
        memcpy(cursor.p, field_key(field), FIELD_KEY_BYTES);
        char *value = cursor.p + field->key_bytes;
        char *after = write_scalar(value, field, at);
        cursor.p = after;
        if (after && after <= cursor.limit)
            continue;
        buf->len = (size_t)((after ? after : value) - buf->data);
        if (!after)
            put_large(buf, field, at);
        if (!cursor_open(&cursor, buf))
            return;
    }
    buf->len = (size_t)(cursor.p - buf->data);
    /* Every row begins with a comma; the first one becomes the brace. */
    if (buf->len > start)
        buf->data[start] = '{';
    buf_puts(buf, buf->len > start ? "}" : "{}");
}

__attribute__((cold)) void json_put_key(struct buf *buf, const char *key)
{
    if (buf->len > 0 && buf->data[buf->len - 1] != '{')
        buf_putc(buf, ',');
    json_put_string(buf, str_of(key));
    buf_putc(buf, ':');
}

__attribute__((cold)) void json_put_text(struct buf *buf, const char *key, const char *text)
{
    json_put_key(buf, key);
    if (text)
        json_put_string(buf, str_of(text));
    else
        buf_puts(buf, "null");
}

__attribute__((cold)) void json_put_bool(struct buf *buf, const char *key, bool value)
{
    json_put_key(buf, key);
    buf_puts(buf, value ? "true" : "false");
}

__attribute__((cold)) void json_put_time(struct buf *buf, const char *key, int64_t unix_secs)
{
    char text[UTC_ISO_BYTES];
    utc_format_iso(unix_secs, text);
    json_put_text(buf, key, text);
}
