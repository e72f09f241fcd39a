/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"

/* The only process-wide variables below main: stderr is process-wide too. */
static enum log_level log_level = LOG_WARNING;
static int log_fd = -1; /* non-blocking; -1: stderr itself */
static bool (*divert_write)(void *context, struct str line);
static void *divert_context;

void log_open(void)
{
    log_fd = file_reopen_nonblocking(STDERR_FILENO);
}

void log_close(void)
{
    fd_close(&log_fd);
}

void log_set_level(enum log_level level)
{
    log_level = level;
}

void log_divert(bool (*write)(void *context, struct str line), void *context)
{
    divert_write = write;
    divert_context = context;
}

static bool write_out(struct str line)
{
    bool (*divert)(void *context, struct str line) = divert_write;
    if (divert)
        return divert(divert_context, line);
    if (log_fd >= 0)
        return write(log_fd, line.p, line.n) == (ssize_t)line.n;
    /* Blocking: at least not where there is no room at all. */
    struct pollfd stream = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&stream, 1, 0) == 0)
        return false;
    return write(STDERR_FILENO, line.p, line.n) == (ssize_t)line.n;
}

/* False where the line was lost; one that is not wanted at this level counts as written. */
__attribute__((format(printf, 2, 0))) static bool write_line(enum log_level level, const char *fmt, va_list args)
{
    static const char names[][8] = {"error", "warning", "info", "debug"};
    if (level > log_level)
        return true;
    int saved_errno = errno;
    char line[1024];
    size_t room = sizeof(line) - 1;
    size_t used = (size_t)snprintf(line, room, "resource-tracker: %s: ", names[level]);
    int n = vsnprintf(line + used, room - used, fmt, args);
    bool is_cut = n > 0 && (size_t)n >= room - used;
    if (n > 0)
        used = is_cut ? room - 1 : used + (size_t)n;
    used =
        text_clean((struct str){line, is_cut ? utf8_whole((struct str){line, used}) : used}, TEXT_MARK, "", line, room);
    line[used++] = '\n';
    bool written = write_out((struct str){line, used});
    errno = saved_errno;
    return written;
}

#define LOG_WITH_LEVEL(level, ret_written)                                                                             \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        va_start(args, fmt);                                                                                           \
        (ret_written) = write_line((level), fmt, args);                                                                \
        va_end(args);                                                                                                  \
    } while (0)

void log_line(enum log_level level, const char *fmt, ...)
{
    bool written;
    LOG_WITH_LEVEL(level, written);
    (void)written;
}

bool log_text(struct str text)
{
    /* So much fits wherever there is room at all; more could block where the description is not ours. */
    enum { PATIENCE_MS = 1000, PIECE_BYTES = 512 };
    if (divert_write)
        return divert_write(divert_context, text);
    int fd = log_fd >= 0 ? log_fd : STDERR_FILENO;
    while (text.n > 0) {
        struct pollfd stream = {.fd = fd, .events = POLLOUT};
        size_t piece = log_fd < 0 && text.n > PIECE_BYTES ? PIECE_BYTES : text.n;
        ssize_t n = poll(&stream, 1, PATIENCE_MS) > 0 ? write(fd, text.p, piece) : 0;
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return false;
        str_skip(&text, (size_t)n);
    }
    return true;
}

void complaint_say(struct complaint *complaint, const char *fmt, ...)
{
    if (complaint->said)
        return;
    LOG_WITH_LEVEL(LOG_WARNING, complaint->said);
}

bool complaint_over(struct complaint *complaint, const char *fmt, ...)
{
    if (!complaint->said)
        return false;
    bool taken_back;
    LOG_WITH_LEVEL(LOG_WARNING, taken_back);
    complaint->said = !taken_back;
    return taken_back;
}
