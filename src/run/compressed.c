/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compressed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"

/* Reading a file to its end before a command is started takes 5 s for this much. */
#define CHECKED_BYTES_MAX (64 * INT64_C(1048576))

enum { PIECE_BYTES = 64 * 1024, END_OFFSET = GZIP_END_BYTES };

bool compressed_is_meant(const char *path)
{
    struct str name = str_of(path);
    return name.n > 3 && memcmp(name.p + name.n - 3, ".gz", 3) == 0;
}

static int ignore_text(void *context, struct str piece)
{
    (void)context;
    (void)piece;
    return 0;
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
        return err_sys(err, r, "cannot append to %s", path);
    r = gunzip_add(gunzip, (struct str){head->bytes, head->count}, take_head, &text);
    gunzip_free(gunzip);
    if (r < 0 && r != -ENOSPC)
        return err_sys(err, r, "cannot append to %s", path);
    *head = text;
    return 0;
}

/* Does it end as gzip_finish ends a flushed file? Else it is cut, or made by another program. */
static bool is_ended(int fd, int64_t size)
{
    char end[GZIP_END_BYTES];
    return size > END_OFFSET && pread(fd, end, sizeof(end), size - END_OFFSET) == sizeof(end) && end[0] == 3 &&
           end[1] == 0;
}

/* Unpacks it all. Returns 0 or a negative errno: -EBADMSG where something is wrong with it. */
static int scan(struct gunzip *gunzip, int fd)
{
    AUTO_FREE char *piece = malloc(PIECE_BYTES);
    ssize_t n;
    int r = piece ? 0 : -ENOMEM;
    off_t at = 0;
    while (r == 0 && (n = pread(fd, piece, PIECE_BYTES, at)) != 0) {
        r = n < 0 ? -errno : gunzip_add(gunzip, (struct str){piece, (size_t)n}, ignore_text, NULL);
        at += n;
    }
    return r;
}

static int end_file(const struct gunzip *gunzip, struct sink *sink, int64_t size, const char *path, struct err *err)
{
    char end[GZIP_END_BYTES];
    uint64_t bytes;
    if (!gunzip_mend(gunzip, &bytes, end))
        return err_set(err, -EEXIST, "cannot append to %s: it is broken or cut", path);
    if (ftruncate(sink->fd, (off_t)bytes) < 0)
        return err_sys(err, -errno, "cannot append to %s", path);
    int r = sink_write_note(sink, (struct str){end, sizeof(end)});
    if (r < 0)
        return err_sys(err, r, "cannot append to %s", path);
    if ((int64_t)bytes < size)
        log_warning(
            "%s was cut: its last %" PRId64 " bytes, part of a sample, are removed", path, size - (int64_t)bytes);
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
        return err_sys(err, fd < 0 ? fd : -errno, "cannot append to %s", path);
    if (is_ended(fd, st.st_size))
        return 0;
    if (st.st_size > CHECKED_BYTES_MAX)
        return err_set(
            err, -EEXIST, "cannot append to %s: it was not ended by this program, and is too large to check", path);
    struct gunzip *gunzip;
    int r = gunzip_new(&gunzip);
    if (r < 0)
        return err_sys(err, r, "cannot append to %s", path);
    gunzip_note_ends(gunzip);
    r = scan(gunzip, fd);
    if (r < 0 && r != -EBADMSG)
        (void)err_sys(err, r, "cannot append to %s", path);
    else if (r < 0 || !gunzip_is_whole(gunzip))
        r = end_file(gunzip, sink, st.st_size, path, err);
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
