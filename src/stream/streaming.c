/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/streaming.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "aws/chain.h"
#include "base/auto.h"
#include "base/log.h"
#include "collect/cloud/cloud.h"
#include "collect/host/host.h"
#include "encode/encode.h"
#include "stream/stream_internal.h"

enum { CSV_HEADER_BYTES_MAX = 8192, STATUS_TRACKER_FAILED = 125 };

static void discover_host(void *context, struct host_facts *ret_host)
{
    const struct streaming *streaming = context;
    host_discover(streaming->root, ret_host);
}

static void discover_cloud(void *context, const struct net_wait *wait, struct cloud_facts *ret_cloud)
{
    const struct streaming *streaming = context;
    if (streaming->asks_cloud)
        (void)cloud_discover(streaming->root, NULL, wait, ret_cloud);
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
    };
}

static struct stream_options options_of(const struct settings *settings)
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

static bool copy_tags(struct streaming *streaming, const struct settings *settings)
{
    streaming->tags = calloc(settings->tags.count + 1, sizeof(*streaming->tags));
    if (!streaming->tags)
        return false;
    for (size_t i = 0; i < settings->tags.count; i++)
        streaming->tags[i] =
            (struct job_tag){.key = settings->tags.items[i].key, .value = settings->tags.items[i].value};
    streaming->options.job.tags = streaming->tags;
    streaming->options.job.tag_count = settings->tags.count;
    return true;
}

int streaming_init(struct streaming *streaming, const struct settings *settings, const struct sysroot *root,
    const struct run_info *info, struct err *err)
{
    *streaming =
        (struct streaming){.root = root, .asks_cloud = settings->collect_cloud, .options = options_of(settings)};
    buf_init(&streaming->csv_header, CSV_HEADER_BYTES_MAX);
    streaming->options.discover_context = streaming;
    if (!stream_is_wanted(streaming->options.settings))
        return 0;
    encoder_csv_full.begin(info, &streaming->csv_header);
    streaming->options.csv_header = buf_cstr(&streaming->csv_header);
    if (!copy_tags(streaming, settings))
        return err_set(err, -ENOMEM, "streaming: out of memory");
    return stream_check(settings, err);
}

void streaming_start(struct streaming *streaming)
{
    if (!stream_is_wanted(streaming->options.settings))
        return;
    /* Tokens and keys are in our memory from here on: neither core dumps nor other processes of the user get at it. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    struct err err = {0};
    if (stream_new(&streaming->stream, &streaming->options, &err) < 0)
        log_warning("%s; nothing is streamed", err.msg);
}

bool streaming_drop(struct streaming *streaming, const char *why)
{
    if (!streaming->stream)
        return false;
    (void)stream_do_without_thread(streaming->stream);
    if (stream_free(streaming->stream))
        streaming->stream = NULL;
    log_warning("streaming is off: the command cannot be started beside it (%s)", why);
    return true;
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

void streaming_end(struct streaming *streaming, int status, bool is_asked, int64_t grace_ns, int signal_fd)
{
    if (!streaming->stream)
        return;
    if (status < 0)
        status = STATUS_TRACKER_FAILED;
    struct end_facts end = {
        /* How an attached process ended is not ours to know. */
        .exit_code = streaming->options.settings->pid.has ? (struct opt_i64){0} : some_i64(status),
        .is_failed = status != 0 && !is_asked,
        .finished_secs = clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_SEC,
    };
    struct stream_cancel cancel = {.fd = signal_fd, .is_cancelled = is_cancelled};
    stream_finish(streaming->stream, &end, grace_ns, &cancel);
}

bool streaming_fini(struct streaming *streaming)
{
    if (!stream_free(streaming->stream))
        return false;
    streaming->stream = NULL;
    free(streaming->tags);
    buf_fini(&streaming->csv_header);
    return true;
}

int streaming_upload(const struct settings *settings, struct buf *report, struct err *err)
{
    struct run_info info = {.version = RT_VERSION, .interval_ns = settings->interval_ns};
    AUTO_BUF struct buf header = {.max = CSV_HEADER_BYTES_MAX};
    encoder_csv_full.begin(&info, &header);
    struct stream_options options = options_of(settings);
    options.csv_header = buf_cstr(&header);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int r = stream_check(settings, err);
    if (r == 0)
        r = upload_spool(&options, report, err);
    return r > 0 ? 1 : r;
}
