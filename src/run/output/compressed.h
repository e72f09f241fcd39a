/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as gzip, in a file whose name ends in .gz: every sample is flushed, so that a file whose end is missing gives
 * back all of them, and a run is one member. Such a file has one writer at a time (flock).
 */
#ifndef RUN_OUTPUT_COMPRESSED_H
#define RUN_OUTPUT_COMPRESSED_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/gzip.h"
#include "sink/sink.h"

struct compressed {
    struct gzip *gzip; /* NULL: samples are not compressed */
    struct buf bytes;
};

bool compressed_is_meant(const char *path);

/*
 * For the file that the sink was opened on, with SINK_ALONE. head: how it begins, which becomes how its text begins. A
 * file that the run before could not end is ended here; one that is broken, or too large to be checked at once, is
 * refused. Returns 0 or a negative errno with a message. To be closed in any case.
 */
int compressed_open(
    struct compressed *compressed, struct sink *sink, const char *path, struct sink_head *head, struct err *err);

/* Returns like sink_write; a record that might not find its place is dropped whole. */
int compressed_write(struct compressed *compressed, struct sink *sink, struct str record);

/* The end of the member. */
void compressed_end(struct compressed *compressed, struct sink *sink);

void compressed_close(struct compressed *compressed);

#endif
