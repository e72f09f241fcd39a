/* SPDX-License-Identifier: Apache-2.0 */
/* The clock stands still between steps, and every filesystem has the same space. */
#include "disk_world.h"

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
    return ((struct disk_world *)context)->now_ns;
}

static int fake_space(void *context, const char *mount_point, struct fs_space *ret_space)
{
    (void)mount_point;
    ((struct disk_world *)context)->asked++;
    *ret_space = (struct fs_space){.total_bytes = 1000, .free_bytes = 400, .available_bytes = 400};
    return 0;
}

void disk_world_make(struct disk_world *world)
{
    *world = (struct disk_world){.now_ns = 1000 * NS_PER_SEC};
    tree_make(&world->tree);
    tree_folder(&world->tree, "proc/self");
    tree_write(&world->tree, "proc/self/mountinfo", "");
}

void disk_world_open(struct disk_world *world)
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

void disk_world_end(struct disk_world *world)
{
    if (world->state) {
        collector_disk.close(world->state);
        free(world->state);
        sysroot_close(&world->root);
    }
    tree_free(&world->tree);
}

int disk_world_setup(void **state)
{
    struct disk_world *world = malloc(sizeof(*world));
    assert_non_null(world);
    disk_world_make(world);
    *state = world;
    return 0;
}

int disk_world_teardown(void **state)
{
    disk_world_end(*state);
    free(*state);
    return 0;
}

int disk_world_collect(struct disk_world *world, bool baseline)
{
    struct tick tick = {.baseline = baseline, .mono_ns = world->now_ns};
    world->sample = (struct sample){0};
    err_clear(&world->err);
    return collector_disk.collect(world->state, &tick, &world->sample, &world->err);
}

void disk_world_step(struct disk_world *world, int64_t ns)
{
    world->now_ns += ns;
    assert_int_equal(disk_world_collect(world, false), 0);
    assert_true(world->sample.disk.present);
}

const struct sample_disk *disk_world_find(const struct disk_world *world, const char *name)
{
    const struct sample_disk *items = world->sample.disk.items;
    for (size_t i = 0; i < world->sample.disk.count; i++) {
        if (strcmp(items[i].device, name) == 0)
            return &items[i];
    }
    return NULL;
}

const struct sample_mount *disk_world_mount(const struct sample_disk *device, size_t i)
{
    assert_true(device && device->mounts.present && i < device->mounts.count);
    return (const struct sample_mount *)device->mounts.items + i;
}

void disk_world_add_sysfs(const struct disk_world *world, const char *number, const char *folder)
{
    char link[64], target[128], file[192];
    (void)snprintf(link, sizeof(link), "sys/dev/block/%s", number);
    (void)snprintf(target, sizeof(target), "../../devices/%s", folder);
    (void)snprintf(file, sizeof(file), "sys/devices/%s/dev", folder);
    tree_write(&world->tree, file, number);
    tree_link(&world->tree, link, target);
}
