/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for children: the command, the orphans we adopt, and helpers of ours. What they used goes into the job's
 * books, helpers excepted.
 */
#ifndef RUN_REAP_H
#define RUN_REAP_H

#include "collect/job.h"

enum { REAP_BY_SIGNAL = 128 }; /* what a signal's number is added to for an exit status */

enum reap_news { REAP_NOTHING, REAP_ENDED, REAP_HALTED, REAP_RESUMED };

/*
 * Waits for everybody who has ended, without blocking, but leaves the root to reap_root. Says what became of the
 * root: REAP_HALTED for as long as it is stopped (ret_signal: by what), the others once.
 */
enum reap_news reap_children(struct job *job, int *ret_signal);

/* After REAP_ENDED: the root and everybody who has ended meanwhile. Returns the root's exit status, 128+n for signals.
 */
int reap_root(struct job *job);

/* The same, but waits for the end of the root. */
int reap_wait_root(struct job *job);

/* Is the root stopped at this moment? */
bool reap_root_is_stopped(const struct job *job);

#endif
