/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"

/* A /proc of another PID namespace calls processes by other numbers. */
static bool names_us(int proc_fd)
{
    char name[32];
    uint64_t pid;
    ssize_t n = proc_fd >= 0 ? readlinkat(proc_fd, "self", name, sizeof(name)) : -1;
    return n > 0 && num_parse_u64((struct str){name, (size_t)n}, &pid) == 0 && pid == (uint64_t)getpid();
}

int sysroot_open(const char *path, struct sysroot *ret_root, struct err *err)
{
    struct str trimmed = str_of(path);
    while (trimmed.n > 0 && trimmed.p[trimmed.n - 1] == '/')
        trimmed.n--;
    struct sysroot root = {.proc_fd = -1, .sys_fd = -1, .is_host = trimmed.n == 0};
    if (!str_copy(trimmed, root.path, sizeof(root.path)))
        return err_set(err, -ENAMETOOLONG, "sysroot: the path is longer than %d bytes", PATH_MAX - 1);
    AUTO_FD int root_fd = file_open_at(AT_FDCWD, root.is_host ? "/" : root.path, O_PATH | O_DIRECTORY);
    if (root_fd < 0)
        return err_sys(err, root_fd, "sysroot: cannot open the directory %s", path);
    int proc_fd = file_open_at(root_fd, "proc", O_RDONLY | O_DIRECTORY);
    int sys_fd = file_open_at(root_fd, "sys", O_RDONLY | O_DIRECTORY);
    root.proc_fd = proc_fd >= 0 ? proc_fd : -1;
    root.sys_fd = sys_fd >= 0 ? sys_fd : -1;
    if (proc_fd == -EMFILE || sys_fd == -EMFILE) {
        fd_close(&root.proc_fd);
        return err_sys(err, -EMFILE, "sysroot: cannot open %s/proc and %s/sys", root.path, root.path);
    }
    root.names_us = root.is_host && names_us(proc_fd);
    root.root_fd = fd_take(&root_fd);
    *ret_root = root;
    return 0;
}

/* PROC_PID_INIT_INO of the kernel: the name of the initial PID namespace. */
static const char first_pid_namespace[] = "pid:[4026531836]";

bool sysroot_in_first_pid_namespace(const struct sysroot *root)
{
    char name[64];
    ssize_t n = root->proc_fd >= 0 ? readlinkat(root->proc_fd, "self/ns/pid", name, sizeof(name)) : -1;
    return n > 0 && str_eq((struct str){name, (size_t)n}, STR(first_pid_namespace));
}

void sysroot_close(struct sysroot *root)
{
    fd_close(&root->root_fd);
    fd_close(&root->proc_fd);
    fd_close(&root->sys_fd);
}

void pid_list_fini(struct pid_list *list)
{
    free(list->items);
    *list = (struct pid_list){0};
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

static int read_entries(int dir_fd, size_t max, struct pid_list *list)
{
    struct dir_walk walk;
    struct dir_entry entry;
    dir_walk_again(&walk, dir_fd);
    while (dir_walk_next(&walk, &entry)) {
        uint64_t pid;
        if (num_parse_u64(str_of(entry.name), &pid) < 0 || pid > INT32_MAX)
            continue;
        int r = VEC_GROW(list, list->count + 1, max);
        if (r < 0)
            return r;
        list->items[list->count++] = (pid_t)pid;
    }
    return walk.error;
}

int pid_list_read(int dir_fd, size_t max, struct pid_list *list)
{
    list->count = 0;
    int r = read_entries(dir_fd, max, list);
    if (r < 0)
        list->count = 0;
    /* The kernel lists them in order already; nothing promises it. */
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), compare_pids);
    return r;
}

bool pid_list_has(const struct pid_list *list, pid_t pid)
{
    return list->count > 0 && bsearch(&pid, list->items, list->count, sizeof(pid), compare_pids) != NULL;
}

/* A process may have a million sockets, and each link is a system call. */
enum { DESCRIPTORS_MAX = 8192, TARGET_BYTES = 64 };

struct fd_walk {
    int dir_fd;
    pid_fd_visit *visit;
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
        return errno == ENOENT ? 0 : err_last(); /* closed meanwhile */
    target[n] = '\0';
    return walk->visit(walk->context, (int)fd, target) ? 0 : 1;
}

int pid_each_fd(int proc_fd, pid_t pid, pid_fd_visit *visit, void *context)
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
