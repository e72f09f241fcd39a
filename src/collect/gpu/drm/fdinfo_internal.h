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
#include "kernel/sysroot.h"
#include "kernel/drm_fdinfo.h"

/*
 * The table. A client is read through one of its links, whose file is kept open; when that fails another link takes
 * over and the counters go on. A client that nobody is known to hold is remembered for a while, in case another holder
 * is found.
 */

/* A process that holds descriptors. What is known of strangers is their PID. */
struct fdinfo_holder {
    pid_t pid;
    bool is_member;
    uint64_t start_ticks; /* 0 for strangers */
};

struct fdinfo_link {
    struct fdinfo_holder holder;
    int fd; /* its number there */
    int file; /* its fdinfo, kept open; -1: not open */
    size_t client; /* index */
    bool is_seen; /* in the look that goes on */
    bool is_broken; /* could not be read, or is of another client by now: its holder must be looked at */
};

struct fdinfo_client {
    bool is_used; /* false: a free place, all else is void */
    bool is_read; /* in this turn */
    bool is_tree; /* held by a member */
    bool is_lost; /* it was, and since this turn nobody is known to hold it: what it did last is not known */
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
enum fdinfo_sweep { FDINFO_SWEEP_KEPT, FDINFO_SWEEP_REST };

int fdinfo_table_init(struct fdinfo_table *table, int proc_fd);
void fdinfo_table_fini(struct fdinfo_table *table);

bool fdinfo_holder_is_same(struct fdinfo_holder a, struct fdinfo_holder b);

/*
 * Notes that the holder has this descriptor, after reading what it is of. since_ns: when the holder was looked at
 * before, for a client that is new. Returns 0 (also where it has gone) or a negative errno: -ENODATA where its driver
 * tells nothing of it.
 */
int fdinfo_table_note(struct fdinfo_table *table, struct fdinfo_holder holder, int fd, struct opt_i64 since_ns);

/* Around a look at a holder: after end, links that were not noted in between are gone. */
void fdinfo_table_begin_look(struct fdinfo_table *table, struct fdinfo_holder holder);
void fdinfo_table_end_look(struct fdinfo_table *table, struct fdinfo_holder holder);

/* Drops the links for which `is_wanted` is false. */
typedef bool fdinfo_link_test(const void *context, const struct fdinfo_link *link);
void fdinfo_table_keep_links(struct fdinfo_table *table, fdinfo_link_test *is_wanted, const void *context);

/* One turn: begin, sweep the kept, look at processes, sweep the rest, end. */
void fdinfo_table_begin(struct fdinfo_table *table);
void fdinfo_table_sweep(struct fdinfo_table *table, enum fdinfo_sweep sweep, int64_t now_ns);
void fdinfo_table_end(struct fdinfo_table *table, int64_t now_ns);

/*
 * The scan: at each member when it is first seen and now and then afterwards, at everybody else in rounds. All of it is
 * paced by what it costs. Devices whose driver does not tell of clients (all of them before Linux 5.19), and which
 * somebody holds, are mute: what is done with them is not known, and not 0.
 */

enum { FDINFO_MUTES_MAX = 8, FDINFO_PROCESS_MUTES = 2 };

struct fdinfo_mute {
    char device[48]; /* "0000:03:00.0"; "": none */
    char driver[32];
};

/* Of all processes that were looked at. */
struct fdinfo_mutes {
    struct fdinfo_mute items[FDINFO_MUTES_MAX];
    size_t count;
    bool is_full; /* there were more */
};

struct fdinfo_process {
    struct fdinfo_holder holder;
    bool is_present; /* among the members of this turn */
    bool is_hidden; /* may not be looked at */
    bool is_unseen; /* was not looked at yet, or something of it has changed since */
    bool has_kfd; /* holds /dev/kfd */
    struct fdinfo_mute mutes[FDINFO_PROCESS_MUTES]; /* holds those */
    int64_t first_ns; /* when it was first seen */
    int64_t next_ns; /* when to look at it again */
    struct opt_i64 looked_ns; /* clients not found until then did not exist; absent: unknown */
};

/* A way through all processes of the host, over as many turns as it takes. */
struct fdinfo_round {
    int list_fd; /* kept for listing; -1: not yet opened */
    struct pid_list list;
    size_t at; /* in the list, the next one; list.count: the round is over */
    int64_t cost_ns; /* CPU time so far */
    int64_t next_ns; /* when the next one begins */
    struct opt_i64 began_ns, previous_ns; /* this round and the one before */
    bool is_known; /* one has come to its end, so every client that can be seen was */
    struct fdinfo_mutes mutes, mutes_so_far; /* of the last whole round, and of the one that goes on */
};

struct fdinfo_find {
    const struct collect_env *env;
    struct fdinfo_table *table;
    struct buf stat;
    struct {
        struct fdinfo_process *items; /* the members, by PID */
        size_t count, cap;
    } processes;
    struct fdinfo_round round;
    size_t at; /* the member that is looked at next */
    bool is_cut; /* some members found no room */
};

void fdinfo_find_init(struct fdinfo_find *find, const struct collect_env *env, struct fdinfo_table *table);
void fdinfo_find_fini(struct fdinfo_find *find);

/* Who is in the tree now. previous_ns: the turn before, absent at the first. */
void fdinfo_find_set_members(struct fdinfo_find *find, const struct job_member *members, size_t count,
    struct opt_i64 previous_ns, int64_t now_ns);

/* Looks at members, and at everybody else, where it is due or a link of theirs is broken. */
void fdinfo_find_look_at_members(struct fdinfo_find *find, int64_t now_ns);
void fdinfo_find_look_at_strangers(struct fdinfo_find *find, int64_t now_ns);

/* Nobody wants to know of them any more. */
void fdinfo_find_forget_strangers(struct fdinfo_find *find);

/* Could every member be looked at? */
bool fdinfo_find_is_tree_known(const struct fdinfo_find *find);

/* Is it held by a member, or by anybody, while its driver tells nothing? */
bool fdinfo_find_is_mute_for_tree(const struct fdinfo_find *find, struct fdinfo_device device);
bool fdinfo_find_is_mute_for_host(const struct fdinfo_find *find, struct fdinfo_device device);

/* Does one hold /dev/kfd? */
bool fdinfo_find_has_kfd(const struct fdinfo_find *find);

#endif
