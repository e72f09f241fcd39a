/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracked tree as fields of the sample. Amounts are those of this interval; over a run they add up to what the
 * kernel counted. Where a part of the tree cannot be seen, an amount waits until it can be reported in full.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/tree/affinity.h"
#include "collect/tree/walk.h"

#define SHORT_NS (100 * NS_PER_MS)

struct tree_state {
    const struct collect_env *env;
    struct tree_walk walk;
    struct tree_group group;
    bool has_group;
    struct pss pss;
    struct tree_wait wait;
    struct affinity affinity;
    struct tree_top top;
    struct tree_history history;
    struct {
        struct pss_process *items;
        size_t count, cap;
    } processes; /* the live ones of this tick */
    int64_t previous_ns; /* when the tree was last read */
    struct tree_tick {
        int64_t elapsed_ns;
        uint64_t growth_ns;
        double lacked_ns; /* CPU time that was wanted besides */
    } last, merged; /* what was reported as cores in use then; and of it, what this sample takes in */
    uint64_t carried_ns; /* CPU time that was more than the machine has, for the shares to come */
    size_t cpus; /* of the machine; 0: not known */
    int reserved[TREE_RESERVED]; /* descriptors; -1: none */
    struct err pss_err; /* why a process may not be read */
    uint64_t cpu_mark_ns; /* CPU time reported so far, where it does not come from the ledger */
    uint64_t user_reported_ns; /* of it, user time */
    uint64_t pending_user_ns, pending_system_ns;
    uint64_t growth[FLOWS]; /* what was read in this tick and is not in a sample yet */
    uint64_t pending_cpu_ns, pending_read, pending_write, pending_faults; /* not reported in full yet */
    bool is_root_reaped, is_root_lost;
    bool was_gone; /* in the tick before */
    bool was_in_use; /* the same, of the group: what its processes used since may be lost with it */
    bool lists_members; /* something needs the processes of the tree */
    bool has_reported; /* in a sample */
    bool has_namespace; /* a member is in a PID namespace below ours */
    double peak_bytes;
};

/* What one tick found. */
struct tree_view {
    struct opt_f64 pss_bytes;
    uint64_t user_ns; /* user time of the tree so far */
    uint64_t threads, rss_pages;
    size_t live;
    bool is_hidden; /* a member cannot be seen */
    bool is_memory_unknown; /* a member's, although it is seen */
    bool is_io_hidden;
};

/*
 * Where descriptors are few, other collectors would keep all there are, and a process can only be read with one: so
 * some are held back between two ticks.
 */
static void hold_reserve(struct tree_state *state)
{
    int proc_fd = state->env->root->proc_fd;
    for (size_t i = 0; state->env->descriptors == 0 && proc_fd >= 0 && i < TREE_RESERVED; i++)
        state->reserved[i] = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
}

static void release_reserve(struct tree_state *state)
{
    for (size_t i = 0; i < TREE_RESERVED; i++)
        fd_close(&state->reserved[i]);
}

__attribute__((cold)) static int tree_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct tree_state *state = opaque;
    if (!env->tracked || env->tracked->root == 0)
        return err_set(err, -ENODATA, "tree: nothing is tracked");
    state->env = env;
    state->has_group = tree_group_open(&state->group, env) == 0;
    tree_walk_open(&state->walk, env, state->has_group ? &state->group : NULL);
    tree_history_open(&state->history, env);
    if (env->tracked->wants_history)
        state->walk.reader.history = &state->history;
    pss_open(&state->pss, env, env->tracked->pss);
    wait_open(&state->wait, env);
    affinity_open(&state->affinity, env);
    state->previous_ns = env->tracked->start_ns;
    for (size_t i = 0; i < TREE_RESERVED; i++)
        state->reserved[i] = -1;
    hold_reserve(state);
    return 0;
}

__attribute__((cold)) static void tree_close(void *opaque)
{
    struct tree_state *state = opaque;
    release_reserve(state);
    tree_walk_close(&state->walk);
    if (state->has_group)
        tree_group_close(&state->group);
    tree_history_close(&state->history);
    free(state->processes.items);
}

/*
 * The group has the CPU time of all its processes, also of those that were never waited for, but not of those that have
 * left it. Neither account is ever above the truth, so the higher one is right. A group that we attach to is all that
 * counts; its members are only a stand-in for it once it cannot be read.
 */
static void use_group_time(struct tree_state *state, struct tree_view *view, uint64_t growth[FLOWS])
{
    uint64_t total_ns = state->walk.ledger.mark[FLOW_CPU], group_us, group_user_us;
    if (!state->has_group)
        return;
    group_user_us = view->user_ns / 1000;
    const bool is_all = state->group.has_below;
    if (is_all)
        total_ns = state->cpu_mark_ns + growth[FLOW_CPU];
    int r = tree_group_cpu(&state->group, &group_us, &group_user_us);
    if (r == 0 && (is_all || group_us * 1000 > total_ns)) {
        total_ns = group_us * 1000;
        view->user_ns = group_user_us * 1000;
    } else if (is_all) {
        view->user_ns = state->user_reported_ns + growth[FLOW_USER];
        state->env->tree->is_lower_bound |= state->was_in_use;
    }
    state->was_in_use = view->live > 0;
    growth[FLOW_CPU] = counter_delta(state->cpu_mark_ns, total_ns);
    state->cpu_mark_ns += growth[FLOW_CPU];
}

static void list_member(struct tree_status *status, const struct tree_member *member)
{
    if (VEC_GROW(&status->members, status->members.count + 1, TREE_MEMBERS_MAX) == 0)
        status->members.items[status->members.count++] =
            (struct job_member){.pid = member->pid, .start_ticks = member->stat.start_ticks};
}

/*
 * The CPU time of a process that is not waited for is lost: of the children of one that ignores SIGCHLD, of those that
 * a PID namespace takes with it when its first process ends, and of one that a process outside of the tree has adopted.
 */
static bool loses_time(struct tree_state *state, struct tree_member *member)
{
    const struct tracked *tracked = state->env->tracked;
    if (!member->is_namespace_known) {
        member->is_namespace_known = true;
        state->has_namespace |= tree_read_is_in_namespace(&state->walk.reader, member->pid);
    }
    bool is_adopted =
        member->parent == TREE_NONE && member->pid != tracked->root && member->parent_pid != tracked->tracker;
    return member->stat.ignores_sigchld || state->has_namespace || (is_adopted && !tracked->attached);
}

static void view_memory(struct tree_state *state, struct tree_member *member, int64_t now_ns, struct tree_view *view)
{
    struct tree_status *status = state->env->tree;
    const struct tree_memory *memory = &member->memory;
    tree_memory_settle(&state->walk.reader, &state->walk.members, member, &state->walk.finder.list);
    view->is_memory_unknown |= memory->is_unknown;
    view->rss_pages += memory->rss_pages;
    uint64_t rss_bytes = memory->rss_pages * (uint64_t)state->env->page_bytes;
    if (rss_bytes > status->largest_rss_bytes)
        status->largest_rss_bytes = rss_bytes;
    if (memory->is_parents || memory->is_unknown ||
        VEC_GROW(&state->processes, state->processes.count + 1, TREE_MEMBERS_MAX) < 0)
        return;
    bool is_adopted = member->stat.has_not_execed && memory->head == TREE_NONE;
    state->processes.items[state->processes.count++] =
        (struct pss_process){.pid = memory->tid != 0 ? memory->tid : member->pid,
            .age_ns = now_ns - member->first_ns,
            .rss_pages = memory->resident_pages,
            .own_pages = memory->own_pages,
            .file_pages = {memory->at != 0 && !is_adopted, memory->file_pages},
            .minor_faults = member->stat.minor_faults,
            .is_copy = memory->is_copy,
            .is_adopted = is_adopted,
            .memory = &member->pss,
            .head = memory->head == TREE_NONE ? &member->pss : &tree_member_at(&state->walk.members, memory->head)->pss,
            .parent = tree_memory_copied(&state->walk.members, member)};
}

static void view_member(struct tree_state *state, struct tree_member *member, int64_t now_ns, struct tree_view *view)
{
    const struct tracked *tracked = state->env->tracked;
    struct tree_status *status = state->env->tree;
    bool seen = member->has_stat && !member->is_hidden;
    view->is_hidden |= !seen;
    member->has_ended |= member->pid == tracked->ended;
    if (member->has_ended || (seen && pid_stat_is_dead(&member->stat)))
        return;
    view->is_io_hidden |= !member->has_io && !member->is_ending;
    view->live++;
    if (state->lists_members)
        list_member(status, member);
    if (status->live_pid == 0 || member->pid == tracked->root)
        status->live_pid = member->pid;
    if (!seen)
        return;
    view->threads += member->stat.threads;
    if (!state->has_group)
        status->is_lower_bound |= loses_time(state, member);
    view_memory(state, member, now_ns, view);
}

static void view_members(struct tree_state *state, int64_t now_ns, bool is_baseline, struct tree_view *view)
{
    const struct tree_members *members = &state->walk.members;
    const struct tracked *tracked = state->env->tracked;
    const struct gpu_status *gpu = state->env->gpu_status;
    struct tree_status *status = state->env->tree;
    /* With the first sample the cgroup collector needs them as well. */
    state->lists_members = tracked->wants_traffic || (tracked->wants_members && !(gpu && gpu->has_no_device)) ||
                           (tracked->wants_top && !state->has_reported);
    state->processes.count = 0;
    status->members.count = 0;
    status->live_pid = 0;
    for (size_t i = 0; i < members->order.count; i++) {
        struct tree_member *member = tree_member_at(members, members->order.items[i]);
        view_member(state, member, now_ns, view);
        if (state->walk.reader.history && member->stat_ns == now_ns)
            tree_history_update(&state->walk.reader, members, member, now_ns, is_baseline);
    }
    status->live = view->live;
    status->is_root_gone = status->live_pid != tracked->root;
}

/* In seconds; what is less than a quantum waits. */
static struct opt_f64 whole_quanta(uint64_t *pending_ns, int64_t quantum_ns)
{
    uint64_t remainder = quantum_ns > 0 ? *pending_ns % (uint64_t)quantum_ns : 0;
    uint64_t whole = *pending_ns - remainder;
    *pending_ns = remainder;
    return some_f64(num_to_f64(whole) / 1e9);
}

/* CPU time is split into user and system as the kernel does, but never so that one of them would have to shrink. */
static void fill_cpu(struct tree_state *state, uint64_t growth_ns, uint64_t user_ns, struct sample_cpu *cpu)
{
    uint64_t user_growth_ns = counter_delta(state->user_reported_ns, user_ns);
    if (user_growth_ns > growth_ns)
        user_growth_ns = growth_ns;
    state->user_reported_ns += user_growth_ns;
    state->pending_user_ns += user_growth_ns;
    state->pending_system_ns += growth_ns - user_growth_ns;
    cpu->process_utime_secs = whole_quanta(&state->pending_user_ns, state->env->tracked->quantum_ns);
    cpu->process_stime_secs = whole_quanta(&state->pending_system_ns, state->env->tracked->quantum_ns);
}

/* What is more than the machine has. */
static uint64_t excess_ns(const struct tree_state *state, uint64_t growth_ns, int64_t elapsed_ns)
{
    uint64_t most_ns = state->cpus * (uint64_t)elapsed_ns;
    return state->cpus > 0 && growth_ns > most_ns ? growth_ns - most_ns : 0;
}

/*
 * What a parent inherits is known in ticks of 10 ms, all of it in the moment in which a child is waited for, and in
 * full only at the end: a share over a short interval would be above what the machine has. So what is too much counts
 * in the shares to come, and that of a short final interval is taken over the one before as well. Times stay as they
 * are.
 */
static struct opt_f64 cores_used(struct tree_state *state, uint64_t growth_ns, int64_t now_ns)
{
    const struct tree_tick before = state->last;
    int64_t elapsed_ns = now_ns - state->previous_ns;
    state->previous_ns = now_ns;
    growth_ns += state->carried_ns;
    state->last = (struct tree_tick){.elapsed_ns = elapsed_ns, .growth_ns = growth_ns};
    state->merged = (struct tree_tick){0};
    if (elapsed_ns <= 0)
        return (struct opt_f64){0};
    state->carried_ns = excess_ns(state, growth_ns, elapsed_ns);
    state->last.growth_ns -= state->carried_ns;
    if (growth_ns > 0 && elapsed_ns < SHORT_NS && elapsed_ns < before.elapsed_ns / 2) {
        elapsed_ns += before.elapsed_ns;
        growth_ns += before.growth_ns;
        state->merged = before;
    }
    growth_ns -= excess_ns(state, growth_ns, elapsed_ns);
    return some_f64(num_to_f64(growth_ns) / (double)elapsed_ns);
}

static void fill_io(struct tree_state *state, bool is_known, struct sample_cpu *cpu)
{
    if (!is_known)
        return;
    cpu->process_disk_read_bytes = some_u64(state->pending_read);
    cpu->process_disk_write_bytes = some_u64(state->pending_write);
    state->pending_read = state->pending_write = 0;
}

/* The highest memory of the tree as sampled, or that of the largest process between samples. */
static void fill_memory(struct tree_state *state, const struct tree_view *view, struct sample_cpu *cpu)
{
    uint64_t reaped_bytes = state->env->tracked->reaped.max_rss_bytes, seen_bytes = state->env->tree->largest_rss_bytes;
    uint64_t largest_bytes = seen_bytes > reaped_bytes ? seen_bytes : reaped_bytes;
    double rss_bytes = num_to_f64(view->rss_pages) * (double)state->env->page_bytes;
    if (rss_bytes > state->peak_bytes)
        state->peak_bytes = rss_bytes;
    if (num_to_f64(largest_bytes) > state->peak_bytes)
        state->peak_bytes = num_to_f64(largest_bytes);
    cpu->process_peak_rss_mib = some_f64(state->peak_bytes / BYTES_PER_MIB);
    if (view->is_hidden || view->is_memory_unknown)
        return;
    cpu->process_rss_mib = some_f64(rss_bytes / BYTES_PER_MIB);
    if (view->pss_bytes.has)
        cpu->process_pss_mib =
            some_f64((double)(int64_t)view->pss_bytes.v / BYTES_PER_MIB); /* whole bytes, as JSON has them */
}

/* What it waited for is of the same interval as the cores it used. */
static void fill_wait(
    struct tree_state *state, bool is_hidden, int64_t elapsed_ns, struct opt_f64 pressure_secs, struct sample_cpu *cpu)
{
    /* The first interval of the tree began before that of the pressure. */
    struct opt_f64 pressed = {0};
    if (pressure_secs.has && state->has_reported && state->cpus > 0 && elapsed_ns > 0)
        pressed = some_f64(demand_pressed(pressure_secs.v * 1e9 / (double)elapsed_ns, num_to_f64(state->cpus)));
    struct wait_result result = wait_pop(&state->wait, &(struct wait_interval){.cpu_ns = state->growth[FLOW_CPU],
                                                           .is_hidden = is_hidden,
                                                           .now_ns = state->previous_ns,
                                                           .quantum_ns = state->env->tracked->quantum_ns,
                                                           .pressed = pressed});
    cpu->process_wait_secs = result.waited_secs;
    cpu->process_busiest_cores = result.busiest_cores;
    state->last.lacked_ns = result.wanted_secs.v * 1e9;
    if (cpu->process_cores_used.has && result.wanted_secs.has && elapsed_ns > 0)
        cpu->process_cores_wanted =
            some_f64(cpu->process_cores_used.v + (state->last.lacked_ns + state->merged.lacked_ns) /
                                                     (double)(elapsed_ns + state->merged.elapsed_ns));
}

static void fill_tree(struct tree_state *state, const struct tree_view *view, int64_t now_ns, struct sample *sample)
{
    struct sample_cpu *cpu = &sample->cpu;
    int64_t elapsed_ns = now_ns - state->previous_ns;
    fill_cpu(state, state->growth[FLOW_CPU], view->user_ns, cpu);
    cpu->process_cores_used = cores_used(state, state->growth[FLOW_CPU], now_ns);
    fill_wait(state, view->is_hidden, elapsed_ns, sample->pressure.cpu_some_secs, cpu);
    cpu->process_child_count = some_u64(view->live - (state->env->tree->is_root_gone ? 0 : 1));
    state->pending_read += state->growth[FLOW_READ];
    state->pending_write += state->growth[FLOW_WRITE];
    fill_io(state, !view->is_io_hidden && !state->walk.reader.has_no_io, cpu);
    fill_memory(state, view, cpu);
    state->pending_faults += state->growth[FLOW_FAULTS];
    if (view->is_hidden)
        return;
    cpu->process_thread_count = some_u64(view->threads);
    cpu->process_major_faults = some_u64(state->pending_faults);
    state->pending_faults = 0;
}

static bool was_reaped(const struct tracked *tracked, pid_t pid)
{
    for (size_t i = 0; i < tracked->reaped_pids.count; i++) {
        if (tracked->reaped_pids.items[i] == pid)
            return true;
    }
    return false;
}

/*
 * Where /proc does not show our processes: the CPU clock of the root, and at the end what wait4 reports. Amounts that
 * are not known in full before that are reported then.
 */
static int fill_from_outside(struct tree_state *state, int64_t now_ns, struct sample_cpu *cpu, struct err *err)
{
    const struct collect_env *env = state->env;
    const struct tracked *tracked = env->tracked;
    struct tree_status *status = env->tree;
    state->is_root_reaped |= was_reaped(tracked, tracked->root);
    uint64_t root_ns = 0;
    bool is_there = !state->is_root_reaped && !state->is_root_lost &&
                    env->cpu_time(env->cpu_time_context, tracked->root, &root_ns) == 0;
    bool lives = is_there && tracked->ended != tracked->root;
    /* Once it has ended, its number may be another process's. */
    state->is_root_lost |= !lives && tracked->attached;
    status->live = lives;
    status->live_pid = lives ? tracked->root : 0;
    status->members.count = 0;
    status->is_root_gone = !lives;
    uint64_t total_ns = (tracked->reaped.user_us + tracked->reaped.system_us) * 1000 + root_ns;
    uint64_t growth_ns = counter_delta(state->cpu_mark_ns, total_ns);
    state->cpu_mark_ns += growth_ns;
    state->pending_cpu_ns += growth_ns;
    cpu->process_cores_used = cores_used(state, growth_ns, now_ns);
    if (state->is_root_reaped) {
        fill_cpu(state, state->pending_cpu_ns, tracked->reaped.user_us * 1000, cpu);
        state->pending_cpu_ns = 0;
        state->pending_read = tracked->reaped.read_bytes;
        state->pending_write = tracked->reaped.write_bytes;
        fill_io(state, true, cpu);
    }
    return err_set(err, -ENOTSUP,
        "tree: %s/proc does not show our processes (mount one of this PID namespace): of the tree only the CPU time of "
        "its first process is known before the end",
        env->root->path);
}

/*
 * Everything that reads files, and so may be abandoned and called again: what it has found by then is kept in the
 * state. Nothing is filled in before it is over.
 */
static void read_tree(struct tree_state *state, const struct tick *tick, int64_t now_ns, struct tree_view *ret_view)
{
    struct tick_births births = tick->births ? *tick->births : (struct tick_births){0};
    struct tree_view view = {0};
    bool is_baseline = tick->baseline;
    uint64_t growth[FLOWS];
    wait_end_root(&state->wait, &state->walk);
    tree_history_receive(&state->walk.reader);
    tree_walk_tick(&state->walk, births.forks, births.last_pid, now_ns, growth);
    tree_history_tick(&state->history, &state->walk.tracker);
    view.user_ns = state->walk.ledger.mark[FLOW_USER];
    use_group_time(state, &view, growth);
    for (int i = 0; i < FLOWS; i++)
        state->growth[i] += growth[i];
    wait_tick(&state->wait, &state->walk, now_ns, is_baseline);
    if (affinity_tick(&state->affinity, &state->walk.members, now_ns, tick))
        state->env->tree->cpus_allowed = affinity_cpus(&state->affinity);
    view_members(state, now_ns, is_baseline, &view);
    if (!is_baseline && !view.is_hidden && !view.is_memory_unknown)
        view.pss_bytes = pss_tick(&state->pss, state->processes.items, state->processes.count, now_ns, &state->pss_err);
    if (!is_baseline && state->env->tracked->wants_top)
        tree_top_read(&state->top, &state->walk.reader, &state->walk.members, view.rss_pages, view.pss_bytes, now_ns);
    *ret_view = view;
}

static int tree_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct tree_state *state = opaque;
    const struct tracked *tracked = state->env->tracked;
    struct sample_cpu *cpu = &sample->cpu;
    /* What a command used counts from its start on, so there is nothing to read before the first sample. */
    if (tick->baseline && !tracked->attached) {
        tree_walk_baseline(&state->walk, tick->births ? tick->births->forks : (struct opt_u64){0});
        return 0;
    }
    cpu->present = !tick->baseline;
    int64_t now_ns = clock_read(state->env->clock, CLOCK_KIND_MONOTONIC);
    if (cpu->per_core_pct.present)
        state->cpus = cpu->per_core_pct.count;
    if (!state->env->root->names_us) {
        (void)fill_from_outside(state, now_ns, cpu, err);
        return 0;
    }
    struct tree_view view;
    release_reserve(state);
    read_tree(state, tick, now_ns, &view);
    if (tick->baseline) {
        state->user_reported_ns = view.user_ns;
        state->previous_ns = now_ns;
        tree_top_baseline(&state->walk.reader, &state->walk.members);
    } else {
        fill_tree(state, &view, now_ns, sample);
        state->has_reported = true;
        bool is_last = tick->is_final || view.live == 0;
        if (tracked->wants_top)
            tree_top_fill(&state->top, state->env, &state->walk.members, is_last, sample);
        /* A tree that is gone may be tracked for long: its history is the same in all samples that follow. */
        if (state->walk.reader.history && is_last && (tick->is_final || !state->was_gone))
            tree_history_fill(&state->walk.reader, now_ns, &sample->end);
    }
    state->was_gone = view.live == 0;
    memset(state->growth, 0, sizeof(state->growth));
    hold_reserve(state);
    if (view.is_io_hidden && state->walk.reader.io_err.code < 0)
        *err = state->walk.reader.io_err;
    else if (state->walk.finder.is_full)
        (void)err_set(
            err, -E2BIG, "tree: more than %d processes: others count when they are waited for", TREE_MEMBERS_MAX);
    else if (!tick->baseline && !cpu->process_pss_mib.has && !view.is_hidden && state->pss_err.code < 0)
        *err = state->pss_err;
    else if (state->history.has_gaps)
        (void)err_set(err, -ENOBUFS,
            "tree: the kernel's messages of processes came faster than they were read: some "
            "processes may be missing");
    return 0;
}

static int tree_watch_fd(const void *opaque)
{
    const struct tree_state *state = opaque;
    return state->history.events_fd;
}

static void tree_woken(void *opaque)
{
    struct tree_state *state = opaque;
    tree_history_receive(&state->walk.reader);
}

const struct collector collector_tree = {
    .name = "tree",
    .state_bytes = sizeof(struct tree_state),
    .open = tree_open,
    .collect = tree_collect,
    .close = tree_close,
    .watch_fd = tree_watch_fd,
    .woken = tree_woken,
    .watches_input = true,
    .is_restartable = true,
};
