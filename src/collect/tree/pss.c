/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pss.h. CPU time is earned with the time that passes and spent on reads of /proc/PID/smaps_rollup
 * (Documentation/filesystems/proc.rst), the most rewarding process first. Where that one is too dear for now the others
 * wait with it: many cheap reads would otherwise keep the largest process from ever being read.
 */
#include "collect/tree/pss.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "kernel/pid.h"

enum {
    PATH_BYTES = 48,
    READS_MAX = 64, /* in one tick */
    SLACK_PAGES = 256, /* with 2 % the change of RSS that does not matter */
    COST_PAGES_MIN = 1024, /* below this the mappings cost more than the pages */
    MEAN_READS_MAX = 1000, /* the mean over all follows the last so many reads */
    BYTES_PER_KIB = 1024,
    MISSING_SHARE = 32, /* less of the memory than this part of it, and a little, may be missing */
    MISSING_KIB_MIN = 512,
    UNKNOWN_SHARE = 8, /* of the memory may be shared or not */
};

#define FIXED_NS 20000.0 /* open, close and what else does not depend on the pages */
#define AVERAGE_WEIGHT 0.3 /* of the newest cost of a process */
#define NS_PER_PAGE_MIN 0.01 /* still measured: 0 is not */
#define MEAN_SAMPLE_MAX 100.0 /* ns per page: one odd read must not forbid all processes that are still unknown */

_Static_assert((int)PSS_TEXT_BYTES <= (int)BLOCKING_TEXT_BYTES, "a text fits where a bracket reads it");

/* "proc/123/smaps_rollup" for messages; the part behind "proc/" is relative to the proc descriptor. */
struct pid_path {
    char text[PATH_BYTES];
};

static struct pid_path pid_path(pid_t pid, const char *file)
{
    struct pid_path path;
    (void)snprintf(path.text, sizeof(path.text), "proc/%d/%s", (int)pid, file);
    return path;
}

static const char *in_proc(const struct pid_path *path)
{
    return path->text + sizeof("proc/") - 1;
}

void pss_open(struct pss *pss, const struct collect_env *env, enum tracked_pss mode)
{
    *pss = (struct pss){.env = env, .mode = mode};
}

/* Opened each time: a kept descriptor would die at exec. Opening and reading may both block. */
static int read_rollup(struct pss *pss, pid_t pid, struct smaps_rollup *ret_rollup)
{
    struct blocking *blocking = pss->env->blocking;
    struct pid_path path = pid_path(pid, "smaps_rollup");
    /* A process whose stat or command line does not answer holds the lock of this one, too. */
    if (blocking_is_stuck(blocking, pid, "smaps_rollup") || blocking_is_stuck(blocking, pid, "stat") ||
        blocking_is_stuck(blocking, pid, "cmdline"))
        return -ETIMEDOUT;
    struct blocking_thread *bracket = blocking_enter(blocking, pid, "smaps_rollup");
    char *text = bracket ? bracket->text : pss->text;
    ssize_t n = -1;
    int fd = file_open_at(pss->env->root->proc_fd, in_proc(&path), O_RDONLY);
    if (fd >= 0) {
        do {
            n = pread(fd, text, PSS_TEXT_BYTES, 0);
        } while (n < 0 && errno == EINTR);
    }
    int r = fd < 0 ? fd : n < 0 ? err_last() : 0;
    bool is_ours = blocking_leave(bracket);
    fd_close(&fd);
    if (!is_ours)
        blocking_return(bracket);
    if (r < 0)
        return r;
    return n == 0 ? -ESRCH : smaps_rollup_parse((struct str){text, (size_t)n}, ret_rollup);
}

static void note_refused(const struct pss *pss, const struct pss_process *process, int r, struct err *err)
{
    struct pss_memory *memory = process->memory;
    if (memory->is_refused)
        return;
    memory->is_refused = true;
    memory->is_known = false;
    if (!err || err->code < 0)
        return;
    struct pid_path path = pid_path(process->pid, "smaps_rollup");
    (void)err_set(err, r, "tree: cannot read %s/%s: %s; its resident memory is counted instead", pss->env->root->path,
        path.text, strerror(-r));
}

static void note_failed(struct pss *pss, const struct pss_process *process, int r, struct err *err)
{
    struct pid_path path = pid_path(process->pid, "smaps_rollup");
    struct pid_path stat = pid_path(process->pid, "stat");
    if (r == -EACCES || r == -EPERM) {
        note_refused(pss, process, r, err);
        return;
    }
    process->memory->has_failed = true;
    if (r == -ESRCH || r == -ETIMEDOUT)
        return;
    if (r == -ENOENT) {
        int proc_fd = pss->env->root->proc_fd;
        /* A kernel that had the file once has it: then the process number was reused between the two. */
        pss->is_absent = !pss->has_read && proc_fd >= 0 && faccessat(proc_fd, in_proc(&stat), F_OK, 0) == 0;
        return;
    }
    if (err && err->code == 0)
        (void)collect_fail(err, r, "tree", pss->env->root, path.text);
}

/*
 * Memory without a file is shared with relatives only. What of it is not in the reading belongs to the other members of
 * the family, or to a child that lived for the moment of the reading: fork keeps the reader waiting, and lets it in
 * when every page has just become shared.
 */
static uint64_t missing_kib(const struct smaps_rollup *rollup, bool is_alone)
{
    /* Shared memory is inherited too. How much of it a process has is not there, but little else is where it matters.
     */
    if (!is_alone && rollup->pss_shmem_kib.v > rollup->rss_kib / MISSING_SHARE + MISSING_KIB_MIN)
        return rollup->rss_kib > rollup->pss_kib ? rollup->rss_kib - rollup->pss_kib : 0;
    uint64_t anonymous = rollup->anonymous_kib.v;
    uint64_t counted = (rollup->pss_anon_kib.has ? rollup->pss_anon_kib.v : rollup->pss_kib) + rollup->ksm_kib.v;
    uint64_t missing = counted < anonymous ? anonymous - counted : 0;
    return missing > anonymous / MISSING_SHARE + MISSING_KIB_MIN ? missing : 0;
}

/*
 * Is the reading to be believed? What the family shares is made whole, so that it counts once. Of a command all
 * relatives are in the tree. Where we have attached, the root may share with its parent for good: there it is read
 * again, and believed if that does not help. So it is of one whose parent is gone: each of its siblings has a part.
 */
static bool settle_reading(const struct pss *pss, const struct pss_process *process, struct smaps_rollup *rollup)
{
    const struct tracked *tracked = pss->env->tracked;
    struct pss_memory *memory = process->memory;
    bool is_alone = process->head->family.members < 2, is_attached = tracked && tracked->attached && is_alone;
    uint64_t missing = missing_kib(rollup, is_alone);
    if (missing > 0 && is_attached && memory->doubts < PSS_DOUBTS_MAX) {
        memory->doubts++;
        return false;
    }
    if (!is_attached && !(process->is_adopted && is_alone))
        rollup->pss_kib += missing;
    memory->doubts = missing > 0 ? memory->doubts : 0;
    return true;
}

static uint64_t counted_pages(const struct pss_process *process)
{
    return process->is_copy ? process->own_pages : process->rss_pages;
}

static int read_process(struct pss *pss, const struct pss_process *process, int64_t now_ns, struct err *err)
{
    struct pss_memory *memory = process->memory;
    struct smaps_rollup rollup;
    int r = read_rollup(pss, process->pid, &rollup);
    memory->read_ns = now_ns;
    if (r < 0) {
        note_failed(pss, process, r, err);
        return r;
    }
    pss->has_read = true;
    memory->is_refused = false;
    memory->has_failed = false;
    if (!settle_reading(pss, process, &rollup))
        return 0;
    memory->is_known = true;
    memory->pss_kib = rollup.pss_kib;
    memory->private_kib = rollup.private_clean_kib;
    memory->private_kib.v += rollup.private_dirty_kib.v;
    memory->at_rss_pages = process->rss_pages;
    memory->others_pages = pss->tree_pages - (process->is_copy ? 0 : process->rss_pages);
    memory->file_kib = rollup.anonymous_kib.v < rollup.rss_kib ? rollup.rss_kib - rollup.anonymous_kib.v : 0;
    memory->at_faults = pss->faults;
    memory->at_counted_pages = counted_pages(process);
    /* What one that was copied itself has written is shared again. */
    if (process->is_copy && memory->private_kib.has && memory->forked_ns == 0) {
        pss->copies_read_bytes += num_to_f64(memory->private_kib.v) * BYTES_PER_KIB;
        pss->copies_own_bytes += num_to_f64(process->own_pages) * (double)pss->env->page_bytes;
    }
    return 0;
}

static double cost_pages(const struct pss_process *process)
{
    return num_to_f64(process->rss_pages > COST_PAGES_MIN ? process->rss_pages : COST_PAGES_MIN);
}

static double predict_ns(const struct pss *pss, const struct pss_process *process)
{
    double ns_per_page = PSS_FIRST_NS_PER_PAGE;
    if (process->memory->ns_per_page > 0)
        ns_per_page = process->memory->ns_per_page;
    else if (pss->measured > 0)
        ns_per_page = pss->ns_per_page;
    return FIXED_NS + ns_per_page * cost_pages(process);
}

static void learn_cost(struct pss *pss, const struct pss_process *process, int64_t cost_ns)
{
    double ns_per_page = ((double)cost_ns - FIXED_NS) / cost_pages(process);
    if (ns_per_page < NS_PER_PAGE_MIN)
        ns_per_page = NS_PER_PAGE_MIN;
    struct pss_memory *memory = process->memory;
    double weight = memory->ns_per_page > 0 ? AVERAGE_WEIGHT : 1;
    memory->ns_per_page += weight * (ns_per_page - memory->ns_per_page);
    if (pss->measured < MEAN_READS_MAX)
        pss->measured++;
    double sample = ns_per_page < MEAN_SAMPLE_MAX ? ns_per_page : MEAN_SAMPLE_MAX;
    pss->ns_per_page += (sample - pss->ns_per_page) / pss->measured;
}

/* May this process be read at all, were there budget enough? */
static bool is_short_read(const struct pss *pss, const struct pss_process *process, int64_t now_ns)
{
    struct pss_memory *memory = process->memory;
    if (predict_ns(pss, process) <= (double)PSS_READ_NS)
        return true;
    if (memory->ns_per_page <= PSS_FIRST_NS_PER_PAGE || now_ns - memory->read_ns < PSS_RESET_NS)
        return false;
    memory->ns_per_page = PSS_FIRST_NS_PER_PAGE;
    return predict_ns(pss, process) <= (double)PSS_READ_NS;
}

static uint64_t changed_pages(const struct pss_process *process)
{
    uint64_t at = process->memory->at_rss_pages;
    return process->rss_pages > at ? process->rss_pages - at : at - process->rss_pages;
}

static uint64_t slack_pages(const struct pss_process *process)
{
    return process->memory->at_rss_pages / 50 + SLACK_PAGES;
}

/* What it shared with others when it was read, or forked after that. */
static uint64_t shared_pages(const struct pss *pss, const struct pss_memory *memory)
{
    uint64_t own =
        (memory->private_kib.has ? memory->private_kib.v : 0) * BYTES_PER_KIB / (uint64_t)pss->env->page_bytes;
    return memory->at_rss_pages > own ? memory->at_rss_pages - own : 0;
}

/* Shared memory that is written to becomes the writer's own, and the others': RSS does not show that, faults do. */
static void count_faults(struct pss *pss, const struct pss_process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pss_memory *memory = processes[i].memory;
        uint64_t growth =
            memory->minor_faults.has ? counter_delta(memory->minor_faults.v, processes[i].minor_faults) : 0;
        uint64_t most = memory->is_known ? shared_pages(pss, memory) : processes[i].rss_pages;
        memory->minor_faults = some_u64(processes[i].minor_faults);
        pss->faults += growth < most ? growth : most;
    }
}

static bool is_due(const struct pss *pss, const struct pss_process *process, int64_t now_ns)
{
    const struct pss_memory *memory = process->memory;
    int64_t since_ns = now_ns - memory->read_ns;
    /* A copy that writes makes memory that nothing else has: it is not left alone until it is older. */
    bool is_young = process->is_copy
                        ? process->age_ns < PSS_COPY_NS && process->own_pages < process->rss_pages / PSS_WRITING_SHARE
                        : process->age_ns < PSS_MIN_AGE_NS;
    uint64_t least = process->is_copy ? PSS_COPY_PAGES : 1;
    if (memory->is_refused || counted_pages(process) < least || is_young)
        return false;
    if (memory->has_failed)
        return since_ns >= PSS_RETRY_NS;
    if (!memory->is_known || (memory->doubts > 0 && memory->doubts < PSS_DOUBTS_MAX) || since_ns >= PSS_STALE_NS ||
        changed_pages(process) > slack_pages(process))
        return true;
    bool is_rewritten = since_ns >= PSS_REWRITTEN_NS && pss->faults - memory->at_faults > slack_pages(process) &&
                        shared_pages(pss, memory) > slack_pages(process);
    return is_rewritten || (since_ns >= PSS_SHARED_NS && memory->read_ns < pss->count_changed_ns);
}

/* What a reading is worth: of the unknown by size, of the known by staleness and change. */
static double worth(const struct pss_process *process, int64_t now_ns)
{
    const struct pss_memory *memory = process->memory;
    if (!memory->is_known)
        return num_to_f64(process->rss_pages);
    return (double)(now_ns - memory->read_ns) * num_to_f64(changed_pages(process) + slack_pages(process));
}

static size_t pick(const struct pss_process *due, size_t count, int64_t now_ns)
{
    size_t best = 0;
    double best_worth = worth(&due[0], now_ns);
    for (size_t i = 1; i < count; i++) {
        bool is_known = due[i].memory->is_known;
        bool best_is_known = due[best].memory->is_known;
        if (is_known && !best_is_known)
            continue;
        double its_worth = worth(&due[i], now_ns);
        if (is_known == best_is_known && its_worth <= best_worth)
            continue;
        best = i;
        best_worth = its_worth;
    }
    return best;
}

static void swap(struct pss_process *a, struct pss_process *b)
{
    struct pss_process old = *a;
    *a = *b;
    *b = old;
}

/* Of a process that was read, with its RSS of now. */
static double known_bytes(const struct pss_process *process, double page_bytes)
{
    const struct pss_memory *memory = process->memory;
    double pages = num_to_f64(process->rss_pages), read_bytes = num_to_f64(memory->pss_kib) * BYTES_PER_KIB;
    double bytes = memory->at_rss_pages > 0 ? read_bytes * (pages / num_to_f64(memory->at_rss_pages)) : read_bytes;
    /* A process that grew between the readings of its RSS and its PSS seems to have more of the latter. */
    double most = read_bytes > pages * page_bytes ? read_bytes : pages * page_bytes;
    return bytes < most ? bytes : most;
}

/* What copies seem to have written may be memory that they had for a moment only: those that were read show how much.
 */
static double copies_ratio(const struct pss *pss)
{
    return pss->copies_read_bytes < pss->copies_own_bytes ? pss->copies_read_bytes / pss->copies_own_bytes : 1;
}

/* What of a process no other member of its family has. Of one that was copied itself, what it had then is shared now.
 */
static double own_bytes(const struct pss *pss, const struct pss_process *process)
{
    const struct pss_memory *memory = process->memory;
    double page_bytes = (double)pss->env->page_bytes;
    double written = process->is_copy ? num_to_f64(process->own_pages) * page_bytes * copies_ratio(pss) : 0;
    if (!memory->is_known || !memory->private_kib.has)
        return written;
    /* It may have been read while it wrote. */
    uint64_t pages = counted_pages(process);
    double more = pages > memory->at_counted_pages ? num_to_f64(pages - memory->at_counted_pages) : 0;
    more *= process->is_copy ? copies_ratio(pss) : 1;
    double own = num_to_f64(memory->private_kib.v) * BYTES_PER_KIB + more * page_bytes;
    return memory->forked_ns != 0 && written > own ? written : own;
}

/* What those that were read share with others, by which those that were not are counted. */
struct sharing {
    double ratio; /* their part of RSS; 0: none was read */
    double bytes; /* what is not, of one of them; the larger count more */
};

static struct sharing known_sharing(const struct pss_process *processes, size_t count, double page_bytes)
{
    double sum = 0, all = 0, weighted = 0;
    for (size_t i = 0; i < count; i++) {
        if (!processes[i].memory->is_known || processes[i].memory->is_refused)
            continue;
        double rss = num_to_f64(processes[i].rss_pages) * page_bytes, bytes = known_bytes(&processes[i], page_bytes);
        sum += bytes;
        all += rss;
        weighted += bytes < rss ? rss * (rss - bytes) : 0;
    }
    return all > 0 ? (struct sharing){.ratio = sum / all, .bytes = weighted / all} : (struct sharing){0};
}

/* All that a process has, what it shares with its family included. */
static double all_bytes(const struct pss_process *process, const struct sharing *sharing, double page_bytes)
{
    const struct pss_memory *memory = process->memory;
    double all = num_to_f64(process->rss_pages) * page_bytes;
    if (memory->is_refused)
        return all;
    if (memory->is_known)
        return known_bytes(process, page_bytes);
    /* Libraries are shared, and of a large process they are a small part. */
    double shared = sharing->ratio < 1 ? all * (1 - sharing->ratio) : 0, most = sharing->bytes;
    if (process->file_pages.has && num_to_f64(process->file_pages.v) * page_bytes < most)
        most = num_to_f64(process->file_pages.v) * page_bytes;
    return all - (shared < most ? shared : most);
}

/* What copies of the first process of a family share with it counts once; so does what their copies share with them. */
static void add_to_family(const struct pss *pss, const struct pss_process *process)
{
    const struct pss_memory *memory = process->memory;
    struct pss_family *family = &process->head->family;
    double all = memory->all_bytes, own = own_bytes(pss, process);
    own = own < all ? own : all;
    double shared = all - own;
    if (process->parent) {
        /* Its parent may have released what both had. */
        own += shared > process->parent->all_bytes ? shared - process->parent->all_bytes : 0;
        shared = 0;
    }
    /* One that is new may have executed a program by now, and then its parent was read as one that shares nothing. */
    if (process->is_copy && process->age_ns < PSS_MIN_AGE_NS && family->has_head)
        shared = 0;
    family->own += own;
    family->shared = shared > family->shared ? shared : family->shared;
    family->is_read |= memory->is_refused || memory->is_known;
}

static struct opt_f64 sum_families(const struct pss *pss, const struct pss_process *processes, size_t count)
{
    double page_bytes = (double)pss->env->page_bytes, sum = 0, pages = 0, unread = 0, unknown = 0;
    struct sharing sharing = known_sharing(processes, count, page_bytes);
    for (size_t i = 0; i < count; i++)
        processes[i].memory->all_bytes = all_bytes(&processes[i], &sharing, page_bytes);
    for (size_t i = 0; i < count; i++)
        add_to_family(pss, &processes[i]);
    for (size_t i = 0; i < count; i++) {
        struct pss_family *family = &processes[i].head->family;
        double counted = num_to_f64(counted_pages(&processes[i])) * (processes[i].is_copy ? copies_ratio(pss) : 1);
        pages += counted;
        bool is_bounded = processes[i].file_pages.has && processes[i].file_pages.v < processes[i].rss_pages;
        unread += family->is_read || processes[i].is_copy ? 0 : counted;
        unknown += family->is_read || processes[i].is_copy ? 0
                   : is_bounded                            ? num_to_f64(processes[i].file_pages.v)
                                                           : counted;
        sum += family->shared + family->own;
        family->shared = family->own = 0;
    }
    if (pages > 0 && (sharing.ratio <= 0 || (unread > pages / 2 && unknown > pages / UNKNOWN_SHARE)))
        return (struct opt_f64){0};
    return some_f64(sum);
}

/* The first tick gets what the tree would have earned since its oldest process was first seen. */
static void earn(struct pss *pss, const struct pss_process *processes, size_t count, int64_t now_ns)
{
    int64_t elapsed_ns = 0;
    if (pss->banked_ns != 0) {
        elapsed_ns = now_ns - pss->banked_ns;
    } else {
        for (size_t i = 0; i < count; i++)
            elapsed_ns = processes[i].age_ns > elapsed_ns ? processes[i].age_ns : elapsed_ns;
    }
    pss->banked_ns = now_ns;
    if (elapsed_ns > 0)
        pss->bank_ns += (int64_t)(PSS_SHARE * (double)elapsed_ns);
    if (pss->bank_ns > PSS_BANK_NS)
        pss->bank_ns = PSS_BANK_NS;
}

static void count_pages(struct pss *pss, const struct pss_process *processes, size_t count)
{
    pss->tree_pages = 0;
    for (size_t i = 0; i < count; i++) {
        pss->tree_pages += processes[i].is_copy ? 0 : processes[i].rss_pages;
        processes[i].head->family = (struct pss_family){0};
    }
    for (size_t i = 0; i < count; i++) {
        processes[i].head->family.members++;
        processes[i].head->family.has_head |= processes[i].head == processes[i].memory;
    }
}

/*
 * Where so much memory came or went elsewhere in the tree, what was shared then says nothing of what is shared now. Of
 * memory without a file the family knows that.
 */
static void reset_outdated(const struct pss *pss, const struct pss_process *process)
{
    struct pss_memory *memory = process->memory;
    uint64_t others = pss->tree_pages - (process->is_copy ? 0 : process->rss_pages), then = memory->others_pages;
    uint64_t change = others > then ? others - then : then - others;
    uint64_t scale = then > process->rss_pages ? then : process->rss_pages;
    uint64_t file_pages = memory->file_kib * BYTES_PER_KIB / (uint64_t)pss->env->page_bytes;
    if (change > scale / 4 + SLACK_PAGES && file_pages > memory->at_rss_pages / 4)
        memory->is_known = false;
}

/* Moves those that are due to the front and returns how many they are. */
static size_t gather_due(struct pss *pss, struct pss_process *processes, size_t count, int64_t now_ns)
{
    size_t due = 0;
    for (size_t i = 0; i < count; i++) {
        reset_outdated(pss, &processes[i]);
        if (is_due(pss, &processes[i], now_ns) && is_short_read(pss, &processes[i], now_ns))
            swap(&processes[i], &processes[due++]);
    }
    return due;
}

static void read_on_budget(struct pss *pss, const struct pss_process *process, int64_t now_ns, struct err *err)
{
    int64_t before_ns = clock_read(pss->env->clock, CLOCK_KIND_OWN_CPU);
    int r = read_process(pss, process, now_ns, err);
    int64_t cost_ns = clock_read(pss->env->clock, CLOCK_KIND_OWN_CPU) - before_ns;
    pss->bank_ns -= cost_ns;
    if (r == 0)
        learn_cost(pss, process, cost_ns);
}

/* Reads the best of those due while the budget lasts. */
static void spend(struct pss *pss, struct pss_process *due, size_t count, int64_t now_ns, struct err *err)
{
    bool has_read = false;
    int64_t first_ns = pss->bank_ns;
    for (int reads = 0; reads < READS_MAX && count > 0 && !pss->is_absent; reads++) {
        size_t best = pick(due, count, now_ns);
        double cost_ns = predict_ns(pss, &due[best]);
        if (cost_ns > (double)pss->bank_ns)
            break;
        /* One long read must be, many short ones can wait for the next tick: samples are not to come late. */
        if (has_read && (double)(first_ns - pss->bank_ns) + cost_ns > (double)PSS_TICK_NS)
            break;
        read_on_budget(pss, &due[best], now_ns, err);
        has_read = true;
        swap(&due[best], &due[--count]);
    }
}

struct opt_f64 pss_tick(struct pss *pss, struct pss_process *processes, size_t count, int64_t now_ns, struct err *err)
{
    if (pss->mode == TRACKED_PSS_NEVER || pss->is_absent)
        return (struct opt_f64){0};
    count_pages(pss, processes, count);
    if (pss->mode == TRACKED_PSS_ALWAYS) {
        for (size_t i = 0; i < count && !pss->is_absent; i++)
            (void)read_process(pss, &processes[i], now_ns, err);
    } else {
        if (count != pss->count)
            pss->count_changed_ns = now_ns;
        pss->count = count;
        earn(pss, processes, count, now_ns);
        count_faults(pss, processes, count);
        spend(pss, processes, gather_due(pss, processes, count, now_ns), now_ns, err);
    }
    if (pss->is_absent)
        return (struct opt_f64){0};
    return sum_families(pss, processes, count);
}
