/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from its start to its end. The order matters: what can fail and must stop us comes before the command is
 * started, what takes time comes while it already runs.
 */
#include "run/run.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "collect/disk/disk.h"
#include "collect/traffic/traffic.h"
#include "collect/tree/affinity.h"
#include "collect/tree/events.h"
#include "collect/tree/read.h"
#include "run/command_text.h"
#include "run/session_internal.h"
#include "run/signals.h"
#include "run/spawn.h"

enum { STATUS_BYTES_MAX = 64 * 1024 };

/* The process that a number belongs to: "Tgid:\t123" of its status. The number itself where that cannot be read. */
static uint64_t owner_of(const struct sysroot *root, pid_t pid)
{
    AUTO_BUF struct buf text;
    buf_init(&text, STATUS_BYTES_MAX);
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/status", (int)pid);
    uint64_t owner = (uint64_t)pid;
    if (!root->names_us || file_read_at(root->proc_fd, path, &text) < 0)
        return owner;
    struct str rest = {text.data, text.len};
    for (struct str line; str_line(&rest, &line);) {
        if (!str_starts(line, STR("Tgid:")))
            continue;
        line.p += 5;
        line.n -= 5;
        return num_next_u64(&line, &owner) ? owner : (uint64_t)pid;
    }
    return owner;
}

/* Returns 0 or a negative errno with a message: no such process, or the number of a thread. */
static int check_pid(const struct sysroot *root, int64_t number, pid_t *ret_pid, struct err *err)
{
    if (number <= 0 || number > INT_MAX || (kill((pid_t)number, 0) < 0 && errno == ESRCH))
        return err_set(err, -ESRCH, "cannot track process %lld: no such process", (long long)number);
    if (number == getpid())
        return err_set(err, -EINVAL, "cannot track process %lld: it is resource-tracker itself", (long long)number);
    uint64_t owner = owner_of(root, (pid_t)number);
    if (owner != (uint64_t)number)
        return err_set(err, -ESRCH, "cannot track process %lld: it is a thread of process %llu; use --pid %llu",
            (long long)number, (unsigned long long)owner, (unsigned long long)owner);
    *ret_pid = (pid_t)number;
    return 0;
}

enum { DESCRIPTORS_WANTED = 4096, DESCRIPTORS_RESERVED = 96, DESCRIPTORS_FOR_TREE = 768, NICER_BY = 5 };

static int process_cpu(void *context, pid_t pid, uint64_t *ret_ns)
{
    (void)context;
    return clock_process_cpu(pid, ret_ns);
}

static int describe_command(void *context, struct str text, bool is_cut, char *out, size_t size)
{
    const struct session *session = context;
    return command_text_mask(text, is_cut, start_facts_mask(session->settings), out, size);
}

/*
 * Is this collector of use in this run? Where no output takes samples, only the tree is followed: its end may be
 * ours, and its usage is reported at the end.
 */
static bool is_wanted(const struct session *session, const struct settings *settings, const struct collector *collector)
{
    if (collector == &collector_tree)
        return session->tracked.root > 0;
    if (!session_wants_samples(session))
        return false;
    return (collector != &collector_disk || settings->collect_disk) &&
           (collector != &collector_gpu || settings->collect_gpu) &&
           (collector != &collector_network || settings->collect_network) &&
           (collector != &collector_traffic || (settings->collect_network && settings->collect_job_network)) &&
           (collector != &collector_energy || settings->collect_energy != COLLECT_ENERGY_OFF);
}

static size_t choose_collectors(
    const struct session *session, const struct settings *settings, const struct collector **ret_chosen)
{
    size_t count = 0;
    for (size_t i = 0; i < collector_registry_count && count < PIPELINE_STAGES_MAX; i++) {
        if (is_wanted(session, settings, collector_registry[i]))
            ret_chosen[count++] = collector_registry[i];
    }
    return count;
}

/* Collectors keep files open, and many disks, interfaces and processes make many files. Never before the command is
 * started: it would inherit it. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Of which the files of tracked processes may take so many; the kernel needs 4 KiB for each. */
static size_t descriptors_for_tree(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= DESCRIPTORS_RESERVED)
        return 0;
    rlim_t free = limit.rlim_cur - DESCRIPTORS_RESERVED;
    return free < DESCRIPTORS_FOR_TREE ? (size_t)free : DESCRIPTORS_FOR_TREE;
}

/* A little ahead of a command that takes every CPU, where we may; samples then keep to their time. */
static void raise_priority(void)
{
    errno = 0;
    int nice_now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, nice_now - NICER_BY);
}

/* Is there an output that has all processes? */
static bool lists_processes(const struct session *session)
{
    const struct settings *settings = session->settings;
    return settings->summary_json || settings->report ||
           (output_is_wanted(&session->output) && settings->format == FORMAT_JSON);
}

void session_open_collectors(struct session *session)
{
    const struct settings *settings = session->settings;
    raise_descriptor_limit();
    session->env.descriptors = descriptors_for_tree();
    const struct collector *collectors[PIPELINE_STAGES_MAX];
    size_t count = choose_collectors(session, settings, collectors);
    session->tracked.wants_members = settings->collect_gpu && session_wants_samples(session);
    session->tracked.wants_traffic =
        settings->collect_network && settings->collect_job_network && session_wants_samples(session);
    session->tracked.wants_top = session_wants_samples(session);
    session->tracked.wants_history = lists_processes(session);
    pipeline_open(&session->pipeline, &session->env, &session->info, collectors, count);
    buf_clear(&session->mountinfo);
}

/* Where no output needs samples and nothing else does, the command is only supervised. */
static bool needs_sampler(const struct session *session)
{
    const struct settings *settings = session->settings;
    return session_wants_samples(session) || !settings->command || settings->verbosity > 0 || session->stream;
}

static int init_sampler(struct session *session, struct err *err)
{
    session->has_sampler = needs_sampler(session);
    return session->has_sampler ? sampler_init(&session->sampler, err) : 0;
}

/* The command is more important: without tracking there are more descriptors for it. */
static void drop_tracking(struct session *session, const char *why)
{
    log_warning("%s; the command runs, but is not tracked", why);
    sampler_fini(&session->sampler);
    session->has_sampler = false;
    if (!session->settings->cgroup)
        sysroot_close(&session->root);
}

/* Where descriptors are few, streaming goes first, then tracking, and the command never. */
static int prepare_sampler(struct session *session, struct err *err)
{
    int r = init_sampler(session, err);
    if (r < 0 && stream_drop(&session->stream, strerror(-r))) {
        sampler_fini(&session->sampler);
        err_clear(err);
        r = init_sampler(session, err);
    }
    if (r == 0 || !session->settings->command)
        return r;
    drop_tracking(session, err->msg);
    err_clear(err);
    return 0;
}

/* A thread that was joined still counts for a moment. */
static int spawn_in_time(struct spawn_request *request, struct spawn *ret_spawn)
{
    enum { ATTEMPTS = 50 };
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    int r = spawn_start(request, ret_spawn);
    for (int i = 0; i < ATTEMPTS && r == -EAGAIN; i++) {
        (void)nanosleep(&pause, NULL);
        r = spawn_start(request, ret_spawn);
    }
    return r;
}

static int start_child(struct session *session, struct spawn_request *request, struct spawn *ret_spawn, struct err *err)
{
    int r = spawn_start(request, ret_spawn);
    bool is_shortage = r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
    if (r < 0 && request->group_fd >= 0 && !is_shortage) {
        log_warning("cannot start the command in its own cgroup (%s); it runs in ours", strerror(-r));
        (void)own_cgroup_remove(&session->group);
        request->group_fd = -1;
        r = spawn_start(request, ret_spawn);
    }
    if (r == -EAGAIN && session->stream && stream_do_without_thread(session->stream)) {
        log_warning("streaming: cannot start a thread beside the command; everything is delivered at the end");
        r = spawn_in_time(request, ret_spawn);
    }
    if ((r == -EMFILE || r == -ENFILE || r == -ENOMEM) && stream_drop(&session->stream, strerror(-r)))
        r = spawn_start(request, ret_spawn);
    if ((r == -EMFILE || r == -ENFILE) && session->has_sampler) {
        drop_tracking(session, strerror(-r));
        r = spawn_start(request, ret_spawn);
    }
    char name[SPAWN_NAME_BYTES];
    if (r < 0)
        spawn_name(request->argv[0], start_facts_mask(session->settings), name);
    if (r == -EAGAIN)
        return err_set(err, r, "cannot start a process for %s: too many processes (ulimit -u, pids.max)", name);
    return r < 0 ? err_sys(err, r, "cannot start a process for %s", name) : 0;
}

static void make_group(struct session *session)
{
    struct err why = {0};
    if (own_cgroup_create(&session->group, &session->root, &why) < 0)
        log_warning("%s; the command runs in our cgroup", why.msg);
    else if (session->group.lacks_memory)
        log_warning("cgroup: memory is counted by cgroup v1: only CPU time is that of the command's own group");
}

/*
 * Makes the only copy of the command line that is shown or sent, once per run. Without memory there is none, and
 * nothing is shown.
 */
void session_mask_command(struct session *session)
{
    const struct settings *settings = session->settings;
    if (!settings->command || !settings->record_command || !(session_wants_samples(session) || session->stream))
        return;
    if (mask_command(settings->command, start_facts_mask(settings), &session->command) < 0)
        log_warning("out of memory: the command line is not recorded");
    if (session->command.items) {
        command_text_join(
            session->command.items, session->command.count, session->command_text, sizeof(session->command_text));
        session->tracked.root_command = session->command_text;
    }
    if (session->stream && settings->send_command)
        stream_set_command(session->stream, session->command.items);
}

static int start_job(struct session *session, const struct settings *settings, const sigset_t *mask, struct err *err)
{
    struct sigaction chld = {.sa_handler = SIG_DFL}, before;
    bool ignored = sigaction(SIGCHLD, &chld, &before) == 0 && before.sa_handler == SIG_IGN;
    signals_hold_stops();
    if (settings->subreaper)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (settings->cgroup)
        make_group(session);
    struct spawn_request request = {.argv = settings->command,
        .environment = settings->environment,
        .mask = mask,
        .ignore_sigchld = ignored,
        .group_fd = session->group.dir_fd};
    if (session->has_sampler && session_wants_samples(session))
        marks_open(&session->marks, settings->environment);
    stream_put_variable(session->stream, settings->environment, session->stream_variable);
    session->tracked.start_ns = clock_now();
    int r = start_child(session, &request, &session->spawn, err);
    if (r < 0)
        return r;
    /* What came before there was a command was for it as well. One that came in between may be passed on twice. */
    (void)sigpending(&session->early);
    session->command_pid = session->tracked.root = session->spawn.pid;
    session->tracked.root_program = settings->command[0];
    session->tracked.group_dir = session->group.dir_fd >= 0 ? session->group.dir : NULL;
    session->info.tracked_pid = some_u64((uint64_t)session->spawn.pid);
    session->info.start_ns = some_i64(session->tracked.start_ns);
    session->state = SUPERVISOR_JOB;
    return 0;
}

static void start_attached(struct session *session, const struct settings *settings, pid_t pid)
{
    session->tracked.root = pid;
    session->tree = (struct tree_status){.live = 1, .live_pid = pid};
    session->tracked.attached = true;
    session->tracked.start_ns = clock_now();
    session->stops_with_tree = settings->stop_with_pid || settings->attach_cgroup;
    session->state = session->stops_with_tree ? SUPERVISOR_TREE_ONLY : SUPERVISOR_TREE;
    /* First the descriptor, then the process is read: it cannot be replaced in between without our notice. */
    if (loop_watch_process(&session->loop, pid) == 0)
        session->watched = pid;
    session->sampler.wants_watch = session->watched == 0;
}

static struct collect_gpu gpu_environment(const struct settings *settings)
{
    return (struct collect_gpu){
        .nvml_library = settings->nvml_path,
        .program = FILE_OWN_PROGRAM,
        .environment = settings->environment,
        .wants_energy = settings->verbosity > 0,
    };
}

/* A preloaded library has a thread that may get our signals. */
static void catch_signals(struct session *session, const sigset_t *signals)
{
    int r = loop_catch_signals(&session->loop, signals);
    if (r < 0)
        log_warning("a preloaded library has threads, and signals may be lost to them: %s", strerror(-r));
    else
        (void)kill(getpid(), SIGCHLD); /* one that came before may be lost */
}

/* Before the command is started, or its first processes would be missing. */
static void open_events(struct session *session)
{
    if (!session->has_sampler || !lists_processes(session) || !session->root.is_host) {
        log_warning("--exact-processes has no effect: no output of this run lists processes (JSON samples, "
                    "--summary-json, --report)");
        return;
    }
    int fd = events_open();
    if (fd >= 0)
        session->env.events_fd = fd;
    else
        log_warning("--exact-processes: the kernel does not report processes to us (%s), which needs Linux 6.6 or "
                    "CAP_NET_ADMIN, outside of containers; those between two samples are not seen",
            strerror(-fd));
}

/* Everything that takes samples, and what is asked with each of them. */
static int open_outputs(struct session *session, const struct settings *settings, struct err *err)
{
    int r = reports_open(&session->reports, settings, &session->helpers, output_shows_samples(settings), false, err);
    if (r == 0)
        r = reports_check_files(&session->reports, settings, err);
    if (r == 0)
        r = on_open(&session->on, settings, err);
    if (r == 0)
        r = output_open(&session->output, settings, &session->info, err);
    return r < 0 ? r : stream_new(&session->stream, settings, &session->root, &session->info, err);
}

/* Of a group that others made: where it is, and its process with the lowest number. */
static int find_group(struct session *session, const char *group, pid_t *ret_pid, struct err *err)
{
    struct cgroup_location *locations = session->group_locations;
    int r = cgroup_path_attach(&session->root, group, session->tracked.tracker, locations, ret_pid, err);
    if (r < 0)
        return err_wrap(err, "cannot track cgroup %s", group);
    session->tracked.group_locations = locations;
    session->tracked.group_dir = locations[r].dir;
    return 0;
}

static int session_start(
    struct session *session, const struct settings *settings, const sigset_t *mask, struct err *err)
{
    int r = sysroot_open(settings->sysroot, &session->root, err);
    if (r < 0)
        return r;
    pid_t pid = 0;
    if (settings->pid.has)
        r = check_pid(&session->root, settings->pid.v, &pid, err);
    else if (settings->attach_cgroup)
        r = find_group(session, settings->attach_cgroup, &pid, err);
    if (r < 0)
        return r;
    if (pid > 0)
        session->info.tracked_pid = some_u64((uint64_t)pid);
    /* The pools, the sockets and the GPUs of this machine are not those of a captured one. */
    session->env.zpool_path = session->root.is_host ? "zpool" : NULL;
    session->env.open_sock_diag = session->root.is_host ? traffic_open_sock_diag : NULL;
    if (session->root.is_host)
        session->env.gpu = gpu_environment(settings);
    bool has_other_threads = signals_has_other_threads();
    sigset_t signals = signals_to_read(settings->command != NULL, output_has_view(settings));
    r = loop_open(&session->loop, &signals, err);
    if (r < 0)
        return r;
    if (has_other_threads && !settings->command)
        catch_signals(session, &signals);
    r = open_outputs(session, settings, err);
    if (r < 0)
        return r;
    session->env.gpu.wants_energy |= session->reports.accumulator != NULL;
    if (!session_wants_samples(session))
        session->tracked.pss = TRACKED_PSS_NEVER;
    session->tracked.quantum_ns = output_cpu_resolution_ns(&session->output);
    session->has_view = session->reports.live != NULL;
    r = prepare_sampler(session, err);
    if (r < 0)
        return r;
    if (settings->exact_processes)
        open_events(session);
    if (settings->command)
        r = start_job(session, settings, mask, err);
    else if (pid > 0)
        start_attached(session, settings, pid);
    if (r < 0)
        return r;
    /* Not before the command was started, which would not have the dispositions of our caller. */
    if (has_other_threads && settings->command)
        catch_signals(session, &signals);
    /* Where it shares our CPU, the command goes first. */
    if (settings->command)
        (void)sched_yield();
    if (settings->renice.has)
        renice_self(settings);
    else if (settings->command)
        raise_priority();
    if (session->has_sampler)
        sampler_start(session);
    return 0;
}

bool session_close(struct session *session, bool is_free)
{
    const struct sampler_end *end = &session->sampler.end;
    if (is_free)
        pipeline_end(&session->pipeline);
    reports_hide(&session->reports);
    /* Behind the ^C of a terminal. */
    if (end->stop_signal == SIGINT && session->reports.prints_summary && !session->reports.begins_line &&
        isatty(STDERR_FILENO))
        (void)log_text(STR("\n"));
    reports_set_samples_path(&session->reports, output_written_file(&session->output));
    if (session->has_sampled)
        (void)reports_finish(&session->reports);
    stream_set_metrics(session->stream, &session->reports.metrics_text);
    stream_set_summary(session->stream, &session->reports.short_json);
    reports_close(&session->reports);
    stream_end(session->stream, end->status, end->is_asked, end->ended_ns, session->settings->grace_ns,
        session->loop.signal_fd);
    (void)output_close(&session->output);
    marks_close(&session->marks);
    on_close(&session->on);
    if (!own_cgroup_remove(&session->group))
        log_warning("cgroup: /%s is not removed: groups in it are in use", session->group.dir);
    if (is_free) {
        start_facts_fini(&session->facts);
        tracked_fini(&session->tracked);
        tree_status_fini(&session->tree);
        buf_fini(&session->mountinfo);
    }
    if (!stream_free(session->stream))
        return false;
    mask_command_fini(&session->command);
    return true;
}

struct session_result session_run(const struct settings *settings, const sigset_t *caller_mask, struct err *err)
{
    static const enum tracked_pss pss[] = {
        [WHEN_AUTO] = TRACKED_PSS_AUTO, [WHEN_ALWAYS] = TRACKED_PSS_ALWAYS, [WHEN_NEVER] = TRACKED_PSS_NEVER};
    /* All zeros. There is one session per process, and a thread of it that is stuck may outlive this function. */
    static struct session the_session;
    struct session *session = &the_session;
#ifdef M_ARENA_MAX
    /* Threads that seldom need memory have no use for an arena each. */
    (void)mallopt(M_ARENA_MAX, 1);
#endif
    session->settings = settings;
    session->root.root_fd = session->root.proc_fd = session->root.sys_fd = -1;
    session->loop = (struct loop)LOOP_CLOSED;
    session->sampler = (struct sampler)SAMPLER_NONE;
    session->marks.fd = -1;
    session->group.dir_fd = session->group.parent_fd = -1;
    reports_init(&session->reports);
    session->info =
        (struct run_info){.version = RT_VERSION, .job_name = settings->job_name, .interval_ns = settings->interval_ns};
    session->tracked.tracker = getpid();
    session->tracked.pss = pss[settings->collect_pss];
    buf_init(&session->mountinfo, MOUNTS_TEXT_BYTES_MAX);
    session->env = (struct collect_env){
        .root = &session->root,
        .clock = &clock_system,
        .interval_ns = settings->interval_ns,
        .ticks_per_sec = sysconf(_SC_CLK_TCK),
        .page_bytes = sysconf(_SC_PAGESIZE),
        .estimates_energy = settings->collect_energy == COLLECT_ENERGY_ESTIMATE,
        .wants_steal_per_core =
            !settings->aggregate_cpu_steal &&
            encoder_find((enum encode_format)settings->format, CSV_COLUMNS_AUTO, true)->has_core_lists,
        .space = mounts_statvfs,
        .space_context = &session->root,
        .tracked = &session->tracked,
        .tree = &session->tree,
        .mountinfo = &session->mountinfo,
        .gpu_status = &session->gpu_status,
        .helpers = &session->helpers,
        .cpu_time = process_cpu,
        .probe = &session->probe,
        .program = FILE_OWN_PROGRAM,
        .affinity = affinity_of_thread,
        .same_memory = tree_memory_kcmp,
        .describe_command = settings->record_command ? describe_command : NULL,
        .describe_context = session,
    };
    int r = session_start(session, settings, caller_mask, err);
    if (r == 0)
        r = supervise(session, err);
    if (!session->sampler.is_started) {
        session->sampler.end =
            (struct sampler_end){.status = r, .stop_signal = session->stop_signal, .ended_ns = clock_now()};
        session->is_stuck |= !session_close(session, true);
    }
    if (!session->is_stuck)
        spawn_close(&session->spawn);
    /* The kernel ends a thread and closes descriptors faster than we do. */
    if (session->sampler.has_thread && !session->is_stuck)
        (void)pthread_detach(session->sampler.thread->id);
    return (struct session_result){.status = r, .signal = session->end.signal, .is_stuck = session->is_stuck};
}
