/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of diskstats, remembered from sample to sample: which of them are devices, partitions or neither is found
 * out once per row, so that nothing is opened again. A row that vanishes takes its descriptors with it.
 */
#ifndef COLLECT_DISK_TABLE_H
#define COLLECT_DISK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "collect/collect.h"
#include "collect/disk/identity.h"
#include "kernel/diskstats.h"

enum { DISK_ROWS_MAX = 4096, DISK_DEVICES_MAX = 1024, DISK_KEPT_SIZES_MAX = 128 };

struct disk_device {
    bool identified; /* its identity is known, or is being asked for */
    bool wants_identity;
    uint32_t ticket; /* of the probe */
    uint32_t seen_news; /* of the probe, when it was last asked */
    struct disk_identity identity;
    struct kept_file size_file;
    struct opt_u64 capacity_bytes;
    struct opt_bool stacked;
    bool stacked_stale;
    size_t first_mount, mount_count; /* its place in the collector's list of mounts */
};

struct disk_row {
    struct diskstats_row prev; /* the reading before; its numbers and name are those of the row */
    bool has_prev;
    bool idle_hidden; /* loop and ram devices: not shown before they are used */
    bool moved;
    enum disk_kind kind;
    char parent[DISK_NAME_BYTES]; /* of a partition */
    struct disk_device *device; /* of a whole device; owned */
};

struct disk_rows {
    struct disk_row *items;
    size_t count, cap;
};

struct disk_table {
    const struct collect_env *env; /* not owned */
    int sys_fd; /* not owned; -1: no sysfs */
    struct disk_rows rows; /* row i belongs to row i of the diskstats last given */
    struct disk_rows next;
    struct {
        uint32_t *items; /* rows of whole devices, sorted by name */
        size_t count, cap;
    } order;
    size_t devices;
    bool order_stale;
    uint64_t generation; /* grows when rows come, go or move */
};

void disk_table_init(struct disk_table *table, const struct collect_env *env);
void disk_table_fini(struct disk_table *table);

/* Lines the rows up with a new reading. Returns 0 or -ENOMEM; on failure nothing changes. */
int disk_table_match(struct disk_table *table, const struct diskstats *stats);

/* Looks at rows that were not looked at yet and are now worth it, and sorts the devices. 0 or -ENOMEM. */
int disk_table_classify(struct disk_table *table, const struct diskstats *stats);

/* The device that owns a device number, itself or by a partition; NULL where none does. Looks at it if need be. */
struct disk_device *disk_table_find_owner(struct disk_table *table, unsigned major, unsigned minor);

/* Was the device ever used? */
static inline bool disk_table_has_io(const struct diskstats_row *reading)
{
    return reading->reads || reading->writes || reading->read_units || reading->write_units;
}

/* Makes this reading the previous one. */
void disk_table_remember(struct disk_table *table, const struct diskstats *stats);

/* Without sysfs: the length of the device's name in a partition's name (sda1: 3, nvme0n1p2: 7), or 0. */
size_t disk_table_base_length(const char *name);

#endif
