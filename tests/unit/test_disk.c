/* SPDX-License-Identifier: Apache-2.0 */
/* The disk collector over machines played in a temporary folder, tick by tick under a fake clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "collect/collect.h"
#include "tree.h"

struct world {
    struct tree tree;
    struct sysroot root;
    int64_t now_ns;
    struct clock clock;
    struct collect_env env;
    void *state;
    struct sample sample;
    struct err err;
    unsigned asked;
    char zpool[128];
};

static int64_t fake_clock(void *context, enum clock_kind kind)
{
    (void)kind;
    return ((struct world *)context)->now_ns;
}

static int fake_space(void *context, const char *mount_point, struct fs_space *ret_space)
{
    (void)mount_point;
    ((struct world *)context)->asked++;
    *ret_space = (struct fs_space){.total_bytes = 1000, .free_bytes = 400, .available_bytes = 400};
    return 0;
}

static void make_world(struct world *world)
{
    *world = (struct world){.now_ns = 1000 * NS_PER_SEC};
    tree_make(&world->tree);
    tree_folder(&world->tree, "proc/self");
    tree_write(&world->tree, "proc/self/mountinfo", "");
}

/* After the tree is as the test wants it. */
static void open_world(struct world *world)
{
    assert_int_equal(sysroot_open(world->tree.path, &world->root, NULL), 0);
    world->clock = (struct clock){.read_ns = fake_clock, .context = world};
    world->env = (struct collect_env){
        .root = &world->root,
        .clock = &world->clock,
        .space = fake_space,
        .space_context = world,
        .zpool_path = world->zpool[0] ? world->zpool : NULL,
    };
    world->state = calloc(1, collector_disk.state_bytes);
    assert_non_null(world->state);
    assert_int_equal(collector_disk.open(world->state, &world->env, &world->err), 0);
}

static void end_world(struct world *world)
{
    collector_disk.close(world->state);
    free(world->state);
    sysroot_close(&world->root);
    tree_free(&world->tree);
}

static int collect(struct world *world, bool baseline)
{
    struct tick tick = {.baseline = baseline, .mono_ns = world->now_ns};
    world->sample = (struct sample){0};
    err_clear(&world->err);
    return collector_disk.collect(world->state, &tick, &world->sample, &world->err);
}

static void step(struct world *world, int64_t ns)
{
    world->now_ns += ns;
    assert_int_equal(collect(world, false), 0);
    assert_true(world->sample.disk.present);
}

static const struct sample_disk *disk(const struct world *world, const char *name)
{
    const struct sample_disk *items = world->sample.disk.items;
    for (size_t i = 0; i < world->sample.disk.count; i++) {
        if (strcmp(items[i].device, name) == 0)
            return &items[i];
    }
    return NULL;
}

static const struct sample_mount *mount_of(const struct sample_disk *device, size_t i)
{
    assert_true(device && device->mounts.present && i < device->mounts.count);
    return (const struct sample_mount *)device->mounts.items + i;
}

/* A device or partition in sysfs: folder below sys/devices and the link by its number. */
static void add_sysfs(const struct world *world, const char *number, const char *folder)
{
    char link[64], target[128], file[192];
    (void)snprintf(link, sizeof(link), "sys/dev/block/%s", number);
    (void)snprintf(target, sizeof(target), "../../devices/%s", folder);
    (void)snprintf(file, sizeof(file), "sys/devices/%s/dev", folder);
    tree_write(&world->tree, file, number);
    tree_link(&world->tree, link, target);
}

/* 4096-byte sectors are reported and never multiplied; partitions count with their device. */
static void test_4k_disk_with_partitions(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    add_sysfs(&world, "8:0", "pci/block/sda");
    add_sysfs(&world, "8:1", "pci/block/sda/sda1");
    tree_write(&world.tree, "sys/devices/pci/block/sda/sda1/partition", "1\n");
    tree_write(&world.tree, "sys/devices/pci/block/sda/size", "2048\n");
    tree_write(&world.tree, "sys/devices/pci/block/sda/queue/hw_sector_size", "4096\n");
    tree_write(&world.tree, "sys/devices/pci/block/sda/queue/rotational", "1\n");
    tree_write(&world.tree, "sys/devices/pci/block/sda/device/model", "  SuperDisk 9000   \n");
    tree_write(&world.tree, "sys/devices/pci/block/sda/device/vendor", "ATA     \n");
    static const char page[] = "\x00\x80\x00\x0a  WD-123  trailing";
    tree_write_bytes(&world.tree, "sys/devices/pci/block/sda/device/vpd_pg80", page, sizeof(page) - 1);
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:1 / /mnt/a\\040b rw - ext4 /dev/root rw\n");
    tree_write(&world.tree, "proc/diskstats",
        "   8       1 sda1 1 0 8 0 0 0 0 0 0 0 0\n   8       0 sda 100 0 800 5 50 0 400 5 0 1000 10\n");
    open_world(&world);
    assert_int_equal(collect(&world, true), 0);
    assert_false(world.sample.disk.present);
    tree_write(&world.tree, "proc/diskstats",
        "   8       1 sda1 1 0 8 0 0 0 0 0 0 0 0\n   8       0 sda 110 0 1800 5 52 0 600 5 0 1500 10\n");
    step(&world, 2 * NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 1);
    const struct sample_disk *sda = disk(&world, "sda");
    assert_non_null(sda);
    assert_int_equal(sda->read_bytes_delta.v, 1000 * 512);
    assert_int_equal(sda->write_bytes_delta.v, 200 * 512);
    assert_true(sda->read_bytes_per_sec.v == 500 * 512);
    assert_int_equal(sda->read_bytes_total.v, 1800 * 512);
    assert_true(sda->reads_per_sec.v == 5);
    assert_true(sda->busy_pct.v == 25);
    assert_int_equal(sda->sector_bytes.v, 4096);
    assert_int_equal(sda->capacity_bytes.v, 2048 * 512);
    assert_string_equal(sda->model, "SuperDisk 9000");
    assert_string_equal(sda->vendor, "ATA");
    assert_string_equal(sda->serial, "WD-123");
    assert_string_equal(sda->device_type, "hdd");
    assert_true(sda->stacked.has && !sda->stacked.v);
    assert_int_equal(sda->mounts.count, 1);
    assert_string_equal(mount_of(sda, 0)->mount_point, "/mnt/a b");
    assert_string_equal(mount_of(sda, 0)->filesystem, "ext4");
    assert_int_equal(mount_of(sda, 0)->used_bytes.v, 600);
    assert_true(mount_of(sda, 0)->used_pct.v == 60);
    end_world(&world);
}

static void test_identity_kinds(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    add_sysfs(&world, "254:0", "virtio/block/vda");
    tree_write(&world.tree, "sys/devices/virtio/block/vda/queue/rotational", "1\n");
    tree_write(&world.tree, "sys/devices/virtio/block/vda/device/vendor", "0x1af4\n");
    tree_write(&world.tree, "sys/devices/virtio/block/vda/serial", "vol-1\n");
    add_sysfs(&world, "259:0", "nvme/block/nvme0n1");
    tree_write(&world.tree, "sys/devices/nvme/block/nvme0n1/queue/rotational", "0\n");
    tree_write(&world.tree, "sys/devices/nvme/block/nvme0n1/device/serial", "   S1   \n");
    tree_write(&world.tree, "sys/devices/nvme/block/nvme0n1/device/model", "      \n");
    add_sysfs(&world, "259:1", "nvme/block/nvme0c0n1");
    tree_write(&world.tree, "sys/devices/nvme/block/nvme0c0n1/hidden", "1\n");
    add_sysfs(&world, "252:0", "virtual/block/zram0");
    tree_write(&world.tree, "sys/devices/virtual/block/zram0/queue/rotational", "0\n");
    add_sysfs(&world, "104:0", "pci/block/cciss!c0d0");
    add_sysfs(&world, "104:1", "pci/block/cciss!c0d0/cciss!c0d0p1");
    tree_write(&world.tree, "sys/devices/pci/block/cciss!c0d0/cciss!c0d0p1/partition", "1\n");
    tree_write(&world.tree, "sys/devices/pci/block/cciss!c0d0/queue/rotational", "0\n");
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 104:1 / / rw - ext4 /dev/cciss/c0d0p1 rw\n");
    tree_write(&world.tree, "proc/diskstats",
        "254 0 vda 1 0 8 0 0 0 0 0 0 0 0\n259 0 nvme0n1 1 0 8 0 0 0 0 0 0 0 0\n"
        "259 1 nvme0c0n1 1 0 8 0 0 0 0 0 0 0 0\n252 0 zram0 0 0 0 0 0 0 0 0 0 0 0\n"
        "104 0 cciss/c0d0 1 0 8 0 0 0 0 0 0 0 0\n104 1 cciss/c0d0p1 1 0 8 0 0 0 0 0 0 0 0\n");
    open_world(&world);
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 4);
    const struct sample_disk *items = world.sample.disk.items;
    assert_string_equal(items[0].device, "cciss/c0d0");
    assert_string_equal(items[1].device, "nvme0n1");
    assert_string_equal(items[2].device, "vda");
    assert_string_equal(items[3].device, "zram0");
    assert_string_equal(items[0].device_type, "ssd");
    assert_string_equal(mount_of(&items[0], 0)->mount_point, "/");
    assert_string_equal(items[1].device_type, "nvme");
    assert_string_equal(items[1].serial, "S1");
    assert_null(items[1].model);
    assert_null(items[2].device_type);
    assert_null(items[2].vendor);
    assert_string_equal(items[2].serial, "vol-1");
    assert_null(items[3].device_type);
    assert_false(items[2].capacity_bytes.has);
    assert_false(items[2].read_bytes_per_sec.has); /* no reading before this one */
    assert_false(items[2].read_bytes_delta.has);
    assert_int_equal(items[2].read_bytes_total.v, 8 * 512);
    end_world(&world);
}

static void test_dm_over_two_disks(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    add_sysfs(&world, "8:0", "pci/block/sda");
    add_sysfs(&world, "8:16", "pci/block/sdb");
    add_sysfs(&world, "253:0", "virtual/block/dm-0");
    tree_folder(&world.tree, "sys/devices/pci/block/sda/slaves");
    tree_link(&world.tree, "sys/devices/virtual/block/dm-0/slaves/sda", "../../../../pci/block/sda");
    tree_link(&world.tree, "sys/devices/virtual/block/dm-0/slaves/sdb", "../../../../pci/block/sdb");
    tree_link(&world.tree, "sys/class/block/dm-0", "../../devices/virtual/block/dm-0");
    tree_link(&world.tree, "dev/mapper/vg-data", "../dm-0");
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 0:30 / / rw - overlay overlay rw,lowerdir=/x\n"
        "21 20 0:40 /@ /data rw - btrfs /dev/mapper/vg-data rw\n"
        "22 20 0:40 /@home /home rw - btrfs /dev/mapper/vg-data rw\n");
    tree_write(&world.tree, "proc/diskstats",
        "8 16 sdb 1 0 8 0 0 0 0 0 0 0 0\n253 0 dm-0 1 0 8 0 0 0 0 0 0 0 0\n8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
    open_world(&world);
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 3);
    const struct sample_disk *dm = disk(&world, "dm-0");
    assert_true(dm && dm->stacked.has && dm->stacked.v);
    assert_int_equal(dm->mounts.count, 1);
    assert_string_equal(mount_of(dm, 0)->mount_point, "/data");
    assert_true(disk(&world, "sda")->stacked.has && !disk(&world, "sda")->stacked.v);
    assert_true(disk(&world, "sdb")->stacked.has && !disk(&world, "sdb")->stacked.v);
    assert_true(disk(&world, "sda")->mounts.present);
    assert_int_equal(disk(&world, "sda")->mounts.count, 0);
    end_world(&world);
}

#define LOOP_STATS(loop2)                                                                                              \
    "7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n7 1 loop1 0 0 0 0 0 0 0 0 0 0 0\n" loop2 "1 0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"      \
    "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n"

/* Idle loop and ram devices stay away; one comes by its mount, another by its first I/O, with a rate at once. */
static void test_loop_devices(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    add_sysfs(&world, "8:0", "pci/block/sda");
    add_sysfs(&world, "7:0", "virtual/block/loop0");
    add_sysfs(&world, "7:1", "virtual/block/loop1");
    add_sysfs(&world, "7:2", "virtual/block/loop2");
    tree_write(&world.tree, "sys/devices/virtual/block/loop0/loop/backing_file", "/var/snap/core.snap\n");
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/loop/backing_file", "/run/image (deleted)\n");
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/size", "0\n");
    tree_write(&world.tree, "sys/devices/virtual/block/loop0/queue/rotational", "1\n");
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw\n21 20 7:0 / /snap/core ro - squashfs /dev/loop0 ro\n"
        "22 20 0:30 / /run rw - tmpfs tmpfs rw\n");
    tree_write(&world.tree, "proc/diskstats", LOOP_STATS("7 2 loop2 0 0 0 0 0 0 0 0 0 0 0\n"));
    open_world(&world);
    assert_int_equal(collect(&world, true), 0);
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 2);
    const struct sample_disk *loop0 = disk(&world, "loop0");
    assert_true(loop0 && loop0->stacked.has && loop0->stacked.v);
    assert_null(loop0->device_type);
    assert_string_equal(mount_of(loop0, 0)->filesystem, "squashfs");

    tree_write(&world.tree, "proc/diskstats", LOOP_STATS("7 2 loop2 4 0 80 0 0 0 0 0 0 0 0\n"));
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 3);
    const struct sample_disk *loop2 = disk(&world, "loop2");
    assert_true(loop2->read_bytes_per_sec.has);
    assert_true(loop2->read_bytes_per_sec.v == 80 * 512);
    assert_true(loop2->stacked.has && !loop2->stacked.v);

    /* Attached now: seen with its first I/O. To another file with other sectors: seen at the slow cadence. */
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/loop/backing_file", "/images/x\n");
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/size", "16\n");
    step(&world, NS_PER_SEC);
    assert_int_equal(disk(&world, "loop2")->capacity_bytes.v, 0);
    tree_write(&world.tree, "proc/diskstats", LOOP_STATS("7 2 loop2 5 0 88 0 0 0 0 0 0 0 0\n"));
    step(&world, NS_PER_SEC);
    assert_int_equal(disk(&world, "loop2")->capacity_bytes.v, 16 * 512);
    assert_true(disk(&world, "loop2")->stacked.v);
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/size", "32\n");
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/queue/hw_sector_size", "4096\n");
    step(&world, COLLECT_SLOW_NS);
    assert_int_equal(disk(&world, "loop2")->capacity_bytes.v, 32 * 512);
    assert_int_equal(disk(&world, "loop2")->sector_bytes.v, 4096);

    /* On an overlay nobody can tell whose device it is. */
    tree_write(&world.tree, "sys/devices/virtual/block/loop2/loop/backing_file", "/run/y\n");
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw\n21 20 7:0 / /snap/core ro - squashfs /dev/loop0 ro\n"
        "22 20 0:30 / /run rw - overlay overlay rw\n");
    collector_disk.woken(world.state);
    step(&world, NS_PER_SEC);
    assert_false(disk(&world, "loop2")->stacked.has);

    /* Unmounted, and never used: gone again. */
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:0 / / rw - ext4 /dev/sda rw\n");
    collector_disk.woken(world.state);
    step(&world, NS_PER_SEC);
    assert_null(disk(&world, "loop0"));
    assert_non_null(disk(&world, "loop2"));
    end_world(&world);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static void test_vanish_and_return(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    add_sysfs(&world, "8:0", "pci/block/sda");
    add_sysfs(&world, "8:16", "pci/block/sdb");
    tree_write(&world.tree, "sys/devices/pci/block/sda/size", "8\n");
    tree_write(&world.tree, "sys/devices/pci/block/sdb/size", "16\n");
    tree_write(&world.tree, "sys/devices/pci/block/sda/device/model", "one\n");
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:16 / /data rw - ext4 /dev/sdb rw\n");
    tree_write(&world.tree, "proc/diskstats", "8 0 sda 5 0 8 0 0 0 0 0 0 0 0\n8 16 sdb 5 0 8 0 0 0 0 0 0 0 0\n");
    open_world(&world);
    assert_int_equal(collect(&world, true), 0);
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 2);
    size_t descriptors = open_descriptors();
    tree_write(&world.tree, "proc/diskstats", "8 16 sdb 6 0 16 0 0 0 0 0 0 0 0\n");
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 1);
    assert_int_equal(open_descriptors(), descriptors - 1);
    assert_int_equal(disk(&world, "sdb")->read_bytes_delta.v, 8 * 512);
    assert_string_equal(mount_of(disk(&world, "sdb"), 0)->mount_point, "/data");
    assert_int_equal(disk(&world, "sdb")->capacity_bytes.v, 16 * 512);

    tree_write(&world.tree, "sys/devices/pci/block/sda/device/model", "two\n");
    tree_write(&world.tree, "proc/diskstats", "8 0 sda 1 0 2 0 0 0 0 0 0 0 0\n8 16 sdb 7 0 24 0 0 0 0 0 0 0 0\n");
    step(&world, NS_PER_SEC);
    const struct sample_disk *sda = disk(&world, "sda");
    assert_non_null(sda);
    assert_false(sda->read_bytes_delta.has);
    assert_false(sda->busy_pct.has);
    assert_string_equal(sda->model, "two");
    assert_int_equal(disk(&world, "sdb")->read_bytes_delta.v, 8 * 512);

    /* Replaced between two samples: the counters say so. */
    tree_write(&world.tree, "sys/devices/pci/block/sda/device/model", "three\n");
    tree_write(&world.tree, "proc/diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n8 16 sdb 7 0 24 0 0 0 0 0 0 0 0\n");
    step(&world, NS_PER_SEC);
    sda = disk(&world, "sda");
    assert_true(sda->read_bytes_delta.has && sda->read_bytes_delta.v == 0);
    assert_true(sda->read_bytes_per_sec.has && sda->read_bytes_per_sec.v == 0);
    assert_string_equal(sda->model, "three");
    end_world(&world);
}

static void test_without_sysfs(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 259:2 / /data rw - xfs /dev/nvme0n1p2 rw\n");
    tree_write(&world.tree, "proc/diskstats",
        "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n8 1 sda1 1 0 8 0 0 0 0 0 0 0 0\n259 0 nvme0n1 1 0 8 0 0 0 0 0 0 0 0\n"
        "259 2 nvme0n1p2 1 0 8 0 0 0 0 0 0 0 0\n9 1 md1 1 0 8 0 0 0 0 0 0 0 0\n9 12 md12 1 0 8 0 0 0 0 0 0 0 0\n");
    open_world(&world);
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 4);
    assert_string_equal(mount_of(disk(&world, "sda"), 0)->mount_point, "/");
    assert_string_equal(mount_of(disk(&world, "nvme0n1"), 0)->mount_point, "/data");
    assert_non_null(disk(&world, "md12"));
    assert_false(disk(&world, "sda")->stacked.has);
    assert_false(disk(&world, "sda")->capacity_bytes.has);
    assert_null(disk(&world, "sda")->model);
    assert_string_equal(disk(&world, "nvme0n1")->device_type, "nvme");
    end_world(&world);
}

static void test_unreadable_files(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    tree_remove(&world.tree, "proc/self/mountinfo");
    open_world(&world);
    assert_int_equal(collect(&world, false), -ENOENT);
    assert_non_null(strstr(world.err.msg, "disk: cannot read "));
    assert_non_null(strstr(world.err.msg, "/proc/diskstats: No such file"));
    assert_false(world.sample.disk.present);
    tree_write(&world.tree, "proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
    step(&world, NS_PER_SEC);
    assert_int_equal(world.err.code, -ENOENT);
    assert_int_equal(world.sample.disk.count, 1);
    assert_false(disk(&world, "sda")->mounts.present);
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:0 / / rw - ext4 /dev/sda rw\n");
    step(&world, COLLECT_SLOW_NS);
    assert_int_equal(world.err.code, 0);
    assert_int_equal(disk(&world, "sda")->mounts.count, 1);
    tree_write(&world.tree, "proc/diskstats", "");
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 0);
    end_world(&world);
}

/* Space is asked for once a second by the grid, and only for devices that are listed. */
static void test_space_by_the_grid(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw\n21 20 8:16 / /unlisted rw - ext4 /dev/sdb rw\n");
    tree_write(&world.tree, "proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
    open_world(&world);
    struct tick tick = {.mono_ns = 10 * NS_PER_SEC + 30 * NS_PER_MS, .late_ns = 30 * NS_PER_MS};
    assert_int_equal(collector_disk.collect(world.state, &tick, &world.sample, NULL), 0);
    assert_int_equal(world.asked, 1);
    tick = (struct tick){.mono_ns = 10 * NS_PER_SEC + 500 * NS_PER_MS};
    assert_int_equal(collector_disk.collect(world.state, &tick, &world.sample, NULL), 0);
    assert_int_equal(world.asked, 1);
    tick = (struct tick){.mono_ns = 11 * NS_PER_SEC};
    assert_int_equal(collector_disk.collect(world.state, &tick, &world.sample, NULL), 0);
    assert_int_equal(world.asked, 2);
    assert_int_equal(collector_disk.watch_fd(world.state), -1); /* a plain file cannot be watched */
    end_world(&world);
}

static void test_zfs_pools(void **state)
{
    (void)state;
    struct world world;
    make_world(&world);
    tree_write(&world.tree, "bin/zpool", "#!/bin/sh\nprintf 'tank\\t1000\\t250\\t750\\nold\\t-\\t-\\t-\\n'\n");
    (void)snprintf(world.zpool, sizeof(world.zpool), "%s/bin/zpool", world.tree.path);
    assert_int_equal(chmod(world.zpool, 0755), 0);
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 0:30 / / rw - zfs tank/root rw\n21 20 0:31 / /tank rw - zfs tank rw\n");
    tree_write(&world.tree, "proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n252 0 zram0 1 0 8 0 0 0 0 0 0 0 0\n");
    open_world(&world);
    assert_int_equal(collect(&world, true), 0);
    step(&world, NS_PER_SEC);
    assert_int_equal(world.sample.disk.count, 2);
    siginfo_t info;
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    step(&world, NS_PER_SEC);
    const struct sample_disk *items = world.sample.disk.items;
    assert_int_equal(world.sample.disk.count, 4);
    assert_string_equal(items[1].device, "zfs:old");
    assert_string_equal(items[2].device, "zfs:tank");
    assert_string_equal(items[3].device, "zram0");
    assert_int_equal(items[2].capacity_bytes.v, 1000);
    assert_true(items[2].stacked.v);
    assert_false(items[2].read_bytes_total.has);
    assert_false(items[2].read_bytes_delta.has);
    assert_string_equal(mount_of(&items[2], 0)->mount_point, "/tank");
    assert_string_equal(mount_of(&items[2], 0)->filesystem, "zfs");
    assert_int_equal(mount_of(&items[2], 0)->total_bytes.v, 1000);
    assert_int_equal(mount_of(&items[2], 0)->used_bytes.v, 250);
    assert_int_equal(mount_of(&items[2], 0)->available_bytes.v, 750);
    assert_true(mount_of(&items[2], 0)->used_pct.v == 25);
    assert_false(items[1].capacity_bytes.has);
    assert_null(mount_of(&items[1], 0)->mount_point);
    assert_false(mount_of(&items[1], 0)->used_pct.has);

    /* The mounts are read again: the pool's mount point must follow. */
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 0:30 / / rw - zfs tank/root rw\n");
    collector_disk.woken(world.state);
    step(&world, NS_PER_SEC);
    assert_string_equal(mount_of(disk(&world, "zfs:tank"), 0)->mount_point, "/");
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_4k_disk_with_partitions),
        cmocka_unit_test(test_identity_kinds),
        cmocka_unit_test(test_dm_over_two_disks),
        cmocka_unit_test(test_loop_devices),
        cmocka_unit_test(test_vanish_and_return),
        cmocka_unit_test(test_without_sysfs),
        cmocka_unit_test(test_unreadable_files),
        cmocka_unit_test(test_space_by_the_grid),
        cmocka_unit_test(test_zfs_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
