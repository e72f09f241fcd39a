/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: the packed page of src/summary/page with its data as JSON in the middle.
 * {"summary":{…},"ms":[…],"breaks":[…],"charts":[{"title":"CPU","unit":"cores","one":0.001,"limit":2,"limit_name":"limit",
 * "lines":[{"name":"tree","tree":true,"mean":[…],"low":[…],"high":[…]}]}],"heat":{"points":1,"cpus":["AY…"]}}
 * ms are the lengths of the points. Values are whole numbers, each worth `one` of the unit; low and high are left out
 * where they equal the mean. A column of the heat map covers so many `points` and is one letter, from A (0 %) over Z
 * and a to y (100 %), or '-'.
 */
#include <errno.h>
#include <stddef.h>

#include "base/num.h"
#include "codec/gzip.h"
#include "encode/json.h"
#include "summary/summary_internal.h"
#include "summary/write.h"

enum { HEAT_CELLS_MAX = 200000, HEAT_PCT_PER_LETTER = 2, LETTERS = 26 };

/* What the page shows of a chart, and where the summary has its limit. */
struct chart {
    char title[11], unit[8];
    char one[6]; /* what 1 of the data is worth, in units */
    short scale; /* of the values of the series, to whole numbers */
    char limit_name[6]; /* "": there is none */
    bool is_count; /* the limit is a struct opt_u64, else a struct opt_f64 */
    unsigned limit_scale;
    unsigned short limit_at; /* in struct summary */
};

#define LIMIT(name, is_count, scale, member) name, is_count, scale, (unsigned short)offsetof(struct summary, member)

static const struct chart charts[SERIES_CHARTS] = {
    [SERIES_CPU] = {"CPU", "cores", "0.001", 1000, LIMIT("limit", false, 1, cpu.limit_cores)},
    [SERIES_MEMORY] = {"Memory", "bytes", "1024", 1024, LIMIT("limit", false, 1 << 20, memory.limit_mib)},
    [SERIES_DISK] = {"Disk", "bytes/s", "1", 1, "", false, 0, 0},
    [SERIES_NETWORK] = {"Network", "bytes/s", "1", 1, "", false, 0, 0},
    [SERIES_GPU] = {"GPU", "GPUs", "0.001", 1000, LIMIT("all", true, 1, gpu.count)},
    [SERIES_VRAM] = {"GPU memory", "bytes", "1024", 1024, LIMIT("all", false, 1 << 20, gpu.vram_total_mib)},
    [SERIES_PRESSURE] = {"Pressure", "%", "0.01", 100, "", false, 0, 0},
};

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
    buf_puts(buf, "{\"name\":");
    json_put_string(buf, str_of(about->name));
    buf_puts(buf, about->is_of_tree ? ",\"tree\":true" : ",\"tree\":false");
    unsigned arrays = has_range(series, line) ? 3 : 1;
    for (unsigned which = 0; which < arrays; which++) {
        buf_puts(buf, keys[which]);
        for (size_t i = 0; i < series_points(series); i++) {
            struct series_value value = series_at(series, line, i);
            put_comma(buf, i);
            if (!value.has || !num_put_fixed(buf, pick(&value, which) * charts[about->chart].scale, 0))
                buf_puts(buf, "null");
        }
        buf_putc(buf, ']');
    }
    buf_putc(buf, '}');
}

static void put_limit(struct buf *buf, const struct chart *chart, const struct summary *summary)
{
    static const double limit_max = 1e12; /* its bytes fit */
    const void *at = (const char *)summary + chart->limit_at;
    if (!chart->limit_name[0])
        return;
    struct opt_f64 limit = chart->is_count ? opt_scaled(*(const struct opt_u64 *)at, 1) : *(const struct opt_f64 *)at;
    if (!limit.has || !(limit.v > 0 && limit.v <= limit_max))
        return;
    buf_puts(buf, ",\"limit\":");
    (void)num_put_fixed(buf, limit.v * chart->limit_scale, chart->limit_scale > 1 ? 0 : 4);
    buf_puts(buf, ",\"limit_name\":");
    json_put_string(buf, str_of(chart->limit_name));
}

/* A chart without any line is left out. Returns how many there are by now. */
static size_t put_chart(
    struct buf *buf, const struct summary *summary, const struct series *series, unsigned number, size_t found)
{
    const struct chart *chart = &charts[number];
    size_t lines = 0;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        if (series_lines[line].chart != number || !series_has(series, line))
            continue;
        if (lines++ == 0) {
            put_comma(buf, found++);
            buf_puts(buf, "{\"title\":");
            json_put_string(buf, str_of(chart->title));
            buf_puts(buf, ",\"unit\":");
            json_put_string(buf, str_of(chart->unit));
            buf_puts(buf, ",\"one\":");
            buf_puts(buf, chart->one);
            put_limit(buf, chart, summary);
            buf_puts(buf, ",\"lines\":[");
        }
        put_comma(buf, lines - 1);
        put_line(buf, series, line);
    }
    buf_puts(buf, lines > 0 ? "]}" : "");
    return found;
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
    buf_puts(buf, "],\"charts\":[");
    size_t found = 0;
    for (unsigned number = 0; number < SERIES_CHARTS; number++)
        found = put_chart(buf, summary, series, number, found);
    buf_putc(buf, ']');
    put_heat(buf, series);
    buf_putc(buf, '}');
}

/* The page is unpacked piece by piece; the data goes in where it belongs. */
struct page {
    struct buf *buf;
    const struct summary *summary;
    const struct series *series;
    size_t before_data; /* bytes of the page still to come before the data; 0: the data is written */
};

static int put_piece(void *context, struct str piece)
{
    struct page *page = context;
    if (page->before_data > 0 && piece.n >= page->before_data) {
        buf_append(page->buf, piece.p, page->before_data);
        str_skip(&piece, page->before_data);
        page->before_data = 0;
        report_put_data(page->buf, page->summary, page->series);
    }
    buf_append(page->buf, piece.p, piece.n);
    if (page->before_data > 0)
        page->before_data -= piece.n;
    return buf_ok(page->buf) ? 0 : -ENOBUFS;
}

int report_put_page(struct buf *buf, const struct summary *summary, const struct series *series)
{
    struct page page = {buf, summary, series, report_page_data_at};
    return gzip_unpack((struct str){(const char *)report_page_gz, report_page_gz_bytes}, put_piece, &page);
}

void summary_put_json(struct buf *buf, const struct summary *summary)
{
    json_put_object(buf, &field_summary, summary);
    buf_putc(buf, '\n');
}
