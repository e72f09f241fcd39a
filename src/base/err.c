/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list args;
    if (!err)
        return code;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    return err->code = code;
}

/* Puts ": TEXT" behind the message. */
static void append(struct err *err, const char *text)
{
    size_t used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", text);
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
    va_list args;
    if (!err)
        return code;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    append(err, strerror(-code));
    return err->code = code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err)
        return 0;
    char old[sizeof(err->msg)];
    memcpy(old, err->msg, sizeof(old));
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    append(err, old);
    return err->code;
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    err->code = 0;
    err->msg[0] = '\0';
}

int err_last(void)
{
    return -errno;
}
