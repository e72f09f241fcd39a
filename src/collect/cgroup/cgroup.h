/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the cgroup collector: the paths of groups, and their files. */
#ifndef COLLECT_CGROUP_CGROUP_H
#define COLLECT_CGROUP_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "collect/helper.h"
#include "kernel/sysroot.h"

/* Where our own control group is mounted, per controller: v1, v2 and hybrids of both, in and out of containers. */
enum cgroup_controller { CGROUP_CPU, CGROUP_CPUACCT, CGROUP_MEMORY, CGROUP_CONTROLLERS };

struct cgroup_location {
    unsigned version; /* 1 or 2; 0: unknown, all else is then empty */
    size_t len; /* of dir */
    size_t top_len; /* of the mount point in front of dir: the highest group that can be seen */
    char dir[PATH_MAX]; /* our group, relative to the root of the machine, no slash at either end */
};

/*
 * Follows groups, the text of self/cgroup, through self/mountinfo below the root's proc. A controller bound to a v1
 * hierarchy is searched for only there, the others in v2. Sets all locations on success. Returns 0, -ENODATA where no
 * controller has one, or another negative errno with a message. mountinfo: its text, where that was just read; empty:
 * it is read here.
 */
int cgroup_path_find(const struct sysroot *root, struct str groups, struct str mountinfo,
    struct cgroup_location ret_locations[CGROUP_CONTROLLERS], struct err *err);

/*
 * The same for our group in the v2 hierarchy alone, whether or not a controller is bound to it. Returns 0, -ENODATA
 * where there is none or no mount shows it, or another negative errno, with a message in both cases.
 */
int cgroup_path_find_v2(
    const struct sysroot *root, struct str groups, struct cgroup_location *ret_location, struct err *err);

/*
 * Makes the group in `dir` (relative to the root of the machine, no slash at either end) the location, which must be
 * known. The highest group that can be seen stays the same where dir lies below it; else nothing above dir counts.
 * Returns false, and changes nothing, where dir is too long.
 */
bool cgroup_path_enter(struct cgroup_location *location, const char *dir);

/*
 * The directory of the group `path` (as in self/cgroup) below a mount showing its hierarchy from mount_root on. Sets
 * all but the version. Returns false where the mount does not show the group.
 */
bool cgroup_path_translate(
    struct str path, const char *mount_root, const char *mount_point, struct cgroup_location *ret_location);

/*
 * A group that was made by others, as it was asked for: its directory, its path as in /proc/PID/cgroup, "unit:NAME" of
 * systemd (".service" goes without saying), or the ID of a container, 12 to 64 hexadecimal digits. It is searched for
 * in what /proc says of all processes but the tracker, so it must have one. Sets the location of each controller, all
 * zeros before: in the v1 hierarchy that it is bound to, where the group is in it, else in v2; and the lowest PID.
 * Returns the controller whose location has the list of processes, which is CGROUP_CPUACCT wherever that is known; or a
 * negative errno with a message: no such group, or several (-ESRCH).
 */
int cgroup_path_attach(const struct sysroot *root, const char *group, pid_t tracker,
    struct cgroup_location ret_locations[CGROUP_CONTROLLERS], pid_t *ret_pid, struct err *err);

/* Shortens *len, the length of a group's directory, to that of its parent; false at the top. */
bool cgroup_path_up(const struct cgroup_location *location, size_t *len);

enum { CGROUP_MEMBERS_MAX = 1024 };

/* The processes of the job and of the tracker: a copy, for the tree goes on while this collector is stuck in a read. */
struct cgroup_job {
    pid_t items[CGROUP_MEMBERS_MAX + HELPERS_MAX + 2];
    size_t count; /* 0: not known */
    pid_t last_before; /* all numbers up to it were given out before those of the job; 0: not known */
};

/* The group whose numbers are reported; all zeros at the start. */
struct cgroup_own {
    bool is_known; /* the others are, as far as they can be */
    char path[PATH_MAX]; /* below the mount of its hierarchy: "/" for the top */
    struct opt_bool is_own; /* nothing but the job is in it */
    struct cgroup_job job;
};

struct cgroup_own_source {
    const struct cgroup_file *file; /* of that group */
    bool of_command; /* it was made for the command, or is what is tracked */
    struct str groups; /* the text of self/cgroup */
};

struct collect_env;
struct sample_run;
struct tick;

/* Before the first read of a sample: after one that was stuck the lists are not ours any more. */
void cgroup_own_list_job(struct cgroup_own *own, const struct collect_env *env, const struct tick *tick);

/*
 * Fills in the group, with the first sample found out by its list of processes: two files of the group, and none where
 * a command was over too soon.
 */
void cgroup_own_fill(struct cgroup_own *own, const struct collect_env *env, const struct tick *tick,
    const struct cgroup_own_source *source, struct sample_run *run);

/* One file of our control group or of a group above it, kept open between readings. */

enum { CGROUP_FILE_BYTES_MAX = 4096, CGROUP_FILE_PATH_BYTES = PATH_MAX + 64 };

/* Filled in by its owner, which also closes fd (fd_close). */
struct cgroup_file {
    const struct cgroup_location *location;
    size_t dir_len; /* how much of the location's directory: our group or one above it */
    const char *name;
    int fd; /* -1: not open */
};

/* Relative to the root of the machine. */
void cgroup_file_path(const struct cgroup_file *file, char path[static CGROUP_FILE_PATH_BYTES]);

/* Sets fd, which must not be open; 0, or a negative errno with fd at -1. */
int cgroup_file_open(const struct sysroot *root, struct cgroup_file *file);

/*
 * The text lies in out. A descriptor gone bad (lxcfs restarted) is opened again once. Returns 0, -EFBIG for a file that
 * does not fit, or another negative errno; the next reading tries again.
 */
int cgroup_file_read(
    const struct sysroot *root, struct cgroup_file *file, char out[static CGROUP_FILE_BYTES_MAX], struct str *ret_text);

/*
 * The CPU or memory limits that hold for our control group: its own and those of the groups above it, as far as they
 * can be seen. A limit holds for everything below it, so the lowest one on the way up counts. Every kept level is
 * read again every COLLECT_SLOW_NS, one after the other.
 */
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
 * Opens the files of every level that has them and reads them. location must outlive the limits; where it is unknown
 * there are none.
 */
void cgroup_limits_open(const struct collect_env *env, const struct cgroup_location *location,
    enum cgroup_limit_kind kind, struct cgroup_limits *limits);

/* Reads the levels that are due. One that cannot be read sets no limit until it can be again. */
void cgroup_limits_refresh(const struct sysroot *root, int64_t now_ns, struct cgroup_limits *limits);

/* Limits that are all zeros have nothing to close. */
void cgroup_limits_close(struct cgroup_limits *limits);

#endif
