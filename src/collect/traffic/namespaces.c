/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace is the tree's own where it is not ours and no other process is in it when it is first seen
 * (docs/decisions/0037). One that was made during the run counts from 0, one that has a name (ip netns) or that an
 * attached tree was in from the moment in which it is first seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "collect/traffic/traffic_internal.h"

enum { DEV_BYTES_MAX = 256 * 1024, MOUNTS_BYTES_MAX = 4 * 1024 * 1024, OTHERS_MAX = 65536 };
enum { CLOCK_EVERY = 16 }; /* processes */

void namespaces_open(struct namespaces *namespaces, const struct collect_env *env)
{
    *namespaces = (struct namespaces){.env = env};
    for (size_t i = 0; i < NAMESPACES_MAX; i++)
        namespaces->items[i].fd = -1;
    buf_init(&namespaces->text, DEV_BYTES_MAX);
}

/* At the end, and not later: a descriptor keeps its namespace. */
__attribute__((cold)) void namespaces_close(struct namespaces *namespaces)
{
    for (size_t i = 0; i < NAMESPACES_MAX; i++) {
        if (namespaces->items[i].fd >= 0)
            (void)close(namespaces->items[i].fd);
        namespaces->items[i] = (struct traffic_namespace){.fd = -1};
    }
    free(namespaces->cache);
    namespaces->cache = NULL;
    buf_fini(&namespaces->text);
    net_dev_fini(&namespaces->dev);
    pid_list_fini(&namespaces->list);
}

/* "net:[4026531840]" of PID/ns/net; 0: our own. Returns 0, or a negative errno: -ENOENT or -ESRCH where the process has
 * ended, -EBUSY where it hangs. held_fd: of the caller, closed where the read does not return in time. */
static int read_inode(const struct namespaces *namespaces, pid_t pid, int *held_fd, uint64_t *ret_inode)
{
    struct blocking *blocking = namespaces->env->blocking;
    char path[32], target[64];
    if (pid > 0 && blocking_is_stuck(blocking, pid, NULL))
        return -EBUSY;
    (void)snprintf(path, sizeof(path), pid > 0 ? "%d/ns/net" : "self/ns/net", (int)pid);
    struct blocking_thread *bracket = pid > 0 ? blocking_enter(blocking, pid, "ns/net") : NULL;
    ssize_t n = readlinkat(namespaces->env->root->proc_fd, path, target, sizeof(target));
    int code = n < 0 ? err_last() : 0;
    if (!blocking_leave(bracket)) {
        fd_close(held_fd);
        blocking_return(bracket);
    }
    if (code < 0)
        return code;
    struct str text = {target, (size_t)n};
    if (!str_starts(text, STR("net:[")))
        return -EBADMSG;
    str_skip(&text, sizeof("net:[") - 1);
    return num_next_u64(&text, ret_inode) ? 0 : -EBADMSG;
}

static bool is_gone(int r)
{
    return r == -ENOENT || r == -ESRCH;
}

static int64_t own_cpu_ns(const struct namespaces *namespaces)
{
    return clock_read(namespaces->env->clock, CLOCK_KIND_OWN_CPU);
}

/*
 * Is any process in it that is not listed? Where that cannot be read: not in one that the command made, else maybe.
 * Goes on behind the last one that was read, as far as the budget goes; space->checked is 0 once all were.
 */
__attribute__((cold)) static bool has_others(struct namespaces *namespaces, struct traffic_namespace *space,
    const struct job_member *members, size_t count, int64_t end_ns)
{
    const struct collect_env *env = namespaces->env;
    struct pid_list *list = &namespaces->list; /* it is not lost where a read does not return */
    AUTO_FD int fd = file_open_at(env->root->proc_fd, ".", O_RDONLY | O_DIRECTORY);
    bool found = fd < 0 || pid_list_read(fd, OTHERS_MAX, list) < 0;
    pid_t from = space->checked;
    space->checked = 0;
    for (size_t i = 0; !found && i < list->count; i++) {
        uint64_t its = 0;
        pid_t pid = list->items[i];
        /* The list is ascending. */
        if (pid <= from)
            continue;
        int r = read_inode(namespaces, pid, &fd, &its);
        found = r == 0 ? its == space->inode : env->tracked->attached && !is_gone(r);
        for (size_t k = 0; found && k < count; k++)
            found = members[k].pid != pid;
        if (i % CLOCK_EVERY == CLOCK_EVERY - 1 && !found && own_cpu_ns(namespaces) >= end_ns) {
            space->checked = pid;
            break;
        }
    }
    pid_list_fini(list);
    return found;
}

/* Does a file lead to it, as "ip netns add" makes them? It then was there before, and stays. */
__attribute__((cold)) static bool has_name(const struct namespaces *namespaces, uint64_t inode)
{
    AUTO_BUF struct buf text;
    buf_init(&text, MOUNTS_BYTES_MAX);
    char name[32];
    (void)snprintf(name, sizeof(name), " net:[%" PRIu64 "] ", inode);
    return file_read_at(namespaces->env->root->proc_fd, "self/mountinfo", &text) == 0 &&
           strstr(buf_cstr(&text), name) != NULL;
}

/* Loopback is what the processes in it say to each other. */
static int read_bytes(struct namespaces *namespaces, int fd, struct traffic_bytes *ret_bytes)
{
    int r = file_read_fd(fd, FILE_RECORDS, &namespaces->text);
    if (r == 0)
        r = net_dev_parse(buf_str(&namespaces->text), &namespaces->dev);
    if (r < 0)
        return r;
    *ret_bytes = (struct traffic_bytes){0};
    for (size_t i = 0; i < namespaces->dev.count; i++) {
        const struct net_dev_row *row = &namespaces->dev.items[i];
        bool counts = strcmp(row->name, "lo") != 0;
        ret_bytes->received += counts ? row->rx_bytes : 0;
        ret_bytes->sent += counts ? row->tx_bytes : 0;
    }
    return 0;
}

static struct traffic_namespace *find(struct namespaces *namespaces, uint64_t inode)
{
    for (size_t i = 0; i < NAMESPACES_MAX; i++) {
        if (namespaces->items[i].inode == inode)
            return &namespaces->items[i];
    }
    return NULL;
}

/* NULL where it has gone meanwhile, or there are too many. */
__attribute__((cold)) static struct traffic_namespace *add(struct namespaces *namespaces, pid_t pid, uint64_t inode)
{
    struct traffic_namespace *slot = find(namespaces, 0);
    char path[32];
    uint64_t still = 0;
    (void)snprintf(path, sizeof(path), "%d/net/dev", (int)pid);
    struct blocking_thread *bracket = blocking_enter(namespaces->env->blocking, pid, "net/dev");
    AUTO_FD int fd = slot ? file_open_at(namespaces->env->root->proc_fd, path, O_RDONLY) : -1;
    if (!blocking_leave(bracket)) {
        fd_close(&fd);
        blocking_return(bracket);
    }
    struct traffic_namespace found = {.inode = inode};
    if (fd < 0 || read_inode(namespaces, pid, &fd, &still) < 0 || still != inode ||
        read_bytes(namespaces, fd, &found.bytes) < 0)
        return NULL;
    if (namespaces->env->tracked->attached || has_name(namespaces, inode)) {
        found.before = found.bytes;
        namespaces->is_lossy = !namespaces->env->tracked->attached;
    }
    found.fd = fd_take(&fd);
    *slot = found;
    namespaces->used++;
    return slot;
}

/* Often while it is young: a process is born into the namespace of its parent and may leave it a moment later. */
static int inode_of_member(
    struct namespaces *namespaces, const struct job_member *member, int64_t now_ns, uint64_t *ret_inode)
{
    struct namespace_of none = {0};
    int none_fd = -1;
    struct namespace_of *known = &none;
    if (namespaces->cache)
        known = &namespaces->cache[(unsigned)member->pid % NAMESPACES_CACHE];
    bool is_same = known->pid == member->pid && known->start_ticks == member->start_ticks;
    int64_t due_ns = known->read_ns + (known->read_ns - known->first_ns);
    bool is_due = now_ns >= due_ns || now_ns >= known->read_ns + COLLECT_SLOW_NS;
    bool is_stuck = blocking_is_stuck(namespaces->env->blocking, member->pid, NULL);
    if (is_same && (!is_due || namespaces->rechecks == 0 || is_stuck)) {
        *ret_inode = known->inode;
        return 0;
    }
    namespaces->rechecks -= is_same;
    int r = read_inode(namespaces, member->pid, &none_fd, ret_inode);
    if (r < 0)
        return r;
    if (!is_same)
        *known = (struct namespace_of){.pid = member->pid, .start_ticks = member->start_ticks, .first_ns = now_ns};
    known->inode = *ret_inode;
    known->read_ns = now_ns;
    return 0;
}

static void place_member(struct namespaces *namespaces, const struct job_member *member, int64_t now_ns)
{
    uint64_t inode = 0;
    int r = inode_of_member(namespaces, member, now_ns, &inode);
    if (is_gone(r))
        return;
    if (r == 0 && inode == namespaces->ours) {
        namespaces->in_ours++;
        return;
    }
    struct traffic_namespace *space = r == 0 && inode != 0 ? find(namespaces, inode) : NULL;
    if (!space && r == 0 && inode != 0)
        space = add(namespaces, member->pid, inode);
    if (space)
        space->has_member = true;
    else
        namespaces->elsewhere++;
}

/* A process that was born after its tree was read is no other one. */
__attribute__((cold)) static void decide(
    struct namespaces *namespaces, struct traffic_namespace *space, const struct job_member *members, size_t count)
{
    int64_t begin_ns = own_cpu_ns(namespaces);
    if (namespaces->checks_ns <= 0)
        return;
    if (has_others(namespaces, space, members, count, begin_ns + namespaces->checks_ns)) {
        if (++space->checks >= NAMESPACES_CHECKS)
            space->owner = NAMESPACE_SHARED;
    } else if (space->checked == 0) {
        space->owner = NAMESPACE_TREES;
    }
    namespaces->checks_ns -= own_cpu_ns(namespaces) - begin_ns;
}

static void add_bytes(struct traffic_bytes *sum, const struct traffic_namespace *space)
{
    sum->received += counter_delta(space->before.received, space->bytes.received);
    sum->sent += counter_delta(space->before.sent, space->bytes.sent);
}

static void update_one(struct namespaces *namespaces, struct traffic_namespace *space)
{
    struct traffic_bytes now;
    bool is_own = space->owner == NAMESPACE_TREES;
    int r = is_own ? read_bytes(namespaces, space->fd, &now) : -ENODATA;
    /* An interface that is gone took its bytes with it. */
    bool is_less = r == 0 && (now.received < space->bytes.received || now.sent < space->bytes.sent);
    if (is_less) {
        add_bytes(&namespaces->gone, space);
        space->before = now;
    }
    if (r == 0)
        space->bytes = now;
    namespaces->is_lossy |= is_less || (is_own && r < 0);
    namespaces->has_any |= is_own;
    namespaces->in_own += is_own && space->has_member;
    namespaces->elsewhere += !is_own && space->has_member;
    if (is_own)
        add_bytes(space->has_member ? &namespaces->total : &namespaces->gone, space);
    if (!space->has_member) {
        fd_close(&space->fd);
        space->inode = 0;
        namespaces->used--;
    }
}

void namespaces_update(struct namespaces *namespaces, const struct job_member *members, size_t count, int64_t now_ns)
{
    namespaces->is_lossy = false;
    namespaces->in_ours = namespaces->in_own = namespaces->elsewhere = 0;
    namespaces->total = (struct traffic_bytes){0};
    namespaces->checks_ns = NAMESPACES_CHECKS_NS;
    if (namespaces->ours == 0)
        (void)read_inode(namespaces, 0, &(int){-1}, &namespaces->ours);
    if (!namespaces->cache && count > 0)
        namespaces->cache = calloc(NAMESPACES_CACHE, sizeof(*namespaces->cache));
    for (size_t i = 0; namespaces->used > 0 && i < NAMESPACES_MAX; i++)
        namespaces->items[i].has_member = false;
    for (size_t i = 0; namespaces->ours != 0 && i < count; i++)
        place_member(namespaces, &members[i], now_ns);
    for (size_t i = 0; namespaces->used > 0 && i < NAMESPACES_MAX; i++) {
        struct traffic_namespace *space = &namespaces->items[i];
        if (space->inode == 0)
            continue;
        if (space->owner == NAMESPACE_UNDECIDED && space->has_member)
            decide(namespaces, space, members, count);
        update_one(namespaces, space);
    }
    namespaces->total.received += namespaces->gone.received;
    namespaces->total.sent += namespaces->gone.sent;
}
