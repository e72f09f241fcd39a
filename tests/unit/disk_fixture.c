/* SPDX-License-Identifier: Apache-2.0 */
/* The clock stands still between steps, and every filesystem has the same space. */
#include "disk_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t fake_clock(void *context, enum clock_kind kind)
{
    (void)kind;
    return ((struct disk_fixture *)context)->now_ns;
}

static int fake_space(void *context, const char *mount_point, struct fs_space *ret_space)
{
    (void)mount_point;
    ((struct disk_fixture *)context)->asked++;
    *ret_space = (struct fs_space){.total_bytes = 1000, .free_bytes = 400, .available_bytes = 400};
    return 0;
}

void disk_fixture_make(struct disk_fixture *disk)
{
    *disk = (struct disk_fixture){.now_ns = 1000 * NS_PER_SEC};
    tree_make(&disk->tree);
    tree_directory(&disk->tree, "proc/self");
    tree_write(&disk->tree, "proc/self/mountinfo", "");
}

void disk_fixture_open(struct disk_fixture *disk)
{
    assert_int_equal(sysroot_open(disk->tree.path, &disk->root, NULL), 0);
    disk->clock = (struct clock){.read_ns = fake_clock, .context = disk};
    disk->env = (struct collect_env){
        .root = &disk->root,
        .clock = &disk->clock,
        .space = fake_space,
        .space_context = disk,
        .zpool_path = disk->zpool[0] ? disk->zpool : NULL,
    };
    disk->state = calloc(1, collector_disk.state_bytes);
    assert_non_null(disk->state);
    assert_int_equal(collector_disk.open(disk->state, &disk->env, &disk->err), 0);
}

void disk_fixture_end(struct disk_fixture *disk)
{
    if (disk->state) {
        collector_disk.close(disk->state);
        free(disk->state);
        sysroot_close(&disk->root);
    }
    tree_free(&disk->tree);
}

int disk_fixture_setup(void **state)
{
    struct disk_fixture *disk = malloc(sizeof(*disk));
    assert_non_null(disk);
    disk_fixture_make(disk);
    *state = disk;
    return 0;
}

int disk_fixture_teardown(void **state)
{
    disk_fixture_end(*state);
    free(*state);
    return 0;
}

int disk_fixture_collect(struct disk_fixture *disk, bool baseline)
{
    struct tick tick = {.baseline = baseline, .mono_ns = disk->now_ns};
    disk->sample = (struct sample){0};
    err_clear(&disk->err);
    return collector_disk.collect(disk->state, &tick, &disk->sample, &disk->err);
}

void disk_fixture_step(struct disk_fixture *disk, int64_t ns)
{
    disk->now_ns += ns;
    assert_int_equal(disk_fixture_collect(disk, false), 0);
    assert_true(disk->sample.disk.present);
}

const struct sample_disk *disk_fixture_find(const struct disk_fixture *disk, const char *name)
{
    const struct sample_disk *items = disk->sample.disk.items;
    for (size_t i = 0; i < disk->sample.disk.count; i++) {
        if (strcmp(items[i].device, name) == 0)
            return &items[i];
    }
    return NULL;
}

const struct sample_mount *disk_fixture_mount(const struct sample_disk *device, size_t i)
{
    assert_true(device && device->mounts.present && i < device->mounts.count);
    return (const struct sample_mount *)device->mounts.items + i;
}

void disk_fixture_add_sysfs(const struct disk_fixture *disk, const char *number, const char *directory)
{
    char link[64], target[128], file[192];
    (void)snprintf(link, sizeof(link), "sys/dev/block/%s", number);
    (void)snprintf(target, sizeof(target), "../../devices/%s", directory);
    (void)snprintf(file, sizeof(file), "sys/devices/%s/dev", directory);
    tree_write(&disk->tree, file, number);
    tree_link(&disk->tree, link, target);
}
