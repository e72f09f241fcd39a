/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials that a service hands out: STS for a web identity, the endpoint of a container, the metadata service of an
 * instance. All functions with a deadline return 0, -ENOENT (this source is not there), -EAGAIN (it should have
 * credentials and does not give them now), -EINVAL (it is set up wrongly) or -ECANCELED; err says what happened.
 */
#ifndef AWS_REMOTE_H
#define AWS_REMOTE_H

#include "aws/chain.h"
#include "base/buf.h"
#include "net/http.h"

enum { AWS_REMOTE_URL_BYTES_MAX = 4096 };

/* region: of the environment or the profile; "": STS without a region. */
int aws_web_identity_find(const struct aws_world *world, struct str region, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err);

/* The XML of AssumeRoleWithWebIdentity. Returns 0 or -EBADMSG: a part is missing or odd. */
int aws_web_identity_read(struct str body, struct s3_credentials *ret_credentials);

int aws_container_find(
    const struct aws_world *world, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err);

/* May credentials be asked for there? https anywhere, http only on this machine and at the addresses of AWS agents.
 * Returns 0 or -EINVAL with a message. */
int aws_container_check_uri(const char *uri, struct err *err);

/* -ENOENT also where no metadata service answers. Fills in the region, where the instance tells it. */
int aws_instance_find(
    const struct aws_world *world, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err);
int aws_instance_find_region(
    const struct aws_world *world, int64_t deadline_ns, char ret_region[static S3_REGION_BYTES]);

/* What they have in common: one request to a service that messages call `what`. */
struct aws_remote_ask {
    const char *what;
    struct http_request request; /* deadline, size of the answer and repetition are set by the functions below */
    int64_t limit_ns; /* for this request, beside the deadline of everything */
    bool may_be_absent; /* 404 means that there is no such source */
};

/* Returns 0 with an answer of any status, to be freed with aws_remote_forget. */
int aws_remote_fetch(const struct aws_world *world, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err);

/* The same where only 200 is an answer. */
int aws_remote_fetch_ok(const struct aws_world *world, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err);

/* Asks for JSON and reads it. */
int aws_remote_fetch_json(const struct aws_world *world, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err);

/*
 * The JSON of containers and instances: AccessKeyId, SecretAccessKey, Token, Expiration. Returns 0 or -EBADMSG: no
 * JSON, a part is missing or odd, the expiry cannot be read, or "Code" is there and not "Success".
 */
int aws_remote_read_json(struct str body, struct s3_credentials *ret_credentials);

/*
 * A file of at most max bytes that holds one token: its trimmed text, in a buffer that is made here. Returns 0 or
 * -EINVAL with a message.
 */
int aws_remote_read_token(const char *path, size_t max, struct buf *ret_buf, struct str *ret_token, struct err *err);

/* Wipe and free. */
void aws_remote_forget(struct http_answer *answer);
void aws_remote_forget_text(struct buf *text);

#endif
