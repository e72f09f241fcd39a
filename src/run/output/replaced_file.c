/* SPDX-License-Identifier: Apache-2.0 */
#include "run/output/replaced_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "run/output/file_name.h"

/* A name of our own, hidden and with another ending: no reader of the directory takes it for one of its files. */
static int open_beside(const struct replaced_file *file)
{
    (void)unlink(file->beside);
    int fd = open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd < 0 ? err_last() : fd;
}

int replaced_file_open(
    struct replaced_file *file, const char *template_, const struct settings *settings, struct err *err)
{
    *file = (struct replaced_file){0};
    if (!template_)
        return 0;
    char path[FILE_NAME_BYTES];
    int r = file_name_expand(template_, settings, path, sizeof(path), err);
    if (r < 0)
        return r;
    struct stat st;
    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return err_set(err, -EINVAL,
            "cannot write %s: it is replaced as a whole, and that needs the name of a regular file", path);
    /* What a link names is replaced, not the link. */
    bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    char *target = is_link ? realpath(path, NULL) : NULL;
    if (target)
        (void)str_copy(str_of(target), path, sizeof(path));
    free(target);
    const char *slash = strrchr(path, '/');
    int directory_bytes = slash ? (int)(slash + 1 - path) : 0;
    file->path = strdup(path);
    if (!file->path ||
        asprintf(&file->beside, "%.*s.%s.%d.new", directory_bytes, path, path + directory_bytes, (int)getpid()) < 0) {
        file->beside = NULL;
        return err_sys(err, -ENOMEM, "cannot write %s", path);
    }
    AUTO_FD int fd = open_beside(file);
    if (fd < 0)
        return err_sys(err, fd, "cannot write %s: cannot create %s", path, file->beside);
    (void)unlink(file->beside);
    return 0;
}

void replaced_file_close(struct replaced_file *file)
{
    free(file->path);
    free(file->beside);
    *file = (struct replaced_file){0};
}

static int replace(const struct replaced_file *file, struct str text)
{
    AUTO_FD int fd = open_beside(file);
    int r = fd < 0 ? fd : file_write_all(fd, text.p, text.n);
    /* Some file systems report only now that a quota is used up. */
    if (r == 0 && close(fd_take(&fd)) < 0 && errno != EINTR)
        r = err_last();
    if (r == 0 && renameat(AT_FDCWD, file->beside, AT_FDCWD, file->path) < 0)
        r = err_last();
    if (r < 0)
        (void)unlink(file->beside);
    return r;
}

bool replaced_file_write(struct replaced_file *file, const struct buf *text)
{
    int r = buf_ok(text) ? replace(file, buf_str(text)) : -ENOMEM;
    if (r < 0 && !file->is_failing)
        log_warning("cannot write %s: %s", file->path, strerror(-r));
    else if (r == 0 && file->is_failing)
        log_warning("%s can be written again", file->path);
    file->is_failing = r < 0;
    return r == 0;
}
