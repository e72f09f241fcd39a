/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bucket is: URLs of its objects, virtual-hosted or path style, at Amazon or at an endpoint of one's own. */
#ifndef AWS_S3_BUCKET_H
#define AWS_S3_BUCKET_H

#include "aws/s3.h"
#include "base/buf.h"

enum { S3_URL_BYTES_MAX = 8 * 1024 };

/*
 * Appends the URL of an object (key: unencoded) or, with an empty key, of the bucket. With an empty region it is
 * Amazon's address that knows all of them. The caller checks buf_ok().
 */
void s3_bucket_put_url(const struct s3_bucket *bucket, struct str region, struct str key, struct buf *buf);

/* ".amazonaws.com", in China ".amazonaws.com.cn" */
const char *s3_bucket_domain(struct str region);

#endif
