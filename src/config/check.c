/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is odd about settings that are each valid: names that no setting has, settings that contradict each other or
 * have no effect. One warning each; docs/decisions/0022 says which sources are warned about and why.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "config/config_internal.h"

/* What a tracker gives to its own command: that may be another tracker. */
static bool is_for_commands(struct str name)
{
    return str_eq(name, STR("TRACKER_SOCKET"));
}

void check_variables(struct config *config, char *const *environ_)
{
    for (; *environ_; environ_++) {
        struct str name = {*environ_, strcspn(*environ_, "=")};
        bool is_set = (*environ_)[name.n] == '=' && (*environ_)[name.n + 1] != '\0';
        if (!is_set || !str_starts(name, STR("TRACKER_")) || options_has_variable(name) || is_for_commands(name))
            continue;
        AUTO_BUF struct buf shown, guess;
        buf_init(&shown, 256);
        buf_init(&guess, 64);
        text_put(&shown, name, TEXT_ESCAPE, SHOW_VALUE_MAX);
        if (options_nearest_variable(name, &guess))
            load_warn(config, "unknown variable %s, did you mean %s?", buf_cstr(&shown), buf_cstr(&guess));
        else
            load_warn(config, "unknown variable %s; see --help", buf_cstr(&shown));
    }
}

static enum option_source source_of(const struct config *config, enum option_index row)
{
    return config->origins[row].source;
}

/* "--duration" or "duration_secs (from TRACKER_DURATION)". */
static void put_setting(struct buf *buf, const struct config *config, size_t i)
{
    const struct option_origin *origin = &config->origins[i];
    if (origin->source == SOURCE_FLAG) {
        buf_printf(buf, "--%s%s", origin->negated ? "no-" : "", option_flag(&options[i]));
        return;
    }
    buf_printf(buf, "%s (from ", option_name(&options[i]));
    show_origin(buf, &options[i], origin, config->settings.config_path);
    buf_putc(buf, ')');
}

static unsigned mode_of(const struct settings *settings)
{
    if (settings->command)
        return MODE_COMMAND;
    return settings->from ? MODE_REPLAY : settings->attaches ? MODE_PID : MODE_HOST;
}

/* A switch that was set to what it is anyway. */
static bool is_default(const struct option_row *row, const struct settings *settings)
{
    return row->type == OPTION_BOOL &&
           *(const bool *)option_member_const(row, settings) == (strcmp(option_fallback(row), "true") == 0);
}

/*
 * Flags are meant for this run; a file and the environment serve many, of which some have no use for a setting. A limit
 * in time is another matter: one that is not kept must not be relied on.
 */
static void check_modes(struct config *config)
{
    static const char with[][15] = {
        [MODE_COMMAND] = "with a command", [MODE_PID] = "with --pid", [MODE_REPLAY] = "with --from"};
    unsigned mode = mode_of(&config->settings);
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_row *row = &options[i];
        enum option_source source = config->origins[i].source;
        bool is_limit = row->offset == offsetof(struct settings, duration_ns) && mode == MODE_COMMAND;
        bool is_meant = source == SOURCE_FLAG || (is_limit && source > SOURCE_DEFAULT);
        if (!row->modes || (row->modes & mode) || !is_meant || is_default(row, &config->settings))
            continue;
        AUTO_BUF struct buf name;
        buf_init(&name, 256);
        put_setting(&name, config, i);
        const char *why = row->modes == MODE_PID       ? "without --pid"
                          : row->modes == MODE_COMMAND ? "without a command"
                                                       : with[mode];
        load_warn(config, "%s has no effect %s", buf_cstr(&name), why);
    }
}

/*
 * Samples that go nowhere. A stronger source that takes back what a weaker one says (-q against an output of the file)
 * is what precedence is for.
 */
static void check_output(struct config *config)
{
    const struct settings *settings = &config->settings;
    enum option_source quiet = source_of(config, ROW_quiet);
    enum option_source output = source_of(config, ROW_output);
    AUTO_BUF struct buf path;
    buf_init(&path, 256);
    if (settings->output)
        show_path(&path, str_of(settings->output), SHOW_PATH_MAX);
    if (settings->quiet && settings->output && quiet <= output)
        load_warn(config, "no samples are written to %s: --quiet overrides --output", buf_cstr(&path));
    else if (settings->quiet && source_of(config, ROW_format) == SOURCE_FLAG)
        load_warn(config, "--format has no effect: with --quiet no samples are written");
    else if (settings->live && settings->command && !settings->output && isatty(STDERR_FILENO) &&
             source_of(config, ROW_format) == SOURCE_FLAG)
        load_warn(config, "--format has no effect: --live shows current usage instead of samples; add --output FILE");
    bool has_file = !settings->quiet && settings->output && strcmp(settings->output, "-") != 0;
    bool is_known = settings->quiet && settings->output;
    if (settings->append && source_of(config, ROW_append) == SOURCE_FLAG && !has_file && !is_known)
        load_warn(config, "--append has no effect without --output FILE");
    if (source_of(config, ROW_csv_columns) == SOURCE_FLAG && settings->format != FORMAT_CSV)
        load_warn(config, "--csv-columns has no effect without --format csv");
}

static bool is_name_char(char c)
{
    return ascii_is_alpha(c) || c == '_';
}

/* As run/output/file_name.c fills them in. */
static bool is_placeholder(struct str name)
{
    static const char known[][9] = {"job", "host", "node", "rank", "pid", "datetime"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eq(name, str_of(known[i])))
            return true;
    }
    return false;
}

/* A word in braces that stays as it is was hardly meant as part of a name. */
static void check_placeholders(struct config *config, size_t i)
{
    const char *at = *(char *const *)option_member_const(&options[i], &config->settings);
    while (at && (at = strchr(at, '{'))) {
        struct str name = {++at, 0};
        while (is_name_char(at[name.n]))
            name.n++;
        if (name.n == 0 || at[name.n] != '}' || is_placeholder(name))
            continue;
        AUTO_BUF struct buf where, shown;
        buf_init(&where, 256);
        buf_init(&shown, 256);
        put_setting(&where, config, i);
        text_put(&shown, name, TEXT_ESCAPE, SHOW_VALUE_MAX);
        load_warn(config, "%s: unknown placeholder {%s}; known are {job}, {host}, {node}, {rank}, {pid} and {datetime}",
            buf_cstr(&where), buf_cstr(&shown));
        return;
    }
}

/* Would execvp find it? */
static bool is_on_path(const char *word, char *const *environ_)
{
    const char *path = env_get(environ_, "PATH");
    for (; path && *path; path += strspn(path, ":")) {
        size_t n = strcspn(path, ":");
        char name[4096];
        int length = snprintf(name, sizeof(name), "%.*s/%s", (int)n, path, word);
        if (length > 0 && (size_t)length < sizeof(name) && faccessat(AT_FDCWD, name, X_OK, 0) == 0)
            return true;
        path += n;
    }
    return false;
}

/* Is the word one that the row takes as its value, behind a "="? */
static bool is_value(const struct option_row *row, const char *word)
{
    int64_t number;
    for (size_t i = 0; row->type == OPTION_CHOICE && option_word(row, i); i++) {
        if (strcmp(option_word(row, i), word) == 0)
            return true;
    }
    return row->type == OPTION_OPT_INTEGER && num_parse_i64(str_of(word), &number) == 0;
}

/* A command that is none: a value that lacks its "=", or a word that other programs take for an action. */
static void check_command(struct config *config, const struct cli *cli, char *const *environ_)
{
    const char *word = cli->command ? cli->command[0] : NULL;
    if (!word || strchr(word, '/') || strcmp(cli->command[-1], "--") == 0)
        return;
    const struct cli_item *last = cli->count > 0 ? &cli->items[cli->count - 1] : NULL;
    const struct option_row *row = last && !last->value ? &options[last->row] : NULL;
    bool is_action = (strcmp(word, "help") == 0 || strcmp(word, "version") == 0) && !cli->command[1];
    bool lacks_equals = row && option_bare(row) && is_value(row, word);
    if ((!is_action && !lacks_equals) || is_on_path(word, environ_))
        return;
    if (is_action)
        load_warn(config, "\"%s\" is treated as a command; did you mean --%s?", word, word);
    else if (row->type == OPTION_CHOICE)
        load_warn(config, "\"%s\" is treated as the command; did you mean --%s=%s?", word, option_flag(row), word);
    else
        load_warn(config, "\"%s\" is treated as the command: --%s takes %lld to %lld", word, option_flag(row),
            (long long)option_range(row)->min, (long long)option_range(row)->max);
}

void check_effects(struct config *config, const struct cli *cli, char *const *environ_)
{
    static const uint8_t files[] = {
        ROW_output, ROW_summary_json, ROW_summary_markdown, ROW_report, ROW_metrics_file, ROW_snakemake_benchmark};
    if (config->action != CONFIG_RUN)
        return;
    check_modes(config);
    check_output(config);
    for (size_t i = 0; i < sizeof(files); i++)
        check_placeholders(config, files[i]);
    check_command(config, cli, environ_);
}
