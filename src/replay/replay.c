/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file in pieces, unpacks it where it begins as gzip does (RFC 1952), cuts it into lines, and says in notes
 * of one line each what could not be used.
 */
#include "replay/replay.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "codec/gzip.h"
#include "replay/replay_internal.h"

enum { PIECE_BYTES = 64 * 1024, MAGIC_BYTES = 2 };

struct reader {
    struct recording recording;
    struct buf partial; /* the beginning of a line that is not ended */
    bool is_too_long; /* the line under way, of which nothing is kept */
    bool is_stopped; /* by the target, or out of memory */
    struct gunzip *gunzip; /* NULL: plain text */
    const struct replay_target *target;
    uint64_t bytes, size; /* of the file: read so far, all (0: unknown) */
    char piece[PIECE_BYTES];
};

void name_list_add(struct name_list *list, struct str name)
{
    char text[NAME_LIST_BYTES];
    if (name.n == 0)
        return;
    (void)text_clean(name, TEXT_ASCII, "", text, sizeof(text));
    for (unsigned i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], text) == 0)
            return;
    }
    if (list->count == NAME_LIST_MAX) {
        list->has_more = true;
        return;
    }
    memcpy(list->names[list->count++], text, sizeof(text));
}

static void name_list_put(const struct name_list *list, struct buf *buf)
{
    for (unsigned i = 0; i < list->count; i++) {
        bool is_last = i + 1 == list->count && !list->has_more;
        if (i > 0)
            buf_puts(buf, is_last ? " and " : ", ");
        buf_puts(buf, list->names[i]);
    }
    if (list->has_more)
        buf_puts(buf, " and others");
}

void replay_note(struct replay_report *report, const char *fmt, ...)
{
    if (report->note_count == REPLAY_NOTES_MAX)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(report->notes[report->note_count++], REPLAY_NOTE_BYTES, fmt, args);
    va_end(args);
}

/* "text: foo and bar"; nothing without names. */
static void notes_add_names(struct replay_report *report, const char *text, const struct name_list *names)
{
    if (names->count == 0)
        return;
    struct buf list;
    buf_init(&list, REPLAY_NOTE_BYTES);
    name_list_put(names, &list);
    replay_note(report, "%s: %s", text, buf_cstr(&list));
    buf_fini(&list);
}

/* Lines that could not be used. */
static void put_lines(const struct recording *recording, struct replay_report *report)
{
    if (recording->no_samples == 1)
        replay_note(report, "line %" PRIu64 " is no sample", recording->first_no_sample);
    if (recording->no_samples > 1)
        replay_note(report, "%" PRIu64 " lines are no samples, the first is line %" PRIu64, recording->no_samples,
            recording->first_no_sample);
    if (recording->odd_line > 0)
        replay_note(report, "line %" PRIu64 " is %s", recording->odd_line, recording->odd);
    if (recording->is_cut)
        replay_note(report, "the last line is cut and left out");
    if (recording->too_long > 0)
        replay_note(report, "lines too long to be samples are left out: %" PRIu64, recording->too_long);
}

static void notes_add_recording(const struct recording *recording)
{
    struct replay_report *report = recording->report;
    if (report->samples == 0)
        return;
    if (recording->pieces > 0)
        replay_note(report,
            "samples of several runs are mixed, as trackers leave them that write to one file at once: read as "
            "%" PRIu64 " runs; give each its own file (-o 'run-{pid}.jsonl')",
            report->runs);
    if (recording->versions.count > 1)
        notes_add_names(report, "made by versions", &recording->versions);
    put_lines(recording, report);
    notes_add_names(report, "keys this version does not know are left out", &recording->json.unknown);
    notes_add_names(report, "columns this version does not know are left out", &recording->csv.unknown);
    if (recording->first_mistyped > 0)
        replay_note(report,
            "values of another type or size than expected are read as unknown, the first in line %" PRIu64,
            recording->first_mistyped);
    if (recording->csv.has_process_memory)
        replay_note(report, "CSV does not distinguish PSS from RSS: memory of the tree is read as PSS");
}

/* Keeps the beginning of a line until its end comes. */
static int keep(struct reader *reader, struct str text)
{
    if (!reader->is_too_long && text.n <= REPLAY_LINE_BYTES_MAX - reader->partial.len) {
        buf_append(&reader->partial, text.p, text.n);
        return buf_ok(&reader->partial) ? 0 : -ENOMEM;
    }
    reader->is_too_long = true;
    buf_clear(&reader->partial);
    return 0;
}

/* The line is complete with this. */
static int end_line(struct reader *reader, struct str text, bool is_ended)
{
    if (reader->partial.len == 0 && !reader->is_too_long)
        return recording_add_line(&reader->recording, text, is_ended);
    int code = keep(reader, text);
    if (code < 0)
        return code;
    if (reader->is_too_long)
        recording_add_long(&reader->recording);
    else
        code = recording_add_line(&reader->recording, buf_str(&reader->partial), is_ended);
    reader->is_too_long = false;
    buf_clear(&reader->partial);
    return code;
}

static int add_text(void *context, struct str text)
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
            return err_last();
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
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
        struct str piece = {reader->piece, (size_t)n};
        int code = reader->gunzip ? gunzip_add(reader->gunzip, piece, add_text, reader) : add_text(reader, piece);
        if (code < 0)
            return code;
        reader->bytes += (uint64_t)n;
        if (reader->target->progress)
            reader->target->progress(reader->target->context, reader->bytes, reader->size);
        n = read_piece(fd, reader->piece, 1);
    }
    return (int)n;
}

/* What came is used, whatever follows. */
static int read_file(struct reader *reader, int fd, const char *name, struct err *err)
{
    int code = read_pieces(reader, fd);
    bool is_broken = code == -EBADMSG && reader->gunzip && !reader->is_stopped;
    if (is_broken)
        code = 0;
    if (code == 0 && (reader->partial.len > 0 || reader->is_too_long))
        code = end_line(reader, STR(""), false);
    if (code == 0)
        code = recording_finish(&reader->recording);
    if (code < 0)
        return err_sys(err, code, "cannot replay %s", name);
    struct replay_report *report = reader->recording.report;
    const struct recording *recording = &reader->recording;
    if (report->samples == 0 && recording->odd_line > 0)
        return err_set(
            err, -EBADMSG, "%s holds no samples: line %" PRIu64 " is %s", name, recording->odd_line, recording->odd);
    if (report->samples == 0)
        return err_set(err, -EBADMSG, "%s holds no samples (neither JSON lines nor CSV of resource-tracker)", name);
    notes_add_recording(&reader->recording);
    if (is_broken)
        replay_note(report, "the compressed file is broken: what comes before is used");
    else if (reader->gunzip && !gunzip_is_whole(reader->gunzip))
        replay_note(report, "the compressed file is cut");
    return 0;
}

static void reader_free(struct reader *reader)
{
    if (!reader)
        return;
    gunzip_free(reader->gunzip);
    buf_fini(&reader->partial);
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
        return err_sys(err, err_last(), "cannot open %s", name);
    struct reader *reader = calloc(1, sizeof(*reader));
    int code = reader ? recording_init(&reader->recording, target, ret_report) : -ENOMEM;
    if (code < 0)
        code = err_sys(err, code, "cannot read %s", name);
    else {
        struct stat st;
        int fd = is_stdin ? STDIN_FILENO : opened;
        buf_init(&reader->partial, REPLAY_LINE_BYTES_MAX);
        reader->target = target;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            reader->size = (uint64_t)st.st_size;
        code = read_file(reader, fd, name, err);
    }
    reader_free(reader);
    return code;
}
