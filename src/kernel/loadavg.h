/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/loadavg: "0.20 0.18 0.12 1/80 11206". */
#ifndef KERNEL_LOADAVG_H
#define KERNEL_LOADAVG_H

#include "base/str.h"

struct loadavg {
    double load1, load5, load15;
};

/* Returns 0 or -EINVAL. */
int loadavg_parse(struct str text, struct loadavg *ret);

#endif
