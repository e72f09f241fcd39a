/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t utf8_length(struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    if (text.n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || text.n < length)
        return 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    }
    return length;
}

bool utf8_is_unsafe(struct str character)
{
    const unsigned char *p = (const unsigned char *)character.p;
    switch (character.n) {
    case 1:
        return p[0] < 0x20 || p[0] == 0x7f;
    case 2: /* U+0080 to U+009F, U+061C */
        return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c);
    case 3: /* U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF */
        return (p[0] == 0xe2 && p[1] == 0x80 && ((p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xa8 && p[2] <= 0xae))) ||
               (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa0 && p[2] <= 0xaf) ||
               (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf);
    case 4: /* U+E0000 to U+E007F: tags */
        return p[0] == 0xf3 && p[1] == 0xa0 && p[2] <= 0x81;
    default:
        return true;
    }
}
