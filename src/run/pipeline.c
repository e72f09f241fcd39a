/* SPDX-License-Identifier: Apache-2.0 */
#include "run/pipeline.h"

#include <errno.h>
#include <stdlib.h>

static void stage_open(struct pipeline_stage *stage, const struct collector *collector, const struct collect_env *env)
{
    *stage = (struct pipeline_stage){.collector = collector};
    void *state = calloc(1, collector->state_bytes);
    struct err err = {0};
    int r = state ? collector->open(state, env, &err)
                  : err_set(&err, -ENOMEM, "%s: not collected: no memory", collector->name);
    if (r >= 0) {
        stage->state = state;
        return;
    }
    free(state);
    if (r == -ENODATA)
        log_debug("%s: this host has none", collector->name);
    else
        complaint_say(&stage->complaint, "%s; these values are null", err.msg);
}

static void stage_collect(struct pipeline_stage *stage, const struct tick *tick, struct sample *sample)
{
    if (!stage->state)
        return;
    struct err err;
    err_clear(&err);
    int r = stage->collector->collect(stage->state, tick, sample, &err);
    if (r == -ENODATA)
        return;
    if (r < 0 && err.code == 0)
        (void)err_sys(&err, r, "%s: cannot be read", stage->collector->name);
    if (err.code < 0)
        complaint_say(&stage->complaint, "%s; these values are null until it works", err.msg);
    else
        (void)complaint_over(&stage->complaint, "%s: all values can be read again", stage->collector->name);
}

void pipeline_open(struct pipeline *pipeline, const struct collect_env *env, const struct run_info *info,
    const struct collector *const *collectors, size_t count)
{
    if (count > PIPELINE_STAGES_MAX)
        count = PIPELINE_STAGES_MAX;
    *pipeline = (struct pipeline){.info = info, .env = env, .count = count};
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    pipeline->start_ns = info->start_ns.has ? info->start_ns.v : now_ns;
    struct tick tick = {.baseline = true, .mono_ns = now_ns, .late_ns = now_ns - pipeline->start_ns};
    struct sample unused = {0};
    /* One after the other: where descriptors are few, those that come first get them. */
    for (size_t i = 0; i < count; i++) {
        stage_open(&pipeline->stages[i], collectors[i], env);
        stage_collect(&pipeline->stages[i], &tick, &unused);
    }
}

void pipeline_close(struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->count; i++) {
        struct pipeline_stage *stage = &pipeline->stages[i];
        if (!stage->state)
            continue;
        stage->collector->close(stage->state);
        free(stage->state);
        stage->state = NULL;
    }
}

void pipeline_sample(struct pipeline *pipeline, const struct tick *tick, struct sample *ret_sample)
{
    const struct clock *clock = pipeline->env->clock;
    int64_t real_ms = clock_read(clock, CLOCK_KIND_REALTIME) / NS_PER_MS;
    *ret_sample = (struct sample){
        .timestamp_secs = some_i64(real_ms / 1000),
        .timestamp_ms = some_i64(real_ms),
        .elapsed_secs = some_f64((double)(tick->mono_ns - pipeline->start_ns) / 1e9),
        .job_name = pipeline->info->job_name,
        .tracked_pid = pipeline->info->tracked_pid,
        .version = pipeline->info->version,
    };
    if (pipeline->has_previous)
        ret_sample->actual_interval_ms = some_f64((double)(tick->mono_ns - pipeline->previous_ns) / 1e6);
    pipeline->previous_ns = tick->mono_ns;
    pipeline->has_previous = true;
    for (size_t i = 0; i < pipeline->count; i++)
        stage_collect(&pipeline->stages[i], tick, ret_sample);
}
