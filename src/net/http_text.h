/* SPDX-License-Identifier: Apache-2.0 */
/* The characters of HTTP (RFC 9110, 5.5 and 5.6.2), for both directions. */
#ifndef NET_HTTP_TEXT_H
#define NET_HTTP_TEXT_H

#include <stdbool.h>

#include "base/str.h"

/* What methods and names of headers are made of; not empty. */
static inline bool http_text_is_token(struct str text)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < text.n; i++) {
        if (!memchr(allowed, text.p[i], sizeof(allowed) - 1))
            return false;
    }
    return text.n > 0;
}

/* CR, LF, NUL and everything else that has no place in a line; tabs do. */
static inline bool http_text_has_control(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < ' ' && c != '\t') || c == 127)
            return true;
    }
    return false;
}

#endif
