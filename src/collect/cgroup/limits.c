/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a control group and of those above it (cgroup-v2.rst, cgroup-v1/memory.rst, scheduler/sched-bwc.rst). */
#include "base/auto.h"
#include "base/clock.h"
#include "collect/cgroup/cgroup.h"
#include "collect/collect.h"
#include "kernel/cgroup_files.h"

/* v1 rounds "no limit" (the largest signed number) down to whole pages, whose size differs between machines. */
#define V1_NO_LIMIT_BYTES (UINT64_C(1) << 62)

static struct opt_f64 limit_parse(enum cgroup_limit_kind kind, struct str text, struct str period)
{
    struct opt_u64 bytes;
    switch (kind) {
    case CGROUP_LIMIT_CPU_V1:
        return cgroup_cfs_cores(text, period);
    case CGROUP_LIMIT_CPU_V2:
        return cgroup_cpu_max_cores(text);
    case CGROUP_LIMIT_MEMORY_V1:
        bytes = cgroup_single_u64(text);
        bytes.has = bytes.has && bytes.v < V1_NO_LIMIT_BYTES;
        return opt_scaled(bytes, BYTES_PER_MIB);
    case CGROUP_LIMIT_MEMORY_V2:
        return opt_scaled(cgroup_single_u64(text), BYTES_PER_MIB);
    }
    return (struct opt_f64){0};
}

static void limit_read(const struct sysroot *root, enum cgroup_limit_kind kind, struct cgroup_limit *limit)
{
    char text_bytes[CGROUP_FILE_BYTES_MAX], period_bytes[CGROUP_FILE_BYTES_MAX];
    struct str text = {NULL, 0}, period = {NULL, 0};
    limit->value = (struct opt_f64){0};
    if (cgroup_file_read(root, &limit->file, text_bytes, &text) < 0)
        return;
    if (limit->period.name && cgroup_file_read(root, &limit->period, period_bytes, &period) < 0)
        return;
    limit->value = limit_parse(kind, text, period);
}

static void limit_close(struct cgroup_limit *limit)
{
    fd_close(&limit->file.fd);
    fd_close(&limit->period.fd);
}

/* False where this level has no such file. */
static bool limit_open(const struct sysroot *root, enum cgroup_limit_kind kind, struct cgroup_limit *limit)
{
    static const char *const names[] = {
        [CGROUP_LIMIT_CPU_V1] = "cpu.cfs_quota_us",
        [CGROUP_LIMIT_CPU_V2] = "cpu.max",
        [CGROUP_LIMIT_MEMORY_V1] = "memory.limit_in_bytes",
        [CGROUP_LIMIT_MEMORY_V2] = "memory.max",
    };
    limit->file.name = names[kind];
    limit->period.fd = -1;
    if (cgroup_file_open(root, &limit->file) < 0)
        return false;
    if (kind == CGROUP_LIMIT_CPU_V1) {
        limit->period = limit->file;
        limit->period.name = "cpu.cfs_period_us";
        if (cgroup_file_open(root, &limit->period) < 0) {
            limit_close(limit);
            return false;
        }
    }
    limit_read(root, kind, limit);
    return true;
}

static void limits_find_lowest(struct cgroup_limits *limits)
{
    limits->lowest = limits->above;
    for (size_t i = 0; i < limits->count; i++)
        limits->lowest = opt_lower(limits->lowest, limits->items[i].value);
}

void cgroup_limits_open(const struct collect_env *env, const struct cgroup_location *location,
    enum cgroup_limit_kind kind, struct cgroup_limits *limits)
{
    *limits = (struct cgroup_limits){.kind = kind};
    if (location->version == 0)
        return;
    size_t len = location->len;
    do {
        struct cgroup_limit limit = {.file = {.location = location, .dir_len = len}};
        if (!limit_open(env->root, kind, &limit))
            continue;
        if (limits->count < CGROUP_LIMIT_LEVELS_MAX) {
            limits->items[limits->count++] = limit;
        } else {
            limits->above = opt_lower(limits->above, limit.value);
            limit_close(&limit);
        }
    } while (cgroup_path_up(location, &len));
    limits_find_lowest(limits);

    /* The levels are due one after the other, so that no single sample has to read them all. */
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    for (size_t i = 0; i < limits->count; i++)
        limits->items[i].due_ns = now_ns + COLLECT_SLOW_NS - (int64_t)i * (COLLECT_SLOW_NS / CGROUP_LIMIT_LEVELS_MAX);
}

void cgroup_limits_refresh(const struct sysroot *root, int64_t now_ns, struct cgroup_limits *limits)
{
    bool changed = false;
    for (size_t i = 0; i < limits->count; i++) {
        struct cgroup_limit *limit = &limits->items[i];
        if (now_ns < limit->due_ns)
            continue;
        limit_read(root, limits->kind, limit);
        limit->due_ns = now_ns + COLLECT_SLOW_NS;
        changed = true;
    }
    if (changed)
        limits_find_lowest(limits);
}

void cgroup_limits_close(struct cgroup_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++)
        limit_close(&limits->items[i]);
}
