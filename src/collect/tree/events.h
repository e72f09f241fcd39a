/* SPDX-License-Identifier: Apache-2.0 */
/* Every process that is born, executes a program or ends on this machine, as the kernel reports it (exact mode). */
#ifndef COLLECT_TREE_EVENTS_H
#define COLLECT_TREE_EVENTS_H

/*
 * Before the command is started. Returns a descriptor from which messages are read (kernel/process_events.h), or a
 * negative errno: -EPERM without CAP_NET_ADMIN before Linux 6.6, -ENOTSUP in another PID namespace than the first.
 */
int events_open(void);

#endif
