/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, then the run, then the exit status. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "collect/gpu/nvml_helper.h"
#include "config/config.h"
#include "run/guard.h"
#include "run/session.h"

enum { EXIT_TRACKER_FAILED = 125 };

static int print_text(struct buf *text)
{
    size_t done = 0;
    while (buf_ok(text) && done < text->len) {
        ssize_t n = write(STDOUT_FILENO, text->data + done, text->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            log_error("cannot write to stdout: %s", strerror(errno));
            return EXIT_TRACKER_FAILED;
        }
        done += (size_t)n;
    }
    return buf_ok(text) ? 0 : EXIT_TRACKER_FAILED;
}

static int print_action(const struct config *config)
{
    enum { TEXT_BYTES_MAX = 1024 * 1024 };
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    if (config->action == CONFIG_HELP)
        config_help(&text);
    else if (config->action == CONFIG_VERSION)
        config_version(&text);
    else
        config_print(config, &text);
    return print_text(&text);
}

static void tell_warnings(const struct config *config)
{
    if (config->file_found)
        log_info("settings were read from %s", config->settings.config_path);
    for (size_t i = 0; i < config->warning_count; i++)
        log_warning("%s", config->warnings[i]);
    if (config->warnings_dropped > 0)
        log_warning("%zu more warnings about settings are not shown", config->warnings_dropped);
}

/* Says what this version cannot do; false where that leaves nothing to run. */
static bool tell_notices(const struct config *config)
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

int main(int argc, char **argv)
{
    if (nvml_helper_is_meant(argc, argv))
        return nvml_helper_main(argv);
    sigset_t caller_mask;
    guard_streams(&caller_mask);
    struct config config;
    struct err err = {0};
    if (config_load(argc, argv, environ, &config, &err) < 0) {
        log_error("%s", err.msg);
        return EXIT_TRACKER_FAILED;
    }
    log_set_level(config.settings.verbosity > 1 ? LOG_DEBUG : config.settings.verbosity > 0 ? LOG_INFO : LOG_WARNING);
    tell_warnings(&config);
    int status;
    if (config.action == CONFIG_HELP || config.action == CONFIG_VERSION || config.action == CONFIG_PRINT)
        status = print_action(&config);
    else if (!tell_notices(&config))
        status = EXIT_TRACKER_FAILED;
    else
        status = session_run(&config.settings, &caller_mask, &err);
    if (err.code < 0)
        log_error("%s%s", err.msg, err.code == -EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
    if (status < 0)
        status = EXIT_TRACKER_FAILED;
    config_fini(&config);
    log_close();
    return status;
}
