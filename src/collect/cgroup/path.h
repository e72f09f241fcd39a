/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where our own control group is mounted, per controller: v1, v2 and hybrids of both, in and out of containers.
 */
#ifndef COLLECT_CGROUP_PATH_H
#define COLLECT_CGROUP_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "kernel/sysroot.h"

enum cgroup_controller { CGROUP_CPU, CGROUP_CPUACCT, CGROUP_MEMORY, CGROUP_CONTROLLERS };

struct cgroup_place {
    unsigned version; /* 1 or 2; 0: unknown, the rest is then empty */
    size_t len; /* of dir */
    size_t top_len; /* of the mount point in front of dir: the highest group that can be seen */
    char dir[PATH_MAX]; /* our group, relative to the root of the machine, no slash at either end */
};

/*
 * Follows groups, the text of self/cgroup, through self/mountinfo below the root's proc. A controller bound to a v1
 * hierarchy is looked for only there, the others in v2. Sets all places on success. Returns 0, -ENODATA where no
 * controller has a place, or another negative errno with a message.
 */
int cgroup_path_find(
    const struct sysroot *root, struct str groups, struct cgroup_place ret_places[CGROUP_CONTROLLERS], struct err *err);

/*
 * The same for our group in the v2 hierarchy alone, whether or not a controller is bound to it. Returns 0, -ENODATA
 * where there is none or no mount shows it, or another negative errno, with a message in both cases.
 */
int cgroup_path_find_v2(const struct sysroot *root, struct str groups, struct cgroup_place *ret_place, struct err *err);

/*
 * Makes the group in `dir` (relative to the root of the machine, no slash at either end) the place, which must be
 * known. The highest group that can be seen stays the same where dir lies below it; else nothing above dir counts.
 * Returns false, and changes nothing, where dir is too long.
 */
bool cgroup_path_enter(struct cgroup_place *place, const char *dir);

/*
 * The directory of the group `path` (as in self/cgroup) below a mount showing its hierarchy from mount_root on. Sets
 * all but the version. Returns false where the mount does not show the group.
 */
bool cgroup_path_translate(
    struct str path, const char *mount_root, const char *mount_point, struct cgroup_place *ret_place);

/* Shortens *len, the length of a group's directory, to that of its parent; false at the top. */
bool cgroup_path_up(const struct cgroup_place *place, size_t *len);

#endif
