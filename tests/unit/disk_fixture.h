/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine for tests of the disk collector: a temporary directory as sysroot, stepped tick by tick under a fake clock.
 * Anything that fails here fails the running test.
 */
#ifndef TESTS_UNIT_DISK_FIXTURE_H
#define TESTS_UNIT_DISK_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/collect.h"
#include "tree.h"

struct disk_fixture {
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
void disk_fixture_make(struct disk_fixture *disk);

/* After the tree is as the test wants it. */
void disk_fixture_open(struct disk_fixture *disk);
void disk_fixture_end(struct disk_fixture *disk);

/* For tests that start with a fresh one in *state. */
int disk_fixture_setup(void **state);
int disk_fixture_teardown(void **state);
#define disk_unit_test(test) cmocka_unit_test_setup_teardown(test, disk_fixture_setup, disk_fixture_teardown)

/* Returns what the collector returned. */
int disk_fixture_collect(struct disk_fixture *disk, bool baseline);

/* Moves the clock and collects a sample, which must succeed. */
void disk_fixture_step(struct disk_fixture *disk, int64_t ns);

/* The device in the sample of the last collect, or NULL. */
const struct sample_disk *disk_fixture_find(const struct disk_fixture *disk, const char *name);
const struct sample_mount *disk_fixture_mount(const struct sample_disk *device, size_t i);

/* A device or partition in sysfs: directory below sys/devices and the link by its number. */
void disk_fixture_add_sysfs(const struct disk_fixture *disk, const char *number, const char *directory);

#endif
