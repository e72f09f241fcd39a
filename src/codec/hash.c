/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104) by mbedTLS; hex and base64 (RFC 4648) by hand. */
#include "codec/hash.h"

#include <errno.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define mbedtls_sha256 mbedtls_sha256_ret
#endif

static const uint8_t *bytes_of(struct str text)
{
    return (const uint8_t *)text.p;
}

static int hash_result(int result)
{
    if (result == 0)
        return 0;
    return result == MBEDTLS_ERR_MD_ALLOC_FAILED ? -ENOMEM : -EIO;
}

int hash_sha256(struct str bytes, uint8_t ret_hash[static HASH_BYTES])
{
    return hash_result(mbedtls_sha256(bytes_of(bytes), bytes.n, ret_hash, 0));
}

int hash_hmac_sha256(struct str key, struct str bytes, uint8_t ret_hash[static HASH_BYTES])
{
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    if (!sha256)
        return -EIO;
    return hash_result(mbedtls_md_hmac(sha256, bytes_of(key), key.n, bytes_of(bytes), bytes.n, ret_hash));
}

void hash_hex(const uint8_t hash[static HASH_BYTES], char ret_text[static HASH_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_BYTES; i++) {
        ret_text[2 * i] = digits[hash[i] >> 4];
        ret_text[2 * i + 1] = digits[hash[i] & 15];
    }
    ret_text[HASH_HEX_BYTES - 1] = '\0';
}

/* One to three bytes as four characters. */
static void put_group(struct buf *buf, const uint8_t *bytes, size_t n)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0) | (n > 2 ? bytes[2] : 0u);
    char group[4] = {
        alphabet[bits >> 18],
        alphabet[bits >> 12 & 63],
        n > 1 ? alphabet[bits >> 6 & 63] : '=',
        n > 2 ? alphabet[bits & 63] : '=',
    };
    buf_append(buf, group, sizeof(group));
}

void hash_base64(struct buf *buf, struct str bytes)
{
    for (size_t at = 0; at < bytes.n; at += 3)
        put_group(buf, bytes_of(bytes) + at, bytes.n - at < 3 ? bytes.n - at : 3);
}
