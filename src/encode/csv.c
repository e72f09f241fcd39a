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

/* Sums over the lists of a sample; unknown parts make the sum unknown only where nothing at all is known. */
struct csv_sums {
    struct opt_u64 disk_read_bytes, disk_write_bytes, net_recv_bytes, net_sent_bytes;
    struct opt_u64 space_total_bytes, space_free_bytes;
    struct opt_f64 gpu_usage, gpu_vram_mib;
    struct opt_u64 gpu_utilized;
};

static void add_u64(struct opt_u64 *sum, struct opt_u64 value)
{
    if (value.has)
        *sum = some_u64(sum->v + value.v);
}

static void add_f64(struct opt_f64 *sum, struct opt_f64 value)
{
    if (value.has)
        *sum = some_f64(sum->v + value.v);
}

static void sum_disks(const struct sample_list *list, struct csv_sums *sums)
{
    const struct sample_disk *disks = list->items;
    if (list->present && list->count == 0) {
        sums->disk_read_bytes = some_u64(0);
        sums->disk_write_bytes = some_u64(0);
    }
    for (size_t i = 0; list->present && i < list->count; i++) {
        bool counted_below = disks[i].stacked.has && disks[i].stacked.v;
        if (!counted_below) {
            add_u64(&sums->disk_read_bytes, disks[i].read_bytes_delta);
            add_u64(&sums->disk_write_bytes, disks[i].write_bytes_delta);
        }
        const struct sample_mount *mounts = disks[i].mounts.items;
        for (size_t j = 0; disks[i].mounts.present && j < disks[i].mounts.count; j++) {
            if (!mounts[j].total_bytes.has || !mounts[j].available_bytes.has)
                continue;
            add_u64(&sums->space_total_bytes, mounts[j].total_bytes);
            add_u64(&sums->space_free_bytes, mounts[j].available_bytes);
        }
    }
}

static void sum_network(const struct sample_list *list, struct csv_sums *sums)
{
    const struct sample_network *interfaces = list->items;
    if (list->present && list->count == 0) {
        sums->net_recv_bytes = some_u64(0);
        sums->net_sent_bytes = some_u64(0);
    }
    for (size_t i = 0; list->present && i < list->count; i++) {
        add_u64(&sums->net_recv_bytes, interfaces[i].rx_bytes_delta);
        add_u64(&sums->net_sent_bytes, interfaces[i].tx_bytes_delta);
    }
}

/* No GPU at all is a known 0; GPUs that tell nothing are unknown. */
static void sum_gpus(const struct sample_list *list, struct csv_sums *sums)
{
    const struct sample_gpu *gpus = list->items;
    if (list->present && list->count == 0) {
        sums->gpu_usage = some_f64(0);
        sums->gpu_vram_mib = some_f64(0);
        sums->gpu_utilized = some_u64(0);
    }
    for (size_t i = 0; list->present && i < list->count; i++) {
        add_f64(&sums->gpu_vram_mib, opt_scaled(gpus[i].vram_used_bytes, BYTES_PER_MIB));
        if (!gpus[i].utilization_pct.has)
            continue;
        add_f64(&sums->gpu_usage, some_f64(gpus[i].utilization_pct.v / 100));
        add_u64(&sums->gpu_utilized, some_u64(gpus[i].utilization_pct.v > 0));
    }
}

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

static void put_system_columns(struct buf *buf, const struct sample *sample, struct opt_f64 memory_used_mib)
{
    struct csv_sums sums = {0};
    sum_disks(&sample->disk, &sums);
    sum_network(&sample->network, &sums);
    sum_gpus(&sample->gpu, &sums);
    const struct sample_memory *memory = &sample->memory;
    const struct opt_f64 amounts[] = {memory->free_mib, memory_used_mib, memory->buffers_mib, memory->cached_mib,
        memory->active_mib, memory->inactive_mib};
    struct opt_u64 used = counter_delta_opt(sums.space_free_bytes, sums.space_total_bytes);

    put_u64(buf, sample->cpu.process_count);
    put_f64(buf, sample->cpu.utime_secs, 3);
    put_f64(buf, sample->cpu.stime_secs, 3);
    put_f64(buf, sample->cpu.utilization_pct, 4);
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        put_mib(buf, amounts[i]);
    put_u64(buf, sums.disk_read_bytes);
    put_u64(buf, sums.disk_write_bytes);
    put_f64(buf, opt_scaled(sums.space_total_bytes, bytes_per_gb), 6);
    put_f64(buf, opt_scaled(used, bytes_per_gb), 6);
    put_f64(buf, opt_scaled(sums.space_free_bytes, bytes_per_gb), 6);
    put_u64(buf, sums.net_recv_bytes);
    put_u64(buf, sums.net_sent_bytes);
    put_f64(buf, sums.gpu_usage, 4);
    put_f64(buf, sums.gpu_vram_mib, 4);
    put_u64(buf, sums.gpu_utilized);
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

static void csv_system_begin(const struct run_info *info, struct buf *buf)
{
    (void)info;
    buf_puts(buf, SYSTEM_COLUMNS("", "") "\n");
}

static void csv_full_begin(const struct run_info *info, struct buf *buf)
{
    (void)info;
    buf_puts(buf, SYSTEM_COLUMNS("system_", "_mib") PROCESS_COLUMNS ",system_steal_time\n");
}

static void csv_python_system_begin(const struct run_info *info, struct buf *buf)
{
    (void)info;
    buf_puts(buf, SYSTEM_COLUMNS("", "_mib") "\n");
}

static void csv_python_begin(const struct run_info *info, struct buf *buf)
{
    (void)info;
    buf_puts(buf, SYSTEM_COLUMNS("system_", "_mib") PROCESS_COLUMNS "\n");
}

static void csv_system_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample, sample->memory.used_mib);
    buf_putc(buf, '\n');
}

static void csv_full_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample, unavailable(&sample->memory));
    put_process_columns(buf, sample);
    put_f64(buf, sample->cpu.steal_secs, 3);
    buf_putc(buf, '\n');
}

static void csv_python_system_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample, unavailable(&sample->memory));
    buf_putc(buf, '\n');
}

static void csv_python_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample, unavailable(&sample->memory));
    put_process_columns(buf, sample);
    buf_putc(buf, '\n');
}

const struct encoder encoder_csv_system = {.begin = csv_system_begin, .sample = csv_system_sample};
const struct encoder encoder_csv_full = {.begin = csv_full_begin, .sample = csv_full_sample};
const struct encoder encoder_csv_python_system = {.begin = csv_python_system_begin, .sample = csv_python_system_sample};
const struct encoder encoder_csv_python = {.begin = csv_python_begin, .sample = csv_python_sample};
