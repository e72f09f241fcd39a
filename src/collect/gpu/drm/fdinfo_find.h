/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking for descriptors on /dev/dri and /dev/accel, inside fdinfo: at each member when it is first seen and now and
 * then afterwards, at everybody else in rounds. All of it is paced by what it costs.
 */
#ifndef COLLECT_GPU_DRM_FDINFO_FIND_H
#define COLLECT_GPU_DRM_FDINFO_FIND_H

#include "collect/collect.h"
#include "collect/gpu/drm/fdinfo.h"
#include "collect/gpu/drm/fdinfo_mute.h"
#include "collect/gpu/drm/fdinfo_table.h"
#include "kernel/sysroot.h"

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
