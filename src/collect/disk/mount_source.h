/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the source of an anonymous filesystem ("/dev/mapper/vg-data") to the number of that block device, inside the
 * sysroot: the links below /dev are followed by hand, the number comes from /sys/class/block/NAME/dev.
 */
#ifndef COLLECT_DISK_MOUNT_SOURCE_H
#define COLLECT_DISK_MOUNT_SOURCE_H

#include "kernel/sysroot.h"

/* Returns 0 or a negative errno: -ENODEV where the source is no block device, -ELOOP after too many links. */
int mount_source_resolve(const struct sysroot *root, const char *source, unsigned *ret_major, unsigned *ret_minor);

#endif
