/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes hold DRM devices open: the descriptors of the tree, or of all processes, rescanned on a budget. */
#include "collect/gpu/drm/fdinfo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/gpu/drm/drm.h"
#include "collect/gpu/gpu.h"
#include "kernel/pid.h"

enum { MEMBERS_MAX = 65536, OTHERS_MAX = 1 << 20, STAT_BYTES_MAX = 4096 };

#define SOONEST_NS NS_PER_SEC
#define LATEST_NS (10 * NS_PER_SEC)
#define LONGEST_NS (60 * NS_PER_SEC) /* for a member, whatever a scan has cost: one measurement may be far off */

/* The share of a core that scans may take: 1/200 for members, 1/1000 for all others. */
#define MEMBERS_SHARE 200
#define OTHERS_SHARE 1000

/* CPU time of scans in one tick: a sample does not wait for a host or a tree of ten thousand processes. */
#define ROUND_TICK_NS (5 * NS_PER_MS)
#define MEMBERS_TICK_NS (5 * NS_PER_MS)

void fdinfo_scan_init(struct fdinfo_scan *scan, const struct collect_env *env, struct fdinfo_table *table)
{
    *scan = (struct fdinfo_scan){.env = env, .table = table, .round.list_fd = -1};
    buf_init(&scan->stat, STAT_BYTES_MAX);
}

void fdinfo_scan_fini(struct fdinfo_scan *scan)
{
    fd_close(&scan->round.list_fd);
    pid_list_fini(&scan->round.list);
    free(scan->processes.items);
    buf_fini(&scan->stat);
}

static int64_t read_cpu_ns(const struct fdinfo_scan *scan)
{
    return clock_read(scan->env->clock, CLOCK_KIND_OWN_CPU);
}

/* "/dev/dri/card1" is class/drm/card1 in sysfs; what is not there is no device. */
static void find_device(int sys_fd, const char *target, struct fdinfo_unsupported *ret_device)
{
    char path[128];
    const char *class = str_starts(str_of(target), STR("/dev/accel/")) ? "accel" : "drm";
    const char *name = strrchr(target, '/') + 1;
    (void)snprintf(path, sizeof(path), "class/%s/%s/device", class, name);
    drm_read_link_name(sys_fd, path, ret_device->device, sizeof(ret_device->device));
    (void)snprintf(path, sizeof(path), "class/%s/%s/device/driver", class, name);
    drm_read_link_name(sys_fd, path, ret_device->driver, sizeof(ret_device->driver));
}

/*
 * Notes the device behind a path such as /dev/dri/card1 as one that this process holds. What sysfs does not know is no
 * device, and that of a vendor that needs no clients is passed over. Returns 0, or -ENOBUFS where it does not fit.
 */
static int note_unsupported(
    int sys_fd, const char *path, struct fdinfo_unsupported unsupported[static FDINFO_PROCESS_UNSUPPORTED])
{
    struct fdinfo_unsupported device;
    find_device(sys_fd, path, &device);
    const struct gpu_vendor *vendor = gpu_vendor_of_driver(device.driver);
    if (device.device[0] == '\0' || (vendor && !vendor->clients))
        return 0;
    for (size_t i = 0; i < FDINFO_PROCESS_UNSUPPORTED; i++) {
        if (unsupported[i].device[0] == '\0')
            unsupported[i] = device;
        if (strcmp(unsupported[i].device, device.device) == 0)
            return 0;
    }
    return -ENOBUFS;
}

static void add_one(struct fdinfo_unsupported_list *unsupported, const struct fdinfo_unsupported *device)
{
    for (size_t i = 0; i < unsupported->count; i++) {
        if (strcmp(unsupported->items[i].device, device->device) == 0)
            return;
    }
    unsupported->is_full = unsupported->count == FDINFO_UNSUPPORTED_MAX;
    if (!unsupported->is_full)
        unsupported->items[unsupported->count++] = *device;
}

static void add_unsupported(struct fdinfo_unsupported_list *unsupported,
    const struct fdinfo_unsupported found[static FDINFO_PROCESS_UNSUPPORTED])
{
    for (size_t i = 0; i < FDINFO_PROCESS_UNSUPPORTED; i++) {
        if (found[i].device[0])
            add_one(unsupported, &found[i]);
    }
}

static bool is_unsupported(const struct fdinfo_unsupported *held, struct fdinfo_device device)
{
    if (held->device[0] == '\0')
        return false;
    return device.pdev[0] ? strcmp(held->device, device.pdev) == 0 : strcmp(held->driver, device.driver) == 0;
}

/* What the scan of a process needs while the links go by. */
struct process_scan {
    struct fdinfo_table *table;
    int sys_fd;
    struct fdinfo_holder holder;
    struct opt_i64 since_ns;
    struct scan_found {
        uint8_t compute_devices;
        struct fdinfo_unsupported unsupported[FDINFO_PROCESS_UNSUPPORTED];
    } found;
    int failure;
};

_Static_assert(GPU_VENDORS_MAX <= 8, "a bit for each vendor");

/* The bit of the vendor whose compute_device it is; 0: it is none. */
static uint8_t find_compute_device(const char *path)
{
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        if (gpu_vendors[i]->compute_device && strcmp(path, gpu_vendors[i]->compute_device) == 0)
            return (uint8_t)(1U << i);
    }
    return 0;
}

static bool note_link(void *context, int fd, const char *target)
{
    struct process_scan *process = context;
    struct str path = str_of(target);
    if (!str_starts(path, STR("/dev/")))
        return true;
    process->found.compute_devices |= find_compute_device(target);
    if (!str_starts(path, STR("/dev/dri/")) && !str_starts(path, STR("/dev/accel/")))
        return true;
    int r = fdinfo_table_note(process->table, process->holder, fd, process->since_ns);
    if (r == -ENODATA)
        r = note_unsupported(process->sys_fd, target, process->found.unsupported);
    if (r < 0)
        process->failure = r;
    return true;
}

static bool is_whole_link(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_holder *holder = context;
    return !link->is_broken || !fdinfo_holder_is_same(link->holder, *holder);
}

/* Returns 0, or a negative errno: -ENOENT or -ESRCH where it has gone. No broken link of the holder is left behind. */
static int scan_process(
    struct fdinfo_scan *scan, struct fdinfo_holder holder, struct opt_i64 since_ns, struct scan_found *ret_found)
{
    struct process_scan process = {
        .table = scan->table, .sys_fd = scan->env->root->sys_fd, .holder = holder, .since_ns = since_ns};
    fdinfo_table_begin_scan(scan->table, holder);
    int r = pid_each_fd(scan->table->proc_fd, holder.pid, note_link, &process);
    if (r == 0 || r == -ENOENT || r == -ESRCH)
        fdinfo_table_end_scan(scan->table, holder);
    else
        fdinfo_table_keep_links(scan->table, is_whole_link, &holder);
    *ret_found = process.found;
    return r == 0 ? process.failure : r;
}

/* One that has ended but is still there belongs to root, so that others may not read it either. */
static bool has_ended(struct fdinfo_scan *scan, pid_t pid)
{
    char path[32];
    struct pid_stat stat;
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (file_read_at(scan->table->proc_fd, path, &scan->stat) == 0 && pid_stat_parse(buf_str(&scan->stat), &stat) == 0)
        return pid_stat_is_dead(&stat);
    (void)snprintf(path, sizeof(path), "%d", (int)pid);
    return faccessat(scan->table->proc_fd, path, F_OK, 0) < 0;
}

/* Half its age: what starts to use a device mostly does so early. cost_ns: the pause that its cost asks for. */
static int64_t pause_ns(int64_t age_ns, int64_t cost_ns)
{
    int64_t pause = age_ns / 2;
    if (pause < SOONEST_NS)
        pause = SOONEST_NS;
    if (pause > LATEST_NS)
        pause = LATEST_NS;
    if (cost_ns > LONGEST_NS)
        cost_ns = LONGEST_NS;
    return pause > cost_ns ? pause : cost_ns;
}

static void scan_member(struct fdinfo_scan *scan, struct fdinfo_process *process, int64_t now_ns)
{
    int64_t before_ns = read_cpu_ns(scan);
    struct scan_found found;
    int r = scan_process(scan, process->holder, process->scanned_ns, &found);
    process->compute_devices = found.compute_devices;
    memcpy(process->unsupported, found.unsupported, sizeof(process->unsupported));
    process->is_unseen = false;
    bool is_gone = r == -ENOENT || r == -ESRCH;
    process->is_hidden = r < 0 && !is_gone && !has_ended(scan, process->holder.pid);
    process->scanned_ns = process->is_hidden ? (struct opt_i64){0} : some_i64(now_ns);
    /* As if all members cost the same. */
    int64_t all_ns = (read_cpu_ns(scan) - before_ns) * (int64_t)scan->processes.count;
    process->next_ns = now_ns + pause_ns(now_ns - process->first_ns, all_ns * MEMBERS_SHARE);
}

static int compare_processes(const void *a, const void *b)
{
    pid_t x = ((const struct fdinfo_process *)a)->holder.pid, y = ((const struct fdinfo_process *)b)->holder.pid;
    return x < y ? -1 : x > y;
}

/* Among the first n, which are in order. */
static struct fdinfo_process *find_process(const struct fdinfo_scan *scan, size_t n, pid_t pid)
{
    struct fdinfo_process wanted = {.holder.pid = pid};
    if (n == 0)
        return NULL;
    return bsearch(&wanted, scan->processes.items, n, sizeof(wanted), compare_processes);
}

static int add_process(struct fdinfo_scan *scan, const struct fdinfo_process *process)
{
    int r = VEC_GROW(&scan->processes, scan->processes.count + 1, MEMBERS_MAX);
    if (r == 0)
        scan->processes.items[scan->processes.count++] = *process;
    return r;
}

/* Non-members stay; a member's links go with it, and so do those of a non-member that becomes one. */
static bool is_link_of_present(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_scan *scan = context;
    const struct fdinfo_process *process = find_process(scan, scan->processes.count, link->holder.pid);
    return link->holder.is_member ? process && fdinfo_holder_is_same(process->holder, link->holder) : !process;
}

static void drop_absent(struct fdinfo_scan *scan)
{
    size_t kept = 0;
    for (size_t i = 0; i < scan->processes.count; i++) {
        if (scan->processes.items[i].is_present)
            scan->processes.items[kept++] = scan->processes.items[i];
    }
    scan->processes.count = kept;
}

void fdinfo_scan_set_members(struct fdinfo_scan *scan, const struct job_member *members, size_t count,
    struct opt_i64 previous_ns, int64_t now_ns)
{
    size_t known = scan->processes.count;
    size_t present = 0;
    scan->is_cut = false;
    for (size_t i = 0; i < known; i++)
        scan->processes.items[i].is_present = false;
    for (size_t i = 0; i < count; i++) {
        struct fdinfo_process *process = find_process(scan, known, members[i].pid);
        if (process && process->holder.start_ticks == members[i].start_ticks) {
            present += !process->is_present;
            process->is_present = true;
            continue;
        }
        struct fdinfo_process fresh = {
            .holder = {.pid = members[i].pid, .is_member = true, .start_ticks = members[i].start_ticks},
            .is_present = true,
            .is_unseen = true,
            .first_ns = now_ns,
            .next_ns = now_ns,
            .scanned_ns = previous_ns,
        };
        if (add_process(scan, &fresh) < 0)
            scan->is_cut = true;
    }
    bool has_new = scan->processes.count > known;
    if (!has_new && present == known)
        return;
    drop_absent(scan);
    if (has_new)
        qsort(scan->processes.items, scan->processes.count, sizeof(*scan->processes.items), compare_processes);
    fdinfo_table_keep_links(scan->table, is_link_of_present, scan);
}

void fdinfo_scan_members(struct fdinfo_scan *scan, int64_t now_ns)
{
    for (size_t i = 0; i < scan->table->links.count; i++) {
        const struct fdinfo_link *link = &scan->table->links.items[i];
        struct fdinfo_process *process =
            link->is_broken ? find_process(scan, scan->processes.count, link->holder.pid) : NULL;
        if (process) {
            process->next_ns = now_ns;
            process->is_unseen = true;
        }
    }
    /* What is left over is still due, and comes first the next time. */
    int64_t begin_ns = read_cpu_ns(scan);
    size_t count = scan->processes.count;
    for (size_t i = 0; i < count && read_cpu_ns(scan) - begin_ns <= MEMBERS_TICK_NS; i++) {
        struct fdinfo_process *process = &scan->processes.items[scan->at++ % count];
        if (process->next_ns <= now_ns)
            scan_member(scan, process, now_ns);
    }
    scan->at = count > 0 ? scan->at % count : 0;
}

bool fdinfo_scan_is_tree_known(const struct fdinfo_scan *scan)
{
    for (size_t i = 0; i < scan->processes.count; i++) {
        if (scan->processes.items[i].is_hidden || scan->processes.items[i].is_unseen)
            return false;
    }
    return !scan->is_cut;
}

bool fdinfo_scan_is_unsupported_for_tree(const struct fdinfo_scan *scan, struct fdinfo_device device)
{
    for (size_t i = 0; i < scan->processes.count; i++) {
        for (size_t k = 0; k < FDINFO_PROCESS_UNSUPPORTED; k++) {
            if (is_unsupported(&scan->processes.items[i].unsupported[k], device))
                return true;
        }
    }
    return false;
}

bool fdinfo_scan_is_unsupported_for_host(const struct fdinfo_scan *scan, struct fdinfo_device device)
{
    for (size_t i = 0; i < scan->round.unsupported.count; i++) {
        if (is_unsupported(&scan->round.unsupported.items[i], device))
            return true;
    }
    return scan->round.unsupported.is_full || fdinfo_scan_is_unsupported_for_tree(scan, device);
}

bool fdinfo_scan_tree_holds(const struct fdinfo_scan *scan, const char *compute_device)
{
    uint8_t wanted = find_compute_device(compute_device);
    for (size_t i = 0; i < scan->processes.count; i++) {
        if (scan->processes.items[i].compute_devices & wanted)
            return true;
    }
    return false;
}

static void rescan_broken(struct fdinfo_scan *scan)
{
    struct fdinfo_table *table = scan->table;
    for (size_t i = 0; i < table->links.count;) {
        const struct fdinfo_link *link = &table->links.items[i];
        if (!link->is_broken || link->holder.is_member) {
            i++;
            continue;
        }
        struct scan_found found;
        (void)scan_process(scan, link->holder, scan->round.began_ns, &found);
        i = 0; /* the links have moved; none of this one is broken any more */
    }
}

static bool is_listed_or_member(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_scan *scan = context;
    return link->holder.is_member || pid_list_has(&scan->round.list, link->holder.pid);
}

/* False where /proc cannot be listed. */
static bool begin_round(struct fdinfo_scan *scan, int64_t now_ns)
{
    struct fdinfo_round *round = &scan->round;
    int64_t before_ns = read_cpu_ns(scan);
    round->at = 0;
    round->next_ns = now_ns + LATEST_NS;
    if (round->list_fd < 0)
        round->list_fd = file_open_at(scan->table->proc_fd, ".", O_RDONLY | O_DIRECTORY);
    if (round->list_fd < 0 || pid_list_read(round->list_fd, OTHERS_MAX, &round->list) < 0)
        return false;
    fdinfo_table_keep_links(scan->table, is_listed_or_member, scan);
    round->unsupported_so_far = (struct fdinfo_unsupported_list){0};
    round->previous_ns = round->began_ns;
    round->began_ns = some_i64(now_ns);
    round->cost_ns = read_cpu_ns(scan) - before_ns;
    return true;
}

static void go_on_with_round(struct fdinfo_scan *scan, int64_t now_ns)
{
    struct fdinfo_round *round = &scan->round;
    int64_t before_ns = read_cpu_ns(scan);
    int64_t spent_ns = 0;
    while (round->at < round->list.count && spent_ns < ROUND_TICK_NS) {
        struct fdinfo_holder holder = {.pid = round->list.items[round->at++]};
        struct scan_found found;
        if (!find_process(scan, scan->processes.count, holder.pid) &&
            scan_process(scan, holder, round->previous_ns, &found) == 0)
            add_unsupported(&round->unsupported_so_far, found.unsupported);
        spent_ns = read_cpu_ns(scan) - before_ns;
    }
    round->cost_ns += spent_ns;
    if (round->at < round->list.count)
        return;
    round->is_known = true;
    round->unsupported = round->unsupported_so_far;
    round->next_ns = round->began_ns.v + LATEST_NS;
    if (round->next_ns < now_ns + round->cost_ns * OTHERS_SHARE)
        round->next_ns = now_ns + round->cost_ns * OTHERS_SHARE;
}

void fdinfo_scan_others(struct fdinfo_scan *scan, int64_t now_ns)
{
    struct fdinfo_round *round = &scan->round;
    rescan_broken(scan);
    bool is_over = round->at == round->list.count;
    if (is_over && now_ns < round->next_ns)
        return;
    if (is_over && !begin_round(scan, now_ns)) {
        round->is_known = false;
        return;
    }
    go_on_with_round(scan, now_ns);
}

static bool is_of_member(const void *context, const struct fdinfo_link *link)
{
    (void)context;
    return link->holder.is_member;
}

void fdinfo_scan_drop_others(struct fdinfo_scan *scan)
{
    struct fdinfo_round *round = &scan->round;
    if (!round->began_ns.has)
        return;
    fdinfo_table_keep_links(scan->table, is_of_member, NULL);
    round->list.count = round->at = 0;
    round->began_ns = round->previous_ns = (struct opt_i64){0};
    round->next_ns = 0;
    round->is_known = false;
}
