/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/vec.h"

void ledger_begin(struct ledger_account *account)
{
    account->is_fresh = false;
    account->is_chain_fresh = true;
    for (int i = 0; i < FLOWS; i++) {
        account->pending[i] += account->pending_new[i];
        account->pending_new[i] = 0;
        account->unattributed[i] += account->unattributed_new[i];
        account->unattributed_new[i] = 0;
        account->growth[i] = 0;
    }
}

bool ledger_has_pending(const struct ledger_account *account)
{
    uint64_t any = 0;
    for (int i = 0; i < FLOWS; i++)
        any |= account->pending[i] | account->pending_new[i] | account->unattributed[i] | account->unattributed_new[i];
    return any != 0;
}

void ledger_update(struct ledger_account *account, const struct ledger_reading *reading)
{
    account->is_fresh = true;
    for (int i = 0; i < FLOWS; i++) {
        account->known[i] = reading->known[i];
        if (!reading->known[i])
            continue;
        account->growth[i] += counter_delta(account->intake[i], reading->intake[i]);
        account->value[i] = reading->value[i];
        account->intake[i] = reading->intake[i];
        account->settled[i] = reading->settled[i];
    }
}

void ledger_close(struct ledger *ledger, const struct ledger_account *account, struct ledger_account *parent)
{
    for (int i = 0; i < FLOWS; i++) {
        uint64_t amount = account->settled[i] + account->pending[i] + account->pending_new[i];
        uint64_t unattributed = account->unattributed[i] + account->unattributed_new[i];
        if (parent) {
            parent->pending_new[i] += amount;
            parent->unattributed_new[i] += unattributed;
        } else {
            ledger->lost[i] += amount + unattributed;
        }
    }
}

void ledger_close_unattributed(const struct ledger_account *account, struct ledger_account *nearest)
{
    for (int i = 0; i < FLOWS; i++)
        nearest->unattributed_new[i] += account->settled[i] + account->pending[i] + account->pending_new[i] +
                                        account->unattributed[i] + account->unattributed_new[i];
}

static void cover(uint64_t *pending, uint64_t *growth)
{
    uint64_t covered = *pending < *growth ? *pending : *growth;
    *pending -= covered;
    *growth -= covered;
}

void ledger_settle(struct ledger *ledger, struct ledger_account *account)
{
    for (int i = 0; i < FLOWS; i++) {
        cover(&account->pending[i], &account->growth[i]);
        cover(&account->pending_new[i], &account->growth[i]);
        /* Where the intake was not seen, it is not known what was covered: it stays pending. */
        if (account->known[i] && account->is_fresh) {
            ledger->lost[i] += account->pending[i];
            account->pending[i] = 0;
        }
        ledger->sum[i] += account->value[i] + account->pending[i] + account->pending_new[i];
    }
}

void ledger_attribute(struct ledger_account *account, struct ledger_account *source)
{
    account->is_chain_fresh &= source->is_fresh;
    for (int i = 0; i < FLOWS; i++) {
        cover(&account->unattributed[i], &source->growth[i]);
        cover(&account->unattributed_new[i], &source->growth[i]);
    }
}

void ledger_settle_unattributed(struct ledger *ledger, struct ledger_account *account)
{
    for (int i = 0; i < FLOWS; i++) {
        if (account->known[i] && account->is_chain_fresh) {
            ledger->lost[i] += account->unattributed[i];
            account->unattributed[i] = 0;
        }
        ledger->sum[i] += account->unattributed[i] + account->unattributed_new[i];
    }
}

void ledger_pop_growth(struct ledger *ledger, uint64_t ret_growth[FLOWS])
{
    for (int i = 0; i < FLOWS; i++) {
        uint64_t total = ledger->sum[i] + ledger->lost[i];
        ret_growth[i] = counter_delta(ledger->mark[i], total);
        ledger->mark[i] += ret_growth[i];
        ledger->sum[i] = 0;
    }
}

enum { INDEX_FIRST = 64 };

void tree_members_init(struct tree_members *members)
{
    *members = (struct tree_members){.free_slot = TREE_NONE};
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
        return TREE_NONE;
    size_t slot = *chain_of(members, pid);
    while (slot != TREE_NONE && tree_member_at(members, slot)->pid != pid)
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
        members->index.items[i] = TREE_NONE;
    for (size_t i = 0; i < members->slots.count; i++) {
        if (tree_member_at(members, i)->pid != 0)
            index_put(members, i);
    }
    return 0;
}

static size_t pop_slot(struct tree_members *members)
{
    size_t slot = members->free_slot;
    if (slot != TREE_NONE) {
        members->free_slot = tree_member_at(members, slot)->next;
        return slot;
    }
    if (VEC_GROW(&members->slots, members->slots.count + 1, TREE_MEMBERS_MAX) < 0)
        return TREE_NONE;
    return members->slots.count++;
}

size_t tree_members_add(struct tree_members *members, pid_t pid, size_t parent)
{
    if (VEC_GROW(&members->order, members->live + 1, TREE_MEMBERS_MAX) < 0 || index_grow(members) < 0)
        return TREE_NONE;
    size_t slot = pop_slot(members);
    if (slot == TREE_NONE)
        return TREE_NONE;
    *tree_member_at(members, slot) = (struct tree_member){.pid = pid,
        .parent = parent,
        .fds = {-1, -1, -1, -1},
        .threads = {.task_fd = -1},
        .wait.first.fd = -1,
        .memory.head = TREE_NONE,
        .has_run = true};
    if (parent != TREE_NONE)
        tree_member_at(members, slot)->parent_pid = tree_member_at(members, parent)->pid;
    index_put(members, slot);
    members->order.items[members->order.count++] = slot;
    members->live++;
    members->added++;
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

void tree_members_relink(struct tree_members *members)
{
    for (size_t i = 0; i < members->slots.count; i++) {
        struct tree_member *member = tree_member_at(members, i);
        if (member->pid == 0 || member->is_gone)
            continue;
        for (size_t steps = 0; member->parent != TREE_NONE && steps <= members->live; steps++) {
            const struct tree_member *parent = tree_member_at(members, member->parent);
            if (!parent->is_gone)
                break;
            member->parent = parent->parent;
            member->parent_pid = parent->parent_pid;
            member->is_orphan = true;
        }
    }
}

static void link_children(struct tree_members *members)
{
    for (size_t i = 0; i < members->slots.count; i++) {
        struct tree_member *member = tree_member_at(members, i);
        if (member->pid != 0 && member->parent == TREE_NONE)
            member->parent = tree_members_find(members, member->parent_pid);
        member->first_child = member->next_sibling = TREE_NONE;
        member->is_sorted = false;
    }
    /* From the last to the first, so that siblings come out in the order of their slots. */
    for (size_t i = members->slots.count; i-- > 0;) {
        struct tree_member *member = tree_member_at(members, i);
        if (member->pid == 0 || member->parent == TREE_NONE)
            continue;
        struct tree_member *parent = tree_member_at(members, member->parent);
        member->next_sibling = parent->first_child;
        parent->first_child = i;
    }
}

/* The order is its own queue. */
static void append_with_children(struct tree_members *members, size_t slot)
{
    size_t i = members->order.count;
    members->order.items[members->order.count++] = slot;
    tree_member_at(members, slot)->is_sorted = true;
    for (; i < members->order.count; i++) {
        size_t child = tree_member_at(members, members->order.items[i])->first_child;
        for (; child != TREE_NONE; child = tree_member_at(members, child)->next_sibling) {
            if (tree_member_at(members, child)->is_sorted)
                continue;
            tree_member_at(members, child)->is_sorted = true;
            members->order.items[members->order.count++] = child;
        }
    }
}

void tree_members_sort(struct tree_members *members)
{
    members->order.count = 0;
    members->is_order_stale = false;
    link_children(members);
    for (size_t i = 0; i < members->slots.count; i++) {
        const struct tree_member *member = tree_member_at(members, i);
        if (member->pid != 0 && member->parent == TREE_NONE)
            append_with_children(members, i);
    }
    /* What is missing belongs to a loop: a PID that was given out again can seem to be its own ancestor. */
    for (size_t i = 0; members->order.count < members->live && i < members->slots.count; i++) {
        struct tree_member *member = tree_member_at(members, i);
        if (member->pid == 0 || member->is_sorted)
            continue;
        member->parent = TREE_NONE;
        append_with_children(members, i);
    }
}
