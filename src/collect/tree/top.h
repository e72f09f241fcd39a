/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest processes of the tree, named when its memory is higher than at all turns before: what a person asks for
 * first about a peak. A rise of less than 2 % waits, so that a tree that grows slowly is not listed at every turn.
 */
#ifndef COLLECT_TREE_TOP_H
#define COLLECT_TREE_TOP_H

#include "collect/collect.h"
#include "collect/tree/members.h"

enum { TREE_TOP_COUNT = 8, TREE_TOP_NAME_BYTES = 32 };

struct tree_top {
    uint64_t listed_pages; /* memory of the tree when it was last listed */
    struct sample_process items[TREE_TOP_COUNT];
    char names[TREE_TOP_COUNT][TREE_TOP_NAME_BYTES];
};

/* Fills *ret_list where rss_pages, the memory of the tree, is a new high; it is valid until the next turn. */
void tree_top_turn(struct tree_top *top, const struct collect_env *env, const struct tree_members *members,
    uint64_t rss_pages, struct sample_list *ret_list);

#endif
