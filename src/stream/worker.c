/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows first: every wait, also one for a server, ends as soon as there are rows to take. What is due is done in small
 * attempts, one after the other; worker_end.c has the end of the run.
 */
#include "stream/worker.h"

#include <errno.h>
#include <poll.h>

#include "base/auto.h"
#include "stream/clients.h"
#include "stream/worker_internal.h"

/* How long the introduction waits for the first sample, which knows the GPUs. */
#define INTRODUCTION_NS (15 * NS_PER_SEC)
#define HOOK_NS (10 * NS_PER_SEC)
#define HOOK_LATE_NS (20 * NS_PER_MS)

int64_t worker_now(const struct worker *worker)
{
    return clock_read(worker->options->clock, CLOCK_KIND_MONOTONIC);
}

static void tell_lost(struct worker *worker, uint64_t rows, const char *why)
{
    worker->lost_rows += rows;
    if (!worker->is_full)
        exchange_tell(
            worker->exchange, LOG_WARNING, "streaming: %s; samples are lost to the targets until that changes", why);
    worker->is_full = true;
}

/* A batch that is nowhere any more: lost to the targets that have not got it. */
static void count_dropped(struct worker *worker, uint32_t number, uint64_t rows)
{
    const struct run_state *state = &worker->state;
    bool is_sentinel = state->sentinel.is_wanted && !number_set_has(&state->sentinel.delivered, number);
    bool is_bucket = state->bucket.is_wanted && !number_set_has(&state->bucket.delivered, number);
    worker->lost_sentinel += is_sentinel ? rows : 0;
    worker->lost_bucket += is_bucket ? rows : 0;
    if (!is_sentinel && !is_bucket)
        return;
    if (!worker->is_full)
        exchange_tell(worker->exchange, LOG_WARNING,
            "streaming: spool %s and the memory for waiting batches are full; samples are lost to %s until that "
            "changes",
            worker->spool.path,
            !is_bucket     ? "Sentinel"
            : !is_sentinel ? "the bucket"
                           : "the targets");
    worker->is_full = true;
}

void worker_settle_passing(struct worker *worker)
{
    if (!worker->run.has_passing || spool_run_keep_passing(&worker->run))
        return;
    uint32_t number = worker->run.passing;
    spool_run_drop(&worker->run, number);
    /* While a target makes its attempt this may be what it sends: whether it got it is known afterwards. */
    if (worker->is_stepping && worker->dropped_rows == 0) {
        worker->dropped = number;
        worker->dropped_rows = worker->passing_rows;
    } else {
        count_dropped(worker, number, worker->passing_rows);
    }
}

void worker_seal(struct worker *worker)
{
    struct err err = {0};
    uint64_t lost_before = worker->batch.lost_rows;
    uint64_t rows = worker->batch.rows;
    bool had_rows = rows > 0;
    if (had_rows)
        worker_settle_passing(worker);
    worker->run.may_pass = to_sentinel_takes(&worker->to_sentinel) || to_bucket_takes(&worker->to_bucket);
    /* A batch whose run nothing is known of could not be delivered later. */
    if (had_rows && !worker->run.is_state_safe)
        (void)delivery_save(&worker->delivery);
    int r = batch_seal(&worker->batch, &err);
    worker->seal_ns = DELIVERY_NEVER;
    if (r < 0) {
        tell_lost(worker, worker->batch.lost_rows - lost_before, err.msg);
        return;
    }
    if (r == 2)
        worker->passing_rows = rows;
    if (!had_rows || r == 2)
        return;
    uint64_t most = worker->lost_sentinel > worker->lost_bucket ? worker->lost_sentinel : worker->lost_bucket;
    uint64_t lost = worker->lost_rows + most;
    if (worker->is_full)
        exchange_tell(worker->exchange, LOG_WARNING, "streaming: the spool takes samples again; %llu are lost",
            (unsigned long long)lost);
    worker->is_full = false;
    if (r > 0)
        delivery_spool_fails(&worker->delivery, err.msg);
    else if (!worker->is_journal_trouble)
        delivery_spool_works(&worker->delivery);
    worker->is_journal_trouble = false;
}

static void add_rows(struct worker *worker, int64_t now_ns)
{
    struct err err = {0};
    bool was_empty = worker->batch.rows == 0;
    uint64_t lost_before = worker->batch.lost_rows;
    int r =
        batch_add(&worker->batch, (struct str){worker->rows.data, worker->rows.len}, worker->news.rows, now_ns, &err);
    buf_clear(&worker->rows);
    worker->given_rows += worker->news.rows;
    if (was_empty && worker->batch.rows > 0)
        worker->seal_ns = now_ns + worker->options->upload_interval_ns;
    if (r < 0) {
        tell_lost(worker, worker->batch.lost_rows - lost_before, err.msg);
        return;
    }
    if (r > 0 && worker->run.dir_fd >= 0) {
        worker->is_journal_trouble = true;
        delivery_spool_fails(&worker->delivery, err.msg);
    }
}

void worker_take_rows(struct worker *worker)
{
    uint64_t lost;
    exchange_take(worker->exchange, &worker->rows, &worker->news, &lost);
    worker->given_rows += lost;
    if (lost > 0)
        tell_lost(worker, lost, "the disk of the spool is too slow");
    int64_t now_ns = worker_now(worker);
    if (worker->rows.len > 0)
        add_rows(worker, now_ns);
    if (batch_is_full(&worker->batch) || now_ns >= worker->seal_ns)
        worker_seal(worker);
}

/* A request that hangs as the run ends must leave time for the others. */
static bool must_leave(struct worker *worker, int64_t now_ns)
{
    if (!worker->news.is_over || worker->is_ending)
        return false;
    if (worker->leave_ns == 0)
        worker->leave_ns = now_ns + (worker->news.give_up_ns - now_ns) / 3;
    return now_ns >= worker->leave_ns;
}

/* Waits for the descriptor, for news or for the time, whatever comes first; takes rows. 1: the descriptor is ready. */
static int rest(struct worker *worker, int fd, short events, int64_t until_ns)
{
    if (until_ns > worker->seal_ns)
        until_ns = worker->seal_ns;
    if (worker->news.is_over && until_ns > worker->news.give_up_ns)
        until_ns = worker->news.give_up_ns;
    int64_t left_ns = until_ns - worker_now(worker);
    struct pollfd fds[] = {{.fd = worker->exchange->wake_fd, .events = POLLIN}, {.fd = fd, .events = events},
        {.fd = worker->hurry.fd, .events = POLLIN}};
    int64_t left_ms = left_ns <= 0 ? 0 : left_ns / NS_PER_MS + 1;
    int r = poll(fds, 3, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
    if (r < 0 && errno != EINTR)
        return -errno;
    if (r > 0 && fds[2].revents != 0 && worker->hurry.is_called_off(worker->hurry.fd))
        exchange_give_up(worker->exchange, 0);
    worker_take_rows(worker);
    return r > 0 && fds[1].revents != 0;
}

static int wait_until(void *context, int fd, short events, int64_t deadline_ns)
{
    struct worker *worker = context;
    for (;;) {
        int64_t now_ns = worker_now(worker);
        if (worker->news.is_over && now_ns >= worker->news.give_up_ns)
            return -ECANCELED;
        if (now_ns >= deadline_ns || must_leave(worker, now_ns))
            return -ETIMEDOUT;
        bool is_leaving = worker->leave_ns > 0 && !worker->is_ending && worker->leave_ns < deadline_ns;
        int r = rest(worker, fd, events, is_leaving ? worker->leave_ns : deadline_ns);
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

int worker_init(struct worker *worker, const struct stream_options *options, struct exchange *exchange)
{
    *worker = (struct worker){
        .options = options,
        .exchange = exchange,
        .hurry = {.fd = -1},
        .spool = {.dir_fd = -1},
        .run = {.dir_fd = -1, .lock_fd = -1, .journal_fd = -1, .end_fd = -1},
        .seal_ns = DELIVERY_NEVER,
        .started_ns = clock_read(options->clock, CLOCK_KIND_MONOTONIC),
    };
    worker->wait = (struct net_wait){.until = wait_until, .context = worker};
    worker->heartbeat_ns = options->hook_heartbeat ? worker->started_ns + options->heartbeat_ns : DELIVERY_NEVER;
    buf_init(&worker->rows, EXCHANGE_ROWS_BYTES_MAX);
    run_state_init(&worker->state);
    int r = clients_make(options, &worker->wait, &worker->http, &worker->http_s3);
    if (r == 0)
        r = clients_make_one(options, &worker->wait, true, &worker->http_bucket);
    if (r == 0)
        r = clients_make_one(options, &worker->wait, false, &worker->http_hooks);
    if (r == 0)
        worker_make_facts(worker);
    if (r < 0)
        worker_fini(worker);
    return r;
}

void worker_fini(struct worker *worker)
{
    to_sentinel_fini(&worker->to_sentinel);
    to_bucket_fini(&worker->to_bucket);
    batch_fini(&worker->batch);
    spool_run_close(&worker->run);
    spool_close(&worker->spool);
    http_client_free(worker->http);
    http_client_free(worker->http_s3);
    http_client_free(worker->http_bucket);
    http_client_free(worker->http_hooks);
    run_state_fini(&worker->state);
    buf_fini(&worker->rows);
}

static void send_hook(struct worker *worker, enum hooks_event event)
{
    struct worker_hook *hook = &worker->pending[event];
    AUTO_BUF struct buf body;
    buf_init(&body, RUN_STATE_BODY_MAX);
    payload_hook(&body, &worker->facts, &hook->event, worker->options->omit);
    hook->is_pending = false;
    struct err err = {0};
    int r = hooks_send(&worker->hooks, event, (struct str){body.data, body.len}, hook->deadline_ns, &err);
    bool is_again = event == HOOKS_HEARTBEAT && worker->is_hook_trouble;
    if (r < 0 && !is_again)
        exchange_tell(worker->exchange, LOG_WARNING, "%s", err.msg);
    else if (r == 0 && is_again)
        exchange_tell(worker->exchange, LOG_WARNING, "the heartbeat hook works again");
    if (event == HOOKS_HEARTBEAT)
        worker->is_hook_trouble = r < 0;
}

int64_t worker_send_hooks(struct worker *worker, int *ret_fd)
{
    *ret_fd = -1;
    /* In their order: no end is reported before the start. */
    for (int i = 0; i < HOOKS_EVENTS; i++) {
        enum hooks_event event = (enum hooks_event)i;
        struct worker_hook *hook = &worker->pending[event];
        if (!hook->is_pending)
            continue;
        int64_t now_ns = worker_now(worker);
        int fd = http_client_look_up(worker->http_hooks, str_of(worker->hooks.urls[event]));
        if (fd >= 0 && now_ns < hook->deadline_ns) {
            *ret_fd = fd;
            return hook->deadline_ns;
        }
        if (fd >= 0) /* too late: only for the message that says what it waited for */
            hook->deadline_ns = now_ns + HOOK_LATE_NS;
        send_hook(worker, event);
    }
    return DELIVERY_NEVER;
}

void worker_cancel_hooks(struct worker *worker)
{
    int fd;
    for (size_t i = 0; i < HOOKS_EVENTS; i++)
        worker->pending[i].deadline_ns = 0;
    (void)worker_send_hooks(worker, &fd);
}

void worker_tell_hook(struct worker *worker, enum hooks_event event, int64_t deadline_ns)
{
    struct worker_hook *hook = &worker->pending[event];
    if (!hooks_has(&worker->hooks, event) || hook->is_pending)
        return;
    int64_t now_ns = worker_now(worker);
    *hook = (struct worker_hook){
        .is_pending = true,
        .deadline_ns = now_ns + HOOK_NS < deadline_ns ? now_ns + HOOK_NS : deadline_ns,
        .event = {.event = hooks_name(event),
            .now_secs = clock_read(worker->options->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC,
            .elapsed_secs = (double)(now_ns - worker->started_ns) / 1e9,
            .end = event == HOOKS_STOP ? &worker->state.end : NULL},
    };
    int fd;
    (void)worker_send_hooks(worker, &fd);
}

/* The machine is known, and so are the GPUs as far as they ever will be: the targets may be told. */
static void introduce_in_time(struct worker *worker, int64_t now_ns)
{
    if (!worker->is_introduced && (worker->news.has_sampled || now_ns - worker->started_ns >= INTRODUCTION_NS))
        worker_introduce(worker);
}

static void beat(struct worker *worker, int64_t now_ns)
{
    if (now_ns < worker->heartbeat_ns)
        return;
    while (worker->heartbeat_ns <= now_ns)
        worker->heartbeat_ns += worker->options->heartbeat_ns;
    worker_tell_hook(worker, HOOKS_HEARTBEAT, DELIVERY_NEVER);
}

int64_t worker_next_delivery(const struct worker *worker)
{
    if (!worker->is_introduced)
        return DELIVERY_NEVER;
    int64_t a = to_sentinel_due(&worker->to_sentinel), b = to_bucket_due(&worker->to_bucket);
    return a < b ? a : b;
}

void worker_deliver(struct worker *worker, int64_t deadline_ns)
{
    int64_t now_ns = worker_now(worker);
    bool is_bucket_due = to_bucket_due(&worker->to_bucket) <= now_ns;
    bool is_sentinel_due = to_sentinel_due(&worker->to_sentinel) <= now_ns;
    /* Alternately: a slow one with a backlog must not keep the other one waiting for all of it. */
    bool is_bucket = is_bucket_due && (worker->is_bucket_next || !is_sentinel_due);
    worker->is_stepping = true;
    if (is_bucket)
        to_bucket_step(&worker->to_bucket, deadline_ns);
    else if (is_sentinel_due)
        to_sentinel_step(&worker->to_sentinel, deadline_ns);
    worker->is_stepping = false;
    worker->is_bucket_next = !is_bucket;
    if (worker->dropped_rows > 0)
        count_dropped(worker, worker->dropped, worker->dropped_rows);
    worker->dropped_rows = 0;
}

/* Who and where we are. */
static void start(struct worker *worker)
{
    const struct stream_options *options = worker->options;
    worker_open_spool(worker);
    options->discover_host(options->discover_context, &worker->facts.host);
    worker_tell_hook(worker, HOOKS_START, DELIVERY_NEVER);
    /* Hooks do not tell of the cloud. */
    if (worker->state.sentinel.is_wanted || worker->state.bucket.is_wanted)
        options->discover_cloud(options->discover_context, &worker->wait, &worker->facts.cloud);
}

/* What is due; false where there is nothing, and *ret_due_ns says until when, or until *ret_fd is readable. */
static bool act(struct worker *worker, int64_t *ret_due_ns, int *ret_fd)
{
    int64_t now_ns = worker_now(worker);
    introduce_in_time(worker, now_ns);
    beat(worker, now_ns);
    int64_t hook_ns = worker_send_hooks(worker, ret_fd);
    int64_t due_ns = worker_next_delivery(worker);
    if (due_ns <= now_ns) {
        worker_deliver(worker, now_ns + DELIVERY_REQUEST_NS);
        return true;
    }
    if (!worker->is_introduced && due_ns > worker->started_ns + INTRODUCTION_NS)
        due_ns = worker->started_ns + INTRODUCTION_NS;
    due_ns = due_ns < hook_ns ? due_ns : hook_ns;
    *ret_due_ns = due_ns < worker->heartbeat_ns ? due_ns : worker->heartbeat_ns;
    return false;
}

bool worker_wait_for_begin(struct worker *worker)
{
    struct pollfd wake = {.fd = worker->exchange->wake_fd, .events = POLLIN};
    for (;;) {
        exchange_look(worker->exchange, &worker->news);
        if (worker->news.is_begun || worker->news.is_over || worker->news.is_retired)
            return !worker->news.is_retired;
        (void)poll(&wake, 1, -1);
    }
}

void worker_run(struct worker *worker)
{
    start(worker);
    while (!worker->news.is_over) {
        int64_t due_ns;
        int fd;
        if (act(worker, &due_ns, &fd))
            continue;
        http_client_rest(worker->http);
        http_client_rest(worker->http_s3);
        http_client_rest(worker->http_bucket);
        http_client_rest(worker->http_hooks);
        (void)rest(worker, fd, POLLIN, due_ns);
    }
    worker_end(worker);
    exchange_finish(worker->exchange);
}
