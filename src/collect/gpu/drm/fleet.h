/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cards of a vendor whose driver shows them in sysfs: what all of these vendors have in common. A vendor says which
 * cards are its own and reads those that are awake; sleeping and vanished ones are dealt with here.
 */
#ifndef COLLECT_GPU_DRM_FLEET_H
#define COLLECT_GPU_DRM_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/drm/fdinfo.h"
#include "collect/gpu/gpu.h"

struct fleet {
    int sys_fd; /* not owned */
    struct drm_card *drm;
    struct gpu_card *cards; /* as many */
    enum drm_state *states; /* as of this turn */
    void *own; /* what the vendor keeps of each card, zeroed at first */
    size_t count;
    int64_t previous_ns; /* when the turn before this one was */
    struct buf text; /* scratch space */
};

struct fleet_kind {
    const char *folder, *prefix; /* "class/drm", "card" */
    const char *device_type;
    const char *plural; /* "AMD cards" */
    size_t own_bytes; /* of what the vendor keeps of a card */
    const char *drivers; /* whose cards are wanted, with blanks between; NULL: `wants` says it */
    bool (*wants)(const struct drm_card *card);
};

/*
 * Finds the cards and writes what is known of each without its vendor: address, driver. Returns 0, -ENODATA where there
 * is none, or -ENOMEM with a message. fleet_close only after success.
 */
int fleet_open(struct fleet *fleet, const struct collect_env *env, const struct fleet_kind *kind, struct err *err);
void fleet_close(struct fleet *fleet);

/* Reads one card that is awake into cards[index]. */
typedef void fleet_read_card(void *state, size_t index, const struct gpu_turn *turn);

/* The read of struct gpu_vendor. */
int fleet_read(struct fleet *fleet, const struct gpu_turn *turn, fleet_read_card *read_card, void *state,
    struct gpu_list *ret_list);

/* The attribute of struct gpu_vendor, from the DRM clients of the tree. */
void fleet_attribute(struct fleet *fleet, const struct gpu_turn *turn);

/* What everybody who can be read uses of a card; absent where no clients were asked for. */
struct fdinfo_use fleet_host_use(const struct fleet *fleet, size_t index, const struct gpu_turn *turn);

/* A share of 0 to 1 as a percentage. */
struct opt_f64 fleet_percent(struct opt_f64 share);

#endif
