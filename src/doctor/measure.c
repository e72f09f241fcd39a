/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors of every run, each tried with two readings: what it finds, and why it does not. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "collect/disk/disk.h"
#include "collect/host/host.h"
#include "doctor/doctor_internal.h"

void doctor_try(struct doctor *doctor, const struct collector *collector, const char *name, enum doctor_state without,
    const char *remedy, doctor_tell *tell)
{
    struct err err = {0};
    struct sample sample = {0};
    AUTO_FREE void *state = calloc(1, collector->state_bytes);
    if (!state) {
        doctor->is_short = true;
        return;
    }
    int opened = collector->open(state, &doctor->env, &err), r = opened;
    for (int i = 0; r == 0 && i < 2; i++) {
        err_clear(&err);
        struct tick tick = {.baseline = i == 0, .mono_ns = clock_read(doctor->env.clock, CLOCK_KIND_MONOTONIC)};
        r = collector->collect(state, &tick, &sample, &err);
    }
    if (r == 0)
        tell(doctor, &sample);
    if (r != 0 || err.code < 0)
        doctor_say(doctor, r == 0 ? "incomplete" : name, r == 0 ? DOCTOR_LIMITED : without,
            r == -ENODATA && remedy ? remedy : doctor_remedy(r == 0 ? err.code : r), "%s",
            err.msg[0] ? err.msg : "none here");
    if (opened == 0)
        collector->close(state);
}

static void tell_cpus(struct doctor *doctor, const struct sample *sample)
{
    /* Shares are not known after so short a time. */
    unsigned online = (unsigned)sample->cpu.per_core_pct.count;
    if (doctor->root.is_host)
        doctor_say(doctor, "online", DOCTOR_OK, NULL, "%u, of which we may use %u", online,
            (unsigned)host_count_usable_cpus().v);
    else
        doctor_say(doctor, "online", DOCTOR_OK, NULL, "%u", online);
}

void doctor_check_cpu(struct doctor *doctor)
{
    doctor_try(doctor, &collector_cpu, "online", DOCTOR_BROKEN, NULL, tell_cpus);
}

static void tell_memory(struct doctor *doctor, const struct sample *sample)
{
    const struct sample_memory *memory = &sample->memory;
    if (memory->available_mib.has)
        doctor_say(doctor, "available", DOCTOR_OK, NULL, "%" PRIu64 " of %" PRIu64 " MiB",
            (uint64_t)memory->available_mib.v, (uint64_t)memory->total_mib.v);
    else
        doctor_say(doctor, "available", DOCTOR_LIMITED, "Linux 3.14 or newer has it.",
            "MemAvailable is not told: memory.available_mib is null");
}

void doctor_check_memory(struct doctor *doctor)
{
    doctor_try(doctor, &collector_memory, "available", DOCTOR_BROKEN, NULL, tell_memory);
}

static void say_turned_off(struct doctor *doctor, const char *setting)
{
    doctor_say(doctor, doctor->area, DOCTOR_OFF, NULL, "turned off (collect.%s)", setting);
}

static void tell_disks(struct doctor *doctor, const struct sample *sample)
{
    const struct sample_disk *disks = sample->disk.items;
    size_t mounts = 0;
    for (size_t i = 0; i < sample->disk.count; i++)
        mounts += disks[i].mounts.count;
    doctor_say(doctor, "devices", DOCTOR_OK, NULL, "%zu seen, filesystems on them: %zu", sample->disk.count, mounts);
}

static void check_zfs(struct doctor *doctor)
{
    struct zfs zfs;
    zfs_open(&zfs, &doctor->env);
    if (zfs_is_loaded(&zfs))
        doctor_say(doctor, "ZFS", DOCTOR_OK, NULL, "is loaded; pools are told where the zpool command is");
    zfs_close(&zfs);
}

void doctor_check_disk(struct doctor *doctor)
{
    if (!doctor->settings->collect_disk) {
        say_turned_off(doctor, "disk");
        return;
    }
    doctor_try(doctor, &collector_disk, "devices", DOCTOR_MISSING, NULL, tell_disks);
    if (doctor->root.is_host)
        check_zfs(doctor);
}

static void tell_interfaces(struct doctor *doctor, const struct sample *sample)
{
    enum { SHOWN_MAX = 6 };
    const struct sample_network *items = sample->network.items;
    AUTO_BUF struct buf names;
    buf_init(&names, 1024);
    for (size_t i = 0; i < sample->network.count && i < SHOWN_MAX; i++) {
        buf_puts(&names, i > 0 ? ", " : ": ");
        buf_puts(&names, items[i].interface);
    }
    doctor_say(doctor, "interfaces", DOCTOR_OK, NULL, "%zu seen%s%s", sample->network.count, buf_cstr(&names),
        sample->network.count > SHOWN_MAX ? " ..." : "");
}

void doctor_check_network(struct doctor *doctor)
{
    if (doctor->settings->collect_network)
        doctor_try(doctor, &collector_network, "interfaces", DOCTOR_MISSING, NULL, tell_interfaces);
    else
        say_turned_off(doctor, "network");
}

static void tell_pressure(struct doctor *doctor, const struct sample *sample)
{
    (void)sample;
    doctor_say(doctor, "PSI", DOCTOR_OK, NULL, "pressure stall information can be read");
}

void doctor_check_pressure(struct doctor *doctor)
{
    if (faccessat(doctor->root.proc_fd, "stat", F_OK, 0) < 0) {
        doctor_say(doctor, "PSI", DOCTOR_MISSING, DOCTOR_MOUNT_REMEDY, "unknown without /proc");
        return;
    }
    doctor_try(doctor, &collector_pressure, "PSI", DOCTOR_MISSING,
        "Boot with psi=1; it takes a kernel (4.20 or newer) with CONFIG_PSI.", tell_pressure);
}
