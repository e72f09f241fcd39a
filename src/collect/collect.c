/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Every collector there is, in the order of the sample; the probe of devices comes before those that ask it, the tree
 * needs what the CPU collector read just before, and the tracker comes last so that it sees what the others cost. */
const struct collector *const collector_registry[] = {
    &collector_probe,
    &collector_cpu,
    &collector_pressure, /* before the tree, which reads it */
    &collector_tree,
    &collector_traffic, /* behind the tree, whose processes it reads */
    &collector_memory,
    &collector_network,
    &collector_disk,
    &collector_gpu,
    &collector_cgroup,
    &collector_oom,
    &collector_energy, /* behind the CPUs and the tree, by whose time it is divided */
    &collector_tracker,
};

const size_t collector_registry_count = sizeof(collector_registry) / sizeof(collector_registry[0]);

__attribute__((noinline)) uint64_t collect_tick_ns(const struct collect_env *env)
{
    return (uint64_t)(NS_PER_SEC / env->ticks_per_sec);
}

int collect_fail(struct err *err, int r, const char *module, const struct sysroot *root, const char *path)
{
    if (r == -EBADMSG || r == -EINVAL)
        return err_set(err, r, "%s: %s/%s is truncated or malformed", module, root->path, path);
    return err_sys(err, r, "%s: cannot read %s/%s", module, root->path, path);
}

void tracked_note_reaped(struct tracked *tracked, pid_t pid)
{
    if (VEC_GROW(&tracked->reaped_pids, tracked->reaped_pids.count + 1, TRACKED_REAPED_MAX) < 0)
        return;
    tracked->reaped_pids.items[tracked->reaped_pids.count++] = pid;
}

void tracked_clear_reaped(struct tracked *tracked)
{
    tracked->reaped_pids.earlier += tracked->reaped_pids.count;
    tracked->reaped_pids.count = 0;
}

void tracked_fini(struct tracked *tracked)
{
    free(tracked->reaped_pids.items);
    tracked->reaped_pids.items = NULL;
    tracked->reaped_pids.count = tracked->reaped_pids.cap = 0;
}

void tree_status_fini(struct tree_status *status)
{
    free(status->members.items);
    status->members.items = NULL;
    status->members.count = status->members.cap = 0;
}
