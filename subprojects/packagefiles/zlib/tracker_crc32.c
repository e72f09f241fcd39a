/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of crc32.c: the CRC-32 of gzip (RFC 1952, 8), eight bytes at a time. Its tables are made when they are first
 * needed, so that the program does not carry them. All targets are little-endian.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "zlib.h"

enum { TABLES = 8, BYTES = 256 };

static uint32_t tables[TABLES][BYTES]; /* what a byte comes to that so many others follow */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    for (uint32_t byte = 0; byte < BYTES; byte++) {
        uint32_t sum = byte;
        for (int i = 0; i < TABLES; i++) {
            for (int bit = 0; bit < 8; bit++)
                sum = sum >> 1 ^ (0xedb88320U & -(sum & 1U));
            tables[i][byte] = sum;
        }
    }
}

uLong ZEXPORT crc32(uLong crc, const Bytef *buf, uInt len)
{
    uint32_t sum = ~(uint32_t)crc;
    if (!buf)
        return 0;
    (void)pthread_once(&once, make);
    for (; len >= TABLES; len -= TABLES, buf += TABLES) {
        uint32_t low, high;
        memcpy(&low, buf, sizeof(low));
        memcpy(&high, buf + sizeof(low), sizeof(high));
        low ^= sum;
        sum = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
              tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; len > 0; len--, buf++)
        sum = sum >> 8 ^ tables[0][(sum ^ *buf) & 255];
    return ~sum;
}
