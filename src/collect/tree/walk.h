/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn over the whole tree, from the top down: the tracker's own books first, then the root, its children and so
 * on. New members are looked for only where something was born on this machine since the last turn.
 */
#ifndef COLLECT_TREE_WALK_H
#define COLLECT_TREE_WALK_H

#include "collect/tree/find.h"
#include "collect/tree/group.h"

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
    struct opt_u64 forks; /* at the last turn */
    bool are_births_counted; /* the counter of them has moved: before that it may stand still for good */
    bool had_births; /* at the last turn: a parent whose clock stood still then shows only now that it has run */
    int64_t gate_ns; /* when the gate was last open */
    struct opt_u64 last_pids[2]; /* at the last two turns */
    bool has_begun;
    bool is_in_tick; /* a walk was begun and is not over */
    bool is_restarted; /* it was abandoned, since a read did not return, and begins again */
};

void tree_walk_open(struct tree_walk *walk, const struct collect_env *env, struct tree_group *group);
void tree_walk_close(struct tree_walk *walk);

/* The births before the first turn, and before the root's. */
void tree_walk_baseline(struct tree_walk *walk, struct opt_u64 forks);

/*
 * forks and last_pid were read before, absent where they are unknown. Afterwards the members are those of now, and
 * ret_growth what the tree used since the last turn. May be abandoned in a blocking read and called again.
 */
void tree_walk_turn(
    struct tree_walk *walk, struct opt_u64 forks, struct opt_u64 last_pid, int64_t now_ns, uint64_t ret_growth[FLOWS]);

#endif
