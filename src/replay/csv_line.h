/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as resource-trackers write it, in all column sets: the header says which column is which, a row becomes a sample.
 * Sums over devices come back as one device called "all"; GPUs as so many as were in use, each with its share. The CSV
 * encoders make the same row of it again.
 */
#ifndef REPLAY_CSV_LINE_H
#define REPLAY_CSV_LINE_H

#include <stdint.h>

#include "base/str.h"
#include "model/sample.h"
#include "replay/name_list.h"

enum { CSV_LINE_COLUMNS_MAX = 256, CSV_LINE_GPUS_MAX = 64 };

struct csv_line {
    size_t count; /* columns of the header; 0: none yet */
    unsigned char columns[CSV_LINE_COLUMNS_MAX]; /* enum csv_column */
    struct name_list unknown; /* columns that are left out */
    uint64_t mistyped; /* cells that hold no number, or one that cannot be */
    bool has_process_memory; /* PSS or RSS: a row does not tell */
    /* what the lists of the sample point at */
    struct sample_disk disk;
    struct sample_mount mount;
    struct sample_network network;
    struct sample_gpu gpus[CSV_LINE_GPUS_MAX];
};

/* Does it name columns, a timestamp and a CPU usage among them, none that is known twice? */
bool csv_line_is_header(struct str line);

/* Takes the columns from a header. Returns 0, or -EBADMSG where it is none: nothing changes then. */
int csv_line_set_header(struct csv_line *csv, struct str line);

/*
 * A row after a header. Lists of the sample are valid until the next call. Returns 0 or -EBADMSG (other than the header
 * says, or without a timestamp); the sample is then unspecified. Times but timestamp_* are left to the caller.
 */
int csv_line_parse(struct csv_line *csv, struct str line, struct sample *sample);

#endif
