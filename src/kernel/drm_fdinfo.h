/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/fdinfo/FD of a descriptor on /dev/dri or /dev/accel (Documentation/gpu/drm-usage-stats.rst).
 */
#ifndef KERNEL_DRM_FDINFO_H
#define KERNEL_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

enum { DRM_ENGINES_MAX = 16, DRM_NAME_BYTES = 32 };

/* One engine class of one client. */
struct drm_engine {
    char name[DRM_NAME_BYTES]; /* "gfx", "compute", "render", "rcs" */
    struct opt_u64 busy_ns; /* drm-engine-NAME: N ns */
    struct opt_u64 cycles, total_cycles; /* drm-cycles-NAME, drm-total-cycles-NAME (xe) */
    uint64_t capacity; /* drm-engine-capacity-NAME, engines of this class; 1 where it is not reported */
};

struct drm_fdinfo {
    char driver[DRM_NAME_BYTES]; /* drm-driver: amdgpu; never empty */
    char pdev[DRM_NAME_BYTES]; /* drm-pdev: 0000:03:00.0; "" for devices that are not on PCI */
    struct opt_u64 client_id; /* drm-client-id */
    struct drm_engine engines[DRM_ENGINES_MAX]; /* those above the maximum are left out */
    size_t engine_count;
    struct opt_u64 vram_bytes; /* resident in device memory: drm-resident-vram*, -local*, else drm-memory-vram; 0 where
                                  other regions are reported and none of these */
};

/*
 * Returns 0; -ENODATA where the text is of no DRM descriptor (no drm-driver); -EBADMSG where it is cut or a number is
 * broken. ret_info is written on success only.
 */
int drm_fdinfo_parse(struct str text, struct drm_fdinfo *ret_info);

#endif
