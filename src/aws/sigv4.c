/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical request of Signature Version 4: method, path, query, headers and the hash of the payload in the one
 * form that both sides can make, after "Create a canonical request".
 */
#include "aws/sigv4.h"

#include <errno.h>

#include "base/auto.h"
#include "codec/hash.h"
#include "net/url.h"

enum { PARAMETERS_MAX = 64 };

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int compare_names(struct str a, struct str b)
{
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        unsigned char x = (unsigned char)ascii_to_lower(a.p[i]), y = (unsigned char)ascii_to_lower(b.p[i]);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

static int compare_bytes(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return order != 0 ? order : a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

/* Without "." and "..", and with one slash where several stand. */
static void put_normal_path(struct buf *buf, struct str path)
{
    size_t begin = buf->len;
    for (size_t i = 0; i < path.n;) {
        size_t end = i;
        while (end < path.n && path.p[end] != '/')
            end++;
        struct str segment = {path.p + i, end - i};
        i = end + 1;
        if (str_eq(segment, STR(".."))) {
            while (buf->len > begin && buf->data[--buf->len] != '/')
                ;
        } else if (segment.n > 0 && !str_eq(segment, STR("."))) {
            buf_putc(buf, '/');
            buf_append(buf, segment.p, segment.n);
        }
    }
    if (buf->len == begin || (path.n > 0 && path.p[path.n - 1] == '/'))
        buf_putc(buf, '/');
}

static void put_path(struct buf *buf, const struct sigv4_request *request)
{
    if (request->is_s3) {
        buf_append(buf, request->path.p, request->path.n);
        if (request->path.n == 0)
            buf_putc(buf, '/');
        return;
    }
    AUTO_BUF struct buf normal = {.max = SIGV4_CANONICAL_MAX};
    put_normal_path(&normal, request->path);
    url_encode_path(buf, buf_str(&normal));
    buf->failed |= normal.failed;
}

/* A parameter in its encoded form, by where it stands in a buffer that may still move. */
struct parameter {
    size_t name, name_bytes, value, value_bytes;
};

static struct str piece(const struct buf *buf, size_t at, size_t n)
{
    return (struct str){buf->data + at, n};
}

static int compare_parameters(const struct buf *texts, const struct parameter *a, const struct parameter *b)
{
    int order = compare_bytes(piece(texts, a->name, a->name_bytes), piece(texts, b->name, b->name_bytes));
    return order != 0 ? order
                      : compare_bytes(piece(texts, a->value, a->value_bytes), piece(texts, b->value, b->value_bytes));
}

/* Appends text encoded once, whether it came encoded or not. */
static int put_recoded(struct buf *texts, struct str text)
{
    AUTO_BUF struct buf plain = {.max = SIGV4_CANONICAL_MAX};
    int r = url_decode(&plain, text);
    if (r < 0)
        return r;
    url_encode(texts, buf_str(&plain));
    texts->failed |= plain.failed;
    return texts->failed ? -E2BIG : 0;
}

static int read_parameter(struct buf *texts, struct str text, struct parameter *ret_parameter)
{
    const char *equals = memchr(text.p, '=', text.n);
    size_t name_bytes = equals ? (size_t)(equals - text.p) : text.n;
    struct str name = {text.p, name_bytes};
    struct str value = equals ? (struct str){equals + 1, text.n - name_bytes - 1} : STR("");
    struct parameter parameter = {.name = texts->len};
    int r = put_recoded(texts, name);
    if (r < 0)
        return r;
    parameter.name_bytes = texts->len - parameter.name;
    parameter.value = texts->len;
    r = put_recoded(texts, value);
    if (r < 0)
        return r;
    parameter.value_bytes = texts->len - parameter.value;
    *ret_parameter = parameter;
    return 0;
}

/* Reads all of them, sorted by name and then by value; returns their number. */
static int read_query(struct buf *texts, struct str query, struct parameter parameters[static PARAMETERS_MAX])
{
    size_t count = 0;
    struct str text;
    while (str_cut(&query, '&', &text)) {
        if (text.n == 0)
            continue;
        if (count == PARAMETERS_MAX)
            return -E2BIG;
        struct parameter fresh;
        int r = read_parameter(texts, text, &fresh);
        if (r < 0)
            return r;
        size_t i = count++;
        for (; i > 0 && compare_parameters(texts, &parameters[i - 1], &fresh) > 0; i--)
            parameters[i] = parameters[i - 1];
        parameters[i] = fresh;
    }
    return (int)count;
}

static int put_query(struct buf *buf, struct str query)
{
    AUTO_BUF struct buf texts = {.max = SIGV4_CANONICAL_MAX};
    struct parameter parameters[PARAMETERS_MAX];
    int count = read_query(&texts, query, parameters);
    for (int i = 0; i < count; i++) {
        const struct parameter *p = &parameters[i];
        if (i > 0)
            buf_putc(buf, '&');
        buf_append(buf, texts.data + p->name, p->name_bytes);
        buf_putc(buf, '=');
        buf_append(buf, texts.data + p->value, p->value_bytes);
    }
    return count < 0 ? count : 0;
}

/* The headers by name; those of the same name stay in their order. Returns their number. */
static int sort_headers(
    const struct sigv4_request *request, const struct sigv4_header *ret_sorted[static SIGV4_HEADERS_MAX])
{
    if (request->header_count == 0)
        return -EINVAL;
    if (request->header_count > SIGV4_HEADERS_MAX)
        return -E2BIG;
    for (size_t n = 0; n < request->header_count; n++) {
        const struct sigv4_header *fresh = &request->headers[n];
        size_t i = n;
        for (; i > 0 && compare_names(ret_sorted[i - 1]->name, fresh->name) > 0; i--)
            ret_sorted[i] = ret_sorted[i - 1];
        ret_sorted[i] = fresh;
    }
    return (int)request->header_count;
}

static bool is_same_as_before(const struct sigv4_header *const *sorted, int i)
{
    return i > 0 && compare_names(sorted[i - 1]->name, sorted[i]->name) == 0;
}

static void put_lower(struct buf *buf, struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        buf_putc(buf, ascii_to_lower(name.p[i]));
}

/* Trimmed, with one blank where several stand; line folding is white space too. */
static void put_value(struct buf *buf, struct str value)
{
    value = str_trim(value);
    for (size_t i = 0; i < value.n; i++) {
        if (!is_white(value.p[i]))
            buf_putc(buf, value.p[i]);
        else if (!is_white(value.p[i - 1]))
            buf_putc(buf, ' ');
    }
}

static int put_headers(struct buf *buf, const struct sigv4_request *request)
{
    const struct sigv4_header *sorted[SIGV4_HEADERS_MAX];
    int count = sort_headers(request, sorted);
    for (int i = 0; i < count; i++) {
        if (is_same_as_before(sorted, i)) {
            buf_putc(buf, ',');
        } else {
            if (i > 0)
                buf_putc(buf, '\n');
            put_lower(buf, sorted[i]->name);
            buf_putc(buf, ':');
        }
        put_value(buf, sorted[i]->value);
    }
    return count < 0 ? count : 0;
}

/* "host;x-amz-date" */
static int put_signed_headers(const struct sigv4_request *request, struct buf *buf)
{
    const struct sigv4_header *sorted[SIGV4_HEADERS_MAX];
    int count = sort_headers(request, sorted);
    for (int i = 0; i < count; i++) {
        if (is_same_as_before(sorted, i))
            continue;
        if (i > 0)
            buf_putc(buf, ';');
        put_lower(buf, sorted[i]->name);
    }
    return count < 0 ? count : 0;
}

int sigv4_put_canonical(const struct sigv4_request *request, struct buf *buf)
{
    buf_append(buf, request->method.p, request->method.n);
    buf_putc(buf, '\n');
    put_path(buf, request);
    buf_putc(buf, '\n');
    int r = put_query(buf, request->query);
    if (r < 0)
        return r;
    buf_putc(buf, '\n');
    r = put_headers(buf, request);
    if (r < 0)
        return r;
    buf_puts(buf, "\n\n");
    r = put_signed_headers(request, buf);
    if (r < 0)
        return r;
    buf_putc(buf, '\n');
    buf_append(buf, request->payload_sha256.p, request->payload_sha256.n);
    return buf_ok(buf) ? 0 : -E2BIG;
}

/*
 * AWS Signature Version 4, after "Create a signed AWS API request": the string to sign, the signing key and the header.
 * Held against the published test vectors.
 */

enum { DATE_BYTES = 8, DATE_TIME_BYTES = 16, SECRET_BYTES_MAX = 512 };

static bool is_amz_date(struct str text)
{
    if (text.n != DATE_TIME_BYTES || text.p[DATE_BYTES] != 'T' || text.p[DATE_TIME_BYTES - 1] != 'Z')
        return false;
    for (size_t i = 0; i < DATE_TIME_BYTES - 1; i++)
        if (i != DATE_BYTES && (text.p[i] < '0' || text.p[i] > '9'))
            return false;
    return true;
}

/* "20150830/us-east-1/s3/aws4_request" */
static void put_scope(struct buf *buf, const struct sigv4_key *key)
{
    buf_append(buf, key->amz_date.p, DATE_BYTES);
    buf_putc(buf, '/');
    buf_append(buf, key->region.p, key->region.n);
    buf_putc(buf, '/');
    buf_append(buf, key->service.p, key->service.n);
    buf_puts(buf, "/aws4_request");
}

int sigv4_put_string_to_sign(struct str canonical, const struct sigv4_key *key, struct buf *buf)
{
    if (!is_amz_date(key->amz_date))
        return -EINVAL;
    uint8_t hash[HASH_BYTES];
    int r = hash_sha256(canonical, hash);
    if (r < 0)
        return r;
    char hex[HASH_HEX_BYTES];
    hash_hex(hash, hex);
    buf_puts(buf, "AWS4-HMAC-SHA256\n");
    buf_append(buf, key->amz_date.p, key->amz_date.n);
    buf_putc(buf, '\n');
    put_scope(buf, key);
    buf_putc(buf, '\n');
    buf_puts(buf, hex);
    return buf_ok(buf) ? 0 : -E2BIG;
}

/* HMAC over HMAC, from the secret to the signature; what lies between is wiped. */
static int sign(const struct sigv4_key *key, struct str string_to_sign, uint8_t ret_signature[static HASH_BYTES])
{
    char secret[SECRET_BYTES_MAX] = "AWS4";
    if (key->secret_key.n > sizeof(secret) - 4)
        return -E2BIG;
    if (key->secret_key.n > 0)
        memcpy(secret + 4, key->secret_key.p, key->secret_key.n);
    const struct str steps[] = {
        {key->amz_date.p, DATE_BYTES}, key->region, key->service, STR("aws4_request"), string_to_sign};
    uint8_t hashes[2][HASH_BYTES];
    struct str under = {secret, key->secret_key.n + 4};
    int r = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++) {
        uint8_t *hash = hashes[i % 2];
        r = hash_hmac_sha256(under, steps[i], hash);
        under = (struct str){(const char *)hash, HASH_BYTES};
    }
    if (r == 0)
        memcpy(ret_signature, under.p, HASH_BYTES);
    str_wipe(secret, sizeof(secret));
    str_wipe((char *)hashes, sizeof(hashes));
    return r;
}

static int put_authorization(
    const struct sigv4_request *request, const struct sigv4_key *key, struct str canonical, struct buf *buf)
{
    AUTO_BUF struct buf text = {.max = SIGV4_CANONICAL_MAX};
    int r = sigv4_put_string_to_sign(canonical, key, &text);
    if (r < 0)
        return r;
    uint8_t signature[HASH_BYTES];
    r = sign(key, buf_str(&text), signature);
    if (r < 0)
        return r;
    char hex[HASH_HEX_BYTES];
    hash_hex(signature, hex);
    buf_puts(buf, "AWS4-HMAC-SHA256 Credential=");
    buf_append(buf, key->access_key.p, key->access_key.n);
    buf_putc(buf, '/');
    put_scope(buf, key);
    buf_puts(buf, ", SignedHeaders=");
    r = put_signed_headers(request, buf);
    if (r < 0)
        return r;
    buf_puts(buf, ", Signature=");
    buf_puts(buf, hex);
    return buf_ok(buf) ? 0 : -E2BIG;
}

int sigv4_sign_request(const struct sigv4_request *request, const struct sigv4_key *key, struct buf *buf)
{
    AUTO_BUF struct buf canonical = {.max = SIGV4_CANONICAL_MAX};
    /* A header may be a session token: room for all of it at once, or growing would leave copies behind. */
    if (!buf_reserve(&canonical, SIGV4_CANONICAL_MAX))
        return -ENOMEM;
    int r = sigv4_put_canonical(request, &canonical);
    if (r == 0)
        r = put_authorization(request, key, buf_str(&canonical), buf);
    str_wipe(canonical.data, canonical.len);
    return r;
}
