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
#include "collect/traffic/traffic.h"
#include "doctor/doctor_internal.h"
#include "encode/json.h"

enum { NAME_COLUMN = 11, STATE_COLUMN = 28, TEXT_COLUMN = 37, TEXT_WIDTH = DOCTOR_COLUMNS - TEXT_COLUMN };

static const char state_words[DOCTOR_STATES][8] = {"ok", "off", "limited", "missing", "broken"};

/*
 * A new check is a function, its prototype in doctor_internal.h, and a row (docs/adding-a-doctor-check.md): section,
 * name, function, and whether it is of this host and not for captured trees.
 */
#define CHECKS(X)                                                                                                      \
    X("host", "kernel", doctor_check_kernel, false)                                                                    \
    X("host", "proc", doctor_check_proc, false)                                                                        \
    X("host", "sys", doctor_check_sys, false)                                                                          \
    X("host", "container", doctor_check_container, false)                                                              \
    X("processes", "PID namespace", doctor_check_pid_namespace, true)                                                  \
    X("processes", "of other users", doctor_check_other_users, true)                                                   \
    X("processes", "files", doctor_check_process_files, true)                                                          \
    X("processes", "pidfd", doctor_check_pidfd, true)                                                                  \
    X("processes", "orphans", doctor_check_orphans, true)                                                              \
    X("processes", "exact", doctor_check_exact, true)                                                                  \
    X("cpu", "online", doctor_check_cpu, false)                                                                        \
    X("memory", "available", doctor_check_memory, false)                                                               \
    X("disk", "devices", doctor_check_disk, false)                                                                     \
    X("disk", "ZFS", doctor_check_zfs, true)                                                                           \
    X("network", "interfaces", doctor_check_network, false)                                                            \
    X("network", "of the job", doctor_check_traffic, true)                                                             \
    X("pressure", "PSI", doctor_check_pressure, false)                                                                 \
    X("cgroup", "kind", doctor_check_cgroup, false)                                                                    \
    X("cgroup", "own (--cgroup)", doctor_check_own_group, true)                                                        \
    X("gpu", "devices", doctor_check_gpu, false)                                                                       \
    X("energy", "counters", doctor_check_energy, false)                                                                \
    X("clock", "monotonic", doctor_check_monotonic, true)                                                              \
    X("clock", "time of day", doctor_check_time_of_day, true)                                                          \
    X("limits", "open files", doctor_check_open_files, true)                                                           \
    X("limits", "processes", doctor_check_process_limit, true)                                                         \
    X("streaming", "targets", doctor_check_streaming, false)
#define CHECK_NAMES(section, name, check, is_of_host) section "\0" name "\0"
static const char check_names[] = CHECKS(CHECK_NAMES);

static const char *next_name(const char *name)
{
    return name + strlen(name) + 1;
}

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

void doctor_put_json(struct buf *buf, const struct doctor_findings *findings)
{
    enum doctor_state worst = doctor_findings_worst(findings);
    buf_putc(buf, '{');
    json_put_text(buf, "resource-tracker-version", RT_VERSION);
    json_put_text(buf, "verdict", state_words[worst == DOCTOR_MISSING ? DOCTOR_LIMITED : worst]);
    json_put_key(buf, "findings");
    buf_putc(buf, '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *finding = &findings->items[i];
        buf_puts(buf, i > 0 ? ",{" : "{");
        json_put_text(buf, "area", finding->area);
        json_put_text(buf, "name", finding->name);
        json_put_text(buf, "state", state_words[finding->state]);
        json_put_text(buf, "finding", finding->text);
        json_put_text(buf, "remedy", finding->remedy);
        buf_putc(buf, '}');
    }
    buf_puts(buf, "]}\n");
}

/* Goes on to the next check; true where it is for this machine or tree. */
static bool begin_check(struct doctor *doctor, bool is_of_host)
{
    const char *area = doctor->name ? next_name(doctor->name) : check_names;
    bool begins_section = !doctor->name || strcmp(area, doctor->area) != 0;
    doctor->area = area;
    doctor->name = next_name(area);
    if (doctor->root.is_host || !is_of_host)
        return true;
    if (begins_section)
        doctor_say(doctor, area, DOCTOR_OFF, NULL, "not checked: this is a captured tree");
    return false;
}

static void run_checks(struct doctor *doctor)
{
#define RUN_CHECK(section, name, check, is_of_host)                                                                    \
    if (begin_check(doctor, is_of_host))                                                                               \
        check(doctor);
    CHECKS(RUN_CHECK)
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
        .open_sock_diag = traffic_open_sock_diag,
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
