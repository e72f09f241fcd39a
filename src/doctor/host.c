/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as a whole: kernel, proc and sys, containers, the clocks, and limits on ourselves. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utc.h"
#include "doctor/doctor_internal.h"

#define SECS_2024 INT64_C(1704067200)
#define SECS_2100 INT64_C(4102444800)
#define STEP_NS_MAX NS_PER_MS

enum { DESCRIPTORS_LOW = 256, PROCESSES_LOW = 64 };

const char *doctor_remedy(int r)
{
    if (r == -EMFILE || r == -ENFILE)
        return "Raise the limit of open files (ulimit -n).";
    return r == -EACCES || r == -EPERM ? "Run as root, or as a user who may read it." : DOCTOR_MOUNT_REMEDY;
}

static void check_kernel(struct doctor *doctor)
{
    struct utsname name;
    if (doctor->root.is_host && uname(&name) == 0)
        doctor_say(doctor, "kernel", DOCTOR_OK, NULL, "Linux %s %s", name.release, name.machine);
    else
        doctor_say(doctor, "kernel", DOCTOR_OFF, NULL, "this is a captured tree");
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

/* An empty folder is what is left where a container has none. */
static bool holds(int dir_fd, const char *name)
{
    return dir_fd >= 0 && faccessat(dir_fd, name, F_OK, 0) == 0;
}

void doctor_check_host(struct doctor *doctor)
{
    const struct sysroot *root = &doctor->root;
    check_kernel(doctor);
    if (holds(root->proc_fd, "stat"))
        doctor_say(doctor, "proc", DOCTOR_OK, NULL, "%s/proc can be read", root->path);
    else
        doctor_say(doctor, "proc", DOCTOR_BROKEN,
            root->is_host ? "Mount it: mount -t proc proc /proc." : "It must hold the proc of a captured host.",
            "no %s/proc can be read: nothing can be measured", root->path);
    if (holds(root->sys_fd, "class"))
        doctor_say(doctor, "sys", DOCTOR_OK, NULL, "%s/sys can be read", root->path);
    else
        doctor_say(doctor, "sys", DOCTOR_MISSING,
            root->is_host ? "Mount it: mount -t sysfs sys /sys." : "It must hold the sys of a captured host.",
            "no %s/sys can be read: limits, links, models and GPUs are unknown", root->path);
    const char *kind = container_kind(root);
    doctor_say(doctor, "container", DOCTOR_OK, NULL, "%s%s", kind ? "inside of " : "none is seen", kind ? kind : "");
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

void doctor_check_clock(struct doctor *doctor)
{
    char now[UTC_ISO_BYTES];
    int64_t step_ns = clock_step_ns(doctor->env.clock);
    bool is_fine = step_ns <= STEP_NS_MAX;
    doctor_say(doctor, "monotonic", is_fine ? DOCTOR_OK : DOCTOR_LIMITED,
        is_fine ? NULL : "Boot with a finer clock source (clocksource=).", "steps of %" PRId64 " ns", step_ns);
    int64_t secs = clock_read(doctor->env.clock, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    is_fine = secs >= SECS_2024 && secs < SECS_2100;
    utc_format_iso(secs, now);
    doctor_say(doctor, "time of day", is_fine ? DOCTOR_OK : DOCTOR_LIMITED,
        is_fine ? NULL : "Set the clock: timestamps and certificates depend on it.", "it is %s", now);
}

static void check_limit(struct doctor *doctor, const char *name, rlim_t limit, rlim_t low, const char *remedy)
{
    if (limit == RLIM_INFINITY)
        doctor_say(doctor, name, DOCTOR_OK, NULL, "no limit");
    else
        doctor_say(doctor, name, limit < low ? DOCTOR_LIMITED : DOCTOR_OK, limit < low ? remedy : NULL,
            "at most %" PRIu64, (uint64_t)limit);
}

void doctor_check_limits(struct doctor *doctor)
{
    struct rlimit limit;
    /* The tracker raises what it has to what it may have. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        check_limit(doctor, "open files", limit.rlim_max, DESCRIPTORS_LOW, "Raise it (ulimit -Hn).");
    if (getrlimit(RLIMIT_NPROC, &limit) == 0)
        check_limit(doctor, "processes", limit.rlim_cur, PROCESSES_LOW, "Raise it (ulimit -u).");
}
