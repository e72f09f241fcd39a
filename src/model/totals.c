/* SPDX-License-Identifier: Apache-2.0 */
#include "model/totals.h"

struct opt_i64 fixed4_of(struct opt_f64 value)
{
    static const double limit = 9e14; /* ten-thousandths of it fit */
    double magnitude = value.v < 0 ? -value.v : value.v;
    if (!value.has || !(magnitude <= limit))
        return (struct opt_i64){0};
    int64_t whole = (int64_t)magnitude;
    int64_t fixed4 = whole * FIXED4 + (int64_t)((magnitude - (double)whole) * FIXED4 + 0.5);
    return some_i64(value.v < 0 ? -fixed4 : fixed4);
}

int64_t fixed4_interval(const struct sample *sample, struct opt_i64 elapsed_before_fixed4)
{
    enum { PER_MS = FIXED4 / 1000, ROUNDED = PER_MS / 2 + 1 };
    struct opt_i64 now = fixed4_of(sample->elapsed_secs);
    struct opt_i64 ms = fixed4_of(sample->actual_interval_ms);
    struct opt_i64 before = elapsed_before_fixed4;
    if (!ms.has)
        return now.v > 0 ? now.v : 0;
    int64_t stated = (ms.v + FIXED4 / 2) / FIXED4 * PER_MS;
    bool has_both = now.has && before.has && before.v >= 0 && now.v >= before.v;
    int64_t grown = has_both ? now.v - before.v : stated;
    return grown >= stated - ROUNDED && grown <= stated + ROUNDED ? grown : stated;
}

static void add_count(struct opt_u64 *sum, struct opt_u64 count)
{
    if (!count.has)
        return;
    sum->has = true;
    if (__builtin_add_overflow(sum->v, count.v, &sum->v))
        sum->v = UINT64_MAX;
}

/* False where the value is unknown. */
static bool add_fixed4(struct opt_i64 *sum, struct opt_f64 value)
{
    struct opt_i64 fixed4 = fixed4_of(value);
    if (!fixed4.has)
        return false;
    sum->has = true;
    if (__builtin_add_overflow(sum->v, fixed4.v, &sum->v))
        sum->v = INT64_MAX;
    return true;
}

static void add_flow(struct sample_flow *sum, struct opt_u64 bytes, struct opt_f64 rate, bool with_rates)
{
    add_count(&sum->bytes, bytes);
    if (with_rates && !add_fixed4(&sum->rate, rate))
        add_count(&sum->unrated_bytes, bytes);
}

static void add_space(struct sample_totals *totals, const struct sample_list *list)
{
    const struct sample_mount *mount = list->items;
    for (size_t i = 0; list->present && i < list->count; i++, mount++) {
        if (!mount->total_bytes.has || !mount->available_bytes.has)
            continue;
        add_count(&totals->space_total_bytes, mount->total_bytes);
        add_count(&totals->space_free_bytes, mount->available_bytes);
    }
}

static void add_disks(struct sample_totals *totals, const struct sample_list *list, bool with_rates)
{
    const struct sample_disk *disk = list->items;
    for (size_t i = 0; list->present && i < list->count; i++, disk++) {
        add_space(totals, &disk->mounts);
        if (disk->stacked.has && disk->stacked.v)
            continue;
        add_flow(&totals->disk_read, disk->read_bytes_delta, disk->read_bytes_per_sec, with_rates);
        add_flow(&totals->disk_write, disk->write_bytes_delta, disk->write_bytes_per_sec, with_rates);
    }
}

static bool has_hardware(const struct sample_network *interface)
{
    return !(interface->is_virtual.has && interface->is_virtual.v);
}

static void add_interfaces(struct sample_totals *totals, const struct sample_list *list, bool with_rates)
{
    const struct sample_network *interfaces = list->items;
    size_t count = list->present ? list->count : 0;
    bool is_any_hardware = false;
    for (size_t i = 0; i < count && !is_any_hardware; i++)
        is_any_hardware = has_hardware(&interfaces[i]);
    for (size_t i = 0; i < count; i++) {
        const struct sample_network *interface = &interfaces[i];
        add_count(&totals->every_received_bytes, interface->rx_bytes_delta);
        add_count(&totals->every_sent_bytes, interface->tx_bytes_delta);
        if (is_any_hardware && !has_hardware(interface))
            continue;
        add_flow(&totals->received, interface->rx_bytes_delta, interface->rx_bytes_per_sec, with_rates);
        add_flow(&totals->sent, interface->tx_bytes_delta, interface->tx_bytes_per_sec, with_rates);
    }
}

static void add_gpus(struct sample_totals *totals, const struct sample_list *list)
{
    const struct sample_gpu *gpu = list->items;
    for (size_t i = 0; list->present && i < list->count; i++, gpu++) {
        (void)add_fixed4(&totals->gpu_usage_pct, gpu->utilization_pct);
        (void)add_fixed4(&totals->gpu_power_watts, gpu->power_watts);
        add_count(&totals->vram_used_bytes, gpu->vram_used_bytes);
        add_count(&totals->vram_total_bytes, gpu->vram_total_bytes);
        if (!gpu->utilization_pct.has)
            continue;
        totals->gpu_usage = some_f64(totals->gpu_usage.v + gpu->utilization_pct.v / 100);
        totals->gpu_utilized = some_u64(totals->gpu_utilized.v + (gpu->utilization_pct.v > 0));
    }
}

struct sample_totals sample_totals_of(const struct sample *sample, bool with_rates)
{
    struct sample_totals totals = {0};
    add_disks(&totals, &sample->disk, with_rates);
    add_interfaces(&totals, &sample->network, with_rates);
    add_gpus(&totals, &sample->gpu);
    return totals;
}
