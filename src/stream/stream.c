/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/thread.h"
#include "collect/cloud/cloud.h"
#include "collect/host/host.h"
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

enum { WORKER_STACK_BYTES = 512 * 1024, ROW_BYTES_MAX = 64 * 1024, CSV_HEADER_BYTES_MAX = 8192 };
enum { STATUS_TRACKER_FAILED = 125 };

/* Of the time to wait, what is left to the worker for writing down what it could not deliver. */
#define TIDY_NS (500 * NS_PER_MS)

/* What a target wants in each row besides the CSV. */
struct long_rows {
    const struct stream_target *target; /* NULL: none does */
    void *state;
};

struct stream {
    struct stream_options options; /* a copy: a worker that is stuck outlives the caller's */
    const struct sysroot *root;
    struct job_tag *tags;
    struct buf csv_header;
    struct exchange exchange;
    struct worker worker;
    struct means means;
    struct buf row, metrics, summary;
    struct long_rows long_rows;
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

/* wish: where in a target is whether it wants something. */
static bool is_wished(const struct settings *settings, size_t wish)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct stream_target *target = stream_targets[i];
        if (*(const bool *)((const char *)target + wish) && target->is_wanted(settings))
            return true;
    }
    return false;
}

bool stream_takes_metrics(const struct settings *settings)
{
    return is_wished(settings, offsetof(struct stream_target, takes_metrics));
}

bool stream_takes_summary(const struct settings *settings)
{
    return is_wished(settings, offsetof(struct stream_target, takes_summary));
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

/* Zeros but for the options; NULL where there is no memory. */
static struct stream *make(const struct stream_options *options)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->options = *options;
    buf_init(&stream->row, ROW_BYTES_MAX);
    buf_init(&stream->csv_header, CSV_HEADER_BYTES_MAX);
    return stream;
}

static void release(struct stream *stream)
{
    buf_fini(&stream->row);
    buf_fini(&stream->metrics);
    buf_fini(&stream->summary);
    free(stream->long_rows.state);
    buf_fini(&stream->csv_header);
    free(stream->tags);
    free(stream);
}

/* Makes the worker and its thread. Returns 0 or a negative errno with a message, and then the stream is gone. */
static int start(struct stream *stream, struct err *err)
{
    int r = exchange_init(&stream->exchange, err);
    if (r < 0) {
        release(stream);
        return r;
    }
    r = worker_init(&stream->worker, &stream->options, &stream->exchange);
    if (r < 0) {
        exchange_fini(&stream->exchange);
        release(stream);
        return err_set(err, r, "streaming: out of memory");
    }
    r = thread_start(run_worker, &stream->worker, WORKER_STACK_BYTES, &stream->thread);
    stream->has_thread = r == 0;
    if (r < 0)
        log_warning("streaming: cannot start a thread (%s); everything is delivered at the end", strerror(-r));
    return 0;
}

int stream_new_with(struct stream **ret_stream, const struct stream_options *options, struct err *err)
{
    struct stream *stream = make(options);
    int r = stream ? start(stream, err) : err_set(err, -ENOMEM, "streaming: out of memory");
    if (r == 0)
        *ret_stream = stream;
    return r;
}

static void discover_host(void *context, struct host_facts *ret_host)
{
    const struct stream *stream = context;
    host_discover(stream->root, ret_host);
}

static void discover_cloud(void *context, const struct net_wait *wait, struct cloud_facts *ret_cloud)
{
    const struct stream *stream = context;
    if (stream->options.settings->collect_cloud)
        (void)cloud_discover(stream->root, NULL, wait, ret_cloud);
}

static struct job_facts job_of(const struct settings *settings)
{
    return (struct job_facts){
        .job_name = settings->job_name,
        .project_name = settings->project_name,
        .stage_name = settings->stage_name,
        .task_name = settings->task_name,
        .team = settings->team,
        .env = settings->env,
        .language = settings->language,
        .orchestrator = settings->orchestrator,
        .executor = settings->executor,
        .external_run_id = settings->external_run_id,
        .container_image = settings->container_image,
        .rank = settings->rank,
        .world_size = settings->world_size,
        .node = settings->node,
    };
}

struct stream_options stream_options_of(const struct settings *settings)
{
    return (struct stream_options){
        .settings = settings,
        .spool_paths = {.given = settings->spool,
            .state_home = env_get(settings->environment, "XDG_STATE_HOME"),
            .home = env_get(settings->environment, "HOME")},
        .spool_max_bytes = (uint64_t)settings->spool_max_mib * 1024 * 1024,
        .clock = &clock_system,
        .job = job_of(settings),
        .omit = settings->omit,
        .version = RT_VERSION,
        .discover_host = discover_host,
        .discover_cloud = discover_cloud,
    };
}

static bool copy_tags(struct stream *stream, const struct settings *settings)
{
    stream->tags = calloc(settings->tags.count + 1, sizeof(*stream->tags));
    if (!stream->tags)
        return false;
    for (size_t i = 0; i < settings->tags.count; i++)
        stream->tags[i] = (struct job_tag){.key = settings->tags.items[i].key, .value = settings->tags.items[i].value};
    stream->options.job.tags = stream->tags;
    stream->options.job.tag_count = settings->tags.count;
    return true;
}

/* False where there is no memory. */
static bool open_long_rows(struct stream *stream, const struct settings *settings)
{
    struct long_rows *rows = &stream->long_rows;
    for (size_t i = 0; i < stream_target_count && !rows->target; i++) {
        if (stream_targets[i]->put_row && stream_targets[i]->is_wanted(settings))
            rows->target = stream_targets[i];
    }
    if (!rows->target)
        return true;
    /* In place of the LF. */
    stream->csv_header.data[stream->csv_header.len - 1] = TARGET_ROW_SEPARATOR;
    buf_printf(&stream->csv_header, "%s\n", rows->target->state_key);
    rows->state = calloc(1, rows->target->row_bytes);
    return rows->state && buf_ok(&stream->csv_header);
}

/* By settings. Returns 0 or a negative errno with a message. */
static int open_stream(struct stream **ret_stream, const struct settings *settings, const struct sysroot *root,
    const struct run_info *info, struct err *err)
{
    struct stream_options options = stream_options_of(settings);
    struct stream *stream = make(&options);
    if (!stream)
        return err_set(err, -ENOMEM, "streaming: out of memory");
    stream->root = root;
    stream->options.discover_context = stream;
    encoder_csv_full.begin(info, &stream->csv_header);
    bool is_ready = buf_ok(&stream->csv_header) && open_long_rows(stream, settings) && copy_tags(stream, settings);
    stream->options.csv_header = buf_cstr(&stream->csv_header);
    if (!is_ready) {
        release(stream);
        return err_set(err, -ENOMEM, "streaming: out of memory");
    }
    int r = start(stream, err);
    if (r == 0)
        *ret_stream = stream;
    return r;
}

int stream_new(struct stream **ret_stream, const struct settings *settings, const struct sysroot *root,
    const struct run_info *info, struct err *err)
{
    *ret_stream = NULL;
    if (!stream_is_wanted(settings))
        return 0;
    int r = stream_check(settings, err);
    if (r < 0)
        return r;
    /* Tokens and keys are in our memory from here on: neither core dumps nor other processes of the user get at it. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    struct err why = {0};
    if (open_stream(ret_stream, settings, root, info, &why) < 0)
        log_warning("%s; nothing is streamed", why.msg);
    return 0;
}

bool stream_wants_samples(const struct stream *stream)
{
    return stream && stream_takes_samples(stream->options.settings);
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

/* A sample that is too large for it has the CSV alone. */
static void put_long_row(struct stream *stream, const struct sample *sample)
{
    struct buf *row = &stream->row;
    const struct long_rows *rows = &stream->long_rows;
    if (!buf_ok(row) || row->len == 0)
        return;
    size_t csv_bytes = row->len;
    row->data[row->len - 1] = TARGET_ROW_SEPARATOR;
    rows->target->put_row(rows->state, stream->options.settings, sample, row);
    buf_putc(row, '\n');
    if (buf_ok(row))
        return;
    row->failed = false;
    row->len = csv_bytes;
    row->data[row->len - 1] = '\n';
}

void stream_sample(
    struct stream *stream, const struct run_info *info, const struct sample *sample, const struct sample_totals *totals)
{
    buf_clear(&stream->row);
    encoder_csv_full.sample(info, sample, totals, &stream->row);
    if (stream->long_rows.target)
        put_long_row(stream, sample);
    means_add(&stream->means, sample, totals);
    set_gpus(stream, &sample->gpu, totals);
    if (buf_ok(&stream->row))
        exchange_push_row(&stream->exchange, buf_str(&stream->row));
    if (!stream->has_thread) {
        worker_take_rows(&stream->worker);
        stream_log(stream);
    }
}

static void move(struct buf *text, struct buf *ret_text, struct str *ret_shown)
{
    *ret_text = *text;
    *text = (struct buf){0};
    if (buf_ok(ret_text))
        *ret_shown = buf_str(ret_text);
    else
        log_warning("streaming: the summary is too long and is left out");
}

void stream_set_metrics(struct stream *stream, struct buf *text)
{
    if (stream)
        move(text, &stream->metrics, &stream->exchange.metrics);
}

void stream_set_summary(struct stream *stream, struct buf *json)
{
    if (stream)
        move(json, &stream->summary, &stream->exchange.summary);
}

void stream_put_variable(
    const struct stream *stream, char **environment, char ret_variable[static STREAM_VARIABLE_BYTES])
{
    for (size_t i = 0; stream && i < stream_target_count; i++) {
        const struct target_run *target = &stream->worker.state.targets[i];
        const char *variable = target->is_wanted && target->target->variable ? target->target->variable(target) : NULL;
        if (variable && str_copy(str_of(variable), ret_variable, STREAM_VARIABLE_BYTES)) {
            env_put(environment, ret_variable);
            return;
        }
    }
}

int stream_watch_fd(const struct stream *stream)
{
    return stream->exchange.notice_fd;
}

void stream_log(struct stream *stream)
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

bool stream_drop(struct stream **stream, const char *why)
{
    if (!*stream)
        return false;
    (void)stream_do_without_thread(*stream);
    if (stream_free(*stream))
        *stream = NULL;
    log_warning("streaming is off: the command cannot be started beside it (%s)", why);
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
        stream_log(stream);
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

static void finish(
    struct stream *stream, const struct end_facts *end, int64_t grace_ns, const struct stream_cancel *cancel)
{
    int64_t now_ns = clock_read(stream->worker.options->clock, CLOCK_KIND_MONOTONIC);
    int64_t tidy_ns = grace_ns / 2 < TIDY_NS ? grace_ns / 2 : TIDY_NS;
    exchange_end(&stream->exchange, end, means_allocation(&stream->means), now_ns + grace_ns - tidy_ns);
    if (!stream->has_thread) {
        stream->worker.cancel = *cancel;
        worker_run(&stream->worker);
        stream_log(stream);
        return;
    }
    /* A disk may take its time: what is on the way to the spool is worth a moment more than no grace at all. */
    int64_t wait_ns = grace_ns > TIDY_NS ? grace_ns : TIDY_NS;
    bool is_done = wait_for_worker(stream, now_ns + wait_ns, cancel);
    stream_log(stream);
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

/* Of the signals that come in while we wait, those that mean us. */
static bool is_cancelled(int signal_fd)
{
    bool is_meant = false;
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        is_meant |= info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
                    info.ssi_signo == SIGQUIT;
    return is_meant;
}

void stream_end(struct stream *stream, int status, bool is_asked, int64_t ended_ns, int64_t grace_ns, int signal_fd)
{
    if (!stream)
        return;
    if (status < 0)
        status = STATUS_TRACKER_FAILED;
    int64_t ago_ns = clock_now() - ended_ns;
    struct end_facts end = {
        /* How an attached process ended is not ours to know. */
        .exit_code = stream->options.settings->attaches ? (struct opt_i64){0} : some_i64(status),
        .is_failed = status != 0 && !is_asked,
        .finished_secs = (clock_read(&clock_system, CLOCK_KIND_REALTIME) - ago_ns) / NS_PER_SEC,
        .elapsed_secs = (double)(ended_ns - stream->worker.started_ns) / 1e9,
    };
    struct stream_cancel cancel = {.fd = signal_fd, .is_cancelled = is_cancelled};
    finish(stream, &end, grace_ns, &cancel);
}

bool stream_free(struct stream *stream)
{
    if (!stream)
        return true;
    if (stream->has_thread)
        return false;
    worker_fini(&stream->worker);
    exchange_fini(&stream->exchange);
    release(stream);
    return true;
}

int stream_upload(const struct settings *settings, struct buf *report, struct err *err)
{
    struct run_info info = {.version = RT_VERSION, .interval_ns = settings->interval_ns};
    AUTO_BUF struct buf header = {.max = CSV_HEADER_BYTES_MAX};
    encoder_csv_full.begin(&info, &header);
    struct stream_options options = stream_options_of(settings);
    options.csv_header = buf_cstr(&header);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int r = stream_check(settings, err);
    if (r == 0)
        r = upload_spool(&options, report, err);
    return r > 0 ? 1 : r;
}
