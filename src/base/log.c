/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The one process-wide variable below main: stderr is process-wide too. */
static enum log_level log_level = LOG_WARNING;

void log_set_level(enum log_level level)
{
    log_level = level;
}

__attribute__((format(printf, 2, 0))) static void write_line(enum log_level level, const char *fmt, va_list args)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    if (level > log_level)
        return;
    int saved_errno = errno;
    char line[1024];
    size_t room = sizeof(line) - 1;
    size_t used = (size_t)snprintf(line, room, "resource-tracker: %s: ", words[level]);
    int n = vsnprintf(line + used, room - used, fmt, args);
    if (n > 0)
        used = (size_t)n < room - used ? used + (size_t)n : room - 1;
    for (size_t i = 0; i < used; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    }
    line[used++] = '\n';
    /* Nowhere to tell if this fails. */
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written;
    errno = saved_errno;
}

#define LOG_WITH_LEVEL(level)                                                                                          \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        va_start(args, fmt);                                                                                           \
        write_line((level), fmt, args);                                                                                \
        va_end(args);                                                                                                  \
    } while (0)

void log_error(const char *fmt, ...)
{
    LOG_WITH_LEVEL(LOG_ERROR);
}

void log_warning(const char *fmt, ...)
{
    LOG_WITH_LEVEL(LOG_WARNING);
}

void log_info(const char *fmt, ...)
{
    LOG_WITH_LEVEL(LOG_INFO);
}

void log_debug(const char *fmt, ...)
{
    LOG_WITH_LEVEL(LOG_DEBUG);
}

void complaint_say(struct complaint *complaint, const char *fmt, ...)
{
    if (complaint->said)
        return;
    complaint->said = true;
    LOG_WITH_LEVEL(LOG_WARNING);
}

void complaint_over(struct complaint *complaint, const char *fmt, ...)
{
    if (!complaint->said)
        return;
    complaint->said = false;
    LOG_WITH_LEVEL(LOG_WARNING);
}
