/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the Sentinel API over a real connection: what is sent, what each kind of answer means, and the words.
 * Finish with the samples in the call is in test_sentinel_finish.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "sentinel_scenario.h"

#define GOOD_RUN                                                                                                       \
    "{\"run_id\":\"r-1\",\"upload_uri_prefix\":\"s3://bucket/p\",\"upload_credentials\":"                              \
    "{\"access_key\":\"AK\",\"secret_key\":\"SK\",\"session_token\":\"ST\",\"expiration\":\"2026-11-15T09:30:00Z\"}}"
#define REGISTER_BODY "{\"job_name\":\"x\"}"

/* Registers at a server with one answer, which may be NULL. */
static struct sentinel_result register_once(struct sentinel_scenario *scenario, const char *answer)
{
    const char *const answers[] = {answer};
    assert_true(scenario_open(scenario, answers, 1));
    struct sentinel_result result =
        sentinel_register(&scenario->sentinel, STR(REGISTER_BODY), scenario_soon(), &scenario->err);
    loopback_stop(&scenario->server);
    return result;
}

static void test_register(void **state)
{
    (void)state;
    struct sentinel_scenario scenario;
    struct sentinel_result result = register_once(&scenario, LOOPBACK_ANSWER("201 Created", "", GOOD_RUN));
    assert_int_equal(result.outcome, SENTINEL_DONE);
    assert_int_equal(result.status, 201);
    assert_string_equal(scenario.err.msg, "");
    assert_string_equal(scenario.sentinel.run_id, "r-1");
    assert_string_equal(scenario.sentinel.upload_prefix, "s3://bucket/p");
    assert_string_equal(scenario.sentinel.credentials.session_token, "ST");
    assert_true(scenario.sentinel.has_credentials);
    assert_int_equal(scenario.server.request_count, 1);
    const char *head = buf_cstr(&scenario.server.requests[0].head);
    assert_int_equal(strncmp(head, "POST /runs HTTP/1.1\r\n", 21), 0);
    assert_non_null(strstr(head, "\r\nAuthorization: Bearer " SCENARIO_TOKEN "\r\n"));
    assert_non_null(strstr(head, "\r\nAccept: application/json\r\n"));
    assert_non_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(head, "\r\nUser-Agent: resource-tracker/test\r\n"));
    assert_null(strstr(head, "Content-Encoding"));
    assert_string_equal(buf_cstr(&scenario.server.requests[0].body), REGISTER_BODY);
    scenario_close(&scenario);
}

static void test_base_url(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"/", "//", "/api/v2/", "/api/v2"};
    static const char *const paths[] = {"POST /runs ", "POST /runs ", "POST /api/v2/runs ", "POST /api/v2/runs "};
    for (size_t i = 0; i < 4; i++) {
        const char *const answers[] = {LOOPBACK_ANSWER("200 OK", "", GOOD_RUN)};
        struct sentinel_scenario scenario;
        assert_true(scenario_open(&scenario, answers, 1));
        size_t n = strlen(scenario.url);
        assert_true(str_copy(str_of(suffixes[i]), scenario.url + n, sizeof(scenario.url) - n));
        struct sentinel_result result =
            sentinel_register(&scenario.sentinel, STR(REGISTER_BODY), scenario_soon(), &scenario.err);
        assert_int_equal(result.outcome, SENTINEL_DONE);
        loopback_stop(&scenario.server);
        assert_int_equal(strncmp(buf_cstr(&scenario.server.requests[0].head), paths[i], strlen(paths[i])), 0);
        scenario_close(&scenario);
    }
}

static void test_statuses(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum sentinel_outcome outcome;
        int status, retry_after_secs;
        const char *message;
    } cases[] = {
        {LOOPBACK_ANSWER("401 Unauthorized", "", "{\"detail\":\"invalid token\"}"), SENTINEL_REFUSED, 401, -1,
            "Sentinel refused to register the run: 401 Unauthorized: invalid token; check SENTINEL_API_TOKEN"},
        {LOOPBACK_ANSWER("403 No", "", "Bearer " SCENARIO_TOKEN " may not"), SENTINEL_REFUSED, 403, -1,
            "Sentinel refused to register the run: 403 Forbidden: Bearer *** may not; check SENTINEL_API_TOKEN"},
        {LOOPBACK_ANSWER("422 X", "", "{\"detail\":[{\"loc\":[\"body\",\"pid\"],\"msg\":\"extra\"}]}"),
            SENTINEL_REFUSED, 422, -1,
            "Sentinel refused to register the run: 422 Unprocessable Content: body.pid: extra"},
        {LOOPBACK_ANSWER("404 X", "", ""), SENTINEL_REFUSED, 404, -1,
            "Sentinel refused to register the run: 404 Not Found; check SENTINEL_API_URL"},
        {LOOPBACK_ANSWER("302 X", "Location: http://127.0.0.1/\r\n", ""), SENTINEL_REFUSED, 302, -1,
            "Sentinel refused to register the run: 302 Found; check SENTINEL_API_URL"},
        {LOOPBACK_ANSWER("503 X", "Retry-After: 7\r\n", "<html><title>down</title>"), SENTINEL_AGAIN, 503, 7,
            "Sentinel: cannot register the run: 503 Service Unavailable: down"},
        {LOOPBACK_ANSWER("429 X", "Retry-After: 999999\r\n", ""), SENTINEL_AGAIN, 429, 3600,
            "Sentinel: cannot register the run: 429 Too Many Requests"},
        {LOOPBACK_ANSWER("408 X", "", ""), SENTINEL_AGAIN, 408, -1,
            "Sentinel: cannot register the run: 408 Request Timeout"},
        {LOOPBACK_ANSWER("200 OK", "", "<html>hi</html>"), SENTINEL_AGAIN, 200, -1,
            "Sentinel: cannot register the run: invalid answer: no valid JSON"},
        {LOOPBACK_ANSWER("200 OK", "", "{\"run_id\":\"../x\"}"), SENTINEL_AGAIN, 200, -1,
            "Sentinel: cannot register the run: invalid answer: a run_id that cannot be used"},
        {LOOPBACK_ANSWER("204 OK", "", ""), SENTINEL_AGAIN, 204, -1,
            "Sentinel: cannot register the run: invalid answer: no valid JSON"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sentinel_scenario scenario;
        struct sentinel_result result = register_once(&scenario, cases[i].answer);
        assert_string_equal(scenario.err.msg, cases[i].message);
        assert_int_equal(result.outcome, cases[i].outcome);
        assert_int_equal(result.status, cases[i].status);
        assert_int_equal(result.retry_after_secs, cases[i].retry_after_secs);
        assert_true(scenario.err.code < 0);
        assert_string_equal(scenario.sentinel.run_id, "");
        assert_false(scenario.sentinel.has_credentials);
        scenario_close(&scenario);
    }
}

static void test_longest_message(void **state)
{
    (void)state;
    AUTO_BUF struct buf answer;
    buf_init(&answer, 4096);
    buf_puts(&answer, LOOPBACK_ANSWER("401 X", "", ""));
    for (size_t i = 0; i < 1000; i++)
        buf_putc(&answer, 'w');
    const char *const answers[] = {buf_cstr(&answer)};
    struct sentinel_scenario scenario;
    assert_true(scenario_open(&scenario, answers, 1));
    (void)str_copy(STR("r-1"), scenario.sentinel.run_id, sizeof(scenario.sentinel.run_id));
    struct sentinel_result result = sentinel_refresh(&scenario.sentinel, scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    const char *end = "w\xe2\x80\xa6; check SENTINEL_API_TOKEN"; /* the advice is not cut off */
    assert_string_equal(scenario.err.msg + strlen(scenario.err.msg) - strlen(end), end);
    scenario_close(&scenario);
}

static void test_refresh(void **state)
{
    (void)state;
    const char *const answers[] = {
        LOOPBACK_ANSWER("200 OK", "",
            "{\"upload_credentials\":{\"access_key\":\"A2\",\"secret_key\":\"S2\",\"expires_at\":\"soon\"}}"),
        LOOPBACK_ANSWER("404 X", "", "{\"detail\":\"no such run\"}"),
    };
    struct sentinel_scenario scenario;
    assert_true(scenario_open(&scenario, answers, 2));
    (void)str_copy(STR("r-1"), scenario.sentinel.run_id, sizeof(scenario.sentinel.run_id));
    struct sentinel_result result = sentinel_refresh(&scenario.sentinel, scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_DONE);
    assert_string_equal(scenario.sentinel.credentials.access_key, "A2");
    assert_true(scenario.sentinel.must_refresh);
    result = sentinel_refresh(&scenario.sentinel, scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_string_equal(
        scenario.err.msg, "Sentinel refused to refresh the upload credentials: 404 Not Found: no such run");
    assert_string_equal(scenario.sentinel.credentials.access_key, "A2"); /* what we had stays */
    loopback_stop(&scenario.server);
    const char *head = buf_cstr(&scenario.server.requests[0].head);
    assert_int_equal(strncmp(head, "POST /runs/r-1/refresh-credentials HTTP/1.1\r\n", 45), 0);
    assert_non_null(strstr(head, "\r\nContent-Length: 0\r\n"));
    assert_null(strstr(head, "Content-Type"));
    assert_int_equal(scenario.server.requests[0].body.len, 0);
    scenario_close(&scenario);
}

static void test_finish_s3(void **state)
{
    (void)state;
    const char *const answers[] = {LOOPBACK_ANSWER("200 OK", "", "")};
    struct sentinel_scenario scenario;
    struct end_facts end = {.exit_code = some_i64(2), .is_failed = true, .finished_secs = 1794735000};
    assert_true(scenario_open(&scenario, answers, 1));
    (void)str_copy(STR("r-1"), scenario.sentinel.run_id, sizeof(scenario.sentinel.run_id));
    struct sentinel_result result =
        sentinel_finish_s3(&scenario.sentinel, &end, STR("[\"s3://b/k\"]"), scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_DONE);
    assert_int_equal(result.status, 200);
    loopback_stop(&scenario.server);
    assert_int_equal(strncmp(buf_cstr(&scenario.server.requests[0].head), "POST /runs/r-1/finish HTTP/1.1\r\n", 32), 0);
    assert_string_equal(buf_cstr(&scenario.server.requests[0].body),
        "{\"exit_code\":2,\"run_status\":\"failed\",\"finished_at\":\"2026-11-15T09:30:00Z\","
        "\"data_source\":\"s3\",\"data_uris\":[\"s3://b/k\"]}");
    scenario_close(&scenario);
}

static void test_no_answer(void **state)
{
    (void)state;
    struct sentinel_scenario scenario;
    struct sentinel_result result = register_once(&scenario, NULL);
    assert_int_equal(result.outcome, SENTINEL_AGAIN);
    assert_int_equal(result.status, 0);
    assert_int_equal(result.retry_after_secs, -1);
    assert_int_equal(strncmp(scenario.err.msg, "Sentinel: cannot register the run: 127.0.0.1", 44), 0);
    /* Nothing listens there any more. */
    result = sentinel_register(&scenario.sentinel, STR("{}"), scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_AGAIN);
    assert_int_equal(scenario.err.code, -ECONNREFUSED);
    result = sentinel_register(&scenario.sentinel, STR("{}"), scenario_soon(), NULL);
    assert_int_equal(result.outcome, SENTINEL_AGAIN);
    scenario_close(&scenario);
}

static int call_off(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)context;
    (void)fd;
    (void)events;
    (void)deadline_ns;
    return -ECANCELED;
}

static void test_canceled(void **state)
{
    (void)state;
    static const struct net_wait off = {.until = call_off};
    struct sentinel_scenario scenario;
    assert_true(loopback_start(&scenario.server, NULL, 0));
    (void)snprintf(scenario.url, sizeof(scenario.url), "http://127.0.0.1:%u", scenario.server.port);
    assert_true(scenario_open_client(&scenario, &off));
    struct sentinel_result result = sentinel_register(&scenario.sentinel, STR("{}"), scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_CANCELED);
    scenario_close(&scenario);
}

static void test_hopeless(void **state)
{
    (void)state;
    struct sentinel_scenario scenario;
    struct end_facts end = {0};
    assert_true(scenario_open(&scenario, NULL, 0));
    struct sentinel *sentinel = &scenario.sentinel;
    struct sentinel_result result = sentinel_finish_s3(sentinel, &end, STR("[]"), scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_string_equal(scenario.err.msg, "Sentinel: cannot finish the run: it is not registered");
    static const char *const tokens[] = {"", "a b", "a\r\nX: y", "caf\xc3\xa9"};
    for (size_t i = 0; i < 4; i++) {
        sentinel->token = tokens[i];
        result = sentinel_register(sentinel, STR("{}"), scenario_soon(), &scenario.err);
        assert_int_equal(result.outcome, SENTINEL_REFUSED);
        assert_int_equal(result.status, 0);
        assert_non_null(strstr(scenario.err.msg, "; check SENTINEL_API_TOKEN"));
    }
    sentinel->token = SCENARIO_TOKEN;
    static const char *const urls[] = {"", "ftp://x", "http://foreign.example", "https://"};
    for (size_t i = 0; i < 4; i++) {
        sentinel->url = urls[i];
        result = sentinel_register(sentinel, STR("{}"), scenario_soon(), &scenario.err);
        assert_int_equal(result.outcome, SENTINEL_REFUSED);
        assert_int_equal(strncmp(scenario.err.msg, "Sentinel: cannot register the run: ", 35), 0);
    }
    AUTO_FREE char *uris = calloc(1, 8 * 1024 * 1024 + 1);
    assert_non_null(uris);
    memset(uris, ' ', 8 * 1024 * 1024);
    (void)str_copy(STR("r-1"), sentinel->run_id, sizeof(sentinel->run_id));
    result = sentinel_finish_s3(sentinel, &end, str_of(uris), scenario_soon(), &scenario.err);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_string_equal(scenario.err.msg, "Sentinel: cannot finish the run: the list of objects is too long");
    loopback_stop(&scenario.server);
    assert_int_equal(scenario.server.request_count, 0);
    scenario_close(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register),
        cmocka_unit_test(test_base_url),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_longest_message),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_finish_s3),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_canceled),
        cmocka_unit_test(test_hopeless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
