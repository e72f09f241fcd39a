/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry by OTLP/HTTP (OTLP specification 1.11): every sample as data points of metrics, batch by batch, and at
 * the end a span for the job. OTEL_* variables configure it, and none of them switches it on. Delivered at least once:
 * where an answer is lost, its request is sent again.
 */
#include <errno.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "codec/gzip.h"
#include "codec/protobuf.h"
#include "encode/json.h"
#include "net/url.h"
#include "stream/targets/otlp_internal.h"

enum { BODY_BYTES_MAX = 4 * 1024 * 1024, ANSWER_BYTES_MAX = 4 * 1024 * 1024 };
enum {
    VARIABLE_BYTES = sizeof("TRACEPARENT=00--"
                            "-01") +
                     OTLP_TRACE_HEX + OTLP_SPAN_HEX
};
enum { DO_NOT_BLOCK = 1, ROW_TEXT_BYTES = 128 * 1024 };

/* One run. */
struct to_otlp {
    struct otlp_run run;
    char metrics_url[RUN_STATE_URL_BYTES], traces_url[RUN_STATE_URL_BYTES]; /* "": not sent */
    char variable[VARIABLE_BYTES];
    uint32_t batch; /* on its way, in parts */
    uint64_t rows_sent; /* of it */
    size_t rows_max; /* of a request: fewer where the server finds them too large */
    bool is_rejection_reported;
};

/*
 * Where the parts of a TRACEPARENT stand ("00-TRACE-PARENT-FLAGS", W3C trace context); later versions may have more
 * behind them.
 */
enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, TRACEPARENT_BYTES = 55 };

static bool is_traceparent(const char *text)
{
    size_t i = 0;
    for (; i < TRACEPARENT_BYTES; i++) {
        bool is_dash = i + 1 == TRACE_AT || i + 1 == PARENT_AT || i + 1 == FLAGS_AT;
        if (is_dash ? text[i] != '-' : ascii_hex_value(text[i]) < 0 || ascii_is_upper(text[i]))
            return false;
    }
    return (text[i] == '\0' || (text[i] == '-' && strncmp(text, "00", 2) != 0)) && strncmp(text, "ff", 2) != 0 &&
           strspn(text + TRACE_AT, "0") < OTLP_TRACE_HEX - 1 && strspn(text + PARENT_AT, "0") < OTLP_SPAN_HEX - 1;
}

static void put_random_hex(char *out, size_t size)
{
    uint8_t bytes[OTLP_TRACE_HEX / 2];
    size_t n = size / 2;
    if (syscall(SYS_getrandom, bytes, n, DO_NOT_BLOCK) != (long)n)
        memset(bytes, (int)getpid() | 1, n); /* only before the machine has gathered any */
    for (size_t i = 0; i < n; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* A text of the environment; none where it is too long or no text. */
static void keep(const struct settings *settings, const char *name, char *out, size_t size)
{
    const char *value = env_get(settings->environment, name);
    if (!value || !text_is_plain(str_of(value)) || !str_copy(str_of(value), out, size))
        out[0] = '\0';
}

/* A span of our own, below that of the caller where there is one. */
static void begin_trace(struct to_otlp *to, const struct settings *settings)
{
    const char *given = env_get(settings->environment, "TRACEPARENT");
    bool has_parent = given && is_traceparent(given);
    /* What the caller does not record is not recorded here. */
    if (has_parent && (ascii_hex_value(given[FLAGS_AT + 1]) & 1) == 0)
        return;
    put_random_hex(to->run.span, sizeof(to->run.span));
    if (has_parent) {
        (void)str_copy((struct str){given + TRACE_AT, OTLP_TRACE_HEX - 1}, to->run.trace, sizeof(to->run.trace));
        (void)str_copy((struct str){given + PARENT_AT, OTLP_SPAN_HEX - 1}, to->run.parent, sizeof(to->run.parent));
        keep(settings, "TRACESTATE", to->run.trace_state, sizeof(to->run.trace_state));
    } else {
        put_random_hex(to->run.trace, sizeof(to->run.trace));
    }
    (void)snprintf(to->variable, sizeof(to->variable), "TRACEPARENT=00-%s-%s-01", to->run.trace, to->run.span);
}

/* User, password and query, which may be a key, stay out of the state. */
static void drop_secrets(char *url)
{
    struct url parts;
    if (url_parse(str_of(url), &parts, NULL) < 0)
        return;
    url[strcspn(url, "?#")] = '\0';
    if (!parts.has_user_info)
        return;
    char *from = url + (parts.user_info.p - url), *after = from + parts.user_info.n + 1;
    memmove(from, after, strlen(after) + 1);
}

static void begin(struct target_run *run, const struct run_state *state, const struct settings *settings)
{
    struct to_otlp *to = run->state;
    (void)state;
    otlp_copy_endpoint(settings, false, to->metrics_url);
    otlp_copy_endpoint(settings, true, to->traces_url);
    keep(settings, "OTEL_SERVICE_NAME", to->run.service, sizeof(to->run.service));
    keep(settings, "OTEL_RESOURCE_ATTRIBUTES", to->run.attributes, sizeof(to->run.attributes));
    to->run.is_delta = otlp_is_delta(settings);
    to->run.start_ms = clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_MS;
    if (to->traces_url[0])
        begin_trace(to, settings);
}

static const char *variable(const struct target_run *run)
{
    const struct to_otlp *to = run->state;
    return to->variable[0] ? to->variable : NULL;
}

/* The texts of a run, as they are kept. */
struct kept_text {
    char key[12];
    uint16_t offset, size;
};

#define KEPT(key, member)                                                                                              \
    {                                                                                                                  \
        key, offsetof(struct to_otlp, member), sizeof(((struct to_otlp *)0)->member)                                   \
    }

static const struct kept_text kept[] = {
    KEPT("metrics", metrics_url),
    KEPT("traces", traces_url),
    KEPT("service", run.service),
    KEPT("attributes", run.attributes),
    KEPT("trace", run.trace),
    KEPT("span", run.span),
    KEPT("parent", run.parent),
    KEPT("trace_state", run.trace_state),
};

enum { KEPT_COUNT = sizeof(kept) / sizeof(kept[0]) };

static void put_state(const struct target_run *run, struct buf *buf)
{
    const struct to_otlp *to = run->state;
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        char text[OTLP_ATTRIBUTES_BYTES];
        (void)str_copy(str_of((const char *)to + kept[i].offset), text, sizeof(text));
        drop_secrets(text);
        json_put_text(buf, kept[i].key, text);
    }
    json_put_bool(buf, "delta", to->run.is_delta);
    json_put_key(buf, "start_ms");
    num_put_i64(buf, to->run.start_ms);
    json_put_key(buf, "pid");
    num_put_i64(buf, to->run.pid);
    json_put_key(buf, "batch");
    num_put_u64(buf, to->batch);
    json_put_key(buf, "rows_sent");
    num_put_u64(buf, to->rows_sent);
    target_put_delivered(buf, run);
}

static bool read_state(struct target_run *run, const struct json_value *value)
{
    struct to_otlp *to = run->state;
    int64_t rows = 0, batch = 0;
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        if (!json_string_copy(json_get(value, kept[i].key), (char *)to + kept[i].offset, kept[i].size))
            return false;
    }
    to->run.is_delta = target_read_bool(value, "delta");
    (void)json_integer(json_get(value, "start_ms"), &to->run.start_ms);
    (void)json_integer(json_get(value, "pid"), &to->run.pid);
    (void)json_integer(json_get(value, "batch"), &batch);
    (void)json_integer(json_get(value, "rows_sent"), &rows);
    to->batch = (uint32_t)batch;
    to->rows_sent = rows > 0 ? (uint64_t)rows : 0;
    return true;
}

/* An address that is set now counts more than the one that a run in the spool was begun with. */
static void open_endpoints(struct target_run *run)
{
    struct to_otlp *to = run->state;
    const struct settings *settings = run->delivery->options->settings;
    for (int is_span = 0; is_span <= 1 && otlp_is_wanted(settings); is_span++) {
        char url[RUN_STATE_URL_BYTES], *known = is_span ? to->traces_url : to->metrics_url;
        otlp_copy_endpoint(settings, is_span, url);
        if (known[0] && url[0])
            memcpy(known, url, sizeof(url));
    }
}

static int64_t next_due(const struct target_run *run)
{
    uint32_t number;
    return run->delivery->is_over || target_next_batch(run, &number) ? run->retry.next_ns : DELIVERY_NEVER;
}

static bool takes(const struct target_run *run)
{
    const struct to_otlp *to = run->state;
    return to->metrics_url[0] != '\0';
}

/* Is a word of a secret in the text? Short ones are in any. */
static bool has_word_of(struct str text, struct str secret)
{
    enum { SHORTEST = 6 };
    struct str rest = {secret.p, 0}, word;
    for (const char *end = secret.p + secret.n; rest.p < end; rest.p += word.n + 1) {
        word = (struct str){rest.p, 0};
        while (word.p + word.n < end && !memchr(" =&:@/?", word.p[word.n], sizeof(" =&:@/?") - 1))
            word.n++;
        if (word.n >= SHORTEST && memmem(text.p, text.n, word.p, word.n))
            return true;
    }
    return false;
}

/* Some servers repeat what they were sent. */
static void drop_repeated_secrets(struct buf *body, const struct http_request *request)
{
    struct url url;
    bool is_secret = false;
    for (size_t i = 1; i < request->header_count; i++)
        is_secret |= has_word_of(buf_str(body), request->headers[i].value);
    if (url_parse(request->url, &url, NULL) == 0) {
        const char *query = memchr(url.target.p, '?', url.target.n);
        size_t n = query ? (size_t)(url.target.p + url.target.n - query) : 0;
        is_secret |=
            has_word_of(buf_str(body), url.user_info) || (query && has_word_of(buf_str(body), (struct str){query, n}));
    }
    if (is_secret)
        buf_clear(body);
}

/* What the server says, for a message. */
static void put_message(struct buf *buf, bool is_json, const struct http_answer *answer)
{
    AUTO_BUF struct buf shown = {.max = 1024};
    struct json_doc doc = {0};
    struct str rest = buf_str(&answer->body), bytes, message = rest;
    unsigned field;
    uint64_t number;
    if (is_json && json_doc_parse(rest, &doc) == 0 && json_string(json_get(doc.items, "message"), &shown))
        message = buf_str(&shown);
    else if (!is_json && rest.n > 0 && !ascii_is_alnum(rest.p[0]))
        /* A google.rpc.Status, whose message is field 2. */
        while (protobuf_next(&rest, &field, &number, &bytes))
            message = field == 2 ? bytes : message;
    if (message.n > 0)
        buf_puts(buf, ": ");
    text_put(buf, message, TEXT_WORDS, 200);
    json_doc_fini(&doc);
}

/* Points (or spans) that a server has not accepted, in an answer that is a success all the same. */
static void note_rejections(struct target_run *run, bool is_span, bool is_json, const struct http_answer *answer)
{
    struct to_otlp *to = run->state;
    AUTO_BUF struct buf text = {.max = 512};
    struct json_doc doc = {0};
    struct str rest = buf_str(&answer->body), partial, bytes, message = {0};
    unsigned field;
    uint64_t number, rejected = 0;
    if (is_json && json_doc_parse(rest, &doc) == 0) {
        const struct json_value *success = json_get(doc.items, "partialSuccess");
        const struct json_value *count = json_get(success, is_span ? "rejectedSpans" : "rejectedDataPoints");
        (void)(count && num_parse_u64(count->text, &rejected));
        const struct json_value *why = json_get(success, "errorMessage");
        message = why ? why->text : message;
    } else if (!is_json && protobuf_next(&rest, &field, &number, &partial) && field == 1) {
        while (protobuf_next(&partial, &field, &number, &bytes)) {
            rejected = field == 1 ? number : rejected;
            message = field == 2 ? bytes : message;
        }
    }
    if (rejected > 0 && rejected <= INT64_MAX && !to->is_rejection_reported) {
        text_put(&text, message, TEXT_WORDS, 200);
        exchange_notify(run->delivery->exchange, LOG_WARNING,
            "streaming: %s rejects %llu %s of a request%s%s; later ones are not reported", run->target->label,
            (unsigned long long)rejected, is_span ? "spans" : "data points", text.len > 0 ? ": " : "", buf_cstr(&text));
        to->is_rejection_reported = true;
    }
    json_doc_fini(&doc);
}

/* ABSENT: there is no such thing at this address. */
enum outcome { OUTCOME_DONE, OUTCOME_AGAIN, OUTCOME_TOO_LARGE, OUTCOME_REFUSED, OUTCOME_DENIED, OUTCOME_ABSENT };

/* The specification names the four that may pass; others are never tried again by themselves. */
static enum outcome outcome_of(int status)
{
    if (status / 100 == 2)
        return OUTCOME_DONE;
    if (status == 429 || status == 502 || status == 503 || status == 504)
        return OUTCOME_AGAIN;
    if (status == 413)
        return OUTCOME_TOO_LARGE;
    if (status == 404 || status == 405 || status == 501)
        return OUTCOME_ABSENT;
    return status == 400 || status == 500 ? OUTCOME_REFUSED : OUTCOME_DENIED;
}

/* One request; err says what is wrong where it is not done. What may pass is planned for. */
static enum outcome post(
    struct target_run *run, bool is_span, const struct buf *body, int64_t deadline_ns, struct err *err)
{
    const struct to_otlp *to = run->state;
    const struct settings *settings = run->delivery->options->settings;
    AUTO_BUF struct buf texts = {.max = OTLP_HEADERS_BYTES_MAX}, packed = {.max = BODY_BYTES_MAX};
    struct http_header headers[HTTP_HEADERS_MAX];
    struct gzip *gzip = NULL;
    bool is_plain = otlp_is_plain(settings, is_span);
    if (!buf_ok(body)) {
        (void)err_set(err, -EMSGSIZE, "OTLP: a request is larger than %d MiB", BODY_BYTES_MAX / 1024 / 1024);
        return OUTCOME_TOO_LARGE;
    }
    int count = otlp_fill_headers(settings, is_span, &texts, headers, err);
    int r = count < 0 ? count : is_plain ? 0 : gzip_new(&gzip);
    if (r == 0 && gzip)
        r = gzip_add(gzip, buf_str(body), &packed);
    if (r == 0 && gzip)
        r = gzip_finish(gzip, &packed);
    gzip_free(gzip);
    if (r < 0) {
        target_fail(run, count < 0 ? err : (err_set(err, -ENOMEM, "OTLP: out of memory"), err), -1);
        return OUTCOME_AGAIN;
    }
    if (is_plain) /* its header goes */
        headers[1] = headers[--count];
    int64_t latest_ns = delivery_now(run->delivery) + otlp_timeout_ns(settings, is_span);
    struct http_request request = {.method = "POST",
        .url = str_of(is_span ? to->traces_url : to->metrics_url),
        .headers = headers,
        .header_count = (size_t)count,
        .body = buf_str(is_plain ? body : &packed),
        .has_body = true,
        .is_repeatable = true,
        .deadline_ns = latest_ns < deadline_ns ? latest_ns : deadline_ns,
        .answer_max = ANSWER_BYTES_MAX};
    struct http_answer answer;
    r = http_send(run->clients->http, &request, &answer, err);
    if (r < 0) {
        (void)err_wrap(err, "OTLP");
        if (r != -ECANCELED)
            target_fail(run, err, -1);
        return OUTCOME_AGAIN;
    }
    AUTO_BUF struct buf message = {.max = 512};
    enum outcome outcome = outcome_of(answer.status);
    drop_repeated_secrets(&answer.body, &request);
    put_message(&message, otlp_is_json(settings, is_span), &answer);
    (void)err_set(err, -EREMOTEIO, "OTLP: the server answered %d %s%s", answer.status, http_status_text(answer.status),
        buf_cstr(&message));
    if (outcome == OUTCOME_DONE)
        note_rejections(run, is_span, otlp_is_json(settings, is_span), &answer);
    else if (outcome == OUTCOME_AGAIN)
        target_fail(
            run, err, http_answer_retry_after(&answer, delivery_unix_secs(run->delivery), DELIVERY_REFRESH_SECS));
    http_answer_fini(&answer);
    return outcome;
}

/* Rows of a batch on their way into a request. */
struct reading {
    struct otlp_rows *rows;
    size_t max; /* rows wanted */
    uint64_t skip; /* rows sent before */
    bool has_header, has_more;
    size_t bytes;
    struct buf line; /* so far */
    struct buf text; /* of all rows: the documents point into it, and it does not move */
};

static int take_line(struct reading *reading)
{
    struct str line = buf_str(&reading->line), csv;
    bool is_cut = str_cut(&line, TARGET_ROW_SEPARATOR, &csv);
    if (!reading->has_header) {
        reading->has_header = true;
        return 0;
    }
    if (reading->skip > 0) {
        reading->skip--;
        return 0;
    }
    if (reading->rows->count == reading->max || line.n > reading->text.cap - reading->text.len) {
        reading->has_more = true;
        return -ECANCELED;
    }
    size_t at = reading->text.len;
    buf_append(&reading->text, line.p, is_cut ? line.n : 0);
    /* A row that is empty or broken counts, and has no points. */
    struct json_doc *doc = &reading->rows->docs[reading->rows->count++];
    if (json_doc_parse((struct str){reading->text.data + at, reading->text.len - at}, doc) < 0)
        *doc = (struct json_doc){0};
    return 0;
}

static int take_piece(void *context, struct str piece)
{
    struct reading *reading = context;
    int r = 0;
    while (piece.n > 0 && r == 0) {
        const char *lf = memchr(piece.p, '\n', piece.n);
        size_t n = lf ? (size_t)(lf - piece.p) : piece.n;
        buf_append(&reading->line, piece.p, n);
        str_skip(&piece, n + (lf != NULL));
        if (!buf_ok(&reading->line))
            return -ENOBUFS;
        if (!lf)
            continue;
        r = take_line(reading);
        buf_clear(&reading->line);
    }
    return r;
}

/* What became of the rows of a request. */
static void settle(struct target_run *run, enum outcome outcome, const struct reading *reading, const struct err *err)
{
    struct to_otlp *to = run->state;
    size_t count = reading->rows->count;
    switch (outcome) {
    case OUTCOME_AGAIN:
        return;
    case OUTCOME_DENIED:
    case OUTCOME_ABSENT:
        target_give_up(run, err);
        return;
    case OUTCOME_TOO_LARGE:
        if (count > 1) {
            to->rows_max = count / 2;
            return;
        }
        break;
    case OUTCOME_REFUSED:
        break;
    case OUTCOME_DONE:
        target_succeed(run);
        break;
    }
    if (outcome != OUTCOME_DONE) {
        if (run->lost_rows == 0)
            exchange_notify(run->delivery->exchange, LOG_WARNING,
                "streaming: %s; samples that it refuses are not sent to it again", err->msg);
        run->lost_rows += count;
    }
    to->rows_sent += count;
    if (reading->has_more) {
        (void)delivery_save(run->delivery);
        return;
    }
    to->rows_sent = 0;
    target_note_batch(run, to->batch);
}

static void send_rows(struct target_run *run, struct reading *reading, int64_t deadline_ns)
{
    struct to_otlp *to = run->state;
    struct err err = {0};
    AUTO_BUF struct buf body = {.max = BODY_BYTES_MAX};
    struct otlp_out out = {&body, otlp_is_json(run->delivery->options->settings, false)};
    enum outcome outcome = OUTCOME_DONE;
    if (reading->rows->count > 0 && to->metrics_url[0]) {
        otlp_put_metrics(&out, &to->run, run->delivery->state, reading->rows);
        outcome = post(run, false, &body, deadline_ns, &err);
    }
    settle(run, outcome, reading, &err);
}

static void send_batch(struct target_run *run, uint32_t number, int64_t deadline_ns)
{
    struct to_otlp *to = run->state;
    if (target_read_batch(run, number) < 0)
        return;
    if (to->rows_max == 0)
        to->rows_max = OTLP_ROWS_MAX;
    if (to->batch != number)
        to->rows_sent = 0;
    to->batch = number;
    struct otlp_rows *rows = calloc(1, sizeof(*rows));
    struct reading reading = {.rows = rows, .max = to->rows_max, .skip = to->rows_sent};
    buf_init(&reading.line, ROW_TEXT_BYTES);
    buf_init(&reading.text, OTLP_ROWS_BYTES_MAX);
    struct err err = {0};
    int r = rows && buf_reserve(&reading.text, OTLP_ROWS_BYTES_MAX)
                ? gzip_unpack(buf_str(&run->batch), take_piece, &reading)
                : -ENOMEM;
    if (r < 0 && r != -ECANCELED)
        target_fail(run, (err_sys(&err, r, "OTLP: batch %06u", (unsigned)number), &err), -1);
    else
        send_rows(run, &reading, deadline_ns);
    for (size_t i = 0; rows && i < rows->count; i++)
        json_doc_fini(&rows->docs[i]);
    free(rows);
    buf_fini(&reading.line);
    buf_fini(&reading.text);
}

/* The span, and with it the end: a server that takes none has got all that it takes. */
static void send_span(struct target_run *run, int64_t deadline_ns)
{
    struct to_otlp *to = run->state;
    struct err err = {0};
    AUTO_BUF struct buf body = {.max = BODY_BYTES_MAX};
    struct otlp_out out = {&body, otlp_is_json(run->delivery->options->settings, true)};
    enum outcome outcome = OUTCOME_DONE;
    if (to->traces_url[0] && to->run.span[0]) {
        otlp_put_span(&out, &to->run, run->delivery->state);
        outcome = post(run, true, &body, deadline_ns, &err);
    }
    if (outcome == OUTCOME_AGAIN)
        return;
    if (outcome == OUTCOME_DENIED) {
        target_give_up(run, &err);
        return;
    }
    /* A server without spans, such as Prometheus, is none to warn of. */
    if (outcome != OUTCOME_DONE)
        exchange_notify(run->delivery->exchange, outcome == OUTCOME_ABSENT ? LOG_INFO : LOG_WARNING,
            "streaming: the span of the job is not sent: %s", err.msg);
    run->is_done = true;
    (void)delivery_save(run->delivery);
}

static void step(struct target_run *run, int64_t deadline_ns)
{
    uint32_t number;
    if (target_next_batch(run, &number))
        send_batch(run, number, deadline_ns);
    else
        send_span(run, deadline_ns);
}

static void end(struct target_run *run)
{
    run->is_stuck = false;
}

const struct stream_target otlp_target = {
    .name = "OTLP",
    .label = "OpenTelemetry",
    .state_key = "otlp",
    .roots = "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE\0OTEL_EXPORTER_OTLP_CERTIFICATE\0",
    .takes_batches = true,
    .takes_summary = true,
    .state_bytes = sizeof(struct to_otlp),
    .row_bytes = sizeof(struct otlp_sums),
    .put_row = otlp_put_row,
    .interval_ns = otlp_interval_ns,
    .is_wanted = otlp_is_wanted,
    .check = otlp_check,
    .begin = begin,
    .variable = variable,
    .put_state = put_state,
    .read_state = read_state,
    .open = open_endpoints,
    .next_due = next_due,
    .takes = takes,
    .step = step,
    .end = end,
    .put_url = otlp_put_url,
};
