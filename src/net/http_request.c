/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_request.h"

#include <errno.h>
#include <strings.h>

#include "base/auto.h"
#include "base/num.h"
#include "codec/hash.h"
#include "net/http_text.h"

/* Where the message ends must not depend on anybody's headers. */
static bool is_ours(const char *name)
{
    static const char ours[][18] = {"Host", "Content-Length", "Transfer-Encoding", "Connection"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strcasecmp(name, ours[i]) == 0)
            return true;
    }
    return false;
}

static bool has_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

int http_request_check(const struct http_request *request, struct err *err)
{
    if (!http_text_is_token(str_of(request->method)))
        return err_set(err, -EINVAL, "not a request method");
    if (request->header_count > HTTP_HEADERS_MAX)
        return err_set(err, -EINVAL, "more than %d headers", HTTP_HEADERS_MAX);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (!http_text_is_token(str_of(header->name)))
            return err_set(err, -EINVAL, "the name of header %zu is not valid", i + 1);
        if (is_ours(header->name))
            return err_set(err, -EINVAL, "the header %s cannot be set", header->name);
        if (http_text_has_control(header->value))
            return err_set(err, -EINVAL, "the value of the header %s holds a control character", header->name);
    }
    return 0;
}

static void put_str(struct buf *buf, struct str text)
{
    buf_append(buf, text.p, text.n);
}

/* RFC 7617: "user:password" of a URL, decoded, as "Name: Basic ...". */
static int put_basic(struct buf *buf, const char *name, struct str user_info, struct err *err)
{
    AUTO_BUF struct buf plain;
    buf_init(&plain, URL_BYTES_MAX + 1);
    /* In one piece from the start: growing would leave copies behind. */
    bool has_room = buf_reserve(&plain, user_info.n + 1);
    int r = url_decode(&plain, user_info);
    if (!memchr(user_info.p, ':', user_info.n))
        buf_putc(&plain, ':');
    if (r == 0) {
        buf_puts(buf, name);
        buf_puts(buf, ": Basic ");
        hash_base64(buf, (struct str){plain.data, plain.len});
        buf_puts(buf, "\r\n");
    }
    if (plain.data)
        str_wipe(plain.data, plain.cap);
    if (r < 0)
        return err_set(err, -EINVAL, "the user name or password in the URL has a broken %% escape");
    return has_room && buf_ok(&plain) ? 0 : err_set(err, -ENOMEM, "no memory for a request");
}

static int put_proxy_user(struct buf *buf, const struct proxy *proxy, struct err *err)
{
    if (!proxy->is_used || !proxy->url.has_user_info)
        return 0;
    int r = put_basic(buf, "Proxy-Authorization", proxy->url.user_info, err);
    if (r < 0)
        (void)err_wrap(err, "proxy");
    return r;
}

static void put_line(struct buf *buf, const char *name, struct str value)
{
    buf_puts(buf, name);
    buf_puts(buf, ": ");
    put_str(buf, value);
    buf_puts(buf, "\r\n");
}

static void put_request_line(struct buf *buf, const char *method, const struct url *url, bool is_whole)
{
    buf_puts(buf, method);
    buf_putc(buf, ' ');
    if (is_whole) {
        buf_puts(buf, "http://");
        url_put_host(buf, url);
    }
    if (url->target.n == 0 || url->target.p[0] != '/')
        buf_putc(buf, '/');
    put_str(buf, url->target);
    buf_puts(buf, " HTTP/1.1\r\nHost: ");
    url_put_host(buf, url);
    buf_puts(buf, "\r\n");
}

static int check_head(const struct buf *buf, struct err *err)
{
    if (!buf_ok(buf))
        return err_set(err, -ENOMEM, "no memory for a request");
    return buf->len <= HTTP_REQUEST_HEAD_MAX ? 0 : err_set(err, -EINVAL, "the request's headers are too large");
}

static size_t head_bytes(const struct http_request *request, const struct url *url)
{
    size_t bytes = 1024 + url->target.n + 2 * url->user_info.n;
    for (size_t i = 0; i < request->header_count; i++)
        bytes += strlen(request->headers[i].name) + request->headers[i].value.n + STR(": \r\n").n;
    return bytes;
}

int http_request_put_head(struct buf *buf, const struct http_request *request, const struct url *url,
    const struct proxy *proxy, const char *user_agent, struct err *err)
{
    size_t expected = head_bytes(request, url);
    if (expected > HTTP_REQUEST_HEAD_MAX)
        return err_set(err, -EINVAL, "the request's headers are too large");
    (void)buf_reserve(buf, expected);
    bool is_whole = proxy->is_used && !url->is_https;
    put_request_line(buf, request->method, url, is_whole);
    if (user_agent && !has_header(request, "User-Agent"))
        put_line(buf, "User-Agent", str_of(user_agent));
    for (size_t i = 0; i < request->header_count; i++)
        put_line(buf, request->headers[i].name, request->headers[i].value);
    int r = 0;
    if (url->has_user_info && !has_header(request, "Authorization"))
        r = put_basic(buf, "Authorization", url->user_info, err);
    if (r == 0 && is_whole)
        r = put_proxy_user(buf, proxy, err);
    if (r < 0)
        return r;
    if (request->has_body) {
        buf_puts(buf, "Content-Length: ");
        num_put_u64(buf, request->body.n);
        buf_puts(buf, "\r\n");
    }
    buf_puts(buf, "\r\n");
    return check_head(buf, err);
}

int http_request_put_connect(
    struct buf *buf, const struct url *url, const struct proxy *proxy, const char *user_agent, struct err *err)
{
    static const char *const before[] = {"CONNECT ", " HTTP/1.1\r\nHost: "};
    (void)buf_reserve(buf, 2048);
    for (size_t i = 0; i < 2; i++) {
        buf_puts(buf, before[i]);
        buf_puts(buf, url->is_ip6 ? "[" : "");
        put_str(buf, url->host);
        buf_puts(buf, url->is_ip6 ? "]:" : ":");
        num_put_u64(buf, url->port);
    }
    buf_puts(buf, "\r\n");
    if (user_agent)
        put_line(buf, "User-Agent", str_of(user_agent));
    int r = put_proxy_user(buf, proxy, err);
    buf_puts(buf, "\r\n");
    return r < 0 ? r : check_head(buf, err);
}
