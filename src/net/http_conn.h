/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the HTTP client: a socket with or without TLS, bytes in and out with a deadline, and whole answers
 * read from it. Messages say what went wrong, not with whom.
 */
#ifndef NET_HTTP_CONN_H
#define NET_HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http_parse.h"
#include "net/tls.h"
#include "net/wait.h"

struct http_conn {
    int fd; /* -1: none */
    struct tls *tls; /* NULL: plain */
    const struct net_wait *wait;
};

static inline bool http_conn_is_open(const struct http_conn *conn)
{
    return conn->fd >= 0;
}

void http_conn_close(struct http_conn *conn);

/* False where the peer has closed a connection that nothing is expected from, or has sent something. Does not block. */
bool http_conn_is_quiet(const struct http_conn *conn);

/*
 * All of it: 0 or a negative errno with a message. -EPIPE: the peer takes no more, or has answered before it had read
 * everything; there may be an answer to read.
 */
int http_conn_write(struct http_conn *conn, struct str bytes, int64_t deadline_ns, struct err *err);

/*
 * Reads until the answer is complete. Returns 0, -EPROTO, -EMSGSIZE, -ECONNRESET (closed before the end), -ETIMEDOUT,
 * -ECANCELED, -ENOMEM or another negative errno, with a message. parse->is_kept is false where bytes follow the answer.
 */
int http_conn_read_answer(struct http_conn *conn, struct http_parse *parse, int64_t deadline_ns, struct err *err);

#endif
