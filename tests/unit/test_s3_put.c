/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole PUTs against a server on loopback: what is sent, how it is signed, that a clock is corrected, and that no
 * secret is shown; and what comes of it without an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "aws/s3.h"
#include "aws/sigv4.h"
#include "base/auto.h"
#include "base/clock.h"
#include "loopback.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW_SECS INT64_C(1794735000) /* 2026-11-15T09:30:00Z */
#define SKEWED "<Error><Code>RequestTimeTooSkewed</Code><Message>x</Message></Error>"

#define OBJECT(key_, body_, type_) ((struct s3_object){.key = key_, .body = body_, .content_type = type_})

static struct s3_bucket bucket_of(const char *uri, const char *endpoint)
{
    struct s3_bucket bucket;
    struct err err = {0};
    if (s3_bucket_parse(str_of(uri), endpoint, false, &bucket, &err) < 0)
        fail_msg("%s refused: %s", uri, err.msg);
    return bucket;
}

static int64_t read_fixed(void *context, enum clock_kind kind)
{
    (void)context;
    return kind == CLOCK_KIND_REALTIME ? NOW_SECS * NS_PER_SEC : clock_read(&clock_system, kind);
}

static const struct clock fixed_clock = {.read_ns = read_fixed};

static int64_t soon(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + 10 * NS_PER_SEC;
}

static struct s3_client client_new(void)
{
    const struct http_context context = {.wait = &net_wait_plain, .user_agent = "resource-tracker/test"};
    struct s3_client client = {.clock = &fixed_clock};
    assert_int_equal(http_client_new(&context, &client.http), 0);
    return client;
}

static const struct s3_credentials keys_with_token = {.access_key = "AKIDEXAMPLE",
    .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    .session_token = "TOKEN//of+the+session=="};

static struct s3_bucket bucket_at(const struct loopback *server, const char *path)
{
    char endpoint[64];
    (void)snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u%s", server->port, path);
    struct s3_bucket bucket = bucket_of("s3://metrics/runs", endpoint);
    (void)str_copy(STR("us-east-1"), bucket.region, sizeof(bucket.region));
    return bucket;
}

static void assert_line(const char *head, const char *name, const char *value)
{
    char line[512];
    (void)snprintf(line, sizeof(line), "\r\n%s: %s\r\n", name, value);
    if (!strstr(head, line))
        fail_msg("no %s in %s", line, head);
}

/* The signature that the request must have, put together a second time. */
static void assert_signed(const char *head, unsigned port, const char *path, const char *date, const char *sha256)
{
    char host[32];
    (void)snprintf(host, sizeof(host), "127.0.0.1:%u", port);
    const struct sigv4_header headers[] = {
        {STR("content-type"), STR("application/gzip")},
        {STR("host"), str_of(host)},
        {STR("x-amz-content-sha256"), str_of(sha256)},
        {STR("x-amz-date"), str_of(date)},
        {STR("x-amz-security-token"), str_of(keys_with_token.session_token)},
    };
    const struct sigv4_request request = {
        STR("PUT"), str_of(path), STR(""), headers, COUNT(headers), str_of(sha256), .is_s3 = true};
    const struct sigv4_key key = {str_of(keys_with_token.access_key), str_of(keys_with_token.secret_key),
        STR("us-east-1"), STR("s3"), str_of(date)};
    AUTO_BUF struct buf want;
    buf_init(&want, 2048);
    assert_int_equal(sigv4_sign_request(&request, &key, &want), 0);
    assert_line(head, "Authorization", buf_cstr(&want));
    assert_line(head, "Host", host);
}

static void put_and_corrected_clock(void **state)
{
    (void)state;
    static const char *const answers[] = {
        LOOPBACK_ANSWER("403 Forbidden", "Date: Sun, 15 Nov 2026 10:30:00 GMT\r\n", SKEWED),
        LOOPBACK_ANSWER("200 OK", "ETag: \"x\"\r\n", ""),
    };
    static const char sha256[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; /* hello */
    struct loopback server;
    assert_true(loopback_start(&server, answers, COUNT(answers)));
    struct s3_client client = client_new();
    struct s3_bucket bucket = bucket_at(&server, "/base");
    struct err err = {0};
    struct s3_result first = s3_put(&client, &bucket, &keys_with_token,
        &OBJECT(STR("runs/a b/0.gz"), STR("hello"), "application/gzip"), soon(), &err);
    struct s3_result second = s3_put(&client, &bucket, &keys_with_token,
        &OBJECT(STR("runs/a b/0.gz"), STR("hello"), "application/gzip"), soon(), &err);
    http_client_free(client.http);
    loopback_stop(&server);
    assert_int_equal(first.outcome, S3_AGAIN);
    assert_int_equal(second.outcome, S3_DONE);
    assert_int_equal(server.request_count, 2);
    static const char *const dates[] = {"20261115T093000Z", "20261115T103000Z"};
    for (size_t i = 0; i < 2; i++) {
        const char *head = buf_cstr(&server.requests[i].head);
        assert_int_equal(strncmp(head, "PUT /base/metrics/runs/a%20b/0.gz HTTP/1.1\r\n", 44), 0);
        assert_line(head, "Content-Length", "5");
        assert_line(head, "x-amz-date", dates[i]);
        assert_line(head, "x-amz-content-sha256", sha256);
        assert_line(head, "x-amz-security-token", keys_with_token.session_token);
        assert_signed(head, server.port, "/base/metrics/runs/a%20b/0.gz", dates[i], sha256);
        assert_string_equal(buf_cstr(&server.requests[i].body), "hello");
    }
    loopback_fini(&server);
}

/* Without a token there is no such header; an answer that repeats our secrets is not shown. */
static void put_shows_no_secret(void **state)
{
    (void)state;
    static const char *const answers[] = {
        LOOPBACK_ANSWER("403 Forbidden", "",
            "<Code>AccessDenied</Code><Message>wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY and TOKEN//of+the+session==, "
            "twice TOKEN//of+the+session==</Message>"),
        LOOPBACK_ANSWER("500 Oops", "Retry-After: 7\r\n", ""),
        NULL,
    };
    struct loopback server;
    assert_true(loopback_start(&server, answers, COUNT(answers)));
    struct s3_client client = client_new();
    struct s3_bucket bucket = bucket_at(&server, "");
    struct s3_credentials without = keys_with_token;
    without.session_token[0] = '\0';
    struct err err = {0};
    struct s3_result denied =
        s3_put(&client, &bucket, &keys_with_token, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err);
    assert_int_equal(denied.outcome, S3_DENIED);
    assert_string_equal(err.msg,
        "S3: the bucket metrics answers 403 AccessDenied: **************************************** and "
        "***********************, twice ***********************");
    struct s3_result again = s3_put(&client, &bucket, &without, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err);
    assert_int_equal(again.outcome, S3_AGAIN);
    assert_int_equal(again.retry_after_secs, 7);
    struct s3_result lost = s3_put(&client, &bucket, &without, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err);
    assert_int_equal(lost.outcome, S3_AGAIN);
    assert_int_equal(lost.retry_after_secs, -1);
    assert_int_equal(strncmp(err.msg, "S3: the bucket metrics: ", 24), 0);
    http_client_free(client.http);
    loopback_stop(&server);
    assert_non_null(strstr(buf_cstr(&server.requests[0].head), "x-amz-security-token"));
    assert_null(strstr(buf_cstr(&server.requests[1].head), "x-amz-security-token"));
    assert_line(buf_cstr(&server.requests[1].head), "Content-Length", "0");
    loopback_fini(&server);
}

static int cancel(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)context;
    (void)fd;
    (void)events;
    (void)deadline_ns;
    return -ECANCELED;
}

static void put_without_answer(void **state)
{
    (void)state;
    struct s3_client client = client_new();
    struct err err = {0};
    struct s3_bucket bucket = bucket_of("s3://metrics", "http://127.0.0.1:1");
    assert_int_equal(
        s3_put(&client, &bucket, &keys_with_token, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err).outcome,
        S3_REFUSED);
    assert_non_null(strstr(err.msg, "no region"));
    (void)str_copy(STR("us-east-1"), bucket.region, sizeof(bucket.region));
    assert_int_equal(
        s3_put(&client, &bucket, &keys_with_token, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err).outcome,
        S3_AGAIN);
    assert_int_equal(
        s3_put(&client, &bucket, &keys_with_token, &OBJECT(STR(""), STR(""), "text/csv"), soon(), &err).outcome,
        S3_REFUSED);
    static char key[S3_KEY_BYTES_MAX + 2];
    memset(key, 'k', sizeof(key) - 1);
    assert_int_equal(
        s3_put(&client, &bucket, &keys_with_token, &OBJECT(str_of(key), STR(""), "text/csv"), soon(), &err).outcome,
        S3_REFUSED);
    struct s3_bucket foreign = bucket_of("s3://metrics", "http://192.0.2.1");
    (void)str_copy(STR("us-east-1"), foreign.region, sizeof(foreign.region));
    assert_int_equal(
        s3_put(&client, &foreign, &keys_with_token, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err).outcome,
        S3_REFUSED);
    http_client_free(client.http);

    static const struct net_wait off = {.until = cancel};
    const struct http_context context = {.wait = &off, .user_agent = "t", .allow_http = true};
    assert_int_equal(http_client_new(&context, &client.http), 0);
    assert_int_equal(
        s3_put(&client, &foreign, &keys_with_token, &OBJECT(STR("k"), STR(""), "text/csv"), soon(), &err).outcome,
        S3_CANCELED);
    struct s3_bucket secure = bucket_of("s3://metrics", "https://192.0.2.1");
    assert_int_equal(s3_find_region(&client, &secure, soon()), -ECANCELED);
    http_client_free(client.http);
}

static void regions_found(void **state)
{
    (void)state;
    struct s3_client client = client_new();
    struct s3_bucket sure = bucket_of("s3://metrics", "https://127.0.0.1:1");
    (void)str_copy(STR("eu-west-1"), sure.region, sizeof(sure.region));
    sure.is_region_sure = true;
    assert_int_equal(s3_find_region(&client, &sure, soon()), 0);
    assert_string_equal(sure.region, "eu-west-1");
    /* Nothing answers there, and plain http is not asked. */
    static const char *const endpoints[] = {"https://127.0.0.1:1", "http://127.0.0.1:1"};
    for (size_t i = 0; i < COUNT(endpoints); i++) {
        struct s3_bucket bucket = bucket_of("s3://metrics", endpoints[i]);
        assert_int_equal(s3_find_region(&client, &bucket, soon()), 0);
        assert_string_equal(bucket.region, "us-east-1");
        assert_false(bucket.is_region_sure);
    }
    http_client_free(client.http);
}

static void wiped(void **state)
{
    (void)state;
    static const char zeros[sizeof(struct s3_credentials)];
    struct s3_credentials credentials = keys_with_token;
    s3_credentials_wipe(&credentials);
    assert_memory_equal(&credentials, zeros, sizeof(zeros));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_and_corrected_clock),
        cmocka_unit_test(put_shows_no_secret),
        cmocka_unit_test(put_without_answer),
        cmocka_unit_test(regions_found),
        cmocka_unit_test(wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
