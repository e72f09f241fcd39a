/* SPDX-License-Identifier: Apache-2.0 */
/* One kept file of a control group: opened below the root of the machine, then one pread for every reading. */
#include "collect/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

void cgroup_file_path(const struct cgroup_file *file, char path[static CGROUP_FILE_PATH_BYTES])
{
    const char *slash = file->dir_len > 0 ? "/" : "";
    (void)snprintf(
        path, CGROUP_FILE_PATH_BYTES, "%.*s%s%s", (int)file->dir_len, file->location->dir, slash, file->name);
}

int cgroup_file_open(const struct sysroot *root, struct cgroup_file *file)
{
    char path[CGROUP_FILE_PATH_BYTES];
    cgroup_file_path(file, path);
    file->fd = -1;
    int fd = file_open_at(root->root_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    file->fd = fd;
    return 0;
}

static int file_pread(const struct cgroup_file *file, char *out, struct str *ret_text)
{
    int n = file_read_once(file->fd, out, CGROUP_FILE_BYTES_MAX);
    if (n < 0)
        return n;
    if (n == CGROUP_FILE_BYTES_MAX)
        return -EFBIG;
    *ret_text = (struct str){out, (size_t)n};
    return 0;
}

int cgroup_file_read(
    const struct sysroot *root, struct cgroup_file *file, char out[static CGROUP_FILE_BYTES_MAX], struct str *ret_text)
{
    int r = file->fd >= 0 ? file_pread(file, out, ret_text) : -EBADF;
    if (r >= 0 || r == -EFBIG)
        return r;
    fd_close(&file->fd);
    r = cgroup_file_open(root, file);
    if (r >= 0)
        r = file_pread(file, out, ret_text);
    if (r < 0)
        fd_close(&file->fd);
    return r;
}
