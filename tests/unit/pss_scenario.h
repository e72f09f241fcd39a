/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of processes for tests of the PSS reads: a fake machine with one smaps_rollup each, and a CPU clock on which
 * every read costs what the test says. Anything that fails here fails the test.
 */
#ifndef TESTS_UNIT_PSS_SCENARIO_H
#define TESTS_UNIT_PSS_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "collect/tree/pss.h"
#include "fake_env.h"

enum { PSS_SCENARIO_PROCESSES_MAX = 2048, PSS_SCENARIO_FIRST_PID = 100 };

#define NS_PER_US INT64_C(1000)
#define BYTES_PER_MIB 1048576.0
#define PAGES_PER_GIB UINT64_C(262144)

/* Process i has the number PSS_SCENARIO_FIRST_PID + i. */
struct pss_scenario {
    struct fake_env fake;
    int64_t cpu_ns; /* spent so far */
    int64_t cost_ns; /* of each read on a budget */
    int asked; /* questions for CPU time: two for each read on a budget */
    struct pss pss;
    size_t count;
    uint64_t rss_pages[PSS_SCENARIO_PROCESSES_MAX];
    int64_t age_ns[PSS_SCENARIO_PROCESSES_MAX];
    uint64_t minor_faults[PSS_SCENARIO_PROCESSES_MAX];
    struct opt_u64 own_pages[PSS_SCENARIO_PROCESSES_MAX]; /* of copies */
    size_t heads[PSS_SCENARIO_PROCESSES_MAX]; /* of copies: the first of their family */
    struct pss_memory memories[PSS_SCENARIO_PROCESSES_MAX];
    struct pss_process list[PSS_SCENARIO_PROCESSES_MAX]; /* of the last tick */
    struct err err; /* of the last tick */
};

/* The struct must not move afterwards. */
void pss_scenario_open(struct pss_scenario *scenario, enum tracked_pss mode);
void pss_scenario_close(struct pss_scenario *scenario);

/* A new process that has been there for age_ns; returns its index. */
size_t pss_scenario_add(struct pss_scenario *scenario, uint64_t rss_pages, uint64_t pss_kib, int64_t age_ns);

/* The smaps_rollup of process i: well-formed, any text, its permissions. */
void pss_scenario_set_pss(struct pss_scenario *scenario, size_t i, uint64_t kib);
void pss_scenario_write(struct pss_scenario *scenario, size_t i, const char *text);
void pss_scenario_chmod(struct pss_scenario *scenario, size_t i, mode_t mode);

struct opt_f64 pss_scenario_tick(struct pss_scenario *scenario);
struct opt_f64 pss_scenario_tick_after(struct pss_scenario *scenario, int64_t ns);

/* The same without the rights of root, which no permission stops; fails where they cannot be given up. */
bool pss_scenario_can_be_nobody(void);
struct opt_f64 pss_scenario_tick_unprivileged(struct pss_scenario *scenario, int64_t ns);

/* Reads on a budget so far. */
int pss_scenario_reads(const struct pss_scenario *scenario);
size_t pss_scenario_known(const struct pss_scenario *scenario);
/* Successfully in the last tick? */
bool pss_scenario_was_read(const struct pss_scenario *scenario, size_t i);

void pss_scenario_assert_bytes(struct opt_f64 got, double bytes);

#endif
