/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPUs and other compute accelerators of /sys/class/accel (Documentation/accel). ivpu counts the microseconds in which
 * the device had work (npu_busy_time_us) and the bytes its buffers take; of the others only the DRM clients are known.
 */
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"

enum { BUSY_US, MEMORY, FREQUENCY }; /* attributes */

struct accel_card {
    struct gpu_counter busy;
};

static bool accel_wants(const struct drm_card *card)
{
    return card->driver[0] != '\0';
}

static void write_name(const struct drm_card *drm, char *out, size_t size)
{
    if (strcmp(drm->driver, "amdxdna") == 0) {
        drm_card_read_text(drm, "vbnv", out, size);
        if (!out[0])
            drm_card_write_name(drm, "AMD NPU", out, size);
        return;
    }
    drm_card_write_name(drm, strcmp(drm->driver, "intel_vpu") == 0 ? "Intel NPU" : drm->driver, out, size);
}

static void accel_init(struct drm_cards *cards, size_t index)
{
    write_name(&cards->drm[index], cards->items[index].facts.name, sizeof(cards->items[index].facts.name));
}

static enum gpu_clients accel_clients(const void *state)
{
    const struct drm_cards *cards = state;
    for (size_t i = 0; i < cards->count; i++) {
        if (!cards->drm[i].attributes[BUSY_US].exists)
            return GPU_CLIENTS_ALL;
    }
    return GPU_CLIENTS_TREE;
}

static struct opt_f64 read_busy(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct accel_card *own = drm_cards_own(cards, index);
    struct gpu_attribute *busy_us = &cards->drm[index].attributes[BUSY_US];
    if (!busy_us->exists)
        return drm_cards_percent(drm_cards_host_use(cards, index, tick).usage);
    struct opt_u64 now = gpu_attribute_read_u64(busy_us, &cards->text);
    struct opt_f64 share = gpu_counter_rate(&own->busy, now, cards->previous_ns, tick->now_ns);
    share.v /= 1e6;
    return drm_cards_percent(share);
}

static void accel_read(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct gpu_attribute *attributes = cards->drm[index].attributes;
    struct gpu_reading *reading = &cards->items[index].reading;
    reading->utilization_pct = read_busy(cards, index, tick);
    reading->vram_used_bytes = gpu_attribute_read_u64(&attributes[MEMORY], &cards->text);
    hwmon_read(cards, index, tick);
    struct opt_u64 mhz = gpu_attribute_read_u64(&attributes[FREQUENCY], &cards->text);
    if (mhz.has)
        reading->frequency_mhz = hwmon_check_mhz(some_f64(num_to_f64(mhz.v)));
}

static const struct drm_cards_kind accel_kind = {
    .is_accel = true,
    .plural = "accelerators",
    .wants = accel_wants,
    .sensor = "",
    .attributes = "device/npu_busy_time_us\0device/npu_memory_utilization\0device/npu_current_frequency_mhz\0",
    .own_bytes = sizeof(struct accel_card),
    .init = accel_init,
    .read = accel_read,
};

static int accel_open(void *state, const struct collect_env *env, struct err *err)
{
    return drm_cards_open(state, env, &accel_kind, err);
}

const struct gpu_vendor gpu_vendor_accel = {
    .name = "accel",
    .state_bytes = sizeof(struct drm_cards),
    .open = accel_open,
    .clients = accel_clients,
    .read = drm_cards_read,
    .attribute = drm_cards_attribute,
    .close = drm_cards_close,
};
