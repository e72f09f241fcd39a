/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of processes for tests of the tree: each one's directory below the fake proc, its CPU clock, and the
 * kernel's rules for what happens to its amounts when it ends. Amounts are kept in ns and bytes, and printed as the
 * kernel does, user and system time each cut to whole ticks. The tracker and init are there from the beginning.
 */
#ifndef TESTS_UNIT_FAKE_TREE_H
#define TESTS_UNIT_FAKE_TREE_H

#include "fake_env.h"

enum { FAKE_TREE_MAX = 256, FAKE_INIT = 1, FAKE_TRACKER = 10, FAKE_ROOT = 100, FAKE_TID_STEP = 100000 };

#define FAKE_TICK_NS (10 * NS_PER_MS)

struct fake_process {
    pid_t pid; /* 0: a free place */
    pid_t parent;
    size_t by_thread; /* of its parent, which made it */
    uint64_t start_ticks;
    char state;
    const char *name;
    size_t threads;
    bool is_non_member; /* what it uses does not count */
    bool is_hidden; /* no directory, only the clock */
    bool is_foreign; /* its io cannot be read */
    bool has_no_io; /* nor is there one */
    bool is_subreaper, ignores_sigchld;
    uint64_t user_ns, system_ns, faults; /* its own */
    uint64_t waited_user_ns, waited_system_ns, waited_faults; /* of children it has waited for */
    uint64_t read_bytes, write_bytes; /* both, as the kernel keeps them */
    uint64_t rss_pages, vsize_bytes, stack_start;
    uint64_t minor_faults;
    bool has_not_execed;
    uint64_t wait_ns; /* of its first thread, for a CPU */
    uint64_t others_run_ns; /* CPU time that is not its first thread's */
    pid_t memory_of; /* the process whose address space it has; 0: its own */
};

struct fake_amounts {
    uint64_t user_ns, system_ns, read_bytes, write_bytes, faults;
};

struct fake_tree {
    struct fake_env fake;
    struct tracked tracked;
    struct tree_status status;
    struct helpers helpers;
    struct fake_process processes[FAKE_TREE_MAX];
    uint64_t start_ticks; /* of the newest process */
    bool lists_children; /* CONFIG_PROC_CHILDREN */
    bool counts_waiting; /* CONFIG_SCHED_INFO: there is a schedstat */
    struct opt_u64 forks, last_pid; /* inputs of the next tick */
    size_t cpus; /* of the machine; 0: not known */
    struct opt_f64 pressure_secs; /* something on it waited for a CPU, in the next tick */
    bool is_final; /* the next tick is the last */
    struct fake_amounts used; /* by all members: the truth */
    struct fake_amounts reported; /* by the collector, all samples together */
    size_t reaps; /* by the tracker */
    uint64_t (*affinity)(pid_t tid); /* CPUs a thread may run on, as bits; NULL: unknown */
    size_t affinities; /* how often one was asked for */
    int same_memory_error; /* what is answered instead of a comparison; 0: the truth */
    size_t comparisons;
    int gone_fd; /* a file of a process that is gone: reading it fails as the kernel says */
    /* called around each question for a CPU clock: before the answer is made, and before it is handed out */
    void (*on_clock)(void *context, pid_t pid);
    void *on_clock_context;
    void *state; /* of the collector */
    struct sample sample; /* of the last tick */
    struct err err;
};

/* A tracker with a root, and a collector that is not open yet. The struct must not move afterwards. */
void fake_tree_init(struct fake_tree *tree);
/* The same for --pid: the root is a child of init. */
void fake_tree_init_attached(struct fake_tree *tree);
void fake_tree_fini(struct fake_tree *tree);
/* As the first, with the collector open; and all of it undone. */
void fake_tree_begin(struct fake_tree *tree);
void fake_tree_end(struct fake_tree *tree);
/* As fake_tree_begin with so many descriptors to keep; returns how many were open before the collector was. */
int fake_tree_begin_with(struct fake_tree *tree, size_t descriptors);

/* NULL where there is none. */
struct fake_process *fake_tree_find(struct fake_tree *tree, pid_t pid);

/* A process out of nothing: no birth is reported. */
struct fake_process *fake_tree_add(struct fake_tree *tree, pid_t pid, pid_t parent);
/* One that a thread of its parent makes: forks and last_pid move. */
struct fake_process *fake_tree_fork(struct fake_tree *tree, pid_t pid, pid_t parent, size_t by_thread);
/* A child of init that does not belong to the tree. */
struct fake_process *fake_tree_add_non_member(struct fake_tree *tree, pid_t pid);

/* Writes its files again after fields were changed by hand. */
void fake_tree_write(struct fake_tree *tree, const struct fake_process *process);
/* Any text for one of its files ("stat", "io"). */
void fake_tree_write_file(struct fake_tree *tree, pid_t pid, const char *name, const char *text);
/* The lists of its children again. */
void fake_tree_write_children(struct fake_tree *tree, pid_t pid);
void fake_tree_hide(struct fake_tree *tree, pid_t pid);

/* It uses so much more. */
void fake_tree_use(struct fake_tree *tree, pid_t pid, struct fake_amounts more);
void fake_tree_run(struct fake_tree *tree, pid_t pid, uint64_t user_ns, uint64_t system_ns);
void fake_tree_io(struct fake_tree *tree, pid_t pid, uint64_t read_bytes, uint64_t write_bytes);
void fake_tree_fault(struct fake_tree *tree, pid_t pid, uint64_t faults);

/* Its first thread was ready to run for so long and had no CPU. */
void fake_tree_starve(struct fake_tree *tree, pid_t pid, uint64_t wait_ns);
/* The schedstat of another thread of it, and the end of that thread; its number of threads stays as it is. */
void fake_tree_write_thread(struct fake_tree *tree, pid_t pid, size_t thread, uint64_t run_ns, uint64_t wait_ns);
void fake_tree_end_thread(struct fake_tree *tree, pid_t pid, size_t thread);

/* It ends and waits to be waited for; its children go to the next subreaper. */
void fake_tree_exit(struct fake_tree *tree, pid_t pid);
/* Its parent waits for it, which takes that one 1 us of system time. */
void fake_tree_wait(struct fake_tree *tree, pid_t pid);
/* The tracker waits for it. */
void fake_tree_reap(struct fake_tree *tree, pid_t pid);
/* It ends and its parent by then waits for it. */
void fake_tree_finish(struct fake_tree *tree, pid_t pid);
/* It is gone and none inherits. */
void fake_tree_vanish(struct fake_tree *tree, pid_t pid);
/* All that has ended among the tracker's children. */
void fake_tree_reap_all(struct fake_tree *tree);

void fake_tree_open(struct fake_tree *tree);
void fake_tree_close(struct fake_tree *tree);
/* Others are born, so that the counter of births is trusted, and then none for so long that no list is read. */
void fake_tree_close_gate(struct fake_tree *tree);
/* A tick of the collector; it must return 0. */
void fake_tree_baseline(struct fake_tree *tree);
void fake_tree_collect(struct fake_tree *tree);
void fake_tree_collect_after(struct fake_tree *tree, int64_t ns);

/* CPU time, user and system together. */
static inline uint64_t fake_tree_reported_ns(const struct fake_tree *tree)
{
    return tree->reported.user_ns + tree->reported.system_ns;
}

static inline uint64_t fake_tree_used_ns(const struct fake_tree *tree)
{
    return tree->used.user_ns + tree->used.system_ns;
}

/* A value of a sample that must be there. */
void fake_tree_assert_near(struct opt_f64 got, double expected);
void fake_tree_assert_count(struct opt_u64 got, uint64_t expected);

#endif
