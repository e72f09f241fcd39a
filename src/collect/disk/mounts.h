/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filesystems that lie on block devices, each once, with their space. The list comes from /proc/self/mountinfo,
 * which is read again only when the kernel says that it changed; space comes from statvfs(path), never from a
 * descriptor on the filesystem, and is never asked where the path may hang.
 */
#ifndef COLLECT_DISK_MOUNTS_H
#define COLLECT_DISK_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "collect/collect.h"
#include "kernel/mountinfo.h"

enum { MOUNTS_FILESYSTEMS_MAX = 1024, MOUNTS_TEXT_BYTES_MAX = 4 * 1024 * 1024 };

struct filesystem {
    unsigned major, minor; /* of the block device; for anonymous filesystems (btrfs) that of their source */
    size_t row; /* the mount that stands for it, in mounts.info */
    bool reachable; /* its space may be asked for */
    void *owner; /* set by the user of the list; NULL: nobody wants its space */
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
static inline struct opt_f64 mounts_used_pct(uint64_t used, uint64_t total)
{
    return total > 0 ? some_f64((double)used / (double)total * 100) : (struct opt_f64){0};
}

/* The mount that a path lies on (the longest mount point above it), or NULL. */
const struct mount_row *mounts_find_path(const struct mounts *mounts, const char *path);

/* The device number that a mount belongs to: true and the numbers, or false where it lies on none. */
bool mounts_find_device(
    const struct mounts *mounts, const struct mount_row *row, unsigned *ret_major, unsigned *ret_minor);

/* statvfs of a mount point below the root; 0 or a negative errno. */
int mounts_ask_kernel(const struct sysroot *root, const char *mount_point, struct fs_space *ret_space);

/* The same as collect_env.space; context is a const struct sysroot *. */
int mounts_statvfs(void *context, const char *mount_point, struct fs_space *ret_space);

#endif
