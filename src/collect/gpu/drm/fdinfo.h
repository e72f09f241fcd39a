/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DRM clients of processes: which hold descriptors on /dev/dri or /dev/accel, and how busy each keeps its device
 * (/proc/PID/fdinfo). A client counts once however many descriptors and processes share it. Which processes have none
 * is remembered, so that a tree that does not use a GPU costs next to nothing.
 */
#ifndef COLLECT_GPU_DRM_FDINFO_H
#define COLLECT_GPU_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "collect/collect.h"
#include "kernel/drm_fdinfo.h"
#include "kernel/sysroot.h"

enum { FDINFO_CLIENTS_MAX = 1024, FDINFO_FILES_MAX = 128, FDINFO_DESCRIPTORS_MAX = 65536 };

/* A device as fdinfo names it: by PCI address, or by driver where it has none. */
struct fdinfo_device {
    const char *pdev; /* "0000:03:00.0" or "" */
    const char *driver; /* compared only where pdev is "" */
};

/* What was found of one device in this tick. */
struct fdinfo_use {
    struct opt_f64 usage; /* of its busiest engine class over the time since the previous tick, 0 to 1 */
    struct opt_u64 vram_bytes;
};

struct fdinfo;

/* Takes memory; *ret_fdinfo is NULL on failure. */
int fdinfo_new(const struct collect_env *env, struct fdinfo **ret_fdinfo);
void fdinfo_free(struct fdinfo *fdinfo);

/*
 * Reads every client anew, and scans for new ones where that is due: among the members, and among all processes of the
 * host where `all_processes`. Without a previous reading of a client (the baseline, or its first tick) what it did
 * since it was made is counted only if it was made after the previous tick.
 */
void fdinfo_tick(
    struct fdinfo *fdinfo, const struct job_member *members, size_t count, bool all_processes, int64_t now_ns);

/* What the tree, or all processes that can be read, use of a device. Absent values are unknown: a member may not be
 * read, or there was no time yet. No client is a known 0. */
struct fdinfo_use fdinfo_tree_use(const struct fdinfo *fdinfo, struct fdinfo_device device);
struct fdinfo_use fdinfo_host_use(const struct fdinfo *fdinfo, struct fdinfo_device device);

/* Could every member be scanned? */
bool fdinfo_is_tree_known(const struct fdinfo *fdinfo);

/* Does a member hold this compute_device of a struct gpu_vendor? */
bool fdinfo_tree_holds(const struct fdinfo *fdinfo, const char *compute_device);

#endif
