/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders turn samples into bytes in a buffer; they do no I/O and keep no state beyond the few facts of the run. Each
 * format is one file and one row of encode/formats.h (docs/adding-an-output-format.md).
 */
#ifndef ENCODE_ENCODE_H
#define ENCODE_ENCODE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "encode/formats.h"
#include "model/run_facts.h"
#include "model/totals.h"

struct encoder {
    const char *name; /* of the format and its column set, as messages show it */
    int64_t cpu_resolution_ns; /* CPU times are written in multiples of it */
    bool uses_totals; /* else `sample` ignores them, and they may be NULL */
    bool has_core_lists; /* values of every CPU are written */
    /* What stands before the first sample (the CSV header); NULL: nothing. */
    void (*begin)(const struct run_info *info, struct buf *buf);
    /* One sample as whole lines. Check buf_ok() afterwards. */
    void (*sample)(
        const struct run_info *info, const struct sample *sample, const struct sample_totals *totals, struct buf *buf);
    /* What stands behind the last sample; NULL: nothing. */
    void (*end)(const struct run_info *info, struct buf *buf);
    /* May samples follow in a file that begins like this (one byte or more), without another `begin`? Returns NULL, or
     * what keeps them from it: "it does not hold JSON lines". */
    const char *(*may_append)(struct str head);
};

/* The encoder of a format. has_process: a process is tracked, not the host alone. */
const struct encoder *encoder_find(enum encode_format format, enum encode_columns columns, bool has_process);

/* What every format's file defines. */
#define ENCODE_FORMAT_FUNCTION(constant, word, stem)                                                                   \
    const struct encoder *stem##_encoder(enum encode_columns columns, bool has_process);
ENCODE_FORMATS(ENCODE_FORMAT_FUNCTION)

extern const struct encoder encoder_jsonl;
extern const struct encoder encoder_csv_system;
extern const struct encoder encoder_csv_full; /* also what the streaming protocol sends */
/* With the names of the Python package, version 0.5: of the host, and of host and process. */
extern const struct encoder encoder_csv_python_system;
extern const struct encoder encoder_csv_python;

#endif
