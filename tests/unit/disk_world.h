/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine for tests of the disk collector: a temporary folder as sysroot, stepped tick by tick under a fake clock.
 * Anything that fails here fails the running test.
 */
#ifndef TESTS_UNIT_DISK_WORLD_H
#define TESTS_UNIT_DISK_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/collect.h"
#include "tree.h"

struct disk_world {
    struct tree tree;
    struct sysroot root;
    int64_t now_ns;
    struct clock clock;
    struct collect_env env;
    void *state;
    struct sample sample; /* of the last collect */
    struct err err;
    unsigned asked; /* how often for the space of a mount */
    char zpool[128]; /* the zpool command; "": there is none */
};

/* Starts with no mounts and no diskstats, the clock at 1000 s. The struct must not move once it is open. */
void disk_world_make(struct disk_world *world);

/* After the tree is as the test wants it. */
void disk_world_open(struct disk_world *world);
void disk_world_end(struct disk_world *world);

/* For tests that start with a fresh one in *state. */
int disk_world_setup(void **state);
int disk_world_teardown(void **state);
#define disk_unit_test(test) cmocka_unit_test_setup_teardown(test, disk_world_setup, disk_world_teardown)

/* Returns what the collector returned. */
int disk_world_collect(struct disk_world *world, bool baseline);

/* Moves the clock and collects a sample, which must succeed. */
void disk_world_step(struct disk_world *world, int64_t ns);

/* The device in the sample of the last collect, or NULL. */
const struct sample_disk *disk_world_find(const struct disk_world *world, const char *name);
const struct sample_mount *disk_world_mount(const struct sample_disk *device, size_t i);

/* A device or partition in sysfs: folder below sys/devices and the link by its number. */
void disk_world_add_sysfs(const struct disk_world *world, const char *number, const char *folder);

#endif
