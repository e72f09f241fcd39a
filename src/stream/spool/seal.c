/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches of one run: rows are appended to a journal, a full batch becomes a compressed file (or, where the disk
 * does not take it, waits in memory), and is removed when it is delivered.
 */
#include "stream/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/vec.h"
#include "stream/spool/spool_internal.h"

enum { MIB = 1024 * 1024 };

static void unlink_journal(struct spool_run *run, uint32_t number)
{
    char name[SPOOL_FILE_BYTES];
    spool_file_name_journal(name, number);
    if (run->dir_fd >= 0)
        (void)unlinkat(run->dir_fd, name, 0);
}

/* The file stays; what comes next goes into another one. */
static void leave_journal(struct spool_run *run)
{
    fd_close(&run->journal_fd);
    run->journal_bytes = 0;
    run->is_journal_torn = false;
}

void spool_run_drop_journal(struct spool_run *run)
{
    /* Where the name cannot be taken away, rows that are lost must at least not come back as part of the next batch. */
    if (run->journal_fd >= 0)
        (void)!ftruncate(run->journal_fd, 0);
    leave_journal(run);
    unlink_journal(run, run->open_number);
}

static int open_journal(struct spool_run *run)
{
    char name[SPOOL_FILE_BYTES];
    struct stat st;
    spool_file_name_journal(name, run->open_number);
    AUTO_FD int fd =
        openat(run->dir_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_last();
    if (!S_ISREG(st.st_mode))
        return -EEXIST;
    run->journal_bytes = (uint64_t)st.st_size;
    run->journal_fd = fd_take(&fd);
    return 0;
}

/* A row that is half written must not be followed by others. */
static int cut_journal(struct spool_run *run)
{
    run->is_journal_torn = ftruncate(run->journal_fd, (off_t)run->journal_bytes) < 0;
    return run->is_journal_torn ? err_last() : 0;
}

static int append_journal(struct spool_run *run, struct str lines)
{
    int r = run->journal_fd < 0 ? open_journal(run) : 0;
    if (r == 0 && run->is_journal_torn)
        r = cut_journal(run);
    if (r < 0)
        return r;
    r = file_write_all(run->journal_fd, lines.p, lines.n);
    if (r < 0) {
        (void)cut_journal(run);
        return r;
    }
    run->journal_bytes += lines.n;
    return 0;
}

int spool_run_journal(struct spool_run *run, struct str lines, struct err *err)
{
    int r = run->dir_fd >= 0 && lines.n > 0 ? append_journal(run, lines) : 0;
    if (r < 0)
        return err_sys(err, r, "spool %s/%s does not take the rows", run->spool->path, run->name);
    return 0;
}

/* Would so many bytes more still be below max_bytes, all runs together? */
static bool is_within_limit(struct spool_run *run, uint64_t bytes)
{
    uint64_t own = run->sealed_bytes + run->memory_bytes;
    uint64_t max = run->spool->max_bytes;
    if (own > max || bytes > max - own)
        return false;
    uint64_t left = max - own - bytes;
    return spool_count_bytes(run->spool, run->name, left) <= left;
}

static bool has_memory(const struct spool_run *run, uint64_t bytes)
{
    return bytes <= SPOOL_MEMORY_BYTES_MAX - run->memory_bytes;
}

bool spool_run_has_room(struct spool_run *run, uint64_t bytes)
{
    return run->dir_fd < 0 ? has_memory(run, bytes) : is_within_limit(run, bytes);
}

static int check_size(const struct spool_run *run, size_t bytes, struct err *err)
{
    if (bytes > SPOOL_BATCH_BYTES_MAX)
        return err_sys(err, -EFBIG, "spool: a batch of run %s", run->name);
    if (run->open_number >= SPOOL_BATCHES_MAX)
        return err_set(err, -EOVERFLOW, "spool: run %s has no numbers left for batches", run->name);
    return 0;
}

static int write_batch(struct spool_run *run, uint32_t number, struct str bytes)
{
    char name[SPOOL_FILE_BYTES];
    if (run->dir_fd < 0)
        return -ENOENT;
    spool_file_name_sealed(name, number);
    return spool_file_replace(run->dir_fd, name, bytes);
}

static bool is_passing(const struct spool_run *run, const struct spool_batch *batch)
{
    return run->has_passing && run->passing == batch->number;
}

int spool_run_flush(struct spool_run *run)
{
    for (size_t i = 0; run->memory_bytes > 0 && i < run->batches.count; i++) {
        struct spool_batch *batch = &run->batches.items[i];
        if (!batch->memory || is_passing(run, batch))
            continue;
        if (!is_within_limit(run, 0)) /* it counts as it is */
            return -EDQUOT;
        int r = write_batch(run, batch->number, (struct str){batch->memory, batch->bytes});
        if (r < 0)
            return r;
        unlink_journal(run, batch->number);
        free(batch->memory);
        batch->memory = NULL;
        run->memory_bytes -= batch->bytes;
        run->sealed_bytes += batch->bytes;
    }
    return 0;
}

static int write_open_batch(struct spool_run *run, struct str compressed)
{
    int r = write_batch(run, run->open_number, compressed);
    if ((r != -ENOSPC && r != -EDQUOT) || run->journal_bytes == 0)
        return r;
    /* The plain rows take far more room than their compressed form needs. */
    spool_run_drop_journal(run);
    return write_batch(run, run->open_number, compressed);
}

/* cause: why the disk does not take it. */
static int keep_in_memory(struct spool_run *run, struct str compressed, int cause, char **ret_memory, struct err *err)
{
    char why[64] = "there is no directory";
    if (run->dir_fd >= 0 && cause == -EDQUOT)
        (void)snprintf(why, sizeof(why), "full (%.1f MiB)", (double)run->spool->max_bytes / MIB);
    else if (run->dir_fd >= 0)
        (void)str_copy(str_of(strerror(-cause)), why, sizeof(why));
    bool is_kept = has_memory(run, compressed.n);
    if (!is_kept && (!run->may_pass || run->has_passing))
        return err_set(err, -ENOSPC, "spool %s: %s, and the %d MiB of memory for waiting batches are full too",
            run->spool->path, why, SPOOL_MEMORY_BYTES_MAX / MIB);
    char *memory = malloc(compressed.n > 0 ? compressed.n : 1);
    if (!memory)
        return err_sys(err, -ENOMEM, "spool: a batch of run %s", run->name);
    if (compressed.n > 0)
        memcpy(memory, compressed.p, compressed.n);
    *ret_memory = memory;
    (void)err_set(err, cause, "spool %s: %s, so batches wait in memory", run->spool->path, why);
    return is_kept ? 1 : 2;
}

static void insert_batch(struct spool_run *run, const struct spool_batch *batch, bool must_pass)
{
    size_t at = run->batches.count;
    while (at > 0 && run->batches.items[at - 1].number > batch->number)
        at--;
    struct spool_batch *place = &run->batches.items[at];
    memmove(place + 1, place, (run->batches.count - at) * sizeof(*place));
    *place = *batch;
    run->batches.count++;
    if (must_pass) {
        run->has_passing = true;
        run->passing = batch->number;
    } else if (batch->memory)
        run->memory_bytes += batch->bytes;
    else
        run->sealed_bytes += batch->bytes;
}

static int seal(struct spool_run *run, struct str compressed, struct err *err)
{
    struct spool_batch batch = {.number = run->open_number, .bytes = compressed.n};
    int r = check_size(run, compressed.n, err);
    if (r < 0)
        return r;
    r = VEC_GROW(&run->batches, run->batches.count + 1, SPOOL_BATCHES_MAX);
    if (r < 0)
        return err_sys(err, r, "spool: the batches of run %s", run->name);
    bool is_full = run->dir_fd >= 0 && !is_within_limit(run, compressed.n);
    r = is_full ? -EDQUOT : spool_run_flush(run);
    if (r == 0)
        r = write_open_batch(run, compressed);
    if (r < 0)
        r = keep_in_memory(run, compressed, r, &batch.memory, err);
    if (is_full) /* its rows would take even more of the room that there is not */
        spool_run_drop_journal(run);
    if (r >= 0)
        insert_batch(run, &batch, r == 2);
    return r;
}

int spool_run_seal(struct spool_run *run, struct str compressed, struct err *err)
{
    int r = seal(run, compressed, err);
    if (r == 1)
        leave_journal(run); /* the only copy that outlives us */
    else
        spool_run_drop_journal(run);
    if (r >= 0)
        run->open_number++;
    return r;
}

static struct spool_batch *find_batch(struct spool_run *run, uint32_t number)
{
    size_t low = 0;
    size_t high = run->batches.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct spool_batch *batch = &run->batches.items[middle];
        if (batch->number == number)
            return batch;
        if (batch->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int spool_run_read(struct spool_run *run, uint32_t number, struct buf *buf, struct err *err)
{
    char name[SPOOL_FILE_BYTES];
    spool_file_name_sealed(name, number);
    const struct spool_batch *batch = find_batch(run, number);
    if (batch && batch->memory) {
        buf_clear(buf);
        buf_append(buf, batch->memory, batch->bytes);
        return buf_ok(buf) ? 0 : err_sys(err, -ENOMEM, "spool: batch %s of run %s", name, run->name);
    }
    AUTO_FD int fd = batch ? file_open_at(run->dir_fd, name, O_RDONLY | O_NOFOLLOW) : -ENOENT;
    int r = fd >= 0 ? file_read_fd(fd, FILE_TO_END, buf) : fd;
    if (r < 0)
        return err_sys(err, r, "spool %s/%s/%s cannot be read", run->spool->path, run->name, name);
    return 0;
}

bool spool_run_keep_passing(struct spool_run *run)
{
    const struct spool_batch *batch = run->has_passing ? find_batch(run, run->passing) : NULL;
    if (!batch)
        return false;
    /* Whatever the disk takes makes room in memory. */
    if (run->dir_fd >= 0)
        (void)spool_run_flush(run);
    if (!has_memory(run, batch->bytes))
        return false;
    run->memory_bytes += batch->bytes;
    run->has_passing = false;
    return true;
}

static void drop_batch(struct spool_run *run, struct spool_batch *batch)
{
    if (is_passing(run, batch))
        run->has_passing = false;
    else if (batch->memory)
        run->memory_bytes -= batch->bytes;
    else
        run->sealed_bytes -= batch->bytes;
    free(batch->memory);
    size_t at = (size_t)(batch - run->batches.items);
    run->batches.count--;
    memmove(batch, batch + 1, (run->batches.count - at) * sizeof(*batch));
}

void spool_run_drop(struct spool_run *run, uint32_t number)
{
    struct spool_batch *batch = find_batch(run, number);
    if (!batch)
        return;
    /* Rows first: a journal that is left alone would be taken for a batch of its own. */
    unlink_journal(run, number);
    char name[SPOOL_FILE_BYTES];
    spool_file_name_sealed(name, number);
    if (run->dir_fd >= 0)
        (void)unlinkat(run->dir_fd, name, 0);
    drop_batch(run, batch);
}

void spool_run_set_aside(struct spool_run *run, uint32_t number, char ret_kept[static SPOOL_ASIDE_BYTES])
{
    char name[SPOOL_FILE_BYTES];
    struct stat st;
    ret_kept[0] = '\0';
    struct spool_batch *batch = find_batch(run, number);
    if (!batch)
        return;
    spool_file_name_sealed(name, number);
    bool is_there = run->dir_fd >= 0 && fstatat(run->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    (void)snprintf(ret_kept, SPOOL_ASIDE_BYTES, "%s.bad", name);
    bool is_empty = is_there && st.st_size == 0;
    if (!is_there || is_empty || renameat(run->dir_fd, name, run->dir_fd, ret_kept) < 0)
        ret_kept[0] = '\0';
    if (is_empty)
        (void)unlinkat(run->dir_fd, name, 0);
    drop_batch(run, batch);
}

/*
 * Reading back the rows of a batch that was never sealed: up to the last LF, since a tracker that is killed may leave
 * half a row behind.
 */

enum { PIECE_BYTES = 16 * 1024 };

/* Reads exactly n bytes, or returns a negative errno; -EIO where the file is shorter than it was. */
static int read_at(int fd, char *out, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, out + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? err_last() : -EIO;
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
        r = fstat(fd, &st) < 0 ? err_last() : S_ISREG(st.st_mode) ? 0 : -EINVAL;
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
