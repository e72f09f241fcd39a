/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"

/*
 * Every thread has a list of its own. Up to MANY_THREADS their descriptors are kept; of those with more, the first one
 * is always asked and the others once in THREAD_NS per thread, which bounds the cost. In between, the numbers that were
 * given out are tried, at most NEWBORN_MAX in a turn.
 */
#define THREAD_NS (10 * NS_PER_MS)
enum { PATH_BYTES = 64, MANY_THREADS = 64, THREADS_MAX = 65536, NEWBORN_MAX = 1024 };

void tree_finder_init(struct tree_finder *finder, struct tree_reader *reader, struct tree_members *members)
{
    *finder = (struct tree_finder){.reader = reader, .members = members, .own_fd = -1, .proc_fd = -1};
}

void tree_finder_fini(struct tree_finder *finder)
{
    tree_forget_fd(finder->reader, &finder->own_fd);
    fd_close(&finder->proc_fd);
    pid_list_fini(&finder->list);
    free(finder->strangers.items);
    free(finder->seen.items);
}

/* Is this parent one whose children we track? The tracker itself is one where it started the root. */
static bool is_ours(const struct tree_finder *finder, pid_t parent)
{
    const struct tracked *tracked = finder->reader->env->tracked;
    return tree_members_find(finder->members, parent) != TREE_NOBODY ||
           (!tracked->attached && parent == tracked->tracker);
}

static void take_in(struct tree_finder *finder, pid_t pid, size_t parent, const struct pid_stat *stat, int64_t now_ns)
{
    struct tree_members *members = finder->members;
    size_t slot = tree_members_add(members, pid, parent);
    finder->is_full = slot == TREE_NOBODY;
    if (slot == TREE_NOBODY) {
        finder->is_incomplete = true;
        return;
    }
    struct tree_member *member = tree_member_at(members, slot);
    member->first_ns = now_ns;
    member->is_hidden = !stat;
    if (!stat)
        return;
    member->stat = *stat;
    member->has_stat = true;
    member->parent_pid = (pid_t)stat->parent;
    member->parent = tree_members_find(members, member->parent_pid);
}

static bool is_known(struct tree_finder *finder, pid_t pid)
{
    const struct collect_env *env = finder->reader->env;
    size_t slot = tree_members_find(finder->members, pid);
    /* The number of one who is gone is taken by another already; next time its place will be free. */
    if (slot != TREE_NOBODY && tree_member_at(finder->members, slot)->is_gone)
        finder->is_incomplete = true;
    return pid <= 0 || pid == env->tracked->tracker || helpers_has(env->helpers, pid) || slot != TREE_NOBODY ||
           helpers_started(env->helpers, pid);
}

void tree_find_adopt(struct tree_finder *finder, pid_t pid, size_t parent, int64_t now_ns)
{
    if (is_known(finder, pid))
        return;
    struct pid_stat stat;
    int r = tree_read_candidate(finder->reader, pid, &stat);
    if (r == -EACCES)
        take_in(finder, pid, parent, NULL, now_ns);
    else if (r == 0 && is_ours(finder, (pid_t)stat.parent))
        take_in(finder, pid, parent, &stat, now_ns);
}

void tree_find_listed(struct tree_finder *finder, pid_t pid, int64_t now_ns)
{
    if (is_known(finder, pid))
        return;
    struct pid_stat stat;
    int r = tree_read_candidate(finder->reader, pid, &stat);
    if (r != -ESRCH)
        take_in(finder, pid, TREE_NOBODY, r == 0 ? &stat : NULL, now_ns);
}

void tree_find_root(struct tree_finder *finder, pid_t pid, int64_t now_ns)
{
    const struct tracked *tracked = finder->reader->env->tracked;
    if (is_known(finder, pid))
        return;
    if (tracked->attached)
        tree_find_listed(finder, pid, now_ns);
    else
        tree_find_adopt(finder, pid, TREE_NOBODY, now_ns);
    size_t slot = tree_members_find(finder->members, pid);
    if (slot != TREE_NOBODY)
        tree_member_at(finder->members, slot)->first_ns = tracked->start_ns;
}

/* "4711 4712 4720 " */
static void adopt_list(struct tree_finder *finder, size_t parent, int64_t now_ns)
{
    struct str rest = {finder->reader->list.data, finder->reader->list.len};
    uint64_t pid;
    while (num_next_u64(&rest, &pid) && pid <= INT32_MAX)
        tree_find_adopt(finder, (pid_t)pid, parent, now_ns);
}

static int list_threads(struct tree_finder *finder, struct tree_member *member)
{
    struct tree_threads *threads = &member->threads;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%d/task", (int)member->pid);
    int fd = threads->task_fd;
    if (fd < 0)
        fd = file_open_at(finder->reader->env->root->proc_fd, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    int r = pid_list_read(fd, THREADS_MAX, &finder->list);
    if (threads->task_fd < 0 && finder->reader->kept < finder->reader->env->descriptors) {
        threads->task_fd = fd;
        finder->reader->kept++;
    }
    if (fd != threads->task_fd)
        (void)fd_close(&fd);
    return r;
}

/* Those that are gone lose their place, those that are new get one. */
static void match_threads(struct tree_finder *finder, struct tree_threads *threads)
{
    const struct pid_list *list = &finder->list;
    size_t kept = 0;
    for (size_t i = 0; i < threads->count; i++) {
        if (pid_list_has(list, threads->items[i].tid))
            threads->items[kept++] = threads->items[i];
        else
            tree_forget_fd(finder->reader, &threads->items[i].fd);
    }
    threads->count = kept;
    for (size_t i = 0; i < list->count; i++) {
        size_t at = 0;
        while (at < kept && threads->items[at].tid != list->items[i])
            at++;
        if (at == kept && VEC_GROW(threads, threads->count + 1, MANY_THREADS) == 0)
            threads->items[threads->count++] = (struct tree_thread){.tid = list->items[i], .fd = -1};
    }
}

static int find_by_kept_threads(struct tree_finder *finder, size_t slot, int64_t now_ns)
{
    match_threads(finder, &tree_member_at(finder->members, slot)->threads);
    int result = 0;
    for (size_t i = 0; i < tree_member_at(finder->members, slot)->threads.count; i++) {
        struct tree_member *member = tree_member_at(finder->members, slot);
        struct tree_thread *thread = &member->threads.items[i];
        int r = tree_read_children(finder->reader, member->pid, thread->tid, &thread->fd);
        if (r == 0)
            adopt_list(finder, slot, now_ns);
        else if (thread->tid == member->pid)
            result = r;
    }
    return result;
}

static int find_by_many_threads(struct tree_finder *finder, size_t slot, int64_t now_ns)
{
    const pid_t pid = tree_member_at(finder->members, slot)->pid;
    int result = 0;
    for (size_t i = 0; i < finder->list.count; i++) {
        int fd = -1;
        int r = tree_read_children(finder->reader, pid, finder->list.items[i], &fd);
        tree_forget_fd(finder->reader, &fd);
        if (r == 0)
            adopt_list(finder, slot, now_ns);
        else if (finder->list.items[i] == pid)
            result = r;
    }
    return result;
}

static int find_by_first_thread(struct tree_finder *finder, size_t slot, int64_t now_ns)
{
    struct tree_member *member = tree_member_at(finder->members, slot);
    int r = tree_read_children(finder->reader, member->pid, member->pid, &member->fds[TREE_FILE_CHILDREN]);
    if (r == 0)
        adopt_list(finder, slot, now_ns);
    return r;
}

static int find_by_threads(struct tree_finder *finder, size_t slot, int64_t now_ns)
{
    struct tree_member *member = tree_member_at(finder->members, slot);
    bool many = member->stat.threads > MANY_THREADS;
    if (many && member->found_ns != 0 && now_ns - member->found_ns < (int64_t)member->stat.threads * THREAD_NS) {
        finder->is_incomplete = true;
        finder->has_unread_threads = true;
        member->has_run = true;
        return find_by_first_thread(finder, slot, now_ns);
    }
    member->found_ns = now_ns;
    int r = list_threads(finder, member);
    if (r < 0)
        return r == -ENOENT ? -ESRCH : r;
    return many ? find_by_many_threads(finder, slot, now_ns) : find_by_kept_threads(finder, slot, now_ns);
}

/* Does this kernel list children at all? A process that is gone has no list either. */
static bool is_unlisted(const struct tree_finder *finder, pid_t pid)
{
    char path[PATH_BYTES];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    return fstatat(finder->reader->env->root->proc_fd, path, &info, 0) == 0;
}

int tree_find_children(struct tree_finder *finder, size_t slot, int64_t now_ns)
{
    struct tree_member *member = tree_member_at(finder->members, slot);
    const pid_t pid = member->pid;
    member->has_run = false;
    int r;
    if (member->has_stat && member->stat.threads > 1) {
        r = find_by_threads(finder, slot, now_ns);
    } else {
        member->found_ns = now_ns;
        r = find_by_first_thread(finder, slot, now_ns);
    }
    if (r == -ENOENT && is_unlisted(finder, pid))
        return -ENOENT;
    if (r < 0 && r != -ENOENT && r != -ESRCH) {
        tree_member_at(finder->members, slot)->has_run = true;
        finder->is_incomplete = true;
    }
    return 0;
}

void tree_find_newborn(struct tree_finder *finder, struct opt_u64 from, struct opt_u64 to, int64_t now_ns)
{
    const struct collect_env *env = finder->reader->env;
    if (!from.has || !to.has || to.v > INT32_MAX || from.v >= to.v || to.v - from.v > NEWBORN_MAX)
        return;
    for (uint64_t number = from.v + 1; number <= to.v; number++) {
        uint64_t cpu_ns;
        /* Threads have numbers too, but only a process has this clock. */
        if (env->cpu_time(env->cpu_time_context, (pid_t)number, &cpu_ns) == 0)
            tree_find_adopt(finder, (pid_t)number, TREE_NOBODY, now_ns);
    }
}

void tree_find_orphans(struct tree_finder *finder, int64_t now_ns)
{
    pid_t tracker = finder->reader->env->tracked->tracker;
    int r = tree_read_children(finder->reader, tracker, tracker, &finder->own_fd);
    if (r == 0)
        adopt_list(finder, TREE_NOBODY, now_ns);
    else if (r != -ENOENT)
        finder->is_incomplete = true;
}
