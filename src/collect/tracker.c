/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we cost ourselves: own CPU clock, own resident memory (/proc/self/statm: "size resident shared …" in pages),
 * both with helpers that live as long as we do, and how punctual the loop was.
 */
#include "base/file.h"
#include "base/num.h"
#include "collect/collect.h"

enum { STATM_BYTES_MAX = 4096 };

struct tracker_state {
    const struct collect_env *env;
    struct kept_file statm;
    struct buf text;
    int64_t cpu_ns;
};

static int tracker_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct tracker_state *state = opaque;
    (void)err;
    state->env = env;
    kept_file_init(&state->statm, env->root->proc_fd, "self/statm", FILE_SINGLE);
    buf_init(&state->text, STATM_BYTES_MAX);
    return 0;
}

static struct opt_f64 tracker_rss_mib(struct tracker_state *state)
{
    struct opt_f64 unknown = {0};
    if (kept_file_read(&state->statm, &state->text) < 0)
        return unknown;
    struct str text = buf_str(&state->text);
    uint64_t size_pages;
    uint64_t resident_pages;
    /* The byte behind the number shows that it is not cut. */
    if (!num_next_u64(&text, &size_pages) || !num_next_u64(&text, &resident_pages) || text.n == 0)
        return unknown;
    return some_f64(num_to_f64(resident_pages) * (double)state->env->page_bytes / BYTES_PER_MIB);
}

static int tracker_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct tracker_state *state = opaque;
    struct sample_tracker *tracker = &sample->tracker;
    (void)err;
    const struct helpers *helpers = state->env->helpers;
    int64_t cpu_ns = clock_read(state->env->clock, CLOCK_KIND_OWN_CPU);
    struct opt_f64 rss_mib = tracker_rss_mib(state);
    if (helpers) {
        cpu_ns += (int64_t)(helpers->cpu_ns + helpers->probe_cpu_ns);
        rss_mib.v += num_to_f64(helpers->rss_bytes) / BYTES_PER_MIB;
    }
    if (!tick->baseline) {
        tracker->present = true;
        tracker->cpu_secs = some_f64((double)(cpu_ns - state->cpu_ns) / 1e9);
        tracker->rss_mib = rss_mib;
        tracker->late_ms = some_f64((double)tick->late_ns / 1e6);
        tracker->missed_samples = some_u64(tick->missed);
    }
    state->cpu_ns = cpu_ns;
    return 0;
}

static void tracker_close(void *opaque)
{
    struct tracker_state *state = opaque;
    kept_file_fini(&state->statm);
    buf_fini(&state->text);
}

const struct collector collector_tracker = {
    .name = "tracker",
    .state_bytes = sizeof(struct tracker_state),
    .open = tracker_open,
    .collect = tracker_collect,
    .close = tracker_close,
};
