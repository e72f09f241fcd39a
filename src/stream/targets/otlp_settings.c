/* SPDX-License-Identifier: Apache-2.0 */
/* What OTLP takes from the settings and from OTEL_* variables ("OTLP Exporter Configuration" of OpenTelemetry). */
#include <errno.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/num.h"
#include "net/url.h"
#include "stream/targets/otlp_internal.h"

#define TIMEOUT_NS (10 * NS_PER_SEC)
#define NAMES "the OTLP endpoint (--otlp, TRACKER_OTLP, or OTEL_EXPORTER_OTLP_ENDPOINT and its kin)"

static const char *get(const struct settings *settings, const char *name)
{
    return env_get(settings->environment, name);
}

/* A variable for metrics (or traces) alone, else that for both. part: behind OTEL_EXPORTER_OTLP_. */
static const char *get_for(const struct settings *settings, bool is_span, const char *part)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s%s", is_span ? "TRACES_" : "METRICS_", part);
    const char *value = get(settings, name);
    (void)snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", part);
    return value ? value : get(settings, name);
}

static bool is_word(const char *text, const char *words)
{
    struct str rest = str_of(words), word;
    while (text && str_word(&rest, &word)) {
        if (str_eq_nocase(word, str_of(text)))
            return true;
    }
    return false;
}

#define YES "1 true yes on"
#define NO "0 false no off"

bool otlp_is_wanted(const struct settings *settings)
{
    return settings->otlp && !is_word(settings->otlp, NO) && !is_word(get(settings, "OTEL_SDK_DISABLED"), "true");
}

bool otlp_is_json(const struct settings *settings, bool is_span)
{
    return is_word(get_for(settings, is_span, "PROTOCOL"), "http/json");
}

bool otlp_is_plain(const struct settings *settings, bool is_span)
{
    return is_word(get_for(settings, is_span, "COMPRESSION"), "none");
}

static struct str without_end(struct str text, const char *end)
{
    size_t n = strlen(end);
    while (text.n > n && memcmp(text.p + text.n - n, end, n) == 0)
        text.n -= n;
    return text;
}

static void put_endpoint(const struct settings *settings, bool is_span, struct buf *url)
{
    const char *path = is_span ? "/v1/traces" : "/v1/metrics";
    const char *base = settings->otlp;
    if (is_word(get(settings, is_span ? "OTEL_TRACES_EXPORTER" : "OTEL_METRICS_EXPORTER"), "none"))
        return;
    if (is_word(base, YES)) {
        static const char own[][37] = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"};
        const char *whole = get(settings, own[is_span]);
        base = get(settings, "OTEL_EXPORTER_OTLP_ENDPOINT");
        if (whole)
            buf_puts(url, whole);
        /* Spans are not sent to an address that was not named. */
        if (whole || (!base && is_span && get(settings, own[false])))
            return;
        base = base ? base : "http://localhost:4318";
    }
    struct str text = {base, strcspn(base, "?#")}, query = str_of(base + text.n);
    text = without_end(without_end(without_end(text, "/"), "/v1/metrics"), "/v1/traces"); /* as they stand in manuals */
    text = without_end(text, "/");
    buf_append(url, text.p, text.n);
    buf_puts(url, path);
    buf_append(url, query.p, query.n);
}

void otlp_copy_endpoint(const struct settings *settings, bool is_span, char out[static RUN_STATE_URL_BYTES])
{
    AUTO_BUF struct buf url = {.max = RUN_STATE_URL_BYTES - 1};
    put_endpoint(settings, is_span, &url);
    (void)str_copy(buf_ok(&url) ? buf_str(&url) : STR(""), out, RUN_STATE_URL_BYTES);
}

int otlp_fill_headers(const struct settings *settings, bool is_span, struct buf *texts,
    struct http_header ret_headers[static HTTP_HEADERS_MAX], struct err *err)
{
    static const char wrong[] = "OTEL_EXPORTER_OTLP_HEADERS: header %zu cannot be sent";
    const char *given = get_for(settings, is_span, "HEADERS");
    struct str rest = str_of(given ? given : ""), pair, name;
    size_t count = OTLP_OWN_HEADERS;
    ret_headers[0] = (struct http_header){
        "Content-Type", otlp_is_json(settings, is_span) ? STR("application/json") : STR("application/x-protobuf")};
    ret_headers[1] = (struct http_header){"Content-Encoding", STR("gzip")};
    if (!buf_reserve(texts, 2 * rest.n + 2)) /* it must not move any more */
        return err_set(err, -EINVAL, "OTEL_EXPORTER_OTLP_HEADERS is too long");
    while (str_cut(&rest, ',', &pair)) {
        if (str_trim(pair).n == 0)
            continue;
        size_t at = texts->len;
        bool has_value = memchr(pair.p, '=', pair.n);
        (void)str_cut(&pair, '=', &name);
        name = str_trim(name);
        if (!has_value || !http_text_is_token(name) || count == HTTP_HEADERS_MAX || http_header_reserved(name) ||
            str_eq_nocase(name, str_of(ret_headers[0].name)) || str_eq_nocase(name, str_of(ret_headers[1].name)))
            return err_set(err, -EINVAL, wrong, count + 1 - OTLP_OWN_HEADERS);
        buf_append(texts, name.p, name.n);
        buf_putc(texts, '\0');
        size_t value_at = texts->len;
        if (url_decode(texts, str_trim(pair)) < 0 ||
            http_text_has_control((struct str){texts->data + value_at, texts->len - value_at}))
            return err_set(err, -EINVAL, wrong, count + 1 - OTLP_OWN_HEADERS);
        ret_headers[count++] = (struct http_header){texts->data + at, {texts->data + value_at, texts->len - value_at}};
    }
    return (int)count;
}

static int check_signal(const struct settings *settings, bool is_span, struct err *err)
{
    AUTO_BUF struct buf texts = {.max = OTLP_HEADERS_BYTES_MAX}, url = {.max = RUN_STATE_URL_BYTES - 1};
    struct http_header headers[HTTP_HEADERS_MAX];
    const char *protocol = get_for(settings, is_span, "PROTOCOL");
    put_endpoint(settings, is_span, &url);
    if (!buf_ok(&url))
        return err_set(err, -EINVAL, NAMES " is too long");
    if (url.len == 0)
        return 0;
    if (protocol && !is_word(protocol, "http/protobuf http/json"))
        return err_set(err, -EINVAL, "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json: %s",
            strcmp(protocol, "grpc") == 0 ? "grpc is not supported; collectors accept HTTP at port 4318"
                                          : "others are not supported");
    if (get_for(settings, is_span, "CLIENT_KEY"))
        return err_set(err, -EINVAL, "OTEL_EXPORTER_OTLP_CLIENT_KEY: client certificates are not supported");
    int r = target_check_url(settings, NAMES, buf_cstr(&url), err);
    return r < 0 ? r : otlp_fill_headers(settings, is_span, &texts, headers, err);
}

int otlp_check(const struct settings *settings, struct err *err)
{
    int r = check_signal(settings, false, err);
    if (r >= 0)
        r = check_signal(settings, true, err);
    return r < 0 ? r : 0;
}

int64_t otlp_interval_ns(const struct settings *settings)
{
    const char *text = get(settings, "OTEL_METRIC_EXPORT_INTERVAL");
    uint64_t ms;
    bool is_known = text && num_parse_u64(str_of(text), &ms) == 0 && ms >= 1000 && ms <= 86400000;
    return is_known ? (int64_t)ms * NS_PER_MS : INT64_MAX;
}

int64_t otlp_timeout_ns(const struct settings *settings, bool is_span)
{
    const char *text = get_for(settings, is_span, "TIMEOUT");
    uint64_t ms;
    return text && num_parse_u64(str_of(text), &ms) == 0 && ms > 0 && ms < 600000 ? (int64_t)ms * NS_PER_MS
                                                                                  : TIMEOUT_NS;
}

bool otlp_put_url(const struct settings *settings, size_t i, struct buf *url)
{
    if (i < 2)
        put_endpoint(settings, i == 1, url);
    return i < 2;
}
