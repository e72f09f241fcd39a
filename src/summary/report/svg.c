/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main charts as one static picture, after SVG 1.1: title, verdict, axes, legend, the peak marked. Light, without
 * scripts, styles and references, so that it shows wherever pictures do; attributes are for presentation only, which
 * a Content-Security-Policy does not forbid. Sizes are in pixels.
 */
#include <errno.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "summary/report/charts.h"
#include "summary/rows.h"
#include "summary/units.h"
#include "summary/write.h"

enum {
    WIDTH = 960,
    LEFT = 64, /* where plots begin */
    RIGHT = 940,
    PLOT_TALL = 110,
    CHART_TALL = 196, /* heading, plot and axis */
    PLOT_TOP = 48, /* in a chart */
    TITLE_COLUMNS = 80, /* characters that fit into a line */
    VERDICT_COLUMNS = 115,
    TEXT_COLUMNS = 145,
    TICKS_MAX = 4,
    LABELS_MAX = 8, /* of the axis of time */
    COLUMNS = 600, /* of the file */
};

/* A job of which the host's lines are so much higher would be drawn flat; a limit so far above it too. */
static const double host_times_max = 12, limit_times_max = 2.5;

static const char colours[][8] = {"#66707f", "#1668c7", "#c75f06", "#0a7f65", "#9950b8", "#3d7fb5", "#8f7011"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

/* One chart on its way: what is shown of it, and its scales. */
struct plot {
    struct markup *m;
    const struct chart_view *view;
    enum series_chart number;
    size_t lines[SERIES_LINES];
    size_t line_count;
    double y; /* upper edge of the plot */
    double top; /* value at the upper edge, in units */
    double secs; /* at the right edge */
    struct opt_f64 limit; /* absent: not drawn */
};

/* Tenths of a pixel are enough, and short. */
static void put_pixels(struct buf *out, double value)
{
    int64_t tenths = (int64_t)(value * 10 + (value < 0 ? -0.5 : 0.5));
    num_put_i64(out, tenths / 10);
    if (tenths % 10 != 0)
        units_put(out, ".%u", (uint64_t)(value < 0 ? -tenths : tenths) % 10);
}

static void put_attribute(struct buf *out, const char *name, double value)
{
    units_put(out, " %s=\"", name);
    put_pixels(out, value);
    buf_putc(out, '"');
}

/* <text x= y= more>: its text follows, and end_text. */
static void begin_text(struct markup *m, double x, double y, const char *more)
{
    buf_puts(m->out, "<text");
    put_attribute(m->out, "x", x);
    put_attribute(m->out, "y", y);
    units_put(m->out, "%s>", more);
}

static void end_text(struct markup *m)
{
    markup_tag(m, "</text>\n");
}

/* A horizontal line. */
static void put_rule(struct buf *out, double x1, double x2, double y, const char *colour, const char *more)
{
    units_put(out, "<line stroke=\"%s\"", colour);
    put_attribute(out, "x1", x1);
    put_attribute(out, "y1", y);
    put_attribute(out, "x2", x2);
    put_attribute(out, "y2", y);
    units_put(out, "%s/>\n", more);
}

/* The lowest of 1, 2, 5, 10, ... that divides the span into no more parts. */
static double step_of(double span, unsigned parts)
{
    static const double factors[] = {2, 2.5, 2};
    double step = 1;
    while (step * parts >= span * 10 && step > 1e-9)
        step /= 10;
    for (unsigned i = 0; step * parts < span * 0.999999; i++)
        step *= factors[i % 3];
    return step;
}

static double time_step(double span, unsigned parts)
{
    static const unsigned ladder[] = {
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    for (size_t i = 0; span > parts && i < sizeof(ladder) / sizeof(ladder[0]); i++) {
        if (ladder[i] * (double)parts >= span)
            return ladder[i];
    }
    return step_of(span, parts);
}

/* "90 s", "12:30", "40 min", "3:20 h", "8 h": a tick of an axis with that step. */
static void put_clock(struct buf *text, double secs, double step)
{
    uint64_t whole = (uint64_t)(secs + 0.5), hours = whole / 3600, minutes = whole / 60 % 60;
    if (whole == 0)
        buf_putc(text, '0');
    else if (step < 1 || (whole < 120 && step < 60)) {
        units_put(text, "%f s", secs);
    } else if (step < 60)
        buf_printf(text, "%llu:%02u", (unsigned long long)(whole / 60), (unsigned)(whole % 60));
    else if (whole < 7200 && step < 3600)
        buf_printf(text, "%u min", (unsigned)(whole / 60));
    else if (step < 3600)
        buf_printf(text, "%llu:%02u h", (unsigned long long)hours, (unsigned)minutes);
    else
        buf_printf(text, "%llu h", (unsigned long long)hours);
}

static double x_of(const struct plot *plot, double secs)
{
    return LEFT + secs / plot->secs * (RIGHT - LEFT);
}

static double y_of(const struct plot *plot, double value)
{
    return plot->y + PLOT_TALL - value / plot->top * PLOT_TALL;
}

static const char *colour_of(const struct plot *plot, size_t line, size_t run)
{
    if (plot->view->run_count > 1)
        return colours[1 + run % (COLOURS - 1)];
    bool is_alone =
        !series_lines[line].is_of_tree && series_lines[plot->lines[0]].chart == plot->number && line == plot->lines[0];
    return colours[series_lines[line].hue > 0 || !is_alone ? series_lines[line].hue : 1];
}

/* Lines that are known, less those that would press the job's flat; of several runs the first that is not 0. */
static bool choose_lines(struct plot *plot)
{
    const struct series *series = plot->view->series;
    double scale = charts[plot->number].scale, most = 0, job = 0;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        if (series_lines[line].chart == plot->number && series_lines[line].is_of_tree && series_has(series, line))
            job = series_peak(series, line).value > job ? series_peak(series, line).value : job;
    }
    struct chart_peak whole = chart_peak(plot->view, plot->number);
    if (whole.has && job > 0 && whole.drawn > job * scale)
        job = whole.drawn / scale;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        struct series_peak peak = series_peak(series, line);
        bool is_flat = !series_lines[line].is_of_tree && job > 0 && peak.value > host_times_max * job;
        if (series_lines[line].chart != plot->number || !peak.has || is_flat)
            continue;
        if (plot->view->run_count > 1)
            plot->line_count = 0;
        plot->lines[plot->line_count++] = line;
        most = peak.value * scale > most ? peak.value * scale : most;
        if (plot->view->run_count > 1 && peak.value > 0)
            break;
    }
    most = whole.has && whole.drawn > most ? whole.drawn : most;
    plot->limit = chart_limit(plot->view, plot->number);
    plot->limit.has &= plot->limit.v < limit_times_max * most;
    plot->top = plot->limit.has && plot->limit.v > most ? plot->limit.v : most;
    return plot->line_count > 0;
}

/* The unit of the axis, and how much of the chart's unit one of it is. */
static double axis_unit(const struct plot *plot, struct buf *text)
{
    static const char binary[][4] = {"B", "KiB", "MiB", "GiB", "TiB"},
                      decimal[][5] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    const struct chart *chart = &charts[plot->number];
    bool is_memory = chart->scale > 1, is_rate = !is_memory && chart->least >= 1;
    double by = 1, step = is_memory ? 1024 : 1000;
    size_t i = 0;
    for (; (is_memory || is_rate) && plot->top / by >= step && i < 4; i++)
        by *= step;
    buf_puts(text, is_memory ? binary[i] : is_rate ? decimal[i] : chart->unit);
    return by;
}

static void put_axes(struct plot *plot, double by)
{
    struct markup *m = plot->m;
    double step = step_of(plot->top > 0 ? plot->top / by : 1, TICKS_MAX);
    unsigned ticks = 1;
    while (ticks < TICKS_MAX && step * ticks * by < plot->top * 0.999999)
        ticks++;
    plot->top = step * ticks * by;
    for (unsigned i = 0; i <= ticks; i++) {
        double y = y_of(plot, step * i * by);
        put_rule(m->out, LEFT, RIGHT, y, i > 0 ? "#e6eaf0" : "#9aa4b2", "");
        begin_text(m, LEFT - 8, y + 4, " text-anchor=\"end\" fill=\"#4d5868\"");
        units_put_figure(&m->text, step * i);
        end_text(m);
    }
    double every = time_step(plot->secs, LABELS_MAX);
    unsigned labels = every > 0 ? (unsigned)(plot->secs * 1.000001 / every) : 0;
    for (unsigned i = 0; i <= labels && i <= LABELS_MAX; i++) {
        double secs = every * i;
        begin_text(m, x_of(plot, secs), plot->y + PLOT_TALL + 16,
            x_of(plot, secs) > RIGHT - 30 ? " text-anchor=\"end\" fill=\"#4d5868\""
                                          : " text-anchor=\"middle\" fill=\"#4d5868\"");
        put_clock(&m->text, secs, every);
        end_text(m);
    }
}

static void put_step(struct buf *out, double *y_before, double x, double y)
{
    if ((int64_t)(*y_before * 10) != (int64_t)(y * 10)) {
        buf_putc(out, 'V');
        put_pixels(out, y);
    }
    buf_putc(out, 'H');
    put_pixels(out, x);
    *y_before = y;
}

/* What points from and before to hold, as one: its group. */
static struct series_value group_at(const struct plot *plot, size_t line, size_t run, size_t from, size_t *ret_to)
{
    size_t end = plot->view->runs[run].to;
    *ret_to = from + plot->view->group < end ? from + plot->view->group : end;
    return series_over(plot->view->series, line, from, *ret_to);
}

/* Where the point before `point` ended. */
static double x_before(const struct plot *plot, size_t run, size_t point)
{
    double start = plot->view->runs[run].start_secs;
    return x_of(plot, point > plot->view->runs[run].from ? series_secs(plot->view->series, point - 1) - start : 0);
}

/* One line of one run as steps: a value holds from the end of the point before to the end of its own. */
static void put_path(const struct plot *plot, size_t line, size_t run)
{
    const struct series_run *about = &plot->view->runs[run];
    const struct chart *chart = &charts[plot->number];
    struct buf *out = plot->m->out;
    double y_before = 0;
    bool is_open = false;
    units_put(out, "<path fill=\"none\" stroke=\"%s%s", colour_of(plot, line, run),
        series_lines[line].is_dashed ? "\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\" d=\""
                                     : "\" stroke-width=\"1.5\" d=\"");
    for (size_t i = about->from, to; i < about->to; i = to) {
        struct series_value value = group_at(plot, line, run, i, &to);
        double y = y_of(plot, (double)(chart->shows_highest ? value.high : value.mean) * chart->scale);
        if (value.has && !is_open) {
            buf_putc(out, 'M');
            put_pixels(out, x_before(plot, run, i));
            buf_putc(out, ' ');
            put_pixels(out, y_before = y);
        }
        if (value.has)
            put_step(out, &y_before, x_before(plot, run, to), y);
        is_open = value.has;
    }
    buf_puts(out, "\"/>\n");
}

/* From the lowest value (or the mean) of every group to its highest: there along these, back along those. */
static void put_band(const struct plot *plot, size_t line, size_t run)
{
    const struct series_run *about = &plot->view->runs[run];
    size_t to, group = plot->view->group;
    bool is_open = false;
    double y_before = 0;
    struct buf *out = plot->m->out;
    units_put(out, "<path fill-opacity=\"0.25\" fill=\"%s\" d=\"", colour_of(plot, line, run));
    for (size_t i = about->from, first = i; i <= about->to; i = i < about->to ? to : i + 1) {
        struct series_value value = {0};
        if (i < about->to)
            value = group_at(plot, line, run, i, &to);
        if (value.has && !is_open) {
            first = i;
            buf_putc(out, 'M');
            put_pixels(out, x_before(plot, run, i));
            buf_putc(out, ' ');
            put_pixels(out, y_before = y_of(plot, (double)value.high * charts[plot->number].scale));
        }
        if (value.has)
            put_step(
                out, &y_before, x_before(plot, run, to), y_of(plot, (double)value.high * charts[plot->number].scale));
        for (size_t k = i; !value.has && is_open && k > first;) {
            size_t unused;
            k = k > first + group ? first + (k - first - 1) / group * group : first;
            struct series_value low = group_at(plot, line, run, k, &unused);
            put_step(out, &y_before, x_before(plot, run, k),
                y_of(plot, (double)(charts[plot->number].has_low ? low.low : low.mean) * charts[plot->number].scale));
        }
        if (!value.has && is_open)
            buf_putc(out, 'z');
        is_open = value.has;
    }
    buf_puts(out, "\"/>\n");
}

/* A dot at its sample, or a line across the chart where no sample has it. */
static void put_peak(const struct plot *plot)
{
    struct markup *m = plot->m;
    struct chart_peak peak = chart_peak(plot->view, plot->number);
    bool is_drawn = false, is_apart = summary_peak_is_apart(peak.kind);
    for (size_t i = 0; i < plot->line_count; i++)
        is_drawn |= plot->lines[i] == peak.line;
    if (!peak.has || !is_drawn)
        return;
    double x = is_apart ? LEFT : x_of(plot, peak.secs), y = y_of(plot, peak.drawn);
    const char *colour = colour_of(plot, peak.line, peak.run);
    bool is_right = x > (LEFT + RIGHT) / 2.0;
    if (is_apart)
        put_rule(m->out, LEFT, RIGHT, y, plot->view->run_count > 1 ? colours[0] : colour,
            " stroke-width=\"1.5\" stroke-dasharray=\"2 3\"");
    else {
        buf_puts(m->out, "<circle r=\"4\"");
        put_attribute(m->out, "cx", x);
        put_attribute(m->out, "cy", y);
        units_put(m->out, " stroke=\"#fff\" fill=\"%s\"/>\n", colour);
    }
    bool is_high = y < plot->y + (is_apart ? 16 : 8);
    double below = is_apart ? 15 : 5;
    begin_text(m, is_right ? x - 8 : x + 8, is_high ? y + below : y - 4,
        is_right ? " text-anchor=\"end\" font-weight=\"bold\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\""
                 : " font-weight=\"bold\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"");
    buf_puts(&m->text, "peak ");
    chart_put_peak(&m->text, plot->number, &peak);
    end_text(m);
}

/* About as wide as the text is. */
static double text_width(size_t characters)
{
    return 7.0 * (double)characters;
}

static double put_entry(struct markup *m, double x, double y, const char *colour, bool is_dashed)
{
    enum { ENTRY_BYTES_MAX = 40 };
    put_rule(m->out, x, x + 16, y - 4, colour,
        is_dashed ? " stroke-width=\"2\" stroke-dasharray=\"5 3\"" : " stroke-width=\"3\"");
    if (m->text.len > ENTRY_BYTES_MAX)
        m->text.len = utf8_whole((struct str){m->text.data, ENTRY_BYTES_MAX});
    double width = text_width(m->text.len);
    begin_text(m, x + 22, y, "");
    end_text(m);
    return x + 22 + width + 14;
}

static void put_legend(const struct plot *plot)
{
    struct markup *m = plot->m;
    double x = LEFT, y = plot->y - 10;
    size_t runs = plot->view->run_count;
    for (size_t run = 0; runs > 1 && run < runs && x < RIGHT - 200; run++) {
        chart_put_run_name(&m->text, plot->view, run);
        x = put_entry(m, x, y, colour_of(plot, plot->lines[0], run), false);
    }
    for (size_t i = 0; runs <= 1 && i < plot->line_count; i++) {
        const struct series_line *line = &series_lines[plot->lines[i]];
        buf_puts(&m->text, chart_line_name(plot->view, plot->lines[i]));
        x = put_entry(m, x, y, colour_of(plot, plot->lines[i], 0), line->is_dashed);
    }
    if (!plot->limit.has)
        return;
    units_put(&m->text, "%s ", charts[plot->number].limit_name);
    chart_put_value(&m->text, plot->number, plot->limit.v);
    (void)put_entry(m, x, y, "#18212f", true);
}

static const char *phase_colour(size_t phase)
{
    return colours[1 + phase % (COLOURS - 1)];
}

/* Each time of a phase, behind what is drawn of the chart. */
static void put_phases(const struct plot *plot)
{
    const struct sample_list *list = &plot->view->summary->phase_spans;
    const struct summary_phase_span *span = list->items;
    struct buf *out = plot->m->out;
    for (size_t i = 0; list->present && plot->view->run_count == 1 && i < list->count; i++, span++) {
        double from = x_of(plot, span->from_secs), to = x_of(plot, span->to_secs);
        if (from >= RIGHT)
            continue;
        units_put(out, "<rect fill-opacity=\"0.11\" fill=\"%s\"", phase_colour(span->phase));
        put_attribute(out, "x", from);
        put_attribute(out, "y", plot->y);
        put_attribute(out, "width", (to < RIGHT ? to : RIGHT) - from);
        put_attribute(out, "height", PLOT_TALL);
        buf_puts(out, "/>\n");
    }
}

/* Their names, in the colours of their bands; returns where the next line belongs. */
static double put_phase_names(struct markup *m, const struct chart_view *view, double y)
{
    const struct summary *summary = view->summary;
    size_t count = summary->phase_spans.present && view->run_count == 1 ? summary->phases.count : 0;
    double x = LEFT;
    if (count > 0) {
        begin_text(m, 20, y + 8, "");
        buf_puts(&m->text, "Phases");
        end_text(m);
    }
    for (size_t i = 0; i < count; i++) {
        if (x > RIGHT - 180) {
            x = LEFT;
            y += 18;
        }
        summary_put_phase(&m->text, summary, i, SUMMARY_PHASE_NAME);
        x = put_entry(m, x, y + 8, phase_colour(i), false);
    }
    return y + (count > 0 ? 20 : 0);
}

static bool put_chart(struct markup *m, const struct chart_view *view, enum series_chart number, double y, double secs)
{
    struct plot plot = {.m = m, .view = view, .number = number, .y = y + PLOT_TOP, .secs = secs};
    if (!chart_is_shown(view, number) || !choose_lines(&plot))
        return false;
    begin_text(m, LEFT, y + 14, " font-weight=\"bold\" font-size=\"14\"");
    units_put(&m->text, "%s, ", charts[number].title);
    double by = axis_unit(&plot, &m->text);
    markup_tag(m, "<tspan font-weight=\"normal\" font-size=\"12\" fill=\"#4d5868\" dx=\"12\">");
    buf_puts(&m->text, charts[number].about);
    markup_tag(m, "</tspan>");
    end_text(m);
    put_phases(&plot);
    put_axes(&plot, by);
    if (plot.limit.has)
        put_rule(m->out, LEFT, RIGHT, y_of(&plot, plot.limit.v), "#18212f", " stroke-dasharray=\"6 4\"");
    for (size_t run = 0; run < view->run_count; run++) {
        for (size_t i = plot.line_count; i-- > 0;) {
            if (!charts[number].shows_highest && (view->group > 1 || series_step(view->series) > 1))
                put_band(&plot, plot.lines[i], run);
            put_path(&plot, plot.lines[i], run);
        }
    }
    put_peak(&plot);
    put_legend(&plot);
    return true;
}

/* The text so far in lines of the picture; returns where the next one belongs. */
static double put_lines(struct markup *m, double y, size_t columns, const char *more)
{
    enum { LINES_MAX = 3, LINE_TALL = 18 };
    char text[LINES_MAX * TEXT_COLUMNS * UTF8_BYTES_MAX];
    (void)text_clean((struct str){m->text.data, m->text.len}, TEXT_MARK, "...", text, sizeof(text));
    m->text.len = 0;
    struct str rest = str_of(text);
    for (unsigned i = 0; i < LINES_MAX && rest.n > 0; i++, y += LINE_TALL) {
        size_t n = text_fit(rest, columns);
        n = utf8_whole((struct str){rest.p, n});
        begin_text(m, 20, y, more);
        buf_append(&m->text, rest.p, n);
        end_text(m);
        str_skip(&rest, n);
        rest = str_trim(rest);
    }
    return y;
}

static double put_head(struct markup *m, const struct summary *summary)
{
    struct summary_rows rows;
    double y = 32;
    summary_put_name(&m->text, summary);
    y = put_lines(m, y, TITLE_COLUMNS, " font-size=\"20\" font-weight=\"bold\"") + 4;
    if (summary->verdict.present)
        units_put_foreign(&m->text, summary->verdict.text);
    y = put_lines(m, y, VERDICT_COLUMNS, " font-size=\"14\" font-weight=\"bold\"");
    summary_rows_init(&rows, NULL);
    summary_put_result(&rows, summary);
    buf_append(&m->text, rows.value.data, rows.value.len);
    if (rows.value.len > 0 && rows.aside.len > 0)
        buf_puts(&m->text, ", ");
    buf_append(&m->text, rows.aside.data, rows.aside.len);
    if (summary->hostname)
        units_put(&m->text, " · host %x", summary->hostname);
    summary_rows_fini(&rows);
    return put_lines(m, y, TEXT_COLUMNS, " fill=\"#4d5868\"") + 8;
}

/* Head, charts and foot; returns how tall they are. */
static int put_inside(struct markup *m, const struct chart_view *view)
{
    static const unsigned char order[] = {SERIES_CPU, SERIES_MEMORY, SERIES_DISK, SERIES_GPU, SERIES_VRAM};
    double y = put_head(m, view->summary), secs = 0;
    for (size_t run = 0; run < view->run_count; run++) {
        double end = series_secs(view->series, view->runs[run].to - 1) - view->runs[run].start_secs;
        secs = end > secs ? end : secs;
    }
    bool has_history = chart_view_has_history(view) && secs > 0;
    y = has_history ? put_phase_names(m, view, y) : y;
    for (size_t i = 0; has_history && i < sizeof(order); i++)
        y += put_chart(m, view, (enum series_chart)order[i], y, secs) ? CHART_TALL : 0;
    if (has_history)
        chart_put_resolution(&m->text, view);
    else
        buf_puts(&m->text, "A chart needs two samples: there is no history to draw.");
    return (int)put_lines(m, y + 8, TEXT_COLUMNS, " fill=\"#4d5868\"");
}

void svg_put_element(
    struct buf *buf, const struct summary *summary, const struct series *series, size_t columns, const char *attributes)
{
    struct chart_view view;
    struct markup m;
    AUTO_BUF struct buf inside;
    buf_init(&inside, SVG_BYTES_MAX);
    markup_init(&m, &inside);
    chart_view_init(&view, summary, series, series_points(series) / columns + 1);
    int tall = put_inside(&m, &view);
    markup_fini(&m);
    buf_printf(buf,
        "<svg%s viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"Charts of the main "
        "resources\" "
        "font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#18212f\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        attributes, WIDTH, tall, WIDTH, tall);
    buf_append(buf, inside.data, inside.len);
    buf_puts(buf, "</svg>\n");
    buf->failed |= inside.failed;
}

int report_put_svg(struct buf *buf, const struct summary *summary, const struct series *series)
{
    buf_puts(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    svg_put_element(buf, summary, series, COLUMNS, " xmlns=\"http://www.w3.org/2000/svg\"");
    return buf_ok(buf) ? 0 : -ENOBUFS;
}
