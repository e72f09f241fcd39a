/* SPDX-License-Identifier: Apache-2.0 */
/* The disk collector: devices made of others, by mount and backing file; the space of mounts; ZFS pools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "disk_fixture.h"

static void test_dm_over_two_disks(void **state)
{
    struct disk_fixture *disk = *state;
    disk_fixture_add_sysfs(disk, "8:0", "pci/block/sda");
    disk_fixture_add_sysfs(disk, "8:16", "pci/block/sdb");
    disk_fixture_add_sysfs(disk, "253:0", "virtual/block/dm-0");
    tree_directory(&disk->tree, "sys/devices/pci/block/sda/slaves");
    tree_link(&disk->tree, "sys/devices/virtual/block/dm-0/slaves/sda", "../../../../pci/block/sda");
    tree_link(&disk->tree, "sys/devices/virtual/block/dm-0/slaves/sdb", "../../../../pci/block/sdb");
    tree_link(&disk->tree, "sys/class/block/dm-0", "../../devices/virtual/block/dm-0");
    tree_link(&disk->tree, "dev/mapper/vg-data", "../dm-0");
    tree_write(&disk->tree, "proc/self/mountinfo",
        "20 1 0:30 / / rw - overlay overlay rw,lowerdir=/x\n"
        "21 20 0:40 /@ /data rw - btrfs /dev/mapper/vg-data rw\n"
        "22 20 0:40 /@home /home rw - btrfs /dev/mapper/vg-data rw\n");
    tree_write(&disk->tree, "proc/diskstats",
        "8 16 sdb 1 0 8 0 0 0 0 0 0 0 0\n253 0 dm-0 1 0 8 0 0 0 0 0 0 0 0\n8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(disk);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 3);
    const struct sample_disk *dm = disk_fixture_find(disk, "dm-0");
    assert_true(dm && dm->stacked.has && dm->stacked.v);
    assert_int_equal(dm->mounts.count, 1);
    assert_string_equal(disk_fixture_mount(dm, 0)->mount_point, "/data");
    assert_true(disk_fixture_find(disk, "sda")->stacked.has && !disk_fixture_find(disk, "sda")->stacked.v);
    assert_true(disk_fixture_find(disk, "sdb")->stacked.has && !disk_fixture_find(disk, "sdb")->stacked.v);
    assert_true(disk_fixture_find(disk, "sda")->mounts.present);
    assert_int_equal(disk_fixture_find(disk, "sda")->mounts.count, 0);
}

#define LOOP_STATS(loop2)                                                                                              \
    "7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n7 1 loop1 0 0 0 0 0 0 0 0 0 0 0\n" loop2 "1 0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"      \
    "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n"

/* Idle loop and ram devices stay away; one comes by its mount, another by its first I/O, with a rate at once. */
static void test_loop_devices(void **state)
{
    struct disk_fixture *disk = *state;
    disk_fixture_add_sysfs(disk, "8:0", "pci/block/sda");
    disk_fixture_add_sysfs(disk, "7:0", "virtual/block/loop0");
    disk_fixture_add_sysfs(disk, "7:1", "virtual/block/loop1");
    disk_fixture_add_sysfs(disk, "7:2", "virtual/block/loop2");
    tree_write(&disk->tree, "sys/devices/virtual/block/loop0/loop/backing_file", "/var/snap/core.snap\n");
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/loop/backing_file", "/run/image (deleted)\n");
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/size", "0\n");
    tree_write(&disk->tree, "sys/devices/virtual/block/loop0/queue/rotational", "1\n");
    tree_write(&disk->tree, "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw\n21 20 7:0 / /snap/core ro - squashfs /dev/loop0 ro\n"
        "22 20 0:30 / /run rw - tmpfs tmpfs rw\n");
    tree_write(&disk->tree, "proc/diskstats", LOOP_STATS("7 2 loop2 0 0 0 0 0 0 0 0 0 0 0\n"));
    disk_fixture_open(disk);
    assert_int_equal(disk_fixture_collect(disk, true), 0);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 2);
    const struct sample_disk *loop0 = disk_fixture_find(disk, "loop0");
    assert_true(loop0 && loop0->stacked.has && loop0->stacked.v);
    assert_null(loop0->device_type);
    assert_string_equal(disk_fixture_mount(loop0, 0)->filesystem, "squashfs");

    tree_write(&disk->tree, "proc/diskstats", LOOP_STATS("7 2 loop2 4 0 80 0 0 0 0 0 0 0 0\n"));
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 3);
    const struct sample_disk *loop2 = disk_fixture_find(disk, "loop2");
    assert_true(loop2->read_bytes_per_sec.has);
    assert_true(loop2->read_bytes_per_sec.v == 80 * 512);
    assert_true(loop2->stacked.has && !loop2->stacked.v);

    /* Attached now: seen with its first I/O. To another file with other sectors: seen at the slow cadence. */
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/loop/backing_file", "/images/x\n");
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/size", "16\n");
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk_fixture_find(disk, "loop2")->capacity_bytes.v, 0);
    tree_write(&disk->tree, "proc/diskstats", LOOP_STATS("7 2 loop2 5 0 88 0 0 0 0 0 0 0 0\n"));
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk_fixture_find(disk, "loop2")->capacity_bytes.v, 16 * 512);
    assert_true(disk_fixture_find(disk, "loop2")->stacked.v);
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/size", "32\n");
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/queue/hw_sector_size", "4096\n");
    disk_fixture_step(disk, COLLECT_SLOW_NS);
    assert_int_equal(disk_fixture_find(disk, "loop2")->capacity_bytes.v, 32 * 512);
    assert_int_equal(disk_fixture_find(disk, "loop2")->sector_bytes.v, 4096);

    /* On an overlay it is not known whose device it is. */
    tree_write(&disk->tree, "sys/devices/virtual/block/loop2/loop/backing_file", "/run/y\n");
    tree_write(&disk->tree, "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw\n21 20 7:0 / /snap/core ro - squashfs /dev/loop0 ro\n"
        "22 20 0:30 / /run rw - overlay overlay rw\n");
    collector_disk.woken(disk->state);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_false(disk_fixture_find(disk, "loop2")->stacked.has);

    /* Unmounted, and never used: gone again. */
    tree_write(&disk->tree, "proc/self/mountinfo", "20 1 8:0 / / rw - ext4 /dev/sda rw\n");
    collector_disk.woken(disk->state);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_null(disk_fixture_find(disk, "loop0"));
    assert_non_null(disk_fixture_find(disk, "loop2"));
}

/* Space is asked for once a second by the grid, and only for devices that are listed. */
static void test_space_by_the_grid(void **state)
{
    struct disk_fixture *disk = *state;
    tree_write(&disk->tree, "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw\n21 20 8:16 / /unlisted rw - ext4 /dev/sdb rw\n");
    tree_write(&disk->tree, "proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(disk);
    struct tick tick = {.mono_ns = 10 * NS_PER_SEC + 30 * NS_PER_MS, .late_ns = 30 * NS_PER_MS};
    assert_int_equal(collector_disk.collect(disk->state, &tick, &disk->sample, NULL), 0);
    assert_int_equal(disk->asked, 1);
    tick = (struct tick){.mono_ns = 10 * NS_PER_SEC + 500 * NS_PER_MS};
    assert_int_equal(collector_disk.collect(disk->state, &tick, &disk->sample, NULL), 0);
    assert_int_equal(disk->asked, 1);
    tick = (struct tick){.mono_ns = 11 * NS_PER_SEC};
    assert_int_equal(collector_disk.collect(disk->state, &tick, &disk->sample, NULL), 0);
    assert_int_equal(disk->asked, 2);
    assert_int_equal(collector_disk.watch_fd(disk->state), -1); /* a plain file cannot be watched */
}

static void test_zfs_pools(void **state)
{
    struct disk_fixture *disk = *state;
    tree_write(&disk->tree, "bin/zpool", "#!/bin/sh\nprintf 'tank\\t1000\\t250\\t750\\nold\\t-\\t-\\t-\\n'\n");
    (void)snprintf(disk->zpool, sizeof(disk->zpool), "%s/bin/zpool", disk->tree.path);
    assert_int_equal(chmod(disk->zpool, 0755), 0);
    tree_write(&disk->tree, "proc/self/mountinfo",
        "20 1 0:30 / / rw - zfs tank/root rw\n21 20 0:31 / /tank rw - zfs tank rw\n");
    tree_write(&disk->tree, "proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n252 0 zram0 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(disk);
    assert_int_equal(disk_fixture_collect(disk, true), 0);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 2);
    siginfo_t info;
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    disk_fixture_step(disk, NS_PER_SEC);
    const struct sample_disk *items = disk->sample.disk.items;
    assert_int_equal(disk->sample.disk.count, 4);
    assert_string_equal(items[1].device, "zfs:old");
    assert_string_equal(items[2].device, "zfs:tank");
    assert_string_equal(items[3].device, "zram0");
    assert_int_equal(items[2].capacity_bytes.v, 1000);
    assert_true(items[2].stacked.v);
    assert_false(items[2].read_bytes_total.has);
    assert_false(items[2].read_bytes_delta.has);
    assert_string_equal(disk_fixture_mount(&items[2], 0)->mount_point, "/tank");
    assert_string_equal(disk_fixture_mount(&items[2], 0)->filesystem, "zfs");
    assert_int_equal(disk_fixture_mount(&items[2], 0)->total_bytes.v, 1000);
    assert_int_equal(disk_fixture_mount(&items[2], 0)->used_bytes.v, 250);
    assert_int_equal(disk_fixture_mount(&items[2], 0)->available_bytes.v, 750);
    assert_true(disk_fixture_mount(&items[2], 0)->used_pct.v == 25);
    assert_false(items[1].capacity_bytes.has);
    assert_null(disk_fixture_mount(&items[1], 0)->mount_point);
    assert_false(disk_fixture_mount(&items[1], 0)->used_pct.has);

    /* The mounts are read again: the pool's mount point must follow. */
    tree_write(&disk->tree, "proc/self/mountinfo", "20 1 0:30 / / rw - zfs tank/root rw\n");
    collector_disk.woken(disk->state);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_string_equal(disk_fixture_mount(disk_fixture_find(disk, "zfs:tank"), 0)->mount_point, "/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        disk_unit_test(test_dm_over_two_disks),
        disk_unit_test(test_loop_devices),
        disk_unit_test(test_space_by_the_grid),
        disk_unit_test(test_zfs_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
