/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials for a bucket of the user's own, found the way every AWS tool finds them, first hit wins: environment,
 * web identity (EKS), shared credentials file and config file of the profile, container endpoint (ECS, EKS), instance
 * role (IMDSv2). And the region: environment, profile, instance.
 */
#ifndef AWS_CHAIN_H
#define AWS_CHAIN_H

#include "aws/s3.h"

struct aws_context {
    char *const *environment; /* NAME=value */
    struct http_client *http;
    const struct clock *clock;
    const char *sts_endpoint; /* NULL: of the region */
};

/*
 * Returns 0 or a negative errno with a message that says where it looked: -ENOENT (none anywhere, and what to set),
 * -EAGAIN (a service that should have them does not answer now), -EINVAL (a file or a setting is broken, or a named
 * profile is missing), -ECANCELED. Also fills ret_credentials->region where the source knows one.
 */
int aws_find_credentials(
    const struct aws_context *context, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err);

/* AWS_REGION, AWS_DEFAULT_REGION, the profile's, the instance's (only where credentials came from the instance).
 * Returns 0 or -ENOENT. */
int aws_find_region(const struct aws_context *context, int64_t deadline_ns, char ret_region[static S3_REGION_BYTES]);

#endif
