/* SPDX-License-Identifier: Apache-2.0 */
/* A run on its way out: its directory in the spool, its state, and what all its targets use of both. */
#ifndef STREAM_DELIVERY_H
#define STREAM_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "model/run_facts.h"
#include "stream/exchange.h"
#include "stream/payload.h"
#include "stream/spool/spool.h"
#include "stream/target.h"

/*
 * What has to be known of a run to deliver it later (run_state.c): "state.json" of its directory in the spool. No
 * secrets: tokens and keys come from the environment again.
 */

enum { RUN_STATE_BODY_MAX = 256 * 1024, RUN_STATE_SUMMARY_MAX = 64 * 1024, RUN_STATE_URL_BYTES = 1024 };

struct run_state {
    char run_id[40]; /* ours, and the name of the directory */
    int64_t started_secs;
    struct buf register_body; /* the JSON object of the registration */
    struct buf run_body; /* run.json without the end */
    struct buf summary; /* the JSON object of --summary-json without its processes; empty: not known (yet) */
    struct target_run *targets; /* one for each row of stream_targets */
    bool has_end;
    struct end_facts end;
    unsigned made_directories; /* of the spool's path, by this run; they go with the last run */
    char made_in[4096]; /* that path: of a spool that was moved no directory is ours to remove */
};

/* Returns 0 or -ENOMEM; to be freed in any case. */
int run_state_init(struct run_state *state);
void run_state_fini(struct run_state *state);

/* Is there a target that the spool keeps something for? */
bool run_state_has_targets(const struct run_state *state);
bool run_state_is_delivered(const struct run_state *state); /* to all of them */

void run_state_put(struct buf *buf, const struct run_state *state);

/* Returns 0 or -EBADMSG / -ENOMEM with a message; *ret_state must be initialized and is to be freed in any case. */
int run_state_parse(struct str text, struct run_state *ret_state, struct err *err);

/* The end alone, as in the spool's "end". Parsing returns 0 or -EBADMSG / -ENOMEM, and then leaves the state alone. */
void run_state_put_end(struct buf *buf, const struct run_state *state);
int run_state_parse_end(struct str text, struct run_state *state);

/* run.json with its end. */
void run_state_put_run(struct buf *buf, const struct run_state *state, uint32_t batches);

/* How long before the expiry new credentials are fetched, and the longest time of one request. */
enum { DELIVERY_REFRESH_SECS = 300 };
#define DELIVERY_REQUEST_NS (30 * NS_PER_SEC)
#define DELIVERY_NEVER INT64_MAX
#define DELIVERY_CANCELLED "a signal ended the wait"

struct delivery {
    const struct stream_options *options;
    struct spool_run *run;
    struct run_state *state;
    struct exchange *exchange; /* for notices to the user */
    const struct run_facts *facts; /* as far as they are known by now; NULL: the run is from the spool */
    int64_t started_ns; /* monotonic; with facts */
    bool is_over; /* the run has ended: what is left is all there is */
    bool is_cancelled; /* a signal has ended the grace time */
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

/* How the run ended, without waiting for the disk: spool_run_sync_end does. 0 or a negative errno with a message. */
int delivery_note_end(struct delivery *delivery, struct err *err);

/* One complaint about the spool, whatever part of it fails; it is over when a batch was taken by the disk. */
void delivery_spool_fails(struct delivery *delivery, const char *why);
void delivery_spool_works(struct delivery *delivery);

/* What a slow line may need for so many bytes, while the run goes on. */
int64_t delivery_extra_ns(const struct delivery *delivery, size_t bytes);

/* How many batches there have been so far. */
uint32_t delivery_batches(const struct delivery *delivery);

#endif
