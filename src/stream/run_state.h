/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be known of a run to deliver it later: "state.json" of its directory in the spool. No secrets: tokens and
 * keys come from the environment again.
 */
#ifndef STREAM_RUN_STATE_H
#define STREAM_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "model/run_facts.h"
#include "stream/target.h"

enum { RUN_STATE_BODY_MAX = 256 * 1024, RUN_STATE_URL_BYTES = 1024 };

struct run_state {
    char run_id[40]; /* ours, and the name of the directory */
    int64_t started_secs;
    struct buf register_body; /* the JSON object of the registration */
    struct buf run_body; /* run.json without the end */
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

#endif
