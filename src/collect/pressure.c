/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pressure stall information of the host: seconds in which some or all (full) tasks waited for CPU, memory
 * or I/O during this interval, from the kernel's running totals (Documentation/accounting/psi.rst).
 */
#include "kernel/proc.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "collect/collect.h"

enum { PRESSURE_BYTES_MAX = 8192 };

enum pressure_file { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURE_FILES };

static const char pressure_paths[PRESSURE_FILES][16] = {"pressure/cpu", "pressure/memory", "pressure/io"};

struct pressure_state {
    const struct collect_env *env;
    struct kept_file files[PRESSURE_FILES];
    bool off[PRESSURE_FILES]; /* the kernel has no such file, or accounting is turned off */
    struct pressure prev[PRESSURE_FILES];
    struct pressure first[PRESSURE_FILES]; /* when the collector was opened */
    bool is_fresh; /* that was just now */
    struct buf text;
};

static bool pressure_is_off(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -EOPNOTSUPP;
}

/* A file that says "not here" is not asked again; *ret is written only on success. */
static int pressure_read(struct pressure_state *state, enum pressure_file file, struct pressure *ret)
{
    int r = kept_file_read(&state->files[file], &state->text);
    if (r < 0) {
        state->off[file] = pressure_is_off(r);
        return r;
    }
    return pressure_parse(buf_str(&state->text), ret);
}

/* Returns how many could be read. */
static size_t pressure_read_all(
    struct pressure_state *state, struct pressure cur[PRESSURE_FILES], int *failure, struct err *err)
{
    size_t read = 0;
    for (size_t i = 0; i < PRESSURE_FILES; i++) {
        if (state->off[i])
            continue;
        int r = pressure_read(state, (enum pressure_file)i, &cur[i]);
        read += r == 0;
        if (r < 0 && !state->off[i])
            *failure = err_sys(err, r, "pressure: cannot read %s/proc/%s", state->env->root->path, pressure_paths[i]);
    }
    return read;
}

static struct opt_f64 pressure_stalled_secs(struct opt_u64 prev_us, struct opt_u64 cur_us)
{
    return opt_scaled(counter_delta_opt(prev_us, cur_us), 1e6);
}

static void pressure_derive(const struct pressure *prev, const struct pressure *cur, struct sample_pressure *ret)
{
    *ret = (struct sample_pressure){
        .present = true,
        .cpu_some_secs = pressure_stalled_secs(prev[PRESSURE_CPU].some_total_us, cur[PRESSURE_CPU].some_total_us),
        .memory_some_secs =
            pressure_stalled_secs(prev[PRESSURE_MEMORY].some_total_us, cur[PRESSURE_MEMORY].some_total_us),
        .memory_full_secs =
            pressure_stalled_secs(prev[PRESSURE_MEMORY].full_total_us, cur[PRESSURE_MEMORY].full_total_us),
        .io_some_secs = pressure_stalled_secs(prev[PRESSURE_IO].some_total_us, cur[PRESSURE_IO].some_total_us),
        .io_full_secs = pressure_stalled_secs(prev[PRESSURE_IO].full_total_us, cur[PRESSURE_IO].full_total_us),
    };
}

static void pressure_close(void *opaque)
{
    struct pressure_state *state = opaque;
    for (size_t i = 0; i < PRESSURE_FILES; i++)
        kept_file_fini(&state->files[i]);
    buf_fini(&state->text);
}

static int pressure_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct pressure_state *state = opaque;
    *state = (struct pressure_state){.env = env};
    buf_init(&state->text, PRESSURE_BYTES_MAX);
    for (size_t i = 0; i < PRESSURE_FILES; i++)
        kept_file_init(&state->files[i], env->root->proc_fd, pressure_paths[i], FILE_SINGLE);
    int failure = 0;
    state->is_fresh = pressure_read_all(state, state->first, &failure, err) > 0;
    if (state->is_fresh)
        return 0;
    pressure_close(state);
    return failure ? failure : err_set(err, -ENODATA, "pressure: this kernel keeps no pressure stall information");
}

static int pressure_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct pressure_state *state = opaque;
    struct pressure cur[PRESSURE_FILES] = {0};
    int failure = 0;
    bool is_known = tick->baseline && state->is_fresh;
    state->is_fresh = false;
    if (is_known)
        memcpy(cur, state->first, sizeof(cur));
    else if (pressure_read_all(state, cur, &failure, err) == 0)
        return failure ? failure : -ENODATA;
    if (!tick->baseline)
        pressure_derive(state->prev, cur, &sample->pressure);
    /* A total that could not be read stays, so that its next reading makes up for the gap. */
    for (size_t i = 0; i < PRESSURE_FILES; i++) {
        if (cur[i].some_total_us.has)
            state->prev[i].some_total_us = cur[i].some_total_us;
        if (cur[i].full_total_us.has)
            state->prev[i].full_total_us = cur[i].full_total_us;
    }
    return 0;
}

const struct collector collector_pressure = {
    .name = "pressure",
    .state_bytes = sizeof(struct pressure_state),
    .open = pressure_open,
    .collect = pressure_collect,
    .close = pressure_close,
};
