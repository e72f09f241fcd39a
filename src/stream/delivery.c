/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/delivery.h"

#include <errno.h>

#include "base/auto.h"
#include "codec/gzip.h"

int64_t delivery_now(const struct delivery *delivery)
{
    return clock_read(delivery->options->clock, CLOCK_KIND_MONOTONIC);
}

int64_t delivery_unix_secs(const struct delivery *delivery)
{
    return clock_read(delivery->options->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
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
        r = gzip_unpack(buf_str(buf), take_nothing, NULL);
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
        exchange_notify(delivery->exchange, LOG_WARNING, "streaming: %s; the run is delivered without it%s%s%s",
            why.msg, kept[0] ? " and what is left of it kept as " : "", kept, kept[0] ? " beside the others" : "");
    delivery->unreadable++;
    return err_set(err, -ENODATA, "%s", why.msg);
}

static int put_state(struct delivery *delivery, int (*put)(struct spool_run *run, struct str bytes, struct err *err))
{
    AUTO_BUF struct buf text = {.max = SPOOL_STATE_BYTES_MAX};
    run_state_put(&text, delivery->state);
    struct err err = {0};
    if (!buf_ok(&text))
        (void)err_set(&err, -ENOMEM, "out of memory for the state of the run");
    else
        (void)put(delivery->run, buf_str(&text), &err);
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
    AUTO_BUF struct buf text = {.max = SPOOL_END_BYTES};
    run_state_put_end(&text, delivery->state);
    return spool_run_note_end(delivery->run, buf_str(&text), err);
}

void delivery_spool_fails(struct delivery *delivery, const char *why)
{
    if (!delivery->is_spool_failing)
        exchange_notify(delivery->exchange, LOG_WARNING,
            "streaming: %s; samples that are not delivered are lost if the tracker is killed", why);
    delivery->is_spool_failing = true;
}

void delivery_spool_works(struct delivery *delivery)
{
    if (delivery->is_spool_failing)
        exchange_notify(delivery->exchange, LOG_WARNING, "streaming: the spool keeps everything again");
    delivery->is_spool_failing = false;
}

int64_t delivery_extra_ns(const struct delivery *delivery, size_t bytes)
{
    enum { SLOW_BYTES_PER_SEC = 16 * 1024 };
    return delivery->is_over ? 0 : (int64_t)(bytes / SLOW_BYTES_PER_SEC) * NS_PER_SEC;
}

uint32_t delivery_batches(const struct delivery *delivery)
{
    /* A run that was opened again knows only the batches that are left. */
    uint32_t most = delivery->run->open_number;
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct number_set *set = &delivery->state->targets[i].delivered;
        uint32_t behind_last = set->count > 0 ? set->ranges[set->count - 1].last + 1 : 0;
        most = behind_last > most ? behind_last : most;
    }
    return most;
}
