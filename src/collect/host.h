/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as it introduces itself to the streaming targets: identity, address, processors, memory, storage. Each
 * field on its own; what cannot be known stays empty, and nothing is said about it.
 */
#ifndef COLLECT_HOST_H
#define COLLECT_HOST_H

#include "kernel/sysroot.h"
#include "model/run_facts.h"

/* Everything but the GPUs (from samples) and server_allocation (from the run's means). */
void host_discover(const struct sysroot *root, struct host_facts *ret_host);

#endif
