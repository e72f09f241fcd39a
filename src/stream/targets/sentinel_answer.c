/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a registration and a refresh answer (the API of Sentinel, register and refresh-credentials):
 *   {"run_id":"r-1","upload_uri_prefix":"s3://bucket/runs","upload_credentials":{"access_key":"…","secret_key":"…",
 *    "session_token":"…","expiration":"2026-11-15T09:30:00Z","region":"eu-central-1"}}
 */
#include <errno.h>
#include <strings.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/utc.h"
#include "codec/hash.h"
#include "codec/json_read.h"
#include "net/url.h"
#include "stream/targets/sentinel_internal.h"

/* Goes into object keys and the paths of URLs. */
static bool is_run_id(const char *text)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (strcmp(text, "") == 0 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return false;
    return text[strspn(text, allowed)] == '\0';
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
    if (!json_string_copy(value, out, size) || (out[0] ? !text_is_visible(str_of(out)) : is_needed))
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

/*
 * The server's own message about a refusal, made fit for a terminal:
 *   {"detail":[{"loc":["body","host_vcpus"],"msg":"must be positive","type":"…"}]}  ->  body.host_vcpus: must be
 * positive <html><head><title>502 Bad Gateway</title>…  ->  502 Bad Gateway
 */

/* Of the message before it is cut; a longer text is as good as none. */
enum { TEXT_BYTES_MAX = 256 * 1024, LIST_MAX = 8, LOC_MAX = 8 };

#define MASK "***"
#define ELLIPSIS "\xe2\x80\xa6"

static struct str skip(struct str text, size_t n)
{
    return (struct str){text.p + n, text.n - n};
}

/* Appends a string or a number, as text. */
static bool put_scalar(const struct json_value *value, struct buf *text)
{
    if (!value || value->type != JSON_NUMBER)
        return json_string(value, text);
    buf_append(text, value->text.p, value->text.n);
    return true;
}

/* {"loc":["body","tags",0],"msg":"…"} as "body.tags.0: …" */
static bool put_complaint(const struct json_value *complaint, struct buf *text)
{
    const struct json_value *loc = json_get(complaint, "loc");
    const struct json_value *msg = json_get(complaint, "msg");
    if (!msg)
        return json_string(complaint, text);
    if (msg->type != JSON_STRING)
        return false;
    size_t shown = 0;
    for (size_t i = 0; i < LOC_MAX && loc && loc->type == JSON_ARRAY; i++) {
        const struct json_value *part = json_at(loc, i, NULL);
        size_t before = text->len;
        if (!part)
            break;
        if (shown > 0)
            buf_putc(text, '.');
        if (put_scalar(part, text))
            shown++;
        else
            text->len = before;
    }
    if (shown > 0)
        buf_puts(text, ": ");
    return json_string(msg, text);
}

static bool put_list(const struct json_value *list, struct buf *text)
{
    bool has_some = false;
    for (size_t i = 0; i < LIST_MAX; i++) {
        const struct json_value *item = json_at(list, i, NULL);
        if (!item)
            break;
        size_t before = text->len;
        if (has_some)
            buf_puts(text, "; ");
        if (put_complaint(item, text))
            has_some = true;
        else
            text->len = before;
    }
    return has_some;
}

static const char word_keys[][8] = {"detail", "message", "error", "title"};

static bool put_member(const struct json_value *value, struct buf *text)
{
    if (value && value->type == JSON_ARRAY)
        return put_list(value, text);
    if (value && value->type == JSON_OBJECT) {
        const struct json_value *inner = json_get(value, "message");
        return json_string(inner ? inner : json_get(value, "msg"), text);
    }
    return json_string(value, text) && text->len > 0;
}

static bool put_json(const struct json_value *root, struct buf *text)
{
    for (size_t i = 0; i < sizeof(word_keys) / sizeof(word_keys[0]); i++) {
        buf_clear(text);
        if (put_member(json_get(root, word_keys[i]), text))
            return true;
    }
    /* None of the usual names: the first text that there is. */
    if (root->type == JSON_STRING)
        return json_string(root, text);
    for (size_t i = 0; root->type == JSON_OBJECT; i++) {
        const struct json_value *value = json_at(root, i, NULL);
        buf_clear(text);
        if (!value)
            break;
        if (value->type == JSON_STRING && json_string(value, text))
            return true;
    }
    return false;
}

/* What stands between <title> and </title>. */
static void put_title(struct str html, struct buf *text)
{
    while (html.n > 0 && !str_starts_nocase(html, STR("<title")))
        html = skip(html, 1);
    const char *end = html.n > 0 ? memchr(html.p, '>', html.n) : NULL;
    if (!end)
        return;
    html = skip(html, (size_t)(end - html.p) + 1);
    const char *close = html.n > 0 ? memchr(html.p, '<', html.n) : NULL;
    if (close)
        buf_append(text, html.p, (size_t)(close - html.p));
}

static bool is_text(struct str body)
{
    while (body.n > 0) {
        size_t length = utf8_length(body);
        unsigned char c = (unsigned char)body.p[0];
        if (length == 0 || c == 0x7f || (c < 0x20 && c != '\t' && c != '\n' && c != '\r'))
            return false;
        body = skip(body, length);
    }
    return true;
}

/* The word after "Bearer": a secret, unless it is a short plain word as in "missing bearer token". */
static bool is_plain_word(struct str word)
{
    while (word.n > 0 && strchr(".,;:!?\"')", word.p[word.n - 1]))
        word.n--;
    for (size_t i = 0; i < word.n; i++) {
        if (!ascii_is_lower(word.p[i]))
            return false;
    }
    return word.n <= 16;
}

/* How many bytes at the start of rest are secret; *ret_kept of them are shown. */
static size_t secret_length(struct str rest, struct str token, size_t *ret_kept)
{
    struct str bearer = STR("bearer");
    *ret_kept = 0;
    if (token.n > 0 && str_starts(rest, token))
        return token.n;
    if (!str_starts_nocase(rest, bearer))
        return 0;
    struct str after = skip(rest, bearer.n);
    size_t blanks = 0;
    while (blanks < after.n && (after.p[blanks] == ' ' || after.p[blanks] == '\t' || after.p[blanks] == ':'))
        blanks++;
    after = skip(after, blanks);
    size_t n = 0;
    while (n < after.n && (unsigned char)after.p[n] > ' ')
        n++;
    if (blanks == 0 || is_plain_word((struct str){after.p, n}))
        return 0;
    *ret_kept = bearer.n + blanks;
    return bearer.n + blanks + n;
}

static void put_without_secrets(struct str text, struct str token, struct buf *out)
{
    while (text.n > 0) {
        size_t kept;
        size_t n = secret_length(text, token, &kept);
        buf_append(out, text.p, n > 0 ? kept : 1);
        if (n > 0)
            buf_puts(out, MASK);
        text = skip(text, n > 0 ? n : 1);
    }
}

/* In any case: the digits of %2f may be written either way. */
static void mask(struct buf *text, const struct buf *secret)
{
    if (!buf_ok(secret) || secret->len == 0)
        return;
    for (size_t at = 0; at + secret->len <= text->len; at++) {
        if (strncasecmp(text->data + at, secret->data, secret->len) == 0)
            memset(text->data + at, '*', secret->len);
    }
}

static void mask_base64(struct buf *text, struct str secret)
{
    AUTO_BUF struct buf coded = {.max = TEXT_BYTES_MAX};
    hash_base64(&coded, secret);
    while (coded.len > 0 && coded.data[coded.len - 1] == '=')
        coded.len--;
    mask(text, &coded);
    str_wipe(coded.data, coded.len);
}

/* A server may repeat the token as it stands in a URL, or in base64. */
static void mask_codings(struct buf *text, struct str token)
{
    AUTO_BUF struct buf coded = {.max = TEXT_BYTES_MAX};
    url_encode(&coded, token);
    mask(text, &coded);
    buf_clear(&coded);
    url_encode_path(&coded, token);
    mask(text, &coded);
    mask_base64(text, token);
    buf_clear(&coded);
    buf_puts(&coded, "Bearer ");
    buf_append(&coded, token.p, token.n);
    if (buf_ok(&coded) && token.n > 0)
        mask_base64(text, buf_str(&coded));
    str_wipe(coded.data, coded.len);
}

void sentinel_read_message(struct str body, struct str token, char ret_message[static SENTINEL_MESSAGE_BYTES])
{
    struct json_doc doc = {0};
    AUTO_BUF struct buf text = {.max = TEXT_BYTES_MAX};
    AUTO_BUF struct buf shown = {.max = TEXT_BYTES_MAX * (sizeof(MASK) - 1)};
    ret_message[0] = '\0';
    body = str_trim(body);
    int r = json_doc_parse(body, &doc);
    if (r == 0 && !put_json(doc.items, &text))
        buf_clear(&text);
    else if (r < 0 && body.n > 0 && body.p[0] == '<')
        put_title(body, &text);
    else if (r < 0 && is_text(body))
        buf_append(&text, body.p, body.n);
    json_doc_fini(&doc);
    if (buf_ok(&text))
        put_without_secrets(buf_str(&text), token, &shown);
    mask_codings(&shown, token);
    if (buf_ok(&text) && buf_ok(&shown))
        (void)text_clean(buf_str(&shown), TEXT_WORDS, ELLIPSIS, ret_message, SENTINEL_MESSAGE_BYTES);
    str_wipe(text.data, text.len);
}
