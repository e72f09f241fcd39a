/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals we read, and whom they were meant for. */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

#include <signal.h>

#include "collect/job.h"
#include "kernel/sysroot.h"
#include "run/loop.h"
#include "run/supervisor.h"

/* with_command: those that are passed on, and SIGCHLD; else those that end us. */
sigset_t signals_to_read(bool with_command);

/* What a signal is to the supervisor. Those that the command got from the same sender are SUPERVISOR_SHARED_SIGNAL. */
enum supervisor_event signals_classify(
    const struct loop_event *event, const struct job *job, const struct sysroot *root);

/* With a command: the terminal's signals do not stop us before it stops, and not at all where it does not. */
void signals_hold_stops(void);

/* Stops us by this signal until somebody continues us; nothing happens where job control has no say. */
void signals_stop_self(int signal);

#endif
