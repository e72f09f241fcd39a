/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around the rows of a summary, for text and Markdown alike: whose it is, how it ended, what to ask for
 * next time. Text of the data is harmless for a terminal already (people_put_data); Markdown escapes it for itself.
 */
#ifndef SUMMARY_FRAME_H
#define SUMMARY_FRAME_H

#include "summary/rows.h"

/* Name of the job, or else of its program, process or host. The command is put as one line, "" where there is none. */
void summary_frame_put_name(struct buf *buf, const struct summary *summary);
void summary_frame_put_command(struct buf *buf, const struct summary *summary);

/* "finished after 12.3 s" or "5 runs (1 failed), 12.3 s on average", and beside it why. */
void summary_frame_put_result(struct summary_rows *rows, const struct summary *summary);

/* "1 vCPU, 2 GiB of memory, 1 GPU with 4 GiB": what is recommended, "" where nothing is. */
void summary_frame_put_sizes(struct buf *buf, const struct summary_sizing *sizing);

/* One need of the right-sizing and why it is so large, or why it is withheld. */
struct summary_reason {
    const char *need;
    const char *text; /* NULL: nothing to say */
    bool is_withheld;
};

enum { SUMMARY_REASONS = 4 };

/* Nothing from SUMMARY_REASONS on, and nothing of GPUs where there are none. */
struct summary_reason summary_frame_reason(const struct summary *summary, unsigned i);

#endif
