/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/drm/fdinfo_mute.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"

/* "/dev/dri/card1" is class/drm/card1 in sysfs; what is not there is no device. */
static void find_mute(int sys_fd, const char *target, struct fdinfo_mute *ret_mute)
{
    char path[128];
    const char *class = str_starts(str_of(target), STR("/dev/accel/")) ? "accel" : "drm";
    const char *name = strrchr(target, '/') + 1;
    (void)snprintf(path, sizeof(path), "class/%s/%s/device", class, name);
    drm_read_link_name(sys_fd, path, ret_mute->device, sizeof(ret_mute->device));
    (void)snprintf(path, sizeof(path), "class/%s/%s/device/driver", class, name);
    drm_read_link_name(sys_fd, path, ret_mute->driver, sizeof(ret_mute->driver));
}

int fdinfo_mute_note(int sys_fd, const char *path, struct fdinfo_mute mutes[static FDINFO_PROCESS_MUTES])
{
    struct fdinfo_mute mute;
    find_mute(sys_fd, path, &mute);
    const struct gpu_vendor *vendor = gpu_vendor_of_driver(mute.driver);
    if (mute.device[0] == '\0' || (vendor && !vendor->clients))
        return 0;
    for (size_t i = 0; i < FDINFO_PROCESS_MUTES; i++) {
        if (mutes[i].device[0] == '\0')
            mutes[i] = mute;
        if (strcmp(mutes[i].device, mute.device) == 0)
            return 0;
    }
    return -ENOBUFS;
}

static void add_one(struct fdinfo_mutes *mutes, const struct fdinfo_mute *mute)
{
    for (size_t i = 0; i < mutes->count; i++) {
        if (strcmp(mutes->items[i].device, mute->device) == 0)
            return;
    }
    mutes->is_full = mutes->count == FDINFO_MUTES_MAX;
    if (!mutes->is_full)
        mutes->items[mutes->count++] = *mute;
}

void fdinfo_mute_add(struct fdinfo_mutes *mutes, const struct fdinfo_mute found[static FDINFO_PROCESS_MUTES])
{
    for (size_t i = 0; i < FDINFO_PROCESS_MUTES; i++) {
        if (found[i].device[0])
            add_one(mutes, &found[i]);
    }
}

bool fdinfo_mute_is(const struct fdinfo_mute *mute, struct fdinfo_device device)
{
    if (mute->device[0] == '\0')
        return false;
    return device.pdev[0] ? strcmp(mute->device, device.pdev) == 0 : strcmp(mute->driver, device.driver) == 0;
}
