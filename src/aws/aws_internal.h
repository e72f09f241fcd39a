/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this directory share: the sources of credentials, profiles, and what S3 says of an error. */
#ifndef AWS_AWS_INTERNAL_H
#define AWS_AWS_INTERNAL_H

#include <stdbool.h>

#include "aws/chain.h"
#include "aws/s3.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http.h"

enum { AWS_REMOTE_URL_BYTES_MAX = 4096 };

/* region: of the environment or the profile; "": STS without a region. */
int aws_web_identity_find(const struct aws_context *context, struct str region, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err);

/* The XML of AssumeRoleWithWebIdentity. Returns 0 or -EBADMSG: a part is missing or odd. */
int aws_web_identity_read(struct str body, struct s3_credentials *ret_credentials);

int aws_container_find(
    const struct aws_context *context, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err);

/* May credentials be asked for there? https anywhere, http only on this machine and at the addresses of AWS agents.
 * Returns 0 or -EINVAL with a message. */
int aws_container_check_uri(const char *uri, struct err *err);

/* -ENOENT also where no metadata service answers. Fills in the region, where the instance reports it. */
int aws_instance_find(
    const struct aws_context *context, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err);
int aws_instance_find_region(
    const struct aws_context *context, int64_t deadline_ns, char ret_region[static S3_REGION_BYTES]);

/* What they have in common: one request to a service that messages call `what`. */
struct aws_remote_ask {
    const char *what;
    struct http_request request; /* deadline, size of the answer and repetition are set by the functions below */
    int64_t limit_ns; /* for this request, beside the deadline of everything */
    bool may_be_absent; /* 404 means that there is no such source */
};

/* Returns 0 with an answer of any status, to be freed with aws_remote_wipe. */
int aws_remote_fetch(const struct aws_context *context, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err);

/* The same where only 200 is an answer. */
int aws_remote_fetch_ok(const struct aws_context *context, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err);

/* Asks for JSON and reads it. */
int aws_remote_fetch_json(const struct aws_context *context, struct aws_remote_ask *ask, int64_t deadline_ns,
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
void aws_remote_wipe(struct http_answer *answer);
void aws_remote_wipe_text(struct buf *text);

/*
 * The two files of AWS tools, ~/.aws/credentials (sections [name]) and ~/.aws/config (sections [default] and
 * [profile name]), of which one profile is read. Pure: text in, struct out.
 */

enum aws_profile_file { AWS_PROFILE_CREDENTIALS, AWS_PROFILE_CONFIG };

struct aws_profile {
    struct s3_credentials credentials; /* secrets: wipe. "" for what is not there */
    bool has_foreign_source; /* role_arn, sso_session, credential_process and their like: what we cannot use */
};

/*
 * Keys in any case, blanks around "=", comments behind '#' and ';' (at the beginning of a line, or behind a blank),
 * CRLF; lines that are indented more than the key above belong to it and are passed over. A section may come again; of
 * a key the first value counts. Returns 0, -ENOENT (no such profile), or -EINVAL with a message that names the line: a
 * section without ']', a line without '=' in the profile, or a value that is too long or holds blanks or control
 * characters.
 */
int aws_profile_read(
    struct str text, enum aws_profile_file file, struct str name, struct aws_profile *ret_profile, struct err *err);

/*
 * What S3 says when it does not take an object, and what that means. Bodies are XML of which three elements are of
 * interest; a body of another kind (a proxy's page) just has none of them. Pure: no I/O.
 */

enum { S3_ERROR_CODE_BYTES = 64, S3_ERROR_MESSAGE_BYTES = 200 };

struct s3_error {
    char code[S3_ERROR_CODE_BYTES]; /* "AccessDenied": letters, digits, dots; "": none */
    char message[S3_ERROR_MESSAGE_BYTES]; /* one line of UTF-8, cut; "": none */
    char region[S3_REGION_BYTES]; /* the one S3 expected; "": unknown */
};

void s3_error_read(struct str body, struct s3_error *ret_error);

/* The text of the first element of this name as it stands there, without what is nested in it; p = NULL: none. */
struct str s3_error_element(struct str xml, const char *name);

/*
 * Text of an element with its entities decoded, what must not reach a terminal as blanks and what is no UTF-8 as '?';
 * whole characters and a NUL. False where it had to cut.
 */
bool s3_error_decode(struct str text, char *out, size_t size);

/*
 * What the answer to a PUT means. A clock that is off and a wrong region are corrected in *bucket, if the answer says
 * how and it is news, and give S3_AGAIN. err is filled for everything but S3_DONE.
 */
struct s3_result s3_error_classify(
    struct s3_bucket *bucket, const struct http_answer *answer, int64_t now_unix_secs, struct err *err);

#endif
