/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of processes, tried on a child of ours that does nothing: a run sees its command as this check
 * sees that child (proc_pid_smaps(5), proc_pid_io(5), proc_tid_children(5), and hidepid in proc(5)).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/syscalls.h"
#include "doctor/doctor_internal.h"

enum { PATH_BYTES = 64, TEXT_BYTES_MAX = 64 * 1024 };

static const struct file_check {
    enum doctor_state state; /* without it */
    bool is_of_thread;
    char name[12], file[16];
    const char *without, *remedy; /* remedy: where there is no such file */
} file_checks[] = {
    {DOCTOR_BROKEN, false, "CPU and RSS", "stat", "what the command uses is unknown",
        "Mount a /proc of this PID namespace."},
    {DOCTOR_MISSING, false, "PSS", "smaps_rollup", "process_pss_mib is null", "Linux 4.14 or newer has it."},
    {DOCTOR_MISSING, false, "I/O", "io", "process_disk_* are null", "It takes CONFIG_TASK_IO_ACCOUNTING."},
    {DOCTOR_LIMITED, true, "children", "children", "all of /proc is searched instead",
        "It takes CONFIG_PROC_CHILDREN."},
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
        doctor_say(doctor, check->name, DOCTOR_OK, NULL, "can be read");
    else
        doctor_say(doctor, check->name, check->state, r == -ENOENT ? check->remedy : doctor_remedy(r), "%s: %s: %s",
            check->file, strerror(-r), check->without);
}

static void check_files(struct doctor *doctor)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
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
        doctor_say(doctor, "start", DOCTOR_BROKEN, "Raise ulimit -u or pids.max.", "no process can be started: %s",
            strerror(errno));
    }
    (void)close(ends[1]); /* which ends it */
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void check_namespace(struct doctor *doctor)
{
    const struct sysroot *root = &doctor->root;
    if (!root->names_us)
        doctor_say(doctor, "PID namespace", DOCTOR_BROKEN, "Mount a /proc of this namespace (unshare --mount-proc).",
            "/proc belongs to another one: the command cannot be found in it");
    else
        doctor_say(doctor, "PID namespace", DOCTOR_OK, NULL,
            sysroot_in_first_pid_namespace(root) ? "that of the machine" : "one of its own, as containers have");
}

static void check_others(struct doctor *doctor)
{
    if (faccessat(doctor->root.proc_fd, "1/stat", R_OK, AT_EACCESS) == 0)
        doctor_say(doctor, "of other users", DOCTOR_OK, NULL, "can be seen%s",
            geteuid() == 0 ? "" : "; PSS and I/O of theirs only as root");
    else
        doctor_say(doctor, "of other users", DOCTOR_LIMITED,
            "Run as root, or in the group of /proc's mount option gid=.",
            "hidden (hidepid): counts leave them out, and a command that becomes another user is lost");
}

/* Calls that need no rights, but a kernel that has them and a filter that lets them through. */
static void check_calls(struct doctor *doctor)
{
    static const char remedy[] = "An old kernel (before Linux 5.3), or a seccomp filter that should permit it.";
    AUTO_FD int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    doctor_judge(doctor, "pidfd", fd < 0 ? -errno : 0, "can be opened", "ends are seen late with --pid", remedy);
    int is_set, r = prctl(PR_GET_CHILD_SUBREAPER, &is_set, 0, 0, 0);
    doctor_judge(doctor, "orphans", r < 0 ? -errno : 0, "become ours (subreaper)", "daemons may be lost", remedy);
}

void doctor_check_processes(struct doctor *doctor)
{
    if (doctor->root.proc_fd < 0) {
        doctor_say(doctor, "all", DOCTOR_BROKEN, NULL, "without /proc none can be tracked");
        return;
    }
    check_namespace(doctor);
    if (doctor->root.names_us) {
        check_others(doctor);
        check_files(doctor);
    }
    check_calls(doctor);
}
