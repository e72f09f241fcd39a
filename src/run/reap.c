/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for children: the command, the orphans we adopt, and helpers of ours. */
#include "run/session_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "kernel/pid.h"

enum { BYTES_PER_BLOCK = 512, BYTES_PER_KIB = 1024, ROOT_TEXT_BYTES = 1024 };

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void add_usage(struct tracked_usage *sum, const struct rusage *usage)
{
    uint64_t max_rss = (uint64_t)usage->ru_maxrss * BYTES_PER_KIB;
    sum->user_us += microseconds(usage->ru_utime);
    sum->system_us += microseconds(usage->ru_stime);
    sum->read_bytes += (uint64_t)usage->ru_inblock * BYTES_PER_BLOCK;
    sum->write_bytes += (uint64_t)usage->ru_oublock * BYTES_PER_BLOCK;
    sum->minor_faults += (uint64_t)usage->ru_minflt;
    sum->major_faults += (uint64_t)usage->ru_majflt;
    sum->max_rss_bytes = max_rss > sum->max_rss_bytes ? max_rss : sum->max_rss_bytes;
    sum->voluntary_switches += (uint64_t)usage->ru_nvcsw;
    sum->involuntary_switches += (uint64_t)usage->ru_nivcsw;
}

/* A child that has ended. Returns false where it was not there to be waited for. */
static bool take_child(struct tracked *tracked, struct helpers *helpers, pid_t pid, int *ret_status)
{
    struct rusage usage;
    pid_t taken;
    /* While it is not waited for, its number is its own: what it has started goes with it. */
    bool is_of_helper = helpers_started(helpers, pid);
    if (is_of_helper && helpers_has(helpers, pid))
        (void)kill(-pid, SIGKILL);
    do {
        taken = wait4(pid, ret_status, WNOHANG, &usage);
    } while (taken < 0 && errno == EINTR);
    if (taken != pid)
        return false;
    if (helpers_has(helpers, pid)) {
        helpers_note_end(helpers, pid, *ret_status);
        return true;
    }
    if (is_of_helper)
        return true;
    /* With the exec the peak of the memory in which the command began is its own: ours. */
    struct rusage ours;
    if (pid == tracked->root && getrusage(RUSAGE_SELF, &ours) == 0 && usage.ru_maxrss <= ours.ru_maxrss)
        usage.ru_maxrss = 0;
    if (pid == tracked->root && tracked->root_has_no_children)
        tracked->root_peak_bytes = (uint64_t)usage.ru_maxrss * BYTES_PER_KIB;
    add_usage(&tracked->reaped, &usage);
    tracked_note_reaped(tracked, pid);
    return true;
}

/* The next child with news, which stay there to be taken; false where there is none. */
static bool peek(idtype_t kind, id_t id, int options, siginfo_t *ret_info)
{
    ret_info->si_pid = 0;
    int r;
    do {
        r = waitid(kind, id, ret_info, options | WNOHANG | WNOWAIT);
    } while (r < 0 && errno == EINTR);
    return r == 0 && ret_info->si_pid != 0;
}

void reap_others(struct tracked *tracked, struct helpers *helpers)
{
    siginfo_t info;
    int status;
    while (peek(P_ALL, 0, WEXITED, &info) && info.si_pid != tracked->root &&
           take_child(tracked, helpers, info.si_pid, &status))
        ;
}

enum reap_news reap_peek(pid_t root, int *ret_signal, int *ret_status)
{
    siginfo_t info;
    *ret_signal = *ret_status = 0;
    if (peek(P_PID, (id_t)root, WEXITED, &info)) {
        *ret_signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        *ret_status = info.si_code == CLD_EXITED ? info.si_status : REAP_BY_SIGNAL + info.si_status;
        return REAP_ENDED;
    }
    if (peek(P_PID, (id_t)root, WSTOPPED, &info)) {
        *ret_signal = info.si_status;
        return REAP_HALTED;
    }
    info.si_pid = 0;
    bool resumed = waitid(P_PID, (id_t)root, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
    return resumed ? REAP_RESUMED : REAP_NOTHING;
}

/* A file of the root, which has ended; empty where it cannot be read. */
static struct str read_of_root(const struct tracked *tracked, const struct sysroot *root, const char *name, char *text)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/%s", (int)tracked->root, name);
    AUTO_FD int fd = file_open_at(root->proc_fd, path, O_RDONLY);
    int n = fd < 0 ? fd : file_read_once(fd, text, ROOT_TEXT_BYTES);
    return (struct str){text, n > 0 ? (size_t)n : 0};
}

__attribute__((cold, noinline)) void reap_note_root_end(struct tracked *tracked, const struct sysroot *root)
{
    char text[ROOT_TEXT_BYTES];
    struct pid_schedstat schedstat;
    struct pid_stat stat;
    if (!root->names_us)
        return;
    if (tracked->wants_top && pid_stat_parse(read_of_root(tracked, root, "stat", text), &stat) == 0)
        tracked->root_has_no_children = stat.children_minor_faults == 0;
    if (pid_schedstat_parse(read_of_root(tracked, root, "schedstat", text), &schedstat) < 0 || schedstat.runs == 0)
        return;
    tracked->root_end.run_ns = schedstat.run_ns;
    tracked->root_end.wait_ns = schedstat.wait_ns;
    tracked->root_end.has = true;
}

int reap_root(struct tracked *tracked, struct helpers *helpers)
{
    int status = 0;
    tracked->has_root_usage = take_child(tracked, helpers, tracked->root, &status);
    siginfo_t info;
    int other;
    while (peek(P_ALL, 0, WEXITED, &info) && take_child(tracked, helpers, info.si_pid, &other))
        ;
    tracked->root_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return WIFSIGNALED(status) ? REAP_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

void reap_quietly(pid_t root)
{
    int status;
    while (waitpid(root, &status, WNOHANG) < 0 && errno == EINTR)
        ;
}

bool reap_is_stopped(pid_t root)
{
    siginfo_t info;
    return peek(P_PID, (id_t)root, WSTOPPED, &info);
}

void reap_fill_end(const struct tracked *tracked, const struct tree_status *tree, int status, struct sample_end *end)
{
    end->present = true;
    if (tracked->root == 0)
        return;
    end->cpu_is_lower_bound = some_bool(tree->is_lower_bound);
    end->left_running = some_u64(tree->live);
    end->cpus_allowed = tree->cpus_allowed;
    uint64_t largest_bytes = tree->largest_rss_bytes;
    if (tracked->reaped.max_rss_bytes > largest_bytes)
        largest_bytes = tracked->reaped.max_rss_bytes;
    if (largest_bytes > 0)
        end->largest_process_mib = some_f64((double)largest_bytes / BYTES_PER_MIB);
    if (tracked->attached) {
        end->target_is_running = some_bool(tracked->group_dir ? tree->live > 0 : !tree->is_root_gone);
        return;
    }
    end->exit_code = some_i64(status);
    if (tracked->root_signal > 0)
        end->signal = some_i64(tracked->root_signal);
    if (!tracked->has_root_usage)
        return;
    end->minor_faults = some_u64(tracked->reaped.minor_faults);
    end->major_faults = some_u64(tracked->reaped.major_faults);
    end->voluntary_switches = some_u64(tracked->reaped.voluntary_switches);
    end->involuntary_switches = some_u64(tracked->reaped.involuntary_switches);
}
