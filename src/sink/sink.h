/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where bytes go: an inherited descriptor, or a file. One record is one write of whole lines. What the other side
 * does not accept at once (slow reader, full disk) waits in a bounded backlog, so that records stay whole and a short
 * disturbance loses nothing; what does not fit there is dropped and counted. A sink never blocks and never ends the
 * job.
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* How much may wait before new records are dropped, and how large a record may be that has to be finished. */
enum { SINK_BACKLOG_BYTES = 256 * 1024, SINK_RECORD_BYTES_MAX = 16 * 1024 * 1024 };

struct sink {
    int fd; /* -1: closed for good */
    bool owned;
    bool is_socket;
    size_t careful_bytes; /* blocking, and shared with others: ask before each write of this size; 0: no need to */
    bool locked; /* between sink_claim and sink_release */
    bool torn; /* the file we append to ends inside a line: begin with a LF */
    struct buf backlog;
    struct buf lengths; /* uint32_t: of the records in the backlog, of the first one what is left of it */
    bool begun; /* of the first record in the backlog some is out */
    uint64_t dropped; /* records and notes lost so far */
};

/*
 * Writes to a descriptor that others share (stdout, stderr) without changing its flags: a pipe or terminal is opened
 * anew, non-blocking; where that is not permitted (it belongs to another user) it is polled before every write.
 * Returns 0 or a negative errno.
 */
int sink_open_fd(struct sink *ret_sink, int fd);

/* How a file that we append to begins. */
struct sink_head {
    char bytes[2048];
    size_t count;
};

enum sink_open {
    SINK_APPEND = 1, /* else what is there is removed */
    SINK_ALONE = 2, /* one writer at a time: locked (flock) until it is closed; -EBUSY where another process has it */
};

/*
 * Opens or creates FILE (mode 0666 less umask). how: of enum sink_open. With SINK_APPEND *ret_head is what is there
 * already (count 0: nothing), so that the caller sees whether a header is. Returns 0 or a negative errno with a
 * message; the file is then as it was.
 */
int sink_open_file(struct sink *ret_sink, const char *path, unsigned how, struct sink_head *ret_head, struct err *err);

/*
 * Before the first record into a file that others may append to as well. Returns true where the file is still empty:
 * what must stand first is then for the caller to write, and the file is locked (flock) until sink_release, for which
 * others wait a few milliseconds. False where another process was faster: *ret_head holds what is there by now. True
 * for anything but a regular file.
 */
bool sink_claim(struct sink *sink, struct sink_head *ret_head);
void sink_release(struct sink *sink);

/*
 * Writes one record (or keeps it for later). Returns 0 when everything is out, -EAGAIN when some waits in the backlog,
 * -EPIPE when the reader is gone for good, or the negative errno of an error that may pass (-ENOSPC, -EDQUOT, -EIO …),
 * the record then waiting or dropped.
 */
int sink_write(struct sink *sink, struct str record);

/* The same for a text that sink_waiting is not to count. */
int sink_write_note(struct sink *sink, struct str text);

/*
 * For records that need those before them (gzip): is it certain that nothing of the next n bytes will be dropped? Tries
 * to empty the backlog first. Returns 0, else what sink_write would return, or -ENOMEM.
 */
int sink_reserve(struct sink *sink, size_t n);

/* How many records wait in the backlog. ret_is_cut: of the first of them some is out. */
uint64_t sink_waiting(const struct sink *sink, bool *ret_is_cut);

/* Tries to empty the backlog, waiting at most timeout_ms for the reader. Returns like sink_write. */
int sink_flush(struct sink *sink, int timeout_ms);

/* Empties a file that was opened to append to. No effect on anything but a regular file. */
void sink_empty(struct sink *sink);

void sink_close(struct sink *sink);

#endif
