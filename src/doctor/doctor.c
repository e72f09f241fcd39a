/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of checks, one after the other. What belongs to this machine and not to a captured tree is left out for
 * those. Streaming comes last: from there on nobody may look into our memory.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "collect/disk/disk.h"
#include "collect/probe/probe.h"
#include "doctor/doctor_internal.h"

static const struct {
    void (*check)(struct doctor *doctor);
    bool is_of_host;
    char area[15];
} checks[] = {
    {doctor_check_host, false, "host"},
    {doctor_check_processes, true, "processes"},
    {doctor_check_cpu, false, "cpu"},
    {doctor_check_memory, false, "memory"},
    {doctor_check_disk, false, "disk"},
    {doctor_check_network, false, "network"},
    {doctor_check_pressure, false, "pressure"},
    {doctor_check_cgroup, false, "cgroup"},
    {doctor_check_gpu, false, "gpu"},
    {doctor_check_clock, true, "clock"},
    {doctor_check_limits, true, "limits"},
    {doctor_check_streaming, false, "streaming"},
};

void doctor_say(
    struct doctor *doctor, const char *name, enum doctor_state state, const char *remedy, const char *fmt, ...)
{
    struct doctor_findings *findings = &doctor->findings;
    if (VEC_GROW(findings, findings->count + 1, DOCTOR_FINDINGS_MAX) < 0) {
        doctor->is_short = true;
        return;
    }
    struct doctor_finding *finding = &findings->items[findings->count++];
    finding->area = doctor->area;
    finding->name = name;
    finding->state = state;
    finding->remedy = remedy;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(finding->text, sizeof(finding->text), fmt, args);
    va_end(args);
}

void doctor_judge(
    struct doctor *doctor, const char *name, int r, const char *fine, const char *without, const char *remedy)
{
    if (r >= 0)
        doctor_say(doctor, name, DOCTOR_OK, NULL, "%s", fine);
    else
        doctor_say(doctor, name, DOCTOR_LIMITED, remedy ? remedy : doctor_remedy(r), "%s: %s", strerror(-r), without);
}

static void examine(struct doctor *doctor)
{
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        doctor->area = checks[i].area;
        if (doctor->root.is_host || !checks[i].is_of_host)
            checks[i].check(doctor);
        else
            doctor_say(doctor, doctor->area, DOCTOR_OFF, NULL, "not looked at: this is a captured tree");
    }
}

int doctor_examine(const struct settings *settings, bool is_online, bool is_json, struct buf *buf, struct err *err)
{
    struct doctor doctor = {.settings = settings, .is_online = is_online};
    struct probe probe;
    int r = sysroot_open(settings->sysroot ? settings->sysroot : "/", &doctor.root, err);
    if (r < 0)
        return r;
    doctor.env = (struct collect_env){
        .root = &doctor.root,
        .clock = &clock_system,
        .interval_ns = settings->interval_ns > 0 ? settings->interval_ns : NS_PER_SEC,
        .ticks_per_sec = sysconf(_SC_CLK_TCK),
        .page_bytes = sysconf(_SC_PAGESIZE),
        .space = mounts_statvfs,
        .space_context = &doctor.root,
        .probe = &probe,
    };
    /* Never stepped: what only the devices know is not of interest here, and they may hang. */
    probe_init(&probe, &doctor.env);
    examine(&doctor);
    probe_fini(&probe);
    sysroot_close(&doctor.root);
    if (is_json)
        doctor_put_json(buf, &doctor.findings);
    else
        doctor_put_text(buf, &doctor.findings);
    r = doctor_findings_worst(&doctor.findings) == DOCTOR_BROKEN;
    free(doctor.findings.items);
    if (doctor.is_short || !buf_ok(buf))
        return err_set(err, -ENOMEM, "doctor: no memory for the findings");
    return r;
}
