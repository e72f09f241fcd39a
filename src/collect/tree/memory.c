/* SPDX-License-Identifier: Apache-2.0 */
/* Which resident memory of a member counts: one address space counts once, also between vfork and exec. */
#include "collect/tree/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

enum { PATH_BYTES = 32, THREADS_MAX = 65536, THREADS_TRIED_MAX = 64, KCMP_ADDRESS_SPACE = 1, FILE_PAGES_MIN = 4096 };

int tree_memory_kcmp(void *context, pid_t a, pid_t b)
{
    (void)context;
    long r = syscall(SYS_kcmp, a, b, KCMP_ADDRESS_SPACE, 0UL, 0UL);
    return r < 0 ? err_last() : r == 0;
}

/* Was it forked only now, as far as its start is known (in ticks since boot)? */
static bool is_newborn(const struct collect_env *env, const struct pid_stat *stat)
{
    const uint64_t tick_ns = collect_tick_ns(env);
    uint64_t start_ns;
    if (__builtin_mul_overflow(stat->start_ticks, tick_ns, &start_ns))
        return false;
    uint64_t now_ns = (uint64_t)clock_read(env->clock, CLOCK_KIND_BOOT);
    return start_ns <= now_ns && now_ns - start_ns < (uint64_t)TREE_NEWBORN_NS;
}

static bool is_same_size(const struct pid_stat *a, const struct pid_stat *b)
{
    return a->vsize_bytes == b->vsize_bytes && a->rss_pages == b->rss_pages;
}

/*
 * Where kcmp is not permitted: the sizes of one address space are equal in both, and stay so when the parent's are read
 * again; a forked copy lacks the parent's file pages at least. A parent of one thread waits for its child meanwhile
 * (state D), one that does not has made a copy.
 */
static int guess_same_memory(
    struct tree_reader *reader, const struct tree_member *parent, const struct tree_member *member)
{
    struct pid_stat before, child, after;
    if (tree_read_candidate(reader, parent->pid, &before) < 0 || tree_read_candidate(reader, member->pid, &child) < 0 ||
        tree_read_candidate(reader, parent->pid, &after) < 0)
        return -ESRCH;
    if (!child.has_not_execed || !is_same_size(&before, &child) || !is_same_size(&after, &child))
        return 0;
    return before.threads > 1 || (before.state == 'D' && after.state == 'D');
}

/* 1: it has its parent's memory, 0: its own; or a negative errno where one of them is gone or hangs. */
static int compare_memory(
    struct tree_reader *reader, const struct tree_member *parent, const struct tree_member *member)
{
    const struct collect_env *env = reader->env;
    int r = -ENOSYS;
    if (blocking_is_stuck(env->blocking, member->pid, "kcmp"))
        return -ETIMEDOUT;
    if (env->same_memory && !reader->has_no_kcmp) {
        struct blocking_thread *bracket = blocking_enter(env->blocking, member->pid, "kcmp");
        r = env->same_memory(env->same_memory_context, parent->pid, member->pid);
        if (!blocking_leave(bracket))
            blocking_return(bracket);
    }
    reader->has_no_kcmp |= r == -ENOSYS;
    return r >= 0 || r == -ESRCH ? r : guess_same_memory(reader, parent, member);
}

/* It may have executed its program after its stat was read, which then still shows its parent's memory. */
static void read_own(struct tree_reader *reader, struct tree_member *member)
{
    struct pid_stat stat;
    member->memory.is_own = true;
    if (tree_read_stat(reader, member->pid, &member->fds[TREE_FILE_STAT], &stat) < 0 ||
        stat.start_ticks != member->stat.start_ticks)
        return;
    member->stat.rss_pages = stat.rss_pages;
    member->stat.vsize_bytes = stat.vsize_bytes;
    member->stat.has_not_execed = stat.has_not_execed;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/*
 * Pages that a copy has written to since the fork are its own, and each has cost it a minor fault. So have its pages of
 * files, which fork does not copy: statm has their number, and is read when the faults could matter, again when they
 * have doubled.
 */
static uint64_t written_pages(struct tree_reader *reader, struct tree_member *member)
{
    struct tree_memory *memory = &member->memory;
    uint64_t faults = member->stat.minor_faults;
    struct pid_statm statm;
    if (faults < PSS_COPY_PAGES)
        return faults < memory->resident_pages ? faults : memory->resident_pages;
    if (faults / 2 >= memory->at && tree_read_statm(reader, member->pid, &statm) == 0) {
        memory->file_pages = statm.file_pages;
        memory->at = faults;
    }
    if (memory->at == 0)
        return 0;
    uint64_t written = minus(faults, memory->file_pages), most = minus(memory->resident_pages, memory->file_pages);
    return written < most ? written : most;
}

/* Of a process whose PSS is not known, what it may share: read when it could matter, again when it has doubled. */
static void read_file_pages(struct tree_reader *reader, struct tree_member *member)
{
    struct tree_memory *memory = &member->memory;
    struct pid_statm statm;
    if (memory->is_copy || member->pss.is_known || memory->resident_pages < FILE_PAGES_MIN ||
        memory->resident_pages / 2 < memory->at || tree_read_statm(reader, member->pid, &statm) < 0)
        return;
    memory->file_pages = statm.file_pages;
    memory->at = memory->resident_pages;
}

/* What of a copy its parent does not have, as far as is seen: more pages than at the fork, or other ones. */
static uint64_t own_pages(struct tree_reader *reader, struct tree_member *member)
{
    uint64_t more = minus(member->memory.resident_pages, member->memory.base_pages);
    /* One that may still have the memory of its parent writes to that. */
    uint64_t written = member->memory.is_own ? written_pages(reader, member) : 0;
    return more > written ? more : written;
}

/* The family that a copy belongs to stays the same when its parent ends, also without its first process. */
static void join_family(struct tree_member *relative, size_t slot, struct tree_member *member)
{
    struct tree_memory *memory = &member->memory;
    pss_note_fork(&relative->pss, member->first_ns);
    if (memory->head != TREE_NONE)
        return;
    bool is_head = relative->memory.head == TREE_NONE;
    memory->head = is_head ? slot : relative->memory.head;
    memory->head_pid = is_head ? relative->pid : relative->memory.head_pid;
    uint64_t of_relative = relative->memory.resident_pages;
    memory->base_pages = memory->resident_pages < of_relative ? memory->resident_pages : of_relative;
}

/* An address that another program has only by chance, since it is random. */
static bool is_known_stack(const struct tree_member *member)
{
    return member->stat.stack_start > 1;
}

static bool is_other_program(const struct tree_member *a, const struct tree_member *b)
{
    return is_known_stack(a) && is_known_stack(b) && a->stat.stack_start != b->stat.stack_start;
}

/* Of a copy whose parent was gone when it was first seen: relatives have their stack in the same place. */
static void find_family(const struct tree_members *members, struct tree_member *member)
{
    struct tree_memory *memory = &member->memory;
    memory->is_own = true; /* else its parent would wait for it */
    bool is_found = memory->is_searched || !is_known_stack(member);
    memory->is_searched = true;
    for (size_t i = 0; i < members->order.count && !is_found; i++) {
        size_t slot = members->order.items[i];
        struct tree_member *other = tree_member_at(members, slot);
        is_found = other != member && other->stat.stack_start == member->stat.stack_start &&
                   other->memory.head != (size_t)(member - members->slots.items) && !pid_stat_is_dead(&other->stat);
        if (is_found)
            join_family(other, slot, member);
    }
}

static void settle_forked(struct tree_reader *reader, struct tree_member *parent, struct tree_member *member)
{
    const struct collect_env *env = reader->env;
    struct tree_memory *memory = &member->memory;
    bool newborn = !memory->is_own && !memory->is_parents && is_newborn(env, &member->stat);
    if (!memory->is_own && !newborn) {
        int r = compare_memory(reader, parent, member);
        memory->is_parents = r == 1 || (r < 0 && memory->is_parents);
        if (r == 0)
            read_own(reader, member);
    }
    memory->resident_pages = member->stat.rss_pages;
    memory->is_copy = !memory->is_parents && member->stat.has_not_execed;
    if (memory->is_copy)
        join_family(parent, member->parent, member);
    memory->own_pages = memory->is_copy || newborn ? own_pages(reader, member) : 0;
    memory->rss_pages = memory->is_parents ? 0 : newborn ? memory->own_pages : memory->resident_pages;
}

static bool has_memory(const struct pid_stat *stat)
{
    return !pid_stat_is_leader_dead(stat) && stat->vsize_bytes > 0;
}

/* 0 with the newest stat of a thread that has the memory; -ESRCH where none has any more; or another negative errno. */
static int read_any_thread(
    struct tree_reader *reader, struct tree_member *member, struct pid_list *list, struct pid_stat *ret_stat)
{
    int *kept = &member->fds[TREE_FILE_THREAD];
    if (member->memory.tid != 0 && tree_read_stat(reader, member->memory.tid, kept, ret_stat) == 0 &&
        has_memory(ret_stat) && ret_stat->parent == member->stat.parent)
        return 0;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%d/task", (int)member->pid);
    AUTO_FD int fd = file_open_at(reader->env->root->proc_fd, path, O_RDONLY | O_DIRECTORY);
    int r = fd < 0 ? fd : pid_list_read(fd, THREADS_MAX, list);
    if (r < 0)
        return r == -ENOENT ? -ESRCH : r;
    for (size_t i = 0; i < list->count && i < THREADS_TRIED_MAX; i++) {
        if (list->items[i] == member->pid)
            continue;
        tree_release_fd(reader, kept);
        r = tree_read_stat(reader, list->items[i], kept, ret_stat);
        member->memory.tid = list->items[i];
        if (r < 0 && r != -ESRCH)
            return r;
        if (r == 0 && has_memory(ret_stat))
            return 0;
    }
    return -ESRCH;
}

/* The kernel shows the memory of a process by its first thread, and that of one that has ended is 0. */
static void settle_leaderless(struct tree_reader *reader, struct tree_member *member, struct pid_list *list)
{
    struct tree_memory *memory = &member->memory;
    struct pid_stat stat;
    int r = read_any_thread(reader, member, list, &stat);
    memory->is_unknown = r < 0 && r != -ESRCH;
    memory->is_copy = false;
    memory->resident_pages = memory->rss_pages = r == 0 ? stat.rss_pages : 0;
}

/* After an exec it shares nothing; nor is known what it shares where the slot of the first process is another's. */
static void leave_family(const struct tree_members *members, struct tree_member *member)
{
    struct tree_memory *memory = &member->memory;
    if (memory->head == TREE_NONE)
        return;
    pid_t pid = tree_member_at(members, memory->head)->pid;
    if (member->stat.has_not_execed && (pid == 0 || pid == memory->head_pid))
        return;
    memory->head = TREE_NONE;
    memory->at = 0;
}

void tree_memory_settle(
    struct tree_reader *reader, const struct tree_members *members, struct tree_member *member, struct pid_list *list)
{
    struct tree_memory *memory = &member->memory;
    leave_family(members, member);
    if (pid_stat_is_leader_dead(&member->stat) && member->stat.threads > 1) {
        settle_leaderless(reader, member, list);
        return;
    }
    memory->is_unknown = false;
    if (memory->tid != 0) {
        /* Another thread has executed a program, and is the first one now. */
        memory->tid = 0;
        tree_release_fd(reader, &member->fds[TREE_FILE_THREAD]);
    }
    struct tree_member *parent = member->parent != TREE_NONE ? tree_member_at(members, member->parent) : NULL;
    if (member->stat.has_not_execed && parent && !is_other_program(parent, member)) {
        settle_forked(reader, parent, member);
        return;
    }
    memory->resident_pages = memory->rss_pages = member->stat.rss_pages;
    if (member->stat.has_not_execed)
        find_family(members, member);
    memory->is_parents = false;
    memory->is_copy = memory->head != TREE_NONE;
    memory->own_pages = memory->is_copy ? own_pages(reader, member) : 0;
    read_file_pages(reader, member);
}

const struct pss_memory *tree_memory_copied(const struct tree_members *members, const struct tree_member *member)
{
    if (member->memory.head == TREE_NONE || member->parent == TREE_NONE)
        return NULL;
    const struct tree_member *parent = tree_member_at(members, member->parent);
    return parent->memory.is_copy && parent->memory.head == member->memory.head ? &parent->pss : NULL;
}
