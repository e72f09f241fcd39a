/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the memory section, apart from reading. */
#ifndef COLLECT_MEMORY_H
#define COLLECT_MEMORY_H

#include "kernel/proc.h"
#include "model/sample.h"

/* Fills everything but `present`; what the kernel does not say stays absent. */
void memory_derive(const struct meminfo *info, struct sample_memory *ret_memory);

#endif
