/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent to the targets, as JSON: the registration of a run, its description, its events and its end. Unknown
 * values are left out, never null.
 */
#ifndef STREAM_PAYLOAD_H
#define STREAM_PAYLOAD_H

#include "base/buf.h"
#include "config/settings.h"
#include "model/run_facts.h"
#include "summary/summary.h"

/* Everything that is known of a run. */
struct run_facts {
    struct job_facts job;
    struct host_facts host;
    struct cloud_facts cloud;
    const char *version; /* of the tracker */
    char run_id[40]; /* ours: START-TIME-RANDOM */
    int64_t started_secs; /* Unix */
    int64_t pid; /* tracked; 0: none */
    double interval_secs;
};

/* One flat object with exactly the keys of the protocol, less those whose names are in omit (comma separated; NULL:
 * none). `command` is a string that holds a JSON array. */
void payload_register(struct buf *buf, const struct run_facts *facts, const char *omit);

/* The members of the finish call that do not depend on where the data is, without braces: "exit_code":0,... */
void payload_end(struct buf *buf, const struct end_facts *end);

/* run.json: {"run_id":…,"started_at":…,"version":…,"pid":…,"interval_secs":…,"job":{…},"host":{…},"cloud":{…}}.
 * The three objects have the keys of the registration, less those in omit; an object without any is absent. What is
 * known at the end is added to it: run_state_put_run. */
void payload_run(struct buf *buf, const struct run_facts *facts, const char *omit);

/* {"event":"start|heartbeat|stop","run_id":…,"job_name":…,"hostname":…,"pid":…,"timestamp":"2026-11-15T09:30:00Z",
 * "elapsed_secs":…,"exit_code":…,"run_status":…}; end NULL for start and heartbeat. job_name and hostname (as
 * host_hostname) honour omit. */
struct payload_event {
    const char *event;
    int64_t now_secs;
    double elapsed_secs;
    const struct end_facts *end;
};
void payload_put_event(
    struct buf *buf, const struct run_facts *facts, const struct payload_event *event, const char *omit);

/* Is the name among those in omit? */
bool payload_is_omitted(const char *omit, const char *key);

/* The keys of --summary-json as one object, without processes and without what settings keep back. Where that is too
 * long, without phases, metadata and tags; check buf_ok() then. */
void payload_summary(struct buf *buf, const struct summary *summary, const struct settings *settings);

#endif
