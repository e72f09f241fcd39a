/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run consists of. The supervisor (supervise.c) has the signals, the command and the end; it never reads a file
 * of a process, of /sys or of a file system. The sampler (sampler.c) has everything else, in a thread of its own.
 */
#ifndef RUN_SESSION_INTERNAL_H
#define RUN_SESSION_INTERNAL_H

#include "collect/collect.h"
#include "collect/pipeline.h"
#include "collect/probe/probe.h"
#include "mask/mask.h"
#include "run/loop.h"
#include "run/output.h"
#include "run/own_cgroup.h"
#include "run/reports.h"
#include "run/sampler.h"
#include "run/spawn.h"
#include "run/start_facts.h"
#include "run/supervisor.h"
#include "stream/stream.h"

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
    struct output output;
    struct stream *stream; /* NULL: no target */
    struct reports reports;
    struct mask_command command; /* as it may be shown and sent; empty: not at all */
    char command_text[SAMPLE_PROCESS_BYTES]; /* the same as one text */
    struct start_facts facts; /* part of the first sample */
    bool has_sampled, has_outcome; /* the first sample was taken, and the last */
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

/* After REAP_ENDED: waits for the root and all others that have ended meanwhile. Returns the root's exit status. */
int reap_root(struct tracked *tracked, struct helpers *helpers);

/* How the run ended, as far as it is known when the last sample is taken. */
void reap_fill_end(const struct tracked *tracked, const struct tree_status *tree, int status, struct sample_end *end);

/* The same of the root alone, without an account of it. */
void reap_quietly(pid_t root);

/* Is the root stopped at this moment? */
bool reap_is_stopped(pid_t root);

#endif
