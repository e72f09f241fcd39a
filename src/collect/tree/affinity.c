/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/affinity.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "collect/tree/members.h"
#include "collect/tree/read.h"

enum {
    SETS = 8, /* of 1024: more CPUs than any kernel has */
    SHARE_MIN = 20, /* a process that used less than this part of the CPU time does not count */
    COUNT_SHARE_MIN = 10, /* nor does a number of CPUs */
};

struct set {
    cpu_set_t sets[SETS];
};

void affinity_open(struct affinity *affinity, const struct collect_env *env)
{
    *affinity = (struct affinity){.env = env};
}

int affinity_of_thread(void *context, pid_t tid, size_t bytes, void *ret_set)
{
    (void)context;
    return sched_getaffinity(tid, bytes, ret_set) < 0 ? err_last() : 0;
}

/* CPU time of a member since the last reading. */
static uint64_t growth_of(const struct affinity *affinity, const struct tree_member *member)
{
    return member->has_stat ? counter_delta(member->affinity_cpu_ns, tree_own_cpu_ns(affinity->env, member)) : 0;
}

static int add_thread(const struct affinity *affinity, pid_t tid, struct set *all, int *left)
{
    struct set set;
    const struct collect_env *env = affinity->env;
    if (--*left < 0)
        return -E2BIG;
    int r = env->affinity(env->affinity_context, tid, sizeof(set), &set);
    if (r == 0)
        CPU_OR_S(sizeof(set), all->sets, all->sets, set.sets);
    return r;
}

/* All threads that run: each may be bound to a CPU of its own. Those that cannot be read leave it unknown. */
static int add_member(const struct affinity *affinity, const struct tree_member *member, struct set *all, int *left)
{
    const struct wait_process *process = &member->wait;
    if (process->others.count + 1 < member->stat.threads)
        return -ENODATA;
    int r = add_thread(affinity, member->pid, all, left);
    for (size_t i = 0; r == 0 && i < process->others.count; i++) {
        if (process->others.items[i].is_active)
            r = add_thread(affinity, process->others.items[i].tid, all, left);
    }
    return r;
}

static void keep_count(struct affinity *affinity, uint64_t cpus, uint64_t cpu_ns)
{
    struct affinity_count *slot = affinity->counts, *end = slot + AFFINITY_COUNTS;
    while (slot < end && slot->cpus != cpus && slot->cpus != 0)
        slot++;
    /* One that changes all the time: the last slot has the rest, as their largest. */
    if (slot == end)
        slot--;
    slot->cpus = slot->cpus > cpus ? slot->cpus : cpus;
    slot->cpu_ns += cpu_ns;
}

static void read_members(struct affinity *affinity, const struct tree_members *members)
{
    struct set all = {0};
    uint64_t total_ns = 0, tick_ns = collect_tick_ns(affinity->env);
    int left = AFFINITY_READ_MAX, r = 0;
    for (size_t i = 0; i < members->order.count; i++)
        total_ns += growth_of(affinity, tree_member_at(members, members->order.items[i]));
    for (size_t i = 0; r == 0 && i < members->order.count; i++) {
        const struct tree_member *member = tree_member_at(members, members->order.items[i]);
        uint64_t growth_ns = growth_of(affinity, member);
        if (growth_ns >= tick_ns && growth_ns >= total_ns / SHARE_MIN)
            r = add_member(affinity, member, &all, &left);
    }
    uint64_t cpus = (uint64_t)CPU_COUNT_S(sizeof(all), all.sets);
    if (r == 0 && cpus > 0)
        keep_count(affinity, cpus, total_ns);
}

bool affinity_tick(
    struct affinity *affinity, const struct tree_members *members, int64_t now_ns, const struct tick *tick)
{
    if (!affinity->env->affinity || (now_ns < affinity->next_ns && !tick->is_final))
        return false;
    if (!tick->baseline) {
        if (++affinity->readings >= AFFINITY_FIRST)
            affinity->next_ns = now_ns + COLLECT_SLOW_NS;
        read_members(affinity, members);
    }
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        if (member->cpu_ns.has || member->has_stat)
            member->affinity_cpu_ns = tree_own_cpu_ns(affinity->env, member);
    }
    return true;
}

struct opt_u64 affinity_cpus(const struct affinity *affinity)
{
    uint64_t total_ns = 0, most = 0;
    for (size_t i = 0; i < AFFINITY_COUNTS; i++)
        total_ns += affinity->counts[i].cpu_ns;
    for (size_t i = 0; i < AFFINITY_COUNTS; i++) {
        uint64_t cpu_ns = 0;
        for (size_t k = 0; k < AFFINITY_COUNTS; k++)
            cpu_ns += affinity->counts[k].cpus >= affinity->counts[i].cpus ? affinity->counts[k].cpu_ns : 0;
        if (affinity->counts[i].cpus > most && cpu_ns >= total_ns / COUNT_SHARE_MIN)
            most = affinity->counts[i].cpus;
    }
    return most > 0 ? some_u64(most) : (struct opt_u64){0};
}
