/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices of a sample make up the totals of the host, so that no byte counts twice. What is not known of a
 * device does not leave it out.
 */
#ifndef MODEL_SAMPLE_LISTS_H
#define MODEL_SAMPLE_LISTS_H

#include "model/sample.h"

/* Not one that lies on other disks, which have the same bytes. */
static inline bool sample_disk_counts(const struct sample_disk *disk)
{
    return !(disk->stacked.has && disk->stacked.v);
}

static inline bool sample_network_has_hardware(const struct sample_network *interface)
{
    return !(interface->is_virtual.has && interface->is_virtual.v);
}

/* Has any of them hardware? Then only those count; otherwise all do, as in a container. */
static inline bool sample_networks_have_hardware(const struct sample_list *list)
{
    const struct sample_network *interfaces = list->items;
    bool has = false;
    for (size_t i = 0; list->present && i < list->count && !has; i++)
        has = sample_network_has_hardware(&interfaces[i]);
    return has;
}

/* Memory in use on the host, as far as a recording has it: some have only what is not available. */
static inline struct opt_f64 sample_memory_used_mib(const struct sample_memory *memory)
{
    return memory->used_mib.has ? memory->used_mib : memory->unavailable_mib;
}

#endif
