/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All runs of the spool: their names, their bytes, and the hidden folders of trackers that were killed while they made
 * or removed a run.
 */
#include "stream/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/vec.h"
#include "stream/spool/spool_internal.h"

enum { HIDDEN_SECS_MAX = 3600 };

static bool is_folder(int dir_fd, const struct dir_entry *entry)
{
    struct stat st;
    if (entry->type != DT_UNKNOWN)
        return entry->type == DT_DIR;
    return fstatat(dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A hidden folder is being made or removed; where nobody holds it and it is old, that was cut off. */
static void sweep_hidden(const struct spool *spool, const char *hidden)
{
    struct stat st;
    AUTO_FD int dir_fd = spool_folder_open(spool->dir_fd, hidden);
    if (dir_fd < 0 || fstat(dir_fd, &st) < 0 || st.st_uid != geteuid())
        return;
    int64_t now_secs = clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    if (now_secs - (int64_t)st.st_mtim.tv_sec < HIDDEN_SECS_MAX)
        return;
    AUTO_FD int lock_fd = spool_lock_take(dir_fd, 0);
    if (lock_fd < 0 && lock_fd != -ENOENT)
        return;
    char foreign[SPOOL_NAME_BYTES];
    if (spool_folder_empty(dir_fd, foreign) == 0)
        (void)unlinkat(spool->dir_fd, hidden, AT_REMOVEDIR);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct spool_entry *)a)->name, ((const struct spool_entry *)b)->name);
}

struct entries {
    struct spool_entry *items;
    size_t count, cap;
};

static int list_runs(const struct spool *spool, struct entries *entries)
{
    struct spool_walk walk;
    struct dir_entry entry;
    spool_walk_begin(&walk, spool->dir_fd);
    while (spool_walk_next(&walk, &entry)) {
        bool is_hidden = entry.name[0] == '.';
        if (!spool_is_run_name(entry.name + is_hidden) || !is_folder(spool->dir_fd, &entry))
            continue;
        if (is_hidden) {
            sweep_hidden(spool, entry.name);
            continue;
        }
        int r = VEC_GROW(entries, entries->count + 1, SPOOL_RUNS_MAX);
        if (r == -E2BIG)
            break;
        if (r < 0)
            return r;
        (void)str_copy(str_of(entry.name), entries->items[entries->count++].name, SPOOL_NAME_BYTES);
    }
    return walk.error;
}

int spool_list(struct spool *spool, struct spool_entry **ret_entries, struct err *err)
{
    struct entries entries = {0};
    int r = spool->dir_fd >= 0 ? list_runs(spool, &entries) : 0;
    if (r < 0) {
        free(entries.items);
        return err_sys(err, r, "spool %s cannot be listed", spool->path);
    }
    if (entries.count > 0)
        qsort(entries.items, entries.count, sizeof(*entries.items), compare_entries);
    *ret_entries = entries.items;
    return (int)entries.count;
}

static uint64_t count_run_bytes(const struct spool *spool, const char *name, uint64_t enough)
{
    struct spool_walk walk;
    struct dir_entry entry;
    struct stat st;
    uint64_t bytes = 0;
    AUTO_FD int dir_fd = spool_folder_open(spool->dir_fd, name);
    if (dir_fd < 0)
        return 0;
    spool_walk_begin(&walk, dir_fd);
    while (bytes <= enough && spool_walk_next(&walk, &entry)) {
        if (fstatat(dir_fd, entry.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

uint64_t spool_count_bytes(const struct spool *spool, const char *but_run, uint64_t enough)
{
    struct spool_walk walk;
    struct dir_entry entry;
    uint64_t bytes = 0;
    size_t runs = 0;
    spool_walk_begin(&walk, spool->dir_fd);
    while (bytes <= enough && runs < SPOOL_RUNS_MAX && spool_walk_next(&walk, &entry)) {
        if (!spool_is_run_name(entry.name) || strcmp(entry.name, but_run) == 0 || !is_folder(spool->dir_fd, &entry))
            continue;
        bytes += count_run_bytes(spool, entry.name, enough - bytes);
        runs++;
    }
    return bytes;
}
