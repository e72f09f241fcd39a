/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectors as one: opened together, asked in order, each failing on its own. Reports an error once and its end
 * once. Where a thread is stuck in a collector, another one goes on with the next (collect/blocking.h).
 */
#ifndef COLLECT_PIPELINE_H
#define COLLECT_PIPELINE_H

#include "base/log.h"
#include "collect/collect.h"
#include "model/run_facts.h"

enum { PIPELINE_STAGES_MAX = 16 };

struct pipeline_stage {
    const struct collector *collector;
    void *state; /* NULL: not open */
    struct complaint complaint;
    struct blocking_thread *stuck; /* the thread that has not come out of it; NULL: none */
    bool needs_baseline; /* it was stuck before its counters were read once */
    struct sample *apart; /* which that thread fills in */
    bool has_returned; /* it was stuck: its descriptor is to be watched again */
};

struct pipeline {
    const struct run_info *info;
    const struct collect_env *env;
    struct pipeline_stage stages[PIPELINE_STAGES_MAX];
    size_t count;
    int64_t start_ns;
    int64_t previous_ns; /* when the previous sample was begun */
    bool has_previous;
    /* what is under way */
    size_t next; /* the stage that runs */
    struct tick tick;
    struct tick_births births; /* of that tick */
    struct sample sample;
    struct sample *apart; /* where a stage that may block fills in its part; owned by the thread that runs it */
    struct complaint hanging; /* processes that hang */
};

/* Opens every collector of `collectors` and takes the baseline. One that cannot open is left out with a warning. */
void pipeline_open(struct pipeline *pipeline, const struct collect_env *env, const struct run_info *info,
    const struct collector *const *collectors, size_t count);
void pipeline_close(struct pipeline *pipeline);

/* The same where the program ends: descriptors are left to the kernel. */
void pipeline_end(struct pipeline *pipeline);

/* Between two samples: takes back what threads have returned from. False while any of them is stuck. */
bool pipeline_settle(struct pipeline *pipeline);

/* Takes one sample, which is then in pipeline->sample. Lists and strings in it are valid until the next call. */
void pipeline_sample(struct pipeline *pipeline, const struct tick *tick);

/*
 * In a thread that has taken over from `stuck`: goes on with what that was doing, pipeline_open or pipeline_sample.
 * What it is stuck in is left out until it returns, with one warning. False where that was neither of them: a collector
 * was stuck between samples.
 */
bool pipeline_resume(struct pipeline *pipeline, struct blocking_thread *stuck);

/* Is a thread stuck in it? Then nothing of it may be touched. */
bool pipeline_stage_is_stuck(const struct pipeline_stage *stage);

#endif
