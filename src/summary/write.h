/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary as text for a terminal, as Markdown and as JSON, and the report. No I/O. Everything that comes from the
 * data (names, commands) may hold any bytes and is made harmless for where it stands.
 */
#ifndef SUMMARY_WRITE_H
#define SUMMARY_WRITE_H

#include "base/buf.h"
#include "model/totals.h"
#include "summary/series.h"
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

/*
 * Cores and memory over the time of one run as a line of block characters each (U+2581 to U+2588), in a small fixed
 * space (formats/spark.c): buckets of equal length, of which each two become one when the run gets longer than all of
 * them.
 */

enum { SPARK_BUCKETS = 60 };

struct spark_bucket {
    double secs, core_secs; /* time of which the cores are known, and what they come to */
    double rss_mib, pss_mib; /* the highest of the samples in it */
    bool has_rss, has_pss;
};

struct spark {
    int64_t bucket_fixed4; /* seconds; 0: there was no sample yet */
    struct opt_i64 elapsed_fixed4; /* of the sample before */
    size_t count; /* buckets in use */
    bool has_job; /* the values are those of a tree */
    bool has_several_runs; /* there is nothing to show then */
    struct spark_bucket buckets[SPARK_BUCKETS];
};

/* {0} is an empty one. Allocates nothing. */
void spark_add(struct spark *spark, const struct sample *sample);
void spark_next_run(struct spark *spark);

/*
 * Lines with what a full block stands for, and the time below them; behind memory the peak of the run, which may be
 * more than any sample shows. Nothing where there are less than two buckets.
 */
void spark_put(struct buf *buf, const struct spark *spark, const struct summary *summary);

/* A section with tables and a small chart (NULL: without), ready to be appended to a page of GitHub. */
void summary_put_markdown(struct buf *buf, const struct summary *summary, const struct spark *spark);

/* One object and a LF. */
void summary_put_json(struct buf *buf, const struct summary *summary);

/* One row as a benchmark file of Snakemake has it: with a header, or as JSON. */
void summary_put_snakemake(struct buf *buf, const struct summary *summary, bool is_json);

/* Metrics in the text format of Prometheus. */
void summary_put_metrics(struct buf *buf, const struct summary *summary);

/* The data of the HTML page as JSON that may stand in a script element: no '<' occurs in it. */
void report_put_data(struct buf *buf, const struct summary *summary, const struct series *series);

/* More than any report has: data, picture and page are bounded, and together below 1.5 MB. */
enum { REPORT_BYTES_MAX = 4 * 1024 * 1024, REPORT_DATA_BYTES_MAX = 1280 * 1000, SVG_BYTES_MAX = 300 * 1000 };

/* The page with its data. Returns 0, -ENOBUFS (the buffer is full) or -ENOMEM (to unpack the page). */
int report_put_page(struct buf *buf, const struct summary *summary, const struct series *series);

/* The main charts as a picture. Returns 0 or -ENOBUFS. */
int report_put_svg(struct buf *buf, const struct summary *summary, const struct series *series);

#endif
