/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error answers of S3 and its kin, after "Error responses" of the S3 API reference:
 *   <?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access
 * Denied</Message><RequestId>…</RequestId></Error>
 */
#include "aws/aws_internal.h"

#include <errno.h>

#include "base/text.h"
#include "base/utc.h"
#include "net/http.h"

/* A signature may be 15 minutes old; a clock as far off as this is no accident of the network. */
enum { SKEW_SECS = 300, SKEW_NAMED_SECS = 5, RETRY_AFTER_SECS_MAX = 3600 };

struct str s3_error_element(struct str xml, const char *name)
{
    size_t n = strlen(name);
    const char *end = xml.p + xml.n;
    const char *at = xml.p;
    while (at && (at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        at++;
        size_t left = (size_t)(end - at);
        if (left <= n || memcmp(at, name, n) != 0 || !strchr(" \t\r\n>", at[n]) || at[n] == '\0')
            continue;
        const char *open = memchr(at, '>', left);
        if (!open)
            break;
        open++;
        const char *close = memchr(open, '<', (size_t)(end - open));
        if (close)
            return (struct str){open, (size_t)(close - open)};
    }
    return (struct str){0};
}

/* The character at the beginning of text, and how many bytes stand for it. */
static struct str next_character(struct str text, size_t *ret_used)
{
    static const struct {
        char entity[7], character[2];
    } entities[] = {
        {"&amp;", "&"},
        {"&lt;", "<"},
        {"&gt;", ">"},
        {"&quot;", "\""},
        {"&apos;", "'"},
        {"&#39;", "'"},
        {"&#34;", "\""},
    };
    for (size_t i = 0; text.p[0] == '&' && i < sizeof(entities) / sizeof(entities[0]); i++) {
        struct str entity = str_of(entities[i].entity);
        if (str_starts(text, entity)) {
            *ret_used = entity.n;
            return str_of(entities[i].character);
        }
    }
    size_t n = utf8_length(text);
    *ret_used = n > 0 ? n : 1;
    struct str character = {text.p, n};
    return n == 0 ? STR("?") : text_is_unsafe(character) ? STR(" ") : character;
}

bool s3_error_decode(struct str text, char *out, size_t size)
{
    size_t n = 0;
    while (text.n > 0) {
        size_t used;
        struct str character = next_character(text, &used);
        if (character.n >= size - n)
            break;
        memcpy(out + n, character.p, character.n);
        n += character.n;
        text = (struct str){text.p + used, text.n - used};
    }
    out[n] = '\0';
    return text.n == 0;
}

static bool is_code(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!(ascii_is_alnum(c) || c == '.' || c == '_'))
            return false;
    }
    return text.n > 0 && text.n < S3_ERROR_CODE_BYTES;
}

void s3_error_read(struct str body, struct s3_error *ret_error)
{
    *ret_error = (struct s3_error){0};
    struct str code = str_trim(s3_error_element(body, "Code"));
    if (is_code(code))
        (void)str_copy(code, ret_error->code, sizeof(ret_error->code));
    struct str message = str_trim(s3_error_element(body, "Message"));
    if (message.n > 0)
        (void)s3_error_decode(message, ret_error->message, sizeof(ret_error->message));
    struct str region = str_trim(s3_error_element(body, "Region"));
    if (s3_is_region(region))
        (void)str_copy(region, ret_error->region, sizeof(ret_error->region));
}

enum { LISTED_CODE_BYTES = 22 };

static bool is_among(const char *code, const char codes[][LISTED_CODE_BYTES])
{
    for (; **codes; codes++)
        if (strcmp(code, *codes) == 0)
            return true;
    return false;
}

/* Amazon says of a token that it is expired with 400, others do with 403 or 401; some delete a temporary key
 * once it has expired, and then report it as unknown. */
static enum s3_outcome outcome_of(int status, const char *code)
{
    static const char expired[][LISTED_CODE_BYTES] = {"ExpiredToken", "ExpiredTokenException", "InvalidToken",
        "InvalidTokenId", "TokenRefreshRequired", "InvalidAccessKeyId", ""};
    static const char passing[][LISTED_CODE_BYTES] = {
        "RequestTimeout", "OperationAborted", "SlowDown", "InternalError", ""};
    if (status == 200 || status == 201)
        return S3_DONE;
    if (http_status_may_pass(status) || status / 100 == 2)
        return S3_AGAIN;
    if ((status == 400 || status == 401 || status == 403) && is_among(code, expired))
        return S3_EXPIRED;
    if ((status == 400 || status == 409) && is_among(code, passing))
        return S3_AGAIN;
    return status == 403 ? S3_DENIED : S3_REFUSED;
}

/* Takes the region that the answer names, where it is another one. */
static bool correct_region(struct s3_bucket *bucket, const struct http_answer *answer, const struct s3_error *error)
{
    if (answer->status / 100 != 3 && answer->status != 400)
        return false;
    struct str region = http_answer_header(answer, "x-amz-bucket-region");
    if (region.n == 0 && strcmp(error->code, "AuthorizationHeaderMalformed") == 0)
        region = str_of(error->region);
    if (!s3_is_region(region) || str_eq(region, str_of(bucket->region)))
        return false;
    (void)str_copy(region, bucket->region, sizeof(bucket->region));
    bucket->is_region_sure = true;
    return true;
}

/* Takes the server's time, where it explains why a signature was refused. */
static bool correct_clock(
    struct s3_bucket *bucket, const struct http_answer *answer, const struct s3_error *error, int64_t now_unix_secs)
{
    bool is_named = strcmp(error->code, "RequestTimeTooSkewed") == 0;
    int64_t date;
    if (answer->status != 403 && !is_named)
        return false;
    if (utc_parse_http(http_answer_header(answer, "Date"), now_unix_secs, &date) < 0)
        return false;
    int64_t skew = date - now_unix_secs;
    int64_t off = skew - bucket->skew_secs;
    if ((off < 0 ? -off : off) <= (is_named ? SKEW_NAMED_SECS : SKEW_SECS))
        return false;
    bucket->skew_secs = skew;
    return true;
}

static int code_of(enum s3_outcome outcome)
{
    switch (outcome) {
    case S3_DONE:
        return 0;
    case S3_AGAIN:
        return -EAGAIN;
    case S3_CANCELED:
        return -ECANCELED;
    case S3_EXPIRED:
    case S3_DENIED:
        return -EACCES;
    case S3_REFUSED:
    default:
        return -EPROTO;
    }
}

struct s3_result s3_error_classify(
    struct s3_bucket *bucket, const struct http_answer *answer, int64_t now_unix_secs, struct err *err)
{
    struct s3_error error;
    s3_error_read(buf_str(&answer->body), &error);
    struct s3_result result = {.outcome = outcome_of(answer->status, error.code),
        .retry_after_secs = http_answer_retry_after(answer, now_unix_secs, RETRY_AFTER_SECS_MAX)};
    /* Every S3 names what it has stored; the page of a portal or of a wrong port does not. */
    bool is_stored = result.outcome == S3_DONE && http_answer_header(answer, "ETag").n > 0;
    if (is_stored)
        return result;
    if (result.outcome == S3_DONE) {
        result.outcome = S3_AGAIN;
        (void)err_set(err, -EAGAIN,
            "S3: the bucket %s answers %d without an ETag, as no S3 does, so nothing counts as stored; check the "
            "endpoint, proxies and captive portals",
            bucket->bucket, answer->status);
    } else if (result.outcome != S3_EXPIRED && correct_region(bucket, answer, &error)) {
        result.outcome = S3_AGAIN;
        (void)err_set(err, -EAGAIN, "S3: the bucket %s is in the region %s", bucket->bucket, bucket->region);
    } else if (result.outcome != S3_EXPIRED && correct_clock(bucket, answer, &error, now_unix_secs)) {
        result.outcome = S3_AGAIN;
        (void)err_set(err, -EAGAIN,
            "S3: this clock and that of the server are %lld s apart; signatures now use the other",
            (long long)bucket->skew_secs);
    } else {
        const char *cause = error.code[0] ? error.code : http_status_text(answer->status);
        (void)err_set(err, code_of(result.outcome), "S3: the bucket %s answers %d %s%s%s", bucket->bucket,
            answer->status, cause, error.message[0] ? ": " : "", error.message);
    }
    return result;
}
