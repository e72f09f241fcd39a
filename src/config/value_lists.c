/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of known names ("host_ip,host_id") and KEY=VALUE pairs: tags and headers. As text one pair ("team=infra") or a
 * list ("team=infra,note=a\,b"). Headers follow RFC 9110 (5.1, 5.5): names in any case, made of tchar, values without
 * control characters but the tab.
 */
#include "config/value.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/config_internal.h"
#include "net/http.h"

/* Cuts the next name off a list; false at its end. */
static bool next_name(struct str *rest, struct str *ret_name)
{
    while (str_cut(rest, ',', ret_name)) {
        *ret_name = str_trim(*ret_name);
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
    AUTO_BUF struct buf shown, guess;
    buf_init(&shown, 128);
    buf_init(&guess, 64);
    text_put(&shown, name, TEXT_ESCAPE, SHOW_VALUE_MAX);
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
    const struct option_row *row, const struct buf *list, const struct value_target *target, struct err *err)
{
    if (!buf_ok(list))
        return err_set(err, -ENOMEM, "out of memory");
    return value_set_string(row, buf_str(list), target, err);
}

int value_set_list_text(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    AUTO_BUF struct buf list;
    buf_init(&list, SETTINGS_TEXT_MAX);
    int r = add_names(row, text, &list, err);
    return r < 0 ? r : set_list(row, &list, target, err);
}

int value_set_list_toml(
    const struct option_row *row, const struct toml_node *node, const struct value_target *target, struct err *err)
{
    if (node->type == TOML_STRING)
        return value_set_list_text(row, node->value.string, target, err);
    if (node->type != TOML_ARRAY)
        return value_refuse_type(node, "an array of strings", err);
    AUTO_BUF struct buf list;
    buf_init(&list, SETTINGS_TEXT_MAX);
    for (const struct toml_node *item = node->value.children.first; item; item = item->next) {
        if (item->type != TOML_STRING)
            return err_set(err, -EINVAL, "the item at %u:%u must be a string", item->line, item->column);
        int r = add_names(row, item->value.string, &list, err);
        if (r < 0)
            return r;
    }
    return set_list(row, &list, target, err);
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

static int check_header(struct str name, struct str value, struct err *err)
{
    const char *reserved = http_header_reserved(name);
    if (!http_text_is_token(name))
        return err_set(err, -EINVAL, "a header name may only contain letters, digits and !#$%%&'*+-.^_`|~");
    if (reserved)
        return err_set(err, -EINVAL, "the header %s is set by resource-tracker itself", reserved);
    if (http_text_has_control(value)) /* a line break would make two headers of one */
        return err_set(err, -EINVAL, "a header value must not contain control characters");
    return 0;
}

static int check_pair(const struct option_row *row, struct str key, struct str value, struct err *err)
{
    int r = value_check_text(key, err);
    if (r == 0)
        r = value_check_text(value, err);
    if (r < 0)
        return r;
    if (key.n == 0)
        return err_set(err, -EINVAL, "a key is empty");
    return row->props & OPTION_HEADERS ? check_header(key, value, err) : 0;
}

static size_t find_pair(const struct option_row *row, const struct settings_pairs *pairs, struct str key)
{
    size_t i = 0;
    bool (*is_same)(struct str a, struct str b) = row->props & OPTION_HEADERS ? str_eq_nocase : str_eq;
    while (i < pairs->count && !is_same(str_of(pairs->items[i].key), key))
        i++;
    return i;
}

int value_set_pair(
    const struct option_row *row, struct str key, struct str value, const struct value_target *target, struct err *err)
{
    int r = check_pair(row, key, value, err);
    if (r < 0)
        return r;
    struct settings_pairs *pairs = option_member(row, target->settings);
    size_t i = find_pair(row, pairs, key);
    size_t most = row->props & OPTION_HEADERS ? SETTINGS_HEADERS_MAX : SETTINGS_PAIRS_MAX;
    r = VEC_GROW(pairs, i + 1, most);
    if (r == -E2BIG)
        return err_set(err, r, "at most %zu are allowed", most);
    struct settings_pair new = {.value = r == 0 ? value_copy(value) : NULL};
    new.key = new.value &&i == pairs->count ? value_copy(key) : NULL;
    if (!new.value || (i == pairs->count && !new.key)) {
        free(new.value);
        return err_set(err, -ENOMEM, "out of memory");
    }
    if (i == pairs->count) {
        pairs->items[pairs->count++] = new;
    } else {
        str_wipe(pairs->items[i].value, strlen(pairs->items[i].value));
        free(pairs->items[i].value);
        pairs->items[i].value = new.value;
    }
    if (target->pair_origins)
        target->pair_origins[i] = target->origin;
    return 0;
}

/* KEY=VALUE; blanks around the key are dropped. */
int value_set_pair_text(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    const char *equals = text.n > 0 ? memchr(text.p, '=', text.n) : NULL;
    if (!equals)
        return err_set(err, -EINVAL, "must be KEY=VALUE");
    struct str key = {text.p, (size_t)(equals - text.p)};
    struct str value = {equals + 1, text.n - key.n - 1};
    return value_set_pair(row, str_trim(key), value, target, err);
}

/* Cuts the next item off a list; "\," goes into the item as a comma. */
static bool next_item(struct str *rest, struct buf *ret_item)
{
    buf_clear(ret_item);
    if (rest->n == 0)
        return false;
    size_t i = 0;
    for (; i < rest->n && rest->p[i] != ','; i++) {
        if (rest->p[i] == '\\' && i + 1 < rest->n && rest->p[i + 1] == ',')
            i++;
        buf_putc(ret_item, rest->p[i]);
    }
    str_skip(rest, i < rest->n ? i + 1 : i);
    return true;
}

int value_set_pair_list(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    AUTO_BUF struct buf item;
    buf_init(&item, SETTINGS_TEXT_MAX + 1);
    while (next_item(&text, &item)) {
        if (!buf_ok(&item))
            return err_set(err, -E2BIG, "an item is longer than %d bytes", SETTINGS_TEXT_MAX);
        struct str trimmed = str_trim(buf_str(&item));
        if (trimmed.n == 0)
            continue;
        int r = value_set_pair_text(row, trimmed, target, err);
        if (r < 0)
            return r;
    }
    return 0;
}
