/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/top.h"

#include <stdio.h>

#include "base/file.h"

enum { RISE_PCT = 2, PATH_BYTES = 32 };

/* Not one whose memory counts in its parent. */
static bool is_listed(const struct tree_member *member)
{
    const struct tree_memory *memory = &member->memory;
    return member->has_stat && !member->is_hidden && !member->has_ended && !pid_stat_is_dead(&member->stat) &&
           (memory->rss_pages > 0 || memory->resident_pages == 0);
}

/* Keeps the largest, in order; returns how many there are then. */
static size_t place(const struct tree_member *largest[], size_t count, const struct tree_member *member)
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

static struct sample_process describe(
    const struct tree_member *member, const struct collect_env *env, char name[static TREE_TOP_NAME_BYTES])
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%d/comm", (int)member->pid);
    int r = file_read_line_at(env->root->proc_fd, path, name, TREE_TOP_NAME_BYTES);
    return (struct sample_process){
        .pid = some_u64((uint64_t)member->pid),
        .name = r >= 0 ? name : NULL,
        .rss_mib = some_f64((double)member->memory.rss_pages * (double)env->page_bytes / 1048576.0),
        .cpu_secs = opt_scaled(member->cpu_ns, 1e9),
    };
}

void tree_top_turn(struct tree_top *top, const struct collect_env *env, const struct tree_members *members,
    uint64_t rss_pages, struct sample_list *ret_list)
{
    if (rss_pages <= top->listed_pages + top->listed_pages * RISE_PCT / 100)
        return;
    top->listed_pages = rss_pages;
    const struct tree_member *largest[TREE_TOP_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < members->order.count; i++) {
        const struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (is_listed(member))
            count = place(largest, count, member);
    }
    for (size_t i = 0; i < count; i++)
        top->items[i] = describe(largest[i], env, top->names[i]);
    *ret_list = (struct sample_list){.present = true, .count = count, .items = top->items};
}
