/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPUs and other compute accelerators of /sys/class/accel (Documentation/accel). ivpu counts the microseconds in which
 * the device had work (npu_busy_time_us) and the bytes its buffers take; of the others only the DRM clients tell.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"

struct accel_card {
    struct gpu_attribute busy_us, memory, frequency;
    struct gpu_counter busy;
    struct hwmon hwmon;
};

struct accel {
    struct drm_cards cards;
    struct accel_card *own; /* those of cards */
};

static bool accel_wants(const struct drm_card *card)
{
    return card->driver[0] != '\0';
}

static const struct drm_cards_kind accel_kind = {
    .folder = "class/accel",
    .prefix = "accel",
    .device_type = "NPU",
    .plural = "accelerators",
    .own_bytes = sizeof(struct accel_card),
    .wants = accel_wants,
};

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

static void accel_init_card(struct accel_card *own, const struct drm_card *drm)
{
    char device[2 * DRM_CARD_PATH_BYTES];
    (void)snprintf(device, sizeof(device), "%s/device", drm->folder);
    gpu_attribute_init(&own->busy_us, drm->sys_fd, device, "npu_busy_time_us");
    gpu_attribute_init(&own->memory, drm->sys_fd, device, "npu_memory_utilization");
    gpu_attribute_init(&own->frequency, drm->sys_fd, device, "npu_current_frequency_mhz");
    hwmon_init(&own->hwmon, drm->sys_fd, drm->hwmon, "");
}

static int accel_open(void *state, const struct collect_env *env, struct err *err)
{
    struct accel *accel = state;
    *accel = (struct accel){0};
    int r = drm_cards_open(&accel->cards, env, &accel_kind, err);
    if (r < 0)
        return r;
    accel->own = accel->cards.own;
    for (size_t i = 0; i < accel->cards.count; i++) {
        struct gpu_facts *facts = &accel->cards.items[i].facts;
        accel_init_card(&accel->own[i], &accel->cards.drm[i]);
        write_name(&accel->cards.drm[i], facts->name, sizeof(facts->name));
    }
    return 0;
}

static enum gpu_clients accel_clients(const void *state)
{
    const struct accel *accel = state;
    for (size_t i = 0; i < accel->cards.count; i++) {
        if (!accel->own[i].busy_us.exists)
            return GPU_CLIENTS_ALL;
    }
    return GPU_CLIENTS_TREE;
}

static struct opt_f64 read_busy(struct accel *accel, size_t index, const struct gpu_turn *turn)
{
    struct accel_card *own = &accel->own[index];
    if (!own->busy_us.exists)
        return drm_cards_percent(drm_cards_host_use(&accel->cards, index, turn).usage);
    struct opt_u64 now = gpu_attribute_read_u64(&own->busy_us, &accel->cards.text);
    struct opt_f64 share = gpu_counter_rate(&own->busy, now, accel->cards.previous_ns, turn->now_ns);
    share.v /= 1e6;
    return drm_cards_percent(share);
}

static void accel_read_card(void *state, size_t index, const struct gpu_turn *turn)
{
    struct accel *accel = state;
    struct accel_card *own = &accel->own[index];
    struct gpu_reading *reading = &accel->cards.items[index].reading;
    reading->utilization_pct = read_busy(accel, index, turn);
    reading->vram_used_bytes = gpu_attribute_read_u64(&own->memory, &accel->cards.text);
    hwmon_read(&own->hwmon, &accel->cards, index, turn);
    struct opt_u64 mhz = gpu_attribute_read_u64(&own->frequency, &accel->cards.text);
    if (mhz.has)
        reading->frequency_mhz = hwmon_check_mhz(some_f64((double)mhz.v));
}

static int accel_read(void *state, const struct gpu_turn *turn, struct gpu_list *ret_list, struct err *err)
{
    (void)err;
    struct accel *accel = state;
    return drm_cards_read(&accel->cards, turn, accel_read_card, accel, ret_list);
}

static void accel_attribute(void *state, const struct gpu_turn *turn)
{
    struct accel *accel = state;
    drm_cards_attribute(&accel->cards, turn);
}

static void accel_close(void *state)
{
    struct accel *accel = state;
    for (size_t i = 0; i < accel->cards.count; i++) {
        gpu_attribute_fini(&accel->own[i].busy_us);
        gpu_attribute_fini(&accel->own[i].memory);
        gpu_attribute_fini(&accel->own[i].frequency);
        hwmon_fini(&accel->own[i].hwmon);
    }
    drm_cards_close(&accel->cards);
}

const struct gpu_vendor gpu_vendor_accel = {
    .name = "accel",
    .state_bytes = sizeof(struct accel),
    .open = accel_open,
    .clients = accel_clients,
    .read = accel_read,
    .attribute = accel_attribute,
    .close = accel_close,
};
