/* SPDX-License-Identifier: Apache-2.0 */
/* What a run consists of; shared by session.c, which opens and closes it, and actions.c, which makes it move. */
#ifndef RUN_SESSION_STATE_H
#define RUN_SESSION_STATE_H

#include "collect/collect.h"
#include "run/loop.h"
#include "run/output.h"
#include "run/own_cgroup.h"
#include "run/people.h"
#include "run/pipeline.h"
#include "run/start_facts.h"
#include "run/streaming.h"
#include "run/supervisor.h"

struct session {
    struct sysroot root;
    struct collect_env env;
    struct run_info info;
    struct job job;
    struct own_cgroup group;
    struct output output;
    struct streaming streaming;
    struct people people;
    struct start_facts facts; /* told with the first sample */
    bool has_sampled, has_outcome; /* the first sample was taken, and the last */
    struct pipeline pipeline;
    struct grid grid;
    struct loop loop;
    bool wants_room;
    enum supervisor_state state;
    int status; /* to end with */
    bool is_asked; /* somebody asked for the end */
    int stop_signal; /* the newest that asks for it; 0: none came */
    sigset_t early; /* signals that were pending when the command was started */
    struct opt_i64 suspend_ns; /* monotonic, when SIGTSTP last came */
    pid_t watched; /* whose end the loop reports; 0: nobody's */
    struct complaint reader_gone, refused;
};

/* Does anybody get to see samples? */
static inline bool session_wants_samples(const struct session *session)
{
    return output_is_wanted(&session->output) || streaming_takes_samples(&session->streaming) ||
           people_want_samples(&session->people);
}

/* Somebody of an attached tree, if this kernel can tell of its end. */
void session_watch(struct session *session);

/* Until it is over. Returns the exit status or a negative errno with a message. */
int actions_run(struct session *session, struct err *err);

#endif
