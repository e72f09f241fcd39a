/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory in which runs wait for delivery. One directory per run: "lock" (held while a tracker or an upload works
 * on it), "state.json", "end" (how the run ended), sealed batches "NNNNNN.csv.gz", and "NNNNNN.csv", the rows of the
 * batch that is still open. Files are written beside, synced and renamed into place, so that each is whole or not
 * there; the open batch is appended to, so that a killed tracker loses no row; the end is overwritten in place, so that
 * a disk that is full takes it. Directories are 0700 and files 0600.
 */
#ifndef STREAM_SPOOL_SPOOL_H
#define STREAM_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    SPOOL_NAME_BYTES = 64,
    SPOOL_ASIDE_BYTES = 32,
    SPOOL_RUNS_MAX = 4096,
    SPOOL_BATCHES_MAX = 1000000, /* six digits */
    SPOOL_STATE_BYTES_MAX = 1024 * 1024,
    SPOOL_BATCH_BYTES_MAX = 4 * 1024 * 1024,
    SPOOL_MEMORY_BYTES_MAX = 4 * 1024 * 1024, /* of batches that no disk takes */
};

/* Where the spool may be; NULL where unknown. */
struct spool_paths {
    const char *given; /* TRACKER_SPOOL: this one or none */
    const char *state_home, *home; /* $XDG_STATE_HOME (only if absolute), $HOME */
};

/* The spool as a whole. */
struct spool {
    int dir_fd; /* -1: there is none, batches stay in memory */
    char path[4096];
    uint64_t max_bytes;
    unsigned made; /* so many directories at the end of the path are new and may go when they are empty */
    bool is_shared; /* it lies in /var/tmp or /tmp */
};

/*
 * Opens the spool; with `is_wanted` it is made where it is missing (parents too): given and no other, else the first
 * that can be had of state_home/resource-tracker/spool, home/.local/state/resource-tracker/spool (a home of ours only),
 * /var/tmp/resource-tracker-UID/spool, and the same in /tmp. Must be a directory of ours that no other user may write:
 * -EPERM, and outside of /var/tmp and /tmp no further path is tried then. Returns 0, -ENOENT (not wanted and not
 * there) or another negative errno with a message that names the path; on failure *ret_spool has dir_fd -1 and can
 * still be used: batches then stay in memory.
 */
int spool_open(
    struct spool *ret_spool, const struct spool_paths *places, uint64_t max_bytes, bool is_wanted, struct err *err);

/* Removes the directories that it made, where they are empty. */
void spool_close(struct spool *spool);

struct spool_batch {
    uint32_t number;
    uint64_t bytes;
    char *memory; /* where no disk took it; else NULL */
};

/* One run in it. */
struct spool_run {
    struct spool *spool;
    int dir_fd, lock_fd, journal_fd, end_fd; /* -1: none */
    char name[SPOOL_NAME_BYTES];
    uint32_t open_number; /* of the batch that is being filled */
    uint64_t journal_bytes;
    bool is_state_safe; /* it, and the directory that it is in, were synced */
    bool is_journal_torn; /* half a row behind those bytes, which could not be cut off */
    uint64_t sealed_bytes, memory_bytes; /* of the batches, less the passing one */
    bool may_pass; /* set by the caller: some target takes a batch now */
    bool has_passing; /* one batch that nothing has room for: in memory, until the next one is sealed */
    uint32_t passing;
    struct {
        struct spool_batch *items; /* oldest first */
        size_t count, cap;
    } batches;
};

/*
 * Makes and locks the directory of a new run; name: letters, digits, '-', '_' and '.'. With a spool that has dir_fd -1
 * this succeeds, in memory. Returns 0 or a negative errno with a message (*ret_run can then still be used, in memory).
 */
int spool_run_create(struct spool_run *ret_run, struct spool *spool, const char *name, struct err *err);

/*
 * Opens what an earlier run left. Returns 0, -EBUSY (a tracker or another upload works on it), or a negative errno with
 * a message. Sealed batches are listed; leftovers of writes that were cut off are removed. The open batch, if there is
 * one, is found by spool_run_read_journal.
 */
int spool_run_open(struct spool_run *ret_run, struct spool *spool, const char *name, struct err *err);

/* Closes and unlocks; everything on disk stays. What is in memory is offered to the disk once more, then gone. */
void spool_run_close(struct spool_run *run);

/*
 * Removes the directory and everything of ours in it, then closes. Returns 0 or a negative errno with a message:
 * -ENOTEMPTY where there is something else in it, which stays with its directory; -ENODATA where that is only what was
 * set aside.
 */
int spool_run_remove(struct spool_run *run, struct err *err);

/* Replaces "state.json", synced. Harmless in memory. */
int spool_run_save_state(struct spool_run *run, struct str bytes, struct err *err);
int spool_run_note_state(struct spool_run *run, struct str bytes, struct err *err); /* no sync: before the first save */
int spool_run_load_state(struct spool_run *run, struct buf *buf, struct err *err);

/*
 * The end of the run: room for it is taken early, so that a full disk takes it later, and it is there at once where the
 * tracker is killed; spool_run_sync_end waits for the disk. Text is at most SPOOL_END_BYTES. Each returns 0 or a
 * negative errno with a message; loading gives -ENODATA where there is none. Harmless in memory.
 */
enum { SPOOL_END_BYTES = 256 };
int spool_run_reserve_end(struct spool_run *run, struct err *err);
int spool_run_note_end(struct spool_run *run, struct str text, struct err *err);
int spool_run_sync_end(struct spool_run *run, struct err *err);
int spool_run_load_end(struct spool_run *run, struct buf *buf, struct err *err);

/* Appends whole lines to the rows of the open batch; no sync. Returns 0 or a negative errno with a message. */
int spool_run_journal(struct spool_run *run, struct str lines, struct err *err);

/* The rows of the open batch as they are on disk, up to the last LF, in pieces (a header line comes first). Returns
 * 0, -ENODATA (there is none), the negative errno of `take`, or another. */
int spool_run_read_journal(
    struct spool_run *run, int (*take)(void *context, struct str piece), void *context, struct err *err);

/*
 * The open batch is complete: keeps its compressed form under its number and begins the next one. On disk, where the
 * rows are dropped then; else in memory, where the rows stay (a kill would lose them) unless they are in the way.
 * Batches in memory are tried first. Returns 0; 1 where it is kept in memory only (err says why the disk does not take
 * it, or that the spool is full: max_bytes); 2 where the memory is full too, and with may_pass it is there for targets
 * that take it at once; -ENOSPC where it is not: the batch is lost, its number not used up, and err says what is full;
 * or another negative errno with the same meaning.
 */
int spool_run_seal(struct spool_run *run, struct str compressed, struct err *err);

/* Offers batches in memory to the disk, oldest first. Returns 0, or a negative errno where some are still there. */
int spool_run_flush(struct spool_run *run);

/* Is there room for the passing batch now? Then it is kept like any other: true. */
bool spool_run_keep_passing(struct spool_run *run);

/*
 * Makes the smallest number with unsealed rows on disk the open one (the first free number where there is none). Rows
 * that are also sealed are dropped. Returns 1, 0 (there are none) or a negative errno.
 */
int spool_run_find_journal(struct spool_run *run);

/* The open batch is lost or empty: drops its rows. */
void spool_run_drop_journal(struct spool_run *run);

/* Would a batch of this size still fit? The sizes of the other runs are looked up. */
bool spool_run_has_room(struct spool_run *run, uint64_t bytes);

/* The batch with this number, replacing the content of buf. 0 or a negative errno with a message. */
int spool_run_read(struct spool_run *run, uint32_t number, struct buf *buf, struct err *err);

/* Delivered: drops it. */
void spool_run_drop(struct spool_run *run, uint32_t number);

/* Cannot be read: drops it, and keeps what is left of the file as "NNNNNN.csv.gz.bad". ret_kept: that name, or ""
 * where there is nothing to keep. */
void spool_run_set_aside(struct spool_run *run, uint32_t number, char ret_kept[static SPOOL_ASIDE_BYTES]);

/* The runs in the spool, sorted by name. Free the array. Returns their number or a negative errno with a message. */
struct spool_entry {
    char name[SPOOL_NAME_BYTES];
};
int spool_list(struct spool *spool, struct spool_entry **ret_entries, struct err *err);

/* Bytes of all runs but one; the count stops where it is above enough. */
uint64_t spool_count_bytes(const struct spool *spool, const char *but_run, uint64_t enough);

#endif
