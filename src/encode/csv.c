/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV column sets that resource-trackers have in common. Written by hand and not from the field tables: these
 * columns are a compatibility contract and never change order, name or unit. An empty field is an unknown value.
 */
#include <stddef.h>

#include "base/clock.h"
#include "base/num.h"
#include "encode/encode.h"

static const double bytes_per_gb = 1e9;

static void put_u64(struct buf *buf, struct opt_u64 value)
{
    buf_putc(buf, ',');
    if (value.has)
        num_put_u64(buf, value.v);
}

static void put_f64(struct buf *buf, struct opt_f64 value, unsigned decimals)
{
    buf_putc(buf, ',');
    if (value.has)
        (void)num_put_fixed(buf, value.v, decimals);
}

static void put_timestamp(struct buf *buf, const struct run_info *info, const struct sample *sample)
{
    if (info->interval_ns % NS_PER_SEC == 0)
        num_put_i64(buf, sample->timestamp_secs.v);
    else
        (void)num_put_fixed(buf, (double)sample->timestamp_ms.v / 1e3, 3);
}

/* Whole MiB, rounded down as in JSON. */
static void put_mib(struct buf *buf, struct opt_f64 mib)
{
    struct opt_u64 whole = {.has = mib.has && mib.v >= 0 && mib.v < 1e15};
    whole.v = whole.has ? (uint64_t)mib.v : 0;
    put_u64(buf, whole);
}

/* What the `full` columns call used; kernels before 3.14 do not say what is available. */
static struct opt_f64 unavailable(const struct sample_memory *memory)
{
    if (memory->unavailable_mib.has)
        return memory->unavailable_mib;
    if (memory->total_mib.has && memory->available_mib.has)
        return some_f64(memory->total_mib.v - memory->available_mib.v);
    return memory->used_mib;
}

/* No device at all is a known 0; devices that report nothing are unknown. */
static struct opt_u64 or_zero(struct opt_u64 sum, const struct sample_list *list)
{
    return list->present && list->count == 0 ? some_u64(0) : sum;
}

static void put_system_columns(
    struct buf *buf, const struct sample *sample, const struct sample_totals *totals, struct opt_f64 memory_used_mib)
{
    const struct sample_list *disks = &sample->disk, *interfaces = &sample->network, *gpus = &sample->gpu;
    bool has_no_gpu = gpus->present && gpus->count == 0;
    const struct sample_memory *memory = &sample->memory;
    const struct opt_f64 amounts[] = {memory->free_mib, memory_used_mib, memory->buffers_mib, memory->cached_mib,
        memory->active_mib, memory->inactive_mib};
    struct opt_u64 used = counter_delta_opt(totals->space_free_bytes, totals->space_total_bytes);

    put_u64(buf, sample->cpu.process_count);
    put_f64(buf, sample->cpu.utime_secs, 3);
    put_f64(buf, sample->cpu.stime_secs, 3);
    put_f64(buf, sample->cpu.utilization_pct, 4);
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        put_mib(buf, amounts[i]);
    put_u64(buf, or_zero(totals->disk_read.bytes, disks));
    put_u64(buf, or_zero(totals->disk_write.bytes, disks));
    put_f64(buf, opt_scaled(totals->space_total_bytes, bytes_per_gb), 6);
    put_f64(buf, opt_scaled(used, bytes_per_gb), 6);
    put_f64(buf, opt_scaled(totals->space_free_bytes, bytes_per_gb), 6);
    put_u64(buf, or_zero(totals->every_received_bytes, interfaces));
    put_u64(buf, or_zero(totals->every_sent_bytes, interfaces));
    put_f64(buf, has_no_gpu ? some_f64(0) : totals->gpu_usage, 4);
    put_f64(buf, opt_scaled(or_zero(totals->vram_used_bytes, gpus), BYTES_PER_MIB), 4);
    put_u64(buf, or_zero(totals->gpu_utilized, gpus));
}

static void put_process_columns(struct buf *buf, const struct sample *sample)
{
    const struct sample_cpu *cpu = &sample->cpu;
    put_u64(buf, sample->tracked_pid);
    put_u64(buf, cpu->process_child_count);
    put_f64(buf, cpu->process_utime_secs, 4);
    put_f64(buf, cpu->process_stime_secs, 4);
    put_f64(buf, cpu->process_cores_used, 4);
    put_mib(buf, cpu->process_pss_mib.has ? cpu->process_pss_mib : cpu->process_rss_mib);
    put_u64(buf, cpu->process_disk_read_bytes);
    put_u64(buf, cpu->process_disk_write_bytes);
    put_f64(buf, cpu->process_gpu_usage, 4);
    put_f64(buf, cpu->process_gpu_vram_mib, 4);
    put_u64(buf, cpu->process_gpu_utilized);
}

/* The columns that the sets have in common, with what stands before each name and behind those of memory. */
#define SYSTEM_COLUMNS(before, unit)                                                                                   \
    "timestamp," before "processes," before "utime," before "stime," before "cpu_usage," before "memory_free" unit     \
    "," before "memory_used" unit "," before "memory_buffers" unit "," before "memory_cached" unit "," before          \
    "memory_active" unit "," before "memory_inactive" unit "," before "disk_read_bytes," before                        \
    "disk_write_bytes," before "disk_space_total_gb," before "disk_space_used_gb," before "disk_space_free_gb," before \
    "net_recv_bytes," before "net_sent_bytes," before "gpu_usage," before "gpu_vram" unit "," before "gpu_utilized"
#define PROCESS_COLUMNS                                                                                                \
    ",process_pid,process_children,process_utime,process_stime,process_cpu_usage,process_memory_mib,"                  \
    "process_disk_read_bytes,process_disk_write_bytes,process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized"

/* The parts of a column set beyond the common columns. */
enum { PROCESS = 1, STEAL = 2, AVAILABLE = 4 }; /* AVAILABLE: used memory is what is not available */

static void put_row(struct buf *buf, const struct run_info *info, const struct sample *sample,
    const struct sample_totals *totals, unsigned parts)
{
    const struct sample_memory *memory = &sample->memory;
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample, totals, parts & AVAILABLE ? unavailable(memory) : memory->used_mib);
    if (parts & PROCESS)
        put_process_columns(buf, sample);
    if (parts & STEAL)
        put_f64(buf, sample->cpu.steal_secs, 3);
    buf_putc(buf, '\n');
}

static const char *check_header(struct str head, struct str header)
{
    return str_starts(head, header) ? NULL : "it does not begin with the same CSV header";
}

/* One column set: its functions and its encoder. */
#define COLUMN_SET(set, header, parts)                                                                                 \
    static void set##_begin(const struct run_info *info, struct buf *buf)                                              \
    {                                                                                                                  \
        (void)info;                                                                                                    \
        buf_puts(buf, header);                                                                                         \
    }                                                                                                                  \
    static void set##_sample(                                                                                          \
        const struct run_info *info, const struct sample *sample, const struct sample_totals *totals, struct buf *buf) \
    {                                                                                                                  \
        put_row(buf, info, sample, totals, parts);                                                                     \
    }                                                                                                                  \
    static const char *set##_may_append(struct str head)                                                               \
    {                                                                                                                  \
        return check_header(head, STR(header));                                                                        \
    }                                                                                                                  \
    const struct encoder encoder_csv_##set = {.name = "CSV",                                                           \
        .cpu_resolution_ns = NS_PER_MS / 10,                                                                           \
        .uses_totals = true,                                                                                           \
        .begin = set##_begin,                                                                                          \
        .sample = set##_sample,                                                                                        \
        .may_append = set##_may_append};

COLUMN_SET(system, SYSTEM_COLUMNS("", "") "\n", 0)
COLUMN_SET(full, SYSTEM_COLUMNS("system_", "_mib") PROCESS_COLUMNS ",system_steal_time\n", PROCESS | STEAL | AVAILABLE)
COLUMN_SET(python_system, SYSTEM_COLUMNS("", "_mib") "\n", AVAILABLE)
COLUMN_SET(python, SYSTEM_COLUMNS("system_", "_mib") PROCESS_COLUMNS "\n", PROCESS | AVAILABLE)

const struct encoder *csv_encoder(enum encode_columns columns, bool has_process)
{
    switch (columns) {
    case CSV_COLUMNS_SYSTEM:
        return &encoder_csv_system;
    case CSV_COLUMNS_FULL:
        return &encoder_csv_full;
    case CSV_COLUMNS_PYTHON:
        return has_process ? &encoder_csv_python : &encoder_csv_python_system;
    case CSV_COLUMNS_AUTO:
        break;
    }
    return has_process ? &encoder_csv_full : &encoder_csv_system;
}
