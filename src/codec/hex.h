/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal digits, as in %2F and \u002f. */
#ifndef CODEC_HEX_H
#define CODEC_HEX_H

/* The value of a digit in either case, or -1. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
