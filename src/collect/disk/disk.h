/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of the disk collector, apart from its reading.
 */
#ifndef COLLECT_DISK_DISK_H
#define COLLECT_DISK_DISK_H

#include <stdint.h>

#include "kernel/diskstats.h"
#include "model/sample.h"

/* Fills the totals, and, where there is a previous reading (prev not NULL), growth and rates. */
void disk_derive(const struct diskstats_row *prev, const struct diskstats_row *cur, int64_t elapsed_ns,
    struct sample_disk *ret_disk);

#endif
