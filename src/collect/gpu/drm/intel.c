/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel cards under i915 (class/drm/cardN, gt/gt0) and xe (device/tile0/gt0,
 * Documentation/ABI/testing/sysfs-driver-intel-*). Neither has a counter of how busy the device is that every user may
 * read, so that comes from the DRM clients of all processes that can be read. Power is mostly the growth of an energy
 * counter.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"

enum { TILES_MAX = 4 };

static const char reason_names[][14] = {"pl1", "pl2", "pl4", "thermal", "prochot", "ratl", "vr_thermalert", "vr_tdc"};

enum { REASONS = sizeof(reason_names) / sizeof(reason_names[0]) };

_Static_assert((int)REASONS <= (int)GPU_REASONS_MAX, "all reasons fit into a reading");

/* Where the drivers keep the same things, below the directory of the card. */
struct intel_layout {
    const char *frequency, *other_frequency;
    const char *reason_prefix, *reason_status; /* status: whether there is any */
};

static const struct intel_layout layout_i915 = {
    .frequency = "gt_act_freq_mhz",
    .other_frequency = "gt/gt0/rps_act_freq_mhz",
    .reason_prefix = "gt/gt0/throttle_reason_",
    .reason_status = "gt/gt0/throttle_reason_status",
};

static const struct intel_layout layout_xe = {
    .frequency = "device/tile0/gt0/freq0/act_freq",
    .other_frequency = "device/tile0/gt1/freq0/act_freq",
    .reason_prefix = "device/tile0/gt0/freq0/throttle/reason_",
    .reason_status = "device/tile0/gt0/freq0/throttle/status",
};

/* Attributes. */
enum { VRAM_TOTAL, VRAM_AVAILABLE, FREQUENCY, REASON_STATUS, FIRST_REASON };

_Static_assert((int)FIRST_REASON + (int)REASONS <= (int)DRM_ATTRIBUTES_MAX, "there is space for all");

struct intel_card {
    struct opt_u64 tiles_bytes; /* device memory as xe reports it, once */
    bool is_measured; /* tiles_bytes has been asked for */
};

static const char intel_drivers[] = "i915 xe";

static void intel_init(struct drm_cards *cards, size_t index)
{
    struct drm_card *drm = &cards->drm[index];
    struct gpu_attribute *attributes = drm->attributes;
    struct gpu_facts *facts = &cards->items[index].facts;
    const struct intel_layout *layout = strcmp(drm->driver, "xe") == 0 ? &layout_xe : &layout_i915;
    drm_card_init_attribute(drm, &attributes[FREQUENCY], layout->frequency);
    if (!attributes[FREQUENCY].exists)
        drm_card_init_attribute(drm, &attributes[FREQUENCY], layout->other_frequency);
    drm_card_init_attribute(drm, &attributes[REASON_STATUS], layout->reason_status);
    for (size_t i = 0; i < REASONS; i++) {
        char name[2 * DRM_CARD_PATH_BYTES];
        (void)snprintf(name, sizeof(name), "%s%s", layout->reason_prefix, reason_names[i]);
        drm_card_init_attribute(drm, &attributes[FIRST_REASON + i], name);
    }
    drm_card_read_text(drm, "label", facts->name, sizeof(facts->name));
    if (!facts->name[0])
        drm_card_write_name(drm, "Intel GPU", facts->name, sizeof(facts->name));
}

/* The memory of all tiles; absent on integrated devices, which have none of their own. */
static struct opt_u64 read_tiles(const struct drm_card *drm)
{
    struct opt_u64 sum = {0};
    for (unsigned tile = 0; tile < TILES_MAX; tile++) {
        char name[DRM_CARD_PATH_BYTES];
        char text[NUM_TEXT_BYTES];
        uint64_t bytes;
        (void)snprintf(name, sizeof(name), "tile%u/physical_vram_size_bytes", tile);
        drm_card_read_text(drm, name, text, sizeof(text));
        if (num_parse_u64(str_of(text), &bytes) == 0 && bytes > 0)
            sum = some_u64(sum.v + bytes);
    }
    return sum;
}

static void read_vram(struct intel_card *own, struct drm_cards *cards, size_t index, struct opt_u64 used_by_clients)
{
    struct gpu_reading *reading = &cards->items[index].reading;
    struct opt_u64 total = gpu_attribute_read_u64(&cards->drm[index].attributes[VRAM_TOTAL], &cards->text);
    struct opt_u64 available = gpu_attribute_read_u64(&cards->drm[index].attributes[VRAM_AVAILABLE], &cards->text);
    if (total.has) {
        reading->vram_total_bytes = total;
        if (available.has && available.v <= total.v)
            reading->vram_used_bytes = some_u64(total.v - available.v);
        return;
    }
    if (!own->is_measured)
        own->tiles_bytes = read_tiles(&cards->drm[index]);
    own->is_measured = true;
    if (own->tiles_bytes.has) {
        reading->vram_total_bytes = own->tiles_bytes;
        reading->vram_used_bytes = used_by_clients;
    }
}

/* The status saves asking for every reason while there is none. */
static void read_reasons(struct gpu_attribute *attributes, struct buf *text, struct gpu_reading *reading)
{
    struct opt_u64 status = gpu_attribute_read_u64(&attributes[REASON_STATUS], text);
    if (status.has && status.v == 0) {
        reading->has_reasons = true;
        return;
    }
    for (size_t i = 0; i < REASONS; i++) {
        struct opt_u64 flag = gpu_attribute_read_u64(&attributes[FIRST_REASON + i], text);
        if (!flag.has)
            continue;
        reading->has_reasons = true;
        if (flag.v != 0)
            reading->reasons[reading->reason_count++] = reason_names[i];
    }
}

static void intel_read(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct intel_card *own = drm_cards_own(cards, index);
    struct gpu_attribute *attributes = cards->drm[index].attributes;
    struct gpu_reading *reading = &cards->items[index].reading;
    struct fdinfo_use host = drm_cards_host_use(cards, index, tick);
    reading->utilization_pct = drm_cards_percent(host.usage);
    read_vram(own, cards, index, host.vram_bytes);
    hwmon_read(cards, index, tick);
    struct opt_f64 mhz = hwmon_check_mhz(opt_scaled(gpu_attribute_read_u64(&attributes[FREQUENCY], &cards->text), 1));
    if (mhz.has)
        reading->frequency_mhz = mhz;
    read_reasons(attributes, &cards->text, reading);
}

static const struct drm_cards_kind intel_kind = {
    .plural = "Intel cards",
    .drivers = intel_drivers,
    .sensor = "pkg",
    .attributes = "lmem_total_bytes\0lmem_avail_bytes\0",
    .own_bytes = sizeof(struct intel_card),
    .init = intel_init,
    .read = intel_read,
};

static int intel_open(void *state, const struct collect_env *env, struct err *err)
{
    return drm_cards_open(state, env, &intel_kind, err);
}

const struct gpu_vendor gpu_vendor_intel = {
    .name = "intel",
    .drivers = intel_drivers,
    .state_bytes = sizeof(struct drm_cards),
    .open = intel_open,
    .clients = drm_cards_need_all_clients,
    .read = drm_cards_read,
    .attribute = drm_cards_attribute,
    .close = drm_cards_close,
};
