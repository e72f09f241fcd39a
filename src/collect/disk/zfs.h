/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZFS pools, which no kernel file lists with their space: `zpool list -Hp -o name,size,alloc,free` is asked once a
 * minute, in the background. Its answer is picked up by a later sample; a zpool that hangs (a suspended pool) is killed
 * after five seconds, never waited for, and there is never a second one beside it.
 */
#ifndef COLLECT_DISK_ZFS_H
#define COLLECT_DISK_ZFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "base/str.h"
#include "collect/collect.h"
#include "collect/disk/mounts.h"
#include "collect/helper.h"

enum { ZFS_POOLS_MAX = 256, ZFS_NAME_BYTES = 256, ZFS_TEXT_BYTES_MAX = 64 * 1024 };

#define ZFS_ASK_NS (60 * NS_PER_SEC)
#define ZFS_DEADLINE_NS (5 * NS_PER_SEC)
#define ZFS_KEEP_NS (3 * ZFS_ASK_NS)

struct zfs_pool {
    char device[sizeof("zfs:") - 1 + ZFS_NAME_BYTES]; /* "zfs:NAME" */
    struct opt_u64 size_bytes, alloc_bytes, free_bytes; /* absent for a pool that cannot be opened ("-") */
    const char *mount_point; /* points into the mounts it was last placed with; NULL: not mounted */
};

struct zfs_pools {
    struct zfs_pool *items; /* sorted by name */
    size_t count, cap;
};

/*
 * Reuses the array. Text with anything wrong in it is refused whole, for half a list is a wrong one: -EBADMSG, -E2BIG
 * or -ENOMEM, with the array empty. Empty text is a machine without pools.
 */
int zfs_parse_list(struct str text, struct zfs_pools *pools);

enum zfs_helper {
    ZFS_HELPER_NONE,
    ZFS_HELPER_READING, /* its answer is coming in */
    ZFS_HELPER_ENDING, /* answered, refused or killed; not yet gone */
};

struct zfs {
    const struct collect_env *env;
    bool given_up; /* there is no such command */
    bool asked;
    int64_t asked_ns;
    enum zfs_helper helper;
    bool answered; /* the pipe was read to its end */
    struct helper process;
    int pipe_fd;
    struct buf text;
    struct zfs_pools fresh, pools;
    bool has_pools;
    int64_t pools_ns; /* when they were asked for */
    uint64_t generation; /* grows when the pools were replaced */
};

void zfs_open(struct zfs *zfs, const struct collect_env *env);
void zfs_close(struct zfs *zfs);

/* Does this machine have ZFS at all, as far as proc can tell? */
bool zfs_is_loaded(const struct zfs *zfs);

/* One step, without waiting: takes what has come, ends what is late, asks again when it is time and `wanted`. */
void zfs_poll(struct zfs *zfs, int64_t now_ns, bool wanted);

/* Finds the mount point of each pool: its root dataset, else the first dataset of it that is mounted. */
void zfs_place(struct zfs *zfs, const struct mounts *mounts);

/* The pools, or an empty list where the last answer is too old. */
struct zfs_pools zfs_current(const struct zfs *zfs, int64_t now_ns);

#endif
