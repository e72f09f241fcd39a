/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP clients of a run, made from the environment as every tool reads it: proxies and trusted roots. */
#ifndef STREAM_CLIENTS_H
#define STREAM_CLIENTS_H

#include "stream/options.h"

/* One client: for an API or hooks, or for S3, where AWS_CA_BUNDLE names the roots if it is set. Each target has its
 * own, since a client has one connection and one thread for names: a name that cannot be looked up holds back no other
 * target. Returns 0 or -ENOMEM. */
int clients_make_one(
    const struct stream_options *options, const struct net_wait *wait, bool is_s3, struct http_client **ret_client);

/* One of each kind. Returns 0 or -ENOMEM; what was made is to be freed in any case. */
int clients_make(const struct stream_options *options, const struct net_wait *wait, struct http_client **ret_http,
    struct http_client **ret_http_s3);

#endif
