/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"

_Thread_local bool fd_close_is_left __attribute__((tls_model("local-exec")));

/*
 * A file of records comes at most a page a time, cut before the record that would not fit. No record of the files read
 * per sample is near 1 KiB, so a read that leaves that much of the smallest page (4 KiB) free has seen the end; this
 * saves the extra read that would only return 0.
 */
enum { FIRST_READ_BYTES = 4096, RECORDS_END_BYTES = 3072 };

int file_open_at(int dir_fd, const char *path, int flags)
{
    if (dir_fd == -1)
        return -ENOENT;
    int fd = openat(dir_fd, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd >= 0 ? fd : err_last();
}

/* Has a read of n bytes into `room` shown the end? */
static bool is_end(enum file_shape shape, size_t n, size_t room)
{
    if (n == 0)
        return true;
    return n < room && (shape == FILE_SINGLE || (shape == FILE_RECORDS && n < RECORDS_END_BYTES));
}

/* Room for the next read; where the buffer may not grow any more, a byte of our own shows whether there is more. */
static int make_room(int fd, struct buf *buf)
{
    if (buf->len < buf->cap)
        return 0;
    if (buf->len == buf->max) {
        char probe;
        return pread(fd, &probe, 1, (off_t)buf->len) == 0 ? 0 : -EFBIG;
    }
    size_t want = buf->len ? 1 : FIRST_READ_BYTES;
    return buf_reserve(buf, want < buf->max ? want : buf->max) ? 0 : -ENOMEM;
}

int file_read_fd(int fd, enum file_shape shape, struct buf *buf)
{
    buf_clear(buf);
    for (;;) {
        int r = make_room(fd, buf);
        if (r < 0)
            return r;
        size_t room = buf->cap - buf->len;
        ssize_t n = pread(fd, buf->data + buf->len, room, (off_t)buf->len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return err_last();
        }
        buf->len += (size_t)n;
        if (is_end(shape, (size_t)n, room))
            return 0;
    }
}

void kept_file_init(struct kept_file *file, int dir_fd, const char *path, enum file_shape shape)
{
    *file = (struct kept_file){.dir_fd = dir_fd, .fd = -1, .shape = shape};
    (void)str_copy(str_of(path), file->path, sizeof(file->path));
}

void kept_file_fini(struct kept_file *file)
{
    fd_close(&file->fd);
}

int kept_file_read(struct kept_file *file, struct buf *buf)
{
    int r = file->fd >= 0 ? file_read_fd(file->fd, file->shape, buf) : -EBADF;
    if (r >= 0 || r == -EFBIG || r == -ENOMEM)
        return r;
    fd_close(&file->fd);
    int fd = file_open_at(file->dir_fd, file->path, O_RDONLY);
    if (fd < 0)
        return fd;
    file->fd = fd;
    r = file_read_fd(fd, file->shape, buf);
    if (r < 0)
        fd_close(&file->fd);
    return r;
}

int file_read_at(int dir_fd, const char *path, struct buf *buf)
{
    AUTO_FD int fd = file_open_at(dir_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    return file_read_fd(fd, FILE_TO_END, buf);
}

int file_read_once(int fd, char *out, size_t size)
{
    ssize_t n;
    do {
        n = pread(fd, out, size, 0);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? err_last() : (int)n;
}

int file_read_line_at(int dir_fd, const char *path, char *out, size_t size)
{
    AUTO_FD int fd = file_open_at(dir_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    char raw[512];
    int n = file_read_once(fd, raw, sizeof(raw));
    if (n < 0)
        return n;
    struct str text = {raw, (size_t)n};
    struct str line = {raw, 0};
    (void)str_line(&text, &line);
    line = str_trim(line);
    (void)str_copy(line, out, size);
    return (int)(line.n < size ? line.n : size - 1);
}

/* A terminal that belongs to another user cannot be opened by its own name, but perhaps as the one we are on. */
static int open_own_terminal(int same_as)
{
    unsigned ours;
    unsigned wanted;
    AUTO_FD int fd = file_open_at(AT_FDCWD, "/dev/tty", O_WRONLY);
    if (fd < 0 || ioctl(fd, TIOCGDEV, &ours) < 0 || ioctl(same_as, TIOCGDEV, &wanted) < 0 || ours != wanted)
        return -1;
    return fd_take(&fd);
}

int file_reopen_nonblocking(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    bool is_terminal = S_ISCHR(st.st_mode) && isatty(fd);
    if (!S_ISFIFO(st.st_mode) && !is_terminal)
        return -1;
    char path[64];
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
    int fresh = file_open_at(AT_FDCWD, path, O_WRONLY);
    if (fresh >= 0)
        return fresh;
    return is_terminal ? open_own_terminal(fd) : -1;
}

int file_write_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? err_last() : -EIO;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* One entry as the kernel writes it; the name follows. */
struct raw_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

long dir_read_some(int fd, char *entries, size_t size)
{
    long n = syscall(SYS_getdents64, fd, entries, size);
    return n < 0 ? err_last() : n;
}

bool dir_next(const char *entries, size_t n, size_t *at, struct dir_entry *ret_entry)
{
    if (*at >= n)
        return false;
    struct raw_entry head;
    memcpy(&head, entries + *at, offsetof(struct raw_entry, name));
    *ret_entry = (struct dir_entry){.name = entries + *at + offsetof(struct raw_entry, name), .type = head.type};
    *at += head.bytes;
    return true;
}

void dir_walk_begin(struct dir_walk *walk, int fd)
{
    walk->fd = fd;
    walk->error = 0;
    walk->at = walk->bytes = 0;
}

void dir_walk_again(struct dir_walk *walk, int fd)
{
    dir_walk_begin(walk, fd);
    walk->error = lseek(fd, 0, SEEK_SET) < 0 ? err_last() : 0;
}

bool dir_walk_next(struct dir_walk *walk, struct dir_entry *ret_entry)
{
    while (walk->error == 0) {
        while (dir_next(walk->entries, walk->bytes, &walk->at, ret_entry)) {
            const char *name = ret_entry->name;
            if (name[0] != '.' || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0))
                return true;
        }
        long n = dir_read_some(walk->fd, walk->entries, sizeof(walk->entries));
        if (n == 0)
            return false;
        walk->error = n < 0 ? (int)n : 0;
        walk->at = 0;
        walk->bytes = n > 0 ? (size_t)n : 0;
    }
    return false;
}
