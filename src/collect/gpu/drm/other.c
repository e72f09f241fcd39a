/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every DRM card that can render and is no other vendor's: what hwmon and its DRM clients report. Cards that only show
 * a picture and virtual ones are left out.
 */
#include <string.h>

#include "base/str.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"

struct other {
    struct drm_cards cards;
    struct hwmon *hwmons; /* those of cards */
};

static bool other_wants(const struct drm_card *card)
{
    static const char virtual
        [] = "virtio_gpu virtio-pci vgem vkms hyperv_drm vmwgfx qxl vboxvideo evdi bochs-drm bochs "
             "cirrus cirrus-qemu";
    static const char display[] = "simpledrm simple-framebuffer efidrm vesadrm ofdrm ast mgag200 udl gud";
    if (str_is_listed(card->driver, virtual) || str_is_listed(card->driver, display))
        return false;
    return card->driver[0] && card->has_render_node && !gpu_vendor_of_driver(card->driver);
}

static const struct drm_cards_kind other_kind = {
    .folder = "class/drm",
    .prefix = "card",
    .device_type = "GPU",
    .plural = "other DRM cards",
    .own_bytes = sizeof(struct hwmon),
    .wants = other_wants,
};

static int other_open(void *state, const struct collect_env *env, struct err *err)
{
    struct other *other = state;
    *other = (struct other){0};
    int r = drm_cards_open(&other->cards, env, &other_kind, err);
    if (r < 0)
        return r;
    other->hwmons = other->cards.own;
    for (size_t i = 0; i < other->cards.count; i++) {
        const struct drm_card *drm = &other->cards.drm[i];
        struct gpu_facts *facts = &other->cards.items[i].facts;
        drm_card_write_name(drm, drm->driver, facts->name, sizeof(facts->name));
        hwmon_init(&other->hwmons[i], drm->sys_fd, drm->hwmon, "edge");
    }
    return 0;
}

static enum gpu_clients other_clients(const void *state)
{
    (void)state;
    return GPU_CLIENTS_ALL;
}

static void other_read_card(void *state, size_t index, const struct gpu_turn *turn)
{
    struct other *other = state;
    struct fdinfo_use everybody = drm_cards_host_use(&other->cards, index, turn);
    other->cards.items[index].reading.utilization_pct = drm_cards_percent(everybody.usage);
    hwmon_read(&other->hwmons[index], &other->cards, index, turn);
}

static int other_read(void *state, const struct gpu_turn *turn, struct gpu_list *ret_list, struct err *err)
{
    (void)err;
    struct other *other = state;
    return drm_cards_read(&other->cards, turn, other_read_card, other, ret_list);
}

static void other_attribute(void *state, const struct gpu_turn *turn)
{
    struct other *other = state;
    drm_cards_attribute(&other->cards, turn);
}

static void other_close(void *state)
{
    struct other *other = state;
    for (size_t i = 0; i < other->cards.count; i++)
        hwmon_fini(&other->hwmons[i]);
    drm_cards_close(&other->cards);
}

const struct gpu_vendor gpu_vendor_other = {
    .name = "other",
    .state_bytes = sizeof(struct other),
    .open = other_open,
    .clients = other_clients,
    .read = other_read,
    .attribute = other_attribute,
    .close = other_close,
};
