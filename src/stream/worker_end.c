/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: the last batch, the end at every target, and what is left for later. */
#include <errno.h>

#include "base/auto.h"
#include "stream/stream_internal.h"

/* A target that hangs must leave time for the others. */
static int64_t fair_deadline(const struct worker *worker, int64_t now_ns)
{
    int64_t open = 0;
    for (size_t i = 0; i < stream_target_count; i++)
        open += target_is_open(&worker->state.targets[i]) && !worker->state.targets[i].target->is_prompt;
    int64_t limit_ns = now_ns + (worker->news.give_up_ns - now_ns) / (open > 0 ? open : 1);
    return limit_ns < now_ns + DELIVERY_REQUEST_NS ? limit_ns : now_ns + DELIVERY_REQUEST_NS;
}

static void deliver_remainder(struct worker *worker)
{
    for (;;) {
        worker_deliver_prompt(worker);
        int64_t now_ns = worker_now(worker);
        int64_t due_ns = worker_next_delivery(worker);
        if (due_ns >= worker->news.give_up_ns || now_ns >= worker->news.give_up_ns)
            return;
        if (due_ns > now_ns)
            worker_wait(worker, due_ns);
        else
            worker_deliver(worker, fair_deadline(worker, now_ns));
    }
}

/* What is on the disk, and what was only in memory and goes with us. */
static void report_remainder(struct worker *worker)
{
    const struct spool_run *run = &worker->run;
    uint64_t kept = 0;
    for (size_t i = 0; i < run->batches.count; i++)
        kept += run->batches.items[i].memory ? 0 : run->batches.items[i].bytes;
    if (run->memory_bytes > 0)
        exchange_notify(worker->exchange, LOG_WARNING, "%llu bytes of samples are lost: %s",
            (unsigned long long)run->memory_bytes,
            run->dir_fd < 0 ? "there is no spool to keep them in" : "the spool did not take them");
    char later[EXCHANGE_LATER_BYTES];
    exchange_get_later(worker->exchange, later);
    if (run->dir_fd >= 0 && kept > 0)
        exchange_notify(worker->exchange, LOG_WARNING, "%llu bytes of samples %s", (unsigned long long)kept, later);
    else if (run->dir_fd >= 0 && !worker->delivery.is_spool_failing)
        exchange_notify(worker->exchange, LOG_WARNING, "the end of the run %s", later);
}

static void announce(struct worker *worker)
{
    AUTO_BUF struct buf reasons = {.max = 16 * EXCHANGE_NOTICE_BYTES};
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct target_run *target = &worker->state.targets[i];
        if (!target_is_open(target))
            continue;
        if (reasons.len > 0)
            buf_puts(&reasons, "; ");
        target_put_reason(target, &reasons);
    }
    exchange_notify(worker->exchange, LOG_WARNING, "not everything was delivered: %s", buf_cstr(&reasons));
    report_remainder(worker);
}

/* The end, for --upload-spool: in its own file, or with the state. There may be room now that rows are sealed. */
static void keep_end(struct worker *worker)
{
    struct err err = {0};
    int r = delivery_note_end(&worker->delivery, &err);
    if (r == 0)
        r = spool_run_sync_end(&worker->run, &err);
    if (delivery_save(&worker->delivery) < 0 && r < 0)
        exchange_notify(worker->exchange, LOG_WARNING,
            "streaming: %s; how the run ended is not known there, and --upload-spool will report it as failed",
            err.msg);
}

static void close_run(struct worker *worker)
{
    struct err err = {0};
    if (!run_state_is_delivered(&worker->state)) {
        (void)spool_run_flush(&worker->run);
        keep_end(worker);
        announce(worker);
        spool_run_close(&worker->run);
        return;
    }
    unsigned unreadable = worker->delivery.unreadable;
    if (unreadable > 1)
        exchange_notify(
            worker->exchange, LOG_WARNING, "streaming: %u batches could not be read and are not delivered", unreadable);
    int r = spool_run_remove(&worker->run, &err);
    if (r < 0 && r != -ENODATA)
        exchange_notify(worker->exchange, LOG_WARNING, "everything is delivered, but %s", err.msg);
    else if (r < 0)
        exchange_notify(worker->exchange, LOG_WARNING, "streaming: %s", err.msg);
    else if (unreadable > 0)
        return;
    else if (run_state_has_targets(&worker->state))
        exchange_notify(worker->exchange, LOG_INFO, "streaming: everything is delivered");
}

static void report_lost_to(struct worker *worker, uint64_t rows, const char *target)
{
    if (rows > 0)
        exchange_notify(worker->exchange, LOG_WARNING, "streaming: %llu of %llu samples are lost to %s",
            (unsigned long long)rows, (unsigned long long)worker->taken_rows, target);
}

static void report_lost(struct worker *worker)
{
    const struct target_run *targets = worker->state.targets;
    const struct target_run *first = NULL;
    bool is_same = true, is_alone = true;
    for (size_t i = 0; i < stream_target_count; i++) {
        if (!targets[i].is_wanted || !targets[i].target->takes_batches)
            continue;
        is_alone &= !first;
        first = first ? first : &targets[i];
        is_same &= targets[i].lost_rows == first->lost_rows;
    }
    if (first && is_same && (!is_alone || first->lost_rows == 0)) {
        report_lost_to(worker, worker->lost_rows + first->lost_rows, "the targets");
        return;
    }
    for (size_t i = 0; i < stream_target_count; i++) {
        if (targets[i].is_wanted && targets[i].target->takes_batches)
            report_lost_to(worker, worker->lost_rows + targets[i].lost_rows, targets[i].target->label);
    }
}

void worker_end(struct worker *worker)
{
    worker_take_rows(worker);
    worker->state.has_end = true;
    worker->state.end = worker->news.end;
    struct str summary = worker->exchange->summary;
    buf_append(&worker->state.summary, summary.p, summary.n);
    worker->facts.host.server_allocation = worker->news.server_allocation;
    worker->delivery.is_over = worker->is_ending = true;
    for (size_t i = 0; i < stream_target_count; i++)
        target_end(&worker->state.targets[i]);
    /* The end is written down before the disk is waited for. */
    struct err ignored = {0};
    if (run_state_has_targets(&worker->state))
        (void)delivery_note_end(&worker->delivery, &ignored);
    worker_introduce(worker);
    worker_seal(worker);
    deliver_remainder(worker);
    worker->is_prompt_acting = true; /* and no other one beside it */
    for (size_t i = 0; i < stream_target_count; i++)
        target_leave(&worker->state.targets[i]);
    worker_settle_passing(worker);
    report_lost(worker);
    close_run(worker);
}
