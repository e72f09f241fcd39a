/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/pressure/{cpu,memory,io} and a cgroup's *.pressure (Documentation/accounting/psi.rst):
 *   some avg10=0.00 avg60=0.00 avg300=0.00 total=12345
 */
#ifndef KERNEL_PRESSURE_H
#define KERNEL_PRESSURE_H

#include "base/opt.h"
#include "base/str.h"

struct pressure {
    struct opt_u64 some_total_us, full_total_us; /* cpu has no "full" line before Linux 5.13 */
};

/* Returns 0 or -EINVAL where there is no "some" line with a total. */
int pressure_parse(struct str text, struct pressure *ret);

#endif
