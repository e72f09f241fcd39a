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
};

#define FIXED_NS 20000.0 /* open, close and what else does not depend on the pages */
#define AVERAGE_WEIGHT 0.3 /* of the newest cost of a process */
#define NS_PER_PAGE_MIN 0.01 /* still measured: 0 is not */
#define MEAN_SAMPLE_MAX 100.0 /* ns per page: one odd read must not forbid all processes that are still unknown */

/* Sums over the tree, in pages but for known_bytes. */
struct tally {
    double known_bytes, known, refused, copies, unknown;
};

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
    int r = fd < 0 ? fd : n < 0 ? -errno : 0;
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
 * Memory without a file is shared with relatives only. What of it the reading lacks although the other processes of the
 * tree cannot have it (a page that two have counts half in each) belongs to a child that lived for the moment of the
 * reading: fork keeps the reader waiting, and lets it in when every page has just become shared.
 */
static uint64_t missing_kib(const struct pss *pss, const struct pss_process *process, const struct smaps_rollup *rollup)
{
    if (!rollup->anonymous_kib.has)
        return 0;
    uint64_t anonymous = rollup->anonymous_kib.v;
    uint64_t counted = rollup->pss_anon_kib.has ? rollup->pss_anon_kib.v : rollup->pss_kib;
    /* What copies share with their parent counts there as long as they are not read. */
    uint64_t other_pages = (process->is_copy ? pss->resident_pages : pss->tree_pages) - process->rss_pages;
    uint64_t others = other_pages * ((uint64_t)pss->env->page_bytes / BYTES_PER_KIB);
    uint64_t explained = others / 2 + (rollup->ksm_kib.has ? rollup->ksm_kib.v : 0);
    uint64_t missing = counted + explained < anonymous ? anonymous - counted - explained : 0;
    return missing > anonymous / MISSING_SHARE + MISSING_KIB_MIN ? missing : 0;
}

/*
 * Is the reading to be believed? Of a command all relatives are in the tree, so what is missing is added. Where we have
 * attached, the root may share with its parent for good: there it is read again, and believed if that does not help.
 */
static bool settle_reading(const struct pss *pss, const struct pss_process *process, struct smaps_rollup *rollup)
{
    const struct tracked *tracked = pss->env->tracked;
    struct pss_memory *memory = process->memory;
    uint64_t missing = missing_kib(pss, process, rollup);
    if (missing > 0 && tracked && tracked->attached && memory->doubts < PSS_DOUBTS_MAX) {
        memory->doubts++;
        return false;
    }
    if (!tracked || !tracked->attached)
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
    memory->at_rss_pages = process->rss_pages;
    memory->others_pages = pss->tree_pages - counted_pages(process);
    memory->at_faults = pss->faults;
    if (process->is_copy) {
        pss->copies_read_bytes += (double)rollup.pss_kib * BYTES_PER_KIB;
        pss->copies_own_bytes += (double)process->own_pages * (double)pss->env->page_bytes;
    }
    return 0;
}

static double cost_pages(const struct pss_process *process)
{
    return (double)(process->rss_pages > COST_PAGES_MIN ? process->rss_pages : COST_PAGES_MIN);
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

/* What it shared with others when it was read. */
static uint64_t shared_pages(const struct pss *pss, const struct pss_memory *memory)
{
    uint64_t own = memory->pss_kib * BYTES_PER_KIB / (uint64_t)pss->env->page_bytes;
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
    bool is_young = process->is_copy ? process->own_pages < process->rss_pages / PSS_WRITING_SHARE
                                     : process->age_ns < PSS_MIN_AGE_NS;
    if (memory->is_refused || counted_pages(process) == 0 || is_young)
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
        return (double)process->rss_pages;
    return (double)(now_ns - memory->read_ns) * (double)(changed_pages(process) + slack_pages(process));
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

static void tally_add(struct tally *tally, const struct pss_process *process, int64_t page_bytes)
{
    const struct pss_memory *memory = process->memory;
    double pages = (double)process->rss_pages;
    if (memory->is_refused) {
        tally->refused += pages;
        return;
    }
    if (!memory->is_known) {
        *(process->is_copy ? &tally->copies : &tally->unknown) += (double)counted_pages(process);
        return;
    }
    double read_bytes = (double)memory->pss_kib * BYTES_PER_KIB;
    double rss_bytes = pages * (double)page_bytes;
    double bytes = memory->at_rss_pages > 0 ? read_bytes * (pages / (double)memory->at_rss_pages) : read_bytes;
    /* A process that grew between the readings of its RSS and its PSS seems to have more of the latter. */
    double most = read_bytes > rss_bytes ? read_bytes : rss_bytes;
    tally->known_bytes += bytes < most ? bytes : most;
    tally->known += pages;
}

static struct tally tally_all(const struct pss_process *processes, size_t count, int64_t page_bytes)
{
    struct tally tally = {0};
    for (size_t i = 0; i < count; i++)
        tally_add(&tally, &processes[i], page_bytes);
    return tally;
}

/* What copies seem to have written may be memory that they had for a moment only: those that were read show how much.
 */
static double copies_ratio(const struct pss *pss)
{
    return pss->copies_read_bytes < pss->copies_own_bytes ? pss->copies_read_bytes / pss->copies_own_bytes : 1;
}

static struct opt_f64 tally_sum(const struct pss *pss, const struct tally *tally)
{
    double page_bytes = (double)pss->env->page_bytes, copies = tally->copies * copies_ratio(pss);
    double all = tally->known + tally->refused + copies + tally->unknown;
    if (all <= 0)
        return some_f64(tally->known_bytes);
    if (tally->known <= 0 || tally->known + tally->refused + copies < all / 2)
        return (struct opt_f64){0};
    double ratio = tally->known_bytes / (tally->known * page_bytes);
    double others = tally->refused + copies + tally->unknown * (ratio < 1 ? ratio : 1);
    return some_f64(tally->known_bytes + others * page_bytes);
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
    pss->tree_pages = pss->resident_pages = 0;
    for (size_t i = 0; i < count; i++) {
        pss->tree_pages += counted_pages(&processes[i]);
        pss->resident_pages += processes[i].rss_pages;
    }
}

/* Where so much memory came or went elsewhere in the tree, what was shared then says nothing of what is shared now. */
static void reset_outdated(const struct pss *pss, const struct pss_process *process)
{
    struct pss_memory *memory = process->memory;
    uint64_t others = pss->tree_pages - counted_pages(process), then = memory->others_pages;
    uint64_t change = others > then ? others - then : then - others;
    uint64_t scale = then > process->rss_pages ? then : process->rss_pages;
    if (change > scale / 4 + SLACK_PAGES)
        memory->is_known = false;
}

/* Moves those that are due to the front and returns how many they are. */
static size_t gather_due(
    struct pss *pss, struct pss_process *processes, size_t count, int64_t now_ns, struct tally *ret_tally)
{
    size_t due = 0;
    *ret_tally = (struct tally){0};
    for (size_t i = 0; i < count; i++) {
        reset_outdated(pss, &processes[i]);
        tally_add(ret_tally, &processes[i], pss->env->page_bytes);
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

/* Reads the best of those due while the budget lasts; returns whether anything was read. */
static bool spend(struct pss *pss, struct pss_process *due, size_t count, int64_t now_ns, struct err *err)
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
    return has_read;
}

/* A copy that was read counts in whole from the next tick on: that is no change of what the others share. */
static void settle_copies(struct pss *pss, const struct pss_process *processes, size_t count, int64_t now_ns)
{
    uint64_t total = pss->tree_pages;
    for (size_t i = 0; i < count; i++) {
        if (processes[i].is_copy && processes[i].memory->read_ns == now_ns)
            total += processes[i].rss_pages - processes[i].own_pages;
    }
    for (size_t i = 0; total != pss->tree_pages && i < count; i++) {
        if (processes[i].memory->read_ns == now_ns)
            processes[i].memory->others_pages = total - processes[i].rss_pages;
    }
}

struct opt_f64 pss_tick(struct pss *pss, struct pss_process *processes, size_t count, int64_t now_ns, struct err *err)
{
    if (pss->mode == TRACKED_PSS_NEVER || pss->is_absent)
        return (struct opt_f64){0};
    int64_t page_bytes = pss->env->page_bytes;
    struct tally tally;
    count_pages(pss, processes, count);
    if (pss->mode == TRACKED_PSS_ALWAYS) {
        for (size_t i = 0; i < count && !pss->is_absent; i++)
            (void)read_process(pss, &processes[i], now_ns, err);
        tally = tally_all(processes, count, page_bytes);
    } else {
        if (count != pss->count)
            pss->count_changed_ns = now_ns;
        pss->count = count;
        earn(pss, processes, count, now_ns);
        count_faults(pss, processes, count);
        size_t due = gather_due(pss, processes, count, now_ns, &tally);
        if (spend(pss, processes, due, now_ns, err)) {
            settle_copies(pss, processes, count, now_ns);
            tally = tally_all(processes, count, page_bytes);
        }
    }
    if (pss->is_absent)
        return (struct opt_f64){0};
    return tally_sum(pss, &tally);
}
