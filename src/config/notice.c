/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked for and is not in this version: modes stop the program, settings are reported and have no effect.
 */
#include "config/config.h"

#include "base/auto.h"
#include "base/log.h"
#include "config/show.h"
#include "config/value.h"

/* Does the setting ask for its feature? Switching off what does not exist is no request. */
static bool is_asked_for(const struct config *config, size_t i)
{
    const struct option_row *row = &options[i];
    if (row->type == OPTION_ACTION)
        return config->action == row->action;
    if (config->origins[i].source == SOURCE_DEFAULT || value_is_unset(row, &config->settings))
        return false;
    const void *member = option_member_const(row, &config->settings);
    if (row->type == OPTION_BOOL)
        return *(const bool *)member;
    return row->type != OPTION_CHOICE || strcmp(row->choices[*(const int *)member], "never") != 0;
}

static bool is_noticed(const struct config *config, size_t i, bool fatal)
{
    const struct option_row *row = &options[i];
    bool mode = (row->props & OPTION_MODE) != 0;
    return (row->props & OPTION_LATER) && mode == fatal && is_asked_for(config, i);
}

static void put_setting(struct buf *buf, const struct config *config, size_t i)
{
    const struct option_row *row = &options[i];
    bool pairs = row->type == OPTION_PAIRS;
    if ((row->props & OPTION_SECRET) && !pairs) {
        buf_printf(buf, "%s is set: ", config->origins[i].env ? config->origins[i].env : option_name(row));
        return;
    }
    AUTO_BUF struct buf value; /* stays empty for pairs: there may be many, and those of headers are secret */
    buf_init(&value, SETTINGS_TEXT_MAX + 64);
    value_put(&value, row, &config->settings);
    buf_printf(buf, "%s %s", option_name(row), pairs ? "are set" : "= ");
    show_text(buf, (struct str){value.data, value.len}, SHOW_VALUE_MAX);
    buf_puts(buf, " (from ");
    show_origin(buf, row, &config->origins[i], config->settings.config_path);
    buf_puts(buf, "): ");
}

static void fill(const struct config *config, size_t i, bool fatal, struct config_notice *ret_notice)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    if (options[i].type != OPTION_ACTION)
        put_setting(&text, config, i);
    buf_printf(&text,
        fatal ? "%s not available in this version (%s)" : "%s not available in version %s; the setting has no effect",
        options[i].later, RT_VERSION);
    ret_notice->fatal = fatal;
    (void)str_copy((struct str){text.data, text.len}, ret_notice->text, sizeof(ret_notice->text));
}

bool config_unavailable(const struct config *config, size_t i, struct config_notice *ret_notice)
{
    for (int pass = 0; pass < 2; pass++) {
        bool fatal = pass == 0;
        for (size_t row = 0; row < options_count; row++) {
            if (is_noticed(config, row, fatal) && i-- == 0) {
                fill(config, row, fatal, ret_notice);
                return true;
            }
        }
    }
    return false;
}

void config_tell_warnings(const struct config *config)
{
    if (config->file_found)
        log_info("settings were read from %s", config->settings.config_path);
    for (size_t i = 0; i < config->warning_count; i++)
        log_warning("%s", config->warnings[i]);
    if (config->warnings_dropped > 0)
        log_warning("%zu more warnings about settings are not shown", config->warnings_dropped);
}

bool config_tell_notices(const struct config *config)
{
    struct config_notice notice;
    for (size_t i = 0; config_unavailable(config, i, &notice); i++) {
        if (notice.fatal) {
            log_error("%s", notice.text);
            return false;
        }
        log_warning("%s", notice.text);
    }
    return true;
}
