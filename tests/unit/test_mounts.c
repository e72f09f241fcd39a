/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystems of a machine played in a temporary folder: each once, by number, and no touch where it could hang. */

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

struct world {
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
    struct world *world = context;
    world->asked++;
    size_t used = strlen(world->asked_of);
    (void)snprintf(world->asked_of + used, sizeof(world->asked_of) - used, "%s|", mount_point);
    if (world->fail && strcmp(world->fail, mount_point) == 0)
        return -EACCES;
    *ret_space = (struct fs_space){.total_bytes = 1000, .free_bytes = 400, .available_bytes = 300};
    return 0;
}

static void start_world(struct world *world, const char *mountinfo)
{
    *world = (struct world){.asked_of = "|"};
    tree_make(&world->tree);
    tree_folder(&world->tree, "sys");
    tree_folder(&world->tree, "proc");
    if (mountinfo)
        tree_write(&world->tree, "proc/self/mountinfo", mountinfo);
    assert_int_equal(sysroot_open(world->tree.path, &world->root, NULL), 0);
    world->env = (struct collect_env){.root = &world->root, .space = fake_space, .space_context = world};
    mounts_open(&world->mounts, &world->env);
}

static void end_world(struct world *world)
{
    mounts_close(&world->mounts);
    sysroot_close(&world->root);
    tree_free(&world->tree);
}

/* Everybody owns his filesystem here. */
static void read_all(struct world *world, int64_t now_ns)
{
    assert_int_equal(mounts_refresh(&world->mounts, now_ns, NULL), 0);
    for (size_t i = 0; i < world->mounts.list.count; i++)
        world->mounts.list.items[i].owner = world;
    mounts_read_space(&world->mounts, now_ns);
}

static const struct filesystem *at(const struct world *world, const char *mount_point)
{
    for (size_t i = 0; i < world->mounts.list.count; i++) {
        if (strcmp(mounts_row(&world->mounts, &world->mounts.list.items[i])->mount_point, mount_point) == 0)
            return &world->mounts.list.items[i];
    }
    return NULL;
}

static bool was_asked(const struct world *world, const char *mount_point)
{
    char needle[256];
    (void)snprintf(needle, sizeof(needle), "|%s|", mount_point);
    return strstr(world->asked_of, needle) != NULL;
}

static void test_plain(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "1 1 0:2 / / rw - rootfs rootfs rw\n"
                        "20 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
                        "21 20 0:20 / /proc rw - proc proc rw\n"
                        "22 20 0:21 / /sys rw - sysfs sysfs rw\n"
                        "23 20 0:5 / /dev rw - devtmpfs udev rw\n"
                        "24 23 0:22 / /dev/shm rw - tmpfs /dev/shm rw\n"
                        "25 20 259:1 / /boot/efi rw - vfat /dev/nvme0n1p1 rw\n"
                        "26 20 8:1 / /data/my\\040disk\\011\\134 rw - xfs /dev/sda1 rw\n"
                        "27 20 0:30 / /net rw - nfs4 server:/x rw\n");
    read_all(&world, 0);
    assert_int_equal(world.mounts.list.count, 3);
    assert_false(world.mounts.polled);
    const struct filesystem *root = at(&world, "/");
    assert_non_null(root);
    assert_int_equal(root->major, 259);
    assert_int_equal(root->minor, 2);
    assert_true(root->reachable);
    assert_int_equal(root->total_bytes.v, 1000);
    assert_int_equal(root->used_bytes.v, 600);
    assert_int_equal(root->available_bytes.v, 300);
    assert_true(root->used_pct.v == 60); /* of the total, blocks reserved for root included */
    assert_non_null(at(&world, "/data/my disk\t\\"));
    assert_true(was_asked(&world, "/data/my disk\t\\"));
    assert_int_equal(world.asked, 3);
    /* sorted */
    assert_string_equal(mounts_row(&world.mounts, &world.mounts.list.items[1])->mount_point, "/boot/efi");
    end_world(&world);
}

static void test_bind_and_subvolumes_once(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 /sub /a rw - ext4 /dev/sda1 rw\n"
                        "21 20 8:1 / /mnt/whole rw - ext4 /dev/sda1 rw\n"
                        "22 20 8:1 / /mnt/whale rw - ext4 /dev/sda1 rw\n"
                        "23 20 0:40 /@ /b rw - btrfs /dev/mapper/vg-lv rw\n"
                        "24 20 0:40 /@home /b/home rw - btrfs /dev/mapper/vg-lv rw\n"
                        "25 20 0:41 /@x /c rw - btrfs /dev/disk/by-uuid/12 rw\n"
                        "26 20 0:42 / /d rw - bcachefs /dev/sdc:/dev/sdd rw\n"
                        "27 20 0:43 / /e rw - btrfs /dev/nowhere rw\n"
                        "28 20 0:44 / /f rw - overlay overlay rw\n");
    tree_link(&world.tree, "dev/mapper/vg-lv", "../dm-0");
    tree_link(&world.tree, "dev/disk/by-uuid/12", "/dev/disk/by-id/x");
    tree_link(&world.tree, "dev/disk/by-id/x", "../../sdb2");
    tree_write(&world.tree, "sys/class/block/dm-0/dev", "253:0\n");
    tree_write(&world.tree, "sys/class/block/sdb2/dev", "8:18\n");
    tree_write(&world.tree, "sys/class/block/sdc/dev", "8:32\n");
    read_all(&world, 0);
    assert_int_equal(world.mounts.list.count, 4);
    const struct filesystem *plain = at(&world, "/mnt/whale");
    assert_non_null(plain);
    assert_int_equal(plain->minor, 1);
    const struct filesystem *subvolume = at(&world, "/b");
    assert_non_null(subvolume);
    assert_int_equal(subvolume->major, 253);
    assert_int_equal(subvolume->minor, 0);
    assert_int_equal(at(&world, "/c")->minor, 18);
    assert_int_equal(at(&world, "/d")->minor, 32);
    assert_int_equal(world.asked, 4);
    end_world(&world);
}

/* What lies below a network filesystem, FUSE or autofs is not touched; another way to it is taken where there is one.
 */
static void test_hanging_ways(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
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
    tree_write(&world.tree, "sys/class/block/sda1/dev", "8:1\n");
    read_all(&world, 0);
    assert_int_equal(world.mounts.list.count, 8);
    assert_non_null(at(&world, "/net/disk"));
    assert_false(at(&world, "/net/disk")->reachable);
    assert_false(at(&world, "/net/disk")->total_bytes.has);
    assert_non_null(at(&world, "/mnt/a/longer/way/to/it"));
    assert_true(at(&world, "/mnt/a/longer/way/to/it")->total_bytes.has);
    assert_false(at(&world, "/auto")->reachable);
    assert_false(at(&world, "/ntfs")->reachable);
    assert_false(at(&world, "/odd/disk")->reachable);
    assert_false(at(&world, "/cluster")->reachable);
    assert_true(at(&world, "/tmp/disk")->reachable);
    assert_string_equal(world.asked_of, "|/|/mnt/a/longer/way/to/it|/tmp/disk|");
    end_world(&world);
}

static void test_overmounted(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                        "21 20 8:17 / /mnt rw - ext4 /dev/sdb1 rw\n"
                        "22 21 8:33 / /mnt rw - ext4 /dev/sdc1 rw\n" /* on top of 21 */
                        "23 20 8:49 / /a/b rw - ext4 /dev/sdd1 rw\n"
                        "24 23 8:65 / /a/b/c rw - ext4 /dev/sde1 rw\n"
                        "25 20 8:81 / /a rw - ext4 /dev/sdf1 rw\n" /* over 23 and so over 24 */
                        "26 20 8:97 / /ab rw - ext4 /dev/sdg1 rw\n" /* a name, not a folder below /a */
                        "27 20 8:17 / /zz/visible rw - ext4 /dev/sdb1 rw\n");
    read_all(&world, 0);
    assert_int_equal(world.mounts.list.count, 7);
    assert_true(at(&world, "/")->reachable);
    assert_int_equal(at(&world, "/mnt")->minor, 33);
    assert_true(at(&world, "/mnt")->reachable);
    assert_int_equal(at(&world, "/zz/visible")->minor, 17);
    assert_false(at(&world, "/a/b")->reachable);
    assert_false(at(&world, "/a/b/c")->reachable);
    assert_true(at(&world, "/a")->reachable);
    assert_true(at(&world, "/ab")->reachable);
    assert_false(was_asked(&world, "/a/b"));
    assert_false(was_asked(&world, "/a/b/c"));
    end_world(&world);
}

/* The whole machine covered by a later mount of "/", and a circle of parents that no kernel makes. */
static void test_covered_root_and_circle(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                        "21 20 8:17 / /home rw - ext4 /dev/sdb1 rw\n"
                        "22 20 8:33 / / rw - ext4 /dev/sdc1 rw\n"
                        "30 31 8:49 / /x rw - ext4 /dev/sdd1 rw\n"
                        "31 30 8:65 / /y rw - ext4 /dev/sde1 rw\n");
    read_all(&world, 0);
    assert_string_equal(world.asked_of, "|/|");
    assert_false(at(&world, "/home")->reachable);
    assert_false(at(&world, "/x")->reachable);
    assert_false(at(&world, "/y")->reachable);
    end_world(&world);
}

static void test_space_cadence(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:17 / /data rw - ext4 /dev/sdb1 rw\n");
    world.fail = "/data";
    read_all(&world, 0);
    assert_int_equal(world.asked, 2);
    assert_false(at(&world, "/data")->total_bytes.has);
    assert_false(at(&world, "/data")->used_pct.has);
    assert_true(at(&world, "/")->total_bytes.has);
    mounts_read_space(&world.mounts, NS_PER_SEC - 1);
    assert_int_equal(world.asked, 2);
    /* A new reading of the list does not ask again before its time, but asks for what is new. */
    tree_write(&world.tree, "proc/self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 20 8:33 / /new rw - ext4 /dev/sdc1 rw\n");
    world.mounts.dirty = true;
    read_all(&world, NS_PER_SEC / 2);
    assert_int_equal(world.asked, 3);
    assert_true(was_asked(&world, "/new"));
    assert_int_equal(at(&world, "/")->total_bytes.v, 1000);
    assert_null(at(&world, "/data"));
    read_all(&world, NS_PER_SEC);
    assert_int_equal(world.asked, 4);
    end_world(&world);
}

static void test_reading_cadence(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    read_all(&world, 0);
    assert_int_equal(world.mounts.generation, 1);
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:1 / /other rw - ext4 /dev/sda1 rw\n");
    read_all(&world, COLLECT_SLOW_NS - 1);
    assert_non_null(at(&world, "/"));
    read_all(&world, COLLECT_SLOW_NS);
    assert_non_null(at(&world, "/other"));
    assert_int_equal(world.mounts.generation, 2);
    /* Where the kernel reports changes nothing is read on suspicion. */
    world.mounts.polled = true;
    read_all(&world, 5 * COLLECT_SLOW_NS);
    assert_int_equal(world.mounts.generation, 2);
    end_world(&world);
}

static void test_unreadable(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, NULL);
    struct err err = {0};
    assert_int_equal(mounts_refresh(&world.mounts, 0, &err), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.msg, "proc/self/mountinfo: No such file"));
    assert_int_equal(mounts_refresh(&world.mounts, 1, NULL), -ENOENT);
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    assert_int_equal(mounts_refresh(&world.mounts, COLLECT_SLOW_NS, NULL), 0);
    assert_int_equal(world.mounts.list.count, 1);
    end_world(&world);
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
    struct world world;
    start_world(&world, buf_cstr(&text));
    read_all(&world, 0);
    assert_non_null(at(&world, "/disk"));
    end_world(&world);
    buf_fini(&text);
}

static void test_too_many(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 1100; i++)
        buf_printf(&text, "%d 1 8:%d / /m%d rw - ext4 /dev/x rw\n", 20 + i, i, i);
    struct world world;
    start_world(&world, buf_cstr(&text));
    read_all(&world, 0);
    assert_int_equal(world.mounts.list.count, MOUNTS_FILESYSTEMS_MAX);
    end_world(&world);
    buf_fini(&text);
}

static void test_resolve_source(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, NULL);
    unsigned major = 0, minor = 0;
    tree_write(&world.tree, "sys/class/block/cciss!c0d0p1/dev", "104:1\n");
    assert_int_equal(mount_source_resolve(&world.root, "/dev/cciss/c0d0p1", &major, &minor), 0);
    assert_int_equal(major, 104);
    tree_link(&world.tree, "dev/loop-a", "loop-b");
    tree_link(&world.tree, "dev/loop-b", "loop-a");
    assert_int_equal(mount_source_resolve(&world.root, "/dev/loop-a", &major, &minor), -ELOOP);
    tree_link(&world.tree, "dev/out", "../mnt/sda");
    tree_write(&world.tree, "sys/class/block/sda/dev", "8:0\n");
    assert_int_equal(mount_source_resolve(&world.root, "/dev/out", &major, &minor), -ENODEV);
    assert_int_equal(mount_source_resolve(&world.root, "/dev/../mnt/sda", &major, &minor), -ENODEV);
    assert_int_equal(mount_source_resolve(&world.root, "/dev/./x/../sda", &major, &minor), 0);
    assert_int_equal(mount_source_resolve(&world.root, "/dev/", &major, &minor), -ENODEV);
    tree_write(&world.tree, "sys/class/block/bad/dev", "8\n");
    assert_int_equal(mount_source_resolve(&world.root, "/dev/bad", &major, &minor), -ENODEV);
    tree_write(&world.tree, "sys/class/block/bad/dev", "8:x\n");
    assert_int_equal(mount_source_resolve(&world.root, "/dev/bad", &major, &minor), -ENODEV);
    tree_write(&world.tree, "sys/class/block/bad/dev", "99999999999:1\n");
    assert_int_equal(mount_source_resolve(&world.root, "/dev/bad", &major, &minor), -ENODEV);
    end_world(&world);
}

static void test_find_path(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                        "21 20 8:17 / /var rw - ext4 /dev/sdb1 rw\n"
                        "22 21 8:33 / /var rw - ext4 /dev/sdc1 rw\n");
    read_all(&world, 0);
    assert_int_equal(mounts_find_path(&world.mounts, "/var/lib/x.img")->minor, 33);
    assert_int_equal(mounts_find_path(&world.mounts, "/variable")->minor, 1);
    assert_null(mounts_find_path(&world.mounts, "(deleted)"));
    end_world(&world);
}

/* The first statvfs of a filesystem that may read its medium for it is for the probe. */
static void test_first_space_of_some(void **state)
{
    (void)state;
    struct world world;
    struct probe probe;
    start_world(&world, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                        "21 20 8:2 / /efi rw - vfat /dev/sda2 rw\n"
                        "22 20 8:3 / /hangs rw - udf /dev/sda3 rw\n");
    probe_init(&probe, &world.env);
    world.env.probe = &probe;
    read_all(&world, 0);
    assert_true(was_asked(&world, "/"));
    assert_false(was_asked(&world, "/efi") || was_asked(&world, "/hangs"));
    assert_false(at(&world, "/efi")->total_bytes.has);
    assert_int_equal(probe.questions.count, 2);
    for (size_t i = 0; i < 2; i++) {
        struct probe_question *question = &probe.questions.items[i];
        bool hangs = strcmp(question->subject.name, "/hangs") == 0;
        question->state = PROBE_OVER;
        question->answer.error = hangs ? -ETIMEDOUT : 0;
        question->answer.space.error = 0;
        question->answer.space.space = (struct fs_space){.total_bytes = 2000, .free_bytes = 500};
    }
    read_all(&world, NS_PER_SEC);
    assert_int_equal(at(&world, "/efi")->used_bytes.v, 1500);
    assert_false(at(&world, "/hangs")->total_bytes.has);
    assert_int_equal(probe.questions.count, 0);
    /* From then on it is asked as all others are; one that hung is not asked again before the mounts change. */
    read_all(&world, 2 * NS_PER_SEC);
    assert_true(was_asked(&world, "/efi"));
    assert_int_equal(probe.questions.count, 0);
    world.mounts.dirty = true;
    read_all(&world, 3 * NS_PER_SEC);
    assert_int_equal(probe.questions.count, 1);
    assert_false(was_asked(&world, "/hangs"));
    /* A question goes with its filesystem. */
    tree_write(&world.tree, "proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    world.mounts.dirty = true;
    read_all(&world, 4 * NS_PER_SEC);
    assert_int_equal(probe.questions.count, 0);
    end_world(&world);
    probe_fini(&probe);
}

static void test_statvfs(void **state)
{
    (void)state;
    struct world world;
    start_world(&world, NULL);
    struct fs_space space = {0};
    tree_folder(&world.tree, "data");
    assert_int_equal(mounts_statvfs(&world.root, "/data", &space), 0);
    assert_true(space.total_bytes > 0 && space.free_bytes >= space.available_bytes);
    assert_int_equal(mounts_statvfs(&world.root, "/absent", &space), -ENOENT);
    end_world(&world);
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
