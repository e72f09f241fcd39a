/* SPDX-License-Identifier: Apache-2.0 */
/* Every collector there is, in the order of the sample; the probe of devices comes before those that ask it, the tree
 * needs what the CPU collector read just before, and the tracker comes last so that it sees what the others cost. */
#include "collect/collect.h"

const struct collector *const collector_registry[] = {
    &collector_probe,
    &collector_cpu,
    &collector_tree,
    &collector_memory,
    &collector_network,
    &collector_disk,
    &collector_gpu,
    &collector_pressure,
    &collector_cgroup,
    &collector_oom,
    &collector_tracker,
};

const size_t collector_registry_count = sizeof(collector_registry) / sizeof(collector_registry[0]);
