/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and making the directory of the spool: the one that was given, or the first of the usual places that can be
 * had (XDG Base Directory Specification: a relative XDG_STATE_HOME is not valid). A directory that others may write is
 * refused.
 */
#include "stream/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/vec.h"
#include "stream/spool/spool_internal.h"

_Static_assert(sizeof(((struct spool *)0)->path) >= PATH_MAX, "what realpath gives must fit");

/* How often a directory may vanish between making and opening it: others that end remove theirs when it is empty. */
enum { PLACE_ATTEMPTS_MAX = 16, PLACES_MAX = 4 };

struct place {
    char path[PATH_MAX];
    bool is_shared; /* in a directory that every user may write */
};

/* Removes the last n directories of a path, from the end on, while they are empty. */
static void remove_dirs(const char *path, unsigned n)
{
    char part[PATH_MAX];
    if (!str_copy(str_of(path), part, sizeof(part)))
        return;
    for (; n > 0 && rmdir(part) == 0; n--) {
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            return;
        *slash = '\0';
    }
}

/* 1: made, 0: it was there, -ENOENT: it was there and is gone, or another negative errno. */
static int make_dir(const char *path)
{
    struct stat st;
    if (mkdirat(AT_FDCWD, path, 0700) == 0)
        return 1;
    int r = err_last();
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
    return r == -EEXIST ? (lstat(path, &st) < 0 ? -ENOENT : -ENOTDIR) : r;
}

/* Makes what is missing of a path; *ret_made: how many directories at its end are new. */
static int make_dirs(const char *path, unsigned *ret_made)
{
    char part[PATH_MAX];
    unsigned made = 0;
    for (size_t at = 0; path[at];) {
        size_t from = at + strspn(path + at, "/");
        at = from + strcspn(path + from, "/");
        struct str name = {path + from, at - from};
        if (name.n == 0 || str_eq(name, STR(".")))
            continue;
        if (!str_copy((struct str){path, at}, part, sizeof(part)))
            return -ENAMETOOLONG;
        int r = make_dir(part);
        if (r < 0) {
            part[from] = '\0';
            while (from > 1 && part[from - 1] == '/')
                part[--from] = '\0';
            remove_dirs(part, made);
            return r;
        }
        made = r > 0 ? made + 1 : 0;
    }
    *ret_made = made;
    return 0;
}

/* -EPERM with a message where others could meddle with what is in the directory. */
static int check_owner(const struct stat *st, const char *path, struct err *err)
{
    if (st->st_uid != geteuid())
        return err_set(err, -EPERM,
            "spool %s belongs to another user (uid %u), so it is not used; name a directory of your own "
            "(TRACKER_SPOOL)",
            path, (unsigned)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, -EPERM,
            "spool %s may be written by other users (mode %03o), so it is not used; mend it with: chmod 700 %s", path,
            (unsigned)st->st_mode & 0777u, path);
    return 0;
}

/* In a shared directory the one that we make there must be ours, or its owner could put something else into our way. */
static int check_parent(const char *path, struct err *err)
{
    char parent[PATH_MAX];
    struct stat st;
    (void)str_copy(str_of(path), parent, sizeof(parent));
    char *slash = strrchr(parent, '/');
    if (slash)
        *slash = '\0';
    if (lstat(parent, &st) < 0)
        return err_sys(err, err_last(), "spool %s", parent);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -EPERM, "spool %s is not a directory, so it is not used", parent);
    return check_owner(&st, parent, err);
}

static int open_dir(struct spool *spool, const char *path, struct err *err)
{
    struct stat st;
    char resolved[PATH_MAX];
    if (!realpath(path, resolved))
        return err_sys(err, err_last(), "spool %s", path);
    AUTO_FD int fd = spool_dir_open(AT_FDCWD, resolved);
    if (fd < 0)
        return err_sys(err, fd, "spool %s", path);
    if (fstat(fd, &st) < 0)
        return err_sys(err, err_last(), "spool %s", path);
    int r = check_owner(&st, resolved, err);
    if (r == 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        r = err_sys(err, err_last(), "spool %s cannot be written", resolved);
    if (r < 0)
        return r;
    (void)str_copy(str_of(resolved), spool->path, sizeof(spool->path));
    spool->dir_fd = fd_take(&fd);
    return 0;
}

static int try_place_once(struct spool *spool, const struct place *place, bool is_wanted, struct err *err)
{
    unsigned made = 0;
    int r = is_wanted ? make_dirs(place->path, &made) : 0;
    if (r < 0)
        return err_sys(err, r, "spool %s cannot be made", place->path);
    if (place->is_shared)
        r = check_parent(place->path, err);
    if (r == 0)
        r = open_dir(spool, place->path, err);
    if (r < 0) {
        remove_dirs(place->path, made);
        return r;
    }
    if (made > spool->made)
        spool->made = made;
    spool->is_shared = place->is_shared;
    return 0;
}

static int try_place(struct spool *spool, const struct place *place, bool is_wanted, struct err *err)
{
    int r = -ENOENT;
    for (int i = 0; i < PLACE_ATTEMPTS_MAX; i++) {
        r = try_place_once(spool, place, is_wanted, err);
        if (r != -ENOENT || !is_wanted)
            break;
    }
    return r;
}

static size_t add_place(struct place *places, size_t count, const char *above, const char *below)
{
    int n = snprintf(places[count].path, sizeof(places[count].path), "%s%s", above, below);
    places[count].is_shared = false;
    return n > 0 && (size_t)n < sizeof(places[count].path) ? count + 1 : count;
}

/* Another user's home (sudo keeps HOME on many systems) must not get directories that its owner cannot use. */
static bool is_home_ours(const char *home)
{
    struct stat st;
    return stat(home, &st) == 0 && st.st_uid == geteuid();
}

static size_t usual_places(const struct spool_paths *from, struct place places[static PLACES_MAX])
{
    size_t count = 0;
    if (from->state_home && from->state_home[0] == '/')
        count = add_place(places, count, from->state_home, "/resource-tracker/spool");
    if (from->home && from->home[0] == '/' && is_home_ours(from->home))
        count = add_place(places, count, from->home, "/.local/state/resource-tracker/spool");
    char below[64];
    (void)snprintf(below, sizeof(below), "/resource-tracker-%u/spool", (unsigned)geteuid());
    size_t shared = count;
    count = add_place(places, count, "/var/tmp", below);
    count = add_place(places, count, "/tmp", below);
    for (; shared < count; shared++)
        places[shared].is_shared = true;
    return count;
}

/* The first that can be had. What keeps us out of all of them is reported as it was at the first. */
static int try_places(
    struct spool *spool, const struct place *places, size_t count, bool is_wanted, struct err *ret_err)
{
    int first = -ENOENT;
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        int r = try_place(spool, &places[i], is_wanted, &err);
        if (r == 0)
            return 0;
        if (i == 0 || (first == -ENOENT && r != -ENOENT)) {
            first = r;
            if (ret_err)
                *ret_err = err;
        }
        /* An unsafe directory of the user's own is for the user to mend; going elsewhere would hide what is in it. */
        if (r == -EPERM && !places[i].is_shared)
            break;
    }
    return first;
}

int spool_open(
    struct spool *ret_spool, const struct spool_paths *places, uint64_t max_bytes, bool is_wanted, struct err *err)
{
    *ret_spool = (struct spool){.dir_fd = -1, .max_bytes = max_bytes};
    AUTO_FREE struct place *list = calloc(PLACES_MAX, sizeof(*list));
    if (!list)
        return err_sys(err, -ENOMEM, "spool");
    size_t count;
    if (places->given && places->given[0]) {
        count = add_place(list, 0, places->given, "");
        if (count == 0)
            return err_sys(err, -ENAMETOOLONG, "spool %.100s...", places->given);
    } else {
        count = usual_places(places, list);
    }
    return try_places(ret_spool, list, count, is_wanted, err);
}

int spool_sync(const struct spool *spool)
{
    char part[PATH_MAX];
    int r = spool_file_sync(spool->dir_fd);
    (void)str_copy(str_of(spool->path), part, sizeof(part));
    for (unsigned i = 0; r == 0 && i < spool->made; i++) {
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            break;
        *slash = '\0';
        AUTO_FD int fd = spool_dir_open(AT_FDCWD, part);
        /* One that may only be searched is not ours to sync. */
        r = fd >= 0 ? spool_file_sync(fd) : fd == -EACCES ? 0 : fd;
    }
    return r;
}

int spool_revive(struct spool *spool, struct err *err)
{
    AUTO_FREE struct place *place = calloc(1, sizeof(*place));
    if (!place)
        return err_sys(err, -ENOMEM, "spool %s", spool->path);
    (void)str_copy(str_of(spool->path), place->path, sizeof(place->path));
    place->is_shared = spool->is_shared;
    int old_fd = spool->dir_fd;
    int r = try_place(spool, place, true, err);
    if (r == 0)
        (void)close(old_fd);
    return r;
}

void spool_close(struct spool *spool)
{
    if (spool->dir_fd >= 0 && spool->made > 0)
        remove_dirs(spool->path, spool->made);
    fd_close(&spool->dir_fd);
    spool->made = 0;
}

/*
 * All runs of the spool: their names, their bytes, and the hidden directories of trackers that were killed while they
 * made or removed a run.
 */

enum { HIDDEN_SECS_MAX = 3600 };

static bool is_dir(int dir_fd, const struct dir_entry *entry)
{
    struct stat st;
    if (entry->type != DT_UNKNOWN)
        return entry->type == DT_DIR;
    return fstatat(dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A hidden directory is being made or removed; where its lock is free and it is old, that was cut off. */
static void sweep_hidden(const struct spool *spool, const char *hidden)
{
    struct stat st;
    AUTO_FD int dir_fd = spool_dir_open(spool->dir_fd, hidden);
    if (dir_fd < 0 || fstat(dir_fd, &st) < 0 || st.st_uid != geteuid())
        return;
    int64_t now_secs = clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    if (now_secs - (int64_t)st.st_mtim.tv_sec < HIDDEN_SECS_MAX)
        return;
    AUTO_FD int lock_fd = spool_lock_take(dir_fd, 0);
    if (lock_fd < 0 && lock_fd != -ENOENT)
        return;
    char foreign[SPOOL_NAME_BYTES];
    if (spool_dir_empty(dir_fd, foreign) == 0)
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
    struct dir_walk walk;
    struct dir_entry entry;
    dir_walk_again(&walk, spool->dir_fd);
    while (dir_walk_next(&walk, &entry)) {
        bool is_hidden = entry.name[0] == '.';
        if (!spool_is_run_name(entry.name + is_hidden) || !is_dir(spool->dir_fd, &entry))
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
    struct dir_walk walk;
    struct dir_entry entry;
    struct stat st;
    uint64_t bytes = 0;
    AUTO_FD int dir_fd = spool_dir_open(spool->dir_fd, name);
    if (dir_fd < 0)
        return 0;
    dir_walk_again(&walk, dir_fd);
    while (bytes <= enough && dir_walk_next(&walk, &entry)) {
        if (fstatat(dir_fd, entry.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

uint64_t spool_count_bytes(const struct spool *spool, const char *but_run, uint64_t enough)
{
    struct dir_walk walk;
    struct dir_entry entry;
    uint64_t bytes = 0;
    size_t runs = 0;
    dir_walk_again(&walk, spool->dir_fd);
    while (bytes <= enough && runs < SPOOL_RUNS_MAX && dir_walk_next(&walk, &entry)) {
        if (!spool_is_run_name(entry.name) || strcmp(entry.name, but_run) == 0 || !is_dir(spool->dir_fd, &entry))
            continue;
        bytes += count_run_bytes(spool, entry.name, enough - bytes);
        runs++;
    }
    return bytes;
}
