/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file in pieces, unpacks it where it begins as gzip does (RFC 1952), and cuts it into lines. */
#include "replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/auto.h"
#include "codec/gzip.h"
#include "replay/notes.h"
#include "replay/recording.h"

enum { PIECE_BYTES = 64 * 1024, MAGIC_BYTES = 2 };

struct reader {
    struct recording recording;
    struct buf rest; /* the beginning of a line that is not ended */
    bool is_too_long; /* the line under way, of which nothing is kept */
    bool is_stopped; /* by the target, or for want of memory */
    struct gunzip *gunzip; /* NULL: plain text */
    char piece[PIECE_BYTES];
};

/* Keeps the beginning of a line until the rest comes. */
static int keep(struct reader *reader, struct str text)
{
    if (!reader->is_too_long && text.n <= REPLAY_LINE_BYTES_MAX - reader->rest.len) {
        buf_append(&reader->rest, text.p, text.n);
        return buf_ok(&reader->rest) ? 0 : -ENOMEM;
    }
    reader->is_too_long = true;
    buf_clear(&reader->rest);
    return 0;
}

/* The line is complete with this. */
static int end_line(struct reader *reader, struct str text, bool is_ended)
{
    if (reader->rest.len == 0 && !reader->is_too_long)
        return recording_add_line(&reader->recording, text, is_ended);
    int code = keep(reader, text);
    if (code < 0)
        return code;
    if (reader->is_too_long)
        recording_add_long(&reader->recording);
    else
        code = recording_add_line(&reader->recording, (struct str){reader->rest.data, reader->rest.len}, is_ended);
    reader->is_too_long = false;
    buf_clear(&reader->rest);
    return code;
}

static int take_text(void *context, struct str text)
{
    struct reader *reader = context;
    const char *lf;
    while ((lf = memchr(text.p, '\n', text.n))) {
        size_t n = (size_t)(lf - text.p);
        int code = end_line(reader, (struct str){text.p, n}, true);
        reader->is_stopped = code < 0;
        if (code < 0)
            return code;
        str_skip(&text, n + 1);
    }
    return text.n > 0 ? keep(reader, text) : 0;
}

/* Returns how many bytes came, at least `least` unless the end is there, or a negative errno. */
static ssize_t read_piece(int fd, char piece[static PIECE_BYTES], size_t least)
{
    size_t n = 0;
    while (n < least) {
        ssize_t got = read(fd, piece + n, PIECE_BYTES - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

static int take_piece(struct reader *reader, struct str piece)
{
    return reader->gunzip ? gunzip_add(reader->gunzip, piece, take_text, reader) : take_text(reader, piece);
}

static int read_pieces(struct reader *reader, int fd)
{
    ssize_t n = read_piece(fd, reader->piece, MAGIC_BYTES);
    if (n >= MAGIC_BYTES && memcmp(reader->piece, "\x1f\x8b", MAGIC_BYTES) == 0) {
        int code = gunzip_new(&reader->gunzip);
        if (code < 0)
            return code;
    }
    while (n > 0) {
        int code = take_piece(reader, (struct str){reader->piece, (size_t)n});
        if (code < 0)
            return code;
        n = read_piece(fd, reader->piece, 1);
    }
    return (int)n;
}

/* What came is used, whatever became of the rest. */
static int read_file(struct reader *reader, int fd, const char *name, struct err *err)
{
    int code = read_pieces(reader, fd);
    bool is_broken = code == -EBADMSG && reader->gunzip && !reader->is_stopped;
    if (is_broken)
        code = 0;
    if (code == 0 && (reader->rest.len > 0 || reader->is_too_long))
        code = end_line(reader, STR(""), false);
    if (code == 0)
        code = recording_finish(&reader->recording);
    if (code < 0)
        return err_sys(err, code, "cannot replay %s", name);
    struct replay_report *report = reader->recording.report;
    if (report->samples == 0)
        return err_set(err, -EBADMSG, "%s holds no samples (neither JSON lines nor CSV of resource-tracker)", name);
    notes_add_recording(&reader->recording);
    if (is_broken)
        notes_add(report, "the compressed file is broken: what comes before is used");
    else if (reader->gunzip && !gunzip_is_whole(reader->gunzip))
        notes_add(report, "the compressed file is cut");
    return 0;
}

static void reader_free(struct reader *reader)
{
    if (!reader)
        return;
    gunzip_free(reader->gunzip);
    buf_fini(&reader->rest);
    recording_fini(&reader->recording);
    free(reader);
}

int replay_file(const char *path, const struct replay_target *target, struct replay_report *ret_report, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    *ret_report = (struct replay_report){0};
    AUTO_FD int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (!is_stdin && opened < 0)
        return err_sys(err, -errno, "cannot open %s", name);
    struct reader *reader = calloc(1, sizeof(*reader));
    int code = reader ? recording_init(&reader->recording, target, ret_report) : -ENOMEM;
    if (code < 0)
        code = err_sys(err, code, "cannot read %s", name);
    else {
        buf_init(&reader->rest, REPLAY_LINE_BYTES_MAX);
        code = read_file(reader, is_stdin ? STDIN_FILENO : opened, name, err);
    }
    reader_free(reader);
    return code;
}
