/* SPDX-License-Identifier: Apache-2.0 */
#include "run/attach.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"

enum { STATUS_BYTES_MAX = 64 * 1024 };

/* The process that a number belongs to: "Tgid:\t123" of its status. The number itself where that cannot be read. */
static uint64_t owner_of(const struct sysroot *root, pid_t pid)
{
    AUTO_BUF struct buf text;
    buf_init(&text, STATUS_BYTES_MAX);
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/status", (int)pid);
    uint64_t owner = (uint64_t)pid;
    if (!root->names_us || file_read_at(root->proc_fd, path, &text) < 0)
        return owner;
    struct str rest = {text.data, text.len};
    for (struct str line; str_line(&rest, &line);) {
        if (!str_starts(line, STR("Tgid:")))
            continue;
        line.p += 5;
        line.n -= 5;
        return num_next_u64(&line, &owner) ? owner : (uint64_t)pid;
    }
    return owner;
}

int attach_check(const struct sysroot *root, int64_t number, pid_t *ret_pid, struct err *err)
{
    if (number <= 0 || number > INT_MAX || (kill((pid_t)number, 0) < 0 && errno == ESRCH))
        return err_set(err, -ESRCH, "cannot track process %lld: there is no such process", (long long)number);
    if (number == getpid())
        return err_set(err, -EINVAL, "cannot track process %lld: that is the tracker itself", (long long)number);
    uint64_t owner = owner_of(root, (pid_t)number);
    if (owner != (uint64_t)number)
        return err_set(err, -ESRCH, "cannot track process %lld: it is a thread of process %llu; use --pid %llu",
            (long long)number, (unsigned long long)owner, (unsigned long long)owner);
    *ret_pid = (pid_t)number;
    return 0;
}
