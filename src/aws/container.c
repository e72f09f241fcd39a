/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of an ECS task or an EKS pod, after "Container credential provider" of the AWS SDKs reference guide. The
 * address is in the environment; one that is not a secure one must be on this machine or an agent's.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "aws/remote.h"
#include "base/auto.h"
#include "base/clock.h"
#include "net/url.h"

enum { TOKEN_BYTES_MAX = 16 * 1024 };
#define CONTAINER_NS (2 * NS_PER_SEC)

static bool is_agent_address(const struct url *url)
{
    static const char *const names4[] = {"169.254.170.2", "169.254.170.23"};
    char host[INET6_ADDRSTRLEN];
    if (!str_copy(url->host, host, sizeof(host)))
        return false;
    struct in6_addr address, agent;
    if (url->is_ip6)
        return inet_pton(AF_INET6, host, &address) == 1 && inet_pton(AF_INET6, "fd00:ec2::23", &agent) == 1 &&
               memcmp(&address, &agent, sizeof(agent)) == 0;
    return strcmp(host, names4[0]) == 0 || strcmp(host, names4[1]) == 0;
}

int aws_container_check_uri(const char *uri, struct err *err)
{
    static const char name[] = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    struct url url;
    struct err own = {0};
    if (url_parse(str_of(uri), &url, &own) < 0)
        return err_set(err, -EINVAL, "AWS credentials: %s: %s", name, own.msg);
    if (url.is_https || url_is_loopback(&url) || is_agent_address(&url))
        return 0;
    return err_set(
        err, -EINVAL, "AWS credentials: %s: plain http is for this machine and the agents of AWS only", name);
}

/* Where to ask; -ENOENT where this is no such container. */
static int put_container_uri(const struct aws_world *world, struct buf *buf, struct err *err)
{
    const char *relative = aws_env(world->environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = aws_env(world->environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!relative && !full)
        return -ENOENT;
    if (relative && relative[0] != '/')
        return err_set(
            err, -EINVAL, "AWS credentials: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash");
    int r = relative ? 0 : aws_container_check_uri(full, err);
    if (r < 0)
        return r;
    buf_puts(buf, relative ? "http://169.254.170.2" : "");
    buf_puts(buf, relative ? relative : full);
    return buf_ok(buf) ? 0 : err_set(err, -EINVAL, "AWS credentials: the URI of the container's endpoint is too long");
}

/* The file wins over the variable, since what it holds is exchanged while we run. n = 0: none. */
static int find_container_token(
    const struct aws_world *world, struct buf *ret_buf, struct str *ret_token, struct err *err)
{
    const char *path = aws_env(world->environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *text = aws_env(world->environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (path)
        return aws_remote_read_token(path, TOKEN_BYTES_MAX, ret_buf, ret_token, err);
    *ret_token = str_trim(str_of(text ? text : ""));
    for (size_t i = 0; i < ret_token->n; i++)
        if ((unsigned char)ret_token->p[i] < ' ' || ret_token->p[i] > '~')
            return err_set(err, -EINVAL, "AWS credentials: AWS_CONTAINER_AUTHORIZATION_TOKEN holds odd characters");
    return 0;
}

int aws_container_find(
    const struct aws_world *world, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err)
{
    AUTO_BUF struct buf uri;
    buf_init(&uri, AWS_REMOTE_URL_BYTES_MAX);
    int r = put_container_uri(world, &uri, err);
    if (r < 0)
        return r;
    struct buf file;
    buf_init(&file, 0);
    struct http_header header = {.name = "Authorization"};
    r = find_container_token(world, &file, &header.value, err);
    if (r == 0) {
        struct aws_remote_ask ask = {.what = "the endpoint of the container", .limit_ns = CONTAINER_NS};
        ask.request = (struct http_request){.method = "GET",
            .url = {uri.data, uri.len},
            .headers = &header,
            .header_count = header.value.n > 0,
            .is_direct = true};
        r = aws_remote_fetch_json(world, &ask, deadline_ns, ret_credentials, err);
    }
    aws_remote_forget_text(&file);
    return r;
}
