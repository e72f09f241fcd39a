/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run consists of. The supervisor (supervisor.c) has the signals, the command and the end; it never reads a file
 * of a process, of /sys or of a file system. The sampler (sampler.c) has everything else, in a thread of its own.
 */
#ifndef RUN_SESSION_INTERNAL_H
#define RUN_SESSION_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "collect/blocking.h"
#include "collect/cgroup/cgroup.h"
#include "collect/collect.h"
#include "collect/pipeline.h"
#include "collect/probe/probe.h"
#include "kernel/sysroot.h"
#include "mask/mask.h"
#include "run/loop.h"
#include "run/marks.h"
#include "run/on.h"
#include "run/output/output.h"
#include "run/output/reports.h"
#include "run/spawn.h"
#include "run/start_facts.h"
#include "run/supervisor.h"
#include "stream/stream.h"

/*
 * Sampling in a thread of its own: collectors, outputs, the summary, and the final sample. The supervisor sends it
 * requests and gets reports; neither ever waits for the other without a deadline. A thread that is stuck in a collector
 * is replaced by another one, which goes on where that is stuck.
 */

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
    int64_t ended_ns; /* monotonic */
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
    int64_t view_ns; /* monotonic, when the clock of the live view is due; 0: it follows the samples */
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

/* Before sampler_start. */
void sampler_fini(struct sampler *sampler);

/*
 * A v2 control group for the command alone (--cgroup, own_cgroup.c), made below our own so that every limit above still
 * holds, and gone when we are. No controller is turned on: CPU time and membership need none.
 */

enum {
    OWN_CGROUP_LEFTOVER_SECS = 60, /* a younger group may belong to a tracker that is just starting */
    OWN_CGROUP_SWEEP_MAX = 64,
    OWN_CGROUP_MOVES_MAX = 1000,
};

struct own_cgroup {
    int dir_fd; /* of the group; -1: none */
    int parent_fd; /* of the group it lies in */
    char name[64]; /* "resource-tracker-PID", or "resource-tracker-PID-2" where that exists; "": none */
    char dir[PATH_MAX]; /* relative to the root of the machine, no slash at either end */
    bool lacks_memory; /* the memory controller is bound to v1 */
};

/*
 * Removes what killed trackers left behind, then makes the group. Returns 0; -ENOTSUP for a root that is not the host;
 * -ENODATA where our v2 group is not to be found; -EACCES, -EPERM or -EROFS where it is not permitted; -EOPNOTSUPP in
 * a threaded group; or another negative errno; always with a message that says what is the matter.
 */
int own_cgroup_create(struct own_cgroup *ret_group, const struct sysroot *root, struct err *err);

/*
 * Daemons that outlive the command are moved to the parent first; nothing is killed. Empty groups below it go too.
 * Returns false where it stays: a group below it is in use. Harmless where there is none: dir_fd -1, all zeros, or
 * removed before.
 */
bool own_cgroup_remove(struct own_cgroup *group);

/* The parts of the above, which work on any directory. */

/* Is this the name of such a group, and of which tracker? */
bool own_cgroup_name_parse(const char *name, pid_t *ret_pid);

/*
 * Makes and opens a group in the directory parent_fd, which is named parent_dir. On success the parent_fd is the
 * group's to close.
 */
int own_cgroup_make(int parent_fd, const char *parent_dir, struct own_cgroup *ret_group, struct err *err);

/* Removes the groups of trackers that are no more; returns how many. */
size_t own_cgroup_sweep(int parent_fd, int64_t now_secs);

/* Writes up to max PIDs of one directory's cgroup.procs into the other's; returns how many it tried. */
size_t own_cgroup_move(int from_fd, int to_fd, size_t max);

struct session {
    /* made before the sampler starts, and then left as it is */
    const struct settings *settings;
    struct sysroot root;
    struct collect_env env;
    struct buf mountinfo; /* of the start, from one collector to another */
    struct probe probe;
    struct run_info info;
    bool stops_with_tree; /* attached, and the end of the tree is our end */
    bool has_sampler; /* false: the command is only supervised */
    bool has_view; /* something of ours may be on the terminal */
    /* the sampler's from its start on */
    struct tracked tracked;
    struct tree_status tree; /* the collectors write these three */
    struct gpu_status gpu_status;
    struct helpers helpers;
    struct own_cgroup group;
    struct cgroup_location group_locations[CGROUP_CONTROLLERS]; /* --attach-cgroup */
    struct output output;
    struct stream *stream; /* NULL: no target */
    struct reports reports;
    struct mask_command command; /* as it may be shown and sent; empty: not at all */
    char command_text[SAMPLE_PROCESS_BYTES]; /* the same as one text */
    struct start_facts facts; /* part of the first sample */
    bool has_sampled, has_outcome; /* the first sample was taken, and the last */
    struct marks marks;
    char stream_variable[STREAM_VARIABLE_BYTES]; /* in the environment of the command; "": none */
    struct on_rules on;
    int64_t sampled_ns, marked_ns; /* monotonic: the newest sample, and the newest because of a mark (0: none) */
    struct pipeline pipeline;
    struct grid grid;
    bool wants_room;
    struct complaint reader_gone, refused, no_samples;
    struct sampler sampler;
    /* the supervisor's */
    struct loop loop;
    pid_t command_pid; /* 0: none */
    struct spawn spawn;
    enum supervisor_state state;
    int64_t woken_ns; /* monotonic, when it came into SUPERVISOR_JOB_WOKEN */
    struct sampler_end end; /* how it ends */
    struct err exec_err; /* why the command could not be executed */
    bool is_stuck; /* something of ours is, and must not be touched any more */
    int stop_signal; /* the newest that asks for the end; 0: none came */
    sigset_t early; /* signals that were pending when the command was started */
    struct opt_i64 suspend_ns; /* monotonic, when SIGTSTP last came */
    pid_t watched; /* whose end the loop reports; 0: none */
};

/* Does any output need samples? */
static inline bool session_wants_samples(const struct session *session)
{
    return output_is_wanted(&session->output) || stream_wants_samples(session->stream) ||
           reports_want_samples(&session->reports);
}

/*
 * For the sampler. session_open_collectors, session_mask_command: what takes time, while the command already runs.
 * session_close: after the last sample. is_free: no thread is stuck. Returns false where something of ours is stuck and
 * must not be touched any more.
 */
void session_open_collectors(struct session *session);
void session_mask_command(struct session *session);
bool session_close(struct session *session, bool is_free);

/* Until it is over. Returns the exit status, or a negative errno with a message. */
int supervise(struct session *session, struct err *err);

/*
 * Waiting for children (reap.c): the command, the orphans we adopt, and helpers of ours. What they used is added to
 * what is known of the tracked tree, helpers excepted.
 */
enum { REAP_BY_SIGNAL = 128 }; /* what a signal's number is added to for an exit status */

enum reap_news { REAP_NOTHING, REAP_ENDED, REAP_HALTED, REAP_RESUMED };

/* Waits for every child that has ended, without blocking, but for the root: while that is not waited for, its number is
 * its own. */
void reap_others(struct tracked *tracked, struct helpers *helpers);

/*
 * What became of the root, which stays to be waited for: REAP_HALTED for as long as it is stopped (ret_signal: by
 * what), the others once. REAP_ENDED: ret_signal is the signal that ended it (0: none), ret_status its exit status,
 * 128+n for signals.
 */
enum reap_news reap_peek(pid_t root, int *ret_signal, int *ret_status);

/* What the root ran and waited at last: until it is waited for, its file is there. Never blocks. */
void reap_note_root_end(struct tracked *tracked, const struct sysroot *root);

/* After REAP_ENDED: waits for the root and all others that have ended meanwhile. Returns the root's exit status. */
int reap_root(struct tracked *tracked, struct helpers *helpers);

/* How the run ended, as far as it is known when the last sample is taken. */
void reap_fill_end(const struct tracked *tracked, const struct tree_status *tree, int status, struct sample_end *end);

/* The same of the root alone, without an account of it. */
void reap_quietly(pid_t root);

/* Is the root stopped at this moment? */
bool reap_is_stopped(pid_t root);

/*
 * Resident memory of our own: code that only the start needed, and what the kernel mapped around it, is a quarter of
 * it.
 */

struct resident_range {
    uintptr_t start, end;
};

/*
 * Cuts the next mapping off the text of /proc/PID/smaps. False at the end, or where a mapping is not whole.
 * is_clean: of a file, not writable, and no page of it was ever changed, by relocations, a debugger or a hot patch.
 */
bool resident_next(struct str *text, struct resident_range *ret_range, bool *ret_is_clean);

/* Unmaps all pages of clean mappings. They stay in the page cache, and what is needed again is mapped again at once. */
void resident_release_code(int proc_fd);

#endif
