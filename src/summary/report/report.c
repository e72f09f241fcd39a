/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: the packed page of src/summary/report/page with its title, its body and its data as JSON in between.
 * {"summary":{…},"history":{…},"spans":[[0,0,12.5]],"resolution":"Each point is
 * …","runs":[{"name":"train","points":60}],"ms":[…],"charts":[{"title":"CPU", "about":"Cores in use.
 * …","unit":"cores","one":0.001,"highest":false,"limit":2,"limit_name":"limit","peak":{"line":0,
 * "run":0,"apart":false,"secs":7.5,"value":1.5,"text":"1.5 cores at 7.5
 * s"},"lines":[{"name":"job","job":true,"hue":1,"dash":false,
 * "values":[…],"low":[…],"high":[…]}]}],"heats":[{"title":"…","about":"…","unit":"%","most":100,"points":1,"rows":["AY…"]}]}
 * ms are the lengths of the points of all runs, one run after the other. Values are whole numbers, each worth `one` of
 * the unit; low and high are left out where they equal the value or a chart shows the highest only. A column of a heat
 * map covers so many `points` and is one letter, from A (0) over Z and a to y (`most`), or '-'.
 */
#include <errno.h>
#include <stddef.h>

#include "base/num.h"
#include "base/text.h"
#include "codec/gzip.h"
#include "encode/json.h"
#include "summary/report/charts.h"
#include "summary/summary_internal.h"
#include "summary/write.h"

enum { HEAT_CELLS_MAX = 200000, HEAT_LEVELS = 50, LETTERS = 26, GROUP_MAX = 1024 };

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

/* Characters that would hide or reverse what stands around them become '?'; none of them is ASCII in JSON. */
static void replace_unsafe(struct buf *buf, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < buf->len;) {
        size_t n = utf8_length((struct str){buf->data + i, buf->len - i});
        bool is_unsafe = n > 1 && text_is_unsafe((struct str){buf->data + i, n});
        n += n == 0;
        if (is_unsafe)
            buf->data[kept++] = '?';
        else {
            memmove(buf->data + kept, buf->data + i, n);
            kept += n;
        }
        i += n;
    }
    buf->len = kept;
}

static void put_comma(struct buf *buf, size_t i)
{
    if (i > 0)
        buf_putc(buf, ',');
}

/* A text that a function of charts.h wrote to scratch, which is emptied. */
static void put_scratch(struct buf *buf, const char *key, struct buf *scratch)
{
    size_t from = buf->len;
    json_put_text(buf, key, buf_cstr(scratch));
    escape_tags(buf, from);
    buf_clear(scratch);
}

/* Points are taken in groups, which end with their run. */
struct walk {
    const struct chart_view *view;
    size_t run, from, to; /* the group */
};

static bool next_group(struct walk *walk)
{
    const struct chart_view *view = walk->view;
    walk->from = walk->to;
    while (walk->run < view->run_count && walk->from >= view->runs[walk->run].to)
        walk->run++;
    if (walk->run == view->run_count)
        return false;
    size_t end = view->runs[walk->run].to;
    walk->to = walk->from + view->group < end ? walk->from + view->group : end;
    return true;
}

static void put_runs(struct buf *buf, const struct chart_view *view, struct buf *scratch)
{
    json_put_key(buf, "runs");
    for (size_t run = 0; run < view->run_count; run++) {
        buf_puts(buf, run > 0 ? ",{\"points\":" : "[{\"points\":");
        num_put_u64(buf, (view->runs[run].to - view->runs[run].from + view->group - 1) / view->group);
        chart_put_run_name(scratch, view, run);
        put_scratch(buf, "name", scratch);
        buf_putc(buf, '}');
    }
    buf_puts(buf, view->run_count > 0 ? "]" : "[]");
    json_put_key(buf, "ms");
    buf_putc(buf, '[');
    uint64_t before = 0;
    for (struct walk walk = {.view = view}; next_group(&walk);) {
        uint64_t now = (uint64_t)(series_secs(view->series, walk.to - 1) * 1000 + 0.5);
        put_comma(buf, walk.from);
        num_put_u64(buf, now - before);
        before = now;
    }
    buf_putc(buf, ']');
}

/* What 1 of the data is worth, so that no number has more than seven digits, and five where points are coarse anyway.
 */
static double worth_of_one(const struct chart_view *view, enum series_chart number)
{
    double number_max = series_step(view->series) * view->group > 1 ? 1e5 : 1e7;
    double one = charts[number].least, most = 0;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        if (series_lines[line].chart == number && series_has(view->series, line) &&
            series_peak(view->series, line).value > most)
            most = series_peak(view->series, line).value;
    }
    while (most * charts[number].scale / one >= number_max)
        one *= 10;
    return one;
}

enum pick { PICK_MEAN, PICK_LOW, PICK_HIGH };

static void put_values(
    struct buf *buf, const struct chart_view *view, size_t line, const char *key, enum pick pick, double factor)
{
    json_put_key(buf, key);
    buf_putc(buf, '[');
    for (struct walk walk = {.view = view}; next_group(&walk);) {
        struct series_value value = series_over(view->series, line, walk.from, walk.to);
        double picked = (double)(pick == PICK_MEAN ? value.mean : pick == PICK_LOW ? value.low : value.high);
        put_comma(buf, walk.from);
        if (!value.has || !num_put_fixed(buf, picked * factor, 0))
            buf_puts(buf, "null");
    }
    buf_putc(buf, ']');
}

static bool has_range(const struct chart_view *view, size_t line)
{
    for (struct walk walk = {.view = view}; next_group(&walk);) {
        struct series_value value = series_over(view->series, line, walk.from, walk.to);
        if (value.has && value.low < value.high)
            return true;
    }
    return false;
}

static void put_line(struct buf *buf, const struct chart_view *view, size_t line, double one)
{
    const struct series_line *about = &series_lines[line];
    const struct chart *chart = &charts[about->chart];
    double factor = chart->scale / one;
    buf_puts(buf, "{\"name\":");
    json_put_string(buf, str_of(chart_line_name(view, line)));
    json_put_bool(buf, "job", about->is_of_tree);
    json_put_key(buf, "hue");
    num_put_u64(buf, about->hue);
    json_put_bool(buf, "dash", about->is_dashed);
    put_values(buf, view, line, "values", chart->shows_highest ? PICK_HIGH : PICK_MEAN, factor);
    if (chart->shows_highest || !has_range(view, line)) {
        buf_putc(buf, '}');
        return;
    }
    if (chart->has_low)
        put_values(buf, view, line, "low", PICK_LOW, factor);
    put_values(buf, view, line, "high", PICK_HIGH, factor);
    buf_putc(buf, '}');
}

static void put_peak(struct buf *buf, const struct chart_view *view, enum series_chart number, struct buf *scratch)
{
    struct chart_peak peak = chart_peak(view, number);
    size_t before = 0;
    if (!peak.has)
        return;
    for (size_t line = 0; line < peak.line; line++)
        before += series_lines[line].chart == number && series_has(view->series, line);
    json_put_key(buf, "peak");
    buf_puts(buf, "{\"line\":");
    num_put_u64(buf, before);
    json_put_key(buf, "run");
    num_put_u64(buf, peak.run);
    json_put_bool(buf, "apart", summary_peak_is_apart(peak.kind));
    json_put_key(buf, "secs");
    (void)num_put_short(buf, peak.secs);
    json_put_key(buf, "value");
    (void)num_put_short(buf, peak.drawn);
    chart_put_peak(scratch, number, &peak);
    put_scratch(buf, "text", scratch);
    buf_putc(buf, '}');
}

/* Returns how many there are by now. */
static size_t put_chart(
    struct buf *buf, const struct chart_view *view, enum series_chart number, struct buf *scratch, size_t found)
{
    const struct chart *chart = &charts[number];
    double one = worth_of_one(view, number);
    size_t lines = 0;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        if (series_lines[line].chart != number || !series_has(view->series, line))
            continue;
        if (lines++ == 0) {
            put_comma(buf, found++);
            buf_puts(buf, "{\"title\":");
            json_put_string(buf, str_of(chart->title));
            json_put_text(buf, "about", chart->about);
            json_put_text(buf, "unit", chart->unit);
            json_put_key(buf, "one");
            (void)(one >= 1 ? num_put_fixed(buf, one, 0) : num_put_short(buf, one));
            json_put_bool(buf, "highest", chart->shows_highest);
            struct opt_f64 limit = chart_limit(view, number);
            if (limit.has) {
                json_put_key(buf, "limit");
                (void)num_put_fixed(buf, limit.v, chart->scale > 1 ? 0 : 4);
                json_put_text(buf, "limit_name", chart->limit_name);
            }
            put_peak(buf, view, number, scratch);
            buf_puts(buf, ",\"lines\":[");
        }
        put_comma(buf, lines - 1);
        put_line(buf, view, line, one);
    }
    buf_puts(buf, lines > 0 ? "]}" : "");
    return found;
}

static char heat_letter(double value, double most)
{
    if (value < 0)
        return '-';
    int level = (int)(value / most * HEAT_LEVELS);
    level = level < HEAT_LEVELS ? level : HEAT_LEVELS;
    return (char)(level < LETTERS ? 'A' + level : 'a' + level - LETTERS);
}

/* Where the scale of a heat map ends. */
static double heat_most(const struct chart_view *view, enum series_grid grid)
{
    double most = heat_maps[grid].most;
    size_t points = series_points(view->series), rows = series_rows(view->series, grid);
    for (size_t row = 0; heat_maps[grid].most == 0 && row < rows; row++) {
        for (size_t i = 0; i < points; i++) {
            double value = series_cell(view->series, grid, row, i, i + 1);
            most = value > most ? value : most;
        }
    }
    return most > 1 ? (double)(unsigned)(most + 0.9999) : 1;
}

static void put_heat(struct buf *buf, const struct chart_view *view, enum series_grid grid, size_t step)
{
    const struct heat_map *about = &heat_maps[grid];
    size_t points = series_points(view->series), every = step * view->group;
    double most = heat_most(view, grid);
    buf_puts(buf, "{\"title\":");
    json_put_string(buf, str_of(about->title));
    json_put_text(buf, "about", about->about);
    json_put_text(buf, "unit", about->unit);
    json_put_key(buf, "most");
    (void)num_put_fixed(buf, most, 0);
    json_put_key(buf, "points");
    num_put_u64(buf, step);
    buf_puts(buf, ",\"rows\":[");
    for (size_t row = 0; row < series_rows(view->series, grid); row++) {
        put_comma(buf, row);
        buf_putc(buf, '"');
        for (size_t i = 0; i < points; i += every) {
            size_t to = i + every < points ? i + every : points;
            buf_putc(buf, heat_letter(series_cell(view->series, grid, row, i, to), most));
        }
        buf_putc(buf, '"');
    }
    buf_puts(buf, "]}");
}

/* Runs that are drawn over each other have no common columns. */
static void put_heats(struct buf *buf, const struct chart_view *view)
{
    size_t cells = 0, found = 0;
    for (unsigned grid = 0; grid < SERIES_GRIDS; grid++)
        cells += series_rows(view->series, (enum series_grid)grid) * (series_points(view->series) / view->group + 1);
    json_put_key(buf, "heats");
    buf_putc(buf, '[');
    for (unsigned grid = 0; view->run_count == 1 && grid < SERIES_GRIDS; grid++) {
        if (series_rows(view->series, (enum series_grid)grid) == 0)
            continue;
        put_comma(buf, found++);
        put_heat(buf, view, (enum series_grid)grid, cells / HEAT_CELLS_MAX + 1);
    }
    buf_putc(buf, ']');
}

static void put_history(struct buf *buf, const struct chart_view *view, struct buf *scratch)
{
    chart_put_resolution(scratch, view);
    put_scratch(buf, "resolution", scratch);
    put_runs(buf, view, scratch);
    json_put_key(buf, "charts");
    buf_putc(buf, '[');
    size_t found = 0;
    for (unsigned number = 0; number < SERIES_CHARTS; number++) {
        if (chart_is_shown(view, (enum series_chart)number))
            found = put_chart(buf, view, (enum series_chart)number, scratch, found);
    }
    buf_putc(buf, ']');
    put_heats(buf, view);
}

/* [[phase, from, to], …]: phases of the summary by their number, and seconds. */
static void put_spans(struct buf *buf, const struct sample_list *list)
{
    const struct summary_phase_span *span = list->items;
    json_put_key(buf, "spans");
    buf_putc(buf, '[');
    for (size_t i = 0; list->present && i < list->count; i++, span++) {
        put_comma(buf, i);
        buf_putc(buf, '[');
        num_put_u64(buf, span->phase);
        buf_putc(buf, ',');
        (void)num_put_short(buf, span->from_secs);
        buf_putc(buf, ',');
        (void)num_put_short(buf, span->to_secs);
        buf_putc(buf, ']');
    }
    buf_putc(buf, ']');
}

void report_put_data(struct buf *buf, const struct summary *summary, const struct series *series)
{
    enum { SCRATCH_BYTES = 4096 };
    struct buf scratch;
    buf_init(&scratch, SCRATCH_BYTES);
    size_t start = buf->len;
    buf_puts(buf, "{\"summary\":");
    size_t from = buf->len;
    json_put_object(buf, field_summary, summary);
    json_put_key(buf, "history");
    buf_append(buf, summary->history.p, summary->history.n);
    buf_puts(buf, summary->history.n > 0 ? "" : "null");
    replace_unsafe(buf, from);
    escape_tags(buf, from);
    put_spans(buf, &summary->phase_spans);
    from = buf->len;
    /* As many points as fit: twice as many in one where they do not. */
    for (size_t group = 1; group <= GROUP_MAX; group *= 2) {
        struct chart_view view;
        chart_view_init(&view, summary, series, group);
        put_history(buf, &view, &scratch);
        if (!buf_ok(buf) || buf->len - start < REPORT_DATA_BYTES_MAX || group == GROUP_MAX)
            break;
        buf->len = from;
    }
    buf_putc(buf, '}');
    buf_fini(&scratch);
}

/* The page is unpacked piece by piece; what is made for it goes in where it belongs. */
struct page {
    struct buf *buf;
    const struct summary *summary;
    const struct series *series;
    size_t mark, passed; /* the next mark, bytes of the page so far */
};

static void put_part(const struct page *page)
{
    if (page->mark == REPORT_TITLE)
        body_put_title(page->buf, page->summary);
    else if (page->mark == REPORT_BODY)
        body_put(page->buf, page->summary, page->series);
    else
        report_put_data(page->buf, page->summary, page->series);
}

static int put_piece(void *context, struct str piece)
{
    struct page *page = context;
    while (page->mark < REPORT_MARKS && page->passed + piece.n >= report_page_marks[page->mark]) {
        size_t before = report_page_marks[page->mark] - page->passed;
        buf_append(page->buf, piece.p, before);
        str_skip(&piece, before);
        page->passed += before;
        put_part(page);
        page->mark++;
    }
    buf_append(page->buf, piece.p, piece.n);
    page->passed += piece.n;
    return buf_ok(page->buf) ? 0 : -ENOBUFS;
}

int report_put_page(struct buf *buf, const struct summary *summary, const struct series *series)
{
    struct page page = {.buf = buf, .summary = summary, .series = series};
    return gzip_unpack((struct str){(const char *)report_page_gz, report_page_gz_bytes}, put_piece, &page);
}

void summary_put_json(struct buf *buf, const struct summary *summary)
{
    json_put_object(buf, field_summary, summary);
    buf_putc(buf, '\n');
}
