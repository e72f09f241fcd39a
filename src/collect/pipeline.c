/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

bool pipeline_stage_is_stuck(const struct pipeline_stage *stage)
{
    return stage->stuck && atomic_load_explicit(&stage->stuck->state, memory_order_acquire) != BLOCKING_RETURNED;
}

/* Opening may block as well. The state is the stage's before the bracket is left: what sees it returned may use it.
 */
__attribute__((cold)) static void stage_open(const struct pipeline *pipeline, struct pipeline_stage *stage)
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
        log_debug("%s: this host has none%s%s", collector->name, err.msg[0] ? "; " : "", err.msg);
    else if (r < 0)
        complaint_say(&stage->complaint, "%s; these values are null", err.msg);
}

/* A stage in which a thread was stuck is used again once that is out of it. */
static bool is_usable(struct pipeline_stage *stage)
{
    if (!stage->stuck)
        return true;
    if (pipeline_stage_is_stuck(stage))
        return false;
    stage->stuck = NULL;
    stage->has_returned = true;
    free(stage->apart);
    stage->apart = NULL;
    return true;
}

static void copy_filled(const struct collector *collector, const struct sample *from, struct sample *to)
{
    for (size_t i = 0; i < COLLECT_FILLS_MAX && collector->fills[i].bytes > 0; i++) {
        size_t offset = collector->fills[i].offset;
        /* The library's copy: what a compiler makes of memcpy for size takes an instruction per byte. */
        (void)memmove((char *)to + offset, (const char *)from + offset, collector->fills[i].bytes);
    }
}

static int collect_apart(
    struct pipeline *pipeline, struct pipeline_stage *stage, const struct tick *tick, struct err *err)
{
    static struct sample empty; /* never written; const would make the program so much larger */
    const struct collector *collector = stage->collector;
    struct sample *apart = pipeline->apart;
    copy_filled(collector, &empty, apart);
    struct blocking_thread *bracket = blocking_enter(pipeline->env->blocking, 0, collector->name);
    int r = collector->collect(stage->state, tick, apart, err);
    if (!blocking_leave(bracket))
        blocking_return(bracket);
    copy_filled(collector, apart, &pipeline->sample);
    return r;
}

static void stage_collect(struct pipeline *pipeline, struct pipeline_stage *stage)
{
    if (!is_usable(stage) || !stage->state)
        return;
    const struct collector *collector = stage->collector;
    struct tick tick = pipeline->tick;
    tick.baseline |= stage->needs_baseline;
    struct err err;
    err_clear(&err);
    int r = collector->fills[0].bytes > 0 ? collect_apart(pipeline, stage, &tick, &err)
                                          : collector->collect(stage->state, &tick, &pipeline->sample, &err);
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
static void run_stages(struct pipeline *pipeline)
{
    for (; pipeline->next < pipeline->count; pipeline->next++) {
        struct pipeline_stage *stage = &pipeline->stages[pipeline->next];
        if (pipeline->tick.baseline && !stage->state && !stage->stuck)
            stage_open(pipeline, stage);
        stage_collect(pipeline, stage);
    }
}

__attribute__((cold)) void pipeline_open(struct pipeline *pipeline, const struct collect_env *env,
    const struct run_info *info, const struct collector *const *collectors, size_t count)
{
    if (count > PIPELINE_STAGES_MAX)
        count = PIPELINE_STAGES_MAX;
    *pipeline = (struct pipeline){.info = info, .env = env, .count = count};
    for (size_t i = 0; i < count; i++)
        pipeline->stages[i].collector = collectors[i];
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    pipeline->start_ns = info->start_ns.has ? info->start_ns.v : now_ns;
    pipeline->tick = (struct tick){
        .baseline = true, .mono_ns = now_ns, .late_ns = now_ns - pipeline->start_ns, .births = &pipeline->births};
    pipeline->apart = calloc(1, sizeof(*pipeline->apart));
    if (pipeline->apart)
        run_stages(pipeline);
    else
        log_warning("nothing is collected: out of memory");
}

bool pipeline_settle(struct pipeline *pipeline)
{
    bool is_all_usable = true;
    for (size_t i = 0; i < pipeline->count; i++)
        is_all_usable &= is_usable(&pipeline->stages[i]);
    struct blocking *blocking = pipeline->env->blocking;
    if (!blocking || !blocking_has_stalls(blocking))
        (void)complaint_over(&pipeline->hanging, "tree: the processes that hung can be read again");
    return is_all_usable && (!blocking || !blocking_has_stalls(blocking));
}

__attribute__((cold)) static void close_stages(struct pipeline *pipeline, bool is_end)
{
    for (size_t i = 0; i < pipeline->count; i++) {
        struct pipeline_stage *stage = &pipeline->stages[i];
        if (!stage->state || pipeline_stage_is_stuck(stage))
            continue;
        fd_close_is_left = is_end && !stage->collector->has_helper;
        stage->collector->close(stage->state);
        fd_close_is_left = false;
        free(stage->state);
        stage->state = NULL;
    }
    free(pipeline->apart);
    pipeline->apart = NULL;
}

__attribute__((cold)) void pipeline_close(struct pipeline *pipeline)
{
    close_stages(pipeline, false);
}

void pipeline_end(struct pipeline *pipeline)
{
    close_stages(pipeline, true);
}

void pipeline_sample(struct pipeline *pipeline, const struct tick *tick)
{
    const struct clock *clock = pipeline->env->clock;
    int64_t real_ms = clock_read(clock, CLOCK_KIND_REALTIME) / NS_PER_MS;
    pipeline->sample = (struct sample){
        .timestamp_secs = some_i64(real_ms / 1000),
        .timestamp_ms = some_i64(real_ms),
        .elapsed_secs = some_f64((double)(tick->mono_ns - pipeline->start_ns) / 1e9),
        .job_name = pipeline->info->job_name,
        .tracked_pid = pipeline->info->tracked_pid,
        .version = pipeline->info->version,
    };
    if (pipeline->has_previous)
        pipeline->sample.actual_interval_ms = some_f64((double)(tick->mono_ns - pipeline->previous_ns) / 1e6);
    pipeline->previous_ns = tick->mono_ns;
    pipeline->has_previous = true;
    pipeline->tick = *tick;
    pipeline->tick.births = &pipeline->births;
    pipeline->births = (struct tick_births){0};
    pipeline->next = 0;
    run_stages(pipeline);
}

/* A process that hangs is left out by the collector that reads it, which begins again; else the whole stage is. */
static void leave_out(struct pipeline *pipeline, struct blocking_thread *stuck)
{
    if (stuck->pid != 0) {
        complaint_say(&pipeline->hanging,
            "tree: /proc/%d/%s cannot be read, the process hangs in the kernel; what is not known of it, and of others "
            "that hang, is left out until they go on",
            (int)stuck->pid, stuck->file);
        return;
    }
    struct pipeline_stage *stage = &pipeline->stages[pipeline->next];
    stage->stuck = stuck;
    stage->apart = pipeline->apart;
    stage->needs_baseline |= pipeline->tick.baseline;
    complaint_say(&stage->complaint,
        "%s: a file of the kernel or a device does not answer; these values are null "
        "until it does",
        stage->collector->name);
    pipeline->next++;
}

/* What is read from now on is of now. */
static void set_time(struct pipeline *pipeline)
{
    struct tick *tick = &pipeline->tick;
    struct sample *sample = &pipeline->sample;
    const struct clock *clock = pipeline->env->clock;
    int64_t now_ns = clock_read(clock, CLOCK_KIND_MONOTONIC), passed_ns = now_ns - tick->mono_ns;
    int64_t real_ms = clock_read(clock, CLOCK_KIND_REALTIME) / NS_PER_MS;
    tick->mono_ns = pipeline->previous_ns = now_ns;
    tick->late_ns += passed_ns;
    sample->timestamp_secs = some_i64(real_ms / 1000);
    sample->timestamp_ms = some_i64(real_ms);
    sample->elapsed_secs = some_f64((double)(now_ns - pipeline->start_ns) / 1e9);
    if (sample->actual_interval_ms.has)
        sample->actual_interval_ms.v += (double)passed_ns / 1e6;
}

__attribute__((cold)) bool pipeline_resume(struct pipeline *pipeline, struct blocking_thread *stuck)
{
    leave_out(pipeline, stuck);
    if (pipeline->next == pipeline->count && stuck->pid != 0)
        return false;
    if (!pipeline->tick.baseline)
        set_time(pipeline);
    /* The other one may still write to its own. */
    if (stuck->pid == 0)
        pipeline->apart = calloc(1, sizeof(*pipeline->apart));
    if (pipeline->apart)
        run_stages(pipeline);
    else
        pipeline->count = 0;
    return true;
}
