/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What S3 says when it does not take an object, and what that means. Bodies are XML of which three elements are of
 * interest; a body of another kind (a proxy's page) just has none of them. Pure: no I/O.
 */
#ifndef AWS_S3_ERROR_H
#define AWS_S3_ERROR_H

#include "aws/s3.h"
#include "base/err.h"
#include "base/str.h"
#include "net/http.h"

enum { S3_ERROR_CODE_BYTES = 64, S3_ERROR_MESSAGE_BYTES = 200 };

struct s3_error {
    char code[S3_ERROR_CODE_BYTES]; /* "AccessDenied": letters, digits, dots; "": none */
    char message[S3_ERROR_MESSAGE_BYTES]; /* one line of UTF-8, cut; "": none */
    char region[S3_REGION_BYTES]; /* the one S3 expected; "": not told */
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
struct s3_result s3_error_judge(
    struct s3_bucket *bucket, const struct http_answer *answer, int64_t now_unix_secs, struct err *err);

#endif
