/* SPDX-License-Identifier: Apache-2.0 */
/* The account of every process of the tree, and the members themselves. */
#ifndef COLLECT_TREE_MEMBERS_H
#define COLLECT_TREE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"
#include "collect/tree/pss.h"
#include "collect/tree/wait.h"
#include "kernel/pid.h"

/*
 * The accounts of a process tree: every amount counts exactly once, although the kernel moves it. What a process used
 * itself and what it inherited from children it waited for only ever moves upward: when a process is waited for,
 * all of it appears in its parent. So a tree that is read from the top down can miss an amount for one tick, but
 * never see it twice. Pure: knows no files and no processes.
 */

/* CPU time in ns, of which user time, bytes, faults. */
enum tree_flow { FLOW_CPU, FLOW_USER, FLOW_READ, FLOW_WRITE, FLOW_FAULTS, FLOWS };

/* One reading of a process. */
struct ledger_reading {
    uint64_t value[FLOWS]; /* own and inherited */
    uint64_t intake[FLOWS]; /* the part that grows when a child is waited for */
    uint64_t settled[FLOWS]; /* what its parent's intake will grow by at least when it is waited for */
    bool known[FLOWS];
};

/* The account of a process, or of the tracker, which waits for the root and for orphans. All zeros at the start. */
struct ledger_account {
    uint64_t value[FLOWS], intake[FLOWS], settled[FLOWS];
    uint64_t growth[FLOWS]; /* of the intake in this tick */
    uint64_t pending[FLOWS]; /* of children that vanished in the tick before this one */
    uint64_t pending_new[FLOWS]; /* of children that vanished in this tick */
    uint64_t unattributed[FLOWS], unattributed_new[FLOWS]; /* the same of descendants whose parent vanished with them */
    bool known[FLOWS];
    bool is_fresh; /* read in this tick */
    bool is_chain_fresh; /* and so was every account that could cover its unattributed amounts */
};

struct ledger {
    uint64_t lost[FLOWS]; /* of those that were never waited for */
    uint64_t sum[FLOWS]; /* of the accounts added so far in this tick */
    uint64_t mark[FLOWS]; /* the highest total so far: what was reported never shrinks */
};

/* A tick begins: what vanished in the last one is due now. For every account. */
void ledger_begin(struct ledger_account *account);

/* A new reading of this tick; a flow that is not known keeps its last value. */
void ledger_update(struct ledger_account *account, const struct ledger_reading *reading);

/* A process has vanished: parent is still there, or NULL where the amounts go nowhere. */
void ledger_close(struct ledger *ledger, const struct ledger_account *account, struct ledger_account *parent);

/* The same where its parent has vanished as well: the nearest one above, or any above that, will get it. */
void ledger_close_unattributed(const struct ledger_account *account, struct ledger_account *nearest);

/* Is anything pending? Then it must be read in this tick, and every process above it as well. */
bool ledger_has_pending(const struct ledger_account *account);

/*
 * The tick ends for an account, after every account was closed that is gone: its growth covers those that vanished.
 * What a reading of the next tick has not covered was never waited for, and is kept as lost; without a reading it
 * stays pending. Adds the account to the sum of the tick.
 */
void ledger_settle(struct ledger *ledger, struct ledger_account *account);

/* After all were settled: what is left of the growth of `source` covers unattributed amounts of the account, which is
 * below it or the same. */
void ledger_attribute(struct ledger_account *account, struct ledger_account *source);

/* And then what was not covered: lost where all that could cover it were read in this tick, else part of the sum. */
void ledger_settle_unattributed(struct ledger *ledger, struct ledger_account *account);

/* The growth of the total since the last call; clears the sum for the next tick. */
void ledger_pop_growth(struct ledger *ledger, uint64_t ret_growth[FLOWS]);

/*
 * The processes of the tree. Once seen, a process stays a member until it is gone, whatever becomes of its parent. The
 * order in which members are read, parents before children, is kept until the tree changes.
 */

enum { TREE_MEMBERS_MAX = 32768, TREE_KEPT_FILES = 4 };

#define TREE_NONE SIZE_MAX

/* The files of a process that are kept open as far as descriptors go. */
enum tree_file { TREE_FILE_STAT, TREE_FILE_IO, TREE_FILE_CHILDREN, TREE_FILE_THREAD };

/* The files of threads that may have children of their own. */
struct tree_threads {
    struct tree_thread {
        pid_t tid;
        int fd; /* -1: not kept */
    } * items;
    size_t count, cap;
    int task_fd; /* the listing; -1: not open */
};

/* What of its resident memory counts; see read.h. */
struct tree_memory {
    bool is_own; /* its address space is known not to be that of its parent */
    bool is_parents; /* it is */
    bool is_unknown; /* its first thread has ended, and no other could be read */
    pid_t tid; /* the thread whose files show it; 0: the first */
    bool is_copy; /* forked without an exec: pages of its family may be among its own */
    uint64_t resident_pages; /* what its address space holds, its own or not */
    uint64_t rss_pages; /* the part that counts for the tree's sum of RSS */
    uint64_t own_pages; /* of a copy: what it does not share with its parent, as far as is seen */
    bool is_searched; /* for relatives, where its parent was gone */
    size_t head; /* of a copy: the slot of the first process of its family, free after its end; else TREE_NONE */
    pid_t head_pid;
    uint64_t base_pages; /* of a copy: what it had from its parent */
    uint64_t file_pages, at; /* from its statm, at so many pages, or minor faults of a copy; 0: not read */
};

struct tree_member {
    pid_t pid; /* 0: a free slot */
    pid_t parent_pid; /* as last read */
    size_t parent; /* its slot; TREE_NONE: not a member */
    bool is_orphan; /* its parent has ended, and what adopted it is not known yet: parent is the next one above */
    size_t next; /* in its chain of the index, or of free slots */
    size_t first_child, next_sibling; /* while the order is made */
    bool is_sorted;
    uint64_t pass; /* in which it was last read */
    int64_t first_ns, stat_ns, found_ns; /* first seen, stat read, children listed */
    int fds[TREE_KEPT_FILES]; /* -1: not kept */
    struct tree_threads threads;
    struct opt_u64 cpu_ns; /* its CPU clock */
    uint64_t cpu_before_ns; /* what it had used itself before the run */
    struct pid_stat stat; /* the newest that could be read */
    struct pid_io io;
    bool has_stat; /* once read */
    bool is_hidden; /* there, but we may not see it (hidepid) */
    bool has_io;
    bool is_ending; /* its I/O could not be read because it was about to go: its parent will have it */
    bool is_gone; /* found out in this tick */
    bool has_ended; /* known although it is hidden from us */
    int64_t io_retry_ns; /* a file that we may not read is tried again then */
    bool is_reaped; /* we waited for it */
    bool is_pending; /* amounts of it, or of one below it: its files must be read in this tick */
    bool has_run; /* since its children were listed */
    struct ledger_account account;
    struct pss_memory pss;
    struct wait_process wait;
    uint64_t affinity_cpu_ns; /* its CPU time when affinities were last read */
    struct tree_memory memory;
    struct {
        uint64_t faults, pages; /* minor faults and resident memory, as last read */
        uint64_t read_faults; /* minor faults when its highest memory was last read */
    } peak; /* top.c */
    bool is_namespace_known; /* its PID namespace was read */
    bool has_no_record; /* there were too many */
    uint32_t record; /* its number in the history, counted from 1; 0: none */
};

struct tree_members {
    struct {
        struct tree_member *items;
        size_t count, cap; /* slots in use or free */
    } slots;
    struct {
        size_t *items; /* slots, parents before children */
        size_t count, cap;
    } order, index; /* index: chains by PID, count is their number */
    size_t free_slot;
    size_t live; /* members */
    uint64_t added; /* so far */
    bool is_order_stale;
};

void tree_members_init(struct tree_members *members);
void tree_members_fini(struct tree_members *members);

/* The slot of a PID, or TREE_NONE. */
size_t tree_members_find(const struct tree_members *members, pid_t pid);

static inline struct tree_member *tree_member_at(const struct tree_members *members, size_t slot)
{
    return &members->slots.items[slot];
}

/*
 * A new member at the end of the order, zeroed but for PID, parent (a slot, or TREE_NONE) and descriptors. Returns
 * its slot, or TREE_NONE where there are too many or no memory. Pointers to members do not survive this.
 */
size_t tree_members_add(struct tree_members *members, pid_t pid, size_t parent);

/* Its descriptors must be closed before, and no member may name it as parent any more. */
void tree_members_remove(struct tree_members *members, size_t slot);

/* Members whose parent is gone become children of the nearest one above that is not. */
void tree_members_relink(struct tree_members *members);

/* After changes: parents before children again. Where a parent was not a member, it is searched for once more. */
void tree_members_sort(struct tree_members *members);

#endif
