/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree_members.h"

#include <stdlib.h>

#include "base/vec.h"

enum { INDEX_FIRST = 64 };

void tree_members_init(struct tree_members *members)
{
    *members = (struct tree_members){.free_slot = TREE_NOBODY};
}

void tree_members_fini(struct tree_members *members)
{
    free(members->slots.items);
    free(members->order.items);
    free(members->index.items);
    tree_members_init(members);
}

static size_t *chain_of(const struct tree_members *members, pid_t pid)
{
    return &members->index.items[(size_t)pid & (members->index.count - 1)];
}

size_t tree_members_find(const struct tree_members *members, pid_t pid)
{
    if (members->index.count == 0)
        return TREE_NOBODY;
    size_t slot = *chain_of(members, pid);
    while (slot != TREE_NOBODY && tree_member_at(members, slot)->pid != pid)
        slot = tree_member_at(members, slot)->next;
    return slot;
}

static void index_put(struct tree_members *members, size_t slot)
{
    struct tree_member *member = tree_member_at(members, slot);
    size_t *chain = chain_of(members, member->pid);
    member->next = *chain;
    *chain = slot;
}

static void index_drop(struct tree_members *members, size_t slot)
{
    size_t *at = chain_of(members, tree_member_at(members, slot)->pid);
    while (*at != slot)
        at = &tree_member_at(members, *at)->next;
    *at = tree_member_at(members, slot)->next;
}

/* One chain per member or more; PIDs are handed out in a row, so their low bits spread well. */
static int index_grow(struct tree_members *members)
{
    size_t count = members->index.count ? members->index.count : INDEX_FIRST;
    while (count < members->live + 1)
        count *= 2;
    if (count == members->index.count)
        return 0;
    int r = VEC_GROW(&members->index, count, 2 * TREE_MEMBERS_MAX);
    if (r < 0)
        return r;
    members->index.count = count;
    for (size_t i = 0; i < count; i++)
        members->index.items[i] = TREE_NOBODY;
    for (size_t i = 0; i < members->slots.count; i++) {
        if (tree_member_at(members, i)->pid != 0)
            index_put(members, i);
    }
    return 0;
}

static size_t take_slot(struct tree_members *members)
{
    size_t slot = members->free_slot;
    if (slot != TREE_NOBODY) {
        members->free_slot = tree_member_at(members, slot)->next;
        return slot;
    }
    if (VEC_GROW(&members->slots, members->slots.count + 1, TREE_MEMBERS_MAX) < 0)
        return TREE_NOBODY;
    return members->slots.count++;
}

size_t tree_members_add(struct tree_members *members, pid_t pid, size_t parent)
{
    if (VEC_GROW(&members->order, members->order.count + 1, 2 * TREE_MEMBERS_MAX) < 0 || index_grow(members) < 0)
        return TREE_NOBODY;
    size_t slot = take_slot(members);
    if (slot == TREE_NOBODY)
        return TREE_NOBODY;
    *tree_member_at(members, slot) = (struct tree_member){
        .pid = pid, .parent = parent, .fds = {-1, -1, -1}, .threads = {.task_fd = -1}, .has_run = true};
    if (parent != TREE_NOBODY)
        tree_member_at(members, slot)->parent_pid = tree_member_at(members, parent)->pid;
    index_put(members, slot);
    members->order.items[members->order.count++] = slot;
    members->live++;
    return slot;
}

void tree_members_remove(struct tree_members *members, size_t slot)
{
    index_drop(members, slot);
    *tree_member_at(members, slot) = (struct tree_member){.next = members->free_slot};
    members->free_slot = slot;
    members->live--;
    members->is_order_stale = true;
}

static void find_parents(struct tree_members *members)
{
    for (size_t i = 0; i < members->slots.count; i++) {
        struct tree_member *member = tree_member_at(members, i);
        if (member->pid == 0)
            continue;
        member->parent = tree_members_find(members, member->parent_pid);
        member->first_child = member->next_sibling = TREE_NOBODY;
    }
    /* From the last to the first, so that siblings come out in the order of their slots. */
    for (size_t i = members->slots.count; i-- > 0;) {
        struct tree_member *member = tree_member_at(members, i);
        if (member->pid == 0 || member->parent == TREE_NOBODY)
            continue;
        struct tree_member *parent = tree_member_at(members, member->parent);
        member->next_sibling = parent->first_child;
        parent->first_child = i;
    }
}

void tree_members_sort(struct tree_members *members)
{
    members->order.count = 0;
    members->is_order_stale = false;
    find_parents(members);
    for (size_t i = 0; i < members->slots.count; i++) {
        const struct tree_member *member = tree_member_at(members, i);
        if (member->pid != 0 && member->parent == TREE_NOBODY)
            members->order.items[members->order.count++] = i;
    }
    /* The order is its own queue. Whoever is missing belongs to a loop, which only broken data has. */
    for (size_t i = 0; i < members->order.count; i++) {
        size_t child = tree_member_at(members, members->order.items[i])->first_child;
        for (; child != TREE_NOBODY; child = tree_member_at(members, child)->next_sibling)
            members->order.items[members->order.count++] = child;
    }
}
