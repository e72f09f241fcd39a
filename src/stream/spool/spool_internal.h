/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the spool share: names in a run's directory, whole files written beside and renamed, locks. Not for
 * others; they include spool.h.
 */
#ifndef STREAM_SPOOL_SPOOL_INTERNAL_H
#define STREAM_SPOOL_SPOOL_INTERNAL_H

#include "base/file.h"
#include "stream/spool/spool.h"

enum { SPOOL_FILE_BYTES = 24, SPOOL_HIDDEN_BYTES = SPOOL_NAME_BYTES + 8 };

#define SPOOL_LOCK "lock"
#define SPOOL_STATE "state.json"
#define SPOOL_END "end"

enum spool_kind {
    SPOOL_KIND_FOREIGN,
    SPOOL_KIND_LOCK,
    SPOOL_KIND_STATE,
    SPOOL_KIND_END,
    SPOOL_KIND_SEALED, /* NNNNNN.csv.gz */
    SPOOL_KIND_JOURNAL, /* NNNNNN.csv */
    SPOOL_KIND_ASIDE, /* NNNNNN.csv.gz.bad */
    SPOOL_KIND_TEMPORARY, /* a sealed batch or a state with ".new" behind it */
};

/* ret_number is written for sealed batches and journals only. */
enum spool_kind spool_file_kind(const char *name, uint32_t *ret_number);

void spool_file_name_sealed(char ret_name[static SPOOL_FILE_BYTES], uint32_t number);
void spool_file_name_journal(char ret_name[static SPOOL_FILE_BYTES], uint32_t number);

/* Letters, digits, '-', '_' and '.', the first no dot, at most SPOOL_NAME_BYTES - 1 of them. */
bool spool_is_run_name(const char *name);

/* fsync; file systems that have no such thing for directories are forgiven. */
int spool_file_sync(int fd);

/* Writes beside, syncs, renames, syncs the directory. 0 or a negative errno, with nothing new left behind. */
int spool_file_replace(int dir_fd, const char *name, struct str bytes);

/* The same without any sync: it outlives us, though perhaps not the machine, and no disk holds it up. Never over a file
 * that was synced: XFS may have the new name after a loss of power, and none of the bytes. */
int spool_file_put(int dir_fd, const char *name, struct str bytes);

/* Syncs the names of the spool: its runs, and those of its parents that are new. 0 or a negative errno. */
int spool_sync(const struct spool *spool);

/* A directory as it is, no link. The descriptor or a negative errno. */
int spool_dir_open(int parent_fd, const char *name);

/* Is the open file still the one that has this name? */
bool spool_file_is_at(int fd, int dir_fd, const char *name);

/* Takes the lock of a run's directory without waiting; flags: O_CREAT or 0. The descriptor that holds it, -EBUSY,
 * -ENOENT (there is none, or it was taken away meanwhile), or another negative errno. */
int spool_lock_take(int dir_fd, int flags);

/* Removes the files that are ours from a run's directory, the lock last. 0, -ENOTEMPTY (with the name of a file that is
 * not ours, or else of one that was set aside) or another negative errno. */
int spool_dir_empty(int dir_fd, char ret_foreign[static SPOOL_NAME_BYTES]);

/* Makes and opens the directory of the spool again, where an ending tracker has just removed it for being empty. */
int spool_revive(struct spool *spool, struct err *err);

#endif
