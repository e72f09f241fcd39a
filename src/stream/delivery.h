/* SPDX-License-Identifier: Apache-2.0 */
/* A run on its way out: its directory in the spool, its state, and what all its targets use of both. */
#ifndef STREAM_DELIVERY_H
#define STREAM_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "stream/exchange.h"
#include "stream/payload.h"
#include "stream/run_state.h"
#include "stream/spool/spool.h"
#include "stream/target.h"

/* How long before the expiry new credentials are fetched, and the longest time of one request. */
enum { DELIVERY_REFRESH_SECS = 300 };
#define DELIVERY_REQUEST_NS (30 * NS_PER_SEC)
#define DELIVERY_NEVER INT64_MAX

struct delivery {
    const struct stream_options *options;
    struct spool_run *run;
    struct run_state *state;
    struct exchange *exchange; /* for notices to the user */
    const struct run_facts *facts; /* as far as they are known by now; NULL: the run is from the spool */
    int64_t started_ns; /* monotonic; with facts */
    bool is_over; /* the run has ended: what is left is all there is */
    bool is_spool_failing; /* the disk does not take everything; it was reported */
    unsigned unreadable; /* batches that were in the spool and could not be read back */
};

int64_t delivery_now(const struct delivery *delivery); /* monotonic */
int64_t delivery_unix_secs(const struct delivery *delivery);

/*
 * A whole batch, replacing the content of buf. Returns 0; -ENODATA where it cannot be read or is broken: it is set
 * aside, which is reported, and the run continues; or another negative errno that may pass, with a message.
 */
int delivery_read_batch(struct delivery *delivery, uint32_t number, struct buf *buf, struct err *err);

int delivery_save(struct delivery *delivery); /* 0 or a negative errno, which has been reported */
void delivery_note(struct delivery *delivery); /* without waiting for the disk, unless one was synced already */

/* How the run ended: at once and without waiting for the disk, and then with it. 0 or a negative errno with a message.
 */
int delivery_note_end(struct delivery *delivery, struct err *err);

/* One complaint about the spool, whatever part of it fails; it is over when a batch was taken by the disk. */
void delivery_spool_fails(struct delivery *delivery, const char *why);
void delivery_spool_works(struct delivery *delivery);

/* What a slow line may need for so many bytes, while the run goes on. */
int64_t delivery_extra_ns(const struct delivery *delivery, size_t bytes);

/* How many batches there have been so far. */
uint32_t delivery_batches(const struct delivery *delivery);

#endif
