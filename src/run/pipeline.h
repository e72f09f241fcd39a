/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectors as one: opened together, asked in order, each failing on its own. Tells of trouble once and of its end
 * once.
 */
#ifndef RUN_PIPELINE_H
#define RUN_PIPELINE_H

#include "base/log.h"
#include "collect/collect.h"
#include "model/run_info.h"

enum { PIPELINE_STAGES_MAX = 16 };

struct pipeline_stage {
    const struct collector *collector;
    void *state; /* NULL: not open */
    struct complaint complaint;
};

struct pipeline {
    const struct run_info *info;
    const struct collect_env *env;
    struct pipeline_stage stages[PIPELINE_STAGES_MAX];
    size_t count;
    int64_t start_ns;
    int64_t previous_ns; /* when the previous sample was begun */
    bool has_previous;
};

/* Opens every collector of `collectors` and takes the baseline. A collector that cannot open is left out with a word.
 */
void pipeline_open(struct pipeline *pipeline, const struct collect_env *env, const struct run_info *info,
    const struct collector *const *collectors, size_t count);
void pipeline_close(struct pipeline *pipeline);

/* Takes one sample. Lists and strings in it are valid until the next call. */
void pipeline_sample(struct pipeline *pipeline, const struct tick *tick, struct sample *ret_sample);

#endif
