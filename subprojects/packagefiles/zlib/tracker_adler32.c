/* SPDX-License-Identifier: Apache-2.0 */
/* In place of adler32.c: that checksum is of zlib's own format. We make and read gzip only, which has a CRC-32. */
#include "zlib.h"

uLong ZEXPORT adler32(uLong adler, const Bytef *buf, uInt len)
{
    (void)buf;
    (void)len;
    return adler;
}
