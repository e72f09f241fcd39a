/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/smaps_rollup (Linux 4.14): "Pss:                 397 kB" and other sums over all mappings. */
#ifndef KERNEL_SMAPS_ROLLUP_H
#define KERNEL_SMAPS_ROLLUP_H

#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

struct smaps_rollup {
    uint64_t rss_kib, pss_kib;
    struct opt_u64 anonymous_kib, pss_anon_kib; /* of memory without a file; pss_anon since Linux 5.4 */
    struct opt_u64 ksm_kib; /* of it, merged with equal pages of any process; since Linux 6.7 */
};

/* Returns 0 or -EINVAL where one of the first two is missing, cut or no number. */
int smaps_rollup_parse(struct str text, struct smaps_rollup *ret);

#endif
