/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of checks, run one after the other, and the findings as a table and as JSON:
 *   cgroup    memory peak       limited  the group does not report it
 *                                        -> Linux 5.19 or newer does.
 * Streaming comes last: from there on our memory cannot be read by other processes.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"
#include "collect/disk/disk.h"
#include "collect/probe/probe.h"
#include "doctor/doctor_internal.h"
#include "encode/json.h"

enum { NAME_COLUMN = 11, STATE_COLUMN = 28, TEXT_COLUMN = 37, TEXT_WIDTH = DOCTOR_COLUMNS - TEXT_COLUMN };

static const char state_words[DOCTOR_STATES][8] = {"ok", "off", "limited", "missing", "broken"};

/* A new check is a function, its prototype in doctor_internal.h, and a row (docs/adding-a-doctor-check.md). */
static const struct {
    char section[12], name[16];
    void (*check)(struct doctor *doctor);
    bool is_of_host; /* not for captured trees */
} checks[] = {
    {"host", "kernel", doctor_check_kernel, false},
    {"host", "proc", doctor_check_proc, false},
    {"host", "sys", doctor_check_sys, false},
    {"host", "container", doctor_check_container, false},
    {"processes", "PID namespace", doctor_check_pid_namespace, true},
    {"processes", "of other users", doctor_check_other_users, true},
    {"processes", "files", doctor_check_process_files, true},
    {"processes", "pidfd", doctor_check_pidfd, true},
    {"processes", "orphans", doctor_check_orphans, true},
    {"cpu", "online", doctor_check_cpu, false},
    {"memory", "available", doctor_check_memory, false},
    {"disk", "devices", doctor_check_disk, false},
    {"disk", "ZFS", doctor_check_zfs, true},
    {"network", "interfaces", doctor_check_network, false},
    {"pressure", "PSI", doctor_check_pressure, false},
    {"cgroup", "kind", doctor_check_cgroup, false},
    {"cgroup", "own (--cgroup)", doctor_check_own_group, true},
    {"gpu", "devices", doctor_check_gpu, false},
    {"clock", "monotonic", doctor_check_monotonic, true},
    {"clock", "time of day", doctor_check_time_of_day, true},
    {"limits", "open files", doctor_check_open_files, true},
    {"limits", "processes", doctor_check_process_limit, true},
    {"streaming", "targets", doctor_check_streaming, false},
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

void doctor_say_result(
    struct doctor *doctor, const char *name, int r, const char *fine, const char *without, const char *remedy)
{
    if (r >= 0)
        doctor_say(doctor, name, DOCTOR_OK, NULL, "%s", fine);
    else
        doctor_say(doctor, name, DOCTOR_LIMITED, remedy ? remedy : doctor_remedy(r), "%s: %s", strerror(-r), without);
}

enum doctor_state doctor_findings_worst(const struct doctor_findings *findings)
{
    enum doctor_state worst = DOCTOR_OK;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].state > worst)
            worst = findings->items[i].state;
    }
    return worst == DOCTOR_OFF ? DOCTOR_OK : worst;
}

static void put_plain(struct buf *buf, struct str text)
{
    while (text.n > 0)
        str_skip(&text, text_put_char(buf, text, TEXT_ASCII));
}

/* Blanks up to a column of the line that begins at `line`; one at least. */
static void pad(struct buf *buf, size_t line, size_t column)
{
    do
        buf_putc(buf, ' ');
    while (buf_ok(buf) && buf->len - line < column);
}

static void put_columns(struct buf *buf, const char *area, const char *name, const char *state)
{
    size_t line = buf->len;
    put_plain(buf, str_of(area));
    pad(buf, line, NAME_COLUMN);
    put_plain(buf, str_of(name));
    pad(buf, line, STATE_COLUMN);
    buf_puts(buf, state);
    pad(buf, line, TEXT_COLUMN);
}

/* From where the line is already; further lines begin below, `indent` further in. */
static void put_wrapped(struct buf *buf, struct str text, size_t indent)
{
    size_t width = TEXT_WIDTH - indent;
    do {
        size_t n = text_fit(text, width);
        put_plain(buf, (struct str){text.p, n});
        buf_putc(buf, '\n');
        str_skip(&text, n);
        (void)str_take(&text, ' ');
        if (text.n > 0)
            pad(buf, buf->len, TEXT_COLUMN + indent);
    } while (text.n > 0 && buf_ok(buf));
}

/* "2 things are limited, 1 is missing: see above." */
static void put_verdict(struct buf *buf, const struct doctor_findings *findings)
{
    bool is_first = true;
    for (int state = DOCTOR_BROKEN; state >= DOCTOR_LIMITED; state--) {
        uint64_t count = 0;
        for (size_t i = 0; i < findings->count; i++)
            count += (int)findings->items[i].state == state;
        if (count == 0)
            continue;
        if (!is_first)
            buf_puts(buf, ", ");
        num_put_u64(buf, count);
        if (is_first)
            buf_puts(buf, count == 1 ? " thing" : " things");
        buf_puts(buf, count == 1 ? " is " : " are ");
        buf_puts(buf, state_words[state]);
        is_first = false;
    }
    buf_puts(buf, is_first ? "Everything that a run needs works here.\n" : ": see above.\n");
}

void doctor_put_text(struct buf *buf, const struct doctor_findings *findings)
{
    put_columns(buf, "AREA", "CHECK", "STATE");
    buf_puts(buf, "FINDING\n");
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *finding = &findings->items[i];
        put_columns(buf, finding->area, finding->name, state_words[finding->state]);
        put_wrapped(buf, str_of(finding->text), 0);
        if (!finding->remedy)
            continue;
        pad(buf, buf->len, TEXT_COLUMN);
        buf_puts(buf, "-> ");
        put_wrapped(buf, str_of(finding->remedy), 3);
    }
    buf_putc(buf, '\n');
    put_verdict(buf, findings);
}

static void put_pair(struct buf *buf, const char *key, const char *value)
{
    buf_printf(buf, "\"%s\":", key);
    if (value)
        json_put_string(buf, str_of(value));
    else
        buf_puts(buf, "null");
    buf_putc(buf, ',');
}

void doctor_put_json(struct buf *buf, const struct doctor_findings *findings)
{
    enum doctor_state worst = doctor_findings_worst(findings);
    buf_putc(buf, '{');
    put_pair(buf, "resource-tracker-version", RT_VERSION);
    put_pair(buf, "verdict", state_words[worst == DOCTOR_MISSING ? DOCTOR_LIMITED : worst]);
    buf_puts(buf, "\"findings\":[");
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *finding = &findings->items[i];
        buf_puts(buf, i > 0 ? ",{" : "{");
        put_pair(buf, "area", finding->area);
        put_pair(buf, "name", finding->name);
        put_pair(buf, "state", state_words[finding->state]);
        put_pair(buf, "finding", finding->text);
        put_pair(buf, "remedy", finding->remedy);
        buf->len -= buf_ok(buf); /* the last comma */
        buf_putc(buf, '}');
    }
    buf_puts(buf, "]}\n");
}

static void run_checks(struct doctor *doctor)
{
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        bool begins_section = i == 0 || strcmp(checks[i].section, checks[i - 1].section) != 0;
        doctor->area = checks[i].section;
        doctor->name = checks[i].name;
        if (doctor->root.is_host || !checks[i].is_of_host)
            checks[i].check(doctor);
        else if (begins_section)
            doctor_say(doctor, doctor->area, DOCTOR_OFF, NULL, "not checked: this is a captured tree");
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
    /* Never stepped: what only the devices know is not needed here, and they may hang. */
    probe_init(&probe, &doctor.env);
    run_checks(&doctor);
    probe_fini(&probe);
    sysroot_close(&doctor.root);
    if (is_json)
        doctor_put_json(buf, &doctor.findings);
    else
        doctor_put_text(buf, &doctor.findings);
    r = doctor_findings_worst(&doctor.findings) == DOCTOR_BROKEN;
    free(doctor.findings.items);
    if (doctor.is_short || !buf_ok(buf))
        return err_set(err, -ENOMEM, "doctor: out of memory");
    return r;
}
