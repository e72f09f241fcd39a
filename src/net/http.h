/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 client (RFC 9112) for small exchanges: request and answer fit into memory, one connection is kept open
 * for the next request to the same place. Answers with Content-Length, chunked, or up to the end. No redirects, no
 * cookies, no content codings. Proxies by CONNECT for https, absolute-form for http.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "net/proxy.h"
#include "net/tls.h"
#include "net/wait.h"

enum { HTTP_HEADERS_MAX = 32, HTTP_HEAD_BYTES_MAX = 64 * 1024 };

struct http_header {
    const char *name;
    struct str value; /* may be secret: never part of a message */
};

/* What a client takes from its surroundings; texts are the caller's and stay. */
struct http_context {
    const struct net_wait *wait;
    struct tls_trust trust;
    struct proxy_rules proxy;
    const char *user_agent;
    bool allow_http; /* plain http to other hosts than this one */
    int64_t connect_ns; /* at most for name lookup and connecting together; 0: 10 s */
};

struct http_client; /* of one thread */

int http_client_new(const struct http_context *context, struct http_client **ret_client); /* 0 or -ENOMEM */
void http_client_free(struct http_client *client); /* NULL allowed */

/* Closes the kept connection and frees what it holds. */
void http_client_close_idle(struct http_client *client);

/*
 * Begins to look up the name that a request to this URL needs (a proxy's, where one is used), and does not wait.
 * Returns -1 where http_send would not wait for it either, else a descriptor that becomes readable then.
 */
int http_client_look_up(struct http_client *client, struct str url);

struct http_request {
    const char *method; /* "GET", "HEAD", "PUT", "POST" */
    struct str url; /* user info becomes basic authentication, unless there is an Authorization header */
    /* Without Host, Content-Length, Transfer-Encoding and Connection; a User-Agent replaces the default. */
    const struct http_header *headers;
    size_t header_count;
    struct str body;
    bool has_body; /* then Content-Length is sent, also for 0 bytes */
    bool is_direct; /* never through a proxy, and plain http is allowed: metadata services */
    bool is_repeatable; /* may be sent again when a kept connection turns out to be dead before any answer */
    int64_t deadline_ns; /* monotonic, for everything together */
    size_t answer_max; /* largest body taken */
};

struct http_answer {
    int status;
    struct buf head; /* header lines, "Name: value\n" each, without the status line */
    struct buf body;
};

/*
 * One exchange. Returns 0 when a whole answer is there, whatever its status (1xx are skipped), or a negative errno with
 * a message that names host and cause and no secret: -EINVAL (URL, header, proxy's URL), -EPERM (plain http to a
 * foreign host), -ENXIO (no such host), -ECONNREFUSED and its like, -EKEYREJECTED, -ENOENT (no CA certificates),
 * -ETIMEDOUT, -ECANCELED, -ECONNRESET, -EPROTO (malformed answer, or the proxy refused), -EMSGSIZE (answer too large),
 * -ENOMEM. The answer of a server that has not read the whole request counts. ret_answer is valid on success only;
 * free it with http_answer_fini.
 */
int http_send(
    struct http_client *client, const struct http_request *request, struct http_answer *ret_answer, struct err *err);
void http_answer_fini(struct http_answer *answer);

/* The value of the first header with this name in any case, trimmed; n = 0 and p = NULL where there is none. */
struct str http_answer_header(const struct http_answer *answer, const char *name);

/* Retry-After in seconds (a number or a date against now), between 0 and max; -1 where there is none. */
int64_t http_answer_retry_after(const struct http_answer *answer, int64_t now_unix_secs, int64_t max_secs);

/* What the status of an HTTP answer is called (RFC 9110, 15): the client does not keep the server's own phrase. */

/* "Not Found"; for numbers without a name of their own, the name of their hundred. */
const char *http_status_text(int status);

/* Asking again may help: 408, 429 and 5xx. */
bool http_status_may_pass(int status);

/* A header that users cannot choose, as it is usually spelled; NULL where this is none of them. */
const char *http_header_reserved(struct str name);

/* The characters of HTTP (RFC 9110, 5.5 and 5.6.2), for both directions. */

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

/*
 * The pure half of the client: bytes of an answer as they come, in pieces of any size, into status, headers and body.
 * Strict where laxness is dangerous (two lengths, length and chunked, folded lines), lenient about a missing reason.
 * Used by the blocking client and by the cloud probes, which run side by side.
 */

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
 * Takes bytes. Returns how many it used (fewer than n only when it is done: what is left is not part of it), or
 * -EPROTO, -EMSGSIZE, -ENOMEM.
 */
ssize_t http_parse_add(struct http_parse *parse, const char *bytes, size_t n);

/* The connection was closed: 0 where that completes the answer, else -ECONNRESET. */
int http_parse_end(struct http_parse *parse);

/* Hands the answer over (the parser is empty afterwards). */
void http_parse_take(struct http_parse *parse, struct http_answer *ret_answer);

#endif
