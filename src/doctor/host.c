/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as a whole: kernel, proc and sys, containers, clocks, our own limits; and what the kernel reports of
 * processes, tried on a child that does nothing: a run sees its command as these checks see that child
 * (proc_pid_smaps(5), proc_pid_io(5), proc_tid_children(5), and hidepid in proc(5)).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/syscalls.h"
#include "base/utc.h"
#include "doctor/doctor_internal.h"

#define SECS_2024 INT64_C(1704067200)
#define SECS_2100 INT64_C(4102444800)
#define STEP_NS_MAX NS_PER_MS

enum { DESCRIPTORS_LOW = 256, PROCESSES_LOW = 64, PATH_BYTES = 64, TEXT_BYTES_MAX = 64 * 1024 };

const char *doctor_remedy(int r)
{
    if (r == -EMFILE || r == -ENFILE)
        return "Raise the open files limit (ulimit -n).";
    return r == -EACCES || r == -EPERM ? "Run as root, or as a user with read permission." : DOCTOR_MOUNT_REMEDY;
}

void doctor_check_kernel(struct doctor *doctor)
{
    struct utsname name;
    if (doctor->root.is_host && uname(&name) == 0)
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "Linux %s %s", name.release, name.machine);
    else
        doctor_say(doctor, doctor->name, DOCTOR_OFF, NULL, "this is a captured tree");
}

static const char *container_kind(const struct sysroot *root)
{
    static const struct {
        char path[24], kind[16];
    } marks[] = {{".dockerenv", "Docker"}, {"run/.containerenv", "Podman"}, {"run/systemd/container", "a container"}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (faccessat(root->root_fd, marks[i].path, F_OK, 0) == 0)
            return marks[i].kind;
    }
    return NULL;
}

/* A container without one may have an empty directory there. */
static bool holds(int dir_fd, const char *name)
{
    return dir_fd >= 0 && faccessat(dir_fd, name, F_OK, 0) == 0;
}

void doctor_check_proc(struct doctor *doctor)
{
    const struct sysroot *root = &doctor->root;
    if (holds(root->proc_fd, "stat"))
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%s/proc is readable", root->path);
    else
        doctor_say(doctor, doctor->name, DOCTOR_BROKEN,
            root->is_host ? "Mount it: mount -t proc proc /proc." : "It must contain the proc of a captured host.",
            "%s/proc is not readable: nothing can be measured", root->path);
}

void doctor_check_sys(struct doctor *doctor)
{
    const struct sysroot *root = &doctor->root;
    if (holds(root->sys_fd, "class"))
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%s/sys is readable", root->path);
    else
        doctor_say(doctor, doctor->name, DOCTOR_MISSING,
            root->is_host ? "Mount it: mount -t sysfs sys /sys." : "It must contain the sys of a captured host.",
            "%s/sys is not readable: limits, links, models and GPUs are unknown", root->path);
}

void doctor_check_container(struct doctor *doctor)
{
    const char *kind = container_kind(&doctor->root);
    doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%s%s", kind ? "running in " : "none detected", kind ? kind : "");
}

/* The smallest step that the clock is seen to take; one that stands still is given up. */
static int64_t clock_step_ns(const struct clock *clock)
{
    enum { STEPS = 16, READINGS = 10 * 1000 * 1000 };
    int64_t step_ns = INT64_MAX, before_ns = 0;
    for (int i = 0, steps = 0; i < READINGS && steps <= STEPS; i++) {
        int64_t now_ns = clock_read(clock, CLOCK_KIND_MONOTONIC);
        if (now_ns == before_ns)
            continue;
        if (now_ns - before_ns < step_ns)
            step_ns = now_ns - before_ns;
        before_ns = now_ns;
        steps++;
    }
    return step_ns;
}

void doctor_check_monotonic(struct doctor *doctor)
{
    int64_t step_ns = clock_step_ns(doctor->env.clock);
    bool is_fine = step_ns <= STEP_NS_MAX;
    doctor_say(doctor, doctor->name, is_fine ? DOCTOR_OK : DOCTOR_LIMITED,
        is_fine ? NULL : "Boot with a finer clock source (clocksource=).", "resolution %" PRId64 " ns", step_ns);
}

void doctor_check_time_of_day(struct doctor *doctor)
{
    char now[UTC_ISO_BYTES];
    int64_t secs = clock_read(doctor->env.clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    bool is_fine = secs >= SECS_2024 && secs < SECS_2100;
    utc_format_iso(secs, now);
    doctor_say(doctor, doctor->name, is_fine ? DOCTOR_OK : DOCTOR_LIMITED,
        is_fine ? NULL : "Set the clock: timestamps and certificates depend on it.", "%s", now);
}

static void say_limit(struct doctor *doctor, rlim_t limit, rlim_t low, const char *remedy)
{
    if (limit == RLIM_INFINITY)
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "no limit");
    else
        doctor_say(doctor, doctor->name, limit < low ? DOCTOR_LIMITED : DOCTOR_OK, limit < low ? remedy : NULL,
            "at most %" PRIu64, (uint64_t)limit);
}

/* The tracker raises what it has to what it may have. */
void doctor_check_open_files(struct doctor *doctor)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        say_limit(doctor, limit.rlim_max, DESCRIPTORS_LOW, "Raise it (ulimit -Hn).");
}

void doctor_check_process_limit(struct doctor *doctor)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NPROC, &limit) == 0)
        say_limit(doctor, limit.rlim_cur, PROCESSES_LOW, "Raise it (ulimit -u).");
}

static const struct file_check {
    enum doctor_state state; /* without it */
    bool is_of_thread;
    char name[12], file[16];
    char without[36], remedy[52]; /* remedy: where there is no such file */
} file_checks[] = {
    {DOCTOR_BROKEN, false, "CPU and RSS", "stat", "the usage of the command is unknown",
        "Mount /proc for this PID namespace."},
    {DOCTOR_MISSING, false, "PSS", "smaps_rollup", "process_pss_mib is null", "Needs Linux 4.14 or newer."},
    {DOCTOR_MISSING, false, "I/O", "io", "process_disk_* are null", "Needs a kernel with CONFIG_TASK_IO_ACCOUNTING."},
    {DOCTOR_LIMITED, true, "children", "children", "all of /proc is scanned instead",
        "Needs a kernel with CONFIG_PROC_CHILDREN."},
};

static void check_file(struct doctor *doctor, const struct file_check *check, int pid)
{
    char path[PATH_BYTES];
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    (void)snprintf(path, sizeof(path), "%d/%s", pid, check->file);
    if (check->is_of_thread)
        (void)snprintf(path, sizeof(path), "%d/task/%d/%s", pid, pid, check->file);
    int r = file_read_at(doctor->root.proc_fd, path, &text);
    if (r == 0)
        doctor_say(doctor, check->name, DOCTOR_OK, NULL, "readable");
    else
        doctor_say(doctor, check->name, check->state, r == -ENOENT ? check->remedy : doctor_remedy(r), "%s: %s: %s",
            check->file, strerror(-r), check->without);
}

/* Without a /proc that shows us there is nothing to try. */
static bool sees_processes(const struct doctor *doctor)
{
    return doctor->root.proc_fd >= 0 && doctor->root.names_us;
}

void doctor_check_process_files(struct doctor *doctor)
{
    int ends[2];
    if (!sees_processes(doctor) || pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
            ;
        _exit(0);
    }
    (void)close(ends[0]);
    if (pid > 0) {
        for (size_t i = 0; i < sizeof(file_checks) / sizeof(file_checks[0]); i++)
            check_file(doctor, &file_checks[i], pid);
    } else {
        doctor_say(doctor, "start", DOCTOR_BROKEN, "Raise ulimit -u or pids.max.", "cannot start a process: %s",
            strerror(errno));
    }
    (void)close(ends[1]); /* which ends it */
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void doctor_check_pid_namespace(struct doctor *doctor)
{
    const struct sysroot *root = &doctor->root;
    if (root->proc_fd < 0)
        doctor_say(doctor, "all", DOCTOR_BROKEN, NULL, "no process can be tracked without /proc");
    else if (!root->names_us)
        doctor_say(doctor, doctor->name, DOCTOR_BROKEN, "Mount /proc for this PID namespace (unshare --mount-proc).",
            "/proc belongs to another one: the command cannot be found in it");
    else
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL,
            sysroot_in_first_pid_namespace(root) ? "that of the host" : "a separate one, as in a container");
}

void doctor_check_other_users(struct doctor *doctor)
{
    if (!sees_processes(doctor))
        return;
    if (faccessat(doctor->root.proc_fd, "1/stat", R_OK, AT_EACCESS) == 0)
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "visible%s",
            geteuid() == 0 ? "" : "; their PSS and I/O only as root");
    else
        doctor_say(doctor, doctor->name, DOCTOR_LIMITED, "Run as root, or in the group of /proc's mount option gid=.",
            "hidden (hidepid): they are not counted, and a command that changes its user is lost");
}

/* Calls that need no rights, but a kernel that has them and a filter that lets them through. */
static const char call_remedy[] = "Needs Linux 5.3 or newer, and a seccomp filter that allows it.";

void doctor_check_pidfd(struct doctor *doctor)
{
    if (doctor->root.proc_fd < 0)
        return;
    AUTO_FD int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    doctor_say_result(
        doctor, doctor->name, fd < 0 ? err_last() : 0, "available", "with --pid an exit is noticed late", call_remedy);
}

void doctor_check_orphans(struct doctor *doctor)
{
    int is_set, r = prctl(PR_GET_CHILD_SUBREAPER, &is_set, 0, 0, 0);
    if (doctor->root.proc_fd >= 0)
        doctor_say_result(
            doctor, doctor->name, r < 0 ? err_last() : 0, "adopted (subreaper)", "daemons may be lost", call_remedy);
}
