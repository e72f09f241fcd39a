/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.stat and cgroup.procs of one v2 group (Documentation/admin-guide/cgroup-v2.rst). Both are there whatever
 * controllers are turned on. cgroup.procs holds a PID a line:
 *   4711
 *   4713
 */
#include "collect/tree/group.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"
#include "kernel/cgroup_files.h"

/* The kernel's highest PID has seven digits. */
enum { CPU_BYTES_MAX = 4096, PROCS_BYTES_MAX = TREE_GROUP_MEMBERS_MAX * 8 };

int tree_group_open(struct tree_group *group, const struct collect_env *env)
{
    if (!env->tracked || !env->tracked->group_dir)
        return -ENODATA;
    int dir_fd = file_open_at(env->root->root_fd, env->tracked->group_dir, O_PATH | O_DIRECTORY);
    if (dir_fd < 0)
        return dir_fd;
    *group = (struct tree_group){.dir_fd = dir_fd};
    kept_file_init(&group->cpu_stat, dir_fd, "cpu.stat", FILE_SINGLE);
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

int tree_group_cpu(struct tree_group *group, uint64_t *ret_total_us, uint64_t *ret_user_us)
{
    int r = kept_file_read(&group->cpu_stat, &group->cpu_text);
    if (r < 0)
        return r;
    struct str text = {group->cpu_text.data, group->cpu_text.len};
    struct opt_u64 total = cgroup_keyed_u64(text, STR("usage_usec")), user = cgroup_keyed_u64(text, STR("user_usec"));
    if (!total.has || !user.has)
        return -EBADMSG;
    *ret_total_us = total.v;
    *ret_user_us = user.v;
    return 0;
}

int tree_group_members(struct tree_group *group, const pid_t **ret_pids, size_t *ret_count)
{
    int r = kept_file_read(&group->procs, &group->procs_text);
    if (r < 0)
        return r == -EFBIG ? -E2BIG : r;
    struct str rest = {group->procs_text.data, group->procs_text.len}, line;
    group->members.count = 0;
    while (str_line(&rest, &line)) {
        uint64_t pid;
        if (num_parse_u64(line, &pid) < 0 || pid > INT_MAX)
            return -EBADMSG;
        if (pid == 0)
            continue;
        r = VEC_GROW(&group->members, group->members.count + 1, TREE_GROUP_MEMBERS_MAX);
        if (r < 0)
            return r;
        group->members.items[group->members.count++] = (pid_t)pid;
    }
    *ret_pids = group->members.items;
    *ret_count = group->members.count;
    return 0;
}
