/* SPDX-License-Identifier: Apache-2.0 */
#include "run/signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/num.h"
#include "base/thread.h"
#include "kernel/pid.h"
#include "kernel/sysroot.h"

/* A descriptor 0, 1 or 2 that is closed would be taken by the next file we open, and then be written to by mistake. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

/*
 * A broken pipe and a file size limit must be errors of write(2), not our end, from the first message on. A terminal
 * set to stop background writers would stop the whole process group, and that is the job.
 */
static void block_write_signals(sigset_t *ret_caller_mask)
{
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigaddset(&blocked, SIGXFSZ);
    (void)sigaddset(&blocked, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &blocked, ret_caller_mask);
}

void guard_streams(sigset_t *ret_caller_mask)
{
    fill_standard_descriptors();
    block_write_signals(ret_caller_mask);
    log_open();
}

void guard_die_of(int signal_number)
{
    if (signal_number != SIGINT && signal_number != SIGQUIT)
        return;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)signal(signal_number, SIG_DFL);
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal_number);
    (void)raise(signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* In Linux a niceness is a thread's. One that ends meanwhile is no loss, and one that begins has that of its creator.
 */
static void renice_threads(int niceness)
{
    DIR *dir = opendir(FILE_OWN_THREADS);
    const struct dirent *entry;
    uint64_t thread;
    while (dir && (entry = readdir(dir))) {
        if (num_parse_u64(str_of(entry->d_name), &thread) == 0)
            (void)setpriority(PRIO_PROCESS, (id_t)thread, niceness);
    }
    if (dir)
        (void)closedir(dir);
}

void renice_self(const struct settings *settings)
{
    if (!settings->renice.has)
        return;
    int niceness = (int)settings->renice.v;
    if (setpriority(PRIO_PROCESS, 0, niceness) == 0)
        renice_threads(niceness);
    else
        log_warning("cannot set the niceness of the tracker to %d: %s", niceness, strerror(errno));
}

enum { ANCESTORS_MAX = 64, PID_STAT_BYTES_MAX = 4096, DESCENT_STACK_BYTES = 64 * 1024 };

/* How long the answer may take; without one, the signal is passed on. */
#define DESCENT_NS (100 * NS_PER_MS)

/*
 * With a command: every signal that would end us by default, and those of job control. Not our own faults (SIGSEGV,
 * SIGBUS, SIGILL, SIGFPE, SIGABRT), nor what a terminal sends to background readers and writers (block_write_signals).
 */
static void add_passed_on(sigset_t *signals)
{
    static const int passed_on[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGPROF,
        SIGVTALRM, SIGIO, SIGPWR, SIGPIPE, SIGXFSZ, SIGTRAP, SIGSYS, SIGCONT, SIGWINCH, SIGTSTP, SIGCHLD};
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        (void)sigaddset(signals, passed_on[i]);
#ifdef SIGSTKFLT
    (void)sigaddset(signals, SIGSTKFLT);
#endif
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
        (void)sigaddset(signals, i);
}

sigset_t signals_to_read(bool with_command, bool with_view)
{
    static const int of_view[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM, SIGTSTP};
    sigset_t signals;
    struct sigaction hup;
    (void)sigemptyset(&signals);
    if (with_command) {
        add_passed_on(&signals);
        return signals;
    }
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    for (size_t i = 0; with_view && i < sizeof(of_view) / sizeof(of_view[0]); i++)
        (void)sigaddset(&signals, of_view[i]);
    /*
     * Without a command, SIGINT and SIGTERM are read even where a shell ignores them for background jobs (scripts start
     * us with & and stop us with kill -INT), SIGHUP only unless our caller ignores it (nohup).
     */
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
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
    if (file_read_at(root->proc_fd, path, &text) < 0 || pid_stat_parse(buf_str(&text), &stat) < 0)
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

/* The question whether a process descends from us, in a thread of its own: /proc may not answer. */
struct descent {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct sysroot root; /* a copy: the answer may come when the run is over */
    pid_t pid, ancestor;
    bool is_answered, descends;
};

static void *ask_descent(void *context)
{
    struct descent *descent = context;
    bool descends = descends_from(&descent->root, descent->pid, descent->ancestor);
    (void)pthread_mutex_lock(&descent->lock);
    descent->descends = descends;
    descent->is_answered = true;
    (void)pthread_cond_signal(&descent->answered);
    (void)pthread_mutex_unlock(&descent->lock);
    return NULL;
}

/* Where there is no answer in time, the question stays allocated for the thread that asks it. */
static bool is_descendant(const struct sysroot *root, pid_t pid)
{
    struct descent *descent = calloc(1, sizeof(*descent));
    if (!descent)
        return false;
    *descent = (struct descent){.lock = PTHREAD_MUTEX_INITIALIZER, .root = *root, .pid = pid, .ancestor = getpid()};
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&descent->answered, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    int64_t deadline_ns = clock_now() + DESCENT_NS;
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_SEC), .tv_nsec = deadline_ns % NS_PER_SEC};
    (void)pthread_mutex_lock(&descent->lock);
    int r = thread_start(ask_descent, descent, DESCENT_STACK_BYTES, NULL) == 0 ? 0 : -EAGAIN;
    while (r == 0 && !descent->is_answered)
        r = pthread_cond_timedwait(&descent->answered, &descent->lock, &deadline);
    bool is_answered = descent->is_answered, descends = descent->descends;
    (void)pthread_mutex_unlock(&descent->lock);
    if (is_answered || r == -EAGAIN)
        free(descent);
    return is_answered && descends;
}

/* Those that a terminal sends to all of its foreground group. */
static bool is_of_terminal(int signal)
{
    return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGCONT || signal == SIGWINCH;
}

/*
 * The terminal signals a whole process group; so does a process of the job that says kill 0. As the first process of a
 * container we stand in for the command: what the job sends to it is passed on.
 */
static bool is_shared(const struct loop_event *event, pid_t command, const struct sysroot *root)
{
    /* Our own write to a pipe without a reader or to a file that is too large, and our own use of CPU time, are none of
     * the command's business. */
    if ((event->signal == SIGPIPE || event->signal == SIGXFSZ) && event->sender == getpid())
        return true;
    if (event->signal == SIGXCPU && event->signal_code == SI_KERNEL)
        return true;
    if (getpgid(command) != getpgrp())
        return false;
    /* A terminal that goes away signals only the leader of its session. */
    bool to_us_alone = (event->signal == SIGHUP || event->signal == SIGCONT) && getsid(0) == getpid();
    if (event->signal_code == SI_KERNEL)
        return is_of_terminal(event->signal) && !to_us_alone;
    if (getpid() == 1 || event->sender <= 0 || event->sender == getppid())
        return false;
    return event->sender == command || is_descendant(root, event->sender);
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
    const struct loop_event *event, pid_t command, const struct sysroot *root, sigset_t *early)
{
    if (event->signal == SIGCHLD)
        return SUPERVISOR_CHILD;
    if (event->signal == SIGTSTP)
        return SUPERVISOR_SUSPEND_SIGNAL;
    bool has_command = command > 0;
    if (has_command && !is_early(event, early) && is_shared(event, command, root))
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

bool signals_has_other_threads(void)
{
    enum { LINKS_OF_ONE = 3 }; /* of a directory with one subdirectory */
    struct stat info;
    return stat(FILE_OWN_THREADS, &info) == 0 && info.st_nlink > LINKS_OF_ONE;
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

/* The process group that has the terminal; -1: there is none. */
static pid_t foreground_group(void)
{
    AUTO_FD int terminal = file_open_at(AT_FDCWD, "/dev/tty", O_RDONLY);
    return terminal >= 0 ? tcgetpgrp(terminal) : -1;
}

/* Are we what a shell with job control waits for? Then it must hear of the stop, or its terminal is lost. */
static bool is_foreground_job(void)
{
    return getpgrp() == getpid() && foreground_group() == getpgrp();
}

/* Has the command a group of its own that has the terminal (a shell)? Once it is stopped, only our own stop gives the
 * terminal back to the shell above us. */
static bool has_terminal(pid_t command)
{
    pid_t group = getpgid(command);
    return group > 0 && group != getpgrp() && foreground_group() == group;
}

int signals_stop_with(int signal, bool is_asked, pid_t command)
{
    is_asked |= is_pending(SIGTSTP);
    if (signal == SIGSTOP)
        return is_asked || has_terminal(command) ? SIGTSTP : 0;
    if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
        return 0;
    return is_asked || is_pending(signal) || is_foreground_job() ? signal : 0;
}

void signals_stop_self(int signal)
{
    const struct sigaction stop = {.sa_handler = SIG_DFL};
    struct sigaction catching;
    sigset_t one, before;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal);
    bool is_caught = sigaction(signal, &stop, &catching) == 0 && catching.sa_handler != SIG_DFL;
    (void)raise(signal);
    (void)sigprocmask(SIG_UNBLOCK, &one, &before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (is_caught)
        (void)sigaction(signal, &catching, NULL);
}
