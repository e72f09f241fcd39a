/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a recording on their way to the target: what each line is, where runs begin, and what a sample lacks but can
 * be known. The first sample of a run that does not tell its interval waits for the second, and both for the third
 * where they are so far apart that they may be of two runs.
 */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

#include "base/buf.h"
#include "replay/csv_line.h"
#include "replay/json_line.h"
#include "replay/previous.h"
#include "replay/replay.h"

/* Of one sample, what decides about runs and times. */
struct recording_times {
    struct opt_i64 timestamp_ms;
    struct opt_f64 elapsed_secs, interval_ms, late_ms;
    struct opt_u64 missed_samples, tracked_pid;
};

struct recording {
    const struct replay_target *target;
    struct replay_report *report;
    struct json_line json;
    struct csv_line csv;
    struct previous previous;
    struct sample sample; /* the one under way */
    struct buf waiting, second; /* the lines of a first sample and the next one; empty: none */
    bool is_in_run; /* false: the next sample begins one */
    int64_t interval_ns; /* of the run; 0: unknown */
    uint64_t run_samples; /* handed over */
    struct recording_times first; /* with a second: of the one that waits */
    struct recording_times seen, given; /* the last sample that was read, and the last one handed over */
    struct buf job_name, version; /* of the run */
    struct name_list versions;
    /* for the notes */
    uint64_t line_number, no_samples, first_no_sample, too_long, first_mistyped;
    bool is_cut;
};

/* Returns 0 or -ENOMEM. The report must be empty; recording_fini is allowed after a failure. */
int recording_init(struct recording *recording, const struct replay_target *target, struct replay_report *report);
void recording_fini(struct recording *recording);

/* The next line, without its LF; is_ended: there was one. Returns 0, -ENOMEM, or what the target said. */
int recording_add_line(struct recording *recording, struct str line, bool is_ended);

/* A line above REPLAY_LINE_BYTES_MAX, of which nothing is kept. */
void recording_add_long(struct recording *recording);

/* After the last line. */
int recording_finish(struct recording *recording);

#endif
