/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding new members of the tree: from the lists of children that the kernel keeps per thread, or, where it keeps none
 * (no CONFIG_PROC_CHILDREN), from the whole of /proc, where each process is looked at once.
 */
#ifndef COLLECT_TREE_FIND_H
#define COLLECT_TREE_FIND_H

#include "collect/tree/members.h"
#include "collect/tree/pid_list.h"
#include "collect/tree/read.h"

enum { TREE_STRANGERS_MAX = 262144 };

struct tree_finder {
    struct tree_reader *reader;
    struct tree_members *members;
    int own_fd; /* the list of our own children; -1: not open */
    bool is_full; /* there are more than fit */
    bool is_incomplete; /* somebody could not be taken in: look again next time */
    bool has_unread_threads; /* in this turn: a member has more threads than could be asked for their children */
    struct pid_list list;
    int proc_fd; /* the listing of /proc; -1: not open */
    struct tree_strangers {
        struct tree_stranger {
            pid_t pid, parent;
            bool is_orphan;
        } * items;
        size_t count, cap;
    } strangers, seen; /* those who do not belong to us, by PID; and the next such list in the making */
    uint64_t forks; /* when the list of strangers was begun */
};

void tree_finder_init(struct tree_finder *finder, struct tree_reader *reader, struct tree_members *members);
void tree_finder_fini(struct tree_finder *finder);

/*
 * Takes a process in as a child of this slot (TREE_NOBODY: of whoever its parent is) unless it is one of us, already
 * there, or no child of the tree. Pointers to members do not survive this.
 */
void tree_find_adopt(struct tree_finder *finder, pid_t pid, size_t parent, int64_t now_ns);

/* The root: ours, or, where we attach, anybody. */
void tree_find_root(struct tree_finder *finder, pid_t pid, int64_t now_ns);

/* Somebody who is known to belong to the tree by other means. */
void tree_find_listed(struct tree_finder *finder, pid_t pid, int64_t now_ns);

/* New children of a member; -ENOENT where this kernel does not list them. The same for pointers. */
int tree_find_children(struct tree_finder *finder, size_t slot, int64_t now_ns);

/*
 * Children of members that were born since the newest PID was `from`, whoever made them: every number up to `to` is
 * tried, which takes one call each. Nothing where one of the two is not known, where they are too far apart or where
 * the numbers have come round. The same for pointers.
 */
void tree_find_newborn(struct tree_finder *finder, struct opt_u64 from, struct opt_u64 to, int64_t now_ns);

/* Orphans that have become our children. */
void tree_find_orphans(struct tree_finder *finder, int64_t now_ns);

/* All of /proc; forks: processes made since boot. */
void tree_find_scan(struct tree_finder *finder, uint64_t forks, int64_t now_ns);

#endif
