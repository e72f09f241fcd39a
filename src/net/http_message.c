/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as bytes, answers as values, and what a status means. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/utc.h"
#include "codec/hash.h"
#include "net/http.h"
#include "net/http_internal.h"

/* The first OF_MESSAGE of them say where the message goes and where it ends: no caller sets them. */
static const char reserved[][18] = {
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "User-Agent", "Expect", "Upgrade", "TE", "Trailer"};
enum { OF_MESSAGE = 4, RESERVED = sizeof(reserved) / sizeof(reserved[0]) };

static const char *find_reserved(struct str name, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_nocase(name, str_of(reserved[i])))
            return reserved[i];
    }
    return NULL;
}

const char *http_header_reserved(struct str name)
{
    return find_reserved(name, RESERVED);
}

static bool has_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (str_is_nocase(request->headers[i].name, name))
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
        if (find_reserved(str_of(header->name), OF_MESSAGE))
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
    AUTO_BUF struct buf plain = {.max = URL_BYTES_MAX + 1};
    /* In one piece from the start: growing would leave copies behind. */
    bool has_room = buf_reserve(&plain, user_info.n + 1);
    int r = url_decode(&plain, user_info);
    if (!memchr(user_info.p, ':', user_info.n))
        buf_putc(&plain, ':');
    if (r == 0) {
        buf_puts(buf, name);
        buf_puts(buf, ": Basic ");
        hash_base64(buf, buf_str(&plain));
        buf_puts(buf, "\r\n");
    }
    if (plain.data)
        str_wipe(plain.data, plain.cap);
    if (r < 0)
        return err_set(err, -EINVAL, "the user name or password in the URL has a broken %% escape");
    return has_room && buf_ok(&plain) ? 0 : err_set(err, -ENOMEM, "out of memory");
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
        return err_set(err, -ENOMEM, "out of memory");
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

/* What callers ask of an answer: single headers, and how long the server wants to be left alone. */

void http_answer_fini(struct http_answer *answer)
{
    buf_fini(&answer->head);
    buf_fini(&answer->body);
    answer->status = 0;
}

struct str http_answer_header(const struct http_answer *answer, const char *name)
{
    size_t n = strlen(name);
    struct str rest = buf_str(&answer->head);
    struct str line;
    while (str_line(&rest, &line)) {
        if (line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0)
            return str_trim((struct str){line.p + n + 1, line.n - n - 1});
    }
    return (struct str){0};
}

/* "Retry-After: 120" or "Retry-After: Sun, 15 Nov 2026 09:30:00 GMT" (RFC 9110, 10.2.3). */
int64_t http_answer_retry_after(const struct http_answer *answer, int64_t now_unix_secs, int64_t max_secs)
{
    struct str value = http_answer_header(answer, "Retry-After");
    uint64_t secs;
    int64_t date;
    int r = num_parse_u64(value, &secs);
    if (r == -ERANGE)
        return max_secs;
    if (r == 0)
        return secs < (uint64_t)max_secs ? (int64_t)secs : max_secs;
    if (value.n == 0 || utc_parse_http(value, now_unix_secs, &date) < 0)
        return -1;
    if (date <= now_unix_secs)
        return 0;
    return date - now_unix_secs < max_secs ? date - now_unix_secs : max_secs;
}

/* One behind the other, each with a NUL behind it; the last one is empty. */
static const char names[] = "200 OK\0"
                            "201 Created\0"
                            "202 Accepted\0"
                            "204 No Content\0"
                            "301 Moved Permanently\0"
                            "302 Found\0"
                            "303 See Other\0"
                            "307 Temporary Redirect\0"
                            "308 Permanent Redirect\0"
                            "400 Bad Request\0"
                            "401 Unauthorized\0"
                            "402 Payment Required\0"
                            "403 Forbidden\0"
                            "404 Not Found\0"
                            "405 Method Not Allowed\0"
                            "406 Not Acceptable\0"
                            "407 Proxy Authentication Required\0"
                            "408 Request Timeout\0"
                            "409 Conflict\0"
                            "410 Gone\0"
                            "411 Length Required\0"
                            "413 Content Too Large\0"
                            "415 Unsupported Media Type\0"
                            "421 Misdirected Request\0"
                            "422 Unprocessable Content\0"
                            "429 Too Many Requests\0"
                            "500 Internal Server Error\0"
                            "501 Not Implemented\0"
                            "502 Bad Gateway\0"
                            "503 Service Unavailable\0"
                            "504 Gateway Timeout\0";

const char *http_status_text(int status)
{
    for (const char *name = names; *name; name += strlen(name) + 1) {
        if (name[0] - '0' == status / 100 && name[1] - '0' == status / 10 % 10 && name[2] - '0' == status % 10)
            return name + STR("200 ").n;
    }
    switch (status / 100) {
    case 2:
        return "Success";
    case 3:
        return "Redirection";
    case 4:
        return "Client Error";
    case 5:
        return "Server Error";
    default:
        return "unknown status";
    }
}

bool http_status_may_pass(int status)
{
    return status == 408 || status == 429 || status / 100 == 5;
}
