/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a request, and what is refused before any byte of it is sent. Pure. */
#ifndef NET_HTTP_INTERNAL_H
#define NET_HTTP_INTERNAL_H

#include "net/http.h"
#include "net/proxy.h"
#include "net/url.h"

enum { HTTP_REQUEST_HEAD_MAX = 64 * 1024 };

/*
 * 0, or -EINVAL: a method or header name that is none, a control character in a value, a header that the client writes
 * itself, too many headers. The message may hold a header's name, never its value.
 */
int http_request_check(const struct http_request *request, struct err *err);

/*
 * Appends request line, header lines and the empty line. The target is the whole URL (without user info) where the
 * request goes to a proxy that reads it. User info of the URL becomes basic authentication unless an Authorization is
 * among the headers. buf holds secrets afterwards, also after a failure. Returns 0, -EINVAL (broken user info, head too
 * large) or -ENOMEM.
 */
int http_request_put_head(struct buf *buf, const struct http_request *request, const struct url *url,
    const struct proxy *proxy, const char *user_agent, struct err *err);

/* The same for asking a proxy for a tunnel to the URL's host. */
int http_request_put_connect(
    struct buf *buf, const struct url *url, const struct proxy *proxy, const char *user_agent, struct err *err);

#endif
