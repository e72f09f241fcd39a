/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy of the machine in this interval, and the share of the tracked tree: by CPU time, in which idle CPU time counts
 * as much as busy time does (docs/decisions/0036-energy.md). Where it is asked for and nothing can be measured, an
 * estimate by the time CPUs were busy.
 */
#include "collect/energy/energy.h"
#include "base/num.h"

#include <errno.h>
#include <string.h>

/*
 * Watts of a busy and of an idle CPU as Linux counts them: averages over the servers of a large cloud, from the
 * methodology of Cloud Carbon Footprint (max_watts and min_watts of AWS).
 */
#define ESTIMATE_BUSY_WATTS 3.5
#define ESTIMATE_IDLE_WATTS 0.74

struct energy_state {
    const struct collect_env *env;
    bool is_fresh; /* the counters were read just now */
    bool is_estimate;
    int64_t prev_ns; /* the last tick */
    int64_t battery_ns; /* when batteries are read next */
    struct energy_sources sources;
};

/* CPUs whose share is known; in an interval without a tick of the kernel's clock all that there are. */
static double count_cpus(const struct sample_cpu *cpu)
{
    const struct opt_f64 *shares = cpu->per_core_pct.items;
    size_t count = 0;
    for (size_t i = 0; i < cpu->per_core_pct.count; i++)
        count += shares[i].has;
    return num_to_f64(count > 0 ? count : cpu->per_core_pct.count);
}

/* Cores in use: at least those of the tree, which is measured to the nanosecond. */
static struct opt_f64 busy_cores(const struct sample_cpu *cpu, double cpus)
{
    struct opt_f64 busy = cpu->utilization_pct, tree = cpu->process_cores_used;
    if (busy.has && tree.has && tree.v > busy.v)
        busy = tree;
    if (busy.has && busy.v > cpus)
        busy.v = cpus;
    return busy;
}

void energy_share(const struct sample_cpu *cpu, struct sample_energy *energy)
{
    double cpus = cpu->present ? count_cpus(cpu) : 0;
    struct opt_f64 tree = cpu->process_cores_used;
    if (!energy->package_joules.has || !(cpus > 0))
        return;
    double each = (energy->package_joules.v + energy->dram_joules.v) / cpus;
    struct opt_f64 busy = busy_cores(cpu, cpus);
    if (busy.has)
        energy->idle_joules = some_f64(each * (cpus - busy.v));
    if (tree.has)
        energy->process_joules = some_f64(each * (tree.v < cpus ? tree.v : cpus));
}

static void estimate(const struct sample_cpu *cpu, int64_t elapsed_ns, struct sample_energy *energy)
{
    double cpus = cpu->present ? count_cpus(cpu) : 0, secs = (double)elapsed_ns / 1e9;
    struct opt_f64 busy = busy_cores(cpu, cpus), tree = cpu->process_cores_used;
    if (!(cpus > 0) || !busy.has)
        return;
    double idle = secs * (cpus - busy.v) * ESTIMATE_IDLE_WATTS;
    energy->package_joules = some_f64(idle + secs * busy.v * ESTIMATE_BUSY_WATTS);
    energy->idle_joules = some_f64(idle);
    if (tree.has)
        energy->process_joules = some_f64(secs * (tree.v < cpus ? tree.v : cpus) * ESTIMATE_BUSY_WATTS);
}

/* Every counter is read; a domain of which one failed is pending as a whole. */
static void read_counters(
    struct energy_sources *sources, const struct tick *tick, struct opt_u64 sums[ENERGY_DOMAINS], struct err *err)
{
    bool has_failed[ENERGY_DOMAINS] = {false};
    for (size_t i = 0; i < sources->count; i++) {
        struct energy_counter *counter = &sources->counters[i];
        int r = energy_counter_read(sources, counter, tick->mono_ns);
        if (r < 0) {
            has_failed[counter->domain] = true;
            (void)energy_counter_fail(sources, counter, r, err);
        }
    }
    for (size_t i = 0; i < sources->count && !tick->baseline; i++) {
        struct energy_counter *counter = &sources->counters[i];
        if (has_failed[counter->domain])
            continue;
        sums[counter->domain] = some_u64(sums[counter->domain].v + counter->pending_uj);
        counter->pending_uj = 0;
    }
}

/* Reading may have the firmware ask the battery. */
static void read_batteries(struct energy_state *state, const struct tick *tick, struct opt_u64 *sum)
{
    struct energy_sources *sources = &state->sources;
    if (sources->battery_count == 0 || (tick->mono_ns < state->battery_ns && !tick->is_final))
        return;
    struct blocking_thread *bracket = blocking_enter(state->env->blocking, 0, "energy");
    for (size_t i = 0; i < sources->battery_count; i++) {
        struct opt_u64 uj = energy_battery_read(sources, &sources->batteries[i]);
        if (uj.has)
            *sum = some_u64(sum->v + uj.v);
    }
    if (!blocking_leave(bracket))
        blocking_return(bracket);
    state->battery_ns = tick->mono_ns + COLLECT_SLOW_NS;
}

static int energy_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct energy_state *state = opaque;
    struct energy_sources *sources = &state->sources;
    struct sample_energy energy = {.source = sources->names[ENERGY_PACKAGE]};
    struct opt_u64 sums[ENERGY_DOMAINS] = {{0}};
    int64_t elapsed_ns = tick->mono_ns - state->prev_ns;
    if (!tick->baseline || !state->is_fresh)
        read_counters(sources, tick, sums, err);
    state->is_fresh = false;
    read_batteries(state, tick, &sums[ENERGY_PLATFORM]);
    state->prev_ns = tick->mono_ns;
    if (tick->baseline)
        return 0;
    energy.package_joules = opt_scaled(sums[ENERGY_PACKAGE], 1e6);
    energy.dram_joules = opt_scaled(sums[ENERGY_DRAM], 1e6);
    energy.platform_joules = opt_scaled(sums[ENERGY_PLATFORM], 1e6);
    if (state->is_estimate)
        estimate(&sample->cpu, elapsed_ns, &energy);
    else
        energy_share(&sample->cpu, &energy);
    if (!energy.source)
        energy.source = state->is_estimate            ? "estimate"
                        : sources->names[ENERGY_DRAM] ? sources->names[ENERGY_DRAM]
                                                      : sources->names[ENERGY_PLATFORM];
    energy.present = energy.package_joules.has || energy.dram_joules.has || energy.platform_joules.has;
    sample->energy = energy;
    return 0;
}

__attribute__((cold)) static void energy_close(void *opaque)
{
    struct energy_state *state = opaque;
    energy_sources_close(&state->sources);
}

__attribute__((cold)) static int energy_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct energy_state *state = opaque;
    memset(state, 0, sizeof(*state));
    state->env = env;
    state->is_fresh = true;
    state->prev_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    int r = energy_sources_open(&state->sources, env, err);
    state->is_estimate = env->estimates_energy && !state->sources.names[ENERGY_PACKAGE];
    if (r < 0 && state->is_estimate)
        return 0;
    if (r < 0)
        energy_close(state);
    return r;
}

const struct collector collector_energy = {
    .name = "energy",
    .state_bytes = sizeof(struct energy_state),
    .open = energy_open,
    .collect = energy_collect,
    .close = energy_close,
};
