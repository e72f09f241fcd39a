/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/units.h"

#include <stdarg.h>

#include "base/num.h"
#include "base/text.h"

/* Digits from p to end with a comma before each group of three, counted from the end. */
static void put_grouped(struct buf *buf, const char *p, const char *end)
{
    for (; p < end; p++) {
        buf_putc(buf, *p);
        if (ascii_is_digit(*p) && p + 1 < end && (end - p - 1) % 3 == 0)
            buf_putc(buf, ',');
    }
}

void units_put_whole(struct buf *buf, uint64_t number)
{
    char text[NUM_TEXT_BYTES];
    put_grouped(buf, text, num_write_u64(text, number));
}

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
        buf_putc(buf, '?');
        return;
    }
    if (decimals == 0) {
        put_grouped(buf, text, end);
        return;
    }
    while (end[-1] == '0')
        end--;
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

void units_put_pct(struct buf *buf, double pct)
{
    units_put_as(buf, 'p', pct);
}

void units_put_secs(struct buf *buf, double secs)
{
    static const char names[][4] = {"s", "min", "h", "d"};
    static const unsigned char sizes[] = {60, 60, 24};
    static const double secs_max = 1e15;
    /* From here on it would be rounded up to 60 s. */
    if (!(secs >= 59.95 && secs < secs_max)) {
        units_put_figure(buf, secs);
        buf_puts(buf, " s");
        return;
    }
    unsigned unit = 0;
    uint64_t n = (uint64_t)(secs + 0.5);
    for (; unit < 2 && n >= (uint64_t)sizes[unit] * sizes[unit + 1]; unit++)
        n /= sizes[unit];
    units_put_whole(buf, n / sizes[unit]);
    buf_putc(buf, ' ');
    buf_puts(buf, names[unit + 1]);
    if (n % sizes[unit] == 0)
        return;
    buf_putc(buf, ' ');
    num_put_u64(buf, n % sizes[unit]);
    buf_putc(buf, ' ');
    buf_puts(buf, names[unit]);
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

void units_put_foreign(struct buf *buf, const char *text)
{
    struct str rest = str_of(text ? text : "");
    size_t end = buf->len + UNITS_FOREIGN_BYTES;
    while (rest.n > 0 && buf_ok(buf)) {
        if (buf->len >= end) {
            buf_puts(buf, "...");
            return;
        }
        str_skip(&rest, text_put_char(buf, rest, TEXT_ESCAPE));
    }
}

static void put_joules(struct buf *buf, double joules)
{
    static const char units[][4] = {"J", "kJ", "Wh", "kWh", "MWh"};
    if (joules < 3600)
        put_scaled(buf, joules, 1000, units, 1);
    else
        put_scaled(buf, joules / 3600, 1000, units + 2, 2);
}

void units_put_as(struct buf *buf, char unit, double value)
{
    static const char grams[][4] = {"mg", "g", "kg", "t"};
    switch (unit) {
    case 'b':
        units_put_bytes(buf, value);
        return;
    case 'm':
        units_put_mib(buf, value);
        return;
    case 't':
        units_put_secs(buf, value);
        return;
    case 'j':
        put_joules(buf, value);
        return;
    case 'g':
        put_scaled(buf, value * 1000, 1000, grams, 3);
        return;
    case 'n':
        units_put_count(buf, value, "core");
        return;
    case 'G':
        units_put_count(buf, value, "GPU");
        return;
    default:
        units_put_figure(buf, value);
    }
    buf_puts(buf, unit == 'p' ? " %" : unit == 'w' ? " W" : unit == 'd' ? " °C" : "");
}

void units_put(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t plain;
    for (; buf_append(buf, format, plain = strcspn(format, "%")), format[plain]; format += plain + 2) {
        char letter = format[plain + 1];
        if (letter == '%')
            buf_putc(buf, letter);
        else if (letter == 's')
            buf_puts(buf, va_arg(args, const char *));
        else if (letter == 'x')
            units_put_foreign(buf, va_arg(args, const char *));
        else if (letter == 'u')
            num_put_u64(buf, va_arg(args, uint64_t));
        else if (letter == 'c') {
            double count = va_arg(args, double);
            units_put_count(buf, count, va_arg(args, const char *));
        } else
            units_put_as(buf, letter, va_arg(args, double));
    }
    va_end(args);
}
