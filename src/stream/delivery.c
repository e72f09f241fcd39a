/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/delivery.h"

#include <errno.h>

#include "base/auto.h"
#include "codec/gzip.h"

#define RETRY_BASE_NS NS_PER_SEC
#define RETRY_BASE_HASTY_NS (100 * NS_PER_MS)
#define RETRY_MAX_NS (60 * NS_PER_SEC)
#define RETRY_AFTER_MAX_SECS 300

int64_t delivery_now(const struct delivery *delivery)
{
    return clock_read(delivery->clock, CLOCK_KIND_MONOTONIC);
}

int64_t delivery_unix_secs(const struct delivery *delivery)
{
    return clock_read(delivery->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
}

void retry_init(struct retry *retry, const struct delivery *delivery, uint64_t salt)
{
    *retry = (struct retry){0};
    uint64_t seed = (uint64_t)clock_read(delivery->clock, CLOCK_KIND_REALTIME) ^ (salt << 32);
    backoff_init(&retry->backoff, delivery->is_over ? RETRY_BASE_HASTY_NS : RETRY_BASE_NS, RETRY_MAX_NS, seed);
}

void retry_fail(struct retry *retry, const struct delivery *delivery, int64_t retry_after_secs)
{
    retry->failures++;
    /* Once the run is over somebody waits: no rounds any more, and short pauses. */
    if (delivery->is_over && retry->backoff.base_ns > RETRY_BASE_HASTY_NS) {
        retry->backoff.base_ns = RETRY_BASE_HASTY_NS;
        backoff_reset(&retry->backoff);
    }
    int64_t pause_ns = backoff_next(&retry->backoff);
    if (!delivery->is_over && retry->failures % DELIVERY_ATTEMPTS == 0) {
        backoff_reset(&retry->backoff);
        if (pause_ns < delivery->round_ns)
            pause_ns = delivery->round_ns;
    }
    if (retry_after_secs > RETRY_AFTER_MAX_SECS)
        retry_after_secs = RETRY_AFTER_MAX_SECS;
    int64_t now_ns = delivery_now(delivery);
    retry->next_ns = now_ns + pause_ns;
    retry->asked_ns = retry_after_secs > 0 ? now_ns + retry_after_secs * NS_PER_SEC : 0;
    if (retry->next_ns < retry->asked_ns)
        retry->next_ns = retry->asked_ns;
}

void retry_hurry(struct retry *retry)
{
    retry->next_ns = retry->asked_ns;
}

void retry_succeed(struct retry *retry)
{
    retry->failures = 0;
    retry->next_ns = retry->asked_ns = 0;
    backoff_reset(&retry->backoff);
}

bool retry_is_serious(const struct retry *retry)
{
    return retry->failures >= DELIVERY_ATTEMPTS;
}

void trouble_note(struct trouble *trouble, const struct err *err)
{
    (void)str_copy(str_of(err->msg), trouble->text, sizeof(trouble->text));
}

void trouble_say(struct trouble *trouble, const struct delivery *delivery, const char *consequence)
{
    if (trouble->is_said)
        return;
    trouble->is_said = true;
    exchange_tell(delivery->exchange, LOG_WARNING, "%s; %s", trouble->text, consequence);
}

void trouble_end(struct trouble *trouble, const struct delivery *delivery, const char *words)
{
    if (trouble->is_said)
        exchange_tell(delivery->exchange, LOG_WARNING, "%s", words);
    trouble->is_said = false;
    trouble->text[0] = '\0';
}

const char *trouble_reason(const struct trouble *trouble, const char *short_text)
{
    if (trouble->text[0] != '\0')
        return trouble->is_said ? short_text : trouble->text;
    return trouble->refusal[0] != '\0' ? trouble->refusal : "there was no time left";
}

void delivery_fail(const struct delivery *delivery, struct retry *retry, struct trouble *trouble, const struct err *err,
    int64_t retry_after_secs)
{
    trouble_note(trouble, err);
    retry_fail(retry, delivery, retry_after_secs);
    if (retry_is_serious(retry) && !delivery->is_over)
        trouble_say(trouble, delivery, DELIVERY_KEPT);
}

bool delivery_next_batch(const struct delivery *delivery, const struct number_set *delivered,
    const struct number_set *refused, uint32_t *ret_number)
{
    for (size_t i = 0; i < delivery->run->batches.count; i++) {
        uint32_t number = delivery->run->batches.items[i].number;
        if (!number_set_has(delivered, number) && !number_set_has(refused, number)) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

bool delivery_refuse_batch(const struct delivery *delivery, struct trouble *trouble, struct number_set *refused,
    uint32_t number, const struct err *err)
{
    trouble_note(trouble, err);
    (void)str_copy(str_of(err->msg), trouble->refusal, sizeof(trouble->refusal));
    if (number_set_count(refused) == 0 && !delivery->is_over)
        exchange_tell(delivery->exchange, LOG_WARNING,
            "%s; batch %06u, and others that are refused, wait in the spool and are tried again at the end", err->msg,
            (unsigned)number);
    return number_set_add(refused, number) == 0;
}

static int take_nothing(void *context, struct str piece)
{
    (void)context;
    (void)piece;
    return 0;
}

int delivery_read_batch(struct delivery *delivery, uint32_t number, struct buf *buf, struct err *err)
{
    struct err why = {0};
    int r = spool_run_read(delivery->run, number, buf, &why);
    if (r == 0) {
        r = gzip_unpack((struct str){buf->data, buf->len}, take_nothing, NULL);
        if (r == 0)
            return 0;
        (void)err_sys(&why, r, "batch %06u in the spool", (unsigned)number);
    }
    /* Only what is broken or gone for good: a disk or a server that does not answer may do so later. */
    if (r != -EBADMSG && r != -ENOENT)
        return err_set(err, r, "%s", why.msg);
    char kept[SPOOL_ASIDE_BYTES];
    spool_run_set_aside(delivery->run, number, kept);
    if (delivery->unreadable == 0)
        exchange_tell(delivery->exchange, LOG_WARNING, "streaming: %s; the run is delivered without it%s%s%s", why.msg,
            kept[0] ? " and what is left of it kept as " : "", kept, kept[0] ? " beside the others" : "");
    delivery->unreadable++;
    return err_set(err, -ENODATA, "%s", why.msg);
}

static int put_state(struct delivery *delivery, int (*put)(struct spool_run *run, struct str bytes, struct err *err))
{
    AUTO_BUF struct buf text;
    buf_init(&text, SPOOL_STATE_BYTES_MAX);
    run_state_put(&text, delivery->state);
    struct err err = {0};
    if (!buf_ok(&text))
        (void)err_set(&err, -ENOMEM, "no memory for the state of the run");
    else
        (void)put(delivery->run, (struct str){text.data, text.len}, &err);
    if (err.code < 0)
        delivery_spool_fails(delivery, err.msg);
    return err.code;
}

int delivery_save(struct delivery *delivery)
{
    return put_state(delivery, spool_run_save_state);
}

void delivery_note(struct delivery *delivery)
{
    struct err ignored = {0};
    (void)put_state(delivery, delivery->run->is_state_safe ? spool_run_save_state : spool_run_note_state);
    /* Where there is no room for it now, the end is written with the state. */
    (void)spool_run_reserve_end(delivery->run, &ignored);
}

int delivery_note_end(struct delivery *delivery, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, SPOOL_END_BYTES);
    run_state_put_end(&text, delivery->state);
    return spool_run_note_end(delivery->run, (struct str){text.data, text.len}, err);
}

void delivery_spool_fails(struct delivery *delivery, const char *why)
{
    if (!delivery->is_spool_trouble)
        exchange_tell(delivery->exchange, LOG_WARNING,
            "streaming: %s; samples that are not delivered are lost if the tracker is killed", why);
    delivery->is_spool_trouble = true;
}

void delivery_spool_works(struct delivery *delivery)
{
    if (delivery->is_spool_trouble)
        exchange_tell(delivery->exchange, LOG_WARNING, "streaming: the spool keeps everything again");
    delivery->is_spool_trouble = false;
}

bool delivery_note_batch(struct delivery *delivery, struct number_set *delivered, uint32_t number)
{
    struct run_state *state = delivery->state;
    if (number_set_add(delivered, number) < 0)
        return false;
    (void)delivery_save(delivery);
    bool is_everywhere = (!state->sentinel.is_wanted || number_set_has(&state->sentinel.delivered, number)) &&
                         (!state->bucket.is_wanted || number_set_has(&state->bucket.delivered, number));
    if (is_everywhere)
        spool_run_drop(delivery->run, number);
    return true;
}

int64_t delivery_extra_ns(const struct delivery *delivery, size_t bytes)
{
    enum { SLOW_BYTES_PER_SEC = 16 * 1024 };
    return delivery->is_over ? 0 : (int64_t)(bytes / SLOW_BYTES_PER_SEC) * NS_PER_SEC;
}

void delivery_put_key(struct buf *buf, const char *prefix, const char *folder, uint32_t number)
{
    buf_printf(buf, "%s%s%s/%06u.csv.gz", prefix, prefix[0] ? "/" : "", folder, (unsigned)number);
}

static uint32_t behind_last(const struct number_set *set)
{
    return set->count > 0 ? set->ranges[set->count - 1].last + 1 : 0;
}

uint32_t delivery_batches(const struct delivery *delivery)
{
    uint32_t a = behind_last(&delivery->state->sentinel.delivered), b = behind_last(&delivery->state->bucket.delivered);
    uint32_t most = a > b ? a : b;
    /* A run that was opened again knows only the batches that are left. */
    return most > delivery->run->open_number ? most : delivery->run->open_number;
}
