/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the Sentinel API: POST /runs, /runs/ID/refresh-credentials and /runs/ID/finish, each with a bearer
 * token, and what a status means.
 */
#include <errno.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "codec/gzip.h"
#include "codec/hash.h"
#include "encode/json.h"
#include "net/http.h"
#include "stream/payload.h"
#include "stream/targets/sentinel_internal.h"

enum {
    ANSWER_BYTES_MAX = 256 * 1024,
    URL_BYTES = 8192,
    TOKEN_BYTES_MAX = 16 * 1024,
    BODY_BYTES_MAX = 8 * 1024 * 1024,
    RETRY_AFTER_SECS_MAX = 3600,
};

/* One call of the API, whichever it is. */
struct sentinel_call {
    const char *purpose; /* "register the run", for messages */
    const char *verb; /* behind the run's id in the path; NULL: the collection of runs itself */
    struct str body; /* n = 0: none */
    bool is_gzip;
    bool is_repeatable; /* doing it twice does no harm */
    /* Reads the body of a 2xx; NULL: any will do. */
    int (*read)(struct str body, struct sentinel *sentinel, struct err *err);
    int64_t deadline_ns;
};

static struct sentinel_result make_result(enum sentinel_outcome outcome)
{
    return (struct sentinel_result){.outcome = outcome, .retry_after_secs = -1};
}

static struct sentinel_result call_fail(
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
    if (n > 0 && !text_is_visible(str_of(token)))
        return err_set(
            err, -EINVAL, "the token holds a blank or another character that cannot be sent; check SENTINEL_API_TOKEN");
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
static struct sentinel_result classify_status(const struct sentinel *sentinel, const struct sentinel_call *call,
    const struct http_answer *answer, struct err *err)
{
    char message[SENTINEL_MESSAGE_BYTES];
    int status = answer->status;
    bool may_pass = http_status_may_pass(status);
    sentinel_read_message(buf_str(&answer->body), str_of(sentinel->token), message);
    (void)err_set(err, may_pass ? -EAGAIN : -EREMOTEIO, "Sentinel%s %s: %d %s%s%s%s",
        may_pass ? ": cannot" : " refused to", call->purpose, status, http_status_text(status), message[0] ? ": " : "",
        message, advice(call, status));
    int64_t now_secs = clock_read(sentinel->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    return (struct sentinel_result){
        .outcome = may_pass ? SENTINEL_AGAIN : SENTINEL_REFUSED,
        .status = status,
        .retry_after_secs = http_answer_retry_after(answer, now_secs, RETRY_AFTER_SECS_MAX),
    };
}

static struct sentinel_result classify(
    struct sentinel *sentinel, const struct sentinel_call *call, const struct http_answer *answer, struct err *err)
{
    if (answer->status / 100 != 2)
        return classify_status(sentinel, call, answer, err);
    struct sentinel_result result = make_result(SENTINEL_DONE);
    struct str body = buf_str(&answer->body);
    if (call->read && call->read(body, sentinel, err) < 0) {
        (void)err_wrap(err, "invalid answer");
        result = call_fail(call, SENTINEL_AGAIN, err);
    }
    result.status = answer->status;
    return result;
}

static enum sentinel_outcome classify_error(int r)
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
        return call_fail(call, classify_error(r), err);
    struct sentinel_result result = classify(sentinel, call, &answer, err);
    str_wipe(answer.body.data, answer.body.len);
    http_answer_fini(&answer);
    return result;
}

static struct sentinel_result call_api(struct sentinel *sentinel, const struct sentinel_call *call, struct err *err)
{
    struct err own; /* the messages of every layer are put together, also where the caller wants none */
    AUTO_BUF struct buf url = {.max = URL_BYTES};
    AUTO_BUF struct buf authorization = {.max = TOKEN_BYTES_MAX + sizeof("Bearer ")};
    err = err ? err : &own;
    if (call->verb && !sentinel->run_id[0]) {
        (void)err_set(err, -EINVAL, "it is not registered");
        return call_fail(call, SENTINEL_REFUSED, err);
    }
    int r = put_authorization(&authorization, sentinel->token, err);
    if (r < 0)
        return call_fail(call, classify_error(r), err);
    put_url(&url, sentinel, call->verb);
    if (!buf_ok(&url)) {
        (void)err_set(err, -EINVAL, "the URL is too long; check SENTINEL_API_URL");
        return call_fail(call, SENTINEL_REFUSED, err);
    }
    struct sentinel_result result = exchange(sentinel, call, buf_str(&url), buf_str(&authorization), err);
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
    return call_api(sentinel, &call, err);
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
    return call_api(sentinel, &call, err);
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
    AUTO_BUF struct buf body = {.max = BODY_BYTES_MAX};
    err = err ? err : &own;
    buf_putc(&body, '{');
    payload_end(&body, end);
    buf_puts(&body, ",\"data_source\":\"s3\",\"data_uris\":");
    buf_append(&body, uris.p, uris.n);
    buf_putc(&body, '}');
    if (!buf_ok(&body)) {
        bool is_large = uris.n > BODY_BYTES_MAX / 2;
        (void)err_set(
            err, is_large ? -EMSGSIZE : -ENOMEM, is_large ? "the list of objects is too long" : "out of memory");
        return call_fail(&call, is_large ? SENTINEL_REFUSED : SENTINEL_AGAIN, err);
    }
    call.body = buf_str(&body);
    sentinel->finish_calls++;
    return call_api(sentinel, &call, err);
}

/*
 * Finish with the samples in the call. The CSV comes in pieces of any size and goes through a small slice into base64
 * or a JSON string and, compressed on the way, into the body, which is all that memory holds:
 *   {"exit_code":0,"run_status":"finished","finished_at":"2026-11-15T09:30:00Z","data_source":"inline","data_csv":"…"}
 */

enum {
    SLICE_BYTES = 3072, /* a multiple of 3: base64 without padding in the middle */
    PIECE_BYTES_MAX = 6 * SLICE_BYTES + 2, /* every byte as \u00XX, and the quotation marks */
    HEAD_BYTES_MAX = 512,
};

struct form {
    bool is_base64;
    bool is_gzip;
};

/* In the order in which they are tried. */
static const struct form forms[] = {{true, true}, {false, true}, {false, false}};
enum { FORM_COUNT = sizeof(forms) / sizeof(forms[0]), FIRST_PLAIN = 1 };

/* A body under way. */
struct maker {
    const struct form *form;
    struct gzip *gzip;
    struct buf *body;
    struct buf piece; /* what became of the slice */
    char slice[SLICE_BYTES];
    size_t used;
    int error; /* ours, as opposed to that of the reader of the CSV */
};

static int put_bytes(struct maker *maker, struct str bytes)
{
    if (maker->form->is_gzip)
        return gzip_add(maker->gzip, bytes, maker->body);
    if (bytes.n > maker->body->max - maker->body->len)
        return -ENOBUFS;
    buf_append(maker->body, bytes.p, bytes.n);
    return buf_ok(maker->body) ? 0 : -ENOMEM;
}

/* Sends the slice on its way; what cannot be encoded yet stays in it, unless this is the end. */
static int flush_slice(struct maker *maker, bool is_end)
{
    struct str text = {maker->slice, maker->used};
    struct str encoded;
    buf_clear(&maker->piece);
    if (maker->form->is_base64) {
        hash_base64(&maker->piece, text);
        encoded = buf_str(&maker->piece);
    } else {
        text.n = is_end ? text.n : utf8_whole(text);
        json_put_string(&maker->piece, text);
        if (buf_ok(&maker->piece))
            encoded = (struct str){maker->piece.data + 1, maker->piece.len - 2};
    }
    if (!buf_ok(&maker->piece))
        return -ENOMEM;
    maker->used -= text.n;
    memmove(maker->slice, maker->slice + text.n, maker->used);
    return put_bytes(maker, encoded);
}

static int take_csv(void *context, struct str piece)
{
    struct maker *maker = context;
    while (piece.n > 0) {
        size_t room = SLICE_BYTES - maker->used;
        size_t n = piece.n < room ? piece.n : room;
        memcpy(maker->slice + maker->used, piece.p, n);
        maker->used += n;
        piece = (struct str){piece.p + n, piece.n - n};
        if (maker->used == SLICE_BYTES)
            maker->error = flush_slice(maker, false);
        if (maker->error < 0)
            return maker->error;
    }
    return 0;
}

static int put_head(struct maker *maker, const struct end_facts *end)
{
    AUTO_BUF struct buf head = {.max = HEAD_BYTES_MAX};
    buf_putc(&head, '{');
    payload_end(&head, end);
    buf_puts(&head, ",\"data_source\":\"inline\",\"data_csv\":\"");
    return buf_ok(&head) ? put_bytes(maker, buf_str(&head)) : -ENOMEM;
}

static int fill_body(struct maker *maker, const struct end_facts *end, const struct sentinel_csv *csv)
{
    int r = put_head(maker, end);
    if (r == 0)
        r = csv->read(csv->context, take_csv, maker);
    if (maker->error < 0)
        return maker->error;
    if (r == 0)
        r = flush_slice(maker, true);
    if (r == 0)
        r = put_bytes(maker, STR("\"}"));
    if (r == 0 && maker->form->is_gzip)
        r = gzip_finish(maker->gzip, maker->body);
    return r;
}

static int make_body(const struct form *form, const struct end_facts *end, const struct sentinel_csv *csv,
    struct buf *body, struct err *err)
{
    struct maker maker = {.form = form, .body = body};
    buf_init(&maker.piece, PIECE_BYTES_MAX);
    int r = form->is_gzip ? gzip_new(&maker.gzip) : 0;
    if (r == 0)
        r = fill_body(&maker, end, csv);
    gzip_free(maker.gzip);
    buf_fini(&maker.piece);
    if (r == -ENOBUFS)
        return err_set(err, r, "the samples are too large for the call (over %d MiB)", BODY_BYTES_MAX / (1024 * 1024));
    return r < 0 ? err_sys(err, r, "cannot put the samples into the call") : 0;
}

/* May another form find more favour? */
static bool is_form_refused(const struct sentinel_result *result)
{
    int status = result->status;
    return status == 400 || status == 415 || status == 422 || status == 500;
}

struct sentinel_result sentinel_finish_inline(struct sentinel *sentinel, const struct end_facts *end,
    const struct sentinel_csv *csv, int64_t deadline_ns, struct err *err)
{
    struct sentinel_call call = {.purpose = "finish the run", .verb = "finish", .deadline_ns = deadline_ns};
    struct sentinel_result result = {.outcome = SENTINEL_REFUSED, .retry_after_secs = -1};
    size_t first = sentinel->inline_form == INLINE_PLAIN ? FIRST_PLAIN : 0;
    size_t end_form = sentinel->inline_form == INLINE_BASE64 ? FIRST_PLAIN : FORM_COUNT;
    for (size_t i = first; i < end_form; i++) {
        struct err last;
        AUTO_BUF struct buf body = {.max = BODY_BYTES_MAX};
        int r = make_body(&forms[i], end, csv, &body, &last);
        /* A form that is too large for us does not hide what the server said about the one before. */
        if (r == -ENOBUFS && i > first)
            break;
        if (r == 0) {
            call.body = buf_str(&body);
            call.is_gzip = forms[i].is_gzip;
            sentinel->finish_calls++;
            result = call_api(sentinel, &call, &last);
        } else {
            result = call_fail(&call, r == -ENOBUFS ? SENTINEL_REFUSED : SENTINEL_AGAIN, &last);
        }
        if (err && result.outcome != SENTINEL_DONE)
            *err = last;
        if (!is_form_refused(&result))
            break;
    }
    if (result.outcome == SENTINEL_DONE)
        err_clear(err);
    return result;
}
