/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of processes for tests of the PSS reads: a fake machine with one smaps_rollup each, and a CPU clock on which
 * every read costs what the test says. Anything that fails here fails the test.
 */
#ifndef TESTS_UNIT_PSS_WORLD_H
#define TESTS_UNIT_PSS_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "collect/tree/pss.h"
#include "fake_env.h"

enum { PSS_WORLD_PROCESSES_MAX = 2048, PSS_WORLD_FIRST_PID = 100 };

#define NS_PER_US INT64_C(1000)
#define BYTES_PER_MIB 1048576.0
#define PAGES_PER_GIB UINT64_C(262144)

/* Process i has the number PSS_WORLD_FIRST_PID + i. */
struct pss_world {
    struct fake_env fake;
    int64_t cpu_ns; /* spent so far */
    int64_t cost_ns; /* of each read on a budget */
    int asked; /* questions for CPU time: two for each read on a budget */
    struct pss pss;
    size_t count;
    uint64_t rss_pages[PSS_WORLD_PROCESSES_MAX];
    int64_t age_ns[PSS_WORLD_PROCESSES_MAX];
    struct pss_memory memories[PSS_WORLD_PROCESSES_MAX];
    struct pss_process list[PSS_WORLD_PROCESSES_MAX]; /* of the last tick */
    struct err err; /* of the last tick */
};

/* The struct must not move afterwards. */
void pss_world_open(struct pss_world *world, enum tracked_pss mode);
void pss_world_close(struct pss_world *world);

/* A new process that has been there for age_ns; returns its index. */
size_t pss_world_add(struct pss_world *world, uint64_t rss_pages, uint64_t pss_kib, int64_t age_ns);

/* The smaps_rollup of process i: well-formed, any text, its permissions. */
void pss_world_set_pss(struct pss_world *world, size_t i, uint64_t kib);
void pss_world_write(struct pss_world *world, size_t i, const char *text);
void pss_world_chmod(struct pss_world *world, size_t i, mode_t mode);

struct opt_f64 pss_world_tick(struct pss_world *world);
struct opt_f64 pss_world_tick_after(struct pss_world *world, int64_t ns);

/* The same without the rights of root, whom no permission stops; fails where they cannot be given up. */
bool pss_world_can_be_nobody(void);
struct opt_f64 pss_world_tick_unprivileged(struct pss_world *world, int64_t ns);

/* Reads on a budget so far. */
int pss_world_reads(const struct pss_world *world);
size_t pss_world_known(const struct pss_world *world);
/* Successfully in the last tick? */
bool pss_world_was_read(const struct pss_world *world, size_t i);

void pss_world_assert_bytes(struct opt_f64 got, double bytes);

#endif
