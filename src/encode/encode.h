/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders turn samples into bytes in a buffer; they do no I/O and keep no state beyond the few facts of the run.
 */
#ifndef ENCODE_ENCODE_H
#define ENCODE_ENCODE_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/run_info.h"
#include "model/sample.h"

struct encoder {
    /* What stands before the first sample (the CSV header); nothing where NULL. */
    void (*begin)(const struct run_info *info, struct buf *buf);
    /* One sample as whole lines. Check buf_ok() afterwards. */
    void (*sample)(const struct run_info *info, const struct sample *sample, struct buf *buf);
};

extern const struct encoder encoder_jsonl;
extern const struct encoder encoder_csv_system;
extern const struct encoder encoder_csv_full;
/* With the names of the Python package, version 0.5: of the host, and of host and process. */
extern const struct encoder encoder_csv_python_system;
extern const struct encoder encoder_csv_python;

#endif
