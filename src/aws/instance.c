/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role of an EC2 instance, after "IMDS credential provider" of the AWS SDKs reference guide: version 2 of the
 * metadata service only, which asks for a token first.
 */
#include <errno.h>
#include <strings.h>

#include "aws/profile.h"
#include "aws/remote.h"
#include "base/auto.h"
#include "base/clock.h"
#include "net/url.h"

enum { IMDS_TOKEN_BYTES = 1024, ROLE_BYTES = 128 };
#define INSTANCE_NS (1 * NS_PER_SEC)

/* One visit to the metadata service. */
struct visit {
    const struct aws_world *world;
    int64_t deadline_ns;
    char token[IMDS_TOKEN_BYTES]; /* "": none yet */
};

static const char *endpoint_of(const struct aws_world *world)
{
    const char *given = aws_env(world->environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = aws_env(world->environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    if (given)
        return given;
    return mode && strcasecmp(mode, "ipv6") == 0 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

/* One document; without a token it can only be the token. */
static int fetch(const struct visit *visit, const char *path, struct http_answer *ret_answer, struct err *err)
{
    struct str endpoint = str_of(endpoint_of(visit->world));
    while (endpoint.n > 0 && endpoint.p[endpoint.n - 1] == '/')
        endpoint.n--;
    AUTO_BUF struct buf url;
    buf_init(&url, AWS_REMOTE_URL_BYTES_MAX);
    buf_append(&url, endpoint.p, endpoint.n);
    buf_puts(&url, path);
    if (!buf_ok(&url))
        return err_set(err, -EINVAL, "AWS credentials: the URL of the metadata service is too long");
    bool has_token = visit->token[0] != '\0';
    struct http_header header = {"X-aws-ec2-metadata-token-ttl-seconds", STR("300")};
    if (has_token)
        header = (struct http_header){"X-aws-ec2-metadata-token", str_of(visit->token)};
    struct aws_remote_ask ask = {
        .what = "the metadata service of the instance", .limit_ns = INSTANCE_NS, .may_be_absent = true};
    ask.request = (struct http_request){
        .method = has_token ? "GET" : "PUT",
        .url = {url.data, url.len},
        .headers = &header,
        .header_count = 1,
        .has_body = !has_token,
        .is_direct = true,
    };
    return aws_remote_fetch_ok(visit->world, &ask, visit->deadline_ns, ret_answer, err);
}

/* The first line of a document, which must be a word. */
static int fetch_word(const struct visit *visit, const char *path, char *ret_word, size_t size, struct err *err)
{
    struct http_answer answer;
    int r = fetch(visit, path, &answer, err);
    if (r < 0)
        return r;
    struct str rest = {answer.body.data, answer.body.len}, line = {0};
    (void)str_line(&rest, &line);
    line = str_trim(line);
    if (line.n >= size || !aws_profile_is_word(line))
        r = err_set(err, -EAGAIN, "AWS credentials: the answer of the metadata service makes no sense");
    else
        (void)str_copy(line, ret_word, size);
    aws_remote_forget(&answer);
    return r;
}

/* -ENOENT where nobody answers: then this is no instance of EC2, or one that keeps its role to itself. */
static int open_visit(struct visit *visit, struct err *err)
{
    const char *disabled = aws_env(visit->world->environment, "AWS_EC2_METADATA_DISABLED");
    if (disabled && strcasecmp(disabled, "true") == 0)
        return -ENOENT;
    char token[IMDS_TOKEN_BYTES];
    int r = fetch_word(visit, "/latest/api/token", token, sizeof(token), err);
    if (r == 0)
        (void)str_copy(str_of(token), visit->token, sizeof(visit->token));
    str_wipe(token, sizeof(token));
    return r == -EAGAIN ? -ENOENT : r;
}

static int fetch_region(const struct visit *visit, char ret_region[static S3_REGION_BYTES])
{
    char region[S3_REGION_BYTES];
    struct err ignored = {0};
    int r = fetch_word(visit, "/latest/meta-data/placement/region", region, sizeof(region), &ignored);
    if (r < 0 || !s3_is_region(str_of(region)))
        return -ENOENT;
    (void)str_copy(str_of(region), ret_region, S3_REGION_BYTES);
    return 0;
}

static int fetch_role(const struct visit *visit, struct s3_credentials *ret_credentials, struct err *err)
{
    static const char folder[] = "/latest/meta-data/iam/security-credentials/";
    char role[ROLE_BYTES];
    int r = fetch_word(visit, folder, role, sizeof(role), err);
    if (r < 0)
        return r;
    AUTO_BUF struct buf path;
    buf_init(&path, AWS_REMOTE_URL_BYTES_MAX);
    buf_puts(&path, folder);
    url_encode(&path, str_of(role));
    struct http_answer answer;
    r = fetch(visit, buf_cstr(&path), &answer, err);
    if (r == 0) {
        r = aws_remote_read_json((struct str){answer.body.data, answer.body.len}, ret_credentials);
        aws_remote_forget(&answer);
    }
    if (r == -ENOENT || r == -EBADMSG)
        return err_set(err, -EAGAIN, "AWS credentials: the role %s of the instance has none now", role);
    return r;
}

int aws_instance_find(
    const struct aws_world *world, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err)
{
    struct visit visit = {.world = world, .deadline_ns = deadline_ns};
    int r = open_visit(&visit, err);
    if (r == 0)
        r = fetch_role(&visit, ret_credentials, err);
    if (r == 0)
        (void)fetch_region(&visit, ret_credentials->region);
    str_wipe(visit.token, sizeof(visit.token));
    return r;
}

int aws_instance_find_region(
    const struct aws_world *world, int64_t deadline_ns, char ret_region[static S3_REGION_BYTES])
{
    struct visit visit = {.world = world, .deadline_ns = deadline_ns};
    struct err ignored = {0};
    int r = open_visit(&visit, &ignored);
    if (r == 0)
        r = fetch_region(&visit, ret_region);
    str_wipe(visit.token, sizeof(visit.token));
    return r;
}
