/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of the page without its script: body.c and body_tables.c. */
#ifndef SUMMARY_REPORT_BODY_INTERNAL_H
#define SUMMARY_REPORT_BODY_INTERNAL_H

#include "summary/report/charts.h"

/* What to ask for next time: sizes, their reasons, ready lines. */
void body_put_sizing(struct markup *m, const struct summary *summary);

/* Devices, processes, all rows of the summary, notes. */
void body_put_tables(struct markup *m, const struct summary *summary);

#endif
