/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that the kernel killed for want of memory during the run, on the whole host: oom_kill of /proc/vmstat
 * (since Linux 4.13). Read twice in a run, at its start and at its end. oom_kill 3
 */
#include "base/auto.h"
#include "base/file.h"
#include "collect/collect.h"
#include "kernel/cgroup_files.h"

enum { VMSTAT_BYTES_MAX = 64 * 1024 };

struct oom_state {
    const struct collect_env *env;
    struct opt_u64 first;
};

static int oom_open(void *opaque, const struct collect_env *env, struct err *err)
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
    AUTO_BUF struct buf text;
    buf_init(&text, VMSTAT_BYTES_MAX);
    struct opt_u64 kills = {0};
    if (file_read_at(state->env->root->proc_fd, "vmstat", &text) == 0)
        kills = cgroup_keyed_u64((struct str){text.data, text.len}, STR("oom_kill"));
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
