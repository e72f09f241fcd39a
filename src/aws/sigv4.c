/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS Signature Version 4, after "Create a signed AWS API request": the string to sign, the signing key and the header.
 * Held against the published test vectors.
 */
#include "aws/sigv4.h"

#include <errno.h>

#include "base/auto.h"
#include "codec/hash.h"

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
    AUTO_BUF struct buf text;
    buf_init(&text, SIGV4_CANONICAL_MAX);
    int r = sigv4_put_string_to_sign(canonical, key, &text);
    if (r < 0)
        return r;
    uint8_t signature[HASH_BYTES];
    r = sign(key, (struct str){text.data, text.len}, signature);
    if (r < 0)
        return r;
    char hex[HASH_HEX_BYTES];
    hash_hex(signature, hex);
    buf_puts(buf, "AWS4-HMAC-SHA256 Credential=");
    buf_append(buf, key->access_key.p, key->access_key.n);
    buf_putc(buf, '/');
    put_scope(buf, key);
    buf_puts(buf, ", SignedHeaders=");
    r = sigv4_put_signed_headers(request, buf);
    if (r < 0)
        return r;
    buf_puts(buf, ", Signature=");
    buf_puts(buf, hex);
    return buf_ok(buf) ? 0 : -E2BIG;
}

int sigv4_sign_request(const struct sigv4_request *request, const struct sigv4_key *key, struct buf *buf)
{
    AUTO_BUF struct buf canonical;
    buf_init(&canonical, SIGV4_CANONICAL_MAX);
    /* A header may be a session token: room for all of it at once, or growing would leave copies behind. */
    if (!buf_reserve(&canonical, SIGV4_CANONICAL_MAX))
        return -ENOMEM;
    int r = sigv4_put_canonical(request, &canonical);
    if (r == 0)
        r = put_authorization(request, key, (struct str){canonical.data, canonical.len}, buf);
    str_wipe(canonical.data, canonical.len);
    return r;
}
