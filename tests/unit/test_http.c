/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges with a scripted server: framings, a kept connection and its death, slow, broken and hostile answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http_stage.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void test_requests_as_sent(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}, {.answer = OK_ANSWER}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(http_stage_get(&stage, "/a?b=c#fragment"), 0);
    assert_int_equal(stage.answer.status, 200);
    assert_string_equal(buf_cstr(&stage.answer.body), "ok");
    const struct http_header headers[] = {{"X-One", STR("1")}, {"Content-Type", STR("text/plain")}};
    struct http_request post = {
        .method = "POST", .headers = headers, .header_count = 2, .body = STR("hello"), .has_body = true};
    assert_int_equal(http_stage_send(&stage, post, "?query"), 0);
    struct http_request put = {.method = "PUT", .has_body = true};
    assert_int_equal(http_stage_send(&stage, put, ""), 0);
    http_stage_close(&stage);
    char expected[300];
    unsigned port = stage.server.port;
    (void)snprintf(
        expected, sizeof(expected), "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: tester/1\r\n\r\n", port);
    assert_string_equal(stage.server.requests[0], expected);
    (void)snprintf(expected, sizeof(expected),
        "POST /?query HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: tester/1\r\nX-One: 1\r\nContent-Type: "
        "text/plain\r\nContent-Length: 5\r\n\r\nhello",
        port);
    assert_string_equal(stage.server.requests[1], expected);
    (void)snprintf(expected, sizeof(expected),
        "PUT / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: tester/1\r\nContent-Length: 0\r\n\r\n", port);
    assert_string_equal(stage.server.requests[2], expected);
    assert_int_equal(stage.server.connection_count, 1);
    http_stage_free(&stage);
}

static void test_user_info_and_own_headers(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    char url[100];
    int n = snprintf(url, sizeof(url), "http://me:s%%21@127.0.0.1:%u/", (unsigned)stage.server.port);
    struct http_request request = {.url = {url, (size_t)n}};
    assert_int_equal(http_stage_send(&stage, request, ""), 0);
    const struct http_header headers[] = {{"authorization", STR("Bearer x")}, {"user-agent", STR("mine")}};
    request.headers = headers;
    request.header_count = 2;
    assert_int_equal(http_stage_send(&stage, request, ""), 0);
    http_stage_close(&stage);
    assert_non_null(strstr(stage.server.requests[0], "\r\nAuthorization: Basic bWU6cyE=\r\n"));
    assert_null(strstr(stage.server.requests[0], "me:s"));
    assert_null(strstr(stage.server.requests[1], "Basic"));
    assert_null(strstr(stage.server.requests[1], "tester"));
    http_stage_free(&stage);
}

static void test_framings(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nT: 1\r\n\r\n"},
        {.answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nz"},
        {.answer = "HTTP/1.1 204 No Content\r\n\r\n"},
        {.answer = "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n"},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"},
        {.answer = "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.test/\r\n\r\nto the end", .then = SCRIPT_CLOSE},
    };
    static const struct {
        const char *method, *body;
        int status;
    } expected[] = {{"GET", "abcd", 200}, {"POST", "z", 201}, {"GET", "", 204}, {"GET", "", 304}, {"HEAD", "", 200},
        {"GET", "to the end", 302}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(http_stage_send(&stage, (struct http_request){.method = expected[i].method}, "/"), 0);
        assert_int_equal(stage.answer.status, expected[i].status);
        assert_string_equal(buf_cstr(&stage.answer.body), expected[i].body);
    }
    struct str location = http_answer_header(&stage.answer, "location");
    assert_true(str_eq(location, STR("http://elsewhere.test/")));
    http_stage_close(&stage);
    assert_int_equal(stage.server.connection_count, 1);
    http_stage_free(&stage);
}

/* The server closes the kept connection behind our back: before the next request, or on it. */
static void test_dead_kept_connection(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER, .then = SCRIPT_CLOSE}, {.answer = OK_ANSWER},
        {.then = SCRIPT_CLOSE}, {.answer = OK_ANSWER}, {.then = SCRIPT_RESET}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(http_stage_get(&stage, "/1"), 0);
    assert_int_equal(http_stage_send(&stage, (struct http_request){.is_repeatable = true}, "/2"), 0);
    assert_int_equal(http_stage_send(&stage, (struct http_request){.is_repeatable = true}, "/3"), 0);
    assert_int_equal(http_stage_get(&stage, "/4"), -ECONNRESET);
    http_stage_close(&stage);
    assert_int_equal(stage.server.request_count, 5);
    assert_non_null(strstr(stage.server.requests[2], "GET /3 "));
    assert_non_null(strstr(stage.server.requests[3], "GET /3 "));
    assert_int_equal(stage.server.request_connections[1], 2);
    assert_int_equal(stage.server.request_connections[2], 2);
    assert_int_equal(stage.server.request_connections[3], 3);
    assert_int_equal(stage.server.request_connections[4], 3);
    http_stage_free(&stage);
}

static void test_fresh_connections_are_not_tried_twice(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.then = SCRIPT_CLOSE}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(http_stage_send(&stage, (struct http_request){.is_repeatable = true}, "/"), -ECONNRESET);
    http_stage_close(&stage);
    assert_int_equal(stage.server.request_count, 1);
    http_stage_free(&stage);
}

static void test_half_an_answer_is_not_repeated(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.answer = OK_ANSWER}, {.answer = "HTTP/1.1 2", .then = SCRIPT_CLOSE}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(http_stage_get(&stage, "/"), 0);
    assert_int_equal(http_stage_send(&stage, (struct http_request){.is_repeatable = true}, "/"), -ECONNRESET);
    http_stage_close(&stage);
    assert_int_equal(stage.server.request_count, 2);
    http_stage_free(&stage);
}

static void test_connections_that_are_not_kept(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"},
        {.answer = OK_ANSWER "surplus"}, {.answer = OK_ANSWER}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(http_stage_get(&stage, "/"), 0);
        assert_string_equal(buf_cstr(&stage.answer.body), "ok");
    }
    http_client_close_idle(stage.client);
    assert_int_equal(http_stage_get(&stage, "/"), 0);
    http_stage_close(&stage);
    assert_int_equal(stage.server.connection_count, 4);
    http_stage_free(&stage);
}

/* The same host under another name is another place. */
static void test_another_place(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}, {.answer = OK_ANSWER}, {.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(http_stage_get(&stage, "/"), 0);
    for (int i = 0; i < 2; i++) {
        char url[100];
        int n = snprintf(url, sizeof(url), "http://%s:%u/", i ? "LOCALHOST" : "localhost", (unsigned)stage.server.port);
        assert_int_equal(http_stage_send(&stage, (struct http_request){.url = {url, (size_t)n}}, ""), 0);
    }
    http_stage_close(&stage);
    assert_int_equal(stage.server.connection_count, 2);
    http_stage_free(&stage);
}

static void check_failure(const struct script_step *step, int code)
{
    struct http_stage stage;
    assert_true(http_stage_open(&stage, NULL, step, 1));
    struct http_request request = {.is_repeatable = true};
    int r = http_stage_send(&stage, request, "/?token=sesame");
    if (r != code)
        print_error("%s\n", step->answer ? step->answer : "no answer");
    assert_int_equal(r, code);
    assert_int_equal(stage.err.code, code);
    assert_non_null(strstr(stage.err.msg, "127.0.0.1"));
    assert_null(strstr(stage.err.msg, "sesame"));
    http_stage_close(&stage);
    http_stage_free(&stage);
}

static void test_broken_answers(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk"},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nok"},
        {.answer = "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\nok"},
        {.answer = "220 mail.test ESMTP\r\n"},
        {.answer = "\0\xff\xfe\n\n\n\n", .answer_bytes = 7},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        check_failure(&steps[i], -EPROTO);
}

static void test_cut_answers(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.then = SCRIPT_CLOSE},
        {.then = SCRIPT_RESET},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Le", .then = SCRIPT_CLOSE},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", .then = SCRIPT_RESET},
        {.answer = "HTTP/1.1 200 OK\r\n\r\nhell", .then = SCRIPT_RESET},
        {.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .then = SCRIPT_CLOSE},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        check_failure(&steps[i], -ECONNRESET);
}

static void test_large_answers(void **state)
{
    (void)state;
    enum { BYTES = 200 * 1024 };
    char *text = malloc(BYTES);
    assert_non_null(text);
    memset(text, 'x', BYTES);
    static const char *const heads[] = {"HTTP/1.1 200 OK\r\nA: ", "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1001\r\n"};
    for (size_t i = 0; i < 4; i++) {
        memcpy(text, heads[i], strlen(heads[i]));
        check_failure(&(struct script_step){.answer = text, .answer_bytes = BYTES}, -EMSGSIZE);
        memset(text, 'x', 200);
    }
    free(text);
}

static void test_deadlines(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.then = SCRIPT_HANG},
        {.then = SCRIPT_HANG, .take = SCRIPT_NOTHING},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", .then = SCRIPT_DRIP},
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\nsome", .then = SCRIPT_HANG},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct http_stage stage;
        assert_true(http_stage_open(&stage, NULL, &steps[i], 1));
        int64_t before = http_stage_in_ms(0);
        struct http_request request = {.deadline_ns = before + 300 * NS_PER_MS};
        assert_int_equal(http_stage_send(&stage, request, "/"), -ETIMEDOUT);
        assert_in_range(http_stage_in_ms(0) - before, 290 * NS_PER_MS, 2000 * NS_PER_MS);
        http_stage_close(&stage);
        http_stage_free(&stage);
    }
}

static void test_no_time_no_connection(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    struct http_request request = {.deadline_ns = http_stage_in_ms(-1)};
    assert_int_equal(http_stage_send(&stage, request, "/"), -ETIMEDOUT);
    http_stage_close(&stage);
    assert_int_equal(stage.server.connection_count, 0);
    http_stage_free(&stage);
}

/* A body that no socket buffer holds, so that writing meets what the server does. */
static int send_large(struct http_stage *stage, size_t bytes)
{
    char *body = malloc(bytes);
    assert_non_null(body);
    memset(body, 'b', bytes);
    struct http_request request = {.method = "PUT", .body = {body, bytes}, .has_body = true};
    int r = http_stage_send(stage, request, "/");
    free(body);
    return r;
}

static void test_large_request(void **state)
{
    (void)state;
    enum { BYTES = 900 * 1024 };
    static const struct script_step steps[] = {{.answer = OK_ANSWER}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(send_large(&stage, BYTES), 0);
    http_stage_close(&stage);
    const char *body = strstr(stage.server.requests[0], "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strspn(body + 4, "b"), BYTES);
    http_stage_free(&stage);
}

static void test_early_answers(void **state)
{
    (void)state;
    static const char refusal[] = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig";
    static const struct script_step steps[] = {
        {.answer = refusal, .then = SCRIPT_CLOSE, .take = SCRIPT_HEAD},
        {.answer = refusal, .then = SCRIPT_HANG, .take = SCRIPT_NOTHING},
    };
    for (size_t i = 0; i < 2; i++) {
        struct http_stage stage;
        assert_true(http_stage_open(&stage, NULL, &steps[i], 1));
        assert_int_equal(send_large(&stage, 32 * 1024 * 1024), 0);
        assert_int_equal(stage.answer.status, 413);
        assert_string_equal(buf_cstr(&stage.answer.body), "big");
        /* The rest of that body must not be taken for another request. */
        assert_int_equal(
            http_stage_send(&stage, (struct http_request){.deadline_ns = http_stage_in_ms(50)}, "/"), -ETIMEDOUT);
        http_stage_close(&stage);
        http_stage_free(&stage);
    }
}

static void test_server_gone_while_sending(void **state)
{
    (void)state;
    static const struct script_step steps[] = {{.then = SCRIPT_RESET, .take = SCRIPT_HEAD}};
    struct http_stage stage;
    HTTP_STAGE_OPEN(&stage, NULL, steps);
    assert_int_equal(send_large(&stage, 32 * 1024 * 1024), -ECONNRESET);
    http_stage_close(&stage);
    http_stage_free(&stage);
}

struct canceller {
    int calls, at;
};

/* Waits as usual until it is called the at-th time. */
static int cancel_later(void *context, int fd, short events, int64_t deadline_ns)
{
    struct canceller *canceller = context;
    if (canceller->calls++ == canceller->at)
        return -ECANCELED;
    return net_wait_until(&net_wait_plain, fd, events, deadline_ns);
}

static void test_canceled(void **state)
{
    (void)state;
    static const struct script_step steps[] = {
        {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n", .then = SCRIPT_DRIP}};
    for (int at = 0; at < 5; at++) {
        struct canceller canceller = {.at = at};
        const struct net_wait wait = {cancel_later, &canceller};
        const struct http_context context = {.wait = &wait};
        struct http_stage stage;
        HTTP_STAGE_OPEN(&stage, &context, steps);
        assert_int_equal(http_stage_get(&stage, "/"), -ECANCELED);
        assert_int_equal(canceller.calls, at + 1);
        http_stage_close(&stage);
        http_stage_free(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_as_sent),
        cmocka_unit_test(test_user_info_and_own_headers),
        cmocka_unit_test(test_framings),
        cmocka_unit_test(test_dead_kept_connection),
        cmocka_unit_test(test_fresh_connections_are_not_tried_twice),
        cmocka_unit_test(test_half_an_answer_is_not_repeated),
        cmocka_unit_test(test_connections_that_are_not_kept),
        cmocka_unit_test(test_another_place),
        cmocka_unit_test(test_broken_answers),
        cmocka_unit_test(test_cut_answers),
        cmocka_unit_test(test_large_answers),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_no_time_no_connection),
        cmocka_unit_test(test_large_request),
        cmocka_unit_test(test_early_answers),
        cmocka_unit_test(test_server_gone_while_sending),
        cmocka_unit_test(test_canceled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
