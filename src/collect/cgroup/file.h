/* SPDX-License-Identifier: Apache-2.0 */
/* One file of our control group or of a group above it, kept open between readings. */
#ifndef COLLECT_CGROUP_FILE_H
#define COLLECT_CGROUP_FILE_H

#include <limits.h>
#include <stddef.h>

#include "base/str.h"
#include "collect/cgroup/path.h"
#include "kernel/sysroot.h"

enum { CGROUP_FILE_BYTES_MAX = 4096, CGROUP_FILE_PATH_BYTES = PATH_MAX + 64 };

/* Memory is reported in MiB. */
#define CGROUP_BYTES_PER_MIB (1024.0 * 1024.0)

/* Filled in by its owner, who also closes fd (fd_close). */
struct cgroup_file {
    const struct cgroup_place *place;
    size_t dir_len; /* how much of the place's directory: our group or one above it */
    const char *name;
    int fd; /* -1: not open */
};

/* Relative to the root of the machine. */
void cgroup_file_path(const struct cgroup_file *file, char path[static CGROUP_FILE_PATH_BYTES]);

/* Sets fd, which must not be open; 0, or a negative errno with fd at -1. */
int cgroup_file_open(const struct sysroot *root, struct cgroup_file *file);

/*
 * The text lies in out. A descriptor gone bad (lxcfs restarted) is opened again once. Returns 0, -EFBIG for a file that
 * does not fit, or another negative errno; the next reading tries again.
 */
int cgroup_file_read(
    const struct sysroot *root, struct cgroup_file *file, char out[static CGROUP_FILE_BYTES_MAX], struct str *ret_text);

#endif
