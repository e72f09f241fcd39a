/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the energy of a machine is read: counters, each about one domain, found once when the collector is opened; and
 * batteries, which fall while nothing else feeds the machine.
 */
#ifndef COLLECT_ENERGY_ENERGY_H
#define COLLECT_ENERGY_ENERGY_H

#include "base/buf.h"
#include "base/file.h"
#include "collect/collect.h"
#include "kernel/energy.h"

enum { ENERGY_COUNTERS_MAX = 32, ENERGY_BATTERIES_MAX = 4, ENERGY_KEY_BYTES = 24, ENERGY_TEXT_BYTES_MAX = 4096 };

struct energy_counter {
    struct kept_file file;
    enum energy_domain domain;
    char key[ENERGY_KEY_BYTES]; /* the package it is of: one that has a counter needs no other */
    uint64_t range_uj; /* 0: it does not begin again */
    bool is_read; /* at least once */
    struct energy_reading prev;
    int64_t prev_ns; /* when it was read, or where it has a time of its own, first seen */
    uint64_t pending_uj; /* of this interval, and of those in which another counter of its domain failed */
};

struct energy_battery {
    struct kept_file level, status, voltage;
    bool is_charge; /* the level is in microampere-hours: voltage is read as well */
    struct opt_u64 prev; /* absent: it was not discharging */
};

/* Which sources there are, the best first: of each domain one is used. */
struct energy_sources {
    const struct sysroot *root;
    struct buf text;
    const char *names[ENERGY_DOMAINS]; /* "rapl", "hwmon", "cray", "battery"; NULL: none */
    size_t count, battery_count;
    struct energy_counter counters[ENERGY_COUNTERS_MAX];
    struct energy_battery batteries[ENERGY_BATTERIES_MAX];
};

/*
 * Finds them and reads each once. Returns 0, or -ENODATA where there is none or none may be read; err then says which
 * file it was, or has no code. To be closed in both cases.
 */
int energy_sources_open(struct energy_sources *sources, const struct collect_env *env, struct err *err);
void energy_sources_close(struct energy_sources *sources);

/* Adds to pending_uj what has come since the last reading, and leaves it alone on failure (a negative errno). */
int energy_counter_read(struct energy_sources *sources, struct energy_counter *counter, int64_t now_ns);

/* The message for it; returns r. */
int energy_counter_fail(
    const struct energy_sources *sources, const struct energy_counter *counter, int r, struct err *err);

/* Microjoules since the last reading; absent where the battery was not discharging at both of them. */
struct opt_u64 energy_battery_read(struct energy_sources *sources, struct energy_battery *battery);

/* Of an interval whose domains are known: what of package and memory belongs to the tree, and what to idle CPUs. */
void energy_share(const struct sample_cpu *cpu, struct sample_energy *energy);

#endif
