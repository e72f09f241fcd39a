/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Absolute http and https URLs (RFC 3986) in pieces that point into the text, and percent-encoding. Messages never
 * repeat the URL: it may hold a password or a token.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { URL_BYTES_MAX = 8192, URL_HOST_MAX = 253 };

struct url {
    bool is_https;
    bool is_ip6; /* the host was written in brackets, which are not part of it */
    bool has_user_info;
    struct str user_info; /* "user:password", still encoded */
    struct str host; /* letters as written; never empty */
    uint16_t port; /* 80 or 443 where none is given */
    struct str target; /* path and query, without the fragment; "" stands for "/", "?a" for "/?a" */
};

/*
 * Returns 0 or -EINVAL with what is wrong ("no host", ...). Refused: blanks, backslashes,
 * control bytes and bytes above 126, an empty host, a port out of 1..65535, anything but letters, digits, '.', '-' and
 * '_' in a host name (a numeric IPv6 address in brackets, without a zone), a name with an empty part ("a..b"; "a." is
 * fine).
 */
int url_parse(struct str text, struct url *ret_url, struct err *err);

/* "localhost" and names below it, 127.0.0.0/8 and ::1. */
bool url_is_loopback(const struct url *url);

/* The value of a Host header: brackets for IPv6, the port where it is not the scheme's own. */
void url_put_host(struct buf *buf, const struct url *url);

/* Everything but letters, digits, "-", ".", "_" and "~" as %XX in capitals; of a path "/" stays too. */
void url_encode(struct buf *buf, struct str text);
void url_encode_path(struct buf *buf, struct str text);

/* The other way round, into any bytes; returns 0 or -EINVAL for a broken %XX, the buffer then as it was. */
int url_decode(struct buf *buf, struct str text);

#endif
