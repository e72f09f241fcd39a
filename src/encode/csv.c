/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV column sets that resource-trackers have in common. Not from the field tables: these
 * columns are a compatibility contract and never change order, name or unit. An empty field is an unknown value.
 */
#include <stddef.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"
#include "encode/encode.h"

enum { HEADER_BYTES_MAX = 1024 };

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

/* What is not in a sample as it is written. */
struct derived {
    struct opt_f64 memory_used_mib, process_mib, space_total_gb, space_used_gb, space_free_gb, gpu_usage, vram_mib;
    struct opt_u64 disk_read, disk_write, received, sent, gpu_utilized;
};

static void derive(
    const struct sample *sample, const struct sample_totals *totals, bool is_available, struct derived *ret_derived)
{
    const struct sample_list *disks = &sample->disk, *interfaces = &sample->network, *gpus = &sample->gpu;
    const struct sample_cpu *cpu = &sample->cpu;
    bool has_no_gpu = gpus->present && gpus->count == 0;
    struct opt_u64 used = counter_delta_opt(totals->space_free_bytes, totals->space_total_bytes);
    *ret_derived = (struct derived){
        .memory_used_mib = is_available ? unavailable(&sample->memory) : sample->memory.used_mib,
        .process_mib = cpu->process_pss_mib.has ? cpu->process_pss_mib : cpu->process_rss_mib,
        .space_total_gb = opt_scaled(totals->space_total_bytes, bytes_per_gb),
        .space_used_gb = opt_scaled(used, bytes_per_gb),
        .space_free_gb = opt_scaled(totals->space_free_bytes, bytes_per_gb),
        .gpu_usage = has_no_gpu ? some_f64(0) : totals->gpu_usage,
        .vram_mib = opt_scaled(or_zero(totals->vram_used_bytes, gpus), BYTES_PER_MIB),
        .disk_read = or_zero(totals->disk_read.bytes, disks),
        .disk_write = or_zero(totals->disk_write.bytes, disks),
        .received = or_zero(totals->every_received_bytes, interfaces),
        .sent = or_zero(totals->every_sent_bytes, interfaces),
        .gpu_utilized = or_zero(totals->gpu_utilized, gpus),
    };
}

/* The parts of a column set: AVAILABLE: used memory is what is not available. UNITS: in the names of memory columns. */
enum { PROCESS = 1, STEAL = 2, AVAILABLE = 4, UNITS = 8 };

/* Behind the timestamp. */
struct column {
    char name[24];
    char kind; /* 'u': struct opt_u64, 'm': MiB, or the decimals of a struct opt_f64 */
    bool has_unit, is_derived;
    unsigned char part; /* 0: of the host, in every set */
    unsigned short at; /* in the sample, or in what is derived */
};

#define IN_SAMPLE(name, kind, has_unit, part, member)                                                                  \
    {                                                                                                                  \
        name, kind, has_unit, false, part, offsetof(struct sample, member)                                             \
    }
#define DERIVED(name, kind, has_unit, part, member)                                                                    \
    {                                                                                                                  \
        name, kind, has_unit, true, part, offsetof(struct derived, member)                                             \
    }

static const struct column all_columns[] = {
    IN_SAMPLE("processes", 'u', false, 0, cpu.process_count),
    IN_SAMPLE("utime", 3, false, 0, cpu.utime_secs),
    IN_SAMPLE("stime", 3, false, 0, cpu.stime_secs),
    IN_SAMPLE("cpu_usage", 4, false, 0, cpu.utilization_pct),
    IN_SAMPLE("memory_free", 'm', true, 0, memory.free_mib),
    DERIVED("memory_used", 'm', true, 0, memory_used_mib),
    IN_SAMPLE("memory_buffers", 'm', true, 0, memory.buffers_mib),
    IN_SAMPLE("memory_cached", 'm', true, 0, memory.cached_mib),
    IN_SAMPLE("memory_active", 'm', true, 0, memory.active_mib),
    IN_SAMPLE("memory_inactive", 'm', true, 0, memory.inactive_mib),
    DERIVED("disk_read_bytes", 'u', false, 0, disk_read),
    DERIVED("disk_write_bytes", 'u', false, 0, disk_write),
    DERIVED("disk_space_total_gb", 6, false, 0, space_total_gb),
    DERIVED("disk_space_used_gb", 6, false, 0, space_used_gb),
    DERIVED("disk_space_free_gb", 6, false, 0, space_free_gb),
    DERIVED("net_recv_bytes", 'u', false, 0, received),
    DERIVED("net_sent_bytes", 'u', false, 0, sent),
    DERIVED("gpu_usage", 4, false, 0, gpu_usage),
    DERIVED("gpu_vram", 4, true, 0, vram_mib),
    DERIVED("gpu_utilized", 'u', false, 0, gpu_utilized),
    IN_SAMPLE("pid", 'u', false, PROCESS, tracked_pid),
    IN_SAMPLE("children", 'u', false, PROCESS, cpu.process_child_count),
    IN_SAMPLE("utime", 4, false, PROCESS, cpu.process_utime_secs),
    IN_SAMPLE("stime", 4, false, PROCESS, cpu.process_stime_secs),
    IN_SAMPLE("cpu_usage", 4, false, PROCESS, cpu.process_cores_used),
    DERIVED("memory", 'm', true, PROCESS, process_mib),
    IN_SAMPLE("disk_read_bytes", 'u', false, PROCESS, cpu.process_disk_read_bytes),
    IN_SAMPLE("disk_write_bytes", 'u', false, PROCESS, cpu.process_disk_write_bytes),
    IN_SAMPLE("gpu_usage", 4, false, PROCESS, cpu.process_gpu_usage),
    IN_SAMPLE("gpu_vram", 4, true, PROCESS, cpu.process_gpu_vram_mib),
    IN_SAMPLE("gpu_utilized", 'u', false, PROCESS, cpu.process_gpu_utilized),
    IN_SAMPLE("steal_time", 3, false, STEAL, cpu.steal_secs),
};

enum { COLUMNS = sizeof(all_columns) / sizeof(all_columns[0]) };

static bool is_in(const struct column *column, unsigned parts)
{
    return column->part == 0 || column->part & parts;
}

/* Where there are columns of the process, those of the host say so. */
static void put_header(struct buf *buf, unsigned parts)
{
    buf_puts(buf, "timestamp");
    for (const struct column *column = all_columns; column < all_columns + COLUMNS; column++) {
        if (!is_in(column, parts))
            continue;
        buf_putc(buf, ',');
        if (column->part == PROCESS)
            buf_puts(buf, "process_");
        else if (parts & PROCESS)
            buf_puts(buf, "system_");
        buf_puts(buf, column->name);
        if (column->has_unit && parts & UNITS)
            buf_puts(buf, "_mib");
    }
    buf_putc(buf, '\n');
}

static void put_row(struct buf *buf, const struct run_info *info, const struct sample *sample,
    const struct sample_totals *totals, unsigned parts)
{
    struct derived derived;
    derive(sample, totals, parts & AVAILABLE, &derived);
    put_timestamp(buf, info, sample);
    for (const struct column *column = all_columns; column < all_columns + COLUMNS; column++) {
        const void *at = (column->is_derived ? (const char *)&derived : (const char *)sample) + column->at;
        if (!is_in(column, parts))
            continue;
        if (column->kind == 'u')
            put_u64(buf, *(const struct opt_u64 *)at);
        else if (column->kind == 'm')
            put_mib(buf, *(const struct opt_f64 *)at);
        else
            put_f64(buf, *(const struct opt_f64 *)at, (unsigned)column->kind);
    }
    buf_putc(buf, '\n');
}

static const char *check_header(struct str head, unsigned parts)
{
    AUTO_BUF struct buf header = {.max = HEADER_BYTES_MAX};
    put_header(&header, parts);
    return str_starts(head, buf_str(&header)) ? NULL : "it does not begin with the same CSV header";
}

/* One column set: its functions and its encoder. */
#define COLUMN_SET(set, parts)                                                                                         \
    static void set##_begin(const struct run_info *info, struct buf *buf)                                              \
    {                                                                                                                  \
        (void)info;                                                                                                    \
        put_header(buf, parts);                                                                                        \
    }                                                                                                                  \
    static void set##_sample(                                                                                          \
        const struct run_info *info, const struct sample *sample, const struct sample_totals *totals, struct buf *buf) \
    {                                                                                                                  \
        put_row(buf, info, sample, totals, parts);                                                                     \
    }                                                                                                                  \
    static const char *set##_may_append(struct str head)                                                               \
    {                                                                                                                  \
        return check_header(head, parts);                                                                              \
    }                                                                                                                  \
    const struct encoder encoder_csv_##set = {.name = "CSV",                                                           \
        .cpu_resolution_ns = NS_PER_MS / 10,                                                                           \
        .uses_totals = true,                                                                                           \
        .begin = set##_begin,                                                                                          \
        .sample = set##_sample,                                                                                        \
        .may_append = set##_may_append};

COLUMN_SET(system, 0)
COLUMN_SET(full, PROCESS | STEAL | AVAILABLE | UNITS)
COLUMN_SET(python_system, AVAILABLE | UNITS)
COLUMN_SET(python, PROCESS | AVAILABLE | UNITS)

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
