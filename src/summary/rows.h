/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a summary that text and Markdown share: what the job used, and beside it what that is to be held against.
 * Text of the data is harmless for a terminal already (people_put_data); Markdown escapes it for itself.
 */
#ifndef SUMMARY_ROWS_H
#define SUMMARY_ROWS_H

#include "base/buf.h"
#include "summary/summary.h"

enum { SUMMARY_ROWS_BYTES_MAX = 8 * 1024 };

struct summary_rows {
    struct buf value, aside; /* of the row at hand; aside may be empty */
    void (*put)(struct summary_rows *rows, const char *label);
};

void summary_rows_init(struct summary_rows *rows, void (*put)(struct summary_rows *rows, const char *label));
void summary_rows_fini(struct summary_rows *rows);

/* Hands over what stands in value and aside, where there is a value, and empties both. */
void summary_rows_end(struct summary_rows *rows, const char *label);

/* From CPU time to the cost of the tracker. Rows of which nothing is known are left out; cores and memory say so. */
void summary_rows_put(struct summary_rows *rows, const struct summary *summary);

#endif
