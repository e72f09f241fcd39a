/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Precedence and origins: defaults first, then the file, the environment and the flags, each over the one before; what
 * is still unset is then taken from automatic metadata.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/text.h"
#include "config/config.h"
#include "config/config_internal.h"

void load_warn(struct config *config, const char *fmt, ...)
{
    char *text = config->warning_count < CONFIG_WARNINGS_MAX ? malloc(CONFIG_TEXT_MAX) : NULL;
    if (!text) {
        config->warnings_dropped++;
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, CONFIG_TEXT_MAX, fmt, args);
    va_end(args);
    config->warnings[config->warning_count++] = text;
}

struct value_target load_target(struct config *config, size_t i, const struct option_origin *origin)
{
    struct value_target target = {.settings = &config->settings, .origin = *origin};
    if (options[i].type == OPTION_PAIRS) {
        struct option_origin **origins = &config->pair_origins[config_pairs_index(&options[i])];
        if (!*origins)
            *origins = calloc(SETTINGS_PAIRS_MAX, sizeof(**origins));
        target.pair_origins = *origins;
    }
    return target;
}

int load_refuse(const struct config *config, const struct option_row *row, struct str name, struct str value,
    const struct option_origin *origin, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    text_put(&text, name, TEXT_ESCAPE, SHOW_VALUE_MAX);
    if (!(row->props & OPTION_SECRET)) {
        AUTO_BUF struct buf shown;
        buf_init(&shown, TOML_BYTES_MAX + 64);
        if (row->props & OPTION_URL)
            show_url(&shown, value);
        else
            buf_append(&shown, value.p, value.n);
        buf_puts(&text, value.n > 0 ? " = " : " = \"\"");
        text_put(&text, buf_str(&shown), TEXT_ESCAPE, SHOW_VALUE_MAX);
    }
    buf_puts(&text, " (from ");
    show_origin(&text, row, origin, config->settings.config_path);
    buf_putc(&text, ')');
    return err_wrap(err, "%s", buf_cstr(&text));
}

static int apply_text(
    struct config *config, size_t i, struct str text, const struct option_origin *origin, struct err *err)
{
    struct value_target target = load_target(config, i, origin);
    int r = value_set_text(&options[i], text, &target, err);
    if (r < 0) {
        (void)load_refuse(config, &options[i], str_of(option_name(&options[i])), text, origin, err);
        return r;
    }
    config->origins[i] = *origin;
    return 0;
}

static int apply_defaults(struct config *config, struct err *err)
{
    struct option_origin origin = {.source = SOURCE_DEFAULT};
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const char *text = option_fallback(&options[i]);
        int r = text ? apply_text(config, i, str_of(text), &origin, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_env_row(struct config *config, size_t i, char *const *environ_, struct err *err)
{
    const char *env;
    for (size_t k = 0; (env = option_env(&options[i], k)); k++) {
        const char *value = env_get(environ_, env);
        if (!value)
            continue;
        struct option_origin origin = {.source = SOURCE_ENV, .env = env};
        return apply_text(config, i, str_of(value), &origin, err);
    }
    return 0;
}

static int apply_env(struct config *config, char *const *environ_, struct err *err)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        int r = apply_env_row(config, i, environ_, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_item(struct config *config, const struct cli_item *item, struct err *err)
{
    const struct option_row *row = &options[item->row];
    struct option_origin origin = {.source = SOURCE_FLAG, .negated = item->negated};
    if (row->type == OPTION_COUNT) {
        int64_t *count = option_member(row, &config->settings);
        *count += *count < option_range(row)->max;
        config->origins[item->row] = origin;
        return 0;
    }
    const char *value = item->value;
    if (!value)
        value = item->negated ? "false" : option_bare(row) ? option_bare(row) : "true";
    return apply_text(config, item->row, str_of(value), &origin, err);
}

static int apply_flags(struct config *config, const struct cli *cli, size_t only_row, struct err *err)
{
    for (size_t i = 0; i < cli->count; i++) {
        if (only_row < OPTIONS_COUNT && cli->items[i].row != only_row)
            continue;
        int r = apply_item(config, &cli->items[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The file's name must be known before its content can be applied below environment and flags. */
static int apply_config_path(struct config *config, const struct cli *cli, char *const *environ_, struct err *err)
{
    int r = apply_env_row(config, ROW_config_path, environ_, err);
    return r < 0 ? r : apply_flags(config, cli, ROW_config_path, err);
}

/* What the file or the environment names is tracked where nothing else is asked for. */
static void drop_weak_targets(struct config *config)
{
    struct settings *settings = &config->settings;
    struct option_origin *pid = &config->origins[ROW_pid], *group = &config->origins[ROW_attach_cgroup];
    bool is_other = settings->command || settings->from;
    if (pid->source != SOURCE_FLAG && (is_other || group->source == SOURCE_FLAG)) {
        settings->pid.has = false;
        pid->source = SOURCE_DEFAULT;
    }
    if (group->source != SOURCE_FLAG && (is_other || pid->source == SOURCE_FLAG)) {
        value_free(&options[ROW_attach_cgroup], settings);
        group->source = SOURCE_DEFAULT;
    }
    settings->attaches = settings->pid.has || settings->attach_cgroup;
}

/* "--report make": the command was taken as the name of the file. */
static int check_report(const struct settings *settings, struct err *err)
{
    const char *name = settings->report;
    if (!name || settings->command || settings->attaches || settings->from || name[strcspn(name, "./-{")])
        return 0;
    return err_set(err, -EINVAL,
        "--report %s: that is the file, and there is no command; write --report run.html -- %s, or a name with .html",
        name, name);
}

/* A command, --pid, --attach-cgroup and --from each say what to track: two of them contradict each other. */
static int check_modes(const struct config *config, struct err *err)
{
    const struct settings *settings = &config->settings;
    if (settings->command && config->origins[ROW_duration_ns].source == SOURCE_FLAG)
        return err_set(
            err, -EINVAL, "--duration cannot be combined with a command; to limit it, track \"timeout 10m COMMAND\"");
    if (settings->command && config->action == CONFIG_UPLOAD_SPOOL)
        return err_set(err, -EINVAL, "--upload-spool cannot be combined with a command");
    if (settings->command && config->action == CONFIG_DOCTOR)
        return err_set(err, -EINVAL, "--doctor cannot be combined with a command%s",
            strcmp(settings->command[0], "online") == 0 ? "; did you mean --doctor=online?" : "");
    int report = config->action == CONFIG_RUN ? check_report(settings, err) : 0;
    if (report < 0)
        return report;
    if ((settings->command != NULL) + (settings->from != NULL) + (settings->attach_cgroup != NULL) +
            settings->pid.has <=
        1)
        return 0;
    size_t given = settings->from ? ROW_from : settings->attach_cgroup ? ROW_attach_cgroup : ROW_pid;
    const struct option_row *row = &options[given];
    AUTO_BUF struct buf value;
    buf_init(&value, SETTINGS_TEXT_MAX + 1);
    value_put(&value, row, settings);
    const char *other = settings->from ? "a command; give --from before every file" : "a command";
    int r = err_set(err, -EINVAL, "cannot be combined with %s",
        settings->command   ? other
        : settings->pid.has ? "--pid"
                            : "--attach-cgroup");
    (void)load_refuse(config, row, str_of(option_name(row)), buf_str(&value), &config->origins[given], err);
    return r;
}

/* Is this "NAME=value" one of the variables that hold a secret of ours? */
static bool is_secret(const char *variable)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const char *env;
        /* Addresses may have a password in them; those of other programs are theirs. */
        bool is_kept = (options[i].props & (OPTION_SECRET | OPTION_URL)) == 0;
        bool may_have_password = (options[i].props & OPTION_URL) && !(options[i].props & OPTION_SECRET);
        for (size_t k = 0; !is_kept && (env = option_env(&options[i], k)); k++) {
            size_t n = strlen(env);
            if (strncmp(variable, env, n) == 0 && variable[n] == '=')
                return !may_have_password || (str_starts(str_of(env), STR("TRACKER_")) && strchr(variable, '@'));
        }
    }
    return false;
}

/* What the command and helpers of ours get to see of our environment. */
static int child_environment(char *const *environ_, char ***ret_environment, struct err *err)
{
    size_t count = 0;
    while (environ_[count])
        count++;
    char **environment = calloc(count + SETTINGS_VARIABLES + 1, sizeof(*environment));
    if (!environment)
        return err_set(err, -ENOMEM, "out of memory");
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_secret(environ_[i]))
            environment[kept++] = environ_[i];
    }
    *ret_environment = environment;
    return 0;
}

/* All values of a flag that may be repeated, which stay where they are. */
static int list_values(
    const struct cli *cli, enum option_index row, const char ***ret_list, size_t *ret_count, struct err *err)
{
    *ret_list = calloc(cli->count + 1, sizeof(**ret_list));
    if (!*ret_list)
        return err_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < cli->count; i++) {
        if (cli->items[i].row == row)
            (*ret_list)[(*ret_count)++] = cli->items[i].value;
    }
    return 0;
}

/* Flags instead of what a variable or a file says. */
static int list_rules(struct settings *settings, const struct cli *cli, struct err *err)
{
    int r = settings->on ? list_values(cli, ROW_on, &settings->on_rules, &settings->on_count, err) : 0;
    if (r == 0 && settings->on && settings->on_count == 0)
        settings->on_rules[settings->on_count++] = settings->on;
    return r;
}

/* What is known of the terminal, as far as variables show. */
static void note_terminal(struct settings *settings, char *const *environ_)
{
    static const char locales[][9] = {"LC_ALL", "LC_CTYPE", "LANG"};
    settings->term = env_get(environ_, "TERM");
    settings->has_colour = settings->term && strcmp(settings->term, "dumb") != 0 && !env_get(environ_, "NO_COLOR");
    for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]) && !settings->locale; i++)
        settings->locale = env_get(environ_, locales[i]);
}

static int load_all(struct config *config, const struct cli *cli, char *const *environ_, struct err *err)
{
    config->action = cli->action;
    config->doctor_online = cli->doctor_online;
    config->is_help_short = cli->is_help_short;
    config->marks = cli->marks;
    config->settings.command = cli->command;
    int r = apply_defaults(config, err);
    if (r == 0 && config->action == CONFIG_VERSION)
        return apply_flags(config, cli, ROW_verbosity, err);
    if (r < 0 || config->action == CONFIG_HELP)
        return r;
    /* A mark must not fail the job, whatever is wrong with a file in its directory. */
    if (config->action == CONFIG_MARK) {
        config->marks.socket = env_get(environ_, "TRACKER_SOCKET");
        return apply_flags(config, cli, ROW_verbosity, err);
    }
    r = apply_config_path(config, cli, environ_, err);
    if (r == 0)
        r = load_file(config, err);
    if (r == 0)
        r = apply_env(config, environ_, err);
    if (r == 0)
        r = apply_flags(config, cli, OPTIONS_COUNT, err);
    if (r == 0)
        r = metadata_fill(config, environ_, err);
    drop_weak_targets(config);
    if (r == 0)
        r = check_modes(config, err);
    if (r == 0) {
        check_variables(config, environ_);
        check_effects(config, cli, environ_);
    }
    config->settings.is_format_given = config->origins[ROW_format].source != SOURCE_DEFAULT;
    enum option_source named = config->origins[ROW_job_name].source;
    config->settings.is_job_name_given = named > SOURCE_AUTO;
    note_terminal(&config->settings, environ_);
    if (r == 0)
        r = list_values(cli, ROW_from, &config->settings.sources, &config->settings.source_count, err);
    if (r == 0)
        r = list_rules(&config->settings, cli, err);
    if (r == 0)
        r = child_environment(environ_, &config->settings.environment, err);
    return r;
}

int config_load(int argc, char **argv, char *const *environ_, struct config *ret_config, struct err *err)
{
    struct err unheard;
    if (!err)
        err = &unheard;
    struct cli cli;
    int r = cli_parse(argc, argv, &cli, err);
    if (r < 0)
        return r;
    *ret_config = (struct config){0};
    r = load_all(ret_config, &cli, environ_, err);
    cli_fini(&cli);
    if (r < 0)
        config_fini(ret_config);
    return r;
}

void config_fini(struct config *config)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        value_free(&options[i], &config->settings);
    free(config->settings.sources);
    free(config->settings.on_rules);
    free(config->settings.environment);
    for (size_t i = 0; i < config->warning_count; i++)
        free(config->warnings[i]);
    free(config->pair_origins[0]);
    free(config->pair_origins[1]);
    config->settings.sources = config->settings.on_rules = NULL;
    config->settings.environment = NULL;
}

void config_log_warnings(const struct config *config)
{
    if (config->file_found)
        log_info("settings were read from %s", config->settings.config_path);
    for (size_t i = 0; i < config->warning_count; i++)
        log_warning("%s", config->warnings[i]);
    if (config->warnings_dropped > 0)
        log_warning("%zu more warnings about settings are not shown", config->warnings_dropped);
}
