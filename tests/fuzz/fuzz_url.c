/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs: pieces lie in the text, a host holds only what may stand in one, and a URL put together again has the same
 * pieces. Percent-encoding of any bytes goes there and back.
 */
#include "fuzz.h"

#include "net/url.h"

static void check_inside(struct str piece, struct str text)
{
    check(piece.n == 0 || (piece.p >= text.p && piece.p + piece.n <= text.p + text.n));
    for (size_t i = 0; i < piece.n; i++)
        check(piece.p[i] > ' ' && piece.p[i] < 127 && piece.p[i] != '\\');
}

static void check_host(const struct url *url)
{
    check(url->host.n > 0 && url->host.n <= URL_HOST_MAX && url->port > 0);
    for (size_t i = 0; i < url->host.n; i++)
        check(!strchr("@/?#[]%", url->host.p[i]) && (url->is_ip6 || url->host.p[i] != ':'));
    check(url->target.n == 0 || url->target.p[0] == '/' || url->target.p[0] == '?');
}

static void check_again(const struct url *url)
{
    struct buf buf;
    struct url again;
    buf_init(&buf, URL_BYTES_MAX + 16);
    buf_puts(&buf, url->is_https ? "https://" : "http://");
    buf_append(&buf, url->user_info.p, url->user_info.n);
    if (url->has_user_info)
        buf_putc(&buf, '@');
    url_put_host(&buf, url);
    buf_append(&buf, url->target.p, url->target.n);
    check(buf_ok(&buf));
    check(buf.len > URL_BYTES_MAX || url_parse((struct str){buf.data, buf.len}, &again, NULL) == 0);
    if (buf.len <= URL_BYTES_MAX) {
        check(again.is_https == url->is_https && again.is_ip6 == url->is_ip6 && again.port == url->port);
        check(again.has_user_info == url->has_user_info && str_eq(again.user_info, url->user_info));
        check(str_eq(again.host, url->host) && str_eq(again.target, url->target));
        check(url_is_loopback(&again) == url_is_loopback(url));
    }
    buf_fini(&buf);
}

static void check_encoding(struct str text)
{
    struct buf encoded;
    struct buf decoded;
    buf_init(&encoded, text.n * 3 + 1);
    buf_init(&decoded, text.n + 1);
    url_encode(&encoded, text);
    check(buf_ok(&encoded) && url_decode(&decoded, (struct str){encoded.data, encoded.len}) == 0);
    check(str_eq((struct str){decoded.data, decoded.len}, text));
    buf_clear(&encoded);
    buf_clear(&decoded);
    url_encode_path(&encoded, text);
    check(buf_ok(&encoded) && url_decode(&decoded, (struct str){encoded.data, encoded.len}) == 0);
    check(str_eq((struct str){decoded.data, decoded.len}, text));
    buf_clear(&decoded);
    if (url_decode(&decoded, text) < 0)
        check(decoded.len == 0);
    check(buf_ok(&decoded));
    buf_fini(&encoded);
    buf_fini(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct url url;
    struct err err = {0};
    if (url_parse(text, &url, &err) == 0) {
        check_inside(url.user_info, text);
        check_inside(url.host, text);
        check_inside(url.target, text);
        check_host(&url);
        check_again(&url);
    } else {
        check(err.code < 0 && err.msg[0]);
        check_printable(err.msg);
    }
    check_encoding(text);
    free(copy);
    return 0;
}
