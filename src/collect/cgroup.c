/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own control group: its limits and what it uses (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst,
 * scheduler/sched-bwc.rst). Files that exist are opened once and kept; usage is read every sample, limits and the name
 * of our group every COLLECT_SLOW_NS: a process can be moved to another. A limit holds for everything below it, so the
 * lowest one on the way up counts.
 */
#include "kernel/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "collect/cgroup_path.h"
#include "collect/collect.h"

enum {
    GROUPS_BYTES_MAX = 256 * 1024,
    GROUP_FILE_BYTES_MAX = 4096,
    GROUP_PATH_BYTES = PATH_MAX + 64,
    KEPT_LEVELS_MAX = 16, /* limits further up are read once, at the start */
};

#define BYTES_PER_MIB (1024.0 * 1024.0)

/* v1 rounds "no limit" (the largest signed number) down to whole pages, whose size differs between machines. */
#define V1_NO_LIMIT_BYTES (UINT64_C(1) << 62)

struct group_file {
    const struct cgroup_place *place;
    size_t dir_len; /* how much of the place's directory: our group or one above it */
    const char *name;
    int fd; /* -1: not open */
};

enum group_value { VALUE_USAGE, VALUE_THROTTLED, VALUE_MEMORY, VALUE_MEMORY_PEAK, VALUE_OOM_KILLS, GROUP_VALUES };

struct value_source {
    const char *file;
    const char *key; /* NULL: the file is the number */
    double unit; /* how many make one second or one MiB */
};

static const struct {
    enum cgroup_controller controller;
    struct value_source by_version[2];
} value_table[GROUP_VALUES] = {
    [VALUE_USAGE] = {CGROUP_CPUACCT, {{"cpuacct.usage", NULL, 1e9}, {"cpu.stat", "usage_usec", 1e6}}},
    [VALUE_THROTTLED] = {CGROUP_CPU, {{"cpu.stat", "throttled_time", 1e9}, {"cpu.stat", "throttled_usec", 1e6}}},
    [VALUE_MEMORY] = {CGROUP_MEMORY,
        {{"memory.usage_in_bytes", NULL, BYTES_PER_MIB}, {"memory.current", NULL, BYTES_PER_MIB}}},
    [VALUE_MEMORY_PEAK] = {CGROUP_MEMORY,
        {{"memory.max_usage_in_bytes", NULL, BYTES_PER_MIB}, {"memory.peak", NULL, BYTES_PER_MIB}}},
    [VALUE_OOM_KILLS] = {CGROUP_MEMORY, {{"memory.oom_control", "oom_kill", 1}, {"memory.events", "oom_kill", 1}}},
};

struct value {
    struct group_file file;
    const struct value_source *source; /* NULL: this host has none */
};

enum limit_kind { LIMIT_CPU_V1, LIMIT_CPU_V2, LIMIT_MEMORY_V1, LIMIT_MEMORY_V2 };

struct limit {
    struct group_file file;
    struct group_file period; /* v1 CPU only */
    struct opt_f64 value; /* cores or MiB */
    int64_t due_ns;
};

struct limit_set {
    enum limit_kind kind;
    struct limit items[KEPT_LEVELS_MAX]; /* from our group up */
    size_t count;
    struct opt_f64 above; /* the lowest of those not kept */
    struct opt_f64 lowest;
};

struct cgroup_state {
    const struct collect_env *env;
    struct kept_file self; /* self/cgroup */
    struct buf groups; /* its text when our group was looked for */
    struct buf groups_now;
    int64_t look_due_ns; /* when it is compared next */
    bool resolved;
    bool failing, gone; /* some or all of its values could not be read the last time */
    struct cgroup_place places[CGROUP_CONTROLLERS];
    struct value values[GROUP_VALUES];
    struct opt_u64 prev[GROUP_VALUES];
    struct limit_set cpu_limits, memory_limits;
    bool one_cpu_file; /* v2 keeps usage and throttling in the same cpu.stat */
};

static void group_file_path(const struct group_file *file, char path[static GROUP_PATH_BYTES])
{
    const char *slash = file->dir_len > 0 ? "/" : "";
    (void)snprintf(path, GROUP_PATH_BYTES, "%.*s%s%s", (int)file->dir_len, file->place->dir, slash, file->name);
}

static int group_file_open(const struct sysroot *root, struct group_file *file)
{
    char path[GROUP_PATH_BYTES];
    group_file_path(file, path);
    file->fd = -1;
    int fd = file_open_at(root->root_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    file->fd = fd;
    return 0;
}

static int group_file_pread(const struct group_file *file, char *out, struct str *ret_text)
{
    ssize_t n;
    do {
        n = pread(file->fd, out, GROUP_FILE_BYTES_MAX, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n == GROUP_FILE_BYTES_MAX)
        return -EFBIG;
    *ret_text = (struct str){out, (size_t)n};
    return 0;
}

/* One pread into out (GROUP_FILE_BYTES_MAX bytes); a descriptor gone bad (lxcfs restarted) is opened again once. */
static int group_file_read(const struct sysroot *root, struct group_file *file, char *out, struct str *ret_text)
{
    int r = file->fd >= 0 ? group_file_pread(file, out, ret_text) : -EBADF;
    if (r >= 0 || r == -EFBIG)
        return r;
    fd_close(&file->fd);
    r = group_file_open(root, file);
    if (r >= 0)
        r = group_file_pread(file, out, ret_text);
    if (r < 0)
        fd_close(&file->fd);
    return r;
}

/* Returns how many files there are. */
static size_t values_open(struct cgroup_state *state)
{
    state->one_cpu_file = state->places[CGROUP_CPU].version == 2 && state->places[CGROUP_CPUACCT].version == 2;
    size_t found = 0;
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        const struct cgroup_place *place = &state->places[value_table[i].controller];
        struct value *value = &state->values[i];
        if (place->version == 0)
            continue;
        const struct value_source *source = &value_table[i].by_version[place->version - 1];
        value->file = (struct group_file){.place = place, .dir_len = place->len, .name = source->file, .fd = -1};
        if (i == VALUE_THROTTLED && state->one_cpu_file) {
            value->source = state->values[VALUE_USAGE].source ? source : NULL;
            continue;
        }
        int r = group_file_open(state->env->root, &value->file);
        /* Any other failure may pass: every reading tries again and tells of it. */
        if (r == -ENOENT || r == -EOPNOTSUPP)
            continue;
        value->source = source;
        found++;
    }
    return found;
}

struct values_outcome {
    size_t read; /* files */
    int failure; /* 0, or why one could not be read */
};

/* err tells of a file that could not be read. */
static struct values_outcome values_read(
    struct cgroup_state *state, struct opt_u64 values[GROUP_VALUES], struct err *err)
{
    char text_bytes[GROUP_FILE_BYTES_MAX];
    struct str text = {NULL, 0};
    struct values_outcome outcome = {0};
    int r = 0;
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        struct value *value = &state->values[i];
        values[i] = (struct opt_u64){0};
        if (!value->source)
            continue;
        /* Where both stand in one file, the text of VALUE_USAGE is still there. */
        if (i != VALUE_THROTTLED || !state->one_cpu_file) {
            r = group_file_read(state->env->root, &value->file, text_bytes, &text);
            outcome.read += r >= 0;
        }
        if (r < 0) {
            outcome.failure = r;
            char path[GROUP_PATH_BYTES];
            group_file_path(&value->file, path);
            (void)err_sys(err, r, "cgroup: cannot read %s/%s", state->env->root->path, path);
            continue;
        }
        const char *key = value->source->key;
        values[i] = key ? cgroup_keyed_u64(text, str_of(key)) : cgroup_single_u64(text);
    }
    return outcome;
}

static struct opt_f64 limit_lower(struct opt_f64 a, struct opt_f64 b)
{
    if (!a.has || !b.has)
        return a.has ? a : b;
    return a.v < b.v ? a : b;
}

static struct opt_f64 limit_parse(enum limit_kind kind, struct str text, struct str period)
{
    struct opt_u64 bytes;
    switch (kind) {
    case LIMIT_CPU_V1:
        return cgroup_cfs_cores(text, period);
    case LIMIT_CPU_V2:
        return cgroup_cpu_max_cores(text);
    case LIMIT_MEMORY_V1:
        bytes = cgroup_single_u64(text);
        bytes.has = bytes.has && bytes.v < V1_NO_LIMIT_BYTES;
        return opt_scaled(bytes, BYTES_PER_MIB);
    case LIMIT_MEMORY_V2:
        return opt_scaled(cgroup_single_u64(text), BYTES_PER_MIB);
    }
    return (struct opt_f64){0};
}

static void limit_read(const struct sysroot *root, enum limit_kind kind, struct limit *limit)
{
    char text_bytes[GROUP_FILE_BYTES_MAX], period_bytes[GROUP_FILE_BYTES_MAX];
    struct str text = {NULL, 0}, period = {NULL, 0};
    limit->value = (struct opt_f64){0};
    if (group_file_read(root, &limit->file, text_bytes, &text) < 0)
        return;
    if (limit->period.name && group_file_read(root, &limit->period, period_bytes, &period) < 0)
        return;
    limit->value = limit_parse(kind, text, period);
}

static void limit_close(struct limit *limit)
{
    fd_close(&limit->file.fd);
    fd_close(&limit->period.fd);
}

/* False where this level has no such file. */
static bool limit_open(const struct sysroot *root, enum limit_kind kind, struct limit *limit)
{
    static const char *const names[] = {
        [LIMIT_CPU_V1] = "cpu.cfs_quota_us",
        [LIMIT_CPU_V2] = "cpu.max",
        [LIMIT_MEMORY_V1] = "memory.limit_in_bytes",
        [LIMIT_MEMORY_V2] = "memory.max",
    };
    limit->file.name = names[kind];
    limit->period.fd = -1;
    if (group_file_open(root, &limit->file) < 0)
        return false;
    if (kind == LIMIT_CPU_V1) {
        limit->period = limit->file;
        limit->period.name = "cpu.cfs_period_us";
        if (group_file_open(root, &limit->period) < 0) {
            limit_close(limit);
            return false;
        }
    }
    limit_read(root, kind, limit);
    return true;
}

static void limits_find_lowest(struct limit_set *set)
{
    set->lowest = set->above;
    for (size_t i = 0; i < set->count; i++)
        set->lowest = limit_lower(set->lowest, set->items[i].value);
}

static void limits_open(
    const struct collect_env *env, const struct cgroup_place *place, enum limit_kind kind, struct limit_set *set)
{
    *set = (struct limit_set){.kind = kind};
    if (place->version == 0)
        return;
    size_t len = place->len;
    do {
        struct limit limit = {.file = {.place = place, .dir_len = len}};
        if (!limit_open(env->root, kind, &limit))
            continue;
        if (set->count < KEPT_LEVELS_MAX) {
            set->items[set->count++] = limit;
        } else {
            set->above = limit_lower(set->above, limit.value);
            limit_close(&limit);
        }
    } while (cgroup_path_up(place, &len));
    limits_find_lowest(set);

    /* The levels take turns, so that no single sample has to read them all. */
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    for (size_t i = 0; i < set->count; i++)
        set->items[i].due_ns = now_ns + COLLECT_SLOW_NS - (int64_t)i * (COLLECT_SLOW_NS / KEPT_LEVELS_MAX);
}

static void limits_refresh(const struct sysroot *root, int64_t now_ns, struct limit_set *set)
{
    bool changed = false;
    for (size_t i = 0; i < set->count; i++) {
        struct limit *limit = &set->items[i];
        if (now_ns < limit->due_ns)
            continue;
        limit_read(root, set->kind, limit);
        limit->due_ns = now_ns + COLLECT_SLOW_NS;
        changed = true;
    }
    if (changed)
        limits_find_lowest(set);
}

static void limits_close(struct limit_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        limit_close(&set->items[i]);
}

static void cgroup_derive(
    const struct cgroup_state *state, const struct opt_u64 cur[GROUP_VALUES], struct sample_cgroup *ret)
{
    struct opt_f64 out[GROUP_VALUES] = {0};
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        bool counter = i == VALUE_USAGE || i == VALUE_THROTTLED;
        struct opt_u64 amount = counter ? counter_delta_opt(state->prev[i], cur[i]) : cur[i];
        if (amount.has)
            out[i] = opt_scaled(amount, state->values[i].source->unit);
    }
    *ret = (struct sample_cgroup){
        .present = true,
        .cpu_limit_cores = state->cpu_limits.lowest,
        .cpu_usage_secs = out[VALUE_USAGE],
        .throttled_secs = out[VALUE_THROTTLED],
        .memory_limit_mib = state->memory_limits.lowest,
        .memory_used_mib = out[VALUE_MEMORY],
        .memory_peak_mib = out[VALUE_MEMORY_PEAK],
        .oom_kills = cur[VALUE_OOM_KILLS],
    };
}

static void cgroup_forget(struct cgroup_state *state)
{
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        fd_close(&state->values[i].file.fd);
        state->values[i].source = NULL;
        state->prev[i] = (struct opt_u64){0};
    }
    limits_close(&state->cpu_limits);
    limits_close(&state->memory_limits);
    state->cpu_limits = state->memory_limits = (struct limit_set){0};
    state->resolved = state->failing = state->gone = false;
}

/* Finds the group that groups_now names and opens its files, in place of those of the group before; 1 where it did. */
static int cgroup_resolve(struct cgroup_state *state, struct err *err)
{
    const struct collect_env *env = state->env;
    cgroup_forget(state);
    buf_clear(&state->groups);
    buf_append(&state->groups, state->groups_now.data, state->groups_now.len);
    if (!buf_ok(&state->groups))
        return err_sys(err, -ENOMEM, "cgroup: cannot hold %s/proc/self/cgroup", env->root->path);
    int r = cgroup_path_find(env->root, (struct str){state->groups.data, state->groups.len}, state->places, err);
    if (r < 0)
        return r;
    const struct cgroup_place *cpu = &state->places[CGROUP_CPU], *memory = &state->places[CGROUP_MEMORY];
    size_t found = values_open(state);
    limits_open(env, cpu, cpu->version == 1 ? LIMIT_CPU_V1 : LIMIT_CPU_V2, &state->cpu_limits);
    limits_open(env, memory, memory->version == 1 ? LIMIT_MEMORY_V1 : LIMIT_MEMORY_V2, &state->memory_limits);
    state->resolved = found + state->cpu_limits.count + state->memory_limits.count > 0;
    if (state->resolved)
        return 1;
    return err_set(err, -ENODATA, "cgroup: the control group of this process has no files to read");
}

/*
 * Are we still in the group whose files are open, and are they still there? If not, looks for our group anew. Returns
 * 1 where it found it, 0 where nothing changed, -ENODATA where there is none, or another negative errno; that is tried
 * again at the next sample.
 */
static int cgroup_look(struct cgroup_state *state, int64_t now_ns, struct err *err)
{
    const char *root = state->env->root->path;
    state->look_due_ns = now_ns;
    int r = kept_file_read(&state->self, &state->groups_now);
    bool absent = r == -ENOENT || r == -ENOTDIR;
    if (r < 0 && !absent)
        return err_sys(err, r, "cgroup: cannot read %s/proc/self/cgroup", root);
    struct str before = {state->groups.data, state->groups.len};
    struct str now = {state->groups_now.data, state->groups_now.len};
    if (absent)
        r = state->resolved ? 0 : err_set(err, -ENODATA, "cgroup: there is no %s/proc/self/cgroup", root);
    else if (state->gone || !state->resolved || !str_eq(before, now))
        r = cgroup_resolve(state, err);
    if (r >= 0 || r == -ENODATA)
        state->look_due_ns = now_ns + COLLECT_SLOW_NS;
    return r;
}

static void cgroup_close(void *opaque)
{
    struct cgroup_state *state = opaque;
    cgroup_forget(state);
    kept_file_fini(&state->self);
    buf_fini(&state->groups);
    buf_fini(&state->groups_now);
}

static int cgroup_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct cgroup_state *state = opaque;
    *state = (struct cgroup_state){.env = env};
    for (size_t i = 0; i < GROUP_VALUES; i++)
        state->values[i].file.fd = -1;
    kept_file_init(&state->self, env->root->proc_fd, "self/cgroup", FILE_TO_END);
    buf_init(&state->groups, GROUPS_BYTES_MAX);
    buf_init(&state->groups_now, GROUPS_BYTES_MAX);
    int r = cgroup_look(state, clock_read(env->clock, CLOCK_KIND_MONOTONIC), err);
    if (r == -ENODATA)
        cgroup_close(state);
    /* Any other failure may pass: collect tries again and tells of it. */
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
    int r = now_ns >= state->look_due_ns ? cgroup_look(state, now_ns, err) : 0;
    if (r < 0 && !state->resolved)
        return r;
    if (!cgroup_read_values(state, cur, ret_outcome, err))
        return 0;
    /* The group may have been removed after we were moved to another. */
    r = cgroup_look(state, now_ns, err);
    if (r < 0 && !state->resolved)
        return r;
    if (r > 0) {
        err_clear(err);
        (void)cgroup_read_values(state, cur, ret_outcome, err);
    }
    return 0;
}

static int cgroup_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct cgroup_state *state = opaque;
    int64_t now_ns = clock_read(state->env->clock, CLOCK_KIND_MONOTONIC);
    struct opt_u64 cur[GROUP_VALUES];
    struct values_outcome outcome;
    int r = cgroup_read(state, now_ns, cur, &outcome, err);
    if (r < 0)
        return r;
    limits_refresh(state->env->root, now_ns, &state->cpu_limits);
    limits_refresh(state->env->root, now_ns, &state->memory_limits);
    if (outcome.read == 0 && !state->cpu_limits.lowest.has && !state->memory_limits.lowest.has)
        return outcome.failure < 0 ? outcome.failure : -ENODATA;
    if (!tick->baseline)
        cgroup_derive(state, cur, &sample->cgroup);
    /* A value that could not be read keeps its old counter, so that the next reading makes up for the gap. */
    for (size_t i = 0; i < GROUP_VALUES; i++) {
        if (cur[i].has)
            state->prev[i] = cur[i];
    }
    return 0;
}

const struct collector collector_cgroup = {
    .name = "cgroup",
    .state_bytes = sizeof(struct cgroup_state),
    .open = cgroup_open,
    .collect = cgroup_collect,
    .close = cgroup_close,
};
