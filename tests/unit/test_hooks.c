/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks against a server of our own: what is sent, what a status means, and that no secret is in a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "loopback.h"
#include "stream/targets/hooks.h"

#define BODY "{\"event\":\"start\"}"

static int64_t soon(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + 10 * NS_PER_SEC;
}

static struct http_client *new_client(void)
{
    const struct http_context context = {.wait = &net_wait_plain, .user_agent = "resource-tracker/test"};
    struct http_client *client = NULL;
    assert_int_equal(http_client_new(&context, &client), 0);
    return client;
}

/* Sends one hook to a server with one answer; the request is in *ret_server. */
static int send_one(
    struct hooks *hooks, enum hooks_event event, const char *answer, struct loopback *ret_server, struct err *ret_err)
{
    char url[128];
    const char *const answers[] = {answer};
    assert_true(loopback_start(ret_server, answers, 1));
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/hook/secret-path?key=secret-query", ret_server->port);
    hooks->urls[event] = url;
    hooks->http = new_client();
    *ret_err = (struct err){0};
    int r = hooks_send(hooks, event, STR(BODY), soon(), ret_err);
    http_client_free(hooks->http);
    hooks->urls[event] = NULL;
    loopback_stop(ret_server);
    return r;
}

static void test_sent(void **state)
{
    (void)state;
    const struct http_header headers[] = {{"Authorization", STR("Bearer abc")}, {"X-Team", STR("infra, \xc3\xa4")}};
    struct hooks hooks = {.headers = headers, .header_count = 2};
    struct loopback server;
    struct err err;
    assert_int_equal(send_one(&hooks, HOOKS_START, LOOPBACK_ANSWER("204 No Content", "", ""), &server, &err), 0);
    assert_string_equal(err.msg, "");
    assert_int_equal(server.request_count, 1);
    const char *head = buf_cstr(&server.requests[0].head);
    assert_int_equal(strncmp(head, "POST /hook/secret-path?key=secret-query HTTP/1.1\r\n", 50), 0);
    assert_non_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(head, "\r\nAccept: */*\r\n"));
    assert_non_null(strstr(head, "\r\nAuthorization: Bearer abc\r\n"));
    assert_non_null(strstr(head, "\r\nX-Team: infra, \xc3\xa4\r\n"));
    assert_non_null(strstr(head, "\r\nUser-Agent: resource-tracker/test\r\n"));
    assert_string_equal(buf_cstr(&server.requests[0].body), BODY);
    loopback_fini(&server);
}

static void test_chosen_content_type(void **state)
{
    (void)state;
    const struct http_header headers[] = {{"content-type", STR("text/plain")}};
    struct hooks hooks = {.headers = headers, .header_count = 1};
    struct loopback server;
    struct err err;
    assert_int_equal(send_one(&hooks, HOOKS_HEARTBEAT, LOOPBACK_ANSWER("200 OK", "", "fine"), &server, &err), 0);
    const char *head = buf_cstr(&server.requests[0].head);
    assert_non_null(strstr(head, "\r\ncontent-type: text/plain\r\n"));
    assert_null(strstr(head, "application/json"));
    loopback_fini(&server);
}

static void test_statuses(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        int r;
        const char *message;
    } cases[] = {
        {LOOPBACK_ANSWER("404 Not Found", "", "/hook/secret-path is not here"), -EREMOTEIO,
            "the stop hook: 127.0.0.1 answered 404 Not Found"},
        {LOOPBACK_ANSWER("302 Found", "Location: http://127.0.0.1/secret\r\n", ""), -EREMOTEIO,
            "the stop hook: 127.0.0.1 answered 302 Found"},
        {LOOPBACK_ANSWER("503 Whatever", "", "secret-query"), -EAGAIN,
            "the stop hook: 127.0.0.1 answered 503 Service Unavailable"},
        {LOOPBACK_ANSWER("429 Slow", "", ""), -EAGAIN, "the stop hook: 127.0.0.1 answered 429 Too Many Requests"},
        {LOOPBACK_ANSWER("408 Slow", "", ""), -EAGAIN, "the stop hook: 127.0.0.1 answered 408 Request Timeout"},
        {LOOPBACK_ANSWER("499 Odd", "", ""), -EREMOTEIO, "the stop hook: 127.0.0.1 answered 499 Client Error"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct http_header headers[] = {{"X-Key", STR("secret-value")}};
        struct hooks hooks = {.headers = headers, .header_count = 1};
        struct loopback server;
        struct err err;
        assert_int_equal(send_one(&hooks, HOOKS_STOP, cases[i].answer, &server, &err), cases[i].r);
        assert_int_equal(err.code, cases[i].r);
        assert_string_equal(err.msg, cases[i].message);
        loopback_fini(&server);
    }
}

static void test_failure(void **state)
{
    (void)state;
    struct hooks hooks = {0};
    struct loopback server;
    struct err err;
    assert_int_equal(send_one(&hooks, HOOKS_START, NULL, &server, &err), -ECONNRESET);
    assert_int_equal(strncmp(err.msg, "the start hook: 127.0.0.1", 25), 0);
    assert_null(strstr(err.msg, "secret"));
    loopback_fini(&server);

    static const char *const bad[] = {"ftp://secret.example/secret", "secret", "http://", "http://a b/secret",
        "http://user:secret@/secret", "http://example.com/secret"};
    hooks.http = new_client();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hooks.urls[HOOKS_START] = bad[i];
        int r = hooks_send(&hooks, HOOKS_START, STR(BODY), soon(), &err);
        assert_int_equal(r, i < 5 ? -EINVAL : -EPERM); /* the last: plain http to a foreign host */
        assert_int_equal(strncmp(err.msg, "the start hook: ", 16), 0);
        assert_null(strstr(err.msg, "secret"));
    }
    http_client_free(hooks.http);
}

static void test_none(void **state)
{
    (void)state;
    struct hooks hooks = {.urls = {NULL, "", "http://127.0.0.1:1/"}};
    struct err err = {0};
    assert_false(hooks_has(&hooks, HOOKS_START));
    assert_false(hooks_has(&hooks, HOOKS_HEARTBEAT));
    assert_true(hooks_has(&hooks, HOOKS_STOP));
    assert_int_equal(hooks_send(&hooks, HOOKS_START, STR(BODY), soon(), &err), 0);
    assert_int_equal(hooks_send(&hooks, HOOKS_HEARTBEAT, STR(BODY), soon(), &err), 0);
    assert_string_equal(err.msg, "");
    assert_string_equal(hooks_name(HOOKS_START), "start");
    assert_string_equal(hooks_name(HOOKS_HEARTBEAT), "heartbeat");
    assert_string_equal(hooks_name(HOOKS_STOP), "stop");
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        struct http_header header;
        const char *message;
    } cases[] = {
        {{"Host", {"x", 1}}, "the stop hook: the header Host cannot be chosen"},
        {{"content-LENGTH", {"1", 1}}, "the stop hook: the header Content-Length cannot be chosen"},
        {{"Transfer-Encoding", {"x", 1}}, "the stop hook: the header Transfer-Encoding cannot be chosen"},
        {{"X-A", {"secret\r\nX: y", 12}}, "the stop hook: header 1 cannot be sent"},
        {{"X-A", {"secret\0", 7}}, "the stop hook: header 1 cannot be sent"},
        {{"secret name", {"x", 1}}, "the stop hook: header 1 cannot be sent"},
        {{"secret:", {"x", 1}}, "the stop hook: header 1 cannot be sent"},
        {{"", {"x", 1}}, "the stop hook: header 1 cannot be sent"},
    };
    struct err err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hooks hooks = {
            .urls = {NULL, NULL, "http://127.0.0.1:1/"}, .headers = &cases[i].header, .header_count = 1};
        assert_int_equal(hooks_send(&hooks, HOOKS_STOP, STR(BODY), soon(), &err), -EINVAL);
        assert_string_equal(err.msg, cases[i].message);
    }
    struct http_header many[HOOKS_HEADERS_MAX + 1];
    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
        many[i] = (struct http_header){"X-A", STR("1")};
    struct hooks hooks = {
        .urls = {NULL, NULL, "http://127.0.0.1:1/"}, .headers = many, .header_count = HOOKS_HEADERS_MAX + 1};
    assert_int_equal(hooks_send(&hooks, HOOKS_STOP, STR(BODY), soon(), &err), -EINVAL);
    assert_string_equal(err.msg, "the stop hook: more than 30 headers");
}

static void test_most_headers(void **state)
{
    (void)state;
    struct http_header many[HOOKS_HEADERS_MAX];
    for (size_t i = 0; i < HOOKS_HEADERS_MAX; i++)
        many[i] = (struct http_header){"X-A", STR("1")};
    struct hooks hooks = {.headers = many, .header_count = HOOKS_HEADERS_MAX};
    struct loopback server;
    struct err err;
    assert_int_equal(send_one(&hooks, HOOKS_START, LOOPBACK_ANSWER("200 OK", "", ""), &server, &err), 0);
    loopback_fini(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent),
        cmocka_unit_test(test_chosen_content_type),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_most_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
