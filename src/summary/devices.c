/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs one by one: what the tree had of each, and what each did. A device keeps its place over samples and runs by its
 * UUID, or else by its place in the list; means are over the time of all runs. Identity may come later than the first
 * sample, since drivers are asked for it apart from sampling.
 */
#include <string.h>

#include "summary/summary_internal.h"

/* Device memory that was taken at once: so much of its highest level within the first two samples that saw any, as
 * much in all after them, of so many at least, and so much of the device. */
#define RESERVED_LEVEL_SHARE 0.95
#define RESERVED_DEVICE_SHARE 0.5
enum { RESERVED_FIRST_SAMPLES = 2, RESERVED_SAMPLES_MIN = 5 };

static void device_meter_add(struct device_meter *meter, struct opt_f64 value, const struct meter_tick *tick)
{
    struct opt_i64 fixed4 = fixed4_of(value);
    if (!fixed4.has || fixed4.v < 0)
        return;
    if (!meter->is_known || fixed4.v > meter->max)
        meter->max = fixed4.v;
    meter->is_known = true;
    meter->weighted += (double)fixed4.v * (double)tick->weight_ms;
    meter->weight += tick->weight_ms;
}

static void add_held(struct kept_gpu *kept, uint64_t bytes)
{
    int64_t held = mib_fixed4(bytes);
    kept->has_vram = true;
    if (held > kept->vram_max_fixed4)
        kept->vram_max_fixed4 = held;
    if (held == 0)
        return;
    if (held > kept->held_most_fixed4)
        kept->held_most_fixed4 = held;
    if (kept->held++ < RESERVED_FIRST_SAMPLES) {
        if (held > kept->held_first_fixed4)
            kept->held_first_fixed4 = held;
        kept->held_least_fixed4 = kept->held_first_fixed4;
    } else if (held < kept->held_least_fixed4) {
        kept->held_least_fixed4 = held;
    }
}

static bool is_same(const struct kept_gpu *kept, const struct sample_gpu *gpu)
{
    char uuid[sizeof(kept->uuid)];
    if (!gpu->uuid || kept->uuid[0] == '\0')
        return true;
    keep_text(gpu->uuid, uuid, sizeof(uuid));
    return strcmp(kept->uuid, uuid) == 0;
}

/* NULL where there is no space for one more. */
static struct kept_gpu *find(struct kept_gpus *gpus, const struct sample_gpu *gpu, size_t i)
{
    if (i < gpus->count && is_same(&gpus->items[i], gpu))
        return &gpus->items[i];
    for (size_t other = 0; gpu->uuid && other < gpus->count; other++) {
        if (gpus->items[other].uuid[0] != '\0' && is_same(&gpus->items[other], gpu))
            return &gpus->items[other];
    }
    return gpus->count < SUMMARY_GPUS_MAX ? &gpus->items[gpus->count++] : NULL;
}

static void keep_once(const char *text, char *out, size_t size)
{
    if (text && out[0] == '\0')
        keep_text(text, out, size);
}

static const char *detail_of(const struct sample_gpu *gpu, const char *key)
{
    const struct str_pair *pairs = gpu->detail.items;
    for (size_t i = 0; gpu->detail.present && i < gpu->detail.count; i++) {
        if (pairs[i].key && strcmp(pairs[i].key, key) == 0)
            return pairs[i].value;
    }
    return NULL;
}

static void keep_device_identity(struct kept_gpu *kept, const struct sample_gpu *gpu)
{
    keep_once(gpu->uuid, kept->uuid, sizeof(kept->uuid));
    keep_once(gpu->name, kept->name, sizeof(kept->name));
    keep_once(gpu->host_id, kept->host_id, sizeof(kept->host_id));
    if (kept->driver[0] == '\0')
        keep_once(detail_of(gpu, "driver"), kept->driver, sizeof(kept->driver));
    if (kept->version[0] == '\0')
        keep_once(detail_of(gpu, "driver_version"), kept->version, sizeof(kept->version));
    /* Recordings of other trackers do not name the driver; UUIDs of this form are NVIDIA's. */
    if (kept->driver[0] == '\0' && (strncmp(kept->uuid, "GPU-", 4) == 0 || strncmp(kept->uuid, "MIG-", 4) == 0))
        keep_text("nvidia", kept->driver, sizeof(kept->driver));
}

void devices_add(struct kept_gpus *gpus, const struct sample_list *list, const struct meter_tick *tick)
{
    const struct sample_gpu *gpu = list->items;
    for (size_t i = 0; list->present && i < list->count; i++, gpu++) {
        struct kept_gpu *kept = find(gpus, gpu, i);
        if (!kept)
            return;
        keep_device_identity(kept, gpu);
        device_meter_add(&kept->usage, gpu->process_utilization_pct, tick);
        device_meter_add(&kept->host_usage, gpu->utilization_pct, tick);
        device_meter_add(&kept->power, gpu->power_watts, tick);
        device_meter_add(&kept->temperature, gpu->temperature_celsius, tick);
        if (gpu->vram_total_bytes.has) {
            kept->has_vram_total = true;
            kept->vram_total_fixed4 = mib_fixed4(gpu->vram_total_bytes.v);
        }
        if (gpu->process_vram_bytes.has)
            add_held(kept, gpu->process_vram_bytes.v);
    }
}

void devices_end_run(struct kept_gpus *gpus)
{
    for (size_t i = 0; i < gpus->count; i++) {
        struct kept_gpu *kept = &gpus->items[i];
        double level = (double)kept->held_most_fixed4 * RESERVED_LEVEL_SHARE;
        bool is_much = (double)kept->held_most_fixed4 > (double)kept->vram_total_fixed4 * RESERVED_DEVICE_SHARE;
        bool is_level = (double)kept->held_first_fixed4 >= level && (double)kept->held_least_fixed4 >= level;
        kept->runs_held += kept->held > 0;
        kept->runs_reserved += kept->held >= RESERVED_SAMPLES_MIN && kept->has_vram_total && is_much && is_level;
        kept->held = 0;
        kept->held_first_fixed4 = kept->held_least_fixed4 = kept->held_most_fixed4 = 0;
    }
}

static struct opt_f64 mean_of(const struct device_meter *meter)
{
    if (!meter->is_known)
        return (struct opt_f64){0};
    return some_f64(meter->weighted / (double)meter->weight / FIXED4);
}

static struct opt_f64 max_of(const struct device_meter *meter)
{
    return (struct opt_f64){meter->is_known, fixed4_value(meter->max)};
}

static const char *known(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

void devices_fill(struct kept_gpus *gpus, struct summary *summary)
{
    for (size_t i = 0; i < gpus->count; i++) {
        const struct kept_gpu *kept = &gpus->items[i];
        gpus->devices[i] = (struct summary_gpu_device){
            .name = known(kept->name),
            .host_id = known(kept->host_id),
            .usage_mean_pct = mean_of(&kept->usage),
            .usage_peak_pct = max_of(&kept->usage),
            .vram_peak_mib = {kept->has_vram, fixed4_value(kept->vram_max_fixed4)},
            .host_usage_mean_pct = mean_of(&kept->host_usage),
            .vram_total_mib = {kept->has_vram_total, fixed4_value(kept->vram_total_fixed4)},
            .power_mean_watts = mean_of(&kept->power),
            .power_peak_watts = max_of(&kept->power),
            .temperature_peak_celsius = max_of(&kept->temperature),
            .driver = known(kept->driver),
            .is_reserved = kept->runs_held > 0 && kept->runs_reserved == kept->runs_held,
        };
        if (!summary->machine.gpu_driver)
            summary->machine.gpu_driver = known(kept->version);
    }
    for (size_t i = 0; i < gpus->count && !summary->machine.gpu_driver; i++)
        summary->machine.gpu_driver = known(gpus->items[i].driver);
    if (summary->gpu.present)
        summary->gpu.devices = (struct sample_list){true, gpus->count, gpus->devices};
}
