/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which AWS tools look for credentials ("Standardized credential providers" of the AWS SDKs reference
 * guide, and what botocore does), and for the region. Names of variables and files are theirs.
 */
#include "aws/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "aws/aws_internal.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/utc.h"
#include "codec/json_read.h"
#include "net/http.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 };

void aws_remote_wipe_text(struct buf *text)
{
    if (text->cap > 0)
        str_wipe(text->data, text->cap);
    buf_fini(text);
}

void aws_remote_wipe(struct http_answer *answer)
{
    if (answer->body.cap > 0)
        str_wipe(answer->body.data, answer->body.cap);
    http_answer_fini(answer);
}

int aws_remote_fetch(const struct aws_context *context, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err)
{
    int64_t limit_ns = clock_read(context->clock, CLOCK_KIND_MONOTONIC) + ask->limit_ns;
    ask->request.deadline_ns = deadline_ns < limit_ns ? deadline_ns : limit_ns;
    ask->request.answer_max = ANSWER_BYTES_MAX;
    ask->request.is_repeatable = true;
    struct err own = {0};
    struct http_answer answer = {0};
    int r = http_send(context->http, &ask->request, &answer, &own);
    if (r < 0) {
        int code = r == -ECANCELED ? r : r == -EINVAL || r == -EPERM ? -EINVAL : -EAGAIN;
        return err_set(err, code, "%s: %s", ask->what, own.msg);
    }
    *ret_answer = answer;
    return 0;
}

int aws_remote_fetch_ok(const struct aws_context *context, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct http_answer *ret_answer, struct err *err)
{
    struct http_answer answer = {0};
    int r = aws_remote_fetch(context, ask, deadline_ns, &answer, err);
    if (r < 0)
        return r;
    if (answer.status == 200) {
        *ret_answer = answer;
        return 0;
    }
    int status = answer.status;
    aws_remote_wipe(&answer);
    return err_set(err, status == 404 && ask->may_be_absent ? -ENOENT : -EAGAIN, "%s answers %d %s", ask->what, status,
        http_status_text(status));
}

static bool take_word(const struct json_value *value, char *out, size_t size)
{
    return json_string_copy(value, out, size) && text_is_visible(str_of(out));
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

int aws_remote_fetch_json(const struct aws_context *context, struct aws_remote_ask *ask, int64_t deadline_ns,
    struct s3_credentials *ret_credentials, struct err *err)
{
    struct http_answer answer = {0};
    int r = aws_remote_fetch_ok(context, ask, deadline_ns, &answer, err);
    if (r < 0)
        return r;
    r = aws_remote_read_json(buf_str(&answer.body), ret_credentials);
    aws_remote_wipe(&answer);
    return r < 0 ? err_set(err, -EAGAIN, "invalid answer from %s", ask->what) : 0;
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
    struct str token = str_trim(buf_str(&buf));
    if (r == 0 && is_line(token)) {
        *ret_buf = buf;
        *ret_token = token;
        return 0;
    }
    aws_remote_wipe_text(&buf);
    if (r == 0)
        return err_set(err, -EINVAL, "%s holds no token", path);
    struct err own = {0};
    (void)err_sys(&own, r, "the token in %s cannot be read", path);
    return err_set(err, -EINVAL, "%s", own.msg);
}

enum { FILE_BYTES_MAX = 1024 * 1024, FILES = 2 };

/* One profile as both files have it. Holds secrets. */
struct profiles {
    const char *name;
    bool is_named; /* by the user, so it must be somewhere */
    bool is_found;
    struct aws_profile files[FILES]; /* by enum aws_profile_file */
};

static void profiles_wipe(struct profiles *profiles)
{
    for (size_t i = 0; i < FILES; i++)
        s3_credentials_wipe(&profiles->files[i].credentials);
}

/* Where the file is; false where that is not known. */
static bool put_path(const struct aws_context *context, enum aws_profile_file file, struct buf *buf)
{
    static const char *const variables[FILES] = {"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"};
    static const char *const names[FILES] = {"/.aws/credentials", "/.aws/config"};
    const char *given = env_get(context->environment, variables[file]);
    const char *home = env_get(context->environment, "HOME");
    bool is_in_home = !given || strncmp(given, "~/", 2) == 0;
    if (is_in_home && !home)
        return false;
    if (is_in_home)
        buf_puts(buf, home);
    buf_puts(buf, !given ? names[file] : is_in_home ? given + 1 : given);
    return buf_ok(buf);
}

/* 0 also where there is no such file. */
static int read_file(
    const struct aws_context *context, enum aws_profile_file file, struct profiles *profiles, struct err *err)
{
    AUTO_BUF struct buf path = {.max = PATH_MAX};
    if (!put_path(context, file, &path))
        return 0;
    struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    /* All at once: a buffer that grows would leave copies behind. What is not written to costs nothing. */
    int r = buf_reserve(&text, FILE_BYTES_MAX) ? file_read_at(AT_FDCWD, buf_cstr(&path), &text) : -ENOMEM;
    struct err own = {0};
    if (r == -ENOENT || r == -ENOTDIR) {
        buf_fini(&text);
        return 0;
    }
    if (r < 0) {
        (void)err_sys(&own, r, "%s cannot be read", buf_cstr(&path));
        r = err_set(err, -EINVAL, "%s", own.msg);
    } else {
        r = aws_profile_read(buf_str(&text), file, str_of(profiles->name), &profiles->files[file], &own);
        profiles->is_found |= r == 0;
        r = r == -EINVAL ? err_set(err, r, "%s, %s", buf_cstr(&path), own.msg) : 0;
    }
    str_wipe(text.data, text.len);
    buf_fini(&text);
    return r;
}

static int read_profiles(const struct aws_context *context, struct profiles *profiles, struct err *err)
{
    const char *given = env_get(context->environment, "AWS_PROFILE");
    if (!given)
        given = env_get(context->environment, "AWS_DEFAULT_PROFILE");
    *profiles = (struct profiles){.name = given ? given : "default", .is_named = given != NULL};
    int r = read_file(context, AWS_PROFILE_CREDENTIALS, profiles, err);
    return r < 0 ? r : read_file(context, AWS_PROFILE_CONFIG, profiles, err);
}

/* Environment, then profile; "": neither. */
static void known_region(
    const struct aws_context *context, const struct profiles *profiles, char ret_region[static S3_REGION_BYTES])
{
    const char *given = env_get(context->environment, "AWS_REGION");
    if (!given || !s3_is_region(str_of(given)))
        given = env_get(context->environment, "AWS_DEFAULT_REGION");
    if (!given || !s3_is_region(str_of(given)))
        given = profiles->files[AWS_PROFILE_CONFIG].credentials.region;
    if (!given[0])
        given = profiles->files[AWS_PROFILE_CREDENTIALS].credentials.region;
    (void)str_copy(str_of(given), ret_region, S3_REGION_BYTES);
}

static bool take_env(const char *text, char *out, size_t size)
{
    struct str value = str_trim(str_of(text));
    return text_is_visible(value) && str_copy(value, out, size);
}

static int find_in_environment(const struct aws_context *context, struct s3_credentials *to, struct err *err)
{
    const char *access_key = env_get(context->environment, "AWS_ACCESS_KEY_ID");
    const char *secret_key = env_get(context->environment, "AWS_SECRET_ACCESS_KEY");
    const char *token = env_get(context->environment, "AWS_SESSION_TOKEN");
    const char *expiry = env_get(context->environment, "AWS_CREDENTIAL_EXPIRATION");
    if (!access_key && !secret_key)
        return -ENOENT;
    if (!access_key || !secret_key)
        return err_set(err, -EINVAL, "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set");
    if (!take_env(access_key, to->access_key, sizeof(to->access_key)) ||
        !take_env(secret_key, to->secret_key, sizeof(to->secret_key)) ||
        (token && !take_env(token, to->session_token, sizeof(to->session_token))))
        return err_set(err, -EINVAL,
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN is too long or holds a "
            "blank or an odd character");
    if (expiry)
        to->expires_secs.has = utc_parse_iso(str_of(expiry), &to->expires_secs.v) == 0;
    return 0;
}

static int find_in_profiles(const struct profiles *profiles, struct s3_credentials *to, struct err *err)
{
    if (!profiles->is_found && profiles->is_named)
        return err_set(err, -EINVAL, "the profile %s, which the environment names, is in no file", profiles->name);
    for (size_t i = 0; i < FILES; i++) {
        const struct s3_credentials *from = &profiles->files[i].credentials;
        if (!from->access_key[0] && !from->secret_key[0])
            continue;
        if (!from->access_key[0] || !from->secret_key[0])
            return err_set(err, -EINVAL, "the profile %s has only one of aws_access_key_id and aws_secret_access_key",
                profiles->name);
        *to = *from;
        return 0;
    }
    for (size_t i = 0; i < FILES; i++)
        if (profiles->files[i].has_foreign_source)
            return err_set(err, -EINVAL,
                "the profile %s gets them from a role, SSO or a program, which is not supported; "
                "put the output of 'aws configure export-credentials --profile %s --format env' into the environment",
                profiles->name, profiles->name);
    return -ENOENT;
}

/* From the second source on: *to is for the first that has them. */
static int find_elsewhere(const struct aws_context *context, const struct profiles *profiles, int64_t deadline_ns,
    struct s3_credentials *to, struct err *err)
{
    char region[S3_REGION_BYTES];
    known_region(context, profiles, region);
    int r = aws_web_identity_find(context, str_of(region), deadline_ns, to, err);
    if (r == -ENOENT)
        r = find_in_profiles(profiles, to, err);
    if (r == -ENOENT)
        r = aws_container_find(context, deadline_ns, to, err);
    if (r == -ENOENT)
        r = aws_instance_find(context, deadline_ns, to, err);
    if (r == -ENOENT)
        return err_set(err, -ENOENT,
            "none in the environment, in the profile %s, from a container or from an instance role; "
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
            profiles->name);
    if (r == 0 && region[0])
        (void)str_copy(str_of(region), to->region, sizeof(to->region));
    return r;
}

int aws_find_credentials(
    const struct aws_context *context, int64_t deadline_ns, struct s3_credentials *ret_credentials, struct err *err)
{
    struct s3_credentials credentials = {0};
    int r = find_in_environment(context, &credentials, err);
    if (r == -ENOENT) {
        struct profiles profiles;
        r = read_profiles(context, &profiles, err);
        if (r == 0)
            r = find_elsewhere(context, &profiles, deadline_ns, &credentials, err);
        profiles_wipe(&profiles);
    }
    if (r == 0)
        *ret_credentials = credentials;
    else
        (void)err_wrap(err, "AWS credentials");
    s3_credentials_wipe(&credentials);
    return r;
}

/* Is the instance the only source that is left? */
static bool is_instance_next(const struct aws_context *context, const struct profiles *profiles)
{
    static const char names[][39] = {"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (env_get(context->environment, names[i]))
            return false;
    for (size_t i = 0; i < FILES; i++)
        if (profiles->files[i].credentials.access_key[0] || profiles->files[i].has_foreign_source)
            return false;
    return true;
}

int aws_find_region(const struct aws_context *context, int64_t deadline_ns, char ret_region[static S3_REGION_BYTES])
{
    struct profiles profiles;
    struct err ignored = {0};
    int r = read_profiles(context, &profiles, &ignored);
    char region[S3_REGION_BYTES];
    known_region(context, &profiles, region);
    if (region[0])
        r = 0;
    else
        r = r == 0 && is_instance_next(context, &profiles) ? aws_instance_find_region(context, deadline_ns, region)
                                                           : -ENOENT;
    profiles_wipe(&profiles);
    if (r < 0)
        return -ENOENT;
    (void)str_copy(str_of(region), ret_region, S3_REGION_BYTES);
    return 0;
}
