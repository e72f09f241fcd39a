/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two CSV column sets of the Python resource-tracker. Written by hand and not from the field tables: these columns
 * are a compatibility contract and never change order, name or unit. An empty field is an unknown value.
 */
#include <stddef.h>

#include "base/clock.h"
#include "base/num.h"
#include "encode/encode.h"

static const double bytes_per_gb = 1e9;
static const double bytes_per_mib = 1048576.0;

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
        add_f64(&sums->gpu_vram_mib, opt_scaled(gpus[i].vram_used_bytes, bytes_per_mib));
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

static void put_system_columns(struct buf *buf, const struct sample *sample)
{
    struct csv_sums sums = {0};
    sum_disks(&sample->disk, &sums);
    sum_network(&sample->network, &sums);
    sum_gpus(&sample->gpu, &sums);
    const struct sample_memory *memory = &sample->memory;
    const struct opt_f64 amounts[] = {memory->free_mib, memory->used_mib, memory->buffers_mib, memory->cached_mib,
        memory->active_mib, memory->inactive_mib};
    struct opt_u64 used = counter_delta_opt(sums.space_free_bytes, sums.space_total_bytes);

    put_u64(buf, sample->cpu.process_count);
    put_f64(buf, sample->cpu.utime_secs, 3);
    put_f64(buf, sample->cpu.stime_secs, 3);
    put_f64(buf, sample->cpu.utilization_pct, 4);
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        put_f64(buf, amounts[i], 0);
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
    put_f64(buf, cpu->process_utime_secs, 3);
    put_f64(buf, cpu->process_stime_secs, 3);
    put_f64(buf, cpu->process_cores_used, 4);
    put_f64(buf, cpu->process_pss_mib.has ? cpu->process_pss_mib : cpu->process_rss_mib, 0);
    put_u64(buf, cpu->process_disk_read_bytes);
    put_u64(buf, cpu->process_disk_write_bytes);
    put_f64(buf, cpu->process_gpu_usage, 4);
    put_f64(buf, cpu->process_gpu_vram_mib, 4);
    put_u64(buf, cpu->process_gpu_utilized);
}

static void csv_system_begin(const struct run_info *info, struct buf *buf)
{
    (void)info;
    buf_puts(buf, "timestamp,processes,utime,stime,cpu_usage,memory_free,memory_used,memory_buffers,memory_cached,"
                  "memory_active,memory_inactive,disk_read_bytes,disk_write_bytes,disk_space_total_gb,"
                  "disk_space_used_gb,disk_space_free_gb,net_recv_bytes,net_sent_bytes,gpu_usage,gpu_vram,"
                  "gpu_utilized\n");
}

static void csv_full_begin(const struct run_info *info, struct buf *buf)
{
    (void)info;
    buf_puts(buf, "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,"
                  "system_memory_used_mib,system_memory_buffers_mib,system_memory_cached_mib,"
                  "system_memory_active_mib,system_memory_inactive_mib,system_disk_read_bytes,"
                  "system_disk_write_bytes,system_disk_space_total_gb,system_disk_space_used_gb,"
                  "system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,system_gpu_usage,"
                  "system_gpu_vram_mib,system_gpu_utilized,process_pid,process_children,process_utime,"
                  "process_stime,process_cpu_usage,process_memory_mib,process_disk_read_bytes,"
                  "process_disk_write_bytes,process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized\n");
}

static void csv_system_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample);
    buf_putc(buf, '\n');
}

static void csv_full_sample(const struct run_info *info, const struct sample *sample, struct buf *buf)
{
    put_timestamp(buf, info, sample);
    put_system_columns(buf, sample);
    put_process_columns(buf, sample);
    buf_putc(buf, '\n');
}

const struct encoder encoder_csv_system = {.begin = csv_system_begin, .sample = csv_system_sample};
const struct encoder encoder_csv_full = {.begin = csv_full_begin, .sample = csv_full_sample};
