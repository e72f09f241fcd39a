/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of diskstats from sample to sample: which are devices or partitions is found out once per row. */
#include "collect/disk/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/probe/probe.h"

void disk_table_init(struct disk_table *table, const struct collect_env *env)
{
    *table = (struct disk_table){.env = env, .sys_fd = env->root->sys_fd};
}

static void free_device(struct disk_table *table, struct disk_row *row)
{
    if (!row->device)
        return;
    probe_drop(table->env, &row->device->ticket);
    kept_file_fini(&row->device->size_file);
    free(row->device);
    row->device = NULL;
    table->devices--;
}

void disk_table_fini(struct disk_table *table)
{
    for (size_t i = 0; i < table->rows.count; i++)
        free_device(table, &table->rows.items[i]);
    free(table->rows.items);
    free(table->next.items);
    free(table->order.items);
    *table = (struct disk_table){.sys_fd = -1};
}

static bool is_same(const struct disk_row *row, const struct diskstats_row *reading)
{
    return row->prev.minor == reading->minor && row->prev.major == reading->major &&
           strcmp(row->prev.name, reading->name) == 0;
}

static size_t row_count(const struct diskstats *stats)
{
    return stats->count < DISK_ROWS_MAX ? stats->count : DISK_ROWS_MAX;
}

static bool is_unchanged(const struct disk_rows *rows, const struct diskstats *stats)
{
    if (rows->count != row_count(stats))
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        if (!is_same(&rows->items[i], &stats->items[i]))
            return false;
    }
    return true;
}

/* Rows keep their order, so the search begins behind the last one found and seldom goes far. */
static struct disk_row *find_old(struct disk_rows *rows, const struct diskstats_row *reading, size_t *cursor)
{
    for (size_t step = 0; step < rows->count; step++) {
        size_t i = (*cursor + step) % rows->count;
        if (!rows->items[i].moved && is_same(&rows->items[i], reading)) {
            *cursor = i + 1;
            return &rows->items[i];
        }
    }
    return NULL;
}

__attribute__((cold)) static void init_row(struct disk_row *row, const struct diskstats_row *reading)
{
    memset(row, 0, sizeof(*row));
    row->prev = *reading;
    row->idle_hidden =
        disk_identity_is_numbered(reading->name, "loop") || disk_identity_is_numbered(reading->name, "ram");
}

int disk_table_match(struct disk_table *table, const struct diskstats *stats)
{
    if (is_unchanged(&table->rows, stats))
        return 0;
    struct disk_rows *next = &table->next;
    size_t count = row_count(stats);
    int r = VEC_GROW(next, count, DISK_ROWS_MAX);
    if (r < 0)
        return r;
    size_t cursor = 0;
    for (size_t i = 0; i < count; i++) {
        struct disk_row *old = find_old(&table->rows, &stats->items[i], &cursor);
        if (old) {
            next->items[i] = *old;
            old->moved = true;
        } else {
            init_row(&next->items[i], &stats->items[i]);
        }
    }
    for (size_t i = 0; i < table->rows.count; i++) {
        if (!table->rows.items[i].moved)
            free_device(table, &table->rows.items[i]);
    }
    struct disk_rows old = table->rows;
    table->rows = *next;
    table->rows.count = count;
    table->next = old;
    table->order_stale = true;
    table->generation++;
    return 0;
}

size_t disk_table_base_length(const char *name)
{
    size_t all = strlen(name);
    size_t n = all;
    while (n > 0 && ascii_is_digit(name[n - 1]))
        n--;
    if (n == all || n == 0)
        return 0;
    /* A device whose own name ends in a digit has a p before the number of the partition. */
    if (n >= 2 && name[n - 1] == 'p' && ascii_is_digit(name[n - 2]))
        return n - 1;
    return n;
}

static struct disk_row *find_name(const struct disk_table *table, struct str name)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        if (str_eq(str_of(table->rows.items[i].prev.name), name))
            return &table->rows.items[i];
    }
    return NULL;
}

static void guess_kind(const struct disk_table *table, struct disk_row *row)
{
    struct str base = {row->prev.name, disk_table_base_length(row->prev.name)};
    const struct disk_row *parent = base.n > 0 ? find_name(table, base) : NULL;
    row->kind = parent ? DISK_PARTITION : DISK_WHOLE;
    if (parent)
        (void)str_copy(base, row->parent, sizeof(row->parent));
}

static int classify_row(struct disk_table *table, struct disk_row *row)
{
    const struct diskstats_row *reading = &row->prev;
    if (disk_identity_kind(table->sys_fd, reading->major, reading->minor, &row->kind, row->parent) < 0)
        guess_kind(table, row);
    if (row->kind != DISK_WHOLE)
        return 0;
    if (table->devices == DISK_DEVICES_MAX) {
        row->kind = DISK_LEFT_OUT;
        return 0;
    }
    struct disk_device *device = calloc(1, sizeof(*device));
    if (!device) {
        row->kind = DISK_UNSEEN;
        return -ENOMEM;
    }
    disk_identity_init_size(&device->size_file, table->sys_fd, reading->major, reading->minor);
    row->device = device;
    table->devices++;
    table->order_stale = true;
    return 0;
}

static int sort_by_name(const void *a, const void *b, void *context)
{
    const struct disk_table *table = context;
    return strcmp(table->rows.items[*(const uint32_t *)a].prev.name, table->rows.items[*(const uint32_t *)b].prev.name);
}

static int sort_devices(struct disk_table *table)
{
    int r = VEC_GROW(&table->order, table->devices, DISK_DEVICES_MAX);
    if (r < 0)
        return r;
    table->order.count = 0;
    for (size_t i = 0; i < table->rows.count; i++) {
        if (table->rows.items[i].device)
            table->order.items[table->order.count++] = (uint32_t)i;
    }
    if (table->order.count > 1)
        qsort_r(table->order.items, table->order.count, sizeof(*table->order.items), sort_by_name, table);
    table->order_stale = false;
    return 0;
}

__attribute__((cold)) int disk_table_classify(struct disk_table *table, const struct diskstats *stats)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        struct disk_row *row = &table->rows.items[i];
        if (row->kind != DISK_UNSEEN || (row->idle_hidden && !disk_table_has_io(&stats->items[i])))
            continue;
        int r = classify_row(table, row);
        if (r < 0)
            return r;
    }
    return table->order_stale ? sort_devices(table) : 0;
}

struct disk_device *disk_table_find_owner(struct disk_table *table, unsigned major, unsigned minor)
{
    struct disk_row *row = NULL;
    for (size_t i = 0; i < table->rows.count && !row; i++) {
        if (table->rows.items[i].prev.minor == minor && table->rows.items[i].prev.major == major)
            row = &table->rows.items[i];
    }
    if (row && row->kind == DISK_UNSEEN && classify_row(table, row) < 0)
        return NULL;
    if (row && row->kind == DISK_PARTITION)
        row = find_name(table, str_of(row->parent));
    if (row && row->kind == DISK_UNSEEN && classify_row(table, row) < 0)
        return NULL;
    return row ? row->device : NULL;
}

void disk_table_remember(struct disk_table *table, const struct diskstats *stats)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        table->rows.items[i].prev = stats->items[i];
        table->rows.items[i].has_prev = true;
    }
}
