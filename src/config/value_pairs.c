/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEY=VALUE pairs: tags and headers. As text one pair ("team=infra") or a list ("team=infra,note=a\,b"). Headers follow
 * RFC 9110 (5.1, 5.5): names in any case, made of tchar, values without control characters but the tab.
 */
#include "config/value.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/auto.h"
#include "base/vec.h"

static bool is_token(struct str text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return text.n > 0;
}

/* A line break in a header would let one header become two. */
static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static bool is_same_header(struct str a, const char *b)
{
    return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

static int check_header(struct str name, struct str value, struct err *err)
{
    static const char ours[][18] = {"Host", "Connection", "Content-Length", "Transfer-Encoding", "User-Agent", "Expect",
        "Upgrade", "TE", "Trailer"};
    if (!is_token(name))
        return err_set(err, -EINVAL, "the name of a header may hold letters, digits and !#$%%&'*+-.^_`|~ only");
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (is_same_header(name, ours[i]))
            return err_set(err, -EINVAL, "the header %s is set by the program itself", ours[i]);
    }
    if (has_control(value))
        return err_set(err, -EINVAL, "the value of a header must not hold control characters");
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
    while (i < pairs->count && !(row->props & OPTION_HEADERS ? is_same_header(key, pairs->items[i].key)
                                                             : str_eq(str_of(pairs->items[i].key), key)))
        i++;
    return i;
}

int value_set_pair(
    const struct option_row *row, struct str key, struct str value, const struct value_place *place, struct err *err)
{
    int r = check_pair(row, key, value, err);
    if (r < 0)
        return r;
    struct settings_pairs *pairs = option_member(row, place->settings);
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
    if (place->pair_origins)
        place->pair_origins[i] = place->origin;
    return 0;
}

/* KEY=VALUE; blanks around the key are dropped. */
int value_set_pair_text(const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    const char *equals = text.n > 0 ? memchr(text.p, '=', text.n) : NULL;
    if (!equals)
        return err_set(err, -EINVAL, "must be KEY=VALUE");
    struct str key = {text.p, (size_t)(equals - text.p)};
    struct str value = {equals + 1, text.n - key.n - 1};
    return value_set_pair(row, str_trim(key), value, place, err);
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
    size_t used = i < rest->n ? i + 1 : i;
    rest->p += used;
    rest->n -= used;
    return true;
}

int value_set_pair_list(const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    AUTO_BUF struct buf item;
    buf_init(&item, SETTINGS_TEXT_MAX + 1);
    while (next_item(&text, &item)) {
        if (!buf_ok(&item))
            return err_set(err, -E2BIG, "an item is longer than %d bytes", SETTINGS_TEXT_MAX);
        struct str trimmed = str_trim((struct str){item.data, item.len});
        if (trimmed.n == 0)
            continue;
        int r = value_set_pair_text(row, trimmed, place, err);
        if (r < 0)
            return r;
    }
    return 0;
}
