/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "net/connect.h"
#include "net/http_internal.h"
#include "net/proxy.h"
#include "net/url.h"

/* One connection: a socket with or without TLS. Messages about it say what went wrong, not with which host. */
struct http_conn {
    int fd; /* -1: none */
    struct tls *tls; /* NULL: plain */
    const struct net_wait *wait;
};

static void http_conn_close(struct http_conn *conn)
{
    tls_close(conn->tls);
    conn->tls = NULL;
    fd_close(&conn->fd);
}

/* False where the peer has closed a connection that nothing is expected from, or has sent something. Does not block. */
static bool http_conn_is_quiet(const struct http_conn *conn)
{
    struct pollfd watched = {.fd = conn->fd, .events = POLLIN};
    return conn->fd >= 0 && poll(&watched, 1, 0) == 0;
}

static int set_wait_error(int code, const char *doing, struct err *err)
{
    if (code == -ETIMEDOUT)
        return err_set(err, code, "timed out while %s", doing);
    return code == -ECANCELED ? err_set(err, code, "cancelled while %s", doing) : err_sys(err, code, "%s", doing);
}

/* Something to read while we still write is the answer, unless it is one of the 1xx that go before it. */
static bool has_early_answer(int fd)
{
    char start[10]; /* "HTTP/1.1 4" */
    ssize_t n = recv(fd, start, sizeof(start), MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n == sizeof(start) && start[9] != '1');
}

static int write_plain(struct http_conn *conn, struct str bytes, int64_t deadline_ns, struct err *err)
{
    short events = POLLOUT | POLLIN;
    while (bytes.n > 0) {
        ssize_t n = send(conn->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n >= 0) {
            bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return err_sys(err, errno == ECONNRESET ? -EPIPE : err_last(), "sending the request");
        if ((events & POLLIN) != 0 && !http_conn_is_quiet(conn)) {
            if (has_early_answer(conn->fd))
                return err_set(err, -EPIPE, "the server did not read the whole request");
            events = POLLOUT;
        }
        int r = net_wait_until(conn->wait, conn->fd, events, deadline_ns);
        if (r < 0)
            return set_wait_error(r, "sending the request", err);
    }
    return 0;
}

/* All of it: 0 or a negative errno with a message. -EPIPE: the peer reads no more, or has answered before it had read
 * everything; there may be an answer to read. */
static int http_conn_write(struct http_conn *conn, struct str bytes, int64_t deadline_ns, struct err *err)
{
    if (!conn->tls)
        return write_plain(conn, bytes, deadline_ns, err);
    int r = tls_write(conn->tls, bytes, deadline_ns, err);
    return r == -ECONNRESET ? -EPIPE : r;
}

/* At least one byte, 0 at the end, or a negative errno. */
static ssize_t read_some(struct http_conn *conn, char *bytes, size_t size, int64_t deadline_ns, struct err *err)
{
    if (conn->tls)
        return tls_read(conn->tls, bytes, size, deadline_ns, err);
    for (;;) {
        ssize_t n = recv(conn->fd, bytes, size, 0);
        if (n >= 0)
            return n;
        if (errno == ECONNRESET || errno == EPIPE)
            return err_set(err, -ECONNRESET, "the connection was reset before the answer was complete");
        if (errno != EAGAIN && errno != EINTR)
            return err_sys(err, err_last(), "reading the answer");
        int r = errno == EINTR ? 0 : net_wait_until(conn->wait, conn->fd, POLLIN, deadline_ns);
        if (r < 0)
            return set_wait_error(r, "waiting for the answer", err);
    }
}

static int set_parse_error(ssize_t code, struct err *err)
{
    if (code == -EMSGSIZE)
        return err_set(err, -EMSGSIZE, "the answer is too large");
    if (code == -ENOMEM)
        return err_set(err, -ENOMEM, "out of memory");
    return err_set(err, -EPROTO, "the answer is not valid HTTP");
}

/* Until the answer is complete. parse->is_kept is false where bytes follow it. */
static int http_conn_read_answer(struct http_conn *conn, struct http_parse *parse, int64_t deadline_ns, struct err *err)
{
    char bytes[4096];
    while (parse->state != HTTP_PARSE_DONE) {
        ssize_t n = read_some(conn, bytes, sizeof(bytes), deadline_ns, err);
        if (n < 0)
            return (int)n;
        if (n == 0) {
            if (http_parse_end(parse) < 0)
                return err_set(err, -ECONNRESET, "the connection was closed before the answer was complete");
            break;
        }
        ssize_t used = http_parse_add(parse, bytes, (size_t)n);
        if (used < 0)
            return set_parse_error(used, err);
        if (used < n)
            parse->is_kept = false;
        /* A peer that always has a byte ready would never make us wait. */
        if (parse->state != HTTP_PARSE_DONE && clock_now() >= deadline_ns)
            return set_wait_error(-ETIMEDOUT, "reading the answer", err);
    }
    return 0;
}

struct http_route {
    const struct http_context *context;
    const struct url *url;
    const struct proxy *proxy;
};

#define CONNECT_DEFAULT_NS (10 * NS_PER_SEC)

enum { PROXY_STATUS_LOGIN = 407 };

/* Asks the proxy for a way through (RFC 9110, 9.3.6). What it has to say about a refusal is not read. */
static int open_tunnel(const struct http_route *route, struct http_conn *conn, int64_t deadline_ns, struct err *err)
{
    AUTO_BUF struct buf head = {.max = HTTP_REQUEST_HEAD_MAX};
    int r = http_request_put_connect(&head, route->url, route->proxy, route->context->user_agent, err);
    if (r == 0)
        r = http_conn_write(conn, buf_str(&head), deadline_ns, err);
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

/* From a URL to a connection that requests can be written to: lookup, TCP, the proxy's tunnel, TLS. The message names
 * the proxy where it is to blame, but not the host. */
static int http_dial(const struct http_route *route, struct lookup *lookup, int64_t deadline_ns,
    struct http_conn *ret_conn, struct err *err)
{
    struct http_conn conn = {.fd = -1, .wait = route->context->wait};
    int64_t most_ns = route->context->connect_ns > 0 ? route->context->connect_ns : CONNECT_DEFAULT_NS;
    int64_t now_ns = clock_now();
    int64_t connect_ns = deadline_ns - now_ns > most_ns ? now_ns + most_ns : deadline_ns;
    int r = open_through(route, &conn, lookup, connect_ns, deadline_ns, err);
    char host[URL_HOST_MAX + 1];
    if (r == 0 && route->url->is_https) {
        struct str name = route->url->host;
        if (name.p[name.n - 1] == '.') /* the root of all names, which no certificate has */
            name.n--;
        (void)str_copy(name, host, sizeof(host));
        const struct tls_peer peer = {.fd = conn.fd, .host = host, .trust = &route->context->trust};
        r = tls_open(&conn.tls, &peer, conn.wait, deadline_ns, err);
    }
    if (r < 0) {
        http_conn_close(&conn);
        return r;
    }
    *ret_conn = conn;
    return 0;
}

/* Servers close idle connections after a minute or so; we go first. */
#define IDLE_MAX_NS (30 * NS_PER_SEC)

/* Of the body, what goes out together with the head. */
enum { FIRST_BODY_BYTES = 16 * 1024, ENDPOINT_BYTES = 2 * URL_HOST_MAX + 32 };

struct http_client {
    struct http_context context;
    struct lookup lookup;
    struct http_conn conn; /* kept between requests */
    int64_t idle_since_ns;
    char endpoint[ENDPOINT_BYTES]; /* where it leads */
};

/* One request on its way. */
struct exchange {
    const struct http_request *request;
    struct url url;
    struct proxy proxy;
    struct buf first; /* the head and the beginning of the body; secret */
    struct str rest; /* of the body */
    char endpoint[ENDPOINT_BYTES];
};

int http_client_new(const struct http_context *context, struct http_client **ret_client)
{
    struct http_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->context = *context;
    client->conn.fd = -1;
    lookup_init(&client->lookup);
    *ret_client = client;
    return 0;
}

void http_client_close_idle(struct http_client *client)
{
    http_conn_close(&client->conn);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    http_client_close_idle(client);
    lookup_fini(&client->lookup);
    free(client);
}

int http_client_look_up(struct http_client *client, struct str url)
{
    const struct http_context *context = &client->context;
    struct url parsed;
    struct proxy proxy = {0};
    struct err ignored = {0};
    char host[URL_HOST_MAX + 1];
    /* What is wrong with it is for http_send to say. */
    if (url_parse(url, &parsed, &ignored) < 0 || proxy_choose(&context->proxy, &parsed, &proxy, &ignored) < 0)
        return -1;
    bool is_whole = str_copy(proxy.is_used ? proxy.url.host : parsed.host, host, sizeof(host));
    proxy_fini(&proxy);
    return is_whole ? lookup_begin(&client->lookup, host) : -1;
}

static void exchange_fini(struct exchange *exchange)
{
    if (exchange->first.data)
        str_wipe(exchange->first.data, exchange->first.cap);
    buf_fini(&exchange->first);
    proxy_fini(&exchange->proxy);
}

static void set_endpoint(struct exchange *exchange)
{
    const struct url *url = &exchange->url;
    const struct url *proxy = &exchange->proxy.url;
    int n = snprintf(exchange->endpoint, sizeof(exchange->endpoint), "%d %.*s %u", url->is_https, (int)url->host.n,
        url->host.p, (unsigned)url->port);
    if (exchange->proxy.is_used)
        (void)snprintf(exchange->endpoint + n, sizeof(exchange->endpoint) - (size_t)n, " %.*s %u", (int)proxy->host.n,
            proxy->host.p, (unsigned)proxy->port);
}

static int put_first(struct exchange *exchange, const char *user_agent, struct err *err)
{
    const struct http_request *request = exchange->request;
    struct buf *first = &exchange->first;
    int r = http_request_put_head(first, request, &exchange->url, &exchange->proxy, user_agent, err);
    if (r < 0 || !request->has_body)
        return r;
    size_t n = request->body.n < FIRST_BODY_BYTES ? request->body.n : FIRST_BODY_BYTES;
    buf_append(first, request->body.p, n);
    if (n < request->body.n)
        exchange->rest = (struct str){request->body.p + n, request->body.n - n};
    return buf_ok(first) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Everything that can be wrong before there is a connection. */
static int prepare(const struct http_context *context, struct exchange *exchange, struct err *err)
{
    const struct http_request *request = exchange->request;
    int r = http_request_check(request, err);
    if (r < 0)
        return r;
    if (!exchange->url.is_https && !context->allow_http && !request->is_direct && !url_is_loopback(&exchange->url))
        return err_set(err, -EPERM, "plain http is allowed to this host only (allow_http permits it)");
    if (!request->is_direct)
        r = proxy_choose(&context->proxy, &exchange->url, &exchange->proxy, err);
    if (r == 0)
        r = put_first(exchange, context->user_agent, err);
    if (r < 0)
        return r;
    set_endpoint(exchange);
    if (clock_now() >= request->deadline_ns)
        return err_set(err, -ETIMEDOUT, "no time left for the request");
    return 0;
}

static bool can_reuse(const struct http_client *client, const char *endpoint)
{
    int64_t now_ns = clock_now();
    return client->conn.fd >= 0 && now_ns - client->idle_since_ns < IDLE_MAX_NS &&
           str_is_nocase(client->endpoint, endpoint) && http_conn_is_quiet(&client->conn);
}

/* Sends and receives over the client's connection. What was received is in *parse, also after a failure. */
static int converse(
    struct http_client *client, const struct exchange *exchange, struct http_parse *parse, struct err *err)
{
    int64_t deadline_ns = exchange->request->deadline_ns;
    struct str first = buf_str(&exchange->first);
    struct err unsent = {0};
    int sent = http_conn_write(&client->conn, first, deadline_ns, &unsent);
    if (sent == 0 && exchange->rest.n > 0)
        sent = http_conn_write(&client->conn, exchange->rest, deadline_ns, &unsent);
    if (sent < 0 && sent != -EPIPE) {
        *err = unsent;
        return sent;
    }
    int r = http_conn_read_answer(&client->conn, parse, deadline_ns, err);
    if (sent < 0) {
        parse->is_kept = false;
        /* Without an answer the first error is the one to report. */
        if (r == -ECONNRESET && parse->head_bytes == 0)
            (void)err_set(err, r, "%s", unsent.msg);
    }
    return r;
}

static int send_once(
    struct http_client *client, const struct exchange *exchange, struct http_parse *parse, struct err *err)
{
    const struct http_request *request = exchange->request;
    http_parse_init(parse, strcmp(request->method, "HEAD") == 0, request->answer_max);
    int r = 0;
    if (client->conn.fd < 0) {
        const struct http_route route = {&client->context, &exchange->url, &exchange->proxy};
        r = http_dial(&route, &client->lookup, request->deadline_ns, &client->conn, err);
    }
    if (r == 0)
        r = converse(client, exchange, parse, err);
    if (r < 0 || !parse->is_kept) {
        http_conn_close(&client->conn);
        return r;
    }
    client->idle_since_ns = clock_now();
    memcpy(client->endpoint, exchange->endpoint, sizeof(client->endpoint));
    return 0;
}

static int send_prepared(
    struct http_client *client, const struct exchange *exchange, struct http_answer *ret_answer, struct err *err)
{
    bool is_reused = can_reuse(client, exchange->endpoint);
    if (!is_reused)
        http_conn_close(&client->conn);
    struct http_parse parse;
    int r = send_once(client, exchange, &parse, err);
    if (r == -ECONNRESET && is_reused && exchange->request->is_repeatable && parse.head_bytes == 0) {
        http_parse_fini(&parse);
        r = send_once(client, exchange, &parse, err);
    }
    if (r == 0)
        http_parse_take(&parse, ret_answer);
    else
        http_parse_fini(&parse);
    return r;
}

int http_send(
    struct http_client *client, const struct http_request *request, struct http_answer *ret_answer, struct err *err)
{
    struct err why = {0};
    struct exchange exchange = {.request = request};
    buf_init(&exchange.first, (size_t)HTTP_REQUEST_HEAD_MAX + FIRST_BODY_BYTES);
    int r = url_parse(request->url, &exchange.url, &why);
    if (r == 0) {
        r = prepare(&client->context, &exchange, &why);
        if (r == 0)
            r = send_prepared(client, &exchange, ret_answer, &why);
        if (r < 0)
            (void)err_wrap(
                &why, "%.*s port %u", (int)exchange.url.host.n, exchange.url.host.p, (unsigned)exchange.url.port);
    }
    exchange_fini(&exchange);
    return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}
