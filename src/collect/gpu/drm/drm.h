/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of /sys/class/drm and /sys/class/accel: who drives them, where they sit, and whether they are awake
 * (Documentation/ABI/testing/sysfs-devices-power). Reading other attributes of a sleeping device would wake it.
 */
#ifndef COLLECT_GPU_DRM_DRM_H
#define COLLECT_GPU_DRM_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "collect/gpu/drm/attribute.h"

enum { DRM_CARD_TEXT_BYTES = 48, DRM_CARD_PATH_BYTES = 64 };

enum drm_state { DRM_AWAKE, DRM_ASLEEP, DRM_GONE };

struct drm_card {
    int sys_fd; /* not owned */
    char folder[DRM_CARD_PATH_BYTES]; /* "class/drm/card0" */
    char driver[DRM_CARD_TEXT_BYTES]; /* "amdgpu"; "" for a device without one */
    char device[DRM_CARD_TEXT_BYTES]; /* the name of the device behind it: "0000:03:00.0", "ff9a0000.gpu" */
    bool is_pci; /* that is a PCI address */
    struct opt_u64 vendor_id, device_id, revision; /* on PCI */
    bool has_render_node;
    char hwmon[DRM_CARD_PATH_BYTES]; /* "class/drm/card0/device/hwmon/hwmon3", or "" */
    struct gpu_attribute runtime_status;
};

/*
 * The entries of a folder that are called prefix and a number, ascending; of more than max, the first ones. Returns how
 * many, or a negative errno.
 */
int drm_list_numbers(int sys_fd, const char *folder, const char *prefix, size_t max, unsigned *ret_numbers);

/* The last component of what a link points to, "" where there is none. */
void drm_read_link_name(int sys_fd, const char *path, char *out, size_t size);

/* Looks at one device; what it does not tell is left empty. */
void drm_card_init(struct drm_card *card, int sys_fd, const char *folder);
void drm_card_fini(struct drm_card *card);

/* Asks every turn before anything else is read. */
enum drm_state drm_card_read_state(struct drm_card *card, struct buf *text);

/* A one-line attribute of the device behind the card, "" where it has none. */
void drm_card_read_text(const struct drm_card *card, const char *name, char *out, size_t size);

/* "Intel GPU 0x46a6"; the words alone where the device has no such number. */
void drm_card_write_name(const struct drm_card *card, const char *words, char *out, size_t size);

#endif
