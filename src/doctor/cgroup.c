/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: which kind there is, what ours tells, and whether the command could have one of its own (--cgroup).
 * That is judged by rights alone: no group is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/syscalls.h"
#include "collect/cgroup/cgroup.h"
#include "doctor/doctor_internal.h"

enum { GROUPS_BYTES_MAX = 256 * 1024 };

/* Returns 0 where our group is found. */
static int say_kind(struct doctor *doctor, struct str groups)
{
    static const char kinds[4][8] = {"none", "v1", "v2", "hybrid"};
    struct cgroup_location places[CGROUP_CONTROLLERS], unified;
    struct err err = {0};
    int r = cgroup_path_find(&doctor->root, groups, places, &err);
    if (r < 0) {
        doctor_say(doctor, "kind", DOCTOR_MISSING,
            r == -ENODATA ? "Mount it: mount -t cgroup2 cgroup2 /sys/fs/cgroup." : doctor_remedy(r),
            "%s: limits are unknown", err.msg[0] ? err.msg : "our group is nowhere to be seen");
        return r;
    }
    unsigned kind = cgroup_path_find_v2(&doctor->root, groups, &unified, &err) == 0 ? 2 : 0;
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        kind |= places[i].version;
    const struct cgroup_location *place = &places[places[CGROUP_MEMORY].version ? CGROUP_MEMORY : CGROUP_CPUACCT];
    doctor_say(doctor, "kind", DOCTOR_OK, NULL, "%s; our group is /%s", kinds[kind & 3], place->dir);
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

static void tell_group(struct doctor *doctor, const struct sample *sample)
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
            "Linux 5.19 or newer has it, in groups with the memory controller.", "not told: peaks come from samples");
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
    return syscall(SYS_clone3, NULL, 0) < 0 && errno != EINVAL ? -errno : 0;
}

static void check_own_group(struct doctor *doctor, struct str groups)
{
    struct cgroup_location place;
    struct err err = {0};
    const char *remedy = "It takes cgroup v2 within sight (systemd.unified_cgroup_hierarchy=1).";
    int r = cgroup_path_find_v2(&doctor->root, groups, &place, &err);
    if (r == 0) {
        remedy = "Run below systemd-run --user --scope -p Delegate=yes, or in a container whose /sys/fs/cgroup is "
                 "writable.";
        AUTO_FD int fd = file_open_at(doctor->root.root_fd, place.dir, O_PATH | O_DIRECTORY);
        if (fd < 0)
            r = fd;
        else if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0 || faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) < 0)
            r = -errno;
    }
    if (r == 0) {
        remedy = "It takes Linux 5.7, and a seccomp filter that permits clone3.";
        r = probe_clone3();
    }
    doctor_judge(doctor, "own (--cgroup)", r, "possible, below ours", "the command cannot have one", remedy);
}

void doctor_check_cgroup(struct doctor *doctor)
{
    AUTO_BUF struct buf text;
    buf_init(&text, GROUPS_BYTES_MAX);
    int r = file_read_at(doctor->root.proc_fd, "self/cgroup", &text);
    if (r < 0) {
        doctor_say(doctor, "kind", DOCTOR_MISSING, doctor_remedy(r), "%s/proc/self/cgroup: %s: limits are unknown",
            doctor->root.path, strerror(-r));
        return;
    }
    struct str groups = {text.data, text.len};
    if (say_kind(doctor, groups) == 0)
        doctor_try(
            doctor, &collector_cgroup, "limits", DOCTOR_MISSING, "The root group has no files of its own.", tell_group);
    if (doctor->root.is_host)
        check_own_group(doctor, groups);
}
