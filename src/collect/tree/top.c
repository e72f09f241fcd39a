/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest processes of the tree, and those with the most CPU time. Command lines are read once, and again where the
 * name or the stack show that another program was executed.
 */
#include "base/num.h"
#include "collect/tree/walk.h"

#include <errno.h>
#include <string.h>

enum {
    RISE_PCT = 2, /* less waits, so that a tree that grows slowly is not listed at every tick */
    PEAK_PAGES_MIN = 2048, /* that came and went within a tick */
    PEAK_FAULTS_SHARE = 8, /* by so much of what they were minor faults grow until the peak is read again */
    PEAK_READS_MAX = 4, /* in one tick */
};

#define NO_LABEL SIZE_MAX

/* Not one whose memory counts in its parent. */
static bool is_listed(const struct tree_member *member)
{
    const struct tree_memory *memory = &member->memory;
    return member->has_stat && !member->is_hidden && !member->has_ended && !pid_stat_is_dead(&member->stat) &&
           (memory->rss_pages > 0 || memory->resident_pages == 0);
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
            .cpu_ns = tree_own_cpu_ns(reader->env, largest[i])};
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

void tree_root_name(const struct tracked *tracked, char name[static PID_NAME_BYTES])
{
    const char *slash = strrchr(tracked->root_program, '/');
    (void)str_copy(str_of(slash ? slash + 1 : tracked->root_program), name, PID_NAME_BYTES);
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
    *label = (struct tree_label){.pid = tracked->root, .is_ranked = true, .is_read = true};
    tree_root_name(tracked, label->name);
    label->has_command = tracked->root_command;
    if (label->has_command)
        (void)str_copy(str_of(tracked->root_command), label->command, sizeof(label->command));
    return at;
}

static bool is_rise(uint64_t pages, uint64_t before)
{
    return pages > before + before * RISE_PCT / 100;
}

/*
 * Can it have had more than the tree in any tick, and given it back? Every page costs a minor fault (huge pages do not:
 * those stay unseen until it ends). One that does so all the time is read ever less often.
 */
static bool may_have_peaked(const struct tree_top *top, struct tree_member *member)
{
    uint64_t faults = member->stat.minor_faults, pages = member->memory.resident_pages;
    uint64_t more = counter_delta(member->peak.faults, faults), high = member->peak.pages + more;
    uint64_t kept = counter_delta(member->peak.pages, pages);
    member->peak.faults = faults;
    member->peak.pages = pages;
    bool is_due = faults >= member->peak.read_faults + member->peak.read_faults / PEAK_FAULTS_SHARE;
    return more >= kept + PEAK_PAGES_MIN && is_rise(high, top->listed_pages) && is_due && is_listed(member);
}

/* Before the members are ranked: those that were read in this tick. */
static void find_peaks(struct tree_top *top, struct tree_reader *reader, const struct tree_members *members)
{
    size_t reads = 0;
    /* One that we attach to may have had it before. */
    for (size_t i = 0; !reader->env->tracked->attached && i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (reads == PEAK_READS_MAX || member->stat_ns <= top->ranked_ns || !member->has_stat || member->is_hidden ||
            !may_have_peaked(top, member))
            continue;
        reads++;
        member->peak.read_faults = member->stat.minor_faults;
        struct opt_u64 kib = tree_read_peak_kib(reader, member->pid);
        uint64_t pages = kib.v / ((uint64_t)reader->env->page_bytes / 1024);
        if (!kib.has || pages <= top->peak.pages)
            continue;
        top->peak.pid = member->pid;
        top->peak.pages = pages;
        if (kib.v * 1024 > reader->env->tree->largest_rss_bytes)
            reader->env->tree->largest_rss_bytes = kib.v * 1024;
    }
}

/* Puts a process with its highest memory before the largest, in the place that it had among them or of the last. */
static void list_first(struct tree_top *top, const struct tree_top_entry *entry)
{
    size_t at = 0;
    while (at < top->largest_count && top->largest[at].pid != entry->pid)
        at++;
    if (at == top->largest_count && at == TREE_TOP_COUNT)
        at--;
    else if (at == top->largest_count)
        top->largest_count++;
    memmove(top->largest + 1, top->largest, at * sizeof(top->largest[0]));
    top->largest[0] = *entry;
    top->high_pages = entry->rss_pages.v;
}

/* The root at its end, where what it had is its own; or the one that was found. */
static void list_peak(struct tree_top *top, const struct tree_reader *reader, const struct tree_members *members)
{
    const struct tracked *tracked = reader->env->tracked;
    uint64_t high = top->high_pages > top->listed_pages ? top->high_pages : top->listed_pages;
    uint64_t root_pages = tracked->root_peak_bytes / (uint64_t)reader->env->page_bytes;
    size_t slot = top->peak.pid > 0 ? tree_members_find(members, top->peak.pid) : TREE_NONE;
    /* There is a label: the last of the largest makes way. */
    if (top->largest_count == TREE_TOP_COUNT)
        top->labels[top->largest[TREE_TOP_COUNT - 1].label].is_listed = false;
    if (is_rise(root_pages, high) && root_pages >= top->peak.pages) {
        size_t label = label_of_command(top, tracked);
        if (label != NO_LABEL)
            list_first(top, &(struct tree_top_entry){.label = label,
                                .pid = tracked->root,
                                .rss_pages = some_u64(root_pages),
                                .cpu_ns = tracked->root_cpu_ns.v});
    } else if (slot != TREE_NONE && is_rise(top->peak.pages, high)) {
        const struct tree_member *member = tree_member_at(members, slot);
        size_t label = label_of(top, member);
        top->labels[label].is_listed = true;
        list_first(top, &(struct tree_top_entry){.label = label,
                            .pid = member->pid,
                            .rss_pages = some_u64(top->peak.pages),
                            .cpu_ns = tree_own_cpu_ns(reader->env, member)});
    }
    if (top->largest_count == TREE_TOP_COUNT)
        top->labels[top->largest[TREE_TOP_COUNT - 1].label].is_listed = true;
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
        uint64_t cpu_ns = counter_delta(member->cpu_before_ns, tree_own_cpu_ns(reader->env, member));
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
    int r = tree_read_described(reader, label->pid, label->command, sizeof(label->command));
    if (r == -ETIMEDOUT)
        return 0;
    label->is_read = true;
    label->has_command = r == 0;
    if (reader->history && r == 0)
        tree_history_describe(reader->history, member, label->command);
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
        member->cpu_before_ns = tree_own_cpu_ns(reader->env, member);
    }
}

void tree_top_read(struct tree_top *top, struct tree_reader *reader, const struct tree_members *members,
    uint64_t rss_pages, struct opt_f64 pss_bytes, int64_t now_ns)
{
    /* PSS is measured on a budget: it can be at a high that is known only after RSS has been higher. */
    uint64_t pss_pages = (uint64_t)(pss_bytes.v / (double)reader->env->page_bytes);
    bool is_high = is_rise(rss_pages, top->listed_pages) || is_rise(pss_pages, top->listed_pss_pages);
    top->high_pages = is_high ? rss_pages : 0;
    if (is_high && pss_pages > top->listed_pss_pages)
        top->listed_pss_pages = pss_pages;
    find_peaks(top, reader, members);
    rank_members(top, reader, members, now_ns);
    if (is_high)
        list_largest(top, reader, members);
    list_peak(top, reader, members);
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
            .cpu_secs = some_f64(num_to_f64(entry->cpu_ns) / 1e9),
        };
        if (entry->rss_pages.has)
            items[i].rss_mib = some_f64(num_to_f64(entry->rss_pages.v) * (double)env->page_bytes / BYTES_PER_MIB);
    }
    return (struct sample_list){.present = true, .count = count, .items = items};
}

void tree_top_fill(struct tree_top *top, const struct collect_env *env, const struct tree_members *members,
    bool is_last, struct sample *sample)
{
    top->peak.pid = 0;
    top->peak.pages = 0;
    if (top->high_pages > 0) {
        if (top->high_pages > top->listed_pages)
            top->listed_pages = top->high_pages;
        sample->processes = items_of(top, env, top->largest, top->largest_count, top->largest_items);
    }
    if (!is_last)
        return;
    bool is_root_missing = !top->has_root && !env->tracked->attached;
    sample->end.processes_seen = some_u64(members->added + (is_root_missing ? 1 : 0));
    sample->end.processes_by_cpu = items_of(top, env, top->ranked, top->ranked_count, top->ranked_items);
}
