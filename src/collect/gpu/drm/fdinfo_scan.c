/* SPDX-License-Identifier: Apache-2.0 */
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
#include "collect/gpu/fd_links.h"
#include "collect/gpu/gpu.h"
#include "kernel/pid.h"

enum { MEMBERS_MAX = 65536, STRANGERS_MAX = 1 << 20, STAT_BYTES_MAX = 4096 };

#define SOONEST_NS NS_PER_SEC
#define LATEST_NS (10 * NS_PER_SEC)
#define LONGEST_NS (60 * NS_PER_SEC) /* for a member, whatever a look has cost: one measurement may be far off */

/* The share of a core that looking may take: 1/200 for members, 1/1000 for everybody else. */
#define MEMBERS_SHARE 200
#define STRANGERS_SHARE 1000

/* CPU time of looking in one turn: a sample does not wait for a host or a tree of ten thousand processes. */
#define ROUND_TURN_NS (5 * NS_PER_MS)
#define MEMBERS_TURN_NS (5 * NS_PER_MS)

void fdinfo_find_init(struct fdinfo_find *find, const struct collect_env *env, struct fdinfo_table *table)
{
    *find = (struct fdinfo_find){.env = env, .table = table, .round.list_fd = -1};
    buf_init(&find->stat, STAT_BYTES_MAX);
}

void fdinfo_find_fini(struct fdinfo_find *find)
{
    fd_close(&find->round.list_fd);
    pid_list_fini(&find->round.list);
    free(find->processes.items);
    buf_fini(&find->stat);
}

static int64_t read_cpu_ns(const struct fdinfo_find *find)
{
    return clock_read(find->env->clock, CLOCK_KIND_OWN_CPU);
}

/* "/dev/dri/card1" is class/drm/card1 in sysfs; what is not there is no device. */
static void find_mute(int sys_fd, const char *target, struct fdinfo_mute *ret_mute)
{
    char path[128];
    const char *class = str_starts(str_of(target), STR("/dev/accel/")) ? "accel" : "drm";
    const char *name = strrchr(target, '/') + 1;
    (void)snprintf(path, sizeof(path), "class/%s/%s/device", class, name);
    drm_read_link_name(sys_fd, path, ret_mute->device, sizeof(ret_mute->device));
    (void)snprintf(path, sizeof(path), "class/%s/%s/device/driver", class, name);
    drm_read_link_name(sys_fd, path, ret_mute->driver, sizeof(ret_mute->driver));
}

/*
 * Notes the device behind a path such as /dev/dri/card1 as one that this process holds. What sysfs does not know is no
 * device, and that of a vendor that needs no clients is passed over. Returns 0, or -ENOBUFS where there is no room.
 */
static int note_mute(int sys_fd, const char *path, struct fdinfo_mute mutes[static FDINFO_PROCESS_MUTES])
{
    struct fdinfo_mute mute;
    find_mute(sys_fd, path, &mute);
    const struct gpu_vendor *vendor = gpu_vendor_of_driver(mute.driver);
    if (mute.device[0] == '\0' || (vendor && !vendor->clients))
        return 0;
    for (size_t i = 0; i < FDINFO_PROCESS_MUTES; i++) {
        if (mutes[i].device[0] == '\0')
            mutes[i] = mute;
        if (strcmp(mutes[i].device, mute.device) == 0)
            return 0;
    }
    return -ENOBUFS;
}

static void add_one(struct fdinfo_mutes *mutes, const struct fdinfo_mute *mute)
{
    for (size_t i = 0; i < mutes->count; i++) {
        if (strcmp(mutes->items[i].device, mute->device) == 0)
            return;
    }
    mutes->is_full = mutes->count == FDINFO_MUTES_MAX;
    if (!mutes->is_full)
        mutes->items[mutes->count++] = *mute;
}

static void add_mutes(struct fdinfo_mutes *mutes, const struct fdinfo_mute found[static FDINFO_PROCESS_MUTES])
{
    for (size_t i = 0; i < FDINFO_PROCESS_MUTES; i++) {
        if (found[i].device[0])
            add_one(mutes, &found[i]);
    }
}

static bool is_mute(const struct fdinfo_mute *mute, struct fdinfo_device device)
{
    if (mute->device[0] == '\0')
        return false;
    return device.pdev[0] ? strcmp(mute->device, device.pdev) == 0 : strcmp(mute->driver, device.driver) == 0;
}

/* What a look needs while the links go by. */
struct look {
    struct fdinfo_table *table;
    int sys_fd;
    struct fdinfo_holder holder;
    struct opt_i64 since_ns;
    struct look_found {
        bool has_kfd;
        struct fdinfo_mute mutes[FDINFO_PROCESS_MUTES];
    } found;
    int failure;
};

static bool note_link(void *context, int fd, const char *target)
{
    struct look *look = context;
    struct str path = str_of(target);
    look->found.has_kfd |= str_eq(path, STR("/dev/kfd"));
    if (!str_starts(path, STR("/dev/dri/")) && !str_starts(path, STR("/dev/accel/")))
        return true;
    int r = fdinfo_table_note(look->table, look->holder, fd, look->since_ns);
    if (r == -ENODATA)
        r = note_mute(look->sys_fd, target, look->found.mutes);
    if (r < 0)
        look->failure = r;
    return true;
}

static bool is_whole_link(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_holder *holder = context;
    return !link->is_broken || !fdinfo_holder_is_same(link->holder, *holder);
}

/* Returns 0, or a negative errno: -ENOENT or -ESRCH where it has gone. No broken link of the holder is left behind. */
static int look_at(
    struct fdinfo_find *find, struct fdinfo_holder holder, struct opt_i64 since_ns, struct look_found *ret_found)
{
    struct look look = {
        .table = find->table, .sys_fd = find->env->root->sys_fd, .holder = holder, .since_ns = since_ns};
    fdinfo_table_begin_look(find->table, holder);
    int r = fd_links_each(find->table->proc_fd, holder.pid, note_link, &look);
    if (r == 0 || r == -ENOENT || r == -ESRCH)
        fdinfo_table_end_look(find->table, holder);
    else
        fdinfo_table_keep_links(find->table, is_whole_link, &holder);
    *ret_found = look.found;
    return r == 0 ? look.failure : r;
}

/* One that has ended but is still there belongs to root, so that others may not look at it either. */
static bool has_ended(struct fdinfo_find *find, pid_t pid)
{
    char path[32];
    struct pid_stat stat;
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (file_read_at(find->table->proc_fd, path, &find->stat) == 0 &&
        pid_stat_parse((struct str){find->stat.data, find->stat.len}, &stat) == 0)
        return pid_stat_is_dead(&stat);
    (void)snprintf(path, sizeof(path), "%d", (int)pid);
    return faccessat(find->table->proc_fd, path, F_OK, 0) < 0;
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

static void look_at_member(struct fdinfo_find *find, struct fdinfo_process *process, int64_t now_ns)
{
    int64_t before_ns = read_cpu_ns(find);
    struct look_found found;
    int r = look_at(find, process->holder, process->looked_ns, &found);
    process->has_kfd = found.has_kfd;
    memcpy(process->mutes, found.mutes, sizeof(process->mutes));
    process->is_unseen = false;
    bool is_gone = r == -ENOENT || r == -ESRCH;
    process->is_hidden = r < 0 && !is_gone && !has_ended(find, process->holder.pid);
    process->looked_ns = process->is_hidden ? (struct opt_i64){0} : some_i64(now_ns);
    /* As if all members cost the same. */
    int64_t all_ns = (read_cpu_ns(find) - before_ns) * (int64_t)find->processes.count;
    process->next_ns = now_ns + pause_ns(now_ns - process->first_ns, all_ns * MEMBERS_SHARE);
}

static int compare_processes(const void *a, const void *b)
{
    pid_t x = ((const struct fdinfo_process *)a)->holder.pid, y = ((const struct fdinfo_process *)b)->holder.pid;
    return x < y ? -1 : x > y;
}

/* Among the first n, which are in order. */
static struct fdinfo_process *find_process(const struct fdinfo_find *find, size_t n, pid_t pid)
{
    struct fdinfo_process wanted = {.holder.pid = pid};
    if (n == 0)
        return NULL;
    return bsearch(&wanted, find->processes.items, n, sizeof(wanted), compare_processes);
}

static int add_process(struct fdinfo_find *find, const struct fdinfo_process *process)
{
    int r = VEC_GROW(&find->processes, find->processes.count + 1, MEMBERS_MAX);
    if (r == 0)
        find->processes.items[find->processes.count++] = *process;
    return r;
}

/* Strangers stay; a member's links go with it, and so do those of a stranger who turns out to be a member. */
static bool is_link_of_present(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_find *find = context;
    const struct fdinfo_process *process = find_process(find, find->processes.count, link->holder.pid);
    return link->holder.is_member ? process && fdinfo_holder_is_same(process->holder, link->holder) : !process;
}

static void forget_absent(struct fdinfo_find *find)
{
    size_t kept = 0;
    for (size_t i = 0; i < find->processes.count; i++) {
        if (find->processes.items[i].is_present)
            find->processes.items[kept++] = find->processes.items[i];
    }
    find->processes.count = kept;
}

void fdinfo_find_set_members(struct fdinfo_find *find, const struct job_member *members, size_t count,
    struct opt_i64 previous_ns, int64_t now_ns)
{
    size_t known = find->processes.count;
    size_t present = 0;
    find->is_cut = false;
    for (size_t i = 0; i < known; i++)
        find->processes.items[i].is_present = false;
    for (size_t i = 0; i < count; i++) {
        struct fdinfo_process *process = find_process(find, known, members[i].pid);
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
            .looked_ns = previous_ns,
        };
        if (add_process(find, &fresh) < 0)
            find->is_cut = true;
    }
    bool has_new = find->processes.count > known;
    if (!has_new && present == known)
        return;
    forget_absent(find);
    if (has_new)
        qsort(find->processes.items, find->processes.count, sizeof(*find->processes.items), compare_processes);
    fdinfo_table_keep_links(find->table, is_link_of_present, find);
}

void fdinfo_find_look_at_members(struct fdinfo_find *find, int64_t now_ns)
{
    for (size_t i = 0; i < find->table->links.count; i++) {
        const struct fdinfo_link *link = &find->table->links.items[i];
        struct fdinfo_process *process =
            link->is_broken ? find_process(find, find->processes.count, link->holder.pid) : NULL;
        if (process) {
            process->next_ns = now_ns;
            process->is_unseen = true;
        }
    }
    /* What is left over is still due, and comes first the next time. */
    int64_t begin_ns = read_cpu_ns(find);
    size_t count = find->processes.count;
    for (size_t i = 0; i < count && read_cpu_ns(find) - begin_ns <= MEMBERS_TURN_NS; i++) {
        struct fdinfo_process *process = &find->processes.items[find->at++ % count];
        if (process->next_ns <= now_ns)
            look_at_member(find, process, now_ns);
    }
    find->at = count > 0 ? find->at % count : 0;
}

bool fdinfo_find_is_tree_known(const struct fdinfo_find *find)
{
    for (size_t i = 0; i < find->processes.count; i++) {
        if (find->processes.items[i].is_hidden || find->processes.items[i].is_unseen)
            return false;
    }
    return !find->is_cut;
}

bool fdinfo_find_is_mute_for_tree(const struct fdinfo_find *find, struct fdinfo_device device)
{
    for (size_t i = 0; i < find->processes.count; i++) {
        for (size_t k = 0; k < FDINFO_PROCESS_MUTES; k++) {
            if (is_mute(&find->processes.items[i].mutes[k], device))
                return true;
        }
    }
    return false;
}

bool fdinfo_find_is_mute_for_host(const struct fdinfo_find *find, struct fdinfo_device device)
{
    for (size_t i = 0; i < find->round.mutes.count; i++) {
        if (is_mute(&find->round.mutes.items[i], device))
            return true;
    }
    return find->round.mutes.is_full || fdinfo_find_is_mute_for_tree(find, device);
}

bool fdinfo_find_has_kfd(const struct fdinfo_find *find)
{
    for (size_t i = 0; i < find->processes.count; i++) {
        if (find->processes.items[i].has_kfd)
            return true;
    }
    return false;
}

static bool is_broken_stranger(const struct fdinfo_link *link)
{
    return link->is_broken && !link->holder.is_member;
}

static void look_at_broken(struct fdinfo_find *find)
{
    struct fdinfo_table *table = find->table;
    for (size_t i = 0; i < table->links.count;) {
        if (!is_broken_stranger(&table->links.items[i])) {
            i++;
            continue;
        }
        struct look_found found;
        (void)look_at(find, table->links.items[i].holder, find->round.began_ns, &found);
        i = 0; /* the links have moved; none of this one is broken any more */
    }
}

static bool is_listed_or_member(const void *context, const struct fdinfo_link *link)
{
    const struct fdinfo_find *find = context;
    return link->holder.is_member || pid_list_has(&find->round.list, link->holder.pid);
}

/* False where /proc cannot be listed. */
static bool begin_round(struct fdinfo_find *find, int64_t now_ns)
{
    struct fdinfo_round *round = &find->round;
    int64_t before_ns = read_cpu_ns(find);
    round->at = 0;
    round->next_ns = now_ns + LATEST_NS;
    if (round->list_fd < 0)
        round->list_fd = file_open_at(find->table->proc_fd, ".", O_RDONLY | O_DIRECTORY);
    if (round->list_fd < 0 || pid_list_read(round->list_fd, STRANGERS_MAX, &round->list) < 0)
        return false;
    fdinfo_table_keep_links(find->table, is_listed_or_member, find);
    round->mutes_so_far = (struct fdinfo_mutes){0};
    round->previous_ns = round->began_ns;
    round->began_ns = some_i64(now_ns);
    round->cost_ns = read_cpu_ns(find) - before_ns;
    return true;
}

static void go_on_with_round(struct fdinfo_find *find, int64_t now_ns)
{
    struct fdinfo_round *round = &find->round;
    int64_t before_ns = read_cpu_ns(find);
    int64_t spent_ns = 0;
    while (round->at < round->list.count && spent_ns < ROUND_TURN_NS) {
        struct fdinfo_holder holder = {.pid = round->list.items[round->at++]};
        struct look_found found;
        if (!find_process(find, find->processes.count, holder.pid) &&
            look_at(find, holder, round->previous_ns, &found) == 0)
            add_mutes(&round->mutes_so_far, found.mutes);
        spent_ns = read_cpu_ns(find) - before_ns;
    }
    round->cost_ns += spent_ns;
    if (round->at < round->list.count)
        return;
    round->is_known = true;
    round->mutes = round->mutes_so_far;
    round->next_ns = round->began_ns.v + LATEST_NS;
    if (round->next_ns < now_ns + round->cost_ns * STRANGERS_SHARE)
        round->next_ns = now_ns + round->cost_ns * STRANGERS_SHARE;
}

void fdinfo_find_look_at_strangers(struct fdinfo_find *find, int64_t now_ns)
{
    struct fdinfo_round *round = &find->round;
    look_at_broken(find);
    bool is_over = round->at == round->list.count;
    if (is_over && now_ns < round->next_ns)
        return;
    if (is_over && !begin_round(find, now_ns)) {
        round->is_known = false;
        return;
    }
    go_on_with_round(find, now_ns);
}

static bool is_of_member(const void *context, const struct fdinfo_link *link)
{
    (void)context;
    return link->holder.is_member;
}

void fdinfo_find_forget_strangers(struct fdinfo_find *find)
{
    struct fdinfo_round *round = &find->round;
    if (!round->began_ns.has)
        return;
    fdinfo_table_keep_links(find->table, is_of_member, NULL);
    round->list.count = round->at = 0;
    round->began_ns = round->previous_ns = (struct opt_i64){0};
    round->next_ns = 0;
    round->is_known = false;
}
