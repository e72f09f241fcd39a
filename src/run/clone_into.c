/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone3(2) with CLONE_INTO_CGROUP, which no C library wraps. The numbers and the structure are the kernel's
 * (include/uapi/linux/sched.h), written down here because headers older than Linux 5.7 lack them.
 */
#include "run/clone_into.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

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
