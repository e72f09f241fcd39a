/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "s3://bucket/prefix" and an endpoint into the URL of an object, after "Virtual hosting of general purpose buckets" of
 * the S3 user guide. A bucket whose name is no single DNS label, and an endpoint that is a number, leave path style
 * only.
 */
#include "aws/s3_bucket.h"

#include <arpa/inet.h>
#include <errno.h>

#include "base/utf8.h"
#include "net/url.h"

enum { BUCKET_BYTES_MIN = 3, BUCKET_BYTES_MAX = 255, LABEL_BYTES_MAX = 63 };

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_bucket_byte(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

bool s3_is_region(struct str text)
{
    if (text.n == 0 || text.n >= S3_REGION_BYTES)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!is_lower_or_digit(text.p[i]) && text.p[i] != '-')
            return false;
    return true;
}

/* May the bucket stand in front of a host that has a certificate for "*."? */
static bool is_label(struct str bucket)
{
    if (bucket.n > LABEL_BYTES_MAX || bucket.p[0] == '-' || bucket.p[bucket.n - 1] == '-')
        return false;
    for (size_t i = 0; i < bucket.n; i++)
        if (!is_lower_or_digit(bucket.p[i]) && bucket.p[i] != '-')
            return false;
    return true;
}

static int take_bucket(struct str name, char *out, size_t size, struct err *err)
{
    bool is_valid = name.n >= BUCKET_BYTES_MIN && name.n <= BUCKET_BYTES_MAX;
    for (size_t i = 0; i < name.n && is_valid; i++)
        is_valid = is_bucket_byte(name.p[i]);
    if (!is_valid)
        return err_set(err, -EINVAL,
            "S3: the name of a bucket has 3 to 255 letters, digits, dots, hyphens and underscores, as in "
            "s3://bucket/prefix");
    (void)str_copy(name, out, size);
    return 0;
}

static int take_prefix(struct str prefix, char *out, size_t size, struct err *err)
{
    while (prefix.n > 0 && prefix.p[0] == '/')
        prefix = (struct str){prefix.p + 1, prefix.n - 1};
    while (prefix.n > 0 && prefix.p[prefix.n - 1] == '/')
        prefix.n--;
    if (prefix.n >= size)
        return err_set(err, -EINVAL, "S3: the prefix is longer than %zu bytes", size - 1);
    for (struct str rest = prefix; rest.n > 0;) {
        size_t n = utf8_length(rest);
        if (n == 0 || (unsigned char)rest.p[0] < 0x20 || rest.p[0] == 0x7f)
            return err_set(err, -EINVAL, "S3: the prefix holds a control character, or is not UTF-8");
        rest = (struct str){rest.p + n, rest.n - n};
    }
    (void)str_copy(prefix, out, size);
    return 0;
}

/* Neither a name below it nor a certificate for one can be hoped for. */
static bool is_numeric_or_local(const struct url *url)
{
    char host[URL_HOST_MAX + 1];
    struct in_addr address;
    if (url->is_ip6 || url_is_loopback(url))
        return true;
    return str_copy(url->host, host, sizeof(host)) && inet_pton(AF_INET, host, &address) == 1;
}

static int take_endpoint(struct str text, struct s3_bucket *bucket, struct err *err)
{
    struct url url;
    int r = url_parse(text, &url, err);
    if (r < 0)
        return err_wrap(err, "S3 endpoint");
    if (url.has_user_info || memchr(text.p, '?', text.n) || memchr(text.p, '#', text.n))
        return err_set(err, -EINVAL, "S3 endpoint: only scheme, host, port and path are possible");
    while (text.n > 0 && text.p[text.n - 1] == '/')
        text.n--;
    if (!str_copy(text, bucket->endpoint, sizeof(bucket->endpoint)))
        return err_set(err, -EINVAL, "S3 endpoint: longer than %zu bytes", sizeof(bucket->endpoint) - 1);
    bucket->is_path_style |= is_numeric_or_local(&url);
    return 0;
}

int s3_bucket_parse(
    struct str uri, const char *endpoint, bool is_path_style, struct s3_bucket *ret_bucket, struct err *err)
{
    struct err own = {0};
    struct err *told = err ? err : &own;
    if (!str_starts(uri, STR("s3://")))
        return err_set(told, -EINVAL, "S3: expected s3://bucket/prefix");
    struct str name = {uri.p + 5, uri.n - 5};
    const char *slash = memchr(name.p, '/', name.n);
    struct str prefix = slash ? (struct str){slash, (size_t)(uri.p + uri.n - slash)} : STR("");
    name.n -= prefix.n;
    struct s3_bucket bucket = {.is_path_style = is_path_style};
    int r = take_bucket(name, bucket.bucket, sizeof(bucket.bucket), told);
    if (r < 0)
        return r;
    r = take_prefix(prefix, bucket.prefix, sizeof(bucket.prefix), told);
    if (r < 0)
        return r;
    if (endpoint && endpoint[0]) {
        r = take_endpoint(str_of(endpoint), &bucket, told);
        if (r < 0)
            return r;
    }
    bucket.is_path_style |= !is_label(name);
    *ret_bucket = bucket;
    return 0;
}

const char *s3_bucket_domain(struct str region)
{
    return str_starts(region, STR("cn-")) ? ".amazonaws.com.cn" : ".amazonaws.com";
}

/* "https://bucket.s3.region.amazonaws.com" or "https://s3.region.amazonaws.com" */
static void put_amazon(const struct s3_bucket *bucket, struct str region, struct buf *buf)
{
    buf_puts(buf, "https://");
    if (!bucket->is_path_style) {
        buf_puts(buf, bucket->bucket);
        buf_putc(buf, '.');
    }
    buf_puts(buf, "s3");
    if (region.n > 0) {
        buf_putc(buf, '.');
        buf_append(buf, region.p, region.n);
    }
    buf_puts(buf, s3_bucket_domain(region));
}

/* The endpoint, with the bucket in front of its host. */
static void put_endpoint(const struct s3_bucket *bucket, struct buf *buf)
{
    const char *host = strstr(bucket->endpoint, "://");
    if (bucket->is_path_style || !host) {
        buf_puts(buf, bucket->endpoint);
        return;
    }
    host += 3;
    buf_append(buf, bucket->endpoint, (size_t)(host - bucket->endpoint));
    buf_puts(buf, bucket->bucket);
    buf_putc(buf, '.');
    buf_puts(buf, host);
}

void s3_bucket_put_url(const struct s3_bucket *bucket, struct str region, struct str key, struct buf *buf)
{
    if (bucket->endpoint[0])
        put_endpoint(bucket, buf);
    else
        put_amazon(bucket, region, buf);
    buf_putc(buf, '/');
    if (bucket->is_path_style) {
        buf_puts(buf, bucket->bucket);
        if (key.n > 0)
            buf_putc(buf, '/');
    }
    url_encode_path(buf, key);
}

void s3_put_uri(struct buf *buf, const struct s3_bucket *bucket, struct str key)
{
    buf_puts(buf, "s3://");
    buf_puts(buf, bucket->bucket);
    buf_putc(buf, '/');
    buf_append(buf, key.p, key.n);
}
