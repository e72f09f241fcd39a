/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What text and Markdown share: the rows of a summary (what the job used, and beside it what that is to be compared
 * with), and what stands around them: its name, how it ended, what to ask for next time. Text of the data is harmless
 * for a terminal already (units_put_foreign); Markdown escapes it for itself.
 */
#ifndef SUMMARY_ROWS_H
#define SUMMARY_ROWS_H

#include "base/buf.h"
#include "summary/summary.h"

enum { SUMMARY_ROWS_BYTES_MAX = 8 * 1024 };

struct summary_rows {
    struct buf value, aside; /* of the current row; aside may be empty */
    void (*put)(struct summary_rows *rows, const char *label);
};

void summary_rows_init(struct summary_rows *rows, void (*put)(struct summary_rows *rows, const char *label));
void summary_rows_fini(struct summary_rows *rows);

/* Passes value and aside to `put`, where there is a value, and empties both. */
void summary_rows_end(struct summary_rows *rows, const char *label);

/* From CPU time to the cost of the tracker. Rows of which nothing is known are left out; cores and memory say so. */
void summary_rows_put(struct summary_rows *rows, const struct summary *summary);

/* Name of the job, or else of its program, process or host. The command is put as one line, "" where there is none. */
void summary_put_name(struct buf *buf, const struct summary *summary);
void summary_put_command(struct buf *buf, const struct summary *summary);

/* "finished after 12.3 s" or "5 runs (1 failed), 12.3 s on average", and beside it why. */
void summary_put_result(struct summary_rows *rows, const struct summary *summary);

/* "1 vCPU, 2 GiB of memory, 1 GPU with 4 GiB": what is recommended, "" where nothing is. */
void summary_put_sizes(struct buf *buf, const struct summary_sizing *sizing);

/* One need of the right-sizing and why it is so large, or why it is withheld. */
struct summary_reason {
    const char *need;
    const char *text; /* NULL: no reason is known */
    bool is_withheld;
};

enum { SUMMARY_REASONS = 4 };

/* Nothing from SUMMARY_REASONS on, and nothing of GPUs where there are none. */
struct summary_reason summary_reason_at(const struct summary *summary, unsigned i);

#endif
