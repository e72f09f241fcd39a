/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/mountinfo (proc_pid_mountinfo(5)). */
#ifndef KERNEL_MOUNTINFO_H
#define KERNEL_MOUNTINFO_H

#include <stddef.h>

struct mount_row {
    int id, parent;
    unsigned major, minor;
    const char *root, *mount_point, *options, *fstype, *source, *super_options; /* decoded; point into the text */
};

struct mountinfo {
    struct mount_row *items; /* in the order of the file */
    size_t count, cap;
};

enum { MOUNTINFO_ROWS_MAX = 65536 };

/*
 * Decodes in place: `text` is changed and must outlive the rows. Reuses the array. Returns 0, -E2BIG or -ENOMEM. Broken
 * and cut lines are skipped. An empty source ("") is possible.
 */
int mountinfo_parse(char *text, size_t len, struct mountinfo *info);
void mountinfo_fini(struct mountinfo *info);

#endif
