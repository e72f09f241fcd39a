/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/summary.h"

struct opt_f64 summary_memory_need(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    if (memory->need_mib.has)
        return memory->need_mib;
    struct opt_f64 need = memory->pss_peak_mib.has ? memory->pss_peak_mib : memory->rss_peak_mib;
    if (memory->largest_process_mib.has && !(need.has && need.v >= memory->largest_process_mib.v))
        return memory->largest_process_mib;
    return need;
}
