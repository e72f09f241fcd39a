/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a control group the job's own? Its list of processes is compared with the tree, once. A process that is not in the
 * tree is another job's where its number says that it is older; one born since may be of either. No file of a process
 * is read: that of another job's process can hang, and the whole collector with it.
 */
#include <fcntl.h>
#include <limits.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "collect/cgroup/cgroup.h"
#include "collect/collect.h"
#include "collect/probe/probe.h"
#include "kernel/cgroup_files.h"

enum owner { OWNER_JOB, OWNER_OTHER, OWNER_UNKNOWN };

static int read_group_file(const struct collect_env *env, const struct cgroup_location *location, size_t dir_len,
    const char *name, char out[static CGROUP_FILE_BYTES_MAX])
{
    char path[CGROUP_FILE_PATH_BYTES];
    const struct cgroup_file file = {.location = location, .dir_len = dir_len, .name = name};
    cgroup_file_path(&file, path);
    AUTO_FD int fd = file_open_at(env->root->root_fd, path, O_RDONLY);
    return fd < 0 ? fd : file_read_once(fd, out, CGROUP_FILE_BYTES_MAX);
}

static enum owner owner_of(const struct cgroup_job *job, pid_t pid)
{
    if (pid == 0)
        return OWNER_OTHER;
    for (size_t i = 0; i < job->count; i++) {
        if (job->items[i] == pid)
            return OWNER_JOB;
    }
    return pid <= job->last_before ? OWNER_OTHER : OWNER_UNKNOWN;
}

/* "4711\n4712\n"; 0 stands for a process outside of our PID namespace. */
static enum owner owner_of_all(const struct cgroup_job *job, struct str procs, bool is_cut)
{
    enum owner owner = is_cut ? OWNER_UNKNOWN : OWNER_JOB;
    struct str line;
    while (str_line(&procs, &line)) {
        uint64_t pid;
        if (is_cut && procs.n == 0)
            break;
        if (!num_next_u64(&line, &pid) || pid > INT_MAX)
            return OWNER_UNKNOWN;
        enum owner its = owner_of(job, (pid_t)pid);
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
    int n = read_group_file(env, location, dir_len, "cgroup.stat", text);
    struct opt_u64 below = {0};
    if (n > 0)
        below = cgroup_keyed_u64((struct str){text, (size_t)n}, STR("nr_descendants"));
    /* That of the command is the job's. */
    uint64_t ours = env->tracked->group_dir && dir_len < location->len ? 1 : 0;
    return below.has && below.v > ours;
}

static struct opt_bool find_own(const struct cgroup_job *job, const struct collect_env *env,
    const struct cgroup_location *location, size_t dir_len, struct str groups)
{
    const struct opt_bool unknown = {0};
    if (job->count == 0 || !env->root->names_us || location->version == 0)
        return unknown;
    char text[CGROUP_FILE_BYTES_MAX];
    int n = read_group_file(env, location, dir_len, "cgroup.procs", text);
    if (n < 0)
        return unknown;
    enum owner owner = owner_of_all(job, (struct str){text, (size_t)n}, n == CGROUP_FILE_BYTES_MAX);
    if (owner == OWNER_OTHER)
        return some_bool(false);
    if (owner == OWNER_UNKNOWN || !shows_all(env, location, dir_len, groups) ||
        has_groups_below(env, location, dir_len))
        return unknown;
    return some_bool(true);
}

void cgroup_own_list_job(struct cgroup_own *own, const struct collect_env *env, const struct tick *tick)
{
    const struct tracked *tracked = env->tracked;
    const struct tree_status *tree = env->tree;
    struct cgroup_job *job = &own->job;
    job->count = 0;
    if (own->is_known || !tracked || tracked->root == 0 || (tree->live > 0 && tree->members.count == 0) ||
        tree->members.count > CGROUP_MEMBERS_MAX)
        return;
    job->items[job->count++] = tracked->tracker;
    job->items[job->count++] = tracked->root;
    for (size_t i = 0; i < tree->members.count; i++)
        job->items[job->count++] = tree->members.items[i].pid;
    for (size_t i = 0; env->helpers && i < HELPERS_MAX; i++) {
        if (env->helpers->processes[i].pid > 0)
            job->items[job->count++] = env->helpers->processes[i].pid;
    }
    /* Once numbers began again from the start, a small one may be a new one. */
    struct opt_u64 newest = tick->births ? tick->births->last_pid : (struct opt_u64){0};
    job->last_before = newest.has && newest.v < (uint64_t)tracked->root ? 0 : tracked->root;
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
            own->is_own = find_own(&own->job, env, location, dir_len, source->groups);
    }
    own->is_known = true;
    run->cgroup_path = own->path;
    run->cgroup_is_own = own->is_own;
}
