/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/targets/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/auto.h"
#include "net/http.h"
#include "net/url.h"
#include "stream/delivery.h"

enum { ANSWER_BYTES_MAX = 256 * 1024 };
#define HOOK_NS (10 * NS_PER_SEC)
#define HOOK_LATE_NS (20 * NS_PER_MS)

static const char *const names[HOOKS_EVENTS] = {
    [HOOKS_START] = "start",
    [HOOKS_HEARTBEAT] = "heartbeat",
    [HOOKS_STOP] = "stop",
};

/* The client's own business. */
static const char forbidden[][18] = {
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "User-Agent", "Expect", "Upgrade", "TE", "Trailer"};

const char *hooks_name(enum hooks_event event)
{
    return names[event];
}

bool hooks_has(const struct hooks *hooks, enum hooks_event event)
{
    return hooks->urls[event] && hooks->urls[event][0];
}

static int check_headers(const struct hooks *hooks, struct err *err)
{
    if (hooks->header_count > HOOKS_HEADERS_MAX)
        return err_set(err, -EINVAL, "more than %d headers", HOOKS_HEADERS_MAX);
    for (size_t i = 0; i < hooks->header_count; i++) {
        const struct http_header *header = &hooks->headers[i];
        if (!http_text_is_token(str_of(header->name)) || http_text_has_control(header->value))
            return err_set(err, -EINVAL, "header %zu cannot be sent", i + 1);
        for (size_t k = 0; k < sizeof(forbidden) / sizeof(forbidden[0]); k++) {
            if (strcasecmp(header->name, forbidden[k]) == 0)
                return err_set(err, -EINVAL, "the header %s cannot be chosen", forbidden[k]);
        }
    }
    return 0;
}

static bool has_header(const struct hooks *hooks, const char *name)
{
    for (size_t i = 0; i < hooks->header_count; i++) {
        if (strcasecmp(hooks->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Ours, unless they were chosen, and then the others. Returns how many. */
static size_t fill_headers(const struct hooks *hooks, struct http_header ret_headers[static HTTP_HEADERS_MAX])
{
    static const struct http_header ours[] = {
        {"Content-Type", {"application/json", sizeof("application/json") - 1}},
        {"Accept", {"*/*", sizeof("*/*") - 1}},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (!has_header(hooks, ours[i].name))
            ret_headers[count++] = ours[i];
    }
    for (size_t i = 0; i < hooks->header_count; i++)
        ret_headers[count++] = hooks->headers[i];
    return count;
}

static int classify(const struct url *url, int status, struct err *err)
{
    if (status / 100 == 2)
        return 0;
    int code = http_status_may_pass(status) ? -EAGAIN : -EREMOTEIO;
    return err_set(err, code, "%.*s answered %d %s", (int)url->host.n, url->host.p, status, http_status_text(status));
}

static int send_hook(struct http_client *http, const struct http_request *request, struct err *err)
{
    struct url url;
    int r = url_parse(request->url, &url, err);
    if (r < 0)
        return r;
    struct http_answer answer;
    r = http_send(http, request, &answer, err);
    if (r < 0)
        return r;
    r = classify(&url, answer.status, err);
    http_answer_fini(&answer);
    return r;
}

int hooks_send(const struct hooks *hooks, enum hooks_event event, struct str body, int64_t deadline_ns, struct err *err)
{
    struct http_header headers[HTTP_HEADERS_MAX];
    if (!hooks_has(hooks, event))
        return 0;
    int r = check_headers(hooks, err);
    if (r == 0) {
        struct http_request request = {
            .method = "POST",
            .url = str_of(hooks->urls[event]),
            .headers = headers,
            .header_count = fill_headers(hooks, headers),
            .body = body,
            .has_body = true,
            .is_repeatable = event == HOOKS_HEARTBEAT, /* a start or stop sent twice may be counted twice */
            .deadline_ns = deadline_ns,
            .answer_max = ANSWER_BYTES_MAX,
        };
        r = send_hook(hooks->http, &request, err);
    }
    if (r < 0)
        (void)err_wrap(err, "the %s hook", hooks_name(event));
    return r;
}

static int64_t now(const struct hooks *hooks)
{
    return clock_read(hooks->options->clock, CLOCK_KIND_MONOTONIC);
}

int hooks_init(struct hooks *hooks, const struct stream_options *options, const struct net_wait *wait,
    const struct run_facts *facts, struct exchange *exchange)
{
    const struct settings *settings = options->settings;
    *hooks = (struct hooks){
        .urls = {settings->http_start_url, settings->http_heartbeat_url, settings->http_stop_url},
        .options = options,
        .facts = facts,
        .exchange = exchange,
        .heartbeat_ns = DELIVERY_NEVER,
    };
    hooks->started_ns = now(hooks);
    if (hooks_has(hooks, HOOKS_HEARTBEAT))
        hooks->heartbeat_ns = hooks->started_ns + settings->http_heartbeat_ns;
    hooks->own_headers = calloc(settings->http_headers.count + 1, sizeof(*hooks->own_headers));
    if (!hooks->own_headers)
        return -ENOMEM;
    for (size_t i = 0; i < settings->http_headers.count; i++) {
        const struct settings_pair *pair = &settings->http_headers.items[i];
        hooks->own_headers[i] = (struct http_header){.name = pair->key, .value = str_of(pair->value)};
    }
    hooks->headers = hooks->own_headers;
    hooks->header_count = settings->http_headers.count;
    return target_client_new(settings, wait, false, &hooks->http);
}

void hooks_fini(struct hooks *hooks)
{
    http_client_free(hooks->http);
    free(hooks->own_headers);
}

static void send_pending(struct hooks *hooks, enum hooks_event event)
{
    AUTO_BUF struct buf body = {.max = RUN_STATE_BODY_MAX};
    payload_hook(&body, hooks->facts, &hooks->pending[event].event, hooks->options->omit);
    hooks->pending[event].is_pending = false;
    struct err err = {0};
    int r = hooks_send(hooks, event, buf_str(&body), hooks->pending[event].deadline_ns, &err);
    bool is_again = event == HOOKS_HEARTBEAT && hooks->is_heartbeat_failing;
    if (r < 0 && !is_again)
        exchange_notify(hooks->exchange, LOG_WARNING, "%s", err.msg);
    else if (r == 0 && is_again)
        exchange_notify(hooks->exchange, LOG_WARNING, "the heartbeat hook works again");
    if (event == HOOKS_HEARTBEAT)
        hooks->is_heartbeat_failing = r < 0;
}

int64_t hooks_continue(struct hooks *hooks, int *ret_fd)
{
    *ret_fd = -1;
    /* In their order: no end is reported before the start. */
    for (int i = 0; i < HOOKS_EVENTS; i++) {
        if (!hooks->pending[i].is_pending)
            continue;
        int64_t now_ns = now(hooks);
        int fd = http_client_look_up(hooks->http, str_of(hooks->urls[i]));
        if (fd >= 0 && now_ns < hooks->pending[i].deadline_ns) {
            *ret_fd = fd;
            return hooks->pending[i].deadline_ns;
        }
        if (fd >= 0) /* too late: only for the message that says what it waited for */
            hooks->pending[i].deadline_ns = now_ns + HOOK_LATE_NS;
        send_pending(hooks, (enum hooks_event)i);
    }
    return DELIVERY_NEVER;
}

void hooks_start(struct hooks *hooks, enum hooks_event event, const struct end_facts *end, int64_t deadline_ns)
{
    if (!hooks_has(hooks, event) || hooks->pending[event].is_pending)
        return;
    int64_t now_ns = now(hooks);
    hooks->pending[event].is_pending = true;
    hooks->pending[event].deadline_ns = now_ns + HOOK_NS < deadline_ns ? now_ns + HOOK_NS : deadline_ns;
    hooks->pending[event].event = (struct payload_event){
        .event = hooks_name(event),
        .now_secs = clock_read(hooks->options->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC,
        .elapsed_secs = (double)(now_ns - hooks->started_ns) / 1e9,
        .end = end,
    };
    int fd;
    (void)hooks_continue(hooks, &fd);
}

int64_t hooks_beat(struct hooks *hooks, int64_t now_ns)
{
    if (now_ns >= hooks->heartbeat_ns) {
        while (hooks->heartbeat_ns <= now_ns)
            hooks->heartbeat_ns += hooks->options->settings->http_heartbeat_ns;
        hooks_start(hooks, HOOKS_HEARTBEAT, NULL, DELIVERY_NEVER);
    }
    return hooks->heartbeat_ns;
}

void hooks_limit(struct hooks *hooks, int64_t deadline_ns)
{
    for (size_t i = 0; i < HOOKS_EVENTS; i++) {
        if (hooks->pending[i].deadline_ns > deadline_ns)
            hooks->pending[i].deadline_ns = deadline_ns;
    }
}

void hooks_cancel(struct hooks *hooks)
{
    int fd;
    hooks_limit(hooks, 0);
    (void)hooks_continue(hooks, &fd);
}

static const char *url_of(const struct settings *settings, size_t i)
{
    const char *const urls[] = {settings->http_start_url, settings->http_heartbeat_url, settings->http_stop_url};
    return urls[i];
}

static bool is_wanted(const struct settings *settings)
{
    return url_of(settings, 0) || url_of(settings, 1) || url_of(settings, 2);
}

static int check(const struct settings *settings, struct err *err)
{
    static const char *const settings_names[HOOKS_EVENTS] = {"http.start_url", "http.heartbeat_url", "http.stop_url"};
    int r = 0;
    for (size_t i = 0; r == 0 && i < HOOKS_EVENTS; i++)
        r = target_check_url(settings, settings_names[i], url_of(settings, i), err);
    return r;
}

static bool put_url(const struct settings *settings, size_t i, struct buf *url)
{
    if (i >= HOOKS_EVENTS)
        return false;
    buf_puts(url, url_of(settings, i) ? url_of(settings, i) : "");
    return true;
}

const struct stream_target hooks_target = {
    .name = "hook",
    .label = "the hooks",
    .is_wanted = is_wanted,
    .check = check,
    .put_url = put_url,
};
