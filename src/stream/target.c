/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/target.h"

#include <errno.h>
#include <limits.h>

#include "aws/chain.h"
#include "base/auto.h"
#include "codec/gzip.h"
#include "codec/json_read.h"
#include "encode/json.h"
#include "net/url.h"
#include "stream/batch.h"
#include "stream/delivery.h"

#define USER_AGENT "resource-tracker/" RT_VERSION

/* Of a round. */
enum { ATTEMPTS = 3, RETRY_AFTER_MAX_SECS = 300 };
#define RETRY_BASE_NS NS_PER_SEC
#define RETRY_BASE_HASTY_NS (100 * NS_PER_MS)
#define RETRY_MAX_NS (60 * NS_PER_SEC)

const char *target_roots(const char *roots, char *const *environment)
{
    const char *file = NULL;
    for (; roots && roots[0] && !file; roots += strlen(roots) + 1)
        file = env_get(environment, roots);
    return file;
}

static int make_client(
    const struct settings *settings, const struct net_wait *wait, const char *roots, struct http_client **ret_client)
{
    char *const *environment = settings->environment;
    struct http_context context = {
        .wait = wait,
        .trust = tls_trust_of(environment),
        .proxy = proxy_rules_of(environment),
        .user_agent = USER_AGENT,
        .allow_http = settings->allow_http,
    };
    const char *bundle = target_roots(roots, environment);
    if (bundle)
        context.trust = (struct tls_trust){.file = bundle};
    return http_client_new(&context, ret_client);
}

int target_clients_init(struct target_clients *clients, const struct stream_target *target,
    const struct settings *settings, const struct net_wait *wait)
{
    int r = make_client(settings, wait, target->roots, &clients->http);
    return r < 0 ? r : make_client(settings, wait, "AWS_CA_BUNDLE\0", &clients->http_s3);
}

void target_clients_close_idle(struct target_clients *clients)
{
    if (clients->http)
        http_client_close_idle(clients->http);
    if (clients->http_s3)
        http_client_close_idle(clients->http_s3);
}

void target_clients_fini(struct target_clients *clients)
{
    http_client_free(clients->http);
    http_client_free(clients->http_s3);
    *clients = (struct target_clients){0};
}

void target_open(struct target_run *run, struct delivery *delivery, struct target_clients *clients)
{
    if (!run->is_wanted)
        return;
    run->delivery = delivery;
    run->clients = clients;
    /* Targets that fail at the same time need not try again at the same time. */
    uint64_t salt = (uint64_t)(run - delivery->state->targets) + 1;
    uint64_t seed = (uint64_t)clock_read(delivery->options->clock, CLOCK_KIND_REALTIME) ^ (salt << 32);
    backoff_init(&run->retry.backoff, delivery->is_over ? RETRY_BASE_HASTY_NS : RETRY_BASE_NS, RETRY_MAX_NS, seed);
    if (run->target->open)
        run->target->open(run);
}

bool target_is_open(const struct target_run *run)
{
    return run->is_wanted && !run->is_done;
}

bool target_is_kept(const struct target_run *run)
{
    return run->is_wanted && run->target->state_key;
}

bool target_needs_batch(const struct target_run *run, uint32_t number)
{
    return run->is_wanted && run->target->takes_batches && !number_set_has(&run->delivered, number);
}

int64_t target_next_due(const struct target_run *run)
{
    return target_is_open(run) && !run->is_stuck ? run->target->next_due(run) : DELIVERY_NEVER;
}

int target_watch_fd(const struct target_run *run)
{
    return target_is_open(run) && !run->is_stuck && run->target->watch_fd ? run->target->watch_fd(run) : -1;
}

bool target_takes(const struct target_run *run)
{
    return target_is_open(run) && !run->is_stuck && run->retry.failures == 0 && run->target->takes_batches &&
           run->target->takes(run);
}

void target_end(struct target_run *run)
{
    run->retry.next_ns = run->retry.asked_ns;
    run->refused.count = 0;
    run->last_error.refusal[0] = '\0';
    if (run->is_wanted && run->target->end)
        run->target->end(run);
}

void target_leave(struct target_run *run)
{
    if (target_is_open(run) && run->target->leave)
        run->target->leave(run);
}

void target_succeed(struct target_run *run)
{
    run->retry.failures = 0;
    run->retry.next_ns = run->retry.asked_ns = 0;
    backoff_reset(&run->retry.backoff);
    if (run->last_error.is_reported)
        exchange_notify(run->delivery->exchange, LOG_WARNING, "streaming: %s accepts data again", run->target->label);
    run->last_error.is_reported = false;
    run->last_error.text[0] = '\0';
}

void target_note_error(struct target_run *run, const struct err *err)
{
    (void)str_copy(str_of(err->msg), run->last_error.text, sizeof(run->last_error.text));
}

void target_report_error(struct target_run *run, const char *consequence)
{
    if (run->last_error.is_reported)
        return;
    run->last_error.is_reported = true;
    exchange_notify(run->delivery->exchange, LOG_WARNING, "%s; %s", run->last_error.text, consequence);
}

static void plan_retry(struct retry *retry, const struct delivery *delivery, int64_t retry_after_secs)
{
    retry->failures++;
    /* Once the run is over no rounds any more, and short pauses: the command has ended and waits for us. */
    if (delivery->is_over && retry->backoff.base_ns > RETRY_BASE_HASTY_NS) {
        retry->backoff.base_ns = RETRY_BASE_HASTY_NS;
        backoff_reset(&retry->backoff);
    }
    int64_t pause_ns = backoff_next(&retry->backoff);
    if (!delivery->is_over && retry->failures % ATTEMPTS == 0) {
        int64_t round_ns = delivery->options->settings->upload_interval_ns;
        backoff_reset(&retry->backoff);
        pause_ns = pause_ns < round_ns ? round_ns : pause_ns;
    }
    if (retry_after_secs > RETRY_AFTER_MAX_SECS)
        retry_after_secs = RETRY_AFTER_MAX_SECS;
    int64_t now_ns = delivery_now(delivery);
    retry->next_ns = now_ns + pause_ns;
    retry->asked_ns = retry_after_secs > 0 ? now_ns + retry_after_secs * NS_PER_SEC : 0;
    if (retry->next_ns < retry->asked_ns)
        retry->next_ns = retry->asked_ns;
}

void target_fail(struct target_run *run, const struct err *err, int64_t retry_after_secs)
{
    target_note_error(run, err);
    plan_retry(&run->retry, run->delivery, retry_after_secs);
    if (run->retry.failures >= ATTEMPTS && !run->delivery->is_over)
        target_report_error(run, TARGET_KEPT);
}

bool target_settle_upload(struct target_run *run, struct s3_result result, const struct err *err, bool *is_renewed)
{
    bool is_expired = result.outcome == S3_EXPIRED;
    if (result.outcome == S3_DONE)
        target_succeed(run);
    if (result.outcome == S3_AGAIN || result.outcome == S3_DENIED || (is_expired && *is_renewed))
        target_fail(run, err, result.retry_after_secs);
    if (is_expired || result.outcome == S3_DONE)
        *is_renewed = is_expired && !*is_renewed;
    return result.outcome == S3_DONE;
}

void target_give_up(struct target_run *run, const struct err *err)
{
    target_note_error(run, err);
    run->is_stuck = true;
    if (!run->delivery->is_over)
        target_report_error(run, "the data stays in the spool");
}

void target_put_reason(const struct target_run *run, struct buf *buf)
{
    const char *no_time = run->delivery->is_cancelled ? DELIVERY_CANCELLED : "there was no time left";
    if (run->last_error.text[0] == '\0')
        buf_puts(buf, run->last_error.refusal[0] ? run->last_error.refusal : no_time);
    else if (run->last_error.is_reported)
        buf_printf(buf, "delivery to %s failed, as reported above", run->target->label);
    else
        buf_puts(buf, run->last_error.text);
}

bool target_next_batch(const struct target_run *run, uint32_t *ret_number)
{
    const struct spool_run *spooled = run->delivery->run;
    for (size_t i = 0; i < spooled->batches.count; i++) {
        uint32_t number = spooled->batches.items[i].number;
        if (!number_set_has(&run->delivered, number) && !number_set_has(&run->refused, number)) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

/* Do rows hold more than their CSV? */
static bool has_long_rows(const struct run_state *state)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        if (state->targets[i].is_wanted && state->targets[i].target->put_row)
            return true;
    }
    return false;
}

/* A batch without what put_row has put. */
static int cut_rows(struct buf *batch)
{
    AUTO_BUF struct buf plain = {.max = BATCH_PLAIN_BYTES_FULL + BATCH_LINES_BYTES_MAX};
    struct gzip *gzip;
    int r = gzip_new(&gzip);
    if (r < 0)
        return r;
    r = gzip_unpack_into(buf_str(batch), &plain);
    buf_clear(batch);
    struct str rest = buf_str(&plain), line, csv;
    while (r == 0 && str_line(&rest, &line) && str_cut(&line, TARGET_ROW_SEPARATOR, &csv)) {
        r = gzip_add(gzip, csv, batch);
        if (r == 0)
            r = gzip_add(gzip, STR("\n"), batch);
    }
    if (r == 0)
        r = gzip_finish(gzip, batch);
    gzip_free(gzip);
    return r;
}

int target_read_batch(struct target_run *run, uint32_t number)
{
    struct err err = {0};
    int r = delivery_read_batch(run->delivery, number, &run->batch, &err);
    if (r == 0 && !run->target->put_row && has_long_rows(run->delivery->state)) {
        r = cut_rows(&run->batch);
        if (r < 0)
            (void)err_sys(&err, r, "batch %06u", (unsigned)number);
    }
    if (r < 0 && r != -ENODATA)
        target_fail(run, &err, -1);
    return r;
}

void target_note_batch(struct target_run *run, uint32_t number)
{
    struct delivery *delivery = run->delivery;
    /* Where no more can be kept in mind. */
    run->is_stuck = number_set_add(&run->delivered, number) < 0;
    if (run->is_stuck)
        return;
    (void)delivery_save(delivery);
    for (size_t i = 0; i < stream_target_count; i++) {
        if (target_needs_batch(&delivery->state->targets[i], number))
            return;
    }
    spool_run_drop(delivery->run, number);
}

void target_refuse_batch(struct target_run *run, uint32_t number, const struct err *err)
{
    target_note_error(run, err);
    (void)str_copy(str_of(err->msg), run->last_error.refusal, sizeof(run->last_error.refusal));
    if (number_set_count(&run->refused) == 0 && !run->delivery->is_over)
        exchange_notify(run->delivery->exchange, LOG_WARNING,
            "%s; batch %06u, and others that are refused, wait in the spool and are tried again at the end", err->msg,
            (unsigned)number);
    run->is_stuck = number_set_add(&run->refused, number) < 0;
}

void target_put_key(struct buf *buf, const char *prefix, const char *directory, uint32_t number)
{
    buf_printf(buf, "%s%s%s/%06u.csv.gz", prefix, prefix[0] ? "/" : "", directory, (unsigned)number);
}

int target_check_url(const struct settings *settings, const char *name, const char *text, struct err *err)
{
    struct url url;
    if (!text || !text[0])
        return 0;
    int r = url_parse(str_of(text), &url, err);
    if (r < 0)
        return err_wrap(err, "%s cannot be used", name);
    if (!url.is_https && !settings->allow_http && !url_is_loopback(&url))
        return err_set(err, -EPERM,
            "%s is plain http to another host, unencrypted: use https, or set "
            "TRACKER_ALLOW_HTTP=1 if that is meant",
            name);
    return 0;
}

void target_put_delivered(struct buf *buf, const struct target_run *run)
{
    json_put_key(buf, "delivered");
    buf_putc(buf, '"');
    number_set_put(&run->delivered, buf);
    buf_putc(buf, '"');
}

bool target_read_bool(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(object, key);
    return value && value->type == JSON_TRUE;
}

void backoff_init(struct backoff *backoff, int64_t base_ns, int64_t max_ns, uint64_t seed)
{
    *backoff = (struct backoff){
        .base_ns = base_ns > 0 ? base_ns : 1,
        .max_ns = max_ns > 0 ? max_ns : 1,
        .random = seed,
    };
}

/* The SplitMix64 generator: a counter in odd steps, its bits well mixed; so any seed will do. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

int64_t backoff_next(struct backoff *backoff)
{
    enum { SHIFT_MAX = 62 };
    int64_t full_ns = backoff->max_ns;
    if (backoff->failures <= SHIFT_MAX && backoff->base_ns <= backoff->max_ns >> backoff->failures)
        full_ns = backoff->base_ns << backoff->failures;
    if (backoff->failures < UINT_MAX)
        backoff->failures++;
    uint64_t choices = (uint64_t)full_ns / 2 + 1;
    return full_ns - (int64_t)(next_random(&backoff->random) % choices);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}
