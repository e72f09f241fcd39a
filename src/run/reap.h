/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for children: the command, the orphans we adopt, and helpers of ours. What they used is added to what
 * is known of the tracked tree, helpers excepted.
 */
#ifndef RUN_REAP_H
#define RUN_REAP_H

#include "collect/helper.h"
#include "collect/tracked.h"

enum { REAP_BY_SIGNAL = 128 }; /* what a signal's number is added to for an exit status */

enum reap_news { REAP_NOTHING, REAP_ENDED, REAP_HALTED, REAP_RESUMED };

/* Waits for every child that has ended, without blocking, but for the root: while that is not waited for, its number is
 * its own. */
void reap_others(struct tracked *tracked, struct helpers *helpers);

/*
 * What became of the root, which stays to be waited for: REAP_HALTED for as long as it is stopped (ret_signal: by
 * what), the others once. REAP_ENDED: ret_signal is the signal that ended it (0: none), ret_status its exit status,
 * 128+n for signals.
 */
enum reap_news reap_peek(pid_t root, int *ret_signal, int *ret_status);

/* After REAP_ENDED: waits for the root and all others that have ended meanwhile. Returns the root's exit status. */
int reap_root(struct tracked *tracked, struct helpers *helpers);

/* The same of the root alone, without an account of it. */
void reap_quietly(pid_t root);

/* Is the root stopped at this moment? */
bool reap_is_stopped(pid_t root);

#endif
