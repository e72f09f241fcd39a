/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which resident memory of a member counts. One address space counts once: between vfork (posix_spawn, subprocess,
 * ProcessBuilder) and exec a child has that of its parent, and both report all of it, as RSS and as PSS. A copy that
 * was forked a moment ago and has not executed anything yet holds its parent's pages and nothing else. Of a process
 * whose first thread has ended the files of another thread tell the memory.
 */
#ifndef COLLECT_TREE_MEMORY_H
#define COLLECT_TREE_MEMORY_H

#include "collect/tree/members.h"
#include "collect/tree/pid_list.h"
#include "collect/tree/read.h"

/* Most children execute their program within this time; older ones are asked for their address space. */
#define TREE_NEWBORN_NS (100 * NS_PER_MS)
/* A copy that was not read yet adds to PSS what it has more than its parent, for so long. */
#define TREE_COPY_NS NS_PER_SEC

/*
 * Fills member->memory of a live member that was seen in this turn; its parent's was filled before. list: for the
 * threads of a process whose first one has ended. Costs calls only for those, and for members that were forked more
 * than TREE_NEWBORN_NS ago without executing anything: once, or, while they have their parent's memory, in every turn.
 */
void tree_memory_settle(struct tree_reader *reader, const struct tree_members *members, struct tree_member *member,
    struct pid_list *list, int64_t now_ns);

/* same_memory of the environment as the kernel answers it (kcmp); needs the rights that reading PSS needs. */
int tree_memory_kcmp(void *context, pid_t a, pid_t b);

#endif
