/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of --doctor share: the findings, how they are made and shown, and the checks, one function per area.
 */
#ifndef DOCTOR_DOCTOR_INTERNAL_H
#define DOCTOR_DOCTOR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "collect/collect.h"
#include "config/settings.h"
#include "kernel/sysroot.h"
#include "model/sample.h"

enum { DOCTOR_FINDINGS_MAX = 96, DOCTOR_COLUMNS = 100 };

#define DOCTOR_MOUNT_REMEDY "Check that /proc and /sys are fully mounted."

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_OFF, /* disabled, or not checked */
    DOCTOR_LIMITED, /* a run works, with less in it */
    DOCTOR_MISSING, /* a part of every sample is absent */
    DOCTOR_BROKEN, /* no run can do here what it is for */
    DOCTOR_STATES
};

struct doctor_finding {
    const char *area, *name;
    enum doctor_state state;
    const char *remedy; /* NULL: none is needed, or known */
    char text[400]; /* may hold any bytes of the system's */
};

struct doctor_findings {
    struct doctor_finding *items;
    size_t count, cap;
};

struct doctor {
    const struct settings *settings;
    bool is_online;
    const char *area, *name; /* of the check that runs: its row */
    struct sysroot root;
    struct collect_env env;
    bool is_short; /* of memory: a finding was lost */
    struct doctor_findings findings;
};

/* Adds a finding to the section of the check; most use doctor->name. name and remedy must be static. */
__attribute__((format(printf, 5, 6))) void doctor_say(
    struct doctor *doctor, const char *name, enum doctor_state state, const char *remedy, const char *fmt, ...);

/* r >= 0: what is fine. Else it is limited: why, and what follows from it. remedy NULL: that of the errno. */
void doctor_say_result(
    struct doctor *doctor, const char *name, int r, const char *fine, const char *without, const char *remedy);

/* What to do about a file that could not be read, by the negative errno. */
const char *doctor_remedy(int r);

/* The checks, in the order of the table in doctor.c. */
void doctor_check_kernel(struct doctor *doctor);
void doctor_check_proc(struct doctor *doctor);
void doctor_check_sys(struct doctor *doctor);
void doctor_check_container(struct doctor *doctor);
void doctor_check_pid_namespace(struct doctor *doctor);
void doctor_check_other_users(struct doctor *doctor);
void doctor_check_process_files(struct doctor *doctor);
void doctor_check_pidfd(struct doctor *doctor);
void doctor_check_orphans(struct doctor *doctor);
void doctor_check_exact(struct doctor *doctor);
void doctor_check_cpu(struct doctor *doctor);
void doctor_check_memory(struct doctor *doctor);
void doctor_check_disk(struct doctor *doctor);
void doctor_check_zfs(struct doctor *doctor);
void doctor_check_network(struct doctor *doctor);
void doctor_check_traffic(struct doctor *doctor);
void doctor_check_pressure(struct doctor *doctor);
void doctor_check_cgroup(struct doctor *doctor);
void doctor_check_own_group(struct doctor *doctor);
void doctor_check_gpu(struct doctor *doctor);
void doctor_check_energy(struct doctor *doctor);
void doctor_check_monotonic(struct doctor *doctor);
void doctor_check_time_of_day(struct doctor *doctor);
void doctor_check_open_files(struct doctor *doctor);
void doctor_check_process_limit(struct doctor *doctor);
void doctor_check_streaming(struct doctor *doctor);

/* The worst of all states; DOCTOR_OK where there is nothing but DOCTOR_OFF. */
enum doctor_state doctor_findings_worst(const struct doctor_findings *findings);

/* A table of plain ASCII, at most DOCTOR_COLUMNS wide, with the verdict below it. */
void doctor_put_text(struct buf *buf, const struct doctor_findings *findings);

/* One object and a LF. */
void doctor_put_json(struct buf *buf, const struct doctor_findings *findings);

#endif
