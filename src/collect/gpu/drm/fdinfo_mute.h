/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices whose driver does not tell of clients (all of them before Linux 5.19), and which somebody holds: what is done
 * with them is not known, and not 0.
 */
#ifndef COLLECT_GPU_DRM_FDINFO_MUTE_H
#define COLLECT_GPU_DRM_FDINFO_MUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/gpu/drm/fdinfo.h"

enum { FDINFO_MUTES_MAX = 8, FDINFO_PROCESS_MUTES = 2 };

struct fdinfo_mute {
    char device[48]; /* "0000:03:00.0"; "": none */
    char driver[32];
};

/* Of all processes that were looked at. */
struct fdinfo_mutes {
    struct fdinfo_mute items[FDINFO_MUTES_MAX];
    size_t count;
    bool is_full; /* there were more */
};

/*
 * Notes the device behind a path such as /dev/dri/card1 as one that this process holds. What sysfs does not know is no
 * device, and that of a vendor that needs no clients is passed over. Returns 0, or -ENOBUFS where there is no room.
 */
int fdinfo_mute_note(int sys_fd, const char *path, struct fdinfo_mute mutes[static FDINFO_PROCESS_MUTES]);

/* Adds those of one process to those of all. */
void fdinfo_mute_add(struct fdinfo_mutes *mutes, const struct fdinfo_mute found[static FDINFO_PROCESS_MUTES]);

/* Is it this device? */
bool fdinfo_mute_is(const struct fdinfo_mute *mute, struct fdinfo_device device);

#endif
