/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"

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
