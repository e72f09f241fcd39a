/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/auto.h"
#include "base/clock.h"
#include "net/http_conn.h"
#include "net/http_dial.h"
#include "net/http_parse.h"
#include "net/http_request.h"
#include "net/lookup.h"
#include "net/proxy.h"
#include "net/url.h"

/* Servers close idle connections after a minute or so; we go first. */
#define IDLE_MAX_NS (30 * NS_PER_SEC)

/* Of the body, what goes out together with the head. */
enum { FIRST_BODY_BYTES = 16 * 1024, PLACE_BYTES = 2 * URL_HOST_MAX + 32 };

struct http_client {
    struct http_world world;
    struct lookup lookup;
    struct http_conn conn; /* kept between requests */
    int64_t idle_since_ns;
    char place[PLACE_BYTES]; /* where it leads */
};

/* One request on its way. */
struct exchange {
    const struct http_request *request;
    struct url url;
    struct proxy proxy;
    struct buf first; /* the head and the beginning of the body; secret */
    struct str rest; /* of the body */
    char place[PLACE_BYTES];
};

int http_client_new(const struct http_world *world, struct http_client **ret_client)
{
    struct http_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->world = *world;
    client->conn.fd = -1;
    lookup_init(&client->lookup);
    *ret_client = client;
    return 0;
}

void http_client_rest(struct http_client *client)
{
    http_conn_close(&client->conn);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    http_client_rest(client);
    lookup_fini(&client->lookup);
    free(client);
}

int http_client_look_up(struct http_client *client, struct str url)
{
    const struct http_world *world = &client->world;
    const struct proxy_rules rules = {world->https_proxy, world->http_proxy, world->no_proxy};
    struct url parsed;
    struct proxy proxy = {0};
    struct err ignored = {0};
    char host[URL_HOST_MAX + 1];
    /* What is wrong with it is for http_send to say. */
    if (url_parse(url, &parsed, &ignored) < 0 || proxy_choose(&rules, &parsed, &proxy, &ignored) < 0)
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

static void set_place(struct exchange *exchange)
{
    const struct url *url = &exchange->url;
    const struct url *proxy = &exchange->proxy.url;
    int n = snprintf(exchange->place, sizeof(exchange->place), "%d %.*s %u", url->is_https, (int)url->host.n,
        url->host.p, (unsigned)url->port);
    if (exchange->proxy.is_used)
        (void)snprintf(exchange->place + n, sizeof(exchange->place) - (size_t)n, " %.*s %u", (int)proxy->host.n,
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
    return buf_ok(first) ? 0 : err_set(err, -ENOMEM, "no memory for a request");
}

/* Everything that can be wrong before there is a connection. */
static int prepare(const struct http_world *world, struct exchange *exchange, struct err *err)
{
    const struct http_request *request = exchange->request;
    int r = http_request_check(request, err);
    if (r < 0)
        return r;
    if (!exchange->url.is_https && !world->allow_http && !request->is_direct && !url_is_loopback(&exchange->url))
        return err_set(err, -EPERM, "plain http is allowed to this host only (allow_http permits it)");
    const struct proxy_rules rules = {world->https_proxy, world->http_proxy, world->no_proxy};
    if (!request->is_direct)
        r = proxy_choose(&rules, &exchange->url, &exchange->proxy, err);
    if (r == 0)
        r = put_first(exchange, world->user_agent, err);
    if (r < 0)
        return r;
    set_place(exchange);
    if (clock_read(&clock_system, CLOCK_KIND_MONOTONIC) >= request->deadline_ns)
        return err_set(err, -ETIMEDOUT, "no time left for the request");
    return 0;
}

static bool can_reuse(const struct http_client *client, const char *place)
{
    int64_t now_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    return http_conn_is_open(&client->conn) && now_ns - client->idle_since_ns < IDLE_MAX_NS &&
           strcasecmp(client->place, place) == 0 && http_conn_is_quiet(&client->conn);
}

/* Sends and receives over the client's connection. What was received is in *parse, also after a failure. */
static int converse(
    struct http_client *client, const struct exchange *exchange, struct http_parse *parse, struct err *err)
{
    int64_t deadline_ns = exchange->request->deadline_ns;
    struct str first = {exchange->first.data, exchange->first.len};
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
        /* Without an answer the first thing that went wrong is the one to tell. */
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
    if (!http_conn_is_open(&client->conn)) {
        const struct http_route route = {&client->world, &exchange->url, &exchange->proxy};
        r = http_dial(&route, &client->lookup, request->deadline_ns, &client->conn, err);
    }
    if (r == 0)
        r = converse(client, exchange, parse, err);
    if (r < 0 || !parse->is_kept) {
        http_conn_close(&client->conn);
        return r;
    }
    client->idle_since_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    memcpy(client->place, exchange->place, sizeof(client->place));
    return 0;
}

static int send_prepared(
    struct http_client *client, const struct exchange *exchange, struct http_answer *ret_answer, struct err *err)
{
    bool is_reused = can_reuse(client, exchange->place);
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
        r = prepare(&client->world, &exchange, &why);
        if (r == 0)
            r = send_prepared(client, &exchange, ret_answer, &why);
        if (r < 0)
            (void)err_wrap(
                &why, "%.*s port %u", (int)exchange.url.host.n, exchange.url.host.p, (unsigned)exchange.url.port);
    }
    exchange_fini(&exchange);
    return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}
