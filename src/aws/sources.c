/* SPDX-License-Identifier: Apache-2.0 */
/* Where credentials come from besides files and the environment: a web identity, the container, the instance. */
#include <arpa/inet.h>
#include <errno.h>

#include "aws/aws_internal.h"
#include "aws/s3.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "base/utc.h"
#include "net/http.h"
#include "net/url.h"

/* STS takes a token of at most 20,000 characters; encoded, a byte may become three. */
enum { TOKEN_BYTES_MAX = 20000, FORM_BYTES_MAX = 3 * (TOKEN_BYTES_MAX + 4096) };
#define STS_NS (10 * NS_PER_SEC)

struct sts_request {
    struct str token;
    struct buf url, form;
};

static bool take_element(struct str xml, const char *name, char *out, size_t size)
{
    struct str text = str_trim(s3_error_element(xml, name));
    return text.n > 0 && s3_error_decode(text, out, size) && text_is_visible(str_of(out));
}

int aws_web_identity_read(struct str body, struct s3_credentials *ret_credentials)
{
    struct s3_credentials got = {0};
    char expiry[64];
    bool is_whole = take_element(body, "AccessKeyId", got.access_key, sizeof(got.access_key)) &&
                    take_element(body, "SecretAccessKey", got.secret_key, sizeof(got.secret_key)) &&
                    take_element(body, "SessionToken", got.session_token, sizeof(got.session_token)) &&
                    take_element(body, "Expiration", expiry, sizeof(expiry)) &&
                    utc_parse_iso(str_of(expiry), &got.expires_secs.v) == 0;
    if (is_whole) {
        got.expires_secs.has = true;
        *ret_credentials = got;
    }
    s3_credentials_wipe(&got);
    return is_whole ? 0 : -EBADMSG;
}

static void put_field(struct buf *form, const char *name, struct str value)
{
    buf_puts(form, name);
    url_encode(form, value);
}

static void put_session_name(const struct aws_context *context, struct buf *form)
{
    const char *given = env_get(context->environment, "AWS_ROLE_SESSION_NAME");
    put_field(form, "&RoleSessionName=", str_of(given ? given : "resource-tracker-"));
    if (!given)
        num_put_i64(form, clock_read(context->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC);
}

static void put_endpoint(const struct aws_context *context, struct str region, struct buf *url)
{
    const char *given =
        context->sts_endpoint ? context->sts_endpoint : env_get(context->environment, "AWS_ENDPOINT_URL_STS");
    if (given) {
        buf_puts(url, given);
        return;
    }
    buf_puts(url, "https://sts");
    if (region.n > 0) {
        buf_putc(url, '.');
        buf_append(url, region.p, region.n);
    }
    buf_puts(url, s3_bucket_domain(region));
    buf_putc(url, '/');
}

/* What STS says, unless it repeats the token. */
static int set_refusal(const struct http_answer *answer, struct str token, struct err *err)
{
    struct s3_error error = {0};
    struct str body = buf_str(&answer->body);
    if (body.n > 0 && !memmem(body.p, body.n, token.p, token.n))
        s3_error_read(body, &error);
    return err_set(err, -EAGAIN, "STS answers %d %s%s%s", answer->status,
        error.code[0] ? error.code : http_status_text(answer->status), error.message[0] ? ": " : "", error.message);
}

static int ask_sts(const struct aws_context *context, const struct sts_request *sts, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err)
{
    static const struct http_header headers[] = {
        {"Content-Type", {"application/x-www-form-urlencoded", 33}}, {"Accept", {"application/xml", 15}}};
    if (!buf_ok(&sts->url) || !buf_ok(&sts->form))
        return err_set(err, -EINVAL, "the request to STS is too long");
    struct aws_remote_ask ask = {.what = "STS", .limit_ns = STS_NS};
    ask.request = (struct http_request){
        .method = "POST",
        .url = buf_str(&sts->url),
        .headers = headers,
        .header_count = 2,
        .body = buf_str(&sts->form),
        .has_body = true,
    };
    struct http_answer answer;
    int r = aws_remote_fetch(context, &ask, deadline_ns, &answer, err);
    if (r < 0)
        return r;
    if (answer.status != 200)
        r = set_refusal(&answer, sts->token, err);
    else if (aws_web_identity_read(buf_str(&answer.body), ret_credentials) < 0)
        r = err_set(err, -EAGAIN, "invalid answer from STS");
    aws_remote_wipe(&answer);
    return r;
}

/* Puts the request together; everything in it may have failed for lack of space. */
static void fill_request(
    const struct aws_context *context, const char *role, struct str region, struct sts_request *sts)
{
    buf_init(&sts->url, AWS_REMOTE_URL_BYTES_MAX);
    put_endpoint(context, region, &sts->url);
    buf_init(&sts->form, FORM_BYTES_MAX);
    /* All at once: a buffer that grows would leave copies behind. */
    (void)buf_reserve(&sts->form, FORM_BYTES_MAX);
    buf_puts(&sts->form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
    put_field(&sts->form, "&RoleArn=", str_of(role));
    put_session_name(context, &sts->form);
    put_field(&sts->form, "&WebIdentityToken=", sts->token);
}

int aws_web_identity_find(const struct aws_context *context, struct str region, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err)
{
    const char *path = env_get(context->environment, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *role = env_get(context->environment, "AWS_ROLE_ARN");
    if (!path)
        return -ENOENT;
    if (!role)
        return err_set(err, -EINVAL, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    struct buf file;
    struct sts_request sts;
    int r = aws_remote_read_token(path, TOKEN_BYTES_MAX, &file, &sts.token, err);
    if (r < 0)
        return r;
    fill_request(context, role, region, &sts);
    r = ask_sts(context, &sts, deadline_ns, ret_credentials, err);
    buf_fini(&sts.url);
    aws_remote_wipe_text(&sts.form);
    aws_remote_wipe_text(&file);
    return r;
}

/*
 * Credentials of an ECS task or an EKS pod, after "Container credential provider" of the AWS SDKs reference guide. The
 * address is in the environment; one that is not a secure one must be on this machine or an agent's.
 */

enum { CONTAINER_TOKEN_BYTES_MAX = 16 * 1024 };
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
        return err_set(err, -EINVAL, "%s: %s", name, own.msg);
    if (url.is_https || url_is_loopback(&url) || is_agent_address(&url))
        return 0;
    return err_set(err, -EINVAL, "%s: plain http is for this machine and the agents of AWS only", name);
}

/* Where to ask; -ENOENT where this is no such container. */
static int put_container_uri(const struct aws_context *context, struct buf *buf, struct err *err)
{
    const char *relative = env_get(context->environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = env_get(context->environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!relative && !full)
        return -ENOENT;
    if (relative && relative[0] != '/')
        return err_set(err, -EINVAL, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash");
    int r = relative ? 0 : aws_container_check_uri(full, err);
    if (r < 0)
        return r;
    buf_puts(buf, relative ? "http://169.254.170.2" : "");
    buf_puts(buf, relative ? relative : full);
    return buf_ok(buf) ? 0 : err_set(err, -EINVAL, "the URI of the container's endpoint is too long");
}

/* The file wins over the variable, since what it holds is exchanged while we run. n = 0: none. */
static int find_container_token(
    const struct aws_context *context, struct buf *ret_buf, struct str *ret_token, struct err *err)
{
    const char *path = env_get(context->environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *text = env_get(context->environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (path)
        return aws_remote_read_token(path, CONTAINER_TOKEN_BYTES_MAX, ret_buf, ret_token, err);
    *ret_token = str_trim(str_of(text ? text : ""));
    for (size_t i = 0; i < ret_token->n; i++)
        if ((unsigned char)ret_token->p[i] < ' ' || ret_token->p[i] > '~')
            return err_set(err, -EINVAL, "AWS_CONTAINER_AUTHORIZATION_TOKEN holds odd characters");
    return 0;
}

int aws_container_find(
    const struct aws_context *context, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err)
{
    AUTO_BUF struct buf uri = {.max = AWS_REMOTE_URL_BYTES_MAX};
    int r = put_container_uri(context, &uri, err);
    if (r < 0)
        return r;
    struct buf file;
    buf_init(&file, 0);
    struct http_header header = {.name = "Authorization"};
    r = find_container_token(context, &file, &header.value, err);
    if (r == 0) {
        struct aws_remote_ask ask = {.what = "the endpoint of the container", .limit_ns = CONTAINER_NS};
        ask.request = (struct http_request){.method = "GET",
            .url = buf_str(&uri),
            .headers = &header,
            .header_count = header.value.n > 0,
            .is_direct = true};
        r = aws_remote_fetch_json(context, &ask, deadline_ns, ret_credentials, err);
    }
    aws_remote_wipe_text(&file);
    return r;
}

/*
 * The role of an EC2 instance, after "IMDS credential provider" of the AWS SDKs reference guide: version 2 of the
 * metadata service only, which asks for a token first.
 */

enum { IMDS_TOKEN_BYTES = 1024, ROLE_BYTES = 128 };
#define INSTANCE_NS (1 * NS_PER_SEC)

/* One visit to the metadata service. */
struct visit {
    const struct aws_context *context;
    int64_t deadline_ns;
    char token[IMDS_TOKEN_BYTES]; /* "": none yet */
};

static const char *endpoint_of(const struct aws_context *context)
{
    const char *given = env_get(context->environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = env_get(context->environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    if (given)
        return given;
    return mode && str_is_nocase(mode, "ipv6") ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

/* One document; without a token it can only be the token. */
static int fetch(const struct visit *visit, const char *path, struct http_answer *ret_answer, struct err *err)
{
    struct str endpoint = str_of(endpoint_of(visit->context));
    while (endpoint.n > 0 && endpoint.p[endpoint.n - 1] == '/')
        endpoint.n--;
    AUTO_BUF struct buf url = {.max = AWS_REMOTE_URL_BYTES_MAX};
    buf_append(&url, endpoint.p, endpoint.n);
    buf_puts(&url, path);
    if (!buf_ok(&url))
        return err_set(err, -EINVAL, "the URL of the metadata service is too long");
    bool has_token = visit->token[0] != '\0';
    struct http_header header = {"X-aws-ec2-metadata-token-ttl-seconds", STR("300")};
    if (has_token)
        header = (struct http_header){"X-aws-ec2-metadata-token", str_of(visit->token)};
    struct aws_remote_ask ask = {
        .what = "the metadata service of the instance", .limit_ns = INSTANCE_NS, .may_be_absent = true};
    ask.request = (struct http_request){
        .method = has_token ? "GET" : "PUT",
        .url = buf_str(&url),
        .headers = &header,
        .header_count = 1,
        .has_body = !has_token,
        .is_direct = true,
    };
    return aws_remote_fetch_ok(visit->context, &ask, visit->deadline_ns, ret_answer, err);
}

/* The first line of a document, which must be a word. */
static int fetch_word(const struct visit *visit, const char *path, char *ret_word, size_t size, struct err *err)
{
    struct http_answer answer;
    int r = fetch(visit, path, &answer, err);
    if (r < 0)
        return r;
    struct str rest = buf_str(&answer.body), line = {0};
    (void)str_line(&rest, &line);
    line = str_trim(line);
    if (line.n >= size || !text_is_visible(line))
        r = err_set(err, -EAGAIN, "invalid answer from the metadata service");
    else
        (void)str_copy(line, ret_word, size);
    aws_remote_wipe(&answer);
    return r;
}

/* -ENOENT where nothing answers: then this is no instance of EC2, or one that keeps its role to itself. */
static int open_visit(struct visit *visit, struct err *err)
{
    const char *disabled = env_get(visit->context->environment, "AWS_EC2_METADATA_DISABLED");
    if (disabled && str_is_nocase(disabled, "true"))
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
    static const char directory[] = "/latest/meta-data/iam/security-credentials/";
    char role[ROLE_BYTES];
    int r = fetch_word(visit, directory, role, sizeof(role), err);
    if (r < 0)
        return r;
    AUTO_BUF struct buf path = {.max = AWS_REMOTE_URL_BYTES_MAX};
    buf_puts(&path, directory);
    url_encode(&path, str_of(role));
    struct http_answer answer;
    r = fetch(visit, buf_cstr(&path), &answer, err);
    if (r == 0) {
        r = aws_remote_read_json(buf_str(&answer.body), ret_credentials);
        aws_remote_wipe(&answer);
    }
    if (r == -ENOENT || r == -EBADMSG)
        return err_set(err, -EAGAIN, "the role %s of the instance has none now", role);
    return r;
}

int aws_instance_find(
    const struct aws_context *context, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err)
{
    struct visit visit = {.context = context, .deadline_ns = deadline_ns};
    int r = open_visit(&visit, err);
    if (r == 0)
        r = fetch_role(&visit, ret_credentials, err);
    if (r == 0)
        (void)fetch_region(&visit, ret_credentials->region);
    str_wipe(visit.token, sizeof(visit.token));
    return r;
}

int aws_instance_find_region(
    const struct aws_context *context, int64_t deadline_ns, char ret_region[static S3_REGION_BYTES])
{
    struct visit visit = {.context = context, .deadline_ns = deadline_ns};
    struct err ignored = {0};
    int r = open_visit(&visit, &ignored);
    if (r == 0)
        r = fetch_region(&visit, ret_region);
    str_wipe(visit.token, sizeof(visit.token));
    return r;
}
