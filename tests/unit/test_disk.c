/* SPDX-License-Identifier: Apache-2.0 */
/* The disk collector: what a device is, what it did, and devices that come, go or cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "collect/probe/probe.h"
#include "disk_fixture.h"

/* 4096-byte sectors are reported and never multiplied; partitions count with their device. */
static void test_4k_disk_with_partitions(void **state)
{
    struct disk_fixture *disk = *state;
    disk_fixture_add_sysfs(disk, "8:0", "pci/block/sda");
    disk_fixture_add_sysfs(disk, "8:1", "pci/block/sda/sda1");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/sda1/partition", "1\n");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/size", "2048\n");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/queue/hw_sector_size", "4096\n");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/queue/rotational", "1\n");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/device/model", "  SuperDisk 9000   \n");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/device/vendor", "ATA     \n");
    static const char page[] = "\x00\x80\x00\x0a  WD-123  trailing";
    tree_write_bytes(&disk->tree, "sys/devices/pci/block/sda/device/vpd_pg80", page, sizeof(page) - 1);
    tree_write(&disk->tree, "proc/self/mountinfo", "20 1 8:1 / /mnt/a\\040b rw - ext4 /dev/root rw\n");
    tree_write(&disk->tree, "proc/diskstats",
        "   8       1 sda1 1 0 8 0 0 0 0 0 0 0 0\n   8       0 sda 100 0 800 5 50 0 400 5 0 1000 10\n");
    disk_fixture_open(disk);
    assert_int_equal(disk_fixture_collect(disk, true), 0);
    assert_false(disk->sample.disk.present);
    tree_write(&disk->tree, "proc/diskstats",
        "   8       1 sda1 1 0 8 0 0 0 0 0 0 0 0\n   8       0 sda 110 0 1800 5 52 0 600 5 0 1500 10\n");
    disk_fixture_step(disk, 2 * NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 1);
    const struct sample_disk *sda = disk_fixture_find(disk, "sda");
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
    assert_string_equal(disk_fixture_mount(sda, 0)->mount_point, "/mnt/a b");
    assert_string_equal(disk_fixture_mount(sda, 0)->filesystem, "ext4");
    assert_int_equal(disk_fixture_mount(sda, 0)->used_bytes.v, 600);
    assert_true(disk_fixture_mount(sda, 0)->used_pct.v == 60);
}

static void test_identity_kinds(void **state)
{
    struct disk_fixture *disk = *state;
    disk_fixture_add_sysfs(disk, "254:0", "virtio/block/vda");
    tree_write(&disk->tree, "sys/devices/virtio/block/vda/queue/rotational", "1\n");
    tree_write(&disk->tree, "sys/devices/virtio/block/vda/device/vendor", "0x1af4\n");
    tree_write(&disk->tree, "sys/devices/virtio/block/vda/serial", "vol-1\n");
    disk_fixture_add_sysfs(disk, "259:0", "nvme/block/nvme0n1");
    tree_write(&disk->tree, "sys/devices/nvme/block/nvme0n1/queue/rotational", "0\n");
    tree_write(&disk->tree, "sys/devices/nvme/block/nvme0n1/device/serial", "   S1   \n");
    tree_write(&disk->tree, "sys/devices/nvme/block/nvme0n1/wwid", "eui.0025388b71b0a5c2\n");
    tree_write(&disk->tree, "sys/devices/nvme/block/nvme0n1/device/model", "      \n");
    disk_fixture_add_sysfs(disk, "259:1", "nvme/block/nvme0c0n1");
    tree_write(&disk->tree, "sys/devices/nvme/block/nvme0c0n1/hidden", "1\n");
    /* Named as partitions of their parents would be, and none of them. */
    disk_fixture_add_sysfs(disk, "259:2", "nvme/nvme1/nvme1n1");
    disk_fixture_add_sysfs(disk, "179:0", "mmc/block/mmcblk0");
    disk_fixture_add_sysfs(disk, "179:8", "mmc/block/mmcblk0/mmcblk0boot0");
    disk_fixture_add_sysfs(disk, "252:0", "virtual/block/zram0");
    tree_write(&disk->tree, "sys/devices/virtual/block/zram0/queue/rotational", "0\n");
    tree_write(&disk->tree, "sys/devices/virtual/block/zram0/size", "0\n");
    disk_fixture_add_sysfs(disk, "104:0", "pci/block/cciss!c0d0");
    disk_fixture_add_sysfs(disk, "104:1", "pci/block/cciss!c0d0/cciss!c0d0p1");
    tree_write(&disk->tree, "sys/devices/pci/block/cciss!c0d0/cciss!c0d0p1/partition", "1\n");
    tree_write(&disk->tree, "sys/devices/pci/block/cciss!c0d0/queue/rotational", "0\n");
    tree_write(&disk->tree, "sys/devices/pci/block/cciss!c0d0/device/wwid", "naa.600508b1001c0000\n");
    tree_write(&disk->tree, "proc/self/mountinfo", "20 1 104:1 / / rw - ext4 /dev/cciss/c0d0p1 rw\n");
    tree_write(&disk->tree, "proc/diskstats",
        "254 0 vda 1 0 8 0 0 0 0 0 0 0 0\n259 0 nvme0n1 1 0 8 0 0 0 0 0 0 0 0\n"
        "259 2 nvme1n1 1 0 8 0 0 0 0 0 0 0 0\n179 0 mmcblk0 1 0 8 0 0 0 0 0 0 0 0\n"
        "179 8 mmcblk0boot0 1 0 8 0 0 0 0 0 0 0 0\n259 1 nvme0c0n1 1 0 8 0 0 0 0 0 0 0 0\n"
        "252 0 zram0 0 0 0 0 0 0 0 0 0 0 0\n"
        "104 0 cciss/c0d0 1 0 8 0 0 0 0 0 0 0 0\n104 1 cciss/c0d0p1 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(disk);
    disk_fixture_step(disk, NS_PER_SEC);
    static const char *const names[] = {"cciss/c0d0", "mmcblk0", "mmcblk0boot0", "nvme0n1", "nvme1n1", "vda", "zram0"};
    assert_int_equal(disk->sample.disk.count, sizeof(names) / sizeof(names[0]));
    const struct sample_disk *items = disk->sample.disk.items;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(items[i].device, names[i]);
    assert_string_equal(items[0].device_type, "ssd");
    assert_string_equal(items[0].serial, "naa.600508b1001c0000"); /* for lack of a serial number */
    assert_string_equal(disk_fixture_mount(&items[0], 0)->mount_point, "/");
    assert_string_equal(items[3].device_type, "nvme");
    assert_string_equal(items[3].serial, "S1");
    assert_null(items[3].model);
    assert_null(items[5].device_type);
    assert_null(items[5].vendor);
    assert_string_equal(items[5].serial, "vol-1");
    assert_null(items[6].device_type);
    assert_false(items[5].capacity_bytes.has);
    assert_false(items[6].capacity_bytes.has); /* a size of 0 is none */
    assert_false(items[5].read_bytes_per_sec.has); /* no reading before this one */
    assert_false(items[5].read_bytes_delta.has);
    assert_int_equal(items[5].read_bytes_total.v, 8 * 512);
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
    struct disk_fixture *disk = *state;
    disk_fixture_add_sysfs(disk, "8:0", "pci/block/sda");
    disk_fixture_add_sysfs(disk, "8:16", "pci/block/sdb");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/size", "8\n");
    tree_write(&disk->tree, "sys/devices/pci/block/sdb/size", "16\n");
    tree_write(&disk->tree, "sys/devices/pci/block/sda/device/model", "one\n");
    tree_write(&disk->tree, "proc/self/mountinfo", "20 1 8:16 / /data rw - ext4 /dev/sdb rw\n");
    tree_write(&disk->tree, "proc/diskstats", "8 0 sda 5 0 8 0 0 0 0 0 0 0 0\n8 16 sdb 5 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(disk);
    assert_int_equal(disk_fixture_collect(disk, true), 0);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 2);
    size_t descriptors = open_descriptors();
    tree_write(&disk->tree, "proc/diskstats", "8 16 sdb 6 0 16 0 0 0 0 0 0 0 0\n");
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 1);
    assert_int_equal(open_descriptors(), descriptors - 1);
    assert_int_equal(disk_fixture_find(disk, "sdb")->read_bytes_delta.v, 8 * 512);
    assert_string_equal(disk_fixture_mount(disk_fixture_find(disk, "sdb"), 0)->mount_point, "/data");
    assert_int_equal(disk_fixture_find(disk, "sdb")->capacity_bytes.v, 16 * 512);

    tree_write(&disk->tree, "sys/devices/pci/block/sda/device/model", "two\n");
    tree_write(&disk->tree, "proc/diskstats", "8 0 sda 1 0 2 0 0 0 0 0 0 0 0\n8 16 sdb 7 0 24 0 0 0 0 0 0 0 0\n");
    disk_fixture_step(disk, NS_PER_SEC);
    const struct sample_disk *sda = disk_fixture_find(disk, "sda");
    assert_non_null(sda);
    assert_false(sda->read_bytes_delta.has);
    assert_false(sda->busy_pct.has);
    assert_string_equal(sda->model, "two");
    assert_int_equal(disk_fixture_find(disk, "sdb")->read_bytes_delta.v, 8 * 512);

    /* Replaced between two samples: the counters say so. */
    tree_write(&disk->tree, "sys/devices/pci/block/sda/device/model", "three\n");
    tree_write(&disk->tree, "proc/diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n8 16 sdb 7 0 24 0 0 0 0 0 0 0 0\n");
    disk_fixture_step(disk, NS_PER_SEC);
    sda = disk_fixture_find(disk, "sda");
    assert_true(sda->read_bytes_delta.has && sda->read_bytes_delta.v == 0);
    assert_true(sda->read_bytes_per_sec.has && sda->read_bytes_per_sec.v == 0);
    assert_string_equal(sda->model, "three");
}

static void test_without_sysfs(void **state)
{
    struct disk_fixture *disk = *state;
    tree_write(&disk->tree, "proc/self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 259:2 / /data rw - xfs /dev/nvme0n1p2 rw\n");
    tree_write(&disk->tree, "proc/diskstats",
        "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n8 1 sda1 1 0 8 0 0 0 0 0 0 0 0\n259 0 nvme0n1 1 0 8 0 0 0 0 0 0 0 0\n"
        "259 2 nvme0n1p2 1 0 8 0 0 0 0 0 0 0 0\n9 1 md1 1 0 8 0 0 0 0 0 0 0 0\n9 12 md12 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(disk);
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 4);
    assert_string_equal(disk_fixture_mount(disk_fixture_find(disk, "sda"), 0)->mount_point, "/");
    assert_string_equal(disk_fixture_mount(disk_fixture_find(disk, "nvme0n1"), 0)->mount_point, "/data");
    assert_non_null(disk_fixture_find(disk, "md12"));
    assert_false(disk_fixture_find(disk, "sda")->stacked.has);
    assert_false(disk_fixture_find(disk, "sda")->capacity_bytes.has);
    assert_null(disk_fixture_find(disk, "sda")->model);
    assert_string_equal(disk_fixture_find(disk, "nvme0n1")->device_type, "nvme");
}

static void test_unreadable_files(void **state)
{
    struct disk_fixture *disk = *state;
    tree_remove(&disk->tree, "proc/self/mountinfo");
    disk_fixture_open(disk);
    assert_int_equal(disk_fixture_collect(disk, false), -ENOENT);
    assert_non_null(strstr(disk->err.msg, "disk: cannot read "));
    assert_non_null(strstr(disk->err.msg, "/proc/diskstats: No such file"));
    assert_false(disk->sample.disk.present);
    tree_write(&disk->tree, "proc/diskstats", "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->err.code, -ENOENT);
    assert_int_equal(disk->sample.disk.count, 1);
    assert_false(disk_fixture_find(disk, "sda")->mounts.present);
    tree_write(&disk->tree, "proc/self/mountinfo", "20 1 8:0 / / rw - ext4 /dev/sda rw\n");
    disk_fixture_step(disk, COLLECT_SLOW_NS);
    assert_int_equal(disk->err.code, 0);
    assert_int_equal(disk_fixture_find(disk, "sda")->mounts.count, 1);
    tree_write(&disk->tree, "proc/diskstats", "");
    disk_fixture_step(disk, NS_PER_SEC);
    assert_int_equal(disk->sample.disk.count, 0);
}

/* The questions that are pending, each answered with this serial number. */
static size_t answer_all(struct probe *probe, const char *serial)
{
    for (size_t i = 0; i < probe->questions.count; i++) {
        struct probe_question *question = &probe->questions.items[i];
        assert_int_equal(question->subject.kind, PROBE_DISK);
        (void)str_copy(str_of(serial), question->answer.disk.serial, sizeof(question->answer.disk.serial));
        question->state = PROBE_OVER;
        probe->news++;
    }
    return probe->questions.count;
}

/* Nothing but the probe asks a device what it is; what the kernel knows itself is there from the first sample on. */
static void test_identity_comes_later(void **state)
{
    (void)state;
    struct disk_fixture disk;
    struct probe probe;
    disk_fixture_make(&disk);
    disk_fixture_add_sysfs(&disk, "254:0", "virtio/block/vda");
    tree_write(&disk.tree, "sys/devices/virtio/block/vda/size", "16\n");
    tree_write(&disk.tree, "sys/devices/virtio/block/vda/serial", "of-sysfs\n");
    tree_write(&disk.tree, "proc/diskstats", "254 0 vda 5 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_open(&disk);
    probe_init(&probe, &disk.env);
    disk.env.probe = &probe;
    assert_int_equal(disk_fixture_collect(&disk, true), 0);
    assert_int_equal(probe.questions.count, 1); /* the device was found with the baseline */
    disk_fixture_step(&disk, NS_PER_SEC);
    assert_null(disk_fixture_find(&disk, "vda")->serial);
    assert_int_equal(disk_fixture_find(&disk, "vda")->capacity_bytes.v, 16 * 512);
    assert_int_equal(answer_all(&probe, "first"), 1);
    disk_fixture_step(&disk, NS_PER_SEC);
    assert_string_equal(disk_fixture_find(&disk, "vda")->serial, "first");
    assert_int_equal(probe.questions.count, 0);

    /* Another disk: what was known is void at once. */
    tree_write(&disk.tree, "proc/diskstats", "254 0 vda 1 0 8 0 0 0 0 0 0 0 0\n");
    disk_fixture_step(&disk, NS_PER_SEC);
    assert_null(disk_fixture_find(&disk, "vda")->serial);
    assert_int_equal(answer_all(&probe, "second"), 1);
    disk_fixture_step(&disk, NS_PER_SEC);
    assert_string_equal(disk_fixture_find(&disk, "vda")->serial, "second");

    /* One that goes takes its question along. */
    tree_write(&disk.tree, "proc/diskstats", "254 0 vda 0 0 0 0 0 0 0 0 0 0 0\n");
    disk_fixture_step(&disk, NS_PER_SEC);
    assert_int_equal(probe.questions.count, 1);
    tree_write(&disk.tree, "proc/diskstats", "");
    disk_fixture_step(&disk, NS_PER_SEC);
    assert_int_equal(probe.questions.count, 0);
    disk_fixture_end(&disk);
    probe_fini(&probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        disk_unit_test(test_4k_disk_with_partitions),
        disk_unit_test(test_identity_kinds),
        cmocka_unit_test(test_identity_comes_later),
        disk_unit_test(test_vanish_and_return),
        disk_unit_test(test_without_sysfs),
        disk_unit_test(test_unreadable_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
