/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of devices: /proc/diskstats and /proc/net/dev. */
#ifndef KERNEL_DEVICES_H
#define KERNEL_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * /proc/diskstats (Documentation/admin-guide/iostats.rst): devices and partitions alike, amounts in units of 512 bytes
 * whatever the device's own sector size, times in ms.
 */
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

/*
 * /proc/net/dev: two heading lines, then one line per interface with 16 counters. The name ends at the last colon
 * before the numbers (alias names like eth0:1 hold one) and may touch the first number ("eth0:123").
 */
struct net_dev_row {
    char name[32];
    uint64_t rx_bytes, rx_errors, rx_dropped, tx_bytes, tx_errors, tx_dropped;
};

struct net_dev {
    struct net_dev_row *items; /* in the order of the file, lo included */
    size_t count, cap;
};

enum { NET_DEV_ROWS_MAX = 4096 };

/*
 * Reuses the array. Returns 0, -EINVAL where the headings are missing, -EBADMSG for a text that is cut (its last
 * byte is no LF), -E2BIG or -ENOMEM. A broken line is skipped.
 */
int net_dev_parse(struct str text, struct net_dev *dev);
void net_dev_fini(struct net_dev *dev);

#endif
