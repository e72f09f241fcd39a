/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/syscalls.h"

/* What waitid calls P_PIDFD; older headers do not name it. */
enum { WAIT_PID_FD = 3 };

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

static int set_attributes(posix_spawnattr_t *attributes, bool is_apart)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (is_apart ? POSIX_SPAWN_SETPGROUP : 0);
    int r = posix_spawnattr_setflags(attributes, (short)flags);
    if (r == 0)
        r = posix_spawnattr_setpgroup(attributes, 0);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, is_apart ? &all : &none);
    return r != 0 ? r : posix_spawnattr_setsigdefault(attributes, &all);
}

static int add_null(posix_spawn_file_actions_t *actions, int fd)
{
    return posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct helper_request *request)
{
    /* First what we pass on: the standard descriptors are not among those, for they are always in use. */
    int r = 0;
    if (request->channel_fd >= 0)
        r = posix_spawn_file_actions_adddup2(actions, request->channel_fd, HELPER_CHANNEL_FD);
    if (r == 0)
        r = request->stdout_fd >= 0 ? posix_spawn_file_actions_adddup2(actions, request->stdout_fd, STDOUT_FILENO)
                                    : add_null(actions, STDOUT_FILENO);
    if (r == 0)
        r = add_null(actions, STDIN_FILENO);
    if (r == 0)
        r = add_null(actions, STDERR_FILENO);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    /* Descriptors that our caller left open for the command are none of the helper's business. */
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(
            actions, request->channel_fd >= 0 ? HELPER_CHANNEL_FD + 1 : HELPER_CHANNEL_FD);
#endif
    return r;
}

/* Returns 0 or a positive errno, as the posix_spawn family does. */
static int spawn(const struct helper_request *request, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int r = posix_spawnattr_init(&attributes);
    if (r != 0)
        return r;
    r = posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        r = set_attributes(&attributes, request->is_apart);
        if (r == 0)
            r = add_actions(&actions, request);
        if (r == 0)
            r = posix_spawn(ret_pid, request->path, &actions, &attributes, request->argv, request->environment);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)posix_spawnattr_destroy(&attributes);
    return r;
}

int helper_start(struct helper *helper, struct helpers *helpers, const struct helper_request *request)
{
    pid_t pid;
    int r = spawn(request, &pid);
    if (r != 0)
        return -r;
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
    return r < 0 ? -errno : info->si_pid != 0;
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

/*
 * A pair of connected sockets: ours and the end for channel_fd, which has a number that an old libc does not close when
 * it makes HELPER_CHANNEL_FD of it.
 */
static int make_channel(int *ret_ours, int *ret_theirs)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    if (ends[1] <= HELPER_CHANNEL_FD) {
        int moved = fcntl(ends[1], F_DUPFD_CLOEXEC, HELPER_CHANNEL_FD + 1);
        (void)close(ends[1]);
        ends[1] = moved;
    }
    if (ends[1] < 0) {
        (void)close(ends[0]);
        return -EMFILE;
    }
    *ret_ours = ends[0];
    *ret_theirs = ends[1];
    return 0;
}

int helper_start_with_channel(
    struct helper *helper, struct helpers *helpers, struct helper_request request, int *ret_channel_fd)
{
    AUTO_FD int ours = -1;
    AUTO_FD int theirs = -1;
    int r = make_channel(&ours, &theirs);
    if (r < 0)
        return r;
    request.channel_fd = theirs;
    request.is_apart = true;
    r = helper_start(helper, helpers, &request);
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
