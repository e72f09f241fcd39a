/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/net/dev: two heading lines, then one line per interface with 16 counters. The name ends at the last colon
 * before the numbers (alias names like eth0:1 hold one) and may touch the first number ("eth0:123").
 */
#ifndef KERNEL_NET_DEV_H
#define KERNEL_NET_DEV_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

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
