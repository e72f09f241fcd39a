/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be known of a run to deliver it later: "state.json" of its folder in the spool. No secrets: tokens and
 * keys come from the environment again.
 */
#ifndef STREAM_RUN_STATE_H
#define STREAM_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "aws/s3.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "model/run_facts.h"
#include "stream/number_set.h"

enum { RUN_STATE_BODY_MAX = 256 * 1024, RUN_STATE_URL_BYTES = 1024 };

struct run_state {
    char run_id[40]; /* ours, and the name of the folder */
    int64_t started_secs;
    struct buf register_body; /* the JSON object of the registration */
    struct buf run_body; /* run.json without the end */
    struct state_sentinel {
        bool is_wanted;
        char url[RUN_STATE_URL_BYTES];
        char run_id[128]; /* the API's; "": not registered */
        char upload_prefix[RUN_STATE_URL_BYTES];
        struct number_set delivered;
        bool is_finishing; /* a finish call was sent, and its answer is not known */
        bool is_finished; /* the API has taken one; where the run is not done a batch was refused */
        bool is_done;
    } sentinel;
    struct state_bucket {
        bool is_wanted;
        char uri[RUN_STATE_URL_BYTES], endpoint[RUN_STATE_URL_BYTES], region[S3_REGION_BYTES];
        bool is_path_style;
        char folder[256]; /* JOB-or-host/START-TIME-RUNID, without the prefix of the URI */
        struct number_set delivered;
        bool is_introduced; /* run.json of the start is there */
        bool is_done;
    } bucket;
    bool has_end;
    struct end_facts end;
    unsigned made_folders; /* of the spool's path, by this run; they go with the last run */
    char made_in[4096]; /* that path: of a spool that was moved no folder is ours to remove */
};

void run_state_init(struct run_state *state);
void run_state_fini(struct run_state *state);

void run_state_put(struct buf *buf, const struct run_state *state);

/* Returns 0 or -EBADMSG / -ENOMEM with a message; *ret_state must be initialized and is to be freed in any case. */
int run_state_parse(struct str text, struct run_state *ret_state, struct err *err);

/* The end alone, as in the spool's "end". Parsing returns 0 or -EBADMSG / -ENOMEM, and then leaves the state alone. */
void run_state_put_end(struct buf *buf, const struct run_state *state);
int run_state_parse_end(struct str text, struct run_state *state);

/* run.json with its end. */
void run_state_put_run(struct buf *buf, const struct run_state *state, uint32_t batches);

#endif
