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

/* Grams of CO2 for a kWh, for the summary. */
void accumulate_set_carbon(struct accumulator *acc, double g_per_kwh);

/* The samples are those of several parts together; lists and texts are not copied. */
void accumulate_set_parts(struct accumulator *acc, const struct summary_parts *parts);

void accumulate_add(struct accumulator *acc, const struct sample *sample, const struct sample_totals *totals);

/* The run so far, without notes and sizes. What is only known at the end is absent. */
void accumulate_now(const struct accumulator *acc, struct summary *ret_summary);

/* The next sample belongs to another run. No effect before the first sample. */
void accumulate_next_run(struct accumulator *acc);

/* The summary of all runs, sizes included. Valid until accumulate_free; call it once, after the last sample. */
const struct summary *accumulate_finish(struct accumulator *acc);

#endif
