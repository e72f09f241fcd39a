/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary directories below TMPDIR (/tmp without one). What a failed assertion jumped over is removed when the
 * process ends: the list is as long as a group may have failing tests, and a directory that finds no room in it stays
 * behind.
 */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRATCH_DIRECTORIES_MAX = 64, SCRATCH_PATH_BYTES = 64, SCRATCH_WALK_DESCRIPTORS = 16 };

struct scratch_list {
    pid_t owner; /* a forked child must not remove the directories of its parent */
    char paths[SCRATCH_DIRECTORIES_MAX][SCRATCH_PATH_BYTES]; /* "": free */
};

static inline struct scratch_list *scratch_list(void)
{
    static struct scratch_list list;
    return &list;
}

static inline int scratch_remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* A file, a link or a whole directory; 0 or -1. */
static inline int scratch_remove_tree(const char *path)
{
    return nftw(path, scratch_remove_entry, SCRATCH_WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_remove_rest(void)
{
    struct scratch_list *list = scratch_list();
    for (size_t i = 0; list->owner == getpid() && i < SCRATCH_DIRECTORIES_MAX; i++) {
        if (list->paths[i][0])
            (void)scratch_remove_tree(list->paths[i]);
    }
}

/* Replaces a listed path; "" stands for a free place. Both are at most SCRATCH_PATH_BYTES with their NUL. */
static inline void scratch_replace(const char *old, const char *new)
{
    struct scratch_list *list = scratch_list();
    for (size_t i = 0; i < SCRATCH_DIRECTORIES_MAX; i++) {
        if (strcmp(list->paths[i], old) == 0) {
            memcpy(list->paths[i], new, strlen(new) + 1);
            return;
        }
    }
}

/* Makes a fresh directory; 0 or -1. A TMPDIR that is too long for the path is passed over. */
static inline int scratch_make(char path[static SCRATCH_PATH_BYTES])
{
    static const char name[] = "resource-tracker-test-XXXXXX";
    const char *parent = getenv("TMPDIR");
    if (!parent || parent[0] != '/' || strlen(parent) + sizeof(name) >= SCRATCH_PATH_BYTES)
        parent = "/tmp";
    int n = snprintf(path, SCRATCH_PATH_BYTES, "%s/%s", parent, name);
    if (n < 0 || n >= SCRATCH_PATH_BYTES || !mkdtemp(path))
        return -1;
    struct scratch_list *list = scratch_list();
    if (list->owner != getpid()) {
        bool registered = list->owner != 0;
        *list = (struct scratch_list){.owner = getpid()};
        if (!registered && atexit(scratch_remove_rest) != 0)
            return -1;
    }
    scratch_replace("", path);
    return 0;
}

/* Removes a directory that scratch_make made; 0 or -1. */
static inline int scratch_remove(const char *path)
{
    scratch_replace(path, "");
    return scratch_remove_tree(path);
}

#endif
