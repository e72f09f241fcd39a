/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"

enum { TERMINAL_CAREFUL_BYTES = 16, CLAIM_TRIES = 20, LENGTHS_BYTES_MAX = 4 * 1024 * 1024 };

/* Beside the length of what is no record. */
#define NOTE_BIT 0x80000000U

/* Between two tries to lock a file. */
static const struct timespec claim_pause = {.tv_nsec = NS_PER_MS};

static void init_backlog(struct sink *sink)
{
    buf_init(&sink->backlog, SINK_RECORD_BYTES_MAX);
    buf_init(&sink->lengths, LENGTHS_BYTES_MAX);
}

int sink_open_fd(struct sink *ret_sink, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_last();
    bool is_terminal = S_ISCHR(st.st_mode) && isatty(fd);
    struct sink sink = {.fd = fd, .is_socket = S_ISSOCK(st.st_mode)};
    int fresh = file_reopen_nonblocking(fd);
    if (fresh >= 0) {
        sink.fd = fresh;
        sink.owned = true;
    } else if (S_ISFIFO(st.st_mode) || is_terminal) {
        /* A pipe that is writable accepts PIPE_BUF bytes without waiting; a terminal promises no more than a few. */
        sink.careful_bytes = is_terminal ? TERMINAL_CAREFUL_BYTES : PIPE_BUF;
    }
    init_backlog(&sink);
    *ret_sink = sink;
    return 0;
}

/* Reads the first bytes of what is already in the file, and whether its last line is cut. */
static int read_existing(const char *path, off_t size, struct sink_head *ret_head, bool *ret_torn)
{
    AUTO_FD int fd = file_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    char last = '\n';
    ssize_t n = pread(fd, ret_head->bytes, sizeof(ret_head->bytes), 0);
    if (n < 0 || pread(fd, &last, 1, size - 1) < 0)
        return err_last();
    ret_head->count = (size_t)n;
    *ret_torn = last != '\n';
    return 0;
}

int sink_open_file(struct sink *ret_sink, const char *path, unsigned how, struct sink_head *ret_head, struct err *err)
{
    /*
     * O_APPEND always: another process may empty the file while we write (logrotate). O_NONBLOCK keeps a FIFO without a
     * reader from blocking us (ENXIO instead).
     */
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    AUTO_FD int fd = open(path, flags, 0666);
    int failure = fd < 0 ? err_last() : 0;
    struct stat st;
    if (failure == -ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode))
        return err_set(err, -ENXIO, "cannot open the output file %s: a named pipe without a reader", path);
    if (failure == -ENOENT)
        return err_set(err, failure, "cannot open the output file %s: its directory does not exist", path);
    if (failure < 0)
        return err_sys(err, failure, "cannot open the output file %s", path);
    /* Before it is emptied. A filesystem without locks is used without one. */
    if ((how & SINK_ALONE) && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return err_set(err, -EBUSY, "cannot write to %s: another process is writing to it", path);
    if (fstat(fd, &st) < 0)
        return err_sys(err, err_last(), "cannot use the output file %s", path);
    bool append = how & SINK_APPEND;
    struct sink sink = {.owned = true};
    int r = 0;
    ret_head->count = 0;
    if (append && S_ISREG(st.st_mode) && st.st_size > 0)
        r = read_existing(path, st.st_size, ret_head, &sink.torn);
    /* Not where it is empty: ext4 would write the file to the disk as soon as it is closed. */
    else if (!append && S_ISREG(st.st_mode) && st.st_size > 0 && ftruncate(fd, 0) < 0)
        r = err_last();
    if (r < 0)
        return err_sys(err, r, "cannot use the output file %s", path);
    sink.fd = fd_take(&fd);
    init_backlog(&sink);
    *ret_sink = sink;
    return 0;
}

/* The lock is held for one write. A filesystem without locks is used without one. */
static bool lock(int fd)
{
    for (int i = 0; i < CLAIM_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        (void)nanosleep(&claim_pause, NULL);
    }
    return false;
}

bool sink_claim(struct sink *sink, struct sink_head *ret_head)
{
    struct stat st;
    ret_head->count = 0;
    if (fstat(sink->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return true;
    sink->locked = st.st_size == 0 && lock(sink->fd);
    if (fstat(sink->fd, &st) < 0 || st.st_size == 0)
        return true;
    sink_release(sink);
    char path[32];
    (void)snprintf(path, sizeof(path), FILE_OWN_DESCRIPTORS "/%d", sink->fd);
    (void)read_existing(path, st.st_size, ret_head, &sink->torn);
    return false;
}

void sink_release(struct sink *sink)
{
    if (sink->locked)
        (void)flock(sink->fd, LOCK_UN);
    sink->locked = false;
}

/* One write; returns the bytes written or a negative errno. */
static ssize_t write_some(struct sink *sink, const char *bytes, size_t n)
{
    if (sink->careful_bytes > 0) {
        struct pollfd reader = {.fd = sink->fd, .events = POLLOUT};
        if (poll(&reader, 1, 0) == 0)
            return -EAGAIN;
        n = n < sink->careful_bytes ? n : sink->careful_bytes;
    }
    ssize_t written;
    do {
        written = sink->is_socket ? send(sink->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) : write(sink->fd, bytes, n);
    } while (written < 0 && errno == EINTR);
    if (written >= 0)
        return written;
    return errno == ECONNRESET ? -EPIPE : err_last();
}

/*
 * Writes until done or until the other side accepts no more; returns the bytes written, and in *ret_result 0 or why it
 * stopped. A short write is continued at once.
 */
static size_t write_all(struct sink *sink, const char *bytes, size_t n, int *ret_result)
{
    size_t done = 0;
    *ret_result = 0;
    while (done < n) {
        ssize_t written = write_some(sink, bytes + done, n - done);
        if (written <= 0) {
            *ret_result = written < 0 ? (int)written : -EIO;
            break;
        }
        done += (size_t)written;
    }
    return done;
}

static uint32_t length_at(const struct sink *sink, size_t i)
{
    uint32_t length;
    memcpy(&length, sink->lengths.data + i * sizeof(length), sizeof(length));
    return length;
}

/* So many bytes of the backlog are out, and with them the records that they are. */
static void consume_backlog(struct sink *sink, size_t done)
{
    size_t whole = 0, left = done, count = sink->lengths.len / sizeof(uint32_t);
    buf_consume(&sink->backlog, done);
    while (whole < count && left >= (length_at(sink, whole) & ~NOTE_BIT))
        left -= length_at(sink, whole++) & ~NOTE_BIT;
    if (left > 0 && whole < count) {
        uint32_t length = length_at(sink, whole) - (uint32_t)left;
        memcpy(sink->lengths.data + whole * sizeof(length), &length, sizeof(length));
    }
    sink->begun = left > 0 || (whole == 0 && sink->begun);
    buf_consume(&sink->lengths, whole * sizeof(uint32_t));
}

static int drain_backlog(struct sink *sink)
{
    int result;
    size_t done = write_all(sink, sink->backlog.data, sink->backlog.len, &result);
    consume_backlog(sink, done);
    return result;
}

static int give_up(struct sink *sink)
{
    buf_clear(&sink->backlog);
    buf_clear(&sink->lengths);
    if (sink->owned)
        fd_close(&sink->fd);
    sink->fd = -1;
    return -EPIPE;
}

static bool keep_bytes(struct sink *sink, struct str bytes, uint32_t note_bit)
{
    uint32_t length = (uint32_t)bytes.n | note_bit;
    bool kept = buf_reserve(&sink->backlog, bytes.n) && buf_reserve(&sink->lengths, sizeof(length));
    sink->backlog.failed = sink->lengths.failed = false;
    if (!kept || bytes.n == 0)
        return kept;
    buf_append(&sink->backlog, bytes.p, bytes.n);
    buf_append(&sink->lengths, &length, sizeof(length));
    return true;
}

static bool has_space(const struct sink *sink, size_t n)
{
    size_t waiting = sink->backlog.len;
    return waiting == 0 || (waiting <= SINK_BACKLOG_BYTES && n <= SINK_BACKLOG_BYTES - waiting);
}

/* Keeps a whole record or nothing of it; false where too much waits already. */
static bool keep_for_later(struct sink *sink, struct str record, uint32_t note_bit)
{
    return has_space(sink, record.n) && keep_bytes(sink, record, note_bit);
}

/* Nothing waits: straight out, and what does not go waits from now on. */
static int write_record(struct sink *sink, struct str record, uint32_t note_bit)
{
    int result;
    size_t done = write_all(sink, record.p, record.n, &result);
    if (done == record.n)
        return result;
    /* What was begun must be finished, however much that is. */
    if (keep_bytes(sink, (struct str){record.p + done, record.n - done}, note_bit)) {
        sink->begun = done > 0;
    } else {
        sink->dropped++;
        sink->torn = done > 0;
    }
    return result;
}

/* Behind what waits already, in one write with it where it fits. */
static int write_behind_backlog(struct sink *sink, struct str record, uint32_t note_bit)
{
    bool kept = keep_for_later(sink, record, note_bit);
    int result = drain_backlog(sink);
    if (kept || result == -EPIPE)
        return result;
    if (sink->backlog.len == 0)
        return write_record(sink, record, note_bit);
    sink->dropped += !keep_for_later(sink, record, note_bit);
    return result;
}

static int write_as(struct sink *sink, struct str record, uint32_t note_bit)
{
    if (sink->fd < 0)
        return -EPIPE;
    if (sink->torn)
        sink->torn = !keep_for_later(sink, STR("\n"), NOTE_BIT);
    int result =
        sink->backlog.len > 0 ? write_behind_backlog(sink, record, note_bit) : write_record(sink, record, note_bit);
    return result == -EPIPE ? give_up(sink) : result;
}

int sink_write(struct sink *sink, struct str record)
{
    return write_as(sink, record, 0);
}

int sink_write_note(struct sink *sink, struct str text)
{
    return write_as(sink, text, NOTE_BIT);
}

int sink_reserve(struct sink *sink, size_t n)
{
    if (sink->fd < 0)
        return -EPIPE;
    int result = has_space(sink, n) ? 0 : drain_backlog(sink);
    if (result == -EPIPE)
        return give_up(sink);
    if (!has_space(sink, n))
        return result;
    bool fits = buf_reserve(&sink->backlog, n) && buf_reserve(&sink->lengths, sizeof(uint32_t));
    sink->backlog.failed = sink->lengths.failed = false;
    return fits ? 0 : -ENOMEM;
}

uint64_t sink_waiting(const struct sink *sink, bool *ret_is_cut)
{
    uint64_t records = 0;
    *ret_is_cut = sink->begun && sink->lengths.len > 0 && !(length_at(sink, 0) & NOTE_BIT);
    for (size_t i = 0; i < sink->lengths.len / sizeof(uint32_t); i++)
        records += !(length_at(sink, i) & NOTE_BIT);
    return records;
}

int sink_flush(struct sink *sink, int timeout_ms)
{
    if (sink->fd < 0)
        return sink->backlog.len > 0 ? -EPIPE : 0;
    int64_t deadline_ms = clock_now_ms() + timeout_ms;
    int result = 0;
    while (sink->backlog.len > 0) {
        result = drain_backlog(sink);
        if (result == -EPIPE)
            return give_up(sink);
        int64_t left_ms = deadline_ms - clock_now_ms();
        if (result != -EAGAIN || left_ms <= 0)
            break;
        struct pollfd reader = {.fd = sink->fd, .events = POLLOUT};
        (void)poll(&reader, 1, (int)left_ms);
    }
    return result;
}

void sink_empty(struct sink *sink)
{
    if (sink->fd >= 0 && ftruncate(sink->fd, 0) == 0)
        sink->torn = false;
}

void sink_close(struct sink *sink)
{
    if (sink->owned)
        fd_close(&sink->fd);
    sink->fd = -1;
    buf_fini(&sink->backlog);
    buf_fini(&sink->lengths);
}
