/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amdgpu.ids: comments behind #, a line with the version of the format, then one line per card: device and revision in
 * hexadecimal digits and the name, with commas between:
 *   744C,	C8,	AMD Radeon RX 7900 XTX
 */
#include "kernel/amdgpu_ids.h"

#include <errno.h>

enum { HEX_DIGITS_MAX = 8 };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex(struct str text, uint64_t wanted)
{
    uint64_t value = 0;
    if (text.n == 0 || text.n > HEX_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        int digit = hex_digit(text.p[i]);
        if (digit < 0)
            return false;
        value = value * 16 + (uint64_t)digit;
    }
    return value == wanted;
}

static bool cut_field(struct str *remainder, struct str *ret_field)
{
    const char *comma = remainder->n > 0 ? memchr(remainder->p, ',', remainder->n) : NULL;
    if (!comma)
        return false;
    size_t n = (size_t)(comma - remainder->p);
    *ret_field = str_trim((struct str){remainder->p, n});
    *remainder = (struct str){comma + 1, remainder->n - n - 1};
    return true;
}

int amdgpu_ids_find(struct str text, uint64_t device, uint64_t revision, struct str *ret_name)
{
    struct str line, field;
    while (str_line(&text, &line)) {
        if (line.n > 0 && line.p[0] == '#')
            continue;
        if (!cut_field(&line, &field) || !is_hex(field, device) || !cut_field(&line, &field) ||
            !is_hex(field, revision))
            continue;
        struct str name = str_trim(line);
        if (name.n == 0)
            continue;
        *ret_name = name;
        return 0;
    }
    return -ENOENT;
}
