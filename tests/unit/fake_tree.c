/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_tree.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"

enum { KEPT_DEFAULT = 64, OTHER_DESCRIPTORS = 64, TEXT_BYTES = 4096 };

struct fake_process *fake_tree_find(struct fake_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        if (tree->processes[i].pid == pid)
            return &tree->processes[i];
    }
    return NULL;
}

static struct fake_process *get(struct fake_tree *tree, pid_t pid)
{
    struct fake_process *process = fake_tree_find(tree, pid);
    assert_non_null(process);
    return process;
}

static int fake_tree_cpu_time(void *context, pid_t pid, uint64_t *ret_ns)
{
    struct fake_tree *tree = context;
    if (tree->on_clock)
        tree->on_clock(tree->on_clock_context, pid);
    const struct fake_process *process = fake_tree_find(tree, pid);
    int r = process ? 0 : -ESRCH;
    if (process)
        *ret_ns = process->user_ns + process->system_ns;
    if (tree->on_clock)
        tree->on_clock(tree->on_clock_context, pid);
    return r;
}

static int fake_tree_same_memory(void *context, pid_t a, pid_t b)
{
    struct fake_tree *tree = context;
    const struct fake_process *first = fake_tree_find(tree, a), *second = fake_tree_find(tree, b);
    tree->comparisons++;
    if (!first || !second)
        return -ESRCH;
    if (tree->same_memory_error < 0)
        return tree->same_memory_error;
    return (first->memory_of ? first->memory_of : a) == (second->memory_of ? second->memory_of : b);
}

static int fake_tree_affinity(void *context, pid_t tid, size_t bytes, void *ret_set)
{
    struct fake_tree *tree = context;
    tree->affinities++;
    if (!tree->affinity)
        return -ESRCH;
    uint64_t bits = tree->affinity(tid);
    memset(ret_set, 0, bytes);
    memcpy(ret_set, &bits, sizeof(bits));
    return 0;
}

/* A real process has to die for it: no other file fails this way. */
static int open_gone_file(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            (void)pause();
    }
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(fd >= 0);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, ESRCH);
    return fd;
}

static void init(struct fake_tree *tree, pid_t parent_of_root)
{
    memset(tree, 0, sizeof(*tree));
    fake_env_init(&tree->fake);
    tree->gone_fd = open_gone_file();
    tree->lists_children = true;
    tree->forks = some_u64(1000);
    tree->last_pid = some_u64(FAKE_ROOT);
    tree->tracked = (struct tracked){.root = FAKE_ROOT,
        .tracker = FAKE_TRACKER,
        .attached = parent_of_root != FAKE_TRACKER,
        .start_ns = tree->fake.mono_ns,
        .pss = TRACKED_PSS_NEVER};
    tree->fake.root.names_us = true;
    tree->fake.env.tracked = &tree->tracked;
    tree->fake.env.tree = &tree->status;
    tree->fake.env.helpers = &tree->helpers;
    tree->fake.env.cpu_time = fake_tree_cpu_time;
    tree->fake.env.cpu_time_context = tree;
    tree->fake.env.same_memory = fake_tree_same_memory;
    tree->fake.env.same_memory_context = tree;
    tree->fake.env.affinity = fake_tree_affinity;
    tree->fake.env.affinity_context = tree;
    tree->fake.env.descriptors = KEPT_DEFAULT;
    fake_tree_add(tree, FAKE_INIT, 0)->is_non_member = true;
    fake_tree_add(tree, FAKE_TRACKER, FAKE_INIT)->is_non_member = true;
    fake_tree_add(tree, FAKE_ROOT, parent_of_root);
}

void fake_tree_init(struct fake_tree *tree)
{
    init(tree, FAKE_TRACKER);
}

void fake_tree_init_attached(struct fake_tree *tree)
{
    init(tree, FAKE_INIT);
}

void fake_tree_fini(struct fake_tree *tree)
{
    fd_close(&tree->gone_fd);
    tracked_fini(&tree->tracked);
    tree_status_fini(&tree->status);
    fake_env_fini(&tree->fake);
}

/* In place where it is there already: files that are cut first cost some file systems dearly. */
void fake_tree_write_file(struct fake_tree *tree, pid_t pid, const char *name, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, name);
    int fd = openat(tree->fake.root.root_fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        fake_env_write(&tree->fake, path, text);
        return;
    }
    size_t n = strlen(text);
    assert_int_equal(pwrite(fd, text, n, 0), (ssize_t)n);
    assert_int_equal(ftruncate(fd, (off_t)n), 0);
    assert_int_equal(close(fd), 0);
}

static unsigned long long ticks(uint64_t ns)
{
    return ns / (uint64_t)FAKE_TICK_NS;
}

static void write_stat(struct fake_tree *tree, const struct fake_process *p)
{
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
        "%d (%s) %c %d %d %d 0 -1 %d %llu 88 %llu %llu %llu %llu %llu %llu 20 0 %zu 0 %llu %llu %llu "
        "18446744073709551615 1 2 %llu 4 5 0 0 %d 0 1 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        (int)p->pid, p->name, p->state, (int)p->parent, (int)p->pid, (int)p->pid,
        4194304 | (p->has_not_execed ? 0x40 : 0), (unsigned long long)p->minor_faults, (unsigned long long)p->faults,
        (unsigned long long)p->waited_faults, ticks(p->user_ns), ticks(p->system_ns), ticks(p->waited_user_ns),
        ticks(p->waited_system_ns), p->threads, (unsigned long long)p->start_ticks, (unsigned long long)p->vsize_bytes,
        (unsigned long long)p->rss_pages, (unsigned long long)p->stack_start,
        p->ignores_sigchld ? 1 << (SIGCHLD - 1) : 0);
    fake_tree_write_file(tree, p->pid, "stat", text);
}

void fake_tree_write(struct fake_tree *tree, const struct fake_process *process)
{
    if (process->is_hidden)
        return;
    write_stat(tree, process);
    if (tree->counts_waiting) {
        char line[TEXT_BYTES];
        uint64_t run_ns = process->user_ns + process->system_ns - process->others_run_ns;
        /* So much at a time. */
        uint64_t all_ns = process->user_ns + process->system_ns, runs = all_ns > 0 ? 7 + all_ns / NS_PER_MS : 0;
        (void)snprintf(line, sizeof(line), "%llu %llu %llu\n", (unsigned long long)run_ns,
            (unsigned long long)process->wait_ns, (unsigned long long)runs);
        fake_tree_write_file(tree, process->pid, "schedstat", line);
    }
    if (process->is_foreign || process->has_no_io)
        return;
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
        "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: %llu\nwrite_bytes: %llu\ncancelled_write_bytes: 0\n",
        (unsigned long long)process->read_bytes, (unsigned long long)process->write_bytes);
    fake_tree_write_file(tree, process->pid, "io", text);
}

static void write_children_of_thread(struct fake_tree *tree, const struct fake_process *process, size_t thread)
{
    char text[TEXT_BYTES] = "";
    size_t n = 0;
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        const struct fake_process *child = &tree->processes[i];
        if (child->pid != 0 && child->parent == process->pid && child->by_thread == thread)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%d ", (int)child->pid);
    }
    char name[64];
    (void)snprintf(name, sizeof(name), "task/%d/children", (int)process->pid + (int)thread * FAKE_TID_STEP);
    fake_tree_write_file(tree, process->pid, name, text);
}

void fake_tree_write_children(struct fake_tree *tree, pid_t pid)
{
    const struct fake_process *process = fake_tree_find(tree, pid);
    if (!process || process->is_hidden || !tree->lists_children)
        return;
    for (size_t i = 0; i < process->threads; i++)
        write_children_of_thread(tree, process, i);
}

struct fake_process *fake_tree_add(struct fake_tree *tree, pid_t pid, pid_t parent)
{
    assert_null(fake_tree_find(tree, pid));
    struct fake_process *process = fake_tree_find(tree, 0);
    assert_non_null(process);
    *process = (struct fake_process){.pid = pid,
        .parent = parent,
        .start_ticks = ++tree->start_ticks,
        .state = 'S',
        .name = "job",
        .threads = 1,
        .rss_pages = 256,
        .vsize_bytes = 1000000,
        .stack_start = 0x7ffc0000};
    fake_tree_write(tree, process);
    fake_tree_write_children(tree, pid);
    fake_tree_write_children(tree, parent);
    return process;
}

struct fake_process *fake_tree_add_non_member(struct fake_tree *tree, pid_t pid)
{
    struct fake_process *process = fake_tree_add(tree, pid, FAKE_INIT);
    process->is_non_member = true;
    return process;
}

struct fake_process *fake_tree_fork(struct fake_tree *tree, pid_t pid, pid_t parent, size_t by_thread)
{
    struct fake_process *process = fake_tree_add(tree, pid, parent);
    process->by_thread = by_thread;
    process->is_non_member = get(tree, parent)->is_non_member && parent != FAKE_TRACKER;
    fake_tree_write_children(tree, parent);
    tree->forks.v++;
    tree->last_pid.v = (uint64_t)pid;
    fake_tree_run(tree, parent, 0, 1000);
    return process;
}

static void remove_files(struct fake_tree *tree, pid_t pid)
{
    char path[64];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%d", (int)pid);
    if (fstatat(tree->fake.root.proc_fd, path, &info, 0) == 0) {
        (void)snprintf(path, sizeof(path), "proc/%d", (int)pid);
        fake_env_remove(&tree->fake, path);
    }
}

/* Descriptors that are kept of this file now say that the process is gone. */
static void end_file(struct fake_tree *tree, pid_t pid, const char *name)
{
    char path[64];
    struct stat wanted;
    (void)snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
    if (fstatat(tree->fake.root.proc_fd, path, &wanted, 0) != 0)
        return;
    int end = tree->gone_fd + (int)tree->fake.env.descriptors + OTHER_DESCRIPTORS;
    for (int fd = 3; fd < end; fd++) {
        struct stat info;
        if (fstat(fd, &info) == 0 && info.st_dev == wanted.st_dev && info.st_ino == wanted.st_ino)
            assert_int_equal(dup3(tree->gone_fd, fd, O_CLOEXEC), fd);
    }
}

void fake_tree_hide(struct fake_tree *tree, pid_t pid)
{
    get(tree, pid)->is_hidden = true;
    end_file(tree, pid, "stat");
    end_file(tree, pid, "io");
    end_file(tree, pid, "schedstat");
    remove_files(tree, pid);
}

void fake_tree_starve(struct fake_tree *tree, pid_t pid, uint64_t wait_ns)
{
    struct fake_process *process = get(tree, pid);
    process->wait_ns += wait_ns;
    fake_tree_write(tree, process);
}

void fake_tree_write_thread(struct fake_tree *tree, pid_t pid, size_t thread, uint64_t run_ns, uint64_t wait_ns)
{
    char name[64], line[TEXT_BYTES];
    (void)snprintf(name, sizeof(name), "task/%d/schedstat", (int)pid + (int)thread * FAKE_TID_STEP);
    (void)snprintf(line, sizeof(line), "%llu %llu %llu\n", (unsigned long long)run_ns, (unsigned long long)wait_ns,
        7 + (unsigned long long)run_ns / NS_PER_MS);
    fake_tree_write_file(tree, pid, name, line);
}

void fake_tree_end_thread(struct fake_tree *tree, pid_t pid, size_t thread)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "task/%d/schedstat", (int)pid + (int)thread * FAKE_TID_STEP);
    end_file(tree, pid, name);
    (void)snprintf(name, sizeof(name), "proc/%d/task/%d", (int)pid, (int)pid + (int)thread * FAKE_TID_STEP);
    fake_env_remove(&tree->fake, name);
}

void fake_tree_use(struct fake_tree *tree, pid_t pid, struct fake_amounts more)
{
    struct fake_process *process = get(tree, pid);
    process->user_ns += more.user_ns;
    process->system_ns += more.system_ns;
    process->read_bytes += more.read_bytes;
    process->write_bytes += more.write_bytes;
    process->faults += more.faults;
    if (!process->is_non_member) {
        tree->used.user_ns += more.user_ns;
        tree->used.system_ns += more.system_ns;
        tree->used.read_bytes += more.read_bytes;
        tree->used.write_bytes += more.write_bytes;
        tree->used.faults += more.faults;
    }
    fake_tree_write(tree, process);
}

void fake_tree_run(struct fake_tree *tree, pid_t pid, uint64_t user_ns, uint64_t system_ns)
{
    fake_tree_use(tree, pid, (struct fake_amounts){.user_ns = user_ns, .system_ns = system_ns});
}

void fake_tree_io(struct fake_tree *tree, pid_t pid, uint64_t read_bytes, uint64_t write_bytes)
{
    fake_tree_use(tree, pid, (struct fake_amounts){.read_bytes = read_bytes, .write_bytes = write_bytes});
}

void fake_tree_fault(struct fake_tree *tree, pid_t pid, uint64_t faults)
{
    fake_tree_use(tree, pid, (struct fake_amounts){.faults = faults});
}

void fake_tree_vanish(struct fake_tree *tree, pid_t pid)
{
    struct fake_process *process = get(tree, pid);
    const pid_t parent = process->parent;
    if (!process->is_hidden) {
        end_file(tree, pid, "stat");
        end_file(tree, pid, "io");
        end_file(tree, pid, "schedstat");
        /* A list of children that is kept reads as empty from then on. */
        for (size_t i = 0; tree->lists_children && i < process->threads; i++) {
            char name[64];
            (void)snprintf(name, sizeof(name), "task/%d/children", (int)pid + (int)i * FAKE_TID_STEP);
            fake_tree_write_file(tree, pid, name, "");
        }
        remove_files(tree, pid);
    }
    *process = (struct fake_process){0};
    fake_tree_write_children(tree, parent);
}

static pid_t next_subreaper(struct fake_tree *tree, pid_t pid)
{
    const struct fake_process *process = fake_tree_find(tree, pid);
    while (process && process->pid != FAKE_INIT) {
        if (process->pid == FAKE_TRACKER || (process->is_subreaper && process->state != 'Z'))
            return process->pid;
        process = fake_tree_find(tree, process->parent);
    }
    return FAKE_INIT;
}

static bool is_dropped(struct fake_tree *tree, const struct fake_process *process)
{
    return process->state == 'Z' && (process->parent == FAKE_INIT || get(tree, process->parent)->ignores_sigchld);
}

static void hand_children_on(struct fake_tree *tree, pid_t from, pid_t to)
{
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        struct fake_process *child = &tree->processes[i];
        if (child->pid == 0 || child->parent != from)
            continue;
        child->parent = to;
        child->by_thread = 0;
        fake_tree_write(tree, child);
        fake_tree_write_children(tree, to);
        if (is_dropped(tree, child))
            fake_tree_vanish(tree, child->pid);
    }
}

void fake_tree_exit(struct fake_tree *tree, pid_t pid)
{
    struct fake_process *process = get(tree, pid);
    fake_tree_run(tree, pid, 0, 1000);
    process->state = 'Z';
    process->rss_pages = process->vsize_bytes = 0;
    hand_children_on(tree, pid, next_subreaper(tree, process->parent));
    fake_tree_write(tree, process);
    fake_tree_write_children(tree, pid);
    if (is_dropped(tree, process))
        fake_tree_vanish(tree, pid);
}

void fake_tree_wait(struct fake_tree *tree, pid_t pid)
{
    const struct fake_process *child = get(tree, pid);
    struct fake_process *parent = get(tree, child->parent);
    assert_int_equal(child->state, 'Z');
    parent->waited_user_ns += child->user_ns + child->waited_user_ns;
    parent->waited_system_ns += child->system_ns + child->waited_system_ns;
    parent->waited_faults += child->faults + child->waited_faults;
    parent->read_bytes += child->read_bytes;
    parent->write_bytes += child->write_bytes;
    fake_tree_vanish(tree, pid);
    fake_tree_run(tree, parent->pid, 0, 1000);
}

void fake_tree_reap(struct fake_tree *tree, pid_t pid)
{
    const struct fake_process *child = get(tree, pid);
    struct tracked_usage *reaped = &tree->tracked.reaped;
    assert_int_equal(child->parent, FAKE_TRACKER);
    assert_int_equal(child->state, 'Z');
    reaped->user_us += (child->user_ns + child->waited_user_ns) / 1000;
    reaped->system_us += (child->system_ns + child->waited_system_ns) / 1000;
    reaped->major_faults += child->faults + child->waited_faults;
    reaped->read_bytes += child->read_bytes;
    reaped->write_bytes += child->write_bytes;
    tracked_note_reaped(&tree->tracked, pid);
    tree->reaps++;
    fake_tree_vanish(tree, pid);
}

void fake_tree_finish(struct fake_tree *tree, pid_t pid)
{
    fake_tree_exit(tree, pid);
    if (get(tree, pid)->parent == FAKE_TRACKER)
        fake_tree_reap(tree, pid);
    else
        fake_tree_wait(tree, pid);
}

void fake_tree_reap_all(struct fake_tree *tree)
{
    for (size_t i = 0; i < FAKE_TREE_MAX; i++) {
        const struct fake_process *process = &tree->processes[i];
        if (process->pid != 0 && process->parent == FAKE_TRACKER && process->state == 'Z')
            fake_tree_reap(tree, process->pid);
    }
}

void fake_tree_open(struct fake_tree *tree)
{
    tree->state = calloc(1, collector_tree.state_bytes);
    assert_non_null(tree->state);
    assert_int_equal(collector_tree.open(tree->state, &tree->fake.env, &tree->err), 0);
}

void fake_tree_close(struct fake_tree *tree)
{
    collector_tree.close(tree->state);
    free(tree->state);
    tree->state = NULL;
}

void fake_tree_begin(struct fake_tree *tree)
{
    fake_tree_init(tree);
    fake_tree_open(tree);
}

int fake_tree_begin_with(struct fake_tree *tree, size_t descriptors)
{
    fake_tree_init(tree);
    tree->fake.env.descriptors = descriptors;
    int before = fake_env_open_count();
    fake_tree_open(tree);
    return before;
}

void fake_tree_end(struct fake_tree *tree)
{
    fake_tree_close(tree);
    fake_tree_fini(tree);
}

static void step(struct fake_tree *tree, bool baseline)
{
    struct tick_births births = {.forks = tree->forks, .last_pid = tree->last_pid};
    struct tick tick = {
        .baseline = baseline, .is_final = tree->is_final, .mono_ns = tree->fake.mono_ns, .births = &births};
    static const struct opt_f64 shares[64];
    tree->sample = (struct sample){0};
    assert_true(tree->cpus <= sizeof(shares) / sizeof(shares[0]));
    tree->sample.cpu.per_core_pct = (struct sample_list){tree->cpus > 0, tree->cpus, shares};
    tree->sample.pressure.cpu_some_secs = tree->pressure_secs;
    err_clear(&tree->err);
    assert_int_equal(collector_tree.collect(tree->state, &tick, &tree->sample, &tree->err), 0);
    if (!baseline)
        tracked_clear_reaped(&tree->tracked);
}

void fake_tree_baseline(struct fake_tree *tree)
{
    step(tree, true);
}

static uint64_t whole_ns(struct opt_f64 secs)
{
    return secs.has ? (uint64_t)(secs.v * 1e9 + 0.5) : 0;
}

void fake_tree_collect(struct fake_tree *tree)
{
    step(tree, false);
    const struct sample_cpu *cpu = &tree->sample.cpu;
    assert_true(!cpu->process_utime_secs.has || cpu->process_utime_secs.v >= 0);
    assert_true(!cpu->process_stime_secs.has || cpu->process_stime_secs.v >= 0);
    tree->reported.user_ns += whole_ns(cpu->process_utime_secs);
    tree->reported.system_ns += whole_ns(cpu->process_stime_secs);
    tree->reported.read_bytes += cpu->process_disk_read_bytes.has ? cpu->process_disk_read_bytes.v : 0;
    tree->reported.write_bytes += cpu->process_disk_write_bytes.has ? cpu->process_disk_write_bytes.v : 0;
    tree->reported.faults += cpu->process_major_faults.has ? cpu->process_major_faults.v : 0;
}

void fake_tree_collect_after(struct fake_tree *tree, int64_t ns)
{
    fake_env_advance(&tree->fake, ns);
    fake_tree_collect(tree);
}

void fake_tree_close_gate(struct fake_tree *tree)
{
    tree->forks.v += 300;
    for (int i = 0; i < 3; i++)
        fake_tree_collect_after(tree, 100 * NS_PER_MS);
}

void fake_tree_assert_near(struct opt_f64 got, double expected)
{
    assert_true(got.has);
    if (got.v < expected - 1e-9 || got.v > expected + 1e-9)
        fail_msg("%.12f instead of %.12f", got.v, expected);
}

void fake_tree_assert_count(struct opt_u64 got, uint64_t expected)
{
    assert_true(got.has);
    assert_int_equal(got.v, expected);
}
