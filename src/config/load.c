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
    AUTO_BUF struct buf text = {.max = 1024};
    text_put(&text, name, TEXT_ESCAPE, SHOW_VALUE_MAX);
    if (!(row->props & OPTION_SECRET)) {
        AUTO_BUF struct buf shown = {.max = TOML_BYTES_MAX + 64};
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
    for (size_t i = 0; i < options_count; i++) {
        if (!options[i].fallback)
            continue;
        int r = apply_text(config, i, str_of(options[i].fallback), &origin, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_env_row(struct config *config, size_t i, char *const *environ_, struct err *err)
{
    for (size_t k = 0; k < OPTION_ENVS && options[i].envs[k]; k++) {
        const char *value = env_get(environ_, options[i].envs[k]);
        if (!value)
            continue;
        struct option_origin origin = {.source = SOURCE_ENV, .env = options[i].envs[k]};
        return apply_text(config, i, str_of(value), &origin, err);
    }
    return 0;
}

static int apply_env(struct config *config, char *const *environ_, struct err *err)
{
    for (size_t i = 0; i < options_count; i++) {
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
        *count += *count < row->max;
        config->origins[item->row] = origin;
        return 0;
    }
    const char *value = item->value;
    if (!value)
        value = item->negated ? "false" : row->bare ? row->bare : "true";
    return apply_text(config, item->row, str_of(value), &origin, err);
}

static int apply_flags(struct config *config, const struct cli *cli, size_t only_row, struct err *err)
{
    for (size_t i = 0; i < cli->count; i++) {
        if (only_row < options_count && cli->items[i].row != only_row)
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
    size_t row = options_by_flag(STR("config"));
    int r = apply_env_row(config, row, environ_, err);
    return r < 0 ? r : apply_flags(config, cli, row, err);
}

/* A process that the file or the environment names is what is tracked where nothing else is asked for. */
static void drop_weak_pid(struct config *config)
{
    struct option_origin *origin = &config->origins[options_by_flag(STR("pid"))];
    struct settings *settings = &config->settings;
    if (!settings->pid.has || origin->source == SOURCE_FLAG || !(settings->command || settings->from))
        return;
    settings->pid = (struct opt_i64){0};
    *origin = (struct option_origin){.source = SOURCE_DEFAULT};
}

/* A command, --pid and --from each say what to track: two of them contradict each other. */
static int check_modes(const struct config *config, struct err *err)
{
    const struct settings *settings = &config->settings;
    if (settings->command && config->origins[options_by_flag(STR("duration"))].source == SOURCE_FLAG)
        return err_set(
            err, -EINVAL, "--duration cannot be combined with a command; to limit it, track \"timeout 10m COMMAND\"");
    if (settings->command && config->action == CONFIG_UPLOAD_SPOOL)
        return err_set(err, -EINVAL, "--upload-spool cannot be combined with a command");
    if (settings->command && config->action == CONFIG_DOCTOR)
        return err_set(err, -EINVAL, "--doctor cannot be combined with a command%s",
            strcmp(settings->command[0], "online") == 0 ? "; did you mean --doctor=online?" : "");
    size_t pid = options_by_flag(STR("pid"));
    size_t from = options_by_flag(STR("from"));
    size_t given = settings->from ? from : settings->pid.has ? pid : options_count;
    if (given == options_count || (!settings->command && !(settings->from && settings->pid.has)))
        return 0;
    const struct option_row *row = &options[given];
    AUTO_BUF struct buf value = {.max = SETTINGS_TEXT_MAX + 1};
    value_put(&value, row, settings);
    const char *other = settings->from ? "a command; give --from before every file" : "a command";
    int r = err_set(err, -EINVAL, "cannot be combined with %s", settings->command ? other : "--pid");
    (void)load_refuse(config, row, str_of(option_name(row)), buf_str(&value), &config->origins[given], err);
    return r;
}

/* Is this "NAME=value" one of the variables that hold a secret of ours? */
static bool is_secret(const char *variable)
{
    for (size_t i = 0; i < options_count; i++) {
        for (size_t k = 0; (options[i].props & OPTION_SECRET) && k < OPTION_ENVS && options[i].envs[k]; k++) {
            size_t n = strlen(options[i].envs[k]);
            if (strncmp(variable, options[i].envs[k], n) == 0 && variable[n] == '=')
                return true;
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
    char **environment = calloc(count + 1, sizeof(*environment));
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

/* The recordings are given by flags only, so that their names stay where they are. */
static int list_sources(struct config *config, const struct cli *cli, struct err *err)
{
    size_t from = options_by_flag(STR("from"));
    config->settings.sources = calloc(cli->count + 1, sizeof(*config->settings.sources));
    if (!config->settings.sources)
        return err_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < cli->count; i++) {
        if (cli->items[i].row == from)
            config->settings.sources[config->settings.source_count++] = cli->items[i].value;
    }
    return 0;
}

/* What is known of the terminal, as far as variables show. */
static void note_terminal(struct settings *settings, char *const *environ_)
{
    static const char *const locales[] = {"LC_ALL", "LC_CTYPE", "LANG"};
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
    config->settings.command = cli->command;
    int r = apply_defaults(config, err);
    if (r == 0 && config->action == CONFIG_VERSION)
        return apply_flags(config, cli, options_by_flag(STR("verbose")), err);
    if (r < 0 || config->action == CONFIG_HELP)
        return r;
    r = apply_config_path(config, cli, environ_, err);
    if (r == 0)
        r = load_file(config, err);
    if (r == 0)
        r = apply_env(config, environ_, err);
    if (r == 0)
        r = apply_flags(config, cli, options_count, err);
    if (r == 0)
        r = metadata_fill(config, environ_, err);
    drop_weak_pid(config);
    if (r == 0)
        r = check_modes(config, err);
    if (r == 0) {
        check_variables(config, environ_);
        check_effects(config, cli, environ_);
    }
    config->settings.is_format_given = config->origins[options_by_flag(STR("format"))].source != SOURCE_DEFAULT;
    enum option_source named = config->origins[options_by_flag(STR("job-name"))].source;
    config->settings.is_job_name_given = named > SOURCE_AUTO;
    note_terminal(&config->settings, environ_);
    if (r == 0)
        r = list_sources(config, cli, err);
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
    for (size_t i = 0; i < options_count; i++)
        value_free(&options[i], &config->settings);
    free(config->settings.sources);
    free(config->settings.environment);
    for (size_t i = 0; i < config->warning_count; i++)
        free(config->warnings[i]);
    free(config->pair_origins[0]);
    free(config->pair_origins[1]);
    config->settings.sources = NULL;
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
