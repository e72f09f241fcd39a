/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of the tree are reported by themselves: the largest, where its memory is higher than at all ticks
 * before, and those with the most CPU time of their own over the whole run, also when they have ended. Their number is
 * fixed; a process that is in neither list costs a comparison.
 */
#ifndef COLLECT_TREE_TOP_H
#define COLLECT_TREE_TOP_H

#include "collect/tree/members.h"
#include "collect/tree/read.h"
#include "model/sample.h"

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
    uint64_t listed_pages; /* memory of the tree when the largest were last listed */
    uint64_t high_pages; /* in this tick, where it is more; 0: it is not */
    int64_t ranked_ns; /* monotonic, when members were last ranked */
    struct tree_top_entry largest[TREE_TOP_COUNT], ranked[TREE_TOP_COUNT];
    size_t largest_count, ranked_count;
    bool has_root; /* the root was seen in a tick */
    bool has_unread; /* labels */
    struct tree_label labels[TREE_TOP_LABELS];
    struct sample_process largest_items[TREE_TOP_COUNT], ranked_items[TREE_TOP_COUNT];
};

/* --pid: what the members used before the run does not count in the ranking. */
void tree_top_baseline(const struct tree_reader *reader, const struct tree_members *members);

/*
 * Ranks the members of this tick, rss_pages being the memory of all, and reads command lines of those that are new in a
 * list, or have executed another program: at most TREE_TOP_READS_MAX files. May be abandoned in such a read, and then
 * called again for the same tick.
 */
void tree_top_read(struct tree_top *top, struct tree_reader *reader, const struct tree_members *members,
    uint64_t rss_pages, int64_t now_ns);

/* After it: the lists as parts of the sample, valid until the next call of either. is_last: no tick may come after. */
void tree_top_fill(struct tree_top *top, const struct collect_env *env, const struct tree_members *members,
    bool is_last, struct sample *sample);

#endif
