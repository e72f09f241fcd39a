/* SPDX-License-Identifier: Apache-2.0 */
#include "run/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/syscalls.h"

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC), .tv_nsec = (long)(ns % NS_PER_SEC)};
}

/* The address of a member serves as the name of its event. */
static int watch(struct loop *loop, int fd, uint32_t events, void *name)
{
    struct epoll_event event = {.events = events, .data.ptr = name};
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? err_last() : 0;
}

static int open_descriptors(struct loop *loop, const sigset_t *signals)
{
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->timer_fd < 0)
        return err_last();
    int r = watch(loop, loop->timer_fd, EPOLLIN, &loop->timer_fd);
    if (r < 0 || !signals)
        return r;
    if (sigprocmask(SIG_BLOCK, signals, NULL) < 0)
        return err_last();
    loop->signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return loop->signal_fd < 0 ? err_last() : watch(loop, loop->signal_fd, EPOLLIN, &loop->signal_fd);
}

int loop_open(struct loop *ret_loop, const sigset_t *signals, struct err *err)
{
    struct loop *loop = ret_loop;
    *loop = (struct loop)LOOP_CLOSED;
    int r = open_descriptors(loop, signals);
    if (r < 0) {
        loop_close(loop);
        return err_sys(err, r, "cannot set up the timer and the signals");
    }
    return 0;
}

/* Where handlers, which know nothing else, write to. */
static atomic_int caught_fd = -1;

static void catch_signal(int number, siginfo_t *info, void *unused)
{
    (void)unused;
    int before = errno, fd = atomic_load(&caught_fd);
    if (fd < 0)
        return;
    const struct signalfd_siginfo news = {.ssi_signo = (uint32_t)number,
        .ssi_code = info->si_code,
        .ssi_pid = (uint32_t)info->si_pid,
        .ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr};
    /* Where the pipe is full, as many signals are waiting as it holds. */
    ssize_t n = write(fd, &news, sizeof(news));
    (void)n;
    errno = before;
}

static void install_handlers(const sigset_t *signals)
{
    struct sigaction catching = {.sa_sigaction = catch_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
    (void)sigfillset(&catching.sa_mask);
    for (int i = 1; i <= SIGRTMAX; i++) {
        if (sigismember(signals, i) == 1 && sigaction(i, NULL, &before) == 0 &&
            (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
            (void)sigaction(i, &catching, NULL);
    }
    /* These must not stop us, and are not read. */
    static const int stops[] = {SIGTTIN, SIGTTOU};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            (void)sigaction(stops[i], &ignore, NULL);
    }
}

int loop_catch_signals(struct loop *loop, const sigset_t *signals)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_last();
    int r = watch(loop, ends[0], EPOLLIN, &loop->signal_fd);
    if (r < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return r;
    }
    fd_close(&loop->signal_fd);
    loop->signal_fd = ends[0];
    loop->is_catching = true;
    atomic_store(&caught_fd, ends[1]);
    install_handlers(signals);
    return pthread_sigmask(SIG_UNBLOCK, signals, NULL) == 0 ? 0 : -EINVAL;
}

int loop_start(struct loop *loop, const struct grid *grid, struct err *err)
{
    struct itimerspec first = {
        .it_value = timespec_of(grid->start_ns + grid->interval_ns),
        .it_interval = timespec_of(grid->interval_ns),
    };
    if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &first, NULL) < 0)
        return err_sys(err, err_last(), "cannot start the timer");
    return 0;
}

void loop_arm(const struct loop *loop, int64_t at_ns)
{
    struct itimerspec once = {.it_value = timespec_of(at_ns)};
    (void)timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &once, NULL);
}

int loop_end_at(struct loop *loop, int64_t end_ns, struct err *err)
{
    struct itimerspec once = {.it_value = timespec_of(end_ns)};
    loop->end_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int r = loop->end_fd < 0 ? err_last() : watch(loop, loop->end_fd, EPOLLIN | EPOLLONESHOT, &loop->end_fd);
    if (r == 0 && timerfd_settime(loop->end_fd, TFD_TIMER_ABSTIME, &once, NULL) < 0)
        r = err_last();
    loop->end_ns = end_ns;
    return r < 0 ? err_sys(err, r, "cannot start the timer") : 0;
}

void loop_close(struct loop *loop)
{
    /* Without a reader every record would raise SIGPIPE, and that another one. The other end stays open: a handler may
     * be running in a thread that is not ours. */
    if (loop->is_catching)
        atomic_store(&caught_fd, -1);
    fd_close(&loop->epoll_fd);
    fd_close(&loop->timer_fd);
    fd_close(&loop->signal_fd);
    fd_close(&loop->process_fd);
    fd_close(&loop->end_fd);
}

int loop_watch_process(struct loop *loop, pid_t pid)
{
    fd_close(&loop->process_fd);
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return err_last();
    loop->process_fd = fd;
    return watch(loop, fd, EPOLLIN | EPOLLONESHOT, &loop->process_fd);
}

void loop_watch_change(struct loop *loop, int fd, void *watcher)
{
    if (fd >= 0)
        (void)watch(loop, fd, EPOLLPRI, watcher);
}

void loop_watch_input(struct loop *loop, int fd, void *watcher)
{
    if (fd >= 0)
        (void)watch(loop, fd, EPOLLIN, watcher);
}

void loop_unwatch(struct loop *loop, int fd)
{
    if (fd >= 0)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void loop_watch_output(struct loop *loop, int fd)
{
    if (fd >= 0 && watch(loop, fd, 0, &loop->output_fd) == 0)
        loop->output_fd = fd;
}

void loop_want_room(struct loop *loop, bool wanted)
{
    struct epoll_event event = {.events = wanted ? EPOLLOUT : 0, .data.ptr = &loop->output_fd};
    if (loop->output_fd >= 0)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, loop->output_fd, &event);
}

static void read_output_event(struct loop *loop, uint32_t events, struct loop_event *event)
{
    if (!(events & (EPOLLERR | EPOLLHUP))) {
        event->kind = LOOP_ROOM;
        return;
    }
    /* The condition lasts, so it must leave the set or it would wake us for ever. */
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, loop->output_fd, NULL);
    loop->output_fd = -1;
    event->kind = LOOP_GONE;
}

/* The last slot of the grid may be the end as well, and then gets one sample and not two. */
static bool is_over(const struct loop *loop)
{
    return loop->end_fd >= 0 && clock_now() >= loop->end_ns;
}

static void read_event(struct loop *loop, const struct epoll_event *ready, struct loop_event *event)
{
    void *name = ready->data.ptr;
    if (name == &loop->timer_fd) {
        if (read(loop->timer_fd, &event->expirations, sizeof(event->expirations)) == sizeof(event->expirations))
            event->kind = is_over(loop) ? LOOP_OVER : LOOP_TIMER;
    } else if (name == &loop->signal_fd) {
        struct signalfd_siginfo info;
        if (read(loop->signal_fd, &info, sizeof(info)) == sizeof(info)) {
            event->kind = LOOP_SIGNAL;
            event->signal = (int)info.ssi_signo;
            event->signal_code = info.ssi_code;
            event->sender = (pid_t)info.ssi_pid;
            event->value = info.ssi_ptr;
        }
    } else if (name == &loop->output_fd) {
        read_output_event(loop, ready->events, event);
    } else if (name == &loop->process_fd) {
        event->kind = LOOP_ENDED;
    } else if (name == &loop->end_fd) {
        event->kind = LOOP_OVER;
    } else {
        event->kind = LOOP_CHANGE;
        event->watcher = name;
    }
}

int loop_wait(struct loop *loop, struct loop_event *ret_event, struct err *err)
{
    *ret_event = (struct loop_event){.kind = LOOP_NONE};
    struct epoll_event ready;
    int n = epoll_wait(loop->epoll_fd, &ready, 1, loop->timeout_ms);
    if (n < 0)
        return errno == EINTR ? 0 : err_sys(err, err_last(), "cannot wait for events");
    if (n > 0)
        read_event(loop, &ready, ret_event);
    return 0;
}
