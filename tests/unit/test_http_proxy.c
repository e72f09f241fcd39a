/* SPDX-License-Identifier: Apache-2.0 */
/* Proxies, what the client refuses to send, and what it never says in a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "http_stage.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* A stage whose server is the proxy for everything. */
struct proxy_stage {
    struct http_stage stage;
    char proxy[100];
};

static void open_stage(
    struct proxy_stage *stage, const char *user, const char *no_proxy, const struct script_step *step)
{
    struct http_context context = {
        .wait = &net_wait_plain,
        .proxy = {.https_proxy = stage->proxy, .http_proxy = stage->proxy, .no_proxy = no_proxy},
        .user_agent = "tester/1",
        .allow_http = true,
    };
    stage->stage = (struct http_stage){0};
    script_server_start(&stage->stage.server, step, step->answer || step->then != SCRIPT_KEEP ? 1 : 0);
    (void)snprintf(
        stage->proxy, sizeof(stage->proxy), "http://%s127.0.0.1:%u", user, (unsigned)stage->stage.server.port);
    assert_int_equal(http_client_new(&context, &stage->stage.client), 0);
}

static int get(struct proxy_stage *stage, const char *url)
{
    struct http_request request = {.url = str_of(url), .deadline_ns = http_stage_in_ms(5000)};
    return http_stage_send(&stage->stage, request, "");
}

static void test_plain_request_through_a_proxy(void **state)
{
    (void)state;
    static const struct script_step step = {.answer = OK_ANSWER};
    struct proxy_stage stage;
    open_stage(&stage, "user:pass@", NULL, &step);
    assert_int_equal(get(&stage, "http://me:mine@api.test:8000/a?b"), 0);
    assert_int_equal(stage.stage.answer.status, 200);
    http_stage_close(&stage.stage);
    const char *request = stage.stage.server.requests[0];
    assert_non_null(strstr(request, "GET http://api.test:8000/a?b HTTP/1.1\r\nHost: api.test:8000\r\n"));
    assert_non_null(strstr(request, "\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Basic bWU6bWluZQ==\r\n"));
    http_stage_free(&stage.stage);
}

static void test_tunnel_is_asked_for(void **state)
{
    (void)state;
    static const struct script_step step = {.answer = "HTTP/1.1 407 Login\r\nContent-Length: 100\r\n\r\n"};
    struct proxy_stage stage;
    open_stage(&stage, "us%40er:p%3Aw@", NULL, &step);
    assert_int_equal(get(&stage, "https://me:mine@api.test/a?token=sesame"), -EPROTO);
    assert_non_null(strstr(stage.stage.err.msg, "407"));
    assert_non_null(strstr(stage.stage.err.msg, "proxy 127.0.0.1"));
    assert_non_null(strstr(stage.stage.err.msg, "api.test"));
    assert_null(strstr(stage.stage.err.msg, "p%3Aw"));
    assert_null(strstr(stage.stage.err.msg, "p:w"));
    assert_null(strstr(stage.stage.err.msg, "mine"));
    assert_null(strstr(stage.stage.err.msg, "sesame"));
    http_stage_close(&stage.stage);
    assert_string_equal(stage.stage.server.requests[0],
        "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\nUser-Agent: tester/1\r\n"
        "Proxy-Authorization: Basic dXNAZXI6cDp3\r\n\r\n");
    http_stage_free(&stage.stage);
}

static void test_tunnel_to_an_address(void **state)
{
    (void)state;
    static const struct script_step step = {.answer = "HTTP/1.1 403 No\r\n\r\n", .then = SCRIPT_CLOSE};
    struct proxy_stage stage;
    open_stage(&stage, "", NULL, &step);
    assert_int_equal(get(&stage, "https://[2001:db8::1]:8443/"), -EPROTO);
    assert_non_null(strstr(stage.stage.err.msg, "403"));
    http_stage_close(&stage.stage);
    assert_string_equal(stage.stage.server.requests[0],
        "CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\nUser-Agent: tester/1\r\n\r\n");
    http_stage_free(&stage.stage);
}

static void test_proxies_that_fail(void **state)
{
    (void)state;
    static const struct {
        struct script_step step;
        int code;
    } cases[] = {
        {{.answer = "SOCKS?\r\n\r\n"}, -EPROTO},
        {{.then = SCRIPT_CLOSE}, -ECONNRESET},
        {{.then = SCRIPT_RESET}, -ECONNRESET},
        {{.then = SCRIPT_HANG}, -ETIMEDOUT},
        {{.answer = "HTTP/1.1 200 OK\r\n", .then = SCRIPT_DRIP}, -ETIMEDOUT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct proxy_stage stage;
        open_stage(&stage, "", NULL, &cases[i].step);
        int64_t before = http_stage_in_ms(0);
        struct http_request request = {
            .url = STR("https://api.test/"), .is_repeatable = true, .deadline_ns = before + 300 * NS_PER_MS};
        assert_int_equal(http_stage_send(&stage.stage, request, ""), cases[i].code);
        assert_true(http_stage_in_ms(0) - before < 2 * NS_PER_SEC);
        assert_non_null(strstr(stage.stage.err.msg, "proxy 127.0.0.1"));
        http_stage_close(&stage.stage);
        assert_int_equal(stage.stage.server.connection_count, 1);
        http_stage_free(&stage.stage);
    }
}

static void test_proxy_that_is_not_there(void **state)
{
    (void)state;
    static const struct script_step step = {.answer = OK_ANSWER};
    struct proxy_stage stage;
    open_stage(&stage, "", NULL, &step);
    script_server_stop(&stage.stage.server);
    assert_int_equal(get(&stage, "https://api.test/"), -ECONNREFUSED);
    assert_non_null(strstr(stage.stage.err.msg, "proxy 127.0.0.1"));
    http_answer_fini(&stage.stage.answer);
    http_client_free(stage.stage.client);
}

/* 192.0.2.0/24 is not in use: without the proxy there is no answer from there, or no route. */
static void test_direct_requests_never_use_a_proxy(void **state)
{
    (void)state;
    static const struct script_step step = {.answer = OK_ANSWER};
    for (int i = 0; i < 2; i++) {
        struct proxy_stage stage;
        open_stage(&stage, "", i == 0 ? NULL : "192.0.2.0/24", &step);
        struct http_request request = {
            .url = STR("http://192.0.2.1/"), .is_direct = i == 0, .deadline_ns = http_stage_in_ms(200)};
        assert_true(http_stage_send(&stage.stage, request, "") < 0);
        assert_int_not_equal(stage.stage.err.code, -EPERM);
        http_stage_close(&stage.stage);
        assert_int_equal(stage.stage.server.connection_count, 0);
        http_stage_free(&stage.stage);
    }
}

static void test_this_host_needs_no_proxy(void **state)
{
    (void)state;
    static const struct script_step step = {.answer = OK_ANSWER};
    struct proxy_stage stage;
    open_stage(&stage, "", NULL, &step);
    assert_int_equal(http_stage_get(&stage.stage, "/here"), 0);
    http_stage_close(&stage.stage);
    assert_non_null(strstr(stage.stage.server.requests[0], "GET /here HTTP/1.1\r\n"));
    http_stage_free(&stage.stage);
}

static int never(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)fd;
    (void)events;
    (void)deadline_ns;
    *(bool *)context = true;
    return -ECANCELED;
}

static void test_plain_http_stays_here(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    bool has_waited = false;
    const struct net_wait wait = {never, &has_waited};
    char proxy[64];
    struct http_context context = {.wait = &wait, .proxy = {.http_proxy = proxy}};
    HTTP_STAGE_OPEN(&stage, &context, steps);
    (void)snprintf(proxy, sizeof(proxy), "127.0.0.1:%u", (unsigned)stage.server.port);
    static const char *const foreign[] = {"http://api.test/?token=sesame", "http://192.0.2.1/", "http://[2001:db8::1]/",
        "http://127.0.0.1.test/", "http://localhost.test/", "http://notlocalhost/"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        assert_int_equal(http_stage_send(&stage, (struct http_request){.url = str_of(foreign[i])}, ""), -EPERM);
        assert_non_null(strstr(stage.err.msg, "allow_http"));
        assert_null(strstr(stage.err.msg, "sesame"));
    }
    assert_false(has_waited);
    http_stage_close(&stage);
    assert_int_equal(stage.server.connection_count, 0);
    http_stage_free(&stage);
}

static void check_refused(struct http_stage *stage, struct http_request request, const char *path)
{
    assert_int_equal(http_stage_send(stage, request, path), -EINVAL);
    assert_int_equal(stage->err.code, -EINVAL);
    assert_null(strstr(stage->err.msg, "sesame"));
}

static void test_requests_that_are_not_sent(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    const struct http_header headers[] = {
        {"X-A", STR("sesame\r\nX-B: 1")},
        {"X-A", STR("sesame\n")},
        {"X-A", STR("se\0same")},
        {"X-A", STR("\rsesame")},
        {"X-A\r\nX-B", STR("sesame")},
        {"X A", STR("sesame")},
        {"X:A", STR("sesame")},
        {"", STR("sesame")},
        {"Host", STR("sesame")},
        {"content-length", STR("5")},
        {"Transfer-Encoding", STR("chunked")},
        {"CONNECTION", STR("close")},
        {"X-A", STR("sesame\x7f")},
    };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        check_refused(&stage, (struct http_request){.headers = &headers[i], .header_count = 1}, "/");
    const struct str urls[] = {STR(""), STR("127.0.0.1/"), STR("ftp://127.0.0.1/"), STR("http:///sesame"),
        STR("http://127.0.0.1:1/sesame\r\nX: y"), STR("http://127.0.0.1:1/sesame x"),
        STR("http://127.0.0.1:1/\0sesame"), STR("http://sesame%zz@127.0.0.1:1/"), STR("http://a:sesame@127.0.0.1:0/")};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        check_refused(&stage, (struct http_request){.url = urls[i]}, "");
    static const char *const methods[] = {"", "GET /", "G\r\n", "GET\t"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        check_refused(&stage, (struct http_request){.method = methods[i]}, "/");
    struct http_header many[HTTP_HEADERS_MAX + 1];
    for (size_t i = 0; i <= HTTP_HEADERS_MAX; i++)
        many[i] = (struct http_header){"X-A", STR("1")};
    check_refused(&stage, (struct http_request){.headers = many, .header_count = HTTP_HEADERS_MAX + 1}, "/");
    assert_int_equal(
        http_stage_send(&stage, (struct http_request){.headers = many, .header_count = HTTP_HEADERS_MAX}, "/"), 0);
    http_stage_close(&stage);
    assert_int_equal(stage.server.connection_count, 1);
    http_stage_free(&stage);
}

static void test_head_that_is_too_large(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}};
    static char value[70000];
    memset(value, 'v', sizeof(value));
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    struct http_header header = {"X-A", {value, sizeof(value)}};
    struct http_request request = {.headers = &header, .header_count = 1};
    check_refused(&stage, request, "/");
    header.value.n = 60000;
    assert_int_equal(http_stage_send(&stage, request, "/"), 0);
    http_stage_close(&stage);
    http_stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_request_through_a_proxy),
        cmocka_unit_test(test_tunnel_is_asked_for),
        cmocka_unit_test(test_tunnel_to_an_address),
        cmocka_unit_test(test_proxies_that_fail),
        cmocka_unit_test(test_proxy_that_is_not_there),
        cmocka_unit_test(test_direct_requests_never_use_a_proxy),
        cmocka_unit_test(test_this_host_needs_no_proxy),
        cmocka_unit_test(test_plain_http_stays_here),
        cmocka_unit_test(test_requests_that_are_not_sent),
        cmocka_unit_test(test_head_that_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
