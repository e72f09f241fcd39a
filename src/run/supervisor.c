/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: events are read, the table decides, and the small functions here carry it out. Nothing in this file
 * may block: no file of a process, of /sys or of a file system is read or written here, and what the sampler is asked
 * for has a deadline.
 */
#include "run/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "run/session_internal.h"
#include "run/signals.h"

/* clang-format off */
#define STAY SUPERVISOR_STATES
#define A(action) {SUPERVISOR_##action, STAY}
#define TO(action, next) {SUPERVISOR_##action, SUPERVISOR_##next}

/*
 * Without a command, signals are for us, and without a reader there is nothing left to do. With one, signals are for
 * the command, however often they come, and it is served to its end.
 */
static const struct supervisor_step table[SUPERVISOR_EVENTS][SUPERVISOR_OVER] = {
    /*                                HOST                        JOB                        JOB_STOPPED                JOB_WOKEN                  TREE                        TREE_ONLY */
    [SUPERVISOR_STOP_SIGNAL]     = {TO(FINISH, OVER),           A(PASS_ON),                A(PASS_ON),                A(PASS_ON),                TO(FINISH, OVER),           TO(FINISH, OVER)},
    [SUPERVISOR_HANGUP]          = {TO(FINISH_HANGUP, OVER),    A(PASS_ON),                A(PASS_ON),                A(PASS_ON),                TO(FINISH_HANGUP, OVER),    TO(FINISH_HANGUP, OVER)},
    [SUPERVISOR_OTHER_SIGNAL]    = {A(IGNORE),                  A(PASS_ON),                A(PASS_ON),                A(PASS_ON),                A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_CONTINUE_SIGNAL] = {A(IGNORE),                  A(PASS_ON),                TO(WAKE_JOB, JOB),         TO(IGNORE, JOB),           A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_SUSPEND_SIGNAL]  = {A(SUSPEND),                 A(NOTE_SUSPEND),           A(NOTE_SUSPEND),           A(NOTE_SUSPEND),           A(SUSPEND),                 A(SUSPEND)},
    [SUPERVISOR_SHARED_SIGNAL]   = {A(IGNORE),                  A(IGNORE),                 A(IGNORE),                 A(IGNORE),                 A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_CHILD]           = {A(REAP),                    A(REAP),                   A(REAP),                   A(REAP),                   A(REAP),                    A(REAP)},
    [SUPERVISOR_JOB_ENDED]       = {A(IGNORE),                  TO(FINISH_JOB, OVER),      TO(FINISH_JOB, OVER),      TO(FINISH_JOB, OVER),      A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_JOB_HALTED]      = {A(IGNORE),                  TO(HALT, JOB_STOPPED),     A(IGNORE),                 TO(HALT, JOB_STOPPED),     A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_JOB_RESUMED]     = {A(IGNORE),                  TO(IGNORE, JOB_WOKEN),     TO(IGNORE, JOB_WOKEN),     A(IGNORE),                 A(IGNORE),                  A(IGNORE)},
    [SUPERVISOR_MEMBER_ENDED]    = {A(IGNORE),                  A(IGNORE),                 A(IGNORE),                 A(IGNORE),                 A(WATCH_NEXT),              A(WATCH_NEXT)},
    [SUPERVISOR_TREE_ENDED]      = {A(IGNORE),                  A(IGNORE),                 A(IGNORE),                 A(IGNORE),                 A(IGNORE),                  TO(LEAVE, OVER)},
    [SUPERVISOR_READER_GONE]     = {TO(LEAVE, OVER),            A(REPORT_READER_GONE),     A(REPORT_READER_GONE),     A(REPORT_READER_GONE),     TO(LEAVE, OVER),            TO(LEAVE, OVER)},
};
/* clang-format on */

struct supervisor_step supervisor_decide(enum supervisor_state state, enum supervisor_event event)
{
    if (state >= SUPERVISOR_OVER)
        return (struct supervisor_step){SUPERVISOR_IGNORE, SUPERVISOR_OVER};
    struct supervisor_step step = table[event][state];
    if (step.next == STAY)
        step.next = state;
    return step;
}

/* How long after Ctrl-Z a command that stops is taken to have obeyed it. */
#define SUSPEND_NS (2 * NS_PER_SEC)
/* How long after the command was continued a SIGCONT is taken to have been for both of us. */
#define WOKEN_NS NS_PER_SEC
/* What outputs and the summary may take at the end, streaming apart, on a disk that is busy. */
#define FINISH_NS (8 * NS_PER_SEC)
enum { HIDE_MS = 300, FINISH_POLL_MS = 50 };

static void handle(struct session *session, enum supervisor_event event, const struct loop_event *cause);

/* Something that was found out here, and not by the loop. */
static void handle_finding(struct session *session, enum supervisor_event event)
{
    const struct loop_event cause = {.kind = LOOP_NONE};
    handle(session, event, &cause);
}

static void end_with(struct session *session, enum sampler_finish kind, int status)
{
    session->end.kind = kind;
    session->end.status = status;
    session->end.ended_ns = clock_now();
}

static void finish_job(struct session *session, const struct loop_event *cause)
{
    end_with(session, SAMPLER_FINISH_JOB, cause->status);
    session->end.signal = cause->signal;
    session->end.is_asked = session->stop_signal > 0 && cause->status == REAP_BY_SIGNAL + session->stop_signal;
}

/* The child of ours has ended. True where it could not execute the command: then that is all. */
static bool has_failed(struct session *session)
{
    int status = spawn_failure(
        &session->spawn, session->settings->command[0], start_facts_mask(session->settings), &session->exec_err);
    if (status == 0)
        return false;
    session->state = SUPERVISOR_OVER;
    end_with(session, SAMPLER_FINISH_NOTHING, status);
    return true;
}

static void reap(struct session *session)
{
    static const enum supervisor_event events[] = {
        [REAP_ENDED] = SUPERVISOR_JOB_ENDED,
        [REAP_HALTED] = SUPERVISOR_JOB_HALTED,
        [REAP_RESUMED] = SUPERVISOR_JOB_RESUMED,
    };
    struct loop_event cause = {.kind = LOOP_NONE};
    enum reap_news news = reap_peek(session->command_pid, &cause.signal, &cause.status);
    if (news == REAP_ENDED && has_failed(session))
        return;
    if (news != REAP_ENDED && session->sampler.is_started)
        sampler_request(&session->sampler, SAMPLER_REAP);
    else if (news != REAP_ENDED)
        reap_others(&session->tracked, &session->helpers);
    if (news != REAP_NOTHING)
        handle(session, events[news], &cause);
}

static void handle_reports(struct session *session, unsigned reports)
{
    struct sampler *sampler = &session->sampler;
    if (reports & SAMPLER_WATCH) {
        pid_t pid = sampler->watch;
        if (session->watched == 0 && loop_watch_process(&session->loop, pid) == 0)
            session->watched = pid;
        sampler->wants_watch = session->watched == 0;
    }
    if (reports & SAMPLER_NO_READER)
        handle_finding(session, SUPERVISOR_READER_GONE);
    if (reports & SAMPLER_TREE_ENDED)
        handle_finding(session, SUPERVISOR_TREE_ENDED);
    if (reports & SAMPLER_OVER)
        handle_finding(session, SUPERVISOR_STOP_SIGNAL);
}

/* What is ours on the terminal goes before we stop. */
static void hide(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    if (!session->has_view || !sampler->is_started)
        return;
    sampler_request(sampler, SAMPLER_HIDE);
    if (!sampler->has_thread) {
        sampler_run_once(session);
        return;
    }
    int64_t deadline_ns = clock_now() + HIDE_MS * NS_PER_MS;
    unsigned reports = 0;
    for (int64_t left_ns = HIDE_MS * NS_PER_MS; left_ns > 0 && !(reports & SAMPLER_HIDDEN);
         left_ns = deadline_ns - clock_now()) {
        struct pollfd fd = {.fd = sampler->report_fd, .events = POLLIN};
        (void)poll(&fd, 1, (int)(left_ns / NS_PER_MS) + 1);
        reports |= sampler_reports(sampler);
    }
    handle_reports(session, reports);
}

/* Stops us as the command was stopped, where that was meant. Returns whether it did. */
static bool halt(struct session *session, int signal)
{
    bool is_asked = session->suspend_ns.has && clock_now() - session->suspend_ns.v < SUSPEND_NS;
    int stop = signals_stop_with(signal, is_asked, session->command_pid);
    if (stop == 0 || !reap_is_stopped(session->command_pid))
        return false;
    hide(session);
    signals_stop_self(stop);
    return true;
}

static void pass_on(struct session *session, const struct loop_event *cause, int signal)
{
    int r;
    union sigval value = {0};
    memcpy(&value, &cause->value, sizeof(value));
    if (cause->kind == LOOP_SIGNAL && cause->signal_code == SI_QUEUE && cause->signal == signal)
        r = sigqueue(session->command_pid, signal, value);
    else
        r = kill(session->command_pid, signal);
    if (r == 0 || errno != EPERM || !session->sampler.is_started)
        return;
    session->sampler.refused_signal = signal;
    sampler_request(&session->sampler, SAMPLER_REFUSED);
}

/* The terminal has sent it to the command as well; anything else meant it, and not us. It may have stopped before. */
static void note_suspend(struct session *session, const struct loop_event *cause)
{
    session->suspend_ns = some_i64(clock_now());
    if (cause->signal_code != SI_KERNEL)
        pass_on(session, cause, SIGTSTP);
    /* Its SIGCHLD is still to come, and is no reason to stop again behind the SIGCONT that woke us. */
    if (halt(session, SIGTSTP))
        session->state = SUPERVISOR_JOB_STOPPED;
}

static void watch_next(struct session *session)
{
    session->sampler.ended = session->watched;
    session->watched = 0;
    session->sampler.wants_watch = true;
    sampler_request(&session->sampler, SAMPLER_SAMPLE);
}

/* SIGINT and SIGTERM are how tracking is ended; other signals show in the status. */
static int status_of(const struct loop_event *cause)
{
    bool is_usual = cause->kind != LOOP_SIGNAL || cause->signal == SIGINT || cause->signal == SIGTERM;
    return is_usual ? 0 : REAP_BY_SIGNAL + cause->signal;
}

static void act(struct session *session, enum supervisor_action action, const struct loop_event *cause)
{
    switch (action) {
    case SUPERVISOR_FINISH:
        session->end.is_asked = true;
        end_with(session, SAMPLER_FINISH_SAMPLE, status_of(cause));
        break;
    case SUPERVISOR_FINISH_HANGUP:
        session->end.is_asked = true;
        end_with(session, SAMPLER_FINISH_SAMPLE, REAP_BY_SIGNAL + SIGHUP);
        break;
    case SUPERVISOR_FINISH_JOB:
        finish_job(session, cause);
        break;
    case SUPERVISOR_LEAVE:
        end_with(session, SAMPLER_FINISH_LEAVE, 0);
        break;
    case SUPERVISOR_PASS_ON:
        pass_on(session, cause, cause->signal);
        break;
    case SUPERVISOR_WAKE_JOB:
        if (reap_is_stopped(session->command_pid))
            pass_on(session, cause, SIGCONT);
        break;
    case SUPERVISOR_NOTE_SUSPEND:
        note_suspend(session, cause);
        break;
    case SUPERVISOR_SUSPEND:
        hide(session);
        signals_stop_self(SIGTSTP);
        break;
    case SUPERVISOR_REAP:
        reap(session);
        break;
    case SUPERVISOR_HALT:
        (void)halt(session, cause->signal);
        break;
    case SUPERVISOR_WATCH_NEXT:
        watch_next(session);
        break;
    case SUPERVISOR_REPORT_READER_GONE:
        sampler_request(&session->sampler, SAMPLER_READER_GONE);
        break;
    case SUPERVISOR_IGNORE:
    case SUPERVISOR_ACTIONS:
        break;
    }
}

static void handle(struct session *session, enum supervisor_event event, const struct loop_event *cause)
{
    struct supervisor_step step = supervisor_decide(session->state, event);
    if (step.next == SUPERVISOR_JOB_WOKEN && session->state != SUPERVISOR_JOB_WOKEN)
        session->woken_ns = clock_now();
    session->state = step.next;
    act(session, step.action, cause);
}

static void handle_signal(struct session *session, const struct loop_event *event)
{
    if (event->signal == SIGINT || event->signal == SIGTERM || event->signal == SIGHUP)
        session->stop_signal = event->signal;
    if (event->signal == SIGWINCH && session->has_view)
        sampler_request(&session->sampler, SAMPLER_RESIZED);
    if (session->state == SUPERVISOR_JOB_WOKEN && clock_now() - session->woken_ns > WOKEN_NS)
        session->state = SUPERVISOR_JOB;
    handle(session, signals_classify(event, session->command_pid, &session->root, &session->early), event);
}

/* The timer: the sampler is late. */
static void check_sampler(struct session *session)
{
    int64_t again_ns = sampler_check(session, false);
    if (again_ns > 0)
        loop_arm(&session->loop, again_ns);
}

static void handle_event(struct session *session, const struct loop_event *event)
{
    switch (event->kind) {
    case LOOP_SIGNAL:
        handle_signal(session, event);
        break;
    case LOOP_TIMER:
        check_sampler(session);
        break;
    case LOOP_ENDED:
        handle(session, SUPERVISOR_MEMBER_ENDED, event);
        break;
    case LOOP_CHANGE:
        if (event->watcher == &session->sampler)
            handle_reports(session, sampler_reports(&session->sampler));
        else
            sampler_run_once(session);
        break;
    case LOOP_NONE:
        (void)sampler_check(session, false);
        break;
    case LOOP_GONE:
    case LOOP_ROOM:
    case LOOP_OVER:
        break;
    }
    bool is_opening = session->sampler.has_thread && session->sampler.phase == SAMPLER_OPENING;
    session->loop.timeout_ms = is_opening ? (int)(SAMPLER_STALL_NS / 2 / NS_PER_MS) : -1;
}

/* What is left to the sampler: the final sample and all outputs. It may be stuck, and is then left behind. */
static bool wait_for_sampler(struct session *session, struct err *err)
{
    struct sampler *sampler = &session->sampler;
    int64_t deadline_ns = clock_now() + FINISH_NS + (session->stream ? session->settings->grace_ns : 0);
    sampler->end = session->end;
    sampler->end.stop_signal = session->stop_signal;
    sampler_request(sampler, SAMPLER_FINISH);
    /* A signal that comes now is for the streaming. */
    loop_unwatch(&session->loop, session->loop.signal_fd);
    session->loop.timeout_ms = FINISH_POLL_MS;
    int64_t check_ns = 0;
    while (clock_now() < deadline_ns) {
        struct loop_event event;
        if (loop_wait(&session->loop, &event, err) < 0)
            return false;
        if (event.kind == LOOP_CHANGE && event.watcher == sampler && (sampler_reports(sampler) & SAMPLER_DONE))
            return true;
        if (event.kind == LOOP_CHANGE && event.watcher == &sampler->loop && !sampler->is_done)
            sampler_run_once(session);
        if ((event.kind == LOOP_NONE || event.kind == LOOP_TIMER) && clock_now() >= check_ns)
            check_ns = sampler_check(session, true);
    }
    log_divert(NULL, NULL);
    log_warning("a file or terminal does not respond: the final output is incomplete");
    return false;
}

int supervise(struct session *session, struct err *err)
{
    int r = 0;
    struct loop_event event = {.kind = LOOP_NONE};
    if (session->sampler.has_thread)
        session->loop.timeout_ms = (int)(SAMPLER_STALL_NS / 2 / NS_PER_MS);
    while (r == 0 && session->state != SUPERVISOR_OVER) {
        r = loop_wait(&session->loop, &event, err);
        if (r == 0)
            handle_event(session, &event);
    }
    if (r < 0) {
        session->is_stuck = session->sampler.is_started || session->spawn.memory;
        return r;
    }
    if (session->exec_err.code < 0 && !session->stream)
        *err = session->exec_err;
    if (session->sampler.is_started)
        session->is_stuck = !wait_for_sampler(session, err) || !session->sampler.is_tidy;
    /* Else its CPU time would be lost to our caller. The sampler has done it before, unless it is stuck. */
    if (session->end.kind == SAMPLER_FINISH_JOB && (!session->sampler.is_started || session->is_stuck))
        reap_quietly(session->command_pid);
    return session->end.status;
}
