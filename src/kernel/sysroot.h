/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that is read, as directory descriptors: "/" in production, a captured tree in tests (--sysroot DIR); and
 * what its proc lists: processes, threads, descriptors. Outside of this directory and collect/, the only absolute
 * kernel paths are those of our own process (base/file.h).
 */
#ifndef KERNEL_SYSROOT_H
#define KERNEL_SYSROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct sysroot {
    int root_fd;
    int proc_fd; /* -1: this root has no proc */
    int sys_fd; /* -1: this root has no sys */
    bool is_host;
    bool names_us; /* its proc knows this process by the number that we know: it belongs to our PID namespace */
    char path[PATH_MAX]; /* "" for the host itself, else DIR without a trailing slash */
};

/* Returns 0 or a negative errno with a message: only a root that cannot be opened is an error. */
int sysroot_open(const char *path, struct sysroot *ret_root, struct err *err);

/* Are we in the PID namespace of the whole machine? Elsewhere drivers may know our processes by other numbers. */
bool sysroot_in_first_pid_namespace(const struct sysroot *root);

void sysroot_close(struct sysroot *root);

/* The numbers among the names of a directory of proc: processes, or threads of one. */
struct pid_list {
    pid_t *items; /* ascending */
    size_t count, cap;
};

void pid_list_fini(struct pid_list *list);

/*
 * Reads the directory anew through dir_fd, from its first entry on. Returns 0, -E2BIG above max entries, or another
 * negative errno; the list is then empty.
 */
int pid_list_read(int dir_fd, size_t max, struct pid_list *list);

bool pid_list_has(const struct pid_list *list, pid_t pid);

/* One descriptor and the path it is open on (NUL-terminated, cut at 63 bytes). False: stop here. */
typedef bool pid_fd_visit(void *context, int fd, const char *target);

/*
 * Goes through the descriptors of a process (/proc/PID/fd), up to a limit, without allocating. Returns 0, or a negative
 * errno: -ENOENT or -ESRCH where there is no such process, -EACCES where it may not be read.
 */
int pid_each_fd(int proc_fd, pid_t pid, pid_fd_visit *visit, void *context);

#endif
