/* SPDX-License-Identifier: Apache-2.0 */
/* New members of the tree: by the lists of children, or by all of /proc. */
#include "collect/tree/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/cgroup/cgroup.h"
#include "kernel/cgroup_files.h"

/*
 * Every thread has a list of its own. Up to MANY_THREADS their descriptors are kept; of those with more, the first one
 * is always asked and the others once in THREAD_NS per thread, which bounds the cost. In between, the numbers that were
 * given out are tried, at most NEWBORN_MAX in a tick.
 */
#define THREAD_NS (10 * NS_PER_MS)
enum { PATH_BYTES = 64, MANY_THREADS = 64, THREADS_MAX = 65536, NEWBORN_MAX = 1024 };

void tree_finder_init(struct tree_finder *finder, struct tree_reader *reader, struct tree_members *members)
{
    *finder = (struct tree_finder){.reader = reader, .members = members, .own_fd = -1, .proc_fd = -1};
}

void tree_finder_fini(struct tree_finder *finder)
{
    tree_release_fd(finder->reader, &finder->own_fd);
    fd_close(&finder->proc_fd);
    pid_list_fini(&finder->list);
    free(finder->non_members.items);
    free(finder->seen.items);
}

/* Is this parent one whose children we track? The tracker itself is one where it started the root. */
static bool is_ours(const struct tree_finder *finder, pid_t parent)
{
    const struct tracked *tracked = finder->reader->env->tracked;
    return tree_members_find(finder->members, parent) != TREE_NONE ||
           (!tracked->attached && parent == tracked->tracker);
}

static void add_member(
    struct tree_finder *finder, pid_t pid, size_t parent, const struct pid_stat *stat, int64_t now_ns)
{
    struct tree_members *members = finder->members;
    size_t slot = tree_members_add(members, pid, parent);
    finder->is_full = slot == TREE_NONE;
    if (slot == TREE_NONE) {
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
    /* The number of a member that is gone is in use again; at the next tick its slot will be free. */
    if (slot != TREE_NONE && tree_member_at(finder->members, slot)->is_gone)
        finder->is_incomplete = true;
    return pid <= 0 || pid == env->tracked->tracker || helpers_has(env->helpers, pid) || slot != TREE_NONE ||
           helpers_started(env->helpers, pid);
}

/*
 * Adds a process as a child of this slot (TREE_NONE: of whatever its parent is) unless it is one of ours, already
 * there, or no child of the tree. Pointers to members do not survive this.
 */
static void adopt(struct tree_finder *finder, pid_t pid, size_t parent, int64_t now_ns)
{
    if (is_known(finder, pid))
        return;
    struct pid_stat stat;
    int r = tree_read_candidate(finder->reader, pid, &stat);
    if (r == -EACCES)
        add_member(finder, pid, parent, NULL, now_ns);
    else if (r == 0 && is_ours(finder, (pid_t)stat.parent))
        add_member(finder, pid, parent, &stat, now_ns);
}

void tree_find_listed(struct tree_finder *finder, pid_t pid, int64_t now_ns)
{
    if (is_known(finder, pid))
        return;
    struct pid_stat stat;
    int r = tree_read_candidate(finder->reader, pid, &stat);
    if (r != -ESRCH)
        add_member(finder, pid, TREE_NONE, r == 0 ? &stat : NULL, now_ns);
}

void tree_find_root(struct tree_finder *finder, pid_t pid, int64_t now_ns)
{
    const struct tracked *tracked = finder->reader->env->tracked;
    if (is_known(finder, pid))
        return;
    if (tracked->attached)
        tree_find_listed(finder, pid, now_ns);
    else
        adopt(finder, pid, TREE_NONE, now_ns);
    size_t slot = tree_members_find(finder->members, pid);
    if (slot != TREE_NONE)
        tree_member_at(finder->members, slot)->first_ns = tracked->start_ns;
}

/* "4711 4712 4720 " */
static void adopt_list(struct tree_finder *finder, size_t parent, int64_t now_ns)
{
    struct str rest = {finder->reader->list.data, finder->reader->list.len};
    uint64_t pid;
    while (num_next_u64(&rest, &pid) && pid <= INT32_MAX)
        adopt(finder, (pid_t)pid, parent, now_ns);
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

/* Those that are gone lose their slot, those that are new get one. */
static void match_threads(struct tree_finder *finder, struct tree_threads *threads)
{
    const struct pid_list *list = &finder->list;
    size_t kept = 0;
    for (size_t i = 0; i < threads->count; i++) {
        if (pid_list_has(list, threads->items[i].tid))
            threads->items[kept++] = threads->items[i];
        else
            tree_release_fd(finder->reader, &threads->items[i].fd);
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
        tree_release_fd(finder->reader, &fd);
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
            adopt(finder, (pid_t)number, TREE_NONE, now_ns);
    }
}

void tree_find_orphans(struct tree_finder *finder, int64_t now_ns)
{
    pid_t tracker = finder->reader->env->tracked->tracker;
    int r = tree_read_children(finder->reader, tracker, tracker, &finder->own_fd);
    if (r == 0)
        adopt_list(finder, TREE_NONE, now_ns);
    else if (r != -ENOENT)
        finder->is_incomplete = true;
}

/*
 * The slow way to find new members, for kernels without CONFIG_PROC_CHILDREN: every process of /proc is read once.
 * Non-members are remembered by PID; once enough processes were made that PIDs may have come round, all are read
 * again.
 */

enum { FORKS_TRUSTED = 4096 };

static int compare_non_members(const void *a, const void *b)
{
    pid_t x = ((const struct tree_non_member *)a)->pid, y = ((const struct tree_non_member *)b)->pid;
    return x < y ? -1 : x > y;
}

static bool is_non_member(const struct tree_finder *finder, pid_t pid)
{
    const struct tree_non_member key = {.pid = pid};
    const struct tree_non_members *known = &finder->non_members;
    return known->count > 0 && bsearch(&key, known->items, known->count, sizeof(key), compare_non_members) != NULL;
}

static void note_non_member(struct tree_finder *finder, struct tree_non_member non_member)
{
    if (VEC_GROW(&finder->seen, finder->seen.count + 1, TREE_NON_MEMBERS_MAX) == 0)
        finder->seen.items[finder->seen.count++] = non_member;
}

/* What is new goes to the end of `seen`, behind those known already. Returns where they begin. */
static size_t sift(struct tree_finder *finder)
{
    finder->seen.count = 0;
    for (size_t i = 0; i < finder->list.count; i++) {
        if (is_non_member(finder, finder->list.items[i]))
            note_non_member(finder, (struct tree_non_member){.pid = finder->list.items[i]});
    }
    size_t first = finder->seen.count;
    for (size_t i = 0; i < finder->list.count; i++) {
        pid_t pid = finder->list.items[i];
        struct pid_stat stat;
        if (is_non_member(finder, pid) || tree_members_find(finder->members, pid) != TREE_NONE ||
            tree_read_candidate(finder->reader, pid, &stat) < 0)
            continue;
        note_non_member(finder, (struct tree_non_member){.pid = pid, .parent = (pid_t)stat.parent});
    }
    return first;
}

/* A child may be listed before its parent is known to be ours, so again while one was added. */
static void adopt_new(struct tree_finder *finder, size_t first, int64_t now_ns)
{
    const struct tracked *tracked = finder->reader->env->tracked;
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = first; i < finder->seen.count; i++) {
            struct tree_non_member candidate = finder->seen.items[i];
            size_t parent = tree_members_find(finder->members, candidate.parent);
            if (parent == TREE_NONE && (tracked->attached || candidate.parent != tracked->tracker))
                continue;
            finder->seen.items[i--] = finder->seen.items[--finder->seen.count];
            size_t before = finder->members->live;
            adopt(finder, candidate.pid, parent, now_ns);
            again |= finder->members->live != before;
        }
    }
}

/*
 * An orphan whose parent ended meanwhile may be ours next time: it is not to be remembered as a non-member. The list is
 * sorted; those that were read now have a parent.
 */
static void drop_orphans(struct tree_finder *finder)
{
    struct tree_non_members *seen = &finder->seen;
    size_t kept = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const struct tree_non_member parent = {.pid = seen->items[i].parent};
        bool orphan =
            parent.pid != 0 && !bsearch(&parent, seen->items, seen->count, sizeof(parent), compare_non_members);
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
    /* The group has a list of them. */
    if (finder->reader->env->tracked->group_locations)
        return;
    if (finder->proc_fd < 0)
        finder->proc_fd = file_open_at(finder->reader->env->root->proc_fd, ".", O_RDONLY | O_DIRECTORY);
    if (finder->proc_fd < 0 || pid_list_read(finder->proc_fd, TREE_NON_MEMBERS_MAX, &finder->list) < 0) {
        finder->is_incomplete = true;
        return;
    }
    if (forks - finder->forks > FORKS_TRUSTED) {
        finder->non_members.count = 0;
        finder->forks = forks;
    }
    adopt_new(finder, sift(finder), now_ns);
    if (finder->seen.count > 1)
        qsort(finder->seen.items, finder->seen.count, sizeof(*finder->seen.items), compare_non_members);
    drop_orphans(finder);
    struct tree_non_members old = finder->non_members;
    finder->non_members = finder->seen;
    finder->seen = old;
}

/*
 * cpu.stat and cgroup.procs of one v2 group (Documentation/admin-guide/cgroup-v2.rst), or what v1 has in their place
 * (cgroup-v1/cpuacct.rst). Both are there whatever controllers are turned on. cgroup.procs holds a PID a line; the
 * kernel's highest has seven digits.
 */
enum {
    CPU_BYTES_MAX = 4096,
    PROCS_BYTES_MAX = TREE_GROUP_MEMBERS_MAX * 8,
    GROUP_DEPTH_MAX = 20,
    GROUPS_BELOW_MAX = 4096,
};

int tree_group_open(struct tree_group *group, const struct collect_env *env)
{
    if (!env->tracked || !env->tracked->group_dir)
        return -ENODATA;
    const struct cgroup_location *attached = env->tracked->group_locations;
    int dir_fd = file_open_at(env->root->root_fd, env->tracked->group_dir, O_RDONLY | O_DIRECTORY);
    if (dir_fd < 0)
        return dir_fd;
    bool is_v1 = attached && attached[CGROUP_CPUACCT].version == 1;
    *group = (struct tree_group){.dir_fd = dir_fd, .has_below = attached, .is_v1 = is_v1};
    kept_file_init(&group->cpu_stat, dir_fd, is_v1 ? "cpuacct.usage" : "cpu.stat", FILE_SINGLE);
    kept_file_init(&group->procs, dir_fd, "cgroup.procs", FILE_TO_END);
    buf_init(&group->cpu_text, CPU_BYTES_MAX);
    buf_init(&group->procs_text, PROCS_BYTES_MAX);
    return 0;
}

void tree_group_close(struct tree_group *group)
{
    kept_file_fini(&group->cpu_stat);
    kept_file_fini(&group->procs);
    buf_fini(&group->cpu_text);
    buf_fini(&group->procs_text);
    free(group->members.items);
    group->members.items = NULL;
    group->members.count = group->members.cap = 0;
    fd_close(&group->dir_fd);
}

/* In nanoseconds. */
static int group_cpu_v1(struct str text, uint64_t *ret_total_us)
{
    struct opt_u64 total = cgroup_single_u64(text);
    if (!total.has)
        return -EBADMSG;
    *ret_total_us = total.v / 1000;
    return 0;
}

int tree_group_cpu(struct tree_group *group, uint64_t *ret_total_us, uint64_t *ret_user_us)
{
    int r = kept_file_read(&group->cpu_stat, &group->cpu_text);
    if (r < 0)
        return r;
    struct str text = {group->cpu_text.data, group->cpu_text.len};
    if (group->is_v1)
        return group_cpu_v1(text, ret_total_us);
    struct opt_u64 total = cgroup_keyed_u64(text, STR("usage_usec")), user = cgroup_keyed_u64(text, STR("user_usec"));
    if (!total.has || !user.has)
        return -EBADMSG;
    *ret_total_us = total.v;
    *ret_user_us = user.v;
    return 0;
}

static int add_group_members(struct tree_group *group)
{
    struct str rest = {group->procs_text.data, group->procs_text.len}, line;
    while (str_line(&rest, &line)) {
        uint64_t pid;
        if (num_parse_u64(line, &pid) < 0 || pid > INT_MAX)
            return -EBADMSG;
        if (pid == 0)
            continue;
        int r = VEC_GROW(&group->members, group->members.count + 1, TREE_GROUP_MEMBERS_MAX);
        if (r < 0)
            return r;
        group->members.items[group->members.count++] = (pid_t)pid;
    }
    return 0;
}

/*
 * One that is gone meanwhile has none, and those of a threaded group are in the list of one above it. Of the two links
 * of a directory one is "."; each directory below adds one.
 */
__attribute__((cold, noinline)) static void add_members_below(
    struct tree_group *group, int fd, unsigned depth, unsigned *left)
{
    struct stat info;
    if (depth == 0 || fstat(fd, &info) < 0 || info.st_nlink == 2)
        return;
    struct dir_walk dir;
    struct dir_entry entry;
    dir_walk_again(&dir, fd);
    while (*left > 0 && dir_walk_next(&dir, &entry)) {
        if (entry.type != DT_DIR)
            continue;
        (*left)--;
        AUTO_FD int below = file_open_at(fd, entry.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (file_read_at(below, "cgroup.procs", &group->procs_text) >= 0)
            (void)add_group_members(group);
        add_members_below(group, below, depth - 1, left);
    }
}

int tree_group_members(struct tree_group *group, const pid_t **ret_pids, size_t *ret_count)
{
    /* v1 keeps the list of a file that stays open, until it was not read for a second. */
    int r = group->is_v1 ? file_read_at(group->dir_fd, "cgroup.procs", &group->procs_text)
                         : kept_file_read(&group->procs, &group->procs_text);
    bool is_gone = group->has_below && (r == -ENODEV || r == -ENOENT);
    if (r < 0 && !is_gone)
        return r == -EFBIG ? -E2BIG : r;
    group->members.count = 0;
    r = is_gone ? 0 : add_group_members(group);
    if (r < 0)
        return r;
    unsigned left = GROUPS_BELOW_MAX;
    if (group->has_below)
        add_members_below(group, group->dir_fd, GROUP_DEPTH_MAX, &left);
    *ret_pids = group->members.items;
    *ret_count = group->members.count;
    return 0;
}
