/* SPDX-License-Identifier: Apache-2.0 */
#include "run/signals.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "kernel/pid_stat.h"

enum { ANCESTORS_MAX = 64, PID_STAT_BYTES_MAX = 4096 };

sigset_t signals_to_read(bool with_command, bool with_view)
{
    static const int passed_on[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGHUP, SIGALRM, SIGTSTP, SIGCHLD};
    sigset_t signals;
    struct sigaction hup;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    for (size_t i = 0; (with_command || with_view) && i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
        if (with_command || (passed_on[i] != SIGHUP && passed_on[i] != SIGCHLD))
            (void)sigaddset(&signals, passed_on[i]);
    }
    /*
     * Without a command, SIGINT and SIGTERM are read even where a shell ignores them for background jobs (scripts start
     * us with & and stop us with kill -INT), SIGHUP only unless somebody ignores it for us (nohup).
     */
    if (!with_command && sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
        (void)sigaddset(&signals, SIGHUP);
    return signals;
}

/* The parent of a process; 0 where it cannot be known. */
static pid_t parent_of(const struct sysroot *root, pid_t pid)
{
    AUTO_BUF struct buf text;
    buf_init(&text, PID_STAT_BYTES_MAX);
    char path[32];
    struct pid_stat stat;
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (file_read_at(root->proc_fd, path, &text) < 0 || pid_stat_parse((struct str){text.data, text.len}, &stat) < 0)
        return 0;
    return (pid_t)stat.parent;
}

static bool descends_from(const struct sysroot *root, pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (pid == ancestor)
            return true;
        pid = parent_of(root, pid);
    }
    return pid == ancestor;
}

/*
 * The terminal signals a whole process group; so does a process of the job that says kill 0. As the first process of a
 * container we stand in for the command: what the job sends to it is passed on.
 */
static bool is_shared(const struct loop_event *event, const struct job *job, const struct sysroot *root)
{
    if (getpgid(job->root) != getpgrp())
        return false;
    /* A terminal that goes away tells only the leader of its session. An alarm is ours: our caller set it before. */
    bool to_us_alone =
        event->signal == SIGALRM || ((event->signal == SIGHUP || event->signal == SIGCONT) && getsid(0) == getpid());
    if (event->signal_code == SI_KERNEL)
        return !to_us_alone;
    return job->tracker != 1 && event->sender > 0 && descends_from(root, event->sender, job->tracker);
}

/* What came before there was a command was for it as well. */
static bool is_early(const struct loop_event *event, sigset_t *early)
{
    if (sigismember(early, event->signal) != 1)
        return false;
    (void)sigdelset(early, event->signal);
    return true;
}

enum supervisor_event signals_classify(
    const struct loop_event *event, const struct job *job, const struct sysroot *root, sigset_t *early)
{
    if (event->signal == SIGCHLD)
        return SUPERVISOR_CHILD;
    if (event->signal == SIGTSTP)
        return SUPERVISOR_SUSPEND_SIGNAL;
    bool has_command = job->root > 0 && !job->attached;
    if (has_command && !is_early(event, early) && is_shared(event, job, root))
        return SUPERVISOR_SHARED_SIGNAL;
    switch (event->signal) {
    case SIGINT:
    case SIGTERM:
        return SUPERVISOR_STOP_SIGNAL;
    case SIGHUP:
        return SUPERVISOR_HANGUP;
    case SIGCONT:
        return SUPERVISOR_CONTINUE_SIGNAL;
    case SIGWINCH:
        return SUPERVISOR_OTHER_SIGNAL;
    default:
        return has_command ? SUPERVISOR_OTHER_SIGNAL : SUPERVISOR_STOP_SIGNAL;
    }
}

void signals_hold_stops(void)
{
    sigset_t stops;
    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTTIN);
    (void)sigprocmask(SIG_BLOCK, &stops, NULL);
}

static bool is_pending(int signal)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

/* Are we what a shell with job control waits for? Then it must hear of the stop, or its terminal is lost. */
static bool is_foreground_job(void)
{
    AUTO_FD int terminal = file_open_at(AT_FDCWD, "/dev/tty", O_RDONLY);
    return getpgrp() == getpid() && terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
}

int signals_stop_with(int signal, bool is_asked)
{
    is_asked |= is_pending(SIGTSTP);
    if (signal == SIGSTOP)
        return is_asked ? SIGTSTP : 0;
    if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
        return 0;
    return is_asked || is_pending(signal) || is_foreground_job() ? signal : 0;
}

void signals_stop_self(int signal)
{
    sigset_t one, before;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal);
    (void)raise(signal);
    (void)sigprocmask(SIG_UNBLOCK, &one, &before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}
