/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, HMAC-SHA-256, and bytes as hex and base64; over mbedTLS, which is linked anyway. */
#ifndef CODEC_HASH_H
#define CODEC_HASH_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { HASH_BYTES = 32, HASH_HEX_BYTES = 65 };

/* All return 0 or a negative errno (-ENOMEM, -EIO), which in practice does not happen. */
int hash_sha256(struct str bytes, uint8_t ret_hash[static HASH_BYTES]);
int hash_hmac_sha256(struct str key, struct str bytes, uint8_t ret_hash[static HASH_BYTES]);

/* Lower case, with a NUL. */
void hash_hex(const uint8_t hash[static HASH_BYTES], char ret_text[static HASH_HEX_BYTES]);

/* RFC 4648 with padding. Input of any length may be given in pieces of a multiple of 3 bytes. */
void hash_base64(struct buf *buf, struct str bytes);

#endif
