/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to S3 (REST API, "PutObject" and "HeadBucket"): one signed PUT, and the question where a bucket is. Signed
 * are host, content-type and all x-amz headers.
 */
#include "aws/s3.h"

#include <arpa/inet.h>
#include <errno.h>

#include "aws/aws_internal.h"
#include "aws/sigv4.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utc.h"
#include "codec/hash.h"
#include "net/url.h"

enum { BUCKET_BYTES_MIN = 3, BUCKET_BYTES_MAX = 255, LABEL_BYTES_MAX = 63 };

static bool is_bucket_byte(char c)
{
    return ascii_is_alnum(c) || c == '.' || c == '_' || c == '-';
}

static bool has_label_bytes_only(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!ascii_is_lower(text.p[i]) && !ascii_is_digit(text.p[i]) && text.p[i] != '-')
            return false;
    return true;
}

bool s3_is_region(struct str text)
{
    return text.n > 0 && text.n < S3_REGION_BYTES && has_label_bytes_only(text);
}

/* May the bucket stand in front of a host that has a certificate for "*."? */
static bool is_label(struct str bucket)
{
    return bucket.n <= LABEL_BYTES_MAX && bucket.p[0] != '-' && bucket.p[bucket.n - 1] != '-' &&
           has_label_bytes_only(bucket);
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
    if (!text_is_plain(prefix))
        return err_set(err, -EINVAL, "S3: the prefix holds a control character, or is not UTF-8");
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
    struct err *out = err ? err : &own;
    if (!str_starts(uri, STR("s3://")))
        return err_set(out, -EINVAL, "S3: expected s3://bucket/prefix");
    struct str name = {uri.p + 5, uri.n - 5};
    const char *slash = memchr(name.p, '/', name.n);
    struct str prefix = slash ? (struct str){slash, (size_t)(uri.p + uri.n - slash)} : STR("");
    name.n -= prefix.n;
    struct s3_bucket bucket = {.is_path_style = is_path_style};
    int r = take_bucket(name, bucket.bucket, sizeof(bucket.bucket), out);
    if (r < 0)
        return r;
    r = take_prefix(prefix, bucket.prefix, sizeof(bucket.prefix), out);
    if (r < 0)
        return r;
    if (endpoint && endpoint[0]) {
        r = take_endpoint(str_of(endpoint), &bucket, out);
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

enum { HEADERS_MAX = 5, AUTHORIZATION_BYTES_MAX = 2048, ANSWER_BYTES_MAX = 64 * 1024 };
#define FIND_REGION_NS (10 * NS_PER_SEC)

void s3_credentials_wipe(struct s3_credentials *credentials)
{
    str_wipe((char *)credentials, sizeof(*credentials));
}

static void take_region(struct s3_bucket *bucket, struct str region, bool is_sure)
{
    (void)str_copy(region, bucket->region, sizeof(bucket->region));
    bucket->is_region_sure = is_sure;
}

int s3_find_region(struct s3_client *client, struct s3_bucket *bucket, int64_t deadline_ns)
{
    if (bucket->is_region_sure)
        return 0;
    take_region(bucket, bucket->endpoint[0] ? STR("us-east-1") : STR("eu-central-1"), false);
    AUTO_BUF struct buf url = {.max = S3_URL_BYTES_MAX};
    s3_bucket_put_url(bucket, STR(""), STR(""), &url);
    struct str text = buf_str(&url);
    if (!buf_ok(&url) || !str_starts(text, STR("https://")))
        return 0;
    int64_t soon_ns = clock_read(client->clock, CLOCK_KIND_MONOTONIC) + FIND_REGION_NS;
    struct http_request request = {
        .method = "HEAD",
        .url = text,
        .is_repeatable = true,
        .deadline_ns = deadline_ns < soon_ns ? deadline_ns : soon_ns,
        .answer_max = ANSWER_BYTES_MAX,
    };
    struct http_answer answer;
    struct err ignored = {0};
    int r = http_send(client->http, &request, &answer, &ignored);
    if (r < 0)
        return r == -ECANCELED ? r : 0;
    struct str region = http_answer_header(&answer, "x-amz-bucket-region");
    if (s3_is_region(region))
        take_region(bucket, region, true);
    http_answer_fini(&answer);
    return 0;
}

/* One signed request; everything its headers point at. */
struct put {
    struct buf url, host, authorization;
    char sha256[HASH_HEX_BYTES], amz_date[UTC_BASIC_BYTES];
    struct http_header headers[HEADERS_MAX];
    size_t header_count;
};

static void put_fini(struct put *put)
{
    if (put->authorization.cap > 0)
        str_wipe(put->authorization.data, put->authorization.cap);
    buf_fini(&put->url);
    buf_fini(&put->host);
    buf_fini(&put->authorization);
}

static void add_header(struct put *put, const char *name, struct str value)
{
    put->headers[put->header_count++] = (struct http_header){name, value};
}

/* Signs what is in *put already, and the host. */
static int sign(
    struct put *put, const struct url *url, const struct s3_bucket *bucket, const struct s3_credentials *credentials)
{
    struct sigv4_header headers[HEADERS_MAX + 1];
    for (size_t i = 0; i < put->header_count; i++)
        headers[i] = (struct sigv4_header){str_of(put->headers[i].name), put->headers[i].value};
    headers[put->header_count] = (struct sigv4_header){STR("host"), buf_str(&put->host)};
    struct sigv4_request request = {
        .method = STR("PUT"),
        .path = url->target,
        .headers = headers,
        .header_count = put->header_count + 1,
        .payload_sha256 = str_of(put->sha256),
        .is_s3 = true,
    };
    struct sigv4_key key = {
        .access_key = str_of(credentials->access_key),
        .secret_key = str_of(credentials->secret_key),
        .region = str_of(bucket->region),
        .service = STR("s3"),
        .amz_date = str_of(put->amz_date),
    };
    return sigv4_sign_request(&request, &key, &put->authorization);
}

/* Address, hash, date and signature. 0 or a negative errno with a message. */
static int prepare(struct put *put, const struct s3_bucket *bucket, const struct s3_credentials *credentials,
    const struct s3_object *object, struct err *err)
{
    s3_bucket_put_url(bucket, str_of(bucket->region), object->key, &put->url);
    if (!buf_ok(&put->url))
        return err_set(err, -ENOMEM, "S3: the bucket %s: out of memory", bucket->bucket);
    struct url url;
    int r = url_parse(buf_str(&put->url), &url, err);
    if (r < 0) {
        (void)err_wrap(err, "S3: the bucket %s", bucket->bucket);
        return r;
    }
    url_put_host(&put->host, &url);
    uint8_t hash[HASH_BYTES];
    r = hash_sha256(object->body, hash);
    if (r == 0) {
        hash_hex(hash, put->sha256);
        add_header(put, "x-amz-content-sha256", str_of(put->sha256));
        add_header(put, "x-amz-date", str_of(put->amz_date));
        if (credentials->session_token[0])
            add_header(put, "x-amz-security-token", str_of(credentials->session_token));
        r = buf_ok(&put->host) ? sign(put, &url, bucket, credentials) : -ENOMEM;
    }
    if (r < 0)
        return err_sys(err, r, "S3: the bucket %s: the request cannot be signed", bucket->bucket);
    add_header(put, "Authorization", buf_str(&put->authorization));
    return 0;
}

/* An answer may repeat what we sent; none of it shall reach a message. */
static void hide(struct buf *body, struct str secret)
{
    char *at = body->data;
    while (secret.n > 0 && at && (at = memmem(at, body->len - (size_t)(at - body->data), secret.p, secret.n)) != NULL) {
        memset(at, '*', secret.n);
        at += secret.n;
    }
}

static void hide_secrets(struct http_answer *answer, const struct put *put, const struct s3_credentials *credentials)
{
    static const struct str mark = {"Signature=", 10};
    hide(&answer->body, str_of(credentials->secret_key));
    hide(&answer->body, str_of(credentials->session_token));
    const char *signature = memmem(put->authorization.data, put->authorization.len, mark.p, mark.n);
    if (signature) {
        signature += mark.n;
        hide(&answer->body,
            (struct str){signature, put->authorization.len - (size_t)(signature - put->authorization.data)});
    }
}

/* What it means that there was no answer, or no request. */
static struct s3_result no_answer(int code)
{
    struct s3_result result = {.outcome = S3_AGAIN, .retry_after_secs = -1};
    if (code == -ECANCELED)
        result.outcome = S3_CANCELED;
    else if (code == -EINVAL || code == -EPERM || code == -E2BIG)
        result.outcome = S3_REFUSED;
    return result;
}

static struct s3_result send_put(struct s3_client *client, struct s3_bucket *bucket,
    const struct s3_credentials *credentials, struct put *put, struct http_request *request, struct err *err)
{
    struct http_answer answer;
    int r = http_send(client->http, request, &answer, err);
    if (r < 0) {
        (void)err_wrap(err, "S3: the bucket %s", bucket->bucket);
        return no_answer(r);
    }
    hide_secrets(&answer, put, credentials);
    int64_t now_secs = clock_read(client->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    struct s3_result result = s3_error_classify(bucket, &answer, now_secs, err);
    http_answer_fini(&answer);
    return result;
}

struct s3_result s3_put(struct s3_client *client, struct s3_bucket *bucket, const struct s3_credentials *credentials,
    const struct s3_object *object, int64_t deadline_ns, struct err *err)
{
    if (object->key.n == 0 || object->key.n > S3_KEY_BYTES_MAX)
        return no_answer(err_set(err, -EINVAL, "S3: the bucket %s: a key has 1 to %d bytes, this one %zu",
            bucket->bucket, S3_KEY_BYTES_MAX, object->key.n));
    if (!s3_is_region(str_of(bucket->region)))
        return no_answer(err_set(err, -EINVAL, "S3: the bucket %s: no region", bucket->bucket));
    struct put put = {.header_count = 0};
    buf_init(&put.url, S3_URL_BYTES_MAX);
    buf_init(&put.host, S3_URL_BYTES_MAX);
    buf_init(&put.authorization, AUTHORIZATION_BYTES_MAX);
    int64_t now_secs = clock_read(client->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    utc_format_basic(now_secs + bucket->skew_secs, put.amz_date);
    add_header(&put, "Content-Type", str_of(object->content_type));
    struct s3_result result;
    int r = prepare(&put, bucket, credentials, object, err);
    if (r < 0) {
        result = no_answer(r);
    } else {
        struct http_request request = {
            .method = "PUT",
            .url = buf_str(&put.url),
            .headers = put.headers,
            .header_count = put.header_count,
            .body = object->body,
            .has_body = true,
            .is_repeatable = true,
            .deadline_ns = deadline_ns,
            .answer_max = ANSWER_BYTES_MAX,
        };
        result = send_put(client, bucket, credentials, &put, &request, err);
    }
    put_fini(&put);
    return result;
}
