/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as gzip, and the check of a file that is appended to, which the run before may not have ended. */
#include "run/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"

enum {
    /* The command waits for the check of a file: each of these takes about 50 ms. */
    CHECKED_BYTES_MAX = 4 * 1024 * 1024,
    UNPACKED_BYTES_MAX = 16 * 1024 * 1024,
    PIECE_BYTES = 64 * 1024,
    HEADER_BYTES = 10,
    MARK_BYTES = 4,
};

/* The last bytes of every flush. */
static const char flush_mark[MARK_BYTES] = {0, 0, '\xff', '\xff'};

bool compressed_is_meant(const char *path)
{
    struct str name = str_of(path);
    return name.n > 3 && memcmp(name.p + name.n - 3, ".gz", 3) == 0;
}

static int refuse(const char *path, int code, struct err *err)
{
    return err_sys(err, code, "cannot append to %s", path);
}

static int refuse_broken(const char *path, uint64_t at, struct err *err)
{
    return err_set(err, -EEXIST, "cannot append to %s: it is broken at byte %" PRIu64, path, at);
}

static int refuse_large(const char *path, struct err *err)
{
    return err_set(err, -EEXIST,
        "cannot append to %s: it was not ended by a run, and is too large to be checked before the command starts: "
        "write to another file (gzip -t checks this one)",
        path);
}

/* Stops, by -EFBIG, when it was too much. */
static int count_text(void *context, struct str piece)
{
    size_t *count = context;
    *count += piece.n;
    return *count > UNPACKED_BYTES_MAX ? -EFBIG : 0;
}

/* Stops, by -ENOSPC, when there is enough. */
static int take_head(void *context, struct str piece)
{
    struct sink_head *head = context;
    size_t space = sizeof(head->bytes) - head->count, n = piece.n < space ? piece.n : space;
    memcpy(head->bytes + head->count, piece.p, n);
    head->count += n;
    return head->count == sizeof(head->bytes) ? -ENOSPC : 0;
}

static int unpack_head(struct sink_head *head, const char *path, struct err *err)
{
    if (head->count < 2 || memcmp(head->bytes, "\x1f\x8b", 2) != 0)
        return err_set(err, -EEXIST, "cannot append to %s: it is not a gzip file", path);
    struct gunzip *gunzip;
    struct sink_head text = {.count = 0};
    int r = gunzip_new(&gunzip);
    if (r < 0)
        return refuse(path, r, err);
    r = gunzip_add(gunzip, (struct str){head->bytes, head->count}, take_head, &text);
    uint64_t at = gunzip_position(gunzip);
    gunzip_free(gunzip);
    if (r == -EBADMSG)
        return refuse_broken(path, at, err);
    if (r < 0 && r != -ENOSPC)
        return refuse(path, r, err);
    *head = text;
    return 0;
}

/*
 * Does it end as a run does, with an empty last block behind a flush, or behind the header where there was no sample?
 * Else it is cut, or made by another program. Behind a flush no other block begins with these bytes.
 */
static bool is_ended(int fd, int64_t size)
{
    static const char header[] = {'\x1f', '\x8b', 8, 0}, no_text[GZIP_END_BYTES] = {3};
    char last[HEADER_BYTES + GZIP_END_BYTES];
    const char *end = last + HEADER_BYTES;
    if (size < (int64_t)sizeof(last) || pread(fd, last, sizeof(last), size - (int64_t)sizeof(last)) != sizeof(last))
        return false;
    if (memcmp(last, header, sizeof(header)) == 0 && memcmp(end, no_text, sizeof(no_text)) == 0)
        return true;
    return memcmp(end - MARK_BYTES, flush_mark, MARK_BYTES) == 0 && end[0] == 3 && end[1] == 0 &&
           memcmp(end + GZIP_END_BYTES - MARK_BYTES, flush_mark, MARK_BYTES) != 0;
}

/* Unpacks it all. Returns 0 or a negative errno: -EBADMSG where something is wrong with it, -EFBIG. */
static int scan(struct gunzip *gunzip, int fd)
{
    AUTO_FREE char *piece = malloc(PIECE_BYTES);
    ssize_t n;
    int r = piece ? 0 : -ENOMEM;
    off_t at = 0;
    size_t unpacked = 0;
    while (r == 0 && (n = pread(fd, piece, PIECE_BYTES, at)) != 0) {
        r = n < 0 ? err_last() : gunzip_add(gunzip, (struct str){piece, (size_t)n}, count_text, &unpacked);
        at += n;
    }
    return r;
}

/* Can what is behind this place be one sample that is cut? Not where a flush is in it: that ended a whole one. */
static int check_tail(int fd, uint64_t from, int64_t size, const char *path, struct err *err)
{
    size_t n = (size_t)(size - (int64_t)from);
    AUTO_FREE char *tail = malloc(n > 0 ? n : 1);
    if (!tail)
        return refuse(path, -ENOMEM, err);
    ssize_t got = pread(fd, tail, n, (off_t)from);
    if (got < 0)
        return refuse(path, err_last(), err);
    return memmem(tail, (size_t)got, flush_mark, MARK_BYTES) ? refuse_broken(path, from, err) : 0;
}

static int end_file(
    const struct gunzip *gunzip, struct sink *sink, int fd, int64_t size, const char *path, struct err *err)
{
    char end[GZIP_END_BYTES];
    uint64_t bytes;
    if (!gunzip_mend(gunzip, &bytes, end))
        return err_set(
            err, -EEXIST, "cannot append to %s: its end is missing, and no whole sample is before that", path);
    int r = check_tail(fd, bytes, size, path, err);
    if (r < 0)
        return r;
    if (ftruncate(sink->fd, (off_t)bytes) < 0)
        return refuse(path, err_last(), err);
    r = sink_write_note(sink, (struct str){end, sizeof(end)});
    if (r < 0)
        return refuse(path, r, err);
    if ((int64_t)bytes < size)
        log_warning("%s was cut: its last %" PRId64 " bytes, which are no whole sample, are removed", path,
            size - (int64_t)bytes);
    else
        log_info("%s was not ended by the run before: it is now", path);
    return 0;
}

/* A member behind one that is cut could not be read. */
static int check_end(struct sink *sink, const char *path, struct err *err)
{
    AUTO_FD int fd = file_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse(path, fd < 0 ? fd : err_last(), err);
    if (is_ended(fd, st.st_size))
        return 0;
    if (st.st_size > CHECKED_BYTES_MAX)
        return refuse_large(path, err);
    struct gunzip *gunzip;
    int r = gunzip_new(&gunzip);
    if (r < 0)
        return refuse(path, r, err);
    gunzip_note_ends(gunzip);
    r = scan(gunzip, fd);
    if (r == -EBADMSG)
        r = refuse_broken(path, gunzip_position(gunzip), err);
    else if (r == -EFBIG)
        r = refuse_large(path, err);
    else if (r < 0)
        (void)refuse(path, r, err);
    else if (!gunzip_is_whole(gunzip))
        r = end_file(gunzip, sink, fd, st.st_size, path, err);
    gunzip_free(gunzip);
    return r;
}

int compressed_open(
    struct compressed *compressed, struct sink *sink, const char *path, struct sink_head *head, struct err *err)
{
    *compressed = (struct compressed){0};
    buf_init(&compressed->bytes, gzip_bound(SINK_RECORD_BYTES_MAX));
    sink->torn = false; /* there are no lines in it */
    bool is_new = head->count == 0;
    int r = is_new ? 0 : unpack_head(head, path, err);
    if (r == 0 && !is_new)
        r = check_end(sink, path, err);
    if (r < 0)
        return r;
    r = gzip_new(&compressed->gzip);
    return r < 0 ? err_sys(err, r, "cannot write to %s", path) : 0;
}

/* Once it is compressed it must not be lost: what follows refers to it. */
static int reserve(struct compressed *compressed, struct sink *sink, size_t n)
{
    int r = sink_reserve(sink, n);
    buf_clear(&compressed->bytes);
    return r == 0 && !buf_reserve(&compressed->bytes, n) ? -ENOMEM : r;
}

int compressed_write(struct compressed *compressed, struct sink *sink, struct str record)
{
    int r = reserve(compressed, sink, gzip_bound(record.n));
    if (r == 0)
        r = gzip_add_flushed(compressed->gzip, record, &compressed->bytes);
    if (r == 0)
        return sink_write(sink, (struct str){compressed->bytes.data, compressed->bytes.len});
    sink->dropped += r != -EPIPE;
    return r;
}

void compressed_end(struct compressed *compressed, struct sink *sink)
{
    if (reserve(compressed, sink, gzip_bound(0)) == 0 && gzip_finish(compressed->gzip, &compressed->bytes) == 0)
        (void)sink_write_note(sink, (struct str){compressed->bytes.data, compressed->bytes.len});
}

void compressed_close(struct compressed *compressed)
{
    gzip_free(compressed->gzip);
    buf_fini(&compressed->bytes);
    compressed->gzip = NULL;
}
