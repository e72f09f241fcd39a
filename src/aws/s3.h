/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects into S3 and what speaks like it: where a bucket is, signed PUTs, and what an answer means for the object.
 */
#ifndef AWS_S3_H
#define AWS_S3_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "net/http.h"

enum { S3_REGION_BYTES = 33, S3_KEY_BYTES_MAX = 1024 };

/* Secrets; wipe with s3_credentials_wipe. */
struct s3_credentials {
    char access_key[128], secret_key[256], session_token[8192]; /* no token: "" */
    struct opt_i64 expires_secs; /* Unix; absent: never */
    char region[S3_REGION_BYTES]; /* "": unknown */
};

void s3_credentials_wipe(struct s3_credentials *credentials);

/* One bucket; region is filled by s3_find_region. */
struct s3_bucket {
    char bucket[256]; /* checked: [A-Za-z0-9._-]{3,255} */
    char prefix[S3_KEY_BYTES_MAX]; /* of keys; no slash at either end; "": none */
    char endpoint[1024]; /* "" : Amazon's */
    bool is_path_style; /* also where the bucket has dots or the endpoint is an address */
    char region[S3_REGION_BYTES];
    bool is_region_sure; /* not the fallback: kept for the run */
    int64_t skew_secs; /* the server's clock less ours; found out when a signature is refused for it */
};

/* "s3://bucket/prefix". Returns 0 or -EINVAL with a message. endpoint NULL or "": Amazon. */
int s3_bucket_parse(
    struct str uri, const char *endpoint, bool is_path_style, struct s3_bucket *ret_bucket, struct err *err);

bool s3_is_region(struct str text); /* [a-z0-9-]{1,32} */

/* What a client of S3 works with. */
struct s3_client {
    struct http_client *http;
    const struct clock *clock;
};

/*
 * HEAD on the bucket, x-amz-bucket-region, over TLS and without credentials; where that is not to be had "eu-central-1"
 * ("us-east-1" with an endpoint of one's own), and is_region_sure stays false. Does nothing where the region is sure.
 * Returns 0 or -ECANCELED.
 */
int s3_find_region(struct s3_client *client, struct s3_bucket *bucket, int64_t deadline_ns);

enum s3_outcome {
    S3_DONE, /* 200 or 201 with an ETag */
    S3_AGAIN, /* may pass: network, 408, 429, 5xx, a success without an ETag, a clock or region just corrected */
    S3_EXPIRED, /* 400, 401 or 403 with an expired or unknown key or token: new credentials, then again */
    S3_DENIED, /* any other 403: may pass */
    S3_REFUSED, /* for good: any other 3xx or 4xx, or a request that cannot be made (endpoint, key, no region) */
    S3_CANCELED,
};

struct s3_result {
    enum s3_outcome outcome;
    int64_t retry_after_secs; /* -1: the server did not say */
};

struct s3_object {
    struct str key; /* unencoded, with the prefix */
    struct str body;
    const char *content_type;
};

/*
 * One attempt. err says, for everything but S3_DONE, what happened: the status, S3's error code and message (cut, no
 * secrets), or the error of the network.
 */
struct s3_result s3_put(struct s3_client *client, struct s3_bucket *bucket, const struct s3_credentials *credentials,
    const struct s3_object *object, int64_t deadline_ns, struct err *err);

/* "s3://bucket/key" */
void s3_put_uri(struct buf *buf, const struct s3_bucket *bucket, struct str key);

/* Where a bucket is: URLs of its objects, virtual-hosted or path style, at Amazon or at an endpoint of one's own. */

enum { S3_URL_BYTES_MAX = 8 * 1024 };

/*
 * Appends the URL of an object (key: unencoded) or, with an empty key, of the bucket. With an empty region it is
 * Amazon's address that knows all of them. The caller checks buf_ok().
 */
void s3_bucket_put_url(const struct s3_bucket *bucket, struct str region, struct str key, struct buf *buf);

/* ".amazonaws.com", in China ".amazonaws.com.cn" */
const char *s3_bucket_domain(struct str region);

#endif
