/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_dial.h"

#include <errno.h>

#include "base/auto.h"
#include "base/clock.h"
#include "net/connect.h"
#include "net/http_request.h"

#define CONNECT_DEFAULT_NS (10 * NS_PER_SEC)

enum { PROXY_STATUS_LOGIN = 407 };

/* Asks the proxy for a way through (RFC 9110, 9.3.6). What it has to say about a refusal is not read. */
static int open_tunnel(const struct http_route *route, struct http_conn *conn, int64_t deadline_ns, struct err *err)
{
    AUTO_BUF struct buf head;
    buf_init(&head, HTTP_REQUEST_HEAD_MAX);
    int r = http_request_put_connect(&head, route->url, route->proxy, route->world->user_agent, err);
    if (r == 0)
        r = http_conn_write(conn, (struct str){head.data, head.len}, deadline_ns, err);
    if (head.data)
        str_wipe(head.data, head.cap);
    if (r < 0 && r != -EPIPE)
        return r;
    struct http_parse parse;
    http_parse_init(&parse, true, 0);
    r = http_conn_read_answer(conn, &parse, deadline_ns, err);
    int status = parse.answer.status;
    http_parse_fini(&parse);
    if (r < 0)
        return r;
    if (status == PROXY_STATUS_LOGIN)
        return err_set(err, -EPROTO, "refused with status 407: it wants %s user name and password",
            route->proxy->url.has_user_info ? "another" : "a");
    return status < 300 ? 0 : err_set(err, -EPROTO, "refused with status %d", status);
}

static int open_through(const struct http_route *route, struct http_conn *conn, struct lookup *lookup,
    int64_t connect_ns, int64_t deadline_ns, struct err *err)
{
    const struct url *to = route->proxy->is_used ? &route->proxy->url : route->url;
    char host[URL_HOST_MAX + 1];
    if (!str_copy(to->host, host, sizeof(host)))
        return err_set(err, -EINVAL, "the host's name is too long");
    conn->fd = connect_open(lookup, host, to->port, conn->wait, connect_ns, err);
    int r = conn->fd < 0 ? conn->fd : 0;
    if (r == 0 && route->proxy->is_used && route->url->is_https)
        r = open_tunnel(route, conn, deadline_ns, err);
    if (r < 0 && route->proxy->is_used)
        (void)err_wrap(err, "proxy %s port %u", host, (unsigned)to->port);
    return r;
}

int http_dial(const struct http_route *route, struct lookup *lookup, int64_t deadline_ns, struct http_conn *ret_conn,
    struct err *err)
{
    struct http_conn conn = {.fd = -1, .wait = route->world->wait};
    int64_t most_ns = route->world->connect_ns > 0 ? route->world->connect_ns : CONNECT_DEFAULT_NS;
    int64_t now_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    int64_t connect_ns = deadline_ns - now_ns > most_ns ? now_ns + most_ns : deadline_ns;
    int r = open_through(route, &conn, lookup, connect_ns, deadline_ns, err);
    char host[URL_HOST_MAX + 1];
    if (r == 0 && route->url->is_https) {
        struct str name = route->url->host;
        if (name.p[name.n - 1] == '.') /* the root of all names, which no certificate has */
            name.n--;
        (void)str_copy(name, host, sizeof(host));
        const struct tls_peer peer = {.fd = conn.fd, .host = host, .trust = &route->world->trust};
        r = tls_open(&conn.tls, &peer, conn.wait, deadline_ns, err);
    }
    if (r < 0) {
        http_conn_close(&conn);
        return r;
    }
    *ret_conn = conn;
    return 0;
}
