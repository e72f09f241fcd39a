/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every DRM card that can render and is no other vendor's: what hwmon and its DRM clients report. Cards that only show
 * a picture and virtual ones are left out.
 */
#include "base/str.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"

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

static void other_init(struct drm_cards *cards, size_t index)
{
    const struct drm_card *drm = &cards->drm[index];
    struct gpu_facts *facts = &cards->items[index].facts;
    drm_card_write_name(drm, drm->driver, facts->name, sizeof(facts->name));
}

static void other_read(struct drm_cards *cards, size_t index, const struct gpu_tick *tick)
{
    struct fdinfo_use host = drm_cards_host_use(cards, index, tick);
    cards->items[index].reading.utilization_pct = drm_cards_percent(host.usage);
    hwmon_read(cards, index, tick);
}

static const struct drm_cards_kind other_kind = {
    .plural = "other DRM cards",
    .wants = other_wants,
    .sensor = "edge",
    .init = other_init,
    .read = other_read,
};

static int other_open(void *state, const struct collect_env *env, struct err *err)
{
    return drm_cards_open(state, env, &other_kind, err);
}

const struct gpu_vendor gpu_vendor_other = {
    .name = "other",
    .state_bytes = sizeof(struct drm_cards),
    .open = other_open,
    .clients = drm_cards_need_all_clients,
    .read = drm_cards_read,
    .attribute = drm_cards_attribute,
    .close = drm_cards_close,
};
