/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading back the rows of a batch that was never sealed: up to the last LF, since a tracker that is killed may leave
 * half a row behind.
 */
#include "stream/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "stream/spool/spool_internal.h"

enum { PIECE_BYTES = 16 * 1024 };

/* Reads exactly n bytes, or returns a negative errno; -EIO where the file is shorter than it was. */
static int read_at(int fd, char *out, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, out + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        done += (size_t)got;
    }
    return 0;
}

/* The length up to and with the last LF; 0 where there is none. */
static int find_end(int fd, uint64_t size, uint64_t *ret_end)
{
    char piece[PIECE_BYTES];
    while (size > 0) {
        size_t n = size < sizeof(piece) ? (size_t)size : sizeof(piece);
        int r = read_at(fd, piece, n, size - n);
        if (r < 0)
            return r;
        const char *last = memrchr(piece, '\n', n);
        if (last) {
            *ret_end = size - n + (size_t)(last - piece) + 1;
            return 0;
        }
        size -= n;
    }
    *ret_end = 0;
    return 0;
}

static int hand_out(int fd, uint64_t end, int (*take)(void *context, struct str piece), void *context, bool *ret_taken)
{
    char piece[PIECE_BYTES];
    int r = 0;
    for (uint64_t at = 0; r == 0 && at < end;) {
        size_t n = end - at < sizeof(piece) ? (size_t)(end - at) : sizeof(piece);
        r = read_at(fd, piece, n, at);
        *ret_taken = r == 0;
        if (r == 0)
            r = take(context, (struct str){piece, n});
        at += n;
    }
    return r;
}

int spool_run_read_journal(
    struct spool_run *run, int (*take)(void *context, struct str piece), void *context, struct err *err)
{
    char name[SPOOL_FILE_BYTES];
    struct stat st;
    uint64_t end = 0;
    bool is_taken = false;
    spool_file_name_journal(name, run->open_number);
    AUTO_FD int fd = file_open_at(run->dir_fd, name, O_RDONLY | O_NOFOLLOW);
    int r = fd;
    if (r >= 0)
        r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    if (r == 0)
        r = find_end(fd, (uint64_t)st.st_size, &end);
    if (r == -ENOENT || (r == 0 && end == 0))
        return err_set(err, -ENODATA, "spool: run %s has no open batch", run->name);
    if (r == 0)
        r = hand_out(fd, end, take, context, &is_taken);
    if (r < 0 && !is_taken)
        return err_sys(err, r, "spool %s/%s/%s cannot be read", run->spool->path, run->name, name);
    return r;
}
