/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tick over the DRM clients, and the sums per device. The busiest class of engines stands for a device: classes
 * work side by side, so their times must not be added (Documentation/gpu/drm-usage-stats.rst).
 */
#include "collect/gpu/drm/fdinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/gpu/drm/fdinfo_internal.h"

enum { CLASSES_MAX = 32 };

struct fdinfo {
    struct fdinfo_table table;
    struct fdinfo_scan scan;
    struct opt_i64 tick_ns; /* the last one */
    bool has_elapsed; /* time has passed between the last two */
    bool is_host_known; /* every client that can be seen was found */
    bool has_host_elapsed; /* and that was so at the tick before as well */
};

int fdinfo_new(const struct collect_env *env, struct fdinfo **ret_fdinfo)
{
    *ret_fdinfo = NULL;
    struct fdinfo *fdinfo = calloc(1, sizeof(*fdinfo));
    if (!fdinfo)
        return -ENOMEM;
    int r = fdinfo_table_init(&fdinfo->table, env->root->proc_fd);
    if (r < 0) {
        free(fdinfo);
        return r;
    }
    fdinfo_scan_init(&fdinfo->scan, env, &fdinfo->table);
    *ret_fdinfo = fdinfo;
    return 0;
}

void fdinfo_free(struct fdinfo *fdinfo)
{
    if (!fdinfo)
        return;
    fdinfo_scan_fini(&fdinfo->scan);
    fdinfo_table_fini(&fdinfo->table);
    free(fdinfo);
}

void fdinfo_tick(
    struct fdinfo *fdinfo, const struct job_member *members, size_t count, bool all_processes, int64_t now_ns)
{
    struct fdinfo_table *table = &fdinfo->table;
    struct fdinfo_scan *scan = &fdinfo->scan;
    bool was_host_known = fdinfo->is_host_known;
    fdinfo_table_begin(table);
    fdinfo_scan_set_members(scan, members, count, fdinfo->tick_ns, now_ns);
    /* First, so that holders whose file failed are scanned in the same tick. */
    fdinfo_table_sweep(table, FDINFO_SWEEP_KEPT, now_ns);
    fdinfo_scan_members(scan, now_ns);
    if (all_processes)
        fdinfo_scan_others(scan, now_ns);
    else
        fdinfo_scan_drop_others(scan);
    fdinfo_table_sweep(table, FDINFO_SWEEP_REMAINING, now_ns);
    fdinfo_table_end(table, now_ns);
    fdinfo->has_elapsed = fdinfo->tick_ns.has && now_ns > fdinfo->tick_ns.v;
    fdinfo->tick_ns = some_i64(now_ns);
    fdinfo->is_host_known = scan->round.is_known;
    fdinfo->has_host_elapsed = was_host_known && fdinfo->has_elapsed;
}

/* The classes of one device; names point into the clients. */
struct class_sums {
    struct {
        const char *name;
        double share;
    } items[CLASSES_MAX];
    size_t count;
};

static void add_share(struct class_sums *sums, const char *name, double share)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (strcmp(sums->items[i].name, name) == 0) {
            sums->items[i].share += share;
            return;
        }
    }
    if (sums->count == CLASSES_MAX)
        return;
    sums->items[sums->count].name = name;
    sums->items[sums->count++].share = share;
}

static double find_busiest(const struct class_sums *sums)
{
    double busiest = 0;
    for (size_t i = 0; i < sums->count; i++) {
        if (sums->items[i].share > busiest)
            busiest = sums->items[i].share;
    }
    return busiest < 1 ? busiest : 1;
}

static bool is_on_device(const struct drm_fdinfo *info, struct fdinfo_device device)
{
    if (strcmp(info->pdev, device.pdev) != 0)
        return false;
    return device.pdev[0] || strcmp(info->driver, device.driver) == 0;
}

/* A client whose driver does not report its memory makes the sum unknown. */
static void add_bytes(struct opt_u64 *sum, struct opt_u64 bytes)
{
    sum->has = sum->has && bytes.has;
    if (!sum->has || __builtin_add_overflow(sum->v, bytes.v, &sum->v))
        *sum = (struct opt_u64){0};
}

static struct fdinfo_use sum_use(const struct fdinfo *fdinfo, struct fdinfo_device device, bool only_tree)
{
    struct class_sums sums = {0};
    struct fdinfo_use use = {.usage = some_f64(0), .vram_bytes = some_u64(0)};
    for (size_t i = 0; i < fdinfo->table.clients.count; i++) {
        const struct fdinfo_client *client = &fdinfo->table.clients.items[i];
        if (only_tree && client->is_used && client->is_lost && is_on_device(&client->info, device))
            use.usage.has = false;
        if (!client->is_used || !client->is_read || (only_tree && !client->is_tree) ||
            !is_on_device(&client->info, device))
            continue;
        /* A driver that names no engine does not report how busy they are. */
        use.usage.has &= client->info.engine_count > 0;
        for (size_t j = 0; j < client->info.engine_count; j++)
            add_share(&sums, client->info.engines[j].name, client->shares[j]);
        add_bytes(&use.vram_bytes, client->info.vram_bytes);
    }
    use.usage.v = find_busiest(&sums);
    return use;
}

struct fdinfo_use fdinfo_tree_use(const struct fdinfo *fdinfo, struct fdinfo_device device)
{
    if (!fdinfo->tick_ns.has || !fdinfo_scan_is_tree_known(&fdinfo->scan) ||
        fdinfo_scan_is_unsupported_for_tree(&fdinfo->scan, device))
        return (struct fdinfo_use){0};
    struct fdinfo_use use = sum_use(fdinfo, device, true);
    if (!fdinfo->has_elapsed)
        use.usage = (struct opt_f64){0};
    return use;
}

struct fdinfo_use fdinfo_host_use(const struct fdinfo *fdinfo, struct fdinfo_device device)
{
    if (!fdinfo->is_host_known || fdinfo_scan_is_unsupported_for_host(&fdinfo->scan, device))
        return (struct fdinfo_use){0};
    struct fdinfo_use use = sum_use(fdinfo, device, false);
    if (!fdinfo->has_host_elapsed)
        use.usage = (struct opt_f64){0};
    return use;
}

bool fdinfo_is_tree_known(const struct fdinfo *fdinfo)
{
    return fdinfo_scan_is_tree_known(&fdinfo->scan);
}

bool fdinfo_tree_holds(const struct fdinfo *fdinfo, const char *compute_device)
{
    return fdinfo_scan_tree_holds(&fdinfo->scan, compute_device);
}
