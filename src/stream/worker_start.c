/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has before its first row is delivered: clients, a name, a place in the spool, and a description. */
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/syscalls.h"
#include "base/utc.h"
#include "stream/worker_internal.h"

/* What getrandom(2) calls GRND_NONBLOCK; older headers do not name it. */
enum { DO_NOT_BLOCK = 1 };

/* Unique among all runs of all machines that share a spool or a bucket. */
static void make_run_id(char *ret_id, size_t size, int64_t unix_secs)
{
    char when[UTC_BASIC_BYTES];
    utc_format_basic(unix_secs, when);
    uint32_t random = 0;
    if (syscall(SYS_getrandom, &random, sizeof(random), DO_NOT_BLOCK) != (long)sizeof(random))
        random = (uint32_t)getpid();
    (void)snprintf(ret_id, size, "%s-%08x", when, (unsigned)random);
}

void worker_make_facts(struct worker *worker)
{
    const struct stream_options *options = worker->options;
    struct run_state *state = &worker->state;
    state->started_secs = clock_read(options->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    make_run_id(state->run_id, sizeof(state->run_id), state->started_secs);
    for (size_t i = 0; i < stream_target_count; i++) {
        struct target_run *target = &state->targets[i];
        target->is_wanted = target->target->step && target->target->is_wanted(options->settings);
        if (target->is_wanted)
            target->target->begin(target, state, options->settings);
    }
    worker->facts = (struct run_facts){.job = options->job,
        .version = options->version,
        .started_secs = state->started_secs,
        .pid = options->settings->pid.has ? options->settings->pid.v : 0,
        .interval_secs = (double)options->settings->interval_ns / 1e9};
    (void)str_copy(str_of(state->run_id), worker->facts.run_id, sizeof(worker->facts.run_id));
}

void worker_make_bodies(struct worker *worker)
{
    buf_clear(&worker->state.register_body);
    buf_clear(&worker->state.run_body);
    payload_register(&worker->state.register_body, &worker->facts, worker->options->omit);
    payload_run(&worker->state.run_body, &worker->facts, worker->options->omit);
    if (buf_ok(&worker->state.register_body) && buf_ok(&worker->state.run_body))
        return;
    exchange_tell(worker->exchange, LOG_WARNING, "streaming: the tags are too long to be told, and are left out");
    worker->facts.job.tag_count = 0;
    buf_clear(&worker->state.register_body);
    buf_clear(&worker->state.run_body);
    payload_register(&worker->state.register_body, &worker->facts, worker->options->omit);
    payload_run(&worker->state.run_body, &worker->facts, worker->options->omit);
}

static void open_targets(struct worker *worker)
{
    worker->delivery = (struct delivery){
        .options = worker->options,
        .run = &worker->run,
        .state = &worker->state,
        .exchange = worker->exchange,
    };
    for (size_t i = 0; i < stream_target_count; i++)
        target_open(&worker->state.targets[i], &worker->delivery, &worker->clients[i]);
}

/* Where there is no spool, or none that can be used: once, and nothing more about it. */
static void tell_no_spool(struct worker *worker, const char *why)
{
    worker->delivery.is_spool_trouble = true;
    exchange_tell(worker->exchange, LOG_WARNING,
        "streaming: %s; what cannot be delivered at once waits in memory and is lost with the tracker", why);
}

static void put_quoted(struct buf *buf, const char *text)
{
    buf_putc(buf, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_puts(buf, "'\\''");
        else
            buf_putc(buf, *text);
    }
    buf_putc(buf, '\'');
}

/* What a person types later. A place that is not the usual one is named, from the root on. */
static void set_later(struct worker *worker)
{
    const struct spool_places *places = &worker->options->spool_places;
    AUTO_BUF struct buf text;
    buf_init(&text, EXCHANGE_LATER_BYTES);
    buf_printf(&text, "wait in %s/%s; deliver them with: ", worker->spool.path, worker->run.name);
    if (places->given || places->state_home || worker->spool.is_shared) {
        buf_puts(&text, "TRACKER_SPOOL=");
        put_quoted(&text, worker->spool.path);
        buf_putc(&text, ' ');
    }
    buf_puts(&text, "resource-tracker --upload-spool");
    if (buf_ok(&text))
        exchange_set_later(worker->exchange, (struct str){text.data, text.len});
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
        spool_open(&worker->spool, &worker->options->spool_places, worker->options->spool_max_bytes, true, &err) < 0)
        tell_no_spool(worker, err.msg);
    if (spool_run_create(&worker->run, &worker->spool, worker->state.run_id, &err) < 0)
        tell_no_spool(worker, err.msg);
    worker->state.made_folders = worker->spool.made;
    (void)str_copy(str_of(worker->spool.path), worker->state.made_in, sizeof(worker->state.made_in));
    if (worker->run.dir_fd >= 0)
        set_later(worker);
    if (batch_init(&worker->batch, &worker->run, str_of(worker->options->csv_header)) < 0)
        exchange_tell(
            worker->exchange, LOG_WARNING, "streaming: no memory for a batch; samples are lost to the targets");
    worker_make_bodies(worker);
    if (wants_spool)
        delivery_note(&worker->delivery);
}

void worker_introduce(struct worker *worker)
{
    worker->is_introduced = true;
    (void)str_copy(str_of(worker->news.gpu_model), worker->facts.host.gpu_model, sizeof(worker->facts.host.gpu_model));
    worker->facts.host.gpu_count = worker->news.gpu_count;
    worker->facts.host.gpu_memory_mib = worker->news.gpu_memory_mib;
    worker_make_bodies(worker);
    /* At the end it is written with the last batch, or with what becomes of the run. */
    if (!worker->delivery.is_over && run_state_has_targets(&worker->state))
        delivery_note(&worker->delivery);
}
