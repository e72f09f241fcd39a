/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the mounts of a mountinfo lie over each other: which of them a path still leads to, and on the way to which of
 * them stands something that may hang (network, FUSE) or be triggered (autofs). No I/O.
 */
#ifndef COLLECT_DISK_MOUNT_TREE_H
#define COLLECT_DISK_MOUNT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/mountinfo.h"

struct mount_tree {
    const struct mountinfo *info; /* not owned; must outlive the tree */
    uint32_t *by_id; /* rows in the order of their ids */
    uint32_t *by_place; /* rows in the order of parent and mount point */
    uint8_t *flags; /* of each row, filled in as it is asked for */
};

/* Returns 0 or -ENOMEM. */
int mount_tree_init(struct mount_tree *tree, const struct mountinfo *info);
void mount_tree_fini(struct mount_tree *tree);

struct mount_reach {
    bool visible; /* its mount point leads to it and to nothing mounted over it */
    bool safe; /* neither it nor a mount above it may hang or be triggered */
};

struct mount_reach mount_tree_reach(struct mount_tree *tree, size_t row);

/* Is this a filesystem whose paths must not be touched? Of the anonymous ones (major 0) only the known are trusted. */
bool mount_tree_may_hang(const struct mount_row *row);

#endif
