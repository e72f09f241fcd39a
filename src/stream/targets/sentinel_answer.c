/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a registration and a refresh answer (the API of Sentinel, register and refresh-credentials):
 *   {"run_id":"r-1","upload_uri_prefix":"s3://bucket/runs","upload_credentials":{"access_key":"…","secret_key":"…",
 *    "session_token":"…","expiration":"2026-11-15T09:30:00Z","region":"eu-central-1"}}
 */
#include "stream/targets/sentinel_answer.h"

#include <errno.h>

#include "base/utc.h"
#include "codec/json_read.h"

/* Goes into object keys and the paths of URLs. */
static bool is_run_id(const char *text)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (strcmp(text, "") == 0 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return false;
    return text[strspn(text, allowed)] == '\0';
}

/* Goes into header lines and signatures: visible ASCII. */
static bool is_key(const char *text)
{
    for (; *text; text++) {
        if (*text < 0x21 || *text > 0x7e)
            return false;
    }
    return true;
}

static bool is_given(const struct json_value *value)
{
    return value && value->type != JSON_NULL;
}

static int read_run_id(const struct json_value *value, struct sentinel *fresh, struct err *err)
{
    int64_t number;
    if (!is_given(value))
        return err_set(err, -EBADMSG, "no run_id");
    if (value->type == JSON_NUMBER) {
        if (!json_integer(value, &number) || number < 0 || !str_copy(value->text, fresh->run_id, sizeof(fresh->run_id)))
            return err_set(err, -EBADMSG, "a run_id that cannot be used");
        return 0;
    }
    if (!json_string_copy(value, fresh->run_id, sizeof(fresh->run_id)) || !is_run_id(fresh->run_id))
        return err_set(err, -EBADMSG, "a run_id that cannot be used");
    return 0;
}

/* The run exists, whatever is said of uploads: asking again would make another one. */
static void read_prefix(const struct json_value *value, struct sentinel *fresh)
{
    struct s3_bucket bucket;
    char *prefix = fresh->upload_prefix;
    if (!json_string_copy(value, prefix, sizeof(fresh->upload_prefix)) ||
        s3_bucket_parse(str_of(prefix), NULL, false, &bucket, NULL) < 0)
        prefix[0] = '\0';
}

static int read_key(
    const struct json_value *credentials, const char *name, bool is_needed, char *out, size_t size, struct err *err)
{
    const struct json_value *value = json_get(credentials, name);
    out[0] = '\0';
    if (!is_given(value))
        return is_needed ? err_set(err, -EBADMSG, "upload_credentials without %s", name) : 0;
    if (!json_string_copy(value, out, size) || !is_key(out) || (is_needed && !out[0]))
        return err_set(err, -EBADMSG, "upload_credentials with an unusable %s", name);
    return 0;
}

static void read_expiry(const struct json_value *credentials, struct sentinel *fresh)
{
    char text[64];
    int64_t secs;
    const struct json_value *value = json_get(credentials, "expiration");
    if (!is_given(value))
        value = json_get(credentials, "expires_at");
    if (!is_given(value))
        return;
    if (json_string_copy(value, text, sizeof(text)) && utc_parse_iso(str_of(text), &secs) == 0)
        fresh->credentials.expires_secs = some_i64(secs);
    else
        fresh->must_refresh = true;
}

static int read_credentials(const struct json_value *value, struct sentinel *fresh, struct err *err)
{
    struct s3_credentials *keys = &fresh->credentials;
    if (!is_given(value))
        return err_set(err, -EBADMSG, "no upload_credentials");
    int r = read_key(value, "access_key", true, keys->access_key, sizeof(keys->access_key), err);
    if (r == 0)
        r = read_key(value, "secret_key", true, keys->secret_key, sizeof(keys->secret_key), err);
    if (r == 0)
        r = read_key(value, "session_token", false, keys->session_token, sizeof(keys->session_token), err);
    if (r < 0)
        return r;
    read_expiry(value, fresh);
    if (!json_string_copy(json_get(value, "region"), keys->region, sizeof(keys->region)) ||
        !s3_is_region(str_of(keys->region)))
        keys->region[0] = '\0';
    fresh->has_credentials = true;
    return 0;
}

static int read_members(const struct json_value *root, bool is_run, struct sentinel *fresh, struct err *err)
{
    const struct json_value *credentials = json_get(root, "upload_credentials");
    if (root->type != JSON_OBJECT)
        return err_set(err, -EBADMSG, "no JSON object");
    if (!is_run)
        return read_credentials(credentials, fresh, err);
    int r = read_run_id(json_get(root, "run_id"), fresh, err);
    if (r < 0)
        return r;
    read_prefix(json_get(root, "upload_uri_prefix"), fresh);
    /* Keys that cannot be used are as good as none: a refresh brings others. */
    struct err ignored;
    if (read_credentials(credentials, fresh, &ignored) < 0) {
        s3_credentials_wipe(&fresh->credentials);
        fresh->has_credentials = false;
    }
    return 0;
}

/* Into a copy first, so that an answer that breaks off in the middle leaves what we had. */
static int read_answer(struct str body, bool is_run, struct sentinel *sentinel, struct err *err)
{
    struct json_doc doc = {0};
    struct sentinel fresh = *sentinel;
    fresh.credentials = (struct s3_credentials){0};
    fresh.has_credentials = false;
    fresh.must_refresh = false;
    int r = json_doc_parse(body, &doc);
    if (r == -ENOMEM)
        r = err_set(err, r, "out of memory");
    else if (r < 0)
        r = err_set(err, -EBADMSG, r == -E2BIG ? "a document beyond all bounds" : "no valid JSON");
    else
        r = read_members(doc.items, is_run, &fresh, err);
    json_doc_fini(&doc);
    if (r == 0)
        *sentinel = fresh;
    s3_credentials_wipe(&fresh.credentials);
    return r;
}

int sentinel_answer_read_run(struct str body, struct sentinel *sentinel, struct err *err)
{
    return read_answer(body, true, sentinel, err);
}

int sentinel_answer_read_credentials(struct str body, struct sentinel *sentinel, struct err *err)
{
    return read_answer(body, false, sentinel, err);
}
