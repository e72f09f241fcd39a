/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus' Pushgateway: the metrics of the run, put there at its end under the name of the job. It keeps what was
 * put last, so nothing is kept to be put later, in place of what is newer by then.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "codec/hash.h"
#include "net/url.h"
#include "stream/delivery.h"

enum { ANSWER_BYTES_MAX = 16 * 1024 };

/* A name with a slash cannot be in a path. */
static void put_job(const struct settings *settings, struct buf *url)
{
    struct str job = str_of(settings->job_name && settings->job_name[0] ? settings->job_name : "resource-tracker");
    if (!memchr(job.p, '/', job.n) && !str_eq(job, STR(".")) && !str_eq(job, STR(".."))) {
        buf_puts(url, "/metrics/job/");
        url_encode(url, job);
        return;
    }
    AUTO_BUF struct buf plain = {.max = URL_BYTES_MAX};
    hash_base64(&plain, job);
    buf_puts(url, "/metrics/job@base64/");
    for (const char *p = buf_cstr(&plain); *p && *p != '='; p++)
        buf_putc(url, *p == '+' ? '-' : *p == '/' ? '_' : *p);
}

/* The path of a group there is the URL's own, or made of the job's name. */
static void put_group(const struct settings *settings, struct buf *url)
{
    struct str base = {settings->pushgateway, strcspn(settings->pushgateway, "?#")};
    struct str query = str_of(base.p + base.n);
    bool is_whole = memmem(base.p, base.n, "/metrics/job", strlen("/metrics/job"));
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    buf_append(url, base.p, base.n);
    if (!is_whole)
        put_job(settings, url);
    buf_append(url, query.p, query.n);
}

static int64_t next_due(const struct target_run *run)
{
    return run->delivery->is_over ? run->retry.next_ns : DELIVERY_NEVER;
}

/* Whatever is the matter, it has no later. */
static void lose(struct target_run *run, const char *why)
{
    exchange_notify(run->delivery->exchange, LOG_WARNING, "the metrics are not in the Pushgateway: %s", why);
    run->is_done = true;
}

static void step(struct target_run *run, int64_t deadline_ns)
{
    static const struct http_header type = {
        "Content-Type", {"text/plain; version=0.0.4", sizeof("text/plain; version=0.0.4") - 1}};
    AUTO_BUF struct buf url = {.max = URL_BYTES_MAX};
    put_group(run->delivery->options->settings, &url);
    /* A body without metrics would delete those of the run before. */
    if (run->delivery->exchange->metrics.n == 0 || !buf_ok(&url)) {
        lose(run, buf_ok(&url) ? "there are none" : "its address is too long");
        return;
    }
    struct http_request request = {.method = "PUT",
        .url = buf_str(&url),
        .headers = &type,
        .header_count = 1,
        .body = run->delivery->exchange->metrics,
        .has_body = true,
        .is_repeatable = true,
        .deadline_ns = deadline_ns,
        .answer_max = ANSWER_BYTES_MAX};
    struct http_answer answer;
    struct err err = {0};
    int r = http_send(run->clients->http, &request, &answer, &err);
    if (r < 0) {
        target_fail(run, &err, -1);
        return;
    }
    int status = answer.status;
    int64_t after_secs = http_answer_retry_after(&answer, delivery_unix_secs(run->delivery), DELIVERY_REFRESH_SECS);
    http_answer_fini(&answer);
    run->is_done = status / 100 == 2;
    if (run->is_done)
        return;
    (void)err_set(&err, -EREMOTEIO, "it answered %d %s", status, http_status_text(status));
    if (http_status_may_pass(status))
        target_fail(run, &err, after_secs);
    else
        lose(run, err.msg);
}

static void leave(struct target_run *run)
{
    AUTO_BUF struct buf why = {.max = EXCHANGE_NOTICE_BYTES};
    target_put_reason(run, &why);
    lose(run, buf_cstr(&why));
}

static bool is_wanted(const struct settings *settings)
{
    return settings->pushgateway;
}

static int check(const struct settings *settings, struct err *err)
{
    return target_check_url(settings, "--pushgateway", settings->pushgateway, err);
}

static bool put_url(const struct settings *settings, size_t i, struct buf *url)
{
    if (i == 0)
        put_group(settings, url);
    return i == 0;
}

const struct stream_target pushgateway_target = {
    .name = "pushgateway",
    .label = "the Pushgateway",
    .takes_metrics = true,
    .is_wanted = is_wanted,
    .check = check,
    .next_due = next_due,
    .step = step,
    .leave = leave,
    .put_url = put_url,
};
