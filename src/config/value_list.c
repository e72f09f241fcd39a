/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of known names. As text "host_ip, host_id", in TOML an array of strings or such a text; kept as one text joined
 * with commas, each name once, in the order they were given.
 */
#include "config/value.h"

#include <errno.h>

#include "base/auto.h"
#include "config/show.h"

/* Cuts the next name off a list; false at its end. */
static bool next_name(struct str *rest, struct str *ret_name)
{
    while (rest->n > 0) {
        const char *comma = memchr(rest->p, ',', rest->n);
        size_t n = comma ? (size_t)(comma - rest->p) : rest->n;
        *ret_name = str_trim((struct str){rest->p, n});
        size_t used = comma ? n + 1 : n;
        rest->p += used;
        rest->n -= used;
        if (ret_name->n > 0)
            return true;
    }
    return false;
}

static bool is_known(const struct option_row *row, struct str name)
{
    const char *known;
    for (size_t i = 0; (known = option_word(row, i)); i++) {
        if (str_eq(str_of(known), name))
            return true;
    }
    return false;
}

static bool is_listed(const struct buf *list, struct str name)
{
    struct str rest = {list->data, list->len}, listed;
    while (next_name(&rest, &listed)) {
        if (str_eq(listed, name))
            return true;
    }
    return false;
}

static int refuse_name(const struct option_row *row, struct str name, struct err *err)
{
    AUTO_BUF struct buf shown;
    AUTO_BUF struct buf guess;
    buf_init(&shown, 128);
    buf_init(&guess, 64);
    show_text(&shown, name, SHOW_VALUE_MAX);
    if (!options_nearest_word(row, name, &guess))
        return err_set(err, -EINVAL, "unknown name \"%s\"", buf_cstr(&shown));
    return err_set(err, -EINVAL, "unknown name \"%s\", did you mean \"%s\"?", buf_cstr(&shown), buf_cstr(&guess));
}

static int add_names(const struct option_row *row, struct str text, struct buf *list, struct err *err)
{
    struct str name;
    while (next_name(&text, &name)) {
        if (!is_known(row, name))
            return refuse_name(row, name, err);
        if (is_listed(list, name))
            continue;
        buf_puts(list, list->len > 0 ? "," : "");
        buf_append(list, name.p, name.n);
    }
    return 0;
}

static int set_list(
    const struct option_row *row, const struct buf *list, const struct value_place *place, struct err *err)
{
    if (!buf_ok(list))
        return err_set(err, -ENOMEM, "out of memory");
    return value_set_string(row, (struct str){list->data, list->len}, place, err);
}

int value_set_list_text(const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    AUTO_BUF struct buf list;
    buf_init(&list, SETTINGS_TEXT_MAX);
    int r = add_names(row, text, &list, err);
    return r < 0 ? r : set_list(row, &list, place, err);
}

int value_set_list_toml(
    const struct option_row *row, const struct toml_node *node, const struct value_place *place, struct err *err)
{
    if (node->type == TOML_STRING)
        return value_set_list_text(row, node->value.string, place, err);
    if (node->type != TOML_ARRAY)
        return value_refuse_type(node, "an array of strings", err);
    AUTO_BUF struct buf list;
    buf_init(&list, SETTINGS_TEXT_MAX);
    for (const struct toml_node *item = node->value.children.first; item; item = item->next) {
        if (item->type != TOML_STRING)
            return err_set(err, -EINVAL, "its item at %u:%u must be a string", item->line, item->column);
        int r = add_names(row, item->value.string, &list, err);
        if (r < 0)
            return r;
    }
    return set_list(row, &list, place, err);
}

void value_put_list(struct buf *buf, const char *list)
{
    struct str rest = str_of(list), name;
    bool first = true;
    buf_putc(buf, '[');
    while (next_name(&rest, &name)) {
        buf_puts(buf, first ? "" : ", ");
        show_toml_string(buf, name);
        first = false;
    }
    buf_putc(buf, ']');
}
