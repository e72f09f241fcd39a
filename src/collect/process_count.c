/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link count of the proc root directory is 2 + its sub-directories, one of which is each process of the whole host.
 * That is right only in the initial PID namespace and where nothing is hidden (hidepid, subset=pid). At the start only
 * the other directories are counted: they are listed before the processes (fs/proc/root.c), which may be thousands.
 * With the first sample on the grid it is checked against a whole listing.
 */
#include "collect/collect_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

enum { CALIBRATION_TRIES = 4, ENTRY_BYTES_MAX = 512, FIRST_BYTES = 1024 };

/* Listing may take this share of a core: 10 ms for 10,000 processes make it happen every 50 s. */
#define LISTING_SHARE 5000

/* A module that adds a directory to /proc would shift the count for good, so now and then it is checked again. */
#define CALIBRATION_NS (300 * NS_PER_SEC)

struct proc_listing {
    uint64_t processes;
    uint64_t other_directories;
};

static bool is_number(const char *name)
{
    size_t n = strspn(name, "0123456789");
    return n > 0 && name[n] == '\0';
}

static void count_entries(const char *entries, size_t n, struct proc_listing *listing)
{
    struct dir_entry entry;
    for (size_t at = 0; dir_next(entries, n, &at, &entry);) {
        if (is_number(entry.name))
            listing->processes++;
        else if (entry.type == DT_DIR && strcmp(entry.name, ".") != 0 && strcmp(entry.name, "..") != 0)
            listing->other_directories++;
    }
}

static bool open_list(struct process_count *count)
{
    if (count->list_fd < 0)
        count->list_fd = file_open_at(count->env->root->proc_fd, ".", O_RDONLY | O_DIRECTORY);
    return count->list_fd >= 0 && lseek(count->list_fd, 0, SEEK_SET) == 0;
}

/* The kernel's own /proc fills the buffer as far as it goes, so an answer that leaves space for one more was the last.
 */
static bool list_proc(struct process_count *count, struct proc_listing *ret_listing)
{
    if (!open_list(count))
        return false;
    struct proc_listing listing = {0};
    char entries[DIR_BYTES];
    for (;;) {
        long n = dir_read_some(count->list_fd, entries, sizeof(entries));
        if (n < 0)
            return false;
        count_entries(entries, (size_t)n, &listing);
        if (n == 0 || (count->env->root->is_host && (size_t)n < sizeof(entries) - ENTRY_BYTES_MAX))
            break;
    }
    *ret_listing = listing;
    return true;
}

static struct opt_u64 proc_links(int proc_fd)
{
    struct stat st;
    if (proc_fd < 0 || fstat(proc_fd, &st) < 0)
        return (struct opt_u64){0};
    return some_u64((uint64_t)st.st_nlink);
}

static void calibrate(struct process_count *count)
{
    int proc_fd = count->env->root->proc_fd;
    count->by_links = false;
    /* A process may come or go while we list: try until both links readings agree. */
    for (int i = 0; i < CALIBRATION_TRIES; i++) {
        struct proc_listing listing = {0};
        struct opt_u64 before = proc_links(proc_fd);
        if (!before.has || !list_proc(count, &listing))
            return;
        struct opt_u64 after = proc_links(proc_fd);
        if (!after.has || after.v != before.v)
            continue;
        count->other_links = listing.other_directories + 2;
        count->by_links = before.v == listing.processes + count->other_links;
        if (count->by_links)
            return;
    }
}

/* True where the count by links can be used from now on, as far as can be seen. */
static bool estimate(struct process_count *count)
{
    struct stat unused;
    const struct sysroot *root = count->env->root;
    /* The first process is another user's: where it can be seen, none is hidden from us. */
    if (!root->is_host || fstatat(root->proc_fd, "1", &unused, 0) < 0 || !open_list(count))
        return false;
    struct proc_listing listing = {0};
    char entries[FIRST_BYTES];
    for (long n; listing.processes == 0 && (n = dir_read_some(count->list_fd, entries, sizeof(entries))) > 0;)
        count_entries(entries, (size_t)n, &listing);
    count->other_links = listing.other_directories + 2;
    count->by_links = listing.processes > 0 && listing.other_directories > 0;
    return count->by_links;
}

void process_count_init(struct process_count *count, const struct collect_env *env)
{
    *count = (struct process_count){.env = env, .list_fd = -1};
    if (!sysroot_in_first_pid_namespace(env->root))
        return;
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    if (estimate(count)) {
        count->calibrated_ns = now_ns - CALIBRATION_NS + env->interval_ns / 2;
        return;
    }
    calibrate(count);
    count->calibrated_ns = now_ns;
}

void process_count_fini(struct process_count *count)
{
    fd_close(&count->list_fd);
}

static bool is_same(struct opt_u64 a, struct opt_u64 b)
{
    return a.has && b.has && a.v == b.v;
}

/* Where none was born on the whole host and as many live as before, none has ended either. */
static bool is_unchanged(const struct process_count *count, struct opt_u64 links, struct opt_u64 forks)
{
    return count->env->root->is_host && is_same(count->listed_links, links) && is_same(count->listed_forks, forks);
}

static bool is_listing_due(const struct process_count *count, int64_t grid_ns)
{
    int64_t pause_ns = count->list_cost_ns * LISTING_SHARE;
    return !count->listed.has || grid_ns - count->listed_ns >= (pause_ns > NS_PER_SEC ? pause_ns : NS_PER_SEC);
}

static void list_again(struct process_count *count, int64_t grid_ns)
{
    const struct clock *clock = count->env->clock;
    int64_t before_ns = clock_read(clock, CLOCK_KIND_OWN_CPU);
    struct proc_listing listing = {0};
    count->listed = list_proc(count, &listing) ? some_u64(listing.processes) : (struct opt_u64){0};
    count->listed_ns = grid_ns;
    count->list_cost_ns = clock_read(clock, CLOCK_KIND_OWN_CPU) - before_ns;
}

struct opt_u64 process_count_read(struct process_count *count, int64_t grid_ns, struct opt_u64 forks)
{
    int proc_fd = count->env->root->proc_fd;
    if (count->by_links && grid_ns - count->calibrated_ns >= CALIBRATION_NS) {
        calibrate(count);
        count->calibrated_ns = grid_ns;
    }
    struct opt_u64 links = proc_links(proc_fd);
    if (count->by_links && links.has && links.v > count->other_links)
        return some_u64(links.v - count->other_links);
    if (is_listing_due(count, grid_ns) && !is_unchanged(count, links, forks)) {
        list_again(count, grid_ns);
        count->listed_links = links;
        count->listed_forks = forks;
    }
    return count->listed;
}
