/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold before the first file is opened and the first line is written, and the tracker's own niceness. */
#ifndef RUN_GUARD_H
#define RUN_GUARD_H

#include <signal.h>

#include "config/settings.h"

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

#endif
