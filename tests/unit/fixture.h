/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine played from tests/fixtures/<name>: its files, its filesystems and its clock, tick by tick, with the real
 * collectors on top. The layout is in tests/fixtures/README.md. Anything that fails here fails the test.
 */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/collect.h"
#include "collect/pipeline.h"
#include "kernel/sysroot.h"
#include "model/run_facts.h"

enum { FIXTURE_TICKS_MAX = 64, FIXTURE_SPACES_MAX = 64, FIXTURE_PATH_BYTES = 512 };

struct fixture_space {
    char mount_point[256];
    struct fs_space space;
};

struct fixture {
    char source[FIXTURE_PATH_BYTES]; /* the fixture's directory */
    char dir[64]; /* where it is played */
    unsigned tick, ticks; /* the current one, and how many there are with t0 */
    int64_t mono_ns[FIXTURE_TICKS_MAX];
    struct fixture_space spaces[FIXTURE_SPACES_MAX];
    size_t space_count;
    struct sysroot root;
    struct clock clock;
    struct collect_env env;
    struct run_info info;
    struct pipeline pipeline;
};

/* Plays t0 and takes the baseline. The struct must not move afterwards. */
void fixture_open(struct fixture *fixture, const char *fixtures_dir, const char *name);
void fixture_close(struct fixture *fixture);

/* Plays the next tick and takes its sample, valid until the next call; false where there is no further tick. */
bool fixture_step(struct fixture *fixture, struct sample *ret_sample);

#endif
