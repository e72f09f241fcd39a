/* SPDX-License-Identifier: Apache-2.0 */
/* Is there such a process to attach to? */
#ifndef RUN_ATTACH_H
#define RUN_ATTACH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "kernel/sysroot.h"

/* Returns 0 or a negative errno with a message: no such process, or the number of a thread. */
int attach_check(const struct sysroot *root, int64_t number, pid_t *ret_pid, struct err *err);

#endif
