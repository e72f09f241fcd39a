/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -h and --help, which fit 80 columns, from the option table. The build writes both to stdout, with a NUL between them,
 * and tools/embed-text packs them; nothing else of this is in the shipped program.
 */
#include <stdio.h>

#include "base/auto.h"
#include "base/text.h"
#include "config/options.h"
#include "encode/formats.h"

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
    if (!option_flag(row)[0]) {
        buf_printf(buf, "  %s", option_envs(row));
        return;
    }
    if (row->letter)
        buf_printf(buf, "  -%c, ", row->letter);
    else
        buf_puts(buf, "      ");
    bool on = option_is_on(row);
    buf_printf(buf, "--%s%s", on ? "no-" : "", option_flag(row));
    bool optional = option_is_value_optional(row);
    if (option_has_metavar(row))
        buf_printf(buf,
            row->type == OPTION_OPT_INTEGER && option_bare(row) ? " [%s]"
            : optional                                          ? "[=%s]"
                                                                : " %s",
            option_metavar(row));
}

/* " [TRACKER_INTERVAL; default: 1]" */
static void put_facts(struct buf *buf, const struct option_row *row)
{
    const char *fallback = option_fallback(row) ? option_fallback(row) : option_help(row)->unset;
    /* Switches are off unless they stand there as --no-NAME; without a flag it has to be said. */
    if (row->type == OPTION_COUNT || (row->type == OPTION_BOOL && option_flag(row)[0] && !option_has_metavar(row)))
        fallback = NULL;
    const char *variable = option_env(row, option_flag(row)[0] ? 0 : 1);
    if (!variable && !fallback)
        return;
    buf_puts(buf, " [");
    if (variable)
        buf_printf(buf, "%s%s%s", option_flag(row)[0] ? "" : "or ", variable, fallback ? "; " : "");
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
    bool on = option_flag(row)[0] && option_is_on(row);
    buf_puts(&text, on ? "do not " : "");
    buf_puts(&text, option_help(row)->help);
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

static void put_long(struct buf *buf)
{
    put_usage(buf);
    buf_puts(buf, "\nRun COMMAND, sample the host and the command's process tree (CPU, memory, disk,\n"
                  "network, GPU, pressure) at a fixed interval, write one JSON object or CSV row\n"
                  "per sample (on a terminal a summary at the end instead), stream the samples if a\n"
                  "target is set, and exit with the exit status of the command. Without a command,\n"
                  "sample until SIGINT or SIGTERM.\n");
    for (size_t group = 0; group < GROUP_COUNT; group++) {
        buf_printf(buf, "\n%s:\n", option_headings[group].title);
        if (option_headings[group].note)
            buf_printf(buf, "  %s\n", option_headings[group].note);
        for (size_t i = 0; i < OPTIONS_COUNT; i++) {
            if (options[i].group == group)
                put_row(buf, &options[i]);
        }
    }
    put_tail(buf);
}

static void put_short(struct buf *buf)
{
    put_usage(buf);
    buf_puts(buf, "\n"
                  "Measure what a command, a process tree or the host uses: CPU, memory, disk,\n"
                  "network, GPU. On a terminal a summary is printed when the command has ended;\n"
                  "elsewhere, or with -o or -f, samples are written (to stderr without -o).\n"
                  "\n"
                  "  -o, --output FILE        write samples to FILE (- is stdout, .gz compresses)\n");
    buf_printf(buf, "  -f, --format %-11s one JSON object or one CSV row per sample\n", &ENCODE_FORMAT_METAVAR[1]);
    buf_puts(buf, "  -i, --interval SECS      time between samples: 0.25, 2s, 1m (default: 1)\n"
                  "  -q, --quiet              do not write samples\n"
                  "      --live               show current usage at the bottom of the terminal\n"
                  "      --summary[=WHEN]     summary at the end: auto, always or never\n"
                  "      --report FILE.html   page with charts (FILE.svg: a picture)\n"
                  "  -n, --job-name NAME      name of the job\n"
                  "  -p, --pid PID            track a running process and its descendants\n"
                  "      --from FILE          replay recorded samples\n"
                  "\n"
                  "Example: resource-tracker --report run.html python train.py\n"
                  "\n"
                  "--help lists all options, --doctor checks what can be measured on this host.\n");
}

int main(void)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64 * 1024);
    put_short(&text);
    buf_putc(&text, '\0');
    put_long(&text);
    return buf_ok(&text) && fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0 ? 0 : 1;
}
