/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the Sentinel API: POST /runs, /runs/ID/refresh-credentials and /runs/ID/finish, each with a bearer
 * token, and the one place that decides what a status means. The inline forms of finish are in sentinel_finish.c.
 */
#include "stream/targets/sentinel.h"

#include <errno.h>

#include "base/auto.h"
#include "base/clock.h"
#include "net/http_status.h"
#include "stream/payload.h"
#include "stream/targets/sentinel_answer.h"
#include "stream/targets/sentinel_call.h"
#include "stream/targets/sentinel_words.h"

enum {
    ANSWER_BYTES_MAX = 256 * 1024,
    URL_BYTES = 8192,
    TOKEN_BYTES_MAX = 16 * 1024,
    FINISH_BYTES_MAX = 8 * 1024 * 1024,
    RETRY_AFTER_SECS_MAX = 3600,
};

static struct sentinel_result make_result(enum sentinel_outcome outcome)
{
    return (struct sentinel_result){.outcome = outcome, .retry_after_secs = -1};
}

struct sentinel_result sentinel_call_fail(
    const struct sentinel_call *call, enum sentinel_outcome outcome, struct err *err)
{
    (void)err_wrap(err, "Sentinel: cannot %s", call->purpose);
    return make_result(outcome);
}

static void put_url(struct buf *buf, const struct sentinel *sentinel, const char *verb)
{
    struct str base = str_trim(str_of(sentinel->url));
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    buf_append(buf, base.p, base.n);
    buf_puts(buf, "/runs");
    if (verb)
        buf_printf(buf, "/%s/%s", sentinel->run_id, verb);
}

/* "Bearer TOKEN". The room is taken at once, so that no copy stays behind where the buffer grew. */
static int put_authorization(struct buf *buf, const char *token, struct err *err)
{
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++) {
        if (token[i] < 0x21 || token[i] > 0x7e)
            return err_set(err, -EINVAL,
                "the token holds a blank or another character that cannot be sent; check SENTINEL_API_TOKEN");
    }
    if (n == 0 || n > TOKEN_BYTES_MAX)
        return err_set(err, -EINVAL, "the token is %s; check SENTINEL_API_TOKEN", n == 0 ? "empty" : "too long");
    if (!buf_reserve(buf, sizeof("Bearer ") + n))
        return err_set(err, -ENOMEM, "out of memory");
    buf_puts(buf, "Bearer ");
    buf_append(buf, token, n);
    return 0;
}

static const char *advice(const struct sentinel_call *call, int status)
{
    if (status == 401 || status == 403)
        return "; check SENTINEL_API_TOKEN";
    if (status / 100 == 3 || (status == 404 && !call->verb))
        return "; check SENTINEL_API_URL";
    return "";
}

/* A status that is no success. */
static struct sentinel_result judge_status(const struct sentinel *sentinel, const struct sentinel_call *call,
    const struct http_answer *answer, struct err *err)
{
    char words[SENTINEL_WORDS_BYTES];
    int status = answer->status;
    bool may_pass = http_status_may_pass(status);
    sentinel_words_read((struct str){answer->body.data, answer->body.len}, str_of(sentinel->token), words);
    (void)err_set(err, may_pass ? -EAGAIN : -EREMOTEIO, "Sentinel%s %s: %d %s%s%s%s",
        may_pass ? ": cannot" : " refused to", call->purpose, status, http_status_words(status), words[0] ? ": " : "",
        words, advice(call, status));
    int64_t now_secs = clock_read(sentinel->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    return (struct sentinel_result){
        .outcome = may_pass ? SENTINEL_AGAIN : SENTINEL_REFUSED,
        .status = status,
        .retry_after_secs = http_answer_retry_after(answer, now_secs, RETRY_AFTER_SECS_MAX),
    };
}

static struct sentinel_result judge(
    struct sentinel *sentinel, const struct sentinel_call *call, const struct http_answer *answer, struct err *err)
{
    if (answer->status / 100 != 2)
        return judge_status(sentinel, call, answer, err);
    struct sentinel_result result = make_result(SENTINEL_DONE);
    struct str body = {answer->body.data, answer->body.len};
    if (call->read && call->read(body, sentinel, err) < 0) {
        (void)err_wrap(err, "its answer makes no sense");
        result = sentinel_call_fail(call, SENTINEL_AGAIN, err);
    }
    result.status = answer->status;
    return result;
}

static enum sentinel_outcome judge_trouble(int r)
{
    if (r == -ECANCELED)
        return SENTINEL_CANCELED;
    /* A URL that cannot be asked stays one. */
    return r == -EINVAL || r == -EPERM ? SENTINEL_REFUSED : SENTINEL_AGAIN;
}

static struct sentinel_result exchange(struct sentinel *sentinel, const struct sentinel_call *call, struct str url,
    struct str authorization, struct err *err)
{
    struct http_header headers[4] = {
        {"Authorization", authorization},
        {"Accept", STR("application/json")},
    };
    size_t count = 2;
    if (call->body.n > 0)
        headers[count++] = (struct http_header){"Content-Type", STR("application/json")};
    if (call->is_gzip)
        headers[count++] = (struct http_header){"Content-Encoding", STR("gzip")};
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .header_count = count,
        .body = call->body,
        .has_body = true, /* some servers insist on the length of an empty one */
        .is_repeatable = call->is_repeatable,
        .deadline_ns = call->deadline_ns,
        .answer_max = ANSWER_BYTES_MAX,
    };
    struct http_answer answer;
    int r = http_send(sentinel->http, &request, &answer, err);
    if (r < 0)
        return sentinel_call_fail(call, judge_trouble(r), err);
    struct sentinel_result result = judge(sentinel, call, &answer, err);
    str_wipe(answer.body.data, answer.body.len);
    http_answer_fini(&answer);
    return result;
}

struct sentinel_result sentinel_call(struct sentinel *sentinel, const struct sentinel_call *call, struct err *err)
{
    struct err own; /* the words of every layer are put together, also for a caller who does not want them */
    AUTO_BUF struct buf url;
    AUTO_BUF struct buf authorization;
    buf_init(&url, URL_BYTES);
    buf_init(&authorization, TOKEN_BYTES_MAX + sizeof("Bearer "));
    err = err ? err : &own;
    if (call->verb && !sentinel->run_id[0]) {
        (void)err_set(err, -EINVAL, "it is not registered");
        return sentinel_call_fail(call, SENTINEL_REFUSED, err);
    }
    int r = put_authorization(&authorization, sentinel->token, err);
    if (r < 0)
        return sentinel_call_fail(call, judge_trouble(r), err);
    put_url(&url, sentinel, call->verb);
    if (!buf_ok(&url)) {
        (void)err_set(err, -EINVAL, "the URL is too long; check SENTINEL_API_URL");
        return sentinel_call_fail(call, SENTINEL_REFUSED, err);
    }
    struct sentinel_result result = exchange(
        sentinel, call, (struct str){url.data, url.len}, (struct str){authorization.data, authorization.len}, err);
    str_wipe(authorization.data, authorization.len);
    return result;
}

struct sentinel_result sentinel_register(
    struct sentinel *sentinel, struct str body, int64_t deadline_ns, struct err *err)
{
    /* A second one would make a second run. */
    struct sentinel_call call = {
        .purpose = "register the run",
        .body = body,
        .read = sentinel_answer_read_run,
        .deadline_ns = deadline_ns,
    };
    return sentinel_call(sentinel, &call, err);
}

struct sentinel_result sentinel_refresh(struct sentinel *sentinel, int64_t deadline_ns, struct err *err)
{
    /* A second one only gives newer keys. */
    struct sentinel_call call = {
        .purpose = "refresh the upload credentials",
        .verb = "refresh-credentials",
        .is_repeatable = true,
        .read = sentinel_answer_read_credentials,
        .deadline_ns = deadline_ns,
    };
    return sentinel_call(sentinel, &call, err);
}

bool sentinel_needs_refresh(const struct sentinel *sentinel, int64_t now_unix_secs)
{
    const struct opt_i64 *expires_secs = &sentinel->credentials.expires_secs;
    if (!sentinel->has_credentials || sentinel->must_refresh)
        return true;
    return expires_secs->has && expires_secs->v - SENTINEL_REFRESH_SECS <= now_unix_secs;
}

struct sentinel_result sentinel_finish_s3(
    struct sentinel *sentinel, const struct end_facts *end, struct str uris, int64_t deadline_ns, struct err *err)
{
    struct sentinel_call call = {.purpose = "finish the run", .verb = "finish", .deadline_ns = deadline_ns};
    struct err own;
    AUTO_BUF struct buf body;
    buf_init(&body, FINISH_BYTES_MAX);
    err = err ? err : &own;
    buf_putc(&body, '{');
    payload_end(&body, end);
    buf_puts(&body, ",\"data_source\":\"s3\",\"data_uris\":");
    buf_append(&body, uris.p, uris.n);
    buf_putc(&body, '}');
    if (!buf_ok(&body)) {
        bool is_large = uris.n > FINISH_BYTES_MAX / 2;
        (void)err_set(
            err, is_large ? -EMSGSIZE : -ENOMEM, is_large ? "the list of objects is too long" : "out of memory");
        return sentinel_call_fail(&call, is_large ? SENTINEL_REFUSED : SENTINEL_AGAIN, err);
    }
    call.body = (struct str){body.data, body.len};
    sentinel->finish_calls++;
    return sentinel_call(sentinel, &call, err);
}
