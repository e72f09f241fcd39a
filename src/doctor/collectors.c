/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectors of every run, each tried with two readings: what it finds, and why it does not. Whether the command
 * could have a control group of its own (--cgroup) is checked by rights alone: none is made. Every GPU vendor is asked
 * as a run asks it; one that answers from a process of its own is waited for, since a driver that is not kept awake
 * takes seconds to start.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/syscalls.h"
#include "collect/cgroup/cgroup.h"
#include "collect/disk/disk.h"
#include "collect/gpu/gpu.h"
#include "collect/host/host.h"
#include "collect/traffic/traffic.h"
#include "collect/tree/events.h"
#include "doctor/doctor_internal.h"

#define ANSWER_NS (10 * NS_PER_SEC)
enum { GROUPS_BYTES_MAX = 256 * 1024, STEP_MS = 20, ROUNDS_MIN = 2 };

/*
 * Opens a collector, reads twice, describes what it found, closes. Where it found nothing, the finding has the state
 * `without`, and the remedy if this host simply has none.
 */
static void try_collector(struct doctor *doctor, const struct collector *collector, const char *name,
    enum doctor_state without, const char *remedy, void (*describe)(struct doctor *, const struct sample *))
{
    struct err err = {0};
    struct sample sample = {0};
    AUTO_FREE void *state = calloc(1, collector->state_bytes);
    if (!state) {
        doctor->is_short = true;
        return;
    }
    int opened = collector->open(state, &doctor->env, &err), r = opened;
    bool has_none = opened == -ENODATA && err.code == 0, is_hidden = opened == 0 && err.code < 0;
    if (is_hidden)
        doctor_say(doctor, "incomplete", DOCTOR_LIMITED, remedy, "%s", err.msg);
    for (int i = 0; r == 0 && i < 2; i++) {
        err_clear(&err);
        struct tick tick = {.baseline = i == 0, .mono_ns = clock_read(doctor->env.clock, CLOCK_KIND_MONOTONIC)};
        r = collector->collect(state, &tick, &sample, &err);
    }
    if (r == 0)
        describe(doctor, &sample);
    if (has_none)
        doctor_say(doctor, name, DOCTOR_OK, NULL, "none found");
    else if (r != 0 || err.code < 0)
        doctor_say(doctor, r == 0 ? "incomplete" : name, r == 0 ? DOCTOR_LIMITED : without,
            r == -ENODATA && remedy ? remedy : doctor_remedy(r == 0 ? err.code : r), "%s",
            err.msg[0] ? err.msg : "not available on this host");
    if (opened == 0)
        collector->close(state);
}

static void describe_cpus(struct doctor *doctor, const struct sample *sample)
{
    /* Shares are not known after so short a time. */
    unsigned online = (unsigned)sample->cpu.per_core_pct.count;
    if (doctor->root.is_host)
        doctor_say(
            doctor, doctor->name, DOCTOR_OK, NULL, "%u, usable: %u", online, (unsigned)host_count_usable_cpus().v);
    else
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%u", online);
}

void doctor_check_cpu(struct doctor *doctor)
{
    try_collector(doctor, &collector_cpu, doctor->name, DOCTOR_BROKEN, NULL, describe_cpus);
}

static void describe_memory(struct doctor *doctor, const struct sample *sample)
{
    const struct sample_memory *memory = &sample->memory;
    if (memory->available_mib.has)
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%" PRIu64 " of %" PRIu64 " MiB",
            (uint64_t)memory->available_mib.v, (uint64_t)memory->total_mib.v);
    else
        doctor_say(doctor, doctor->name, DOCTOR_LIMITED, "Needs Linux 3.14 or newer.",
            "MemAvailable is not reported: memory.available_mib is null");
}

void doctor_check_memory(struct doctor *doctor)
{
    try_collector(doctor, &collector_memory, doctor->name, DOCTOR_BROKEN, NULL, describe_memory);
}

static void say_disabled(struct doctor *doctor, const char *setting)
{
    doctor_say(doctor, doctor->area, DOCTOR_OFF, NULL, "disabled (collect.%s)", setting);
}

static void describe_disks(struct doctor *doctor, const struct sample *sample)
{
    const struct sample_disk *disks = sample->disk.items;
    size_t mounts = 0;
    for (size_t i = 0; i < sample->disk.count; i++)
        mounts += disks[i].mounts.count;
    doctor_say(
        doctor, doctor->name, DOCTOR_OK, NULL, "%zu found, filesystems on them: %zu", sample->disk.count, mounts);
}

void doctor_check_disk(struct doctor *doctor)
{
    if (doctor->settings->collect_disk)
        try_collector(doctor, &collector_disk, doctor->name, DOCTOR_MISSING, NULL, describe_disks);
    else
        say_disabled(doctor, "disk");
}

void doctor_check_zfs(struct doctor *doctor)
{
    struct zfs zfs;
    if (!doctor->settings->collect_disk)
        return;
    zfs_open(&zfs, &doctor->env);
    if (zfs_is_loaded(&zfs))
        doctor_say(
            doctor, doctor->name, DOCTOR_OK, NULL, "loaded; pools are reported where the zpool command is installed");
    zfs_close(&zfs);
}

static void describe_interfaces(struct doctor *doctor, const struct sample *sample)
{
    enum { SHOWN_MAX = 6 };
    const struct sample_network *items = sample->network.items;
    AUTO_BUF struct buf names;
    buf_init(&names, 1024);
    for (size_t i = 0; i < sample->network.count && i < SHOWN_MAX; i++) {
        buf_puts(&names, i > 0 ? ", " : ": ");
        buf_puts(&names, items[i].interface);
    }
    doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%zu found%s%s", sample->network.count, buf_cstr(&names),
        sample->network.count > SHOWN_MAX ? " ..." : "");
}

void doctor_check_network(struct doctor *doctor)
{
    if (doctor->settings->collect_network)
        try_collector(doctor, &collector_network, doctor->name, DOCTOR_MISSING, NULL, describe_interfaces);
    else
        say_disabled(doctor, "network");
}

void doctor_check_traffic(struct doctor *doctor)
{
    const struct settings *settings = doctor->settings;
    if (!settings->collect_job_network)
        doctor_say(doctor, doctor->name, DOCTOR_OFF, NULL, "not asked for (collect.job_network)");
    else if (settings->collect_network)
        doctor_say_result(doctor, doctor->name, traffic_check(&doctor->env),
            "exact where it is in a network namespace of its own, else at least its TCP connections",
            "known only where it is in a network namespace of its own, for TCP connections cannot be listed",
            "Needs Linux 4.2 or newer with INET_DIAG, and a container or sandbox that permits netlink sockets.");
}

void doctor_check_exact(struct doctor *doctor)
{
    AUTO_FD int fd = doctor->settings->exact_processes ? events_open() : -ENODATA;
    if (!doctor->settings->exact_processes)
        doctor_say(doctor, doctor->name, DOCTOR_OFF, NULL, "not asked for (collect.exact_processes)");
    else
        doctor_say_result(doctor, doctor->name, fd, "the kernel reports every process",
            "processes between two samples are not seen",
            "Needs Linux 6.6 or CAP_NET_ADMIN (root), outside of containers, and CONFIG_PROC_EVENTS.");
}

static void describe_pressure(struct doctor *doctor, const struct sample *sample)
{
    (void)sample;
    doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "pressure stall information is readable");
}

void doctor_check_pressure(struct doctor *doctor)
{
    if (faccessat(doctor->root.proc_fd, "stat", F_OK, 0) < 0) {
        doctor_say(doctor, doctor->name, DOCTOR_MISSING, DOCTOR_MOUNT_REMEDY, "unknown without /proc");
        return;
    }
    try_collector(doctor, &collector_pressure, doctor->name, DOCTOR_MISSING,
        "Boot with psi=1; needs Linux 4.20 or newer with CONFIG_PSI.", describe_pressure);
}

static void describe_energy(struct doctor *doctor, const struct sample *sample)
{
    const struct sample_energy *energy = &sample->energy;
    const char *source = energy->source ? energy->source : "battery";
    if (energy->present)
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%s:%s%s%s", source,
            energy->package_joules.has ? " CPUs" : "", energy->dram_joules.has ? " memory" : "",
            energy->platform_joules.has ? " machine" : "");
    else
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%s: no counter of the CPUs can be read", source);
}

void doctor_check_energy(struct doctor *doctor)
{
    int how = doctor->settings->collect_energy;
    doctor->env.estimates_energy = how == COLLECT_ENERGY_ESTIMATE;
    if (how == COLLECT_ENERGY_OFF)
        say_disabled(doctor, "energy");
    else /* Readable by root alone since Linux 5.10, as one can learn secrets of others from them (CVE-2020-8694). */
        try_collector(doctor, &collector_energy, doctor->name, DOCTOR_LIMITED,
            "Let a group read it: put the lines \"z /sys/class/powercap/*/energy_uj 0440 root GROUP\" and "
            "\"z /sys/class/hwmon/*/energy*_input 0440 root GROUP\" into /etc/tmpfiles.d/energy.conf and run "
            "systemd-tmpfiles --create as root.",
            describe_energy);
}

/* Returns 0 where our group is found. */
static int say_kind(struct doctor *doctor, struct str groups)
{
    static const char kinds[4][8] = {"none", "v1", "v2", "hybrid"};
    struct cgroup_location places[CGROUP_CONTROLLERS], unified;
    struct err err = {0};
    int r = cgroup_path_find(&doctor->root, groups, STR(""), places, &err);
    if (r < 0) {
        doctor_say(doctor, doctor->name, DOCTOR_MISSING,
            r == -ENODATA ? "Mount it: mount -t cgroup2 cgroup2 /sys/fs/cgroup." : doctor_remedy(r),
            "%s: limits are unknown", err.msg[0] ? err.msg : "our control group was not found");
        return r;
    }
    unsigned kind = cgroup_path_find_v2(&doctor->root, groups, &unified, &err) == 0 ? 2 : 0;
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        kind |= places[i].version;
    const struct cgroup_location *place = &places[places[CGROUP_MEMORY].version ? CGROUP_MEMORY : CGROUP_CPUACCT];
    doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "%s; our group is /%s", kinds[kind & 3], place->dir);
    return 0;
}

/* "2.50 cores" or "no limit" */
static void put_limit(struct buf *buf, struct opt_f64 limit, unsigned decimals, const char *unit)
{
    if (limit.has && num_put_fixed(buf, limit.v, decimals))
        buf_puts(buf, unit);
    else
        buf_puts(buf, "no limit");
}

static void describe_group(struct doctor *doctor, const struct sample *sample)
{
    const struct sample_cgroup *cgroup = &sample->cgroup;
    AUTO_BUF struct buf text;
    buf_init(&text, 128);
    buf_puts(&text, "CPU: ");
    put_limit(&text, cgroup->cpu_limit_cores, 2, " cores");
    buf_puts(&text, ", memory: ");
    put_limit(&text, cgroup->memory_limit_mib, 0, " MiB");
    doctor_say(doctor, "limits", DOCTOR_OK, NULL, "%s", buf_cstr(&text));
    if (cgroup->memory_peak_mib.has)
        doctor_say(doctor, "memory peak", DOCTOR_OK, NULL, "%" PRIu64 " MiB", (uint64_t)cgroup->memory_peak_mib.v);
    else
        doctor_say(doctor, "memory peak", DOCTOR_LIMITED,
            "Needs Linux 5.19 or newer, and a group with the memory controller.",
            "not reported: peaks come from samples");
    if (cgroup->oom_kills.has)
        doctor_say(doctor, "OOM kills", DOCTOR_OK, NULL, "%" PRIu64 " so far", cgroup->oom_kills.v);
    else
        doctor_say(doctor, "OOM kills", DOCTOR_LIMITED,
            "Run in a group with the memory controller (systemd-run --scope, a container).",
            "not counted: only the host's count is known");
}

/* Does the kernel, or a filter in front of it, have clone3 at all? It refuses an empty request either way. */
static int probe_clone3(void)
{
    return syscall(SYS_clone3, NULL, 0) < 0 && errno != EINVAL ? err_last() : 0;
}

void doctor_check_own_group(struct doctor *doctor)
{
    AUTO_BUF struct buf text;
    buf_init(&text, GROUPS_BYTES_MAX);
    if (file_read_at(doctor->root.proc_fd, "self/cgroup", &text) < 0)
        return;
    struct cgroup_location place;
    struct err err = {0};
    const char *remedy = "Needs cgroup v2 (systemd.unified_cgroup_hierarchy=1).";
    int r = cgroup_path_find_v2(&doctor->root, buf_str(&text), &place, &err);
    if (r == 0) {
        remedy = "Run under systemd-run --user --scope -p Delegate=yes, or in a container with a writable "
                 "/sys/fs/cgroup.";
        AUTO_FD int fd = file_open_at(doctor->root.root_fd, place.dir, O_PATH | O_DIRECTORY);
        if (fd < 0)
            r = fd;
        else if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0 || faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) < 0)
            r = err_last();
    }
    if (r == 0) {
        remedy = "Needs Linux 5.7 or newer, and a seccomp filter that allows clone3.";
        r = probe_clone3();
    }
    doctor_say_result(
        doctor, doctor->name, r, "can be created below ours", "the command cannot have one of its own", remedy);
}

void doctor_check_cgroup(struct doctor *doctor)
{
    AUTO_BUF struct buf text;
    buf_init(&text, GROUPS_BYTES_MAX);
    int r = file_read_at(doctor->root.proc_fd, "self/cgroup", &text);
    if (r < 0) {
        doctor_say(doctor, doctor->name, DOCTOR_MISSING, doctor_remedy(r),
            "%s/proc/self/cgroup: %s: limits are unknown", doctor->root.path, strerror(-r));
        return;
    }
    struct str groups = buf_str(&text);
    if (say_kind(doctor, groups) == 0)
        try_collector(doctor, &collector_cgroup, "limits", DOCTOR_MISSING, "The root group has no files of its own.",
            describe_group);
}

/* Asks until the devices are known, or there is an error. */
static int ask(const struct doctor *doctor, const struct gpu_vendor *vendor, void *state, struct gpu_list *ret_list,
    struct err *err)
{
    const struct clock *clock = doctor->env.clock;
    int64_t now_ns = clock_read(clock, CLOCK_KIND_MONOTONIC);
    const int64_t start_ns = now_ns;
    int r = 0;
    for (int i = 0; now_ns - start_ns < ANSWER_NS; i++) {
        struct gpu_tick tick = {.baseline = i == 0, .now_ns = now_ns, .slot_ns = start_ns};
        r = vendor->read(state, &tick, ret_list, err);
        if (r < 0 || err->code < 0 || (ret_list->is_known && i + 1 >= ROUNDS_MIN))
            return r;
        (void)poll(NULL, 0, STEP_MS);
        now_ns = clock_read(clock, CLOCK_KIND_MONOTONIC);
    }
    return err_set(err, -ETIMEDOUT, "%s: the driver did not answer within 10 s", vendor->name);
}

/* "2: NVIDIA H200, driver nvidia, driver_version 570.1" */
static void say_cards(struct doctor *doctor, const struct gpu_vendor *vendor, const struct gpu_list *list)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 256);
    const struct gpu_facts *facts = list->count > 0 ? &list->cards[0].facts : NULL;
    for (size_t i = 0; facts && i < facts->detail_count; i++) {
        const struct gpu_detail *detail = &facts->details[i];
        if (strncmp(detail->key, "driver", 6) == 0)
            buf_printf(&text, ", %s %s", detail->key, detail->value);
    }
    doctor_say(doctor, vendor->name, DOCTOR_OK, NULL, "%zu found%s%s%s", list->count, facts ? ": " : "",
        facts ? facts->name[0] ? facts->name : facts->device_type : "", buf_cstr(&text));
}

/* Returns whether the machine has something of this vendor, be it out of reach. */
static bool say_remark(struct doctor *doctor, const struct gpu_vendor *vendor, bool is_found)
{
    static const enum doctor_state states[] = {
        [GPU_REMARK_LIMITED] = DOCTOR_LIMITED,
        [GPU_REMARK_OFF] = DOCTOR_OFF,
        [GPU_REMARK_MISSING] = DOCTOR_MISSING,
    };
    struct gpu_remark remark;
    if (!vendor->remark || !vendor->remark(&doctor->env, is_found, &remark))
        return is_found;
    doctor_say(doctor, remark.subject, states[remark.kind], remark.remedy, "%s", remark.text);
    return is_found || remark.kind == GPU_REMARK_MISSING;
}

/* Returns whether there is anything of this vendor. */
static bool check_vendor(struct doctor *doctor, const struct gpu_vendor *vendor)
{
    struct err err = {0};
    struct gpu_list list = {0};
    AUTO_FREE void *state = calloc(1, vendor->state_bytes);
    if (!state) {
        doctor->is_short = true;
        return false;
    }
    int opened = vendor->open(state, &doctor->env, &err), r = opened;
    if (r == -ENODATA)
        return false;
    if (r == 0)
        r = ask(doctor, vendor, state, &list, &err);
    if (r == 0 && list.is_known)
        say_cards(doctor, vendor, &list);
    if (r < 0 || err.code < 0)
        doctor_say(doctor, vendor->name, DOCTOR_LIMITED, vendor->remedy ? vendor->remedy : doctor_remedy(err.code),
            "%s", err.msg);
    (void)say_remark(doctor, vendor, true);
    if (opened == 0)
        vendor->close(state);
    return true;
}

void doctor_check_gpu(struct doctor *doctor)
{
    const struct settings *settings = doctor->settings;
    const struct sysroot *root = &doctor->root;
    if (!settings->collect_gpu) {
        say_disabled(doctor, "gpu");
        return;
    }
    if (root->is_host)
        doctor->env.gpu = (struct collect_gpu){
            .nvml_library = settings->nvml_path,
            .program = FILE_OWN_PROGRAM,
            .environment = settings->environment,
        };
    uint64_t found = 0; /* a bit for each vendor */
    for (size_t i = 0; i < gpu_vendor_count; i++)
        found |= (uint64_t)check_vendor(doctor, gpu_vendors[i]) << i;
    bool is_any = found != 0;
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (!(found >> i & 1))
            is_any |= say_remark(doctor, gpu_vendors[i], false);
    }
    if (!is_any && root->sys_fd >= 0 && faccessat(root->sys_fd, "class", F_OK, 0) == 0)
        doctor_say(doctor, doctor->name, DOCTOR_OK, NULL, "none found");
    else if (!is_any)
        doctor_say(doctor, doctor->name, DOCTOR_MISSING, DOCTOR_MOUNT_REMEDY, "unknown without /sys");
}
