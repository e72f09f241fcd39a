/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of output files with {job}, {host}, {node}, {rank}, {pid} and {datetime} in them. What is put in is made safe:
 * bytes other than letters, digits, '.', '_' and '-' become '_', and it never begins with a dot or a dash.
 */
#ifndef RUN_OUTPUT_FILE_NAME_H
#define RUN_OUTPUT_FILE_NAME_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"

enum { FILE_NAME_BYTES = 4096 };

struct file_name_values {
    const char *job; /* NULL: "job" */
    const char *host, *node; /* NULL: "host" */
    const char *rank; /* NULL: "0" */
    int64_t pid;
    int64_t unix_secs;
};

/* The pure part: appends the expanded name to buf. Other braces stay as they are. */
void file_name_fill(const char *template_, const struct file_name_values *values, struct buf *buf);

/* With this machine's name, our own PID and the time now. Returns 0 or -ENAMETOOLONG with a message. */
int file_name_expand(
    const char *template_, const struct settings *settings, char *ret_path, size_t size, struct err *err);

#endif
