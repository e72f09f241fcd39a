/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's CPU: /proc/stat, /proc/loadavg and the process count. Times are the growth in this interval; CPUs are
 * matched by number, so one that comes or goes disturbs no other.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/collect_internal.h"
#include "kernel/proc.h"

/*
 * The kernel counts CPU time in ticks of 10 ms, so a share over less than this is mostly noise: at shorter intervals it
 * is derived anew ten times a second and repeated in between.
 */
#define CPU_SHARE_NS (100 * NS_PER_MS)

enum { STAT_BYTES_MAX = 8 * 1024 * 1024, LOADAVG_BYTES_MAX = 4096 };

struct cpu_share {
    uint64_t busy, steal, total;
};

struct cpu_shares {
    struct opt_f64 cores_used, steal_pct;
};

struct cpu_state {
    const struct collect_env *env;
    struct kept_file stat_file, loadavg_file;
    struct buf stat_text, loadavg_text;
    struct proc_stat readings[2];
    unsigned base; /* which of the two the shares are measured from; the other takes the new reading */
    int64_t base_ns; /* when it was read */
    struct proc_stat prev; /* totals of the previous reading; no cores */
    bool has_previous;
    struct cpu_shares shares;
    struct process_count processes;
    struct cpu_list {
        struct opt_f64 *items;
        size_t count, cap;
    } per_core, per_core_steal; /* per_core_steal: empty while aggregated */
};

/* Growth between two readings of the same CPU: total = all eight times, busy = total - idle - iowait, steal in it. */
static struct cpu_share cpu_share_between(const struct cpu_ticks *prev, const struct cpu_ticks *cur)
{
    uint64_t steal = counter_delta(prev->steal, cur->steal);
    uint64_t idle = counter_delta(prev->idle, cur->idle) + counter_delta(prev->iowait, cur->iowait);
    uint64_t busy = counter_delta(prev->user, cur->user) + counter_delta(prev->nice, cur->nice) +
                    counter_delta(prev->system, cur->system) + counter_delta(prev->irq, cur->irq) +
                    counter_delta(prev->softirq, cur->softirq) + steal;
    return (struct cpu_share){.busy = busy, .steal = steal, .total = busy + idle};
}

/* The times and counts of this interval from two readings (of the previous one only the totals and the number of CPUs
 * are used). */
static void cpu_derive(
    const struct proc_stat *prev, const struct proc_stat *cur, int64_t ticks_per_sec, struct sample_cpu *ret_cpu)
{
    const struct cpu_ticks *a = &prev->total;
    const struct cpu_ticks *b = &cur->total;
    const double ticks = (double)ticks_per_sec;
    uint64_t user = counter_delta(a->user, b->user) + counter_delta(a->nice, b->nice);
    uint64_t irq = counter_delta(a->irq, b->irq) + counter_delta(a->softirq, b->softirq);
    ret_cpu->utime_secs = some_f64(num_to_f64(user) / ticks);
    ret_cpu->stime_secs = some_f64(num_to_f64(counter_delta(a->system, b->system)) / ticks);
    /* The kernel keeps idle times of online and offline CPUs in different accounts: when one comes or goes, its total
     * jumps. */
    if (prev->cores.count == cur->cores.count)
        ret_cpu->iowait_secs = some_f64(num_to_f64(counter_delta(a->iowait, b->iowait)) / ticks);
    ret_cpu->irq_secs = some_f64(num_to_f64(irq) / ticks);
    ret_cpu->steal_secs = some_f64(num_to_f64(counter_delta(a->steal, b->steal)) / ticks);
    ret_cpu->context_switches = counter_delta_opt(prev->context_switches, cur->context_switches);
}

static struct opt_f64 percent(uint64_t part, uint64_t total)
{
    return total > 0 ? some_f64(100.0 * num_to_f64(part) / num_to_f64(total)) : (struct opt_f64){0};
}

/*
 * The shares, over the CPUs that are in both readings: returns the cores in use and the stolen share of all of them,
 * and puts the busy share of each CPU by number into items[0..count), and what was stolen of it into steal_items (NULL:
 * not wanted), absent for CPUs that are offline now or were so at the earlier reading. Unknown where no tick has
 * passed.
 */
static struct cpu_shares cpu_derive_shares(const struct proc_stat *base, const struct proc_stat *cur,
    struct opt_f64 *items, struct opt_f64 *steal_items, size_t count)
{
    struct cpu_share sum = {0};
    size_t matched = 0;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct opt_f64){0};
    for (size_t i = 0; steal_items && i < count; i++)
        steal_items[i] = (struct opt_f64){0};
    /* Both lists ascend by number: walk them side by side. */
    size_t p = 0;
    for (size_t c = 0; c < cur->cores.count; c++) {
        const struct cpu_core *core = &cur->cores.items[c];
        while (p < base->cores.count && base->cores.items[p].number < core->number)
            p++;
        if (p == base->cores.count || base->cores.items[p].number != core->number || core->number >= count)
            continue;
        struct cpu_share share = cpu_share_between(&base->cores.items[p].ticks, &core->ticks);
        items[core->number] = percent(share.busy, share.total);
        if (steal_items)
            steal_items[core->number] = percent(share.steal, share.total);
        sum.busy += share.busy;
        sum.steal += share.steal;
        sum.total += share.total;
        matched++;
    }
    /* The line of all CPUs is rounded only once, so it is taken unless one came or went. */
    if (matched > 0 && matched == cur->cores.count && matched == base->cores.count)
        sum = cpu_share_between(&base->total, &cur->total);
    if (sum.total == 0)
        return (struct cpu_shares){0};
    return (struct cpu_shares){
        .cores_used = some_f64(num_to_f64(sum.busy) / num_to_f64(sum.total) * num_to_f64(matched)),
        .steal_pct = percent(sum.steal, sum.total)};
}

__attribute__((cold)) static int cpu_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct cpu_state *state = opaque;
    (void)err;
    state->env = env;
    kept_file_init(&state->stat_file, env->root->proc_fd, "stat", FILE_SINGLE);
    kept_file_init(&state->loadavg_file, env->root->proc_fd, "loadavg", FILE_SINGLE);
    buf_init(&state->stat_text, STAT_BYTES_MAX);
    buf_init(&state->loadavg_text, LOADAVG_BYTES_MAX);
    process_count_init(&state->processes, env);
    return 0;
}

static int cpu_read_stat(struct cpu_state *state, struct proc_stat *stat, struct err *err)
{
    int r = kept_file_read(&state->stat_file, &state->stat_text);
    if (r >= 0)
        r = proc_stat_parse(buf_str(&state->stat_text), stat);
    return r < 0 ? collect_fail(err, r, "cpu", state->env->root, "proc/stat") : 0;
}

static void cpu_read_load(struct cpu_state *state, struct sample_cpu *cpu, struct tick_births *births, struct err *err)
{
    struct loadavg load;
    int r = kept_file_read(&state->loadavg_file, &state->loadavg_text);
    if (r >= 0)
        r = loadavg_parse(buf_str(&state->loadavg_text), &load);
    if (r < 0) {
        (void)collect_fail(err, r, "cpu", state->env->root, "proc/loadavg");
        return;
    }
    cpu->load1 = some_f64(load.load1);
    cpu->load5 = some_f64(load.load5);
    cpu->load15 = some_f64(load.load15);
    if (births)
        births->last_pid = load.last_pid;
}

/* Derives the shares from the base to the new reading. */
static int cpu_update_shares(struct cpu_state *state)
{
    const struct proc_stat *base = &state->readings[state->base];
    const struct proc_stat *cur = &state->readings[!state->base];
    size_t count = cur->cores.count ? cur->cores.items[cur->cores.count - 1].number + 1 : 0;
    /* A CPU that was there once keeps its slot. */
    if (count < state->per_core.count)
        count = state->per_core.count;
    int r = VEC_GROW(&state->per_core, count, PROC_STAT_CPUS_MAX);
    if (r == 0 && state->env->wants_steal_per_core)
        r = VEC_GROW(&state->per_core_steal, count, PROC_STAT_CPUS_MAX);
    if (r < 0)
        return r;
    state->shares = cpu_derive_shares(base, cur, state->per_core.items, state->per_core_steal.items, count);
    state->per_core.count = count;
    state->per_core_steal.count = state->per_core_steal.items ? count : 0;
    return 0;
}

static int cpu_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct cpu_state *state = opaque;
    struct sample_cpu *cpu = &sample->cpu;
    struct proc_stat *cur = &state->readings[!state->base];
    /* When this sample was due: lateness must not make the shares of one sample serve the next as well. */
    int64_t due_ns = tick->mono_ns - tick->late_ns;
    int r = cpu_read_stat(state, cur, err);
    /* The earlier reading stays, so that the next good one makes up for the gap. */
    if (r < 0)
        return r;
    bool had_previous = state->has_previous;
    if (had_previous && !tick->baseline)
        cpu_derive(&state->prev, cur, state->env->ticks_per_sec, cpu);
    state->prev = *cur;
    state->prev.cores.items = NULL;
    state->has_previous = true;
    bool due = !had_previous || due_ns - state->base_ns >= CPU_SHARE_NS;
    if (had_previous && (due || !state->shares.cores_used.has) && cpu_update_shares(state) < 0)
        return err_set(err, -ENOMEM, "cpu: out of memory for the list of CPUs");
    if (due) {
        state->base = !state->base;
        state->base_ns = due_ns;
    }
    if (tick->births)
        tick->births->forks = cur->forks;
    if (tick->baseline)
        return 0;
    cpu->procs_running = cur->procs_running;
    cpu->procs_blocked = cur->procs_blocked;
    cpu->utilization_pct = state->shares.cores_used;
    cpu->steal_pct = state->shares.steal_pct;
    bool has_cores = state->per_core.count > 0;
    cpu->per_core_pct =
        (struct sample_list){.present = has_cores, .count = state->per_core.count, .items = state->per_core.items};
    cpu->per_core_steal_pct = (struct sample_list){
        .present = has_cores, .count = state->per_core_steal.count, .items = state->per_core_steal.items};
    cpu_read_load(state, cpu, tick->births, err);
    cpu->process_count = process_count_read(&state->processes, due_ns, cur->forks);
    cpu->present = true;
    return 0;
}

__attribute__((cold)) static void cpu_close(void *opaque)
{
    struct cpu_state *state = opaque;
    process_count_fini(&state->processes);
    kept_file_fini(&state->stat_file);
    kept_file_fini(&state->loadavg_file);
    buf_fini(&state->stat_text);
    buf_fini(&state->loadavg_text);
    proc_stat_fini(&state->readings[0]);
    proc_stat_fini(&state->readings[1]);
    free(state->per_core.items);
    free(state->per_core_steal.items);
}

const struct collector collector_cpu = {
    .name = "cpu",
    .state_bytes = sizeof(struct cpu_state),
    .open = cpu_open,
    .collect = cpu_collect,
    .close = cpu_close,
};
