/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/clients.h"

#include "aws/chain.h"

#define USER_AGENT "resource-tracker/" RT_VERSION

static const char *either(char *const *environment, const char *name, const char *other)
{
    const char *value = aws_env(environment, name);
    return value ? value : aws_env(environment, other);
}

int clients_make_one(
    const struct stream_options *options, const struct net_wait *wait, bool is_s3, struct http_client **ret_client)
{
    char *const *environment = options->environment;
    struct http_world world = {
        .wait = wait,
        .trust = {.file = aws_env(environment, "SSL_CERT_FILE"), .dir = aws_env(environment, "SSL_CERT_DIR")},
        .https_proxy = either(environment, "https_proxy", "HTTPS_PROXY"),
        /* Not HTTP_PROXY: in a CGI program that is a header somebody sent. */
        .http_proxy = aws_env(environment, "http_proxy"),
        .no_proxy = either(environment, "no_proxy", "NO_PROXY"),
        .user_agent = USER_AGENT,
        .allow_http = options->allow_http,
    };
    const char *bundle = is_s3 ? aws_env(environment, "AWS_CA_BUNDLE") : NULL;
    if (bundle)
        world.trust = (struct tls_trust){.file = bundle};
    return http_client_new(&world, ret_client);
}

int clients_make(const struct stream_options *options, const struct net_wait *wait, struct http_client **ret_http,
    struct http_client **ret_http_s3)
{
    int r = clients_make_one(options, wait, false, ret_http);
    return r < 0 ? r : clients_make_one(options, wait, true, ret_http_s3);
}
