/* SPDX-License-Identifier: Apache-2.0 */
#include "run/pipeline.h"

#include <errno.h>
#include <stdlib.h>

bool pipeline_stage_is_stuck(const struct pipeline_stage *stage)
{
    return stage->stuck && atomic_load_explicit(&stage->stuck->state, memory_order_acquire) != BLOCKING_RETURNED;
}

/* Opening may block as well. The state is the stage's before the bracket is left: whoever sees it returned may use it.
 */
static void stage_open(const struct pipeline *pipeline, struct pipeline_stage *stage)
{
    const struct collector *collector = stage->collector;
    void *state = calloc(1, collector->state_bytes);
    struct err err = {0};
    struct blocking_thread *bracket = blocking_enter(pipeline->env->blocking, 0, collector->name);
    int r = state ? collector->open(state, pipeline->env, &err)
                  : err_set(&err, -ENOMEM, "%s: not collected: out of memory", collector->name);
    if (r < 0)
        free(state);
    stage->state = r < 0 ? NULL : state;
    if (!blocking_leave(bracket))
        blocking_return(bracket);
    if (r == -ENODATA)
        log_debug("%s: this host has none", collector->name);
    else if (r < 0)
        complaint_say(&stage->complaint, "%s; these values are null", err.msg);
}

/* A stage in which a thread was stuck is used again once that is out of it. */
static bool is_usable(const struct pipeline *pipeline, struct pipeline_stage *stage)
{
    if (!stage->stuck)
        return true;
    if (pipeline_stage_is_stuck(stage))
        return false;
    stage->stuck = NULL;
    stage->has_returned = true;
    if (stage->needs_members)
        pipeline->env->job->wants_members = true;
    return true;
}

static void stage_collect(
    const struct pipeline *pipeline, struct pipeline_stage *stage, const struct tick *tick, struct sample *sample)
{
    if (!is_usable(pipeline, stage) || !stage->state)
        return;
    const struct collector *collector = stage->collector;
    struct tick own = *tick;
    own.baseline |= stage->needs_baseline;
    struct err err;
    err_clear(&err);
    struct blocking_thread *bracket =
        collector->is_restartable ? NULL : blocking_enter(pipeline->env->blocking, 0, collector->name);
    int r = collector->collect(stage->state, &own, sample, &err);
    if (!blocking_leave(bracket))
        blocking_return(bracket);
    stage->needs_baseline = false;
    if (r == -ENODATA)
        return;
    if (r < 0 && err.code == 0)
        (void)err_sys(&err, r, "%s: cannot be read", collector->name);
    if (err.code < 0)
        complaint_say(&stage->complaint, "%s; these values are null until it works", err.msg);
    else
        (void)complaint_over(&stage->complaint, "%s: all values can be read again", collector->name);
}

/* One after the other: where descriptors are few, those that come first get them. */
static void run_stages(struct pipeline *pipeline, struct sample *sample)
{
    for (; pipeline->next < pipeline->count; pipeline->next++) {
        struct pipeline_stage *stage = &pipeline->stages[pipeline->next];
        pipeline->before = *sample;
        if (pipeline->tick.baseline && !stage->state && !stage->stuck)
            stage_open(pipeline, stage);
        stage_collect(pipeline, stage, &pipeline->tick, sample);
    }
}

void pipeline_open(struct pipeline *pipeline, const struct collect_env *env, const struct run_info *info,
    const struct collector *const *collectors, size_t count)
{
    if (count > PIPELINE_STAGES_MAX)
        count = PIPELINE_STAGES_MAX;
    *pipeline = (struct pipeline){.info = info, .env = env, .count = count};
    for (size_t i = 0; i < count; i++)
        pipeline->stages[i].collector = collectors[i];
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    pipeline->start_ns = info->start_ns.has ? info->start_ns.v : now_ns;
    pipeline->tick = (struct tick){.baseline = true, .mono_ns = now_ns, .late_ns = now_ns - pipeline->start_ns};
    struct sample unused = {0};
    run_stages(pipeline, &unused);
}

void pipeline_close(struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->count; i++) {
        struct pipeline_stage *stage = &pipeline->stages[i];
        if (!stage->state || pipeline_stage_is_stuck(stage))
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
    pipeline->tick = *tick;
    pipeline->next = 0;
    run_stages(pipeline, ret_sample);
}

/* A process that hangs is left out by the collector that reads it, which begins again; else the whole stage is. */
static void leave_out(struct pipeline *pipeline, struct blocking_thread *stuck)
{
    if (stuck->pid != 0) {
        if (pipeline->warned_pid == stuck->pid)
            return;
        pipeline->warned_pid = stuck->pid;
        log_warning(
            "tree: /proc/%d/%s cannot be read, the process hangs in the kernel; what is not known of it is left "
            "out until it goes on",
            (int)stuck->pid, stuck->file);
        return;
    }
    struct pipeline_stage *stage = &pipeline->stages[pipeline->next];
    stage->stuck = stuck;
    stage->needs_baseline |= pipeline->tick.baseline;
    /* It may be at the list of members, which must stay as it is then. */
    struct job *job = pipeline->env->job;
    stage->needs_members = job && job->wants_members;
    if (stage->needs_members)
        job->wants_members = false;
    complaint_say(&stage->complaint,
        "%s: a file of the kernel or a device does not answer; these values are null "
        "until it does",
        stage->collector->name);
    pipeline->next++;
}

void pipeline_resume(struct pipeline *pipeline, struct blocking_thread *stuck, struct sample *ret_sample)
{
    *ret_sample = pipeline->before;
    leave_out(pipeline, stuck);
    run_stages(pipeline, ret_sample);
}
