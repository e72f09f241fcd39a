/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_env.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

enum { DESCRIPTORS_MAX = 1024 };

_Static_assert(sizeof(((struct fake_env *)0)->dir) == SCRATCH_PATH_BYTES, "the path of a scratch directory fits");

static int64_t fake_env_read_ns(void *context, enum clock_kind kind)
{
    const struct fake_env *fake = context;
    return kind == CLOCK_KIND_REALTIME ? fake->real_ns : fake->mono_ns;
}

static void fake_env_path(const struct fake_env *fake, const char *path, char out[static PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", fake->dir, path);
    assert_true(n > 0 && n < PATH_MAX);
}

static void fake_env_make_directories(const struct fake_env *fake, char *full)
{
    for (char *p = full + strlen(fake->dir) + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        int r = mkdir(full, 0755);
        assert_true(r == 0 || errno == EEXIST);
        *p = '/';
    }
}

void fake_env_init(struct fake_env *fake)
{
    *fake = (struct fake_env){.mono_ns = 1000 * NS_PER_SEC, .real_ns = 5000 * NS_PER_SEC};
    assert_int_equal(scratch_make(fake->dir), 0);
    fake_env_mkdir(fake, "proc");
    fake_env_mkdir(fake, "sys");
    struct err err = {0};
    assert_int_equal(sysroot_open(fake->dir, &fake->root, &err), 0);
    fake->clock = (struct clock){.read_ns = fake_env_read_ns, .context = fake};
    fake->env = (struct collect_env){
        .root = &fake->root,
        .clock = &fake->clock,
        .ticks_per_sec = 100,
        .page_bytes = 4096,
    };
}

void fake_env_fini(struct fake_env *fake)
{
    sysroot_close(&fake->root);
    assert_int_equal(scratch_remove(fake->dir), 0);
}

int fake_env_setup(void **state)
{
    struct fake_env *fake = malloc(sizeof(*fake));
    assert_non_null(fake);
    fake_env_init(fake);
    *state = fake;
    return 0;
}

int fake_env_teardown(void **state)
{
    fake_env_fini(*state);
    free(*state);
    return 0;
}

void fake_env_write(struct fake_env *fake, const char *path, const char *text)
{
    char full[PATH_MAX];
    fake_env_path(fake, path, full);
    fake_env_make_directories(fake, full);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    size_t n = strlen(text);
    assert_true(write(fd, text, n) == (ssize_t)n);
    assert_int_equal(close(fd), 0);
}

void fake_env_mkdir(struct fake_env *fake, const char *path)
{
    char full[PATH_MAX];
    fake_env_path(fake, path, full);
    fake_env_make_directories(fake, full);
    assert_int_equal(mkdir(full, 0755), 0);
}

void fake_env_link(struct fake_env *fake, const char *path, const char *target)
{
    char full[PATH_MAX];
    fake_env_path(fake, path, full);
    fake_env_make_directories(fake, full);
    assert_int_equal(symlink(target, full), 0);
}

void fake_env_remove(struct fake_env *fake, const char *path)
{
    char full[PATH_MAX];
    fake_env_path(fake, path, full);
    assert_int_equal(scratch_remove_tree(full), 0);
}

void fake_env_break(struct fake_env *fake, const char *path)
{
    char full[PATH_MAX];
    fake_env_path(fake, path, full);
    struct stat wanted;
    assert_int_equal(stat(full, &wanted), 0);
    /* Reading a directory fails with EISDIR. */
    int directory = open(fake->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(directory >= 0);
    size_t broken = 0;
    for (int fd = 3; fd < DESCRIPTORS_MAX; fd++) {
        struct stat info;
        if (fstat(fd, &info) != 0 || info.st_dev != wanted.st_dev || info.st_ino != wanted.st_ino)
            continue;
        assert_int_equal(dup3(directory, fd, O_CLOEXEC), fd);
        broken++;
    }
    assert_int_equal(close(directory), 0);
    assert_true(broken > 0);
}

void fake_env_advance(struct fake_env *fake, int64_t ns)
{
    fake->mono_ns += ns;
    fake->real_ns += ns;
}

int fake_env_open_count(void)
{
    int count = 0;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

int fake_env_open(struct fake_env *fake, const struct collector *collector, struct fake_run *ret_run)
{
    *ret_run = (struct fake_run){.collector = collector, .state = malloc(collector->state_bytes)};
    assert_non_null(ret_run->state);
    /* A collector may not count on zeroed memory. */
    memset(ret_run->state, 0xa5, collector->state_bytes);
    int r = collector->open(ret_run->state, &fake->env, &ret_run->err);
    if (r < 0) {
        free(ret_run->state);
        ret_run->state = NULL;
    }
    return r;
}

static int fake_env_step(struct fake_env *fake, struct fake_run *run, bool baseline)
{
    struct tick tick = {.baseline = baseline, .mono_ns = fake->mono_ns};
    run->sample = (struct sample){0};
    err_clear(&run->err);
    return run->collector->collect(run->state, &tick, &run->sample, &run->err);
}

int fake_env_baseline(struct fake_env *fake, struct fake_run *run)
{
    return fake_env_step(fake, run, true);
}

int fake_env_collect(struct fake_env *fake, struct fake_run *run)
{
    return fake_env_step(fake, run, false);
}

void fake_env_close(struct fake_run *run)
{
    run->collector->close(run->state);
    free(run->state);
    run->state = NULL;
}
