/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/fd_links.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"

/* A process may have a million sockets, and each link is a system call. */
enum { DESCRIPTORS_MAX = 8192, TARGET_BYTES = 64 };

struct fd_walk {
    int dir_fd;
    fd_links_visit *visit;
    void *context;
    size_t seen;
};

/* 0: go on; 1: enough; or a negative errno. */
static int visit_entry(struct fd_walk *walk, const char *name)
{
    uint64_t fd;
    if (num_parse_u64(str_of(name), &fd) < 0 || fd > INT_MAX)
        return 0;
    if (walk->seen++ == DESCRIPTORS_MAX)
        return 1;
    char target[TARGET_BYTES];
    ssize_t n = readlinkat(walk->dir_fd, name, target, sizeof(target) - 1);
    if (n < 0)
        return errno == ENOENT ? 0 : -errno; /* closed meanwhile */
    target[n] = '\0';
    return walk->visit(walk->context, (int)fd, target) ? 0 : 1;
}

int fd_links_each(int proc_fd, pid_t pid, fd_links_visit *visit, void *context)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
    AUTO_FD int dir_fd = file_open_at(proc_fd, path, O_RDONLY | O_DIRECTORY);
    if (dir_fd < 0)
        return dir_fd;
    struct fd_walk fds = {.dir_fd = dir_fd, .visit = visit, .context = context};
    struct dir_walk walk;
    struct dir_entry entry;
    dir_walk_begin(&walk, dir_fd);
    while (dir_walk_next(&walk, &entry)) {
        int r = visit_entry(&fds, entry.name);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return walk.error;
}
