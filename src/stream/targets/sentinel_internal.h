/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Sentinel API: register a run, refresh its upload credentials, finish it. One call is one attempt; when to try
 * again is the worker's business.
 */
#ifndef STREAM_TARGETS_SENTINEL_INTERNAL_H
#define STREAM_TARGETS_SENTINEL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "aws/s3.h"
#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"
#include "model/run_facts.h"
#include "net/http.h"

struct sentinel {
    const char *url; /* base, a slash at the end is tolerated */
    const char *token; /* secret */
    struct http_client *http;
    const struct clock *clock;
    int inline_form; /* enum settings_inline */
    /* by the API */
    char run_id[128]; /* [A-Za-z0-9._-]+; "": not registered */
    char upload_prefix[1024]; /* "s3://bucket/prefix"; "": nothing can be uploaded */
    struct s3_credentials credentials;
    bool has_credentials; /* a registration may come without; then sentinel_needs_refresh is true */
    unsigned finish_calls; /* finish calls sent so far, each form for itself */
    bool must_refresh; /* the expiry could not be read: before the next upload */
};

enum sentinel_outcome {
    SENTINEL_DONE,
    SENTINEL_AGAIN, /* network, 408, 429, 5xx, an unusable answer */
    SENTINEL_REFUSED, /* asking again does not help: any other 3xx or 4xx; status 0: a URL, token or body that cannot be
                         sent, or a run that is not registered */
    SENTINEL_CANCELED,
};

struct sentinel_result {
    enum sentinel_outcome outcome;
    int status; /* HTTP; 0: no answer */
    int64_t retry_after_secs; /* -1: the server did not say */
};

/*
 * err says, for everything but SENTINEL_DONE, what the user can act on: the status, the server's message (its JSON
 * "detail", "message" or "error", or the text, cut to 300 characters, the token removed, control characters made
 * harmless), or the error of the network; for 401 and 403 that the token is to be checked.
 */
struct sentinel_result sentinel_register(
    struct sentinel *sentinel, struct str body, int64_t deadline_ns, struct err *err);
struct sentinel_result sentinel_refresh(struct sentinel *sentinel, int64_t deadline_ns, struct err *err);

/* Seconds before the expiry at which new credentials are fetched. */
enum { SENTINEL_REFRESH_SECS = 300 };
bool sentinel_needs_refresh(const struct sentinel *sentinel, int64_t now_unix_secs);

/* Finish with objects in S3: uris is a JSON array. */
struct sentinel_result sentinel_finish_s3(
    struct sentinel *sentinel, const struct end_facts *end, struct str uris, int64_t deadline_ns, struct err *err);

/* Finish with the whole CSV in the call, in the forms of the protocol until one is accepted (the next on 400, 415, 422
 * or 500). `csv` hands out the text in pieces, again for every form: it calls take until that fails. */
struct sentinel_csv {
    int (*read)(void *context, int (*take)(void *take_context, struct str piece), void *take_context);
    void *context;
};
struct sentinel_result sentinel_finish_inline(struct sentinel *sentinel, const struct end_facts *end,
    const struct sentinel_csv *csv, int64_t deadline_ns, struct err *err);

/*
 * The answer to a registration: run_id is needed. Without a usable upload_uri_prefix upload_prefix is "", and without
 * usable upload_credentials has_credentials is false (they are then to be had by a refresh). Returns 0, -EBADMSG with
 * what is unusable, or -ENOMEM; *sentinel changes on success only.
 */
int sentinel_answer_read_run(struct str body, struct sentinel *sentinel, struct err *err);

/* The answer to a refresh: upload_credentials are needed. Otherwise like sentinel_answer_read_run. */
int sentinel_answer_read_credentials(struct str body, struct sentinel *sentinel, struct err *err);

/*
 * What a server says about a refusal, made fit for a terminal and free of our secrets: the "detail", "message", "error"
 * or "title" of JSON (else its first text), the title of HTML, or plain text; "" where nothing of that is there. At
 * most 300 bytes of whole UTF-8 characters, no control characters, no runs of blanks; the token, and what looks like
 * another one behind "Bearer", are replaced by "***".
 */
enum { SENTINEL_MESSAGE_BYTES = 301 };
void sentinel_read_message(struct str body, struct str token, char ret_message[static SENTINEL_MESSAGE_BYTES]);

#endif
