/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where objects go (URLs of every style, the encoding of keys), what answers mean, and the two corrections (clock,
 * region). Requests as they go out are in test_s3_put.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "aws/aws_internal.h"
#include "aws/s3.h"
#include "base/auto.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW_SECS INT64_C(1794735000) /* 2026-11-15T09:30:00Z */

static struct s3_bucket bucket_of(const char *uri, const char *endpoint, bool is_path_style)
{
    struct s3_bucket bucket;
    struct err err = {0};
    if (s3_bucket_parse(str_of(uri), endpoint, is_path_style, &bucket, &err) < 0)
        fail_msg("%s refused: %s", uri, err.msg);
    return bucket;
}

static void urls(void **state)
{
    (void)state;
    static const struct {
        const char *uri, *endpoint;
        bool is_path_style;
        const char *region, *key, *want;
    } cases[] = {
        {"s3://metrics/p", NULL, false, "eu-west-1", "p/a", "https://metrics.s3.eu-west-1.amazonaws.com/p/a"},
        {"s3://metrics", "", false, "us-east-1", "a", "https://metrics.s3.us-east-1.amazonaws.com/a"},
        {"s3://metrics", NULL, false, "", "", "https://metrics.s3.amazonaws.com/"},
        {"s3://metrics", NULL, true, "eu-west-1", "a", "https://s3.eu-west-1.amazonaws.com/metrics/a"},
        {"s3://metrics", NULL, false, "cn-north-1", "a", "https://metrics.s3.cn-north-1.amazonaws.com.cn/a"},
        {"s3://my.dotted.bucket", NULL, false, "eu-west-1", "a",
            "https://s3.eu-west-1.amazonaws.com/my.dotted.bucket/a"},
        {"s3://my.dotted.bucket", NULL, false, "", "", "https://s3.amazonaws.com/my.dotted.bucket"},
        {"s3://Legacy_Name", NULL, false, "us-east-1", "a", "https://s3.us-east-1.amazonaws.com/Legacy_Name/a"},
        {"s3://-edge", NULL, false, "us-east-1", "a", "https://s3.us-east-1.amazonaws.com/-edge/a"},
        {"s3://metrics", "https://r2.example.com", false, "auto", "a", "https://metrics.r2.example.com/a"},
        {"s3://metrics", "https://r2.example.com:8443/", false, "auto", "a", "https://metrics.r2.example.com:8443/a"},
        {"s3://metrics", "https://h.example/s3/v1//", false, "x", "a", "https://metrics.h.example/s3/v1/a"},
        {"s3://metrics", "https://h.example/s3/v1", true, "x", "a b", "https://h.example/s3/v1/metrics/a%20b"},
        {"s3://my.bucket", "https://h.example", false, "x", "a", "https://h.example/my.bucket/a"},
        {"s3://metrics", "http://127.0.0.1:9000", false, "x", "a", "http://127.0.0.1:9000/metrics/a"},
        {"s3://metrics", "http://10.1.2.3", false, "x", "a", "http://10.1.2.3/metrics/a"},
        {"s3://metrics", "http://localhost:9000", false, "x", "a", "http://localhost:9000/metrics/a"},
        {"s3://metrics", "http://[fd00::1]:9000", false, "x", "a", "http://[fd00::1]:9000/metrics/a"},
        {"s3://metrics", "http://[::1]/", false, "x", "", "http://[::1]/metrics"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct s3_bucket bucket = bucket_of(cases[i].uri, cases[i].endpoint, cases[i].is_path_style);
        AUTO_BUF struct buf url;
        buf_init(&url, S3_URL_BYTES_MAX);
        s3_bucket_put_url(&bucket, str_of(cases[i].region), str_of(cases[i].key), &url);
        assert_string_equal(buf_cstr(&url), cases[i].want);
    }
}

static void keys(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a b", "a%20b"},
        {"a+b", "a%2Bb"},
        {"a~b-c_d.e", "a~b-c_d.e"},
        {"\xc3\xa9\xe2\x82\xac", "%C3%A9%E2%82%AC"},
        {"a//b/", "a//b/"},
        {"100%/x?y#z&=", "100%25/x%3Fy%23z%26%3D"},
        {"a/../b/.", "a/../b/."},
    };
    struct s3_bucket bucket = bucket_of("s3://metrics", "https://h.example", true);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUF struct buf url;
        buf_init(&url, S3_URL_BYTES_MAX);
        s3_bucket_put_url(&bucket, STR("x"), str_of(cases[i][0]), &url);
        assert_int_equal(strncmp(buf_cstr(&url), "https://h.example/metrics/", 26), 0);
        assert_string_equal(buf_cstr(&url) + 26, cases[i][1]);
    }
    AUTO_BUF struct buf uri;
    buf_init(&uri, S3_URL_BYTES_MAX);
    s3_put_uri(&uri, &bucket, STR("a b/c"));
    assert_string_equal(buf_cstr(&uri), "s3://metrics/a b/c");
}

static void prefixes(void **state)
{
    (void)state;
    assert_string_equal(bucket_of("s3://metrics", NULL, false).prefix, "");
    assert_string_equal(bucket_of("s3://metrics/", NULL, false).prefix, "");
    assert_string_equal(bucket_of("s3://metrics//runs/ci//", NULL, false).prefix, "runs/ci");
    assert_string_equal(bucket_of("s3://metrics/a//b \xc3\xa9", NULL, false).prefix, "a//b \xc3\xa9");
    struct s3_bucket bucket = bucket_of("s3://metrics/x", NULL, false);
    assert_string_equal(bucket.bucket, "metrics");
    assert_string_equal(bucket.region, "");
    assert_string_equal(bucket.endpoint, "");
    assert_false(bucket.is_region_sure);
    assert_int_equal(bucket.skew_secs, 0);
}

static void refused_places(void **state)
{
    (void)state;
    static char long_name[] =
        "s3://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const struct {
        const char *uri, *endpoint;
    } cases[] = {
        {"", NULL},
        {"metrics/p", NULL},
        {"S3://metrics", NULL},
        {"https://metrics", NULL},
        {"s3://", NULL},
        {"s3:///p", NULL},
        {"s3://ab", NULL},
        {"s3://a b c", NULL},
        {"s3://user@metrics", NULL},
        {"s3://metrics:80", NULL},
        {long_name, NULL},
        {"s3://metrics/a\nb", NULL},
        {"s3://metrics/a\x7f", NULL},
        {"s3://metrics/\xff", NULL},
        {"s3://metrics", "h.example"},
        {"s3://metrics", "ftp://h.example"},
        {"s3://metrics", "https://"},
        {"s3://metrics", "https://user:secret@h.example"},
        {"s3://metrics", "https://h.example/?x=1"},
        {"s3://metrics", "https://h.example/#x"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct s3_bucket bucket = {.skew_secs = 7};
        struct err err = {0};
        assert_int_equal(s3_bucket_parse(str_of(cases[i].uri), cases[i].endpoint, false, &bucket, &err), -EINVAL);
        assert_true(err.msg[0] != '\0');
        assert_null(strstr(err.msg, "secret"));
        assert_int_equal(bucket.skew_secs, 7);
    }
    struct s3_bucket bucket;
    assert_int_equal(s3_bucket_parse(STR("s3://metrics"), "h.example", false, &bucket, NULL), -EINVAL);
    static char long_prefix[5 + 7 + 1 + S3_KEY_BYTES_MAX + 1];
    memset(long_prefix, 'p', sizeof(long_prefix) - 1);
    memcpy(long_prefix, "s3://metrics/", 13);
    assert_int_equal(s3_bucket_parse(str_of(long_prefix), NULL, false, &bucket, NULL), -EINVAL);
    long_prefix[sizeof(long_prefix) - 2] = '\0';
    assert_int_equal(s3_bucket_parse(str_of(long_prefix), NULL, false, &bucket, NULL), 0);
    assert_int_equal(strlen(bucket.prefix), S3_KEY_BYTES_MAX - 1);
}

static void regions(void **state)
{
    (void)state;
    assert_true(s3_is_region(STR("eu-central-1")));
    assert_true(s3_is_region(STR("auto")));
    assert_true(s3_is_region(STR("abcdefghijklmnopqrstuvwxyz012345")));
    assert_false(s3_is_region(STR("abcdefghijklmnopqrstuvwxyz0123456")));
    static const char *const odd[] = {"", "EU", "eu.central", "eu central", "eu/../x", "evil.com/", "eu_1", "\xc3\xa9"};
    for (size_t i = 0; i < COUNT(odd); i++)
        assert_false(s3_is_region(str_of(odd[i])));
}

static void errors_read(void **state)
{
    (void)state;
    struct s3_error error;
    s3_error_read(STR("<?xml version=\"1.0\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region "
                      "'us-east-1' is wrong; expecting &apos;eu-west-1&apos; &amp; &lt;b&gt;</Message>"
                      "<Region>eu-west-1</Region></Error>"),
        &error);
    assert_string_equal(error.code, "AuthorizationHeaderMalformed");
    assert_string_equal(error.message, "the region 'us-east-1' is wrong; expecting 'eu-west-1' & <b>");
    assert_string_equal(error.region, "eu-west-1");

    s3_error_read(STR("<Error xmlns='x'><Code a='b'> AccessDenied\r\n</Code><Message/><Codes>no</Codes>"), &error);
    assert_string_equal(error.code, "AccessDenied");
    assert_string_equal(error.message, "");

    s3_error_read(
        STR("<Message>a\x1b[31m\nb\xff\xc3\xa9</Message><Code>no code!</Code><Region>../evil</Region>"), &error);
    assert_string_equal(error.message, "a [31m b?\xc3\xa9");
    assert_string_equal(error.code, "");
    assert_string_equal(error.region, "");

    s3_error_read(STR("<Message>a\xc2\x9b"
                      "31m\xe2\x80\xae"
                      "b\xe2\x81\xa6 \xe2\x80\xa6</Message>"),
        &error);
    assert_string_equal(error.message, "a 31m b  \xe2\x80\xa6");

    static const char *const nothing[] = {"", "<", "<Code", "<Code>", "<Code>x", "Code>x</Code>", "<html>Code</html>",
        "<Code<Message", "<code>x</code>", "<<<<>>>>", "<Code><b>x</b></Code>"};
    for (size_t i = 0; i < COUNT(nothing); i++) {
        s3_error_read(str_of(nothing[i]), &error);
        assert_string_equal(error.code, "");
        assert_string_equal(error.message, "");
    }
    char out[4];
    assert_false(s3_error_decode(STR("ab\xc3\xa9"), out, sizeof(out)));
    assert_string_equal(out, "ab");
    assert_true(s3_error_decode(STR("a\xc3\xa9"), out, sizeof(out)));
    assert_true(s3_error_decode(STR("&lt;&#39;&"), out, sizeof(out)));
    assert_string_equal(out, "<'&");
}

static struct http_answer answer_of(int status, const char *head, const char *body)
{
    struct http_answer answer = {.status = status};
    buf_init(&answer.head, 4096);
    buf_init(&answer.body, 4096);
    buf_puts(&answer.head, head);
    buf_puts(&answer.body, body);
    return answer;
}

static struct s3_result classify(
    struct s3_bucket *bucket, int status, const char *head, const char *body, struct err *err)
{
    struct http_answer answer = answer_of(status, head, body);
    struct s3_result result = s3_error_classify(bucket, &answer, NOW_SECS, err);
    http_answer_fini(&answer);
    return result;
}

static void outcomes(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *code;
        enum s3_outcome want;
    } cases[] = {
        {200, "", S3_DONE},
        {201, "", S3_DONE},
        {204, "", S3_AGAIN},
        {301, "PermanentRedirect", S3_REFUSED},
        {307, "TemporaryRedirect", S3_REFUSED},
        {400, "MalformedXML", S3_REFUSED},
        {400, "ExpiredToken", S3_EXPIRED},
        {400, "InvalidToken", S3_EXPIRED},
        {400, "TokenRefreshRequired", S3_EXPIRED},
        {400, "RequestTimeout", S3_AGAIN},
        {401, "Unauthorized", S3_REFUSED},
        {403, "", S3_DENIED},
        {403, "AccessDenied", S3_DENIED},
        {403, "SignatureDoesNotMatch", S3_DENIED},
        {403, "InvalidAccessKeyId", S3_EXPIRED},
        {404, "InvalidAccessKeyId", S3_REFUSED},
        {403, "ExpiredToken", S3_EXPIRED},
        {403, "ExpiredTokenException", S3_EXPIRED},
        {404, "NoSuchBucket", S3_REFUSED},
        {404, "ExpiredToken", S3_REFUSED},
        {405, "MethodNotAllowed", S3_REFUSED},
        {408, "", S3_AGAIN},
        {409, "OperationAborted", S3_AGAIN},
        {409, "BucketNotEmpty", S3_REFUSED},
        {411, "MissingContentLength", S3_REFUSED},
        {429, "", S3_AGAIN},
        {500, "InternalError", S3_AGAIN},
        {501, "NotImplemented", S3_AGAIN},
        {503, "SlowDown", S3_AGAIN},
        {599, "", S3_AGAIN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct s3_bucket bucket = bucket_of("s3://metrics", NULL, false);
        char body[128];
        (void)snprintf(body, sizeof(body), "<Error><Code>%s</Code></Error>", cases[i].code);
        struct err err = {0};
        struct s3_result result = classify(&bucket, cases[i].status, "ETag: \"x\"\n", body, &err);
        if (result.outcome != cases[i].want)
            fail_msg("%d %s gives %d", cases[i].status, cases[i].code, (int)result.outcome);
        assert_int_equal(result.retry_after_secs, -1);
        assert_int_equal(err.code != 0, result.outcome != S3_DONE);
        assert_int_equal(bucket.skew_secs, 0);
    }
}

static void words(void **state)
{
    (void)state;
    struct s3_bucket bucket = bucket_of("s3://metrics", NULL, false);
    struct err err = {0};
    (void)classify(&bucket, 403, "", "<Code>AccessDenied</Code><Message>Access Denied</Message>", &err);
    assert_string_equal(err.msg, "S3: the bucket metrics answers 403 AccessDenied: Access Denied");
    assert_int_equal(err.code, -EACCES);
    (void)classify(&bucket, 404, "", "<html>not here</html>", &err);
    assert_string_equal(err.msg, "S3: the bucket metrics answers 404 Not Found");
    assert_int_equal(err.code, -EPROTO);
    struct s3_result result = classify(&bucket, 503, "Retry-After: 30\n", "<Code>SlowDown</Code>", &err);
    assert_string_equal(err.msg, "S3: the bucket metrics answers 503 SlowDown");
    assert_int_equal(err.code, -EAGAIN);
    assert_int_equal(result.retry_after_secs, 30);
    assert_int_equal(classify(&bucket, 503, "Retry-After: 99999999\n", "", &err).retry_after_secs, 3600);
    assert_int_equal(classify(&bucket, 403, "", "", NULL).outcome, S3_DENIED);
}

/* What answers 200 to everything, a portal or a wrong port, has stored nothing. */
static void success_of_something_else(void **state)
{
    (void)state;
    static const int statuses[] = {200, 201};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        struct s3_bucket bucket = bucket_of("s3://metrics", NULL, false);
        struct err err = {0};
        struct s3_result result =
            classify(&bucket, statuses[i], "Content-Type: text/html\n", "<html><title>Welcome</title></html>", &err);
        assert_int_equal(result.outcome, S3_AGAIN);
        assert_int_equal(err.code, -EAGAIN);
        assert_non_null(strstr(err.msg, "without an ETag"));
        assert_int_equal(classify(&bucket, statuses[i], "etag: \"d41d8cd9\"\n", "", &err).outcome, S3_DONE);
    }
}

#define SKEWED "<Error><Code>RequestTimeTooSkewed</Code><Message>x</Message></Error>"
#define DENIED "<Error><Code>AccessDenied</Code></Error>"

static void clock_skew(void **state)
{
    (void)state;
    struct err err = {0};
    struct s3_bucket bucket = bucket_of("s3://metrics", NULL, false);
    assert_int_equal(classify(&bucket, 403, "Date: Sun, 15 Nov 2026 09:50:00 GMT\n", SKEWED, &err).outcome, S3_AGAIN);
    assert_int_equal(bucket.skew_secs, 1200);
    assert_int_equal(err.code, -EAGAIN);
    /* The same again is not cured by the same. */
    assert_int_equal(classify(&bucket, 403, "Date: Sun, 15 Nov 2026 09:50:00 GMT\n", SKEWED, &err).outcome, S3_DENIED);
    assert_int_equal(classify(&bucket, 403, "Date: Sun, 15 Nov 2026 09:50:01 GMT\n", DENIED, &err).outcome, S3_DENIED);
    assert_int_equal(bucket.skew_secs, 1200);
    /* Our clock was set right meanwhile. */
    assert_int_equal(classify(&bucket, 403, "Date: Sun, 15 Nov 2026 09:30:02 GMT\n", SKEWED, &err).outcome, S3_AGAIN);
    assert_int_equal(bucket.skew_secs, 2);

    bucket.skew_secs = 0;
    assert_int_equal(classify(&bucket, 403, "Date: Sun, 15 Nov 2026 09:35:00 GMT\n", DENIED, &err).outcome, S3_DENIED);
    assert_int_equal(bucket.skew_secs, 0);
    assert_int_equal(classify(&bucket, 403, "Date: Sun, 15 Nov 2026 09:24:59 GMT\n", DENIED, &err).outcome, S3_AGAIN);
    assert_int_equal(bucket.skew_secs, -301);

    bucket.skew_secs = 0;
    assert_int_equal(classify(&bucket, 403, "Date: yesterday\n", SKEWED, &err).outcome, S3_DENIED);
    assert_int_equal(classify(&bucket, 403, "", SKEWED, &err).outcome, S3_DENIED);
    assert_int_equal(classify(&bucket, 404, "Date: Sun, 15 Nov 2026 10:30:00 GMT\n", DENIED, &err).outcome, S3_REFUSED);
    assert_int_equal(
        classify(&bucket, 200, "ETag: x\nDate: Sun, 15 Nov 2026 10:30:00 GMT\n", "", &err).outcome, S3_DONE);
    assert_int_equal(
        classify(&bucket, 403, "Date: Sun, 15 Nov 2026 10:30:00 GMT\n", "<Code>ExpiredToken</Code>", &err).outcome,
        S3_EXPIRED);
    assert_int_equal(bucket.skew_secs, 0);
}

static void wrong_region(void **state)
{
    (void)state;
    static const char malformed[] =
        "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>";
    struct err err = {0};
    struct s3_bucket bucket = bucket_of("s3://metrics", NULL, false);
    (void)str_copy(STR("eu-central-1"), bucket.region, sizeof(bucket.region));
    assert_int_equal(classify(&bucket, 301, "X-Amz-Bucket-Region: us-west-2\n", "", &err).outcome, S3_AGAIN);
    assert_string_equal(bucket.region, "us-west-2");
    assert_true(bucket.is_region_sure);
    assert_string_equal(err.msg, "S3: the bucket metrics is in the region us-west-2");
    assert_int_equal(classify(&bucket, 301, "X-Amz-Bucket-Region: us-west-2\n", "", &err).outcome, S3_REFUSED);
    assert_int_equal(classify(&bucket, 400, "", malformed, &err).outcome, S3_AGAIN);
    assert_string_equal(bucket.region, "eu-west-3");
    assert_int_equal(classify(&bucket, 400, "", malformed, &err).outcome, S3_REFUSED);

    assert_int_equal(classify(&bucket, 301, "x-amz-bucket-region: ../evil\n", "", &err).outcome, S3_REFUSED);
    assert_int_equal(
        classify(&bucket, 301, "", "<Code>PermanentRedirect</Code><Region>us-east-1</Region>", &err).outcome,
        S3_REFUSED);
    assert_int_equal(classify(&bucket, 403, "x-amz-bucket-region: us-east-1\n", "", &err).outcome, S3_DENIED);
    assert_string_equal(bucket.region, "eu-west-3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls),
        cmocka_unit_test(keys),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(refused_places),
        cmocka_unit_test(regions),
        cmocka_unit_test(errors_read),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(words),
        cmocka_unit_test(success_of_something_else),
        cmocka_unit_test(clock_skew),
        cmocka_unit_test(wrong_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
