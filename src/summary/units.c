/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/units.h"

#include "base/num.h"
#include "base/utf8.h"

void units_put_figure(struct buf *buf, double value)
{
    static const double least = 0.001;
    char text[NUM_TEXT_BYTES];
    if (value > 0 && value < least / 2) {
        buf_putc(buf, '<');
        value = least;
    }
    unsigned decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.0995 || value <= 0 ? 2 : 3;
    char *end = num_write_fixed(text, value, decimals);
    if (!end) {
        text[0] = '?';
        end = text + 1;
        decimals = 0;
    }
    while (decimals > 0 && end[-1] == '0') {
        end--;
        decimals--;
    }
    if (end[-1] == '.')
        end--;
    buf_append(buf, text, (size_t)(end - text));
}

/* The unit for which the value is below the step, or else the last of the units. */
static void put_scaled(struct buf *buf, double value, double step, const char (*unit)[4], unsigned last)
{
    /* From here on it would be rounded up to the step. */
    for (; value >= step - 0.5 && last > 0; last--) {
        value /= step;
        unit++;
    }
    units_put_figure(buf, value);
    buf_putc(buf, ' ');
    buf_puts(buf, *unit);
}

void units_put_bytes(struct buf *buf, double bytes)
{
    static const char units[][4] = {"B", "kB", "MB", "GB", "TB", "PB"};
    put_scaled(buf, bytes, 1000, units, 5);
}

void units_put_mib(struct buf *buf, double mib)
{
    static const char units[][4] = {"KiB", "MiB", "GiB", "TiB"};
    put_scaled(buf, mib * 1024, 1024, units, 3);
}

void units_put_joules(struct buf *buf, double joules)
{
    static const char units[][4] = {"J", "kJ", "Wh", "kWh", "MWh"};
    if (joules < 3600)
        put_scaled(buf, joules, 1000, units, 1);
    else
        put_scaled(buf, joules / 3600, 1000, units + 2, 2);
}

void units_put_secs(struct buf *buf, double secs)
{
    static const char names[][4] = {"s", "min", "h", "d"};
    static const unsigned char sizes[] = {60, 60, 24};
    static const double secs_max = 1e15;
    if (!(secs >= 59.95 && secs < secs_max)) {
        units_put_figure(buf, secs);
        buf_puts(buf, " s");
        return;
    }
    unsigned unit = 0;
    uint64_t n = (uint64_t)(secs + 0.5);
    while (unit < 2 && n >= (uint64_t)sizes[unit] * sizes[unit + 1]) {
        secs /= sizes[unit++];
        n = (uint64_t)(secs + 0.5);
    }
    unsigned below = (unsigned)(n % sizes[unit]);
    num_put_u64(buf, n / sizes[unit]);
    buf_printf(buf, " %s %02u %s", names[unit + 1], below, names[unit]);
}

void units_put_count(struct buf *buf, double count, const char *noun)
{
    size_t start = buf->len;
    units_put_figure(buf, count);
    bool is_one = buf->len == start + 1 && buf->data[start] == '1';
    buf_putc(buf, ' ');
    buf_puts(buf, noun);
    if (!is_one)
        buf_putc(buf, 's');
}

/* The code point of a well-formed sequence. */
static unsigned code_point(const unsigned char *p, size_t length)
{
    unsigned code = length == 1 ? p[0] : p[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* Second controls, marks of direction and of no width, separators of lines, tags: nothing that a name needs. */
static bool is_unseen(unsigned code)
{
    return code - 0x80 < 0x20 || code == 0xad || code == 0x61c || code - 0x200b < 5 || code - 0x2028 < 7 ||
           code - 0x2060 < 0x10 || code == 0xfeff || code - 0xfff9 < 3 || code >= 0xe0000;
}

void units_put_foreign(struct buf *buf, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    struct str left = text ? str_of(text) : (struct str){"", 0};
    size_t end = buf->len + UNITS_FOREIGN_BYTES;
    while (left.n > 0) {
        const unsigned char *p = (const unsigned char *)left.p;
        size_t length = utf8_length(left);
        if (buf->len >= end) {
            buf_puts(buf, "...");
            return;
        }
        if (length == 0 || p[0] < 0x20 || p[0] == 0x7f) {
            char escaped[] = {'\\', 'x', hex[p[0] >> 4], hex[p[0] & 15]};
            buf_append(buf, escaped, sizeof(escaped));
            length = 1;
        } else if (is_unseen(code_point(p, length)))
            buf_putc(buf, '?');
        else
            buf_append(buf, p, length);
        str_skip(&left, length);
    }
}
