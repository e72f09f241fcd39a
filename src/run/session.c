/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from its start to its end. The order matters: what can fail and must stop us comes before the command is
 * started, what takes time comes while it already runs.
 */
#include "run/session.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/mounts.h"
#include "run/attach.h"
#include "run/reap.h"
#include "run/session_state.h"
#include "run/signals.h"
#include "run/spawn.h"

enum { DESCRIPTORS_WANTED = 4096, DESCRIPTORS_SPARED = 96, DESCRIPTORS_FOR_TREE = 768, NICER_BY = 5 };

static int process_cpu(void *context, pid_t pid, uint64_t *ret_ns)
{
    (void)context;
    return clock_process_cpu(pid, ret_ns);
}

/*
 * Is this collector of use in this run? Where nobody gets to see samples, only the tree is followed: its end may be
 * ours, and what it used is told at the end.
 */
static bool is_wanted(const struct session *session, const struct settings *settings, const struct collector *collector)
{
    if (collector == &collector_tree)
        return session->job.root > 0;
    if (!session_wants_samples(session))
        return false;
    return (collector != &collector_disk || settings->collect_disk) &&
           (collector != &collector_gpu || settings->collect_gpu) &&
           (collector != &collector_network || settings->collect_network);
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
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= DESCRIPTORS_SPARED)
        return 0;
    rlim_t free = limit.rlim_cur - DESCRIPTORS_SPARED;
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

static void watch_collectors(struct session *session)
{
    for (size_t i = 0; i < session->pipeline.count; i++) {
        struct pipeline_stage *stage = &session->pipeline.stages[i];
        if (!stage->state || !stage->collector->watch_fd)
            continue;
        int fd = stage->collector->watch_fd(stage->state);
        if (stage->collector->watches_input)
            loop_watch_input(&session->loop, fd, stage);
        else
            loop_watch_change(&session->loop, fd, stage);
    }
}

/* Everything that takes time: the command runs meanwhile. */
static void start_sampling(struct session *session, const struct settings *settings)
{
    raise_descriptor_limit();
    session->env.descriptors = descriptors_for_tree();
    const struct collector *collectors[PIPELINE_STAGES_MAX];
    size_t count = choose_collectors(session, settings, collectors);
    /* The tree is read before the GPUs; these say afterwards whether they need it. */
    session->job.wants_members = settings->collect_gpu && session_wants_samples(session);
    session->job.wants_top = session_wants_samples(session);
    pipeline_open(&session->pipeline, &session->env, &session->info, collectors, count);
    if (session_wants_samples(session))
        start_facts_init(&session->facts, settings, &session->root);
    session->grid = (struct grid){.start_ns = session->pipeline.start_ns, .interval_ns = settings->interval_ns};
    watch_collectors(session);
    if (session->streaming.stream)
        loop_watch_input(&session->loop, stream_watch_fd(session->streaming.stream), session->streaming.stream);
    loop_watch_output(&session->loop, output_watch_fd(&session->output));
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
    (void)sigpending(&session->early);
    int r = spawn_start(request, ret_spawn);
    bool is_shortage = r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
    if (r < 0 && request->group_fd >= 0 && !is_shortage) {
        log_warning("the command cannot be started in a cgroup of its own (%s); it runs in ours", strerror(-r));
        (void)own_cgroup_remove(&session->group);
        request->group_fd = -1;
        r = spawn_start(request, ret_spawn);
    }
    if (r == -EAGAIN && session->streaming.stream && stream_do_without_thread(session->streaming.stream)) {
        log_warning("streaming: there is no room for a thread beside the command; everything is delivered at the end");
        r = spawn_in_time(request, ret_spawn);
    }
    if ((r == -EMFILE || r == -ENFILE || r == -ENOMEM) && streaming_drop(&session->streaming, strerror(-r)))
        r = spawn_start(request, ret_spawn);
    if (r == -EAGAIN)
        return err_set(
            err, r, "cannot start a process for %s: too many processes (ulimit -u, pids.max)", request->argv[0]);
    return r < 0 ? err_sys(err, r, "cannot start a process for %s", request->argv[0]) : 0;
}

static void make_group(struct session *session)
{
    struct err why = {0};
    if (own_cgroup_create(&session->group, &session->root, &why) < 0)
        log_warning("%s; the command runs in our cgroup", why.msg);
}

/* Returns 0, an exit status above 0, or a negative errno. */
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
    struct spawn spawn;
    session->job.start_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    int r = start_child(session, &request, &spawn, err);
    if (r < 0)
        return r;
    if (session->streaming.stream)
        stream_begin(session->streaming.stream);
    session->job.root = spawn.pid;
    session->job.group_dir = session->group.dir_fd >= 0 ? session->group.dir : NULL;
    session->info.tracked_pid = some_u64((uint64_t)spawn.pid);
    session->info.start_ns = some_i64(session->job.start_ns);
    raise_priority();
    start_sampling(session, settings);
    session->state = SUPERVISOR_JOB;
    return spawn_confirm(&spawn, &request, err);
}

void session_watch(struct session *session)
{
    pid_t pid = session->job.live_pid;
    if (pid > 0 && pid != session->job.ended && loop_watch_process(&session->loop, pid) == 0)
        session->watched = pid;
}

static void start_attached(struct session *session, const struct settings *settings, pid_t pid)
{
    session->job.root = session->job.live_pid = pid;
    session->job.live = 1;
    session->job.attached = true;
    session->job.start_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    session->state = settings->stop_with_pid ? SUPERVISOR_TREE_ONLY : SUPERVISOR_TREE;
    /* First the descriptor, then the look at the process: it cannot be replaced in between without our notice. */
    session_watch(session);
    start_sampling(session, settings);
}

static struct collect_gpu gpu_environment(const struct settings *settings)
{
    return (struct collect_gpu){
        .nvml_library = settings->nvml_path ? settings->nvml_path : "libnvidia-ml.so.1",
        .is_library_given = settings->nvml_path != NULL,
        .program = SYSROOT_OWN_PROGRAM,
        .environment = settings->environment,
        .wants_energy = settings->verbosity > 0,
    };
}

static int session_start(
    struct session *session, const struct settings *settings, const sigset_t *mask, struct err *err)
{
    int r = sysroot_open(settings->sysroot, &session->root, err);
    if (r < 0)
        return r;
    pid_t pid = 0;
    if (settings->pid.has)
        r = attach_check(&session->root, settings->pid.v, &pid, err);
    if (r < 0)
        return r;
    if (pid > 0)
        session->info.tracked_pid = some_u64((uint64_t)pid);
    /* The pools and the GPUs of this machine are not those of a captured one. */
    session->env.zpool_path = session->root.is_host ? "zpool" : NULL;
    if (session->root.is_host)
        session->env.gpu = gpu_environment(settings);
    sigset_t signals = signals_to_read(settings->command != NULL, output_has_view(settings));
    r = loop_open(&session->loop, &signals, err);
    if (r < 0)
        return r;
    r = people_open(&session->people, settings, output_shows_samples(settings), false, err);
    if (r == 0)
        r = people_check_files(&session->people, settings, err);
    if (r < 0)
        return r;
    r = output_open(&session->output, settings, &session->info, err);
    if (r < 0)
        return r;
    r = streaming_init(&session->streaming, settings, &session->root, &session->info, err);
    if (r < 0)
        return r;
    streaming_start(&session->streaming);
    session->env.gpu.wants_energy |= session->people.tally != NULL;
    if (!session_wants_samples(session))
        session->job.pss = JOB_PSS_NEVER;
    bool has_csv = settings->format == FORMAT_CSV || streaming_takes_samples(&session->streaming);
    session->job.quantum_ns = has_csv ? NS_PER_MS : NS_PER_MS / 10;
    if (settings->command)
        r = start_job(session, settings, mask, err);
    else if (settings->pid.has)
        start_attached(session, settings, pid);
    else
        start_sampling(session, settings);
    if (!settings->command && session->streaming.stream)
        stream_begin(session->streaming.stream);
    return r != 0 ? r : loop_start(&session->loop, &session->grid, err);
}

/* False where something of ours is stuck and must not be touched any more. */
static bool session_stop(struct session *session, int64_t grace_ns, int status)
{
    pipeline_close(&session->pipeline);
    people_hide(&session->people);
    /* Behind the ^C of a terminal. */
    if (session->stop_signal == SIGINT && session->people.prints_summary && isatty(STDERR_FILENO))
        (void)log_text(STR("\n"));
    if (session->has_sampled)
        (void)people_finish(&session->people);
    people_close(&session->people);
    streaming_end(&session->streaming, status, session->is_asked, grace_ns, session->loop.signal_fd);
    loop_close(&session->loop);
    (void)output_close(&session->output);
    if (!own_cgroup_remove(&session->group))
        log_warning("cgroup: /%s stays: groups in it are in use", session->group.dir);
    job_fini(&session->job);
    if (!streaming_fini(&session->streaming))
        return false;
    sysroot_close(&session->root);
    return true;
}

/* Something went wrong after the start: the command goes on, and its status is still ours. */
static int wait_without_tracking(struct session *session, struct err *err)
{
    people_hide(&session->people);
    log_warning("%s; the command goes on, but is not tracked any more", err->msg);
    err_clear(err);
    return reap_wait_root(&session->job);
}

struct session_result session_run(const struct settings *settings, const sigset_t *caller_mask, struct err *err)
{
    static const enum job_pss pss[] = {
        [WHEN_AUTO] = JOB_PSS_AUTO, [WHEN_ALWAYS] = JOB_PSS_ALWAYS, [WHEN_NEVER] = JOB_PSS_NEVER};
    struct session session = {
        .root = {.root_fd = -1, .proc_fd = -1, .sys_fd = -1},
        .loop = LOOP_CLOSED,
        .group = {.dir_fd = -1, .parent_fd = -1},
        .people = PEOPLE_CLOSED,
        .info = {.version = RT_VERSION, .job_name = settings->job_name, .interval_ns = settings->interval_ns},
        .job = {.tracker = getpid(), .pss = pss[settings->collect_pss]},
    };
    session.env = (struct collect_env){
        .root = &session.root,
        .clock = &clock_system,
        .interval_ns = settings->interval_ns,
        .ticks_per_sec = sysconf(_SC_CLK_TCK),
        .page_bytes = sysconf(_SC_PAGESIZE),
        .space = mounts_statvfs,
        .space_context = &session.root,
        .job = &session.job,
        .cpu_time = process_cpu,
    };
    int r = session_start(&session, settings, caller_mask, err);
    if (r == 0)
        r = actions_run(&session, err);
    if (r < 0 && session.state == SUPERVISOR_JOB)
        r = wait_without_tracking(&session, err);
    /* What became of the command is told at once, whatever streaming has still to do. */
    if (r > 0 && err->code < 0 && session.streaming.stream) {
        log_error("%s", err->msg);
        err_clear(err);
    }
    bool is_tidy = session_stop(&session, settings->grace_ns, r);
    return (struct session_result){.status = r, .is_stuck = !is_tidy};
}
