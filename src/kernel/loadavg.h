/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/loadavg: "0.20 0.18 0.12 1/80 11206". */
#ifndef KERNEL_LOADAVG_H
#define KERNEL_LOADAVG_H

#include "base/opt.h"
#include "base/str.h"

struct loadavg {
    double load1, load5, load15;
    struct opt_u64 last_pid; /* the newest PID given out, to a process or a thread, in the reader's PID namespace */
};

/* Returns 0, or -EINVAL where a load is missing, cut or no number. */
int loadavg_parse(struct str text, struct loadavg *ret);

#endif
