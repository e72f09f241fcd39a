/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --help. The text fits 80 columns.
 */
#include "config/config.h"

#include "base/auto.h"

enum { HELP_WIDTH = 79, HELP_COLUMN = 29, HELP_LEFT_MAX = 26 };

/* Words of text from column `at` on, lines broken before HELP_WIDTH and indented to HELP_COLUMN. */
static void put_wrapped(struct buf *buf, size_t at, struct str text)
{
    struct str word;
    bool first = true;
    while (str_word(&text, &word)) {
        if (!first && at + 1 + word.n > HELP_WIDTH) {
            buf_printf(buf, "\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (!first) {
            buf_putc(buf, ' ');
            at++;
        }
        buf_append(buf, word.p, word.n);
        at += word.n;
        first = false;
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
    put_wrapped(buf, HELP_COLUMN, (struct str){text.data, text.len});
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
                  "A flag wins over its environment variable, the variable over the TOML file, the\n"
                  "file over the default. An empty variable counts as unset. Switches take 1/0,\n"
                  "true/false, yes/no, on/off (--append=no) and have a negative form (--no-append).\n"
                  "Options end at the first word that is not one, or at --.\n"
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
                  "  0      tracking ended as asked: by SIGINT or SIGTERM, with the tracked process\n"
                  "         (--stop-with-pid), or because nobody reads the samples any more\n"
                  "  1      --upload-spool could not deliver everything; --doctor found that\n"
                  "         something is broken\n"
                  "  125    resource-tracker failed before tracking or the command began\n"
                  "  126    the command was found but could not be run\n"
                  "  127    the command was not found\n"
                  "  129    ended by SIGHUP, after a final sample (without a command)\n"
                  "  else   with a command: its own status; 128+N when signal N killed it\n");
}

void config_help(struct buf *buf)
{
    put_usage(buf);
    buf_puts(buf, "\nRun COMMAND at once, sample the host and the command's whole process tree (CPU,\n"
                  "memory, disk, network, GPU, pressure) at a steady interval, write one JSON\n"
                  "object or CSV row per sample, stream them if a target is set, and end when the\n"
                  "command ends, with its exit status.\n"
                  "Without a command, sample until SIGINT or SIGTERM.\n");
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
