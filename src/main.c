/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, then the run, then the exit status. */
#include <errno.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "collect/gpu/gpu.h"
#include "collect/probe/probe.h"
#include "config/config.h"
#include "doctor/doctor.h"
#include "run/marks.h"
#include "run/on.h"
#include "run/output/terminal_guard.h"
#include "run/run.h"
#include "run/signals.h"
#include "stream/stream.h"

enum { EXIT_TRACKER_FAILED = 125, TEXT_BYTES_MAX = 1024 * 1024 };

/* What is asked for instead of tracking, and has a text for stdout. */
static int put_action(const struct config *config, struct buf *text, struct err *err)
{
    const struct settings *settings = &config->settings;
    bool is_json = settings->is_format_given && settings->format == FORMAT_JSON;
    switch (config->action) {
    case CONFIG_HELP:
        (config->is_help_short ? config_short_help : config_help)(text);
        return 0;
    case CONFIG_VERSION:
        version_put(text, settings->verbosity > 0);
        return 0;
    case CONFIG_LICENSES:
        return licenses_put(text, err);
    case CONFIG_DOCTOR:
        return doctor_examine(settings, config->doctor_online, is_json, text, err);
    case CONFIG_UPLOAD_SPOOL:
        return stream_upload(settings, text, err);
    case CONFIG_MARK:
        for (size_t i = 0; i < config->marks.count; i++)
            (void)marks_send(config->marks.socket, config->marks.items[i].kind, config->marks.items[i].name);
        return 0; /* whatever became of them: the command goes on */
    case CONFIG_PRINT:
    case CONFIG_RUN:
        break;
    }
    config_print(config, text);
    return 0;
}

static int print_action(const struct config *config, struct err *err)
{
    AUTO_BUF struct buf text = {.max = TEXT_BYTES_MAX};
    int status = put_action(config, &text, err);
    int r = buf_ok(&text) ? file_write_all(STDOUT_FILENO, text.data, text.len) : -ENOMEM;
    if (r < 0 && err->code == 0)
        (void)err_sys(err, r, "cannot write to stdout");
    return status == 0 ? r : status;
}

int main(int argc, char **argv)
{
    int status;
    if (gpu_run_helper(argc, argv, &status))
        return status;
    if (probe_helper_is_meant(argc, argv))
        return probe_helper_main(argv);
    if (terminal_guard_is_meant(argc, argv))
        return terminal_guard_main();
    if (on_guard_is_meant(argc, argv))
        return on_guard_main(argv);
    sigset_t caller_mask;
    guard_streams(&caller_mask);
    struct config config;
    struct err err = {0};
    if (config_load(argc, argv, environ, &config, &err) < 0) {
        log_error("%s", err.msg);
        return EXIT_TRACKER_FAILED;
    }
    log_set_level(config.settings.verbosity > 1 ? LOG_DEBUG : config.settings.verbosity > 0 ? LOG_INFO : LOG_WARNING);
    config_log_warnings(&config);
    struct session_result result = {0};
    if (config.action != CONFIG_RUN)
        result.status = print_action(&config, &err);
    else if (config.settings.from)
        result.status = replaying_run(&config.settings, &err);
    else
        result = session_run(&config.settings, &caller_mask, &err);
    if (err.code < 0)
        log_error("%s%s", err.msg, err.code == -EMFILE ? "; raise the open files limit (ulimit -n)" : "");
    if (result.status < 0)
        result.status = EXIT_TRACKER_FAILED;
    guard_die_of(result.signal);
    if (result.is_stuck)
        _exit(result.status);
    config_fini(&config);
    log_close();
    return result.status;
}
