/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags and environment. The input is strings with a NUL between them: one that begins with '$' is a variable without
 * that sign, every other an argument. Either all is accepted and can be printed, or there is one line that says why
 * not.
 */
#include "fuzz.h"

#include "config/config.h"
#include "config/config_internal.h"

enum { STRINGS_MAX = 64, FIRST_ARGUMENTS = 2, PRINTED_BYTES_MAX = 16 * 1024 * 1024 };

struct given {
    int argc;
    char *argv[FIRST_ARGUMENTS + STRINGS_MAX + 1];
    char *environ_[STRINGS_MAX + 1];
};

/* text ends with a NUL behind its size bytes. */
static void split(char *text, size_t size, struct given *given)
{
    size_t variables = 0;
    size_t at = 0;
    for (size_t i = 0; i < STRINGS_MAX && at < size; i++) {
        char *string = text + at;
        at += strlen(string) + 1;
        if (string[0] == '$')
            given->environ_[variables++] = string + 1;
        else
            given->argv[given->argc++] = string;
    }
}

static void check_line(const char *text)
{
    check(text[0]);
    check_printable(text);
}

/* What came from the surroundings is a short plain text of the job. */
static void check_automatic(const struct config *config)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (config->origins[i].source != SOURCE_AUTO)
            continue;
        check(options[i].type == OPTION_STRING && options[i].group == GROUP_JOB && config->origins[i].env);
        const char *text = *(char *const *)option_member_const(&options[i], &config->settings);
        check(text && strlen(text) <= METADATA_VALUE_MAX);
        check_line(text);
        check(config->settings.auto_metadata);
    }
}

static void check_accepted(const struct config *config)
{
    const struct settings *settings = &config->settings;
    check(settings->interval_ns > 0 && settings->config_path && settings->config_path[0]);
    check(settings->tags.count <= SETTINGS_PAIRS_MAX && settings->http_headers.count <= SETTINGS_HEADERS_MAX);
    check(!settings->omit || (settings->omit[0] && !strstr(settings->omit, ",,")));
    check_automatic(config);
    check(config->warning_count <= CONFIG_WARNINGS_MAX);
    struct buf printed;
    buf_init(&printed, PRINTED_BYTES_MAX);
    config_print(config, &printed);
    check(buf_ok(&printed) && printed.len > 0 && printed.data[printed.len - 1] == '\n');
    buf_fini(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy_string(data, size);
    if (!copy)
        return 0;
    char name[] = "resource-tracker";
    char no_file[] = "--config=/nonexistent/resource-tracker.toml";
    struct given given = {.argc = FIRST_ARGUMENTS, .argv = {name, no_file}};
    split(copy, size, &given);
    struct config config;
    struct err err = {0};
    int r = config_load(given.argc, given.argv, given.environ_, &config, &err);
    check(r <= 0 && err.code == r);
    if (r < 0) {
        check_line(err.msg);
    } else {
        check(err.msg[0] == '\0');
        check_accepted(&config);
        config_fini(&config);
    }
    free(copy);
    return 0;
}
