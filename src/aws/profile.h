/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files of AWS tools, ~/.aws/credentials (sections [name]) and ~/.aws/config (sections [default] and
 * [profile name]), of which one profile is read. Pure: text in, struct out.
 */
#ifndef AWS_PROFILE_H
#define AWS_PROFILE_H

#include <stdbool.h>

#include "aws/s3.h"
#include "base/err.h"
#include "base/str.h"

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

/* Bytes that may stand in keys, tokens and headers: printable ASCII without blanks, at least one. */
bool aws_profile_is_word(struct str text);

#endif
