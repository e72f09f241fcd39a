/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of one run: making it, finding what an earlier run left in it, its state, and taking it away. A new
 * directory has a hidden name until its lock is held, and one that goes gets a hidden name first: a listing of the
 * spool shows whole runs only.
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

enum { CREATE_ATTEMPTS_MAX = 16 };

static void set_up(struct spool_run *run, struct spool *spool, const char *name)
{
    *run = (struct spool_run){.spool = spool, .dir_fd = -1, .lock_fd = -1, .journal_fd = -1, .end_fd = -1};
    (void)str_copy(str_of(name), run->name, sizeof(run->name));
}

static int check_name(const char *name, struct err *err)
{
    if (spool_is_run_name(name))
        return 0;
    return err_set(err, -EINVAL, "spool: '%.80s' is no name of a run (letters, digits, '-', '_' and '.')", name);
}

/* Lock and final name for the directory that was just made under its hidden name. */
static int settle(struct spool_run *run, const char *hidden)
{
    struct spool *spool = run->spool;
    AUTO_FD int dir_fd = spool_dir_open(spool->dir_fd, hidden);
    if (dir_fd < 0)
        return dir_fd;
    AUTO_FD int lock_fd = spool_lock_take(dir_fd, O_CREAT);
    if (lock_fd < 0)
        return lock_fd;
    /* No sync: where the machine stops before it is on the disk, the run is not there, and neither are its rows. */
    int r = renameat(spool->dir_fd, hidden, spool->dir_fd, run->name) < 0 ? err_last() : 0;
    if (r < 0) {
        (void)unlinkat(dir_fd, SPOOL_LOCK, 0);
        return r;
    }
    run->dir_fd = fd_take(&dir_fd);
    run->lock_fd = fd_take(&lock_fd);
    return 0;
}

static int make_dir(struct spool_run *run)
{
    char hidden[SPOOL_HIDDEN_BYTES];
    (void)snprintf(hidden, sizeof(hidden), ".%s", run->name);
    if (mkdirat(run->spool->dir_fd, hidden, 0700) < 0)
        return err_last();
    int r = settle(run, hidden);
    if (r < 0)
        (void)unlinkat(run->spool->dir_fd, hidden, AT_REMOVEDIR);
    return r;
}

int spool_run_create(struct spool_run *ret_run, struct spool *spool, const char *name, struct err *err)
{
    set_up(ret_run, spool, name);
    int r = check_name(name, err);
    if (r < 0 || spool->dir_fd < 0)
        return r;
    for (int i = 0; i < CREATE_ATTEMPTS_MAX; i++) {
        r = make_dir(ret_run);
        if (r != -ENOENT)
            break;
        /* Another tracker ended just now and removed the spool, which was empty. */
        int revived = spool_revive(spool, err);
        if (revived < 0)
            return revived;
    }
    return r < 0 ? err_sys(err, r, "spool %s: the directory of run %s cannot be made", spool->path, name) : 0;
}

static int compare_batches(const void *a, const void *b)
{
    uint32_t x = ((const struct spool_batch *)a)->number;
    uint32_t y = ((const struct spool_batch *)b)->number;
    return (x > y) - (x < y);
}

/* Sealed batches into the list, leftovers away. */
static int list_batches(struct spool_run *run)
{
    struct dir_walk walk;
    struct dir_entry entry;
    struct stat st;
    dir_walk_again(&walk, run->dir_fd);
    while (dir_walk_next(&walk, &entry)) {
        uint32_t number;
        enum spool_kind kind = spool_file_kind(entry.name, &number);
        if (kind == SPOOL_KIND_TEMPORARY)
            (void)unlinkat(run->dir_fd, entry.name, 0);
        if (kind != SPOOL_KIND_SEALED || fstatat(run->dir_fd, entry.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        int r = VEC_GROW(&run->batches, run->batches.count + 1, SPOOL_BATCHES_MAX);
        if (r < 0)
            return r;
        run->batches.items[run->batches.count++] =
            (struct spool_batch){.number = number, .bytes = (uint64_t)st.st_size};
        run->sealed_bytes += (uint64_t)st.st_size;
    }
    if (run->batches.count > 0)
        qsort(run->batches.items, run->batches.count, sizeof(*run->batches.items), compare_batches);
    return walk.error;
}

int spool_run_find_journal(struct spool_run *run)
{
    struct dir_walk walk;
    struct dir_entry entry;
    size_t count = run->batches.count;
    bool is_found = false;
    run->open_number = count > 0 ? run->batches.items[count - 1].number + 1 : 0;
    if (run->dir_fd < 0)
        return 0;
    dir_walk_again(&walk, run->dir_fd);
    while (dir_walk_next(&walk, &entry)) {
        uint32_t number;
        if (spool_file_kind(entry.name, &number) != SPOOL_KIND_JOURNAL)
            continue;
        const struct spool_batch wanted = {.number = number};
        const struct spool_batch *sealed =
            count > 0 ? bsearch(&wanted, run->batches.items, count, sizeof(wanted), compare_batches) : NULL;
        if (sealed) {
            /* Killed between the two: the sealed file holds the same rows. */
            if (!sealed->memory)
                (void)unlinkat(run->dir_fd, entry.name, 0);
        } else if (!is_found || number < run->open_number) {
            run->open_number = number;
            is_found = true;
        }
    }
    return walk.error < 0 ? walk.error : is_found;
}

static int take_over(struct spool_run *run)
{
    run->dir_fd = spool_dir_open(run->spool->dir_fd, run->name);
    if (run->dir_fd < 0)
        return run->dir_fd;
    run->lock_fd = spool_lock_take(run->dir_fd, O_CREAT);
    if (run->lock_fd < 0)
        return run->lock_fd;
    /* A run is renamed before it is removed. */
    if (!spool_file_is_at(run->dir_fd, run->spool->dir_fd, run->name))
        return -ENOENT;
    int r = list_batches(run);
    if (r == 0)
        r = spool_run_find_journal(run);
    return r < 0 ? r : 0;
}

int spool_run_open(struct spool_run *ret_run, struct spool *spool, const char *name, struct err *err)
{
    set_up(ret_run, spool, name);
    int r = check_name(name, err);
    if (r < 0)
        return r;
    r = spool->dir_fd >= 0 ? take_over(ret_run) : -ENOENT;
    if (r == 0)
        return 0;
    spool_run_close(ret_run);
    if (r == -EBUSY)
        return err_set(
            err, r, "spool %s: run %s is in use by a tracker or by another upload", spool->path, ret_run->name);
    return err_sys(err, r, "spool %s: run %s cannot be opened", spool->path, ret_run->name);
}

static void release(struct spool_run *run)
{
    for (size_t i = 0; i < run->batches.count; i++)
        free(run->batches.items[i].memory);
    free(run->batches.items);
    fd_close(&run->journal_fd);
    fd_close(&run->end_fd);
    fd_close(&run->dir_fd);
    fd_close(&run->lock_fd);
    struct spool *spool = run->spool;
    char name[SPOOL_NAME_BYTES];
    memcpy(name, run->name, sizeof(name));
    set_up(run, spool, name);
}

void spool_run_close(struct spool_run *run)
{
    if (run->dir_fd >= 0)
        (void)spool_run_flush(run);
    release(run);
}

static int remove_dir(struct spool_run *run, struct err *err)
{
    struct spool *spool = run->spool;
    char hidden[SPOOL_HIDDEN_BYTES];
    char foreign[SPOOL_NAME_BYTES];
    (void)snprintf(hidden, sizeof(hidden), ".%s", run->name);
    bool is_hidden = renameat(spool->dir_fd, run->name, spool->dir_fd, hidden) == 0;
    int r = spool_dir_empty(run->dir_fd, foreign);
    /* Where it has been removed already there is nothing to do. */
    if (r == 0 && unlinkat(spool->dir_fd, is_hidden ? hidden : run->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        r = err_last();
    if (r == 0)
        return 0;
    if (is_hidden)
        (void)renameat(spool->dir_fd, hidden, spool->dir_fd, run->name);
    uint32_t number;
    if (r == -ENOTEMPTY && spool_file_kind(foreign, &number) == SPOOL_KIND_ASIDE)
        return err_set(err, -ENODATA,
            "spool %s/%s holds %s, which could not be read, so the directory stays; remove it "
            "by hand",
            spool->path, run->name, foreign);
    if (r == -ENOTEMPTY && foreign[0])
        return err_set(err, r, "spool %s/%s holds '%s', which is not ours, so the directory stays; remove it by hand",
            spool->path, run->name, foreign);
    return err_sys(err, r, "spool %s/%s cannot be removed", spool->path, run->name);
}

int spool_run_remove(struct spool_run *run, struct err *err)
{
    int r = run->dir_fd >= 0 ? remove_dir(run, err) : 0;
    release(run);
    return r;
}

static int put_state(
    struct spool_run *run, struct str bytes, int (*put)(int, const char *, struct str), struct err *err)
{
    if (bytes.n > SPOOL_STATE_BYTES_MAX)
        return err_sys(err, -EFBIG, "spool: the state of run %s", run->name);
    if (run->dir_fd < 0)
        return 0;
    int r = put(run->dir_fd, SPOOL_STATE, bytes);
    if (r < 0)
        return err_sys(err, r, "spool %s/%s/%s cannot be written", run->spool->path, run->name, SPOOL_STATE);
    return 0;
}

int spool_run_save_state(struct spool_run *run, struct str bytes, struct err *err)
{
    int r = put_state(run, bytes, spool_file_replace, err);
    if (r < 0 || run->dir_fd < 0 || run->is_state_safe)
        return r;
    r = spool_sync(run->spool);
    if (r < 0)
        return err_sys(err, r, "spool %s cannot be synced", run->spool->path);
    run->is_state_safe = true;
    return 0;
}

int spool_run_note_state(struct spool_run *run, struct str bytes, struct err *err)
{
    return put_state(run, bytes, spool_file_put, err);
}

int spool_run_load_state(struct spool_run *run, struct buf *buf, struct err *err)
{
    AUTO_FD int fd = file_open_at(run->dir_fd, SPOOL_STATE, O_RDONLY | O_NOFOLLOW);
    int r = fd >= 0 ? file_read_fd(fd, FILE_TO_END, buf) : fd;
    if (r == 0 && buf->len > SPOOL_STATE_BYTES_MAX)
        r = -EFBIG;
    if (r < 0)
        return err_sys(err, r, "spool %s/%s/%s cannot be read", run->spool->path, run->name, SPOOL_STATE);
    return 0;
}

static int end_error(const struct spool_run *run, int r, struct err *err)
{
    return err_sys(err, r, "spool %s/%s/%s cannot be written", run->spool->path, run->name, SPOOL_END);
}

/* All of its bytes, with blanks behind the text: below the size of a sector, and in place. */
static int write_end(int fd, struct str text)
{
    char bytes[SPOOL_END_BYTES];
    memset(bytes, ' ', sizeof(bytes));
    memcpy(bytes, text.p, text.n);
    bytes[sizeof(bytes) - 1] = '\n';
    ssize_t n = pwrite(fd, bytes, sizeof(bytes), 0);
    return n < 0 ? err_last() : n < (ssize_t)sizeof(bytes) ? -ENOSPC : 0;
}

int spool_run_reserve_end(struct spool_run *run, struct err *err)
{
    if (run->dir_fd < 0 || run->end_fd >= 0)
        return 0;
    AUTO_FD int fd = openat(run->dir_fd, SPOOL_END, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    int r = fd >= 0 ? write_end(fd, STR("")) : err_last();
    if (r < 0)
        return end_error(run, r, err);
    run->end_fd = fd_take(&fd);
    return 0;
}

int spool_run_note_end(struct spool_run *run, struct str text, struct err *err)
{
    if (run->dir_fd < 0)
        return 0;
    if (text.n >= SPOOL_END_BYTES)
        return end_error(run, -E2BIG, err);
    int r = spool_run_reserve_end(run, err);
    if (r < 0)
        return r;
    r = write_end(run->end_fd, text);
    return r < 0 ? end_error(run, r, err) : 0;
}

int spool_run_sync_end(struct spool_run *run, struct err *err)
{
    int r = run->end_fd >= 0 ? spool_file_sync(run->end_fd) : 0;
    if (r == 0 && run->dir_fd >= 0)
        r = spool_file_sync(run->dir_fd);
    return r < 0 ? end_error(run, r, err) : 0;
}

int spool_run_load_end(struct spool_run *run, struct buf *buf, struct err *err)
{
    AUTO_FD int fd = run->dir_fd >= 0 ? file_open_at(run->dir_fd, SPOOL_END, O_RDONLY | O_NOFOLLOW) : -ENOENT;
    int r = fd >= 0 ? file_read_fd(fd, FILE_TO_END, buf) : fd;
    if (r == 0 && str_trim(buf_str(buf)).n == 0)
        r = -ENOENT;
    if (r < 0)
        return err_sys(err, r == -ENOENT ? -ENODATA : r, "spool %s/%s/%s", run->spool->path, run->name, SPOOL_END);
    return 0;
}
