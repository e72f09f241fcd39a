/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks against a server of our own: what is sent, what a status means, that no secret is in a message; and the row of
 * the table: which event is sent when.
 */
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
#include "stream/delivery.h"
#include "stream/targets/hooks_internal.h"

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
    assert_int_equal(hooks_send(&hooks, HOOKS_START, STR(BODY), soon(), &err), 0);
    assert_int_equal(hooks_send(&hooks, HOOKS_HEARTBEAT, STR(BODY), soon(), &err), 0);
    assert_string_equal(err.msg, "");
    hooks.http = new_client();
    assert_true(hooks_send(&hooks, HOOKS_STOP, STR(BODY), soon(), &err) < 0);
    http_client_free(hooks.http);
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

/* The row, with everything that it uses; the clock is the system's and can be put forward. */
struct scenario {
    struct settings settings;
    struct stream_options options;
    struct run_facts facts;
    struct exchange exchange;
    struct run_state state;
    struct delivery delivery;
    struct target_clients clients;
    struct target_run *hooks;
};

static int64_t read_ahead(void *context, enum clock_kind kind)
{
    return clock_read(&clock_system, kind) + *(int64_t *)context;
}

static int64_t ahead_ns;
static const struct clock clock_ahead = {.read_ns = read_ahead, .context = &ahead_ns};

static void scenario_open(struct scenario *scenario, char *url)
{
    static char *no_environment[] = {NULL};
    *scenario = (struct scenario){
        .settings = {.http_start_url = url,
            .http_heartbeat_url = url,
            .http_stop_url = url,
            .http_heartbeat_ns = 60 * NS_PER_SEC,
            .environment = no_environment},
        .options = {.settings = &scenario->settings, .clock = &clock_ahead},
        .facts = {.run_id = "20261115T093000Z-1f2e3d4c"},
    };
    ahead_ns = 0;
    assert_int_equal(exchange_init(&scenario->exchange, NULL), 0);
    assert_int_equal(run_state_init(&scenario->state), 0);
    assert_int_equal(
        target_clients_init(&scenario->clients, stream_targets[0], &scenario->settings, &net_wait_plain), 0);
    scenario->delivery = (struct delivery){.options = &scenario->options,
        .state = &scenario->state,
        .exchange = &scenario->exchange,
        .facts = &scenario->facts,
        .started_ns = clock_read(&clock_ahead, CLOCK_KIND_MONOTONIC)};
    for (size_t i = 0; i < stream_target_count; i++) {
        if (strcmp(stream_targets[i]->name, "hook") == 0)
            scenario->hooks = &scenario->state.targets[i];
    }
    assert_non_null(scenario->hooks);
    scenario->hooks->is_wanted = scenario->hooks->target->is_wanted(&scenario->settings);
    scenario->hooks->target->begin(scenario->hooks, &scenario->state, &scenario->settings);
    target_open(scenario->hooks, &scenario->delivery, &scenario->clients);
}

static void scenario_close(struct scenario *scenario)
{
    run_state_fini(&scenario->state);
    target_clients_fini(&scenario->clients);
    exchange_fini(&scenario->exchange);
}

/* Steps once, where it is due; false where it is not. */
static bool step(struct scenario *scenario)
{
    int64_t now_ns = clock_read(&clock_ahead, CLOCK_KIND_MONOTONIC);
    if (target_next_due(scenario->hooks) > now_ns)
        return false;
    scenario->hooks->target->step(scenario->hooks, now_ns + 30 * NS_PER_SEC);
    return true;
}

static void assert_notice(struct scenario *scenario, const char *text)
{
    struct exchange_notice notice;
    if (text) {
        assert_true(exchange_next_notice(&scenario->exchange, &notice));
        assert_string_equal(notice.text, text);
    }
    assert_false(exchange_next_notice(&scenario->exchange, &notice));
}

static void test_events_of_a_run(void **state)
{
    (void)state;
    static const char *const events[] = {"start", "heartbeat", "heartbeat", "heartbeat", "stop"};
    static const char *const answers[] = {LOOPBACK_ANSWER("200 OK", "", ""), LOOPBACK_ANSWER("500 No", "", ""),
        LOOPBACK_ANSWER("500 No", "", ""), LOOPBACK_ANSWER("200 OK", "", ""), LOOPBACK_ANSWER("204 Thanks", "", "")};
    static const char *const notices[] = {NULL, "the heartbeat hook: 127.0.0.1 answered 500 Internal Server Error",
        NULL, "the heartbeat hook works again", NULL};
    static struct scenario scenario;
    struct loopback server;
    char url[64];
    assert_true(loopback_start(&server, answers, 5));
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server.port);
    scenario_open(&scenario, url);
    for (size_t i = 0; i < 5; i++) {
        if (i == 4) {
            scenario.delivery.is_over = true;
            scenario.state.end = (struct end_facts){
                .exit_code = some_i64(3), .is_failed = true, .finished_secs = 1794735000, .elapsed_secs = 12.5};
        }
        assert_true(step(&scenario));
        assert_notice(&scenario, notices[i]);
        assert_false(step(&scenario)); /* each is tried once */
        assert_int_equal(target_watch_fd(scenario.hooks), -1);
        assert_int_equal(scenario.hooks->is_done, i == 4);
        ahead_ns += 61 * NS_PER_SEC;
    }
    assert_false(step(&scenario)); /* no heartbeat after the end */
    loopback_stop(&server);
    assert_int_equal(server.request_count, 5);
    for (size_t i = 0; i < 5; i++) {
        char want[32];
        const char *body = buf_cstr(&server.requests[i].body);
        (void)snprintf(want, sizeof(want), "{\"event\":\"%s\",", events[i]);
        assert_memory_equal(body, want, strlen(want));
        assert_int_equal(strstr(body, "\"exit_code\":3") != NULL, i == 4);
        /* The length of the run and its end, however late they are sent. */
        assert_int_equal(strstr(body, "\"timestamp\":\"2026-11-15T09:30:00Z\",\"elapsed_secs\":12.5") != NULL, i == 4);
    }
    loopback_fini(&server);
    scenario_close(&scenario);
}

static void test_nothing_is_kept(void **state)
{
    (void)state;
    static struct scenario scenario;
    char url[] = "http://127.0.0.1:1/";
    scenario_open(&scenario, url);
    struct buf text = {.max = 64 * 1024};
    run_state_put(&text, &scenario.state);
    assert_null(strstr(buf_cstr(&text), "hook"));
    assert_false(run_state_has_targets(&scenario.state));
    assert_true(target_is_open(scenario.hooks));
    assert_true(run_state_is_delivered(&scenario.state));
    buf_fini(&text);
    scenario_close(&scenario);
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
        cmocka_unit_test(test_events_of_a_run),
        cmocka_unit_test(test_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
