/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystems of a machine played in a temporary directory: each once, by number, and no touch where it could hang. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "collect/disk/disk.h"
#include "collect/probe/probe.h"
#include "tree.h"

struct scenario {
    struct tree tree;
    struct sysroot root;
    struct collect_env env;
    struct mounts mounts;
    unsigned asked;
    char asked_of[4096]; /* "|/|/home|" */
    const char *fail;
};

static int fake_space(void *context, const char *mount_point, struct fs_space *ret_space)
{
    struct scenario *scenario = context;
    scenario->asked++;
    size_t used = strlen(scenario->asked_of);
    (void)snprintf(scenario->asked_of + used, sizeof(scenario->asked_of) - used, "%s|", mount_point);
    if (scenario->fail && strcmp(scenario->fail, mount_point) == 0)
        return -EACCES;
    *ret_space = (struct fs_space){.total_bytes = 1000, .free_bytes = 400, .available_bytes = 300};
    return 0;
}

static void start_scenario(struct scenario *scenario, const char *mountinfo)
{
    *scenario = (struct scenario){.asked_of = "|"};
    tree_make(&scenario->tree);
    tree_directory(&scenario->tree, "sys");
    tree_directory(&scenario->tree, "proc");
    if (mountinfo)
        tree_write(&scenario->tree, "proc/self/mountinfo", mountinfo);
    assert_int_equal(sysroot_open(scenario->tree.path, &scenario->root, NULL), 0);
    scenario->env = (struct collect_env){.root = &scenario->root, .space = fake_space, .space_context = scenario};
    mounts_open(&scenario->mounts, &scenario->env);
}

static void end_scenario(struct scenario *scenario)
{
    mounts_close(&scenario->mounts);
    sysroot_close(&scenario->root);
    tree_free(&scenario->tree);
}

/* Every filesystem has an owner here. */
static void read_all(struct scenario *scenario, int64_t now_ns)
{
    assert_int_equal(mounts_refresh(&scenario->mounts, now_ns, NULL), 0);
    for (size_t i = 0; i < scenario->mounts.list.count; i++)
        scenario->mounts.list.items[i].owner = scenario;
    mounts_read_space(&scenario->mounts, now_ns);
}

static const struct filesystem *at(const struct scenario *scenario, const char *mount_point)
{
    for (size_t i = 0; i < scenario->mounts.list.count; i++) {
        if (strcmp(mounts_row(&scenario->mounts, &scenario->mounts.list.items[i])->mount_point, mount_point) == 0)
            return &scenario->mounts.list.items[i];
    }
    return NULL;
}

static bool was_asked(const struct scenario *scenario, const char *mount_point)
{
    char needle[256];
    (void)snprintf(needle, sizeof(needle), "|%s|", mount_point);
    return strstr(scenario->asked_of, needle) != NULL;
}

static void test_plain(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "1 1 0:2 / / rw - rootfs rootfs rw\n"
                              "20 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
                              "21 20 0:20 / /proc rw - proc proc rw\n"
                              "22 20 0:21 / /sys rw - sysfs sysfs rw\n"
                              "23 20 0:5 / /dev rw - devtmpfs udev rw\n"
                              "24 23 0:22 / /dev/shm rw - tmpfs /dev/shm rw\n"
                              "25 20 259:1 / /boot/efi rw - vfat /dev/nvme0n1p1 rw\n"
                              "26 20 8:1 / /data/my\\040disk\\011\\134 rw - xfs /dev/sda1 rw\n"
                              "27 20 0:30 / /net rw - nfs4 server:/x rw\n");
    read_all(&scenario, 0);
    assert_int_equal(scenario.mounts.list.count, 3);
    assert_false(scenario.mounts.polled);
    const struct filesystem *root = at(&scenario, "/");
    assert_non_null(root);
    assert_int_equal(root->major, 259);
    assert_int_equal(root->minor, 2);
    assert_true(root->reachable);
    assert_int_equal(root->total_bytes.v, 1000);
    assert_int_equal(root->used_bytes.v, 600);
    assert_int_equal(root->available_bytes.v, 300);
    assert_true(root->used_pct.v == 60); /* of the total, blocks reserved for root included */
    assert_non_null(at(&scenario, "/data/my disk\t\\"));
    assert_true(was_asked(&scenario, "/data/my disk\t\\"));
    assert_int_equal(scenario.asked, 3);
    /* sorted */
    assert_string_equal(mounts_row(&scenario.mounts, &scenario.mounts.list.items[1])->mount_point, "/boot/efi");
    end_scenario(&scenario);
}

static void test_bind_and_subvolumes_once(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 /sub /a rw - ext4 /dev/sda1 rw\n"
                              "21 20 8:1 / /mnt/whole rw - ext4 /dev/sda1 rw\n"
                              "22 20 8:1 / /mnt/whale rw - ext4 /dev/sda1 rw\n"
                              "23 20 0:40 /@ /b rw - btrfs /dev/mapper/vg-lv rw\n"
                              "24 20 0:40 /@home /b/home rw - btrfs /dev/mapper/vg-lv rw\n"
                              "25 20 0:41 /@x /c rw - btrfs /dev/disk/by-uuid/12 rw\n"
                              "26 20 0:42 / /d rw - bcachefs /dev/sdc:/dev/sdd rw\n"
                              "27 20 0:43 / /e rw - btrfs /dev/nowhere rw\n"
                              "28 20 0:44 / /f rw - overlay overlay rw\n");
    tree_link(&scenario.tree, "dev/mapper/vg-lv", "../dm-0");
    tree_link(&scenario.tree, "dev/disk/by-uuid/12", "/dev/disk/by-id/x");
    tree_link(&scenario.tree, "dev/disk/by-id/x", "../../sdb2");
    tree_write(&scenario.tree, "sys/class/block/dm-0/dev", "253:0\n");
    tree_write(&scenario.tree, "sys/class/block/sdb2/dev", "8:18\n");
    tree_write(&scenario.tree, "sys/class/block/sdc/dev", "8:32\n");
    read_all(&scenario, 0);
    assert_int_equal(scenario.mounts.list.count, 4);
    const struct filesystem *plain = at(&scenario, "/mnt/whale");
    assert_non_null(plain);
    assert_int_equal(plain->minor, 1);
    const struct filesystem *subvolume = at(&scenario, "/b");
    assert_non_null(subvolume);
    assert_int_equal(subvolume->major, 253);
    assert_int_equal(subvolume->minor, 0);
    assert_int_equal(at(&scenario, "/c")->minor, 18);
    assert_int_equal(at(&scenario, "/d")->minor, 32);
    assert_int_equal(scenario.asked, 4);
    end_scenario(&scenario);
}

/* What lies below a network filesystem, FUSE or autofs is not touched; another way to it is taken where there is one.
 */
static void test_hanging_ways(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                              "21 20 0:50 / /net rw - nfs4 server:/x rw\n"
                              "22 21 8:17 / /net/disk rw - ext4 /dev/sdb1 rw\n"
                              "23 22 8:33 / /net/disk/deep rw - ext4 /dev/sdc1 rw\n"
                              "24 20 8:33 / /mnt/a/longer/way/to/it rw - ext4 /dev/sdc1 rw\n"
                              "25 20 0:51 / /auto rw - autofs systemd-1 rw\n"
                              "26 25 8:49 / /auto rw - vfat /dev/sdd1 rw\n"
                              "27 20 8:65 / /ntfs rw - fuseblk /dev/sde1 rw\n"
                              "28 20 0:52 / /odd rw - strangefs none rw\n"
                              "29 28 8:81 / /odd/disk rw - ext4 /dev/sdf1 rw\n"
                              "30 20 0:53 / /tmp rw - tmpfs tmpfs rw\n"
                              "31 30 8:97 / /tmp/disk rw - ext4 /dev/sdg1 rw\n"
                              "32 20 8:113 / /cluster rw - gfs2 /dev/sdh1 rw\n"
                              "33 20 0:54 / /liar rw - fuse.x /dev/sda1 rw\n");
    tree_write(&scenario.tree, "sys/class/block/sda1/dev", "8:1\n");
    read_all(&scenario, 0);
    assert_int_equal(scenario.mounts.list.count, 8);
    assert_non_null(at(&scenario, "/net/disk"));
    assert_false(at(&scenario, "/net/disk")->reachable);
    assert_false(at(&scenario, "/net/disk")->total_bytes.has);
    assert_non_null(at(&scenario, "/mnt/a/longer/way/to/it"));
    assert_true(at(&scenario, "/mnt/a/longer/way/to/it")->total_bytes.has);
    assert_false(at(&scenario, "/auto")->reachable);
    assert_false(at(&scenario, "/ntfs")->reachable);
    assert_false(at(&scenario, "/odd/disk")->reachable);
    assert_false(at(&scenario, "/cluster")->reachable);
    assert_true(at(&scenario, "/tmp/disk")->reachable);
    assert_string_equal(scenario.asked_of, "|/|/mnt/a/longer/way/to/it|/tmp/disk|");
    end_scenario(&scenario);
}

static void test_overmounted(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                              "21 20 8:17 / /mnt rw - ext4 /dev/sdb1 rw\n"
                              "22 21 8:33 / /mnt rw - ext4 /dev/sdc1 rw\n" /* on top of 21 */
                              "23 20 8:49 / /a/b rw - ext4 /dev/sdd1 rw\n"
                              "24 23 8:65 / /a/b/c rw - ext4 /dev/sde1 rw\n"
                              "25 20 8:81 / /a rw - ext4 /dev/sdf1 rw\n" /* over 23 and so over 24 */
                              "26 20 8:97 / /ab rw - ext4 /dev/sdg1 rw\n" /* a name, not a directory below /a */
                              "27 20 8:17 / /zz/visible rw - ext4 /dev/sdb1 rw\n");
    read_all(&scenario, 0);
    assert_int_equal(scenario.mounts.list.count, 7);
    assert_true(at(&scenario, "/")->reachable);
    assert_int_equal(at(&scenario, "/mnt")->minor, 33);
    assert_true(at(&scenario, "/mnt")->reachable);
    assert_int_equal(at(&scenario, "/zz/visible")->minor, 17);
    assert_false(at(&scenario, "/a/b")->reachable);
    assert_false(at(&scenario, "/a/b/c")->reachable);
    assert_true(at(&scenario, "/a")->reachable);
    assert_true(at(&scenario, "/ab")->reachable);
    assert_false(was_asked(&scenario, "/a/b"));
    assert_false(was_asked(&scenario, "/a/b/c"));
    end_scenario(&scenario);
}

/* The whole machine covered by a later mount of "/", and a circle of parents that no kernel makes. */
static void test_covered_root_and_circle(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                              "21 20 8:17 / /home rw - ext4 /dev/sdb1 rw\n"
                              "22 20 8:33 / / rw - ext4 /dev/sdc1 rw\n"
                              "30 31 8:49 / /x rw - ext4 /dev/sdd1 rw\n"
                              "31 30 8:65 / /y rw - ext4 /dev/sde1 rw\n");
    read_all(&scenario, 0);
    assert_string_equal(scenario.asked_of, "|/|");
    assert_false(at(&scenario, "/home")->reachable);
    assert_false(at(&scenario, "/x")->reachable);
    assert_false(at(&scenario, "/y")->reachable);
    end_scenario(&scenario);
}

static void test_space_cadence(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:17 / /data rw - ext4 /dev/sdb1 rw\n");
    scenario.fail = "/data";
    read_all(&scenario, 0);
    assert_int_equal(scenario.asked, 2);
    assert_false(at(&scenario, "/data")->total_bytes.has);
    assert_false(at(&scenario, "/data")->used_pct.has);
    assert_true(at(&scenario, "/")->total_bytes.has);
    mounts_read_space(&scenario.mounts, NS_PER_SEC - 1);
    assert_int_equal(scenario.asked, 2);
    /* A new reading of the list does not ask again before its time, but asks for what is new. */
    tree_write(&scenario.tree, "proc/self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 20 8:33 / /new rw - ext4 /dev/sdc1 rw\n");
    scenario.mounts.dirty = true;
    read_all(&scenario, NS_PER_SEC / 2);
    assert_int_equal(scenario.asked, 3);
    assert_true(was_asked(&scenario, "/new"));
    assert_int_equal(at(&scenario, "/")->total_bytes.v, 1000);
    assert_null(at(&scenario, "/data"));
    read_all(&scenario, NS_PER_SEC);
    assert_int_equal(scenario.asked, 4);
    end_scenario(&scenario);
}

static void test_reading_cadence(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    read_all(&scenario, 0);
    assert_int_equal(scenario.mounts.generation, 1);
    tree_write(&scenario.tree, "proc/self/mountinfo", "20 1 8:1 / /other rw - ext4 /dev/sda1 rw\n");
    read_all(&scenario, COLLECT_SLOW_NS - 1);
    assert_non_null(at(&scenario, "/"));
    read_all(&scenario, COLLECT_SLOW_NS);
    assert_non_null(at(&scenario, "/other"));
    assert_int_equal(scenario.mounts.generation, 2);
    /* Where the kernel reports changes nothing is read on suspicion. */
    scenario.mounts.polled = true;
    read_all(&scenario, 5 * COLLECT_SLOW_NS);
    assert_int_equal(scenario.mounts.generation, 2);
    end_scenario(&scenario);
}

static void test_unreadable(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, NULL);
    struct err err = {0};
    assert_int_equal(mounts_refresh(&scenario.mounts, 0, &err), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.msg, "proc/self/mountinfo: No such file"));
    assert_int_equal(mounts_refresh(&scenario.mounts, 1, NULL), -ENOENT);
    tree_write(&scenario.tree, "proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    assert_int_equal(mounts_refresh(&scenario.mounts, COLLECT_SLOW_NS, NULL), 0);
    assert_int_equal(scenario.mounts.list.count, 1);
    end_scenario(&scenario);
}

/* A record longer than a page, then another: nothing is cut off. */
static void test_long_record(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "20 1 0:30 / /o rw - overlay overlay lowerdir=");
    for (int i = 0; i < 30000; i++)
        buf_puts(&text, "/l");
    buf_puts(&text, "\n21 20 8:1 / /disk rw - ext4 /dev/sda1 rw\n");
    struct scenario scenario;
    start_scenario(&scenario, buf_cstr(&text));
    read_all(&scenario, 0);
    assert_non_null(at(&scenario, "/disk"));
    end_scenario(&scenario);
    buf_fini(&text);
}

static void test_too_many(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 1100; i++)
        buf_printf(&text, "%d 1 8:%d / /m%d rw - ext4 /dev/x rw\n", 20 + i, i, i);
    struct scenario scenario;
    start_scenario(&scenario, buf_cstr(&text));
    read_all(&scenario, 0);
    assert_int_equal(scenario.mounts.list.count, MOUNTS_FILESYSTEMS_MAX);
    end_scenario(&scenario);
    buf_fini(&text);
}

static void test_resolve_source(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, NULL);
    unsigned major = 0, minor = 0;
    tree_write(&scenario.tree, "sys/class/block/cciss!c0d0p1/dev", "104:1\n");
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/cciss/c0d0p1", &major, &minor), 0);
    assert_int_equal(major, 104);
    tree_link(&scenario.tree, "dev/loop-a", "loop-b");
    tree_link(&scenario.tree, "dev/loop-b", "loop-a");
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/loop-a", &major, &minor), -ELOOP);
    tree_link(&scenario.tree, "dev/out", "../mnt/sda");
    tree_write(&scenario.tree, "sys/class/block/sda/dev", "8:0\n");
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/out", &major, &minor), -ENODEV);
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/../mnt/sda", &major, &minor), -ENODEV);
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/./x/../sda", &major, &minor), 0);
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/", &major, &minor), -ENODEV);
    tree_write(&scenario.tree, "sys/class/block/bad/dev", "8\n");
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/bad", &major, &minor), -ENODEV);
    tree_write(&scenario.tree, "sys/class/block/bad/dev", "8:x\n");
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/bad", &major, &minor), -ENODEV);
    tree_write(&scenario.tree, "sys/class/block/bad/dev", "99999999999:1\n");
    assert_int_equal(mount_source_resolve(&scenario.root, "/dev/bad", &major, &minor), -ENODEV);
    end_scenario(&scenario);
}

static void test_find_path(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                              "21 20 8:17 / /var rw - ext4 /dev/sdb1 rw\n"
                              "22 21 8:33 / /var rw - ext4 /dev/sdc1 rw\n");
    read_all(&scenario, 0);
    assert_int_equal(mounts_find_path(&scenario.mounts, "/var/lib/x.img")->minor, 33);
    assert_int_equal(mounts_find_path(&scenario.mounts, "/variable")->minor, 1);
    assert_null(mounts_find_path(&scenario.mounts, "(deleted)"));
    end_scenario(&scenario);
}

/* The first statvfs of a filesystem that may read its medium for it is for the probe. */
static void test_first_space_of_some(void **state)
{
    (void)state;
    struct scenario scenario;
    struct probe probe;
    start_scenario(&scenario, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                              "21 20 8:2 / /efi rw - vfat /dev/sda2 rw\n"
                              "22 20 8:3 / /hangs rw - udf /dev/sda3 rw\n");
    probe_init(&probe, &scenario.env);
    scenario.env.probe = &probe;
    read_all(&scenario, 0);
    assert_true(was_asked(&scenario, "/"));
    assert_false(was_asked(&scenario, "/efi") || was_asked(&scenario, "/hangs"));
    assert_false(at(&scenario, "/efi")->total_bytes.has);
    assert_int_equal(probe.questions.count, 2);
    for (size_t i = 0; i < 2; i++) {
        struct probe_question *question = &probe.questions.items[i];
        bool hangs = strcmp(question->subject.name, "/hangs") == 0;
        question->state = PROBE_OVER;
        question->answer.error = hangs ? -ETIMEDOUT : 0;
        question->answer.space.error = 0;
        question->answer.space.space = (struct fs_space){.total_bytes = 2000, .free_bytes = 500};
    }
    read_all(&scenario, NS_PER_SEC);
    assert_int_equal(at(&scenario, "/efi")->used_bytes.v, 1500);
    assert_false(at(&scenario, "/hangs")->total_bytes.has);
    assert_int_equal(probe.questions.count, 0);
    /* From then on it is asked as all others are; one that hung is not asked again before the mounts change. */
    read_all(&scenario, 2 * NS_PER_SEC);
    assert_true(was_asked(&scenario, "/efi"));
    assert_int_equal(probe.questions.count, 0);
    scenario.mounts.dirty = true;
    read_all(&scenario, 3 * NS_PER_SEC);
    assert_int_equal(probe.questions.count, 1);
    assert_false(was_asked(&scenario, "/hangs"));
    /* A question goes with its filesystem. */
    tree_write(&scenario.tree, "proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    scenario.mounts.dirty = true;
    read_all(&scenario, 4 * NS_PER_SEC);
    assert_int_equal(probe.questions.count, 0);
    end_scenario(&scenario);
    probe_fini(&probe);
}

static void test_statvfs(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, NULL);
    struct fs_space space = {0};
    tree_directory(&scenario.tree, "data");
    assert_int_equal(mounts_statvfs(&scenario.root, "/data", &space), 0);
    assert_true(space.total_bytes > 0 && space.free_bytes >= space.available_bytes);
    assert_int_equal(mounts_statvfs(&scenario.root, "/absent", &space), -ENOENT);
    end_scenario(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_bind_and_subvolumes_once),
        cmocka_unit_test(test_hanging_ways),
        cmocka_unit_test(test_overmounted),
        cmocka_unit_test(test_covered_root_and_circle),
        cmocka_unit_test(test_space_cadence),
        cmocka_unit_test(test_reading_cadence),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_long_record),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_resolve_source),
        cmocka_unit_test(test_find_path),
        cmocka_unit_test(test_first_space_of_some),
        cmocka_unit_test(test_statvfs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
