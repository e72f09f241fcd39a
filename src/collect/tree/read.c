/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tree/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"

/* A file of a process, or of one of its threads where tid is not 0. */
struct tree_path {
    pid_t pid, tid;
    const char *name;
};

enum { PATH_BYTES = 64, LIST_BYTES_MAX = 1024 * 1024 };

_Static_assert((int)TREE_TEXT_BYTES <= (int)BLOCKING_TEXT_BYTES, "a text fits where a bracket reads it");

static int read_namespace(const struct tree_reader *reader, pid_t pid, ino_t *ret_inode)
{
    char path[PATH_BYTES];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%d/ns/pid", (int)pid);
    if (fstatat(reader->env->root->proc_fd, path, &info, 0) < 0)
        return err_last();
    *ret_inode = info.st_ino;
    return 0;
}

__attribute__((cold)) void tree_reader_init(struct tree_reader *reader, const struct collect_env *env)
{
    *reader = (struct tree_reader){.env = env};
    buf_init(&reader->list, LIST_BYTES_MAX);
    if (env->tracked && env->root->proc_fd >= 0)
        (void)read_namespace(reader, env->tracked->tracker, &reader->own_namespace);
}

void tree_reader_fini(struct tree_reader *reader)
{
    buf_fini(&reader->list);
}

void tree_release_fd(struct tree_reader *reader, int *fd)
{
    if (*fd < 0)
        return;
    fd_close(fd);
    reader->kept--;
}

void tree_release_files(struct tree_reader *reader, struct tree_member *member)
{
    for (int i = 0; i < TREE_KEPT_FILES; i++)
        tree_release_fd(reader, &member->fds[i]);
    for (size_t i = 0; i < member->threads.count; i++)
        tree_release_fd(reader, &member->threads.items[i].fd);
    tree_release_fd(reader, &member->threads.task_fd);
    wait_release(reader, member);
    free(member->threads.items);
    member->threads = (struct tree_threads){.task_fd = -1};
}

/* "42/stat", "42/task/43/children" */
static void write_path(char path[static PATH_BYTES], pid_t pid, pid_t tid, const char *name)
{
    if (tid > 0)
        (void)snprintf(path, PATH_BYTES, "%d/task/%d/%s", (int)pid, (int)tid, name);
    else
        (void)snprintf(path, PATH_BYTES, "%d/%s", (int)pid, name);
}

/* Opens it where it is not kept; *ret_fd is then either in *fd as well, or the caller's to close. */
static int open_or_kept(struct tree_reader *reader, struct tree_path path, int *fd, int *ret_fd)
{
    if (*fd >= 0) {
        *ret_fd = *fd;
        return 0;
    }
    char text[PATH_BYTES];
    write_path(text, path.pid, path.tid, path.name);
    int fresh = file_open_at(reader->env->root->proc_fd, text, O_RDONLY);
    if (fresh < 0)
        return fresh;
    if (reader->kept < reader->env->descriptors) {
        *fd = fresh;
        reader->kept++;
    }
    *ret_fd = fresh;
    return 0;
}

/* Both files wait for the same lock. */
static bool is_stuck(const struct tree_reader *reader, pid_t pid)
{
    struct blocking *blocking = reader->env->blocking;
    return blocking_is_stuck(blocking, pid, "stat") || blocking_is_stuck(blocking, pid, "io");
}

/* The read that may never return; is_kept: the descriptor is not ours to close where that is so. */
static ssize_t read_bracketed(
    struct tree_reader *reader, struct tree_path path, int fd, bool is_kept, const char **ret_text)
{
    struct blocking_thread *bracket = blocking_enter(reader->env->blocking, path.pid, path.name);
    char *text = bracket ? bracket->text : reader->text;
    ssize_t n;
    do {
        n = pread(fd, text, TREE_TEXT_BYTES, 0);
    } while (n < 0 && errno == EINTR);
    int code = n < 0 ? err_last() : 0;
    if (!blocking_leave(bracket)) {
        if (!is_kept)
            (void)close(fd);
        blocking_return(bracket);
    }
    *ret_text = text;
    return code < 0 ? code : n;
}

/*
 * The text of a file through the descriptor at *fd where it is kept there; *ret_text points at it until the next read.
 * Returns the number of bytes or a negative errno; -ESRCH where a kept one says that the process is gone, -ETIMEDOUT
 * where an earlier read has not returned yet.
 */
static ssize_t read_file(struct tree_reader *reader, struct tree_path path, int *fd, const char **ret_text)
{
    if (is_stuck(reader, path.pid))
        return -ETIMEDOUT;
    int use;
    int r = open_or_kept(reader, path, fd, &use);
    if (r < 0)
        return r;
    ssize_t n = read_bracketed(reader, path, use, use == *fd, ret_text);
    if (use != *fd)
        (void)close(use);
    else if (n < 0)
        tree_release_fd(reader, fd);
    return n;
}

__attribute__((cold)) ssize_t tree_read_command(struct tree_reader *reader, pid_t pid, const char **ret_text)
{
    const struct tree_path path = {pid, 0, "cmdline"};
    struct blocking *blocking = reader->env->blocking;
    /* Its memory is locked as for smaps_rollup. */
    if (is_stuck(reader, pid) || blocking_is_stuck(blocking, pid, path.name) ||
        blocking_is_stuck(blocking, pid, "smaps_rollup"))
        return -ETIMEDOUT;
    char text[PATH_BYTES];
    write_path(text, pid, 0, path.name);
    int fd = file_open_at(reader->env->root->proc_fd, text, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t n = read_bracketed(reader, path, fd, false, ret_text);
    (void)close(fd);
    return n;
}

__attribute__((cold)) int tree_read_described(struct tree_reader *reader, pid_t pid, char *out, size_t size)
{
    const struct collect_env *env = reader->env;
    const char *text;
    ssize_t n = tree_read_command(reader, pid, &text);
    if (n <= 0)
        return n < 0 ? (int)n : -ENODATA;
    return env->describe_command(env->describe_context, (struct str){text, (size_t)n}, n == TREE_TEXT_BYTES, out, size);
}

int tree_read_children(struct tree_reader *reader, pid_t pid, pid_t tid, int *fd)
{
    int use;
    int r = open_or_kept(reader, (struct tree_path){pid, tid, "children"}, fd, &use);
    if (r < 0)
        return r;
    r = file_read_fd(use, FILE_RECORDS, &reader->list);
    if (use != *fd)
        (void)close(use);
    else if (r < 0)
        tree_release_fd(reader, fd);
    return r;
}

int tree_read_schedstat(struct tree_reader *reader, pid_t pid, pid_t tid, int *fd, struct pid_schedstat *ret_schedstat)
{
    const char *text;
    ssize_t n = read_file(reader, (struct tree_path){pid, tid, "schedstat"}, fd, &text);
    return n < 0 ? (int)n : pid_schedstat_parse((struct str){text, (size_t)n}, ret_schedstat);
}

__attribute__((cold)) int tree_read_statm(struct tree_reader *reader, pid_t pid, struct pid_statm *ret_statm)
{
    const char *text;
    int fd = -1;
    ssize_t n = read_file(reader, (struct tree_path){pid, 0, "statm"}, &fd, &text);
    tree_release_fd(reader, &fd);
    return n < 0 ? (int)n : pid_statm_parse((struct str){text, (size_t)n}, ret_statm);
}

__attribute__((cold)) struct opt_u64 tree_read_peak_kib(struct tree_reader *reader, pid_t pid)
{
    const char *text;
    int fd = -1;
    ssize_t n = read_file(reader, (struct tree_path){pid, 0, "status"}, &fd, &text);
    tree_release_fd(reader, &fd);
    return n > 0 ? pid_status_peak_kib((struct str){text, (size_t)n}) : (struct opt_u64){0};
}

/* Is the PID in use, as far as we may know? */
static bool exists(const struct collect_env *env, pid_t pid)
{
    uint64_t cpu_ns;
    return env->cpu_time(env->cpu_time_context, pid, &cpu_ns) == 0;
}

static int read_stat(struct tree_reader *reader, pid_t pid, int *fd, struct pid_stat *ret_stat)
{
    const char *text;
    ssize_t n = read_file(reader, (struct tree_path){pid, 0, "stat"}, fd, &text);
    if (n < 0)
        return (int)n;
    int r = pid_stat_parse((struct str){text, (size_t)n}, ret_stat);
    /* One that is being taken apart at this moment has no threads, and zeros instead of its times. */
    return r == 0 && ret_stat->threads == 0 ? -ESRCH : r;
}

/*
 * 0, -ESRCH where there is no such process, or -EACCES where there is one but it is hidden: then its number is in use,
 * and still was not shown at the second try.
 */
int tree_read_stat(struct tree_reader *reader, pid_t pid, int *fd, struct pid_stat *ret_stat)
{
    int r = read_stat(reader, pid, fd, ret_stat);
    if (r == 0 || r == -ESRCH)
        return r;
    if (!exists(reader->env, pid))
        return -ESRCH;
    r = read_stat(reader, pid, fd, ret_stat);
    return r == 0 || r == -ESRCH ? r : -EACCES;
}

int tree_read_candidate(struct tree_reader *reader, pid_t pid, struct pid_stat *ret_stat)
{
    int fd = -1;
    int r = tree_read_stat(reader, pid, &fd, ret_stat);
    tree_release_fd(reader, &fd);
    return r;
}

/* As tree_read_stat. */
static int update_stat(struct tree_reader *reader, struct tree_member *member)
{
    struct pid_stat stat;
    /* It hangs inside execve: what was last read of it still holds. */
    if (member->has_stat && is_stuck(reader, member->pid))
        return exists(reader->env, member->pid) ? 0 : -ESRCH;
    int r = tree_read_stat(reader, member->pid, &member->fds[TREE_FILE_STAT], &stat);
    if (r == -ESRCH)
        return r;
    member->is_hidden = r < 0;
    if (r < 0)
        return r;
    if (member->has_stat && stat.start_ticks != member->stat.start_ticks)
        return -ESRCH;
    member->stat = stat;
    member->has_stat = true;
    return 0;
}

static int read_io(struct tree_reader *reader, struct tree_member *member)
{
    const char *text;
    ssize_t n = read_file(reader, (struct tree_path){member->pid, 0, "io"}, &member->fds[TREE_FILE_IO], &text);
    return n < 0 ? (int)n : pid_io_parse((struct str){text, (size_t)n}, &member->io);
}

/* Some kernels close the file to ordinary users when the process ends; that is not a process we may not read. */
static void update_io(struct tree_reader *reader, struct tree_member *member, int64_t now_ns)
{
    if (now_ns < member->io_retry_ns)
        return;
    int r = read_io(reader, member);
    member->is_ending = r == -ESRCH;
    if (r == 0)
        member->has_io = reader->has_io = true;
    if (r == 0 || r == -ESRCH || r == -ETIMEDOUT)
        return;
    int gone = update_stat(reader, member);
    const struct pid_stat *stat = &member->stat;
    member->is_ending = gone == -ESRCH || (member->has_stat && (pid_stat_is_dead(stat) || stat->rss_pages == 0));
    if (member->is_ending)
        return;
    if (r == -ENOENT && gone == 0 && !reader->has_io) {
        reader->has_no_io = true;
        return;
    }
    member->has_io = false;
    member->io_retry_ns = now_ns + COLLECT_SLOW_NS;
    (void)err_sys(&reader->io_err, r, "tree: cannot read %s/proc/%d/io", reader->env->root->path, (int)member->pid);
}

uint64_t tree_own_cpu_ns(const struct collect_env *env, const struct tree_member *member)
{
    const struct pid_stat *stat = &member->stat;
    return member->cpu_ns.has ? member->cpu_ns.v : (stat->user_ticks + stat->system_ticks) * collect_tick_ns(env);
}

/* The process may wait to be taken apart; what a parent will get is known in whole ticks only. */
static void fill_account(const struct tree_reader *reader, struct tree_member *member)
{
    const struct pid_stat *stat = &member->stat;
    const bool visible = member->has_stat && !member->is_hidden;
    const uint64_t tick_ns = collect_tick_ns(reader->env);
    uint64_t children_ns = (stat->children_user_ticks + stat->children_system_ticks) * tick_ns;
    uint64_t own_ns = (stat->user_ticks + stat->system_ticks) * tick_ns;
    uint64_t user_ns = (stat->user_ticks + stat->children_user_ticks) * tick_ns;
    uint64_t faults = stat->major_faults + stat->children_major_faults;
    struct ledger_reading reading = {
        .value = {(member->cpu_ns.has ? member->cpu_ns.v : own_ns) + children_ns, user_ns, member->io.read_bytes,
            member->io.write_bytes, faults},
        .intake = {children_ns, stat->children_user_ticks * tick_ns, member->io.read_bytes, member->io.write_bytes,
            stat->children_major_faults},
        .settled = {own_ns + children_ns, user_ns, member->io.read_bytes, member->io.write_bytes, faults},
        .known = {visible, visible, member->has_io, member->has_io, visible},
    };
    struct ledger_account *account = &member->account;
    ledger_update(account, &reading);
    if (visible || !member->cpu_ns.has)
        return;
    /* A hidden one: its clock is known, and user and system time may both be cut by a tick on their way up. */
    uint64_t total_ns = member->cpu_ns.v + children_ns, cut_ns = 2 * tick_ns;
    account->value[FLOW_CPU] = total_ns;
    if (total_ns > cut_ns && total_ns - cut_ns > account->settled[FLOW_CPU])
        account->settled[FLOW_CPU] = total_ns - cut_ns;
}

int tree_read_member(struct tree_reader *reader, struct tree_member *member, int64_t now_ns, bool reads_idle)
{
    const struct collect_env *env = reader->env;
    uint64_t cpu_ns;
    bool has_clock = env->cpu_time(env->cpu_time_context, member->pid, &cpu_ns) == 0;
    if (!has_clock && !member->has_stat)
        return -ESRCH;
    /* The clock of one that runs may stand still until its next tick: it says nothing of a child just waited for. */
    bool ran = !has_clock || !member->cpu_ns.has || cpu_ns != member->cpu_ns.v || member->is_pending;
    int64_t patience_ns = reads_idle ? TREE_IDLE_NS : COLLECT_SLOW_NS;
    bool io_can_wait = member->has_io || reader->has_no_io || now_ns < member->io_retry_ns;
    if (!ran && now_ns - member->stat_ns < patience_ns && io_can_wait)
        return 0;
    int r = update_stat(reader, member);
    /* A hidden process whose clock went back is another one. */
    if (r < 0 && r != -ESRCH && has_clock && member->cpu_ns.has && cpu_ns < member->cpu_ns.v)
        r = -ESRCH;
    if (r == -ESRCH) {
        reader->saw_reuse |= has_clock;
        return r;
    }
    member->cpu_ns = has_clock ? some_u64(cpu_ns) : (struct opt_u64){0};
    member->stat_ns = now_ns;
    member->has_run |= ran;
    if (!reader->has_no_io && (ran || !member->has_io))
        update_io(reader, member, now_ns);
    fill_account(reader, member);
    return 0;
}

/* "NSpid:\t4711\t1": its number in our PID namespace, and in those below it. */
static bool has_inner_number(struct str text)
{
    struct str line;
    while (str_line(&text, &line)) {
        uint64_t outer, inner;
        if (!str_starts(line, STR("NSpid:")))
            continue;
        str_skip(&line, sizeof("NSpid:") - 1);
        return num_next_u64(&line, &outer) && num_next_u64(&line, &inner);
    }
    return false;
}

__attribute__((cold)) bool tree_read_is_in_namespace(struct tree_reader *reader, pid_t pid)
{
    ino_t its = 0;
    if (reader->own_namespace == 0)
        return false;
    int r = read_namespace(reader, pid, &its);
    if (r == 0)
        return its != reader->own_namespace;
    /* The link is closed where its memory is, the status is not. */
    int fd = -1;
    const char *text = NULL;
    ssize_t n = -1;
    if (r == -EACCES || r == -EPERM)
        n = read_file(reader, (struct tree_path){pid, 0, "status"}, &fd, &text);
    tree_release_fd(reader, &fd);
    return n > 0 && has_inner_number((struct str){text, (size_t)n});
}
