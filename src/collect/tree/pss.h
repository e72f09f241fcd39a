/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proportional memory on a budget. Reading smaps_rollup costs time in proportion to resident memory and holds the
 * target's memory lock meanwhile, so all reads together may take PSS_SHARE of a core, none may be predicted to take
 * longer than PSS_READ_NS, and in between the last PSS/RSS ratio of each process is applied to its RSS of now.
 */
#ifndef COLLECT_TREE_PSS_H
#define COLLECT_TREE_PSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "collect/collect.h"

#define PSS_SHARE 0.005
#define PSS_READ_NS (50 * NS_PER_MS)
#define PSS_BANK_NS (60 * NS_PER_MS) /* what may be saved up */
#define PSS_TICK_NS (4 * NS_PER_MS) /* what one tick may take if it is more than one read */
#define PSS_MIN_AGE_NS (NS_PER_SEC / 2) /* of a process before its first read */
#define PSS_COPY_NS NS_PER_SEC /* the same of a copy */
/* But where so much of a copy is its own it is read at once; and one that has less than so many pages of its own never:
 * what it seems to have written to is near enough. */
enum { PSS_WRITING_SHARE = 8, PSS_COPY_PAGES = 1024 };
#define PSS_STALE_NS (30 * NS_PER_SEC) /* read again even where nothing seems to change */
#define PSS_SHARED_NS (5 * NS_PER_SEC) /* the same after processes came or went, that may share pages */
#define PSS_REWRITTEN_NS NS_PER_SEC /* the same where shared memory seems to be written to */
#define PSS_RETRY_NS (5 * NS_PER_SEC) /* after a read that failed */
#define PSS_RESET_NS (600 * NS_PER_SEC) /* a cost that forbids every read could never be corrected otherwise */
#define PSS_FIRST_NS_PER_PAGE 20.0 /* cost before the first measurement */
enum { PSS_DOUBTS_MAX = 3 }; /* then a reading is believed */

/* What is remembered of one process; all zeros at its birth. */
struct pss_memory {
    bool is_known; /* pss_kib and at_rss_pages are from a reading */
    bool is_refused; /* not permitted: its RSS is used instead */
    bool has_failed; /* the last read did, for another reason */
    unsigned char doubts; /* readings in a row that were not believed */
    uint64_t pss_kib, at_rss_pages; /* pss_kib: what its family shares counts whole; at_rss_pages: in that tick */
    struct opt_u64 private_kib; /* that no other process had; absent where it has forked since */
    uint64_t file_kib; /* of files and shared memory: any process may have it too */
    uint64_t others_pages; /* of the other processes in that tick but copies */
    struct opt_u64 minor_faults; /* of the tick before */
    uint64_t at_faults; /* pss.faults in the tick of the reading */
    uint64_t at_counted_pages; /* its own pages in that tick if it is a copy, else all */
    int64_t read_ns; /* monotonic, when it was last read or tried */
    int64_t forked_ns; /* monotonic, when the last copy of it was first seen; 0: there was none */
    double ns_per_page; /* moving average; 0: not measured yet */
    double all_bytes; /* in this tick */
    /* Of its family in this tick: it and the copies of its memory, in bytes but for members. */
    struct pss_family {
        size_t members;
        double shared, own; /* the most that one of them shares, and the sum of what they do not */
        bool has_head; /* the first process of it lives */
        bool is_read; /* one of them was, or may not be read */
    } family;
};

/* It was copied: the copy was first seen at that time. What it had alone before is shared now. */
static inline void pss_note_fork(struct pss_memory *memory, int64_t first_ns)
{
    if (memory->forked_ns >= first_ns)
        return;
    memory->forked_ns = first_ns;
    memory->private_kib.has = false;
}

/* One live process in a tick. */
struct pss_process {
    pid_t pid; /* or the number of one of its threads: whose smaps_rollup is read */
    int64_t age_ns; /* since it was first seen */
    uint64_t rss_pages;
    uint64_t own_pages; /* of a copy: what its parent does not have, as far as is seen */
    struct opt_u64 file_pages; /* at most so much of it is shared, but with its family; only where it was never read */
    uint64_t minor_faults; /* so far */
    bool is_copy; /* forked without an exec: it shares memory with its parent */
    bool is_adopted; /* the same, but its parent is gone, and others may be as it is */
    struct pss_memory *memory, *head; /* head: of the first process of its family; its own where it is that */
    const struct pss_memory *parent; /* of a copy of a copy: that one's; NULL: it is none */
};

enum { PSS_TEXT_BYTES = 4096 };

struct pss {
    const struct collect_env *env;
    enum tracked_pss mode;
    char text[PSS_TEXT_BYTES]; /* of a file, where nothing supervises the reader */
    int64_t bank_ns; /* CPU time that may be spent now */
    int64_t banked_ns; /* monotonic, when it was last filled; 0: never */
    double ns_per_page; /* mean over all reads, for processes not measured yet */
    uint32_t measured; /* reads in that mean */
    size_t count; /* processes in the last tick */
    int64_t count_changed_ns; /* monotonic, when that was last another number */
    uint64_t tree_pages; /* of all processes in this tick but copies */
    uint64_t faults; /* minor faults so far of processes that share memory: pages that may be shared no longer */
    double copies_read_bytes, copies_own_bytes; /* of all copies read so far: private memory, and as they counted */
    bool is_absent; /* this kernel has no smaps_rollup */
    bool has_read; /* it has one */
};

void pss_open(struct pss *pss, const struct collect_env *env, enum tracked_pss mode);

/*
 * One tick over the live processes of the tree (any order; the list may be re-ordered): reads those that are due
 * within the budget, and returns the sum in bytes. Of a family (a process and its forked copies) what they share counts
 * once, and what each has alone: as it was read, else as faults show. Of a process that was never read RSS counts, less
 * what the others share. Absent where the kernel has none, where the mode is never, where none could be read, or where
 * more than half of the memory was not read and more than an eighth may be shared. A tree without resident memory has
 * 0. err (left alone where it is set already) names a process that may not be read, once per process, or a file that is
 * broken. A process that has gone or was replaced meanwhile (ESRCH, ENOENT) is silently skipped.
 */
struct opt_f64 pss_tick(struct pss *pss, struct pss_process *processes, size_t count, int64_t now_ns, struct err *err);

#endif
