/* SPDX-License-Identifier: Apache-2.0 */
/* DRM clients by device and id, each counted once however many processes share it. */
#include "collect/gpu/drm/fdinfo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"

/* The longest texts (a dozen engines, five regions of memory) are near 3 KiB; read at once, they cannot change between.
 */
enum { TEXT_BYTES = 8 * 1024, TEXT_BYTES_MAX = 64 * 1024 };

/* Longer than the longest pause between two scans of a member. */
#define REMEMBER_NS (70 * NS_PER_SEC)

int fdinfo_table_init(struct fdinfo_table *table, int proc_fd)
{
    *table = (struct fdinfo_table){.proc_fd = proc_fd};
    buf_init(&table->text, TEXT_BYTES_MAX);
    return buf_reserve(&table->text, TEXT_BYTES) ? 0 : -ENOMEM;
}

static void close_file(struct fdinfo_table *table, struct fdinfo_link *link)
{
    if (link->file < 0)
        return;
    fd_close(&link->file);
    table->kept--;
}

void fdinfo_table_fini(struct fdinfo_table *table)
{
    for (size_t i = 0; i < table->links.count; i++)
        close_file(table, &table->links.items[i]);
    free(table->links.items);
    free(table->clients.items);
    buf_fini(&table->text);
}

bool fdinfo_holder_is_same(struct fdinfo_holder a, struct fdinfo_holder b)
{
    return a.pid == b.pid && a.start_ticks == b.start_ticks && a.is_member == b.is_member;
}

static bool is_same_client(const struct drm_fdinfo *a, const struct drm_fdinfo *b)
{
    return a->client_id.has == b->client_id.has && a->client_id.v == b->client_id.v && strcmp(a->pdev, b->pdev) == 0 &&
           strcmp(a->driver, b->driver) == 0;
}

static int open_file(const struct fdinfo_table *table, pid_t pid, int fd)
{
    char path[48];
    (void)snprintf(path, sizeof(path), "%d/fdinfo/%d", (int)pid, fd);
    return file_open_at(table->proc_fd, path, O_RDONLY);
}

static int read_info(struct fdinfo_table *table, int file, struct drm_fdinfo *ret_info)
{
    int r = file_read_fd(file, FILE_SINGLE, &table->text);
    return r < 0 ? r : drm_fdinfo_parse(buf_str(&table->text), ret_info);
}

/* The links of a client hold its slot; without any it waits to be found again or dropped. */
static void drop_link(struct fdinfo_table *table, size_t at)
{
    struct fdinfo_link *link = &table->links.items[at];
    close_file(table, link);
    struct fdinfo_client *client = &table->clients.items[link->client];
    client->links--;
    *link = table->links.items[--table->links.count];
}

void fdinfo_table_keep_links(struct fdinfo_table *table, fdinfo_link_test *is_wanted, const void *context)
{
    for (size_t i = table->links.count; i-- > 0;) {
        if (!is_wanted(context, &table->links.items[i]))
            drop_link(table, i);
    }
}

static bool find_client(const struct fdinfo_table *table, const struct drm_fdinfo *info, size_t *ret_client)
{
    for (size_t i = 0; info->client_id.has && i < table->clients.count; i++) {
        if (table->clients.items[i].is_used && is_same_client(&table->clients.items[i].info, info)) {
            *ret_client = i;
            return true;
        }
    }
    return false;
}

/* A free slot, perhaps that of one that no process holds any more. */
static int find_slot(struct fdinfo_table *table, size_t *ret_client)
{
    for (size_t i = 0; i < table->clients.count; i++) {
        if (!table->clients.items[i].is_used) {
            *ret_client = i;
            return 0;
        }
    }
    int r = VEC_GROW(&table->clients, table->clients.count + 1, FDINFO_CLIENTS_MAX);
    if (r == 0) {
        *ret_client = table->clients.count++;
        return 0;
    }
    for (size_t i = 0; i < table->clients.count; i++) {
        if (table->clients.items[i].links == 0) {
            *ret_client = i;
            return 0;
        }
    }
    return r;
}

static int find_or_add_client(
    struct fdinfo_table *table, const struct drm_fdinfo *info, struct opt_i64 since_ns, size_t *ret_client)
{
    if (find_client(table, info, ret_client))
        return 0;
    int r = find_slot(table, ret_client);
    if (r < 0)
        return r;
    struct fdinfo_client *client = &table->clients.items[*ret_client];
    *client = (struct fdinfo_client){.is_used = true, .since_ns = since_ns, .info = *info};
    client->info.engine_count = 0;
    /* Without an id it may well be one that we have known before. */
    if (!info->client_id.has)
        client->since_ns.has = false;
    return 0;
}

static struct fdinfo_link *find_link(struct fdinfo_table *table, struct fdinfo_holder holder, int fd)
{
    for (size_t i = 0; i < table->links.count; i++) {
        struct fdinfo_link *link = &table->links.items[i];
        if (link->fd == fd && fdinfo_holder_is_same(link->holder, holder))
            return link;
    }
    return NULL;
}

static int add_link(struct fdinfo_table *table, struct fdinfo_link link)
{
    int r = VEC_GROW(&table->links, table->links.count + 1, FDINFO_DESCRIPTORS_MAX);
    if (r < 0)
        return r;
    table->links.items[table->links.count++] = link;
    table->clients.items[link.client].links++;
    return 0;
}

int fdinfo_table_note(struct fdinfo_table *table, struct fdinfo_holder holder, int fd, struct opt_i64 since_ns)
{
    struct fdinfo_link *link = find_link(table, holder, fd);
    if (link && link->file >= 0) {
        link->is_seen = true; /* its file is read every tick */
        return 0;
    }
    AUTO_FD int file = open_file(table, holder.pid, fd);
    struct drm_fdinfo info;
    int r = file < 0 ? file : read_info(table, file, &info);
    if (r < 0)
        return r == -ENOENT || r == -ESRCH ? 0 : r; /* closed meanwhile */
    if (link && is_same_client(&table->clients.items[link->client].info, &info)) {
        link->is_seen = true;
        link->is_broken = false;
        return 0;
    }
    if (link)
        drop_link(table, (size_t)(link - table->links.items));
    size_t client = 0;
    r = find_or_add_client(table, &info, since_ns, &client);
    if (r < 0)
        return r;
    return add_link(
        table, (struct fdinfo_link){.holder = holder, .fd = fd, .file = -1, .client = client, .is_seen = true});
}

void fdinfo_table_begin_scan(struct fdinfo_table *table, struct fdinfo_holder holder)
{
    for (size_t i = 0; i < table->links.count; i++) {
        if (fdinfo_holder_is_same(table->links.items[i].holder, holder))
            table->links.items[i].is_seen = false;
    }
}

static bool is_seen_or_of_another(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_holder *holder = context;
    return link->is_seen || !fdinfo_holder_is_same(link->holder, *holder);
}

void fdinfo_table_end_scan(struct fdinfo_table *table, struct fdinfo_holder holder)
{
    fdinfo_table_keep_links(table, is_seen_or_of_another, &holder);
}

static const struct drm_engine *find_engine(const struct drm_fdinfo *info, const char *name)
{
    for (size_t i = 0; i < info->engine_count; i++) {
        if (strcmp(info->engines[i].name, name) == 0)
            return &info->engines[i];
    }
    return NULL;
}

/*
 * What one client had of a class. A driver may name a class only once it is used, so a busy time that was not there
 * before began at 0; cycles come next to a clock that runs since boot and need two readings.
 */
static double derive_share(const struct drm_engine *prev, const struct drm_engine *cur, int64_t elapsed_ns)
{
    double capacity = num_to_f64(cur->capacity);
    if (cur->busy_ns.has) {
        uint64_t before_ns = prev && prev->busy_ns.has ? prev->busy_ns.v : 0;
        return num_to_f64(counter_delta(before_ns, cur->busy_ns.v)) / (double)elapsed_ns / capacity;
    }
    if (!prev)
        return 0;
    struct opt_u64 cycles = counter_delta_opt(prev->cycles, cur->cycles);
    struct opt_u64 total = counter_delta_opt(prev->total_cycles, cur->total_cycles);
    return cycles.has && total.has && total.v > 0 ? num_to_f64(cycles.v) / num_to_f64(total.v) / capacity : 0;
}

static void update_client(struct fdinfo_client *client, const struct drm_fdinfo *info, int64_t now_ns)
{
    int64_t elapsed_ns = client->since_ns.has ? now_ns - client->since_ns.v : 0;
    for (size_t i = 0; i < info->engine_count; i++) {
        const struct drm_engine *prev = find_engine(&client->info, info->engines[i].name);
        client->shares[i] = elapsed_ns > 0 ? derive_share(prev, &info->engines[i], elapsed_ns) : 0;
    }
    client->info = *info;
    client->since_ns = some_i64(now_ns);
    client->is_read = true;
}

void fdinfo_table_begin(struct fdinfo_table *table)
{
    for (size_t i = 0; i < table->clients.count; i++) {
        struct fdinfo_client *client = &table->clients.items[i];
        client->is_lost = client->is_tree; /* until a holder is found */
        client->is_read = client->is_tree = false;
    }
}

static void read_link(struct fdinfo_table *table, struct fdinfo_link *link, int64_t now_ns)
{
    struct fdinfo_client *client = &table->clients.items[link->client];
    struct drm_fdinfo info;
    AUTO_FD int fresh = link->file < 0 ? open_file(table, link->holder.pid, link->fd) : -1;
    int file = link->file < 0 ? fresh : link->file;
    int r = file < 0 ? file : read_info(table, file, &info);
    if (r < 0 || !is_same_client(&client->info, &info)) {
        close_file(table, link);
        link->is_broken = true;
        return;
    }
    update_client(client, &info, now_ns);
    if (link->file < 0 && table->kept < FDINFO_FILES_MAX) {
        link->file = fd_take(&fresh);
        table->kept++;
    }
}

void fdinfo_table_sweep(struct fdinfo_table *table, enum fdinfo_sweep sweep, int64_t now_ns)
{
    for (size_t i = 0; i < table->links.count; i++) {
        struct fdinfo_link *link = &table->links.items[i];
        if (table->clients.items[link->client].is_read || link->is_broken)
            continue;
        if (link->file >= 0 || sweep == FDINFO_SWEEP_REMAINING)
            read_link(table, link, now_ns);
    }
}

void fdinfo_table_end(struct fdinfo_table *table, int64_t now_ns)
{
    for (size_t i = 0; i < table->links.count; i++) {
        if (table->links.items[i].holder.is_member)
            table->clients.items[table->links.items[i].client].is_tree = true;
    }
    for (size_t i = 0; i < table->clients.count; i++) {
        struct fdinfo_client *client = &table->clients.items[i];
        client->is_lost &= client->links == 0;
        if (client->links > 0)
            continue;
        client->is_read = false;
        /* Without an id it is not known whether a later one is the same. */
        bool is_worth = client->info.client_id.has && client->since_ns.has;
        if (!client->is_lost && (!is_worth || now_ns - client->since_ns.v > REMEMBER_NS))
            client->is_used = false;
    }
}
