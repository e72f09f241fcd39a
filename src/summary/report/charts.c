/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/report/charts.h"

#include "base/num.h"
#include "base/text.h"
#include "base/utc.h"
#include "summary/rows.h"
#include "summary/units.h"

#define LIMIT(name, is_count, member) name, is_count, (unsigned short)offsetof(struct summary, member)
#define NO_LIMIT "", false, 0
#define MIB BYTES_PER_MIB

enum { MARKUP_TEXT_BYTES = 64 * 1024 };

const struct chart charts[SERIES_CHARTS] = {
    [SERIES_CPU] = {"CPU", "Cores in use. Wanted: what it would have used without waiting for a CPU.", "cores", 'n',
        false, true, false, 1, .001, LIMIT("limit", false, cpu.limit_cores)},
    [SERIES_MEMORY] = {"Memory",
        "Highest memory held. PSS shares common pages out among processes, RSS counts them in each.", "bytes", 'm',
        true, false, false, MIB, 1024, LIMIT("limit", false, memory.limit_mib)},
    [SERIES_DISK] = {"Disk", "Read from and written to storage; what the page cache answered is not in it.", "bytes/s",
        'b', false, false, true, 1, 1, NO_LIMIT},
    [SERIES_NETWORK] = {"Network",
        "Received and sent. Host: by its interfaces, all programs. Job: as far as it is known.", "bytes/s", 'b', false,
        false, true, 1, 1, NO_LIMIT},
    [SERIES_GPU] = {"GPU", "GPUs in use: 1 is one GPU that was busy all the time. Host: by all programs.", "GPUs", 'G',
        false, true, false, 1, .001, LIMIT("all", true, gpu.count)},
    [SERIES_VRAM] = {"GPU memory", "Highest memory held on all GPUs together. Host: by all programs.", "bytes", 'm',
        true, false, false, MIB, 1024, LIMIT("all", false, gpu.vram_total_mib)},
    [SERIES_ENERGY] = {"Power", "Power of CPUs and memory. Job: the share of its CPU time, idle time counted.", "W",
        'w', false, true, false, 1, .01, NO_LIMIT},
    [SERIES_PRESSURE] = {"Waiting on the host",
        "Share of the time in which a task of the host, any program, had to wait.", "%", 'p', false, false, false, 1,
        .01, NO_LIMIT},
};

const struct heat_map heat_maps[SERIES_GRIDS] = {
    [SERIES_CPUS] = {"CPUs of the host", "How busy each CPU was, with the work of all programs.", "%", 100},
    [SERIES_GPUS] = {"GPUs of the host", "How busy each GPU was, with the work of all programs.", "%", 100},
    [SERIES_POWER] = {"GPU power", "Power draw of each GPU.", "W", 0},
    [SERIES_TEMPERATURE] = {"GPU temperature", "Temperature of each GPU.", "°C", 0},
};

void chart_view_init(struct chart_view *view, const struct summary *summary, const struct series *series, size_t group)
{
    view->summary = summary;
    view->series = series;
    view->group = group;
    view->run_count = series_runs(series);
    for (size_t i = 0; i < view->run_count; i++)
        view->runs[i] = series_run_at(series, i);
}

bool chart_view_has_history(const struct chart_view *view)
{
    for (size_t i = 0; i < view->run_count; i++) {
        if (view->runs[i].to - view->runs[i].from > 1)
            return true;
    }
    return false;
}

bool chart_is_shown(const struct chart_view *view, enum series_chart number)
{
    for (size_t line = 0; line < SERIES_LINES; line++) {
        struct series_peak peak = series_peak(view->series, line);
        if (series_lines[line].chart == number && peak.has && (peak.value > 0 || !charts[number].hides_zero))
            return true;
    }
    return false;
}

struct opt_f64 chart_limit(const struct chart_view *view, enum series_chart number)
{
    static const double limit_max = 1e12; /* its bytes fit */
    const struct chart *chart = &charts[number];
    const void *at = (const char *)view->summary + chart->limit_at;
    if (!chart->limit_name[0])
        return (struct opt_f64){0};
    struct opt_f64 limit =
        chart->limit_is_count ? opt_scaled(*(const struct opt_u64 *)at, 1) : *(const struct opt_f64 *)at;
    if (!limit.has || !(limit.v > 0 && limit.v <= limit_max))
        return (struct opt_f64){0};
    return some_f64(limit.v * chart->scale);
}

/*
 * PSS or RSS: the one from which the need was taken, which is the highest that is not above it; the first line where
 * that is not known. A cgroup is never what the tiles speak of.
 */
static size_t peak_line(const struct chart_view *view, enum series_chart number, struct opt_f64 need)
{
    size_t best = SERIES_LINES;
    bool is_best_above = false;
    for (size_t line = 0; line < SERIES_LINES; line++) {
        struct series_peak peak = series_peak(view->series, line), best_peak = {0};
        bool is_job = series_lines[line].is_of_tree;
        if (series_lines[line].chart != number || !peak.has || line == SERIES_CGROUP ||
            (!is_job && best < SERIES_LINES))
            continue;
        if (best < SERIES_LINES)
            best_peak = series_peak(view->series, best);
        bool is_above = need.has && peak.value > need.v;
        bool is_better = is_above ? is_best_above && peak.value < best_peak.value
                                  : is_best_above || (need.has && peak.value > best_peak.value);
        if (best == SERIES_LINES || is_better) {
            best = line;
            is_best_above = is_above;
        }
    }
    return best;
}

struct chart_peak chart_peak(const struct chart_view *view, enum series_chart number)
{
    struct opt_f64 need = number == SERIES_MEMORY ? summary_memory_need(view->summary) : (struct opt_f64){0};
    size_t line = charts[number].shows_highest ? peak_line(view, number, need) : SERIES_LINES;
    if (line == SERIES_LINES)
        return (struct chart_peak){0};
    struct series_peak peak = series_peak(view->series, line);
    enum peak_kind kind = need.has ? summary_peak_kind(view->summary, peak.value) : PEAK_IN_SAMPLE;
    double value = kind == PEAK_IN_SAMPLE ? peak.value : need.v;
    struct chart_peak found = {.has = value > 0,
        .kind = kind,
        .line = line,
        .value = value * charts[number].scale,
        .drawn = (summary_peak_is_apart(kind) ? value : peak.value) * charts[number].scale,
        .secs = peak.secs};
    for (size_t run = 1; run < view->run_count; run++) {
        if (peak.secs > view->runs[run].start_secs)
            found.run = run;
    }
    if (view->run_count > 0)
        found.secs -= view->runs[found.run].start_secs;
    return found;
}

const char *chart_line_name(const struct chart_view *view, size_t line)
{
    if (line != SERIES_CGROUP)
        return series_lines[line].name;
    if (summary_has_own_cgroup(view->summary))
        return "cgroup of the job";
    return view->summary->memory.cgroup_is_own.has ? "shared cgroup" : series_lines[line].name;
}

void chart_put_value(struct buf *buf, enum series_chart number, double value)
{
    char unit = charts[number].value_unit;
    units_put_as(buf, unit, unit == 'm' ? value / MIB : value);
    if (unit == 'b')
        buf_puts(buf, "/s");
}

void chart_put_peak(struct buf *buf, enum series_chart number, const struct chart_peak *peak)
{
    chart_put_value(buf, number, peak->value);
    buf_puts(buf, summary_peak_where(peak->kind));
    if (summary_peak_is_apart(peak->kind))
        return;
    units_put(buf, "%s%t", peak->kind == PEAK_NEAR_SAMPLE ? ", highest sample at " : " at ", peak->secs);
}

void chart_put_run_name(struct buf *buf, const struct chart_view *view, size_t run)
{
    const struct series_run *about = &view->runs[run];
    bool is_only = about->name[0] != '\0';
    for (size_t i = 0; i < view->run_count; i++)
        is_only &= i == run || strcmp(view->runs[i].name, about->name) != 0;
    buf_puts(buf, about->name);
    if (is_only)
        return;
    units_put(buf, "%s%u", about->name[0] ? ", run " : "run ", run + 1);
    if (!about->started_ms.has)
        return;
    char text[UTC_ISO_BYTES];
    utc_format_iso(about->started_ms.v / 1000, text);
    text[10] = ' ';
    text[16] = '\0'; /* minutes are enough to find it */
    buf_printf(buf, " (%s)", text);
}

void chart_put_resolution(struct buf *buf, const struct chart_view *view)
{
    size_t points = series_points(view->series), samples = series_step(view->series) * view->group;
    if (samples == 1 || points < view->group)
        return;
    units_put(buf,
        "Each point is %t (%u samples): memory shows the highest value in it, other lines the mean, with a band to the "
        "highest.",
        series_secs(view->series, view->group - 1), samples);
}

void markup_init(struct markup *markup, struct buf *out)
{
    markup->out = out;
    markup->binds_units = false;
    buf_init(&markup->text, MARKUP_TEXT_BYTES);
}

void markup_fini(struct markup *markup)
{
    if (!buf_ok(&markup->text))
        markup->out->failed = true;
    buf_fini(&markup->text);
}

/* The blank between a number and what it is of. */
static bool is_before_unit(struct str text, char before)
{
    return text.n >= 2 && text.p[0] == ' ' && ascii_is_digit(before) && ascii_is_alpha(text.p[1]);
}

/* XML has no U+FFFE and U+FFFF. A % never begins a line. */
static void put_escaped(struct buf *out, struct str text, bool binds_units)
{
    const char *start = text.p;
    static const char special[] = "&<>\"'";
    static const char names[][7] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (; text.n > 0; str_skip(&text, 1)) {
        const char *found = *text.p ? strchr(special, *text.p) : NULL;
        if (text.n >= 3 && memcmp(text.p, "\xef\xbf", 2) == 0 && (unsigned char)text.p[2] >= 0xbe) {
            buf_putc(out, '?');
            str_skip(&text, 2);
        } else if (found)
            buf_puts(out, names[found - special]);
        else if ((text.n >= 2 && memcmp(text.p, " %", 2) == 0) ||
                 (binds_units && text.p > start && is_before_unit(text, text.p[-1])))
            buf_puts(out, "\xc2\xa0");
        else
            buf_putc(out, *text.p);
    }
}

void markup_tag(struct markup *markup, const char *tag)
{
    put_escaped(markup->out, (struct str){markup->text.data, markup->text.len}, markup->binds_units);
    markup->text.len = 0;
    buf_puts(markup->out, tag);
}

void markup_wrap(struct markup *markup, const char *before, const char *behind)
{
    if (markup->text.len == 0)
        return;
    buf_puts(markup->out, before);
    markup_tag(markup, behind);
}
