/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of its own for collector tests: a temporary directory as sysroot and a clock that moves only by
 * fake_env_advance. All paths are relative to that directory. Anything that fails here fails the test.
 */
#ifndef TESTS_UNIT_FAKE_ENV_H
#define TESTS_UNIT_FAKE_ENV_H

#include <stdint.h>

#include "base/clock.h"
#include "collect/collect.h"
#include "kernel/sysroot.h"

struct fake_env {
    char dir[64];
    struct sysroot root;
    struct clock clock;
    int64_t mono_ns, real_ns;
    struct collect_env env;
};

/* Starts with empty proc and sys directories, the clock at 1000 s. The struct must not move afterwards. */
void fake_env_init(struct fake_env *fake);
void fake_env_fini(struct fake_env *fake);

/* For tests that start with a fresh one in *state. */
int fake_env_setup(void **state);
int fake_env_teardown(void **state);
#define fake_env_unit_test(test) cmocka_unit_test_setup_teardown(test, fake_env_setup, fake_env_teardown)

/* Creates the directories above; an existing file keeps its inode, so that kept descriptors see the new text. */
void fake_env_write(struct fake_env *fake, const char *path, const char *text);
void fake_env_mkdir(struct fake_env *fake, const char *path);
void fake_env_link(struct fake_env *fake, const char *path, const char *target);

/* A file, a link or a whole directory. */
void fake_env_remove(struct fake_env *fake, const char *path);

/* Every descriptor now open on this file fails from here on, like one whose device or server has gone away. */
void fake_env_break(struct fake_env *fake, const char *path);

void fake_env_advance(struct fake_env *fake, int64_t ns);

/* How many descriptors this process has open. */
int fake_env_open_count(void);

/* A collector with its state, stepped by hand. */
struct fake_run {
    const struct collector *collector;
    void *state;
    struct sample sample; /* of the last collect */
    struct err err;
};

/* Returns what open returned; below 0 nothing is left to close. */
int fake_env_open(struct fake_env *fake, const struct collector *collector, struct fake_run *ret_run);
int fake_env_baseline(struct fake_env *fake, struct fake_run *run);
int fake_env_collect(struct fake_env *fake, struct fake_run *run);
void fake_env_close(struct fake_run *run);

#endif
