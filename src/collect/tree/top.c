/* SPDX-License-Identifier: Apache-2.0 */
/* See top.h. Command lines are read once, and again where the name or the stack show that another program was executed.
 */
#include "collect/tree/top.h"

#include <errno.h>
#include <string.h>

/* A rise of less than this waits, so that a tree that grows slowly is not listed at every tick. */
enum { RISE_PCT = 2 };

#define NO_LABEL SIZE_MAX

/* Not one whose memory counts in its parent. */
static bool is_listed(const struct tree_member *member)
{
    const struct tree_memory *memory = &member->memory;
    return member->has_stat && !member->is_hidden && !member->has_ended && !pid_stat_is_dead(&member->stat) &&
           (memory->rss_pages > 0 || memory->resident_pages == 0);
}

static uint64_t own_cpu_ns(const struct tree_reader *reader, const struct tree_member *member)
{
    uint64_t tick_ns = (uint64_t)(NS_PER_SEC / reader->env->ticks_per_sec);
    return member->cpu_ns.has ? member->cpu_ns.v : (member->stat.user_ticks + member->stat.system_ticks) * tick_ns;
}

static bool is_of(const struct tree_label *label, const struct tree_member *member)
{
    return label->pid == member->pid && label->start_ticks == member->stat.start_ticks;
}

static size_t find_label(const struct tree_top *top, const struct tree_member *member)
{
    for (size_t i = 0; i < TREE_TOP_LABELS; i++) {
        if (is_of(&top->labels[i], member))
            return i;
    }
    return NO_LABEL;
}

/* There is one: the two lists hold no more than there are. */
static size_t free_label(const struct tree_top *top)
{
    size_t i = 0;
    while (i + 1 < TREE_TOP_LABELS && (top->labels[i].is_ranked || top->labels[i].is_listed))
        i++;
    return i;
}

/* Its label, new or as it is now: after an exec the command line is to be read again. */
static size_t label_of(struct tree_top *top, const struct tree_member *member)
{
    size_t at = find_label(top, member);
    const struct pid_stat *stat = &member->stat;
    bool is_new = at == NO_LABEL;
    if (is_new)
        at = free_label(top);
    struct tree_label *label = &top->labels[at];
    if (!is_new && label->stack_start == stat->stack_start && strcmp(label->name, stat->name) == 0)
        return at;
    /* One that ends has no memory left to read; what was known of it holds. */
    if (!is_new && (pid_stat_is_leader_dead(stat) || stat->vsize_bytes == 0))
        return at;
    bool is_ranked = !is_new && label->is_ranked, is_in_list = !is_new && label->is_listed;
    label->pid = member->pid;
    label->start_ticks = stat->start_ticks;
    label->stack_start = stat->stack_start;
    label->is_ranked = is_ranked;
    label->is_listed = is_in_list;
    label->is_read = label->has_command = false;
    memcpy(label->name, stat->name, sizeof(label->name));
    top->has_unread = true;
    return at;
}

static bool goes_before(uint64_t value, pid_t pid, uint64_t other_value, pid_t other_pid)
{
    return value != other_value ? value > other_value : pid < other_pid;
}

/* Keeps the largest, in order; returns how many there are then. */
static size_t insert_largest(const struct tree_member *largest[], size_t count, const struct tree_member *member)
{
    size_t at = count;
    while (at > 0 && largest[at - 1]->memory.rss_pages < member->memory.rss_pages)
        at--;
    if (at == TREE_TOP_COUNT)
        return count;
    size_t kept = count < TREE_TOP_COUNT ? count : TREE_TOP_COUNT - 1;
    for (size_t i = kept; i > at; i--)
        largest[i] = largest[i - 1];
    largest[at] = member;
    return kept + 1;
}

static void list_largest(struct tree_top *top, const struct tree_reader *reader, const struct tree_members *members)
{
    const struct tree_member *largest[TREE_TOP_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < members->order.count; i++) {
        const struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (is_listed(member))
            count = insert_largest(largest, count, member);
    }
    /* Labels of before that are still needed are kept before new ones take the free slots. */
    for (size_t i = 0; i < TREE_TOP_LABELS; i++)
        top->labels[i].is_listed = false;
    for (size_t i = 0; i < count; i++) {
        size_t at = find_label(top, largest[i]);
        if (at != NO_LABEL)
            top->labels[at].is_listed = true;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = label_of(top, largest[i]);
        top->labels[at].is_listed = true;
        top->largest[i] = (struct tree_top_entry){.label = at,
            .pid = largest[i]->pid,
            .rss_pages = some_u64(largest[i]->memory.rss_pages),
            .cpu_ns = own_cpu_ns(reader, largest[i])};
    }
    top->largest_count = count;
}

/* Up to where it belongs, others after it. */
static void move_up(struct tree_top *top, size_t at)
{
    struct tree_top_entry entry = top->ranked[at];
    for (; at > 0 && goes_before(entry.cpu_ns, entry.pid, top->ranked[at - 1].cpu_ns, top->ranked[at - 1].pid); at--)
        top->ranked[at] = top->ranked[at - 1];
    top->ranked[at] = entry;
}

/* A place at the end of the ranking, without a label. */
static size_t add_ranked(struct tree_top *top)
{
    if (top->ranked_count < TREE_TOP_COUNT)
        top->ranked_count++;
    else if (top->ranked[TREE_TOP_COUNT - 1].label != NO_LABEL)
        top->labels[top->ranked[TREE_TOP_COUNT - 1].label].is_ranked = false;
    top->ranked[top->ranked_count - 1] = (struct tree_top_entry){.label = NO_LABEL};
    return top->ranked_count - 1;
}

static size_t find_ranked(const struct tree_top *top, const struct tree_member *member)
{
    size_t i = 0;
    while (i < top->ranked_count &&
           (top->ranked[i].label == NO_LABEL || !is_of(&top->labels[top->ranked[i].label], member)))
        i++;
    return i;
}

static bool is_ranked_above_last(const struct tree_top *top, uint64_t cpu_ns, pid_t pid)
{
    const struct tree_top_entry *last = &top->ranked[TREE_TOP_COUNT - 1];
    return top->ranked_count < TREE_TOP_COUNT || goes_before(cpu_ns, pid, last->cpu_ns, last->pid);
}

static void rank_member(struct tree_top *top, const struct tree_member *member, uint64_t cpu_ns)
{
    size_t at = find_ranked(top, member);
    if (at == top->ranked_count)
        at = add_ranked(top);
    struct tree_top_entry *entry = &top->ranked[at];
    entry->label = label_of(top, member);
    top->labels[entry->label].is_ranked = true;
    entry->pid = member->pid;
    entry->cpu_ns = cpu_ns;
    if (member->memory.rss_pages > 0)
        entry->rss_pages = some_u64(member->memory.rss_pages);
    move_up(top, at);
}

/* The root as it was last seen, or as it was started where no tick has read its command line. */
static size_t label_of_command(struct tree_top *top, const struct tracked *tracked)
{
    for (size_t i = 0; i < TREE_TOP_LABELS; i++) {
        if (top->labels[i].pid == tracked->root && top->labels[i].is_read) {
            top->labels[i].is_ranked = true;
            return i;
        }
    }
    if (!tracked->root_program)
        return NO_LABEL;
    size_t at = free_label(top);
    struct tree_label *label = &top->labels[at];
    const char *slash = strrchr(tracked->root_program, '/');
    *label = (struct tree_label){.pid = tracked->root, .is_ranked = true, .is_read = true};
    (void)str_copy(str_of(slash ? slash + 1 : tracked->root_program), label->name, sizeof(label->name));
    label->has_command = tracked->root_command;
    if (label->has_command)
        (void)str_copy(str_of(tracked->root_command), label->command, sizeof(label->command));
    return at;
}

/* What the root has used at its end is known exactly, whatever was seen of it. */
static void rank_root(struct tree_top *top, const struct tracked *tracked)
{
    if (!tracked->root_cpu_ns.has)
        return;
    uint64_t cpu_ns = tracked->root_cpu_ns.v;
    size_t at = 0;
    while (at < top->ranked_count && top->ranked[at].pid != tracked->root)
        at++;
    if (at == top->ranked_count) {
        if (!is_ranked_above_last(top, cpu_ns, tracked->root))
            return;
        at = add_ranked(top);
        top->ranked[at].pid = tracked->root;
        top->ranked[at].label = label_of_command(top, tracked);
    }
    if (cpu_ns > top->ranked[at].cpu_ns)
        top->ranked[at].cpu_ns = cpu_ns;
    move_up(top, at);
}

/* One that was not read since has not run. */
static void rank_members(
    struct tree_top *top, struct tree_reader *reader, const struct tree_members *members, int64_t now_ns)
{
    const struct tracked *tracked = reader->env->tracked;
    for (size_t i = 0; i < members->order.count; i++) {
        const struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (member->stat_ns <= top->ranked_ns || !member->has_stat || member->is_hidden)
            continue;
        uint64_t cpu_ns = counter_delta(member->cpu_before_ns, own_cpu_ns(reader, member));
        if (is_ranked_above_last(top, cpu_ns, member->pid))
            rank_member(top, member, cpu_ns);
    }
    top->has_root = top->has_root || tree_members_find(members, tracked->root) != TREE_NONE;
    rank_root(top, tracked);
    top->ranked_ns = now_ns;
}

/* The process of a label, where it is there now, and not another one by the same number. */
static const struct tree_member *process_of(const struct tree_label *label, const struct tree_members *members)
{
    size_t slot = tree_members_find(members, label->pid);
    if (slot == TREE_NONE)
        return NULL;
    const struct tree_member *member = tree_member_at(members, slot);
    bool can_be_read = !member->is_hidden && !member->has_ended && !pid_stat_is_dead(&member->stat);
    return is_of(label, member) && can_be_read ? member : NULL;
}

/* Returns how many files were opened. */
static size_t read_label(
    struct tree_label *label, struct tree_reader *reader, const struct tree_members *members, int64_t now_ns)
{
    const struct collect_env *env = reader->env;
    const struct tree_member *member = env->describe_command ? process_of(label, members) : NULL;
    label->is_read = !member;
    /* Before its exec a child has the command line of what made it: the command has ours. */
    bool is_newborn = member && member->stat.has_not_execed &&
                      (member->first_ns == now_ns || (label->pid == env->tracked->root && !env->tracked->attached));
    if (!member || is_newborn)
        return 0;
    const char *text;
    ssize_t n = tree_read_command(reader, label->pid, &text);
    if (n == -ETIMEDOUT)
        return 0;
    label->is_read = true;
    /* A kernel thread has none. */
    label->has_command = n > 0 && env->describe_command(env->describe_context, (struct str){text, (size_t)n},
                                      n == TREE_TEXT_BYTES, label->command, sizeof(label->command)) == 0;
    return 1;
}

/* Those that go out with this sample first. */
static void read_labels(
    struct tree_top *top, struct tree_reader *reader, const struct tree_members *members, int64_t now_ns)
{
    size_t reads = 0;
    bool has_unread = false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < TREE_TOP_LABELS; i++) {
            struct tree_label *label = &top->labels[i];
            if (label->is_read || !(pass == 0 ? label->is_listed : label->is_ranked))
                continue;
            if (reads < TREE_TOP_READS_MAX)
                reads += read_label(label, reader, members, now_ns);
            has_unread |= !label->is_read;
        }
    }
    top->has_unread = has_unread;
}

void tree_top_baseline(const struct tree_reader *reader, const struct tree_members *members)
{
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        member->cpu_before_ns = own_cpu_ns(reader, member);
    }
}

void tree_top_read(struct tree_top *top, struct tree_reader *reader, const struct tree_members *members,
    uint64_t rss_pages, int64_t now_ns)
{
    bool is_high = rss_pages > top->listed_pages + top->listed_pages * RISE_PCT / 100;
    top->high_pages = is_high ? rss_pages : 0;
    rank_members(top, reader, members, now_ns);
    if (is_high)
        list_largest(top, reader, members);
    if (top->has_unread)
        read_labels(top, reader, members, now_ns);
}

static struct sample_list items_of(const struct tree_top *top, const struct collect_env *env,
    const struct tree_top_entry *entries, size_t count, struct sample_process *items)
{
    for (size_t i = 0; i < count; i++) {
        const struct tree_top_entry *entry = &entries[i];
        const struct tree_label *label = entry->label != NO_LABEL ? &top->labels[entry->label] : NULL;
        items[i] = (struct sample_process){
            .pid = some_u64((uint64_t)entry->pid),
            .name = label ? label->name : NULL,
            .command = label && label->has_command ? label->command : NULL,
            .cpu_secs = some_f64((double)entry->cpu_ns / 1e9),
        };
        if (entry->rss_pages.has)
            items[i].rss_mib = some_f64((double)entry->rss_pages.v * (double)env->page_bytes / BYTES_PER_MIB);
    }
    return (struct sample_list){.present = true, .count = count, .items = items};
}

void tree_top_fill(struct tree_top *top, const struct collect_env *env, const struct tree_members *members,
    bool is_last, struct sample *sample)
{
    if (top->high_pages > 0) {
        top->listed_pages = top->high_pages;
        sample->processes = items_of(top, env, top->largest, top->largest_count, top->largest_items);
    }
    if (!is_last)
        return;
    bool is_root_missing = !top->has_root && !env->tracked->attached;
    sample->end.processes_seen = some_u64(members->added + (is_root_missing ? 1 : 0));
    sample->end.processes_by_cpu = items_of(top, env, top->ranked, top->ranked_count, top->ranked_items);
}
