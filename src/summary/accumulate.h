/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on the way to a summary: exact sums, maxima with their time, P95 by a sketch. Its size does not depend on the
 * length of the run, nothing is allocated per sample. Numbers are used as JSON shows them (4 decimals), so that a
 * recording gives exactly what the run itself gave.
 */
#ifndef SUMMARY_ACCUMULATE_H
#define SUMMARY_ACCUMULATE_H

#include "model/totals.h"
#include "summary/summary.h"

struct accumulator;

/* Returns 0 or -ENOMEM. */
int accumulate_new(struct accumulator **ret_accumulator);
void accumulate_free(struct accumulator *acc); /* NULL allowed */

void accumulate_add(struct accumulator *acc, const struct sample *sample, const struct sample_totals *totals);

/* The next sample belongs to another run. No effect before the first sample. */
void accumulate_next_run(struct accumulator *acc);

/* The summary of all runs, sizes included. Valid until accumulate_free; call it once, after the last sample. */
const struct summary *accumulate_finish(struct accumulator *acc);

#endif
