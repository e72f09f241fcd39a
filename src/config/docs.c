/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/configuration.md from the option table: one Markdown table per TOML table.
 */
#include "config/config.h"

#include "config/duration.h"
#include "config/metadata.h"

static const char intro[] =
    "# Configuration\n"
    "\n"
    "This page is generated from the option table of the program; `make docs` writes it.\n"
    "\n"
    "Every setting can come from several places. A flag wins over an environment variable, a variable over the TOML\n"
    "file, the file over what the surroundings tell (see *Automatic metadata*), and that over the default. An empty\n"
    "environment variable counts as unset. Where two variables are named, the first that is set counts. Tags and\n"
    "headers are merged by key in the same order. Every value is checked, also one that is overridden.\n"
    "`resource-tracker --print-config` shows the outcome and the origin of each value.\n"
    "\n"
    "The file is `resource-tracker.toml` in the working directory, or the one that `--config` or `TRACKER_CONFIG` "
    "names.\n"
    "The one in the working directory is used only if it is a regular file that belongs to you or to root and that "
    "neither\n"
    "group nor others can write (of a link, both the link and the file must belong to you or to root); otherwise one\n"
    "warning says why it is not used. It cannot give settings that name code to load (`collect.nvml_path`): these "
    "come from\n"
    "the environment or from a file that is named. Where there is no such file, or the working directory may not be\n"
    "searched, nothing is said; a file that is named and does not exist is a warning.\n"
    "\n"
    "A file that cannot be read, a malformed one, or a value of the wrong type or range, stops the program with exit "
    "status\n"
    "125 before anything runs. An unknown key is a warning, and so is an unknown variable that begins with "
    "`TRACKER_`. A\n"
    "file may be 1 MiB, a text 64 KiB, and there may be 256 tags and 24 headers.\n"
    "\n"
    "Settings that contradict each other or have no effect are warnings: `--quiet` with `--output FILE`, `--append` "
    "without a\n"
    "file, an unknown `{name}` in a file name. What file and environment give is meant for many runs, so that of these "
    "only\n"
    "those are mentioned that lose samples (`quiet` and `output` from one source) or that limit the time of a command\n"
    "(`duration_secs`). A stronger source that takes back what a weaker one gives is no contradiction. A command, and\n"
    "`--from`, win over a `pid` of the file or the environment.\n"
    "\n"
    "- **Durations** are seconds or have a unit: `0.25`, `250ms`, `2s`, `1.5m`, `1h`. In TOML they are numbers or\n"
    "  strings of this form.\n"
    "- **Booleans** are 1/0, true/false, yes/no, on/off, in any case; in TOML `true` and `false`. A flag `--append` "
    "has\n"
    "  the forms `--append=no` and `--no-append`.\n"
    "- **`--renice`** takes the next word as its number only where it is one: `--renice 5 make`, `--renice make`.\n"
    "- **Lists of pairs** in a variable are separated by commas: `TRACKER_TAGS=team=infra,owner=ops`; `\\,` is a "
    "comma\n"
    "  within a value. In TOML they are a table.\n"
    "- **Lists of names** in a variable are separated by commas: `TRACKER_OMIT=host_ip,host_id`; in TOML they are an\n"
    "  array of strings. One list replaces another.\n"
    "- An empty text unsets a setting, except where a file or directory is wanted: there it is an error.\n"
    "- Secrets never come from flags, and are never shown.\n";

static const char automatic[] =
    "\n## Automatic metadata\n"
    "\n"
    "What was not given about the job is taken from the variables below, and from no others, as long as\n"
    "`job.auto_metadata` is on. A system counts as present when the variable in parentheses is set. Workflow engines\n"
    "come first, then CI systems, then what runs the job; the first that offers a value wins, setting by setting. A\n"
    "value that is empty, longer than 1024 bytes, not UTF-8 or holds control characters is passed over. To keep a "
    "single\n"
    "setting empty, set it to an empty text: `--job-name=`. `--print-config` shows what was taken from where.\n"
    "\n";

/* A bar would end the cell, even within backquotes. */
static void put_metavar(struct buf *buf, const char *metavar)
{
    for (; *metavar; metavar++)
        buf_printf(buf, "%s%c", *metavar == '|' ? "\\" : "", *metavar);
}

static void put_flag(struct buf *buf, const struct option_row *row)
{
    if (!row->flag)
        return;
    bool on = option_is_on(row);
    bool optional = row->bare || row->type == OPTION_ACTION;
    buf_printf(buf, "`--%s%s", on ? "no-" : "", row->flag);
    if (row->metavar) {
        buf_puts(buf, row->type == OPTION_OPT_INTEGER && row->bare ? " [" : optional ? "[=" : " ");
        put_metavar(buf, row->metavar);
        buf_puts(buf, optional ? "]" : "");
    }
    buf_putc(buf, '`');
    if (row->letter)
        buf_printf(buf, ", `-%c`", row->letter);
}

static void put_envs(struct buf *buf, const struct option_row *row)
{
    for (size_t i = 0; i < OPTION_ENVS && row->envs[i]; i++)
        buf_printf(buf, "%s`%s`", i > 0 ? ", " : "", row->envs[i]);
}

static void put_default(struct buf *buf, const struct option_row *row)
{
    if (row->fallback)
        buf_printf(buf, "`%s`", row->fallback);
    else if (row->type != OPTION_ACTION)
        buf_puts(buf, row->unset ? row->unset : "none");
}

static void put_values(struct buf *buf, const struct option_row *row)
{
    switch (row->type) {
    case OPTION_BOOL:
        buf_puts(buf, "boolean");
        break;
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
        buf_printf(buf, "%lld to %lld", (long long)row->min, (long long)row->max);
        break;
    case OPTION_DURATION:
        duration_put(buf, row->min);
        buf_puts(buf, " to ");
        duration_put(buf, row->max);
        buf_puts(buf, " s");
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
    char first = row->help[0];
    if (first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    buf_printf(buf, "%c%s.", first, row->help + 1);
}

/* The key within its table; the whole line begins and ends with a bar. */
static void put_row(struct buf *buf, const struct option_row *row)
{
    buf_puts(buf, "| ");
    if (row->key)
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
    return row->key ? (struct str){row->key, strcspn(row->key, ".")} : (struct str){"", 0};
}

static void put_table(struct buf *buf, struct str table)
{
    if (table.n > 0)
        buf_printf(buf, "\n## [%.*s]\n", (int)table.n, table.p);
    else
        buf_puts(buf, "\n## Without a key in the file\n");
    buf_puts(buf, "\n| key | flag | environment | default | values | meaning |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < options_count; i++) {
        if (str_eq(table_of(&options[i]), table))
            put_row(buf, &options[i]);
    }
}

void config_docs(struct buf *buf)
{
    buf_puts(buf, intro);
    for (size_t i = 0; option_tables[i]; i++)
        put_table(buf, str_of(option_tables[i]));
    put_table(buf, STR(""));
    buf_puts(buf, automatic);
    metadata_docs(buf);
}
