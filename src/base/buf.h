/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer that must be given a maximum. A write that does not fit (or finds no memory) leaves the buffer
 * as it was and marks it failed; later writes do nothing, so a writer checks buf_ok() once at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

struct buf {
    char *data; /* not NUL-terminated; see buf_cstr */
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

/* No memory is taken until the first write. */
void buf_init(struct buf *buf, size_t max);
void buf_fini(struct buf *buf);

/* Over bytes of the caller, which are neither grown nor freed; the last of them is left for buf_over_end. */
static inline struct buf buf_over(char *bytes, size_t size)
{
    return (struct buf){.data = bytes, .cap = size - 1, .max = size - 1};
}

/* The content with a NUL behind it, also where a write did not fit. */
static inline const char *buf_over_end(struct buf *buf)
{
    buf->data[buf->len] = '\0';
    return buf->data;
}

/* Makes room for at least n more bytes; false (and failed) where that exceeds max or memory. */
bool buf_reserve(struct buf *buf, size_t n);

__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *buf, const char *fmt, ...);

/* Drops the first n bytes. */
void buf_consume(struct buf *buf, size_t n);

/* The content with a NUL behind it (not counted in len); "" where that is not possible. */
const char *buf_cstr(struct buf *buf);

/* The content, until the next write. */
static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->data, buf->len};
}

static inline void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

static inline bool buf_ok(const struct buf *buf)
{
    return !buf->failed;
}

static inline void buf_append(struct buf *buf, const void *bytes, size_t n)
{
    if (buf->failed || (buf->cap - buf->len < n && !buf_reserve(buf, n)))
        return;
    if (n > 0)
        memcpy(buf->data + buf->len, bytes, n);
    buf->len += n;
}

static inline void buf_putc(struct buf *buf, char c)
{
    buf_append(buf, &c, 1);
}

static inline void buf_puts(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

#endif
