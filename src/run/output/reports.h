/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readable outputs of a run: the live view and metrics while it lasts, and at its end the summary on stderr, its
 * JSON and Markdown files and the report. Fed with samples by a run or by a replay.
 */
#ifndef RUN_OUTPUT_REPORTS_H
#define RUN_OUTPUT_REPORTS_H

#include "base/err.h"
#include "config/settings.h"
#include "live/live.h"
#include "run/output/replaced_file.h"
#include "run/output/terminal_guard.h"
#include "sink/sink.h"
#include "summary/accumulate.h"
#include "summary/series.h"
#include "summary/write.h"

enum report_file { REPORTS_JSON, REPORTS_MARKDOWN, REPORTS_REPORT, REPORTS_FILES };

struct reports {
    struct accumulator *accumulator; /* NULL: no summary is wanted */
    struct series *series; /* NULL: no report is wanted */
    struct live *live; /* NULL: not shown */
    struct terminal_guard guard;
    bool prints_summary, has_colour;
    bool is_svg; /* the report is a picture: its name ends in .svg */
    bool begins_line; /* the command may have left the cursor of this terminal within a line */
    struct sink files[REPORTS_FILES]; /* fd -1: not wanted */
    bool is_ours[REPORTS_FILES]; /* a file of its own, which may be emptied: not where stdout or stderr lead */
    bool is_written[REPORTS_FILES], is_whole[REPORTS_FILES]; /* written: or begun to be */
    char names[REPORTS_FILES][64]; /* cut */
    char *paths[REPORTS_FILES]; /* owned; NULL: no file of its own */
    bool is_made[REPORTS_FILES]; /* it did not exist before */
    char *samples_path; /* owned; NULL: samples do not go to a file */
    struct spark spark; /* for Markdown */
    struct replaced_file metrics, snakemake;
    int64_t metrics_ms; /* monotonic: when the metrics are due */
    const struct settings *settings;
    bool has_push, has_short_json; /* streaming wants them */
    struct buf metrics_text; /* at the end, where they are wanted */
    struct buf short_json; /* likewise: the summary without its processes */
    int64_t deadline_ms; /* for slow readers of all of them together */
};

/* All closed. */
void reports_init(struct reports *reports);

/*
 * Opens what the settings ask for. shows_samples: samples go to where stderr leads. must_show: without any other output
 * the summary is printed, wherever stderr leads. helpers: where a process that watches over the terminal is
 * registered; NULL: there is no live view. Returns 0 or a negative errno with a message; to be closed in any
 * case.
 */
int reports_open(struct reports *reports, const struct settings *settings, struct helpers *helpers, bool shows_samples,
    bool must_show, struct err *err);

/*
 * No two outputs may be one file; to be asked before the file for samples is opened, and so emptied. Returns 0 or
 * -EEXIST with a message.
 */
int reports_check_files(const struct reports *reports, const struct settings *settings, struct err *err);

/* The file that samples were written to, for the list of files in the summary; NULL: none. */
void reports_set_samples_path(struct reports *reports, const char *path);

/* Are samples wanted? */
static inline bool reports_want_samples(const struct reports *reports)
{
    return reports->accumulator || reports->live;
}

/* Do totals have to come with rates? */
static inline bool reports_want_rates(const struct reports *reports)
{
    return reports->series || reports->live;
}

/* Before a sample: has the first process of the tree ended? */
void reports_set_root_gone(struct reports *reports, bool is_root_gone);

/* totals may be NULL where no samples are wanted. */
void reports_sample(struct reports *reports, const struct sample *sample, const struct sample_totals *totals);

/* The next sample belongs to another run. */
void reports_next_run(struct reports *reports);

/* From time to time where no sample comes, if there is a live view. */
void reports_tick(struct reports *reports);

/* Nothing of ours is on the terminal until the next sample; its window has another size. */
void reports_hide(struct reports *reports);
void reports_resized(struct reports *reports);

/* After the last sample: prints and writes. Logs what fails; false where something did. */
bool reports_finish(struct reports *reports);

/* Removes files that were created but never written (there was no sample). */
void reports_close(struct reports *reports);

#endif
