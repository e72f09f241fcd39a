/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that others read at any time, or that must be there whole or not at all: what is new is written beside it and
 * renamed.
 */
#ifndef RUN_OUTPUT_REPLACED_FILE_H
#define RUN_OUTPUT_REPLACED_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"

struct replaced_file {
    char *path, *beside; /* owned; NULL: not wanted */
    bool is_failing; /* and that was reported */
};

/*
 * Checks that the file can be written, and leaves it as it is. template_ NULL: not wanted. Returns 0 or a negative
 * errno with a message; to be closed in any case.
 */
int replaced_file_open(
    struct replaced_file *file, const char *template_, const struct settings *settings, struct err *err);
void replaced_file_close(struct replaced_file *file);

/* What fails is logged once; false then. */
bool replaced_file_write(struct replaced_file *file, const struct buf *text);

#endif
