/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One block of SHA-1 (FIPS 180-4, 6.1.2) in a tenth of the bytes that library/sha1.c takes for it. Nothing of ours
 * relies on SHA-1: it is there to see what an old certificate is about, and then to refuse it.
 */
#include "common.h"
/* The above first: it opens the members of the structures. */
#include "mbedtls/platform_util.h"
#include "mbedtls/sha1.h"

static uint32_t rotate_left(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

/* The function of round t, and its constant, of the four kinds of rounds. */
static uint32_t mix(unsigned t, uint32_t b, uint32_t c, uint32_t d)
{
    switch (t / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

int mbedtls_internal_sha1_process(mbedtls_sha1_context *sha1, const unsigned char block[64])
{
    enum { ROUNDS = 80 };
    uint32_t words[ROUNDS];
    for (unsigned t = 0; t < ROUNDS; t++)
        words[t] = t < 16 ? MBEDTLS_GET_UINT32_BE(block, 4 * t)
                          : rotate_left(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
    uint32_t *state = sha1->state;
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned t = 0; t < ROUNDS; t++) {
        uint32_t next = rotate_left(a, 5) + mix(t, b, c, d) + e + words[t];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    mbedtls_platform_zeroize(words, sizeof(words));
    return 0;
}
