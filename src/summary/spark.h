/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores and memory over the time of one run as a line of block characters each (U+2581 to U+2588), in a small fixed
 * space: buckets of equal length, of which each two become one when the run gets longer than all of them.
 */
#ifndef SUMMARY_SPARK_H
#define SUMMARY_SPARK_H

#include "base/buf.h"
#include "model/totals.h"
#include "summary/summary.h"

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

#endif
