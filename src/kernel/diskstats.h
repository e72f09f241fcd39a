/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/diskstats (Documentation/admin-guide/iostats.rst): devices and partitions alike, amounts in units of 512 bytes
 * whatever the device's own sector size, times in ms.
 */
#ifndef KERNEL_DISKSTATS_H
#define KERNEL_DISKSTATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { DISKSTATS_UNIT_BYTES = 512, DISKSTATS_ROWS_MAX = 16384 };

struct diskstats_row {
    unsigned major, minor;
    char name[32]; /* as printed; sysfs has '!' where this has '/' (cciss/c0d0) */
    uint64_t reads, read_units, writes, write_units, busy_ms;
};

struct diskstats {
    struct diskstats_row *items;
    size_t count, cap;
};

/*
 * Reuses the array. Returns 0 (also for an empty file: a machine may have no disk), -EBADMSG for a text that is cut
 * (its last byte is no LF), -E2BIG or -ENOMEM. Lines with fewer than 14 columns (partitions of very old kernels) and
 * broken lines are skipped.
 */
int diskstats_parse(struct str text, struct diskstats *stats);
void diskstats_fini(struct diskstats *stats);

#endif
