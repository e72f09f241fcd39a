/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaping and cutting.
 */
#include "config/show.h"

#include <stdint.h>

#include "base/utf8.h"

/* C0, DEL, and C1 (two bytes in UTF-8): a terminal may act on any of them. */
static bool is_control(struct str text)
{
    unsigned char c = (unsigned char)text.p[0];
    return c < 0x20 || c == 0x7f || (c == 0xc2 && text.n > 1 && (unsigned char)text.p[1] < 0xa0);
}

bool show_is_plain(struct str text)
{
    while (text.n > 0) {
        size_t n = utf8_length(text);
        if (n == 0 || is_control(text))
            return false;
        text.p += n;
        text.n -= n;
    }
    return true;
}

/* One character in the form of a message; returns how many bytes of text it took. */
static size_t show_char(struct buf *buf, struct str text)
{
    size_t n = utf8_length(text);
    if (n == 0 || is_control(text)) {
        buf_printf(buf, "\\x%02x", (unsigned)(unsigned char)text.p[0]);
        return 1;
    }
    buf_append(buf, text.p, n);
    return n;
}

void show_text(struct buf *buf, struct str text, size_t max)
{
    size_t start = buf->len;
    size_t fits = start; /* the longest prefix that leaves room for the dots */
    while (text.n > 0) {
        size_t n = show_char(buf, text);
        if (!buf_ok(buf))
            return;
        text.p += n;
        text.n -= n;
        if (buf->len - start > max) {
            buf->len = fits;
            buf_puts(buf, "...");
            return;
        }
        if (buf->len - start + 3 <= max)
            fits = buf->len;
    }
}

void show_path(struct buf *buf, struct str path, size_t max)
{
    if (path.n > max) {
        buf_puts(buf, "...");
        max -= 3;
        size_t keep = max;
        path = (struct str){path.p + path.n - keep, keep};
        while (path.n > 0 && ((unsigned char)path.p[0] & 0xc0) == 0x80) {
            path.p++;
            path.n--;
        }
    }
    show_text(buf, path, max);
}

void show_origin(
    struct buf *buf, const struct option_row *row, const struct option_origin *origin, const char *config_path)
{
    switch (origin->source) {
    case SOURCE_FLAG:
        buf_printf(buf, "--%s%s", origin->negated ? "no-" : "", row->flag);
        break;
    case SOURCE_ENV:
        buf_puts(buf, origin->env);
        break;
    case SOURCE_FILE:
        show_path(buf, str_of(config_path), SHOW_PATH_MAX);
        buf_printf(buf, ":%u", origin->line);
        if (origin->column > 0)
            buf_printf(buf, ":%u", origin->column);
        break;
    case SOURCE_AUTO:
        buf_printf(buf, "%s (automatic)", origin->env);
        break;
    case SOURCE_DEFAULT:
        buf_puts(buf, "default");
        break;
    }
}

void show_toml_string(struct buf *buf, struct str text)
{
    buf_putc(buf, '"');
    while (text.n > 0) {
        size_t n = utf8_length(text);
        unsigned char c = (unsigned char)text.p[0];
        if (n == 0)
            buf_puts(buf, "\\uFFFD");
        else if (c == '"' || c == '\\')
            buf_printf(buf, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(buf, "\\u%04X", (unsigned)c);
        else
            buf_append(buf, text.p, n);
        n += n == 0;
        text.p += n;
        text.n -= n;
    }
    buf_putc(buf, '"');
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void show_toml_key(struct buf *buf, struct str key)
{
    bool bare = key.n > 0;
    for (size_t i = 0; i < key.n; i++)
        bare = bare && is_bare(key.p[i]);
    if (bare)
        buf_append(buf, key.p, key.n);
    else
        show_toml_string(buf, key);
}

void show_url(struct buf *buf, struct str url)
{
    const char *slashes = memmem(url.p, url.n, "//", 2);
    size_t host = slashes ? (size_t)(slashes - url.p) + 2 : 0;
    size_t end = host;
    while (end < url.n && url.p[end] != '/' && url.p[end] != '?' && url.p[end] != '#')
        end++;
    const char *at = memrchr(url.p + host, '@', end - host);
    size_t rest = at ? (size_t)(at - url.p) + 1 : host;
    buf_append(buf, url.p, host);
    size_t query = end;
    while (query < url.n && url.p[query] != '?' && url.p[query] != '#')
        query++;
    buf_append(buf, url.p + rest, query - rest);
    if (query < url.n)
        buf_puts(buf, "?...");
}
