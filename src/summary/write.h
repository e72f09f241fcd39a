/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary as text for a terminal, as Markdown and as JSON, and the report. No I/O. Everything that comes from the
 * data (names, commands) may hold any bytes and is made harmless for where it stands.
 */
#ifndef SUMMARY_WRITE_H
#define SUMMARY_WRITE_H

#include "base/buf.h"
#include "summary/series.h"
#include "summary/spark.h"
#include "summary/summary.h"

/*
 * Aligned, `columns` wide (0: 80) but for lines that are to be copied, which stay whole; with colours of a terminal
 * where wanted, and with the names of the files that were written.
 */
struct summary_style {
    bool has_colour;
    unsigned columns;
    const char *const *files;
    size_t file_count;
};

void summary_put_text(struct buf *buf, const struct summary *summary, const struct summary_style *style);

/* A section with tables and a small chart (NULL: without), ready to be appended to a page of GitHub. */
void summary_put_markdown(struct buf *buf, const struct summary *summary, const struct spark *spark);

/* One object and a LF. */
void summary_put_json(struct buf *buf, const struct summary *summary);

/* The data of the HTML page as JSON that may stand in a script element: no '<' occurs in it. */
void report_put_data(struct buf *buf, const struct summary *summary, const struct series *series);

/* More than any report has: data, picture and page are bounded, and together below 1.5 MB. */
enum { REPORT_BYTES_MAX = 4 * 1024 * 1024, REPORT_DATA_BYTES_MAX = 1280 * 1000, SVG_BYTES_MAX = 300 * 1000 };

/* The page with its data. Returns 0, -ENOBUFS (the buffer is full) or -ENOMEM (to unpack the page). */
int report_put_page(struct buf *buf, const struct summary *summary, const struct series *series);

/* The main charts as a picture. Returns 0 or -ENOBUFS. */
int report_put_svg(struct buf *buf, const struct summary *summary, const struct series *series);

#endif
