/* SPDX-License-Identifier: Apache-2.0 */
/* The host's memory from /proc/meminfo. Amounts, not counters: nothing is kept between samples. */
#include "collect/collect_internal.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "collect/collect.h"
#include "kernel/cgroup_files.h"

enum { MEMINFO_BYTES_MAX = 64 * 1024 };

struct memory_state {
    const struct collect_env *env;
    struct kept_file file;
    struct buf text;
};

/* Whole MiB, rounded down, as JSON and CSV have them. */
static struct opt_f64 mib(struct opt_u64 kib)
{
    uint64_t whole = kib.v / 1024;
    return kib.has ? some_f64(num_to_f64(whole)) : (struct opt_f64){0};
}

/* part of whole in percent; nothing of nothing is 0. */
static struct opt_f64 percent(struct opt_u64 part, struct opt_u64 whole)
{
    if (!part.has || !whole.has)
        return (struct opt_f64){0};
    return some_f64(whole.v ? 100.0 * num_to_f64(part.v) / num_to_f64(whole.v) : 0);
}

void memory_derive(const struct meminfo *info, struct sample_memory *ret_memory)
{
    struct opt_u64 cached = info->cached_kib;
    if (cached.has && info->s_reclaimable_kib.has)
        cached.v += info->s_reclaimable_kib.v;
    struct opt_u64 used = {0};
    if (info->total_kib.has && info->free_kib.has && info->buffers_kib.has && cached.has)
        used = some_u64(counter_delta(info->free_kib.v + info->buffers_kib.v + cached.v, info->total_kib.v));
    struct opt_u64 swap_used = counter_delta_opt(info->swap_free_kib, info->swap_total_kib);

    ret_memory->total_mib = mib(info->total_kib);
    ret_memory->free_mib = mib(info->free_kib);
    ret_memory->available_mib = mib(info->available_kib);
    ret_memory->unavailable_mib = mib(counter_delta_opt(info->available_kib, info->total_kib));
    ret_memory->used_mib = mib(used);
    ret_memory->used_pct = percent(used, info->total_kib);
    ret_memory->buffers_mib = mib(info->buffers_kib);
    ret_memory->cached_mib = mib(cached);
    ret_memory->active_mib = mib(info->active_kib);
    ret_memory->inactive_mib = mib(info->inactive_kib);
    ret_memory->swap_total_mib = mib(info->swap_total_kib);
    ret_memory->swap_used_mib = mib(swap_used);
    ret_memory->swap_used_pct = percent(swap_used, info->swap_total_kib);
    ret_memory->shmem_mib = mib(info->shmem_kib);
    ret_memory->dirty_mib = mib(info->dirty_kib);
}

__attribute__((cold)) static int memory_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct memory_state *state = opaque;
    (void)err;
    state->env = env;
    kept_file_init(&state->file, env->root->proc_fd, "meminfo", FILE_SINGLE);
    buf_init(&state->text, MEMINFO_BYTES_MAX);
    return 0;
}

static int memory_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct memory_state *state = opaque;
    /* The baseline reads too, so that the descriptor and the buffer are there before the first sample. */
    int r = kept_file_read(&state->file, &state->text);
    struct meminfo info;
    if (r >= 0)
        r = meminfo_parse(buf_str(&state->text), &info);
    if (r < 0)
        return collect_fail(err, r, "memory", state->env->root, "proc/meminfo");
    if (tick->baseline)
        return 0;
    memory_derive(&info, &sample->memory);
    sample->memory.present = true;
    return 0;
}

static void memory_close(void *opaque)
{
    struct memory_state *state = opaque;
    kept_file_fini(&state->file);
    buf_fini(&state->text);
}

const struct collector collector_memory = {
    .name = "memory",
    .state_bytes = sizeof(struct memory_state),
    .open = memory_open,
    .collect = memory_collect,
    .close = memory_close,
};

/*
 * Processes that the kernel killed when out of memory during the run, on the whole host: oom_kill of /proc/vmstat
 * (since Linux 4.13). Read twice in a run, at its start and at its end.
 */
enum { VMSTAT_BYTES_MAX = 64 * 1024 };

struct oom_state {
    const struct collect_env *env;
    struct opt_u64 first;
};

__attribute__((cold)) static int oom_open(void *opaque, const struct collect_env *env, struct err *err)
{
    (void)err;
    struct oom_state *state = opaque;
    state->env = env;
    return 0;
}

static int oom_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    (void)err;
    struct oom_state *state = opaque;
    if (!tick->baseline && !tick->is_final)
        return 0;
    AUTO_BUF struct buf text = {.max = VMSTAT_BYTES_MAX};
    struct opt_u64 kills = {0};
    if (file_read_at(state->env->root->proc_fd, "vmstat", &text) == 0)
        kills = cgroup_keyed_u64(buf_str(&text), STR("oom_kill"));
    if (tick->baseline)
        state->first = kills;
    else
        sample->end.host_oom_kills = counter_delta_opt(state->first, kills);
    return 0;
}

static void oom_close(void *opaque)
{
    (void)opaque;
}

const struct collector collector_oom = {
    .name = "oom",
    .state_bytes = sizeof(struct oom_state),
    .open = oom_open,
    .collect = oom_collect,
    .close = oom_close,
};
