/* SPDX-License-Identifier: Apache-2.0 */
/* One kept file of a control group: opened below the root of the machine, then one pread for every reading. */
#include "collect/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "kernel/cgroup_files.h"

void cgroup_file_path(const struct cgroup_file *file, char path[static CGROUP_FILE_PATH_BYTES])
{
    const char *slash = file->dir_len > 0 ? "/" : "";
    (void)snprintf(
        path, CGROUP_FILE_PATH_BYTES, "%.*s%s%s", (int)file->dir_len, file->location->dir, slash, file->name);
}

int cgroup_file_open(const struct sysroot *root, struct cgroup_file *file)
{
    char path[CGROUP_FILE_PATH_BYTES];
    cgroup_file_path(file, path);
    file->fd = -1;
    int fd = file_open_at(root->root_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    file->fd = fd;
    return 0;
}

static int file_pread(const struct cgroup_file *file, char *out, struct str *ret_text)
{
    ssize_t n;
    do {
        n = pread(file->fd, out, CGROUP_FILE_BYTES_MAX, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n == CGROUP_FILE_BYTES_MAX)
        return -EFBIG;
    *ret_text = (struct str){out, (size_t)n};
    return 0;
}

int cgroup_file_read(
    const struct sysroot *root, struct cgroup_file *file, char out[static CGROUP_FILE_BYTES_MAX], struct str *ret_text)
{
    int r = file->fd >= 0 ? file_pread(file, out, ret_text) : -EBADF;
    if (r >= 0 || r == -EFBIG)
        return r;
    fd_close(&file->fd);
    r = cgroup_file_open(root, file);
    if (r >= 0)
        r = file_pread(file, out, ret_text);
    if (r < 0)
        fd_close(&file->fd);
    return r;
}

/*
 * The limits of a control group, read level by level (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst,
 * scheduler/sched-bwc.rst). Every kept level is read again every COLLECT_SLOW_NS, one after the other.
 */

/* v1 rounds "no limit" (the largest signed number) down to whole pages, whose size differs between machines. */
#define V1_NO_LIMIT_BYTES (UINT64_C(1) << 62)

static struct opt_f64 limit_lower(struct opt_f64 a, struct opt_f64 b)
{
    if (!a.has || !b.has)
        return a.has ? a : b;
    return a.v < b.v ? a : b;
}

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
        return opt_scaled(bytes, CGROUP_BYTES_PER_MIB);
    case CGROUP_LIMIT_MEMORY_V2:
        return opt_scaled(cgroup_single_u64(text), CGROUP_BYTES_PER_MIB);
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
        limits->lowest = limit_lower(limits->lowest, limits->items[i].value);
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
            limits->above = limit_lower(limits->above, limit.value);
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
