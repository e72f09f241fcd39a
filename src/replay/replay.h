/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded samples as a source: JSON lines (ours of any version, and those of the Rust tool), CSV with either column
 * set, each plain or in gzip, found out from the content. A file is read in pieces, whatever its size. What cannot be
 * used is skipped and noted in the report; only a file that cannot be read, or holds no sample at all, is an error.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/run_facts.h"
#include "model/sample.h"

enum { REPLAY_NOTES_MAX = 12, REPLAY_NOTE_BYTES = 240, REPLAY_LINE_BYTES_MAX = 8 * 1024 * 1024 };

/* What gets the samples. */
struct replay_target {
    void *context;
    /*
     * A run begins: before its first sample. info is valid until the next call of it: version, job_name, tracked_pid
     * and interval_ns as far as the recording has them (interval_ns: from `run`, else inferred from the first
     * samples, else 0).
     */
    void (*begin)(void *context, const struct run_info *info);
    /* Strings and lists are valid until it returns. A negative errno ends the replay and is returned. */
    int (*sample)(void *context, const struct sample *sample);
    /* From time to time: so much of the file is read. size 0: it is not known. NULL: it is not of interest. */
    void (*progress)(void *context, uint64_t bytes, uint64_t size);
};

struct replay_report {
    uint64_t runs, samples, skipped; /* skipped: lines that are no sample */
    char notes[REPLAY_NOTES_MAX][REPLAY_NOTE_BYTES]; /* one line each, without the name of the file */
    unsigned note_count;
};

/*
 * Reads the file ("-": stdin) to its end. Returns 0, or a negative errno with a message that names the file. The report
 * is filled in any case.
 */
int replay_file(
    const char *path, const struct replay_target *target, struct replay_report *ret_report, struct err *err);

#endif
