/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling in a thread of its own: collectors, outputs, the summary, and the final sample. The supervisor sends it
 * requests and gets reports; neither ever waits for the other without a deadline. A thread that is stuck in a collector
 * is replaced by another one, which goes on where that is stuck.
 */
#ifndef RUN_SAMPLER_H
#define RUN_SAMPLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/blocking.h"
#include "run/loop.h"

struct session;

/* From the supervisor. */
enum sampler_request {
    SAMPLER_RESIZED = 1, /* the terminal has another size */
    SAMPLER_HIDE = 2, /* take what is ours from the terminal, and report it */
    SAMPLER_REAP = 4, /* a child has ended */
    SAMPLER_REFUSED = 8, /* a signal could not be passed on: refused_signal */
    SAMPLER_READER_GONE = 16, /* nothing reads the output, but the command goes on */
    SAMPLER_SAMPLE = 32, /* now: a process of an attached tree has ended (ended) */
    SAMPLER_FINISH = 64, /* see struct sampler_end */
};

/* To the supervisor. */
enum sampler_report {
    SAMPLER_NO_READER = 1,
    SAMPLER_TREE_ENDED = 2,
    SAMPLER_WATCH = 4, /* the end of this process: watch */
    SAMPLER_HIDDEN = 8,
    SAMPLER_DONE = 16, /* everything is out */
    SAMPLER_OVER = 32, /* the time of --duration has passed */
};

enum sampler_finish {
    SAMPLER_FINISH_SAMPLE, /* with a final sample */
    SAMPLER_FINISH_JOB, /* the same, after the command was waited for */
    SAMPLER_FINISH_LEAVE, /* without one, but for a summary that has no end yet */
    SAMPLER_FINISH_NOTHING, /* without one: the command could not be executed */
};

struct sampler_end {
    enum sampler_finish kind;
    int status; /* to end with */
    int signal; /* that ended the command; 0: none did */
    int stop_signal; /* that asked for the end; 0: none came */
    bool is_asked; /* the end was asked for */
};

enum sampler_phase { SAMPLER_OPENING, SAMPLER_IDLE, SAMPLER_COLLECTING };

struct sampler_thread {
    struct blocking_thread blocking;
    struct session *session;
    struct sampler_thread *stuck; /* the thread that it takes over from; NULL: it is the first */
    struct sampler_thread *next; /* among those abandoned */
    pthread_t id;
    _Atomic pid_t tid; /* 0: it does not run yet */
};

struct sampler {
    bool is_started, has_thread; /* has_thread: false where it runs in the supervisor's thread */
    struct loop loop;
    struct blocking blocking;
    int request_fd, report_fd; /* eventfd */
    _Atomic unsigned requests, reports;
    _Atomic int phase;
    bool is_done; /* the sampler's; the supervisor sees SAMPLER_DONE */
    bool is_tidy; /* valid once done: nothing of ours is stuck */
    /* of requests and reports, written before these */
    _Atomic int refused_signal;
    pid_t ended;
    struct sampler_end end;
    _Atomic pid_t watch;
    _Atomic bool wants_watch; /* the supervisor watches no process of the attached tree */
    /* the supervisor's */
    struct sampler_thread *thread;
    unsigned seen_sequence; /* the bracket that the thread was in when it was last checked */
    int64_t seen_cpu_ns;
    bool was_inside;
    int64_t replaced_ns; /* monotonic, when a thread was last replaced */
    int late_stalls; /* threads replaced while the run ends */
    struct sampler_thread *abandoned; /* a list; the sampler's while it has a thread */
    int abandoned_count;
};

#define SAMPLER_NONE                                                                                                   \
    {                                                                                                                  \
        .loop = LOOP_CLOSED, .request_fd = -1, .report_fd = -1                                                         \
    }

/* How long a read may take before another thread goes on; where one process hangs, others may, and at the end there is
 * no time to lose: then it is less. */
#define SAMPLER_STALL_NS (800 * NS_PER_MS)
#define SAMPLER_LAST_STALL_NS (400 * NS_PER_MS)
#define SAMPLER_STORM_STALL_NS (100 * NS_PER_MS)

/* Takes the descriptors, before the command is started. Returns 0 or a negative errno with a message. */
int sampler_init(struct sampler *sampler, struct err *err);

/* After the command was started. Where no thread can be had, sampling goes on in this one: then sampler_run_once is to
 * be called whenever sampler->loop.epoll_fd is readable. */
void sampler_start(struct session *session);
void sampler_run_once(struct session *session);

/* For the supervisor. */
void sampler_request(struct sampler *sampler, unsigned requests);
unsigned sampler_reports(struct sampler *sampler);

/* To be called when the timer of the supervisor's loop fires, or at intervals while the run begins or ends: replaces a
 * thread that was stuck in the same bracket at the last call. Returns when to call it again (monotonic; 0: no need). */
int64_t sampler_check(struct session *session, bool is_ending);

/* After SAMPLER_DONE with is_tidy, or before sampler_start. */
void sampler_fini(struct sampler *sampler);

#endif
