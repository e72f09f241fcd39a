/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers among the names of a directory of proc: processes, or threads of one. */
#ifndef COLLECT_TREE_PID_LIST_H
#define COLLECT_TREE_PID_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_list {
    pid_t *items; /* ascending */
    size_t count, cap;
};

void pid_list_fini(struct pid_list *list);

/*
 * Reads the directory anew through dir_fd, from its first entry on. Returns 0, -E2BIG above max entries, or another
 * negative errno; the list is then empty.
 */
int pid_list_read(int dir_fd, size_t max, struct pid_list *list);

bool pid_list_has(const struct pid_list *list, pid_t pid);

#endif
