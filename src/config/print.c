/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --print-config: the effective settings as a TOML file that, read back, gives the same settings; each line ends with
 * its origin. Secrets are named and not shown, what is unset is commented out.
 */
#include "config/config.h"

#include "base/auto.h"
#include "config/show.h"
#include "config/value.h"

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
    show_toml_string(buf, (struct str){value.data, value.len});
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
        buf_puts(buf, row->metavar);
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
        buf_printf(buf, "\n# [%s]", row->key);
        put_origin(buf, config, i, &config->origins[i]);
        return;
    }
    buf_printf(buf, "\n[%s]\n", row->key);
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
        put_origin(buf, config, i, &origins[k]);
    }
}

/* A table with its keys in the order of --help, then the tables below it. */
static void put_table(struct buf *buf, const struct config *config, struct str table)
{
    buf_printf(buf, "\n[%.*s]\n", (int)table.n, table.p);
    for (size_t i = 0; i < options_count; i++) {
        if (options[i].key && options[i].type != OPTION_PAIRS && str_eq(table_of(options[i].key), table))
            put_setting(buf, config, i);
    }
    for (size_t i = 0; i < options_count; i++) {
        if (options[i].key && options[i].type == OPTION_PAIRS && str_eq(table_of(options[i].key), table))
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
    show_text(buf, str_of(config->settings.config_path), CONFIG_TEXT_MAX);
    buf_puts(buf, config->file_found ? "\n" : config->file_refused ? " (not used)\n" : " (not found)\n");
    for (size_t i = 0; option_tables[i]; i++)
        put_table(buf, config, str_of(option_tables[i]));
    buf_puts(buf, "\n# Not from a file:\n");
    for (size_t i = 0; i < options_count; i++) {
        if (!options[i].key && options[i].type != OPTION_ACTION)
            put_keyless(buf, config, i);
    }
}
