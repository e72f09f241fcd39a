/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/means.h"

static void add(struct mean *mean, struct opt_f64 value)
{
    if (!value.has)
        return;
    mean->sum += value.v;
    mean->count++;
}

void means_add(struct means *means, const struct sample *sample, const struct sample_totals *totals)
{
    const struct sample_cpu *cpu = &sample->cpu;
    if (!sample->tracked_pid.has)
        return;
    add(&means->host_cores, cpu->utilization_pct);
    add(&means->tree_cores, cpu->process_cores_used);
    add(&means->host_memory_mib, sample->memory.used_mib);
    add(&means->tree_memory_mib, cpu->process_pss_mib.has ? cpu->process_pss_mib : cpu->process_rss_mib);
    add(&means->host_gpus, totals->gpu_usage);
    add(&means->host_vram_mib, opt_scaled(totals->vram_used_bytes, BYTES_PER_MIB));
    add(&means->tree_gpus, cpu->process_gpu_usage);
    add(&means->tree_vram_mib, cpu->process_gpu_vram_mib);
}

/* Does the host use more than the tree explains? */
static bool is_exceeded(const struct mean *host, const struct mean *tree, double factor, double margin)
{
    if (host->count == 0 || tree->count == 0)
        return false;
    double of_host = host->sum / (double)host->count, of_tree = tree->sum / (double)tree->count;
    return of_host > factor * of_tree || of_host > of_tree + margin;
}

const char *means_allocation(const struct means *means)
{
    if (means->host_cores.count == 0 || means->tree_cores.count == 0)
        return NULL;
    bool is_shared = is_exceeded(&means->host_cores, &means->tree_cores, 1.25, 0.25) ||
                     is_exceeded(&means->host_memory_mib, &means->tree_memory_mib, 1.5, 512) ||
                     is_exceeded(&means->host_gpus, &means->tree_gpus, 1.25, 0.2) ||
                     is_exceeded(&means->host_vram_mib, &means->tree_vram_mib, 1.25, 512);
    return is_shared ? "shared" : "dedicated";
}
