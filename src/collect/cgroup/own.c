/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a control group the job's own? Its list of processes is compared with the tree, once. Processes that were born
 * since the tree was read are followed to their parents; one that is older than the tree, or has no parent in it, is
 * another job's. Everything is bounded; what stays open is unknown.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "collect/cgroup/cgroup.h"
#include "collect/collect.h"
#include "collect/probe/probe.h"
#include "kernel/cgroup_files.h"
#include "kernel/pid.h"

enum { STAT_BYTES = 1024, STAT_PATH_BYTES = 32, PARENTS_MAX = 8, STATS_MAX = 16, MEMBERS_MAX = 1024 };

enum owner { OWNER_JOB, OWNER_OTHER, OWNER_UNKNOWN };

struct own_check {
    const struct collect_env *env;
    struct opt_u64 root_start_ticks;
    unsigned stats; /* files of processes that were read */
};

static ssize_t read_once(int dir_fd, const char *path, char *out, size_t size)
{
    AUTO_FD int fd = file_open_at(dir_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t n;
    do {
        n = pread(fd, out, size, 0);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static ssize_t read_group_file(const struct collect_env *env, const struct cgroup_location *location, size_t dir_len,
    const char *name, char out[static CGROUP_FILE_BYTES_MAX])
{
    char path[CGROUP_FILE_PATH_BYTES];
    const struct cgroup_file file = {.location = location, .dir_len = dir_len, .name = name};
    cgroup_file_path(&file, path);
    return read_once(env->root->root_fd, path, out, CGROUP_FILE_BYTES_MAX);
}

static bool is_of_job(const struct own_check *check, pid_t pid)
{
    const struct tree_status *tree = check->env->tree;
    if (pid == check->env->tracked->tracker || pid == check->env->tracked->root)
        return true;
    for (size_t i = 0; i < tree->members.count; i++) {
        if (tree->members.items[i].pid == pid)
            return true;
    }
    return false;
}

static int read_stat(struct own_check *check, pid_t pid, struct pid_stat *ret_stat)
{
    char path[STAT_PATH_BYTES], text[STAT_BYTES];
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    ssize_t n = read_once(check->env->root->proc_fd, path, text, sizeof(text));
    return n < 0 ? (int)n : pid_stat_parse((struct str){text, (size_t)n}, ret_stat);
}

static enum owner owner_of(struct own_check *check, pid_t pid)
{
    for (int i = 0; i < PARENTS_MAX && check->stats < STATS_MAX; i++) {
        struct pid_stat stat;
        if (is_of_job(check, pid))
            return OWNER_JOB;
        if (pid <= 0)
            return OWNER_OTHER;
        check->stats++;
        int r = read_stat(check, pid, &stat);
        /* It has ended since; what has lost its parent on the way is not known any more. */
        if (i == 0 && (r == -ENOENT || r == -ESRCH))
            return OWNER_JOB;
        if (r < 0)
            return OWNER_UNKNOWN;
        if (check->root_start_ticks.has && stat.start_ticks < check->root_start_ticks.v)
            return OWNER_OTHER;
        pid = stat.parent <= INT_MAX ? (pid_t)stat.parent : 0;
    }
    return OWNER_UNKNOWN;
}

/* "4711\n4712\n"; 0 stands for a process outside of our PID namespace. */
static enum owner owner_of_all(struct own_check *check, struct str procs, bool is_cut)
{
    enum owner owner = is_cut ? OWNER_UNKNOWN : OWNER_JOB;
    struct str line;
    while (str_line(&procs, &line)) {
        uint64_t pid;
        if (is_cut && procs.n == 0)
            break;
        if (!num_next_u64(&line, &pid) || pid > INT_MAX)
            return OWNER_UNKNOWN;
        enum owner its = owner_of(check, (pid_t)pid);
        if (its == OWNER_OTHER)
            return its;
        if (its == OWNER_UNKNOWN)
            owner = its;
    }
    return owner;
}

/* Is every group of self/cgroup the root of its hierarchy, as far as we can see? */
static bool is_at_root(struct str groups)
{
    struct cgroup_line line;
    while (cgroup_line_next(&groups, &line)) {
        if (!str_eq(line.path, STR("/")))
            return false;
    }
    return true;
}

/* v1 leaves out processes of other PID namespaces: there must be none, as in a container that we are the first process
 * of, whose group is mounted as the top of its hierarchy. */
static bool shows_all(
    const struct collect_env *env, const struct cgroup_location *location, size_t dir_len, struct str groups)
{
    if (location->version == 2 || sysroot_in_first_pid_namespace(env->root))
        return true;
    return env->tracked->tracker == 1 && dir_len == location->top_len && !is_at_root(groups);
}

/* Groups below hold processes that its own list has not. */
static bool has_groups_below(const struct collect_env *env, const struct cgroup_location *location, size_t dir_len)
{
    char text[CGROUP_FILE_BYTES_MAX];
    if (location->version != 2)
        return false;
    ssize_t n = read_group_file(env, location, dir_len, "cgroup.stat", text);
    struct opt_u64 below = {0};
    if (n > 0)
        below = cgroup_keyed_u64((struct str){text, (size_t)n}, STR("nr_descendants"));
    /* That of the command is the job's. */
    uint64_t ours = env->tracked->group_dir && dir_len < location->len ? 1 : 0;
    return below.has && below.v > ours;
}

static struct opt_bool find_own(
    const struct collect_env *env, const struct cgroup_location *location, size_t dir_len, struct str groups)
{
    const struct tracked *tracked = env->tracked;
    const struct tree_status *tree = env->tree;
    const struct opt_bool unknown = {0};
    if (!tracked || tracked->root == 0 || !env->root->names_us || location->version == 0)
        return unknown;
    if ((tree->live > 0 && tree->members.count == 0) || tree->members.count > MEMBERS_MAX)
        return unknown;
    struct own_check check = {.env = env};
    for (size_t i = 0; i < tree->members.count; i++) {
        if (tree->members.items[i].pid == tracked->root && tree->members.items[i].start_ticks > 0)
            check.root_start_ticks = some_u64(tree->members.items[i].start_ticks);
    }
    char text[CGROUP_FILE_BYTES_MAX];
    ssize_t n = read_group_file(env, location, dir_len, "cgroup.procs", text);
    if (n < 0)
        return unknown;
    enum owner owner = owner_of_all(&check, (struct str){text, (size_t)n}, n == CGROUP_FILE_BYTES_MAX);
    if (owner == OWNER_OTHER)
        return some_bool(false);
    if (owner == OWNER_UNKNOWN || !shows_all(env, location, dir_len, groups) ||
        has_groups_below(env, location, dir_len))
        return unknown;
    return some_bool(true);
}

void cgroup_own_fill(struct cgroup_own *own, const struct collect_env *env, const struct tick *tick,
    const struct cgroup_own_source *source, struct sample_run *run)
{
    const struct cgroup_location *location = source->file->location;
    size_t dir_len = source->file->dir_len;
    if (!own->is_known) {
        struct str path = {location->dir + location->top_len, dir_len - location->top_len};
        (void)str_copy(path.n > 0 ? path : STR("/"), own->path, sizeof(own->path));
        if (source->of_command)
            own->is_own = some_bool(true);
        else if (!probe_is_too_late(env, tick))
            own->is_own = find_own(env, location, dir_len, source->groups);
    }
    own->is_known = true;
    run->cgroup_path = own->path;
    run->cgroup_is_own = own->is_own;
}
