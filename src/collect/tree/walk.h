/* SPDX-License-Identifier: Apache-2.0 */
/* One tick over the whole tree: finding new members, reading all of them, and the control group of the command. */
#ifndef COLLECT_TREE_WALK_H
#define COLLECT_TREE_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/file.h"
#include "collect/collect.h"
#include "collect/tree/members.h"
#include "collect/tree/read.h"

/*
 * Finding new members of the tree: from the lists of children that the kernel keeps per thread, or, where it keeps none
 * (no CONFIG_PROC_CHILDREN), from the whole of /proc, where each process is read once.
 */

enum { TREE_NON_MEMBERS_MAX = 262144 };

struct tree_finder {
    struct tree_reader *reader;
    struct tree_members *members;
    int own_fd; /* the list of our own children; -1: not open */
    bool is_full; /* there are more than fit */
    bool is_incomplete; /* a process could not be added: search again next time */
    bool has_unread_threads; /* in this tick: a member has more threads than could be asked for their children */
    struct pid_list list;
    int proc_fd; /* the listing of /proc; -1: not open */
    struct tree_non_members {
        struct tree_non_member {
            pid_t pid, parent;
            bool is_orphan;
        } * items;
        size_t count, cap;
    } non_members, seen; /* processes outside of the tree, by PID; and the next such list in the making */
    uint64_t forks; /* when the list of non-members was begun */
};

void tree_finder_init(struct tree_finder *finder, struct tree_reader *reader, struct tree_members *members);
void tree_finder_fini(struct tree_finder *finder);

/* The root: ours, or, where we attach, any process. */
void tree_find_root(struct tree_finder *finder, pid_t pid, int64_t now_ns);

/* A process that is known to belong to the tree by other means. */
void tree_find_listed(struct tree_finder *finder, pid_t pid, int64_t now_ns);

/* New children of a member; -ENOENT where this kernel does not list them. Pointers to members do not survive this. */
int tree_find_children(struct tree_finder *finder, size_t slot, int64_t now_ns);

/*
 * Children of members that were born since the newest PID was `from`, whatever made them: every number up to `to` is
 * tried, which takes one call each. Nothing where one of the two is not known, where they are too far apart or where
 * the numbers have come round. The same for pointers.
 */
void tree_find_newborn(struct tree_finder *finder, struct opt_u64 from, struct opt_u64 to, int64_t now_ns);

/* Orphans that have become our children. */
void tree_find_orphans(struct tree_finder *finder, int64_t now_ns);

/* All of /proc; forks: processes made since boot. */
void tree_find_scan(struct tree_finder *finder, uint64_t forks, int64_t now_ns);

/*
 * The control group of the command (--cgroup) as the tree collector reads it: what its members have used, those that
 * were never waited for included, and which they are.
 */

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
 * CPU time since the group was made, user time being part of the total. Returns 0, -EBADMSG where the file lacks
 * them, or another negative errno (-ENODEV: the group is gone).
 */
int tree_group_cpu(struct tree_group *group, uint64_t *ret_total_us, uint64_t *ret_user_us);

/*
 * The processes in the group itself, in no order; one that comes and goes meanwhile may be there twice. Those outside
 * of our PID namespace are left out. The list is good until the next call. Returns 0, -E2BIG for more than
 * TREE_GROUP_MEMBERS_MAX, -EBADMSG for a line that is no PID, or another negative errno.
 */
int tree_group_members(struct tree_group *group, const pid_t **ret_pids, size_t *ret_count);

/*
 * One tick over the whole tree, from the top down: the tracker's own account first, then the root, its children and so
 * on. New members are searched for only where something was born on this machine since the last tick.
 */
struct tree_walk {
    const struct collect_env *env;
    struct tree_members members;
    struct tree_reader reader;
    struct tree_finder finder;
    struct tree_group *group; /* NULL: the command has none of its own */
    struct ledger ledger;
    struct ledger_account tracker; /* what we have waited for */
    uint64_t reaped_seen; /* how many of those we have waited for were marked */
    uint64_t pass; /* over the members */
    struct opt_u64 forks; /* at the last tick */
    bool are_births_counted; /* the counter of them has moved: before that it may stand still for good */
    bool had_births; /* at the last tick: a parent whose clock stood still then shows only now that it has run */
    int64_t gate_ns; /* when the gate was last open */
    struct opt_u64 last_pids[2]; /* at the last two ticks */
    bool has_begun;
    bool is_in_tick; /* a walk was begun and is not over */
    bool is_restarted; /* it was abandoned, since a read did not return, and begins again */
};

void tree_walk_open(struct tree_walk *walk, const struct collect_env *env, struct tree_group *group);
void tree_walk_close(struct tree_walk *walk);

/* The births before the first tick, and before the root's. */
void tree_walk_baseline(struct tree_walk *walk, struct opt_u64 forks);

/*
 * forks and last_pid were read before, absent where they are unknown. Afterwards the members are those of now, and
 * ret_growth what the tree used since the last tick. May be abandoned in a blocking read and called again.
 */
void tree_walk_tick(
    struct tree_walk *walk, struct opt_u64 forks, struct opt_u64 last_pid, int64_t now_ns, uint64_t ret_growth[FLOWS]);

#endif
