/* SPDX-License-Identifier: Apache-2.0 */
#include "run/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/mounts.h"
#include "run/loop.h"
#include "run/output.h"
#include "run/pipeline.h"

enum { EXIT_BY_SIGNAL = 128, DESCRIPTORS_WANTED = 4096 };

struct host {
    struct sysroot root;
    struct collect_env env;
    struct run_info info;
    struct output output;
    struct pipeline pipeline;
    struct grid grid;
    struct loop loop;
    bool wants_room;
};

/* Which collectors the settings leave switched on. */
static size_t choose_collectors(const struct settings *settings, const struct collector **ret_chosen)
{
    size_t count = 0;
    for (size_t i = 0; i < collector_registry_count && count < PIPELINE_STAGES_MAX; i++) {
        const struct collector *collector = collector_registry[i];
        if ((collector == &collector_disk && !settings->collect_disk) ||
            (collector == &collector_network && !settings->collect_network))
            continue;
        ret_chosen[count++] = collector;
    }
    return count;
}

/*
 * Ours to read are SIGINT and SIGTERM, even where a shell ignores them for background jobs: scripts start us with & and
 * stop us with kill -INT. SIGHUP only unless somebody ignores it for us (nohup).
 */
static sigset_t signals_to_read(void)
{
    sigset_t signals;
    struct sigaction hup;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
        (void)sigaddset(&signals, SIGHUP);
    return signals;
}

/* The output is watched for room only while something waits, and told so only when that changes. */
static void want_room(struct host *host)
{
    bool waits = output_waits(&host->output);
    if (waits != host->wants_room)
        loop_want_room(&host->loop, waits);
    host->wants_room = waits;
}

static int sample_once(struct host *host, int64_t now_ns, struct grid_turn turn)
{
    struct tick tick = {.mono_ns = now_ns, .late_ns = turn.late_ns, .missed = turn.missed};
    struct sample sample;
    pipeline_sample(&host->pipeline, &tick, &sample);
    int r = output_sample(&host->output, &sample);
    want_room(host);
    return r;
}

/*
 * Until a signal, or until nobody reads any more: with no job to look after and no other output, going on would be for
 * nobody. Returns the exit status or a negative errno.
 */
static int host_loop(struct host *host, struct err *err)
{
    for (;;) {
        struct loop_event event;
        int r = loop_wait(&host->loop, &event, err);
        if (r < 0)
            return r;
        int64_t now_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
        switch (event.kind) {
        case LOOP_TIMER:
            if (sample_once(host, now_ns, grid_advance(&host->grid, event.expirations, now_ns)) == -EPIPE)
                return 0;
            break;
        case LOOP_SIGNAL:
            (void)sample_once(host, now_ns, grid_between(&host->grid, now_ns));
            return event.signal == SIGHUP ? EXIT_BY_SIGNAL + SIGHUP : 0;
        case LOOP_CHANGE: {
            const struct pipeline_stage *stage = event.watcher;
            stage->collector->woken(stage->state);
            break;
        }
        case LOOP_ROOM:
            if (output_room(&host->output) == -EPIPE)
                return 0;
            want_room(host);
            break;
        case LOOP_GONE:
            return 0;
        case LOOP_NONE:
            break;
        }
    }
}

/* Collectors keep files open, and many disks and interfaces make many files. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void watch_collectors(struct host *host)
{
    for (size_t i = 0; i < host->pipeline.count; i++) {
        struct pipeline_stage *stage = &host->pipeline.stages[i];
        if (stage->state && stage->collector->watch_fd)
            loop_watch_change(&host->loop, stage->collector->watch_fd(stage->state), stage);
    }
}

static int host_start(struct host *host, const struct settings *settings, struct err *err)
{
    int r = sysroot_open(settings->sysroot, &host->root, err);
    if (r < 0)
        return r;
    /* The pools of this machine are not those of a captured one. */
    host->env.zpool_path = host->root.is_host ? "zpool" : NULL;
    raise_descriptor_limit();
    sigset_t signals = signals_to_read();
    r = loop_open(&host->loop, &signals, err);
    if (r < 0)
        return r;
    r = output_open(&host->output, settings, &host->info, err);
    if (r < 0)
        return r;
    const struct collector *collectors[PIPELINE_STAGES_MAX];
    size_t count = choose_collectors(settings, collectors);
    pipeline_open(&host->pipeline, &host->env, &host->info, collectors, count);
    host->grid = (struct grid){.start_ns = host->pipeline.start_ns, .interval_ns = settings->interval_ns};
    watch_collectors(host);
    loop_watch_output(&host->loop, output_watch_fd(&host->output));
    return loop_start(&host->loop, &host->grid, err);
}

static void host_stop(struct host *host)
{
    loop_close(&host->loop);
    pipeline_close(&host->pipeline);
    output_close(&host->output);
    sysroot_close(&host->root);
}

int host_run(const struct settings *settings, struct err *err)
{
    struct host host = {
        .root = {.root_fd = -1, .proc_fd = -1, .sys_fd = -1},
        .loop = {.epoll_fd = -1, .timer_fd = -1, .signal_fd = -1, .output_fd = -1},
        .info = {.version = RT_VERSION, .job_name = settings->job_name, .interval_ns = settings->interval_ns},
    };
    host.env = (struct collect_env){
        .root = &host.root,
        .clock = &clock_system,
        .ticks_per_sec = sysconf(_SC_CLK_TCK),
        .page_bytes = sysconf(_SC_PAGESIZE),
        .space = mounts_statvfs,
        .space_context = &host.root,
    };
    int r = host_start(&host, settings, err);
    if (r >= 0)
        r = host_loop(&host, err);
    host_stop(&host);
    return r;
}
