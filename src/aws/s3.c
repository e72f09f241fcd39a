/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to S3 (REST API, "PutObject" and "HeadBucket"): one signed PUT, and the question where a bucket is. Signed
 * are host, content-type and all x-amz headers.
 */
#include "aws/s3.h"

#include <errno.h>

#include "aws/s3_bucket.h"
#include "aws/s3_error.h"
#include "aws/sigv4.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/utc.h"
#include "codec/hash.h"
#include "net/url.h"

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
    AUTO_BUF struct buf url;
    buf_init(&url, S3_URL_BYTES_MAX);
    s3_bucket_put_url(bucket, STR(""), STR(""), &url);
    struct str text = {url.data, url.len};
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
    headers[put->header_count] = (struct sigv4_header){STR("host"), {put->host.data, put->host.len}};
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
        return err_set(err, -ENOMEM, "S3: the bucket %s: no memory", bucket->bucket);
    struct url url;
    int r = url_parse((struct str){put->url.data, put->url.len}, &url, err);
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
    add_header(put, "Authorization", (struct str){put->authorization.data, put->authorization.len});
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
    struct s3_result result = s3_error_judge(bucket, &answer, now_secs, err);
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
            .url = {put.url.data, put.url.len},
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
