/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS Signature Version 4 (docs: "Create a signed AWS API request"): a struct in, a header value out. The clock is the
 * caller's. S3 takes the path as it is sent; other services want it normalized and encoded once more.
 */
#ifndef AWS_SIGV4_H
#define AWS_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { SIGV4_HEADERS_MAX = 32, SIGV4_CANONICAL_MAX = 64 * 1024 };

struct sigv4_header {
    struct str name, value; /* in any case and order; x-amz-date and host must be among them */
};

struct sigv4_request {
    struct str method;
    struct str path; /* as it stands in the request line, before '?'; S3: already percent-encoded */
    struct str query; /* behind '?', as sent; "" for none */
    const struct sigv4_header *headers; /* all of them are signed */
    size_t header_count;
    struct str payload_sha256; /* hex, or "UNSIGNED-PAYLOAD" */
    bool is_s3; /* the path is not normalized and not encoded again */
};

struct sigv4_key {
    struct str access_key, secret_key;
    struct str region, service;
    struct str amz_date; /* "20150830T123600Z": the same text as in the header x-amz-date */
};

/*
 * Appends "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...". Returns 0, -EINVAL (a malformed date, no
 * headers, a broken %XX in the query), -E2BIG (also where a buffer found no memory) or -ENOMEM. Intermediate keys are
 * wiped.
 */
int sigv4_sign_request(const struct sigv4_request *request, const struct sigv4_key *key, struct buf *buf);

/* Its steps, which the published vectors show one by one. */
int sigv4_put_canonical(const struct sigv4_request *request, struct buf *buf);
int sigv4_put_string_to_sign(struct str canonical, const struct sigv4_key *key, struct buf *buf);

#endif
