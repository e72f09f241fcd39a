/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in the directory of a run: what their names say, writing them whole, the lock, and taking them all away.
 * Everything is relative to a descriptor of the directory and follows no link.
 */
#include "stream/spool/spool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"

enum { NUMBER_DIGITS = 6 };

static const struct str new_suffix = {".new", 4};

void spool_file_name_sealed(char ret_name[static SPOOL_FILE_BYTES], uint32_t number)
{
    (void)snprintf(ret_name, SPOOL_FILE_BYTES, "%06u.csv.gz", number);
}

void spool_file_name_journal(char ret_name[static SPOOL_FILE_BYTES], uint32_t number)
{
    (void)snprintf(ret_name, SPOOL_FILE_BYTES, "%06u.csv", number);
}

/* "000017.csv.gz" */
static enum spool_kind numbered_kind(struct str name, uint32_t *ret_number)
{
    uint64_t number;
    if (name.n <= NUMBER_DIGITS || num_parse_u64((struct str){name.p, NUMBER_DIGITS}, &number) < 0)
        return SPOOL_KIND_FOREIGN;
    struct str suffix = {name.p + NUMBER_DIGITS, name.n - NUMBER_DIGITS};
    enum spool_kind kind = str_eq(suffix, STR(".csv.gz"))       ? SPOOL_KIND_SEALED
                           : str_eq(suffix, STR(".csv"))        ? SPOOL_KIND_JOURNAL
                           : str_eq(suffix, STR(".csv.gz.bad")) ? SPOOL_KIND_ASIDE
                                                                : SPOOL_KIND_FOREIGN;
    if (kind != SPOOL_KIND_FOREIGN)
        *ret_number = (uint32_t)number;
    return kind;
}

enum spool_kind spool_file_kind(const char *name, uint32_t *ret_number)
{
    struct str text = str_of(name);
    if (str_eq(text, STR(SPOOL_LOCK)))
        return SPOOL_KIND_LOCK;
    if (str_eq(text, STR(SPOOL_STATE)))
        return SPOOL_KIND_STATE;
    if (str_eq(text, STR(SPOOL_END)))
        return SPOOL_KIND_END;
    if (text.n > new_suffix.n && str_eq((struct str){name + text.n - new_suffix.n, new_suffix.n}, new_suffix)) {
        struct str stem = {name, text.n - new_suffix.n};
        uint32_t number;
        bool is_ours = str_eq(stem, STR(SPOOL_STATE)) || numbered_kind(stem, &number) == SPOOL_KIND_SEALED;
        return is_ours ? SPOOL_KIND_TEMPORARY : SPOOL_KIND_FOREIGN;
    }
    return numbered_kind(text, ret_number);
}

bool spool_is_run_name(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t n = strlen(name);
    return n > 0 && n < SPOOL_NAME_BYTES && name[0] != '.' && strspn(name, allowed) == n;
}

int spool_file_sync(int fd)
{
    if (fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return 0;
    return err_last();
}

/* By way of a name beside; with a sync where the caller wants the bytes to outlive the machine. */
static int write_and_rename(int dir_fd, const char *name, struct str bytes, int (*sync)(int fd))
{
    char beside[SPOOL_FILE_BYTES + 8];
    (void)snprintf(beside, sizeof(beside), "%s%s", name, new_suffix.p);
    AUTO_FD int fd = openat(dir_fd, beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    int r = fd >= 0 ? file_write_all(fd, bytes.p, bytes.n) : err_last();
    if (r == 0 && sync)
        r = sync(fd);
    /* Some file systems report only now that a quota is used up. */
    if (r == 0 && close(fd_take(&fd)) < 0 && errno != EINTR)
        r = err_last();
    if (r == 0 && renameat(dir_fd, beside, dir_fd, name) < 0)
        r = err_last();
    if (r < 0)
        (void)unlinkat(dir_fd, beside, 0);
    return r;
}

int spool_file_replace(int dir_fd, const char *name, struct str bytes)
{
    int r = write_and_rename(dir_fd, name, bytes, spool_file_sync);
    return r < 0 ? r : spool_file_sync(dir_fd);
}

int spool_file_put(int dir_fd, const char *name, struct str bytes)
{
    return write_and_rename(dir_fd, name, bytes, NULL);
}

int spool_dir_open(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? fd : err_last();
}

bool spool_file_is_at(int fd, int dir_fd, const char *name)
{
    struct stat open_file;
    struct stat named;
    return fstat(fd, &open_file) == 0 && fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

int spool_lock_take(int dir_fd, int flags)
{
    /* Opened for writing: over NFS an exclusive lock asks for that. */
    AUTO_FD int fd = openat(dir_fd, SPOOL_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
    if (fd < 0)
        return err_last();
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : err_last();
    return spool_file_is_at(fd, dir_fd, SPOOL_LOCK) ? fd_take(&fd) : -ENOENT;
}

/* One pass over the directory; returns how many files went, or a negative errno. */
static int remove_known(int dir_fd, char ret_foreign[static SPOOL_NAME_BYTES])
{
    struct dir_walk walk;
    struct dir_entry entry;
    int removed = 0;
    ret_foreign[0] = '\0';
    dir_walk_again(&walk, dir_fd);
    while (dir_walk_next(&walk, &entry)) {
        uint32_t number;
        enum spool_kind kind = spool_file_kind(entry.name, &number);
        if (kind == SPOOL_KIND_LOCK)
            continue;
        bool is_kept = kind == SPOOL_KIND_FOREIGN || kind == SPOOL_KIND_ASIDE;
        if (!is_kept && unlinkat(dir_fd, entry.name, 0) == 0)
            removed++;
        else if ((is_kept || errno == EISDIR) && (kind != SPOOL_KIND_ASIDE || !ret_foreign[0]))
            (void)str_copy(str_of(entry.name), ret_foreign, SPOOL_NAME_BYTES);
        else if (!is_kept && errno != ENOENT)
            return err_last();
    }
    return walk.error < 0 ? walk.error : removed;
}

int spool_dir_empty(int dir_fd, char ret_foreign[static SPOOL_NAME_BYTES])
{
    int r;
    /* A directory that shrinks while it is read may hide entries: again until a pass finds nothing more. */
    do {
        r = remove_known(dir_fd, ret_foreign);
    } while (r > 0);
    if (r < 0)
        return r;
    if (unlinkat(dir_fd, SPOOL_LOCK, 0) < 0 && errno != ENOENT)
        return err_last();
    return ret_foreign[0] ? -ENOTEMPTY : 0;
}
