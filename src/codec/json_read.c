/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {"run_id": "a1", "upload_credentials": {"access_key": "AK", "expiration": null}} becomes a flat list in the order of
 * the text: the object, its first key, that key's value and so on. Containers that are still open lie on a small stack,
 * so that nesting costs no recursion. Keys of an object are sorted to find twins, so that no chosen input makes it
 * quadratic.
 */
#include "codec/json_read.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec.h"

/* The four digits of \uXXXX. */
static bool take_hex(struct str *rest, uint32_t *ret_unit)
{
    enum { HEX_DIGITS = 4 };
    uint64_t unit;
    if (rest->n < HEX_DIGITS || num_parse_hex((struct str){rest->p, HEX_DIGITS}, &unit) < 0)
        return false;
    str_skip(rest, HEX_DIGITS);
    *ret_unit = (uint32_t)unit;
    return true;
}

/* What follows "\u", of which two make one character above U+FFFF; a surrogate without its partner is refused. */
static bool take_code_point(struct str *rest, uint32_t *ret_point)
{
    uint32_t high;
    uint32_t low;
    if (!take_hex(rest, &high) || (high >= 0xdc00 && high <= 0xdfff))
        return false;
    *ret_point = high;
    if (high < 0xd800 || high > 0xdbff)
        return true;
    if (!str_take(rest, '\\') || !str_take(rest, 'u') || !take_hex(rest, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *ret_point = 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
    return true;
}

/* What follows a backslash. */
static bool take_escape(struct str *rest, uint32_t *ret_point)
{
    static const char marks[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (str_take(rest, 'u'))
        return take_code_point(rest, ret_point);
    const char *mark = rest->n > 0 ? memchr(marks, rest->p[0], sizeof(marks) - 1) : NULL;
    if (!mark)
        return false;
    str_skip(rest, 1);
    *ret_point = (unsigned char)meanings[mark - marks];
    return true;
}

size_t json_text_next(struct str *rest, char ret_bytes[static 4])
{
    uint32_t point;
    if (str_take(rest, '\\'))
        return take_escape(rest, &point) ? utf8_encode(point, ret_bytes) : 0;
    size_t n = (unsigned char)rest->p[0] < ' ' ? 0 : utf8_length(*rest);
    memcpy(ret_bytes, rest->p, n);
    str_skip(rest, n);
    return n;
}

struct reader {
    struct str rest;
    struct json_doc *doc;
    size_t open[JSON_DEPTH_MAX]; /* positions in the document */
    size_t depth;
};

static void skip_blanks(struct str *rest)
{
    while (str_take(rest, ' ') || str_take(rest, '\n') || str_take(rest, '\r') || str_take(rest, '\t'))
        ;
}

static bool skip_digits(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && ascii_is_digit(rest->p[n]))
        n++;
    str_skip(rest, n);
    return n > 0;
}

/* A string from its first quote on; the text between the quotes. */
static int read_string(struct str *rest, struct str *ret_text)
{
    char bytes[4];
    if (!str_take(rest, '"'))
        return -EBADMSG;
    const char *start = rest->p;
    while (rest->n > 0 && rest->p[0] != '"') {
        if (json_text_next(rest, bytes) == 0)
            return -EBADMSG;
    }
    *ret_text = (struct str){start, (size_t)(rest->p - start)};
    return str_take(rest, '"') ? 0 : -EBADMSG;
}

static int read_number(struct str *rest, struct str *ret_text)
{
    const char *start = rest->p;
    (void)str_take(rest, '-');
    if (!str_take(rest, '0') && !skip_digits(rest))
        return -EBADMSG;
    if (str_take(rest, '.') && !skip_digits(rest))
        return -EBADMSG;
    if (str_take(rest, 'e') || str_take(rest, 'E')) {
        if (!str_take(rest, '+'))
            (void)str_take(rest, '-');
        if (!skip_digits(rest))
            return -EBADMSG;
    }
    *ret_text = (struct str){start, (size_t)(rest->p - start)};
    return 0;
}

static int add_value(struct reader *reader, enum json_type type, struct str text)
{
    struct json_doc *doc = reader->doc;
    int r = VEC_GROW(doc, doc->count + 1, JSON_VALUES_MAX);
    if (r < 0)
        return r;
    doc->items[doc->count++] = (struct json_value){.type = type, .text = text};
    return 0;
}

static int read_literal(struct reader *reader)
{
    const struct {
        struct str word;
        enum json_type type;
    } literals[] = {{STR("null"), JSON_NULL}, {STR("false"), JSON_FALSE}, {STR("true"), JSON_TRUE}};
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        struct str word = {reader->rest.p, literals[i].word.n};
        if (str_starts(reader->rest, literals[i].word)) {
            str_skip(&reader->rest, word.n);
            return add_value(reader, literals[i].type, word);
        }
    }
    return -EBADMSG;
}

static int read_scalar(struct reader *reader)
{
    struct str text;
    char first = reader->rest.n > 0 ? reader->rest.p[0] : '\0';
    if (first == '"') {
        int r = read_string(&reader->rest, &text);
        return r < 0 ? r : add_value(reader, JSON_STRING, text);
    }
    if (first == '-' || ascii_is_digit(first)) {
        int r = read_number(&reader->rest, &text);
        return r < 0 ? r : add_value(reader, JSON_NUMBER, text);
    }
    return read_literal(reader);
}

/* A key, and a hash (FNV-1a) of what it decodes to, which spares most comparisons. */
struct key {
    uint64_t hash;
    struct str text;
};

static uint64_t hash_text(struct str text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char bytes[4];
    while (text.n > 0) {
        size_t n = json_text_next(&text, bytes);
        for (size_t i = 0; i < n; i++)
            hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static int compare_texts(struct str left, struct str right)
{
    char left_bytes[4] = {0};
    char right_bytes[4] = {0};
    while (left.n > 0 && right.n > 0) {
        size_t n = json_text_next(&left, left_bytes);
        /* The first byte of a character gives its length, so that different lengths differ there. */
        (void)json_text_next(&right, right_bytes);
        int order = memcmp(left_bytes, right_bytes, n);
        if (order != 0)
            return order;
    }
    return (left.n > 0) - (right.n > 0);
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a;
    const struct key *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    return compare_texts(left->text, right->text);
}

/* The value that stands behind this one and all it holds. */
static const struct json_value *next_of(const struct json_value *value)
{
    return value + value->inside + 1;
}

static int check_keys(const struct json_value *object)
{
    enum { FEW = 32 };
    struct key few[FEW];
    struct key *keys = few;
    AUTO_FREE struct key *many = NULL;
    const struct json_value *end = next_of(object);
    size_t count = 0;
    for (const struct json_value *at = object + 1; at < end; at = next_of(at + 1))
        count++;
    if (count > FEW) {
        keys = many = calloc(count, sizeof(struct key));
        if (!many)
            return -ENOMEM;
    }
    size_t i = 0;
    for (const struct json_value *at = object + 1; at < end; at = next_of(at + 1))
        keys[i++] = (struct key){hash_text(at->text), at->text};
    qsort(keys, count, sizeof(struct key), compare_keys);
    for (i = 1; i < count; i++) {
        if (compare_keys(&keys[i - 1], &keys[i]) == 0)
            return -EBADMSG;
    }
    return 0;
}

static int open_container(struct reader *reader, enum json_type type)
{
    if (reader->depth == JSON_DEPTH_MAX)
        return -E2BIG;
    reader->open[reader->depth++] = reader->doc->count;
    return add_value(reader, type, (struct str){reader->rest.p - 1, 1});
}

static struct json_value *innermost(const struct reader *reader)
{
    return &reader->doc->items[reader->open[reader->depth - 1]];
}

static int close_container(struct reader *reader)
{
    struct json_value *value = innermost(reader);
    value->text.n = (size_t)(reader->rest.p - value->text.p);
    value->inside = (uint32_t)(reader->doc->count - reader->open[--reader->depth] - 1);
    return value->type == JSON_OBJECT ? check_keys(value) : 0;
}

static int read_key(struct reader *reader)
{
    struct str text;
    skip_blanks(&reader->rest);
    int r = read_string(&reader->rest, &text);
    if (r == 0)
        r = add_value(reader, JSON_STRING, text);
    if (r < 0)
        return r;
    skip_blanks(&reader->rest);
    return str_take(&reader->rest, ':') ? 0 : -EBADMSG;
}

/* Behind a value: closes what ends here, and stops where the next value must stand, or nothing is open any more. */
static int read_on(struct reader *reader)
{
    while (reader->depth > 0) {
        bool in_object = innermost(reader)->type == JSON_OBJECT;
        skip_blanks(&reader->rest);
        if (str_take(&reader->rest, ','))
            return in_object ? read_key(reader) : 0;
        if (!str_take(&reader->rest, in_object ? '}' : ']'))
            return -EBADMSG;
        int r = close_container(reader);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A whole scalar, or a container up to where its first value must stand. */
static int read_value(struct reader *reader)
{
    skip_blanks(&reader->rest);
    bool is_object = str_take(&reader->rest, '{');
    if (!is_object && !str_take(&reader->rest, '[')) {
        int r = read_scalar(reader);
        return r < 0 ? r : read_on(reader);
    }
    int r = open_container(reader, is_object ? JSON_OBJECT : JSON_ARRAY);
    if (r < 0)
        return r;
    skip_blanks(&reader->rest);
    if (str_take(&reader->rest, is_object ? '}' : ']')) {
        r = close_container(reader);
        return r < 0 ? r : read_on(reader);
    }
    return is_object ? read_key(reader) : 0;
}

int json_doc_parse(struct str text, struct json_doc *ret_doc)
{
    *ret_doc = (struct json_doc){0};
    if (text.n > JSON_BYTES_MAX)
        return -E2BIG;
    struct reader reader = {.rest = text, .doc = ret_doc};
    int r;
    do {
        r = read_value(&reader);
    } while (r == 0 && reader.depth > 0);
    skip_blanks(&reader.rest);
    if (r == 0 && reader.rest.n > 0)
        r = -EBADMSG;
    if (r < 0)
        json_doc_fini(ret_doc);
    return r;
}

void json_doc_fini(struct json_doc *doc)
{
    free(doc->items);
    *doc = (struct json_doc){0};
}

static bool key_is(struct str text, struct str key)
{
    char bytes[4];
    while (text.n > 0) {
        size_t n = json_text_next(&text, bytes);
        if (n > key.n || memcmp(bytes, key.p, n) != 0)
            return false;
        str_skip(&key, n);
    }
    return key.n == 0;
}

const struct json_value *json_get(const struct json_value *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    const struct json_value *end = next_of(object);
    for (const struct json_value *at = object + 1; at < end; at = next_of(at + 1)) {
        if (key_is(at->text, str_of(key)))
            return at + 1;
    }
    return NULL;
}

const struct json_value *json_at(const struct json_value *container, size_t i, struct str *ret_key)
{
    if (!container || (container->type != JSON_ARRAY && container->type != JSON_OBJECT))
        return NULL;
    size_t key = container->type == JSON_OBJECT ? 1 : 0;
    const struct json_value *end = next_of(container);
    const struct json_value *at = container + 1;
    for (; at < end && i > 0; i--)
        at = next_of(at + key);
    if (at == end)
        return NULL;
    if (ret_key)
        *ret_key = key ? at->text : (struct str){0};
    return at + key;
}

bool json_string(const struct json_value *value, struct buf *buf)
{
    if (!value || value->type != JSON_STRING)
        return false;
    size_t before = buf->len;
    char bytes[4] = "";
    struct str rest = value->text;
    while (rest.n > 0) {
        size_t n = json_text_next(&rest, bytes);
        buf_append(buf, bytes, n);
        if (bytes[0] == '\0' || !buf_ok(buf)) {
            buf->len = before;
            return false;
        }
    }
    return buf_ok(buf);
}

bool json_string_copy(const struct json_value *value, char *out, size_t size)
{
    if (size == 0)
        return false;
    out[0] = '\0';
    if (!value || value->type != JSON_STRING)
        return false;
    char bytes[4] = "";
    size_t used = 0;
    struct str rest = value->text;
    while (rest.n > 0) {
        size_t n = json_text_next(&rest, bytes);
        if (bytes[0] == '\0' || n >= size - used) {
            out[0] = '\0';
            return false;
        }
        memcpy(out + used, bytes, n);
        used += n;
    }
    out[used] = '\0';
    return true;
}

bool json_integer(const struct json_value *value, int64_t *ret_number)
{
    return value && value->type == JSON_NUMBER && num_parse_i64(value->text, ret_number) == 0;
}
