/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people get of a run: the live view while it lasts, and at its end the summary on stderr, its JSON and Markdown
 * files and the report. Fed with samples by a run or by a replay.
 */
#ifndef RUN_PEOPLE_H
#define RUN_PEOPLE_H

#include "base/err.h"
#include "config/settings.h"
#include "live/live.h"
#include "model/sample.h"
#include "sink/sink.h"
#include "summary/series.h"
#include "summary/tally.h"

enum people_file { PEOPLE_JSON, PEOPLE_MARKDOWN, PEOPLE_REPORT, PEOPLE_FILES };

struct people {
    struct tally *tally; /* NULL: nobody wants a summary */
    struct series *series; /* NULL: nobody wants a report */
    struct live *live; /* NULL: not shown */
    bool prints_summary, has_colour;
    struct sink files[PEOPLE_FILES]; /* fd -1: not wanted */
    bool is_ours[PEOPLE_FILES]; /* a file of its own, which may be emptied: not where stdout or stderr lead */
    bool is_written[PEOPLE_FILES];
    char names[PEOPLE_FILES][64]; /* cut */
    char *made[PEOPLE_FILES]; /* the name of one that was not there before; owned */
    int64_t deadline_ms; /* for slow readers of all of them together */
};

#define PEOPLE_CLOSED                                                                                                  \
    {                                                                                                                  \
        .files = { {.fd = -1}, {.fd = -1}, {.fd = -1} }                                                                \
    }

/*
 * Opens what the settings ask for. shows_samples: samples go to where stderr leads. must_show: without any other output
 * the summary is printed, wherever stderr leads. Returns 0 or a negative errno with a message; to be closed in any
 * case.
 */
int people_open(
    struct people *people, const struct settings *settings, bool shows_samples, bool must_show, struct err *err);

/*
 * No two outputs may be one file; to be asked before the file for samples is opened, and so emptied. Returns 0 or
 * -EEXIST with a message.
 */
int people_check_files(const struct people *people, const struct settings *settings, struct err *err);

/* Does anybody want samples? */
static inline bool people_want_samples(const struct people *people)
{
    return people->tally || people->live;
}

void people_sample(struct people *people, const struct sample *sample);

/* The next sample belongs to another run. */
void people_next_run(struct people *people);

/* Nothing of ours is on the terminal until the next sample; its window has another size. */
void people_hide(struct people *people);
void people_resized(struct people *people);

/* After the last sample: prints and writes. Trouble is told; false where there was some. */
bool people_finish(struct people *people);

/* Files that were made for nothing (there was no sample) are taken away again. */
void people_close(struct people *people);

#endif
