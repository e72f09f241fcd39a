/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork and not vfork: the child is executed on another CPU while we open our files, and copying the page tables of a
 * program this small costs less than waiting for it. A pipe that closes on exec carries the errno of one that failed.
 */
#include "run/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/syscalls.h"

#define INTO_CGROUP UINT64_C(0x200000000)

struct clone_request {
    uint64_t flags;
    uint64_t pidfd, child_tid, parent_tid; /* addresses */
    uint64_t exit_signal;
    uint64_t stack, stack_size, tls;
    uint64_t set_tid, set_tid_size;
    uint64_t cgroup; /* descriptor */
};

static_assert(sizeof(struct clone_request) == 88, "the kernel knows the structure by its size");

pid_t clone_into_cgroup(int dir_fd)
{
    if (dir_fd < 0)
        return -EBADF;
    struct clone_request request = {.flags = INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir_fd};
    long pid = syscall(SYS_clone3, &request, sizeof(request));
    return (pid_t)(pid < 0 ? -errno : pid);
}

#define SHELL "/bin/sh"
#define PATH_DEFAULT "/usr/local/bin:/bin:/usr/bin" /* musl's */

enum { WORDS_MAX = 4096 };

static void exec_shell(char *path, char *const argv[], char *const environment[])
{
    char shell[] = SHELL;
    char *words[WORDS_MAX + 1] = {shell, path};
    size_t count = 2;
    for (size_t i = 1; argv[i] && count < WORDS_MAX; i++)
        words[count++] = argv[i];
    errno = E2BIG;
    if (count < WORDS_MAX)
        (void)execve(shell, words, environment);
}

/* Unlike env_get: an empty PATH is the working directory. */
static const char *search_path(char *const environment[])
{
    for (size_t i = 0; environment[i]; i++) {
        if (strncmp(environment[i], "PATH=", 5) == 0)
            return environment[i] + 5;
    }
    return PATH_DEFAULT;
}

void exec_script(char *const argv[], char *const environment[])
{
    char *name = argv[0];
    if (strchr(name, '/')) {
        exec_shell(name, argv, environment);
        return;
    }
    const size_t name_bytes = strlen(name) + 1;
    const char *dir = search_path(environment);
    for (;;) {
        char path[PATH_MAX];
        size_t length = strcspn(dir, ":");
        if (length + 1 + name_bytes <= sizeof(path)) {
            memcpy(path, dir, length);
            path[length] = '/';
            memcpy(path + length + (length > 0), name, name_bytes);
            (void)execve(path, argv, environment);
            if (errno == ENOEXEC) {
                exec_shell(path, argv, environment);
                return;
            }
        }
        if (!dir[length])
            break;
        dir += length + 1;
    }
    errno = ENOEXEC;
}

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
