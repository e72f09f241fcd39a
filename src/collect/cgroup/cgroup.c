/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of the tracked tree, or our own: its limits and what it uses (Documentation/admin-guide/
 * cgroup-v2.rst, cgroup-v1/memory.rst, scheduler/sched-bwc.rst). Files that exist are opened once and kept; usage is
 * read every sample, limits and the name of the group every COLLECT_SLOW_NS: a process can be moved to another, and a
 * command can move itself (cgexec, systemd-run --scope), which is looked for more often at its start. Where the command
 * has a v2 group of its own, that one stands in for ours, and the groups above it for what it lacks. A group that is
 * tracked stays the same.
 */
#include "collect/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/collect.h"
#include "kernel/cgroup_files.h"

enum { GROUPS_BYTES_MAX = 256 * 1024, CGROUP_NAME_BYTES = 32, STAT_STEP_BYTES = 4 << 20 };

enum group_value { VALUE_USAGE, VALUE_THROTTLED, VALUE_MEMORY, VALUE_MEMORY_PEAK, VALUE_OOM_KILLS, GROUP_VALUES };

struct value_source {
    char file[28], key[16]; /* key "": the file is the number */
    double unit; /* how many make one second or one MiB */
};

static const struct {
    enum cgroup_controller controller;
    struct value_source by_version[2];
} value_table[GROUP_VALUES] = {
    [VALUE_USAGE] = {CGROUP_CPUACCT, {{"cpuacct.usage", "", 1e9}, {"cpu.stat", "usage_usec", 1e6}}},
    [VALUE_THROTTLED] = {CGROUP_CPU, {{"cpu.stat", "throttled_time", 1e9}, {"cpu.stat", "throttled_usec", 1e6}}},
    [VALUE_MEMORY] = {CGROUP_MEMORY,
        {{"memory.usage_in_bytes", "", BYTES_PER_MIB}, {"memory.current", "", BYTES_PER_MIB}}},
    [VALUE_MEMORY_PEAK] = {CGROUP_MEMORY,
        {{"memory.max_usage_in_bytes", "", BYTES_PER_MIB}, {"memory.peak", "", BYTES_PER_MIB}}},
    [VALUE_OOM_KILLS] = {CGROUP_MEMORY, {{"memory.oom_control", "oom_kill", 1}, {"memory.events", "oom_kill", 1}}},
};

struct value {
    struct cgroup_file file;
    const struct value_source *source; /* NULL: this host has none */
    bool of_command; /* in the group that was made for the command, where every counter began at 0 */
};

struct cgroup_state {
    const struct collect_env *env;
    struct kept_file self; /* self/cgroup, or that of the root */
    bool is_of_root; /* the latter; so is a group that is tracked */
    bool is_attached; /* it is that one */
    bool has_looked; /* it was read for this sample */
    struct buf groups; /* its text when our group was resolved */
    struct buf groups_now;
    int64_t check_due_ns; /* when it is compared next */
    bool was_searched, resolved;
    bool failing, gone; /* some or all of its values could not be read the last time */
    struct cgroup_location locations[CGROUP_CONTROLLERS];
    struct cgroup_own own;
    bool of_command[CGROUP_CONTROLLERS]; /* the location is the group that was made for the command, not ours */
    struct value values[GROUP_VALUES];
    struct opt_u64 prev[GROUP_VALUES];
    struct opt_i64 usage_ns; /* when the usage in it was read */
    struct opt_u64 first_oom_kills; /* when the run began, or the group was found */
    uint64_t oom_kills_before; /* in groups of before, during the run */
    bool begins_oom_kills; /* the next reading is the first one of a group */
    struct cgroup_limits cpu_limits, memory_limits;
    bool one_cpu_file; /* usage and throttling are in the same file */
    struct cgroup_file stat; /* of memory, opened where it is first needed */
    uint64_t stat_used_bytes; /* memory in use when it was read, or the least since */
    int64_t stat_due_ns;
};

/* Does the opened file hold the value? A cpu.stat without the controller has no throttled_usec. */
static bool value_is_there(const struct sysroot *root, struct value *value, const char *key)
{
    char text_bytes[CGROUP_FILE_BYTES_MAX];
    struct str text;
    return !*key || cgroup_file_read(root, &value->file, text_bytes, &text) < 0 ||
           cgroup_keyed_u64(text, str_of(key)).has;
}

/*
 * In our own group; where the command has its own, in the nearest from there up that has the value: a controller that
 * is not turned on for a group counts it in with the one above.
 */
static int value_open(const struct sysroot *root, struct value *value, const struct value_source *source, bool climb)
{
    for (;;) {
        int r = cgroup_file_open(root, &value->file);
        if (r >= 0 && climb && !value_is_there(root, value, source->key)) {
            fd_close(&value->file.fd);
            r = -ENOENT;
        }
        bool absent = r == -ENOENT || r == -EOPNOTSUPP;
        if (!absent || !climb || !cgroup_path_up(value->file.location, &value->file.dir_len))
            return r;
    }
}

/* The counters of the command's group begin at 0, those of any other with the first reading. */
static void value_begin(struct cgroup_state *state, size_t i, bool of_command)
{
    struct value *value = &state->values[i];
    if (of_command && !value->of_command)
        state->prev[i] = some_u64(0);
    else if (!of_command)
        state->prev[i] = (struct opt_u64){0};
    value->of_command = of_command;
}

/* v2 keeps usage and throttling in the same cpu.stat, if both come from the same group. */
static bool shares_cpu_file(const struct cgroup_state *state, size_t i)
{
    const struct cgroup_file *usage = &state->values[VALUE_USAGE].file;
    return i == VALUE_THROTTLED && state->locations[CGROUP_CPU].version == 2 &&
           state->locations[CGROUP_CPUACCT].version == 2 && state->values[i].file.dir_len == usage->dir_len;
}

/* Returns how many files there are. */
static size_t values_open(struct cgroup_state *state)
{
    state->one_cpu_file = false;
    size_t found = 0;
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        enum cgroup_controller controller = value_table[i].controller;
        const struct cgroup_location *location = &state->locations[controller];
        struct value *value = &state->values[i];
        if (location->version == 0)
            continue;
        const struct value_source *source = &value_table[i].by_version[location->version - 1];
        value->file =
            (struct cgroup_file){.location = location, .dir_len = location->len, .name = source->file, .fd = -1};
        bool climb = state->of_command[controller];
        int r = climb || !shares_cpu_file(state, i) ? value_open(state->env->root, value, source, climb) : 0;
        /* Any other failure may pass: every reading tries again and reports it. */
        if (r == -ENOENT || r == -EOPNOTSUPP)
            continue;
        value_begin(state, i, climb && value->file.dir_len == location->len);
        value->source = source;
        if (shares_cpu_file(state, i)) {
            fd_close(&value->file.fd);
            state->one_cpu_file = true;
            value->source = state->values[VALUE_USAGE].source ? source : NULL;
        } else {
            found++;
        }
    }
    return found;
}

struct values_outcome {
    size_t read; /* files */
    int failure; /* 0, or why one could not be read */
};

/* err names a file that could not be read. */
static struct values_outcome values_read(
    struct cgroup_state *state, struct opt_u64 values[GROUP_VALUES], struct err *err)
{
    char text_bytes[CGROUP_FILE_BYTES_MAX];
    struct str text = {NULL, 0};
    struct values_outcome outcome = {0};
    int r = 0;
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        struct value *value = &state->values[i];
        values[i] = (struct opt_u64){0};
        if (!value->source)
            continue;
        /* It never falls: a sample that costs a look at the root's group can do without. */
        if (i == VALUE_MEMORY_PEAK && state->has_looked && state->is_of_root && state->prev[i].has) {
            values[i] = state->prev[i];
            if (values[VALUE_MEMORY].has && values[VALUE_MEMORY].v > values[i].v)
                values[i].v = values[VALUE_MEMORY].v;
            continue;
        }
        /* Where both stand in one file, the text of VALUE_USAGE is still there. */
        if (i != VALUE_THROTTLED || !state->one_cpu_file) {
            r = cgroup_file_read(state->env->root, &value->file, text_bytes, &text);
            outcome.read += r >= 0;
        }
        if (r < 0) {
            outcome.failure = r;
            char path[CGROUP_FILE_PATH_BYTES];
            cgroup_file_path(&value->file, path);
            (void)err_sys(err, r, "cgroup: cannot read %s/%s", state->env->root->path, path);
            continue;
        }
        const char *key = value->source->key;
        values[i] = *key ? cgroup_keyed_u64(text, str_of(key)) : cgroup_single_u64(text);
    }
    return outcome;
}

/* JSON has these in whole MiB. */
static struct opt_f64 whole(struct opt_f64 mib)
{
    return mib.has ? some_f64((double)(int64_t)mib.v) : mib;
}

static void cgroup_derive(
    const struct cgroup_state *state, const struct opt_u64 cur[GROUP_VALUES], struct sample *sample)
{
    struct opt_f64 out[GROUP_VALUES] = {0};
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        bool counter = i == VALUE_USAGE || i == VALUE_THROTTLED;
        struct opt_u64 amount = counter ? counter_delta_opt(state->prev[i], cur[i]) : cur[i];
        if (amount.has)
            out[i] = opt_scaled(amount, state->values[i].source->unit);
    }
    const struct value_source *peak = state->values[VALUE_MEMORY_PEAK].source;
    struct opt_u64 before = state->prev[VALUE_MEMORY_PEAK];
    sample->cgroup = (struct sample_cgroup){
        .present = true,
        .cpu_limit_cores = state->cpu_limits.lowest,
        .cpu_usage_secs = out[VALUE_USAGE],
        .throttled_secs = out[VALUE_THROTTLED],
        .memory_limit_mib = whole(state->memory_limits.lowest),
        .memory_used_mib = whole(out[VALUE_MEMORY]),
        .memory_peak_mib = whole(out[VALUE_MEMORY_PEAK]),
        .oom_kills = cur[VALUE_OOM_KILLS],
    };
    if (peak && before.has)
        sample->run.cgroup_peak_mib = whole(opt_scaled(before, peak->unit));
}

/* The same CPU time among the numbers of the CPU, where other trackers have it. */
static void derive_cpu(struct cgroup_state *state, const struct tick *tick, struct sample *sample)
{
    struct opt_f64 usage = sample->cgroup.cpu_usage_secs;
    int64_t length_ns = tick->mono_ns - state->usage_ns.v;
    if (tick->baseline || !usage.has)
        return;
    sample->cpu.cgroup_usage_secs = usage;
    if (state->usage_ns.has && length_ns > 0)
        sample->cpu.cgroup_cores = some_f64(usage.v * 1e9 / (double)length_ns);
}

static void cgroup_release(struct cgroup_state *state)
{
    struct opt_u64 kills = counter_delta_opt(state->first_oom_kills, state->prev[VALUE_OOM_KILLS]);
    state->oom_kills_before += kills.has ? kills.v : 0;
    state->begins_oom_kills = true;
    state->first_oom_kills = (struct opt_u64){0};
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        fd_close(&state->values[i].file.fd);
        state->values[i].source = NULL;
        if (!state->values[i].of_command)
            state->prev[i] = (struct opt_u64){0};
    }
    fd_close(&state->stat.fd);
    state->stat_due_ns = 0;
    cgroup_limits_close(&state->cpu_limits);
    cgroup_limits_close(&state->memory_limits);
    state->cpu_limits = state->memory_limits = (struct cgroup_limits){0};
    state->resolved = state->failing = state->gone = false;
}

/* The command's group replaces ours in the v2 hierarchy, the only one that it is in. */
static void places_enter_command(struct cgroup_state *state)
{
    const struct tracked *tracked = state->env->tracked;
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++) {
        struct cgroup_location *location = &state->locations[i];
        state->of_command[i] = location->version == 2 && tracked && tracked->group_dir && !state->is_attached &&
                               cgroup_path_enter(location, tracked->group_dir);
    }
}

/* Finds the group that groups_now names and opens its files, instead of those of the group before; 1 where it did. */
static int cgroup_resolve(struct cgroup_state *state, struct err *err)
{
    const struct collect_env *env = state->env;
    cgroup_release(state);
    buf_clear(&state->groups);
    buf_append(&state->groups, state->groups_now.data, state->groups_now.len);
    if (!buf_ok(&state->groups))
        return err_sys(err, -ENOMEM, "cgroup: cannot hold %s/proc/self/cgroup", env->root->path);
    /* Only the first time: later it may have changed. */
    struct str mounts = {NULL, 0};
    if (!state->was_searched && env->mountinfo)
        mounts = buf_str(env->mountinfo);
    state->was_searched = true;
    struct str groups = buf_str(&state->groups);
    int r = 0;
    if (state->is_attached)
        memcpy(state->locations, env->tracked->group_locations, sizeof(state->locations));
    else
        r = cgroup_path_find(env->root, groups, mounts, state->locations, err);
    if (r < 0)
        return r;
    places_enter_command(state);
    const struct cgroup_location *cpu = &state->locations[CGROUP_CPU], *memory = &state->locations[CGROUP_MEMORY];
    size_t found = values_open(state);
    cgroup_limits_open(env, cpu, cpu->version == 1 ? CGROUP_LIMIT_CPU_V1 : CGROUP_LIMIT_CPU_V2, &state->cpu_limits);
    cgroup_limits_open(
        env, memory, memory->version == 1 ? CGROUP_LIMIT_MEMORY_V1 : CGROUP_LIMIT_MEMORY_V2, &state->memory_limits);
    state->resolved = found + state->cpu_limits.count + state->memory_limits.count > 0;
    if (state->resolved)
        return 1;
    return err_set(err, -ENODATA, "cgroup: the control group of this process has no files to read");
}

/* The group of the root is read from here on: one that we attach to lives in another, and a command can enter one. */
static void follow_root(struct cgroup_state *state)
{
    char path[CGROUP_NAME_BYTES];
    const struct collect_env *env = state->env;
    (void)snprintf(path, sizeof(path), "%d/cgroup", (int)env->tracked->root);
    kept_file_fini(&state->self);
    kept_file_init(&state->self, env->root->proc_fd, path, FILE_SINGLE);
    state->is_of_root = true;
    state->check_due_ns = 0;
}

static bool can_follow_root(const struct collect_env *env)
{
    return env->tracked && env->tracked->root > 0 && !env->tracked->group_dir && env->root->names_us;
}

/* The PID of a root that has ended may be another process's, and a group without processes may be removed. */
static bool is_root_gone(const struct cgroup_state *state)
{
    return state->is_of_root && state->env->tree->is_root_gone;
}

/* A process that ends is shown at the top of every v1 hierarchy, and its v2 group as "/a (deleted)" once that is gone.
 */
static bool is_of_ending(struct str groups)
{
    static const struct str deleted = {" (deleted)", 10};
    struct cgroup_line line;
    bool has_v1 = false, is_elsewhere = false;
    while (cgroup_line_next(&groups, &line)) {
        if (line.path.n > deleted.n && str_eq((struct str){line.path.p + line.path.n - deleted.n, deleted.n}, deleted))
            return true;
        has_v1 |= line.hierarchy != 0;
        is_elsewhere |= line.hierarchy != 0 && !str_eq(line.path, STR("/"));
    }
    return has_v1 && !is_elsewhere;
}

/* After half the time since the start: a command that enters a group does so early. */
static int64_t next_check_ns(const struct cgroup_state *state, int64_t now_ns)
{
    int64_t wait_ns = COLLECT_SLOW_NS;
    if (state->is_of_root && (now_ns - state->env->tracked->start_ns) / 2 < wait_ns)
        wait_ns = (now_ns - state->env->tracked->start_ns) / 2;
    return now_ns + wait_ns;
}

/*
 * Are we still in the group whose files are open, and are they still there? If not, resolves our group anew. Returns
 * 1 where it found it, 0 where nothing changed, -ENODATA where there is none, or another negative errno; that is tried
 * again at the next sample.
 */
static int cgroup_check_group(struct cgroup_state *state, int64_t now_ns, struct err *err)
{
    const char *root = state->env->root->path;
    state->check_due_ns = now_ns;
    if (is_root_gone(state))
        return 0;
    int r = kept_file_read(&state->self, &state->groups_now);
    state->has_looked = true;
    bool absent = r == -ENOENT || r == -ENOTDIR || r == -ESRCH;
    if (r < 0 && !absent)
        return err_sys(err, r, "cgroup: cannot read %s/proc/%s", root, state->self.path);
    struct str before = buf_str(&state->groups);
    struct str now = buf_str(&state->groups_now);
    if (absent)
        r = state->resolved ? 0 : err_set(err, -ENODATA, "cgroup: there is no %s/proc/%s", root, state->self.path);
    else if (!state->resolved || !(state->is_of_root && is_of_ending(now)))
        r = state->gone || !state->resolved || !str_eq(before, now) ? cgroup_resolve(state, err) : 0;
    if (r >= 0 || r == -ENODATA)
        state->check_due_ns = next_check_ns(state, now_ns);
    return r;
}

static void cgroup_close(void *opaque)
{
    struct cgroup_state *state = opaque;
    cgroup_release(state);
    kept_file_fini(&state->self);
    buf_fini(&state->groups);
    buf_fini(&state->groups_now);
}

static int cgroup_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct cgroup_state *state = opaque;
    *state = (struct cgroup_state){.env = env, .stat.fd = -1};
    state->is_attached = env->tracked && env->tracked->group_locations;
    for (size_t i = 0; i < GROUP_VALUES; i++)
        state->values[i].file.fd = -1;
    kept_file_init(&state->self, env->root->proc_fd, "self/cgroup", FILE_SINGLE);
    if (can_follow_root(env) && env->tracked->attached)
        follow_root(state);
    buf_init(&state->groups, GROUPS_BYTES_MAX);
    buf_init(&state->groups_now, GROUPS_BYTES_MAX);
    int r = cgroup_check_group(state, clock_read(env->clock, CLOCK_KIND_MONOTONIC), err);
    /* Behind it: its first process may have ended already. */
    state->is_of_root |= state->is_attached;
    if (r == -ENODATA)
        cgroup_close(state);
    /* Any other failure may pass: collect tries again and reports it. */
    return r == -ENODATA ? r : 0;
}

/* Reads the values; true where they begin to fail. */
static bool cgroup_read_values(
    struct cgroup_state *state, struct opt_u64 cur[GROUP_VALUES], struct values_outcome *ret_outcome, struct err *err)
{
    *ret_outcome = values_read(state, cur, err);
    bool failing = ret_outcome->failure < 0, gone = failing && ret_outcome->read == 0;
    bool begins = (failing && !state->failing) || (gone && !state->gone);
    state->failing = failing;
    state->gone = gone;
    return begins;
}

/* Reads the values of the group we are in now. */
static int cgroup_read(struct cgroup_state *state, int64_t now_ns, struct opt_u64 cur[GROUP_VALUES],
    struct values_outcome *ret_outcome, struct err *err)
{
    state->has_looked = false;
    int r = now_ns >= state->check_due_ns ? cgroup_check_group(state, now_ns, err) : 0;
    if (r < 0 && !state->resolved)
        return r;
    if (!cgroup_read_values(state, cur, ret_outcome, err))
        return 0;
    /* The group may have been removed after we were moved to another. */
    r = cgroup_check_group(state, now_ns, err);
    if (r < 0 && !state->resolved)
        return r;
    if (r > 0) {
        err_clear(err);
        (void)cgroup_read_values(state, cur, ret_outcome, err);
    }
    return 0;
}

/* The group that the numbers of memory are of, which is not always that of CPU time. */
static void fill_group(struct cgroup_state *state, const struct tick *tick, struct sample_run *run)
{
    const struct value *value = &state->values[VALUE_MEMORY];
    if (!value->source)
        value = &state->values[VALUE_USAGE];
    const struct cgroup_own_source source = {.file = &value->file,
        .of_command = value->of_command || state->is_attached,
        .groups = {state->groups.data, state->groups.len}};
    if (value->source)
        cgroup_own_fill(&state->own, state->env, tick, &source, run);
}

/* Kills during the run; where the command has a group of its own, all that it counts. */
static void fill_oom_kills(
    struct cgroup_state *state, const struct tick *tick, struct opt_u64 kills, struct sample *sample)
{
    if (tick->baseline || state->begins_oom_kills) {
        state->first_oom_kills = state->values[VALUE_OOM_KILLS].of_command ? some_u64(0) : kills;
        state->begins_oom_kills = !tick->baseline && !kills.has;
    }
    struct opt_u64 counted = counter_delta_opt(state->first_oom_kills, kills);
    /* any sample may turn out to be the last */
    if (!tick->baseline && counted.has)
        sample->end.oom_kills = some_u64(state->oom_kills_before + counted.v);
}

/*
 * Shared memory that no process maps is in no process's memory, and without swap it cannot be dropped like page cache.
 * What is mapped counts files too, so it is a lower bound. Read where it counts: in a group that is the job's own, or
 * that has a limit itself.
 */
static void fill_shmem(struct cgroup_state *state, int64_t now_ns, struct opt_u64 used, struct sample_cgroup *cgroup)
{
    const struct cgroup_limits *limits = &state->memory_limits;
    bool counts = state->own.is_own.v || (limits->count > 0 && limits->items[0].value.has);
    if (!used.has || !counts)
        return;
    if (used.v < state->stat_used_bytes)
        state->stat_used_bytes = used.v;
    uint64_t grown = used.v - state->stat_used_bytes;
    if (now_ns < state->stat_due_ns && grown < state->stat_used_bytes / 16 + STAT_STEP_BYTES)
        return;
    state->stat_used_bytes = used.v;
    state->stat_due_ns = now_ns + COLLECT_SLOW_NS;
    int fd = state->stat.fd;
    state->stat = state->values[VALUE_MEMORY].file;
    state->stat.name = "memory.stat";
    state->stat.fd = fd;
    char text_bytes[CGROUP_FILE_BYTES_MAX];
    struct str text;
    if (cgroup_file_read(state->env->root, &state->stat, text_bytes, &text) < 0)
        return;
    bool is_v1 = state->stat.location->version == 1;
    struct opt_u64 shmem = cgroup_keyed_u64(text, is_v1 ? STR("total_shmem") : STR("shmem"));
    struct opt_u64 mapped = cgroup_keyed_u64(text, is_v1 ? STR("total_mapped_file") : STR("file_mapped"));
    if (shmem.has && mapped.has && shmem.v > mapped.v)
        cgroup->shmem_unmapped_mib = whole(opt_scaled(some_u64(shmem.v - mapped.v), BYTES_PER_MIB));
}

static int cgroup_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct cgroup_state *state = opaque;
    if (!tick->baseline)
        cgroup_own_list_job(&state->own, state->env, tick);
    if (!tick->baseline && !state->is_of_root && can_follow_root(state->env) && !state->env->tree->is_root_gone)
        follow_root(state);
    int64_t now_ns = clock_read(state->env->clock, CLOCK_KIND_MONOTONIC);
    struct opt_u64 cur[GROUP_VALUES];
    struct values_outcome outcome;
    int r = cgroup_read(state, now_ns, cur, &outcome, err);
    if (r < 0)
        return r;
    /* A group that was made for the job goes with it. */
    if (state->gone && is_root_gone(state)) {
        err_clear(err);
        outcome.failure = 0;
    }
    cgroup_limits_refresh(state->env->root, now_ns, &state->cpu_limits);
    cgroup_limits_refresh(state->env->root, now_ns, &state->memory_limits);
    if (outcome.read == 0 && !state->cpu_limits.lowest.has && !state->memory_limits.lowest.has)
        return outcome.failure < 0 ? outcome.failure : -ENODATA;
    if (!tick->baseline) {
        cgroup_derive(state, cur, sample);
        fill_group(state, tick, &sample->run);
        fill_shmem(state, now_ns, cur[VALUE_MEMORY], &sample->cgroup);
    }
    derive_cpu(state, tick, sample);
    if (cur[VALUE_USAGE].has)
        state->usage_ns = some_i64(tick->mono_ns);
    fill_oom_kills(state, tick, cur[VALUE_OOM_KILLS], sample);
    /*
     * A value that could not be read keeps its old counter, so that the next reading makes up for the gap. What the
     * command has used before the first sample belongs into it.
     */
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        if (cur[i].has && !(tick->baseline && state->values[i].of_command))
            state->prev[i] = cur[i];
    }
    return 0;
}

const struct collector collector_cgroup = {
    .name = "cgroup",
    .fills = {COLLECT_FILLS(cgroup), COLLECT_FILLS(end.oom_kills), COLLECT_FILLS(cpu.cgroup_usage_secs),
        COLLECT_FILLS(cpu.cgroup_cores), COLLECT_FILLS(run.cgroup_peak_mib), COLLECT_FILLS(run.cgroup_path),
        COLLECT_FILLS(run.cgroup_is_own)},
    .state_bytes = sizeof(struct cgroup_state),
    .open = cgroup_open,
    .collect = cgroup_collect,
    .close = cgroup_close,
};
