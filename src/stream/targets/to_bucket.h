/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on its way into a bucket of the user's own: run.json at the start, the batches, run.json at the end, all in one
 * folder PREFIX/JOB-or-host/START-TIME-RUNID/.
 */
#ifndef STREAM_TARGETS_TO_BUCKET_H
#define STREAM_TARGETS_TO_BUCKET_H

#include "aws/chain.h"
#include "stream/delivery.h"

struct to_bucket {
    struct delivery *delivery;
    struct aws_world aws;
    struct s3_client s3;
    struct s3_bucket bucket;
    struct s3_credentials credentials;
    bool has_credentials;
    bool is_valid; /* the URI makes sense */
    bool is_fresh_tried; /* new credentials did not help */
    struct retry retry;
    struct trouble trouble;
    struct number_set refused;
    bool is_stuck;
    struct buf batch;
};

/* Where and what is in delivery->state->bucket; http: with the roots that hold for S3 (AWS_CA_BUNDLE). */
void to_bucket_init(
    struct to_bucket *to, struct delivery *delivery, struct http_client *http, char *const *environment);
void to_bucket_fini(struct to_bucket *to);

/* As of to_sentinel. */
int64_t to_bucket_due(const struct to_bucket *to);
bool to_bucket_takes(const struct to_bucket *to);
void to_bucket_end(struct to_bucket *to);
void to_bucket_step(struct to_bucket *to, int64_t deadline_ns);

#endif
