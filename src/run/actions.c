/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of a run: events are read, the supervisor's table decides, and the small functions here carry it out. Some
 * of them find out something that is an event itself.
 */
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "run/reap.h"
#include "run/session_state.h"
#include "run/signals.h"

/* How long after Ctrl-Z a command that stops is taken to have obeyed it. */
#define SUSPEND_NS (2 * NS_PER_SEC)

static void handle(struct session *session, enum supervisor_event event, const struct loop_event *cause);

static int64_t now(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
}

/* Something that was found out here, and not by the loop. */
static void handle_finding(struct session *session, enum supervisor_event event)
{
    const struct loop_event cause = {.kind = LOOP_NONE};
    handle(session, event, &cause);
}

/* The output is watched for room only while something waits, and told so only when that changes. */
static void want_room(struct session *session)
{
    bool waits = output_waits(&session->output);
    if (waits != session->wants_room)
        loop_want_room(&session->loop, waits);
    session->wants_room = waits;
}

/* How the run ended, as far as it is known when the last sample is taken. */
static void tell_outcome(struct session *session, struct sample *sample)
{
    session->has_outcome = true;
    const struct job *job = &session->job;
    struct sample_end *end = &sample->end;
    end->present = true;
    end->gpu_energy_joules = job->gpu_joules;
    if (job->root == 0)
        return;
    end->cpu_is_lower_bound = some_bool(job->is_lower_bound);
    end->left_running = some_u64(job->live);
    if (job->attached)
        return;
    end->exit_code = some_i64(session->status);
    if (job->root_signal > 0)
        end->signal = some_i64(job->root_signal);
}

static void take_sample(struct session *session, int64_t now_ns, struct grid_turn turn)
{
    bool is_final = session->state == SUPERVISOR_OVER;
    struct tick tick = {.is_final = is_final, .mono_ns = now_ns, .late_ns = turn.late_ns, .missed = turn.missed};
    struct sample sample;
    pipeline_sample(&session->pipeline, &tick, &sample);
    if (!session->has_sampled) {
        sample.run = start_facts_of(&session->facts);
        sample.run.cgroup_peak_mib = sample.cgroup.memory_peak_before_mib;
    }
    session->has_sampled = true;
    if (is_final || (session->state == SUPERVISOR_TREE_ONLY && session->job.live == 0))
        tell_outcome(session, &sample);
    int r = output_sample(&session->output, &sample);
    if (streaming_takes_samples(&session->streaming))
        stream_sample(session->streaming.stream, &session->info, &sample);
    people_sample(&session->people, &sample);
    want_room(session);
    if (r == -EPIPE)
        handle_finding(session, SUPERVISOR_READER_GONE);
    if (session->job.attached && session->job.live == 0)
        handle_finding(session, SUPERVISOR_TREE_ENDED);
    else if (session->job.attached && session->watched == 0)
        session_watch(session);
}

/* A sample that is not on the grid: the final one, or one that something gave rise to. */
static void sample_between(struct session *session)
{
    int64_t now_ns = now();
    take_sample(session, now_ns, grid_between(&session->grid, now_ns));
}

static void sample_on_grid(struct session *session, uint64_t expirations)
{
    int64_t now_ns = now();
    take_sample(session, now_ns, grid_advance(&session->grid, expirations, now_ns));
}

static void tell_end(const struct session *session)
{
    const struct job_usage *used = &session->job.reaped;
    log_info("the command ended with status %d: %.3f s user, %.3f s system%s, largest process %.1f MiB, %llu voluntary "
             "and %llu involuntary context switches",
        session->status, (double)used->user_us / 1e6, (double)used->system_us / 1e6,
        session->job.is_lower_bound ? " (at least: a process ignored SIGCHLD)" : "",
        (double)used->max_rss_bytes / 1048576.0, (unsigned long long)used->voluntary_switches,
        (unsigned long long)used->involuntary_switches);
    if (session->job.live > 0)
        log_info("%zu processes of the command are still running; what they used so far is counted", session->job.live);
}

static void tell_energy(const struct session *session)
{
    if (session->job.gpu_joules.has)
        log_info("the GPUs used %.1f J of energy, other work on them included", session->job.gpu_joules.v);
}

static void finish_job(struct session *session)
{
    session->status = reap_root(&session->job);
    session->is_asked = session->stop_signal > 0 && session->status == REAP_BY_SIGNAL + session->stop_signal;
    sample_between(session);
    tell_end(session);
    tell_energy(session);
}

static void reap(struct session *session)
{
    static const enum supervisor_event events[] = {
        [REAP_ENDED] = SUPERVISOR_JOB_ENDED,
        [REAP_HALTED] = SUPERVISOR_JOB_HALTED,
        [REAP_RESUMED] = SUPERVISOR_JOB_RESUMED,
    };
    struct loop_event cause = {.kind = LOOP_NONE};
    enum reap_news news = reap_children(&session->job, &cause.signal);
    if (news != REAP_NOTHING)
        handle(session, events[news], &cause);
}

static void halt(struct session *session, int signal)
{
    bool is_asked = session->suspend_ns.has && now() - session->suspend_ns.v < SUSPEND_NS;
    int stop = signals_stop_with(signal, is_asked);
    if (stop == 0 || !reap_root_is_stopped(&session->job))
        return;
    people_hide(&session->people);
    signals_stop_self(stop);
}

static void pass_on(struct session *session, int signal)
{
    if (kill(session->job.root, signal) < 0 && errno == EPERM)
        complaint_say(&session->refused, "the command belongs to another user: signal %d cannot be passed on", signal);
}

/* The terminal has told the command as well; anybody else meant it, and not us. It may have stopped before. */
static void note_suspend(struct session *session, const struct loop_event *cause)
{
    session->suspend_ns = some_i64(now());
    if (cause->signal_code != SI_KERNEL)
        pass_on(session, SIGTSTP);
    halt(session, SIGTSTP);
}

/*
 * While its first process is dead but not waited for, an attached tree still tells what that has used. This sample is
 * not one of the grid, and takes none of its places.
 */
static void watch_next(struct session *session)
{
    session->job.ended = session->watched;
    session->watched = 0;
    take_sample(session, now(), (struct grid_turn){0});
}

static void drain(struct session *session)
{
    if (output_room(&session->output, 0) == -EPIPE)
        handle_finding(session, SUPERVISOR_READER_GONE);
    want_room(session);
}

static void take_news(struct session *session, void *watcher)
{
    const struct pipeline_stage *stage = watcher;
    if (watcher && watcher == session->streaming.stream)
        stream_tell(session->streaming.stream);
    else if (stage)
        stage->collector->woken(stage->state);
}

static void finish(struct session *session, int status)
{
    session->status = status;
    session->is_asked = true;
    sample_between(session);
    tell_energy(session);
}

/* SIGINT and SIGTERM are how tracking is ended; of other signals the status tells. */
static int status_of(const struct loop_event *cause)
{
    bool is_usual = cause->kind != LOOP_SIGNAL || cause->signal == SIGINT || cause->signal == SIGTERM;
    return is_usual ? 0 : REAP_BY_SIGNAL + cause->signal;
}

static void act(struct session *session, enum supervisor_action action, const struct loop_event *cause)
{
    switch (action) {
    case SUPERVISOR_SAMPLE:
        sample_on_grid(session, cause->expirations);
        break;
    case SUPERVISOR_FINISH:
        finish(session, status_of(cause));
        break;
    case SUPERVISOR_FINISH_HANGUP:
        finish(session, REAP_BY_SIGNAL + SIGHUP);
        break;
    case SUPERVISOR_FINISH_JOB:
        finish_job(session);
        break;
    case SUPERVISOR_LEAVE:
        session->status = 0;
        /* Nobody reads samples any more, but a summary is to have its end. */
        if (!session->has_outcome && people_want_samples(&session->people))
            sample_between(session);
        break;
    case SUPERVISOR_PASS_ON:
        pass_on(session, cause->signal);
        break;
    case SUPERVISOR_WAKE_JOB:
        if (reap_root_is_stopped(&session->job))
            pass_on(session, SIGCONT);
        break;
    case SUPERVISOR_NOTE_SUSPEND:
        note_suspend(session, cause);
        break;
    case SUPERVISOR_SUSPEND:
        people_hide(&session->people);
        signals_stop_self(SIGTSTP);
        break;
    case SUPERVISOR_REAP:
        reap(session);
        break;
    case SUPERVISOR_HALT:
        halt(session, cause->signal);
        break;
    case SUPERVISOR_WATCH_NEXT:
        watch_next(session);
        break;
    case SUPERVISOR_TELL_READER_GONE:
        complaint_say(&session->reader_gone, "nobody reads %s any more; the command goes on", session->output.name);
        break;
    case SUPERVISOR_DRAIN:
        drain(session);
        break;
    case SUPERVISOR_TELL_COLLECTOR:
        take_news(session, cause->watcher);
        break;
    case SUPERVISOR_IGNORE:
    case SUPERVISOR_ACTIONS:
        break;
    }
}

static void handle(struct session *session, enum supervisor_event event, const struct loop_event *cause)
{
    struct supervisor_step step = supervisor_decide(session->state, event);
    session->state = step.next;
    act(session, step.action, cause);
}

int actions_run(struct session *session, struct err *err)
{
    while (session->state != SUPERVISOR_OVER) {
        static const enum supervisor_event events[] = {
            [LOOP_TIMER] = SUPERVISOR_TICK,
            [LOOP_CHANGE] = SUPERVISOR_CHANGE,
            [LOOP_GONE] = SUPERVISOR_READER_GONE,
            [LOOP_ROOM] = SUPERVISOR_ROOM,
            [LOOP_ENDED] = SUPERVISOR_MEMBER_ENDED,
        };
        struct loop_event event;
        int r = loop_wait(&session->loop, &event, err);
        if (r < 0)
            return r;
        if (event.kind == LOOP_SIGNAL && (event.signal == SIGINT || event.signal == SIGTERM || event.signal == SIGHUP))
            session->stop_signal = event.signal;
        if (event.kind == LOOP_SIGNAL && event.signal == SIGWINCH)
            people_resized(&session->people);
        if (event.kind == LOOP_SIGNAL)
            handle(session, signals_classify(&event, &session->job, &session->root, &session->early), &event);
        else if (event.kind != LOOP_NONE)
            handle(session, events[event.kind], &event);
    }
    return session->status;
}
