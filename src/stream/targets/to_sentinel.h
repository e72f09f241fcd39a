/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on its way to Sentinel: registered, its batches uploaded with the credentials received, finished; or, where
 * nothing was uploaded, finished with the data in the call.
 */
#ifndef STREAM_TARGETS_TO_SENTINEL_H
#define STREAM_TARGETS_TO_SENTINEL_H

#include "stream/delivery.h"
#include "stream/targets/sentinel.h"

struct to_sentinel {
    struct delivery *delivery;
    struct sentinel api;
    struct s3_client s3;
    struct s3_bucket bucket;
    bool has_bucket; /* the API has named one, and it makes sense */
    const char *s3_endpoint; /* instead of Amazon's; NULL: none */
    bool is_path_style;
    const char *csv_header; /* for a run without any sample */
    struct retry retry;
    struct trouble trouble;
    struct number_set refused; /* for good, in this run */
    bool is_fresh_tried; /* new credentials did not help */
    bool is_inline_refused; /* the data is uploaded then */
    bool is_stuck; /* refused for good: asking again does not help */
    struct buf batch; /* on its way out */
};

struct to_sentinel_options {
    const char *token;
    struct http_client *http_s3; /* with the roots that hold for S3 */
    const char *s3_endpoint;
    bool is_path_style;
    const char *csv_header;
    enum sentinel_inline inline_form;
};

/* The rest is in delivery->state->sentinel. */
void to_sentinel_init(struct to_sentinel *to, struct delivery *delivery, const struct to_sentinel_options *options);
void to_sentinel_fini(struct to_sentinel *to);

/* When it wants to act: a monotonic time, DELIVERY_NEVER where there is nothing to do (any more). */
int64_t to_sentinel_due(const struct to_sentinel *to);

/* Would it take a batch now, as far as is known? */
bool to_sentinel_takes(const struct to_sentinel *to);

/* The run is over: pauses of our own are, too, and an object that was refused is tried once more. */
void to_sentinel_end(struct to_sentinel *to);

/* One attempt at what is next. */
void to_sentinel_step(struct to_sentinel *to, int64_t deadline_ns);

#endif
