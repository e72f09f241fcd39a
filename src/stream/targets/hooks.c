/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP hooks: a small JSON POST at the start, from time to time, and at the end. Each is tried once, and the spool
 * keeps none. URLs and headers may hold secrets: a message names the host of a hook and nothing else of it.
 */
#include "stream/targets/hooks_internal.h"

#include <errno.h>

#include "base/auto.h"
#include "net/url.h"
#include "stream/delivery.h"

enum { ANSWER_BYTES_MAX = 256 * 1024 };
#define HOOK_NS (10 * NS_PER_SEC)
#define HOOK_LATE_NS (20 * NS_PER_MS)

static const char names[HOOKS_EVENTS][10] = {
    [HOOKS_START] = "start",
    [HOOKS_HEARTBEAT] = "heartbeat",
    [HOOKS_STOP] = "stop",
};

static bool has_url(const struct hooks *hooks, enum hooks_event event)
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
        const char *reserved = http_header_reserved(str_of(header->name));
        if (reserved)
            return err_set(err, -EINVAL, "the header %s cannot be chosen", reserved);
    }
    return 0;
}

static bool has_header(const struct hooks *hooks, const char *name)
{
    for (size_t i = 0; i < hooks->header_count; i++) {
        if (str_is_nocase(hooks->headers[i].name, name))
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
    if (!has_url(hooks, event))
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
        (void)err_wrap(err, "the %s hook", names[event]);
    return r;
}

/* The hooks of one run. */
struct to_hooks {
    struct hooks hooks;
    struct http_header headers[HOOKS_HEADERS_MAX + 1]; /* the last: there are too many */
    int64_t heartbeat_ns; /* monotonic; when the next heartbeat is due */
    bool is_heartbeat_failing; /* it was reported */
    bool is_started, is_stopped; /* that event was begun, or has no hook */
    /* On their way: a hook waits for the name of its host, while other targets are served. */
    struct {
        bool is_pending;
        int64_t deadline_ns;
        struct payload_event event;
    } pending[HOOKS_EVENTS];
};

static void begin(struct target_run *run, const struct run_state *state, const struct settings *settings)
{
    struct to_hooks *to = run->state;
    (void)state;
    to->hooks =
        (struct hooks){.urls = {settings->http_start_url, settings->http_heartbeat_url, settings->http_stop_url},
            .headers = to->headers};
    for (size_t i = 0; i < settings->http_headers.count && i <= HOOKS_HEADERS_MAX; i++) {
        const struct settings_pair *pair = &settings->http_headers.items[i];
        to->headers[to->hooks.header_count++] = (struct http_header){.name = pair->key, .value = str_of(pair->value)};
    }
}

static void open_run(struct target_run *run)
{
    struct to_hooks *to = run->state;
    const struct delivery *delivery = run->delivery;
    to->hooks.http = run->clients->http;
    to->heartbeat_ns = has_url(&to->hooks, HOOKS_HEARTBEAT)
                           ? delivery->started_ns + delivery->options->settings->http_heartbeat_ns
                           : DELIVERY_NEVER;
}

/* The one that is next. In their order: no end is reported before the start. HOOKS_EVENTS: none. */
static size_t first_pending(const struct to_hooks *to)
{
    size_t i = 0;
    while (i < HOOKS_EVENTS && !to->pending[i].is_pending)
        i++;
    return i;
}

/* -1 where it can be sent, else what is readable when the name of its host is known. */
static int lookup_fd(const struct to_hooks *to, size_t event)
{
    return http_client_look_up(to->hooks.http, str_of(to->hooks.urls[event]));
}

static int watch_fd(const struct target_run *run)
{
    const struct to_hooks *to = run->state;
    size_t event = first_pending(to);
    return event < HOOKS_EVENTS ? lookup_fd(to, event) : -1;
}

static int64_t next_due(const struct target_run *run)
{
    const struct to_hooks *to = run->state;
    bool is_over = run->delivery->is_over;
    if (!to->is_started || (is_over && !to->is_stopped))
        return 0;
    int64_t due_ns = is_over ? DELIVERY_NEVER : to->heartbeat_ns;
    size_t event = first_pending(to);
    if (event == HOOKS_EVENTS)
        return due_ns;
    if (lookup_fd(to, event) < 0)
        return 0;
    return to->pending[event].deadline_ns < due_ns ? to->pending[event].deadline_ns : due_ns;
}

static void send_pending(struct target_run *run, enum hooks_event event)
{
    struct to_hooks *to = run->state;
    struct delivery *delivery = run->delivery;
    AUTO_BUF struct buf body = {.max = RUN_STATE_BODY_MAX};
    payload_put_event(&body, delivery->facts, &to->pending[event].event, delivery->options->omit);
    to->pending[event].is_pending = false;
    struct err err = {0};
    int r = hooks_send(&to->hooks, event, buf_str(&body), to->pending[event].deadline_ns, &err);
    if (r < 0 && delivery->is_cancelled)
        (void)err_set(&err, r, "the %s hook: " DELIVERY_CANCELLED, names[event]);
    bool is_again = event == HOOKS_HEARTBEAT && to->is_heartbeat_failing;
    if (r < 0 && !is_again)
        exchange_notify(delivery->exchange, LOG_WARNING, "%s", err.msg);
    else if (r == 0 && is_again)
        exchange_notify(delivery->exchange, LOG_WARNING, "the heartbeat hook works again");
    if (event == HOOKS_HEARTBEAT)
        to->is_heartbeat_failing = r < 0;
}

/* Sends those whose host is known by now, or whose time is over. */
static void send_ready(struct target_run *run)
{
    struct to_hooks *to = run->state;
    size_t event;
    while ((event = first_pending(to)) < HOOKS_EVENTS) {
        int64_t now_ns = delivery_now(run->delivery);
        int fd = lookup_fd(to, event);
        if (fd >= 0 && now_ns < to->pending[event].deadline_ns)
            return;
        if (fd >= 0) /* too late: only for the message that says what it waited for */
            to->pending[event].deadline_ns = now_ns + HOOK_LATE_NS;
        send_pending(run, (enum hooks_event)event);
    }
    run->is_done = to->is_stopped;
}

/* Puts a hook among those that are on their way. */
static void add_pending(struct target_run *run, enum hooks_event event, int64_t deadline_ns)
{
    struct to_hooks *to = run->state;
    const struct delivery *delivery = run->delivery;
    if (!has_url(&to->hooks, event) || to->pending[event].is_pending)
        return;
    int64_t now_ns = delivery_now(delivery);
    to->pending[event].is_pending = true;
    to->pending[event].deadline_ns = now_ns + HOOK_NS < deadline_ns ? now_ns + HOOK_NS : deadline_ns;
    /* Of the end itself, which may be sent later. */
    const struct end_facts *end = event == HOOKS_STOP ? &delivery->state->end : NULL;
    to->pending[event].event = (struct payload_event){
        .event = names[event],
        .now_secs = end ? end->finished_secs : delivery_unix_secs(delivery),
        .elapsed_secs = end ? end->elapsed_secs : (double)(now_ns - delivery->started_ns) / 1e9,
        .end = end,
    };
}

/* Those that wait get no more time than this. */
static void limit(struct to_hooks *to, int64_t deadline_ns)
{
    for (size_t i = 0; i < HOOKS_EVENTS; i++) {
        if (to->pending[i].deadline_ns > deadline_ns)
            to->pending[i].deadline_ns = deadline_ns;
    }
}

static void step(struct target_run *run, int64_t deadline_ns)
{
    struct to_hooks *to = run->state;
    const struct delivery *delivery = run->delivery;
    bool is_heartbeat = false;
    if (!to->is_started) {
        to->is_started = true;
        add_pending(run, HOOKS_START, deadline_ns);
    } else if (delivery->is_over && !to->is_stopped) {
        to->is_stopped = true;
        limit(to, deadline_ns);
        add_pending(run, HOOKS_STOP, deadline_ns);
    } else if (!delivery->is_over && delivery_now(delivery) >= to->heartbeat_ns) {
        is_heartbeat = true;
        add_pending(run, HOOKS_HEARTBEAT, deadline_ns);
    }
    send_ready(run);
    /* Behind an attempt that took long the next one is not due at once: other targets need their time. */
    while (is_heartbeat && to->heartbeat_ns <= delivery_now(delivery))
        to->heartbeat_ns += delivery->options->settings->http_heartbeat_ns;
}

static void leave(struct target_run *run)
{
    limit(run->state, 0);
    send_ready(run);
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
    static const char settings_names[HOOKS_EVENTS][48] = {"http.start_url (TRACKER_HTTP_START_URL)",
        "http.heartbeat_url (TRACKER_HTTP_HEARTBEAT_URL)", "http.stop_url (TRACKER_HTTP_STOP_URL)"};
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
    .is_prompt = true,
    .state_bytes = sizeof(struct to_hooks),
    .is_wanted = is_wanted,
    .check = check,
    .begin = begin,
    .open = open_run,
    .next_due = next_due,
    .watch_fd = watch_fd,
    .step = step,
    .leave = leave,
    .put_url = put_url,
};
