/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_text.h"

#include <stdint.h>

#include "base/utf8.h"
#include "codec/hex.h"

/* The four digits of \uXXXX. */
static bool take_hex(struct str *rest, uint32_t *ret_unit)
{
    enum { HEX_DIGITS = 4 };
    if (rest->n < HEX_DIGITS)
        return false;
    uint32_t unit = 0;
    for (size_t i = 0; i < HEX_DIGITS; i++) {
        int value = hex_value(rest->p[i]);
        if (value < 0)
            return false;
        unit = unit << 4 | (uint32_t)value;
    }
    str_skip(rest, HEX_DIGITS);
    *ret_unit = unit;
    return true;
}

/* What follows "\u", of which two make one character above U+FFFF; a surrogate without its partner is refused. */
static bool take_code_point(struct str *rest, uint32_t *ret_point)
{
    uint32_t high;
    uint32_t low;
    if (!take_hex(rest, &high) || (high >= 0xdc00 && high <= 0xdfff))
        return false;
    *ret_point = high;
    if (high < 0xd800 || high > 0xdbff)
        return true;
    if (!str_take(rest, '\\') || !str_take(rest, 'u') || !take_hex(rest, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *ret_point = 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
    return true;
}

/* What follows a backslash. */
static bool take_escape(struct str *rest, uint32_t *ret_point)
{
    static const char marks[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (str_take(rest, 'u'))
        return take_code_point(rest, ret_point);
    const char *mark = rest->n > 0 ? memchr(marks, rest->p[0], sizeof(marks) - 1) : NULL;
    if (!mark)
        return false;
    str_skip(rest, 1);
    *ret_point = (unsigned char)meanings[mark - marks];
    return true;
}

static size_t write_utf8(uint32_t point, char ret_bytes[static 4])
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6)
        ret_bytes[i] = (char)(0x80 | (point & 0x3f));
    ret_bytes[0] = (char)(leads[n] | point);
    return n;
}

size_t json_text_next(struct str *rest, char ret_bytes[static 4])
{
    uint32_t point;
    if (str_take(rest, '\\'))
        return take_escape(rest, &point) ? write_utf8(point, ret_bytes) : 0;
    size_t n = (unsigned char)rest->p[0] < ' ' ? 0 : utf8_length(*rest);
    memcpy(ret_bytes, rest->p, n);
    str_skip(rest, n);
    return n;
}
