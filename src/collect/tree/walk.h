/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tick over the whole tree: finding new members, reading all of them, and the control group of the command; then,
 * which of the members are reported by themselves.
 */
#ifndef COLLECT_TREE_WALK_H
#define COLLECT_TREE_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/file.h"
#include "collect/collect.h"
#include "collect/tree/members.h"
#include "collect/tree/read.h"
#include "model/sample.h"

/*
 * Finding new members of the tree: from the lists of children that the kernel keeps per thread, or, where it keeps none
 * (no CONFIG_PROC_CHILDREN), from the whole of /proc, where each process is read once.
 */

enum { TREE_NON_MEMBERS_MAX = 262144 };

struct tree_finder {
    struct tree_reader *reader;
    struct tree_members *members;
    int own_fd; /* the list of our own children; -1: not open */
    bool is_full; /* there are more than fit */
    bool is_incomplete; /* a process could not be added: search again next time */
    bool has_unread_threads; /* in this tick: a member has more threads than could be asked for their children */
    struct pid_list list;
    int proc_fd; /* the listing of /proc; -1: not open */
    struct tree_non_members {
        struct tree_non_member {
            pid_t pid, parent;
            bool is_orphan;
        } * items;
        size_t count, cap;
    } non_members, seen; /* processes outside of the tree, by PID; and the next such list in the making */
    uint64_t forks; /* when the list of non-members was begun */
};

void tree_finder_init(struct tree_finder *finder, struct tree_reader *reader, struct tree_members *members);
void tree_finder_fini(struct tree_finder *finder);

/* The root: ours, or, where we attach, any process. */
void tree_find_root(struct tree_finder *finder, pid_t pid, int64_t now_ns);

/* A process that is known to belong to the tree by other means. */
void tree_find_listed(struct tree_finder *finder, pid_t pid, int64_t now_ns);

/* New children of a member; -ENOENT where this kernel does not list them. Pointers to members do not survive this. */
int tree_find_children(struct tree_finder *finder, size_t slot, int64_t now_ns);

/*
 * Children of members that were born since the newest PID was `from`, whatever made them: every number up to `to` is
 * tried, which takes one call each. Nothing where one of the two is not known, where they are too far apart or where
 * the numbers have come round. The same for pointers.
 */
void tree_find_newborn(struct tree_finder *finder, struct opt_u64 from, struct opt_u64 to, int64_t now_ns);

/* Orphans that have become our children. */
void tree_find_orphans(struct tree_finder *finder, int64_t now_ns);

/* All of /proc; forks: processes made since boot. */
void tree_find_scan(struct tree_finder *finder, uint64_t forks, int64_t now_ns);

/*
 * The control group of the command (--cgroup), or the one that is tracked (--attach-cgroup), as the tree collector
 * reads it: what its members have used, those that were never waited for included, and which they are.
 */

enum { TREE_GROUP_MEMBERS_MAX = 65536 };

struct tree_group {
    int dir_fd;
    bool is_v1; /* of the cpuacct controller */
    bool has_below; /* it is one that we attach to: groups below it belong to it */
    struct kept_file cpu_stat, procs;
    struct buf cpu_text, procs_text;
    struct {
        pid_t *items;
        size_t count, cap;
    } members;
};

/* Returns 0; -ENODATA where there is no such group; or another negative errno. Below 0 nothing is open. */
int tree_group_open(struct tree_group *group, const struct collect_env *env);
void tree_group_close(struct tree_group *group);

/*
 * CPU time since the group was made, user time being part of the total; v1 does not say what part, and that is left as
 * it is. Returns 0, -EBADMSG where the file lacks
 * them, or another negative errno (-ENODEV: the group is gone).
 */
int tree_group_cpu(struct tree_group *group, uint64_t *ret_total_us, uint64_t *ret_user_us);

/*
 * The processes in the group itself, and in those below one that is tracked, in no order; one that comes and goes
 * meanwhile may be there twice. Those outside of our PID namespace are left out. The list is good until the next call.
 * Returns 0, -E2BIG for more than TREE_GROUP_MEMBERS_MAX, -EBADMSG for a line that is no PID, or another negative
 * errno.
 */
int tree_group_members(struct tree_group *group, const pid_t **ret_pids, size_t *ret_count);

/*
 * Every process that was seen (history.c), from its start to its end. Their number is bounded; those that do not fit
 * are summed by program when they end. The CPU times of all records, with what is not of a record, are those of the
 * tree.
 */

enum { TREE_RECORDS_MAX = 16384, TREE_PROGRAMS_MAX = 512 };

struct tree_record {
    uint64_t cpu_ns; /* of its own, in the run */
    uint64_t reaped_ns; /* of processes that it has waited for, as far as it was not seen of them */
    uint64_t read_bytes, write_bytes; /* of both */
    uint32_t start_ms, end_ms; /* since the start; end: when it was found to have ended, 0 before */
    pid_t pid; /* 0: the sum of `parent` processes, end_ms being the time they have lived */
    uint32_t parent; /* number of another record, counted from 1; 0: none */
    uint32_t rss_pages; /* the most in a tick */
    uint32_t command; /* number of its command line, counted from 1; 0: none */
    uint16_t program; /* the same of its name */
    uint16_t status; /* exit status as a shell has it, and 1 more; 0: not known */
    bool is_sampled; /* seen in a sample */
    bool is_reported; /* its birth or its end was, by the kernel: what is born by its number next is another process */
    bool has_io;
    bool is_read; /* its command line was, or cannot be */
    bool is_copy; /* it had not executed anything then */
};

/* All zeros before it is opened. */
struct tree_history {
    struct {
        struct tree_record *items;
        size_t count, cap;
    } records;
    struct {
        struct tree_program {
            char name[PID_NAME_BYTES];
            uint32_t sum; /* number of the record with those that did not fit; 0: none */
        } * items;
        size_t count, cap;
    } programs;
    struct buf commands; /* each with a NUL */
    uint32_t command_count;
    uint32_t root; /* number of its record; 0: none */
    size_t reads; /* of command lines, in this tick */
    int events_fd; /* exact mode: what the kernel reports; -1: off */
    uint32_t *by_pid; /* numbers of records, while it is on */
    bool has_gaps; /* messages were lost */
    uint64_t unlisted_unseen; /* reported where there were too many records, and not sampled */
    struct tree_record orphans; /* of those we have waited for, as far as it was not seen: the root's at the end */
    struct buf text;
    struct {
        const char **items;
        size_t count, cap;
    } texts;
};

/* env may have a descriptor of events_open: it is closed here. */
void tree_history_open(struct tree_history *history, const struct collect_env *env);
void tree_history_close(struct tree_history *history);

/* Exact mode: everything that was reported by now. May be abandoned in a read, and then called again. */
void tree_history_receive(struct tree_reader *reader);

/* After a walk, before the members are updated. */
void tree_history_tick(struct tree_history *history, struct ledger_account *tracker);

/* A member that was read in this tick. May be abandoned in a read, and then called again. */
void tree_history_update(struct tree_reader *reader, const struct tree_members *members, struct tree_member *member,
    int64_t now_ns, bool is_baseline);

/* Its command line was read by something else. */
void tree_history_describe(struct tree_history *history, const struct tree_member *member, const char *command);

/* A member that is gone, before its account and its slot are. */
void tree_history_end(
    const struct tree_reader *reader, const struct tree_members *members, struct tree_member *member, int64_t now_ns);

/* All of it, valid until the next call of any of these; absent where there is no memory. */
void tree_history_fill(const struct tree_reader *reader, int64_t now_ns, struct sample_end *end);

/*
 * One tick over the whole tree, from the top down: the tracker's own account first, then the root, its children and so
 * on. New members are searched for only where something was born on this machine since the last tick.
 */
struct tree_walk {
    const struct collect_env *env;
    struct tree_members members;
    struct tree_reader reader;
    struct tree_finder finder;
    struct tree_group *group; /* NULL: there is none */
    struct ledger ledger;
    struct ledger_account tracker; /* what we have waited for */
    uint64_t reaped_seen; /* how many of those we have waited for were marked */
    uint64_t pass; /* over the members */
    struct opt_u64 forks; /* at the last tick */
    bool are_births_counted; /* the counter of them has moved: before that it may stand still for good */
    bool had_births; /* at the last tick: a parent whose clock stood still then shows only now that it has run */
    int64_t gate_ns; /* when the gate was last open */
    struct opt_u64 last_pids[2]; /* at the last two ticks */
    bool has_begun;
    bool is_in_tick; /* a walk was begun and is not over */
    bool is_restarted; /* it was abandoned, since a read did not return, and begins again */
};

void tree_walk_open(struct tree_walk *walk, const struct collect_env *env, struct tree_group *group);
void tree_walk_close(struct tree_walk *walk);

/* The births before the first tick, and before the root's. */
void tree_walk_baseline(struct tree_walk *walk, struct opt_u64 forks);

/*
 * forks and last_pid were read before, absent where they are unknown. Afterwards the members are those of now, and
 * ret_growth what the tree used since the last tick. May be abandoned in a blocking read and called again.
 */
void tree_walk_tick(
    struct tree_walk *walk, struct opt_u64 forks, struct opt_u64 last_pid, int64_t now_ns, uint64_t ret_growth[FLOWS]);

/*
 * Which processes of the tree are reported by themselves (top.c): the largest, where its memory is higher than at all
 * ticks before, or one of them is known to have had more than that between two ticks, and those with the most CPU time
 * of their own over the whole run, also when they have ended. Their number is fixed; a process that is in neither list
 * costs a comparison.
 */

enum { TREE_TOP_COUNT = 8, TREE_TOP_LABELS = 2 * TREE_TOP_COUNT, TREE_TOP_READS_MAX = 8 };

/* What a process is called. */
struct tree_label {
    pid_t pid;
    uint64_t start_ticks, stack_start;
    bool is_ranked, is_listed; /* in use; neither: a free slot */
    bool is_read; /* its command line was, or cannot be */
    bool has_command;
    char name[PID_NAME_BYTES];
    char command[SAMPLE_PROCESS_BYTES];
};

/* A process in one of the lists, as it was last seen. */
struct tree_top_entry {
    size_t label;
    pid_t pid;
    uint64_t cpu_ns; /* of its life among the largest, of the run in the ranking */
    struct opt_u64 rss_pages;
};

/* All zeros at the start. */
struct tree_top {
    uint64_t listed_pages, listed_pss_pages; /* the most memory of the tree at which the largest were listed */
    uint64_t high_pages; /* in this tick, where it is more; 0: it is not */
    int64_t ranked_ns; /* monotonic, when members were last ranked */
    struct tree_top_entry largest[TREE_TOP_COUNT], ranked[TREE_TOP_COUNT];
    size_t largest_count, ranked_count;
    struct {
        pid_t pid; /* 0: none */
        uint64_t pages;
    } peak; /* the process that had most between two ticks, more than the tree in any */
    bool has_root; /* the root was seen in a tick */
    bool has_unread; /* labels */
    struct tree_label labels[TREE_TOP_LABELS];
    struct sample_process largest_items[TREE_TOP_COUNT], ranked_items[TREE_TOP_COUNT];
};

/* What the kernel calls a root that was not seen: root_program is given. */
void tree_root_name(const struct tracked *tracked, char name[static PID_NAME_BYTES]);

/* --pid: what the members used before the run does not count in the ranking. */
void tree_top_baseline(const struct tree_reader *reader, const struct tree_members *members);

/*
 * Ranks the members of this tick, rss_pages being the memory of all, and reads command lines of those that are new in a
 * list, or have executed another program: at most TREE_TOP_READS_MAX files. May be abandoned in such a read, and then
 * called again for the same tick.
 */
void tree_top_read(struct tree_top *top, struct tree_reader *reader, const struct tree_members *members,
    uint64_t rss_pages, struct opt_f64 pss_bytes, int64_t now_ns);

/* After it: the lists as parts of the sample, valid until the next call of either. is_last: no tick may come after. */
void tree_top_fill(struct tree_top *top, const struct collect_env *env, const struct tree_members *members,
    bool is_last, struct sample *sample);

#endif
