/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork and not vfork: the child is executed on another CPU while we open our files, and copying the page tables of a
 * program this small costs less than waiting for it. A pipe that closes on exec carries the errno of one that failed.
 */
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "run/clone_into.h"
#include "run/exec_script.h"

/* In the child: only calls that are safe between fork and exec. */
static _Noreturn void run_child(const struct spawn_request *request, int report_fd)
{
    if (request->ignore_sigchld)
        (void)signal(SIGCHLD, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, request->mask, NULL);
    (void)execvpe(request->argv[0], request->argv, request->environment);
#ifndef __GLIBC__
    if (errno == ENOEXEC)
        exec_script(request->argv, request->environment);
#endif
    int code = errno;
    ssize_t n;
    do {
        n = write(report_fd, &code, sizeof(code));
    } while (n < 0 && errno == EINTR);
    _exit(SPAWN_NOT_FOUND);
}

int spawn_start(const struct spawn_request *request, struct spawn *ret_spawn)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    AUTO_FD int read_end = ends[0];
    AUTO_FD int write_end = ends[1];
    pid_t pid = request->group_fd >= 0 ? clone_into_cgroup(request->group_fd) : fork();
    if (pid < 0)
        return request->group_fd >= 0 ? (int)pid : -errno;
    if (pid == 0)
        run_child(request, write_end);
    *ret_spawn = (struct spawn){.pid = pid, .report_fd = fd_take(&read_end)};
    return 0;
}

/* A forgotten "env" makes PASSWORD=… the program. */
void spawn_name(const char *program, enum mask_mode mode, char ret_name[static SPAWN_NAME_BYTES])
{
    if (program[0])
        mask_argument(program, mode, ret_name, SPAWN_NAME_BYTES);
    else
        (void)str_copy(STR("''"), ret_name, SPAWN_NAME_BYTES);
}

int spawn_read_report(const struct spawn *spawn, const char *program, enum mask_mode mode, struct err *err)
{
    int code = 0;
    ssize_t n;
    do {
        n = read(spawn->report_fd, &code, sizeof(code));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return -EAGAIN;
    if (n != sizeof(code))
        return 0;
    char name[SPAWN_NAME_BYTES];
    spawn_name(program, mode, name);
    (void)err_set(err, -code, "cannot run %s: %s", name,
        code == ENOENT && !strchr(program, '/') ? "command not found" : strerror(code));
    return code == ENOENT ? SPAWN_NOT_FOUND : SPAWN_NOT_EXECUTABLE;
}

void spawn_close(struct spawn *spawn)
{
    fd_close(&spawn->report_fd);
}
