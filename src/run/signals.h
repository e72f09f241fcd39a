/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals we read, and whom they were meant for. */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

#include <signal.h>

#include "kernel/sysroot.h"
#include "run/loop.h"
#include "run/supervisor.h"

/* with_command: those that are passed on, and SIGCHLD; else those that end us. with_view: something of ours is on the
 * terminal, so that no signal may end or stop us before it is taken away. */
sigset_t signals_to_read(bool with_command, bool with_view);

/*
 * What a signal is to the supervisor. Those that the command got from the same sender are SUPERVISOR_SHARED_SIGNAL,
 * unless they were early: pending when the command was started. command: 0 where there is none.
 */
enum supervisor_event signals_classify(
    const struct loop_event *event, pid_t command, const struct sysroot *root, sigset_t *early);

/* With a command: a terminal that we do not read from does not stop us before the command stops. */
void signals_hold_stops(void);

/*
 * Which signal is to stop us when this one has stopped the command; 0: none. Those of job control do if they were meant
 * for both, or if a shell waits for us; a SIGSTOP only where we were asked to stop and the command did it its way, or
 * where the command's group has the terminal (`suspend` in a shell).
 */
int signals_stop_with(int signal, bool is_asked, pid_t command);

/* Stops us by this signal until somebody continues us; nothing happens where job control has no say. */
void signals_stop_self(int signal);

#endif
