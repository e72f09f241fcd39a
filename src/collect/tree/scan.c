/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow way to find new members, for kernels without CONFIG_PROC_CHILDREN: every process of /proc is looked at once.
 * Strangers are remembered by PID; once enough processes were made that PIDs may have come round, all are looked at
 * again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/vec.h"
#include "collect/tree/find.h"

enum { FORKS_TRUSTED = 4096 };

static int compare_strangers(const void *a, const void *b)
{
    pid_t x = ((const struct tree_stranger *)a)->pid, y = ((const struct tree_stranger *)b)->pid;
    return x < y ? -1 : x > y;
}

static bool is_stranger(const struct tree_finder *finder, pid_t pid)
{
    const struct tree_stranger key = {.pid = pid};
    const struct tree_strangers *known = &finder->strangers;
    return known->count > 0 && bsearch(&key, known->items, known->count, sizeof(key), compare_strangers) != NULL;
}

static void remember(struct tree_finder *finder, struct tree_stranger stranger)
{
    if (VEC_GROW(&finder->seen, finder->seen.count + 1, TREE_STRANGERS_MAX) == 0)
        finder->seen.items[finder->seen.count++] = stranger;
}

/* Who is new goes to the end of `seen`, behind those known already. Returns where they begin. */
static size_t sift(struct tree_finder *finder)
{
    finder->seen.count = 0;
    for (size_t i = 0; i < finder->list.count; i++) {
        if (is_stranger(finder, finder->list.items[i]))
            remember(finder, (struct tree_stranger){.pid = finder->list.items[i]});
    }
    size_t first = finder->seen.count;
    for (size_t i = 0; i < finder->list.count; i++) {
        pid_t pid = finder->list.items[i];
        struct pid_stat stat;
        if (is_stranger(finder, pid) || tree_members_find(finder->members, pid) != TREE_NOBODY ||
            tree_read_candidate(finder->reader, pid, &stat) < 0)
            continue;
        remember(finder, (struct tree_stranger){.pid = pid, .parent = (pid_t)stat.parent});
    }
    return first;
}

/* A child may be listed before its parent is known to be ours, so again while somebody was taken in. */
static void adopt_new(struct tree_finder *finder, size_t first, int64_t now_ns)
{
    const struct tracked *tracked = finder->reader->env->tracked;
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = first; i < finder->seen.count; i++) {
            struct tree_stranger who = finder->seen.items[i];
            size_t parent = tree_members_find(finder->members, who.parent);
            if (parent == TREE_NOBODY && (tracked->attached || who.parent != tracked->tracker))
                continue;
            finder->seen.items[i--] = finder->seen.items[--finder->seen.count];
            size_t before = finder->members->live;
            tree_find_adopt(finder, who.pid, parent, now_ns);
            again |= finder->members->live != before;
        }
    }
}

/*
 * An orphan whose parent ended meanwhile may be ours next time: it is not to be remembered as a stranger. The list is
 * sorted; those who were looked at now have a parent.
 */
static void forget_orphans(struct tree_finder *finder)
{
    struct tree_strangers *seen = &finder->seen;
    size_t kept = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const struct tree_stranger parent = {.pid = seen->items[i].parent};
        bool orphan = parent.pid != 0 && !bsearch(&parent, seen->items, seen->count, sizeof(parent), compare_strangers);
        seen->items[i].is_orphan = orphan;
    }
    for (size_t i = 0; i < seen->count; i++) {
        if (!seen->items[i].is_orphan)
            seen->items[kept++] = seen->items[i];
    }
    finder->is_incomplete |= kept < seen->count;
    seen->count = kept;
}

void tree_find_scan(struct tree_finder *finder, uint64_t forks, int64_t now_ns)
{
    if (finder->proc_fd < 0)
        finder->proc_fd = file_open_at(finder->reader->env->root->proc_fd, ".", O_RDONLY | O_DIRECTORY);
    if (finder->proc_fd < 0 || pid_list_read(finder->proc_fd, TREE_STRANGERS_MAX, &finder->list) < 0) {
        finder->is_incomplete = true;
        return;
    }
    if (forks - finder->forks > FORKS_TRUSTED) {
        finder->strangers.count = 0;
        finder->forks = forks;
    }
    adopt_new(finder, sift(finder), now_ns);
    if (finder->seen.count > 1)
        qsort(finder->seen.items, finder->seen.count, sizeof(*finder->seen.items), compare_strangers);
    forget_orphans(finder);
    struct tree_strangers spare = finder->strangers;
    finder->strangers = finder->seen;
    finder->seen = spare;
}
