/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text files of control groups (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/): /proc/PID/cgroup, flat keyed
 * files such as cpu.stat, cpu.max, and single values with "max" for "no limit".
 */
#ifndef KERNEL_CGROUP_FILES_H
#define KERNEL_CGROUP_FILES_H

#include "base/opt.h"
#include "base/str.h"

/* One line of /proc/PID/cgroup: "4:memory:/a/b", "0::/user.slice". */
struct cgroup_line {
    uint64_t hierarchy; /* 0: the v2 hierarchy */
    struct str controllers; /* "cpu,cpuacct", "name=systemd", "" for v2 */
    struct str path; /* begins with '/', may hold ':' */
};

/* Cuts the next line off *rest. Returns false at the end; broken lines are skipped. */
bool cgroup_line_next(struct str *rest, struct cgroup_line *ret_line);

/* Is `name` one of the comma-separated words of `list`? */
bool cgroup_list_has(struct str list, struct str name);

/* The value behind `key` in a flat keyed file ("usage_usec 123\n…"); absent where the key or a number is missing. */
struct opt_u64 cgroup_keyed_u64(struct str text, struct str key);

/* A single number; "max" and anything else that is no number is absent. */
struct opt_u64 cgroup_single_u64(struct str text);

/* cpu.max: "50000 100000" is 0.5 cores; "max 100000" is absent. */
struct opt_f64 cgroup_cpu_max_cores(struct str text);

/* The v1 pair cpu.cfs_quota_us ("-1": no limit) and cpu.cfs_period_us. */
struct opt_f64 cgroup_cfs_cores(struct str quota, struct str period);

#endif
