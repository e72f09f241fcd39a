/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of OTLP as protobuf, or as JSON ("OTLP/HTTP, JSON Protobuf Encoding" of its specification): integers of 64
 * bits are texts there, enums are numbers, and ids of traces are hex.
 */
#include <stdio.h>

#include "base/auto.h"
#include "base/num.h"
#include "codec/protobuf.h"
#include "encode/json.h"
#include "stream/targets/otlp_internal.h"

/* Of AnyValue and KeyValue. */
enum { VALUE_TEXT = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_REAL = 4, VALUE_ARRAY = 5, KEY = 1, VALUE = 2 };

/* A comma where one is needed, and the key of a field that has one. */
static void put_key(const struct otlp_out *out, const char *name)
{
    const struct buf *buf = out->buf;
    if (name)
        json_put_key(out->buf, name);
    else if (buf->len > 0 && buf->data[buf->len - 1] == '}')
        buf_putc(out->buf, ',');
}

size_t otlp_open(const struct otlp_out *out, unsigned field, const char *name)
{
    if (!out->is_json)
        return protobuf_open(out->buf, field);
    put_key(out, name);
    buf_putc(out->buf, '{');
    return 0;
}

void otlp_close(const struct otlp_out *out, size_t start)
{
    if (out->is_json)
        buf_putc(out->buf, '}');
    else
        protobuf_close(out->buf, start);
}

void otlp_open_list(const struct otlp_out *out, const char *name)
{
    if (!out->is_json)
        return;
    json_put_key(out->buf, name);
    buf_putc(out->buf, '[');
}

void otlp_close_list(const struct otlp_out *out)
{
    if (out->is_json)
        buf_putc(out->buf, ']');
}

void otlp_put_text(const struct otlp_out *out, unsigned field, const char *name, struct str text)
{
    if (!out->is_json) {
        protobuf_put_bytes(out->buf, field, text);
        return;
    }
    put_key(out, name);
    json_put_string(out->buf, text);
}

void otlp_put_id(const struct otlp_out *out, unsigned field, const char *name, const char *hex)
{
    char bytes[OTLP_TRACE_HEX / 2];
    size_t n = 0;
    for (; !out->is_json && hex[2 * n] != '\0'; n++)
        bytes[n] = (char)((unsigned)ascii_hex_value(hex[2 * n]) << 4 | (unsigned)ascii_hex_value(hex[2 * n + 1]));
    otlp_put_text(out, field, name, out->is_json ? str_of(hex) : (struct str){bytes, n});
}

void otlp_put_time(const struct otlp_out *out, unsigned field, const char *name, int64_t unix_ms)
{
    otlp_put_integer(out, field, name, unix_ms * (NS_PER_SEC / 1000));
}

void otlp_put_integer(const struct otlp_out *out, unsigned field, const char *name, int64_t number)
{
    if (!out->is_json) {
        protobuf_put_fixed64(out->buf, field, (uint64_t)number);
        return;
    }
    put_key(out, name);
    buf_putc(out->buf, '"'); /* numbers of JSON have 53 bits only */
    num_put_i64(out->buf, number);
    buf_putc(out->buf, '"');
}

void otlp_put_real(const struct otlp_out *out, unsigned field, const char *name, double value)
{
    uint64_t bits;
    if (out->is_json) {
        put_key(out, name);
        (void)num_put_short(out->buf, value);
        return;
    }
    memcpy(&bits, &value, sizeof(bits));
    protobuf_put_fixed64(out->buf, field, bits);
}

void otlp_put_enum(const struct otlp_out *out, unsigned field, const char *name, unsigned value)
{
    if (!out->is_json) {
        protobuf_put_number(out->buf, field, value);
        return;
    }
    put_key(out, name);
    num_put_u64(out->buf, value);
}

void otlp_put_bool(const struct otlp_out *out, unsigned field, const char *name, bool value)
{
    if (out->is_json)
        json_put_bool(out->buf, name, value);
    else
        protobuf_put_number(out->buf, field, value);
}

struct str otlp_name(struct str name, char buffer[static OTLP_NAME_BYTES])
{
    if (name.p[0] != '.')
        return name;
    int n = snprintf(buffer, OTLP_NAME_BYTES, "resource_tracker%.*s", (int)name.n, name.p);
    return (struct str){buffer, (size_t)n};
}

static size_t open_attribute(const struct otlp_out *out, unsigned field, struct str key, size_t *ret_value)
{
    size_t start = otlp_open(out, field, NULL);
    otlp_put_text(out, KEY, "key", key);
    *ret_value = otlp_open(out, VALUE, "value");
    return start;
}

static void close_attribute(const struct otlp_out *out, size_t start, size_t value)
{
    otlp_close(out, value);
    otlp_close(out, start);
}

void otlp_put_attribute(const struct otlp_out *out, unsigned field, struct str key, struct str text)
{
    size_t value, start = open_attribute(out, field, key, &value);
    otlp_put_text(out, VALUE_TEXT, "stringValue", text);
    close_attribute(out, start, value);
}

static void put_decoded(const struct otlp_out *out, const struct json_value *json)
{
    AUTO_BUF struct buf text = {.max = RUN_STATE_BODY_MAX};
    (void)json_string(json, &text);
    otlp_put_text(out, VALUE_TEXT, "stringValue", buf_str(&text));
}

/* A command line: ["make","-j8"]. */
static void put_list(const struct otlp_out *out, const struct json_value *list)
{
    const struct json_value *item;
    size_t array = otlp_open(out, VALUE_ARRAY, "arrayValue");
    otlp_open_list(out, "values");
    for (size_t i = 0; (item = json_at(list, i, NULL)); i++) {
        size_t start = otlp_open(out, 1, NULL);
        put_decoded(out, item);
        otlp_close(out, start);
    }
    otlp_close_list(out);
    otlp_close(out, array);
}

static void put_text_or_list(const struct otlp_out *out, const struct json_value *json)
{
    AUTO_BUF struct buf text = {.max = RUN_STATE_BODY_MAX};
    struct json_doc doc = {0};
    bool is_list = json->text.n > 0 && json->text.p[0] == '[' && json_string(json, &text) &&
                   json_doc_parse(buf_str(&text), &doc) == 0 && doc.items[0].type == JSON_ARRAY;
    if (is_list)
        put_list(out, doc.items);
    else
        put_decoded(out, json);
    json_doc_fini(&doc);
}

void otlp_put_attribute_json(const struct otlp_out *out, unsigned field, struct str key, const struct json_value *json)
{
    int64_t number;
    double real;
    size_t value;
    if (!json || json->type == JSON_NULL || json->type >= JSON_ARRAY)
        return;
    size_t start = open_attribute(out, field, key, &value);
    if (json->type == JSON_STRING)
        put_text_or_list(out, json);
    else if (json->type != JSON_NUMBER)
        otlp_put_bool(out, VALUE_BOOL, "boolValue", json->type == JSON_TRUE);
    else if (json_integer(json, &number) && !out->is_json)
        protobuf_put_number(out->buf, VALUE_INT, (uint64_t)number);
    else if (json_integer(json, &number))
        otlp_put_integer(out, VALUE_INT, "intValue", number);
    else if (num_parse_f64(json->text, &real) == 0)
        otlp_put_real(out, VALUE_REAL, "doubleValue", real);
    close_attribute(out, start, value);
}
