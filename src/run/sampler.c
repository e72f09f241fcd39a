/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling in a thread of its own: collectors, outputs, the summary, and the final sample. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/syscalls.h"
#include "base/thread.h"
#include "collect/tree/wait.h"
#include "kernel/pid.h"
#include "run/session_internal.h"

enum { STAT_BYTES = 1024, STACK_BYTES = 512 * 1024, LATE_STALLS_MAX = 4, ABANDONED_MAX = 24 };

/* So long after a thread was replaced the next one is, too, without much ado. */
#define SAMPLER_STORM_NS (10 * NS_PER_SEC)

/* Up to this interval the supervisor's timer is only moved on with every tick, else it is also disarmed after it. */
#define SHORT_INTERVAL_NS (2 * NS_PER_SEC)

static void report(struct sampler *sampler, unsigned reports)
{
    atomic_fetch_or(&sampler->reports, reports);
    (void)eventfd_write(sampler->report_fd, 1);
}

/* The output is watched for room only while something waits, and the loop is asked only when that changes. */
static void want_room(struct session *session)
{
    bool waits = output_waits(&session->output);
    if (waits != session->wants_room)
        loop_want_room(&session->sampler.loop, waits);
    session->wants_room = waits;
}

static void watch_stage(struct session *session, struct pipeline_stage *stage)
{
    if (!stage->state || !stage->collector->watch_fd)
        return;
    struct loop *loop = &session->sampler.loop;
    int fd = stage->collector->watch_fd(stage->state);
    if (stage->collector->watches_input)
        loop_watch_input(loop, fd, stage);
    else
        loop_watch_change(loop, fd, stage);
}

static void watch_returned_stages(struct session *session)
{
    for (size_t i = 0; i < session->pipeline.count; i++) {
        struct pipeline_stage *stage = &session->pipeline.stages[i];
        if (!stage->has_returned)
            continue;
        stage->has_returned = false;
        watch_stage(session, stage);
    }
}

/* Threads that were stuck and have returned are gone, or are about to be. False while any is stuck. */
static bool release_abandoned(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    if (!sampler->abandoned)
        return true;
    (void)pipeline_settle(&session->pipeline);
    for (struct sampler_thread **at = &sampler->abandoned; *at;) {
        struct sampler_thread *thread = *at;
        if (atomic_load_explicit(&thread->blocking.state, memory_order_acquire) != BLOCKING_RETURNED) {
            at = &thread->next;
            continue;
        }
        *at = thread->next;
        sampler->abandoned_count--;
        (void)pthread_join(thread->id, NULL);
        free(thread);
    }
    return !sampler->abandoned;
}

static void report_findings(struct session *session, bool has_no_reader)
{
    struct sampler *sampler = &session->sampler;
    const struct tracked *tracked = &session->tracked;
    const struct tree_status *tree = &session->tree;
    unsigned reports = has_no_reader ? SAMPLER_NO_READER : 0;
    if (tracked->attached && tree->live == 0) {
        reports |= SAMPLER_TREE_ENDED;
    } else if (tracked->attached && tree->live_pid > 0 && tree->live_pid != tracked->ended && sampler->wants_watch) {
        sampler->watch = tree->live_pid;
        reports |= SAMPLER_WATCH;
    }
    if (reports != 0)
        report(sampler, reports);
}

static bool wants_totals(const struct session *session)
{
    return output_uses_totals(&session->output) || reports_want_samples(&session->reports) ||
           stream_wants_samples(session->stream);
}

/* To everything that reads samples. Returns like output_sample. */
static int emit_to_readers(struct session *session, const struct sample *sample, const struct sample_totals *totals)
{
    int r = output_sample(&session->output, sample, totals);
    if (stream_wants_samples(session->stream))
        stream_sample(session->stream, &session->info, sample, totals);
    reports_set_root_gone(&session->reports, session->tree.is_root_gone);
    reports_sample(&session->reports, sample, totals);
    return r;
}

/* A sample that is complete goes out. */
static void emit(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    struct sample *sample = &session->pipeline.sample;
    bool is_final = session->pipeline.tick.is_final;
    sampler->phase = SAMPLER_IDLE;
    tracked_clear_reaped(&session->tracked);
    if (session->grid.interval_ns > SHORT_INTERVAL_NS && sampler->has_thread)
        loop_arm(&session->loop, 0);
    if (!session->has_sampled) {
        if (!probe_is_too_late(&session->env, &session->pipeline.tick))
            start_facts_read_cpu_model(&session->facts, &session->root);
        start_facts_fill(&session->facts, &sample->run);
    }
    session->has_sampled = true;
    session->sampled_ns = session->pipeline.tick.mono_ns;
    if (is_final || (session->stops_with_tree && session->tree.live == 0)) {
        session->has_outcome = true;
        /* The supervisor may be writing the end at this moment, unless it has asked for the final sample. */
        reap_fill_end(&session->tracked, &session->tree, is_final ? sampler->end.status : 0, &sample->end);
        sample->end.gpu_energy_joules = session->gpu_status.joules;
    }
    marks_fill(&session->marks, sample);
    int r;
    if (wants_totals(session)) {
        const struct sample_totals totals = sample_totals_of(sample, reports_want_rates(&session->reports));
        r = emit_to_readers(session, sample, &totals);
    } else
        r = emit_to_readers(session, sample, NULL);
    marks_clear(&session->marks);
    if (!is_final)
        on_sample(&session->on, session->reports.accumulator, session->tree.is_root_gone ? 0 : session->tracked.root,
            session->sampled_ns, &session->helpers);
    want_room(session);
    (void)release_abandoned(session);
    watch_returned_stages(session);
    if (is_final)
        return;
    report_findings(session, r == -EPIPE);
}

static void sample_at(struct session *session, int64_t now_ns, struct grid_tick at, bool is_final)
{
    struct sampler *sampler = &session->sampler;
    struct tick tick = {.is_final = is_final, .mono_ns = now_ns, .late_ns = at.late_ns, .missed = at.missed};
    int64_t interval_ns = session->grid.interval_ns;
    sampler->phase = SAMPLER_COLLECTING;
    if (sampler->has_thread && !is_final)
        loop_arm(&session->loop, now_ns + SAMPLER_STALL_NS + (interval_ns > SHORT_INTERVAL_NS ? 0 : interval_ns));
    pipeline_sample(&session->pipeline, &tick);
    emit(session);
}

/* 0: none are taken. CSV has neither marks nor times within a second. */
static int64_t mark_gap_ns(const struct session *session)
{
    bool is_csv = session->settings->format == FORMAT_CSV && output_is_wanted(&session->output);
    return is_csv || stream_wants_samples(session->stream) ? 0 : marks_gap_ns(session->grid.interval_ns);
}

static void sample_on_grid(struct session *session, uint64_t expirations)
{
    /* The sample that found an attached tree gone was the last one. */
    if (session->stops_with_tree && session->has_outcome)
        return;
    /* What only the start needed goes before the first sample, what only that one needed behind it. */
    bool is_first = session->grid.index == 0 && session->root.is_host;
    if (is_first)
        resident_release_code(session->root.proc_fd);
    int64_t now_ns = clock_now();
    /* The sample of a mark just before it is as good. */
    if (session->marked_ns > 0 && now_ns - session->marked_ns < mark_gap_ns(session))
        (void)grid_advance(&session->grid, expirations, session->marked_ns);
    else
        sample_at(session, now_ns, grid_advance(&session->grid, expirations, now_ns), false);
    if (is_first) {
        marks_sweep(&session->marks);
        resident_release_code(session->root.proc_fd);
    }
}

static void log_end(const struct session *session)
{
    const struct tracked_usage *used = &session->tracked.reaped;
    log_info("the command ended with status %d: %.3f s user, %.3f s system%s, largest process %.1f MiB, %llu voluntary "
             "and %llu involuntary context switches",
        session->sampler.end.status, (double)used->user_us / 1e6, (double)used->system_us / 1e6,
        session->tree.is_lower_bound ? " (at least: some processes were never waited for)" : "",
        (double)used->max_rss_bytes / BYTES_PER_MIB, (unsigned long long)used->voluntary_switches,
        (unsigned long long)used->involuntary_switches);
    if (session->tree.live > 0)
        log_info("%zu processes of the command are still running; their usage so far is counted", session->tree.live);
}

/* After the final sample. */
static void conclude(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    if (sampler->end.kind == SAMPLER_FINISH_JOB)
        log_end(session);
    /* What became of the command is reported at once, whatever streaming has still to do. */
    if (session->exec_err.code < 0 && session->stream)
        log_error("%s", session->exec_err.msg);
    if (session->gpu_status.joules.has && sampler->end.kind != SAMPLER_FINISH_LEAVE)
        log_info("the GPUs used %.1f J of energy, including other work on them", session->gpu_status.joules.v);
    bool is_free = release_abandoned(session);
    sampler->is_tidy = session_close(session, is_free) && is_free;
    sampler->is_done = true;
    report(sampler, SAMPLER_DONE);
}

static void finish(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    bool wants_sample = sampler->end.kind == SAMPLER_FINISH_SAMPLE || sampler->end.kind == SAMPLER_FINISH_JOB;
    /* Nothing reads samples any more, but a summary is to have its end. */
    if (sampler->end.kind == SAMPLER_FINISH_LEAVE)
        wants_sample = !session->has_outcome && reports_want_samples(&session->reports);
    if (sampler->end.kind == SAMPLER_FINISH_JOB) {
        if (wants_sample)
            reap_note_root_end(&session->tracked, session->env.root);
        uint64_t cpu_ns;
        if (session->tracked.wants_top && clock_process_cpu(session->tracked.root, &cpu_ns) == 0)
            session->tracked.root_cpu_ns = some_u64(cpu_ns);
        (void)reap_root(&session->tracked, &session->helpers);
    }
    (void)marks_receive(&session->marks, session->pipeline.start_ns, session->sampled_ns);
    int64_t now_ns = clock_now();
    if (wants_sample)
        sample_at(session, now_ns, grid_between(&session->grid, now_ns), true);
    conclude(session);
}

static void drain(struct session *session)
{
    if (output_drain(&session->output, 0) == -EPIPE)
        report(&session->sampler, SAMPLER_NO_READER);
    want_room(session);
}

/* Phases begin and end with a sample, so that each has what was used in it alone. */
static void handle_marks(struct session *session)
{
    /* First the marks, then the clock: a sample comes after what it has. */
    size_t count = marks_receive(&session->marks, session->pipeline.start_ns, session->sampled_ns);
    int64_t now_ns = clock_now(), gap_ns = mark_gap_ns(session);
    if (count == 0 || gap_ns == 0 || now_ns - session->sampled_ns < gap_ns)
        return;
    sample_at(session, now_ns, (struct grid_tick){0}, false);
    session->marked_ns = now_ns;
}

static void handle_change(struct session *session, void *watcher)
{
    struct pipeline_stage *stage = watcher;
    if (watcher == &session->marks) {
        handle_marks(session);
        return;
    }
    if (session->sampler.has_thread && (session->grid.interval_ns > SHORT_INTERVAL_NS || !session->has_sampled))
        loop_arm(&session->loop, clock_now() + SAMPLER_STALL_NS); /* a collector may be stuck between samples, too */
    if (watcher == session->stream)
        stream_log(session->stream);
    else if (pipeline_stage_is_stuck(stage))
        loop_unwatch(&session->sampler.loop, stage->collector->watch_fd(stage->state));
    else
        stage->collector->woken(stage->state);
    /* Behind the first moments of a command, and before its first sample. */
    if (session->probe.has_begun)
        start_facts_read_cpu_model(&session->facts, &session->root);
}

static void handle_requests(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    eventfd_t unused;
    (void)eventfd_read(sampler->request_fd, &unused);
    unsigned requests = atomic_exchange(&sampler->requests, 0);
    if (requests & SAMPLER_RESIZED)
        reports_resized(&session->reports);
    if (requests & SAMPLER_REFUSED)
        complaint_say(
            &session->refused, "cannot forward signal %d: the command runs as another user", sampler->refused_signal);
    if (requests & SAMPLER_READER_GONE)
        complaint_say(&session->reader_gone, "%s has no reader any more; the command continues", session->output.name);
    if (requests & SAMPLER_REAP)
        reap_others(&session->tracked, &session->helpers);
    if (requests & SAMPLER_HIDE) {
        reports_hide(&session->reports);
        report(sampler, SAMPLER_HIDDEN);
    }
    /* While its first process is dead but not waited for, an attached tree still shows what that has used. The final
     * sample does, too. */
    if ((requests & SAMPLER_SAMPLE) && !(requests & SAMPLER_FINISH)) {
        session->tracked.ended = sampler->ended;
        sample_at(session, clock_now(), (struct grid_tick){0}, false);
    }
    if (requests & SAMPLER_FINISH)
        finish(session);
}

/* The live view comes before the first sample, and its clock goes on between two that are far apart. Not at once: most
 * commands that end within that time would only leave a flicker. */
static void start_view(struct session *session)
{
    if (session->reports.live && session->sampler.has_thread)
        session->sampler.view_ns = clock_now() + 200 * NS_PER_MS;
}

static void tick_view(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    int64_t now_ns = sampler->view_ns > 0 ? clock_now() : 0;
    if (sampler->view_ns == 0 || now_ns < sampler->view_ns)
        return;
    reports_tick(&session->reports);
    sampler->view_ns = session->settings->interval_ns > NS_PER_SEC ? now_ns + NS_PER_SEC : 0;
}

/* Until the view is due, whatever else happens meanwhile. */
static int view_timeout_ms(const struct sampler *sampler)
{
    if (sampler->view_ns == 0)
        return -1;
    int64_t left_ns = sampler->view_ns - clock_now();
    return left_ns > 0 ? (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

void sampler_run_once(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    struct loop_event event;
    struct err err = {0};
    sampler->loop.timeout_ms = view_timeout_ms(sampler);
    if (loop_wait(&sampler->loop, &event, &err) < 0) {
        const struct timespec pause = {.tv_nsec = 100 * NS_PER_MS};
        complaint_say(&session->no_samples, "%s; sampling has stopped", err.msg);
        (void)nanosleep(&pause, NULL);
        handle_requests(session);
        return;
    }
    switch (event.kind) {
    case LOOP_TIMER:
        sample_on_grid(session, event.expirations);
        break;
    case LOOP_GONE:
        report(sampler, SAMPLER_NO_READER);
        break;
    case LOOP_ROOM:
        drain(session);
        break;
    case LOOP_OVER:
        report(sampler, SAMPLER_OVER);
        break;
    case LOOP_CHANGE:
        if (event.watcher == sampler)
            handle_requests(session);
        else
            handle_change(session, event.watcher);
        break;
    case LOOP_NONE:
    case LOOP_SIGNAL:
    case LOOP_ENDED:
        break;
    }
    tick_view(session);
}

/* The collectors are open, and their first counters known. */
static void begin(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    struct err err = {0};
    session_mask_command(session);
    if (session->stream)
        stream_begin(session->stream);
    if (session_wants_samples(session))
        start_facts_init(&session->facts, session->settings, &session->root, session->command.items);
    session->sampled_ns = session->pipeline.start_ns;
    session->grid =
        (struct grid){.start_ns = session->pipeline.start_ns, .interval_ns = session->settings->interval_ns};
    for (size_t i = 0; i < session->pipeline.count; i++) {
        if (!pipeline_stage_is_stuck(&session->pipeline.stages[i]))
            watch_stage(session, &session->pipeline.stages[i]);
    }
    if (session->stream)
        loop_watch_input(&sampler->loop, stream_watch_fd(session->stream), session->stream);
    loop_watch_input(&sampler->loop, session->marks.fd, &session->marks);
    loop_watch_output(&sampler->loop, output_watch_fd(&session->output));
    if (loop_start(&sampler->loop, &session->grid, &err) < 0)
        log_warning("%s; only the last sample is taken", err.msg);
    int64_t duration_ns = session->settings->command ? 0 : session->settings->duration_ns;
    if (duration_ns > 0 && loop_end_at(&sampler->loop, session->grid.start_ns + duration_ns, &err) < 0)
        log_warning("%s; --duration has no effect", err.msg);
    start_view(session);
    sampler->phase = SAMPLER_IDLE;
}

static void resume(struct session *session, struct sampler_thread *self)
{
    bool was_opening = session->sampler.phase == SAMPLER_OPENING;
    if (!pipeline_resume(&session->pipeline, &self->stuck->blocking))
        return;
    if (was_opening) {
        begin(session);
        return;
    }
    emit(session);
    if (session->pipeline.tick.is_final)
        conclude(session);
}

static void enter_thread(struct session *session, struct sampler_thread *self)
{
    if (self->stuck) {
        resume(session, self);
        return;
    }
    session_open_collectors(session);
    begin(session);
}

static void *run_thread(void *context)
{
    struct sampler_thread *self = context;
    self->tid = (pid_t)syscall(SYS_gettid);
    if (setjmp(self->blocking.home) != 0) {
        atomic_store_explicit(&self->blocking.state, BLOCKING_RETURNED, memory_order_release);
        return NULL;
    }
    enter_thread(self->session, self);
    while (!self->session->sampler.is_done)
        sampler_run_once(self->session);
    return NULL;
}

int sampler_init(struct sampler *sampler, struct err *err)
{
    *sampler = (struct sampler)SAMPLER_NONE;
    sampler->thread = calloc(1, sizeof(*sampler->thread));
    if (!sampler->thread)
        return err_set(err, -ENOMEM, "cannot set up sampling: out of memory");
    sampler->request_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sampler->request_fd >= 0)
        sampler->report_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sampler->report_fd < 0)
        return err_sys(err, err_last(), "cannot set up sampling");
    int r = loop_open(&sampler->loop, NULL, err);
    if (r == 0)
        loop_watch_input(&sampler->loop, sampler->request_fd, sampler);
    return r;
}

void sampler_start(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    sampler->is_started = true;
    sampler->thread->session = session;
    sampler->blocking.thread = &sampler->thread->blocking;
    session->env.blocking = &sampler->blocking;
    sampler->has_thread = true;
    loop_watch_input(&session->loop, sampler->report_fd, sampler);
    if (thread_start(run_thread, sampler->thread, STACK_BYTES, &sampler->thread->id) == 0)
        return;
    /* Too many threads or processes: then a file that does not answer holds us up. */
    sampler->has_thread = false;
    sampler->loop.timeout_ms = 0;
    session->env.blocking = NULL;
    loop_watch_input(&session->loop, sampler->loop.epoll_fd, &sampler->loop);
    enter_thread(session, sampler->thread);
}

void sampler_request(struct sampler *sampler, unsigned requests)
{
    atomic_fetch_or(&sampler->requests, requests);
    (void)eventfd_write(sampler->request_fd, 1);
}

unsigned sampler_reports(struct sampler *sampler)
{
    eventfd_t unused;
    (void)eventfd_read(sampler->report_fd, &unused);
    return atomic_exchange(&sampler->reports, 0);
}

/* CPU time of a thread so far: one that runs, if slowly, is not stuck. */
static int64_t cpu_ns_of(const struct sampler_thread *thread)
{
    clockid_t clock;
    struct timespec time;
    if (pthread_getcpuclockid(thread->id, &clock) != 0 || clock_gettime(clock, &time) < 0)
        return 0;
    return (int64_t)time.tv_sec * NS_PER_SEC + time.tv_nsec;
}

/*
 * Is it only kept from a CPU? On a machine that is busy that may take any time, and a thread that could run is not
 * stuck. Our own file: nothing but an exec of ours could hold it up.
 */
static bool is_runnable(const struct sampler_thread *thread)
{
    char path[64], text[STAT_BYTES];
    struct pid_stat stat;
    (void)snprintf(path, sizeof(path), FILE_OWN_THREADS "/%d/stat", (int)thread->tid);
    AUTO_FD int fd = file_open_at(AT_FDCWD, path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    return n > 0 && pid_stat_parse((struct str){text, (size_t)n}, &stat) == 0 && stat.state == 'R';
}

static void replace_thread(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    /* Where so many are stuck, samples wait for the last one. */
    if (sampler->abandoned_count == ABANDONED_MAX)
        return;
    struct sampler_thread *next = calloc(1, sizeof(*next));
    if (!next || !blocking_abandon(&sampler->thread->blocking, sampler->seen_sequence)) {
        free(next);
        return;
    }
    next->session = session;
    next->stuck = sampler->thread;
    blocking_replace(&sampler->blocking, &next->blocking);
    /* The end does not wait for one after the other. */
    sampler->blocking.is_ending |= sampler->late_stalls >= LATE_STALLS_MAX;
    sampler->thread->next = sampler->abandoned;
    sampler->abandoned = sampler->thread;
    sampler->abandoned_count++;
    sampler->thread = next;
    if (thread_start(run_thread, next, STACK_BYTES, &next->id) == 0)
        return;
    sampler->has_thread = false;
    sampler->loop.timeout_ms = 0;
    loop_watch_input(&session->loop, sampler->loop.epoll_fd, &sampler->loop);
    enter_thread(session, next);
}

int64_t sampler_check(struct session *session, bool is_ending)
{
    struct sampler *sampler = &session->sampler;
    if (!sampler->has_thread)
        return 0;
    struct blocking_thread *blocking = &sampler->thread->blocking;
    bool is_inside = atomic_load(&blocking->state) == BLOCKING_INSIDE;
    unsigned sequence = atomic_load(&blocking->sequence);
    int64_t cpu_ns = is_inside ? cpu_ns_of(sampler->thread) : 0;
    bool is_stuck = is_inside && sampler->was_inside && sequence == sampler->seen_sequence &&
                    cpu_ns == sampler->seen_cpu_ns && !is_runnable(sampler->thread);
    sampler->seen_sequence = sequence;
    sampler->seen_cpu_ns = cpu_ns;
    sampler->was_inside = is_inside && !is_stuck;
    int64_t now_ns = clock_now();
    if (is_stuck) {
        sampler->replaced_ns = now_ns;
        sampler->late_stalls += is_ending;
        replace_thread(session);
    }
    if (!is_inside && sampler->phase == SAMPLER_IDLE)
        return 0;
    bool is_storm = sampler->replaced_ns > 0 && now_ns - sampler->replaced_ns < SAMPLER_STORM_NS;
    int64_t stall_ns = is_storm ? SAMPLER_STORM_STALL_NS : is_ending ? SAMPLER_LAST_STALL_NS : SAMPLER_STALL_NS;
    return now_ns + stall_ns / 2;
}

void sampler_fini(struct sampler *sampler)
{
    loop_close(&sampler->loop);
    fd_close(&sampler->request_fd);
    fd_close(&sampler->report_fd);
    free(sampler->thread);
    sampler->thread = NULL;
}
