/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU or memory limits that hold for our control group: its own and those of the groups above it, as far as they
 * can be seen. A limit holds for everything below it, so the lowest one on the way up counts.
 */
#ifndef COLLECT_CGROUP_LIMITS_H
#define COLLECT_CGROUP_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "collect/cgroup/file.h"
#include "collect/cgroup/path.h"
#include "collect/collect.h"
#include "kernel/sysroot.h"

enum { CGROUP_LIMIT_LEVELS_MAX = 16 }; /* limits further up are read once, at the start */

enum cgroup_limit_kind { CGROUP_LIMIT_CPU_V1, CGROUP_LIMIT_CPU_V2, CGROUP_LIMIT_MEMORY_V1, CGROUP_LIMIT_MEMORY_V2 };

struct cgroup_limit {
    struct cgroup_file file;
    struct cgroup_file period; /* v1 CPU only */
    struct opt_f64 value; /* cores or MiB */
    int64_t due_ns;
};

struct cgroup_limits {
    enum cgroup_limit_kind kind;
    struct cgroup_limit items[CGROUP_LIMIT_LEVELS_MAX]; /* from our group up */
    size_t count;
    struct opt_f64 above; /* the lowest of those not kept */
    struct opt_f64 lowest; /* of all; absent: there is no limit */
};

/*
 * Opens the files of every level that has them and reads them. place must outlive the limits; where it is unknown
 * there are none.
 */
void cgroup_limits_open(const struct collect_env *env, const struct cgroup_place *place, enum cgroup_limit_kind kind,
    struct cgroup_limits *limits);

/* Reads the levels that are due. One that cannot be read sets no limit until it can be again. */
void cgroup_limits_refresh(const struct sysroot *root, int64_t now_ns, struct cgroup_limits *limits);

/* Limits that are all zeros have nothing to close. */
void cgroup_limits_close(struct cgroup_limits *limits);

#endif
