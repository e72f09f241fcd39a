/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as it introduces itself to the streaming targets: identity, address, processors, memory, storage. Each
 * field on its own; what cannot be known stays empty, and nothing is said about it.
 */
#ifndef COLLECT_HOST_HOST_H
#define COLLECT_HOST_HOST_H

#include "base/buf.h"
#include "base/opt.h"
#include "kernel/proc.h"
#include "kernel/sysroot.h"
#include "model/run_facts.h"

/* Everything but the GPUs (from samples) and server_allocation (from the run's means). */
void host_discover(const struct sysroot *root, struct host_facts *ret_host);

/* Largest start of /proc/cpuinfo that is read: a few dozen processors, and on large machines all are alike. */
enum { HOST_CPUINFO_BYTES_MAX = 64 * 1024 };

/* The start of /proc/cpuinfo; what *ret_info points to lies in buf. 0 or a negative errno. */
int host_read_cpuinfo(const struct sysroot *root, struct buf *buf, struct cpuinfo *ret_info);

/* What the processor is called; "" where that is unknown. */
void host_read_cpu_model(const struct sysroot *root, char *out, size_t size);

/* How many CPUs this process may run on. */
struct opt_u64 host_count_usable_cpus(void);

#endif
