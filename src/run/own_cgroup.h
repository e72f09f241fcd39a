/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A v2 control group for the command alone (--cgroup), made below our own so that every limit above still holds, and
 * gone when we are. No controller is turned on: CPU time and membership need none.
 */
#ifndef RUN_OWN_CGROUP_H
#define RUN_OWN_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "kernel/sysroot.h"

enum {
    OWN_CGROUP_LEFTOVER_SECS = 60, /* a younger group may belong to a tracker that is just starting */
    OWN_CGROUP_SWEEP_MAX = 64,
    OWN_CGROUP_MOVES_MAX = 1000,
};

struct own_cgroup {
    int dir_fd; /* of the group; -1: none */
    int parent_fd; /* of the group it lies in */
    char name[64]; /* "resource-tracker-PID", or "resource-tracker-PID-2" where that exists; "": none */
    char dir[PATH_MAX]; /* relative to the root of the machine, no slash at either end */
};

/*
 * Removes what killed trackers left behind, then makes the group. Returns 0; -ENOTSUP for a root that is not the host;
 * -ENODATA where our v2 group is not to be found; -EACCES, -EPERM or -EROFS where it is not permitted; -EOPNOTSUPP in
 * a threaded group; or another negative errno; always with a message that says what is the matter.
 */
int own_cgroup_create(struct own_cgroup *ret_group, const struct sysroot *root, struct err *err);

/*
 * Daemons that outlive the command are moved to the parent first; nothing is killed. Empty groups below it go too.
 * Returns false where it stays: a group below it is in use. Harmless where there is none: dir_fd -1, all zeros, or
 * removed before.
 */
bool own_cgroup_remove(struct own_cgroup *group);

/* The parts of the above, which work on any directory. */

/* Is this the name of such a group, and of which tracker? */
bool own_cgroup_name_parse(const char *name, pid_t *ret_pid);

/*
 * Makes and opens a group in the directory parent_fd, which is named parent_dir. On success the parent_fd is the
 * group's to close.
 */
int own_cgroup_make(int parent_fd, const char *parent_dir, struct own_cgroup *ret_group, struct err *err);

/* Removes the groups of trackers that are no more; returns how many. */
size_t own_cgroup_sweep(int parent_fd, int64_t now_secs);

/* Writes up to max PIDs of one directory's cgroup.procs into the other's; returns how many it tried. */
size_t own_cgroup_move(int from_fd, int to_fd, size_t max);

#endif
