/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials for a signed token of somebody else (Kubernetes), by AssumeRoleWithWebIdentity of the STS API reference.
 * The request needs no signature; of the answer these elements are read:
 *   <AccessKeyId>ASIA…</AccessKeyId><SecretAccessKey>…</SecretAccessKey><SessionToken>…</SessionToken>
 *   <Expiration>2026-11-15T10:30:00Z</Expiration>
 */
#include <errno.h>

#include "aws/profile.h"
#include "aws/remote.h"
#include "aws/s3_bucket.h"
#include "aws/s3_error.h"
#include "base/clock.h"
#include "base/num.h"
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
    return text.n > 0 && s3_error_decode(text, out, size) && aws_profile_is_word(str_of(out));
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

static void put_session_name(const struct aws_world *world, struct buf *form)
{
    const char *given = aws_env(world->environment, "AWS_ROLE_SESSION_NAME");
    put_field(form, "&RoleSessionName=", str_of(given ? given : "resource-tracker-"));
    if (!given)
        num_put_i64(form, clock_read(world->clock, CLOCK_KIND_REALTIME) / NS_PER_SEC);
}

static void put_endpoint(const struct aws_world *world, struct str region, struct buf *url)
{
    const char *given = world->sts_endpoint ? world->sts_endpoint : aws_env(world->environment, "AWS_ENDPOINT_URL_STS");
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
static int tell_refusal(const struct http_answer *answer, struct str token, struct err *err)
{
    struct s3_error error = {0};
    struct str body = {answer->body.data, answer->body.len};
    if (body.n > 0 && !memmem(body.p, body.n, token.p, token.n))
        s3_error_read(body, &error);
    return err_set(err, -EAGAIN, "AWS credentials: STS answers %d %s%s%s", answer->status,
        error.code[0] ? error.code : http_status_words(answer->status), error.message[0] ? ": " : "", error.message);
}

static int ask_sts(const struct aws_world *world, const struct sts_request *sts, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err)
{
    static const struct http_header headers[] = {
        {"Content-Type", {"application/x-www-form-urlencoded", 33}}, {"Accept", {"application/xml", 15}}};
    if (!buf_ok(&sts->url) || !buf_ok(&sts->form))
        return err_set(err, -EINVAL, "AWS credentials: the request to STS is too long");
    struct aws_remote_ask ask = {.what = "STS", .limit_ns = STS_NS};
    ask.request = (struct http_request){
        .method = "POST",
        .url = {sts->url.data, sts->url.len},
        .headers = headers,
        .header_count = 2,
        .body = {sts->form.data, sts->form.len},
        .has_body = true,
    };
    struct http_answer answer;
    int r = aws_remote_fetch(world, &ask, deadline_ns, &answer, err);
    if (r < 0)
        return r;
    if (answer.status != 200)
        r = tell_refusal(&answer, sts->token, err);
    else if (aws_web_identity_read((struct str){answer.body.data, answer.body.len}, ret_credentials) < 0)
        r = err_set(err, -EAGAIN, "AWS credentials: the answer of STS makes no sense");
    aws_remote_forget(&answer);
    return r;
}

/* Puts the request together; everything in it may have failed for want of room. */
static void fill_request(const struct aws_world *world, const char *role, struct str region, struct sts_request *sts)
{
    buf_init(&sts->url, AWS_REMOTE_URL_BYTES_MAX);
    put_endpoint(world, region, &sts->url);
    buf_init(&sts->form, FORM_BYTES_MAX);
    /* All at once: a buffer that grows would leave copies behind. */
    (void)buf_reserve(&sts->form, FORM_BYTES_MAX);
    buf_puts(&sts->form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
    put_field(&sts->form, "&RoleArn=", str_of(role));
    put_session_name(world, &sts->form);
    put_field(&sts->form, "&WebIdentityToken=", sts->token);
}

int aws_web_identity_find(const struct aws_world *world, struct str region, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err)
{
    const char *path = aws_env(world->environment, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *role = aws_env(world->environment, "AWS_ROLE_ARN");
    if (!path)
        return -ENOENT;
    if (!role)
        return err_set(err, -EINVAL, "AWS credentials: AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    struct buf file;
    struct sts_request sts;
    int r = aws_remote_read_token(path, TOKEN_BYTES_MAX, &file, &sts.token, err);
    if (r < 0)
        return r;
    fill_request(world, role, region, &sts);
    r = ask_sts(world, &sts, deadline_ns, ret_credentials, err);
    buf_fini(&sts.url);
    aws_remote_forget_text(&sts.form);
    aws_remote_forget_text(&file);
    return r;
}
