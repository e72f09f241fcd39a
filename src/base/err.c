/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    err->code = code;
    return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    size_t used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", strerror(-code));
    err->code = code;
    return code;
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
    size_t used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", old);
    return err->code;
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    err->code = 0;
    err->msg[0] = '\0';
}
