/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling grid, start + k x interval on the monotonic clock: no drift; slots that passed are counted, never made
 * up. And a wait for many things in one epoll set: a timer, signals, and descriptors that report a change. The
 * supervisor has one, with the signals; the sampling thread has one, with the grid. Signals come by a signalfd, or by
 * handlers that write into a pipe (loop_catch_signals).
 */
#ifndef RUN_LOOP_H
#define RUN_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct grid {
    int64_t start_ns, interval_ns;
    uint64_t index; /* the newest slot reached; 0 is the start */
};

/* What the timer says when it fires. */
struct grid_tick {
    int64_t late_ns;
    uint64_t missed;
};

/* `expirations` (at least 1) slots were reached since the last call. */
static inline struct grid_tick grid_advance(struct grid *grid, uint64_t expirations, int64_t now_ns)
{
    grid->index += expirations;
    int64_t late_ns = now_ns - (grid->start_ns + (int64_t)grid->index * grid->interval_ns);
    return (struct grid_tick){.late_ns = late_ns > 0 ? late_ns : 0, .missed = expirations - 1};
}

/* A sample between two slots (the final one): it is not late, and slots that passed unseen are missed, but for one that
 * it stands right behind: where a run ends with a slot, its timer is not heard any more. */
static inline struct grid_tick grid_between(struct grid *grid, int64_t now_ns)
{
    int64_t passed = (now_ns - grid->start_ns) / grid->interval_ns;
    uint64_t reached = passed > 0 ? (uint64_t)passed : 0;
    uint64_t unseen = reached > grid->index ? reached - grid->index : 0;
    bool is_right_behind = (now_ns - grid->start_ns) % grid->interval_ns < grid->interval_ns / 8;
    grid->index += unseen;
    return (struct grid_tick){.missed = unseen - (unseen > 0 && is_right_behind)};
}

enum loop_event_kind {
    LOOP_TIMER, /* the next slot of the grid is reached */
    LOOP_SIGNAL, /* one of ours came in */
    LOOP_CHANGE, /* a watched descriptor reports a change */
    LOOP_GONE, /* the reader of the output went away */
    LOOP_ROOM, /* the output takes more */
    LOOP_ENDED, /* the watched process has ended */
    LOOP_OVER, /* the time of loop_end_at is reached */
    LOOP_NONE,
};

struct loop_event {
    enum loop_event_kind kind;
    uint64_t expirations; /* LOOP_TIMER */
    int signal; /* LOOP_SIGNAL, with how it was sent (si_code) and by which process */
    int signal_code;
    pid_t sender;
    uint64_t value; /* that came with it (sigqueue) */
    int status; /* of a command that has ended; not from the loop */
    void *watcher; /* LOOP_CHANGE: as given to loop_watch_change */
};

struct loop {
    int epoll_fd, timer_fd, signal_fd;
    int output_fd; /* not owned; -1: none */
    int process_fd; /* -1: none */
    int timeout_ms; /* how long loop_wait waits; -1: for ever */
    int end_fd; /* -1: no end was set */
    int64_t end_ns;
    bool is_catching; /* signals come by handlers */
};

#define LOOP_CLOSED                                                                                                    \
    {                                                                                                                  \
        .epoll_fd = -1, .timer_fd = -1, .signal_fd = -1, .output_fd = -1, .process_fd = -1, .end_fd = -1,              \
        .timeout_ms = -1                                                                                               \
    }

/* Blocks the signals (NULL: none are read here) and takes the descriptors. Returns 0 or a negative errno with a
 * message.
 */
int loop_open(struct loop *ret_loop, const sigset_t *signals, struct err *err);

/*
 * The same signals by handlers, for a process with threads that are not ours: the kernel may deliver to those what is
 * blocked in ours, and then nothing is left to read. Signals that have a handler already keep it. From here on
 * signal_fd is a pipe, with what a signalfd would hold. Only one loop of the process may do this.
 */
int loop_catch_signals(struct loop *loop, const sigset_t *signals);

/* Arms the timer on the grid. */
int loop_start(struct loop *loop, const struct grid *grid, struct err *err);

/* The same for once, at a time of the monotonic clock; 0: never. Any thread may say so. */
void loop_arm(const struct loop *loop, int64_t at_ns);
void loop_close(struct loop *loop);

/* From this monotonic time on there is LOOP_OVER, also instead of a LOOP_TIMER that is due by then. */
int loop_end_at(struct loop *loop, int64_t end_ns, struct err *err);

/* EPOLLPRI on fd becomes LOOP_CHANGE with `watcher`. Descriptors that cannot be polled are silently not watched. */
void loop_watch_change(struct loop *loop, int fd, void *watcher);

/* The same when there is something to read. The watcher must take it, or it is reported again at once. */
void loop_watch_input(struct loop *loop, int fd, void *watcher);

/* No more events of this descriptor. */
void loop_unwatch(struct loop *loop, int fd);

/* EPOLLERR or EPOLLHUP on fd becomes LOOP_GONE, once. */
void loop_watch_output(struct loop *loop, int fd);

/* While something waits to be written, room for it becomes LOOP_ROOM. */
void loop_want_room(struct loop *loop, bool wanted);

/* The end of this process becomes LOOP_ENDED, once; instead of the one watched before. A negative errno where the
 * process is gone (-ESRCH) or this kernel cannot report it (before Linux 5.3: -ENOSYS). */
int loop_watch_process(struct loop *loop, pid_t pid);

/* Waits for the next event; LOOP_NONE where none came within timeout_ms. */
int loop_wait(struct loop *loop, struct loop_event *ret_event, struct err *err);

#endif
