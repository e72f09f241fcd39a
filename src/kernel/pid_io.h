/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/io (proc_pid_io(5)): "read_bytes: 4096" and so on, one per line. Children that were waited for are
 * included.
 */
#ifndef KERNEL_PID_IO_H
#define KERNEL_PID_IO_H

#include <stdint.h>

#include "base/str.h"

struct pid_io {
    uint64_t read_bytes, write_bytes; /* that reached the storage layer */
};

/* Returns 0 or -EINVAL where one of the two is missing, cut or no number. */
int pid_io_parse(struct str text, struct pid_io *ret);

#endif
