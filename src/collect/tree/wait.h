/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that threads of the tree were ready to run and waited for a CPU, from the schedstat of every thread. Processes
 * of one thread are read whenever they ran; of those with more, the threads that run in every tick and the others one
 * after the other, all on a budget of WAIT_SHARE of a core. What cannot be read is estimated by its share of the tree's
 * CPU time.
 */
#ifndef COLLECT_TREE_WAIT_H
#define COLLECT_TREE_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"
#include "collect/collect.h"

/*
 * From what was waited for a CPU to what was wanted (demand.c). A thread that also sleeps would have slept as long
 * without waiting, and used the CPU for the same share of the time that is left: of its wait, that share counts. And
 * what processes wanted that could not be read, from those of their kind that could. Pure: knows no files.
 */

/* Time waited; and the part of it that would have been CPU time. In ns, or as a share of time. */
struct demand_wait {
    double waited, wanted;
};

/* Adds so many times of it, or with a negative factor removes it. */
static inline void demand_wait_add(struct demand_wait *sum, struct demand_wait wait, double factor)
{
    sum->waited += factor * wait.waited;
    sum->wanted += factor * wait.wanted;
}

/* What a thread did in the last second, or in its last two readings where they are further apart. */
struct demand_history {
    float run_ns, wait_ns, length_ns, waits;
};

/* What it did since its last reading. */
struct demand_reading {
    uint64_t run_ns, wait_ns;
    uint64_t waits; /* how often it waited; 0: not known */
    int64_t length_ns;
};

/*
 * Adds a reading. Returns the share of the time without waiting that it ran, 0 to 1. The kernel adds a wait when it is
 * over and run time at a tick, so that some of what looks like sleep is none: slack_ns, and half a wait.
 */
double demand_share(struct demand_history *history, const struct demand_reading *reading, int64_t slack_ns);

/*
 * How many threads run or are ready to: for processes that live for less than an interval, those that are met by a
 * sample stand for those that are not, each with the share of its life in which it was ready.
 */
struct demand_ready {
    double now; /* met since the last sample */
    struct opt_f64 mean; /* over the last seconds */
};

/* A sample is made. Returns the mean, in cores. */
double demand_ready_pop(struct demand_ready *ready, int64_t elapsed_ns);

/*
 * The share of the time in which anything on the machine waited for a CPU, at most, from the kernel's pressure: that is
 * a mean over the CPUs that are not idle.
 */
double demand_pressed(double pressure, double cpus);

/*
 * Cores that are wanted and not used, from the threads that are ready and the cores in use. Where nothing on the
 * machine waited for more than a share `pressed` of the time, none of them waited for longer.
 */
double demand_lacking(double ready, double used, struct opt_f64 pressed);

#define WAIT_SHARE 0.005
#define WAIT_BANK_NS (20 * NS_PER_MS) /* what may be saved up; there from the start, when threads are listed */
#define WAIT_TICK_NS (4 * NS_PER_MS) /* what one tick may take */
#define WAIT_THREAD_NS (10 * NS_PER_MS) /* an idle thread is read for every so much time that passes */
#define WAIT_STARVED_NS (100 * NS_PER_MS) /* ready to run for so long without running: it waits */
#define WAIT_FIRST_COST_NS 5000 /* of a reading, before the first measurement */
enum {
    WAIT_THREADS_MAX = 16384, /* of one process; others count by their share of CPU time */
    WAIT_KEPT_THREADS = 64, /* where a process has more, only files of those that run are kept */
    WAIT_KEPT_SHARE = 4, /* files of threads may take this part of all descriptors that may be kept */
};

struct wait_thread {
    pid_t tid;
    int fd; /* -1: not kept */
    bool is_counted; /* in kept_threads of the reader: not yet where its first read was abandoned */
    bool needs_reference; /* it was there before tracking began: counting starts with its first reading */
    bool is_read; /* at least once */
    bool is_active; /* it ran or waited between its last two readings, or was not read yet */
    struct demand_wait late_ns; /* that it waited and that counts in no tick yet; below 0: an estimate was too high */
    uint64_t run_ns, wait_ns, runs; /* as last read */
    uint64_t tick; /* in which it was last read */
    int64_t at_ns; /* on the clock active_ns of its process, when it was last read */
    struct demand_wait rate; /* per active_ns, between its last two readings */
    struct demand_history history;
    double share; /* of what it waits that is wanted, as last known */
};

/* What is remembered of one process; all zeros at its birth but for the descriptor. */
struct wait_process {
    struct wait_thread first;
    struct {
        struct wait_thread *items; /* by number */
        size_t count, cap;
    } others;
    uint64_t cpu_ns; /* its CPU time when it was last read */
    int64_t active_ns; /* clock that moves in ticks in which it ran */
    int64_t starved_from_ns, starved_ns; /* ready to run since then; what was counted of it */
    int64_t asleep_ns; /* for so long now */
    uint64_t burst_ns; /* CPU time of its threads since it last slept for long */
    int64_t retry_ns; /* a file that could not be read is tried again then */
    struct demand_wait rate; /* of all others together */
    bool has_late; /* one of the others has waited for more than counts yet */
    uint64_t listed; /* how many threads it had when they were listed; 0: never, or the list is outdated */
    size_t cursor; /* which of the others is next */
};

/*
 * A process sleeps: after a second of that, what it ran since the last such sleep is a burst, and one that is shorter
 * than a second is taken for what it does next too.
 */
void demand_sleep(struct wait_process *process, int64_t elapsed_ns);

/* A thread waits for no longer than it has room, the time in which it did not run: what is more counts later. */
void demand_add_late(struct wait_thread *thread, double waited_ns);
void demand_count(struct wait_thread *thread, double room_ns, struct demand_wait *sum);

struct tree_wait {
    const struct collect_env *env;
    bool has_read, is_absent; /* this kernel counts, or does not */
    uint64_t tick; /* how many there were */
    int64_t tick_ns, elapsed_ns; /* of the last one */
    int64_t bank_ns, cost_ns; /* CPU time that may be spent now; of one reading */
    size_t cursor; /* which member is first where the budget did not last */
    struct demand_wait known_ns; /* read since the last sample */
    uint64_t read_cpu_ns; /* CPU time of what was read */
    struct demand_wait pending_ns; /* known and in no sample yet; below 0: an estimate was too high */
    struct demand_ready ready;
    struct opt_f64 busiest_cores; /* of one process, since the last sample; absent: none was read for long enough */
    int64_t boot_ns; /* time since boot in this tick; 0: not read yet */
    uint64_t root_end_cpu_ns; /* of the root, from its last reading to its end; for the next tick */
    int64_t reported_ns; /* when the last sample was */
    bool is_root_counted; /* to its end */
    struct wait_thread root_end; /* what it ran and waited since its last reading; for the next tick */
};

struct tree_walk;
struct tree_reader;
struct tree_member;

void wait_open(struct tree_wait *wait, const struct collect_env *env);

/* After a walk, whose members are read. baseline: what was waited for so far does not count. May be called again for
 * the same sample. */
void wait_tick(struct tree_wait *wait, struct tree_walk *walk, int64_t now_ns, bool is_baseline);

/* Before a walk: the root has ended, and what it ran and waited at last is in struct tracked. */
void wait_end_root(struct tree_wait *wait, const struct tree_walk *walk);

/* Closes what is kept of a member. */
void wait_release(struct tree_reader *reader, struct tree_member *member);

/* What the tree did since the last sample, next to what was read of it. */
struct wait_interval {
    uint64_t cpu_ns; /* CPU time of the whole tree */
    bool is_hidden; /* not all of them are seen */
    int64_t now_ns, quantum_ns; /* amounts are multiples of the quantum; 0: any */
    struct opt_f64 pressed; /* demand_pressed; absent: not known */
};

/*
 * What was waited since the last sample. waited_secs: in proportion for what was not read; absent where the kernel does
 * not count, and where the tree used a clock tick or more and less than half of it is that of threads that were read.
 * wanted_secs: the part of it that would have been CPU time; absent where the kernel does not count. It is an estimate
 * from the threads that were met ready to run where less than half was read (waited_secs is then absent) and, unless
 * members are hidden, between half and four fifths (waited_secs is then scaled) that waited for more than
 * WAITING_SHARE.
 */
struct wait_result {
    struct opt_f64 waited_secs, wanted_secs;
    struct opt_f64 busiest_cores; /* that the process with the most CPU time in this interval used; absent where none
                                     was read, or one that was not may have used more */
};

struct wait_result wait_pop(struct tree_wait *wait, const struct wait_interval *interval);

#endif
