/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/log.h"
#include "encode/encode.h"
#include "stream/exchange.h"
#include "stream/stream_internal.h"

static void add(struct mean *mean, struct opt_f64 value)
{
    if (!value.has)
        return;
    mean->sum += value.v;
    mean->count++;
}

void means_add(struct means *means, const struct sample *sample, const struct sample_totals *totals)
{
    const struct sample_cpu *cpu = &sample->cpu;
    if (!sample->tracked_pid.has)
        return;
    add(&means->host_cores, cpu->utilization_pct);
    add(&means->tree_cores, cpu->process_cores_used);
    add(&means->host_memory_mib, sample->memory.used_mib);
    add(&means->tree_memory_mib, cpu->process_pss_mib.has ? cpu->process_pss_mib : cpu->process_rss_mib);
    add(&means->host_gpus, totals->gpu_usage);
    add(&means->host_vram_mib, opt_scaled(totals->vram_used_bytes, BYTES_PER_MIB));
    add(&means->tree_gpus, cpu->process_gpu_usage);
    add(&means->tree_vram_mib, cpu->process_gpu_vram_mib);
}

/* Does the host use more than the tree explains? */
static bool is_exceeded(const struct mean *host, const struct mean *tree, double factor, double margin)
{
    if (host->count == 0 || tree->count == 0)
        return false;
    double of_host = host->sum / (double)host->count, of_tree = tree->sum / (double)tree->count;
    return of_host > factor * of_tree || of_host > of_tree + margin;
}

const char *means_allocation(const struct means *means)
{
    if (means->host_cores.count == 0 || means->tree_cores.count == 0)
        return NULL;
    bool is_shared = is_exceeded(&means->host_cores, &means->tree_cores, 1.25, 0.25) ||
                     is_exceeded(&means->host_memory_mib, &means->tree_memory_mib, 1.5, 512) ||
                     is_exceeded(&means->host_gpus, &means->tree_gpus, 1.25, 0.2) ||
                     is_exceeded(&means->host_vram_mib, &means->tree_vram_mib, 1.25, 512);
    return is_shared ? "shared" : "dedicated";
}

enum { WORKER_STACK_BYTES = 512 * 1024, ROW_BYTES_MAX = 64 * 1024 };

/* Of the time to wait, what is left to the worker for writing down what it could not deliver. */
#define TIDY_NS (500 * NS_PER_MS)

struct stream {
    struct stream_options options; /* a copy: a worker that is stuck outlives the caller's */
    struct exchange exchange;
    struct worker worker;
    struct means means;
    struct buf row;
    pthread_t thread;
    bool has_thread;
    bool is_gpu_known;
};

bool stream_is_wanted(const struct settings *settings)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        if (stream_targets[i]->is_wanted(settings))
            return true;
    }
    return false;
}

bool stream_takes_samples(const struct settings *settings)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        if (stream_targets[i]->state_key && stream_targets[i]->is_wanted(settings))
            return true;
    }
    return false;
}

int stream_check(const struct settings *settings, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < stream_target_count; i++) {
        if (stream_targets[i]->is_wanted(settings))
            r = stream_targets[i]->check(settings, err);
    }
    return r;
}

static void *run_worker(void *context)
{
    if (worker_wait_for_begin(context))
        worker_run(context);
    return NULL;
}

/* No signal is for the worker: all are blocked in it, as they are inherited. */
static int start_thread(struct stream *stream)
{
    pthread_attr_t attributes;
    int r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    (void)pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&stream->thread, &attributes, run_worker, &stream->worker);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return -r;
}

int stream_new(struct stream **ret_stream, const struct stream_options *options, struct err *err)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return err_set(err, -ENOMEM, "streaming: out of memory");
    int r = exchange_init(&stream->exchange, err);
    if (r < 0) {
        free(stream);
        return r;
    }
    stream->options = *options;
    buf_init(&stream->row, ROW_BYTES_MAX);
    r = worker_init(&stream->worker, &stream->options, &stream->exchange);
    if (r < 0) {
        exchange_fini(&stream->exchange);
        free(stream);
        return err_set(err, r, "streaming: out of memory");
    }
    r = start_thread(stream);
    stream->has_thread = r == 0;
    if (r < 0)
        log_warning("streaming: cannot start a thread (%s); everything is delivered at the end", strerror(-r));
    *ret_stream = stream;
    return 0;
}

static void set_gpus(struct stream *stream, const struct sample_list *list, const struct sample_totals *totals)
{
    const struct sample_gpu *gpus = list->items;
    if (!list->present || stream->is_gpu_known)
        return;
    struct host_facts host = {.gpu_count = some_u64(list->count)};
    if (list->count > 0 && gpus[0].name)
        (void)str_copy(str_of(gpus[0].name), host.gpu_model, sizeof(host.gpu_model));
    if (totals->vram_total_bytes.has)
        host.gpu_memory_mib = some_u64(totals->vram_total_bytes.v >> 20);
    stream->is_gpu_known = list->count > 0;
    exchange_set_gpus(&stream->exchange, &host);
}

void stream_sample(
    struct stream *stream, const struct run_info *info, const struct sample *sample, const struct sample_totals *totals)
{
    buf_clear(&stream->row);
    encoder_csv_full.sample(info, sample, totals, &stream->row);
    means_add(&stream->means, sample, totals);
    set_gpus(stream, &sample->gpu, totals);
    if (buf_ok(&stream->row))
        exchange_push_row(&stream->exchange, buf_str(&stream->row));
    if (!stream->has_thread) {
        worker_take_rows(&stream->worker);
        stream_tell(stream);
    }
}

int stream_watch_fd(const struct stream *stream)
{
    return stream->exchange.notice_fd;
}

void stream_tell(struct stream *stream)
{
    exchange_log(&stream->exchange);
}

bool stream_do_without_thread(struct stream *stream)
{
    if (!stream->has_thread)
        return false;
    exchange_retire(&stream->exchange);
    (void)pthread_join(stream->thread, NULL);
    stream->has_thread = false;
    return true;
}

void stream_set_command(struct stream *stream, char *const *command)
{
    stream->worker.facts.job.command = command; /* the worker waits for exchange_begin */
}

void stream_begin(struct stream *stream)
{
    exchange_begin(&stream->exchange);
    if (!stream->has_thread)
        worker_open_spool(&stream->worker);
}

/* False at the deadline; a cancel ends the wait, not the cleaning up. */
static bool wait_for_worker(struct stream *stream, int64_t deadline_ns, const struct stream_cancel *cancel)
{
    const struct clock *clock = stream->worker.options->clock;
    for (;;) {
        stream_tell(stream);
        if (exchange_is_done(&stream->exchange))
            return true;
        int64_t left_ns = deadline_ns - clock_read(clock, CLOCK_KIND_MONOTONIC);
        if (left_ns <= 0)
            return false;
        struct pollfd fds[] = {
            {.fd = stream->exchange.notice_fd, .events = POLLIN}, {.fd = cancel->fd, .events = POLLIN}};
        int64_t left_ms = left_ns / NS_PER_MS + 1;
        (void)poll(fds, 2, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (fds[1].revents != 0 && cancel->is_cancelled(cancel->fd))
            exchange_give_up(&stream->exchange, 0);
    }
}

void stream_finish(
    struct stream *stream, const struct end_facts *end, int64_t grace_ns, const struct stream_cancel *cancel)
{
    int64_t now_ns = clock_read(stream->worker.options->clock, CLOCK_KIND_MONOTONIC);
    int64_t tidy_ns = grace_ns / 2 < TIDY_NS ? grace_ns / 2 : TIDY_NS;
    exchange_end(&stream->exchange, end, means_allocation(&stream->means), now_ns + grace_ns - tidy_ns);
    if (!stream->has_thread) {
        stream->worker.cancel = *cancel;
        worker_run(&stream->worker);
        stream_tell(stream);
        return;
    }
    /* A disk may take its time: what is on the way to the spool is worth a moment more than no grace at all. */
    int64_t wait_ns = grace_ns > TIDY_NS ? grace_ns : TIDY_NS;
    bool is_done = wait_for_worker(stream, now_ns + wait_ns, cancel);
    stream_tell(stream);
    if (is_done) {
        (void)pthread_join(stream->thread, NULL);
        stream->has_thread = false;
    } else {
        (void)pthread_detach(stream->thread);
        char later[EXCHANGE_LATER_BYTES];
        exchange_get_later(&stream->exchange, later);
        log_warning("streaming: the spool could not be finished in time; samples that are not in it are lost%s%s",
            later[0] ? ", the others " : "", later);
    }
}

bool stream_free(struct stream *stream)
{
    if (!stream)
        return true;
    if (stream->has_thread)
        return false;
    worker_fini(&stream->worker);
    exchange_fini(&stream->exchange);
    buf_fini(&stream->row);
    free(stream);
    return true;
}
