/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many processes the host has, by the cheapest way that is right: the link count of /proc where it can be trusted,
 * else a listing of the directory at most once a second, and less often where that takes long.
 */
#ifndef COLLECT_PROCESS_COUNT_H
#define COLLECT_PROCESS_COUNT_H

#include "collect/collect.h"

struct process_count {
    const struct collect_env *env;
    int list_fd; /* kept for listing; -1: not yet opened */
    bool by_links;
    uint64_t other_links; /* st_nlink of /proc less the processes */
    int64_t calibrated_ns; /* when that was last found out */
    int64_t listed_ns; /* when the directory was last listed for a count */
    int64_t list_cost_ns; /* what that took */
    struct opt_u64 listed;
    struct opt_u64 listed_links, listed_forks; /* of the whole host then */
};

void process_count_init(struct process_count *count, const struct collect_env *env);
void process_count_fini(struct process_count *count);

/*
 * Absent where /proc cannot be read. grid_ns is when this sample was due: lateness must not make
 * one listing serve two samples. forks: processes made since boot, absent where unknown.
 */
struct opt_u64 process_count_read(struct process_count *count, int64_t grid_ns, struct opt_u64 forks);

#endif
