/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystems on block devices, each once, with their space; mountinfo is read again when the kernel reports a change.
 */
#include "collect/disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/probe/probe.h"

static void open_file(struct mounts *mounts)
{
    int fd = file_open_at(mounts->env->root->proc_fd, "self/mountinfo", O_RDONLY);
    mounts->error = fd < 0 ? fd : 0;
    mounts->fd = fd < 0 ? -1 : fd;
}

void mounts_open(struct mounts *mounts, const struct collect_env *env)
{
    *mounts = (struct mounts){.env = env, .fd = -1, .dirty = true};
    buf_init(&mounts->text, MOUNTS_TEXT_BYTES_MAX);
    open_file(mounts);
    struct statfs where;
    /* Only the kernel's own file can be polled (a captured copy cannot), and only if it is there to be watched now. */
    mounts->polled = mounts->fd >= 0 && fstatfs(mounts->fd, &where) == 0 && where.f_type == PROC_SUPER_MAGIC;
}

void mounts_close(struct mounts *mounts)
{
    fd_close(&mounts->fd);
    buf_fini(&mounts->text);
    mountinfo_fini(&mounts->info);
    free(mounts->list.items);
    free(mounts->old.items);
    *mounts = (struct mounts){.fd = -1};
}

bool mounts_find_device(
    const struct mounts *mounts, const struct mount_row *row, unsigned *ret_major, unsigned *ret_minor)
{
    if (row->major != 0) {
        *ret_major = row->major;
        *ret_minor = row->minor;
        return true;
    }
    /* A tmpfs or a FUSE mount may have any source: only those that live on the device they name are looked up.
     */
    bool lives_there = strcmp(row->fstype, "btrfs") == 0 || strcmp(row->fstype, "bcachefs") == 0;
    if (!lives_there || strncmp(row->source, "/dev/", 5) != 0)
        return false;
    return mount_source_resolve(mounts->env->root, row->source, ret_major, ret_minor) == 0;
}

/* Subvolumes share the anonymous number of their filesystem: what the first was resolved to holds for all. */
static bool find_device_once(const struct mounts *mounts, size_t row, unsigned *ret_major, unsigned *ret_minor)
{
    const struct mount_row *mount = &mounts->info.items[row];
    for (size_t i = 0; mount->major == 0 && i < mounts->list.count; i++) {
        const struct mount_row *seen = mounts_row(mounts, &mounts->list.items[i]);
        if (seen->major == 0 && seen->minor == mount->minor && strcmp(seen->source, mount->source) == 0) {
            *ret_major = mounts->list.items[i].major;
            *ret_minor = mounts->list.items[i].minor;
            return true;
        }
    }
    return mounts_find_device(mounts, mount, ret_major, ret_minor);
}

/* Which of two mounts of one filesystem speaks for it: negative for a. */
static int compare_mounts(
    const struct mount_row *a, struct mount_reach reach_a, const struct mount_row *b, struct mount_reach reach_b)
{
    if (reach_a.visible != reach_b.visible)
        return reach_a.visible ? -1 : 1;
    if (reach_a.safe != reach_b.safe)
        return reach_a.safe ? -1 : 1;
    bool whole_a = strcmp(a->root, "/") == 0;
    bool whole_b = strcmp(b->root, "/") == 0;
    if (whole_a != whole_b)
        return whole_a ? -1 : 1;
    size_t length_a = strlen(a->mount_point);
    size_t length_b = strlen(b->mount_point);
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    return strcmp(a->mount_point, b->mount_point);
}

static struct filesystem *find_filesystem(const struct filesystem_list *list, unsigned major, unsigned minor)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].major == major && list->items[i].minor == minor)
            return &list->items[i];
    }
    return NULL;
}

/* These keep the count of their free blocks in memory. vfat, for one, counts them on the medium, if only once. */
static bool counts_in_memory(const char *fstype)
{
    return str_is_listed(
        fstype, "bcachefs btrfs erofs exfat ext2 ext3 ext4 f2fs iso9660 jfs ntfs3 reiserfs squashfs xfs");
}

/* Enters one mount; -ENOMEM, or 0 (also when the list is full: the others are then left out). */
static int enter_mount(struct mounts *mounts, struct mount_tree *tree, size_t row)
{
    struct filesystem_list *list = &mounts->list;
    unsigned major, minor;
    if (!find_device_once(mounts, row, &major, &minor))
        return 0;
    struct mount_reach reach = mount_tree_reach(tree, row);
    struct filesystem *known = find_filesystem(list, major, minor);
    if (known) {
        const struct mount_row *best = mounts_row(mounts, known);
        if (compare_mounts(&mounts->info.items[row], reach, best, mount_tree_reach(tree, known->row)) >= 0)
            return 0;
    } else {
        int r = VEC_GROW(list, list->count + 1, MOUNTS_FILESYSTEMS_MAX);
        if (r < 0)
            return r == -E2BIG ? 0 : r;
        known = &list->items[list->count++];
    }
    *known = (struct filesystem){.major = major,
        .minor = minor,
        .row = row,
        .reachable = reach.visible && reach.safe,
        .is_unproven = probe_is_late(mounts->env) && !counts_in_memory(mounts->info.items[row].fstype)};
    return 0;
}

static int sort_by_mount_point(const void *a, const void *b, void *context)
{
    const struct mounts *mounts = context;
    return strcmp(mounts_row(mounts, a)->mount_point, mounts_row(mounts, b)->mount_point);
}

/* Space that was read less than a second ago outlives a new reading of the list. */
static void keep_space(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->list.count; i++) {
        struct filesystem *filesystem = &mounts->list.items[i];
        struct filesystem *old = find_filesystem(&mounts->old, filesystem->major, filesystem->minor);
        if (!old || !filesystem->reachable)
            continue;
        struct filesystem fresh = *filesystem;
        *filesystem = *old;
        old->ticket = 0;
        filesystem->row = fresh.row;
        filesystem->reachable = fresh.reachable;
        filesystem->owner = NULL;
    }
    for (size_t i = 0; i < mounts->old.count; i++)
        probe_drop(mounts->env, &mounts->old.items[i].ticket);
}

static int build_list(struct mounts *mounts)
{
    struct filesystem_list old = mounts->list;
    mounts->list = mounts->old;
    mounts->old = old;
    mounts->list.count = 0;
    struct mount_tree tree;
    int r = mount_tree_init(&tree, &mounts->info);
    for (size_t row = 0; r == 0 && row < mounts->info.count; row++)
        r = enter_mount(mounts, &tree, row);
    mount_tree_fini(&tree);
    if (r < 0)
        return r;
    if (mounts->list.count > 1)
        qsort_r(mounts->list.items, mounts->list.count, sizeof(*mounts->list.items), sort_by_mount_point, mounts);
    keep_space(mounts);
    return 0;
}

static int read_mounts(struct mounts *mounts)
{
    if (mounts->fd < 0)
        open_file(mounts);
    int r = mounts->fd < 0 ? mounts->error : file_read_fd(mounts->fd, FILE_TO_END, &mounts->text);
    if (r == 0 && mounts->generation == 0 && mounts->env->mountinfo)
        buf_append(mounts->env->mountinfo, mounts->text.data, mounts->text.len);
    if (r == 0)
        r = mountinfo_parse(mounts->text.data, mounts->text.len, &mounts->info);
    if (r == 0)
        r = build_list(mounts);
    if (r < 0) {
        /* The next try opens it anew; that descriptor is not watched, so from then on it is read at the slow cadence.
         */
        fd_close(&mounts->fd);
        mounts->polled = false;
        for (size_t i = 0; i < mounts->list.count; i++)
            probe_drop(mounts->env, &mounts->list.items[i].ticket);
        mounts->info.count = 0;
        mounts->list.count = 0;
    }
    return r;
}

int mounts_refresh(struct mounts *mounts, int64_t now_ns, struct err *err)
{
    bool suspicious = mounts->error < 0 || !mounts->polled;
    if (mounts->dirty || (suspicious && now_ns - mounts->read_ns >= COLLECT_SLOW_NS)) {
        mounts->error = read_mounts(mounts);
        mounts->dirty = false;
        mounts->read_ns = now_ns;
        mounts->generation++;
    }
    if (mounts->error < 0)
        return err_sys(err, mounts->error, "disk: mounts are unknown, cannot read %s/proc/self/mountinfo",
            mounts->env->root->path);
    return 0;
}

/* 0, -EAGAIN where it is not known yet, or another negative errno. */
static int probe_space(const struct mounts *mounts, struct filesystem *filesystem, struct fs_space *ret_space)
{
    struct probe_subject subject = {.kind = PROBE_SPACE};
    struct probe_answer answer;
    if (!str_copy(str_of(mounts_row(mounts, filesystem)->mount_point), subject.name, sizeof(subject.name)))
        return -ENAMETOOLONG;
    if (!probe_get(mounts->env, &filesystem->ticket, &subject, &answer))
        return -EAGAIN;
    /* One that hung is not asked again before the mounts change, and then not by a thread of ours. */
    filesystem->is_unproven = answer.error < 0;
    filesystem->reachable = answer.error == 0;
    *ret_space = answer.space.space;
    return answer.error < 0 ? answer.error : answer.space.error;
}

void mounts_ask_unproven(struct mounts *mounts)
{
    struct fs_space unused;
    for (size_t i = 0; i < mounts->list.count; i++) {
        struct filesystem *filesystem = &mounts->list.items[i];
        if (filesystem->owner && filesystem->reachable && filesystem->is_unproven && filesystem->ticket == 0)
            (void)probe_space(mounts, filesystem, &unused);
    }
}

static void ask_space(struct mounts *mounts, struct filesystem *filesystem)
{
    const struct collect_env *env = mounts->env;
    struct fs_space space;
    int r = filesystem->is_unproven
                ? probe_space(mounts, filesystem, &space)
                : env->space(env->space_context, mounts_row(mounts, filesystem)->mount_point, &space);
    if (r < 0) {
        filesystem->total_bytes = filesystem->used_bytes = filesystem->available_bytes = (struct opt_u64){0};
        filesystem->used_pct = (struct opt_f64){0};
        return;
    }
    uint64_t used = space.total_bytes > space.free_bytes ? space.total_bytes - space.free_bytes : 0;
    filesystem->total_bytes = some_u64(space.total_bytes);
    filesystem->used_bytes = some_u64(used);
    filesystem->available_bytes = some_u64(space.available_bytes);
    filesystem->used_pct = mounts_used_pct(used, space.total_bytes);
}

void mounts_read_space(struct mounts *mounts, int64_t now_ns)
{
    for (size_t i = 0; i < mounts->list.count; i++) {
        struct filesystem *filesystem = &mounts->list.items[i];
        if (!filesystem->owner || !filesystem->reachable)
            continue;
        if (filesystem->asked && now_ns - filesystem->asked_ns < COLLECT_SPACE_NS)
            continue;
        ask_space(mounts, filesystem);
        filesystem->asked = true;
        filesystem->asked_ns = now_ns;
    }
}

struct opt_f64 mounts_used_pct(uint64_t used, uint64_t total)
{
    return total > 0 ? some_f64(num_to_f64(used) / num_to_f64(total) * 100) : (struct opt_f64){0};
}

const struct mount_row *mounts_find_path(const struct mounts *mounts, const char *path)
{
    const struct mount_row *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < mounts->info.count; i++) {
        const struct mount_row *row = &mounts->info.items[i];
        size_t length = strlen(row->mount_point);
        /* At the same point the later mount lies on top. */
        if (length >= best_length && str_path_below(path, row->mount_point)) {
            best = row;
            best_length = length;
        }
    }
    return best;
}

int mounts_statvfs(void *context, const char *mount_point, struct fs_space *ret_space)
{
    return mounts_ask_kernel(context, mount_point, ret_space);
}

int mounts_ask_kernel(const struct sysroot *root, const char *mount_point, struct fs_space *ret_space)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s", root->path, mount_point);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    struct statvfs space;
    if (statvfs(path, &space) < 0)
        return err_last();
    uint64_t unit = space.f_frsize ? space.f_frsize : space.f_bsize;
    *ret_space = (struct fs_space){
        .total_bytes = unit * space.f_blocks,
        .free_bytes = unit * space.f_bfree,
        .available_bytes = unit * space.f_bavail,
    };
    return 0;
}
