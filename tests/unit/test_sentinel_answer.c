/* SPDX-License-Identifier: Apache-2.0 */
/* What a registration and a refresh may answer: good, strange and hostile. No network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "stream/targets/sentinel_internal.h"

#define KEYS "\"access_key\":\"AK\",\"secret_key\":\"SK\""
#define HEAD "{\"run_id\":\"r-1\",\"upload_uri_prefix\":\"s3://bucket/some/runs\""

static const struct sentinel known = {
    .run_id = "old",
    .upload_prefix = "s3://old/old",
    .credentials = {.access_key = "OLD",
        .secret_key = "OLDS",
        .session_token = "OLDT",
        .region = "old-1",
        .expires_secs = {true, 5}},
    .has_credentials = true,
    .must_refresh = true,
};

/* In an allocation of exactly its size, so that reading past the end is seen. */
static int read_exact(int (*read)(struct str, struct sentinel *, struct err *), const char *text,
    struct sentinel *sentinel, struct err *err)
{
    size_t n = strlen(text);
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    int r = read((struct str){copy, n}, sentinel, err);
    free(copy);
    return r;
}

static void assert_good_run(const char *text, struct sentinel *ret_sentinel)
{
    struct err err = {0};
    *ret_sentinel = known;
    int r = read_exact(sentinel_answer_read_run, text, ret_sentinel, &err);
    if (r != 0)
        print_error("%s: %s\n", text, err.msg);
    assert_int_equal(r, 0);
}

static void assert_bad(int (*read)(struct str, struct sentinel *, struct err *), const char *text, const char *message)
{
    struct sentinel sentinel;
    struct err err = {0};
    memcpy(&sentinel, &known, sizeof(known)); /* padding too */
    int r = read_exact(read, text, &sentinel, &err);
    if (r != -EBADMSG)
        print_error("%s\n", text);
    assert_int_equal(r, -EBADMSG);
    assert_string_equal(err.msg, message);
    assert_memory_equal(&sentinel, &known, sizeof(known));
}

static void test_run_whole(void **state)
{
    (void)state;
    struct sentinel got;
    assert_good_run(HEAD ",\"extra\":[1],\"upload_credentials\":{" KEYS ",\"session_token\":\"a/b+c=\","
                         "\"expiration\":\"2026-11-15T10:30:00+01:00\",\"region\":\"eu-west-1\"}}",
        &got);
    assert_string_equal(got.run_id, "r-1");
    assert_string_equal(got.upload_prefix, "s3://bucket/some/runs");
    assert_string_equal(got.credentials.access_key, "AK");
    assert_string_equal(got.credentials.secret_key, "SK");
    assert_string_equal(got.credentials.session_token, "a/b+c=");
    assert_string_equal(got.credentials.region, "eu-west-1");
    assert_true(got.credentials.expires_secs.has);
    assert_int_equal(got.credentials.expires_secs.v, 1794735000);
    assert_true(got.has_credentials);
    assert_false(got.must_refresh);
}

static void test_run_least(void **state)
{
    (void)state;
    struct sentinel got;
    assert_good_run(HEAD "}", &got);
    assert_false(got.has_credentials);
    assert_string_equal(got.credentials.access_key, "");
    assert_string_equal(got.credentials.session_token, "");
    assert_false(got.credentials.expires_secs.has);
    assert_true(sentinel_needs_refresh(&got, 0));
    assert_good_run(HEAD ",\"upload_credentials\":null}", &got);
    assert_false(got.has_credentials);
    assert_good_run(HEAD ",\"upload_credentials\":{" KEYS ",\"session_token\":null,\"region\":null}}", &got);
    assert_true(got.has_credentials);
    assert_string_equal(got.credentials.session_token, "");
    assert_false(sentinel_needs_refresh(&got, INT64_MAX)); /* no expiry: never */
}

static void test_run_id(void **state)
{
    (void)state;
    static const char *const bad[] = {"\"\"", "\".\"", "\"..\"", "\"a/b\"", "\"a b\"", "\"a%2f\"", "\"\\u0000\"",
        "\"a\\n\"", "\"\xc3\xa4\"", "-5", "1.5", "1e3", "true", "{}", "[\"a\"]", "99999999999999999999"};
    char text[512];
    char word[130];
    struct sentinel got;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(text, sizeof(text), "{\"run_id\":%s,\"upload_uri_prefix\":\"s3://bucket/p\"}", bad[i]);
        assert_bad(sentinel_answer_read_run, text, "a run_id that cannot be used");
    }
    memset(word, 'a', sizeof(word));
    word[128] = '\0';
    (void)snprintf(text, sizeof(text), "{\"run_id\":\"%s\",\"upload_uri_prefix\":\"s3://bucket/p\"}", word);
    assert_bad(sentinel_answer_read_run, text, "a run_id that cannot be used");
    word[127] = '\0';
    (void)snprintf(text, sizeof(text), "{\"run_id\":\"%s\",\"upload_uri_prefix\":\"s3://bucket/p\"}", word);
    assert_good_run(text, &got);
    assert_string_equal(got.run_id, word);
    assert_good_run("{\"run_id\":1234567890123,\"upload_uri_prefix\":\"s3://bucket/p\"}", &got);
    assert_string_equal(got.run_id, "1234567890123");
    assert_good_run("{\"run_id\":\"A.z_0-9\",\"upload_uri_prefix\":\"s3://bucket/p\"}", &got);
    assert_string_equal(got.run_id, "A.z_0-9");
    assert_bad(sentinel_answer_read_run, "{\"run_id\":null,\"upload_uri_prefix\":\"s3://bucket/p\"}", "no run_id");
}

static void test_run_prefix(void **state)
{
    (void)state;
    static const char *const bad[] = {"\"\"", "\"https://bucket/p\"", "\"s3://\"", "\"s3:///p\"", "\"bucket/p\"", "7",
        "\"s3://bu cket/p\"", "\"s3://bucket@evil.example/p\"", "\"s3://b\\u0000/p\""};
    char text[256];
    struct sentinel got;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(text, sizeof(text), "{\"run_id\":\"r\",\"upload_uri_prefix\":%s}", bad[i]);
        assert_good_run(text, &got);
        assert_string_equal(got.upload_prefix, "");
    }
    assert_good_run("{\"run_id\":\"r\"}", &got);
    assert_string_equal(got.upload_prefix, "");
    assert_good_run("{\"run_id\":\"r\",\"upload_uri_prefix\":null}", &got);
    assert_string_equal(got.upload_prefix, "");
}

static void test_credentials_bad(void **state)
{
    (void)state;
    int (*read)(struct str, struct sentinel *, struct err *) = sentinel_answer_read_credentials;
    assert_bad(read, "{}", "no upload_credentials");
    assert_bad(read, "{\"upload_credentials\":null}", "no upload_credentials");
    assert_bad(read, "{\"upload_credentials\":{}}", "upload_credentials without access_key");
    assert_bad(read, "{\"upload_credentials\":[1]}", "upload_credentials without access_key");
    assert_bad(read, "{\"upload_credentials\":\"AK\"}", "upload_credentials without access_key");
    assert_bad(read, "{\"upload_credentials\":{\"access_key\":\"AK\"}}", "upload_credentials without secret_key");
    assert_bad(read, "{\"upload_credentials\":{\"access_key\":\"\",\"secret_key\":\"S\"}}",
        "upload_credentials with an unusable access_key");
    assert_bad(read, "{\"upload_credentials\":{\"access_key\":\"A\\r\\nX: y\",\"secret_key\":\"S\"}}",
        "upload_credentials with an unusable access_key");
    assert_bad(read, "{\"upload_credentials\":{\"access_key\":7,\"secret_key\":\"S\"}}",
        "upload_credentials with an unusable access_key");
    assert_bad(read, "{\"upload_credentials\":{" KEYS ",\"session_token\":\"a\\u0085b\"}}",
        "upload_credentials with an unusable session_token");
    assert_bad(read, "{\"upload_credentials\":{" KEYS ",\"session_token\":{}}}",
        "upload_credentials with an unusable session_token");
    /* The run is registered all the same: a refresh brings other keys. */
    struct sentinel got;
    assert_good_run(HEAD ",\"upload_credentials\":{\"access_key\":\"AK\"}}", &got);
    assert_false(got.has_credentials);
    assert_string_equal(got.credentials.access_key, "");
}

static void test_credentials_too_long(void **state)
{
    (void)state;
    AUTO_BUF struct buf text;
    buf_init(&text, 64 * 1024);
    buf_puts(&text, "{\"upload_credentials\":{" KEYS ",\"session_token\":\"");
    for (size_t i = 0; i < 8192; i++)
        buf_putc(&text, 't');
    buf_puts(&text, "\"}}");
    assert_bad(sentinel_answer_read_credentials, buf_cstr(&text), "upload_credentials with an unusable session_token");
}

static void test_expiry(void **state)
{
    (void)state;
    static const struct {
        const char *member;
        bool has, must_refresh;
        int64_t secs;
    } cases[] = {
        {"\"expires_at\":\"2026-11-15T09:30:00Z\"", true, false, 1794735000},
        {"\"expiration\":null,\"expires_at\":\"2026-11-15T09:30:00Z\"", true, false, 1794735000},
        {"\"expiration\":\"2026-11-15T09:30:00.123456Z\",\"expires_at\":\"nonsense\"", true, false, 1794735000},
        {"\"expiration\":null", false, false, 0},
        {"\"expiration\":\"tomorrow\"", false, true, 0},
        {"\"expiration\":\"\"", false, true, 0},
        {"\"expiration\":1794735000", false, true, 0},
        {"\"expires_at\":{}", false, true, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        struct sentinel got = known;
        struct err err = {0};
        (void)snprintf(text, sizeof(text), "{\"upload_credentials\":{" KEYS ",%s}}", cases[i].member);
        assert_int_equal(read_exact(sentinel_answer_read_credentials, text, &got, &err), 0);
        assert_int_equal(got.credentials.expires_secs.has, cases[i].has);
        assert_int_equal(got.must_refresh, cases[i].must_refresh);
        if (cases[i].has)
            assert_int_equal(got.credentials.expires_secs.v, cases[i].secs);
        assert_string_equal(got.run_id, "old"); /* a refresh leaves the run alone */
        assert_string_equal(got.upload_prefix, "s3://old/old");
    }
}

static void test_region(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\"\"", "\"EU\"", "\"a.b\"", "\"evil.example/\"", "7", "[]", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[256];
        struct sentinel got = known;
        struct err err = {0};
        (void)snprintf(text, sizeof(text), "{\"upload_credentials\":{" KEYS ",\"region\":%s}}", bad[i]);
        assert_int_equal(read_exact(sentinel_answer_read_credentials, text, &got, &err), 0);
        assert_string_equal(got.credentials.region, "");
    }
}

static void test_no_document(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "   ", "{", "hello", HEAD, HEAD "}}", "{\"run_id\":\"a\",\"run_id\":\"b\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_bad(sentinel_answer_read_run, bad[i], "no valid JSON");
    assert_bad(sentinel_answer_read_run, "[]", "no JSON object");
    assert_bad(sentinel_answer_read_run, "\"r\"", "no JSON object");
    assert_bad(sentinel_answer_read_credentials, "null", "no JSON object");
    AUTO_BUF struct buf deep;
    buf_init(&deep, 1024);
    for (size_t i = 0; i < 200; i++)
        buf_putc(&deep, '[');
    assert_bad(sentinel_answer_read_run, buf_cstr(&deep), "a document beyond all bounds");
    struct sentinel got = known;
    struct err err = {0};
    assert_int_equal(sentinel_answer_read_run((struct str){NULL, 0}, &got, &err), -EBADMSG);
}

static void test_needs_refresh(void **state)
{
    (void)state;
    struct sentinel sentinel = {.has_credentials = true, .credentials.expires_secs = {true, 10000}};
    assert_false(sentinel_needs_refresh(&sentinel, 10000 - SENTINEL_REFRESH_SECS - 1));
    assert_true(sentinel_needs_refresh(&sentinel, 10000 - SENTINEL_REFRESH_SECS));
    assert_true(sentinel_needs_refresh(&sentinel, 20000));
    sentinel.must_refresh = true;
    assert_true(sentinel_needs_refresh(&sentinel, 0));
    sentinel = (struct sentinel){.has_credentials = false};
    assert_true(sentinel_needs_refresh(&sentinel, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_whole),
        cmocka_unit_test(test_run_least),
        cmocka_unit_test(test_run_id),
        cmocka_unit_test(test_run_prefix),
        cmocka_unit_test(test_credentials_bad),
        cmocka_unit_test(test_credentials_too_long),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_region),
        cmocka_unit_test(test_no_document),
        cmocka_unit_test(test_needs_refresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
