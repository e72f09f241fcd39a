/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/meminfo: amounts in KiB as the kernel prints them ("kB").
 */
#ifndef KERNEL_MEMINFO_H
#define KERNEL_MEMINFO_H

#include "base/opt.h"
#include "base/str.h"

struct meminfo {
    struct opt_u64 total_kib, free_kib, available_kib, buffers_kib, cached_kib, s_reclaimable_kib, active_kib,
        inactive_kib, swap_total_kib, swap_free_kib, shmem_kib, dirty_kib;
};

/* Returns 0, or -EBADMSG where MemTotal is missing. Keys an old kernel lacks stay absent. */
int meminfo_parse(struct str text, struct meminfo *ret);

#endif
