/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the services have in common: requests that leave no secret behind, tokens in files, and the JSON of containers
 * and instances:
 *   {"AccessKeyId":"ASIA…","SecretAccessKey":"…","Token":"…","Expiration":"2026-11-15T15:30:00Z"}
 */
#include "aws/remote.h"

#include <errno.h>
#include <fcntl.h>

#include "aws/profile.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/utc.h"
#include "codec/json_read.h"
#include "net/http.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 };

void aws_remote_forget_text(struct buf *text)
{
    if (text->cap > 0)
        str_wipe(text->data, text->cap);
    buf_fini(text);
}

void aws_remote_forget(struct http_answer *answer)
{
    if (answer->body.cap > 0)
        str_wipe(answer->body.data, answer->body.cap);
    http_answer_fini(answer);
}

int aws_remote_fetch(const struct aws_world *world, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err)
{
    int64_t limit_ns = clock_read(world->clock, CLOCK_KIND_MONOTONIC) + ask->limit_ns;
    ask->request.deadline_ns = deadline_ns < limit_ns ? deadline_ns : limit_ns;
    ask->request.answer_max = ANSWER_BYTES_MAX;
    ask->request.is_repeatable = true;
    struct err own = {0};
    struct http_answer answer = {0};
    int r = http_send(world->http, &ask->request, &answer, &own);
    if (r < 0) {
        int code = r == -ECANCELED ? r : r == -EINVAL || r == -EPERM ? -EINVAL : -EAGAIN;
        return err_set(err, code, "AWS credentials: %s: %s", ask->what, own.msg);
    }
    *ret_answer = answer;
    return 0;
}

int aws_remote_fetch_ok(const struct aws_world *world, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err)
{
    struct http_answer answer = {0};
    int r = aws_remote_fetch(world, ask, deadline_ns, &answer, err);
    if (r < 0)
        return r;
    if (answer.status == 200) {
        *ret_answer = answer;
        return 0;
    }
    int status = answer.status;
    aws_remote_forget(&answer);
    return err_set(err, status == 404 && ask->may_be_absent ? -ENOENT : -EAGAIN, "AWS credentials: %s answers %d %s",
        ask->what, status, http_status_words(status));
}

static bool take_word(const struct json_value *value, char *out, size_t size)
{
    return json_string_copy(value, out, size) && aws_profile_is_word(str_of(out));
}

static bool take_credentials(const struct json_value *object, struct s3_credentials *to)
{
    const struct json_value *code = json_get(object, "Code");
    char text[64];
    if (code && (!json_string_copy(code, text, sizeof(text)) || strcmp(text, "Success") != 0))
        return false;
    if (!take_word(json_get(object, "AccessKeyId"), to->access_key, sizeof(to->access_key)) ||
        !take_word(json_get(object, "SecretAccessKey"), to->secret_key, sizeof(to->secret_key)))
        return false;
    const struct json_value *token = json_get(object, "Token");
    if (token && token->type != JSON_NULL && !take_word(token, to->session_token, sizeof(to->session_token)))
        return false;
    const struct json_value *expiry = json_get(object, "Expiration");
    if (!expiry || expiry->type == JSON_NULL)
        return true;
    to->expires_secs.has =
        json_string_copy(expiry, text, sizeof(text)) && utc_parse_iso(str_of(text), &to->expires_secs.v) == 0;
    return to->expires_secs.has;
}

int aws_remote_read_json(struct str body, struct s3_credentials *ret_credentials)
{
    struct json_doc doc = {0};
    struct s3_credentials credentials = {0};
    int r = json_doc_parse(body, &doc) == 0 && take_credentials(&doc.items[0], &credentials) ? 0 : -EBADMSG;
    if (r == 0)
        *ret_credentials = credentials;
    json_doc_fini(&doc);
    s3_credentials_wipe(&credentials);
    return r;
}

int aws_remote_fetch_json(const struct aws_world *world, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err)
{
    struct http_answer answer = {0};
    int r = aws_remote_fetch_ok(world, ask, deadline_ns, &answer, err);
    if (r < 0)
        return r;
    r = aws_remote_read_json((struct str){answer.body.data, answer.body.len}, ret_credentials);
    aws_remote_forget(&answer);
    return r < 0 ? err_set(err, -EAGAIN, "AWS credentials: the answer of %s makes no sense", ask->what) : 0;
}

/* May stand in a header: printable ASCII. */
static bool is_line(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < ' ' || text.p[i] > '~')
            return false;
    return text.n > 0;
}

int aws_remote_read_token(const char *path, size_t max, struct buf *ret_buf, struct str *ret_token, struct err *err)
{
    struct buf buf;
    buf_init(&buf, max);
    /* All at once: a buffer that grows would leave copies behind. */
    int r = buf_reserve(&buf, max) ? file_read_at(AT_FDCWD, path, &buf) : -ENOMEM;
    struct str token = str_trim((struct str){buf.data, buf.len});
    if (r == 0 && is_line(token)) {
        *ret_buf = buf;
        *ret_token = token;
        return 0;
    }
    aws_remote_forget_text(&buf);
    if (r == 0)
        return err_set(err, -EINVAL, "AWS credentials: %s holds no token", path);
    struct err own = {0};
    (void)err_sys(&own, r, "AWS credentials: the token in %s cannot be read", path);
    return err_set(err, -EINVAL, "%s", own.msg);
}
