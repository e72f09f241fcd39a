/* SPDX-License-Identifier: Apache-2.0 */
/* How mounts lie over each other: which a path still leads to, and which may hang on the way. Pure. */
#include "collect/disk/disk.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "base/str.h"

enum { FLAG_KNOWN = 1, FLAG_HIDDEN = 2, FLAG_UNSAFE = 4, DEPTH_MAX = 256 };

static const struct mount_row *row_at(const struct mount_tree *tree, uint32_t row)
{
    return &tree->info->items[row];
}

static int compare_ids(int a, int b)
{
    return (a > b) - (a < b);
}

static int sort_by_id(const void *a, const void *b, void *context)
{
    const struct mount_tree *tree = context;
    return compare_ids(row_at(tree, *(const uint32_t *)a)->id, row_at(tree, *(const uint32_t *)b)->id);
}

static int compare_points(const struct mount_row *row, int parent, struct str mount_point)
{
    int order = compare_ids(row->parent, parent);
    if (order != 0)
        return order;
    order = strncmp(row->mount_point, mount_point.p, mount_point.n);
    return order != 0 ? order : row->mount_point[mount_point.n] != '\0';
}

static int sort_by_point(const void *a, const void *b, void *context)
{
    const struct mount_tree *tree = context;
    const struct mount_row *other = row_at(tree, *(const uint32_t *)b);
    return compare_points(row_at(tree, *(const uint32_t *)a), other->parent, str_of(other->mount_point));
}

int mount_tree_init(struct mount_tree *tree, const struct mountinfo *info)
{
    size_t count = info->count;
    *tree = (struct mount_tree){.info = info};
    tree->by_id = calloc(count + 1, sizeof(*tree->by_id));
    tree->by_point = calloc(count + 1, sizeof(*tree->by_point));
    tree->flags = calloc(count + 1, sizeof(*tree->flags));
    if (!tree->by_id || !tree->by_point || !tree->flags) {
        mount_tree_fini(tree);
        return -ENOMEM;
    }
    for (uint32_t row = 0; row < count; row++)
        tree->by_id[row] = tree->by_point[row] = row;
    qsort_r(tree->by_id, count, sizeof(*tree->by_id), sort_by_id, tree);
    qsort_r(tree->by_point, count, sizeof(*tree->by_point), sort_by_point, tree);
    return 0;
}

void mount_tree_fini(struct mount_tree *tree)
{
    free(tree->by_id);
    free(tree->by_point);
    free(tree->flags);
    *tree = (struct mount_tree){0};
}

/* The row with this id, or UINT32_MAX. */
static uint32_t find_id(const struct mount_tree *tree, int id)
{
    size_t low = 0, high = tree->info->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row_at(tree, tree->by_id[middle])->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == tree->info->count || row_at(tree, tree->by_id[low])->id != id)
        return UINT32_MAX;
    return tree->by_id[low];
}

/* Is a mount other than `self` a child of `parent` at exactly this point? (The first mount may be its own parent.) */
static bool other_at(const struct mount_tree *tree, int parent, struct str point, uint32_t self)
{
    size_t low = 0, high = tree->info->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_points(row_at(tree, tree->by_point[middle]), parent, point) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < tree->info->count; low++) {
        uint32_t row = tree->by_point[low];
        const struct mount_row *found = row_at(tree, row);
        if (compare_points(found, parent, point) != 0)
            return false;
        if (row != self && found->id != found->parent)
            return true;
    }
    return false;
}

/* Does a mount of the same parent lie over this one, at its mount point or above it? */
static bool is_covered(const struct mount_tree *tree, uint32_t row)
{
    const struct mount_row *mount = row_at(tree, row);
    if (mount->id == mount->parent)
        return false;
    struct str path = str_of(mount->mount_point);
    if (other_at(tree, mount->parent, path, row))
        return true;
    for (size_t n = path.n; n-- > 1;) {
        if (path.p[n] == '/' && other_at(tree, mount->parent, (struct str){path.p, n}, row))
            return true;
    }
    return path.n > 1 && other_at(tree, mount->parent, STR("/"), row);
}

/* Is this a filesystem whose paths must not be touched? Of the anonymous ones (major 0) only the known are trusted. */
static bool may_hang(const struct mount_row *row)
{
    static const char far[] =
        "9p afs autofs beegfs ceph cifs coda davfs gfs2 glusterfs gpfs lustre ocfs2 orangefs smb3 "
        "virtiofs";
    static const char local[] =
        "aufs bcachefs binder binfmt_misc bpf btrfs cgroup cgroup2 configfs cpuset cramfs debugfs devpts "
        "devtmpfs ecryptfs efivarfs erofs fusectl hugetlbfs jffs2 mqueue nsfs overlay proc pstore ramfs "
        "resctrl rootfs securityfs selinuxfs squashfs sysfs tmpfs tracefs ubifs zfs";
    if (row->major == 0 && str_is_listed(row->fstype, local))
        return false;
    return row->major == 0 || strncmp(row->fstype, "fuse", 4) == 0 || strncmp(row->fstype, "nfs", 3) == 0 ||
           str_is_listed(row->fstype, far);
}

static uint8_t own_flags(const struct mount_tree *tree, uint32_t row)
{
    uint8_t flags = FLAG_KNOWN;
    if (is_covered(tree, row))
        flags |= FLAG_HIDDEN;
    if (may_hang(row_at(tree, row)))
        flags |= FLAG_UNSAFE;
    return flags;
}

/* Flags of the row together with all above it: up to the first known one, then down again. */
static uint8_t chain_flags(struct mount_tree *tree, uint32_t row)
{
    uint32_t chain[DEPTH_MAX];
    size_t depth = 0;
    uint8_t flags = FLAG_KNOWN;
    for (;;) {
        if (tree->flags[row] & FLAG_KNOWN) {
            flags = tree->flags[row];
            break;
        }
        if (depth == DEPTH_MAX) {
            /* No sane tree is that deep: a circle, or mounts that changed while they were read. */
            flags = FLAG_KNOWN | FLAG_HIDDEN | FLAG_UNSAFE;
            break;
        }
        chain[depth++] = row;
        const struct mount_row *mount = row_at(tree, row);
        uint32_t parent = mount->parent == mount->id ? UINT32_MAX : find_id(tree, mount->parent);
        if (parent == UINT32_MAX)
            break;
        row = parent;
    }
    while (depth > 0) {
        row = chain[--depth];
        flags |= own_flags(tree, row);
        tree->flags[row] = flags;
    }
    return flags;
}

struct mount_reach mount_tree_reach(struct mount_tree *tree, size_t row)
{
    const struct mount_row *mount = &tree->info->items[row];
    uint8_t flags = chain_flags(tree, (uint32_t)row);
    bool on_top = !other_at(tree, mount->id, str_of(mount->mount_point), (uint32_t)row);
    return (struct mount_reach){
        .visible = on_top && !(flags & FLAG_HIDDEN),
        .safe = !(flags & FLAG_UNSAFE),
    };
}

enum { HOPS_MAX = 8 };

/* "dev" or "dev/..." after "." and ".." were resolved; nothing else is read, so nothing can hang. */
static bool is_below_dev(const char *path)
{
    return strncmp(path, "dev/", 4) == 0;
}

/* Puts `more` behind the directory `path` (without a leading slash), resolving "." and ".." by the text alone. */
static bool join_path(char path[static PATH_MAX], struct str more)
{
    size_t n = strlen(path);
    struct str part;
    while (str_cut(&more, '/', &part)) {
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            while (n > 0 && path[--n] != '/')
                ;
            path[n] = '\0';
            continue;
        }
        if (n + part.n + 2 > PATH_MAX)
            return false;
        if (n > 0)
            path[n++] = '/';
        memcpy(path + n, part.p, part.n);
        n += part.n;
        path[n] = '\0';
    }
    return true;
}

/* One link further: 1 followed, 0 not a link (or not there), negative errno. */
static int follow_link(int root_fd, char path[static PATH_MAX])
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(root_fd, path, target, sizeof(target));
    if (n <= 0)
        return 0;
    struct str text = {target, (size_t)n};
    char *last = strrchr(path, '/');
    if (target[0] == '/' || !last)
        path[0] = '\0';
    else
        *last = '\0';
    return join_path(path, text) ? 1 : -ENAMETOOLONG;
}

static int read_number(int sys_fd, const char *name, unsigned *ret_major, unsigned *ret_minor)
{
    char path[PATH_MAX];
    char text[32];
    if (snprintf(path, sizeof(path), "class/block/%s/dev", name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int r = file_read_line_at(sys_fd, path, text, sizeof(text));
    if (r < 0)
        return r;
    struct str rest = str_of(text);
    uint64_t major, minor;
    if (!num_next_u64(&rest, &major) || rest.n < 2 || rest.p[0] != ':')
        return -ENODEV;
    rest = (struct str){rest.p + 1, rest.n - 1};
    if (num_parse_u64(rest, &minor) < 0 || major == 0 || major > UINT_MAX || minor > UINT_MAX)
        return -ENODEV;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return 0;
}

int mount_source_resolve(const struct sysroot *root, const char *source, unsigned *ret_major, unsigned *ret_minor)
{
    char path[PATH_MAX] = "";
    /* bcachefs names all its devices: /dev/sda:/dev/sdb. */
    const char *second = strstr(source, ":/dev/");
    if (!join_path(path, second ? (struct str){source, (size_t)(second - source)} : str_of(source)))
        return -ENAMETOOLONG;
    int followed = 1;
    for (int hop = 0; is_below_dev(path) && (followed = follow_link(root->root_fd, path)) > 0; hop++) {
        if (hop == HOPS_MAX)
            return -ELOOP;
    }
    if (followed < 0)
        return followed;
    if (!is_below_dev(path))
        return -ENODEV;
    const char *last = strrchr(path, '/') + 1;
    if (read_number(root->sys_fd, last, ret_major, ret_minor) == 0)
        return 0;
    /* /dev/cciss/c0d0p1 is cciss!c0d0p1 there. */
    char *name = path + strlen("dev/");
    for (char *p = name; *p; p++) {
        if (*p == '/')
            *p = '!';
    }
    return read_number(root->sys_fd, name, ret_major, ret_minor) == 0 ? 0 : -ENODEV;
}
