/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values given as TOML: the type is checked first, then the text or number takes the way of every other source.
 */
#include "config/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"

int value_refuse_type(const struct toml_node *node, const char *wanted, struct err *err)
{
    const char *found = toml_type_name(node->type);
    const char *article = node->type == TOML_INTEGER || node->type == TOML_ARRAY ? "an" : "a";
    return err_set(err, -EINVAL, "is %s %s, must be %s", article, found, wanted);
}

static int set_duration(
    const struct option_row *row, const struct toml_node *node, const struct value_place *place, struct err *err)
{
    if (node->type == TOML_STRING)
        return value_set_text(row, node->value.string, place, err);
    if (node->type == TOML_INTEGER) {
        if (node->value.integer < 0)
            return value_refuse_low(row, err);
        if (node->value.integer > row->max / NS_PER_SEC)
            return value_refuse_high(row, err);
        return value_set_number(row, node->value.integer * NS_PER_SEC, place, err);
    }
    if (node->type != TOML_FLOAT)
        return value_refuse_type(node, "a number of seconds or a string such as \"250ms\"", err);
    double secs = node->value.real;
    if (secs != secs)
        return err_set(err, -EINVAL, "is not a number");
    if (secs < 0)
        return value_refuse_low(row, err);
    if (secs > (double)row->max / 1e9)
        return value_refuse_high(row, err);
    return value_set_number(row, (int64_t)(secs * 1e9 + 0.5), place, err);
}

static void put_float(struct buf *buf, double value)
{
    if (value != value) {
        buf_puts(buf, "nan");
        return;
    }
    char text[40];
    int digits = 1;
    do {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
    } while (digits++ < 17 && strtod(text, NULL) != value);
    buf_puts(buf, text);
    if (text[strspn(text, "-0123456789")] == '\0')
        buf_puts(buf, ".0");
}

void value_put_node(struct buf *buf, const struct toml_node *node, bool quoted)
{
    switch (node->type) {
    case TOML_STRING:
        buf_puts(buf, quoted ? "\"" : "");
        buf_append(buf, node->value.string.p, node->value.string.n);
        buf_puts(buf, quoted ? "\"" : "");
        break;
    case TOML_INTEGER:
        num_put_i64(buf, node->value.integer);
        break;
    case TOML_FLOAT:
        put_float(buf, node->value.real);
        break;
    case TOML_BOOLEAN:
        buf_puts(buf, node->value.boolean ? "true" : "false");
        break;
    case TOML_DATETIME:
        buf_append(buf, node->value.datetime.text.p, node->value.datetime.text.n);
        break;
    case TOML_ARRAY:
        buf_puts(buf, "[...]");
        break;
    case TOML_TABLE:
        buf_puts(buf, "{...}");
        break;
    }
}

static int set_pair(
    const struct option_row *row, const struct toml_node *entry, const struct value_place *place, struct err *err)
{
    if (entry->type == TOML_ARRAY || entry->type == TOML_TABLE)
        return value_refuse_type(entry, "a string", err);
    AUTO_BUF struct buf text;
    buf_init(&text, TOML_BYTES_MAX + 1);
    value_put_node(&text, entry, false);
    if (!buf_ok(&text))
        return err_set(err, -ENOMEM, "out of memory");
    return value_set_pair(row, entry->key, (struct str){text.data, text.len}, place, err);
}

int value_set_toml(
    const struct option_row *row, const struct toml_node *node, const struct value_place *place, struct err *err)
{
    switch (row->type) {
    case OPTION_BOOL:
        if (node->type != TOML_BOOLEAN)
            return value_refuse_type(node, "a boolean (true or false)", err);
        return value_set_bool(row, node->value.boolean, place);
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
    case OPTION_COUNT:
        if (node->type != TOML_INTEGER)
            return value_refuse_type(node, "an integer", err);
        return value_set_number(row, node->value.integer, place, err);
    case OPTION_DURATION:
        return set_duration(row, node, place, err);
    case OPTION_CHOICE:
    case OPTION_STRING:
        if (node->type != TOML_STRING)
            return value_refuse_type(node, "a string", err);
        return value_set_text(row, node->value.string, place, err);
    case OPTION_PAIRS:
        return set_pair(row, node, place, err);
    case OPTION_LIST:
        return value_set_list_toml(row, node, place, err);
    case OPTION_ACTION:
        break;
    }
    return err_set(err, -EINVAL, "cannot be set in a file");
}
