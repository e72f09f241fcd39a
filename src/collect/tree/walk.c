/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/walk.h"

#include <errno.h>

/* Fewer births than the smallest range of PIDs holds: an unchanged newest PID then means that none was ours. */
enum { FORKS_NO_WRAP = 256, PASSES_MAX = 3 };

void tree_walk_open(struct tree_walk *walk, const struct collect_env *env, struct tree_group *group)
{
    *walk = (struct tree_walk){.env = env, .group = group};
    tree_members_init(&walk->members);
    tree_reader_init(&walk->reader, env);
    tree_finder_init(&walk->finder, &walk->reader, &walk->members);
    /* Whatever descends from a group that we attach to may have left it: its list is all that counts. */
    walk->reader.has_no_children = group && group->has_below;
}

void tree_walk_close(struct tree_walk *walk)
{
    for (size_t i = 0; i < walk->members.slots.count; i++) {
        struct tree_member *member = tree_member_at(&walk->members, i);
        if (member->pid != 0)
            tree_release_files(&walk->reader, member);
    }
    tree_finder_fini(&walk->finder);
    tree_reader_fini(&walk->reader);
    tree_members_fini(&walk->members);
}

static bool is_same(struct opt_u64 a, struct opt_u64 b)
{
    return a.has && b.has && a.v == b.v;
}

void tree_walk_baseline(struct tree_walk *walk, struct opt_u64 forks)
{
    walk->forks = forks;
}

/*
 * Can a process have been born into the tree since the last tick? The newest PID is that of our own PID namespace; it
 * is read a little later than the births, so it must have stayed the same for two ticks to say anything. Some kernels
 * have a counter that stands still: it is trusted once it has moved, and never for longer than COLLECT_SLOW_NS.
 */
static bool is_gate_open(struct tree_walk *walk, struct opt_u64 forks, struct opt_u64 last_pid, int64_t now_ns)
{
    uint64_t births = forks.v - walk->forks.v;
    bool are_known = forks.has && walk->forks.has, had_births = walk->had_births;
    walk->are_births_counted |= are_known && births > 0;
    walk->had_births =
        are_known && births > 0 &&
        (births >= FORKS_NO_WRAP || !is_same(last_pid, walk->last_pids[0]) || !is_same(last_pid, walk->last_pids[1]));
    return !walk->has_begun || walk->finder.is_incomplete || !are_known || !walk->are_births_counted ||
           walk->had_births || had_births || now_ns - walk->gate_ns >= COLLECT_SLOW_NS;
}

static void read_own_account(struct tree_walk *walk)
{
    const struct tracked_usage *used = &walk->env->tracked->reaped;
    struct ledger_reading reading = {
        .value = {(used->user_us + used->system_us) * 1000, used->user_us * 1000, used->read_bytes, used->write_bytes,
            used->major_faults},
        .known = {true, true, true, true, true},
    };
    for (int i = 0; i < FLOWS; i++)
        reading.intake[i] = reading.value[i];
    ledger_update(&walk->tracker, &reading);
}

/* Those we have waited for ourselves: then it is certain what inherited from them. */
static void mark_reaped(struct tree_walk *walk)
{
    const struct tracked *tracked = walk->env->tracked;
    uint64_t earlier = tracked->reaped_pids.earlier;
    size_t first = walk->reaped_seen > earlier ? (size_t)(walk->reaped_seen - earlier) : 0;
    for (size_t i = first; i < tracked->reaped_pids.count; i++) {
        size_t slot = tree_members_find(&walk->members, tracked->reaped_pids.items[i]);
        if (slot == TREE_NONE)
            continue;
        tree_member_at(&walk->members, slot)->is_gone = true;
        tree_member_at(&walk->members, slot)->is_reaped = true;
    }
    walk->reaped_seen = earlier + tracked->reaped_pids.count;
}

/* The root of a tree that was there before us has a parent we know nothing of. */
static void add_root(struct tree_walk *walk, int64_t now_ns)
{
    const struct tracked *tracked = walk->env->tracked;
    if (!walk->has_begun || !tracked->attached)
        tree_find_root(&walk->finder, tracked->root, now_ns);
}

/*
 * Of a group that we attach to, a process that is not in the list any more is no member, unless it is about to end:
 * then its last numbers count, and it is gone by itself. Any process may enter at any time, so it is listed at every
 * tick.
 */
static void drop_unlisted(struct tree_walk *walk, const pid_t *pids, size_t count, int64_t now_ns)
{
    struct tree_members *members = &walk->members;
    walk->finder.is_incomplete = true;
    for (size_t i = 0; i < count; i++) {
        size_t slot = tree_members_find(members, pids[i]);
        if (slot != TREE_NONE)
            tree_member_at(members, slot)->found_ns = now_ns;
    }
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        member->is_gone |= member->found_ns < walk->gate_ns;
    }
}

static void find_from_above(struct tree_walk *walk, int64_t now_ns)
{
    const struct tracked *tracked = walk->env->tracked;
    const pid_t *pids;
    size_t count;
    add_root(walk, now_ns);
    if (!tracked->attached)
        tree_find_orphans(&walk->finder, now_ns);
    if (!walk->group || tree_group_members(walk->group, &pids, &count) < 0)
        return;
    size_t before = walk->members.live;
    for (size_t i = 0; i < count; i++)
        tree_find_listed(&walk->finder, pids[i], now_ns);
    /* The list has no order. */
    if (walk->members.live != before)
        tree_members_sort(&walk->members);
    if (walk->group->has_below)
        drop_unlisted(walk, pids, count, now_ns);
}

/* A member's parent has ended and another has adopted it. True where that one is still to be read: then the
 * order is wrong, and amounts could be seen twice. */
static bool follow_parent(struct tree_walk *walk, struct tree_member *member, int64_t now_ns)
{
    if (!member->has_stat || member->is_hidden || member->stat_ns != now_ns)
        return false;
    member->is_orphan = false;
    if ((pid_t)member->stat.parent == member->parent_pid)
        return false;
    member->parent_pid = (pid_t)member->stat.parent;
    member->parent = tree_members_find(&walk->members, member->parent_pid);
    walk->members.is_order_stale = true;
    if (member->parent == TREE_NONE)
        return false;
    const struct tree_member *parent = tree_member_at(&walk->members, member->parent);
    return !parent->is_gone && parent->pass != walk->pass;
}

static bool wants_children(const struct tree_walk *walk, const struct tree_member *member, int64_t now_ns)
{
    /* Where a walk was abandoned, lists of children may have been read and not followed. */
    return !walk->reader.has_no_children &&
           (member->has_run || walk->is_restarted || now_ns - member->found_ns >= COLLECT_SLOW_NS);
}

/* All from this position of the order on, those included that are found on the way. */
static bool read_from(struct tree_walk *walk, size_t first, bool finds_new, int64_t now_ns)
{
    struct tree_members *members = &walk->members;
    bool in_order = true;
    for (size_t i = first; i < members->order.count; i++) {
        size_t slot = members->order.items[i];
        struct tree_member *member = tree_member_at(members, slot);
        if (member->is_gone)
            continue;
        member->is_gone = tree_read_member(&walk->reader, member, now_ns, members->live <= TREE_SMALL) == -ESRCH;
        member->pass = walk->pass;
        walk->finder.is_incomplete |= walk->reader.saw_reuse;
        if (member->is_gone)
            continue;
        in_order &= !follow_parent(walk, member, now_ns);
        if (finds_new && wants_children(walk, member, now_ns) &&
            tree_find_children(&walk->finder, slot, now_ns) == -ENOENT)
            walk->reader.has_no_children = true;
    }
    return in_order;
}

/* Returns false where the order proved wrong. */
static bool read_members(
    struct tree_walk *walk, bool finds_new, struct opt_u64 forks, struct opt_u64 last_pid, int64_t now_ns)
{
    walk->pass++;
    bool in_order = read_from(walk, 0, finds_new, now_ns);
    size_t known = walk->members.order.count;
    if (!finds_new)
        return in_order;
    if (walk->reader.has_no_children)
        tree_find_scan(&walk->finder, forks.has ? forks.v : 0, now_ns);
    else if (walk->finder.has_unread_threads)
        tree_find_newborn(&walk->finder, walk->last_pids[1], last_pid, now_ns);
    return read_from(walk, known, !walk->reader.has_no_children, now_ns) && in_order;
}

/*
 * What inherits from a member that is gone. Its parent waits for it; where that is gone too, it may have done so
 * before, or a process further up has adopted the orphan.
 */
static void close_account(struct tree_walk *walk, const struct tree_member *member)
{
    const struct tracked *tracked = walk->env->tracked;
    const struct tree_member *last = member; /* the highest one that is gone */
    size_t parent = member->is_reaped ? TREE_NONE : member->parent;
    for (size_t i = 0; parent != TREE_NONE && i < walk->members.live; i++) {
        if (!tree_member_at(&walk->members, parent)->is_gone)
            break;
        last = tree_member_at(&walk->members, parent);
        parent = last->is_reaped ? TREE_NONE : last->parent;
    }
    struct ledger_account *above = NULL;
    bool is_certain = last == member && !member->is_orphan;
    if (parent != TREE_NONE) {
        const struct tree_member *heir = tree_member_at(&walk->members, parent);
        above = &tree_member_at(&walk->members, parent)->account;
        /* A zombie waits for none: its child was adopted further up. */
        is_certain &= !pid_stat_is_dead(&heir->stat);
    }
    if (!above && (last->is_reaped || (!tracked->attached && last->parent_pid == tracked->tracker)))
        above = &walk->tracker;
    if (above && !member->is_reaped && !is_certain)
        ledger_close_unattributed(&member->account, above);
    else
        ledger_close(&walk->ledger, &member->account, above);
}

static bool has_unattributed(const struct ledger_account *account)
{
    uint64_t any = 0;
    for (int i = 0; i < FLOWS; i++)
        any |= account->unattributed[i] | account->unattributed_new[i];
    return any != 0;
}

/* Any process from the nearest to the top may have inherited it. */
static void settle_unattributed(struct tree_walk *walk, struct tree_member *member)
{
    struct tree_member *source = member;
    for (size_t i = 0; i <= walk->members.live; i++) {
        ledger_attribute(&member->account, &source->account);
        if (source->parent == TREE_NONE)
            break;
        source = tree_member_at(&walk->members, source->parent);
    }
    ledger_attribute(&member->account, &walk->tracker);
    ledger_settle_unattributed(&walk->ledger, &member->account);
}

static void settle_accounts(struct tree_walk *walk)
{
    struct tree_members *members = &walk->members;
    ledger_settle(&walk->ledger, &walk->tracker);
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (!member->is_gone)
            ledger_settle(&walk->ledger, &member->account);
    }
    ledger_attribute(&walk->tracker, &walk->tracker);
    ledger_settle_unattributed(&walk->ledger, &walk->tracker);
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (!member->is_gone && has_unattributed(&member->account))
            settle_unattributed(walk, member);
    }
}

static void close_accounts(struct tree_walk *walk, int64_t now_ns)
{
    struct tree_members *members = &walk->members;
    bool any_gone = false;
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (member->is_gone) {
            close_account(walk, member);
            if (walk->reader.history)
                tree_history_end(&walk->reader, members, member, now_ns);
        }
        any_gone |= member->is_gone;
    }
    settle_accounts(walk);
    if (any_gone)
        tree_members_relink(members);
    for (size_t i = 0; any_gone && i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (!member->is_gone)
            continue;
        tree_release_files(&walk->reader, member);
        tree_members_remove(members, members->order.items[i]);
    }
    if (members->is_order_stale)
        tree_members_sort(members);
}

/* A tick begins for all accounts. One with pending amounts must be read, and those above, which may cover them. */
static void begin_accounts(struct tree_walk *walk)
{
    struct tree_members *members = &walk->members;
    ledger_begin(&walk->tracker);
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        ledger_begin(&member->account);
        member->is_pending = false;
    }
    for (size_t i = members->order.count; i-- > 0;) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        member->is_pending |= ledger_has_pending(&member->account);
        if (member->is_pending && member->parent != TREE_NONE)
            tree_member_at(members, member->parent)->is_pending = true;
    }
}

void tree_walk_tick(
    struct tree_walk *walk, struct opt_u64 forks, struct opt_u64 last_pid, int64_t now_ns, uint64_t ret_growth[FLOWS])
{
    struct tree_members *members = &walk->members;
    bool finds_new = walk->is_in_tick || is_gate_open(walk, forks, last_pid, now_ns);
    walk->finder.is_incomplete = false;
    walk->finder.has_unread_threads = false;
    walk->reader.saw_reuse = false;
    walk->is_restarted = walk->is_in_tick;
    if (!walk->is_in_tick)
        begin_accounts(walk);
    walk->is_in_tick = true;
    read_own_account(walk);
    mark_reaped(walk);
    if (finds_new) {
        find_from_above(walk, now_ns);
        walk->gate_ns = now_ns;
    }
    for (int i = 0; i < PASSES_MAX && !read_members(walk, finds_new, forks, last_pid, now_ns); i++)
        tree_members_sort(members);
    close_accounts(walk, now_ns);
    ledger_pop_growth(&walk->ledger, ret_growth);
    walk->forks = forks;
    walk->last_pids[1] = walk->last_pids[0];
    walk->last_pids[0] = last_pid;
    walk->has_begun = true;
    walk->is_in_tick = false;
}
