/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the report: {"summary":{…},"ms":[…],"breaks":[…],"lines":[{"graph":0,"name":"tree","tree":true,
 * "mean":[…],"low":[…],"high":[…]}],"heat":{"points":1,"cpus":["AY…"]}}. ms are the lengths of the points; values are
 * whole numbers in a unit that src/summary/page/page.js knows by the graph; low and high are left out where they equal the
 * mean. A column of the heat map covers so many `points` and is one letter, from A (0 %) over Z
 * and a to y (100 %), or '-'.
 */
#include "base/num.h"
#include "encode/json.h"
#include "summary/write.h"

enum { HEAT_CELLS_MAX = 200000, HEAT_PCT_PER_LETTER = 2, LETTERS = 26 };

/* milli-cores, KiB, bytes/s, bytes/s, milli-GPUs, KiB, hundredths of a percent */
static const short chart_scale[SERIES_CHARTS] = {1000, 1024, 1, 1, 1000, 1024, 100};

/* A '<' can only stand inside strings, where it may be written like this. */
static void escape_tags(struct buf *buf, size_t from)
{
    static const char code[] = {'\\', 'u', '0', '0', '3', 'c'};
    size_t count = 0;
    for (size_t i = from; i < buf->len; i++)
        count += buf->data[i] == '<';
    size_t grown = count * (sizeof(code) - 1);
    if (count == 0 || !buf_ok(buf) || !buf_reserve(buf, grown))
        return;
    char *out = buf->data + buf->len + grown;
    for (const char *in = buf->data + buf->len; out != in;) {
        if (*--in == '<')
            memcpy(out -= sizeof(code), code, sizeof(code));
        else
            *--out = *in;
    }
    buf->len += grown;
}

static void put_comma(struct buf *buf, size_t i)
{
    if (i > 0)
        buf_putc(buf, ',');
}

static void put_times(struct buf *buf, const struct series *series)
{
    size_t count = series_points(series);
    uint64_t before = 0;
    buf_puts(buf, ",\"ms\":[");
    for (size_t i = 0; i < count; i++) {
        uint64_t now = (uint64_t)(series_secs(series, i) * 1000 + 0.5);
        put_comma(buf, i);
        num_put_u64(buf, now - before);
        before = now;
    }
    buf_puts(buf, "],\"breaks\":[");
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (!series_is_break(series, i))
            continue;
        put_comma(buf, found++);
        num_put_u64(buf, i);
    }
}

static double pick(const struct series_value *value, unsigned which)
{
    return (double)(which == 0 ? value->mean : which == 1 ? value->low : value->high);
}

static bool has_range(const struct series *series, size_t line)
{
    for (size_t i = 0; i < series_points(series); i++) {
        struct series_value value = series_at(series, line, i);
        if (value.has && value.low < value.high)
            return true;
    }
    return false;
}

static void put_line(struct buf *buf, const struct series *series, size_t line)
{
    static const char keys[3][10] = {",\"mean\":[", ",\"low\":[", ",\"high\":["};
    const struct series_line *about = &series_lines[line];
    buf_puts(buf, "{\"graph\":");
    num_put_u64(buf, about->chart);
    buf_puts(buf, ",\"name\":");
    json_put_string(buf, str_of(about->name));
    buf_puts(buf, about->is_of_tree ? ",\"tree\":true" : ",\"tree\":false");
    unsigned arrays = has_range(series, line) ? 3 : 1;
    for (unsigned which = 0; which < arrays; which++) {
        buf_puts(buf, keys[which]);
        for (size_t i = 0; i < series_points(series); i++) {
            struct series_value value = series_at(series, line, i);
            put_comma(buf, i);
            if (!value.has || !num_put_fixed(buf, pick(&value, which) * chart_scale[about->chart], 0))
                buf_puts(buf, "null");
        }
        buf_putc(buf, ']');
    }
    buf_putc(buf, '}');
}

/* Over points of the same number of samples; -1 where none of them knows it. */
static int heat_mean(const struct series *series, size_t core, size_t from, size_t to)
{
    int sum = 0, count = 0;
    for (size_t i = from; i < to; i++) {
        int share = series_heat_at(series, core, i);
        sum += share >= 0 ? share : 0;
        count += share >= 0;
    }
    return count > 0 ? (sum + count / 2) / count : -1;
}

static char heat_letter(int share)
{
    int level = share / HEAT_PCT_PER_LETTER;
    if (share < 0)
        return '-';
    return (char)(level < LETTERS ? 'A' + level : 'a' + level - LETTERS);
}

static void put_heat(struct buf *buf, const struct series *series)
{
    size_t points = series_points(series), cores = series_heat_cores(series);
    size_t step = points * cores / HEAT_CELLS_MAX + 1;
    buf_puts(buf, ",\"heat\":{\"points\":");
    num_put_u64(buf, step);
    buf_puts(buf, ",\"cpus\":[");
    for (size_t core = 0; core < cores; core++) {
        put_comma(buf, core);
        buf_putc(buf, '"');
        for (size_t i = 0; i < points; i += step) {
            buf_putc(buf, heat_letter(heat_mean(series, core, i, i + step < points ? i + step : points)));
        }
        buf_putc(buf, '"');
    }
    buf_puts(buf, "]}");
}

void report_put_data(struct buf *buf, const struct summary *summary, const struct series *series)
{
    buf_puts(buf, "{\"summary\":");
    size_t from = buf->len;
    json_put_object(buf, &field_summary, summary);
    escape_tags(buf, from);
    put_times(buf, series);
    buf_puts(buf, "],\"lines\":[");
    size_t found = 0;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        if (!series_has(series, line))
            continue;
        put_comma(buf, found++);
        put_line(buf, series, line);
    }
    buf_putc(buf, ']');
    put_heat(buf, series);
    buf_putc(buf, '}');
}
