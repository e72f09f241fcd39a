/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of the command (--cgroup) as the tree collector reads it: what its members have used, those that
 * nobody waited for included, and who they are.
 */
#ifndef COLLECT_TREE_GROUP_H
#define COLLECT_TREE_GROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/file.h"
#include "collect/collect.h"

enum { TREE_GROUP_MEMBERS_MAX = 65536 };

struct tree_group {
    int dir_fd;
    struct kept_file cpu_stat, procs;
    struct buf cpu_text, procs_text;
    struct {
        pid_t *items;
        size_t count, cap;
    } members;
};

/* Returns 0; -ENODATA where the command has no group of its own; or another negative errno. Below 0 nothing is open. */
int tree_group_open(struct tree_group *group, const struct collect_env *env);
void tree_group_close(struct tree_group *group);

/*
 * CPU time since the group was made, user time being part of the total. Returns 0, -EBADMSG where the file does not
 * tell, or another negative errno (-ENODEV: the group is gone).
 */
int tree_group_cpu(struct tree_group *group, uint64_t *ret_total_us, uint64_t *ret_user_us);

/*
 * The processes in the group itself, in no order; one that comes and goes meanwhile may be there twice. Those outside
 * of our PID namespace are left out. The list is good until the next call. Returns 0, -E2BIG for more than
 * TREE_GROUP_MEMBERS_MAX, -EBADMSG for a line that is no PID, or another negative errno.
 */
int tree_group_members(struct tree_group *group, const pid_t **ret_pids, size_t *ret_count);

#endif
