/* SPDX-License-Identifier: Apache-2.0 */
/* Settings, then the run, then the exit status. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "collect/gpu/nvml_helper.h"
#include "config/config.h"
#include "net/gzip.h"
#include "net/tls.h"
#include "run/guard.h"
#include "run/session.h"
#include "run/streaming.h"

enum { EXIT_TRACKER_FAILED = 125, TEXT_BYTES_MAX = 1024 * 1024 };

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
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    if (config->action == CONFIG_HELP)
        config_help(&text);
    else if (config->action == CONFIG_VERSION)
        buf_printf(&text, "resource-tracker %s\n%s, zlib %s\n", RT_VERSION, tls_library(), gzip_library());
    else
        config_print(config, &text);
    return print_text(&text);
}

static int upload(const struct config *config, struct err *err)
{
    AUTO_BUF struct buf report;
    buf_init(&report, TEXT_BYTES_MAX);
    int status = streaming_upload(&config->settings, &report, err);
    int printed = print_text(&report);
    return status != 0 ? status : printed;
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
    config_tell_warnings(&config);
    struct session_result result = {0};
    if (config.action == CONFIG_HELP || config.action == CONFIG_VERSION || config.action == CONFIG_PRINT)
        result.status = print_action(&config);
    else if (!config_tell_notices(&config))
        result.status = EXIT_TRACKER_FAILED;
    else if (config.action == CONFIG_UPLOAD_SPOOL)
        result.status = upload(&config, &err);
    else
        result = session_run(&config.settings, &caller_mask, &err);
    if (err.code < 0)
        log_error("%s%s", err.msg, err.code == -EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
    if (result.status < 0)
        result.status = EXIT_TRACKER_FAILED;
    if (result.is_stuck)
        _exit(result.status);
    config_fini(&config);
    log_close();
    return result.status;
}
