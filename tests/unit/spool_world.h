/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool in a temporary directory, and the rows that are in a run: each test opens the run again, as --upload-spool
 * would, and looks at what is really there. Include behind cmocka.h.
 */
#ifndef TESTS_UNIT_SPOOL_WORLD_H
#define TESTS_UNIT_SPOOL_WORLD_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "codec/gzip.h"
#include "stream/spool/spool.h"
#include "tree.h"

enum { WORLD_MAX_BYTES = 64 * 1024 * 1024, WORLD_TEXT_BYTES = 512 };

#define WORLD_HEADER "timestamp,value\n"

struct spool_world {
    struct tree tree;
    char path[WORLD_TEXT_BYTES];
    struct spool spool;
};

static inline void spool_world_open(struct spool_world *world)
{
    const struct spool_paths places = {.given = world->path};
    struct err err = {0};
    if (spool_open(&world->spool, &places, WORLD_MAX_BYTES, true, &err) < 0)
        fail_msg("%s", err.msg);
}

static inline void spool_world_make(struct spool_world *world)
{
    tree_make(&world->tree);
    (void)snprintf(world->path, sizeof(world->path), "%s/spool", world->tree.path);
    spool_world_open(world);
}

static inline void spool_world_free(struct spool_world *world)
{
    spool_close(&world->spool);
    tree_free(&world->tree);
}

/* For tests that start with a fresh one in *state. */
static inline int spool_world_setup(void **state)
{
    struct spool_world *context = malloc(sizeof(*context));
    assert_non_null(context);
    spool_world_make(context);
    *state = context;
    return 0;
}

static inline int spool_world_teardown(void **state)
{
    spool_world_free(*state);
    free(*state);
    return 0;
}

#define spool_unit_test(test) cmocka_unit_test_setup_teardown(test, spool_world_setup, spool_world_teardown)

/* Is the file there, and how long? -1: it is not. */
static inline long spool_world_size(const struct spool_world *world, const char *below)
{
    char path[2 * WORLD_TEXT_BYTES];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/%s", world->path, below);
    return lstat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* How many entries a directory of the spool has. */
static inline int spool_world_entries(const struct spool_world *world, const char *below)
{
    char path[2 * WORLD_TEXT_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", world->path, below);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int n = 0;
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n - 2;
}

static inline int spool_world_take(void *context, struct str piece)
{
    buf_append(context, piece.p, piece.n);
    return 0;
}

/* The whole batch, unpacked; "" where there is none. */
static inline void spool_world_read(struct spool_run *run, uint32_t number, struct buf *ret_text)
{
    struct buf file;
    buf_init(&file, SPOOL_BATCH_BYTES_MAX);
    struct err err = {0};
    if (spool_run_read(run, number, &file, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(gzip_unpack((struct str){file.data, file.len}, spool_world_take, ret_text), 0);
    assert_true(buf_ok(ret_text));
    buf_fini(&file);
}

/* All rows of all batches, in order; every batch must begin with the header. */
static inline void spool_world_rows(struct spool_run *run, struct buf *ret_rows)
{
    for (size_t i = 0; i < run->batches.count; i++) {
        struct buf text;
        buf_init(&text, WORLD_MAX_BYTES);
        spool_world_read(run, run->batches.items[i].number, &text);
        struct str rest = {text.data, text.len};
        assert_true(str_starts(rest, STR(WORLD_HEADER)));
        buf_append(ret_rows, text.data + strlen(WORLD_HEADER), text.len - strlen(WORLD_HEADER));
        buf_fini(&text);
    }
}

#endif
