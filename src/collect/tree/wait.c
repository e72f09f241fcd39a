/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See wait.h. The kernel adds to the second number of schedstat (Documentation/scheduler/sched-stats.rst) when a thread
 * gets a CPU, for all the time since it was ready: so a thread that did not run has nothing new, and what is read can
 * be more than the interval has; the surplus counts in the intervals that follow. A process that is ready and does not
 * run at all is counted by the clock until it does.
 */
#include "collect/tree/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/tree/walk.h"

enum {
    PATH_BYTES = 32,
    LISTS_MAX = 2, /* of the threads of a process in one tick */
    LIST_NS = 1000, /* what an entry of a list costs */
    COST_MIN_NS = 200,
    COST_MAX_NS = 100000,
    SLACK_SHARE = 16, /* CPU time of a process and of its threads may differ by this part, and by two ticks */
    LENGTH_MIN_TICKS = 2, /* a process that was there for less says nothing of cores in use */
};

#define COST_WEIGHT 0.3 /* of the newest cost */
#define SCALE_MAX 1.25 /* up to which what was wanted is in proportion to what was read */
#define WAITING_SHARE 0.1 /* of CPU time: less waiting than that is scaled, however much */

/* What the readings of one tick share. */
struct pass {
    struct tree_wait *wait;
    struct tree_reader *reader;
    struct pid_list *list;
    int64_t now_ns;
    bool is_baseline;
    bool is_measured; /* something was read on the budget */
    int64_t begun_ns; /* our CPU time before that */
    int64_t allowed, used; /* readings */
    uint64_t run_ns; /* of the threads of one process */
    struct demand_wait unread_rate; /* of its threads that were not read */
    int64_t length_ns; /* for which it was there and not known to be idle, since its last reading */
    bool is_born; /* since the last tick */
    bool is_cut; /* some of them since the budget did not last */
    bool has_unread; /* one of these was never read */
};

void wait_open(struct tree_wait *wait, const struct collect_env *env)
{
    int64_t start_ns = env->tracked->start_ns;
    *wait = (struct tree_wait){.env = env,
        .tick_ns = start_ns,
        .reported_ns = start_ns,
        .bank_ns = WAIT_BANK_NS,
        .cost_ns = WAIT_FIRST_COST_NS};
}

static void begin_budget(struct pass *pass)
{
    struct tree_wait *wait = pass->wait;
    if (pass->is_measured)
        return;
    int64_t spend_ns = wait->bank_ns < WAIT_TICK_NS ? wait->bank_ns : WAIT_TICK_NS;
    pass->is_measured = true;
    pass->begun_ns = clock_read(wait->env->clock, CLOCK_KIND_OWN_CPU);
    pass->allowed = spend_ns > 0 ? spend_ns / wait->cost_ns : 0;
}

/* Does the budget allow another reading? */
static bool may_read(struct pass *pass)
{
    begin_budget(pass);
    if (pass->used >= pass->allowed)
        return false;
    pass->used++;
    return true;
}

static void settle_budget(struct pass *pass)
{
    struct tree_wait *wait = pass->wait;
    if (!pass->is_measured)
        return;
    int64_t spent_ns = clock_read(wait->env->clock, CLOCK_KIND_OWN_CPU) - pass->begun_ns;
    wait->bank_ns -= spent_ns;
    if (pass->used == 0)
        return;
    wait->cost_ns += (int64_t)(COST_WEIGHT * ((double)spent_ns / (double)pass->used - (double)wait->cost_ns));
    wait->cost_ns = wait->cost_ns < COST_MIN_NS ? COST_MIN_NS : wait->cost_ns;
    wait->cost_ns = wait->cost_ns > COST_MAX_NS ? COST_MAX_NS : wait->cost_ns;
}

static void earn(struct tree_wait *wait)
{
    if (wait->elapsed_ns > 0)
        wait->bank_ns += (int64_t)(WAIT_SHARE * (double)wait->elapsed_ns);
    if (wait->bank_ns > WAIT_BANK_NS)
        wait->bank_ns = WAIT_BANK_NS;
}

static void count_thread(struct tree_reader *reader, struct wait_thread *thread)
{
    bool is_kept = thread->fd >= 0;
    reader->kept_threads += (size_t)is_kept - thread->is_counted;
    thread->is_counted = is_kept;
}

static void release_thread(struct tree_reader *reader, struct wait_thread *thread)
{
    tree_release_fd(reader, &thread->fd);
    count_thread(reader, thread);
}

void wait_release(struct tree_reader *reader, struct tree_member *member)
{
    struct wait_process *process = &member->wait;
    tree_release_fd(reader, &process->first.fd);
    for (size_t i = 0; i < process->others.count; i++)
        release_thread(reader, &process->others.items[i]);
    free(process->others.items);
    *process = (struct wait_process){.first.fd = -1};
}

/*
 * What a thread ran and waited since its last reading; nothing with its first one where it was there before us.
 * length_ns: how long that was; 0: it is new, and nothing is known of its sleep.
 */
static void advance(const struct tree_wait *wait, struct wait_thread *thread, const struct pid_schedstat *now,
    int64_t length_ns, struct pid_schedstat *ret_growth)
{
    struct demand_reading reading = {0};
    thread->share = 1; /* with a first reading */
    if (!thread->needs_reference) {
        reading = (struct demand_reading){.run_ns = counter_delta(thread->run_ns, now->run_ns),
            .wait_ns = counter_delta(thread->wait_ns, now->wait_ns),
            .waits = counter_delta(thread->runs, now->runs),
            .length_ns = length_ns};
        if (length_ns == 0)
            reading.length_ns = (int64_t)(reading.run_ns + reading.wait_ns);
        thread->share = demand_share(&thread->history, &reading, (int64_t)collect_tick_ns(wait->env) / 2);
    }
    *ret_growth = (struct pid_schedstat){.run_ns = reading.run_ns, .wait_ns = reading.wait_ns};
    thread->needs_reference = false;
    thread->is_read = true;
    thread->is_active = reading.run_ns > 0 || reading.wait_ns > 0;
    thread->run_ns = now->run_ns;
    thread->wait_ns = now->wait_ns;
    thread->runs = now->runs;
}

/* Is there no such file on this kernel? A process that is gone has none either. */
static bool is_missing(const struct tree_wait *wait, pid_t pid)
{
    char path[PATH_BYTES];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    return !wait->has_read && fstatat(wait->env->root->proc_fd, path, &info, 0) == 0;
}

static int read_first(struct pass *pass, struct tree_member *member, struct pid_schedstat *ret_growth)
{
    struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    struct pid_schedstat now;
    int r = tree_read_schedstat(pass->reader, member->pid, 0, &process->first.fd, &now);
    if (r < 0) {
        wait->is_absent = r == -ENOENT && is_missing(wait, member->pid);
        if (r != -ESRCH)
            process->retry_ns = pass->now_ns + COLLECT_SLOW_NS;
        return r;
    }
    /* A kernel that has the file and does not count shows zeros of a process that has run. */
    if (now.runs == 0 && !wait->has_read && tree_own_cpu_ns(wait->env, member) >= collect_tick_ns(wait->env)) {
        wait->is_absent = true;
        return -ENODATA;
    }
    wait->has_read |= now.runs > 0;
    advance(wait, &process->first, &now, pass->length_ns, ret_growth);
    return 0;
}

/* After a reading: its file is kept where the thread will be read again soon. */
static void keep_or_release(struct pass *pass, const struct wait_process *process, struct wait_thread *thread)
{
    struct tree_reader *reader = pass->reader;
    bool is_wanted = thread->is_active || process->others.count <= WAIT_KEPT_THREADS;
    if (thread->fd < 0 || (is_wanted && reader->kept_threads <= pass->wait->env->descriptors / WAIT_KEPT_SHARE))
        return;
    release_thread(reader, thread);
}

/*
 * One of the other threads. Where it was not read in the last ticks, its last rate was counted instead: the difference
 * counts now.
 */
static void read_other(struct pass *pass, struct tree_member *member, struct wait_thread *thread)
{
    struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    struct pid_schedstat now, growth = {0};
    int64_t since_ns = process->active_ns - thread->at_ns;
    int r = tree_read_schedstat(pass->reader, member->pid, thread->tid, &thread->fd, &now);
    count_thread(pass->reader, thread);
    if (r == 0)
        advance(wait, thread, &now, thread->is_read ? since_ns : pass->is_born ? pass->length_ns : 0, &growth);
    else
        process->listed = 0;
    double estimated_ns = (double)(since_ns - wait->elapsed_ns);
    double rate = since_ns > 0 ? num_to_f64(growth.wait_ns) / (double)since_ns : 0;
    if (r == 0) {
        demand_add_late(thread, num_to_f64(growth.wait_ns));
        demand_wait_add(&thread->late_ns, thread->rate, -estimated_ns);
    }
    demand_wait_add(&pass->unread_rate, thread->rate, -1);
    demand_wait_add(&process->rate, thread->rate, -1);
    thread->rate = (struct demand_wait){rate, rate * thread->share};
    demand_wait_add(&process->rate, thread->rate, 1);
    thread->at_ns = process->active_ns;
    thread->tick = wait->tick;
    thread->is_active &= r == 0;
    pass->run_ns += growth.run_ns;
    /* What it ran is spread over all the time since its last reading. */
    double ran = since_ns > 0 ? (double)growth.run_ns / (double)since_ns : 0;
    demand_count(thread, (1 - ran) * (double)wait->elapsed_ns, &wait->known_ns);
    process->has_late |= thread->late_ns.waited > 0;
    keep_or_release(pass, process, thread);
}

__attribute__((cold)) static int list_tasks(struct pass *pass, const struct tree_member *member)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%d/task", (int)member->pid);
    int kept = member->threads.task_fd;
    AUTO_FD int opened = kept < 0 ? file_open_at(pass->wait->env->root->proc_fd, path, O_RDONLY | O_DIRECTORY) : -1;
    int fd = kept < 0 ? opened : kept;
    return fd < 0 ? fd : pid_list_read(fd, WAIT_THREADS_MAX, pass->list);
}

/* Threads that are gone lose their slot. Both lists are ascending. */
__attribute__((cold)) static void drop_gone(struct pass *pass, struct wait_process *process)
{
    size_t kept = 0, at = 0;
    process->rate = (struct demand_wait){0};
    for (size_t i = 0; i < process->others.count; i++) {
        struct wait_thread *thread = &process->others.items[i];
        while (at < pass->list->count && pass->list->items[at] < thread->tid)
            at++;
        if (at == pass->list->count || pass->list->items[at] != thread->tid) {
            demand_wait_add(&pass->unread_rate, thread->rate, -1);
            release_thread(pass->reader, thread);
            continue;
        }
        demand_wait_add(&process->rate, thread->rate, 1);
        process->others.items[kept++] = *thread;
    }
    process->others.count = kept;
}

/* And those that are new get one: merged from the end, where there is space. */
__attribute__((cold)) static void insert_new(struct pass *pass, struct wait_process *process, pid_t first)
{
    const struct pid_list *list = pass->list;
    size_t old = process->others.count, at = list->count - pid_list_has(list, first);
    if (VEC_GROW(&process->others, at, WAIT_THREADS_MAX) < 0)
        return;
    process->others.count = at;
    for (size_t i = list->count; i-- > 0;) {
        if (list->items[i] == first)
            continue;
        struct wait_thread *slot = &process->others.items[--at];
        if (old > 0 && process->others.items[old - 1].tid == list->items[i])
            *slot = process->others.items[--old];
        else
            *slot = (struct wait_thread){.tid = list->items[i],
                .fd = -1,
                .is_active = true,
                .needs_reference = pass->is_baseline,
                .at_ns = process->active_ns - pass->wait->elapsed_ns};
    }
}

__attribute__((cold)) static void list_others(struct pass *pass, struct tree_member *member)
{
    const struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    begin_budget(pass);
    uint64_t left_ns =
        counter_delta((uint64_t)(pass->used * wait->cost_ns), (uint64_t)(wait->bank_ns > 0 ? wait->bank_ns : 0));
    if (member->stat.threads > left_ns / LIST_NS || list_tasks(pass, member) < 0)
        return;
    drop_gone(pass, process);
    insert_new(pass, process, member->pid);
    process->listed = member->stat.threads;
}

/*
 * Those that ran in a circle from the cursor on, or those that did not, of which `idle` are read in any case, and more
 * while those read so far have not used the CPU time of the process.
 */
static void read_circle(
    struct pass *pass, struct tree_member *member, bool wants_active, int64_t idle, uint64_t enough_ns)
{
    const struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    const size_t count = process->others.count, first = process->cursor < count ? process->cursor : 0;
    for (size_t n = 0; n < count; n++) {
        size_t i = first + n < count ? first + n : first + n - count;
        struct wait_thread *thread = &process->others.items[i];
        if (thread->tick == wait->tick || thread->is_active != wants_active)
            continue;
        bool is_due = wants_active || idle > 0 || pass->run_ns < enough_ns;
        if (!is_due || !may_read(pass)) {
            pass->is_cut |= is_due;
            pass->has_unread |= is_due && !thread->is_read;
            process->cursor = i;
            return;
        }
        read_other(pass, member, thread);
        idle -= !wants_active;
    }
}

/* CPU time less what readings a moment apart may differ by. */
static uint64_t less_slack(const struct tree_wait *wait, uint64_t cpu_ns)
{
    return counter_delta(cpu_ns / SLACK_SHARE + 2 * collect_tick_ns(wait->env), cpu_ns);
}

static void read_others(struct pass *pass, struct tree_member *member, uint64_t cpu_ns)
{
    struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    pass->unread_rate = process->rate;
    for (int lists = 0; lists < LISTS_MAX; lists++) {
        if (process->listed != member->stat.threads)
            list_others(pass, member);
        read_circle(pass, member, true, 0, 0);
        if (!pass->is_cut)
            read_circle(pass, member, false, 1 + wait->elapsed_ns / WAIT_THREAD_NS, less_slack(wait, cpu_ns));
        if (process->listed == member->stat.threads || pass->is_cut)
            break;
    }
    if (pass->unread_rate.waited > 0)
        demand_wait_add(&wait->known_ns, pass->unread_rate, (double)wait->elapsed_ns);
}

/* What those waited that were not read in this tick, but showed more before than there was time for. */
static void count_late(struct pass *pass, struct wait_process *process)
{
    const struct tree_wait *wait = pass->wait;
    bool had_late = process->has_late;
    process->has_late = false;
    for (size_t i = 0; had_late && i < process->others.count; i++) {
        struct wait_thread *thread = &process->others.items[i];
        if (thread->late_ns.waited > 0 && thread->tick != wait->tick)
            demand_count(thread, (double)wait->elapsed_ns, &pass->wait->known_ns);
        process->has_late |= thread->late_ns.waited > 0;
    }
}

/*
 * A process that was ready to run when its state was read and has not run since waits for a CPU all the time; its
 * schedstat will show it when it runs. Only its first thread is known to.
 */
static void count_starved(struct pass *pass, const struct tree_member *member, struct wait_process *process)
{
    struct tree_wait *wait = pass->wait;
    bool is_ready = member->stat.state == 'R';
    if (!is_ready)
        demand_sleep(process, wait->elapsed_ns);
    else if (process->starved_from_ns == 0)
        process->starved_from_ns = member->stat_ns;
    int64_t starved_ns = pass->now_ns - process->starved_from_ns;
    if (is_ready && starved_ns >= WAIT_STARVED_NS) {
        demand_add_late(&process->first, (double)(starved_ns - process->starved_ns));
        wait->ready.now += process->first.share;
        process->starved_ns = starved_ns;
    }
    demand_count(&process->first, (double)wait->elapsed_ns, &wait->known_ns);
    count_late(pass, process);
}

/* For how long a process was there in this tick, and before it where it was ready all the time. */
static void measure_length(struct pass *pass, const struct tree_member *member)
{
    struct tree_wait *wait = pass->wait;
    pass->is_born = !member->wait.first.is_read;
    pass->length_ns = wait->elapsed_ns + member->wait.starved_ns;
    if (!pass->is_born || member->wait.first.needs_reference)
        return;
    if (wait->boot_ns == 0)
        wait->boot_ns = clock_read(wait->env->clock, CLOCK_KIND_BOOT);
    int64_t age_ns = wait->boot_ns - (int64_t)(member->stat.start_ticks * collect_tick_ns(wait->env));
    if (age_ns > 0 && age_ns < pass->length_ns)
        pass->length_ns = age_ns;
}

static void keep_busiest(struct tree_wait *wait, uint64_t cpu_ns, int64_t length_ns)
{
    if (length_ns < (int64_t)collect_tick_ns(wait->env) * LENGTH_MIN_TICKS)
        return;
    double cores = num_to_f64(cpu_ns) / (double)length_ns;
    if (!wait->busiest_cores.has || cores > wait->busiest_cores.v)
        wait->busiest_cores = some_f64(cores);
}

/* Of a process that was just born, only what it does now stands for others: what it did before, they do now. */
static void count_ready(struct pass *pass, const struct tree_member *member, double ready_ns)
{
    double ready = pass->length_ns > 0 ? ready_ns / (double)pass->length_ns : 0;
    if (pass->is_born && member->stat.threads <= 1)
        ready = member->stat.state == 'R';
    pass->wait->ready.now += ready > 0 ? ready : 0;
}

static void count_process(struct pass *pass, struct tree_member *member)
{
    struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    struct pid_schedstat growth;
    bool is_reference = process->first.needs_reference;
    uint64_t cpu_ns = tree_own_cpu_ns(wait->env, member), cpu_growth_ns = counter_delta(process->cpu_ns, cpu_ns);
    double wanted_before_ns = wait->known_ns.wanted;
    measure_length(pass, member);
    if (read_first(pass, member, &growth) < 0)
        return;
    process->cpu_ns = cpu_ns;
    process->active_ns += wait->elapsed_ns;
    process->asleep_ns = 0;
    demand_add_late(&process->first, num_to_f64(growth.wait_ns) - (double)process->starved_ns);
    demand_count(&process->first, (double)wait->elapsed_ns - num_to_f64(growth.run_ns), &wait->known_ns);
    process->starved_from_ns = member->stat.state == 'R' ? member->stat_ns : 0;
    process->starved_ns = 0;
    pass->run_ns = growth.run_ns;
    pass->is_cut = pass->has_unread = false;
    if (member->stat.threads > 1 || process->others.count > 0)
        read_others(pass, member, cpu_growth_ns);
    count_late(pass, process);
    process->burst_ns += pass->run_ns;
    count_ready(pass, member, num_to_f64(pass->run_ns) + wait->known_ns.wanted - wanted_before_ns);
    /* Threads that came and went have used what is missing. */
    bool is_whole = (pass->is_cut && !pass->has_unread) || pass->run_ns >= less_slack(wait, cpu_growth_ns);
    if (is_reference)
        return;
    wait->read_cpu_ns += is_whole || pass->run_ns > cpu_growth_ns ? cpu_growth_ns : pass->run_ns;
    keep_busiest(wait, cpu_growth_ns, pass->length_ns);
}

/* Returns false where the budget did not last. */
static bool read_process(struct pass *pass, struct tree_member *member)
{
    struct tree_wait *wait = pass->wait;
    struct wait_process *process = &member->wait;
    if (pass->is_baseline && !process->first.is_read)
        process->first.needs_reference = true;
    if (!member->has_stat || member->is_hidden || pass->now_ns < process->retry_ns)
        return true;
    if (process->first.is_read && tree_own_cpu_ns(wait->env, member) == process->cpu_ns) {
        count_starved(pass, member, process);
        return true;
    }
    /* One file per process is kept; where descriptors are few, opening it each time is on the budget. */
    bool is_opened = process->first.fd < 0 && pass->reader->kept >= wait->env->descriptors;
    if (is_opened && !may_read(pass))
        return false;
    count_process(pass, member);
    return true;
}

__attribute__((cold)) void wait_end_root(struct tree_wait *wait, const struct tree_walk *walk)
{
    const struct tracked *tracked = wait->env->tracked;
    if (!tracked->root_end.has || wait->is_root_counted || wait->is_absent)
        return;
    size_t slot = tree_members_find(&walk->members, tracked->root);
    struct wait_process none = {.first.share = 1};
    const struct wait_process *process = slot == TREE_NONE ? &none : &tree_member_at(&walk->members, slot)->wait;
    wait->is_root_counted = wait->has_read = true;
    uint64_t waited_ns = counter_delta(process->first.wait_ns, tracked->root_end.wait_ns);
    wait->root_end = (struct wait_thread){.share = process->first.is_read ? process->first.share : 1,
        .run_ns = counter_delta(process->first.run_ns, tracked->root_end.run_ns),
        .late_ns = process->first.late_ns};
    demand_add_late(&wait->root_end, num_to_f64(waited_ns) - (double)process->starved_ns);
    wait->root_end_cpu_ns =
        counter_delta(process->cpu_ns, tracked->root_cpu_ns.has ? tracked->root_cpu_ns.v : tracked->root_end.run_ns);
    wait->read_cpu_ns += wait->root_end.run_ns;
}

/* Starts the next interval. */
static void begin_interval(struct tree_wait *wait, int64_t now_ns)
{
    wait->known_ns = (struct demand_wait){0};
    wait->busiest_cores = (struct opt_f64){0};
    wait->read_cpu_ns = 0;
    wait->reported_ns = now_ns;
}

void wait_tick(struct tree_wait *wait, struct tree_walk *walk, int64_t now_ns, bool is_baseline)
{
    struct tree_members *members = &walk->members;
    struct pass pass = {.wait = wait,
        .reader = &walk->reader,
        .list = &walk->finder.list,
        .now_ns = now_ns,
        .is_baseline = is_baseline};
    wait->elapsed_ns = now_ns - wait->tick_ns;
    wait->tick_ns = now_ns;
    wait->tick++;
    wait->boot_ns = 0;
    earn(wait);
    if (wait->root_end_cpu_ns > 0)
        keep_busiest(wait, wait->root_end_cpu_ns, wait->elapsed_ns);
    wait->root_end_cpu_ns = 0;
    demand_count(&wait->root_end, (double)wait->elapsed_ns - (double)wait->root_end.run_ns, &wait->known_ns);
    wait->root_end = (struct wait_thread){0};
    const size_t count = members->order.count, first = wait->cursor < count ? wait->cursor : 0;
    wait->cursor = 0;
    for (size_t n = 0; n < count && !wait->is_absent; n++) {
        size_t i = first + n < count ? first + n : first + n - count;
        if (!read_process(&pass, tree_member_at(members, members->order.items[i])) && wait->cursor == 0)
            wait->cursor = i;
    }
    settle_budget(&pass);
    if (!is_baseline)
        return;
    wait->ready = (struct demand_ready){0};
    begin_interval(wait, now_ns);
}

/* What is reported of what is pending: nothing where an estimate was too high. */
static struct wait_result report_pending(struct tree_wait *wait, int64_t quantum_ns)
{
    struct demand_wait *pending = &wait->pending_ns;
    double reported_ns = pending->waited;
    if (reported_ns <= 0)
        return (struct wait_result){.waited_secs = some_f64(0), .wanted_secs = some_f64(0)};
    if (quantum_ns > 0)
        reported_ns = (double)((int64_t)reported_ns - (int64_t)reported_ns % quantum_ns);
    double wanted_ns = pending->wanted > 0 ? reported_ns * pending->wanted / pending->waited : 0;
    wanted_ns = wanted_ns < reported_ns ? wanted_ns : reported_ns;
    pending->waited -= reported_ns;
    pending->wanted -= wanted_ns;
    return (struct wait_result){.waited_secs = some_f64(reported_ns / 1e9), .wanted_secs = some_f64(wanted_ns / 1e9)};
}

struct wait_result wait_pop(struct tree_wait *wait, const struct wait_interval *interval)
{
    const struct demand_wait known_ns = wait->known_ns;
    double read_ns = num_to_f64(wait->read_cpu_ns), used_ns = num_to_f64(interval->cpu_ns), scale = 1;
    double elapsed_ns = (double)(interval->now_ns - wait->reported_ns);
    bool is_busy = interval->cpu_ns >= collect_tick_ns(wait->env);
    struct opt_f64 busiest = wait->busiest_cores;
    if (!busiest.has && !is_busy && wait->has_read)
        busiest = some_f64(0);
    double used = elapsed_ns > 0 ? used_ns / elapsed_ns : 0;
    double ready = demand_ready_pop(&wait->ready, (int64_t)elapsed_ns);
    begin_interval(wait, interval->now_ns);
    if (wait->is_absent || !wait->has_read)
        return (struct wait_result){.busiest_cores = busiest};
    struct opt_f64 estimated_secs = some_f64(demand_lacking(ready, used, interval->pressed) * elapsed_ns / 1e9);
    if (is_busy && read_ns < used_ns / 2) {
        /* One that was not read may have used more than any that was. */
        if (busiest.v * elapsed_ns < used_ns - read_ns)
            busiest = (struct opt_f64){0};
        return (struct wait_result){.wanted_secs = estimated_secs, .busiest_cores = busiest};
    }
    if (is_busy && used_ns > read_ns)
        scale = used_ns / read_ns;
    demand_wait_add(&wait->pending_ns, known_ns, scale);
    struct wait_result result = report_pending(wait, interval->quantum_ns);
    /* Waiting that is scaled by much varies much: then the threads that were met say more. */
    if (scale > SCALE_MAX && known_ns.waited > read_ns * WAITING_SHARE && !interval->is_hidden)
        result.wanted_secs = estimated_secs;
    result.busiest_cores = busiest;
    return result;
}
