/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is born in a control group: it is never outside, and nothing has to be moved. */
#ifndef RUN_CLONE_INTO_H
#define RUN_CLONE_INTO_H

#include <sys/types.h>

/*
 * fork() into the v2 group whose directory dir_fd (O_PATH will do) is open on. Returns 0 in the child, its PID in the
 * parent, or a negative errno: -ENOSYS (before Linux 5.3) or -E2BIG and -EINVAL (before 5.7), -EPERM (a seccomp
 * filter), -EACCES, -EBADF, -EBUSY, -EOPNOTSUPP (a threaded group), or those of fork(). The C library does not know of
 * the child, which may use only what is safe in a signal handler, and neither raise() nor abort(), until it executes a
 * program.
 */
pid_t clone_into_cgroup(int dir_fd);

#endif
