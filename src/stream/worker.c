/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows first: every wait, also one for a server, ends as soon as there are rows to take. What is due is done in small
 * attempts, one after the other; worker_end.c has the end of the run.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "base/utc.h"
#include "stream/stream_internal.h"

/* How late a prompt target may be: an attempt of another one usually takes less, and is then not interrupted. */
#define PROMPT_LATE_NS (1 * NS_PER_SEC)

/* How long the introduction waits for the first sample, which knows the GPUs. */
#define INTRODUCTION_NS (15 * NS_PER_SEC)

/* Of the descriptors that are waited for, the first ones are those of every wait. */
enum { OURS = 2, FDS_MAX = 10 };

/* What getrandom(2) calls GRND_NONBLOCK; older headers do not name it. */
enum { DO_NOT_BLOCK = 1 };

int64_t worker_now(const struct worker *worker)
{
    return clock_read(worker->options->clock, CLOCK_KIND_MONOTONIC);
}

static void report_lost_rows(struct worker *worker, uint64_t rows, const char *why)
{
    worker->lost_rows += rows;
    if (!worker->is_full)
        exchange_notify(
            worker->exchange, LOG_WARNING, "streaming: %s; samples are lost to the targets until that changes", why);
    worker->is_full = true;
}

/* A batch that is nowhere any more: lost to the targets that have not got it. */
static void count_dropped(struct worker *worker, uint32_t number, uint64_t rows)
{
    const char *label = NULL;
    for (size_t i = 0; i < stream_target_count; i++) {
        struct target_run *target = &worker->state.targets[i];
        if (!target_needs_batch(target, number))
            continue;
        target->lost_rows += rows;
        label = label ? "the targets" : target->target->label;
    }
    if (label && !worker->is_full)
        exchange_notify(worker->exchange, LOG_WARNING,
            "streaming: spool %s and the memory for waiting batches are full; samples are lost to %s until that "
            "changes",
            worker->spool.path, label);
    worker->is_full |= label != NULL;
}

static bool is_any_taking(const struct worker *worker)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        if (target_takes(&worker->state.targets[i]))
            return true;
    }
    return false;
}

static uint64_t most_lost_rows(const struct worker *worker)
{
    uint64_t most = 0;
    for (size_t i = 0; i < stream_target_count; i++)
        most = worker->state.targets[i].lost_rows > most ? worker->state.targets[i].lost_rows : most;
    return worker->lost_rows + most;
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
    worker->run.may_pass = is_any_taking(worker);
    /* A batch whose run nothing is known of could not be delivered later. */
    if (had_rows && !worker->run.is_state_safe)
        (void)delivery_save(&worker->delivery);
    int r = batch_seal(&worker->batch, &err);
    worker->seal_ns = DELIVERY_NEVER;
    if (r < 0) {
        report_lost_rows(worker, worker->batch.lost_rows - lost_before, err.msg);
        return;
    }
    if (r == 2)
        worker->passing_rows = rows;
    if (!had_rows || r == 2)
        return;
    if (worker->is_full)
        exchange_notify(worker->exchange, LOG_WARNING, "streaming: the spool accepts samples again; %llu are lost",
            (unsigned long long)most_lost_rows(worker));
    worker->is_full = false;
    if (r > 0)
        delivery_spool_fails(&worker->delivery, err.msg);
    else if (!worker->is_journal_failing)
        delivery_spool_works(&worker->delivery);
    worker->is_journal_failing = false;
}

/* The time of a batch. What one target wishes counts where no other gets the batches. */
static int64_t batch_interval_ns(const struct worker *worker)
{
    const struct settings *settings = worker->options->settings;
    int64_t least_ns = settings->upload_interval_ns;
    size_t takers = 0;
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct target_run *target = &worker->state.targets[i];
        if (!target->is_wanted || !target->target->takes_batches)
            continue;
        takers++;
        int64_t own_ns = target->target->interval_ns ? target->target->interval_ns(settings) : least_ns;
        least_ns = own_ns < least_ns ? own_ns : least_ns;
    }
    return takers > 1 ? settings->upload_interval_ns : least_ns;
}

static void add_rows(struct worker *worker, int64_t now_ns)
{
    struct err err = {0};
    bool was_empty = worker->batch.rows == 0;
    uint64_t lost_before = worker->batch.lost_rows;
    int r = batch_add(&worker->batch, buf_str(&worker->rows), worker->news.rows, now_ns, &err);
    buf_clear(&worker->rows);
    worker->taken_rows += worker->news.rows;
    if (was_empty && worker->batch.rows > 0)
        worker->seal_ns = now_ns + batch_interval_ns(worker);
    if (r < 0) {
        report_lost_rows(worker, worker->batch.lost_rows - lost_before, err.msg);
        return;
    }
    if (r > 0 && worker->run.dir_fd >= 0) {
        worker->is_journal_failing = true;
        delivery_spool_fails(&worker->delivery, err.msg);
    }
}

void worker_take_rows(struct worker *worker)
{
    uint64_t lost;
    exchange_pop(worker->exchange, &worker->rows, &worker->news, &lost);
    worker->delivery.is_cancelled = worker->news.is_over && worker->news.give_up_ns == 0;
    worker->taken_rows += lost;
    if (lost > 0)
        report_lost_rows(worker, lost, "the disk of the spool is too slow");
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

/*
 * Waits for news, for the time or for one of the descriptors, whatever comes first; takes rows. The first OURS of fds
 * are filled in here. 1: a descriptor behind them is ready.
 */
static int wait_for_news(struct worker *worker, struct pollfd *fds, nfds_t count, int64_t until_ns)
{
    if (until_ns > worker->seal_ns)
        until_ns = worker->seal_ns;
    if (worker->news.is_over && until_ns > worker->news.give_up_ns)
        until_ns = worker->news.give_up_ns;
    int64_t left_ns = until_ns - worker_now(worker);
    fds[0] = (struct pollfd){.fd = worker->exchange->wake_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = worker->cancel.fd, .events = POLLIN};
    int64_t left_ms = left_ns <= 0 ? 0 : left_ns / NS_PER_MS + 1;
    int r = poll(fds, count, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
    if (r < 0 && errno != EINTR)
        return err_last();
    if (r > 0 && fds[1].revents != 0 && worker->cancel.is_cancelled(worker->cancel.fd))
        exchange_give_up(worker->exchange, 0);
    worker_take_rows(worker);
    bool is_ready = false;
    for (nfds_t i = OURS; r > 0 && i < count; i++)
        is_ready |= fds[i].revents != 0;
    return is_ready;
}

/* May it act? Until the machine is known, and while another one makes its attempt, only those that are prompt may. */
static bool is_admitted(const struct worker *worker, const struct target_run *target)
{
    if (worker->is_prompt_acting)
        return false;
    return target->target->is_prompt ? worker->news.is_over == worker->is_ending
                                     : worker->is_introduced && !worker->is_stepping;
}

/* Adds what the targets that may act wait for; returns how many there are now. */
static nfds_t add_watched(const struct worker *worker, struct pollfd *fds, nfds_t count)
{
    for (size_t i = 0; i < stream_target_count && count < FDS_MAX; i++) {
        const struct target_run *target = &worker->state.targets[i];
        int fd = is_admitted(worker, target) ? target_watch_fd(target) : -1;
        if (fd >= 0)
            fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return count;
}

int64_t worker_next_delivery(const struct worker *worker)
{
    int64_t next_ns = DELIVERY_NEVER;
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct target_run *target = &worker->state.targets[i];
        int64_t due_ns = is_admitted(worker, target) ? target_next_due(target) : DELIVERY_NEVER;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

/* How an attempt waits for its server. Meanwhile rows are taken, and targets that are prompt act when they are due. */
static int wait_until(void *context, int fd, short events, int64_t deadline_ns)
{
    struct worker *worker = context;
    for (;;) {
        int64_t now_ns = worker_now(worker);
        if (worker->news.is_over && now_ns >= worker->news.give_up_ns)
            return -ECANCELED;
        if (now_ns >= deadline_ns || must_leave(worker, now_ns))
            return -ETIMEDOUT;
        int64_t until_ns = deadline_ns;
        if (worker->leave_ns > 0 && !worker->is_ending && worker->leave_ns < until_ns)
            until_ns = worker->leave_ns;
        int64_t prompt_ns = worker_next_delivery(worker);
        if (prompt_ns < until_ns - PROMPT_LATE_NS)
            until_ns = prompt_ns + PROMPT_LATE_NS;
        if (until_ns <= now_ns) {
            worker_deliver_prompt(worker);
            continue;
        }
        struct pollfd fds[FDS_MAX] = {[OURS] = {.fd = fd, .events = events}};
        int r = wait_for_news(worker, fds, add_watched(worker, fds, OURS + 1), until_ns);
        if (r < 0 || fds[OURS].revents != 0)
            return r < 0 ? r : 0;
    }
}

/* Unique among all runs of all machines that share a spool or a target. */
static void make_run_id(char *ret_id, size_t size, int64_t unix_secs)
{
    char when[UTC_BASIC_BYTES];
    utc_format_basic(unix_secs, when);
    uint32_t random = 0;
    if (syscall(SYS_getrandom, &random, sizeof(random), DO_NOT_BLOCK) != (long)sizeof(random))
        random = (uint32_t)getpid();
    (void)snprintf(ret_id, size, "%s-%08x", when, (unsigned)random);
}

static void make_facts(struct worker *worker)
{
    const struct stream_options *options = worker->options;
    struct run_state *state = &worker->state;
    state->started_secs = clock_read(options->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    make_run_id(state->run_id, sizeof(state->run_id), state->started_secs);
    for (size_t i = 0; i < stream_target_count; i++) {
        struct target_run *target = &state->targets[i];
        target->is_wanted = target->target->is_wanted(options->settings);
        if (target->is_wanted && target->target->begin)
            target->target->begin(target, state, options->settings);
    }
    worker->facts = (struct run_facts){.job = options->job,
        .version = options->version,
        .started_secs = state->started_secs,
        .pid = options->settings->pid.has ? options->settings->pid.v : 0,
        .interval_secs = (double)options->settings->interval_ns / 1e9};
    (void)str_copy(str_of(state->run_id), worker->facts.run_id, sizeof(worker->facts.run_id));
}

/* False where they are too long. */
static bool put_bodies(struct worker *worker)
{
    struct run_state *state = &worker->state;
    buf_clear(&state->register_body);
    buf_clear(&state->run_body);
    payload_register(&state->register_body, &worker->facts, worker->options->omit);
    payload_run(&state->run_body, &worker->facts, worker->options->omit);
    return buf_ok(&state->register_body) && buf_ok(&state->run_body);
}

static void make_bodies(struct worker *worker)
{
    if (put_bodies(worker))
        return;
    exchange_notify(worker->exchange, LOG_WARNING, "streaming: the tags are too long and are left out");
    worker->facts.job.tag_count = 0;
    (void)put_bodies(worker);
}

static void open_targets(struct worker *worker)
{
    worker->delivery = (struct delivery){
        .options = worker->options,
        .run = &worker->run,
        .state = &worker->state,
        .exchange = worker->exchange,
        .facts = &worker->facts,
        .started_ns = worker->started_ns,
    };
    for (size_t i = 0; i < stream_target_count; i++)
        target_open(&worker->state.targets[i], &worker->delivery, &worker->clients[i]);
}

/* Where there is no spool, or none that can be used: once, and nothing more about it. */
static void report_no_spool(struct worker *worker, const char *why)
{
    worker->delivery.is_spool_failing = true;
    exchange_notify(worker->exchange, LOG_WARNING,
        "streaming: %s; what cannot be delivered at once waits in memory and is lost with the tracker", why);
}

/* The command for later. A path that is not the default is named, from the root on. */
static void set_later(struct worker *worker)
{
    const struct spool_paths *places = &worker->options->spool_paths;
    AUTO_BUF struct buf text = {.max = EXCHANGE_LATER_BYTES};
    buf_printf(&text, "wait in %s/%s; deliver them with: ", worker->spool.path, worker->run.name);
    if (places->given || places->state_home || worker->spool.is_shared) {
        buf_puts(&text, "TRACKER_SPOOL=");
        text_put_quoted(&text, str_of(worker->spool.path));
        buf_putc(&text, ' ');
    }
    buf_puts(&text, "resource-tracker --upload-spool");
    if (buf_ok(&text))
        exchange_set_later(worker->exchange, buf_str(&text));
    else
        exchange_set_later(
            worker->exchange, STR("wait in the spool; deliver them with: resource-tracker --upload-spool"));
}

void worker_open_spool(struct worker *worker)
{
    if (worker->is_spool_open)
        return;
    worker->is_spool_open = true;
    open_targets(worker);
    struct err err = {0};
    bool wants_spool = run_state_has_targets(&worker->state);
    if (wants_spool &&
        spool_open(&worker->spool, &worker->options->spool_paths, worker->options->spool_max_bytes, true, &err) < 0)
        report_no_spool(worker, err.msg);
    if (spool_run_create(&worker->run, &worker->spool, worker->state.run_id, &err) < 0)
        report_no_spool(worker, err.msg);
    worker->state.made_directories = worker->spool.made;
    (void)str_copy(str_of(worker->spool.path), worker->state.made_in, sizeof(worker->state.made_in));
    if (worker->run.dir_fd >= 0)
        set_later(worker);
    if (batch_init(&worker->batch, &worker->run, str_of(worker->options->csv_header)) < 0)
        exchange_notify(
            worker->exchange, LOG_WARNING, "streaming: out of memory for a batch; samples are lost to the targets");
    make_bodies(worker);
    if (wants_spool)
        delivery_note(&worker->delivery);
}

void worker_introduce(struct worker *worker)
{
    worker->is_introduced = true;
    (void)str_copy(str_of(worker->news.gpu_model), worker->facts.host.gpu_model, sizeof(worker->facts.host.gpu_model));
    worker->facts.host.gpu_count = worker->news.gpu_count;
    worker->facts.host.gpu_memory_mib = worker->news.gpu_memory_mib;
    make_bodies(worker);
    /* At the end it is written with the last batch, or with what becomes of the run. */
    if (!worker->delivery.is_over && run_state_has_targets(&worker->state))
        delivery_note(&worker->delivery);
}

static int make_clients(struct worker *worker)
{
    worker->clients = calloc(stream_target_count, sizeof(*worker->clients));
    int r = worker->clients ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < stream_target_count; i++) {
        const struct settings *settings = worker->options->settings;
        if (stream_targets[i]->is_wanted(settings))
            r = target_clients_init(&worker->clients[i], stream_targets[i], settings, &worker->wait);
    }
    return r;
}

int worker_init(struct worker *worker, const struct stream_options *options, struct exchange *exchange)
{
    *worker = (struct worker){
        .options = options,
        .exchange = exchange,
        .cancel = {.fd = -1},
        .spool = {.dir_fd = -1},
        .run = {.dir_fd = -1, .lock_fd = -1, .journal_fd = -1, .end_fd = -1},
        .seal_ns = DELIVERY_NEVER,
        .started_ns = clock_read(options->clock, CLOCK_KIND_MONOTONIC),
    };
    worker->wait = (struct net_wait){.until = wait_until, .context = worker};
    buf_init(&worker->rows, EXCHANGE_ROWS_BYTES_MAX);
    int r = run_state_init(&worker->state);
    if (r == 0)
        r = make_clients(worker);
    if (r == 0)
        make_facts(worker);
    if (r < 0)
        worker_fini(worker);
    return r;
}

void worker_fini(struct worker *worker)
{
    run_state_fini(&worker->state);
    batch_fini(&worker->batch);
    spool_run_close(&worker->run);
    spool_close(&worker->spool);
    for (size_t i = 0; worker->clients && i < stream_target_count; i++)
        target_clients_fini(&worker->clients[i]);
    free(worker->clients);
    buf_fini(&worker->rows);
}

void worker_wait(struct worker *worker, int64_t until_ns)
{
    struct pollfd fds[FDS_MAX];
    (void)wait_for_news(worker, fds, add_watched(worker, fds, OURS), until_ns);
}

void worker_deliver_prompt(struct worker *worker)
{
    int64_t now_ns = worker_now(worker);
    int64_t most_ns = worker->is_ending ? (worker->news.give_up_ns - now_ns) / 3 : DELIVERY_REQUEST_NS;
    worker->is_prompt_acting = true;
    for (size_t i = 0; i < stream_target_count; i++) {
        struct target_run *target = &worker->state.targets[i];
        if (target->target->is_prompt && target_next_due(target) <= worker_now(worker))
            target->target->step(target, now_ns + most_ns);
    }
    worker->is_prompt_acting = false;
}

void worker_deliver(struct worker *worker, int64_t deadline_ns)
{
    int64_t now_ns = worker_now(worker);
    /* One after the other: a slow one with a backlog must not keep the others waiting for all of it. */
    for (size_t i = 0; i < stream_target_count; i++) {
        size_t index = (worker->next_target + i) % stream_target_count;
        struct target_run *target = &worker->state.targets[index];
        if (target->target->is_prompt || !is_admitted(worker, target) || target_next_due(target) > now_ns)
            continue;
        worker->next_target = index + 1;
        worker->is_stepping = true;
        target->target->step(target, deadline_ns);
        worker->is_stepping = false;
        break;
    }
    if (worker->dropped_rows > 0)
        count_dropped(worker, worker->dropped, worker->dropped_rows);
    worker->dropped_rows = 0;
}

/* The spool, the host and the cloud. */
static void start(struct worker *worker)
{
    const struct stream_options *options = worker->options;
    worker_open_spool(worker);
    options->discover_host(options->discover_context, &worker->facts.host);
    worker_deliver_prompt(worker);
    /* Only what may be delivered later reports the cloud. */
    if (run_state_has_targets(&worker->state))
        options->discover_cloud(options->discover_context, &worker->wait, &worker->facts.cloud);
}

/* What is due; false where there is nothing, and *ret_due_ns says until when. */
static bool act(struct worker *worker, int64_t *ret_due_ns)
{
    int64_t now_ns = worker_now(worker);
    /* The machine is known, and so are the GPUs as far as they ever will be. */
    if (!worker->is_introduced && (worker->news.has_sampled || now_ns - worker->started_ns >= INTRODUCTION_NS))
        worker_introduce(worker);
    worker_deliver_prompt(worker);
    now_ns = worker_now(worker);
    int64_t due_ns = worker_next_delivery(worker);
    if (due_ns <= now_ns) {
        worker_deliver(worker, now_ns + DELIVERY_REQUEST_NS);
        return true;
    }
    if (!worker->is_introduced && due_ns > worker->started_ns + INTRODUCTION_NS)
        due_ns = worker->started_ns + INTRODUCTION_NS;
    *ret_due_ns = due_ns;
    return false;
}

bool worker_wait_for_begin(struct worker *worker)
{
    struct pollfd wake = {.fd = worker->exchange->wake_fd, .events = POLLIN};
    for (;;) {
        exchange_peek(worker->exchange, &worker->news);
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
        if (act(worker, &due_ns) || worker->news.is_over)
            continue;
        for (size_t i = 0; i < stream_target_count; i++)
            target_clients_close_idle(&worker->clients[i]);
        worker_wait(worker, due_ns);
    }
    worker_end(worker);
    exchange_finish(worker->exchange);
}
