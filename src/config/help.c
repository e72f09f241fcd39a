/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --help, which fits 80 columns, and docs/configuration.md, both from the option table.
 */
#include "config/config.h"

#include "base/auto.h"
#include "base/text.h"
#include "config/config_internal.h"
#include "config/value.h"

enum { HELP_WIDTH = 79, HELP_COLUMN = 29, HELP_LEFT_MAX = 26 };

/* From HELP_COLUMN on; further lines are indented to it. */
static void put_wrapped(struct buf *buf, struct str text)
{
    while (text.n > 0) {
        size_t n = text_fit(text, HELP_WIDTH - HELP_COLUMN);
        buf_append(buf, text.p, n);
        str_skip(&text, n);
        if (str_take(&text, ' '))
            buf_printf(buf, "\n%*s", HELP_COLUMN, "");
    }
    buf_putc(buf, '\n');
}

/* "-i, --interval SECS", or the variable where there is no flag. */
static void put_left(struct buf *buf, const struct option_row *row)
{
    if (!row->flag) {
        buf_printf(buf, "  %s", row->envs[0]);
        return;
    }
    if (row->letter)
        buf_printf(buf, "  -%c, ", row->letter);
    else
        buf_puts(buf, "      ");
    bool on = option_is_on(row);
    buf_printf(buf, "--%s%s", on ? "no-" : "", row->flag);
    bool optional = row->bare || row->type == OPTION_ACTION;
    if (row->metavar)
        buf_printf(buf,
            row->type == OPTION_OPT_INTEGER && row->bare ? " [%s]"
            : optional                                   ? "[=%s]"
                                                         : " %s",
            row->metavar);
}

/* " [TRACKER_INTERVAL; default: 1]" */
static void put_facts(struct buf *buf, const struct option_row *row)
{
    const char *fallback = row->fallback ? row->fallback : row->unset;
    /* Switches are off unless they stand there as --no-NAME; without a flag it has to be said. */
    if (row->type == OPTION_COUNT || (row->type == OPTION_BOOL && row->flag && !row->metavar))
        fallback = NULL;
    const char *variable = row->flag ? row->envs[0] : row->envs[1];
    if (!variable && !fallback)
        return;
    buf_puts(buf, " [");
    if (variable)
        buf_printf(buf, "%s%s%s", row->flag ? "" : "or ", variable, fallback ? "; " : "");
    if (fallback)
        buf_printf(buf, "default: %s", fallback);
    buf_putc(buf, ']');
}

static void put_row(struct buf *buf, const struct option_row *row)
{
    size_t start = buf->len;
    put_left(buf, row);
    size_t left = buf->len - start;
    if (left > HELP_LEFT_MAX)
        buf_printf(buf, "\n%*s", HELP_COLUMN, "");
    else
        buf_printf(buf, "%*s", (int)(HELP_COLUMN - left), "");
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    bool on = row->flag && option_is_on(row);
    buf_puts(&text, on ? "do not " : "");
    buf_puts(&text, row->help);
    put_facts(&text, row);
    put_wrapped(buf, (struct str){text.data, text.len});
}

static void put_usage(struct buf *buf)
{
    buf_puts(buf, "Usage: resource-tracker [OPTIONS] [--] COMMAND [ARG...]  track a command\n"
                  "       resource-tracker [OPTIONS] --pid PID              track a process tree\n"
                  "       resource-tracker [OPTIONS]                        track the host\n"
                  "       resource-tracker [OPTIONS] --from FILE            replay a recording\n");
}

static void put_tail(struct buf *buf)
{
    buf_puts(buf, "\n"
                  "A flag overrides its environment variable, the variable overrides the TOML file,\n"
                  "the file overrides the default. An empty variable counts as unset. Switches take\n"
                  "1/0, true/false, yes/no, on/off (--append=no) and have a negative form\n"
                  "(--no-append). Options end at the first word that is not an option, or at --.\n"
                  "\n"
                  "Examples:\n"
                  "  resource-tracker python train.py\n"
                  "  resource-tracker -f csv -o build.csv -- make -j8\n"
                  "  resource-tracker -n nightly -o '{job}-{datetime}.jsonl' ./simulate\n"
                  "  resource-tracker --pid 4711 --stop-with-pid -o server.jsonl\n"
                  "  SENTINEL_API_TOKEN=... resource-tracker -q ./simulate\n"
                  "  resource-tracker | jq .cpu.utilization_pct\n"
                  "  resource-tracker --summary -o run.jsonl --report run.html -- make -j8\n"
                  "  resource-tracker --from run.jsonl --report run.html\n"
                  "\n"
                  "Exit status:\n"
                  "  0      tracking ended as requested: by SIGINT or SIGTERM, with the tracked\n"
                  "         process (--stop-with-pid), or because the reader of the samples is gone\n"
                  "  1      --upload-spool could not deliver everything, or --doctor found\n"
                  "         something broken\n"
                  "  125    resource-tracker failed before the command or tracking started\n"
                  "  126    the command was found but could not be run\n"
                  "  127    the command was not found\n"
                  "  129    ended by SIGHUP, after a final sample (without a command)\n"
                  "  else   with a command: its exit status; 128+N if signal N killed it\n");
}

void config_help(struct buf *buf)
{
    put_usage(buf);
    buf_puts(buf, "\nRun COMMAND, sample the host and the command's process tree (CPU, memory, disk,\n"
                  "network, GPU, pressure) at a fixed interval, write one JSON object or CSV row\n"
                  "per sample, stream the samples if a target is set, and exit with the exit status\n"
                  "of the command. Without a command, sample until SIGINT or SIGTERM.\n");
    for (size_t group = 0; group < GROUP_COUNT; group++) {
        buf_printf(buf, "\n%s:\n", option_headings[group].title);
        if (option_headings[group].note)
            buf_printf(buf, "  %s\n", option_headings[group].note);
        for (size_t i = 0; i < options_count; i++) {
            if (options[i].group == group)
                put_row(buf, &options[i]);
        }
    }
    put_tail(buf);
}

void config_short_help(struct buf *buf)
{
    put_usage(buf);
    buf_puts(buf, "\n"
                  "Measure what a command, a process tree or the host uses: CPU, memory, disk,\n"
                  "network, GPU. On a terminal a command gets a summary at its end; elsewhere, or\n"
                  "with -o or -f, samples are written.\n"
                  "\n"
                  "  -o, --output FILE        write samples to FILE (- is stdout, .gz compresses)\n"
                  "  -f, --format json|csv    one JSON object or one CSV row per sample\n"
                  "  -i, --interval SECS      time between samples: 0.25, 2s, 1m (default: 1)\n"
                  "  -q, --quiet              do not write samples\n"
                  "      --live               show current usage at the bottom of the terminal\n"
                  "      --summary[=WHEN]     summary at the end: auto, always or never\n"
                  "      --report FILE.html   page with charts (FILE.svg: a picture)\n"
                  "  -n, --job-name NAME      name of the job\n"
                  "  -p, --pid PID            track a running process and its descendants\n"
                  "      --from FILE          recorded samples instead of new ones\n"
                  "\n"
                  "Example: resource-tracker --report run.html python train.py\n"
                  "\n"
                  "--help lists all options, --doctor checks what can be measured on this host.\n");
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
static void put_docs_row(struct buf *buf, const struct option_row *row)
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

static void put_docs_table(struct buf *buf, struct str table)
{
    if (table.n > 0)
        buf_printf(buf, "\n## [%.*s]\n", (int)table.n, table.p);
    else
        buf_puts(buf, "\n## Without a key in the file\n");
    buf_puts(buf, "\n| key | flag | environment | default | values | meaning |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < options_count; i++) {
        if (str_eq(table_of(&options[i]), table))
            put_docs_row(buf, &options[i]);
    }
}

void config_docs(struct buf *buf)
{
    buf_puts(buf, intro);
    for (size_t i = 0; option_tables[i]; i++)
        put_docs_table(buf, str_of(option_tables[i]));
    put_docs_table(buf, STR(""));
    buf_puts(buf, automatic);
    metadata_docs(buf);
}
