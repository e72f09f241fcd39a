/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on the way to a summary: exact sums, maxima with their time, P95 by a sketch. Its size does not depend on the
 * length of the run, nothing is allocated per sample. It takes numbers as JSON shows them (4 decimals), so that a
 * recording gives exactly what the run itself gave.
 */
#ifndef SUMMARY_TALLY_H
#define SUMMARY_TALLY_H

#include "summary/summary.h"

struct tally;

/* Returns 0 or -ENOMEM. */
int tally_new(struct tally **ret_tally);
void tally_free(struct tally *tally); /* NULL allowed */

void tally_add(struct tally *tally, const struct sample *sample);

/* The next sample belongs to another run. No effect before the first sample. */
void tally_next_run(struct tally *tally);

/* The summary of all runs, sizes included. Valid until tally_free; call it once, after the last sample. */
const struct summary *tally_finish(struct tally *tally);

#endif
