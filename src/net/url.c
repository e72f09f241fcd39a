/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "https://user:password@host:8443/path?query#fragment" (RFC 3986, 3). User info ends at the last '@' before the path,
 * as other programs take it; names and addresses of hosts are checked here, so that no caller meets odd ones.
 */
#include "net/url.h"

#include <arpa/inet.h>
#include <errno.h>

#include "base/num.h"
#include "base/str.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443, PORT_MAX = 65535 };

static struct str behind(struct str text, size_t n)
{
    return (struct str){text.p + n, text.n - n};
}

/* How many bytes stand before the first of these. */
static size_t length_before(struct str text, const char *marks)
{
    size_t n = 0;
    while (n < text.n && !strchr(marks, text.p[n]))
        n++;
    return n;
}

static int check_bytes(struct str text, struct err *err)
{
    if (text.n > URL_BYTES_MAX)
        return err_set(err, -EINVAL, "the URL is longer than %d bytes", URL_BYTES_MAX);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c <= ' ' || c > '~' || c == '\\')
            return err_set(err, -EINVAL,
                "the URL holds a blank, a backslash, a control character or one outside of ASCII at byte %zu", i + 1);
    }
    return 0;
}

static bool is_ip6(struct str host, struct in6_addr *ret_address)
{
    char text[INET6_ADDRSTRLEN];
    return str_copy(host, text, sizeof(text)) && inet_pton(AF_INET6, text, ret_address) == 1;
}

/* Takes the host off the front of what stands between user info and path. */
static int parse_bracketed(struct str *rest, struct url *url, struct err *err)
{
    struct in6_addr address;
    size_t n = length_before(*rest, "]");
    if (n == rest->n)
        return err_set(err, -EINVAL, "no ']' behind the address");
    url->is_ip6 = true;
    url->host = (struct str){rest->p + 1, n - 1};
    if (!is_ip6(url->host, &address))
        return err_set(err, -EINVAL, "no IPv6 address in the brackets (a zone is not allowed)");
    *rest = behind(*rest, n + 1);
    return 0;
}

static int parse_name(struct str *rest, struct url *url, struct err *err)
{
    struct str host = {rest->p, length_before(*rest, ":")};
    if (host.n == 0)
        return err_set(err, -EINVAL, "no host");
    if (host.n > URL_HOST_MAX)
        return err_set(err, -EINVAL, "the host's name is longer than %d bytes", URL_HOST_MAX);
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        if (c == '.' && (i == 0 || host.p[i - 1] == '.'))
            return err_set(err, -EINVAL, "an empty part in the host's name");
        if (!ascii_is_alnum(c) && c != '.' && c != '-' && c != '_')
            return err_set(err, -EINVAL, "a character that cannot stand in a host's name");
    }
    url->host = host;
    *rest = behind(*rest, host.n);
    return 0;
}

/* ":8443"; without digits it is as if there were no port (RFC 3986, 3.2.3). */
static int parse_port(struct str text, struct url *url, struct err *err)
{
    uint64_t port = url->is_https ? PORT_HTTPS : PORT_HTTP;
    if (text.n > 0 && text.p[0] != ':')
        return err_set(err, -EINVAL, "unexpected text behind the host's address");
    if (text.n > 1 && (num_parse_u64(behind(text, 1), &port) < 0 || port < 1 || port > PORT_MAX))
        return err_set(err, -EINVAL, "the port is not a number between 1 and %d", PORT_MAX);
    url->port = (uint16_t)port;
    return 0;
}

static int parse_authority(struct str text, struct url *url, struct err *err)
{
    const char *at = text.n > 0 ? memrchr(text.p, '@', text.n) : NULL;
    if (at) {
        url->has_user_info = true;
        url->user_info = (struct str){text.p, (size_t)(at - text.p)};
        text = behind(text, url->user_info.n + 1);
    }
    bool bracketed = text.n > 0 && text.p[0] == '[';
    int r = bracketed ? parse_bracketed(&text, url, err) : parse_name(&text, url, err);
    return r < 0 ? r : parse_port(text, url, err);
}

int url_parse(struct str text, struct url *ret_url, struct err *err)
{
    const struct str http = STR("http://");
    const struct str https = STR("https://");
    int r = check_bytes(text, err);
    if (r < 0)
        return r;
    struct url url = {.is_https = str_starts_nocase(text, https)};
    if (!url.is_https && !str_starts_nocase(text, http))
        return err_set(err, -EINVAL, "it must begin with http:// or https://");
    text = behind(text, url.is_https ? https.n : http.n);
    struct str authority = {text.p, length_before(text, "/?#")};
    r = parse_authority(authority, &url, err);
    if (r < 0)
        return r;
    text = behind(text, authority.n);
    url.target = (struct str){text.p, length_before(text, "#")};
    *ret_url = url;
    return 0;
}

static bool is_ip4_loopback(struct str host)
{
    struct in_addr address;
    char text[INET_ADDRSTRLEN];
    return str_copy(host, text, sizeof(text)) && inet_pton(AF_INET, text, &address) == 1 &&
           ntohl(address.s_addr) >> 24 == 127;
}

bool url_is_loopback(const struct url *url)
{
    const struct str name = STR("localhost");
    struct str host = url->host;
    struct in6_addr address;
    if (url->is_ip6)
        return is_ip6(host, &address) && memcmp(&address, &in6addr_loopback, sizeof(address)) == 0;
    if (is_ip4_loopback(host))
        return true;
    if (host.n > 0 && host.p[host.n - 1] == '.')
        host.n--;
    if (host.n <= name.n)
        return str_eq_nocase(host, name);
    struct str last = behind(host, host.n - name.n);
    return last.p[-1] == '.' && str_eq_nocase(last, name);
}

void url_put_host(struct buf *buf, const struct url *url)
{
    if (url->is_ip6)
        buf_putc(buf, '[');
    buf_append(buf, url->host.p, url->host.n);
    if (url->is_ip6)
        buf_putc(buf, ']');
    if (url->port != (url->is_https ? PORT_HTTPS : PORT_HTTP)) {
        buf_putc(buf, ':');
        num_put_u64(buf, url->port);
    }
}

static void encode(struct buf *buf, struct str text, const char *kept)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (ascii_is_alnum((char)c) || (c != '\0' && strchr(kept, c))) {
            buf_putc(buf, (char)c);
        } else {
            const char escape[] = {'%', digits[c >> 4], digits[c & 15]};
            buf_append(buf, escape, sizeof(escape));
        }
    }
}

void url_encode(struct buf *buf, struct str text)
{
    encode(buf, text, "-._~");
}

void url_encode_path(struct buf *buf, struct str text)
{
    encode(buf, text, "-._~/");
}

int url_decode(struct buf *buf, struct str text)
{
    size_t before = buf->len;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%') {
            int high = text.n - i > 2 ? ascii_hex_value(text.p[i + 1]) : -1;
            int low = text.n - i > 2 ? ascii_hex_value(text.p[i + 2]) : -1;
            if (high < 0 || low < 0) {
                buf->len = before;
                return -EINVAL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        buf_putc(buf, c);
    }
    return 0;
}
