/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/drm/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static void write_facts(const struct drm_card *drm, const char *device_type, struct gpu_facts *ret_facts)
{
    struct gpu_facts facts = {.device_type = device_type};
    (void)str_copy(str_of(drm->device), facts.uuid, sizeof(facts.uuid));
    (void)str_copy(str_of(drm->device), facts.host_id, sizeof(facts.host_id));
    gpu_add_detail(&facts, "pci_bus", drm->is_pci ? drm->device : "");
    gpu_add_detail(&facts, "pci_bus_id", drm->is_pci ? drm->device : "");
    gpu_add_detail(&facts, "driver", drm->driver);
    *ret_facts = facts;
}

static int allocate(struct fleet *fleet, const struct fleet_kind *kind, size_t count)
{
    fleet->drm = calloc(count, sizeof(*fleet->drm));
    fleet->cards = calloc(count, sizeof(*fleet->cards));
    fleet->states = calloc(count, sizeof(*fleet->states));
    fleet->own = calloc(count, kind->own_bytes);
    return fleet->drm && fleet->cards && fleet->states && fleet->own ? 0 : -ENOMEM;
}

static void add_card(struct fleet *fleet, const struct fleet_kind *kind, unsigned number)
{
    char folder[DRM_CARD_PATH_BYTES];
    (void)snprintf(folder, sizeof(folder), "%s/%s%u", kind->folder, kind->prefix, number);
    struct drm_card *drm = &fleet->drm[fleet->count];
    drm_card_init(drm, fleet->sys_fd, folder);
    if (kind->drivers ? !str_is_listed(drm->driver, kind->drivers) : !kind->wants(drm)) {
        drm_card_fini(drm);
        return;
    }
    write_facts(drm, kind->device_type, &fleet->cards[fleet->count].facts);
    fleet->count++;
}

int fleet_open(struct fleet *fleet, const struct collect_env *env, const struct fleet_kind *kind, struct err *err)
{
    *fleet = (struct fleet){.sys_fd = env->root->sys_fd};
    unsigned numbers[GPU_CARDS_MAX];
    int found = drm_list_numbers(fleet->sys_fd, kind->folder, kind->prefix, GPU_CARDS_MAX, numbers);
    if (found <= 0)
        return -ENODATA;
    buf_init(&fleet->text, GPU_ATTRIBUTE_TEXT_MAX);
    int r = allocate(fleet, kind, (size_t)found);
    for (int i = 0; r == 0 && i < found; i++)
        add_card(fleet, kind, numbers[i]);
    if (r == 0 && fleet->count > 0)
        return 0;
    fleet_close(fleet);
    return r < 0 ? err_sys(err, r, "gpu: the %s are left out", kind->plural) : -ENODATA;
}

void fleet_close(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++)
        drm_card_fini(&fleet->drm[i]);
    fleet->count = 0;
    free(fleet->drm);
    free(fleet->cards);
    free(fleet->states);
    free(fleet->own);
    fleet->drm = NULL;
    fleet->cards = NULL;
    fleet->states = NULL;
    fleet->own = NULL;
    buf_fini(&fleet->text);
}

int fleet_read(struct fleet *fleet, const struct gpu_turn *turn, fleet_read_card *read_card, void *state,
    struct gpu_list *ret_list)
{
    size_t gone = 0;
    for (size_t i = 0; i < fleet->count; i++) {
        struct gpu_card *card = &fleet->cards[i];
        card->reading = (struct gpu_reading){0};
        card->use = (struct gpu_use){0};
        card->energy_joules = (struct opt_f64){0}; /* has_energy stays: one that sleeps at the end is missing */
        fleet->states[i] = drm_card_read_state(&fleet->drm[i], &fleet->text);
        switch (fleet->states[i]) {
        case DRM_AWAKE:
            read_card(state, i, turn);
            break;
        case DRM_ASLEEP:
            card->reading.utilization_pct = some_f64(0);
            break;
        case DRM_GONE:
            gone++;
            break;
        }
    }
    fleet->previous_ns = turn->now_ns;
    if (gone == fleet->count)
        return -ENODEV;
    *ret_list = (struct gpu_list){.cards = fleet->cards, .count = fleet->count, .is_known = true};
    return 0;
}

static struct fdinfo_device device_of(const struct drm_card *drm)
{
    return (struct fdinfo_device){.pdev = drm->is_pci ? drm->device : "", .driver = drm->driver};
}

void fleet_attribute(struct fleet *fleet, const struct gpu_turn *turn)
{
    for (size_t i = 0; i < fleet->count; i++) {
        struct gpu_use *use = &fleet->cards[i].use;
        *use = (struct gpu_use){0};
        /* Nobody uses what is not there. */
        if (fleet->states[i] == DRM_GONE)
            *use = (struct gpu_use){.usage = some_f64(0), .vram_bytes = some_u64(0)};
        if (!turn->clients || fleet->states[i] == DRM_GONE)
            continue;
        struct fdinfo_use tree = fdinfo_tree_use(turn->clients, device_of(&fleet->drm[i]));
        *use = (struct gpu_use){.usage = tree.usage, .vram_bytes = tree.vram_bytes};
    }
}

struct fdinfo_use fleet_host_use(const struct fleet *fleet, size_t index, const struct gpu_turn *turn)
{
    if (!turn->clients)
        return (struct fdinfo_use){0};
    return fdinfo_host_use(turn->clients, device_of(&fleet->drm[index]));
}

struct opt_f64 fleet_percent(struct opt_f64 share)
{
    if (!share.has)
        return share;
    double percent = share.v * 100;
    return some_f64(percent > 100 ? 100 : percent < 0 ? 0 : percent);
}
