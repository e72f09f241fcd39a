/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold before the first file is opened and the first line is written, the tracker's own niceness, which
 * signals we read, and whether they were meant for us or for the command.
 */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

#include <signal.h>

#include "config/settings.h"
#include "kernel/sysroot.h"
#include "run/loop.h"
#include "run/supervisor.h"

/*
 * Descriptors 0, 1 and 2 are taken (by /dev/null where they were closed), and a broken pipe, a file size limit or a
 * terminal that belongs to others is no reason for a signal that ends or stops us; diagnostics have a way out that does
 * not block. ret_caller_mask: the signal mask as it was.
 */
void guard_streams(sigset_t *ret_caller_mask);

/*
 * The command died of this signal, and so do we (SIGINT and SIGQUIT only): a shell that runs us in a loop ends the loop
 * then. Leaves no core. Returns where we cannot: another signal, or the first process of a container.
 */
void guard_die_of(int signal_number);

/*
 * Gives every thread of the tracker the niceness that is asked for, if any; threads and helpers that are started later
 * inherit it. Only after the command was started, which must not. A refusal is one warning.
 */
void renice_self(const struct settings *settings);

/* with_command: those that are passed on, and SIGCHLD; else those that end us. with_view: something of ours is on the
 * terminal, so that no signal may end or stop us before it is taken away. */
sigset_t signals_to_read(bool with_command, bool with_view);

/*
 * What a signal is to the supervisor. Those that the command got from the same sender are SUPERVISOR_SHARED_SIGNAL,
 * unless they were early: pending when the command was started. command: 0 where there is none.
 */
enum supervisor_event signals_classify(
    const struct loop_event *event, pid_t command, const struct sysroot *root, sigset_t *early);

/* Has anything started threads before us (a library that was preloaded)? Only before we start our own. */
bool signals_has_other_threads(void);

/* With a command: a terminal that we do not read from does not stop us before the command stops. */
void signals_hold_stops(void);

/*
 * Which signal is to stop us when this one has stopped the command; 0: none. Those of job control do if they were meant
 * for both, or if a shell waits for us; a SIGSTOP only where we were asked to stop and the command did it its way, or
 * where the command's group has the terminal (`suspend` in a shell).
 */
int signals_stop_with(int signal, bool is_asked, pid_t command);

/* Stops us by this signal until we are continued; nothing happens where job control has no say. */
void signals_stop_self(int signal);

#endif
