/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/targets/hooks.h"

#include <errno.h>
#include <strings.h>

#include "net/http_status.h"
#include "net/http_text.h"
#include "net/url.h"

enum { ANSWER_BYTES_MAX = 256 * 1024 };

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

static int judge(const struct url *url, int status, struct err *err)
{
    if (status / 100 == 2)
        return 0;
    int code = http_status_may_pass(status) ? -EAGAIN : -EREMOTEIO;
    return err_set(err, code, "%.*s answered %d %s", (int)url->host.n, url->host.p, status, http_status_words(status));
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
    r = judge(&url, answer.status, err);
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
            .is_repeatable = event == HOOKS_HEARTBEAT, /* a start or stop told twice may be counted twice */
            .deadline_ns = deadline_ns,
            .answer_max = ANSWER_BYTES_MAX,
        };
        r = send_hook(hooks->http, &request, err);
    }
    if (r < 0)
        (void)err_wrap(err, "the %s hook", hooks_name(event));
    return r;
}
