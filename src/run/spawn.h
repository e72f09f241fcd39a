/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the command as its caller would have: same descriptors, directory, process group, signal mask and
 * dispositions. It begins to run while we go on; whether it could be executed is asked for later.
 */
#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "mask/mask.h"

enum { SPAWN_NOT_EXECUTABLE = 126, SPAWN_NOT_FOUND = 127, SPAWN_NAME_BYTES = 256 };

/* What it points to stays until spawn_close. */
struct spawn_request {
    char *const *argv; /* NULL-terminated; the first is looked for in PATH where it holds no slash */
    char *const *environment;
    const sigset_t *mask; /* the caller's */
    bool ignore_sigchld; /* the caller ignored it; we cannot */
    int group_fd; /* of the cgroup to be born in; -1: ours */
};

struct spawn {
    pid_t pid;
    struct spawn_memory *memory; /* in which the child begins; NULL: none */
};

/* Returns 0 or a negative errno: there is no process then. */
int spawn_start(const struct spawn_request *request, struct spawn *ret_spawn);

/* The program as messages may name it. */
void spawn_name(const char *program, enum mask_mode mode, char ret_name[static SPAWN_NAME_BYTES]);

/* Once the child has ended: was it because nothing could be executed? Returns 0, or the exit status to end with and a
 * message. */
int spawn_failure(const struct spawn *spawn, const char *program, enum mask_mode mode, struct err *err);

/* Once the child has executed the command, or is gone. */
void spawn_close(struct spawn *spawn);

/*
 * fork() into the v2 group whose directory dir_fd (O_PATH will do) is open on. Returns 0 in the child, its PID in the
 * parent, or a negative errno: -ENOSYS (before Linux 5.3) or -E2BIG and -EINVAL (before 5.7), -EPERM (a seccomp
 * filter), -EACCES, -EBADF, -EBUSY, -EOPNOTSUPP (a threaded group), or those of fork(). The C library does not know of
 * the child, which may use only what is safe in a signal handler, and neither raise() nor abort(), until it executes a
 * program.
 */
pid_t clone_into_cgroup(int dir_fd);

/*
 * execvpe(), as the C library has it, scripts without "#!" included, but with the PATH of this environment and without
 * errno. Returns only where nothing could be executed: the errno, positive. script_argv: space to work in, for two
 * pointers more than argv has arguments.
 */
int spawn_execute(char *const argv[], char *const environment[], const char **script_argv);

#endif
