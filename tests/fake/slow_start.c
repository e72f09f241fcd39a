/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: widens two moments in the start of a command that are too short for a test. The process that is
 * started waits at SLOW_START_EXEC before it executes the command, the tracker at SLOW_START_FORK before it forks:
 * both name a FIFO; each waits until something opens it for writing.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void wait_at(const char *variable)
{
    const char *path = getenv(variable);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0)
        (void)close(fd);
}

pid_t fork(void)
{
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    wait_at("SLOW_START_FORK");
    return real();
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    int (*real)(const char *, char *const[], char *const[]);
    *(void **)&real = dlsym(RTLD_NEXT, "execvpe");
    wait_at("SLOW_START_EXEC");
    return real(file, argv, envp);
}
