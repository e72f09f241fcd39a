/* SPDX-License-Identifier: Apache-2.0 */
/* The table of phases, cell by cell, for the terminal, Markdown and the report. */
#include <string.h>

#include "summary/rows.h"
#include "summary/units.h"

static const char units[SUMMARY_PHASE_COLUMNS] = {[SUMMARY_PHASE_TIME] = 't',
    [SUMMARY_PHASE_CORES] = 'f',
    [SUMMARY_PHASE_GPUS] = 'f',
    [SUMMARY_PHASE_MEMORY] = 'm',
    [SUMMARY_PHASE_DISK] = 'b',
    [SUMMARY_PHASE_NETWORK] = 'b',
    [SUMMARY_PHASE_ENERGY] = 'j'};

/* What a column shows. */
static struct opt_f64 amount_of(const struct summary_phase *phase, enum summary_phase_column column)
{
    bool is_disk = column == SUMMARY_PHASE_DISK;
    struct opt_u64 in = is_disk ? phase->read_bytes : phase->received_bytes;
    struct opt_u64 out = is_disk ? phase->write_bytes : phase->sent_bytes;
    if (units[column] == 'b')
        return (struct opt_f64){in.has, (double)in.v + (double)out.v};
    return column == SUMMARY_PHASE_TIME     ? phase->wall_secs
           : column == SUMMARY_PHASE_CORES  ? phase->cores_mean
           : column == SUMMARY_PHASE_GPUS   ? phase->gpu_usage_mean
           : column == SUMMARY_PHASE_MEMORY ? phase->memory_peak_mib
                                            : phase->process_joules;
}

/* "13 x evaluate" */
static void put_name(struct buf *buf, const struct summary_phase *phase)
{
    if (phase->times.v > 1) {
        units_put_whole(buf, phase->times.v);
        buf_puts(buf, " x ");
    }
    units_put_foreign(buf, phase->name);
}

static void put_known(struct buf *buf, char unit, struct opt_f64 value)
{
    if (value.has)
        units_put_as(buf, unit, value.v);
    else
        buf_putc(buf, '-');
}

void summary_put_phase(struct buf *buf, const struct summary *summary, size_t i, enum summary_phase_column column)
{
    static const char heads[SUMMARY_PHASE_COLUMNS][10] = {
        "", "time", "cores", "GPUs", "memory", "disk", "network", "energy", "next time"};
    const struct summary_phase *phase = (const struct summary_phase *)summary->phases.items + i;
    if (i == SUMMARY_PHASE_HEAD) {
        bool is_marked = strcmp(summary->phases_source, SUMMARY_PHASES_MARKS) == 0;
        buf_puts(buf, column != SUMMARY_PHASE_NAME ? heads[column]
                      : is_marked                  ? "named by the job"
                                                   : "found by themselves");
        return;
    }
    struct summary_sizing sizing = {.vcpus = phase->vcpus, .memory_mib = phase->memory_mib};
    if (column == SUMMARY_PHASE_NAME)
        put_name(buf, phase);
    else if (column == SUMMARY_PHASE_SIZES)
        summary_put_sizes(buf, &sizing);
    else if (column < SUMMARY_PHASE_COLUMNS)
        put_known(buf, units[column], amount_of(phase, column));
}

bool summary_has_phase_column(const struct summary *summary, enum summary_phase_column column)
{
    const struct summary_phase *phase = summary->phases.items;
    bool is_used = (1U << column) & (1U << SUMMARY_PHASE_NAME | 1U << SUMMARY_PHASE_TIME | 1U << SUMMARY_PHASE_CORES |
                                        1U << SUMMARY_PHASE_MEMORY | 1U << SUMMARY_PHASE_SIZES);
    for (size_t i = 0; !is_used && i < summary->phases.count; i++, phase++)
        is_used = amount_of(phase, column).v > 0;
    return is_used;
}
