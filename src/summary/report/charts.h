/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page and the picture of a report share: which charts there are, what each says of itself, its limit and its
 * peak, how runs are named, how points are grouped, and markup with its text escaped.
 */
#ifndef SUMMARY_REPORT_CHARTS_H
#define SUMMARY_REPORT_CHARTS_H

#include "base/buf.h"
#include "summary/series.h"
#include "summary/summary.h"

struct chart {
    char title[20], about[110], unit[8];
    char value_unit; /* the same for units_put_as; memory is 'm', in bytes */
    bool shows_highest; /* a point is drawn at its highest value, and the peak is marked; else at its mean */
    bool has_low; /* else the band around a mean begins with it: the lowest says little, and takes space */
    bool hides_zero; /* where nothing but 0 is known there is no chart: nothing went through it */
    double scale; /* of the values of the series to the unit */
    double least; /* the smallest difference the page has to show, in units */
    char limit_name[6]; /* "": there is none */
    bool limit_is_count; /* the limit is a struct opt_u64, else a struct opt_f64 */
    unsigned short limit_at; /* in struct summary; its value is multiplied by scale too */
};

extern const struct chart charts[SERIES_CHARTS];

struct heat_map {
    char title[20], about[90], unit[4];
    unsigned short most; /* the scale ends here or at the highest value; 0: always at the highest value */
};

extern const struct heat_map heat_maps[SERIES_GRIDS];

/* A series as it is written: so many points become one, never over the end of a run. */
struct chart_view {
    const struct summary *summary;
    const struct series *series;
    size_t group;
    size_t run_count;
    struct series_run runs[SERIES_RUNS_MAX];
};

void chart_view_init(struct chart_view *view, const struct summary *summary, const struct series *series, size_t group);

/* Has any run a history: two points or more? */
bool chart_view_has_history(const struct chart_view *view);

/* Is there a line to draw? */
bool chart_is_shown(const struct chart_view *view, enum series_chart chart);

/* In units of the chart; absent where there is none, or it is no amount that can be drawn. */
struct opt_f64 chart_limit(const struct chart_view *view, enum series_chart chart);

struct chart_peak {
    bool has;
    enum peak_kind kind;
    size_t line, run;
    double value; /* what the run needed, as the tiles and rows have it; in units of the chart, as the next */
    double drawn; /* where it is marked: at the highest sample, or across the chart */
    double secs; /* of the highest sample, since the start of that run */
};

/* Of the line that sizes rest on: the job's, the host's where there is no job. Only of charts that show the highest. */
struct chart_peak chart_peak(const struct chart_view *view, enum series_chart chart);

/* The legend of a line: that of the series, but for a cgroup, which is the job's own or shared. */
const char *chart_line_name(const struct chart_view *view, size_t line);

/* "12.7 GiB", "1 core", "3.2 MB/s", "98 %" */
void chart_put_value(struct buf *buf, enum series_chart chart, double value);

/* "12.7 GiB at 8 h 5 min", "12.7 GiB, highest sample at 8 h 5 min", "12.7 GiB between samples" */
void chart_put_peak(struct buf *buf, enum series_chart chart, const struct chart_peak *peak);

/* The name of its job; where another run has it too, with its number and start. */
void chart_put_run_name(struct buf *buf, const struct chart_view *view, size_t run);

/* What a point stands for, where it is more than a sample; "" else. */
void chart_put_resolution(struct buf *buf, const struct chart_view *view);

/*
 * Markup in the making, of HTML or XML: text waits in `text`, any characters, and is escaped when the next tag is put.
 * Bytes of foreign text go through units_put_foreign first.
 */
struct markup {
    struct buf *out;
    struct buf text;
    bool binds_units; /* no line break between a number and its unit; not for text that is copied */
};

void markup_init(struct markup *markup, struct buf *out);
void markup_fini(struct markup *markup);

/* The text so far, then the tag as it is. */
void markup_tag(struct markup *markup, const char *tag);

/* <p class="dim">text</p>, and the same with an own text; nothing where the text is empty. */
void markup_wrap(struct markup *markup, const char *before, const char *behind);

/* What the page shows without its script: all of it but the charts, of which there is a picture. */
void body_put(struct buf *buf, const struct summary *summary, const struct series *series);
void body_put_title(struct buf *buf, const struct summary *summary);

/* The lower part of it (body_tables.c): sizes to ask for next time, their reasons, ready lines; and devices, processes,
 * all rows of the summary, notes. */
void body_put_sizing(struct markup *m, const struct summary *summary);
void body_put_tables(struct markup *m, const struct summary *summary);

/* The picture: an svg element with these attributes, of which a line has at most so many steps. */
void svg_put_element(struct buf *buf, const struct summary *summary, const struct series *series, size_t columns,
    const char *attributes);

#endif
