/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values, origins and URLs as messages show them; and --print-config: the effective settings as a TOML file that, read
 * back, gives the same settings; each line ends with its origin. Secrets are named and not shown, what is unset is
 * commented out.
 */
#include <stdint.h>

#include "base/auto.h"
#include "base/text.h"
#include "config/config.h"
#include "config/config_internal.h"
#include "config/value.h"

void show_path(struct buf *buf, struct str path, size_t max)
{
    if (path.n > max) {
        buf_puts(buf, "...");
        max -= 3;
        size_t keep = max;
        path = (struct str){path.p + path.n - keep, keep};
        while (path.n > 0 && ((unsigned char)path.p[0] & 0xc0) == 0x80) {
            path.p++;
            path.n--;
        }
    }
    text_put(buf, path, TEXT_ESCAPE, max);
}

void show_origin(
    struct buf *buf, const struct option_row *row, const struct option_origin *origin, const char *config_path)
{
    switch (origin->source) {
    case SOURCE_FLAG:
        buf_printf(buf, "--%s%s", origin->negated ? "no-" : "", option_flag(row));
        break;
    case SOURCE_ENV:
        buf_puts(buf, origin->env);
        break;
    case SOURCE_FILE:
        show_path(buf, str_of(config_path), SHOW_PATH_MAX);
        buf_printf(buf, ":%u", origin->line);
        if (origin->column > 0)
            buf_printf(buf, ":%u", origin->column);
        break;
    case SOURCE_AUTO:
        buf_printf(buf, "%s (automatic)", origin->env);
        break;
    case SOURCE_DEFAULT:
        buf_puts(buf, "default");
        break;
    }
}

void show_toml_string(struct buf *buf, struct str text)
{
    buf_putc(buf, '"');
    while (text.n > 0) {
        size_t n = utf8_length(text);
        struct str character = {text.p, n};
        unsigned point = n > 0 ? utf8_decode(character) : 0;
        if (n == 0)
            buf_puts(buf, "\\uFFFD");
        else if (point == '"' || point == '\\')
            buf_printf(buf, "\\%c", (int)point);
        else if (text_is_unsafe(character))
            buf_printf(buf, point > 0xffff ? "\\U%08X" : "\\u%04X", point);
        else
            buf_append(buf, text.p, n);
        str_skip(&text, n > 0 ? n : 1);
    }
    buf_putc(buf, '"');
}

static bool is_bare(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-';
}

void show_toml_key(struct buf *buf, struct str key)
{
    bool bare = key.n > 0;
    for (size_t i = 0; i < key.n; i++)
        bare = bare && is_bare(key.p[i]);
    if (bare)
        buf_append(buf, key.p, key.n);
    else
        show_toml_string(buf, key);
}

void show_url(struct buf *buf, struct str url)
{
    const char *slashes = memmem(url.p, url.n, "//", 2);
    size_t host = slashes ? (size_t)(slashes - url.p) + 2 : 0;
    size_t end = host;
    while (end < url.n && url.p[end] != '/' && url.p[end] != '?' && url.p[end] != '#')
        end++;
    const char *at = memrchr(url.p + host, '@', end - host);
    size_t rest = at ? (size_t)(at - url.p) + 1 : host;
    buf_append(buf, url.p, host);
    size_t query = end;
    while (query < url.n && url.p[query] != '?' && url.p[query] != '#')
        query++;
    buf_append(buf, url.p + rest, query - rest);
    if (query < url.n)
        buf_puts(buf, "?...");
}

static struct str table_of(const char *key)
{
    return (struct str){key, strcspn(key, ".")};
}

static void put_origin(struct buf *buf, const struct config *config, size_t i, const struct option_origin *origin)
{
    struct option_origin where = *origin;
    where.column = 0;
    buf_puts(buf, "  # ");
    show_origin(buf, &options[i], &where, config->settings.config_path);
    buf_putc(buf, '\n');
}

static void put_value(struct buf *buf, const struct config *config, const struct option_row *row)
{
    bool text = row->type == OPTION_STRING || row->type == OPTION_CHOICE;
    if (!text) {
        value_put(buf, row, &config->settings);
        return;
    }
    AUTO_BUF struct buf value;
    buf_init(&value, SETTINGS_TEXT_MAX + 1);
    value_put(&value, row, &config->settings);
    show_toml_string(buf, buf_str(&value));
}

static void put_setting(struct buf *buf, const struct config *config, size_t i)
{
    const struct option_row *row = &options[i];
    bool unset = value_is_unset(row, &config->settings);
    if (!unset && (row->props & OPTION_SECRET)) {
        buf_printf(buf, "# %s is set (hidden)", option_name(row));
        put_origin(buf, config, i, &config->origins[i]);
        return;
    }
    buf_printf(buf, "%s%s = ", unset ? "# " : "", option_name(row));
    if (unset && (row->type == OPTION_OPT_INTEGER || row->type == OPTION_DURATION))
        buf_puts(buf, option_metavar(row));
    else if (unset && row->type == OPTION_LIST)
        buf_puts(buf, "[]");
    else
        put_value(buf, config, row);
    put_origin(buf, config, i, &config->origins[i]);
}

static void put_pairs(struct buf *buf, const struct config *config, size_t i)
{
    const struct option_row *row = &options[i];
    const struct settings_pairs *pairs = option_member_const(row, &config->settings);
    const struct option_origin *origins = config->pair_origins[config_pairs_index(row)];
    if (pairs->count == 0) {
        buf_printf(buf, "\n# [%s]", option_key(row));
        put_origin(buf, config, i, &config->origins[i]);
        return;
    }
    buf_printf(buf, "\n[%s]\n", option_key(row));
    for (size_t k = 0; k < pairs->count; k++) {
        struct str key = str_of(pairs->items[k].key);
        if (row->props & OPTION_SECRET) {
            buf_puts(buf, "# ");
            show_toml_key(buf, key);
            buf_puts(buf, " is set (hidden)");
        } else {
            show_toml_key(buf, key);
            buf_puts(buf, " = ");
            show_toml_string(buf, str_of(pairs->items[k].value));
        }
        put_origin(buf, config, i, origins ? &origins[k] : &config->origins[i]);
    }
}

/* A table with its keys in the order of --help, then the tables below it. */
static void put_table(struct buf *buf, const struct config *config, struct str table)
{
    buf_printf(buf, "\n[%.*s]\n", (int)table.n, table.p);
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (options[i].type != OPTION_PAIRS && str_eq(table_of(option_key(&options[i])), table))
            put_setting(buf, config, i);
    }
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (options[i].type == OPTION_PAIRS && str_eq(table_of(option_key(&options[i])), table))
            put_pairs(buf, config, i);
    }
}

/* Settings that no file can hold. */
static void put_keyless(struct buf *buf, const struct config *config, size_t i)
{
    const struct option_row *row = &options[i];
    const struct option_origin *origin = &config->origins[i];
    if (value_is_unset(row, &config->settings)) {
        buf_printf(buf, "# %s is not set\n", option_name(row));
    } else if (row->props & OPTION_SECRET) {
        buf_printf(buf, "# %s is set (hidden)\n", origin->env);
    } else {
        buf_printf(buf, "# %s = ", option_name(row));
        put_value(buf, config, row);
        put_origin(buf, config, i, origin);
    }
}

void config_print(const struct config *config, struct buf *buf)
{
    buf_puts(
        buf, "# resource-tracker " RT_VERSION ": effective settings, each with its origin\n# configuration file: ");
    text_put(buf, str_of(config->settings.config_path), TEXT_ESCAPE, CONFIG_TEXT_MAX);
    buf_puts(buf, config->file_found ? "\n" : config->file_refused ? " (not used)\n" : " (not found)\n");
    for (size_t i = 0; i < OPTION_TABLES; i++)
        put_table(buf, config, str_of(option_tables[i]));
    buf_puts(buf, "\n# Cannot be set in a file:\n");
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (!option_key(&options[i])[0] && options[i].type != OPTION_ACTION)
            put_keyless(buf, config, i);
    }
}
