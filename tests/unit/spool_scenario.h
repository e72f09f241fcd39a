/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool in a temporary directory, and the rows that are in a run: each test opens the run again, as --upload-spool
 * would, and looks at what is really there. Include behind cmocka.h.
 */
#ifndef TESTS_UNIT_SPOOL_SCENARIO_H
#define TESTS_UNIT_SPOOL_SCENARIO_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "codec/gzip.h"
#include "stream/spool/spool.h"
#include "tree.h"

enum { SCENARIO_MAX_BYTES = 64 * 1024 * 1024, SCENARIO_TEXT_BYTES = 512 };

#define SCENARIO_HEADER "timestamp,value\n"

struct spool_scenario {
    struct tree tree;
    char path[SCENARIO_TEXT_BYTES];
    struct spool spool;
};

static inline void spool_scenario_open(struct spool_scenario *scenario)
{
    const struct spool_paths places = {.given = scenario->path};
    struct err err = {0};
    if (spool_open(&scenario->spool, &places, SCENARIO_MAX_BYTES, true, &err) < 0)
        fail_msg("%s", err.msg);
}

static inline void spool_scenario_make(struct spool_scenario *scenario)
{
    tree_make(&scenario->tree);
    (void)snprintf(scenario->path, sizeof(scenario->path), "%s/spool", scenario->tree.path);
    spool_scenario_open(scenario);
}

static inline void spool_scenario_free(struct spool_scenario *scenario)
{
    spool_close(&scenario->spool);
    tree_free(&scenario->tree);
}

/* For tests that start with a fresh one in *state. */
static inline int spool_scenario_setup(void **state)
{
    struct spool_scenario *context = malloc(sizeof(*context));
    assert_non_null(context);
    spool_scenario_make(context);
    *state = context;
    return 0;
}

static inline int spool_scenario_teardown(void **state)
{
    spool_scenario_free(*state);
    free(*state);
    return 0;
}

#define spool_unit_test(test) cmocka_unit_test_setup_teardown(test, spool_scenario_setup, spool_scenario_teardown)

/* Is the file there, and how long? -1: it is not. */
static inline long spool_scenario_size(const struct spool_scenario *scenario, const char *below)
{
    char path[2 * SCENARIO_TEXT_BYTES];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/%s", scenario->path, below);
    return lstat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* How many entries a directory of the spool has. */
static inline int spool_scenario_entries(const struct spool_scenario *scenario, const char *below)
{
    char path[2 * SCENARIO_TEXT_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", scenario->path, below);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int n = 0;
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n - 2;
}

static inline int spool_scenario_take(void *context, struct str piece)
{
    buf_append(context, piece.p, piece.n);
    return 0;
}

/* The whole batch, unpacked; "" where there is none. */
static inline void spool_scenario_read(struct spool_run *run, uint32_t number, struct buf *ret_text)
{
    struct buf file;
    buf_init(&file, SPOOL_BATCH_BYTES_MAX);
    struct err err = {0};
    if (spool_run_read(run, number, &file, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(gzip_unpack((struct str){file.data, file.len}, spool_scenario_take, ret_text), 0);
    assert_true(buf_ok(ret_text));
    buf_fini(&file);
}

/* All rows of all batches, in order; every batch must begin with the header. */
static inline void spool_scenario_rows(struct spool_run *run, struct buf *ret_rows)
{
    for (size_t i = 0; i < run->batches.count; i++) {
        struct buf text;
        buf_init(&text, SCENARIO_MAX_BYTES);
        spool_scenario_read(run, run->batches.items[i].number, &text);
        struct str rest = {text.data, text.len};
        assert_true(str_starts(rest, STR(SCENARIO_HEADER)));
        buf_append(ret_rows, text.data + strlen(SCENARIO_HEADER), text.len - strlen(SCENARIO_HEADER));
        buf_fini(&text);
    }
}

#endif
