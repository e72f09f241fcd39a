/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole block devices: counters from /proc/diskstats (amounts in units of 512 bytes whatever the sector size), facts
 * from sysfs, filesystems from mountinfo, and ZFS pools. In the steady state one read per sample, one statvfs per
 * filesystem and second, and a read per device every ten seconds; nothing is opened.
 */
#include "collect/disk/disk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/probe/probe.h"

enum {
    STATS_BYTES_MAX = 4 * 1024 * 1024,
    SIZE_BYTES_MAX = 4096,
    OUT_DISKS_MAX = DISK_DEVICES_MAX + ZFS_POOLS_MAX,
    OUT_MOUNTS_MAX = MOUNTS_FILESYSTEMS_MAX + ZFS_POOLS_MAX,
};

struct disk_state {
    const struct collect_env *env;
    atomic_bool is_collecting;
    struct kept_file stats_file;
    struct buf stats_text, size_text;
    struct diskstats stats;
    struct disk_table table;
    struct mounts mounts;
    struct zfs zfs;
    int64_t prev_ns, read_ns; /* of the two readings of diskstats */
    int64_t slow_ns;
    bool slow_started;
    bool has_zfs;
    int size_failure; /* why a device's size could not be read, since the last slow tick */
    uint64_t assigned_mounts, assigned_rows, assigned_pools; /* generations that the mounts were assigned for */
    struct {
        struct filesystem **items; /* grouped by device */
        size_t count, cap;
    } assigned;
    struct {
        struct sample_mount *items; /* those of the devices as assigned, then one per pool */
        size_t count, cap;
    } out_mounts;
    struct {
        struct sample_disk *items;
        size_t count, cap;
    } out;
};

void disk_derive(
    const struct diskstats_row *prev, const struct diskstats_row *cur, int64_t elapsed_ns, struct sample_disk *ret_disk)
{
    ret_disk->read_bytes_total = some_u64(cur->read_units * DISKSTATS_UNIT_BYTES);
    ret_disk->write_bytes_total = some_u64(cur->write_units * DISKSTATS_UNIT_BYTES);
    if (!prev)
        return;
    ret_disk->read_bytes_delta = some_u64(counter_delta(prev->read_units, cur->read_units) * DISKSTATS_UNIT_BYTES);
    ret_disk->write_bytes_delta = some_u64(counter_delta(prev->write_units, cur->write_units) * DISKSTATS_UNIT_BYTES);
    ret_disk->read_bytes_per_sec = rate_per_sec(ret_disk->read_bytes_delta, elapsed_ns);
    ret_disk->write_bytes_per_sec = rate_per_sec(ret_disk->write_bytes_delta, elapsed_ns);
    ret_disk->reads_per_sec = rate_per_sec(some_u64(counter_delta(prev->reads, cur->reads)), elapsed_ns);
    ret_disk->writes_per_sec = rate_per_sec(some_u64(counter_delta(prev->writes, cur->writes)), elapsed_ns);
    struct opt_f64 busy_ms = rate_per_sec(some_u64(counter_delta(prev->busy_ms, cur->busy_ms)), elapsed_ns);
    if (busy_ms.has)
        ret_disk->busy_pct = some_f64(busy_ms.v < 1000 ? busy_ms.v / 10 : 100);
}

static void start_zfs(void *state, int64_t now_ns)
{
    struct disk_state *disk = state;
    /* Another thread may be stuck in it; then it comes later. */
    if (!disk->is_collecting)
        zfs_poll(&disk->zfs, now_ns, disk->has_zfs);
}

__attribute__((cold)) static int disk_open(void *state, const struct collect_env *env, struct err *err)
{
    struct disk_state *disk = state;
    (void)err;
    disk->env = env;
    kept_file_init(&disk->stats_file, env->root->proc_fd, "diskstats", FILE_RECORDS);
    buf_init(&disk->stats_text, STATS_BYTES_MAX);
    buf_init(&disk->size_text, SIZE_BYTES_MAX);
    disk_table_init(&disk->table, env);
    mounts_open(&disk->mounts, env);
    zfs_open(&disk->zfs, env);
    disk->has_zfs = zfs_is_loaded(&disk->zfs);
    probe_at_begin(env, start_zfs, disk);
    return 0;
}

__attribute__((cold)) static void disk_close(void *state)
{
    struct disk_state *disk = state;
    zfs_close(&disk->zfs);
    mounts_close(&disk->mounts);
    disk_table_fini(&disk->table);
    kept_file_fini(&disk->stats_file);
    buf_fini(&disk->stats_text);
    buf_fini(&disk->size_text);
    diskstats_fini(&disk->stats);
    free(disk->assigned.items);
    free(disk->out_mounts.items);
    free(disk->out.items);
}

static int disk_watch_fd(const void *state)
{
    const struct disk_state *disk = state;
    return disk->mounts.polled ? disk->mounts.fd : -1;
}

static void disk_woken(void *state)
{
    struct disk_state *disk = state;
    disk->mounts.dirty = true;
}

static int read_stats(struct disk_state *disk, struct err *err)
{
    int r = kept_file_read(&disk->stats_file, &disk->stats_text);
    disk->read_ns = clock_read(disk->env->clock, CLOCK_KIND_MONOTONIC);
    if (r == 0)
        r = diskstats_parse(buf_str(&disk->stats_text), &disk->stats);
    if (r == 0)
        r = disk_table_match(&disk->table, &disk->stats);
    return r < 0 ? collect_fail(err, r, "disk", disk->env->root, "proc/diskstats") : 0;
}

static void remember(struct disk_state *disk)
{
    disk_table_remember(&disk->table, &disk->stats);
    disk->prev_ns = disk->read_ns;
}

/*
 * Does a filesystem of another listed device hold this path? A ZFS dataset does too: its pool's members are listed.
 * Unknown where no mount of ours holds it (chroot) or it lies on an overlay, whose device we do not see.
 */
static struct opt_bool lies_on_other_device(struct disk_state *disk, const char *path, const struct disk_device *self)
{
    const struct mount_row *mount = mounts_find_path(&disk->mounts, path);
    unsigned major, minor;
    if (!mount || strcmp(mount->fstype, "overlay") == 0)
        return (struct opt_bool){0};
    if (strcmp(mount->fstype, "zfs") == 0)
        return some_bool(true);
    if (!mounts_find_device(&disk->mounts, mount, &major, &minor))
        return some_bool(false);
    const struct disk_device *owner = disk_table_find_owner(&disk->table, major, minor);
    return some_bool(owner && owner != self);
}

__attribute__((cold)) static struct opt_bool find_stacked(struct disk_state *disk, const struct disk_row *row)
{
    const struct diskstats_row *reading = &row->prev;
    struct opt_bool stacked = disk_identity_has_slaves(disk->table.sys_fd, reading->major, reading->minor);
    if (!stacked.has || stacked.v || !disk_identity_is_numbered(reading->name, "loop"))
        return stacked;
    char path[512];
    int n = disk_identity_backing_file(disk->table.sys_fd, reading->major, reading->minor, path, sizeof(path));
    return n > 0 ? lies_on_other_device(disk, path, row->device) : some_bool(false);
}

__attribute__((cold)) static void read_capacity(struct disk_state *disk, struct disk_device *device)
{
    struct opt_u64 capacity = {0};
    uint64_t units;
    int r = kept_file_read(&device->size_file, &disk->size_text);
    /* Nothing to report where sysfs or the device is gone; few descriptors are. */
    if (r < 0 && r != -ENOENT && r != -ENODEV)
        disk->size_failure = r;
    if (r == 0) {
        struct str text = str_trim(buf_str(&disk->size_text));
        /* A size of 0 is that of a loop device without a file, of a reader without a card: there is no capacity. */
        if (num_parse_u64(text, &units) == 0 && units > 0 && units <= UINT64_MAX / DISKSTATS_UNIT_BYTES)
            capacity = some_u64(units * DISKSTATS_UNIT_BYTES);
    }
    /* Another size: a loop device attached to another file, a card changed in its reader. */
    if (device->has_size && (capacity.has != device->capacity_bytes.has || capacity.v != device->capacity_bytes.v))
        device->identified = false;
    device->has_size = true;
    device->capacity_bytes = capacity;
    /* On machines with very many disks the descriptors are worth more than the opens. */
    if (disk->table.devices > DISK_KEPT_SIZES_MAX)
        kept_file_fini(&device->size_file);
}

/* Is this another disk under the same name? Its counters then begin anew. */
static bool went_backwards(const struct disk_row *row, const struct diskstats_row *cur)
{
    const struct diskstats_row *prev = &row->prev;
    return row->has_prev && (cur->reads < prev->reads || cur->writes < prev->writes ||
                                cur->read_units < prev->read_units || cur->write_units < prev->write_units);
}

static bool has_moved(const struct disk_row *row, const struct diskstats_row *cur)
{
    return !row->has_prev || cur->reads != row->prev.reads || cur->writes != row->prev.writes;
}

static bool is_shown(const struct disk_row *row, const struct diskstats_row *cur)
{
    return !row->idle_hidden || row->device->mount_count > 0 || disk_table_has_io(cur);
}

/* Another disk has another identity: the old one is void at once, the new one comes when the probe has it. */
__attribute__((cold)) static void read_identity(const struct disk_state *disk, const struct disk_row *row)
{
    const struct diskstats_row *reading = &row->prev;
    struct disk_device *device = row->device;
    if (!device->identified) {
        probe_drop(disk->env, &device->ticket);
        device->identity = disk_identity_of_name(reading->name);
        device->identified = device->wants_identity = device->stacked_stale = true;
    }
    if (!device->wants_identity || !probe_has_news(disk->env, device->ticket, &device->seen_news))
        return;
    struct probe_subject subject = {.kind = PROBE_DISK, .major = reading->major, .minor = reading->minor};
    struct probe_answer answer;
    (void)str_copy(str_of(reading->name), subject.name, sizeof(subject.name));
    if (!probe_get(disk->env, &device->ticket, &subject, &answer))
        return;
    device->identity = answer.disk;
    device->wants_identity = false;
}

/* What changes seldom: read for a new device, and some of it again every ten seconds or when the mounts change. */
static void refresh_devices(struct disk_state *disk, int64_t now_ns, bool mounts_changed, bool with_sizes)
{
    bool slow = !disk->slow_started || now_ns - disk->slow_ns >= COLLECT_SLOW_NS;
    if (slow) {
        disk->slow_started = true;
        disk->slow_ns = now_ns;
        disk->size_failure = 0;
    }
    for (size_t i = 0; i < disk->table.order.count; i++) {
        uint32_t index = disk->table.order.items[i];
        const struct disk_row *row = &disk->table.rows.items[index];
        struct disk_device *device = row->device;
        bool is_loop = disk_identity_is_numbered(row->prev.name, "loop");
        device->stacked_stale |= mounts_changed && is_loop;
        if (!is_shown(row, &disk->stats.items[index]))
            continue;
        if (went_backwards(row, &disk->stats.items[index]))
            device->identified = false;
        /* A loop device that had no size and does I/O was attached since the last check. */
        bool attached = is_loop && device->capacity_bytes.v == 0 && has_moved(row, &disk->stats.items[index]);
        if (with_sizes && (!device->identified || !device->has_size || slow || attached))
            read_capacity(disk, device);
        read_identity(disk, row);
        if (device->stacked_stale)
            device->stacked = find_stacked(disk, row);
        device->stacked_stale = false;
    }
}

/* Gives every filesystem to its device and groups them so, in the order of their mount points. */
__attribute__((cold)) static int assign_mounts(struct disk_state *disk)
{
    struct filesystem_list *list = &disk->mounts.list;
    int r = VEC_GROW(&disk->assigned, list->count, MOUNTS_FILESYSTEMS_MAX);
    if (r < 0)
        return r;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].owner = disk_table_find_owner(&disk->table, list->items[i].major, list->items[i].minor);
    r = disk_table_classify(&disk->table, &disk->stats);
    if (r < 0)
        return r;
    disk->assigned.count = 0;
    for (size_t position = 0; position < disk->table.order.count; position++) {
        struct disk_device *device = disk->table.rows.items[disk->table.order.items[position]].device;
        device->first_mount = disk->assigned.count;
        for (size_t i = 0; i < list->count; i++) {
            if (list->items[i].owner == device)
                disk->assigned.items[disk->assigned.count++] = &list->items[i];
        }
        device->mount_count = disk->assigned.count - device->first_mount;
    }
    return 0;
}

static bool has_zfs_mount(const struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->info.count; i++) {
        if (strcmp(mounts->info.items[i].fstype, "zfs") == 0)
            return true;
    }
    return false;
}

/* Mounts, devices and pools brought together again where one of them changed. */
__attribute__((cold)) static int refresh_assignment(
    struct disk_state *disk, int64_t now_ns, bool may_ask_zfs, bool with_sizes)
{
    bool mounts_changed = disk->assigned_mounts != disk->mounts.generation;
    if (mounts_changed)
        disk->has_zfs = has_zfs_mount(&disk->mounts) || zfs_is_loaded(&disk->zfs);
    zfs_poll(&disk->zfs, now_ns, disk->has_zfs && may_ask_zfs);
    int r = disk_table_classify(&disk->table, &disk->stats);
    if (r < 0)
        return r;
    if (mounts_changed || disk->assigned_rows != disk->table.generation) {
        r = assign_mounts(disk);
        if (r < 0)
            return r;
        disk->assigned_rows = disk->table.generation;
    }
    if (mounts_changed || disk->assigned_pools != disk->zfs.generation)
        zfs_find_mounts(&disk->zfs, &disk->mounts);
    disk->assigned_pools = disk->zfs.generation;
    disk->assigned_mounts = disk->mounts.generation;
    refresh_devices(disk, now_ns, mounts_changed, with_sizes);
    return 0;
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void fill_mounts(struct disk_state *disk)
{
    for (size_t i = 0; i < disk->assigned.count; i++) {
        const struct filesystem *filesystem = disk->assigned.items[i];
        const struct mount_row *row = mounts_row(&disk->mounts, filesystem);
        disk->out_mounts.items[i] = (struct sample_mount){
            .mount_point = row->mount_point,
            .filesystem = row->fstype,
            .total_bytes = filesystem->total_bytes,
            .used_bytes = filesystem->used_bytes,
            .available_bytes = filesystem->available_bytes,
            .used_pct = filesystem->used_pct,
        };
    }
    disk->out_mounts.count = disk->assigned.count;
}

static void fill_device(struct disk_state *disk, uint32_t index)
{
    const struct disk_row *row = &disk->table.rows.items[index];
    const struct disk_device *device = row->device;
    const struct diskstats_row *cur = &disk->stats.items[index];
    struct sample_disk *out = &disk->out.items[disk->out.count++];
    *out = (struct sample_disk){
        .device = row->prev.name,
        .model = or_null(device->identity.model),
        .vendor = or_null(device->identity.vendor),
        .serial = or_null(device->identity.serial),
        .device_type = device->identity.device_type,
        .capacity_bytes = device->capacity_bytes,
        .sector_bytes = device->identity.sector_bytes,
        .stacked = device->stacked,
    };
    out->mounts.present = disk->mounts.error == 0;
    out->mounts.count = device->mount_count;
    if (device->mount_count > 0)
        out->mounts.items = &disk->out_mounts.items[device->first_mount];
    disk_derive(row->has_prev ? &row->prev : NULL, cur, disk->read_ns - disk->prev_ns, out);
}

static void fill_pool(struct disk_state *disk, const struct zfs_pool *pool)
{
    struct sample_mount *mount = &disk->out_mounts.items[disk->out_mounts.count++];
    *mount = (struct sample_mount){
        .mount_point = pool->mount_point,
        .filesystem = "zfs",
        .total_bytes = pool->size_bytes,
        .used_bytes = pool->alloc_bytes,
        .available_bytes = pool->free_bytes,
    };
    if (pool->alloc_bytes.has && pool->size_bytes.has)
        mount->used_pct = mounts_used_pct(pool->alloc_bytes.v, pool->size_bytes.v);
    disk->out.items[disk->out.count++] = (struct sample_disk){
        .device = pool->device,
        .capacity_bytes = pool->size_bytes,
        .mounts = {.present = true, .count = 1, .items = mount},
        .stacked = some_bool(true),
    };
}

/* Devices and pools are sorted each for themselves; here they are merged. */
static int fill_list(struct disk_state *disk, int64_t now_ns)
{
    const struct disk_table *table = &disk->table;
    struct zfs_pools pools = zfs_current(&disk->zfs, now_ns);
    int r = VEC_GROW(&disk->out, table->order.count + pools.count, OUT_DISKS_MAX);
    if (r == 0)
        r = VEC_GROW(&disk->out_mounts, disk->assigned.count + pools.count, OUT_MOUNTS_MAX);
    if (r < 0)
        return r;
    fill_mounts(disk);
    disk->out.count = 0;
    size_t pool = 0;
    for (size_t position = 0; position < table->order.count; position++) {
        uint32_t index = table->order.items[position];
        const struct disk_row *row = &table->rows.items[index];
        while (pool < pools.count && strcmp(pools.items[pool].device, row->prev.name) < 0)
            fill_pool(disk, &pools.items[pool++]);
        if (is_shown(row, &disk->stats.items[index]))
            fill_device(disk, index);
    }
    while (pool < pools.count)
        fill_pool(disk, &pools.items[pool++]);
    return 0;
}

/* Finds out what the devices are while the command starts, and asks for what takes longer. */
static void prepare(struct disk_state *disk, int64_t now_ns)
{
    struct err unused = {0};
    (void)mounts_refresh(&disk->mounts, now_ns, &unused);
    if (refresh_assignment(disk, now_ns, false, false) == 0)
        mounts_ask_unproven(&disk->mounts);
}

static int collect_disks(struct disk_state *disk, const struct tick *tick, struct sample *sample, struct err *err)
{
    int r = read_stats(disk, err);
    if (r < 0)
        return r;
    if (tick->baseline) {
        if (!probe_is_late(disk->env))
            zfs_poll(&disk->zfs, tick->mono_ns, disk->has_zfs);
        remember(disk);
        if (probe_is_late(disk->env))
            prepare(disk, tick->mono_ns);
        return 0;
    }
    /* Without mounts the devices are still worth reporting; the error then says what is missing. */
    (void)mounts_refresh(&disk->mounts, tick->mono_ns, err);
    r = refresh_assignment(disk, tick->mono_ns, !tick->is_final, !probe_is_too_late(disk->env, tick));
    if (r == 0) {
        /* By the slot of the grid: a late sample must not make the next one seem too early. */
        mounts_read_space(&disk->mounts, tick->mono_ns - tick->late_ns);
        r = fill_list(disk, tick->mono_ns);
    }
    remember(disk);
    if (r < 0)
        return err_sys(err, r, "disk: cannot list the devices");
    if (disk->size_failure < 0)
        (void)err_sys(
            err, disk->size_failure, "disk: sizes are missing, cannot read %s/sys/block", disk->env->root->path);
    sample->disk = (struct sample_list){.present = true, .count = disk->out.count, .items = disk->out.items};
    return 0;
}

static int disk_collect(void *state, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct disk_state *disk = state;
    disk->is_collecting = true;
    int r = collect_disks(disk, tick, sample, err);
    disk->is_collecting = false;
    return r;
}

const struct collector collector_disk = {
    .name = "disk",
    .has_helper = true,
    .fills = {COLLECT_FILLS(disk)},
    .state_bytes = sizeof(struct disk_state),
    .open = disk_open,
    .collect = disk_collect,
    .close = disk_close,
    .watch_fd = disk_watch_fd,
    .woken = disk_woken,
};
