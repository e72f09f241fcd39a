/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/smaps_rollup (Linux 4.14): "Pss:                 397 kB" and other sums over all mappings. */
#ifndef KERNEL_SMAPS_ROLLUP_H
#define KERNEL_SMAPS_ROLLUP_H

#include <stdint.h>

#include "base/str.h"

struct smaps_rollup {
    uint64_t rss_kib, pss_kib;
};

/* Returns 0 or -EINVAL where one of the two is missing, cut or no number. */
int smaps_rollup_parse(struct str text, struct smaps_rollup *ret);

#endif
