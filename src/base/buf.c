/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUF_FIRST_BYTES = 256 };

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.max = buf->max};
}

bool buf_reserve(struct buf *buf, size_t n)
{
    if (buf->failed)
        return false;
    if (buf->cap - buf->len >= n)
        return true;
    if (n > buf->max || buf->len > buf->max - n) {
        buf->failed = true;
        return false;
    }
    size_t want = buf->cap ? buf->cap : BUF_FIRST_BYTES;
    while (want < buf->len + n)
        want = want > buf->max / 2 ? buf->max : want * 2;
    if (want > buf->max)
        want = buf->max;
    char *data = realloc(buf->data, want);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = want;
    return true;
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    /* One byte more for the NUL that vsnprintf insists on. */
    if (n >= 0 && buf_reserve(buf, (size_t)n + 1)) {
        (void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
}

void buf_consume(struct buf *buf, size_t n)
{
    if (n >= buf->len) {
        buf->len = 0;
        return;
    }
    memmove(buf->data, buf->data + n, buf->len - n);
    buf->len -= n;
}

const char *buf_cstr(struct buf *buf)
{
    if (!buf_reserve(buf, 1))
        return "";
    buf->data[buf->len] = '\0';
    return buf->data;
}
