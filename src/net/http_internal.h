/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the HTTP client share: answers read piece by piece, a connection, the bytes of a request. */
#ifndef NET_HTTP_INTERNAL_H
#define NET_HTTP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http.h"
#include "net/proxy.h"
#include "net/url.h"

enum http_parse_state { HTTP_PARSE_HEAD, HTTP_PARSE_BODY, HTTP_PARSE_DONE };

struct http_parse {
    struct http_answer answer;
    enum http_parse_state state;
    bool is_head; /* the request was HEAD: no body follows */
    bool is_kept; /* after DONE: the connection may be used again */
    size_t answer_max;
    struct buf line; /* of the head, and of chunk sizes and trailers */
    size_t head_bytes; /* all lines taken so far, of 1xx answers and trailers too */
    bool is_old; /* HTTP/1.0 */
    bool has_length, has_coding, says_close, says_keep; /* of the head that is being read */
    enum { HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_TO_END } framing;
    uint64_t left; /* of the body, or of the chunk */
    enum { HTTP_CHUNK_SIZE, HTTP_CHUNK_DATA, HTTP_CHUNK_END, HTTP_CHUNK_TRAILER } chunk_step;
};

void http_parse_init(struct http_parse *parse, bool is_head, size_t answer_max);
void http_parse_fini(struct http_parse *parse);

/*
 * Takes bytes. Returns how many it used (fewer than n only when it is done: what is left belongs to nobody), or
 * -EPROTO, -EMSGSIZE, -ENOMEM.
 */
ssize_t http_parse_add(struct http_parse *parse, const char *bytes, size_t n);

/* The connection was closed: 0 where that completes the answer, else -ECONNRESET. */
int http_parse_end(struct http_parse *parse);

/* Hands the answer over (the parser is empty afterwards). */
void http_parse_take(struct http_parse *parse, struct http_answer *ret_answer);

/* The bytes of a request, and what is refused before any byte of it is sent. Pure. */

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
