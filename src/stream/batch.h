/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch that is being filled: rows are compressed as they come and, plain, appended to the run's journal, so that
 * the memory does not grow with the rows and a killed tracker loses none. A sealed batch is a whole CSV: header, rows.
 */
#ifndef STREAM_BATCH_H
#define STREAM_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "codec/gzip.h"
#include "stream/spool/spool.h"

enum {
    BATCH_COMPRESSED_BYTES_FULL = 1024 * 1024,
    BATCH_PLAIN_BYTES_FULL = 16 * 1024 * 1024,
    BATCH_HEADER_BYTES_MAX = 64 * 1024,
    BATCH_LINES_BYTES_MAX = 1024 * 1024, /* of one batch_add */
};

struct batch {
    struct spool_run *run; /* not owned */
    struct gzip *gzip;
    struct buf compressed; /* so far */
    struct buf header; /* and, for the one write that begins a journal, the lines behind it */
    size_t header_bytes;
    uint64_t rows, plain_bytes;
    int64_t opened_ns; /* monotonic, of the first row; 0 without rows */
    uint64_t lost_rows; /* since batch_init */
};

/* header: one line with its LF. Returns 0, -ENOMEM, or -EINVAL for any other header; the batch may be used then, but
 * where it has no header it only counts the rows that it loses. */
int batch_init(struct batch *batch, struct spool_run *run, struct str header);
void batch_fini(struct batch *batch);

/*
 * Adds row_count whole lines. Returns 0; 1 where they are in the batch but not on the disk, so that a kill would lose
 * them (err says why); or a negative errno where they are lost (counted, err says why), with -ENOBUFS for a batch that
 * should have been sealed. Whatever it returns, the next call may be made.
 */
int batch_add(struct batch *batch, struct str lines, uint64_t row_count, int64_t now_ns, struct err *err);

/* Time to seal it, whatever its age. */
bool batch_is_full(const struct batch *batch);

/*
 * Completes the batch and hands it to the run, returning what spool_run_seal does; the batch is empty afterwards. Where
 * that is negative its rows are lost and counted. Nothing happens without rows: 0.
 */
int batch_seal(struct batch *batch, struct err *err);

/*
 * After spool_run_open: makes sealed batches of the rows that were left unsealed. A torn last line is cut, a header
 * without rows dropped. Returns 1 (something was sealed, on disk or in memory), 0 (nothing to do), or a negative errno
 * with a message; what could not be sealed then stays where it is.
 */
int batch_recover(struct spool_run *run, struct err *err);

#endif
