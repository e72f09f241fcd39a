/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several readers of a sample need of it: sums over its devices, computed once per sample, and its numbers as JSON
 * shows them, with 4 decimals ("fixed4": whole ten-thousandths). Whatever is accumulated is accumulated in fixed4, so
 * that a recording gives exactly what the run itself gave.
 */
#ifndef MODEL_TOTALS_H
#define MODEL_TOTALS_H

#include "base/opt.h"
#include "model/sample.h"

#define FIXED4 10000

/* The value in ten-thousandths, rounded as num_write_short does; absent where JSON has null, and from 9e14 on. */
struct opt_i64 fixed4_of(struct opt_f64 value);

static inline double fixed4_value(int64_t fixed4)
{
    return (double)fixed4 / FIXED4;
}

/* The value as a recording has it. */
static inline struct opt_f64 fixed4_rounded(struct opt_f64 value)
{
    struct opt_i64 fixed4 = fixed4_of(value);
    return (struct opt_f64){fixed4.has, fixed4_value(fixed4.v)};
}

/*
 * How long the interval of a sample was, in ten-thousandths of a second. JSON has it in whole milliseconds and the time
 * since the start more exactly: where the two agree, the growth of that time since the sample before (absent: there is
 * none, or it is not known) is used. In a first sample it is the time since the start.
 */
int64_t fixed4_interval(const struct sample *sample, struct opt_i64 elapsed_before_fixed4);

/*
 * Sums over the devices of one sample. A device of which a value is unknown is left out; where it is unknown of all, or
 * there is no device, the sum is absent. Sums that do not fit stay at the maximum.
 */
struct sample_totals {
    struct sample_flow {
        struct opt_u64 bytes; /* this interval */
        struct opt_i64 rate; /* bytes per second, fixed4 */
        struct opt_u64 unrated_bytes; /* of devices that report bytes but no rate, as rows of CSV do */
    } disk_read, disk_write; /* whole disks; those stacked on other disks have the same bytes and are left out */
    struct opt_u64 space_total_bytes, space_free_bytes; /* filesystems of which both are known */
    struct sample_flow received, sent; /* interfaces with hardware; all where none has any, as in a container */
    struct opt_u64 every_received_bytes, every_sent_bytes; /* virtual interfaces included: columns of CSV */
    struct opt_f64 gpu_usage; /* in GPUs */
    struct opt_i64 gpu_usage_pct, gpu_power_watts; /* fixed4 */
    struct opt_u64 gpu_utilized; /* GPUs in use at all */
    struct opt_u64 vram_used_bytes, vram_total_bytes;
};

/* with_rates: rates and unrated_bytes too, which only charts and the live view read. */
struct sample_totals sample_totals_of(const struct sample *sample, bool with_rates);

/* Memory in use on the host, as far as a recording has it: some have only what is not available. */
static inline struct opt_f64 sample_memory_used_mib(const struct sample_memory *memory)
{
    return memory->used_mib.has ? memory->used_mib : memory->unavailable_mib;
}

#endif
