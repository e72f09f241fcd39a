/* SPDX-License-Identifier: Apache-2.0 */
/* A client and a scripted server on loopback, for the tests of the HTTP client. */
#ifndef HTTP_STAGE_H
#define HTTP_STAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/http.h"
#include "script_server.h"

enum { HTTP_ANSWER_MAX = 4096 };

struct http_stage {
    struct script_server server;
    struct http_client *client;
    struct http_answer answer;
    struct err err;
    char url[200];
};

static inline int64_t http_stage_in_ms(int64_t ms)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + ms * NS_PER_MS;
}

static inline bool http_stage_open(
    struct http_stage *stage, const struct http_context *given, const struct script_step *steps, size_t step_count)
{
    struct http_context context = given ? *given : (struct http_context){0};
    if (!context.wait)
        context.wait = &net_wait_plain;
    context.user_agent = "tester/1";
    *stage = (struct http_stage){0};
    script_server_start(&stage->server, steps, step_count);
    return http_client_new(&context, &stage->client) == 0;
}

static inline int http_stage_send(struct http_stage *stage, struct http_request request, const char *path)
{
    http_answer_fini(&stage->answer);
    err_clear(&stage->err);
    if (!request.url.p) {
        int n = snprintf(stage->url, sizeof(stage->url), "http://127.0.0.1:%u%s", (unsigned)stage->server.port, path);
        request.url = (struct str){stage->url, (size_t)n};
    }
    if (!request.method)
        request.method = "GET";
    if (request.deadline_ns == 0)
        request.deadline_ns = http_stage_in_ms(10000);
    if (request.answer_max == 0)
        request.answer_max = HTTP_ANSWER_MAX;
    return http_send(stage->client, &request, &stage->answer, &stage->err);
}

static inline int http_stage_get(struct http_stage *stage, const char *path)
{
    return http_stage_send(stage, (struct http_request){0}, path);
}

/* Ends client and server; what the server recorded is valid until http_stage_free. */
static inline void http_stage_close(struct http_stage *stage)
{
    http_answer_fini(&stage->answer);
    http_client_free(stage->client);
    script_server_stop(&stage->server);
}

static inline void http_stage_free(struct http_stage *stage)
{
    script_server_free(&stage->server);
}

#define HTTP_STAGE_OPEN(stage, context, steps)                                                                         \
    assert_true(http_stage_open((stage), (context), (steps), sizeof(steps) / sizeof((steps)[0])))

#endif
