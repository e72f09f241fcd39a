/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one process of the tree: its CPU clock always, its stat and io where it has run since. Descriptors are kept
 * as far as they go; one that is kept belongs to that very process and fails once it is gone, a file that is opened
 * anew is compared by start time, so a PID that is used again is noticed.
 */
#ifndef COLLECT_TREE_READ_H
#define COLLECT_TREE_READ_H

#include "collect/collect.h"
#include "collect/tree/members.h"

/* Resident memory of a process that does not run can shrink, when others need it. */
#define TREE_IDLE_NS (900 * NS_PER_MS)
enum { TREE_RESERVED = 4 }; /* descriptors held back where none may be kept */
enum { TREE_TEXT_BYTES = 4096 }; /* of a file of a process */
enum { TREE_SMALL = 256 }; /* members; above, idle ones are read every COLLECT_SLOW_NS */
struct tree_history;
struct tree_reader {
    const struct collect_env *env;
    struct tree_history *history; /* NULL: not wanted */
    size_t kept; /* descriptors */
    size_t kept_threads; /* of them, schedstat of threads other than the first of a process */
    struct buf list; /* children, as text */
    char text[TREE_TEXT_BYTES]; /* of a file, where nothing supervises the reader */
    bool has_io, has_no_io; /* this kernel accounts for I/O, or does not */
    bool has_no_children; /* this kernel does not list children */
    bool has_no_kcmp; /* nor does it compare processes */
    bool saw_reuse; /* in this tick: a PID that is another process's now */
    ino_t own_namespace; /* our PID namespace; 0: not known */
    struct err io_err; /* why the I/O of a member is unknown, the last time it was */
};

void tree_reader_init(struct tree_reader *reader, const struct collect_env *env);
void tree_reader_fini(struct tree_reader *reader);

/*
 * A new reading into the member and its account. Returns 0, or -ESRCH where it is gone; everything else that fails
 * leaves values unknown.
 */
int tree_read_member(struct tree_reader *reader, struct tree_member *member, int64_t now_ns, bool reads_idle);

/* Its own CPU time as it was last read. */
uint64_t tree_own_cpu_ns(const struct collect_env *env, const struct tree_member *member);

/*
 * A process that is to become a member: reads its stat. Returns 0, -ESRCH where there is none, or -EACCES where it is
 * hidden from us.
 */
int tree_read_candidate(struct tree_reader *reader, pid_t pid, struct pid_stat *ret_stat);

/* The same through the descriptor at *fd, which is kept there where descriptors go so far. */
int tree_read_stat(struct tree_reader *reader, pid_t pid, int *fd, struct pid_stat *ret_stat);

/* The highest memory of a process so far; absent where it cannot be read. */
struct opt_u64 tree_read_peak_kib(struct tree_reader *reader, pid_t pid);

/* Its statm, read without a kept descriptor. Returns 0 or a negative errno. */
int tree_read_statm(struct tree_reader *reader, pid_t pid, struct pid_statm *ret_statm);

/* The children that one thread has made, as text in reader->list. */
int tree_read_children(struct tree_reader *reader, pid_t pid, pid_t tid, int *fd);

/* The schedstat of a thread, or with tid 0 of the first one. Returns 0, or a negative errno: -ESRCH where a kept file
 * says that it is gone, -ENOENT where there is no such file. */
int tree_read_schedstat(struct tree_reader *reader, pid_t pid, pid_t tid, int *fd, struct pid_schedstat *ret_schedstat);

/*
 * Is this process in a PID namespace below ours? One call where we may know, three where its status must be read.
 * False where it is gone.
 */
bool tree_read_is_in_namespace(struct tree_reader *reader, pid_t pid);

/*
 * The start of its command line as it is in memory, at most TREE_TEXT_BYTES: arguments, each with a NUL, or what it has
 * written there instead. *ret_text points at it until the next read. Opens one file. Returns the number of bytes or a
 * negative errno; -ETIMEDOUT where its memory cannot be read now.
 */
ssize_t tree_read_command(struct tree_reader *reader, pid_t pid, const char **ret_text);

/* The same as it may be shown, where describe_command of the environment is given. Returns 0 or a negative errno;
 * -ENODATA of a kernel thread, -ETIMEDOUT as above. */
int tree_read_described(struct tree_reader *reader, pid_t pid, char *out, size_t size);

/* Closes what is kept of a member. */
void tree_release_files(struct tree_reader *reader, struct tree_member *member);
void tree_release_fd(struct tree_reader *reader, int *fd);

/*
 * Which resident memory of a member counts. One address space counts once: between vfork (posix_spawn, subprocess,
 * ProcessBuilder) and exec a child has that of its parent, and both report all of it, as RSS and as PSS. A copy that
 * was forked a moment ago and has not executed anything yet holds its parent's pages and nothing else. Of a process
 * whose first thread has ended the files of another thread show the memory.
 */

/* Most children execute their program within this time; older ones are asked for their address space. */
#define TREE_NEWBORN_NS (100 * NS_PER_MS)

/*
 * Fills member->memory of a live member that was seen in this tick; its parent's was filled before. list: for the
 * threads of a process whose first one has ended. Costs calls only for those, and for members that were forked more
 * than TREE_NEWBORN_NS ago without executing anything: once, or, while they have their parent's memory, in every tick.
 */
void tree_memory_settle(
    struct tree_reader *reader, const struct tree_members *members, struct tree_member *member, struct pid_list *list);

/* The PSS of the parent of a copy that is a copy itself, in the same family; NULL: there is none. */
const struct pss_memory *tree_memory_copied(const struct tree_members *members, const struct tree_member *member);

/* same_memory of the environment as the kernel answers it (kcmp); needs the rights that reading PSS needs. */
int tree_memory_kcmp(void *context, pid_t a, pid_t b);

#endif
