/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/job.h"

#include <stdlib.h>

#include "base/vec.h"

void job_fini(struct job *job)
{
    free(job->reaped_pids.items);
    job->reaped_pids.items = NULL;
    job->reaped_pids.count = job->reaped_pids.cap = 0;
}

void job_note_reaped(struct job *job, pid_t pid)
{
    if (VEC_GROW(&job->reaped_pids, job->reaped_pids.count + 1, JOB_REAPED_MAX) < 0)
        return;
    job->reaped_pids.items[job->reaped_pids.count++] = pid;
}

static void replace_helper(struct job *job, pid_t old, pid_t new)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        if (job->helpers[i] != old)
            continue;
        job->helpers[i] = new;
        return;
    }
}

void job_add_helper(struct job *job, pid_t pid)
{
    replace_helper(job, 0, pid);
}

void job_remove_helper(struct job *job, pid_t pid)
{
    replace_helper(job, pid, 0);
}

bool job_is_helper(const struct job *job, pid_t pid)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        if (job->helpers[i] == pid)
            return true;
    }
    return false;
}
