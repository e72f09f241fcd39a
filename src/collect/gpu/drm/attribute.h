/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sysfs attribute of a device, read for every sample through a descriptor that is opened once. An attribute that
 * the driver did not have when the device was found is never asked for again; one that fails is absent for this turn
 * only.
 */
#ifndef COLLECT_GPU_DRM_ATTRIBUTE_H
#define COLLECT_GPU_DRM_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/opt.h"

enum { GPU_ATTRIBUTE_TEXT_MAX = 8192 }; /* enough for a page of sysfs: the maximum of the buffers given here */

struct gpu_attribute {
    struct kept_file file;
    bool exists;
};

/* Opens folder/name below sys_fd without reading it: reading may wake the device. */
void gpu_attribute_init(struct gpu_attribute *attribute, int sys_fd, const char *folder, const char *name);
void gpu_attribute_fini(struct gpu_attribute *attribute);

/* Replaces text with the attribute. Returns 0, or a negative errno: -ENOENT where there is none. */
int gpu_attribute_read(struct gpu_attribute *attribute, struct buf *text);

/* The attribute as a number; absent where it cannot be read or is none. text is scratch space. */
struct opt_u64 gpu_attribute_read_u64(struct gpu_attribute *attribute, struct buf *text);
struct opt_i64 gpu_attribute_read_i64(struct gpu_attribute *attribute, struct buf *text);

/* A counter that only grows, of which a rate or a sum is wanted. */
struct gpu_counter {
    struct opt_u64 last;
    int64_t last_ns; /* when that was read */
    uint64_t total; /* growth since the first reading */
};

/*
 * Takes a new reading (it may be absent) and returns the growth per second since the last one. Absent where that was
 * not taken at the previous turn (previous_ns): a device that slept in between has no rate for this interval.
 */
struct opt_f64 gpu_counter_rate(struct gpu_counter *counter, struct opt_u64 now, int64_t previous_ns, int64_t now_ns);

#endif
