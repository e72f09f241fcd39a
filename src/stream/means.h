/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Had the job its machine for itself? The means of a run, of the host and of the tree, side by side. A fixed size
 * whatever the length of the run.
 */
#ifndef STREAM_MEANS_H
#define STREAM_MEANS_H

#include "model/totals.h"

struct mean {
    double sum;
    uint64_t count;
};

struct means {
    struct mean host_cores, host_memory_mib, host_gpus, host_vram_mib;
    struct mean tree_cores, tree_memory_mib, tree_gpus, tree_vram_mib;
};

void means_add(struct means *means, const struct sample *sample, const struct sample_totals *totals);

/* "shared", "dedicated", or NULL where there is nothing to compare. */
const char *means_allocation(const struct means *means);

#endif
