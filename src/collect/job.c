/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

void job_fini(struct job *job)
{
    free(job->reaped_pids.items);
    job->reaped_pids.items = NULL;
    job->reaped_pids.count = job->reaped_pids.cap = 0;
    free(job->members.items);
    job->members.items = NULL;
    job->members.count = job->members.cap = 0;
}

void job_note_reaped(struct job *job, pid_t pid)
{
    if (VEC_GROW(&job->reaped_pids, job->reaped_pids.count + 1, JOB_REAPED_MAX) < 0)
        return;
    job->reaped_pids.items[job->reaped_pids.count++] = pid;
}

static struct job_helper *find_helper(struct job *job, pid_t pid)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        if (job->helpers[i].pid == pid)
            return &job->helpers[i];
    }
    return NULL;
}

void job_add_helper(struct job *job, pid_t pid)
{
    struct job_helper *place = find_helper(job, 0);
    if (place)
        *place = (struct job_helper){.pid = pid};
}

void job_add_helper_group(struct job *job, pid_t group)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        if (job->helper_groups[i] == 0) {
            job->helper_groups[i] = group;
            return;
        }
    }
}

bool job_is_of_helper(struct job *job, pid_t pid)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        pid_t *group = &job->helper_groups[i];
        if (*group == 0)
            continue;
        if (kill(-*group, 0) < 0 && errno == ESRCH)
            *group = 0;
        else if (getpgid(pid) == *group)
            return true;
    }
    return false;
}

void job_remove_helper(struct job *job, pid_t pid)
{
    struct job_helper *helper = find_helper(job, pid);
    if (helper)
        *helper = (struct job_helper){0};
}

bool job_is_helper(const struct job *job, pid_t pid)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        if (job->helpers[i].pid == pid && !job->helpers[i].has_ended)
            return true;
    }
    return false;
}

void job_end_helper(struct job *job, pid_t pid, int status)
{
    struct job_helper *helper = find_helper(job, pid);
    if (!helper)
        return;
    helper->has_ended = true;
    helper->status = status;
}

bool job_helper_has_ended(const struct job *job, pid_t pid, int *ret_status)
{
    for (size_t i = 0; job && i < JOB_HELPERS_MAX; i++) {
        if (job->helpers[i].pid != pid || !job->helpers[i].has_ended)
            continue;
        *ret_status = job->helpers[i].status;
        return true;
    }
    return false;
}
