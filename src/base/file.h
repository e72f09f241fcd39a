/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading small pseudo-files: whole, in one go, relative to a directory descriptor; through a kept descriptor where the
 * same file is read again and again. A kept file that fails is reopened once (lxcfs restarts, exec, hot-plug).
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"

/* Of our own process: the program that runs now, whatever has become of its file since; directories with its threads
 * and its descriptors, by number. */
#define FILE_OWN_PROGRAM "/proc/self/exe"
#define FILE_OWN_THREADS "/proc/self/task"
#define FILE_OWN_DESCRIPTORS "/proc/self/fd"

enum file_shape {
    FILE_SINGLE, /* the kernel makes it in one piece (stat, meminfo, sysfs): a short read is the end */
    FILE_RECORDS, /* short records, handed out a page at a time (net/dev, diskstats): read on while it is full */
    FILE_TO_END, /* records of any length (mountinfo), or a file we know nothing of: read until nothing comes */
};

struct kept_file {
    int dir_fd; /* not owned */
    int fd; /* -1: not open */
    enum file_shape shape;
    char path[104];
};

/* Opens lazily: no error here. A path that is too long is cut and will not be found. */
void kept_file_init(struct kept_file *file, int dir_fd, const char *path, enum file_shape shape);
void kept_file_fini(struct kept_file *file);

/* Replaces buf's content with the whole file. Returns 0 or a negative errno (-EFBIG above buf's maximum). */
int kept_file_read(struct kept_file *file, struct buf *buf);

/* The same for a descriptor that the caller keeps, from its first byte on and without reopening. */
int file_read_fd(int fd, enum file_shape shape, struct buf *buf);

/* Open, read until the end, close. dir_fd -1 gives -ENOENT. */
int file_read_at(int dir_fd, const char *path, struct buf *buf);

/* One read from the first byte on. Returns how many bytes came, or a negative errno. */
int file_read_once(int fd, char *out, size_t size);

/*
 * A one-line attribute: trimmed, NUL-terminated, at most size - 1 bytes. Returns its length or a negative errno; a
 * value that is only white space has length 0.
 */
int file_read_line_at(int dir_fd, const char *path, char *out, size_t size);

/* Are these one file, by whatever name? */
static inline bool file_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Writes everything, however long that takes. Returns 0 or a negative errno; part of it may then be written. */
int file_write_all(int fd, const void *bytes, size_t n);

/*
 * A fresh open file description of the same pipe or terminal for writing, non-blocking, so that the flag is ours alone:
 * others share the descriptor. -1 where that is not possible (sockets, no /dev/fd, permissions), or fd is neither.
 */
int file_reopen_nonblocking(int fd);

/*
 * openat with O_CLOEXEC and O_NONBLOCK (a captured tree may hold a FIFO), -ENOENT for a dir_fd of -1; returns the
 * descriptor or a negative errno.
 */
int file_open_at(int dir_fd, const char *path, int flags);

/*
 * Directories straight from the kernel (getdents64(2)), for those that are listed again and again: no allocation, and
 * no last call only to learn that there is no more.
 */
enum { DIR_BYTES = 16 * 1024 }; /* what is read at once */

struct dir_entry {
    const char *name;
    unsigned char type; /* DT_DIR and so on, as in readdir(3) */
};

/* The next entries, as many as fit. Returns their bytes, 0 at the end, or a negative errno. */
long dir_read_some(int fd, char *entries, size_t size);

/* Steps through n bytes of entries; *at begins with 0. False behind the last one. */
bool dir_next(const char *entries, size_t n, size_t *at, struct dir_entry *ret_entry);

/* Both of it, but for "." and "..": dir_walk_next is false at the end, or where walk->error is a negative errno. */
struct dir_walk {
    int fd, error;
    size_t at, bytes;
    char entries[DIR_BYTES];
};

void dir_walk_begin(struct dir_walk *walk, int fd); /* fd: just opened */
void dir_walk_again(struct dir_walk *walk, int fd); /* from the first entry on, however far it was read */
bool dir_walk_next(struct dir_walk *walk, struct dir_entry *ret_entry);

#endif
