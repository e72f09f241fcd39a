/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DRM clients and the descriptors through which processes hold them, inside fdinfo. A client is read through one of its
 * links, whose file is kept open; when that fails another link takes over and the counters go on. A client that nobody
 * is known to hold is remembered for a while, in case another holder is found.
 */
#ifndef COLLECT_GPU_DRM_FDINFO_TABLE_H
#define COLLECT_GPU_DRM_FDINFO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/opt.h"
#include "kernel/drm_fdinfo.h"

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

#endif
