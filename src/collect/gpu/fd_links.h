/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptors of a process are open on: the links of /proc/PID/fd. */
#ifndef COLLECT_GPU_FD_LINKS_H
#define COLLECT_GPU_FD_LINKS_H

#include <stdbool.h>
#include <sys/types.h>

/* One descriptor and the path it is open on (NUL-terminated, cut at 63 bytes). False: stop here. */
typedef bool fd_links_visit(void *context, int fd, const char *target);

/*
 * Goes through the descriptors of a process, up to a limit, without allocating. Returns 0, or a negative errno: -ENOENT
 * or -ESRCH where there is no such process, -EACCES where it may not be read.
 */
int fd_links_each(int proc_fd, pid_t pid, fd_links_visit *visit, void *context);

#endif
