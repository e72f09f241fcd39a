/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on the terminal that says how far something has come, for what takes longer than a second: rewritten in place,
 * gone at the end. Nothing where stderr is no terminal, or is another job's.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct progress {
    void (*put_bytes)(struct buf *buf, double bytes); /* "12.3 MB" */
    const char *what; /* any bytes */
    int64_t began_ns, part_ns, shown_ns; /* monotonic; of the whole, of the part, of the newest line */
    unsigned columns; /* that the newest line takes; 0: none is shown */
    bool is_enabled;
};

/* is_wanted: false where the line would be in the way of something else on the terminal. */
void progress_begin(struct progress *progress, void (*put_bytes)(struct buf *buf, double bytes), bool is_wanted);

/* What comes now, such as "reading run.jsonl"; the time that is left is that of this part. what stays where it is. */
void progress_part(struct progress *progress, const char *what);

/* Is it time for a line? Then progress_show puts it: "reading run.jsonl: 12.3 MB of 456 MB, 2 %, 37 s left". total 0:
 * it is not known. */
bool progress_is_due(const struct progress *progress);
void progress_show(struct progress *progress, uint64_t done, uint64_t total);

/* Takes the line away, before anything else is written there. */
void progress_clear(struct progress *progress);

/* The text of the line after so many seconds of the part. */
void progress_put(const struct progress *progress, struct buf *buf, uint64_t done, uint64_t total, double secs);

#endif
