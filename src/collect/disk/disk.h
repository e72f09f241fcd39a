/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the disk collector: devices, filesystems and ZFS pools. */
#ifndef COLLECT_DISK_DISK_H
#define COLLECT_DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/str.h"
#include "collect/collect.h"
#include "collect/disk/identity.h"
#include "collect/helper.h"
#include "kernel/devices.h"
#include "kernel/mountinfo.h"
#include "kernel/sysroot.h"
#include "model/sample.h"

/*
 * The rows of diskstats, remembered from sample to sample: which of them are devices, partitions or neither is found
 * out once per row, so that nothing is opened again. A row that vanishes takes its descriptors with it.
 */

enum { DISK_ROWS_MAX = 4096, DISK_DEVICES_MAX = 1024, DISK_KEPT_SIZES_MAX = 128 };

struct disk_device {
    bool identified; /* its identity is known, or is being asked for */
    bool wants_identity;
    uint32_t ticket; /* of the probe */
    uint32_t seen_news; /* of the probe, when it was last asked */
    struct disk_identity identity;
    struct kept_file size_file;
    bool has_size; /* its size was asked for */
    struct opt_u64 capacity_bytes;
    struct opt_bool stacked;
    bool stacked_stale;
    size_t first_mount, mount_count; /* its part of the collector's list of mounts */
};

struct disk_row {
    struct diskstats_row prev; /* the reading before; its numbers and name are those of the row */
    bool has_prev;
    bool idle_hidden; /* loop and ram devices: not shown before they are used */
    bool moved;
    enum disk_kind kind;
    char parent[DISK_NAME_BYTES]; /* of a partition */
    struct disk_device *device; /* of a whole device; owned */
};

struct disk_rows {
    struct disk_row *items;
    size_t count, cap;
};

struct disk_table {
    const struct collect_env *env; /* not owned */
    int sys_fd; /* not owned; -1: no sysfs */
    struct disk_rows rows; /* row i belongs to row i of the last diskstats */
    struct disk_rows next;
    struct {
        uint32_t *items; /* rows of whole devices, sorted by name */
        size_t count, cap;
    } order;
    size_t devices;
    bool order_stale;
    uint64_t generation; /* grows when rows come, go or move */
};

void disk_table_init(struct disk_table *table, const struct collect_env *env);
void disk_table_fini(struct disk_table *table);

/* Lines the rows up with a new reading. Returns 0 or -ENOMEM; on failure nothing changes. */
int disk_table_match(struct disk_table *table, const struct diskstats *stats);

/* Classifies new rows that are now worth it, and sorts the devices. 0 or -ENOMEM. */
int disk_table_classify(struct disk_table *table, const struct diskstats *stats);

/* The device that owns a device number, itself or by a partition; NULL where none does. Classifies it if need be. */
struct disk_device *disk_table_find_owner(struct disk_table *table, unsigned major, unsigned minor);

/* Was the device ever used? */
static inline bool disk_table_has_io(const struct diskstats_row *reading)
{
    return reading->reads || reading->writes || reading->read_units || reading->write_units;
}

/* Makes this reading the previous one. */
void disk_table_remember(struct disk_table *table, const struct diskstats *stats);

/* Without sysfs: the length of the device's name in a partition's name (sda1: 3, nvme0n1p2: 7), or 0. */
size_t disk_table_base_length(const char *name);

/*
 * How the mounts of a mountinfo lie over each other: which of them a path still leads to, and on the way to which of
 * them stands something that may hang (network, FUSE) or be triggered (autofs). No I/O.
 */
struct mount_tree {
    const struct mountinfo *info; /* not owned; must outlive the tree */
    uint32_t *by_id; /* rows in the order of their ids */
    uint32_t *by_point; /* rows in the order of parent and mount point */
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

/*
 * From the source of an anonymous filesystem ("/dev/mapper/vg-data") to the number of that block device, inside the
 * sysroot: the links below /dev are followed by hand, the number comes from /sys/class/block/NAME/dev.
 */

/* Returns 0 or a negative errno: -ENODEV where the source is no block device, -ELOOP after too many links. */
int mount_source_resolve(const struct sysroot *root, const char *source, unsigned *ret_major, unsigned *ret_minor);

/*
 * The filesystems that lie on block devices, each once, with their space. The list comes from /proc/self/mountinfo,
 * which is read again only when the kernel says that it changed; space comes from statvfs(path), never from a
 * descriptor on the filesystem, and is never asked where the path may hang.
 */

enum { MOUNTS_FILESYSTEMS_MAX = 1024, MOUNTS_TEXT_BYTES_MAX = 4 * 1024 * 1024 };

struct filesystem {
    unsigned major, minor; /* of the block device; for anonymous filesystems (btrfs) that of their source */
    size_t row; /* the mount that stands for it, in mounts.info */
    bool reachable; /* its space may be asked for */
    void *owner; /* set by the user of the list; NULL: its space is not wanted */
    bool is_unproven; /* its first statvfs may read the medium: the probe does that one */
    uint32_t ticket; /* of the probe */
    bool asked;
    int64_t asked_ns;
    struct opt_u64 total_bytes, used_bytes, available_bytes;
    struct opt_f64 used_pct;
};

struct filesystem_list {
    struct filesystem *items;
    size_t count, cap;
};

struct mounts {
    const struct collect_env *env;
    int fd;
    bool polled; /* the descriptor reports changes, so the file need not be read on suspicion */
    bool dirty;
    int error; /* of the last reading */
    int64_t read_ns;
    struct buf text; /* what info points into */
    struct mountinfo info;
    struct filesystem_list list; /* sorted by mount point */
    struct filesystem_list old;
    uint64_t generation; /* grows with every reading: earlier pointers into info are then void */
};

void mounts_open(struct mounts *mounts, const struct collect_env *env);
void mounts_close(struct mounts *mounts);

/* Brings the list up to date where something changed. A negative errno (with a message) leaves it empty. */
int mounts_refresh(struct mounts *mounts, int64_t now_ns, struct err *err);

/* Has the probe ask for the space of filesystems that may have to read their medium for it. */
void mounts_ask_unproven(struct mounts *mounts);

/* Space of the filesystems that have an owner, of each at most once per COLLECT_SPACE_NS. */
void mounts_read_space(struct mounts *mounts, int64_t now_ns);

static inline const struct mount_row *mounts_row(const struct mounts *mounts, const struct filesystem *filesystem)
{
    return &mounts->info.items[filesystem->row];
}

/* used / total; absent where the total is 0. df leaves the blocks reserved for root out of the total. */
struct opt_f64 mounts_used_pct(uint64_t used, uint64_t total);

/* The mount that a path lies on (the longest mount point above it), or NULL. */
const struct mount_row *mounts_find_path(const struct mounts *mounts, const char *path);

/* The device number that a mount belongs to: true and the numbers, or false where it lies on none. */
bool mounts_find_device(
    const struct mounts *mounts, const struct mount_row *row, unsigned *ret_major, unsigned *ret_minor);

/* statvfs of a mount point below the root; 0 or a negative errno. */
int mounts_ask_kernel(const struct sysroot *root, const char *mount_point, struct fs_space *ret_space);

/* The same as collect_env.space; context is a const struct sysroot *. */
int mounts_statvfs(void *context, const char *mount_point, struct fs_space *ret_space);

/*
 * ZFS pools, which no kernel file lists with their space: `zpool list -Hp -o name,size,alloc,free` is asked once a
 * minute, in the background. Its answer is picked up by a later sample; a zpool that hangs (a suspended pool) is killed
 * after five seconds, never waited for, and there is never a second one beside it.
 */

enum { ZFS_POOLS_MAX = 256, ZFS_NAME_BYTES = 256, ZFS_TEXT_BYTES_MAX = 64 * 1024 };

#define ZFS_ASK_NS (60 * NS_PER_SEC)
#define ZFS_DEADLINE_NS (5 * NS_PER_SEC)
#define ZFS_KEEP_NS (3 * ZFS_ASK_NS)

struct zfs_pool {
    char device[sizeof("zfs:") - 1 + ZFS_NAME_BYTES]; /* "zfs:NAME" */
    struct opt_u64 size_bytes, alloc_bytes, free_bytes; /* absent for a pool that cannot be opened ("-") */
    const char *mount_point; /* points into the mounts of the last search; NULL: not mounted */
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

/* Does this machine have ZFS at all, as far as proc shows? */
bool zfs_is_loaded(const struct zfs *zfs);

/* One step, without waiting: reads what has come, ends what is late, asks again when it is time and `wanted`. */
void zfs_poll(struct zfs *zfs, int64_t now_ns, bool wanted);

/* Finds the mount point of each pool: its root dataset, else the first dataset of it that is mounted. */
void zfs_find_mounts(struct zfs *zfs, const struct mounts *mounts);

/* The pools, or an empty list where the last answer is too old. */
struct zfs_pools zfs_current(const struct zfs *zfs, int64_t now_ns);

/* The arithmetic of the disk collector, apart from its reading. */

/* Fills the totals, and, where there is a previous reading (prev not NULL), growth and rates. */
void disk_derive(const struct diskstats_row *prev, const struct diskstats_row *cur, int64_t elapsed_ns,
    struct sample_disk *ret_disk);

#endif
