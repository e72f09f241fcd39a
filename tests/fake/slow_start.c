/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: widens two moments in the start of a command that are too short for a test. The process that is
 * started waits at SLOW_START_EXEC before it executes the command, the tracker at SLOW_START_FORK before it starts one:
 * both name a FIFO; each waits until something opens it for writing. With SLOW_START_COPY no process can be started in
 * the memory of another, as below valgrind, which cannot follow that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
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

struct child {
    int (*function)(void *);
    void *context;
};

static int run_child(void *context)
{
    const struct child *child = context;
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    wait_at("SLOW_START_EXEC");
    return child->function(child->context);
}

int clone(int (*function)(void *), void *stack, int flags, void *context, ...)
{
    static struct child child;
    int (*real)(int (*)(void *), void *, int, void *, ...);
    *(void **)&real = dlsym(RTLD_NEXT, "clone");
    if (flags & CLONE_VFORK) /* a helper, not the command */
        return real(function, stack, flags, context);
    if (getenv("SLOW_START_COPY")) {
        errno = EINVAL;
        return -1;
    }
    wait_at("SLOW_START_FORK");
    child = (struct child){function, context};
    return real(run_child, stack, flags, &child);
}
