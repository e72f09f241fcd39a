/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside fdinfo.h: the table of DRM clients and of the descriptors through which processes hold them, and the scan that
 * looks for such descriptors.
 */
#ifndef COLLECT_GPU_DRM_FDINFO_INTERNAL_H
#define COLLECT_GPU_DRM_FDINFO_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/opt.h"
#include "collect/collect.h"
#include "collect/gpu/drm/fdinfo.h"
#include "kernel/drm_fdinfo.h"
#include "kernel/sysroot.h"

/*
 * The table. A client is read through one of its links, whose file is kept open; when that fails another link takes
 * over and the counters go on. A client that no process is known to hold is remembered for a while, in case another
 * holder is found.
 */

/* A process that holds descriptors. Of non-members only the PID is known. */
struct fdinfo_holder {
    pid_t pid;
    bool is_member;
    uint64_t start_ticks; /* 0 for non-members */
};

struct fdinfo_link {
    struct fdinfo_holder holder;
    int fd; /* its number there */
    int file; /* its fdinfo, kept open; -1: not open */
    size_t client; /* index */
    bool is_seen; /* in the scan that goes on */
    bool is_broken; /* could not be read, or is of another client by now: its holder must be scanned again */
};

struct fdinfo_client {
    bool is_used; /* false: a free slot, all else is void */
    bool is_read; /* in this tick */
    bool is_tree; /* held by a member */
    bool is_lost; /* it was, and since this tick no process is known to hold it: what it did last is not known */
    size_t links;
    struct opt_i64 since_ns; /* when info was read, or when the client cannot have existed yet; absent: unknown */
    struct drm_fdinfo info; /* of the last reading */
    double shares[DRM_ENGINES_MAX]; /* of each class of info, between the last two readings */
};

struct fdinfo_table {
    int proc_fd; /* not owned */
    size_t kept; /* links with an open file */
    struct buf text;
    struct {
        struct fdinfo_client *items;
        size_t count, cap;
    } clients;
    struct {
        struct fdinfo_link *items;
        size_t count, cap;
    } links;
};

/* Which links a sweep reads: those with an open file, or what it takes to read the clients that are left. */
enum fdinfo_sweep { FDINFO_SWEEP_KEPT, FDINFO_SWEEP_REMAINING };

int fdinfo_table_init(struct fdinfo_table *table, int proc_fd);
void fdinfo_table_fini(struct fdinfo_table *table);

bool fdinfo_holder_is_same(struct fdinfo_holder a, struct fdinfo_holder b);

/*
 * Notes that the holder has this descriptor, after reading what it is of. since_ns: when the holder was scanned
 * before, for a client that is new. Returns 0 (also where it has gone) or a negative errno: -ENODATA where its driver
 * reports nothing of it.
 */
int fdinfo_table_note(struct fdinfo_table *table, struct fdinfo_holder holder, int fd, struct opt_i64 since_ns);

/* Around the scan of a holder: after end, links that were not noted in between are gone. */
void fdinfo_table_begin_scan(struct fdinfo_table *table, struct fdinfo_holder holder);
void fdinfo_table_end_scan(struct fdinfo_table *table, struct fdinfo_holder holder);

/* Drops the links for which `is_wanted` is false. */
typedef bool fdinfo_link_test(const void *context, const struct fdinfo_link *link);
void fdinfo_table_keep_links(struct fdinfo_table *table, fdinfo_link_test *is_wanted, const void *context);

/* One tick: begin, sweep the kept, scan processes, sweep those that remain, end. */
void fdinfo_table_begin(struct fdinfo_table *table);
void fdinfo_table_sweep(struct fdinfo_table *table, enum fdinfo_sweep sweep, int64_t now_ns);
void fdinfo_table_end(struct fdinfo_table *table, int64_t now_ns);

/*
 * The scan of the descriptors of processes: of each member when it is first seen and now and then afterwards, of all
 * others in rounds. All of it is paced by what it costs. Devices whose driver does not report clients (all of them
 * before Linux 5.19), and which a process holds, are unsupported: what is done with them is not known, and not 0.
 */

enum { FDINFO_UNSUPPORTED_MAX = 8, FDINFO_PROCESS_UNSUPPORTED = 2 };

struct fdinfo_unsupported {
    char device[48]; /* "0000:03:00.0"; "": none */
    char driver[32];
};

/* Of all processes that were scanned. */
struct fdinfo_unsupported_list {
    struct fdinfo_unsupported items[FDINFO_UNSUPPORTED_MAX];
    size_t count;
    bool is_full; /* there were more */
};

struct fdinfo_process {
    struct fdinfo_holder holder;
    bool is_present; /* among the members of this tick */
    bool is_hidden; /* may not be read */
    bool is_unseen; /* was not scanned yet, or something of it has changed since */
    uint8_t compute_devices; /* those that it holds, a bit for each vendor */
    struct fdinfo_unsupported unsupported[FDINFO_PROCESS_UNSUPPORTED]; /* holds those */
    int64_t first_ns; /* when it was first seen */
    int64_t next_ns; /* when to scan it again */
    struct opt_i64 scanned_ns; /* clients not found until then did not exist; absent: unknown */
};

/* A way through all processes of the host, over as many ticks as it takes. */
struct fdinfo_round {
    int list_fd; /* kept for listing; -1: not yet opened */
    struct pid_list list;
    size_t at; /* in the list, the next one; list.count: the round is over */
    int64_t cost_ns; /* CPU time so far */
    int64_t next_ns; /* when the next one begins */
    struct opt_i64 began_ns, previous_ns; /* this round and the one before */
    bool is_known; /* one has come to its end, so every client that can be seen was */
    struct fdinfo_unsupported_list unsupported,
        unsupported_so_far; /* of the last whole round, and of the one that goes on */
};

struct fdinfo_scan {
    const struct collect_env *env;
    struct fdinfo_table *table;
    struct buf stat;
    struct {
        struct fdinfo_process *items; /* the members, by PID */
        size_t count, cap;
    } processes;
    struct fdinfo_round round;
    size_t at; /* the member that is scanned next */
    bool is_cut; /* some members did not fit */
};

void fdinfo_scan_init(struct fdinfo_scan *scan, const struct collect_env *env, struct fdinfo_table *table);
void fdinfo_scan_fini(struct fdinfo_scan *scan);

/* The members of the tree now. previous_ns: the tick before, absent at the first. */
void fdinfo_scan_set_members(struct fdinfo_scan *scan, const struct job_member *members, size_t count,
    struct opt_i64 previous_ns, int64_t now_ns);

/* Scans members, and all other processes, where it is due or a link of theirs is broken. */
void fdinfo_scan_members(struct fdinfo_scan *scan, int64_t now_ns);
void fdinfo_scan_others(struct fdinfo_scan *scan, int64_t now_ns);

/* They are not wanted any more. */
void fdinfo_scan_drop_others(struct fdinfo_scan *scan);

/* Could every member be scanned? */
bool fdinfo_scan_is_tree_known(const struct fdinfo_scan *scan);

/* Is it held by a member, or by any process, while its driver reports nothing? */
bool fdinfo_scan_is_unsupported_for_tree(const struct fdinfo_scan *scan, struct fdinfo_device device);
bool fdinfo_scan_is_unsupported_for_host(const struct fdinfo_scan *scan, struct fdinfo_device device);

/* Does a member hold it? */
bool fdinfo_scan_tree_holds(const struct fdinfo_scan *scan, const char *compute_device);

#endif
