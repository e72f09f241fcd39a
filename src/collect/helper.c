/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "base/syscalls.h"

/* What waitid calls P_PIDFD; older headers do not name it. */
enum { WAIT_PID_FD = 3, SPAWN_STACK_BYTES = 16384 };

static struct helpers_process *find_process(struct helpers *helpers, pid_t pid)
{
    for (size_t i = 0; helpers && i < HELPERS_MAX; i++) {
        if (helpers->processes[i].pid == pid)
            return &helpers->processes[i];
    }
    return NULL;
}

void helpers_add(struct helpers *helpers, pid_t pid)
{
    struct helpers_process *slot = find_process(helpers, 0);
    if (slot)
        *slot = (struct helpers_process){.pid = pid};
}

static void helpers_add_group(struct helpers *helpers, pid_t group)
{
    for (size_t i = 0; helpers && i < HELPERS_MAX; i++) {
        if (helpers->groups[i] == 0) {
            helpers->groups[i] = group;
            return;
        }
    }
}

void helpers_remove(struct helpers *helpers, pid_t pid)
{
    struct helpers_process *process = find_process(helpers, pid);
    if (process)
        *process = (struct helpers_process){0};
}

bool helpers_has(const struct helpers *helpers, pid_t pid)
{
    for (size_t i = 0; helpers && i < HELPERS_MAX; i++) {
        if (helpers->processes[i].pid == pid && !helpers->processes[i].has_ended)
            return true;
    }
    return false;
}

bool helpers_started(struct helpers *helpers, pid_t pid)
{
    for (size_t i = 0; helpers && i < HELPERS_MAX; i++) {
        pid_t *group = &helpers->groups[i];
        if (*group == 0)
            continue;
        if (kill(-*group, 0) < 0 && errno == ESRCH)
            *group = 0;
        else if (getpgid(pid) == *group)
            return true;
    }
    return false;
}

void helpers_note_end(struct helpers *helpers, pid_t pid, int status)
{
    struct helpers_process *process = find_process(helpers, pid);
    if (!process)
        return;
    process->has_ended = true;
    process->status = status;
}

bool helpers_has_ended(const struct helpers *helpers, pid_t pid, int *ret_status)
{
    for (size_t i = 0; helpers && i < HELPERS_MAX; i++) {
        const struct helpers_process *process = &helpers->processes[i];
        if (process->pid != pid || !process->has_ended)
            continue;
        *ret_status = process->status;
        return true;
    }
    return false;
}

#ifdef SPAWN_BY_FORK
enum { CLOSE_FLAGS = 4 }; /* when its program is executed: the error is still to be reported */
#else
enum { CLOSE_FLAGS = 0 };
#endif

/* Of a helper that is started: what its first process finds in our memory, and how it failed. */
struct start {
    const struct helper_request *request;
    int error; /* positive; 0: it executes its program */
#ifdef SPAWN_BY_FORK
    int failure_fd; /* where the error goes that is not in our memory */
#endif
};

static bool put_fd(int from, int to)
{
    int fd = from >= 0 ? from : open("/dev/null", O_RDWR | O_CLOEXEC);
    return fd == to ? fcntl(fd, F_SETFD, 0) == 0 : fd >= 0 && dup2(fd, to) == to;
}

/* In our memory, with descriptors and dispositions of its own; we stand still until it executes its program. */
static int run_helper(void *argument)
{
    struct start *start = argument;
    const struct helper_request *request = start->request;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t mask;
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &usual, NULL);
    (void)(request->is_apart ? sigfillset(&mask) : sigemptyset(&mask));
    bool has_channel = request->channel_fd >= 0;
    /* First what we pass on: the standard descriptors are not among those, for they are always in use. */
    bool is_ready = (!has_channel || put_fd(request->channel_fd, HELPER_CHANNEL_FD)) &&
                    put_fd(request->has_stderr ? STDERR_FILENO : request->stdout_fd, STDOUT_FILENO) &&
                    put_fd(-1, STDIN_FILENO) && (request->has_stderr || put_fd(-1, STDERR_FILENO)) &&
                    (!request->is_apart || syscall(SYS_setpgid, 0, 0) == 0);
    start->error = is_ready ? 0 : errno;
    /* Descriptors that our caller left open for the command are none of the helper's business. */
    (void)syscall(SYS_close_range, HELPER_CHANNEL_FD + has_channel, ~0U, CLOSE_FLAGS);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    if (is_ready) {
        /* Not by a function that a preloaded library may have replaced: it would run in our memory. */
        (void)syscall(SYS_execve, request->path, request->argv, request->environment);
        start->error = errno;
    }
#ifdef SPAWN_BY_FORK
    (void)!write(start->failure_fd, &start->error, sizeof(start->error));
#endif
    _exit(EXIT_FAILURE);
}

/* Returns 0 or a negative errno. A sanitizer keeps accounts of stacks. An emulator makes a copy of us in any case:
 * there a program that cannot be executed shows as a helper that fails. */
static int spawn(const struct helper_request *request, pid_t *ret_pid)
{
    struct start start = {.request = request};
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
#ifdef SPAWN_BY_FORK
    int failure[2] = {-1, -1};
    (void)pipe2(failure, O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        start.failure_fd = failure[1];
        (void)run_helper(&start);
    }
    (void)close(failure[1]);
    (void)!read(failure[0], &start.error, sizeof(start.error));
    (void)close(failure[0]);
#else
    _Alignas(16) char stack[SPAWN_STACK_BYTES];
    pid_t pid = clone(run_helper, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
#endif
    start.error = pid < 0 ? errno : start.error;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (start.error != 0 && pid > 0)
        (void)waitpid(pid, NULL, 0);
    *ret_pid = pid;
    return -start.error;
}

/* Below valgrind, which preloads libraries of its own, our program is valgrind; it reads the link as it should be. */
static void name_own_program(struct helper_request *request, char path[static PATH_MAX])
{
    const char *preloaded = env_get(request->environment, "LD_PRELOAD");
    if (!preloaded || !strstr(preloaded, "/vgpreload_") || strcmp(request->path, FILE_OWN_PROGRAM) != 0)
        return;
    ssize_t n = readlinkat(AT_FDCWD, FILE_OWN_PROGRAM, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    request->path = path;
}

int helper_start(struct helper *helper, struct helpers *helpers, const struct helper_request *given)
{
    pid_t pid;
    char path[PATH_MAX];
    struct helper_request copy = *given, *request = &copy;
    name_own_program(request, path);
    int r = spawn(request, &pid);
    if (r < 0)
        return r;
    helpers_add(helpers, pid);
    if (request->is_apart)
        helpers_add_group(helpers, pid);
    *helper =
        (struct helper){.pid = pid, .pid_fd = (int)syscall(SYS_pidfd_open, pid, 0), .has_group = request->is_apart};
    return 0;
}

/* 1: gone, 0: not yet, negative: not known, for it was waited for elsewhere. */
static int peek(const struct helper *helper, siginfo_t *info, int options)
{
    int r = -1;
    errno = EINVAL;
    info->si_pid = 0;
    if (helper->pid_fd >= 0)
        r = waitid((idtype_t)WAIT_PID_FD, (id_t)helper->pid_fd, info, options);
    if (r < 0 && errno == EINVAL)
        r = waitid(P_PID, (id_t)helper->pid, info, options);
    return r < 0 ? err_last() : info->si_pid != 0;
}

/* The group first: its number is free for others once the helper is waited for. */
static int wait_now(const struct helper *helper, siginfo_t *info)
{
    int r = peek(helper, info, WEXITED | WNOHANG | WNOWAIT);
    if (r <= 0)
        return r;
    if (helper->has_group)
        (void)kill(-helper->pid, SIGKILL);
    return peek(helper, info, WEXITED | WNOHANG);
}

bool helper_reap(struct helper *helper, struct helpers *helpers, struct opt_i64 *ret_status)
{
    siginfo_t info = {0};
    int status;
    /* What waits for all children of ours was faster; from then on the number may be another process's. */
    if (helpers_has_ended(helpers, helper->pid, &status)) {
        *ret_status = some_i64(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    } else {
        int r = wait_now(helper, &info);
        if (r == 0)
            return false;
        *ret_status = (struct opt_i64){0};
        if (r > 0)
            *ret_status = some_i64(info.si_code == CLD_EXITED ? info.si_status : -info.si_status);
    }
    helpers_remove(helpers, helper->pid);
    helper_release(helper);
    return true;
}

void helper_kill(const struct helper *helper)
{
    if (helper->has_group && helper->pid > 0)
        (void)kill(-helper->pid, SIGKILL);
    if (helper->pid_fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, helper->pid_fd, SIGKILL, NULL, 0);
    else if (helper->pid > 0)
        (void)kill(helper->pid, SIGKILL);
}

void helper_release(struct helper *helper)
{
    fd_close(&helper->pid_fd);
    helper->pid = 0;
    helper->has_group = false;
}

int helper_start_with_channel(
    struct helper *helper, struct helpers *helpers, struct helper_request request, int *ret_channel_fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_last();
    AUTO_FD int ours = ends[0];
    AUTO_FD int theirs = ends[1];
    request.channel_fd = theirs;
    request.is_apart = true;
    int r = helper_start(helper, helpers, &request);
    if (r == 0)
        *ret_channel_fd = fd_take(&ours);
    return r;
}

size_t helper_abandon(struct helper *helper, struct helper *abandoned)
{
    size_t left = 0;
    helper_kill(helper);
    for (size_t i = 0; i < HELPER_ABANDONED_MAX; i++) {
        if (abandoned[i].pid == 0 && helper->pid > 0) {
            abandoned[i] = *helper;
            *helper = (struct helper)HELPER_NONE;
        }
        left += abandoned[i].pid > 0;
    }
    return left;
}

size_t helper_reap_abandoned(struct helper *abandoned, struct helpers *helpers)
{
    size_t left = 0;
    struct opt_i64 status;
    for (size_t i = 0; i < HELPER_ABANDONED_MAX; i++)
        left += abandoned[i].pid > 0 && !helper_reap(&abandoned[i], helpers, &status);
    return left;
}

void helper_end(struct helper *helper, struct helper *abandoned, struct helpers *helpers)
{
    struct opt_i64 status;
    if (helper->pid > 0 && !helper_reap(helper, helpers, &status))
        helper_kill(helper);
    helper_release(helper);
    for (size_t i = 0; i < HELPER_ABANDONED_MAX; i++)
        helper_release(&abandoned[i]);
}

bool helper_is_meant(const char *word, const char *flag)
{
    int kind;
    socklen_t kind_bytes = sizeof(kind);
    return strcmp(word, flag) == 0 && getsockopt(HELPER_CHANNEL_FD, SOL_SOCKET, SO_TYPE, &kind, &kind_bytes) == 0;
}

void helper_restrict_self(const char *name)
{
    struct rlimit none = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
    /* The tracker may have put itself ahead of others, for its samples' sake; a helper has no such need. */
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)syscall(SYS_close_range, HELPER_CHANNEL_FD + 1, ~0U, 0);
    (void)fcntl(HELPER_CHANNEL_FD, F_SETFD, FD_CLOEXEC);
    /* The tracker may have gone before we asked to go with it. */
    struct pollfd channel = {.fd = HELPER_CHANNEL_FD};
    if (poll(&channel, 1, 0) > 0)
        _exit(EXIT_SUCCESS);
}
