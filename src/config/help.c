/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -h and --help, which tools/docs_help.c makes from the option table and the program carries packed; and
 * docs/configuration.md, also from that table.
 */
#include "config/config.h"

#include "base/auto.h"
#include "codec/gzip.h"
#include "config/config_internal.h"
#include "config/value.h"

enum { HELP_BYTES_MAX = 64 * 1024 };

/* The short one, NUL, the long one. */
static void put_help(struct buf *buf, size_t which)
{
    AUTO_BUF struct buf both;
    buf_init(&both, HELP_BYTES_MAX);
    buf->failed |= gzip_unpack_into((struct str){(const char *)help_packed, help_packed_bytes}, &both) < 0;
    struct str rest = buf_str(&both), piece = {0};
    for (size_t i = 0; i <= which; i++)
        (void)str_cut(&rest, '\0', &piece);
    buf_append(buf, piece.p, piece.n);
}

void config_short_help(struct buf *buf)
{
    put_help(buf, 0);
}

void config_help(struct buf *buf)
{
    put_help(buf, 1);
}

static const char intro[] =
    "# Configuration\n"
    "\n"
    "This page is generated from the option table of the program; `make docs` writes it.\n"
    "\n"
    "Every setting can come from several sources. A flag overrides an environment variable, a variable overrides the\n"
    "TOML file, the file overrides automatic metadata (see *Automatic metadata*), and that overrides the default. An\n"
    "empty environment variable counts as unset. Where two variables are named, the first that is set is used. Tags\n"
    "and headers are merged by key in the same order. Every value is checked, even if it is overridden.\n"
    "`resource-tracker --print-config` shows the result and the origin of each value.\n"
    "\n"
    "The file is `resource-tracker.toml` in the working directory, or the one given with `--config` or\n"
    "`TRACKER_CONFIG`. The one in the working directory is used only if it is a regular file that is owned by you or\n"
    "by root and that neither group nor others can write (of a link, both the link and the file must be owned by you\n"
    "or by root); otherwise one warning says why it is ignored. It cannot contain settings that name code to load\n"
    "(`collect.nvml_path`): these come from the environment or from a file given with `--config`. If there is no such\n"
    "file, or the working directory cannot be searched, there is no warning; a file that is given and does not exist\n"
    "is a warning.\n"
    "\n"
    "A file that cannot be read or is malformed, or a value of the wrong type or out of range, stops the program with\n"
    "exit status 125 before anything runs. An unknown key is a warning, and so is an unknown variable that begins "
    "with\n"
    "`TRACKER_`. The limits are 1 MiB for a file, 64 KiB for a text, 256 tags and 24 headers.\n"
    "\n"
    "Settings that contradict each other or have no effect are warnings: `--quiet` with `--output FILE`, `--append`\n"
    "without a file, an unknown `{name}` in a file name. The file and the environment are meant for many runs, so\n"
    "their settings are only warned about if they lose samples (`quiet` and `output` from one source) or limit the\n"
    "time of a command (`duration_secs`). A source that overrides a weaker one is not a contradiction. A command and\n"
    "`--from` override a `pid` from the file or the environment.\n"
    "\n"
    "- **Durations** are seconds or have a unit: `0.25`, `250ms`, `2s`, `1.5m`, `1h`. In TOML they are numbers or\n"
    "  strings of this form.\n"
    "- **Booleans** are 1/0, true/false, yes/no, on/off, in any case; in TOML `true` and `false`. A flag `--append` "
    "has\n"
    "  the forms `--append=no` and `--no-append`.\n"
    "- **`--renice`** takes the next word as its number only if it is one: `--renice 5 make`, `--renice make`.\n"
    "- **Lists of pairs** in a variable are separated by commas: `TRACKER_TAGS=team=infra,owner=ops`; `\\,` is a "
    "comma\n"
    "  within a value. In TOML they are a table.\n"
    "- **Lists of names** in a variable are separated by commas: `TRACKER_OMIT=host_ip,host_id`; in TOML they are an\n"
    "  array of strings. One list replaces another.\n"
    "- An empty text unsets a setting, except for files and directories, where it is an error.\n"
    "- Secrets never come from flags, and are never shown.\n";

static const char automatic[] =
    "\n## Automatic metadata\n"
    "\n"
    "What was not set about the job is taken from the variables below, and from no others, as long as\n"
    "`job.auto_metadata` is on. A system counts as present if the variable in parentheses is set. Workflow engines\n"
    "come first, then CI systems, then what runs the job; the first that has a value wins, for each setting. A value\n"
    "that is empty, longer than 1024 bytes, not UTF-8 or contains control characters is ignored. To keep a single\n"
    "setting empty, set it to an empty text: `--job-name=`. `--print-config` shows which variable was used.\n"
    "\n";

/* A bar would end the cell, even within backquotes. */
static void put_metavar(struct buf *buf, const char *metavar)
{
    for (; *metavar; metavar++)
        buf_printf(buf, "%s%c", *metavar == '|' ? "\\" : "", *metavar);
}

static void put_flag(struct buf *buf, const struct option_row *row)
{
    if (!option_flag(row)[0])
        return;
    bool on = option_is_on(row);
    bool optional = option_is_value_optional(row);
    buf_printf(buf, "`--%s%s", on ? "no-" : "", option_flag(row));
    if (option_has_metavar(row)) {
        buf_puts(buf, row->type == OPTION_OPT_INTEGER && option_bare(row) ? " [" : optional ? "[=" : " ");
        put_metavar(buf, option_metavar(row));
        buf_puts(buf, optional ? "]" : "");
    }
    buf_putc(buf, '`');
    if (row->letter)
        buf_printf(buf, ", `-%c`", row->letter);
}

static void put_envs(struct buf *buf, const struct option_row *row)
{
    for (size_t i = 0; option_env(row, i); i++)
        buf_printf(buf, "%s`%s`", i > 0 ? ", " : "", option_env(row, i));
}

static void put_default(struct buf *buf, const struct option_row *row)
{
    if (option_fallback(row))
        buf_printf(buf, "`%s`", option_fallback(row));
    else if (row->type != OPTION_ACTION)
        buf_puts(buf, option_help(row)->unset ? option_help(row)->unset : "none");
}

static void put_values(struct buf *buf, const struct option_row *row)
{
    switch (row->type) {
    case OPTION_BOOL:
        buf_puts(buf, "boolean");
        break;
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
        buf_printf(buf, "%lld to %lld", (long long)option_range(row)->min, (long long)option_range(row)->max);
        break;
    case OPTION_DURATION:
        duration_put(buf, option_range(row)->min);
        buf_puts(buf, " to ");
        duration_put(buf, option_range(row)->max);
        buf_puts(buf, row->props & OPTION_PER_KWH ? " g/kWh" : " s");
        break;
    case OPTION_CHOICE:
        for (size_t i = 0; option_word(row, i); i++)
            buf_printf(buf, "%s`%s`", i > 0 ? ", " : "", option_word(row, i));
        break;
    case OPTION_STRING:
        buf_puts(buf, "text");
        break;
    case OPTION_PAIRS:
        buf_puts(buf, "pairs");
        break;
    case OPTION_LIST:
        buf_puts(buf, "list of");
        for (size_t i = 0; option_word(row, i); i++)
            buf_printf(buf, "%s `%s`", i > 0 ? "," : "", option_word(row, i));
        break;
    case OPTION_COUNT:
        buf_puts(buf, "repeatable");
        break;
    case OPTION_ACTION:
        break;
    }
}

static void put_meaning(struct buf *buf, const struct option_row *row)
{
    char first = option_help(row)->help[0];
    if (first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    buf_printf(buf, "%c%s.", first, option_help(row)->help + 1);
}

/* The key within its table; the whole line begins and ends with a bar. */
static void put_docs_row(struct buf *buf, const struct option_row *row)
{
    buf_puts(buf, "| ");
    if (option_key(row)[0])
        buf_printf(buf, "`%s%s`", option_name(row), row->type == OPTION_PAIRS ? ".KEY" : "");
    void (*const cells[])(struct buf *, const struct option_row *) = {
        put_flag, put_envs, put_default, put_values, put_meaning};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        buf_puts(buf, " | ");
        cells[i](buf, row);
    }
    buf_puts(buf, " |\n");
}

static struct str table_of(const struct option_row *row)
{
    return (struct str){option_key(row), strcspn(option_key(row), ".")};
}

static void put_docs_table(struct buf *buf, struct str table)
{
    if (table.n > 0)
        buf_printf(buf, "\n## [%.*s]\n", (int)table.n, table.p);
    else
        buf_puts(buf, "\n## Without a key in the file\n");
    buf_puts(buf, "\n| key | flag | environment | default | values | meaning |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (str_eq(table_of(&options[i]), table))
            put_docs_row(buf, &options[i]);
    }
}

void config_docs(struct buf *buf)
{
    buf_puts(buf, intro);
    for (size_t i = 0; i < OPTION_TABLES; i++)
        put_docs_table(buf, str_of(option_tables[i]));
    put_docs_table(buf, STR(""));
    buf_puts(buf, automatic);
    metadata_docs(buf);
}
